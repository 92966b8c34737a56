//! Powers and roots.

use super::exponential::{exp_tail, scale, times_power};
use super::logarithm::{is_usual, split_any, split_usual};
use super::{LN2, ROUND, choose, horner, integer, lost};

/// 2 / ln 2 in two parts: the first term of the series of log2 in `s = (m - 1) / (m + 1)`.
const TWO_LOG2_E: [f32; 2] = [2.885_39, 3.851_926e-8];
/// The others, over `s^3`, in `s^2`.
const LOG2_SERIES: [f32; 4] = [0.961_796_7, 0.577_079_8, 0.411_899_86, 0.336_620_66];
/// As integers, the bits of `x^(-1/3)` are about this number less a third of the bits of x.
const THIRD: f32 = 1_419_902_976.0;
/// `((1 - h)^(-1/3) - 1) / h`, where `h = 1 - x t^3` for that estimate t.
const INVERSE_ROOT: [f32; 3] = [0.333_329_1, 0.223_475_89, 0.174_354_45];

/// `e + log2(m)` in two parts, with an error of about 2^-31.
#[inline(always)]
fn log2_parts((m, e): (f32, f32)) -> (f32, f32) {
    let (top, bottom) = (m - 1.0, m + 1.0);
    let bottom_low = m - (bottom - 1.0);
    let inverse = 1.0 / bottom;
    let s = top * inverse;
    let s_low = s.mul_add(-bottom_low, s.mul_add(-bottom, top)) * inverse;
    let z = s * s;
    let high = s * TWO_LOG2_E[0];
    let low = s.mul_add(TWO_LOG2_E[1], s.mul_add(TWO_LOG2_E[0], -high));
    let low = s_low.mul_add(TWO_LOG2_E[0], (s * z).mul_add(horner(z, LOG2_SERIES), low));
    let sum = e + high;
    // The other terms of the series are more than a rounding error: the first part takes what it can hold.
    let low = lost(e, high, sum) + low;
    let all = sum + low;
    (all, lost(sum, low, all))
}

/// 2 to the power of a sum less its nearest integer, and a number with that integer in the low bits.
#[inline(always)]
fn exp2_parts(high: f32, low: f32) -> (f32, f32) {
    let rounded = high + ROUND;
    let u = ((high - (rounded - ROUND)) + low) * LN2[0];
    (exp_tail(u) + u + 1.0, rounded)
}

/// x to the power y.
#[inline(always)]
pub(super) fn pow(x: f32, y: f32) -> f32 {
    let a = x.abs();
    // For larger exponents every power is 0 or infinite, except of 1.
    let limited = choose(y > 1e12, 1e12, y);
    let limited = choose(limited < -1e12, -1e12, limited);
    let (log, log_low) = log2_parts(split_any(a));
    let high = limited * log;
    let low = limited.mul_add(log_low, limited.mul_add(log, -high));
    let within = high.abs() < 160.0;
    let high = choose(high > 160.0, 160.0, high);
    let high = choose(high < -160.0, -160.0, high);
    let (p, rounded) = exp2_parts(high, choose(within, low, 0.0));
    let usual = scale(p, integer(rounded));
    // Negative bases: NaN if y is no integer, else the sign depends on the parity of y. Zeros and infinities
    // too have such signs.
    let integral = y.floor() == y;
    let odd = integral & ((0.5 * y).floor() != 0.5 * y);
    let usual = choose((x < 0.0) & !integral, f32::NAN, usual);
    let ends = choose((a == 0.0) == (y < 0.0), f32::INFINITY, 0.0);
    let usual = choose((a == 0.0) | (a == f32::INFINITY), ends, usual);
    let signed = choose(odd, usual.copysign(x), usual);
    let signed = choose(x.is_nan() | y.is_nan(), f32::NAN, signed);
    choose((x == 1.0) | (y == 0.0), 1.0, signed)
}

/// As `pow`, valid for a positive normal base if the result is far from overflow and underflow, and whether
/// it is valid.
#[inline(always)]
pub(super) fn quick_pow(x: f32, y: f32) -> (f32, bool) {
    let (log, log_low) = log2_parts(split_usual(x));
    let high = y * log;
    let low = y.mul_add(log_low, y.mul_add(log, -high));
    let (p, rounded) = exp2_parts(high, low);
    (times_power(p, rounded), is_usual(x) & (high.abs() < 125.0))
}

/// The cube root of a positive normal number.
#[inline(always)]
fn root(a: f32) -> f32 {
    let bits = (a.to_bits() as i32 as f32).mul_add(-1.0 / 3.0, THIRD);
    // SAFETY: an i32 has a magnitude of at most 2^31, so `bits` is finite and from 0.70e9 to 2.14e9, within
    // i32.
    let t = f32::from_bits(unsafe { bits.to_int_unchecked::<i32>() } as u32);
    // With h the error of the inverse root's cube: (1 - h)^(-1/3) corrects that, and (1 - h)^(-2/3) the root.
    let h = (a * t).mul_add(-(t * t), 1.0);
    let t = (t * h).mul_add(horner(h, INVERSE_ROOT), t);
    let y = a * (t * t);
    let h = y.mul_add(-t, 1.0);
    (y * h).mul_add(2.0 / 3.0, y)
}

/// Cube root.
#[inline(always)]
pub(super) fn cbrt(x: f32) -> f32 {
    let a = x.abs();
    let tiny = a < f32::MIN_POSITIVE;
    let usual = root(choose(tiny, a * 16_777_216.0, a)) * choose(tiny, 1.0 / 256.0, 1.0);
    choose((a > 0.0) & (a < f32::INFINITY), usual.copysign(x), x)
}

/// As `cbrt`, valid for normal numbers, and whether x is one.
#[inline(always)]
pub(super) fn quick_cbrt(x: f32) -> (f32, bool) {
    (root(x.abs()).copysign(x), is_usual(x.abs()))
}

/// `sqrt(x^2 + y^2)`, in f64, where no square overflows.
#[inline(always)]
pub(super) fn hypot(x: f32, y: f32) -> f32 {
    let (a, b) = (f64::from(x), f64::from(y));
    let usual = a.mul_add(a, b * b).sqrt() as f32;
    let endless = (x.abs() == f32::INFINITY) | (y.abs() == f32::INFINITY);
    choose(endless, f32::INFINITY, usual)
}
