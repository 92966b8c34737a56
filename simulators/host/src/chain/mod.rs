//! Chains: many cheap instructions done together, a few vectors of lanes at a time.
//!
//! An instruction by itself reads whole tiles and writes one. In a chain, what one instruction gives and the next one takes
//! stays in the processor's registers (the *accumulator*, and a *mask* for what is true or false), and what is of use a
//! little later lies in a *slot* of a few vectors; only what is asked for outside the chain is written to a tile. Each lane
//! is computed as by the op table, bit for bit.
//!
//! - `build`: which instructions make a chain, and its code.
//! - `vector`: the vectors. On processors without AVX2 there are no chains.

mod build;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vector;

pub(super) use build::{Group, Member, build, chains};

use workalike_kernels::DType;

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

/// Lanes at an address. `size`: bytes from a lane to the next one of the tile; 0 for what is the same from block to block, and for
/// slots.
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
#[cfg(target_arch = "x86_64")]
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
    /// Arguments must be readable and results writable for `n` lanes of their sizes; no result may overlap another or an
    /// argument. An argument of size 0 must be readable for a slot, or for all `n` lanes if they are fewer.
    #[inline]
    pub(super) unsafe fn run(&self, places: &mut [Place; PLACES], n: usize) {
        let mut room = Room([std::mem::MaybeUninit::uninit(); PLACES]);
        let given = self.sizes.len();
        for (place, slot) in places[given..].iter_mut().zip(&mut room.0[..SLOTS]) {
            *place = Place { at: slot.as_mut_ptr().cast(), size: 0 };
        }
        if n < lanes(self.dtype) {
            // SAFETY: the caller's promise.
            return unsafe { self.short(places, &mut room, n) };
        }
        // SAFETY: the caller's promise; slots are as large as a block, and written before they are read.
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
                // SAFETY: a slot has room for a vector; the caller promises that the lanes are there.
                unsafe {
                    to.write_bytes(0, VECTOR);
                    std::ptr::copy_nonoverlapping(place.at, to, n * self.sizes[k] as usize);
                }
            }
            *place = Place { at: to, size: 0 };
        }
        // SAFETY: all places are slots now; those of arguments hold a vector, and the others are written before they are read.
        unsafe { run(self.dtype, &self.code, places, lanes(self.dtype)) };
        let results = given.iter().zip(places.iter()).zip(&self.sizes).skip(self.arguments);
        for ((to, from), &size) in results {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(from.at, to.at, n * size as usize) };
        }
    }
}

/// Lanes of a vector; 0 if this processor has no chains of this dtype.
pub(super) fn lanes(dtype: DType) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        use workalike_kernels::level::{Level, level};
        let bytes = match level() {
            Level::Baseline => 0,
            Level::Avx2 => 32,
            Level::Avx512 => 64,
        };
        match dtype {
            DType::F32 => bytes / 4,
            DType::F64 => bytes / 8,
            _ => 0,
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = dtype;
        0
    }
}

/// # Safety
/// As of [`blocks`]; the processor must have chains of this dtype.
#[cfg(target_arch = "x86_64")]
unsafe fn run(dtype: DType, code: &[Code], places: &[Place; PLACES], n: usize) {
    use workalike_kernels::level::{Level, level};
    // SAFETY: the caller's promise, and the level was found on this processor.
    unsafe {
        match (level(), dtype) {
            (Level::Avx512, DType::F64) => wide::avx512_f64(code, places, n),
            (Level::Avx512, _) => wide::avx512_f32(code, places, n),
            (_, DType::F64) => wide::avx2_f64(code, places, n),
            _ => wide::avx2_f32(code, places, n),
        }
    }
}

/// # Safety
/// Never called: there are no chains here.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn run(_: DType, _: &[Code], _: &[Place; PLACES], _: usize) {}

#[cfg(target_arch = "x86_64")]
mod wide {
    //! The loops over blocks of vectors, once for each level and dtype.

    use super::vector::{Avx2, Avx512, Lanes};
    use super::{Code, MANY, PLACES, Place, Step};
    use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
    )]
    pub(super) unsafe fn avx512_f32(code: &[Code], places: &[Place; PLACES], n: usize) {
        // SAFETY: the caller's promise.
        unsafe { blocks::<Avx512<__m512>>(code, places, n) }
    }
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
    )]
    pub(super) unsafe fn avx512_f64(code: &[Code], places: &[Place; PLACES], n: usize) {
        // SAFETY: the caller's promise.
        unsafe { blocks::<Avx512<__m512d>>(code, places, n) }
    }
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) unsafe fn avx2_f32(code: &[Code], places: &[Place; PLACES], n: usize) {
        // SAFETY: the caller's promise.
        unsafe { blocks::<Avx2<__m256>>(code, places, n) }
    }
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) unsafe fn avx2_f64(code: &[Code], places: &[Place; PLACES], n: usize) {
        // SAFETY: the caller's promise.
        unsafe { blocks::<Avx2<__m256d>>(code, places, n) }
    }

    /// # Safety
    /// The processor must have the instructions of the level. `n` must be at least a vector; places must hold that many lanes, or
    /// the lanes of as many vectors as are done at once if their size is 0. No place that is written for one block of lanes may be
    /// read for another, for lanes at the end are done twice where blocks do not come out even.
    #[inline(always)]
    unsafe fn blocks<V: Lanes>(code: &[Code], places: &[Place; PLACES], n: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            if n >= MANY * V::LANES { many::<V>(code, places, n) } else { single::<V>(code, places, n) }
        }
    }

    /// The loop over blocks of so many vectors: an accumulator, a mask and a number for each.
    macro_rules! blocks {
        ($name:ident, $count:expr; $($x:ident $mask:ident $k:literal),+) => {
            /// # Safety
            /// As of [`blocks`], and `n` must be at least a block.
            #[inline(always)]
            unsafe fn $name<V: Lanes>(code: &[Code], places: &[Place; PLACES], n: usize) {
                let block = $count * V::LANES;
                let mut lane = 0;
                while lane < n {
                    lane = lane.min(n - block);
                    // SAFETY: the caller's promise.
                    unsafe {
                        $(let (mut $x, mut $mask) = (V::zero(), V::never());)+
                        for &Code { step, place } in code {
                            let place = places[place as usize % PLACES];
                            let at = place.at.wrapping_add(place.size * lane);
                            macro_rules! part { ($i:literal) => { at.wrapping_add($i * V::LANES * V::SIZE) } }
                            macro_rules! other { ($i:literal) => { V::load(part!($i)) } }
                            macro_rules! bits { ($i:literal) => { at.wrapping_add($i * V::LANES) } }
                            match step {
                                Step::Load => { $($x = other!($k);)+ }
                                Step::Store => { $($x.store(part!($k));)+ }
                                Step::LoadMask => { $($mask = V::load_mask(bits!($k));)+ }
                                Step::StoreMask => { $(V::store_mask($mask, bits!($k));)+ }
                                Step::Add => { $($x = $x.add(other!($k));)+ }
                                Step::Sub => { $($x = $x.sub(other!($k));)+ }
                                Step::SubOther => { $($x = other!($k).sub($x);)+ }
                                Step::Mul => { $($x = $x.mul(other!($k));)+ }
                                Step::Div => { $($x = $x.div(other!($k));)+ }
                                Step::DivOther => { $($x = other!($k).div($x);)+ }
                                Step::Max => { $($x = $x.max(other!($k));)+ }
                                Step::MaxOther => { $($x = other!($k).max($x);)+ }
                                Step::Min => { $($x = $x.min(other!($k));)+ }
                                Step::MinOther => { $($x = other!($k).min($x);)+ }
                                Step::Neg => { $($x = $x.neg();)+ }
                                Step::Sqr => { $($x = $x.mul($x);)+ }
                                Step::Sqrt => { $($x = $x.sqrt();)+ }
                                Step::Lt => { $($mask = $x.lt(other!($k));)+ }
                                Step::Le => { $($mask = $x.le(other!($k));)+ }
                                Step::Gt => { $($mask = other!($k).lt($x);)+ }
                                Step::Ge => { $($mask = other!($k).le($x);)+ }
                                Step::Eq => { $($mask = $x.eq(other!($k));)+ }
                                Step::Ne => { $($mask = $x.ne(other!($k));)+ }
                                Step::Where => { $($x = V::choose($mask, $x, other!($k));)+ }
                                Step::WhereOther => { $($x = V::choose($mask, other!($k), $x);)+ }
                                Step::Ones => { $($x = V::ones($mask);)+ }
                            }
                        }
                    }
                    lane += block;
                }
            }
        };
    }
    blocks!(many, MANY; a ma 0, b mb 1, c mc 2, d md 3, e me 4, f mf 5, g mg 6, h mh 7);
    blocks!(single, 1; a ma 0);
}
