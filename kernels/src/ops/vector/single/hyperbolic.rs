//! Hyperbolic functions and their inverses.

use super::exponential::exp_near_one;
use super::logarithm::{area_tangent, log1p_sum};
use super::{LN2, ROUND, choose, horner, integer, lost, power};
use std::f32::consts::LOG2_E;

/// Of `(sinh(r) - r) / r^3` in `r^2`, to half of ln 2.
const SINH: [f32; 2] = [0.166_665_43, 0.008_366_546];
/// Of `(cosh(r) - 1) / r^2` in `r^2`, likewise.
const COSH: [f32; 3] = [0.5, 0.041_666_46, 0.001_393_542_5];
/// Odd functions with slope 1 at 0 equal their argument below it; `x^2 + 1` rounds to `x^2` above its
/// inverse.
const SMALL: f32 = 0.000_244_140_63;
/// From this magnitude on, `tanh(x)` is computed as `1 - 2 / (exp(2 x) + 1)`.
pub(crate) const TANH_FAR: f32 = 0.7;
/// Of `(tanh(x) - x) / x^3` in `x^2`, up to there.
pub(crate) const TANH: [f32; 6] =
    [-0.333_333_25, 0.133_329_84, -0.053_920_954, 0.021_571_06, -0.007_883_31, 0.001_895_667_3];

/// A magnitude as `k * ln 2 + r`: half of `sinh(k * ln 2)` and of `cosh(k * ln 2)`, `sinh(r) - r`,
/// `cosh(r) - 1`, and r.
struct Reduced {
    sinh: f32,
    cosh: f32,
    sinh_tail: f32,
    cosh_tail: f32,
    r: f32,
}

#[inline(always)]
fn reduced(a: f32) -> Reduced {
    let x = choose(a > 89.5, 89.5, a);
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
pub(super) fn sinh(x: f32) -> f32 {
    let p = reduced(x.abs());
    let main = p.cosh.mul_add(p.r, p.sinh);
    let low = p.cosh.mul_add(p.r, p.sinh - main);
    let y = (main + p.sinh.mul_add(p.cosh_tail, p.cosh.mul_add(p.sinh_tail, low))) * 2.0;
    choose(x.abs() < SMALL, x, y.copysign(x))
}

/// Hyperbolic cosine.
#[inline(always)]
pub(super) fn cosh(x: f32) -> f32 {
    let p = reduced(x.abs());
    let main = p.sinh.mul_add(p.r, p.cosh);
    let low = p.sinh.mul_add(p.r, p.cosh - main);
    (main + p.cosh.mul_add(p.cosh_tail, p.sinh.mul_add(p.sinh_tail, low))) * 2.0
}

/// Hyperbolic tangent. It is monotonic, and 1 where that is the nearest number.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let z = x * x;
    let near = (x * z).mul_add(horner(z, TANH), x);
    let twice = 2.0 * x.abs();
    let twice = choose(twice > 20.0, 20.0, twice);
    let rounded = twice.mul_add(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], twice));
    let e = power(integer(rounded)) * exp_near_one(r);
    let far = 1.0 - 2.0 / (e + 1.0);
    choose(x.abs() < TANH_FAR, near, far).copysign(x)
}

/// The square root of `1 + x^2` (`one` 1) or `x^2 - 1` (-1) in two parts.
#[inline(always)]
fn root(x: f32, one: f32) -> (f32, f32) {
    let square = x * x;
    let square_low = x.mul_add(x, -square);
    let sum = square + one;
    let sum_low = (square - (sum - one)) + square_low;
    let s = sum.sqrt();
    // The small number avoids a division by zero.
    (s, (s.mul_add(-s, sum) + sum_low) * (0.5 / (s + 1e-30)))
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(super) fn asinh(x: f32) -> f32 {
    let a = x.abs();
    let (s, s_low) = root(a, 1.0);
    // The logarithm of 1 plus this; far out, that of 2 a.
    let high = a + (s - 1.0);
    let low = lost(a, s - 1.0, high) + s_low;
    let far = a > 1.0 / SMALL;
    let (high, low, more) = (choose(far, a - 1.0, high), choose(far, 0.0, low), choose(far, 1.0, 0.0));
    let y = log1p_sum(high, low, more).copysign(x);
    let y = choose(a < f32::INFINITY, y, x);
    choose(a < SMALL, x, y)
}

/// Inverse hyperbolic cosine.
#[inline(always)]
pub(super) fn acosh(x: f32) -> f32 {
    let (s, s_low) = root(x, -1.0);
    let high = s + (x - 1.0);
    let low = lost(s, x - 1.0, high) + s_low;
    let far = x > 1.0 / SMALL;
    let (high, low, more) = (choose(far, x - 1.0, high), choose(far, 0.0, low), choose(far, 1.0, 0.0));
    let y = log1p_sum(high, low, more);
    let special = choose(x >= 1.0, x, f32::NAN);
    let y = choose(x < f32::INFINITY, y, special);
    choose(x >= 1.0, y, special)
}

/// Inverse hyperbolic tangent.
#[inline(always)]
pub(super) fn atanh(x: f32) -> f32 {
    let a = x.abs();
    let special = choose(a == 1.0, f32::INFINITY, f32::NAN);
    (choose(a < 1.0, area_tangent(a), special)).copysign(x)
}
