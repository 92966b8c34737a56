//! Functions of float16, computed in f32: correct to about 16 bits, of which a half keeps 11.
//!
//! Arguments may be any f32, since fused ops compute with values before they are rounded to halves. For the
//! same reason results have three bits more than a half ([`settled`]). Results too small for a half may be 0,
//! and results too large may be infinite. The series are computed by `fit/halves.py`.

use super::choose;
use super::single::{ROOT_HALF, ROUND};
use std::f32::consts::{FRAC_2_PI, FRAC_PI_2, LN_2, LOG2_E, LOG10_2, LOG10_E};

/// `exp(r)`, for r up to ln 2 / 2.
const EXP: [f32; 5] = [0.999_999_17, 0.999_963_64, 0.500_048_5, 0.167_906_61, 0.041_417_055];
/// `2^r`, for r up to 1 / 2.
const EXP2: [f32; 5] = [0.999_999_17, 0.693_121_97, 0.240_249_81, 0.055_917_04, 0.009_560_51];
/// `(exp(r) - 1) / r`, for r up to ln 2 / 2.
const EXPM1: [f32; 4] = [0.999_985_16, 0.500_016_3, 0.167_665_91, 0.041_624_878];
/// `log(1 + f) / f` between the roots of 1/2 and 2.
const LOG: [f32; 6] = [1.000_003_6, -0.499_893_6, 0.332_672_42, -0.254_383_5, 0.219_504_36, -0.139_763_3];
/// `sin(r) / r` in `r^2`, for r up to pi / 4.
const SINE: [f32; 3] = [0.999_998_5, -0.166_623_79, 0.008_149_992];
/// `cos(r)`, likewise.
const COSINE: [f32; 3] = [0.999_988_2, -0.499_685_1, 0.040_361_714];
/// `tan(r) / r`, likewise.
const TANGENT: [f32; 5] = [1.000_003, 0.333_092_2, 0.136_413_62, 0.040_672_85, 0.043_594_79];
/// `atan(t) / t` in `t^2`, for t up to 1.
const ARCTANGENT: [f32; 6] =
    [0.999_995, -0.332_963_53, 0.195_395_14, -0.120_579_354, 0.056_735_25, -0.013_187_235];
/// `sinh(r) / r` in `r^2`, for r up to ln 2 / 2.
const SINH: [f32; 2] = [0.999_985_04, 0.167_667_79];
/// `cosh(r)`, likewise.
const COSH: [f32; 3] = [1.000_000_1, 0.499_988_82, 0.041_916_296];
/// As integers, the bits of `x^(-1/3)` are about this number less a third of the bits of x.
const THIRD: f32 = 1_419_902_976.0;
/// `(1 - h)^(-2/3)`, where `h = 1 - x t^3` for that estimate t.
const ROOT: [f32; 4] = [0.999_993_74, 0.666_649, 0.560_319, 0.499_426_2];
/// pi / 2 in two parts.
const HALF_PI: [f32; 2] = [FRAC_PI_2, -4.371_139e-8];

/// `c[0] + x * (c[1] + x * (..))`.
#[inline(always)]
fn horner<const N: usize>(x: f32, c: [f32; N]) -> f32 {
    let mut sum = c[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, c[i]);
    }
    sum
}

/// Rounds to three bits more than a half has. This makes results that should be exact halves exact: the
/// exponential of 0, powers of two, logarithms of powers.
#[inline(always)]
fn settled(x: f32) -> f32 {
    const REST: u32 = 1 << 10;
    f32::from_bits(x.to_bits().wrapping_add(REST / 2) & !(REST - 1))
}

/// `p * 2^k`, where k is in the low bits of `rounded` (see [`ROUND`]).
#[inline(always)]
fn scaled(p: f32, rounded: f32) -> f32 {
    f32::from_bits(p.to_bits().wrapping_add(rounded.to_bits() << 23))
}

/// `y` within a range; infinite above `high`, and `least` below `low`.
#[inline(always)]
fn ended(x: f32, y: f32, (low, least): (f32, f32), high: f32) -> f32 {
    let y = choose(x > high, f32::INFINITY, y);
    choose(x < low, least, y)
}

/// `e^x`.
#[inline(always)]
pub(in crate::ops) fn exp(x: f32) -> f32 {
    let rounded = x.mul_add(LOG2_E, ROUND);
    let r = (rounded - ROUND).mul_add(-LN_2, x);
    let y = settled(scaled(horner(r, EXP), rounded));
    ended(x, y, (-87.0, 0.0), 88.0)
}

/// `2^x`.
#[inline(always)]
pub(in crate::ops) fn exp2(x: f32) -> f32 {
    let rounded = x + ROUND;
    let y = settled(scaled(horner(x - (rounded - ROUND), EXP2), rounded));
    ended(x, y, (-125.0, 0.0), 127.0)
}

/// `exp(x) - 1`.
#[inline(always)]
pub(in crate::ops) fn expm1(x: f32) -> f32 {
    let rounded = x.mul_add(LOG2_E, ROUND);
    let r = (rounded - ROUND).mul_add(-LN_2, x);
    let power = scaled(1.0, rounded);
    let y = settled((power * r).mul_add(horner(r, EXPM1), power - 1.0));
    choose(x == 0.0, x, ended(x, y, (-18.0, -1.0), 88.0))
}

/// `(m - 1, k)` with `x = m * 2^k`, m from sqrt(1/2) to sqrt(2).
#[inline(always)]
fn split(x: f32) -> (f32, f32) {
    let bits = x.to_bits().wrapping_sub(ROOT_HALF);
    let m = f32::from_bits((bits & 0x007f_ffff) + ROOT_HALF);
    (m - 1.0, ((bits as i32) >> 23) as f32)
}

/// The logarithm `y` of x, or its limit or NaN if x is not positive and finite.
#[inline(always)]
fn where_positive(x: f32, y: f32) -> f32 {
    let y = choose(x < f32::INFINITY, y, x);
    let none = choose(x < 0.0, f32::NAN, f32::NEG_INFINITY);
    choose(x < f32::MIN_POSITIVE, none, y)
}

/// The logarithm of a positive number; `two` and `e` are the logarithms of 2 and e to the same base.
#[inline(always)]
fn logarithm(x: f32, two: f32, e: f32) -> f32 {
    let (f, exponent) = split(x);
    settled(exponent.mul_add(two, (f * e) * horner(f, LOG)))
}

/// Whether x is positive, normal and finite. Within a kernel a half may be a subnormal f32.
#[inline(always)]
fn is_usual(x: f32) -> bool {
    const FIRST: u32 = f32::MIN_POSITIVE.to_bits();
    x.to_bits().wrapping_sub(FIRST) < f32::INFINITY.to_bits() - FIRST
}

/// Natural logarithm.
#[inline(always)]
pub(in crate::ops) fn log(x: f32) -> f32 {
    where_positive(x, logarithm(x, LN_2, 1.0))
}

/// The same of a usual number, and whether this is one.
#[inline(always)]
pub(in crate::ops) fn quick_log(x: f32) -> (f32, bool) {
    (logarithm(x, LN_2, 1.0), is_usual(x))
}

/// Logarithm to base 2.
#[inline(always)]
pub(in crate::ops) fn log2(x: f32) -> f32 {
    where_positive(x, logarithm(x, 1.0, LOG2_E))
}

/// The same of a usual number, and whether this is one.
#[inline(always)]
pub(in crate::ops) fn quick_log2(x: f32) -> (f32, bool) {
    (logarithm(x, 1.0, LOG2_E), is_usual(x))
}

/// Logarithm to base 10.
#[inline(always)]
pub(in crate::ops) fn log10(x: f32) -> f32 {
    where_positive(x, logarithm(x, LOG10_2, LOG10_E))
}

/// The same of a usual number, and whether this is one.
#[inline(always)]
pub(in crate::ops) fn quick_log10(x: f32) -> (f32, bool) {
    (logarithm(x, LOG10_2, LOG10_E), is_usual(x))
}

/// Cube root.
#[inline(always)]
pub(in crate::ops) fn cbrt(x: f32) -> f32 {
    let a = x.abs();
    let bits = (a.to_bits() as i32 as f32).mul_add(-1.0 / 3.0, THIRD);
    // SAFETY: an i32 has a magnitude of at most 2^31, so `bits` is finite and from 0.70e9 to 2.14e9, within
    // i32.
    let t = f32::from_bits(unsafe { bits.to_int_unchecked::<i32>() } as u32);
    let y = a * (t * t);
    let h = y.mul_add(-t, 1.0);
    choose(a < f32::INFINITY, settled(y * horner(h, ROOT)).copysign(x), x)
}

/// `log(1 + x)` of more than -1, short of infinity.
#[inline(always)]
fn log_above(x: f32) -> f32 {
    let sum = 1.0 + x;
    // The rounding error of the addition.
    let rest = x - (sum - 1.0);
    let (f, exponent) = split(sum);
    let f = rest.mul_add(scaled(1.0, ROUND - choose(exponent > 120.0, 120.0, exponent)), f);
    exponent.mul_add(LN_2, f * horner(f, LOG))
}

/// `log(1 + x)`, exact near 0.
#[inline(always)]
pub(in crate::ops) fn log1p(x: f32) -> f32 {
    let y = choose(x < f32::INFINITY, settled(log_above(x)), x);
    let y = choose(x < -1.0, f32::NAN, y);
    let y = choose(x == -1.0, f32::NEG_INFINITY, y);
    choose(x == 0.0, x, y)
}

/// x less the nearest multiple of pi / 2, and a word with the number of that multiple in the low bits.
#[inline(always)]
fn reduced(x: f32) -> (f32, u32) {
    let rounded = x.mul_add(FRAC_2_PI, ROUND);
    let n = rounded - ROUND;
    (n.mul_add(-HALF_PI[1], n.mul_add(-HALF_PI[0], x)), rounded.to_bits())
}

/// Sine (`turn` 0) or cosine (`turn` 1).
#[inline(always)]
fn wave(x: f32, turn: u32) -> f32 {
    let (r, n) = reduced(x);
    let quarter = n.wrapping_add(turn);
    let z = r * r;
    let y = settled(choose(quarter & 1 == 0, r * horner(z, SINE), horner(z, COSINE)));
    f32::from_bits(y.to_bits() ^ ((quarter & 2) << 30))
}

/// Sine.
#[inline(always)]
pub(in crate::ops) fn sin(x: f32) -> f32 {
    choose(x == 0.0, x, wave(x, 0))
}

/// Cosine.
#[inline(always)]
pub(in crate::ops) fn cos(x: f32) -> f32 {
    wave(x, 1)
}

/// Tangent.
#[inline(always)]
pub(in crate::ops) fn tan(x: f32) -> f32 {
    let (r, n) = reduced(x);
    let tan = r * horner(r * r, TANGENT);
    // In odd quarters it is the negative cotangent.
    let y = choose(n & 1 == 0, tan, -1.0 / tan);
    choose(x == 0.0, x, settled(y))
}

/// Inverse tangent.
#[inline(always)]
pub(in crate::ops) fn atan(x: f32) -> f32 {
    let a = x.abs();
    let steep = a > 1.0;
    let t = choose(steep, 1.0 / a, a);
    let y = t * horner(t * t, ARCTANGENT);
    settled(choose(steep, FRAC_PI_2 - y, y)).copysign(x)
}

/// Hyperbolic functions of larger arguments are infinite as halves; larger arguments would overflow here.
const FAR: f32 = 80.0;

/// With `x = n * ln 2 + r`: the hyperbolic cosine and sine of `n * ln 2`, and the hyperbolic sine and cosine
/// of r.
#[inline(always)]
fn hyperbolic(x: f32) -> [f32; 4] {
    let rounded = x.mul_add(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN_2, x);
    let (up, down) = (scaled(0.5, rounded), scaled(0.5, ROUND - n));
    let z = r * r;
    [up + down, up - down, r * horner(z, SINH), horner(z, COSH)]
}

/// Hyperbolic sine.
#[inline(always)]
pub(in crate::ops) fn sinh(x: f32) -> f32 {
    let [sum, difference, sinh, cosh] = hyperbolic(x.abs());
    let y = settled(sum.mul_add(sinh, difference * cosh));
    choose(x.abs() > FAR, f32::INFINITY, y).copysign(x)
}

/// Hyperbolic cosine.
#[inline(always)]
pub(in crate::ops) fn cosh(x: f32) -> f32 {
    let [sum, difference, sinh, cosh] = hyperbolic(x.abs());
    choose(x.abs() > FAR, f32::INFINITY, settled(sum.mul_add(cosh, difference * sinh)))
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(in crate::ops) fn asinh(x: f32) -> f32 {
    let a = x.abs();
    let square = a * a;
    let y = log_above(a + square / (1.0 + (1.0 + square).sqrt()));
    let y = choose(a < 1e18, settled(y), a);
    choose(x == 0.0, x, y.copysign(x))
}

/// Inverse hyperbolic cosine.
#[inline(always)]
pub(in crate::ops) fn acosh(x: f32) -> f32 {
    let y = log(x + ((x - 1.0) * (x + 1.0)).sqrt());
    choose(x < 1.0, f32::NAN, y)
}

/// Inverse hyperbolic tangent.
#[inline(always)]
pub(in crate::ops) fn atanh(x: f32) -> f32 {
    let a = x.abs();
    let y = settled(0.5 * log_above((a + a) / (1.0 - a)));
    let y = choose(a < 1.0, y, choose(a == 1.0, f32::INFINITY, f32::NAN));
    choose(x == 0.0, x, y.copysign(x))
}

#[cfg(test)]
mod tests;
