//! Powers and roots.

use super::exponential::{EXP_SERIES, scale, times_power};
use super::logarithm::{is_usual, split, split_any};
use super::{LN2, ROUND, TWO_52, by_halves, choose, horner, integer, lost, power};

/// 2 / ln 2 and a third of it, in two parts each: the first terms of the series of log2 in the argument of
/// artanh.
const TWO_LOG2_E: [f64; 2] = [2.885_390_081_777_926_8, 4.071_054_748_186_206_6e-17];
const THIRD: [f64; 2] = [0.961_796_693_925_975_6, 5.057_761_664_812_590_7e-17];
/// The other terms.
const LOG2_SERIES: [f64; 7] = [
    0.577_078_016_355_618_2,
    0.412_198_583_091_826_7,
    0.320_598_902_294_633_67,
    0.262_307_699_220_099_17,
    0.221_984_088_070_364_77,
    0.191_253_003_262_497_22,
    0.190_405_931_012_952_97,
];
/// `m^(-1/3)` from 1 to 2, roughly.
const INVERSE_ROOT: [f64; 6] = [
    1.781_054_405_520_626,
    -1.566_016_064_489_663_7,
    1.243_766_817_876_269_3,
    -0.597_859_338_798_13,
    0.156_066_848_912_940_6,
    -0.017_018_389_965_379_896,
];
/// The cube roots of 1/2 and 2.
const ROOTS: [f64; 2] = [0.793_700_525_984_099_7, 1.259_921_049_894_873_2];

/// 2^-600 and 2^600.
const FAR_DOWN: f64 = 2.409_919_865_102_884e-181;
const FAR_UP: f64 = 4.149_515_568_880_993e180;

/// `e + log2(m)` in two parts, with a relative error of about 2^-66.
#[inline(always)]
fn log2_parts((m, e): (f64, f64)) -> (f64, f64) {
    // s = (m - 1) / (m + 1) in two parts; log2(m) is odd in it.
    let (top, bottom) = (m - 1.0, m + 1.0);
    let bottom_low = m - (bottom - 1.0);
    let inverse = 1.0 / bottom;
    let s = top * inverse;
    let s_low = s.mul_add(-bottom_low, s.mul_add(-bottom, top)) * inverse;
    let z = s * s;
    let z_low = (2.0 * s).mul_add(s_low, s.mul_add(s, -z));
    // The slope, z times this sum, and the first term before it.
    let rest = z * by_halves(z, LOG2_SERIES);
    let inner = THIRD[0] + rest;
    let inner_low = lost(THIRD[0], rest, inner) + THIRD[1];
    let outer = z * inner;
    let outer_low = z_low.mul_add(inner, z.mul_add(inner_low, z.mul_add(inner, -outer)));
    let slope = TWO_LOG2_E[0] + outer;
    let slope_low = lost(TWO_LOG2_E[0], outer, slope) + (TWO_LOG2_E[1] + outer_low);
    let high = s * slope;
    let low = s_low.mul_add(slope, s.mul_add(slope_low, s.mul_add(slope, -high)));
    let sum = e + high;
    (sum, lost(e, high, sum) + low)
}

/// 2 to the power of a sum less its nearest integer, and a number with that integer in the low bits.
#[inline(always)]
fn exp2_parts(high: f64, low: f64) -> (f64, f64) {
    let rounded = high + ROUND;
    let near = high - (rounded - ROUND);
    let r = near + low;
    let r_low = lost(near, low, r);
    let u = r * LN2[0];
    let u_low = r_low.mul_add(LN2[0], r.mul_add(LN2[1], r.mul_add(LN2[0], -u)));
    let sum = 1.0 + u;
    (sum + (lost(1.0, u, sum) + ((u * u).mul_add(by_halves(u, EXP_SERIES), u_low))), rounded)
}

/// As `pow`, valid for a positive normal base if the result is far from overflow and underflow, and whether
/// it is valid.
#[inline(always)]
pub(super) fn quick_pow(x: f64, y: f64) -> (f64, bool) {
    let (log, log_low) = log2_parts(split(x));
    let high = y * log;
    let low = y.mul_add(log_low, y.mul_add(log, -high));
    let (p, rounded) = exp2_parts(high, low);
    (times_power(p, rounded), is_usual(x) & (high.abs() < 1000.0))
}

/// x to the power y.
#[inline(always)]
pub(super) fn pow(x: f64, y: f64) -> f64 {
    let a = x.abs();
    // For larger exponents every power is 0 or infinite, except of 1.
    let limited = choose(y > 1e25, 1e25, y);
    let limited = choose(limited < -1e25, -1e25, limited);
    let (log, log_low) = log2_parts(split_any(a));
    let high = limited * log;
    let low = limited.mul_add(log_low, limited.mul_add(log, -high));
    let within = high.abs() < 1100.0;
    let high = choose(high > 1100.0, 1100.0, high);
    let high = choose(high < -1100.0, -1100.0, high);
    let low = choose(within, low, 0.0);
    let (p, rounded) = exp2_parts(high, low);
    let usual = scale(p, integer(rounded));
    // Negative bases: NaN if y is no integer, else the sign depends on the parity of y. Zeros and infinities
    // too have such signs.
    let integral = y.floor() == y;
    let odd = integral & ((0.5 * y).floor() != 0.5 * y);
    let usual = choose((x < 0.0) & !integral, f64::NAN, usual);
    let ends = choose((a == 0.0) == (y < 0.0), f64::INFINITY, 0.0);
    let usual = choose((a == 0.0) | (a == f64::INFINITY), ends, usual);
    let signed = choose(odd, usual.copysign(x), usual);
    let signed = choose(x.is_nan() | y.is_nan(), f64::NAN, signed);
    choose((x == 1.0) | (y == 0.0), 1.0, signed)
}

/// The cube root of a positive normal number.
#[inline(always)]
fn root(a: f64) -> f64 {
    let bits = a.to_bits();
    let e = f64::from_bits((bits >> 52) | TWO_52) - (4_503_599_627_370_496.0 + 1023.0);
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    // The exponent is 3 q + r, with r from -1 to 1; r goes to the mantissa.
    let rounded = e.mul_add(1.0 / 3.0, ROUND);
    let r = (rounded - ROUND).mul_add(-3.0, e);
    let t = horner(m, INVERSE_ROOT);
    let (m, t) = (choose(r > 0.0, 2.0 * m, m), choose(r > 0.0, ROOTS[0] * t, t));
    let (m, t) = (choose(r < 0.0, 0.5 * m, m), choose(r < 0.0, ROOTS[1] * t, t));
    // With h the error of the inverse root's cube: (1 - h)^(-2/3) corrects the root.
    let y = m * (t * t);
    let h = y.mul_add(-t, 1.0);
    let y = (y * h).mul_add(h.mul_add(h.mul_add(40.0 / 81.0, 5.0 / 9.0), 2.0 / 3.0), y);
    y * power(integer(rounded))
}

/// Cube root.
#[inline(always)]
pub(super) fn cbrt(x: f64) -> f64 {
    let a = x.abs();
    let tiny = a < f64::MIN_POSITIVE;
    let usual = root(choose(tiny, a * 18_014_398_509_481_984.0, a)) * choose(tiny, 1.0 / 262_144.0, 1.0);
    choose((a > 0.0) & (a < f64::INFINITY), usual.copysign(x), x)
}

/// As `cbrt`, valid for normal numbers, and whether x is one.
#[inline(always)]
pub(super) fn quick_cbrt(x: f64) -> (f64, bool) {
    (root(x.abs()).copysign(x), is_usual(x.abs()))
}

/// `sqrt(x^2 + y^2)`.
#[inline(always)]
pub(super) fn hypot(x: f64, y: f64) -> f64 {
    let (a, b) = (x.abs(), y.abs());
    let (large, small) = (choose(a > b, a, b), choose(a > b, b, a));
    // Powers of two that avoid overflow and underflow of the squares.
    let (down, up) = (choose(large > 1e150, FAR_DOWN, 1.0), choose(large > 1e150, FAR_UP, 1.0));
    let (down, up) = (choose(large < 1e-150, FAR_UP, down), choose(large < 1e-150, FAR_DOWN, up));
    let (l, s) = (large * down, small * down);
    let sum = l.mul_add(l, s * s);
    let usual = sum.sqrt() * up;
    let endless = (a == f64::INFINITY) | (b == f64::INFINITY);
    choose(endless, f64::INFINITY, usual)
}
