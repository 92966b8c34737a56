//! Hyperbolic functions and their inverses.

use super::exponential::{Exponential, exp_near_one, exp_reduced};
use super::float::{MachineFloat, choose, horner, lost};
use super::logarithm::{Logarithm, area_tangent, log1p_sum};

/// Constants of the hyperbolic functions, and what differs between the types.
pub(crate) trait Hyperbolic: Exponential + Logarithm {
    /// Of `(sinh(r) - r) / r^3` in `r^2`, to half of ln 2.
    const SINH: &'static [Self];
    /// Of `(cosh(r) - 1) / r^2` in `r^2`, likewise.
    const COSH: &'static [Self];
    /// `sinh` and `cosh` are infinite above.
    const SINH_FAR: Self;
    /// Odd functions with slope 1 at 0 equal their argument below it; `x^2 + 1` rounds to `x^2` above its
    /// inverse.
    const SMALL: Self;
    /// `tanh(x)` is computed as `1 - 2 / (exp(2 x) + 1)` from the first magnitude on. It rounds to 1 from
    /// half of the second on.
    const TANH_FAR: [Self; 2];
    /// `(tanh(x) - x) / x^3` below, in `x^2`, as a quotient of polynomials; for f32, a polynomial suffices.
    const TANH: &'static [Self];
    const TANH_BOTTOM: &'static [Self];
}

impl Hyperbolic for f32 {
    const SINH: &'static [f32] = &[0.166_665_43, 0.008_366_546];
    const COSH: &'static [f32] = &[0.5, 0.041_666_46, 0.001_393_542_5];
    const SINH_FAR: f32 = 89.5;
    const SMALL: f32 = 0.000_244_140_63;
    const TANH_FAR: [f32; 2] = [0.7, 20.0];
    const TANH: &'static [f32] =
        &[-0.333_333_25, 0.133_329_84, -0.053_920_954, 0.021_571_06, -0.007_883_31, 0.001_895_667_3];
    const TANH_BOTTOM: &'static [f32] = &[1.0];
}

impl Hyperbolic for f64 {
    #[rustfmt::skip]
    const SINH: &'static [f64] = &[
        0.166_666_666_666_666_77, 0.008_333_333_333_321_384, 0.000_198_412_698_868_246_12,
        2.755_724_343_874_657e-6, 2.510_932_703_199_380_6e-8,
    ];
    #[rustfmt::skip]
    const COSH: &'static [f64] = &[
        0.5, 0.041_666_666_666_602_71, 0.001_388_888_892_730_560_5, 2.480_150_804_730_319_3e-5,
        2.762_543_582_611_974_7e-7,
    ];
    const SINH_FAR: f64 = 710.48;
    const SMALL: f64 = 3.725_290_298_461_914e-9;
    const TANH_FAR: [f64; 2] = [0.625, 44.0];
    const TANH: &'static [f64] =
        &[-1_614.687_684_417_084_5, -99.287_723_100_191_86, -0.964_399_179_425_052_2];
    const TANH_BOTTOM: &'static [f64] =
        &[4_844.063_053_251_255, 2_235.488_390_601_004_6, 112.811_678_491_632_93, 1.0];
}

/// A magnitude as `k * ln 2 + r`: half of `sinh(k * ln 2)` and of `cosh(k * ln 2)`, `sinh(r) - r`,
/// `cosh(r) - 1`, and r.
struct Reduced<T> {
    sinh: T,
    cosh: T,
    sinh_tail: T,
    cosh_tail: T,
    r: T,
}

#[inline(always)]
fn reduced<T: Hyperbolic>(a: T) -> Reduced<T> {
    let (r, low, rounded) = exp_reduced(choose(a > T::SINH_FAR, T::SINH_FAR, a));
    let n = rounded - T::ROUND;
    let up = T::power(rounded, -2);
    // For larger n, `down` is negligible beside `up`.
    let near = choose(n > T::of(100.0), T::of(100.0), n);
    let down = T::power(T::ROUND - near, -2);
    let z = r * r;
    Reduced {
        sinh: up - down,
        cosh: up + down,
        sinh_tail: (r * z).mul_add(horner(z, T::SINH), low),
        cosh_tail: z * horner(z, T::COSH),
        r,
    }
}

/// Hyperbolic sine.
#[inline(always)]
pub(super) fn sinh<T: Hyperbolic>(x: T) -> T {
    let p = reduced(x.abs());
    let main = p.cosh.mul_add(p.r, p.sinh);
    let low = p.cosh.mul_add(p.r, p.sinh - main);
    let y = (main + p.sinh.mul_add(p.cosh_tail, p.cosh.mul_add(p.sinh_tail, low))) * T::TWO;
    choose(x.abs() < T::SMALL, x, y.copysign(x))
}

/// Hyperbolic cosine.
#[inline(always)]
pub(super) fn cosh<T: Hyperbolic>(x: T) -> T {
    let p = reduced(x.abs());
    let main = p.sinh.mul_add(p.r, p.cosh);
    let low = p.sinh.mul_add(p.r, p.cosh - main);
    (main + p.cosh.mul_add(p.cosh_tail, p.sinh.mul_add(p.sinh_tail, low))) * T::TWO
}

/// Hyperbolic tangent. It is monotonic, and 1 where that is the nearest number.
#[inline(always)]
pub(super) fn tanh<T: Hyperbolic>(x: T) -> T {
    let small = x.abs() < T::TANH_FAR[0];
    let z = x * x;
    let twice = T::TWO * x.abs();
    let (r, _, rounded) = exp_reduced(choose(twice > T::TANH_FAR[1], T::TANH_FAR[1], twice));
    let bottom = T::power(rounded, 0) * exp_near_one(r) + T::ONE;
    let y = if T::IS_F64 {
        // Both with one division.
        let top = choose(small, x * z * horner(z, T::TANH), -T::TWO);
        choose(small, x, T::ONE) + top / choose(small, horner(z, T::TANH_BOTTOM), bottom)
    } else {
        choose(small, (x * z).mul_add(horner(z, T::TANH), x), T::ONE - T::TWO / bottom)
    };
    y.copysign(x)
}

/// The square root of `1 + x^2` (`one` 1) or `x^2 - 1` (-1) in two parts.
#[inline(always)]
fn root<T: MachineFloat>(x: T, one: T) -> (T, T) {
    let square = x * x;
    let square_low = x.mul_add(x, -square);
    let sum = square + one;
    let sum_low = (square - (sum - one)) + square_low;
    let s = sum.sqrt();
    (s, (s.mul_add(-s, sum) + sum_low) * (T::HALF / (s + T::TINY)))
}

/// `log(1 + large + small + low)` where large and small are 0 or more; far out, `log(2 x)`.
#[inline(always)]
fn log_sum<T: Hyperbolic>(x: T, large: T, small: T, low: T) -> T {
    let high = large + small;
    let low = lost(large, small, high) + low;
    let far = x > T::ONE / T::SMALL;
    let (high, low) = (choose(far, x - T::ONE, high), choose(far, T::ZERO, low));
    log1p_sum(high, low, choose(far, T::ONE, T::ZERO))
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(super) fn asinh<T: Hyperbolic>(x: T) -> T {
    let a = x.abs();
    let (s, s_low) = root(a, T::ONE);
    let y = log_sum(a, a, s - T::ONE, s_low).copysign(x);
    let y = choose(a < T::INFINITY, y, x);
    choose(a < T::SMALL, x, y)
}

/// Inverse hyperbolic cosine.
#[inline(always)]
pub(super) fn acosh<T: Hyperbolic>(x: T) -> T {
    let (s, s_low) = root(x, -T::ONE);
    let y = log_sum(x, s, x - T::ONE, s_low);
    let special = choose(x >= T::ONE, x, T::NAN);
    let y = choose(x < T::INFINITY, y, special);
    choose(x >= T::ONE, y, special)
}

/// Inverse hyperbolic tangent.
#[inline(always)]
pub(super) fn atanh<T: Hyperbolic>(x: T) -> T {
    let a = x.abs();
    let special = choose(a == T::ONE, T::INFINITY, T::NAN);
    choose(a < T::ONE, area_tangent(a), special).copysign(x)
}
