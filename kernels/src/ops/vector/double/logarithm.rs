//! Logarithms.

use super::{LN2, ROUND, TWO_52, choose, horner, integer, lost, power};
use std::f64::consts::{LOG2_E, LOG10_E, SQRT_2};

/// The bits of 1 and of sqrt(1/2).
pub(crate) const ONE: u64 = 0x3ff0_0000_0000_0000;
pub(crate) const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
/// The rounding errors of `LOG2_E` and `LOG10_E`.
const LOG2_E_REST: f64 = 2.035_527_374_093_103_3e-17;
const LOG10_E_REST: f64 = 1.098_319_650_216_765e-17;
/// log10(2) in two parts, the first of few bits: its product with an exponent is exact.
const LOG10_2: [f64; 2] = [0.301_029_995_664_066_5, -8.532_344_317_057_107e-14];

/// The inverse hyperbolic tangent: `2 artanh(s) / s - 2` in `s^2`, divided by `s^2`.
pub(crate) const LOG_SERIES: [f64; 7] = [
    0.666_666_666_666_667,
    0.399_999_999_998_990_33,
    0.285_714_286_261_904_87,
    0.222_222_110_997_112_92,
    0.181_828_916_804_398_94,
    0.153_316_366_995_413_4,
    0.146_174_986_939_156_12,
];

/// Splits a positive normal number into a power of two and the rest, between sqrt(1/2) and sqrt(2).
#[inline(always)]
pub(crate) fn split(x: f64) -> (f64, f64) {
    let bits = x.to_bits().wrapping_add(ONE - ROOT_HALF);
    // The exponent as the low bits of a number above 2^52.
    let e = f64::from_bits((bits >> 52) | TWO_52) - (4_503_599_627_370_496.0 + 1023.0);
    (f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + ROOT_HALF), e)
}

/// As `split`, for any positive number.
#[inline(always)]
pub(super) fn split_any(x: f64) -> (f64, f64) {
    let tiny = x < f64::MIN_POSITIVE;
    let (m, e) = split(choose(tiny, x * 18_014_398_509_481_984.0, x));
    (m, e - choose(tiny, 54.0, 0.0))
}

/// Whether x is positive, normal and finite.
#[inline(always)]
pub(super) fn is_usual(x: f64) -> bool {
    const FIRST: u64 = f64::MIN_POSITIVE.to_bits();
    x.to_bits().wrapping_sub(FIRST) < f64::INFINITY.to_bits() - FIRST
}

/// The logarithm `y` of x, or its limit or NaN if x is not positive and finite.
#[inline(always)]
fn where_positive(x: f64, y: f64) -> f64 {
    let special = choose(x > 0.0, x, f64::NAN);
    let special = choose(x == 0.0, f64::NEG_INFINITY, special);
    choose((x > 0.0) & (x < f64::INFINITY), y, special)
}

/// `f^2 / 2`, and `log(1 + f) - f + f^2 / 2`, by the series of artanh of `f / (2 + f)`.
#[inline(always)]
fn log_tail(f: f64) -> (f64, f64) {
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * horner(z, LOG_SERIES);
    (half_square, s * (half_square + r))
}

/// `log(1 + f + low) + e * ln 2`, low being less than f's rounding.
#[inline(always)]
fn log_reduced(f: f64, low: f64, e: f64) -> f64 {
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * horner(z, LOG_SERIES);
    let low = s.mul_add(half_square + r, e.mul_add(LN2[1], low));
    e.mul_add(LN2[0], f - (half_square - low))
}

/// `log(1 + f) * factor + e * two`: both constants in two parts, the product with the first of `two` being
/// exact.
#[inline(always)]
fn log_to_base(f: f64, e: f64, factor: [f64; 2], two: [f64; 2]) -> f64 {
    let (half_square, tail) = log_tail(f);
    let high = f - half_square;
    let low = lost(f, -half_square, high) + tail;
    let main = high * factor[0];
    let rest = low.mul_add(factor[0], high.mul_add(factor[1], high.mul_add(factor[0], -main)));
    let whole = e * two[0];
    let sum = whole + main;
    sum + (e.mul_add(two[1], lost(whole, main, sum)) + rest)
}

/// `log2(2^e * m)`.
#[inline(always)]
fn log2_reduced((m, e): (f64, f64)) -> f64 {
    log_to_base(m - 1.0, e, [LOG2_E, LOG2_E_REST], [1.0, 0.0])
}

/// `log10(2^e * m)`.
#[inline(always)]
fn log10_reduced((m, e): (f64, f64)) -> f64 {
    log_to_base(m - 1.0, e, [LOG10_E, LOG10_E_REST], LOG10_2)
}

/// Natural logarithm.
#[inline(always)]
pub(super) fn log(x: f64) -> f64 {
    let (m, e) = split_any(x);
    where_positive(x, log_reduced(m - 1.0, 0.0, e))
}

/// The same of a usual number, and whether this is one.
#[inline(always)]
pub(super) fn quick_log(x: f64) -> (f64, bool) {
    let (m, e) = split(x);
    (log_reduced(m - 1.0, 0.0, e), is_usual(x))
}

/// Logarithm to base 2.
#[inline(always)]
pub(super) fn log2(x: f64) -> f64 {
    where_positive(x, log2_reduced(split_any(x)))
}

/// The same of a usual number, and whether this is one.
#[inline(always)]
pub(super) fn quick_log2(x: f64) -> (f64, bool) {
    (log2_reduced(split(x)), is_usual(x))
}

/// Logarithm to base 10.
#[inline(always)]
pub(super) fn log10(x: f64) -> f64 {
    where_positive(x, log10_reduced(split_any(x)))
}

/// The same of a usual number, and whether this is one.
#[inline(always)]
pub(super) fn quick_log10(x: f64) -> (f64, bool) {
    (log10_reduced(split(x)), is_usual(x))
}

/// `log(1 + x)`, exact near 0.
#[inline(always)]
pub(super) fn log1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    // The rounding error of the addition.
    let rest = x - (sum - 1.0);
    let (m, e) = split(sum);
    // 2^-e, out of the number that holds e in its low bits; for large e nothing was rounded away.
    let near = choose(e > 1000.0, 1000.0, e);
    let f = rest.mul_add(power(integer(ROUND - near)), m - 1.0);
    let special = choose(x > -1.0, x, f64::NAN);
    let special = choose(x == -1.0, f64::NEG_INFINITY, special);
    let usual = (x > -1.0) & (x < f64::INFINITY) & (x != 0.0);
    choose(usual, log_reduced(f, 0.0, e), special)
}

/// `log((1 + high + low) * 2^more)` where high is 0 or more, low less than its rounding.
#[inline(always)]
pub(super) fn log1p_sum(high: f64, low: f64, more: f64) -> f64 {
    let sum = 1.0 + high;
    let rest = (high - (sum - 1.0)) + low;
    let (m, e) = split(sum);
    let near = choose(e > 1000.0, 1000.0, e);
    let small = rest * power(integer(ROUND - near));
    let f = (m - 1.0) + small;
    log_reduced(f, lost(m - 1.0, small, f), e + more)
}

/// `artanh(a)` for a from 0 to below 1: half the logarithm of `(1 + a) / (1 - a)`.
#[inline(always)]
pub(super) fn area_tangent(a: f64) -> f64 {
    let (top, bottom) = (1.0 + a, 1.0 - a);
    let (top_low, bottom_low) = (a - (top - 1.0), (1.0 - bottom) - a);
    // Powers of two bring the quotient between sqrt(1/2) and sqrt(2), so that the difference below is exact.
    let (m, e) = split(bottom);
    let bottom_low = bottom_low * power(integer(ROUND - e));
    let double = top > SQRT_2 * m;
    let half = choose(double, 0.5, 1.0);
    let e = choose(double, 1.0 - e, -e);
    let (top, top_low) = (half * top, half * top_low);
    let small = top_low - bottom_low;
    let difference = (top - m) + small;
    let difference_low = lost(top - m, small, difference);
    let sum = top + m;
    let back = sum - top;
    let sum_low = (top - (sum - back)) + (m - back) + (top_low + bottom_low);
    let inverse = 1.0 / sum;
    let s = difference * inverse;
    let s_low = (s.mul_add(-sum, difference) + s.mul_add(-sum_low, difference_low)) * inverse;
    // Near 0, a itself is the argument of the series.
    let (s, s_low) = (choose(e == 0.0, a, s), choose(e == 0.0, 0.0, s_low));
    let z = s * s;
    let tail = (0.5 * s * z).mul_add(horner(z, LOG_SERIES), (0.5 * e).mul_add(LN2[1], s_low));
    let main = (0.5 * e).mul_add(LN2[0], s);
    main + (((0.5 * e).mul_add(LN2[0], -main) + s) + tail)
}
