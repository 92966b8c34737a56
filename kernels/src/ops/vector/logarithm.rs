//! Logarithms.

use super::float::{MachineFloat, choose, horner, lost};

/// Constants of the logarithms, and what differs between the types.
pub(crate) trait Logarithm: MachineFloat {
    /// sqrt(1/2).
    const ROOT_HALF: Self;
    /// The series of [`Logarithm::log_reduced`].
    const LOG_SERIES: &'static [Self];
    /// The inverse hyperbolic tangent: `2 artanh(s) / s - 2` in `s^2`, divided by `s^2`.
    const AREA_SERIES: &'static [Self];
    /// A power of two that makes a subnormal number normal, and its exponent.
    const NORMALISE: [Self; 2];

    /// Splits a positive normal number into a power of two and the rest, between sqrt(1/2) and sqrt(2): the
    /// rest, the exponent, and the inverse of the power. Without `large` the inverse must be a normal number;
    /// with it, a larger number replaces one that is not.
    fn split_inverse(self, large: bool) -> (Self, Self, Self);
    /// `log(1 + f + low) + e * ln 2`, low being less than f's rounding.
    fn log_reduced(f: Self, low: Self, e: Self) -> Self;
    /// `e + log2(m)`.
    fn log2_reduced(m: Self, e: Self) -> Self;
    /// `log10(2^e * m)`.
    fn log10_reduced(m: Self, e: Self) -> Self;

    /// As `split_inverse`, without the inverse.
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        let (m, e, _) = self.split_inverse(false);
        (m, e)
    }

    /// As `split`, for any positive number.
    #[inline(always)]
    fn split_any(self) -> (Self, Self) {
        let [factor, exponent] = Self::NORMALISE;
        let tiny = self < Self::MIN_POSITIVE;
        let (m, e) = choose(tiny, self * factor, self).split();
        (m, e - choose(tiny, exponent, Self::ZERO))
    }
}

/// Of `log2(1 + f) / f` from sqrt(1/2) - 1 to sqrt(2) - 1, and of `log10(1 + f) / f`.
#[rustfmt::skip]
const LOG2_SERIES: [f32; 10] = [
    std::f32::consts::LOG2_E, -0.721_347_5, 0.480_903_77, -0.360_682_64, 0.288_303_82, -0.239_788_2,
    0.208_880_11, -0.193_328, 0.163_372_71, -0.079_707_76,
];
#[rustfmt::skip]
const LOG10_SERIES: [f32; 10] = [
    std::f32::consts::LOG10_E, -0.217_147_23, 0.144_761_82, -0.108_573_526, 0.087_002_33, -0.072_416_34,
    0.059_633_67, -0.053_406_365, 0.064_978_43, -0.052_439_71,
];
/// log10(2) in two parts, the first of few bits: its product with an exponent is exact.
const LOG10_2: [f32; 2] = [0.301_033_02, -3.024_355_5e-6];

impl Logarithm for f32 {
    const ROOT_HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;
    /// Of `(log(1 + f) - f + f^2 / 2) / f^3` from sqrt(1/2) - 1 to sqrt(2) - 1.
    #[rustfmt::skip]
    const LOG_SERIES: &'static [f32] = &[
        0.333_333_3, -0.249_999_97, 0.200_007_17, -0.166_678_07, 0.142_490_07, -0.124_255_23, 0.116_857_85,
        -0.114_812_12, 0.069_725_186,
    ];
    const AREA_SERIES: &'static [f32] = &[0.666_667_76, 0.399_775_68, 0.298_714_58];
    const NORMALISE: [f32; 2] = [8_388_608.0, 23.0];

    #[inline(always)]
    fn split_inverse(self, large: bool) -> (f32, f32, f32) {
        const ROOT_HALF: u32 = f32::ROOT_HALF.to_bits();
        let bits = self.to_bits().wrapping_sub(ROOT_HALF);
        let e = (bits as i32) >> 23;
        let near = if large { e.min(120) } else { e };
        let inverse = f32::from_bits((127i32.wrapping_sub(near) << 23) as u32);
        (f32::from_bits((bits & 0x007f_ffff) + ROOT_HALF), e as f32, inverse)
    }

    #[inline(always)]
    fn log_reduced(f: f32, low: f32, e: f32) -> f32 {
        let z = f * f;
        let p = horner(f, f32::LOG_SERIES);
        let low = (z * f).mul_add(p, e.mul_add(f32::LN2[1], low));
        e.mul_add(f32::LN2[0], z.mul_add(-0.5, low) + f)
    }

    #[inline(always)]
    fn log2_reduced(m: f32, e: f32) -> f32 {
        (m - 1.0).mul_add(horner(m - 1.0, &LOG2_SERIES), e)
    }

    #[inline(always)]
    fn log10_reduced(m: f32, e: f32) -> f32 {
        let small = (m - 1.0).mul_add(horner(m - 1.0, &LOG10_SERIES), e * LOG10_2[1]);
        e.mul_add(LOG10_2[0], small)
    }
}

impl Logarithm for f64 {
    const ROOT_HALF: f64 = std::f64::consts::FRAC_1_SQRT_2;
    #[rustfmt::skip]
    const LOG_SERIES: &'static [f64] = &[
        0.666_666_666_666_667, 0.399_999_999_998_990_33, 0.285_714_286_261_904_87, 0.222_222_110_997_112_92,
        0.181_828_916_804_398_94, 0.153_316_366_995_413_4, 0.146_174_986_939_156_12,
    ];
    const AREA_SERIES: &'static [f64] = f64::LOG_SERIES;
    const NORMALISE: [f64; 2] = [18_014_398_509_481_984.0, 54.0];

    #[inline(always)]
    fn split_inverse(self, large: bool) -> (f64, f64, f64) {
        const ROOT_HALF: u64 = f64::ROOT_HALF.to_bits();
        let bits = self.to_bits().wrapping_add(1f64.to_bits() - ROOT_HALF);
        let e = exponent(bits);
        let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + ROOT_HALF);
        let near = if large { choose(e > 1000.0, 1000.0, e) } else { e };
        (m, e, f64::power(f64::ROUND - near, 0))
    }

    /// By the series of artanh of `f / (2 + f)`.
    #[inline(always)]
    fn log_reduced(f: f64, low: f64, e: f64) -> f64 {
        let (half_square, s, sum) = log_tail(f);
        let low = s.mul_add(sum, e.mul_add(f64::LN2[1], low));
        e.mul_add(f64::LN2[0], f - (half_square - low))
    }

    #[inline(always)]
    fn log2_reduced(m: f64, e: f64) -> f64 {
        log_to_base(m - 1.0, e, [f64::LOG2_E, 2.035_527_374_093_103_3e-17], [1.0, 0.0])
    }

    #[inline(always)]
    fn log10_reduced(m: f64, e: f64) -> f64 {
        // The first part of log10(2) has few bits: its product with an exponent is exact.
        let two = [0.301_029_995_664_066_5, -8.532_344_317_057_107e-14];
        log_to_base(m - 1.0, e, [std::f64::consts::LOG10_E, 1.098_319_650_216_765e-17], two)
    }
}

/// The exponent in the bits of a positive number. There is no conversion of 64-bit integers before AVX-512:
/// the bits become the low bits of a number above 2^52.
#[inline(always)]
pub(super) fn exponent(bits: u64) -> f64 {
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    f64::from_bits((bits >> 52) | TWO_52.to_bits()) - (TWO_52 + 1023.0)
}

/// `f^2 / 2`, and two factors whose product is `log(1 + f) - f + f^2 / 2`, by the series of artanh of
/// `f / (2 + f)`.
#[inline(always)]
fn log_tail(f: f64) -> (f64, f64, f64) {
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * horner(z, f64::LOG_SERIES);
    (half_square, s, half_square + r)
}

/// `log(1 + f) * factor + e * two`: both constants in two parts, the product with the first of `two` being
/// exact.
#[inline(always)]
fn log_to_base(f: f64, e: f64, factor: [f64; 2], two: [f64; 2]) -> f64 {
    let (half_square, s, sum) = log_tail(f);
    // Before the next lines: LLVM keeps the order, and loops are 3 % slower with AVX2 in the other one.
    let tail = s * sum;
    let high = f - half_square;
    let low = lost(f, -half_square, high) + tail;
    let main = high * factor[0];
    let rest = low.mul_add(factor[0], high.mul_add(factor[1], high.mul_add(factor[0], -main)));
    let whole = e * two[0];
    let sum = whole + main;
    sum + (e.mul_add(two[1], lost(whole, main, sum)) + rest)
}

/// The logarithm `y` of `x - zero`, or its limit or NaN if that is not positive and finite.
#[inline(always)]
fn where_positive<T: MachineFloat>(x: T, zero: T, y: T) -> T {
    let special = choose(x > zero, x, T::NAN);
    let special = choose(x == zero, -T::INFINITY, special);
    choose((x > zero) & (x < T::INFINITY), y, special)
}

/// Natural logarithm.
#[inline(always)]
pub(super) fn log<T: Logarithm>(x: T) -> T {
    let (m, e) = x.split_any();
    where_positive(x, T::ZERO, T::log_reduced(m - T::ONE, T::ZERO, e))
}

/// The same of a usual number, and whether this is one.
#[inline(always)]
pub(super) fn quick_log<T: Logarithm>(x: T) -> (T, bool) {
    let (m, e) = x.split();
    (T::log_reduced(m - T::ONE, T::ZERO, e), x.is_usual())
}

/// Logarithm to base 2.
#[inline(always)]
pub(super) fn log2<T: Logarithm>(x: T) -> T {
    let (m, e) = x.split_any();
    where_positive(x, T::ZERO, T::log2_reduced(m, e))
}

/// The same of a usual number, and whether this is one.
#[inline(always)]
pub(super) fn quick_log2<T: Logarithm>(x: T) -> (T, bool) {
    let (m, e) = x.split();
    (T::log2_reduced(m, e), x.is_usual())
}

/// Logarithm to base 10.
#[inline(always)]
pub(super) fn log10<T: Logarithm>(x: T) -> T {
    let (m, e) = x.split_any();
    where_positive(x, T::ZERO, T::log10_reduced(m, e))
}

/// The same of a usual number, and whether this is one.
#[inline(always)]
pub(super) fn quick_log10<T: Logarithm>(x: T) -> (T, bool) {
    let (m, e) = x.split();
    (T::log10_reduced(m, e), x.is_usual())
}

/// `log(1 + x)`, exact near 0.
#[inline(always)]
pub(super) fn log1p<T: Logarithm>(x: T) -> T {
    let sum = T::ONE + x;
    // The rounding error of the addition. For large exponents nothing was rounded away.
    let rest = x - (sum - T::ONE);
    let (m, e, inverse) = sum.split_inverse(true);
    let f = rest.mul_add(inverse, m - T::ONE);
    let y = where_positive(x, -T::ONE, T::log_reduced(f, T::ZERO, e));
    choose(x == T::ZERO, x, y)
}

/// `log((1 + high + low) * 2^more)` where high is 0 or more, low less than its rounding.
#[inline(always)]
pub(super) fn log1p_sum<T: Logarithm>(high: T, low: T, more: T) -> T {
    let sum = T::ONE + high;
    let rest = (high - (sum - T::ONE)) + low;
    let (m, e, inverse) = sum.split_inverse(true);
    let small = rest * inverse;
    let f = (m - T::ONE) + small;
    T::log_reduced(f, lost(m - T::ONE, small, f), e + more)
}

/// `artanh(a)` for a from 0 to below 1: half the logarithm of `(1 + a) / (1 - a)`.
#[inline(always)]
pub(super) fn area_tangent<T: Logarithm>(a: T) -> T {
    let (top, bottom) = (T::ONE + a, T::ONE - a);
    let (top_low, bottom_low) = (a - (top - T::ONE), (T::ONE - bottom) - a);
    // Powers of two bring the quotient between sqrt(1/2) and sqrt(2), so that the difference below is exact.
    let (m, e, inverse) = bottom.split_inverse(false);
    let bottom_low = bottom_low * inverse;
    let double = top > T::TWO * T::ROOT_HALF * m;
    let half = choose(double, T::HALF, T::ONE);
    let e = choose(double, T::ONE - e, -e);
    let (top, top_low) = (half * top, half * top_low);
    let small = top_low - bottom_low;
    let difference = (top - m) + small;
    let sum = top + m;
    let inverse = T::ONE / sum;
    let s = difference * inverse;
    let mut rest = s.mul_add(-sum, difference);
    if T::IS_F64 {
        let sum_low = (top - (sum - (sum - top))) + (m - (sum - top)) + (top_low + bottom_low);
        rest = rest + s.mul_add(-sum_low, lost(top - m, small, difference));
    }
    // Near 0, a itself is the argument of the series.
    let (s, s_low) = (choose(e == T::ZERO, a, s), choose(e == T::ZERO, T::ZERO, rest * inverse));
    let (z, half_e) = (s * s, T::HALF * e);
    let tail = (T::HALF * s * z).mul_add(horner(z, T::AREA_SERIES), half_e.mul_add(T::LN2[1], s_low));
    let main = half_e.mul_add(T::LN2[0], s);
    main + ((half_e.mul_add(T::LN2[0], -main) + s) + tail)
}
