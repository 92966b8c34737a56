//! Conversions between register dtypes, as in C: one loop per pair. Conversions to a half round once and keep
//! the result as f32.

use super::halves::round;
use bytemuck::{AnyBitPattern, NoUninit};
use workalike_kernels::DType;
use workalike_kernels::level::{SimdLoop, run};
use workalike_kernels::ops::{TileFn, lanes, lanes_mut};

/// The loop of one conversion.
pub(super) struct CastLoop<'a, F, T, C> {
    pub(super) from: &'a [F],
    pub(super) to: &'a mut [T],
    pub(super) cast: C,
}

impl<F: Copy, T, C: Fn(F) -> T> SimdLoop for CastLoop<'_, F, T, C> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (to, from) in self.to.iter_mut().zip(self.from) {
            *to = (self.cast)(*from);
        }
    }
}

/// A number as an f32 that rounds to either half type as the number itself does.
trait Halves: Copy {
    fn narrow(self) -> f32;
}

/// Numbers that f32 holds exactly.
macro_rules! exact {
    ($($t:ty),*) => { $(impl Halves for $t {
        #[inline(always)]
        fn narrow(self) -> f32 {
            self as f32
        }
    })* };
}
exact!(i8, i16, u8, u16, f32);

/// Numbers that f32 would round first: they round to odd instead, so that the second rounding is correct.
macro_rules! to_odd {
    ($($t:ty: $wide:ty),*) => { $(impl Halves for $t {
        #[inline(always)]
        fn narrow(self) -> f32 {
            let near = self as f32;
            let bits = near.to_bits();
            // `as` saturates beyond the integers, and no half is nearer to their limit.
            let (back, itself) = (near as $wide, self as $wide);
            let (greater, less) = (back > itself, back < itself);
            let toward_zero = if near.is_sign_negative() { less } else { greater };
            let odd = if toward_zero { bits.wrapping_sub(1) } else { bits.wrapping_add(1) };
            f32::from_bits(if (greater | less) && bits & 1 == 0 { odd } else { bits })
        }
    })* };
}
to_odd!(i32: i64, u32: i64, i64: i64, u64: u64, f64: f64);

/// A float to an integer as by `as`: saturating, NaN to 0. Written to vectorize.
trait SaturatingCast<I>: Copy {
    fn whole(self) -> I;
}

macro_rules! whole {
    ($($f:ty => $by:ty: $($i:ty),*;)*) => { $($(impl SaturatingCast<$i> for $f {
        #[inline(always)]
        fn whole(self) -> $i {
            const LOW: $f = <$i>::MIN as $f;
            // The least number that is too large, and the greatest that is not.
            const OVER: $f = (<$i>::MAX as u64 as f64 + 1.0) as $f;
            const HIGH: $f = if <$i>::BITS < <$f>::MANTISSA_DIGITS { <$i>::MAX as $f } else { OVER.next_down() };
            let inside = if self > LOW { self } else { LOW };
            let inside = if inside < HIGH { inside } else { HIGH };
            // SAFETY: it is no NaN, for NaN is not above `LOW`, and the numbers from `LOW` to `HIGH` are in
            // range.
            let whole = unsafe { inside.to_int_unchecked::<$by>() } as $i;
            let whole = if self >= OVER { <$i>::MAX } else { whole };
            if self.is_nan() { 0 } else { whole }
        }
    })*)* };
}
whole! {
    f32 => i32: i8, i16, i32, u8, u16;
    f64 => i32: i8, i16, i32, u8, u16;
    f32 => i64: u32, i64;
    f64 => i64: u32, i64;
    f32 => u64: u64;
    f64 => u64: u64;
}

macro_rules! plain {
    ($($f:ty => $($i:ty),*;)*) => { $($(impl SaturatingCast<$i> for $f {
        #[inline(always)]
        fn whole(self) -> $i {
            self as $i
        }
    })*)* };
}
plain! {
    f32 => f32, f64;
    f64 => f32, f64;
    u8 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    u16 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    u32 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    u64 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    i8 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    i16 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    i32 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    i64 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
}

fn each<F, T>(args: &[&[u8]], to: &mut [u8], n: usize, cast: impl Fn(F) -> T)
where
    F: AnyBitPattern,
    T: AnyBitPattern + NoUninit,
{
    run(CastLoop { from: &lanes::<F>(args[0])[..n], to: &mut lanes_mut::<T>(to)[..n], cast });
}

fn to_whole<F: AnyBitPattern + SaturatingCast<T>, T: AnyBitPattern + NoUninit>(
    args: &[&[u8]],
    to: &mut [u8],
    n: usize,
) {
    each::<F, T>(args, to, n, <F as SaturatingCast<T>>::whole);
}

fn to_bool<F: AnyBitPattern + Default + PartialEq>(args: &[&[u8]], to: &mut [u8], n: usize) {
    each::<F, u8>(args, to, n, |x| u8::from(x != F::default()));
}

fn to_half<F: AnyBitPattern + Halves, const F16: bool>(args: &[&[u8]], to: &mut [u8], n: usize) {
    /// Not a closure: the compiler may leave one of this size out of line.
    #[inline(always)]
    fn rounded<F: Halves, const F16: bool>(x: F) -> f32 {
        round::<F16>(x.narrow())
    }
    each::<F, f32>(args, to, n, rounded::<F, F16>);
}

macro_rules! to {
    ($from:ty, $to:expr; $($dtype:ident: $t:ty),*) => {
        match $to {
            DType::Bool => to_bool::<$from>,
            DType::F16 => to_half::<$from, true>,
            DType::BF16 => to_half::<$from, false>,
            $(DType::$dtype => to_whole::<$from, $t>,)*
            // Checked Nests hold no complex numbers.
            DType::C64 | DType::C128 => to_whole::<$from, f64>,
        }
    };
}

macro_rules! from {
    ($from:expr, $to:expr; $($dtype:ident: $t:ty),*) => {
        // Checked Nests hold no complex numbers.
        match $from {
            DType::C64 | DType::C128 => to_whole::<f64, f64>,
            $(DType::$dtype => to!($t, $to; I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64,
                F32: f32, F64: f64),)*
        }
    };
}

/// The loop from one dtype's register form to another's.
pub(super) fn cast(from: DType, to: DType) -> TileFn {
    from!(from, to; Bool: u8, I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16, U32: u32, U64: u64,
        F16: f32, BF16: f32, F32: f32, F64: f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;
    use workalike_kernels::Scalar;

    /// One lane, as the first of a word.
    fn cast(from: DType, to: DType, lane: u64) -> u64 {
        let mut out = 0u64;
        let (from_size, to_size) = (from.register().size(), to.register().size());
        let out_lane = &mut bytemuck::bytes_of_mut(&mut out)[..to_size];
        super::cast(from, to)(&[&bytemuck::bytes_of(&lane)[..from_size]], out_lane, 1);
        out
    }

    /// Values around the limits of the targets.
    #[test]
    fn limits_agree_with_scalar_casts() {
        let mut values =
            vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e-300, -1e-30, 65519.999, 65520.0, 1e300];
        for bits in [7, 8, 15, 16, 31, 32, 63, 64] {
            let power = 2f64.powi(bits);
            for x in [power - 1.0, power, power.next_down(), power * (1.0 - 2f64.powi(-24)), power + 1.0] {
                values.extend([x, -x, x - 0.5, 0.5 - x, x / 3.0]);
            }
        }
        for from in [DType::F32, DType::F64, DType::I32, DType::I64, DType::U32, DType::U64] {
            for to in DType::REAL {
                for &value in &values {
                    let given = Scalar::from_f64(from, value);
                    let out = cast(from, to, given.bits());
                    let want = given.cast(to);
                    if to.is_half() {
                        let got = f64::from(f32::from_bits(out as u32));
                        let want = want.to_f64();
                        assert!(
                            got == want || got.is_nan() && want.is_nan(),
                            "{given} {from} {to}: {got}, not {want}"
                        );
                    } else {
                        let got = Scalar::from_le_bytes(to, &out.to_le_bytes()[..to.size()]).unwrap();
                        let same = got == want || got.to_f64().is_nan() && want.to_f64().is_nan();
                        assert!(same, "{given} {from} {to}: {got}, not {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn integers_round_once() {
        for x in [
            (1i64 << 24) + 1,
            (1 << 40) + (1 << 32) + 1,
            (1 << 40) + (1 << 31) + 1,
            i64::MAX,
            i64::MIN,
            -(1 << 25) - 3,
        ] {
            let out = cast(DType::I64, DType::BF16, x as u64);
            let want = Scalar::from_i128(DType::BF16, x.into()).to_f64() as f32;
            assert_eq!(f32::from_bits(out as u32), want, "{x}");
            assert_eq!(bf16::from_f32(want).to_f32(), want);
        }
    }

    #[test]
    fn halves_round_once() {
        for to in [DType::F16, DType::BF16] {
            for digits in [8, 11] {
                let above = 1.0 + 2f64.powi(-digits) + 2f64.powi(-40);
                let out = cast(DType::F64, to, above.to_bits());
                let want = Scalar::from_f64(to, above).to_f64() as f32;
                assert_eq!(f32::from_bits(out as u32), want, "{above} {to}");
            }
            let above = (1i64 << 60) + (1 << 52) + 1;
            let out = cast(DType::I64, to, above as u64);
            let want = Scalar::from_i128(to, above as i128).to_f64() as f32;
            assert_eq!(f32::from_bits(out as u32), want, "{above} {to}");
        }
    }

    #[test]
    fn agrees_with_scalar_casts() {
        let values =
            [-3.7, -1.0, -0.0, 0.5, 1.0, 2.9, 127.0, 200.0, 40000.0, 3e9, -3e9, f64::NAN, f64::INFINITY];
        for from in DType::REAL.into_iter().filter(|d| !d.is_half()) {
            for to in DType::REAL.into_iter().filter(|d| !d.is_half()) {
                for value in values {
                    let given = Scalar::from_f64(from, value);
                    let out = cast(from, to, given.bits());
                    let got = Scalar::from_le_bytes(to, &out.to_le_bytes()[..to.size()]).unwrap();
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
