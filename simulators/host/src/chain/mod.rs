//! Chains: many elementwise instructions fused, a few vectors of lanes at a time.
//!
//! An instruction outside of a chain reads whole tiles and writes one. In a chain, intermediate values stay
//! in vector registers (the *accumulator*, and a *mask* of bools); values that are used later are in a *slot*
//! of a few vectors. Only values used outside the chain are written to a tile. Each lane has the same bits as
//! by the op table.
//!
//! - `build`: selects a chain's instructions and generates its code.
//! - `blocks`: the loops, for the vectors of each level of instructions.

mod blocks;
mod build;
#[cfg(test)]
mod tests;

pub(super) use build::{Built, ChainMember, InstGroup, build, chains};

use workalike_kernels::DType;
use workalike_kernels::level::{Level, level};

/// The effect of a step on the accumulator, the mask, and the lanes at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChainOpcode {
    Load,
    Store,
    LoadMask,
    StoreMask,
    /// `accumulator + place`. For steps that do not commute, `Other` swaps: `place - accumulator`.
    Add,
    /// `accumulator * place + with`: a fold of products.
    AddProduct,
    /// `accumulator * accumulator + place`.
    AddSquare,
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
    /// The accumulator where the mask holds, else the place.
    Where,
    /// The place where the mask holds, else the accumulator.
    WhereOther,
    /// 1 where the mask holds, else 0.
    Ones,
}

/// A step, its place, and the second place of a step that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChainInst {
    pub(super) step: ChainOpcode,
    pub(super) place: u8,
    pub(super) with: u8,
}

/// Lanes at an address. `size`: bytes from one lane of the tile to the next; 0 for slots and uniform values,
/// which do not advance from block to block.
#[derive(Clone, Copy)]
pub(super) struct LanePointer {
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
/// Lanes that are read of a uniform value.
pub(super) const UNIFORM: usize = SLOT / 4;
/// Vectors of a block: enough to hide the latency of dependent steps.
const MANY: usize = 8;

/// A chain's code. Its places are the arguments, then the accumulators of folds, then the results, then the
/// slots.
pub(super) struct Chain {
    pub(super) dtype: DType,
    pub(super) code: Vec<ChainInst>,
    /// Bytes of a lane of each argument, accumulator and result; the rest are slots.
    pub(super) sizes: Vec<u8>,
    /// The number of arguments, and of accumulators: these are read and written.
    pub(super) arguments: usize,
    pub(super) folds: usize,
}

/// Memory for slots, or for the lanes of a tile that is shorter than a vector.
#[repr(align(64))]
struct SlotBuffer([std::mem::MaybeUninit<[u8; SLOT]>; PLACES]);

impl Chain {
    /// How many steps compute something.
    #[cfg(test)]
    pub(super) fn operations(&self) -> usize {
        let moves = [ChainOpcode::Load, ChainOpcode::Store, ChainOpcode::LoadMask, ChainOpcode::StoreMask];
        self.code.iter().filter(|c| !moves.contains(&c.step)).count()
    }

    /// Runs over `n` lanes. The caller sets the places of arguments, accumulators and results; this sets the
    /// slots.
    ///
    /// # Safety
    /// Arguments must be readable, results writable, accumulators both, for `n` lanes of their sizes; no
    /// result or accumulator may overlap another or an argument. An argument of size 0 must be readable for a
    /// slot, or for `n` lanes if that is less.
    #[inline]
    pub(super) unsafe fn run(&self, places: &mut [LanePointer; PLACES], n: usize) {
        let mut room = SlotBuffer([std::mem::MaybeUninit::uninit(); PLACES]);
        let given = self.sizes.len();
        for (place, slot) in places[given..].iter_mut().zip(&mut room.0[..SLOTS]) {
            *place = LanePointer { at: slot.as_mut_ptr().cast(), size: 0 };
        }
        if n < lanes(self.dtype) {
            // SAFETY: the caller guarantees the same of arguments and results; the other places are slots.
            return unsafe { self.short(places, &mut room, n) };
        }
        if self.folds > 0 {
            // SAFETY: the caller guarantees the same of arguments, accumulators and results.
            return unsafe { self.once(places, &mut room, n) };
        }
        // SAFETY: the caller guarantees `n` lanes of arguments and results; the others are slots, as large as
        // a block, which the code writes before it reads them.
        unsafe { run(self.dtype, &self.code, places, n) };
    }

    /// Runs every lane once, in blocks that do not overlap: an accumulator must not take a lane twice.
    ///
    /// # Safety
    /// Same as [`Chain::run`].
    #[inline]
    unsafe fn once(&self, places: &mut [LanePointer; PLACES], room: &mut SlotBuffer, n: usize) {
        let (vector, mut left) = (lanes(self.dtype), n);
        for block in [MANY * vector, vector] {
            let whole = left / block * block;
            if whole > 0 {
                // SAFETY: the caller guarantees the lanes up to `n`, of which `left` come from here on; they
                // are whole blocks, so none overlaps another.
                unsafe { run(self.dtype, &self.code, places, whole) };
                places.iter_mut().for_each(|place| place.at = place.at.wrapping_add(place.size * whole));
                left -= whole;
            }
        }
        if left > 0 {
            // SAFETY: likewise for the last lanes, fewer than a vector.
            unsafe { self.short(places, room, left) };
        }
    }

    /// Runs fewer lanes than a vector has, in copies that are padded to a vector.
    ///
    /// # Safety
    /// Same as [`Chain::run`].
    #[cold]
    #[inline(never)]
    unsafe fn short(&self, places: &mut [LanePointer; PLACES], room: &mut SlotBuffer, n: usize) {
        let given = *places;
        for (k, (place, slot)) in places.iter_mut().zip(&mut room.0).enumerate() {
            let to: *mut u8 = slot.as_mut_ptr().cast();
            if k < self.arguments + self.folds {
                // SAFETY: a slot has room for a vector; the caller guarantees `n` lanes at the place, which
                // are fewer.
                unsafe {
                    to.write_bytes(0, VECTOR);
                    std::ptr::copy_nonoverlapping(place.at, to, n * self.sizes[k] as usize);
                }
            }
            *place = LanePointer { at: to, size: 0 };
        }
        // SAFETY: all places are slots now; those of arguments and accumulators hold a vector, and the others
        // are written before they are read.
        unsafe { run(self.dtype, &self.code, places, lanes(self.dtype)) };
        let results = given.iter().zip(places.iter()).zip(&self.sizes).skip(self.arguments);
        for ((to, from), &size) in results {
            // SAFETY: a slot holds a vector of results; the caller guarantees room for `n` lanes.
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
/// Same as [`blocks`]; there must be chains of this dtype.
unsafe fn run(dtype: DType, code: &[ChainInst], places: &[LanePointer; PLACES], n: usize) {
    // SAFETY: the caller guarantees what `blocks` needs of places and `n`; this processor has the level, and
    // the functions are for this dtype.
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
