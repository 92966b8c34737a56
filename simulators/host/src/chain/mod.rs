//! Chains: many cheap instructions done together, a few vectors of lanes at a time.
//!
//! An instruction by itself reads whole tiles and writes one. In a chain, what one instruction gives and the
//! next one takes stays in the processor's registers (the *accumulator*, and a *mask* for what is true or
//! false), and what is of use a little later lies in a *slot* of a few vectors; only what is asked for
//! outside the chain is written to a tile. Each lane is computed as by the op table, bit for bit.
//!
//! - `build`: which instructions make a chain, and its code.
//! - `blocks`: the loops, for the vectors of each level of instructions.

mod blocks;
mod build;
#[cfg(test)]
mod tests;

pub(super) use build::{Group, Member, build, chains};

use workalike_kernels::DType;
use workalike_kernels::level::{Level, level};

/// What one step of a chain does with the accumulator, the mask, and the lanes at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Load,
    Store,
    LoadMask,
    StoreMask,
    /// `accumulator + place`; of those that differ, the `Other` is `place - accumulator`.
    Add,
    Sub,
    SubOther,
    Mul,
    Div,
    DivOther,
    Max,
    MaxOther,
    Min,
    MinOther,
    Neg,
    Sqr,
    Sqrt,
    /// `accumulator < place`, into the mask.
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    /// Where the mask holds the accumulator, else the place.
    Where,
    /// Where the mask holds the place, else the accumulator.
    WhereOther,
    /// 1 where the mask holds, else 0.
    Ones,
}

/// A step and the place it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) step: Step,
    pub(super) place: u8,
}

/// Lanes at an address. `size`: bytes from a lane to the next one of the tile; 0 for what is the same from
/// block to block, and for slots.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) at: *mut u8,
    pub(super) size: usize,
}

/// The most places of a chain.
pub(super) const PLACES: usize = 32;
/// Slots of a chain, and bytes of each: a block of lanes of the widest vectors.
pub(super) const SLOTS: usize = 12;
pub(super) const SLOT: usize = 512;
/// Bytes of the widest vectors.
const VECTOR: usize = 64;
/// Lanes that are read of what is the same in all.
pub(super) const UNIFORM: usize = SLOT / 4;
/// Vectors of a block: enough for the steps to overlap, each of which waits for the one before.
const MANY: usize = 8;

/// A chain's code. Its places are the arguments, then the results, then the slots.
pub(super) struct Chain {
    pub(super) dtype: DType,
    pub(super) code: Vec<Code>,
    /// Bytes of a lane of each argument and result; the rest are slots.
    pub(super) sizes: Vec<u8>,
    /// How many of them are arguments.
    pub(super) arguments: usize,
}

/// Room for slots, or for the lanes of a tile that is shorter than a vector.
#[repr(align(64))]
struct Room([std::mem::MaybeUninit<[u8; SLOT]>; PLACES]);

impl Chain {
    /// How many steps compute something.
    #[cfg(test)]
    pub(super) fn operations(&self) -> usize {
        let moves = [Step::Load, Step::Store, Step::LoadMask, Step::StoreMask];
        self.code.iter().filter(|c| !moves.contains(&c.step)).count()
    }

    /// Runs over `n` lanes. Places of arguments and results are given; the others are filled in.
    ///
    /// # Safety
    /// Arguments must be readable and results writable for `n` lanes of their sizes; no result may overlap
    /// another or an argument. An argument of size 0 must be readable for a slot, or for all `n` lanes if
    /// they are fewer.
    #[inline]
    pub(super) unsafe fn run(&self, places: &mut [Place; PLACES], n: usize) {
        let mut room = Room([std::mem::MaybeUninit::uninit(); PLACES]);
        let given = self.sizes.len();
        for (place, slot) in places[given..].iter_mut().zip(&mut room.0[..SLOTS]) {
            *place = Place { at: slot.as_mut_ptr().cast(), size: 0 };
        }
        if n < lanes(self.dtype) {
            // SAFETY: the caller guarantees the same of arguments and results; there are slots for the
            // others.
            return unsafe { self.short(places, &mut room, n) };
        }
        // SAFETY: the caller guarantees `n` lanes of arguments and results; the others are slots, as large as
        // a block, which the code writes before it reads them.
        unsafe { run(self.dtype, &self.code, places, n) };
    }

    /// Fewer lanes than a vector has: they are done elsewhere, whatever the lanes behind them hold.
    ///
    /// # Safety
    /// As of [`Chain::run`].
    #[cold]
    #[inline(never)]
    unsafe fn short(&self, places: &mut [Place; PLACES], room: &mut Room, n: usize) {
        let given = *places;
        for (k, (place, slot)) in places.iter_mut().zip(&mut room.0).enumerate() {
            let to: *mut u8 = slot.as_mut_ptr().cast();
            if k < self.arguments {
                // SAFETY: a slot has room for a vector; the caller guarantees `n` lanes, which are fewer, of
                // the argument.
                unsafe {
                    to.write_bytes(0, VECTOR);
                    std::ptr::copy_nonoverlapping(place.at, to, n * self.sizes[k] as usize);
                }
            }
            *place = Place { at: to, size: 0 };
        }
        // SAFETY: all places are slots now; those of arguments hold a vector, and the others are written
        // before they are read.
        unsafe { run(self.dtype, &self.code, places, lanes(self.dtype)) };
        let results = given.iter().zip(places.iter()).zip(&self.sizes).skip(self.arguments);
        for ((to, from), &size) in results {
            // SAFETY: a slot holds a vector of results, of which the caller guarantees room for `n` lanes.
            unsafe { std::ptr::copy_nonoverlapping(from.at, to.at, n * size as usize) };
        }
    }
}

/// Lanes of a vector; 0 if there are no chains of this dtype.
pub(super) fn lanes(dtype: DType) -> usize {
    match dtype {
        DType::F32 | DType::F64 => vector_bytes(level()) / dtype.size(),
        _ => 0,
    }
}

fn vector_bytes(level: Level) -> usize {
    match level {
        Level::Baseline => 16,
        Level::Avx2 => 32,
        Level::Avx512 => 64,
    }
}

/// # Safety
/// As of [`blocks`]; there must be chains of this dtype.
unsafe fn run(dtype: DType, code: &[Code], places: &[Place; PLACES], n: usize) {
    // SAFETY: the caller guarantees what `blocks` needs of places and `n`; the level is one of this
    // processor, and the functions are for this dtype.
    unsafe {
        match (level(), dtype) {
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, DType::F64) => blocks::avx512_f64(code, places, n),
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, _) => blocks::avx512_f32(code, places, n),
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, DType::F64) => blocks::avx2_f64(code, places, n),
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, _) => blocks::avx2_f32(code, places, n),
            (_, DType::F64) => blocks::plain_f64(code, places, n),
            _ => blocks::plain_f32(code, places, n),
        }
    }
}
