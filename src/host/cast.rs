//! Conversions between register dtypes, as C converts: one loop per pair.

use crate::dtype::DType;
use crate::kernels::ops::{lanes, lanes_mut};

/// Converts the first `n` lanes.
pub(super) type CastFn = fn(from: &[u64], to: &mut [u64], n: usize);

macro_rules! to {
    ($from:ty, $to:expr; $($dtype:ident: $t:ty),*) => {
        match $to {
            DType::Bool => {
                fn cast(from: &[u64], to: &mut [u64], n: usize) {
                    let zero = <$from>::default();
                    let pairs = lanes_mut::<u8>(to)[..n].iter_mut().zip(&lanes::<$from>(from)[..n]);
                    pairs.for_each(|(t, f)| *t = u8::from(*f != zero));
                }
                cast
            }
            $(DType::$dtype => {
                fn cast(from: &[u64], to: &mut [u64], n: usize) {
                    let pairs = lanes_mut::<$t>(to)[..n].iter_mut().zip(&lanes::<$from>(from)[..n]);
                    pairs.for_each(|(t, f)| *t = *f as $t);
                }
                cast
            })*
        }
    };
}

macro_rules! from {
    ($from:expr, $to:expr; $($dtype:ident: $t:ty),*) => {
        match $from {
            $(DType::$dtype => to!($t, $to; I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64,
                F16: f32, BF16: f32, F32: f32, F64: f64),)*
        }
    };
}

/// The loop from one dtype's register form to another's.
pub(super) fn cast(from: DType, to: DType) -> CastFn {
    from!(from, to; Bool: u8, I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64,
        F16: f32, BF16: f32, F32: f32, F64: f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Scalar;

    #[test]
    fn agrees_with_scalar_casts() {
        let values =
            [-3.7, -1.0, -0.0, 0.5, 1.0, 2.9, 127.0, 200.0, 40000.0, 3e9, -3e9, f64::NAN, f64::INFINITY];
        for from in DType::ALL.into_iter().filter(|d| !d.is_half()) {
            for to in DType::ALL.into_iter().filter(|d| !d.is_half()) {
                for value in values {
                    let given = Scalar::from_f64(from, value);
                    let mut out = [0u64];
                    cast(from, to)(&[given.bits()], &mut out, 1);
                    let got = Scalar::from_le_bytes(to, &out[0].to_le_bytes()[..to.size()]).unwrap();
                    let want = given.cast(to);
                    assert!(
                        got == want || got.to_f64().is_nan() && want.to_f64().is_nan(),
                        "{given} {from} {to}: {got}"
                    );
                }
            }
        }
    }
}
