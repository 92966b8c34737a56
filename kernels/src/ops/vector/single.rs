//! The functions for f32.

use super::Vector;
use std::f32::consts::LOG2_E;

/// Added to a number below 2^22, it leaves the nearest integer in the low bits; subtracted again, it leaves that integer.
pub(crate) const ROUND: f32 = 12_582_912.0;
/// ln 2 in two parts.
pub(crate) const LN2: [f32; 2] = [std::f32::consts::LN_2, -1.904_654_2e-9];
/// pi / 2 in three parts.
const HALF_PI: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];
/// The bits of sqrt(1/2).
pub(crate) const ROOT_HALF: u32 = 0x3f35_04f3;

/// Of `(exp(r) - 1 - r) / r^2` around 0.
pub(crate) const EXP_SERIES: [f32; 5] = [0.5, 0.166_665_76, 0.041_666_552, 0.008_363_196, 0.001_392_625_4];
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

/// `tanh(x) / x` as a quotient of these in `x^2`.
pub(crate) const TANH_TOP: [f32; 5] = [1.0, 0.133_744_73, 0.003_487_808_2, 2.048_114_2e-5, 1.317_746_9e-8];
pub(crate) const TANH_BOTTOM: [f32; 5] = [1.0, 0.467_077_85, 0.025_847_377, 0.000_327_291_55, 7.704_022_7e-7];

/// `c[0] + x * (c[1] + x * (..))`.
#[inline(always)]
fn horner<const N: usize>(x: f32, c: [f32; N]) -> f32 {
    let mut sum = c[N - 1];
    for c in c.into_iter().rev().skip(1) {
        sum = sum.mul_add(x, c);
    }
    sum
}

/// 2 to the power of an integer from -126 to 127.
#[inline(always)]
fn power(k: i32) -> f32 {
    f32::from_bits((k.wrapping_add(127) << 23) as u32)
}

/// The integer that `ROUND` left in the bits.
#[inline(always)]
fn integer(rounded: f32) -> i32 {
    (rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32)
}

/// `exp(r) - 1 - r` where r is at most half of ln 2.
#[inline(always)]
fn exp_tail(r: f32) -> f32 {
    r * r * horner(r, EXP_SERIES)
}

/// `exp(r)`, likewise.
#[inline(always)]
fn exp_near_one(r: f32) -> f32 {
    (exp_tail(r) + r) + 1.0
}

/// `p * 2^k`, rounded once, for p near 1 and k down to where nothing is left. Two factors, for a result may be subnormal.
#[inline(always)]
fn scale(p: f32, k: i32) -> f32 {
    let half = k >> 1;
    p * power(half) * power(k.wrapping_sub(half))
}

/// Splits a positive normal number into a power of two and the rest, between sqrt(1/2) and sqrt(2).
#[inline(always)]
fn split(x: f32) -> (f32, i32) {
    let bits = x.to_bits().wrapping_sub(ROOT_HALF);
    (f32::from_bits((bits & 0x007f_ffff) + ROOT_HALF), (bits as i32) >> 23)
}

/// `log(1 + f) + e * ln 2`.
#[inline(always)]
fn log_reduced(f: f32, e: f32) -> f32 {
    let z = f * f;
    let p = horner(f, LOG_SERIES);
    let low = (z * f).mul_add(p, e * LN2[1]);
    e.mul_add(LN2[0], z.mul_add(-0.5, low) + f)
}

/// Sine (`turn` 0) or cosine (`turn` 1).
#[inline(always)]
fn sine(x: f32, turn: u32) -> f32 {
    let rounded = x.mul_add(std::f32::consts::FRAC_2_PI, ROUND);
    let n = rounded - ROUND;
    let quarter = rounded.to_bits().wrapping_add(turn);
    let r = n.mul_add(-HALF_PI[2], n.mul_add(-HALF_PI[1], n.mul_add(-HALF_PI[0], x)));
    let z = r * r;
    let sin = (r * z).mul_add(horner(z, [-0.166_666_67, 0.008_333_332, -0.000_198_400_81, 2.724_915e-6]), r);
    let cos =
        (z * z).mul_add(horner(z, [0.041_666_664, -0.001_388_83, 2.454_729_8e-5]), z.mul_add(-0.5, 1.0));
    let y = if quarter & 1 == 0 { sin } else { cos };
    f32::from_bits(y.to_bits() ^ ((quarter & 2) << 30))
}

impl Vector for f32 {
    const FAR: f32 = 48_000.0;

    #[inline(always)]
    fn exp(self) -> f32 {
        let x = if self > 89.0 { 89.0 } else { self };
        let x = if x < -104.0 { -104.0 } else { x };
        let rounded = x.mul_add(LOG2_E, ROUND);
        let n = rounded - ROUND;
        let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], x));
        scale(exp_near_one(r), integer(rounded))
    }

    #[inline(always)]
    fn exp2(self) -> f32 {
        let x = if self > 129.0 { 129.0 } else { self };
        let x = if x < -151.0 { -151.0 } else { x };
        let rounded = x + ROUND;
        let r = x - (rounded - ROUND);
        // r is exact; its product with ln 2 is carried in two parts.
        let high = r * LN2[0];
        let low = r.mul_add(LN2[1], r.mul_add(LN2[0], -high));
        scale((exp_tail(high) + low) + high + 1.0, integer(rounded))
    }

    #[inline(always)]
    fn expm1(self) -> f32 {
        let x = if self > 89.0 { 89.0 } else { self };
        let x = if x < -18.0 { -18.0 } else { x };
        let rounded = x.mul_add(LOG2_E, ROUND);
        let n = rounded - ROUND;
        let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], x));
        let k = integer(rounded);
        // Half the power, for 2^128 is no number.
        let s = power(k.wrapping_sub(1));
        let y = s.mul_add(exp_tail(r), s.mul_add(r, s - 0.5)) * 2.0;
        if self == 0.0 { self } else { y }
    }

    #[inline(always)]
    fn log(self) -> f32 {
        let tiny = self < f32::MIN_POSITIVE;
        let (m, e) = split(if tiny { self * 8_388_608.0 } else { self });
        let e = e as f32 - if tiny { 23.0 } else { 0.0 };
        let special = if self > 0.0 { self } else { f32::NAN };
        let special = if self == 0.0 { f32::NEG_INFINITY } else { special };
        if (self > 0.0) & (self < f32::INFINITY) { log_reduced(m - 1.0, e) } else { special }
    }

    #[inline(always)]
    fn log1p(self) -> f32 {
        let sum = 1.0 + self;
        // What the addition rounded away.
        let rest = self - (sum - 1.0);
        let (m, e) = split(sum);
        let f = rest.mul_add(power(-e.min(120)), m - 1.0);
        let special = if self > -1.0 { self } else { f32::NAN };
        let special = if self == -1.0 { f32::NEG_INFINITY } else { special };
        let usual = (self > -1.0) & (self < f32::INFINITY) & (self != 0.0);
        if usual { log_reduced(f, e as f32) } else { special }
    }

    #[inline(always)]
    fn tanh(self) -> f32 {
        let x = if self > 9.1 { 9.1 } else { self };
        let x = if x < -9.1 { -9.1 } else { x };
        let z = x * x;
        let top = x * horner(z, TANH_TOP);
        let bottom = horner(z, TANH_BOTTOM);
        let y = top / bottom;
        let y = if y > 1.0 { 1.0 } else { y };
        if y < -1.0 { -1.0 } else { y }
    }

    #[inline(always)]
    fn sin(self) -> f32 {
        // The reduction would lose the sign of a zero.
        if self == 0.0 { self } else { sine(self, 0) }
    }

    #[inline(always)]
    fn cos(self) -> f32 {
        sine(self, 1)
    }
}
