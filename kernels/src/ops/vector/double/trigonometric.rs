//! Trigonometric functions and their inverses.

use super::{ROUND, choose, horner, lost};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, PI};

/// pi / 2 in three parts.
const HALF_PI: [f64; 3] = [FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];
/// pi less `PI`, divided by `PI`.
const PI_REST: f64 = 1.224_646_799_147_353_2e-16 / PI;

/// Of `(sin(r) - r) / r^3` in `r^2`, to pi / 4.
const SINE: [f64; 6] = [
    -0.166_666_666_666_666_66,
    0.008_333_333_333_330_918,
    -0.000_198_412_698_367_124_95,
    2.755_731_607_868_067e-6,
    -2.505_112_687_608_533_5e-8,
    1.591_777_175_934_168_7e-10,
];
/// Of `(cos(r) - 1 + r^2 / 2) / r^4` in `r^2`, likewise.
const COSINE: [f64; 6] = [
    0.041_666_666_666_666_664,
    -0.001_388_888_888_888_737_8,
    2.480_158_729_873_686_3e-5,
    -2.755_731_725_679_604e-7,
    2.087_614_315_990_943_6e-9,
    -1.138_240_875_415_311_2e-11,
];
/// Of `(asin(s) - s) / s^3` in `s^2`, to 1 / 2.
const ARCSINE: [f64; 13] = [
    0.166_666_666_666_667_63,
    0.074_999_999_999_701_18,
    0.044_642_857_175_270_556,
    0.030_381_942_676_441_15,
    0.022_372_215_849_165_64,
    0.017_351_597_075_760_377,
    0.013_980_992_304_583_937,
    0.011_397_569_078_608_978,
    0.010_787_435_749_477_561,
    0.003_680_533_889_336_256_3,
    0.021_767_507_757_307_018,
    -0.021_080_226_517_635_563,
    0.032_677_161_314_146_81,
];
/// Of `(atan(t) - t) / t^3` in `t^2`, to tan(pi / 8).
const ARCTANGENT: [f64; 11] = [
    -0.333_333_333_333_332,
    0.199_999_999_999_537_66,
    -0.142_857_142_802_099_02,
    0.111_111_107_839_199_3,
    -0.090_908_977_656_908_49,
    0.076_920_602_723_565_84,
    -0.066_631_038_235_122_37,
    0.058_478_817_055_028_97,
    -0.050_392_453_123_011_81,
    0.038_062_451_941_508_69,
    -0.017_904_281_839_026_79,
];
/// tan(pi / 8).
const EIGHTH: f64 = 0.414_213_562_373_095_05;

/// x less the nearest multiple of pi / 2, in two parts, and a word with the number of that multiple in the
/// low bits.
#[inline(always)]
fn reduced(x: f64) -> (f64, f64, u64) {
    let rounded = x.mul_add(FRAC_2_PI, ROUND);
    let n = rounded - ROUND;
    // The first difference is exact; the second is carried in two parts, r and low.
    let first = n.mul_add(-HALF_PI[0], x);
    let second = n * HALF_PI[1];
    let rounding = n.mul_add(HALF_PI[1], -second);
    let r = first - second;
    let back = r - first;
    let low = (first - (r - back)) - (second + back) - n.mul_add(HALF_PI[2], rounding);
    (r, low, rounded.to_bits())
}

/// `sin(r + low) - r`.
#[inline(always)]
fn sine_tail(r: f64, low: f64, z: f64) -> f64 {
    (r * z).mul_add(horner(z, SINE), z.mul_add(-0.5, 1.0) * low)
}

/// `cos(r + low)` in two parts.
#[inline(always)]
fn cosine_parts(r: f64, low: f64, z: f64) -> (f64, f64) {
    let near = z.mul_add(-0.5, 1.0);
    // The rounding error of the subtraction from 1 is added to the small terms.
    let away = z.mul_add(-0.5, 1.0 - near);
    (near, (z * z).mul_add(horner(z, COSINE), r.mul_add(-low, away)))
}

/// Sine (`turn` 0) or cosine (`turn` 1).
#[inline(always)]
fn sine(x: f64, turn: u64) -> f64 {
    let (r, low, n) = reduced(x);
    let quarter = n.wrapping_add(turn);
    let z = r * r;
    let sin = sine_tail(r, low, z) + r;
    let (near, rest) = cosine_parts(r, low, z);
    let y = choose(quarter & 1 == 0, sin, rest + near);
    f64::from_bits(y.to_bits() ^ ((quarter & 2) << 62))
}

/// Sine.
#[inline(always)]
pub(super) fn sin(x: f64) -> f64 {
    // The reduction would lose the sign of a zero.
    choose(x == 0.0, x, sine(x, 0))
}

/// Cosine.
#[inline(always)]
pub(super) fn cos(x: f64) -> f64 {
    sine(x, 1)
}

/// Tangent.
#[inline(always)]
pub(super) fn tan(x: f64) -> f64 {
    let (r, low, n) = reduced(x);
    let z = r * r;
    let tail = sine_tail(r, low, z);
    let sin = r + tail;
    let sin_low = lost(r, tail, sin);
    let (near, rest) = cosine_parts(r, low, z);
    let cos = near + rest;
    let cos_low = lost(near, rest, cos);
    // In odd quarters it is the negative cotangent.
    let odd = n & 1 != 0;
    let (top, top_low) = (choose(odd, cos, sin), choose(odd, cos_low, sin_low));
    let (bottom, bottom_low) = (choose(odd, -sin, cos), choose(odd, -sin_low, cos_low));
    let inverse = 1.0 / bottom;
    let y = top * inverse;
    let rest = y.mul_add(-bottom, top) + y.mul_add(-bottom_low, top_low);
    let y = rest.mul_add(inverse, y);
    choose(x == 0.0, x, y)
}

/// The argument s of the series of the inverse sine for a magnitude a, its square, and whether a is above
/// 1/2: then `s^2` is `(1 - a) / 2`.
#[inline(always)]
fn arc(a: f64) -> (f64, f64, bool) {
    let far = a > 0.5;
    let half = a.mul_add(-0.5, 0.5);
    let z = choose(far, half, a * a);
    (choose(far, half.sqrt(), a), z, far)
}

/// Inverse sine.
#[inline(always)]
pub(super) fn asin(x: f64) -> f64 {
    let (s, z, far) = arc(x.abs());
    let tail = s * z * horner(z, ARCSINE);
    // The rounding error of the square root; the small number avoids a division by zero.
    let root_low = s.mul_add(-s, z) * (0.5 / (s + 1e-300));
    let tail = choose(far, tail + root_low, tail);
    let (base, factor) = (choose(far, FRAC_PI_2, 0.0), choose(far, -2.0, 1.0));
    let main = s.mul_add(factor, base);
    let low = s.mul_add(factor, base - main);
    (main + tail.mul_add(factor, base.mul_add(PI_REST, low))).copysign(x)
}

/// Inverse cosine.
#[inline(always)]
pub(super) fn acos(x: f64) -> f64 {
    let (s, z, far) = arc(x.abs());
    let tail = s * z * horner(z, ARCSINE);
    let base = choose(x < 0.0, PI, 0.0);
    let base = choose(far, base, FRAC_PI_2);
    let factor = choose(far, 2.0, -1.0);
    let factor = choose(x < 0.0, -factor, factor);
    let main = s.mul_add(factor, base);
    let low = s.mul_add(factor, base - main);
    main + tail.mul_add(factor, base.mul_add(PI_REST, low))
}

/// The angle of the point (`x`, `y`), both 0 or more and `x` not 0, in the quadrant that `left` says, from 0
/// to pi.
#[inline(always)]
fn angle(y: f64, x: f64, left: bool) -> f64 {
    let steep = y > x;
    let (top, bottom) = (choose(steep, x, y), choose(steep, y, x));
    // Above pi / 8: the angle less pi / 4.
    let mid = top > EIGHTH * bottom;
    let (difference, sum) = (top - bottom, top + bottom);
    let difference_low = -lost(bottom, -top, -difference);
    let sum_low = lost(bottom, top, sum);
    let (n, n_low) = (choose(mid, difference, top), choose(mid, difference_low, 0.0));
    let (d, d_low) = (choose(mid, sum, bottom), choose(mid, sum_low, 0.0));
    let inverse = 1.0 / d;
    let t = n * inverse;
    let t_low = (t.mul_add(-d, n) + t.mul_add(-d_low, n_low)) * inverse;
    let z = t * t;
    let tail = (t * z).mul_add(horner(z, ARCTANGENT), t_low);
    // In units of pi / 4.
    let base = choose(mid, 1.0, 0.0);
    let base = choose(steep, 2.0 - base, base);
    let base = choose(left, 4.0 - base, base);
    let sign = choose(steep != left, -1.0, 1.0);
    let (t, tail) = (sign * t, sign * tail);
    let high = base * FRAC_PI_4;
    let low = base.mul_add(FRAC_PI_4, -high);
    let main = high + t;
    main + (tail + (lost(high, t, main) + high.mul_add(PI_REST, low)))
}

/// Inverse tangent.
#[inline(always)]
pub(super) fn atan(x: f64) -> f64 {
    let a = x.abs();
    // Above this bound the result rounds to a right angle.
    let a = choose(a > 1e300, 1e300, a);
    angle(a, 1.0, false).copysign(x)
}

/// The angle from the x axis to (`x`, `y`).
#[inline(always)]
pub(super) fn atan2(y: f64, x: f64) -> f64 {
    let (a, b) = (y.abs(), x.abs());
    let large = choose(a > b, a, b);
    // Neither the inverse of a coordinate nor the sum of both may overflow.
    let scale = choose(large > 1e300, 5.421_010_862_427_522e-20, 1.0);
    let scale = choose(large < 1e-200, 1.157_920_892_373_162e77, scale);
    // Two infinities count as equal; zeros lie on the axis.
    let endless = large == f64::INFINITY;
    let unit = |of: f64| choose(of == f64::INFINITY, 1.0, 0.0);
    let (a, b) = (choose(endless, unit(a), a * scale), choose(endless, unit(b), b * scale));
    let b = choose(large == 0.0, 1.0, b);
    let turned = angle(a, b, x.is_sign_negative()).copysign(y);
    choose(x.is_nan() | y.is_nan(), f64::NAN, turned)
}
