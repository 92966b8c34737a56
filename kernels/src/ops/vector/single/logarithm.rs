//! Logarithms.

use super::{LN2, choose, horner, lost, power};
use std::f32::consts::{LOG2_E, LOG10_E, SQRT_2};

/// The bits of sqrt(1/2).
pub(crate) const ROOT_HALF: u32 = 0x3f35_04f3;

/// log10(2) in two parts, the first of few bits: its product with an exponent is exact.
const LOG10_2: [f32; 2] = [0.301_033_02, -3.024_355_5e-6];

/// Of `(log(1 + f) - f + f^2 / 2) / f^3` from sqrt(1/2) - 1 to sqrt(2) - 1.
pub(crate) const LOG_SERIES: [f32; 9] = [
    0.333_333_3,
    -0.249_999_97,
    0.200_007_17,
    -0.166_678_07,
    0.142_490_07,
    -0.124_255_23,
    0.116_857_85,
    -0.114_812_12,
    0.069_725_186,
];

/// Of `log2(1 + f) / f`, likewise.
const LOG2_SERIES: [f32; 10] = [
    LOG2_E,
    -0.721_347_5,
    0.480_903_77,
    -0.360_682_64,
    0.288_303_82,
    -0.239_788_2,
    0.208_880_11,
    -0.193_328,
    0.163_372_71,
    -0.079_707_76,
];
/// Of `log10(1 + f) / f`, likewise.
const LOG10_SERIES: [f32; 10] = [
    LOG10_E,
    -0.217_147_23,
    0.144_761_82,
    -0.108_573_526,
    0.087_002_33,
    -0.072_416_34,
    0.059_633_67,
    -0.053_406_365,
    0.064_978_43,
    -0.052_439_71,
];
/// The inverse hyperbolic tangent: `2 artanh(s) / s - 2` in `s^2`, divided by `s^2`.
const AREA_SERIES: [f32; 3] = [0.666_667_76, 0.399_775_68, 0.298_714_58];

/// Splits a positive normal number into a power of two and the rest, between sqrt(1/2) and sqrt(2).
#[inline(always)]
pub(super) fn split(x: f32) -> (f32, i32) {
    let bits = x.to_bits().wrapping_sub(ROOT_HALF);
    (f32::from_bits((bits & 0x007f_ffff) + ROOT_HALF), (bits as i32) >> 23)
}

/// As `split`, for any positive number, the exponent as f32.
#[inline(always)]
pub(super) fn split_any(x: f32) -> (f32, f32) {
    let tiny = x < f32::MIN_POSITIVE;
    let (m, e) = split(choose(tiny, x * 8_388_608.0, x));
    (m, e as f32 - choose(tiny, 23.0, 0.0))
}

/// Whether x is positive, normal and finite.
#[inline(always)]
pub(super) fn is_usual(x: f32) -> bool {
    const FIRST: u32 = f32::MIN_POSITIVE.to_bits();
    x.to_bits().wrapping_sub(FIRST) < f32::INFINITY.to_bits() - FIRST
}

/// The logarithm `y` of x, or its limit or NaN if x is not positive and finite.
#[inline(always)]
fn where_positive(x: f32, y: f32) -> f32 {
    let special = choose(x > 0.0, x, f32::NAN);
    let special = choose(x == 0.0, f32::NEG_INFINITY, special);
    choose((x > 0.0) & (x < f32::INFINITY), y, special)
}

/// `log(1 + f + low) + e * ln 2`, low being less than f's rounding.
#[inline(always)]
fn log_reduced(f: f32, low: f32, e: f32) -> f32 {
    let z = f * f;
    let p = horner(f, LOG_SERIES);
    let low = (z * f).mul_add(p, e.mul_add(LN2[1], low));
    e.mul_add(LN2[0], z.mul_add(-0.5, low) + f)
}

/// `e + log2(m)`.
#[inline(always)]
fn log2_reduced((m, e): (f32, f32)) -> f32 {
    (m - 1.0).mul_add(horner(m - 1.0, LOG2_SERIES), e)
}

/// `log10(2^e * m)`.
#[inline(always)]
fn log10_reduced((m, e): (f32, f32)) -> f32 {
    let small = (m - 1.0).mul_add(horner(m - 1.0, LOG10_SERIES), e * LOG10_2[1]);
    e.mul_add(LOG10_2[0], small)
}

/// As `split`, the exponent as f32.
#[inline(always)]
pub(super) fn split_usual(x: f32) -> (f32, f32) {
    let (m, e) = split(x);
    (m, e as f32)
}

/// Natural logarithm.
#[inline(always)]
pub(super) fn log(x: f32) -> f32 {
    let (m, e) = split_any(x);
    where_positive(x, log_reduced(m - 1.0, 0.0, e))
}

/// The same of a usual number, and whether this is one.
#[inline(always)]
pub(super) fn quick_log(x: f32) -> (f32, bool) {
    let (m, e) = split_usual(x);
    (log_reduced(m - 1.0, 0.0, e), is_usual(x))
}

/// Logarithm to base 2.
#[inline(always)]
pub(super) fn log2(x: f32) -> f32 {
    where_positive(x, log2_reduced(split_any(x)))
}

/// The same of a usual number, and whether this is one.
#[inline(always)]
pub(super) fn quick_log2(x: f32) -> (f32, bool) {
    (log2_reduced(split_usual(x)), is_usual(x))
}

/// Logarithm to base 10.
#[inline(always)]
pub(super) fn log10(x: f32) -> f32 {
    where_positive(x, log10_reduced(split_any(x)))
}

/// The same of a usual number, and whether this is one.
#[inline(always)]
pub(super) fn quick_log10(x: f32) -> (f32, bool) {
    (log10_reduced(split_usual(x)), is_usual(x))
}

/// `log(1 + x)`, exact near 0.
#[inline(always)]
pub(super) fn log1p(x: f32) -> f32 {
    let sum = 1.0 + x;
    // The rounding error of the addition.
    let rest = x - (sum - 1.0);
    let (m, e) = split(sum);
    let f = rest.mul_add(power(-e.min(120)), m - 1.0);
    let special = choose(x > -1.0, x, f32::NAN);
    let special = choose(x == -1.0, f32::NEG_INFINITY, special);
    let usual = (x > -1.0) & (x < f32::INFINITY) & (x != 0.0);
    choose(usual, log_reduced(f, 0.0, e as f32), special)
}

/// `log((1 + high + low) * 2^more)` where high is 0 or more, low less than its rounding.
#[inline(always)]
pub(super) fn log1p_sum(high: f32, low: f32, more: f32) -> f32 {
    let sum = 1.0 + high;
    let rest = (high - (sum - 1.0)) + low;
    let (m, e) = split(sum);
    let small = rest * power(-e.min(120));
    let f = (m - 1.0) + small;
    log_reduced(f, lost(m - 1.0, small, f), e as f32 + more)
}

/// `artanh(a)` for a from 0 to below 1: half the logarithm of `(1 + a) / (1 - a)`.
#[inline(always)]
pub(super) fn area_tangent(a: f32) -> f32 {
    let (top, bottom) = (1.0 + a, 1.0 - a);
    let (top_low, bottom_low) = (a - (top - 1.0), (1.0 - bottom) - a);
    // Powers of two bring the quotient between sqrt(1/2) and sqrt(2), so that the difference below is exact.
    let (m, e) = split(bottom);
    let bottom_low = bottom_low * power(-e);
    let double = top > SQRT_2 * m;
    let half = choose(double, 0.5, 1.0);
    let e = choose(double, 1 - e, -e) as f32;
    let (top, top_low) = (half * top, half * top_low);
    let difference = (top - m) + (top_low - bottom_low);
    let sum = top + m;
    let inverse = 1.0 / sum;
    let s = difference * inverse;
    let s_low = s.mul_add(-sum, difference) * inverse;
    // Near 0, a itself is the argument of the series.
    let (s, s_low) = (choose(e == 0.0, a, s), choose(e == 0.0, 0.0, s_low));
    let z = s * s;
    let tail = (0.5 * s * z).mul_add(horner(z, AREA_SERIES), (0.5 * e).mul_add(LN2[1], s_low));
    let main = (0.5 * e).mul_add(LN2[0], s);
    main + (((0.5 * e).mul_add(LN2[0], -main) + s) + tail)
}
