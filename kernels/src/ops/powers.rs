//! Vectorised powers of integers: a block of lanes is squared together, once for each bit of the largest
//! exponent.

use super::divide::Integer;
use super::host_loops::{HostLoops, LoopBody, lanes, lanes_mut, tiles};
use crate::dtype::DType;
use bytemuck::{AnyBitPattern, NoUninit};
use std::marker::PhantomData;

/// Lanes of a block: several vectors, to hide the latency of dependent multiplications.
const BLOCK: usize = 64;

/// Powers of a block of lanes.
trait Squares: Integer + AnyBitPattern + NoUninit {
    /// `out[i] = base[i].power(by[i])`, for at most [`BLOCK`] lanes.
    fn raise(base: &[Self], by: &[Self], out: &mut [Self]);
}

macro_rules! squares {
    ($($t:ty as $bits:ty: |$by:ident| $below:expr;)*) => { $(
        impl Squares for $t {
            #[inline(always)]
            fn raise(base: &[$t], by: &[$t], out: &mut [$t]) {
                let (mut square, mut power) = ([0; BLOCK], [0; BLOCK]);
                square[..base.len()].copy_from_slice(base);
                power[..by.len()].copy_from_slice(by);
                let mut keep: [$t; BLOCK] = [!0; BLOCK];
                let mut bits: [$bits; BLOCK] = [0; BLOCK];
                for i in 0..BLOCK {
                    let $by = power[i];
                    let below = $below;
                    // A negative power of 1 or -1 depends on the lowest bit of the exponent; others are 0.
                    let unit = square[i] == 1 || square[i] == (0 as $t).wrapping_sub(1);
                    keep[i] = if below && !unit { 0 } else { !0 };
                    bits[i] = if below { power[i] & 1 } else { power[i] } as $bits;
                    power[i] = 1;
                }
                let mut all = bits.iter().fold(0, |all, bits| all | bits);
                while all != 0 {
                    for i in 0..BLOCK {
                        let next = power[i].wrapping_mul(square[i]);
                        power[i] = if bits[i] & 1 == 1 { next } else { power[i] };
                        square[i] = square[i].wrapping_mul(square[i]);
                        bits[i] >>= 1;
                    }
                    all >>= 1;
                }
                out.iter_mut().zip(power).zip(keep).for_each(|((out, power), keep)| *out = power & keep);
            }
        }
    )* };
}
squares! {
    i8 as u8: |by| by < 0;
    i16 as u16: |by| by < 0;
    i32 as u32: |by| by < 0;
    i64 as u64: |by| by < 0;
    u8 as u8: |_by| false;
    u16 as u16: |_by| false;
    u32 as u32: |_by| false;
    u64 as u64: |_by| false;
}

struct Powers<T>(PhantomData<T>);

impl<T: Squares> LoopBody for Powers<T> {
    #[inline(always)]
    fn run<const FMA: bool>(args: &[&[u8]], out: &mut [u8], n: usize) {
        let (a, b) = (&lanes::<T>(args[0])[..n], &lanes::<T>(args[1])[..n]);
        let out = &mut lanes_mut::<T>(out)[..n];
        if !FMA {
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out = a.power(*b);
            }
            return;
        }
        let (a, b) = (a.chunks(BLOCK), b.chunks(BLOCK));
        for ((out, a), b) in out.chunks_mut(BLOCK).zip(a).zip(b) {
            T::raise(a, b, out);
        }
    }
}

/// The loops of powers of integers.
pub(super) fn powers(dtype: DType) -> Option<HostLoops> {
    Some(match dtype {
        DType::I8 => tiles::<Powers<i8>>(),
        DType::I16 => tiles::<Powers<i16>>(),
        DType::I32 => tiles::<Powers<i32>>(),
        DType::I64 => tiles::<Powers<i64>>(),
        DType::U8 => tiles::<Powers<u8>>(),
        DType::U16 => tiles::<Powers<u16>>(),
        DType::U32 => tiles::<Powers<u32>>(),
        DType::U64 => tiles::<Powers<u64>>(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_equal_single_powers() {
        macro_rules! all { ($($t:ty)*) => { $(
            let numbers = [0, 1, 2, 3, 5, 7, 10, 77, 100, 127, <$t>::MAX, <$t>::MIN, <$t>::MAX / 3, (0 as $t).wrapping_sub(1), (0 as $t).wrapping_sub(2)];
            let pairs: Vec<($t, $t)> = numbers.iter().flat_map(|a| numbers.iter().map(|b| (*a, *b))).collect();
            let (a, b): (Vec<$t>, Vec<$t>) = pairs.into_iter().unzip();
            let n = a.len();
            let args = [bytemuck::cast_slice(&a), bytemuck::cast_slice(&b)];
            let (mut fast, mut plain) = (vec![0 as $t; n], vec![0 as $t; n]);
            (tiles::<Powers<$t>>().fast)(&args, bytemuck::cast_slice_mut(&mut fast), n);
            (tiles::<Powers<$t>>().plain)(&args, bytemuck::cast_slice_mut(&mut plain), n);
            for i in 0..n {
                assert_eq!(plain[i], a[i].power(b[i]));
                assert_eq!(fast[i], plain[i], "{} to the power {}", a[i], b[i]);
            }
        )* }; }
        all!(i8 i16 i32 i64 u8 u16 u32 u64);
    }
}
