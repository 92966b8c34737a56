//! The loops of chains over blocks of vectors, compiled for each level and dtype.

use super::super::vector::{PortableVector, Vector};
use super::{ChainInst, ChainOpcode, LanePointer, MANY, PLACES};
#[cfg(target_arch = "x86_64")]
use {
    super::super::vector::{Avx2, Avx512},
    std::arch::x86_64::{__m256, __m256d, __m512, __m512d},
};

/// The loop, compiled for a level.
macro_rules! compiled {
    ($name:ident, $v:ty $(, $feature:literal)?) => {
        /// # Safety
        /// Same as [`blocks`], for this level.
        $(#[target_feature(enable = $feature)])?
        pub(super) unsafe fn $name(code: &[ChainInst], places: &[LanePointer; PLACES], n: usize) {
            // SAFETY: the caller guarantees what `blocks` needs; the features are the level's.
            unsafe { blocks::<$v>(code, places, n) }
        }
    };
}
compiled!(plain_f32, PortableVector<f32, 4>);
compiled!(plain_f64, PortableVector<f64, 2>);
#[cfg(target_arch = "x86_64")]
compiled!(avx2_f32, Avx2<__m256>, "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt");
#[cfg(target_arch = "x86_64")]
compiled!(avx2_f64, Avx2<__m256d>, "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt");
#[cfg(target_arch = "x86_64")]
compiled!(
    avx512_f32,
    Avx512<__m512>,
    "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
);
#[cfg(target_arch = "x86_64")]
compiled!(
    avx512_f64,
    Avx512<__m512d>,
    "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
);

/// # Safety
/// The processor must have the instructions of the level. `n` must be at least a vector. Places must hold
/// that many lanes, or a block of lanes if their size is 0. No place that is written may be read for another
/// block of lanes: where `n` is not a multiple of a block, the last block overlaps the one before.
#[inline(always)]
unsafe fn blocks<V: Vector>(code: &[ChainInst], places: &[LanePointer; PLACES], n: usize) {
    // SAFETY: the caller guarantees processor, places and `n`; `many` runs only if there is a whole block.
    unsafe { if n >= MANY * V::LANES { many::<V>(code, places, n) } else { single::<V>(code, places, n) } }
}

/// A loop over blocks of `count` vectors, each with an accumulator, a mask and its index in the block.
macro_rules! blocks {
    ($name:ident, $count:expr; $($x:ident $mask:ident $k:literal),+) => {
        /// # Safety
        /// Same as [`blocks`], and `n` must be at least a block.
        #[inline(always)]
        unsafe fn $name<V: Vector>(code: &[ChainInst], places: &[LanePointer; PLACES], n: usize) {
            let block = $count * V::LANES;
            let mut lane = 0;
            while lane < n {
                lane = lane.min(n - block);
                // SAFETY: the block at `lane` ends at `n` at the latest, so the caller guarantees these lanes
                // at every place, or a block of them where the size is 0. It guarantees the processor too.
                unsafe {
                    $(let (mut $x, mut $mask) = (V::zero(), V::never());)+
                    for &ChainInst { step, place, with } in code {
                        let here = |place: u8| {
                            let place = places[place as usize % PLACES];
                            place.at.wrapping_add(place.size * lane)
                        };
                        let at = here(place);
                        let size = V::LANES * size_of::<V::Item>();
                        macro_rules! part { ($i:literal) => { at.wrapping_add($i * size).cast::<V::Item>() } }
                        macro_rules! other { ($i:literal) => { V::load(part!($i)) } }
                        macro_rules! bits { ($i:literal) => { at.wrapping_add($i * V::LANES) } }
                        match step {
                            ChainOpcode::Load => { $($x = other!($k);)+ }
                            ChainOpcode::Store => { $($x.store(part!($k));)+ }
                            ChainOpcode::LoadMask => { $($mask = V::load_truth(bits!($k));)+ }
                            ChainOpcode::StoreMask => { $(V::store_truth($mask, bits!($k));)+ }
                            ChainOpcode::Add => { $($x = $x.add(other!($k));)+ }
                            ChainOpcode::AddProduct => {
                                let with = here(with);
                                macro_rules! sum { ($i:literal) => { V::load(with.wrapping_add($i * size).cast()) } }
                                $($x = sum!($k).add_product($x, other!($k));)+
                            }
                            ChainOpcode::AddSquare => { $($x = other!($k).add_product($x, $x);)+ }
                            ChainOpcode::Sub => { $($x = $x.sub(other!($k));)+ }
                            ChainOpcode::SubOther => { $($x = other!($k).sub($x);)+ }
                            ChainOpcode::Mul => { $($x = $x.mul(other!($k));)+ }
                            ChainOpcode::Div => { $($x = $x.div(other!($k));)+ }
                            ChainOpcode::DivOther => { $($x = other!($k).div($x);)+ }
                            ChainOpcode::Max => { $($x = $x.max(other!($k));)+ }
                            ChainOpcode::MaxOther => { $($x = other!($k).max($x);)+ }
                            ChainOpcode::Min => { $($x = $x.min(other!($k));)+ }
                            ChainOpcode::MinOther => { $($x = other!($k).min($x);)+ }
                            ChainOpcode::Neg => { $($x = $x.neg();)+ }
                            ChainOpcode::Sqr => { $($x = $x.mul($x);)+ }
                            ChainOpcode::Sqrt => { $($x = $x.sqrt();)+ }
                            ChainOpcode::Lt => { $($mask = $x.lt(other!($k));)+ }
                            ChainOpcode::Le => { $($mask = $x.le(other!($k));)+ }
                            ChainOpcode::Gt => { $($mask = other!($k).lt($x);)+ }
                            ChainOpcode::Ge => { $($mask = other!($k).le($x);)+ }
                            ChainOpcode::Eq => { $($mask = $x.eq(other!($k));)+ }
                            ChainOpcode::Ne => { $($mask = $x.ne(other!($k));)+ }
                            ChainOpcode::Where => { $($x = V::choose($mask, $x, other!($k));)+ }
                            ChainOpcode::WhereOther => { $($x = V::choose($mask, other!($k), $x);)+ }
                            ChainOpcode::Ones => { $($x = V::ones($mask);)+ }
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
