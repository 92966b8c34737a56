//! Powers and roots.

use super::exponential::{Exponential, exp_tail};
use super::float::{MachineFloat, by_halves, choose, horner, limited, lost};
use super::logarithm::{Logarithm, exponent};

/// Constants of powers and roots, and what differs between the types.
pub(crate) trait Power: Exponential + Logarithm {
    /// For larger exponents every power is 0 or infinite, except of 1.
    const POW_FAR: Self;
    /// 2 to the power of a larger number is infinite, and 2 to the power of its negative is 0.
    const POW_RANGE: Self;
    /// Magnitudes below, as exponents of 2, are far from overflow and underflow.
    const QUICK_POW: Self;
    /// A cube that makes a subnormal number normal, and its inverse root.
    const CUBE: [Self; 2];

    /// `e + log2(m)` in two parts.
    fn log2_parts(m: Self, e: Self) -> (Self, Self);
    /// 2 to the power of a sum less its nearest integer, and a rounded number with that integer.
    fn exp2_parts(high: Self, low: Self) -> (Self, Self);
    /// The cube root of a positive normal number.
    fn cube_root(self) -> Self;
    /// `sqrt(x^2 + y^2)` of finite numbers.
    fn length(x: Self, y: Self) -> Self;
}

impl Power for f32 {
    const POW_FAR: f32 = 1e12;
    const POW_RANGE: f32 = 160.0;
    const QUICK_POW: f32 = 125.0;
    const CUBE: [f32; 2] = [16_777_216.0, 1.0 / 256.0];

    /// With an error of about 2^-31.
    #[inline(always)]
    fn log2_parts(m: f32, e: f32) -> (f32, f32) {
        /// 2 / ln 2 in two parts: the first term of the series of log2 in `s = (m - 1) / (m + 1)`.
        const FIRST: [f32; 2] = [2.885_39, 3.851_926e-8];
        /// The others, over `s^3`, in `s^2`.
        const SERIES: [f32; 4] = [0.961_796_7, 0.577_079_8, 0.411_899_86, 0.336_620_66];
        let (s, s_low) = area_argument(m);
        let z = s * s;
        let high = s * FIRST[0];
        let low = s.mul_add(FIRST[1], s.mul_add(FIRST[0], -high));
        let low = s_low.mul_add(FIRST[0], (s * z).mul_add(horner(z, &SERIES), low));
        let sum = e + high;
        // The other terms of the series are more than a rounding error: the first part takes what it can
        // hold.
        let low = lost(e, high, sum) + low;
        let all = sum + low;
        (all, lost(sum, low, all))
    }

    #[inline(always)]
    fn exp2_parts(high: f32, low: f32) -> (f32, f32) {
        let rounded = high + f32::ROUND;
        let u = ((high - (rounded - f32::ROUND)) + low) * f32::LN2[0];
        (exp_tail(u) + u + 1.0, rounded)
    }

    #[inline(always)]
    fn cube_root(self) -> f32 {
        /// As integers, the bits of `x^(-1/3)` are about this number less a third of the bits of x.
        const THIRD: f32 = 1_419_902_976.0;
        /// `((1 - h)^(-1/3) - 1) / h`, where `h = 1 - x t^3` for that estimate t.
        const INVERSE_ROOT: [f32; 3] = [0.333_329_1, 0.223_475_89, 0.174_354_45];
        let bits = (self.to_bits() as i32 as f32).mul_add(-1.0 / 3.0, THIRD);
        // SAFETY: an i32 has a magnitude of at most 2^31, so `bits` is finite and from 0.70e9 to 2.14e9,
        // within i32.
        let t = f32::from_bits(unsafe { bits.to_int_unchecked::<i32>() } as u32);
        // With h the error of the inverse root's cube: (1 - h)^(-1/3) corrects that, and (1 - h)^(-2/3) the
        // root.
        let h = (self * t).mul_add(-(t * t), 1.0);
        let t = (t * h).mul_add(horner(h, &INVERSE_ROOT), t);
        let y = self * (t * t);
        let h = y.mul_add(-t, 1.0);
        (y * h).mul_add(2.0 / 3.0, y)
    }

    /// In f64, where no square overflows.
    #[inline(always)]
    fn length(x: f32, y: f32) -> f32 {
        let (a, b) = (f64::from(x), f64::from(y));
        a.mul_add(a, b * b).sqrt() as f32
    }
}

impl Power for f64 {
    const POW_FAR: f64 = 1e25;
    const POW_RANGE: f64 = 1100.0;
    const QUICK_POW: f64 = 1000.0;
    const CUBE: [f64; 2] = [18_014_398_509_481_984.0, 1.0 / 262_144.0];

    /// With a relative error of about 2^-66.
    #[inline(always)]
    fn log2_parts(m: f64, e: f64) -> (f64, f64) {
        /// 2 / ln 2 and a third of it, in two parts each: the first terms of the series of log2 in the
        /// argument of artanh.
        const FIRST: [f64; 2] = [2.885_390_081_777_926_8, 4.071_054_748_186_206_6e-17];
        const THIRD: [f64; 2] = [0.961_796_693_925_975_6, 5.057_761_664_812_590_7e-17];
        /// The other terms.
        #[rustfmt::skip]
        const SERIES: [f64; 7] = [
            0.577_078_016_355_618_2, 0.412_198_583_091_826_7, 0.320_598_902_294_633_67,
            0.262_307_699_220_099_17, 0.221_984_088_070_364_77, 0.191_253_003_262_497_22,
            0.190_405_931_012_952_97,
        ];
        let (s, s_low) = area_argument(m);
        let z = s * s;
        let z_low = (2.0 * s).mul_add(s_low, s.mul_add(s, -z));
        // The slope, z times this sum, and the first term before it.
        let rest = z * by_halves(z, &SERIES);
        let inner = THIRD[0] + rest;
        let inner_low = lost(THIRD[0], rest, inner) + THIRD[1];
        let outer = z * inner;
        let outer_low = z_low.mul_add(inner, z.mul_add(inner_low, z.mul_add(inner, -outer)));
        let slope = FIRST[0] + outer;
        let slope_low = lost(FIRST[0], outer, slope) + (FIRST[1] + outer_low);
        let high = s * slope;
        let low = s_low.mul_add(slope, s.mul_add(slope_low, s.mul_add(slope, -high)));
        let sum = e + high;
        (sum, lost(e, high, sum) + low)
    }

    #[inline(always)]
    fn exp2_parts(high: f64, low: f64) -> (f64, f64) {
        let rounded = high + f64::ROUND;
        let near = high - (rounded - f64::ROUND);
        let r = near + low;
        let r_low = lost(near, low, r);
        let [ln2, ln2_low] = f64::LN2;
        let u = r * ln2;
        let u_low = r_low.mul_add(ln2, r.mul_add(ln2_low, r.mul_add(ln2, -u)));
        let sum = 1.0 + u;
        let tail = (u * u).mul_add(by_halves(u, f64::EXP_SERIES), u_low);
        (sum + (lost(1.0, u, sum) + tail), rounded)
    }

    #[inline(always)]
    fn cube_root(self) -> f64 {
        /// `m^(-1/3)` from 1 to 2, roughly.
        #[rustfmt::skip]
        const INVERSE_ROOT: [f64; 6] = [
            1.781_054_405_520_626, -1.566_016_064_489_663_7, 1.243_766_817_876_269_3, -0.597_859_338_798_13,
            0.156_066_848_912_940_6, -0.017_018_389_965_379_896,
        ];
        /// The cube roots of 1/2 and 2.
        const ROOTS: [f64; 2] = [0.793_700_525_984_099_7, 1.259_921_049_894_873_2];
        let bits = self.to_bits();
        let e = exponent(bits);
        let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 1f64.to_bits());
        // The exponent is 3 q + r, with r from -1 to 1; r goes to the mantissa.
        let rounded = e.mul_add(1.0 / 3.0, f64::ROUND);
        let r = (rounded - f64::ROUND).mul_add(-3.0, e);
        let t = horner(m, &INVERSE_ROOT);
        let (m, t) = (choose(r > 0.0, 2.0 * m, m), choose(r > 0.0, ROOTS[0] * t, t));
        let (m, t) = (choose(r < 0.0, 0.5 * m, m), choose(r < 0.0, ROOTS[1] * t, t));
        // With h the error of the inverse root's cube: (1 - h)^(-2/3) corrects the root.
        let y = m * (t * t);
        let h = y.mul_add(-t, 1.0);
        let y = (y * h).mul_add(h.mul_add(h.mul_add(40.0 / 81.0, 5.0 / 9.0), 2.0 / 3.0), y);
        y * f64::power(rounded, 0)
    }

    #[inline(always)]
    fn length(x: f64, y: f64) -> f64 {
        // 2^-600 and 2^600.
        const DOWN: f64 = 2.409_919_865_102_884e-181;
        const UP: f64 = 4.149_515_568_880_993e180;
        let (a, b) = (x.abs(), y.abs());
        let (large, small) = (choose(a > b, a, b), choose(a > b, b, a));
        // Powers of two that avoid overflow and underflow of the squares.
        let (down, up) = (choose(large > 1e150, DOWN, 1.0), choose(large > 1e150, UP, 1.0));
        let (down, up) = (choose(large < 1e-150, UP, down), choose(large < 1e-150, DOWN, up));
        let (l, s) = (large * down, small * down);
        l.mul_add(l, s * s).sqrt() * up
    }
}

/// `(m - 1) / (m + 1)` in two parts: twice its artanh is `log(m)`.
#[inline(always)]
fn area_argument<T: MachineFloat>(m: T) -> (T, T) {
    let (top, bottom) = (m - T::ONE, m + T::ONE);
    let bottom_low = m - (bottom - T::ONE);
    let inverse = T::ONE / bottom;
    let s = top * inverse;
    (s, s.mul_add(-bottom_low, s.mul_add(-bottom, top)) * inverse)
}

/// `y * log2(x)` in two parts, for the parts of x.
#[inline(always)]
fn exponent_parts<T: Power>((m, e): (T, T), y: T) -> (T, T) {
    let (log, log_low) = T::log2_parts(m, e);
    let high = y * log;
    (high, y.mul_add(log_low, y.mul_add(log, -high)))
}

/// x to the power y.
#[inline(always)]
pub(super) fn pow<T: Power>(x: T, y: T) -> T {
    let a = x.abs();
    let (high, low) = exponent_parts(a.split_any(), limited(y, -T::POW_FAR, T::POW_FAR));
    let within = high.abs() < T::POW_RANGE;
    let (p, rounded) =
        T::exp2_parts(limited(high, -T::POW_RANGE, T::POW_RANGE), choose(within, low, T::ZERO));
    let usual = p.scale(rounded);
    // Negative bases: NaN if y is no integer, else the sign depends on the parity of y. Zeros and infinities
    // too have such signs.
    let integral = y.floor() == y;
    let odd = integral & ((T::HALF * y).floor() != T::HALF * y);
    let usual = choose((x < T::ZERO) & !integral, T::NAN, usual);
    let ends = choose((a == T::ZERO) == (y < T::ZERO), T::INFINITY, T::ZERO);
    let usual = choose((a == T::ZERO) | (a == T::INFINITY), ends, usual);
    let signed = choose(odd, usual.copysign(x), usual);
    let signed = choose(x.is_nan() | y.is_nan(), T::NAN, signed);
    choose((x == T::ONE) | (y == T::ZERO), T::ONE, signed)
}

/// As `pow`, valid for a positive normal base if the result is far from overflow and underflow, and whether
/// it is valid.
#[inline(always)]
pub(super) fn quick_pow<T: Power>(x: T, y: T) -> (T, bool) {
    let (high, low) = exponent_parts(x.split(), y);
    let (p, rounded) = T::exp2_parts(high, low);
    (p.times_power(rounded), x.is_usual() & (high.abs() < T::QUICK_POW))
}

/// Cube root.
#[inline(always)]
pub(super) fn cbrt<T: Power>(x: T) -> T {
    let a = x.abs();
    let tiny = a < T::MIN_POSITIVE;
    let usual = choose(tiny, a * T::CUBE[0], a).cube_root() * choose(tiny, T::CUBE[1], T::ONE);
    choose((a > T::ZERO) & (a < T::INFINITY), usual.copysign(x), x)
}

/// As `cbrt`, valid for normal numbers, and whether x is one.
#[inline(always)]
pub(super) fn quick_cbrt<T: Power>(x: T) -> (T, bool) {
    (x.abs().cube_root().copysign(x), x.abs().is_usual())
}

/// `sqrt(x^2 + y^2)`.
#[inline(always)]
pub(super) fn hypot<T: Power>(x: T, y: T) -> T {
    let endless = (x.abs() == T::INFINITY) | (y.abs() == T::INFINITY);
    choose(endless, T::INFINITY, T::length(x, y))
}
