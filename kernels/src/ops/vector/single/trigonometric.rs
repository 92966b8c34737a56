//! Trigonometric functions and their inverses.

use super::{ROUND, choose, horner, lost};
use std::f32::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, PI};

/// pi / 2 in three parts.
const HALF_PI: [f32; 3] = [FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];
/// pi less `PI`, divided by `PI`.
const PI_REST: f32 = -8.742_278e-8 / PI;

/// Of `(sin(r) - r) / r^3` in `r^2`, to pi / 4.
const SINE: [f32; 4] = [-0.166_666_67, 0.008_333_332, -0.000_198_400_81, 2.724_915e-6];
/// Of `(cos(r) - 1 + r^2 / 2) / r^4` in `r^2`, likewise.
const COSINE: [f32; 3] = [0.041_666_664, -0.001_388_83, 2.454_729_8e-5];
/// Of `(tan(r) - r) / r^3` in `r^2`, likewise.
const TANGENT: [f32; 6] =
    [0.333_331_56, 0.133_388_34, 0.053_408_56, 0.024_439_346, 0.003_105_799_7, 0.009_393_46];
/// Of `(asin(s) - s) / s^3` in `s^2`, to 1 / 2.
const ARCSINE: [f32; 5] = [0.166_667_54, 0.074_952_5, 0.045_476_522, 0.024_148_911, 0.042_218_42];
/// Of `(atan(t) - t) / t^3` in `t^2`, to tan(pi / 8).
const ARCTANGENT: [f32; 4] = [-0.333_329_53, 0.199_778_23, -0.138_786_8, 0.080_563_97];
/// tan(pi / 8).
const EIGHTH: f32 = 0.414_213_57;

/// x less the nearest multiple of pi / 2, in two parts, and a word with the number of that multiple in the
/// low bits.
#[inline(always)]
fn reduced(x: f32) -> (f32, f32, u32) {
    let rounded = x.mul_add(FRAC_2_PI, ROUND);
    let n = rounded - ROUND;
    let first = n.mul_add(-HALF_PI[0], x);
    let second = n * HALF_PI[1];
    let rounding = n.mul_add(HALF_PI[1], -second);
    let r = first - second;
    let back = r - first;
    let low = (first - (r - back)) - (second + back) - n.mul_add(HALF_PI[2], rounding);
    (r, low, rounded.to_bits())
}

/// Sine (`turn` 0) or cosine (`turn` 1).
#[inline(always)]
fn sine(x: f32, turn: u32) -> f32 {
    let rounded = x.mul_add(FRAC_2_PI, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-HALF_PI[2], n.mul_add(-HALF_PI[1], n.mul_add(-HALF_PI[0], x)));
    let quarter = rounded.to_bits().wrapping_add(turn);
    let z = r * r;
    let sin = (r * z).mul_add(horner(z, SINE), r);
    let cos = (z * z).mul_add(horner(z, COSINE), z.mul_add(-0.5, 1.0));
    let y = choose(quarter & 1 == 0, sin, cos);
    f32::from_bits(y.to_bits() ^ ((quarter & 2) << 30))
}

/// Sine.
#[inline(always)]
pub(super) fn sin(x: f32) -> f32 {
    // The reduction would lose the sign of a zero.
    choose(x == 0.0, x, sine(x, 0))
}

/// Cosine.
#[inline(always)]
pub(super) fn cos(x: f32) -> f32 {
    sine(x, 1)
}

/// Tangent.
#[inline(always)]
pub(super) fn tan(x: f32) -> f32 {
    let (r, low, n) = reduced(x);
    let z = r * r;
    let tan = r + (r * z).mul_add(horner(z, TANGENT), z.mul_add(low, low));
    // In odd quarters it is the negative cotangent.
    let y = choose(n & 1 == 0, tan, -1.0 / tan);
    choose(x == 0.0, x, y)
}

/// The argument s of the series of the inverse sine for a magnitude a, its square, and whether a is above
/// 1/2: then `s^2` is `(1 - a) / 2`.
#[inline(always)]
fn arc(a: f32) -> (f32, f32, bool) {
    let far = a > 0.5;
    let half = a.mul_add(-0.5, 0.5);
    let z = choose(far, half, a * a);
    (choose(far, half.sqrt(), a), z, far)
}

/// Inverse sine.
#[inline(always)]
pub(super) fn asin(x: f32) -> f32 {
    let (s, z, far) = arc(x.abs());
    let tail = s * z * horner(z, ARCSINE);
    let (base, factor) = (choose(far, FRAC_PI_2, 0.0), choose(far, -2.0, 1.0));
    let main = s.mul_add(factor, base);
    let low = s.mul_add(factor, base - main);
    (main + tail.mul_add(factor, base.mul_add(PI_REST, low))).copysign(x)
}

/// Inverse cosine.
#[inline(always)]
pub(super) fn acos(x: f32) -> f32 {
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
fn angle(y: f32, x: f32, left: bool) -> f32 {
    let steep = y > x;
    let (top, bottom) = (choose(steep, x, y), choose(steep, y, x));
    // Above pi / 8: the angle less pi / 4.
    let mid = top > EIGHTH * bottom;
    let t = choose(mid, top - bottom, top) / choose(mid, top + bottom, bottom);
    let z = t * t;
    let tail = t * z * horner(z, ARCTANGENT);
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
pub(super) fn atan(x: f32) -> f32 {
    let a = x.abs();
    // Above this bound the result rounds to a right angle.
    let a = choose(a > 1e30, 1e30, a);
    angle(a, 1.0, false).copysign(x)
}

/// The angle from the x axis to (`x`, `y`).
#[inline(always)]
pub(super) fn atan2(y: f32, x: f32) -> f32 {
    let (a, b) = (y.abs(), x.abs());
    let large = choose(a > b, a, b);
    // The sum of the coordinates must not overflow, and their difference must not be subnormal.
    let scale = choose(large > 1e30, 0.25, choose(large < 1e-20, 1_152_921_504_606_846_976.0, 1.0));
    // Two infinities count as equal; zeros lie on the axis.
    let endless = large == f32::INFINITY;
    let unit = |of: f32| choose(of == f32::INFINITY, 1.0, 0.0);
    let (a, b) = (choose(endless, unit(a), a * scale), choose(endless, unit(b), b * scale));
    let b = choose(large == 0.0, 1.0, b);
    let turned = angle(a, b, x.is_sign_negative()).copysign(y);
    choose(x.is_nan() | y.is_nan(), f32::NAN, turned)
}
