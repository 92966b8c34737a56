//! Around the error function. After M. Giles, "Approximating the erfinv function" (GPU Computing Gems, 2010),
//! and M. M. Shepherd and J. G. Laframboise, "Chebyshev approximation of (1+2x)exp(x^2)erfc x" (Math. Comp.
//! 36, 1981).

use super::super::real::Real;
use super::series;
use super::series::*;

/// `exp(x^2) erfc(x)`.
#[inline(always)]
pub(crate) fn erfcx<R: Real>(x: R) -> R {
    let a = x.abs();
    let u = (a - 3.75) / (a + 3.75);
    let usual = series(u, &ERFCX, ERFCX_SINGLE) / (a + a + 1.0);
    // For these arguments u rounds to 1.
    let right = R::pick(a.above(1e8), x.of(1.0 / std::f64::consts::PI.sqrt()) / a, usual);
    let left = exp_of_square(x) * 2.0 - right;
    let result = R::pick(x.below(0.0), left, right);
    R::pick(x.same(x), result, x)
}

/// `exp(x^2)`, the square carried in two parts.
#[inline(always)]
fn exp_of_square<R: Real>(x: R) -> R {
    // A number of half the bits has an exact square.
    let unit = if x.is_single() { 256.0 } else { 262_144.0 };
    let high = (x * unit).rint() * (1.0 / unit);
    let low = (x - high) * (x + high);
    R::pick(x.abs().below(100.0), (high * high).exp() * low.exp(), x.of(f64::INFINITY))
}

/// The number at or above 0 whose error function is `a`, given `1 - a` as well.
#[inline(always)]
fn inverse<R: Real>(a: R, complement: R) -> R {
    let near = a.below(0.5);
    let w = -R::pick(near, (-(a * a)).log1p(), (complement * (a + 1.0)).log());
    let s = w.sqrt();
    let root6 = 6f64.sqrt();
    let first = a * series(w * (1.0 / 3.0) - 1.0, &ERFINV_NEAR, ERFINV_NEAR_SINGLE);
    let (half, middle) = ((6.0 - root6) / 2.0, (6.0 + root6) / 2.0);
    let second = series((s - middle) * (1.0 / half), &ERFINV_FAR, ERFINV_FAR_SINGLE);
    let third = series((s - 17.0) * (1.0 / 11.0), &ERFINV_FARTHEST, ERFINV_FARTHEST_SINGLE);
    let result = R::pick(w.below(6.0), first, R::pick(s.below(6.0), second, third));
    let end = R::pick(complement.is(0.0), a.of(f64::INFINITY), a.of(f64::NAN));
    R::pick(complement.above(0.0), result, end)
}

/// The number whose error function is `x`.
#[inline(always)]
pub(crate) fn erfinv<R: Real>(x: R) -> R {
    let a = x.abs();
    let y = inverse(a, -a + 1.0);
    R::pick(x.below(0.0), -y, R::pick(x.is(0.0), x, y))
}

/// The number whose complementary error function is `x`.
#[inline(always)]
pub(crate) fn erfcinv<R: Real>(x: R) -> R {
    let upper = x.above(1.0);
    let m = R::pick(upper, -x + 2.0, x);
    let y = inverse(-m + 1.0, m);
    R::pick(upper, -y, y)
}

/// The number below which a standard normal variable lies with this probability.
#[inline(always)]
pub(crate) fn ndtri<R: Real>(x: R) -> R {
    let upper = x.above(0.5);
    let m = R::pick(upper, -x + 1.0, x);
    let y = inverse(-(m + m) + 1.0, m + m) * std::f64::consts::SQRT_2;
    R::pick(upper, y, -y)
}
