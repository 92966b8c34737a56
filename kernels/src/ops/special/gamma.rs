//! The logarithm of the gamma function and its derivatives: Stirling's series for large arguments, recurrence
//! to get there, reflection for negative arguments (Abramowitz and Stegun, 6.1.17, 6.1.41, 6.3.7,
//! 6.3.18, 6.4.7, 6.4.12).

use super::super::real::Real;
use super::series::*;
use super::{fraction, series};
use std::f64::consts::PI;

/// `B(2k) / (2k (2k - 1))`.
const STIRLING: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
    -3617.0 / 122_400.0,
];
/// `B(2k) / 2k`.
const DIGAMMA: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 120.0,
    1.0 / 252.0,
    -1.0 / 240.0,
    1.0 / 132.0,
    -691.0 / 32_760.0,
    1.0 / 12.0,
    -3617.0 / 8160.0,
];
/// `B(2k)`.
const TRIGAMMA: [f64; 8] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
];
/// From here on Stirling's series is exact to the last digits.
const LARGE: f64 = 10.0;

/// The terms that the precision needs.
#[inline(always)]
fn stirling<R: Real>(square: R, all: &[f64; 8]) -> R {
    square.polynomial(if square.is_single() { &all[..3] } else { all })
}

/// `log |gamma(x)|`.
#[inline(always)]
pub(crate) fn gammaln<R: Real>(x: R) -> R {
    let one = x.of(1.0);
    let reflected = x.below(0.0);
    // gamma(x) gamma(1 - x) = pi / sin(pi x), and gamma(1 - x) = -x gamma(-x): from here on `z` is not below
    // 0.
    let z = x.abs();
    // Around 1 and 2 its roots: t (t - 1) times a series, of z - 1, or of z or z - 2 after a step of the
    // recurrence.
    let (low, high) = (z.below(1.0), z.above(2.0));
    let t = R::pick(low, z, R::pick(high, z - 2.0, z - 1.0));
    let near = series(t + t - 1.0, &LOG_GAMMA, LOG_GAMMA_SINGLE) * t * (t - 1.0);
    let step = R::pick(low, z, one).log();
    let near = R::pick(low, near - step, R::pick(high, near + t.log1p(), near));
    // (z)(z + 1)..(z + 7), two at a time.
    let shifted = z.below(LARGE);
    let s = z * (z + 7.0);
    let product = s * (s + 6.0) * (s + 10.0) * (s + 12.0);
    let y = R::pick(shifted, z + 8.0, z);
    let inverse = one / y;
    let tail = stirling(inverse * inverse, &STIRLING) * inverse;
    let log = y.log();
    // (y - 1/2) log(y) - y, where the product overflows before the difference.
    let far = (y - 0.5) * (log - 1.0) + (tail + 0.5 * ((2.0 * PI).ln() - 1.0));
    let far = far - R::pick(shifted, product, one).log();
    let right = R::pick(z.below(3.0), near, far);
    let sine = (fraction(z) * PI).sin().abs();
    let left = -(R::pick(reflected, sine, one) * (1.0 / PI)).log() - R::pick(reflected, z, one).log() - right;
    let result = R::pick(reflected, left, right);
    R::pick(z.is(f64::INFINITY) | (reflected & sine.is(0.0)), x.of(f64::INFINITY), result)
}

/// 16 ln 2 in two parts, the first of 12 bits.
const LOG_2_16: [f64; 2] = [11.089_843_75, 5.111_389_591_249_506e-4];

/// The least number of each range, and the factor for it: 2 to the power of -16, -32 and -48. f32 needs the
/// first only, because reflected arguments are below 2^24.
const LOG_STEPS: [(f64, f64); 3] = [
    (256.0, 1.0 / 65_536.0),
    (16_777_216.0, 1.0 / 4_294_967_296.0),
    (1_099_511_627_776.0, 1.0 / 281_474_976_710_656.0),
];

/// A logarithm as the sum of two numbers. The first is exact, and 0 for arguments up to 256. The second has a
/// magnitude of at most 6 for arguments with a fraction, and the rounding error of that magnitude.
#[inline(always)]
fn log_parts<R: Real>(y: R) -> [R; 2] {
    let mut scale = y.of(1.0);
    let (mut high, mut low) = (y.of(0.0), y.of(0.0));
    for (step, (least, power)) in LOG_STEPS.iter().take(if y.is_single() { 1 } else { 3 }).enumerate() {
        let above = y.above(*least);
        let times = (step + 1) as f64;
        scale = R::pick(above, y.of(*power), scale);
        high = R::pick(above, y.of(LOG_2_16[0] * times), high);
        low = R::pick(above, y.of(LOG_2_16[1] * times), low);
    }
    [high, (y * scale).log() + low]
}

/// `1 / f - pi cot(pi f)`, for f to 1/2.
#[inline(always)]
fn cotangent_rest<R: Real>(f: R) -> R {
    series(f * f * 8.0 - 1.0, &COTANGENT, COTANGENT_SINGLE) * f
}

/// The rounding error of the quotient `q` of 1 and `f`, for quotients below 64. `f` must have at most half of
/// the significant bits of its dtype.
#[inline(always)]
fn quotient_rest<R: Real>(q: R, f: R) -> R {
    let unit = if q.is_single() { 64.0 } else { 131_072.0 };
    let high = (q * unit).rint() * (1.0 / unit);
    ((q.of(1.0) - high * f) - (q - high) * f) * q
}

/// The derivative of `log gamma`.
#[inline(always)]
pub(crate) fn digamma<R: Real>(x: R) -> R {
    let (zero, one) = (x.of(0.0), x.of(1.0));
    let reflected = x.below(0.5);
    let z = R::pick(reflected, one - x, x);
    let shifted = z.below(LARGE);
    // The sum of 1 / (z + k), k to 9: two at a time they have a denominator in z (z + 9).
    let s = z * (z + 9.0);
    let both = z + z + 9.0;
    let sum = one / s + one / (s + 8.0) + one / (s + 14.0) + one / (s + 18.0) + one / (s + 20.0);
    let y = R::pick(shifted, z + 10.0, z);
    let inverse = one / y;
    let square = inverse * inverse;
    let [high, low] = log_parts(y);
    let far = low - inverse * 0.5 - square * stirling(square, &DIGAMMA);
    let right = R::pick(shifted, far - sum * both, far);
    // digamma(x) = digamma(1 - x) - pi cot(pi x). The logarithm and 1 / f may cancel: both come in two parts.
    let f = fraction(x);
    let q = one / f;
    let q_low = R::pick(high.is(0.0), zero, quotient_rest(q, f));
    let left = (high - q) + (cotangent_rest(f) - q_low + right);
    // At the poles; at 0 it is infinite, with the sign that 1 / x has.
    let pole = R::pick(x.is(0.0), -(one / x), x.of(f64::NAN));
    let left = R::pick(f.is(0.0), pole, left);
    R::pick(reflected, left, high + right)
}

/// The derivative of [`digamma`].
#[inline(always)]
pub(crate) fn trigamma<R: Real>(x: R) -> R {
    let one = x.of(1.0);
    let reflected = x.below(0.5);
    let z = R::pick(reflected, one - x, x);
    let shifted = z.below(LARGE);
    // The sum of 1 / (z + k)^2, k to 9.
    let mut sum = x.of(0.0);
    for k in 0..10 {
        let inverse = one / (z + f64::from(9 - k));
        sum = sum + inverse * inverse;
    }
    let y = R::pick(shifted, z + 10.0, z);
    let inverse = one / y;
    let square = inverse * inverse;
    let far = inverse + square * 0.5 + inverse * square * stirling(square, &TRIGAMMA);
    let right = R::pick(shifted, far + sum, far);
    let sine = (fraction(x) * PI).sin();
    let left = x.of(PI * PI) / (sine * sine) - right;
    R::pick(reflected, left, right)
}
