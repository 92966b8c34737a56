//! Conversions between register dtypes, as C converts: one loop per pair. What becomes a half is rounded to it, once, and goes on
//! as f32.

use crate::dtype::DType;
use crate::kernels::Scalar;
use crate::kernels::level::{Loop, run};
use crate::kernels::ops::{lanes, lanes_mut};
use half::{bf16, f16};

/// Converts the first `n` lanes.
pub(super) type CastFn = fn(from: &[u64], to: &mut [u64], n: usize);

/// A loop of one conversion.
struct Each<'a, F, T, C> {
    from: &'a [F],
    to: &'a mut [T],
    cast: C,
}

impl<F: Copy, T, C: Fn(F) -> T> Loop for Each<'_, F, T, C> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        self.to.iter_mut().zip(self.from).for_each(|(t, f)| *t = (self.cast)(*f));
    }
}

/// A register's number rounded to a half.
trait Halves: Copy {
    fn f16(self) -> f32;
    fn bf16(self) -> f32;
}

/// Numbers that f32 holds exactly.
macro_rules! from_f32 {
    ($($t:ty),*) => { $(impl Halves for $t {
        fn f16(self) -> f32 {
            f16::from_f32(self as f32).to_f32()
        }
        fn bf16(self) -> f32 {
            bf16::from_f32(self as f32).to_f32()
        }
    })* };
}
from_f32!(i8, i16, u8, u16, f32);

/// Numbers that f32 would round a first time.
macro_rules! from_scalar {
    ($($t:ty: $make:ident($wide:ty)),*) => { $(impl Halves for $t {
        fn f16(self) -> f32 {
            Scalar::$make(DType::F16, self as $wide).to_f64() as f32
        }
        fn bf16(self) -> f32 {
            Scalar::$make(DType::BF16, self as $wide).to_f64() as f32
        }
    })* };
}
from_scalar!(i32: from_i128(i128), i64: from_i128(i128), u32: from_i128(i128), u64: from_i128(i128), f64: from_f64(f64));

macro_rules! to {
    ($from:ty, $to:expr; $($dtype:ident: $t:ty),*) => {
        match $to {
            DType::Bool => {
                fn cast(from: &[u64], to: &mut [u64], n: usize) {
                    let zero = <$from>::default();
                    let (from, to) = (&lanes::<$from>(from)[..n], &mut lanes_mut::<u8>(to)[..n]);
                    run(Each { from, to, cast: |f: $from| u8::from(f != zero) });
                }
                cast
            }
            DType::F16 => {
                fn cast(from: &[u64], to: &mut [u64], n: usize) {
                    let pairs = lanes_mut::<f32>(to)[..n].iter_mut().zip(&lanes::<$from>(from)[..n]);
                    pairs.for_each(|(t, f)| *t = f.f16());
                }
                cast
            }
            DType::BF16 => {
                fn cast(from: &[u64], to: &mut [u64], n: usize) {
                    let pairs = lanes_mut::<f32>(to)[..n].iter_mut().zip(&lanes::<$from>(from)[..n]);
                    pairs.for_each(|(t, f)| *t = f.bf16());
                }
                cast
            }
            $(DType::$dtype => {
                fn cast(from: &[u64], to: &mut [u64], n: usize) {
                    let (from, to) = (&lanes::<$from>(from)[..n], &mut lanes_mut::<$t>(to)[..n]);
                    run(Each { from, to, cast: |f: $from| f as $t });
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
                F32: f32, F64: f64),)*
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

    #[test]
    fn halves_round_once() {
        for to in [DType::F16, DType::BF16] {
            for digits in [8, 11] {
                let above = 1.0 + 2f64.powi(-digits) + 2f64.powi(-40);
                let mut out = [0u64];
                cast(DType::F64, to)(&[above.to_bits()], &mut out, 1);
                let want = Scalar::from_f64(to, above).to_f64() as f32;
                assert_eq!(f32::from_bits(out[0] as u32), want, "{above} {to}");
            }
            let above = (1i64 << 60) + (1 << 52) + 1;
            let mut out = [0u64];
            cast(DType::I64, to)(&[above as u64], &mut out, 1);
            let want = Scalar::from_i128(to, above as i128).to_f64() as f32;
            assert_eq!(f32::from_bits(out[0] as u32), want, "{above} {to}");
        }
    }

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
