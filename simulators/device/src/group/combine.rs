//! Sums and extremes of the members' arrays in main memory, in the order of ranks: the same bits for every
//! member, whichever part of the arrays it folds.

use bytemuck::{AnyBitPattern, NoUninit, bytes_of, pod_read_unaligned};
use half::{bf16, f16};
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;

/// An element, and the type in which it is folded.
trait Combined: AnyBitPattern + NoUninit {
    type Folded: Copy;
    fn widen(self) -> Self::Folded;
    fn narrow(folded: Self::Folded) -> Self;
    fn sum(a: Self::Folded, b: Self::Folded) -> Self::Folded;
    /// The larger one; a NaN if there is one, as in NumPy.
    fn max(a: Self::Folded, b: Self::Folded) -> Self::Folded;
    /// The smaller one, likewise.
    fn min(a: Self::Folded, b: Self::Folded) -> Self::Folded;
}

macro_rules! integers {
    ($($ty:ty),*) => { $(
        impl Combined for $ty {
            type Folded = $ty;
            fn widen(self) -> $ty {
                self
            }
            fn narrow(folded: $ty) -> $ty {
                folded
            }
            fn sum(a: $ty, b: $ty) -> $ty {
                a.wrapping_add(b)
            }
            fn max(a: $ty, b: $ty) -> $ty {
                Ord::max(a, b)
            }
            fn min(a: $ty, b: $ty) -> $ty {
                Ord::min(a, b)
            }
        }
    )* };
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($ty:ty, $folded:ty, $widen:expr, $narrow:expr;)*) => { $(
        impl Combined for $ty {
            type Folded = $folded;
            fn widen(self) -> $folded {
                $widen(self)
            }
            fn narrow(folded: $folded) -> $ty {
                $narrow(folded)
            }
            fn sum(a: $folded, b: $folded) -> $folded {
                a + b
            }
            fn max(a: $folded, b: $folded) -> $folded {
                if a.is_nan() || a >= b { a } else { b }
            }
            fn min(a: $folded, b: $folded) -> $folded {
                if a.is_nan() || a <= b { a } else { b }
            }
        }
    )* };
}
floats! {
    f16, f32, f16::to_f32, f16::from_f32;
    bf16, f32, bf16::to_f32, bf16::from_f32;
    f32, f32, std::convert::identity, std::convert::identity;
    f64, f64, std::convert::identity, std::convert::identity;
}

/// Folds arrays of equal lengths into `output`, which is as long. Halves are folded in float32 and rounded
/// once; integers wrap; a sum of bools is an or. Any other fold than the largest and the smallest is the sum.
pub fn combine(fold: Fold, dtype: DType, arrays: &[&[u8]], output: &mut [u8]) {
    match dtype {
        // One byte, 0 or 1.
        DType::Bool => by_element::<u8>(if fold == Fold::Sum { Fold::Max } else { fold }, arrays, output),
        DType::I8 => by_element::<i8>(fold, arrays, output),
        DType::I16 => by_element::<i16>(fold, arrays, output),
        DType::I32 => by_element::<i32>(fold, arrays, output),
        DType::I64 => by_element::<i64>(fold, arrays, output),
        DType::U8 => by_element::<u8>(fold, arrays, output),
        DType::U16 => by_element::<u16>(fold, arrays, output),
        DType::U32 => by_element::<u32>(fold, arrays, output),
        DType::U64 => by_element::<u64>(fold, arrays, output),
        DType::F16 => by_element::<f16>(fold, arrays, output),
        DType::BF16 => by_element::<bf16>(fold, arrays, output),
        // Collectives of complex numbers are sums, of parts.
        DType::F32 | DType::C64 => by_element::<f32>(fold, arrays, output),
        DType::F64 | DType::C128 => by_element::<f64>(fold, arrays, output),
    }
}

fn by_element<T: Combined>(fold: Fold, arrays: &[&[u8]], output: &mut [u8]) {
    match fold {
        Fold::Max => each::<T>(T::max, arrays, output),
        Fold::Min => each::<T>(T::min, arrays, output),
        _ => each::<T>(T::sum, arrays, output),
    }
}

fn each<T: Combined>(fold: fn(T::Folded, T::Folded) -> T::Folded, arrays: &[&[u8]], output: &mut [u8]) {
    let Some((first, others)) = arrays.split_first() else { return };
    let size = size_of::<T>();
    for (at, target) in output.chunks_exact_mut(size).enumerate() {
        let element = |array: &[u8]| pod_read_unaligned::<T>(&array[at * size..(at + 1) * size]).widen();
        let folded = others.iter().fold(element(first), |folded, array| fold(folded, element(array)));
        target.copy_from_slice(bytes_of(&T::narrow(folded)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::{cast_slice, cast_slice_mut};

    #[test]
    fn floats_propagate_nans() {
        let (a, b) = ([1f32, f32::NAN, 3.0, -0.0], [2f32, 1.0, f32::NAN, 5.0]);
        let folded = |fold| {
            let mut out = [0f32; 4];
            combine(fold, DType::F32, &[cast_slice(&a), cast_slice(&b)], cast_slice_mut(&mut out));
            out
        };
        assert_eq!(folded(Fold::Sum)[0], 3.0);
        for fold in [Fold::Max, Fold::Min] {
            let out = folded(fold);
            assert!(out[1].is_nan() && out[2].is_nan(), "{fold:?}: {out:?}");
        }
        assert_eq!((folded(Fold::Max)[3], folded(Fold::Min)[3]), (5.0, -0.0));
    }

    #[test]
    fn halves_are_rounded_once_and_integers_wrap() {
        // Each step in half precision would lose the ones.
        let halves = [2048f32, 1.0, 1.0].map(|x| [f16::from_f32(x)]);
        let mut out = [f16::ZERO];
        let arrays = halves.each_ref().map(|array| cast_slice(array));
        combine(Fold::Sum, DType::F16, &arrays, cast_slice_mut(&mut out));
        assert_eq!(out[0].to_f32(), 2050.0);
        let mut out = [0u8];
        combine(Fold::Sum, DType::U8, &[&[200], &[100]], &mut out);
        assert_eq!(out, [44]);
        combine(Fold::Sum, DType::Bool, &[&[1], &[1]], &mut out);
        assert_eq!(out, [1]);
    }
}
