//! Hyperbolic functions and their inverses.

use super::exponential::exp_near_one;
use super::logarithm::{area_tangent, log1p_sum};
use super::{LN2, ROUND, choose, horner, integer, lost, power};
use std::f64::consts::LOG2_E;

/// Of `(sinh(r) - r) / r^3` in `r^2`, to half of ln 2.
const SINH: [f64; 5] = [
    0.166_666_666_666_666_77,
    0.008_333_333_333_321_384,
    0.000_198_412_698_868_246_12,
    2.755_724_343_874_657e-6,
    2.510_932_703_199_380_6e-8,
];
/// Of `(cosh(r) - 1) / r^2` in `r^2`, likewise.
const COSH: [f64; 5] = [
    0.5,
    0.041_666_666_666_602_71,
    0.001_388_888_892_730_560_5,
    2.480_150_804_730_319_3e-5,
    2.762_543_582_611_974_7e-7,
];
/// Odd functions with slope 1 at 0 equal their argument below it; `x^2 + 1` rounds to `x^2` above its
/// inverse.
const SMALL: f64 = 3.725_290_298_461_914e-9;
/// `(tanh(x) - x) / x^3` near 0 as a quotient of these in `x^2`.
pub(crate) const TANH_TOP: [f64; 3] =
    [-1_614.687_684_417_084_5, -99.287_723_100_191_86, -0.964_399_179_425_052_2];

pub(crate) const TANH_BOTTOM: [f64; 4] =
    [4_844.063_053_251_255, 2_235.488_390_601_004_6, 112.811_678_491_632_93, 1.0];

/// A magnitude as `k * ln 2 + r`: half of `sinh(k * ln 2)` and of `cosh(k * ln 2)`, `sinh(r) - r`,
/// `cosh(r) - 1`, and r.
struct Reduced {
    sinh: f64,
    cosh: f64,
    sinh_tail: f64,
    cosh_tail: f64,
    r: f64,
}

#[inline(always)]
fn reduced(a: f64) -> Reduced {
    let x = choose(a > 710.48, 710.48, a);
    let rounded = x.mul_add(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let first = n.mul_add(-LN2[0], x);
    let r = n.mul_add(-LN2[1], first);
    let low = n.mul_add(-LN2[1], first - r);
    let up = power(integer(rounded).wrapping_sub(2));
    // For larger n, `down` is negligible beside `up`.
    let near = choose(n > 100.0, 100.0, n);
    let down = power(integer(ROUND - near).wrapping_sub(2));
    let z = r * r;
    Reduced {
        sinh: up - down,
        cosh: up + down,
        sinh_tail: (r * z).mul_add(horner(z, SINH), low),
        cosh_tail: z * horner(z, COSH),
        r,
    }
}

/// Hyperbolic sine.
#[inline(always)]
pub(super) fn sinh(x: f64) -> f64 {
    let p = reduced(x.abs());
    let main = p.cosh.mul_add(p.r, p.sinh);
    let low = p.cosh.mul_add(p.r, p.sinh - main);
    let y = (main + p.sinh.mul_add(p.cosh_tail, p.cosh.mul_add(p.sinh_tail, low))) * 2.0;
    choose(x.abs() < SMALL, x, y.copysign(x))
}

/// Hyperbolic cosine.
#[inline(always)]
pub(super) fn cosh(x: f64) -> f64 {
    let p = reduced(x.abs());
    let main = p.sinh.mul_add(p.r, p.cosh);
    let low = p.sinh.mul_add(p.r, p.cosh - main);
    (main + p.cosh.mul_add(p.cosh_tail, p.sinh.mul_add(p.sinh_tail, low))) * 2.0
}

/// Hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh(x: f64) -> f64 {
    let small = x.abs() < 0.625;
    // Near 0 a quotient of polynomials, else 1 - 2 / (exp(2 |x|) + 1); both with one division.
    let z = x * x;
    let top = x * z * horner(z, TANH_TOP);
    let bottom = horner(z, TANH_BOTTOM);
    let twice = 2.0 * x.abs();
    let twice = choose(twice > 44.0, 44.0, twice);
    let rounded = twice.mul_add(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], twice));
    let s = power(integer(rounded));
    let e = s * exp_near_one(r);
    let quotient = (choose(small, top, -2.0)) / (choose(small, bottom, e + 1.0));
    let y = choose(small, x, 1.0) + quotient;
    y.copysign(x)
}

/// The square root of `1 + x^2` (`one` 1) or `x^2 - 1` (-1) in two parts.
#[inline(always)]
fn root(x: f64, one: f64) -> (f64, f64) {
    let square = x * x;
    let square_low = x.mul_add(x, -square);
    let sum = square + one;
    let sum_low = (square - (sum - one)) + square_low;
    let s = sum.sqrt();
    // The small number avoids a division by zero.
    (s, (s.mul_add(-s, sum) + sum_low) * (0.5 / (s + 1e-300)))
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(super) fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let (s, s_low) = root(a, 1.0);
    // The logarithm of 1 plus this; far out, that of 2 a.
    let high = a + (s - 1.0);
    let low = lost(a, s - 1.0, high) + s_low;
    let far = a > 1.0 / SMALL;
    let (high, low, more) = (choose(far, a - 1.0, high), choose(far, 0.0, low), choose(far, 1.0, 0.0));
    let y = log1p_sum(high, low, more).copysign(x);
    let y = choose(a < f64::INFINITY, y, x);
    choose(a < SMALL, x, y)
}

/// Inverse hyperbolic cosine.
#[inline(always)]
pub(super) fn acosh(x: f64) -> f64 {
    let (s, s_low) = root(x, -1.0);
    let high = s + (x - 1.0);
    let low = lost(s, x - 1.0, high) + s_low;
    let far = x > 1.0 / SMALL;
    let (high, low, more) = (choose(far, x - 1.0, high), choose(far, 0.0, low), choose(far, 1.0, 0.0));
    let y = log1p_sum(high, low, more);
    let special = choose(x >= 1.0, x, f64::NAN);
    let y = choose(x < f64::INFINITY, y, special);
    choose(x >= 1.0, y, special)
}

/// Inverse hyperbolic tangent.
#[inline(always)]
pub(super) fn atanh(x: f64) -> f64 {
    let a = x.abs();
    let special = choose(a == 1.0, f64::INFINITY, f64::NAN);
    (choose(a < 1.0, area_tangent(a), special)).copysign(x)
}
