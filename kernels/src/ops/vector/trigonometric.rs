//! Trigonometric functions and their inverses.

use super::float::{MachineFloat, choose, horner, lost};

/// Constants of the trigonometric functions, and what differs between the types.
pub(crate) trait Trigonometric: MachineFloat {
    /// 2 / pi.
    const FRAC_2_PI: Self;
    /// pi / 2 in three parts.
    const HALF_PI: [Self; 3];
    /// Of `(sin(r) - r) / r^3` in `r^2`, to pi / 4.
    const SINE: &'static [Self];
    /// Of `(cos(r) - 1 + r^2 / 2) / r^4` in `r^2`, likewise.
    const COSINE: &'static [Self];
    /// Of `(asin(s) - s) / s^3` in `s^2`, to 1 / 2.
    const ARCSINE: &'static [Self];
    /// Of `(atan(t) - t) / t^3` in `t^2`, to tan(pi / 8).
    const ARCTANGENT: &'static [Self];
    /// tan(pi / 8).
    const EIGHTH: Self;
    /// Coordinates above the first or below the second number are multiplied by a factor: neither their sum
    /// nor the inverse of one may overflow, and their difference must not be subnormal. The inverse tangent
    /// of a number above the first rounds to a right angle.
    const LARGE: [Self; 2];
    const SMALL: [Self; 2];

    /// Sine and cosine of the distance to the nearest multiple of pi / 2, and a rounded number with the
    /// number of that multiple.
    fn sine_and_cosine(self) -> (Self, Self, Self);
    /// Tangent, except of 0.
    fn tangent(self) -> Self;
    /// For [`angle`]: `top / bottom` or, in the `middle`, `(top - bottom) / (top + bottom)`, and the inverse
    /// tangent of that less it.
    fn arctangent(top: Self, bottom: Self, middle: bool) -> (Self, Self);
}

impl Trigonometric for f32 {
    const FRAC_2_PI: f32 = std::f32::consts::FRAC_2_PI;
    const HALF_PI: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];
    const SINE: &'static [f32] = &[-0.166_666_67, 0.008_333_332, -0.000_198_400_81, 2.724_915e-6];
    const COSINE: &'static [f32] = &[0.041_666_664, -0.001_388_83, 2.454_729_8e-5];
    const ARCSINE: &'static [f32] = &[0.166_667_54, 0.074_952_5, 0.045_476_522, 0.024_148_911, 0.042_218_42];
    const ARCTANGENT: &'static [f32] = &[-0.333_329_53, 0.199_778_23, -0.138_786_8, 0.080_563_97];
    const EIGHTH: f32 = 0.414_213_57;
    const LARGE: [f32; 2] = [1e30, 0.25];
    const SMALL: [f32; 2] = [1e-20, 1_152_921_504_606_846_976.0];

    #[inline(always)]
    fn sine_and_cosine(self) -> (f32, f32, f32) {
        let rounded = self.mul_add(f32::FRAC_2_PI, f32::ROUND);
        let n = rounded - f32::ROUND;
        let [first, second, third] = f32::HALF_PI;
        let r = n.mul_add(-third, n.mul_add(-second, n.mul_add(-first, self)));
        let z = r * r;
        let sin = (r * z).mul_add(horner(z, f32::SINE), r);
        let cos = (z * z).mul_add(horner(z, f32::COSINE), z.mul_add(-0.5, 1.0));
        (sin, cos, rounded)
    }

    #[inline(always)]
    fn tangent(self) -> f32 {
        /// Of `(tan(r) - r) / r^3` in `r^2`, to pi / 4.
        const TANGENT: [f32; 6] =
            [0.333_331_56, 0.133_388_34, 0.053_408_56, 0.024_439_346, 0.003_105_799_7, 0.009_393_46];
        let (r, low, rounded) = reduced(self);
        let z = r * r;
        let tan = r + (r * z).mul_add(horner(z, &TANGENT), z.mul_add(low, low));
        // In odd quarters it is the negative cotangent.
        choose(f32::is_odd(rounded, 0), -1.0 / tan, tan)
    }

    #[inline(always)]
    fn arctangent(top: f32, bottom: f32, middle: bool) -> (f32, f32) {
        let t = choose(middle, top - bottom, top) / choose(middle, top + bottom, bottom);
        let z = t * t;
        (t, t * z * horner(z, f32::ARCTANGENT))
    }
}

impl Trigonometric for f64 {
    const FRAC_2_PI: f64 = std::f64::consts::FRAC_2_PI;
    const HALF_PI: [f64; 3] =
        [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];
    #[rustfmt::skip]
    const SINE: &'static [f64] = &[
        -0.166_666_666_666_666_66, 0.008_333_333_333_330_918, -0.000_198_412_698_367_124_95,
        2.755_731_607_868_067e-6, -2.505_112_687_608_533_5e-8, 1.591_777_175_934_168_7e-10,
    ];
    #[rustfmt::skip]
    const COSINE: &'static [f64] = &[
        0.041_666_666_666_666_664, -0.001_388_888_888_888_737_8, 2.480_158_729_873_686_3e-5,
        -2.755_731_725_679_604e-7, 2.087_614_315_990_943_6e-9, -1.138_240_875_415_311_2e-11,
    ];
    #[rustfmt::skip]
    const ARCSINE: &'static [f64] = &[
        0.166_666_666_666_667_63, 0.074_999_999_999_701_18, 0.044_642_857_175_270_556,
        0.030_381_942_676_441_15, 0.022_372_215_849_165_64, 0.017_351_597_075_760_377,
        0.013_980_992_304_583_937, 0.011_397_569_078_608_978, 0.010_787_435_749_477_561,
        0.003_680_533_889_336_256_3, 0.021_767_507_757_307_018, -0.021_080_226_517_635_563,
        0.032_677_161_314_146_81,
    ];
    #[rustfmt::skip]
    const ARCTANGENT: &'static [f64] = &[
        -0.333_333_333_333_332, 0.199_999_999_999_537_66, -0.142_857_142_802_099_02, 0.111_111_107_839_199_3,
        -0.090_908_977_656_908_49, 0.076_920_602_723_565_84, -0.066_631_038_235_122_37,
        0.058_478_817_055_028_97, -0.050_392_453_123_011_81, 0.038_062_451_941_508_69,
        -0.017_904_281_839_026_79,
    ];
    const EIGHTH: f64 = 0.414_213_562_373_095_05;
    const LARGE: [f64; 2] = [1e300, 5.421_010_862_427_522e-20];
    const SMALL: [f64; 2] = [1e-200, 1.157_920_892_373_162e77];

    #[inline(always)]
    fn sine_and_cosine(self) -> (f64, f64, f64) {
        let (r, low, rounded) = reduced(self);
        let z = r * r;
        let (near, rest) = cosine_parts(r, low, z);
        (sine_tail(r, low, z) + r, rest + near, rounded)
    }

    /// Sine by cosine, both in two parts.
    #[inline(always)]
    fn tangent(self) -> f64 {
        let (r, low, rounded) = reduced(self);
        let z = r * r;
        let tail = sine_tail(r, low, z);
        let sin = r + tail;
        let sin_low = lost(r, tail, sin);
        let (near, rest) = cosine_parts(r, low, z);
        let cos = near + rest;
        let cos_low = lost(near, rest, cos);
        // In odd quarters it is the negative cotangent.
        let odd = f64::is_odd(rounded, 0);
        let (top, top_low) = (choose(odd, cos, sin), choose(odd, cos_low, sin_low));
        let (bottom, bottom_low) = (choose(odd, -sin, cos), choose(odd, -sin_low, cos_low));
        let inverse = 1.0 / bottom;
        let y = top * inverse;
        let rest = y.mul_add(-bottom, top) + y.mul_add(-bottom_low, top_low);
        rest.mul_add(inverse, y)
    }

    #[inline(always)]
    fn arctangent(top: f64, bottom: f64, middle: bool) -> (f64, f64) {
        let (difference, sum) = (top - bottom, top + bottom);
        let difference_low = -lost(bottom, -top, -difference);
        let sum_low = lost(bottom, top, sum);
        let (n, n_low) = (choose(middle, difference, top), choose(middle, difference_low, 0.0));
        let (d, d_low) = (choose(middle, sum, bottom), choose(middle, sum_low, 0.0));
        let inverse = 1.0 / d;
        let t = n * inverse;
        let t_low = (t.mul_add(-d, n) + t.mul_add(-d_low, n_low)) * inverse;
        let z = t * t;
        (t, (t * z).mul_add(horner(z, f64::ARCTANGENT), t_low))
    }
}

/// `sin(r + low) - r`.
#[inline(always)]
fn sine_tail(r: f64, low: f64, z: f64) -> f64 {
    (r * z).mul_add(horner(z, f64::SINE), z.mul_add(-0.5, 1.0) * low)
}

/// `cos(r + low)` in two parts.
#[inline(always)]
fn cosine_parts(r: f64, low: f64, z: f64) -> (f64, f64) {
    let near = z.mul_add(-0.5, 1.0);
    // The rounding error of the subtraction from 1 is added to the small terms.
    let away = z.mul_add(-0.5, 1.0 - near);
    (near, (z * z).mul_add(horner(z, f64::COSINE), r.mul_add(-low, away)))
}

/// x less the nearest multiple of pi / 2, in two parts, and a rounded number with the number of that
/// multiple.
#[inline(always)]
fn reduced<T: Trigonometric>(x: T) -> (T, T, T) {
    let rounded = x.mul_add(T::FRAC_2_PI, T::ROUND);
    let n = rounded - T::ROUND;
    // The first difference is exact; the second is carried in two parts, r and low.
    let first = n.mul_add(-T::HALF_PI[0], x);
    let second = n * T::HALF_PI[1];
    let rounding = n.mul_add(T::HALF_PI[1], -second);
    let r = first - second;
    let back = r - first;
    let low = (first - (r - back)) - (second + back) - n.mul_add(T::HALF_PI[2], rounding);
    (r, low, rounded)
}

/// Sine (`turn` 0) or cosine (`turn` 1).
#[inline(always)]
fn sine<T: Trigonometric>(x: T, turn: u8) -> T {
    let (sin, cos, rounded) = x.sine_and_cosine();
    choose(T::is_odd(rounded, turn), cos, sin).negate_by(rounded, turn)
}

/// Sine.
#[inline(always)]
pub(super) fn sin<T: Trigonometric>(x: T) -> T {
    // The reduction would lose the sign of a zero.
    choose(x == T::ZERO, x, sine(x, 0))
}

/// Cosine.
#[inline(always)]
pub(super) fn cos<T: Trigonometric>(x: T) -> T {
    sine(x, 1)
}

/// Tangent.
#[inline(always)]
pub(super) fn tan<T: Trigonometric>(x: T) -> T {
    choose(x == T::ZERO, x, x.tangent())
}

/// For a magnitude a: the argument s of the series of the inverse sine, its square, the inverse sine less s,
/// and whether a is above 1/2: then `s^2` is `(1 - a) / 2`.
#[inline(always)]
fn arc<T: Trigonometric>(a: T) -> (T, T, T, bool) {
    let far = a > T::HALF;
    let half = a.mul_add(-T::HALF, T::HALF);
    let z = choose(far, half, a * a);
    let s = choose(far, half.sqrt(), a);
    (s, z, s * z * horner(z, T::ARCSINE), far)
}

/// Inverse sine.
#[inline(always)]
pub(super) fn asin<T: Trigonometric>(x: T) -> T {
    let (s, z, mut tail, far) = arc(x.abs());
    if T::IS_F64 {
        // The rounding error of the square root.
        let root_low = s.mul_add(-s, z) * (T::HALF / (s + T::TINY));
        tail = choose(far, tail + root_low, tail);
    }
    let (base, factor) = (choose(far, T::HALF_PI[0], T::ZERO), choose(far, -T::TWO, T::ONE));
    arc_sum(s, tail, base, factor).copysign(x)
}

/// Inverse cosine.
#[inline(always)]
pub(super) fn acos<T: Trigonometric>(x: T) -> T {
    let (s, _, tail, far) = arc(x.abs());
    let base = choose(x < T::ZERO, T::TWO * T::HALF_PI[0], T::ZERO);
    let base = choose(far, base, T::HALF_PI[0]);
    let factor = choose(far, T::TWO, -T::ONE);
    let factor = choose(x < T::ZERO, -factor, factor);
    arc_sum(s, tail, base, factor)
}

/// The rounding error of pi, divided by pi.
#[inline(always)]
fn pi_rest<T: Trigonometric>() -> T {
    T::HALF_PI[1] / T::HALF_PI[0]
}

/// `(s + tail) * factor + base`, where `base` is a rounded multiple of pi.
#[inline(always)]
fn arc_sum<T: Trigonometric>(s: T, tail: T, base: T, factor: T) -> T {
    let main = s.mul_add(factor, base);
    let low = s.mul_add(factor, base - main);
    main + tail.mul_add(factor, base.mul_add(pi_rest(), low))
}

/// The angle of the point (`x`, `y`), both 0 or more and `x` not 0, in the quadrant that `left` says, from 0
/// to pi.
#[inline(always)]
fn angle<T: Trigonometric>(y: T, x: T, left: bool) -> T {
    let steep = y > x;
    let (top, bottom) = (choose(steep, x, y), choose(steep, y, x));
    // Above pi / 8: the angle less pi / 4.
    let middle = top > T::EIGHTH * bottom;
    let (t, tail) = T::arctangent(top, bottom, middle);
    // In units of pi / 4.
    let base = choose(middle, T::ONE, T::ZERO);
    let base = choose(steep, T::TWO - base, base);
    let base = choose(left, T::of(4.0) - base, base);
    let sign = choose(steep != left, -T::ONE, T::ONE);
    let (t, tail) = (sign * t, sign * tail);
    let unit = T::HALF * T::HALF_PI[0];
    let high = base * unit;
    let low = base.mul_add(unit, -high);
    let main = high + t;
    main + (tail + (lost(high, t, main) + high.mul_add(pi_rest(), low)))
}

/// Inverse tangent.
#[inline(always)]
pub(super) fn atan<T: Trigonometric>(x: T) -> T {
    let a = x.abs();
    angle(choose(a > T::LARGE[0], T::LARGE[0], a), T::ONE, false).copysign(x)
}

/// The angle from the x axis to (`x`, `y`).
#[inline(always)]
pub(super) fn atan2<T: Trigonometric>(y: T, x: T) -> T {
    let (a, b) = (y.abs(), x.abs());
    let large = choose(a > b, a, b);
    let scale = choose(large > T::LARGE[0], T::LARGE[1], T::ONE);
    let scale = choose(large < T::SMALL[0], T::SMALL[1], scale);
    // Two infinities count as equal; zeros lie on the axis.
    let endless = large == T::INFINITY;
    let unit = |of: T| choose(of == T::INFINITY, T::ONE, T::ZERO);
    let (a, b) = (choose(endless, unit(a), a * scale), choose(endless, unit(b), b * scale));
    let b = choose(large == T::ZERO, T::ONE, b);
    let turned = angle(a, b, x.is_sign_negative()).copysign(y);
    choose(x.is_nan() | y.is_nan(), T::NAN, turned)
}
