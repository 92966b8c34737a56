//! The functions for f64.

use super::Vector;
use std::f64::consts::LOG2_E;

/// Added to a number below 2^51, it leaves the nearest integer in the low bits; subtracted again, it leaves that integer.
pub(crate) const ROUND: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts.
pub(crate) const LN2: [f64; 2] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];
/// pi / 2 in three parts.
const HALF_PI: [f64; 3] =
    [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];
/// The bits of 1, of sqrt(1/2), and of 2^52.
pub(crate) const ONE: u64 = 0x3ff0_0000_0000_0000;
pub(crate) const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
const TWO_52: u64 = 0x4330_0000_0000_0000;

/// Of `(exp(r) - 1 - r) / r^2` around 0.
pub(crate) const EXP_SERIES: [f64; 10] = [
    0.5,
    0.166_666_666_666_666_69,
    0.041_666_666_666_624_03,
    0.008_333_333_333_329_997,
    0.001_388_888_891_726_128,
    0.000_198_412_698_632_884_75,
    2.480_152_122_207_07e-5,
    2.755_726_815_182_175_7e-6,
    2.762_012_357_888_969e-7,
    2.510_051_706_756_199_4e-8,
];
/// Of the area tangent: `2 artanh(s) / s - 2` in `s^2`, over `s^2`.
pub(crate) const LOG_SERIES: [f64; 7] = [
    0.666_666_666_666_667,
    0.399_999_999_998_990_33,
    0.285_714_286_261_904_87,
    0.222_222_110_997_112_92,
    0.181_828_916_804_398_94,
    0.153_316_366_995_413_4,
    0.146_174_986_939_156_12,
];

/// `(tanh(x) - x) / x^3` near 0 as a quotient of these in `x^2`.
pub(crate) const TANH_TOP: [f64; 3] =
    [-1_614.687_684_417_084_5, -99.287_723_100_191_86, -0.964_399_179_425_052_2];
pub(crate) const TANH_BOTTOM: [f64; 4] =
    [4_844.063_053_251_255, 2_235.488_390_601_004_6, 112.811_678_491_632_93, 1.0];

/// `c[0] + x * (c[1] + x * (..))`.
#[inline(always)]
fn horner<const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let mut sum = c[N - 1];
    for c in c.into_iter().rev().skip(1) {
        sum = sum.mul_add(x, c);
    }
    sum
}

/// 2 to the power of an integer from -1022 to 1023.
#[inline(always)]
fn power(k: i64) -> f64 {
    f64::from_bits((k.wrapping_add(1023) << 52) as u64)
}

/// The integer that `ROUND` left in the bits.
#[inline(always)]
fn integer(rounded: f64) -> i64 {
    (rounded.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64)
}

/// `exp(r) - 1 - r` where r is at most half of ln 2.
#[inline(always)]
fn exp_tail(r: f64) -> f64 {
    r * r * horner(r, EXP_SERIES)
}

/// `exp(r)`, likewise.
#[inline(always)]
fn exp_near_one(r: f64) -> f64 {
    (exp_tail(r) + r) + 1.0
}

/// As for f32. The sum keeps the halves positive: there is no arithmetic shift of 64 bits below AVX-512.
#[inline(always)]
fn scale(p: f64, k: i64) -> f64 {
    let half = (k.wrapping_add(2048) as u64 >> 1) as i64 - 1024;
    p * power(half) * power(k.wrapping_sub(half))
}

/// Splits a positive normal number into a power of two and the rest, between sqrt(1/2) and sqrt(2).
#[inline(always)]
fn split(x: f64) -> (f64, f64) {
    let bits = x.to_bits().wrapping_add(ONE - ROOT_HALF);
    // The exponent as the low bits of a number above 2^52.
    let e = f64::from_bits((bits >> 52) | TWO_52) - (4_503_599_627_370_496.0 + 1023.0);
    (f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + ROOT_HALF), e)
}

/// `log(1 + f) + e * ln 2`, by the series of the area tangent of `f / (2 + f)`.
#[inline(always)]
fn log_reduced(f: f64, e: f64) -> f64 {
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * horner(z, LOG_SERIES);
    let low = s.mul_add(half_square + r, e * LN2[1]);
    e.mul_add(LN2[0], f - (half_square - low))
}

/// Sine (`turn` 0) or cosine (`turn` 1).
#[inline(always)]
fn sine(x: f64, turn: u64) -> f64 {
    let rounded = x.mul_add(std::f64::consts::FRAC_2_PI, ROUND);
    let n = rounded - ROUND;
    let quarter = rounded.to_bits().wrapping_add(turn);
    // The first difference is exact; the second is carried in two parts, r and low.
    let first = n.mul_add(-HALF_PI[0], x);
    let second = n * HALF_PI[1];
    let rounding = n.mul_add(HALF_PI[1], -second);
    let r = first - second;
    let back = r - first;
    let low = (first - (r - back)) - (second + back) - n.mul_add(HALF_PI[2], rounding);
    let z = r * r;
    let sin = horner(
        z,
        [
            -0.166_666_666_666_666_66,
            0.008_333_333_333_330_918,
            -0.000_198_412_698_367_124_95,
            2.755_731_607_868_067e-6,
            -2.505_112_687_608_533_5e-8,
            1.591_777_175_934_168_7e-10,
        ],
    );
    let sin = (r * z).mul_add(sin, z.mul_add(-0.5, 1.0) * low) + r;
    let cos = horner(
        z,
        [
            0.041_666_666_666_666_664,
            -0.001_388_888_888_888_737_8,
            2.480_158_729_873_686_3e-5,
            -2.755_731_725_679_604e-7,
            2.087_614_315_990_943_6e-9,
            -1.138_240_875_415_311_2e-11,
        ],
    );
    let near = z.mul_add(-0.5, 1.0);
    // What the subtraction from 1 rounded away comes back with the small terms.
    let lost = z.mul_add(-0.5, 1.0 - near);
    let cos = (z * z).mul_add(cos, r.mul_add(-low, lost)) + near;
    let y = if quarter & 1 == 0 { sin } else { cos };
    f64::from_bits(y.to_bits() ^ ((quarter & 2) << 62))
}

impl Vector for f64 {
    const FAR: f64 = 1e9;

    #[inline(always)]
    fn exp(self) -> f64 {
        let x = if self > 710.0 { 710.0 } else { self };
        let x = if x < -746.0 { -746.0 } else { x };
        let rounded = x.mul_add(LOG2_E, ROUND);
        let n = rounded - ROUND;
        let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], x));
        scale(exp_near_one(r), integer(rounded))
    }

    #[inline(always)]
    fn exp2(self) -> f64 {
        let x = if self > 1025.0 { 1025.0 } else { self };
        let x = if x < -1076.0 { -1076.0 } else { x };
        let rounded = x + ROUND;
        let r = x - (rounded - ROUND);
        let high = r * LN2[0];
        let low = r.mul_add(LN2[1], r.mul_add(LN2[0], -high));
        scale((exp_tail(high) + low) + high + 1.0, integer(rounded))
    }

    #[inline(always)]
    fn expm1(self) -> f64 {
        let x = if self > 710.0 { 710.0 } else { self };
        let x = if x < -38.0 { -38.0 } else { x };
        let rounded = x.mul_add(LOG2_E, ROUND);
        let n = rounded - ROUND;
        let first = n.mul_add(-LN2[0], x);
        let r = n.mul_add(-LN2[1], first);
        // What the reduction rounded away counts here: the result may be smaller than the terms.
        let low = n.mul_add(-LN2[1], first - r);
        let s = power(integer(rounded).wrapping_sub(1));
        let y = s.mul_add(exp_tail(r) + low, s.mul_add(r, s - 0.5)) * 2.0;
        if self == 0.0 { self } else { y }
    }

    #[inline(always)]
    fn log(self) -> f64 {
        let tiny = self < f64::MIN_POSITIVE;
        let (m, e) = split(if tiny { self * 18_014_398_509_481_984.0 } else { self });
        let e = e - if tiny { 54.0 } else { 0.0 };
        let special = if self > 0.0 { self } else { f64::NAN };
        let special = if self == 0.0 { f64::NEG_INFINITY } else { special };
        if (self > 0.0) & (self < f64::INFINITY) { log_reduced(m - 1.0, e) } else { special }
    }

    #[inline(always)]
    fn log1p(self) -> f64 {
        let sum = 1.0 + self;
        // What the addition rounded away.
        let rest = self - (sum - 1.0);
        let (m, e) = split(sum);
        // 2^-e, out of the number that holds e in its low bits; for large e nothing was rounded away.
        let near = if e > 1000.0 { 1000.0 } else { e };
        let f = rest.mul_add(power(integer(ROUND - near)), m - 1.0);
        let special = if self > -1.0 { self } else { f64::NAN };
        let special = if self == -1.0 { f64::NEG_INFINITY } else { special };
        let usual = (self > -1.0) & (self < f64::INFINITY) & (self != 0.0);
        if usual { log_reduced(f, e) } else { special }
    }

    #[inline(always)]
    fn tanh(self) -> f64 {
        let small = self.abs() < 0.625;
        // Near 0 a quotient of polynomials, else 1 - 2 / (exp(2 |x|) + 1); both with one division.
        let z = self * self;
        let top = self * z * horner(z, TANH_TOP);
        let bottom = horner(z, TANH_BOTTOM);
        let twice = 2.0 * self.abs();
        let twice = if twice > 44.0 { 44.0 } else { twice };
        let rounded = twice.mul_add(LOG2_E, ROUND);
        let n = rounded - ROUND;
        let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], twice));
        let s = power(integer(rounded));
        let e = s * exp_near_one(r);
        let quotient = (if small { top } else { -2.0 }) / (if small { bottom } else { e + 1.0 });
        let y = if small { self } else { 1.0 } + quotient;
        y.copysign(self)
    }

    #[inline(always)]
    fn sin(self) -> f64 {
        // The reduction would lose the sign of a zero.
        if self == 0.0 { self } else { sine(self, 0) }
    }

    #[inline(always)]
    fn cos(self) -> f64 {
        sine(self, 1)
    }
}
