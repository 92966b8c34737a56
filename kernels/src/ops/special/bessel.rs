//! Bessel functions of order 0 and 1: a Chebyshev series up to 8, and the amplitudes of Hankel's expansion
//! beyond (Abramowitz and Stegun, 9.2.5 and 9.7.1).

use super::super::real::Real;
use super::series;
use super::series::*;
use std::f64::consts::FRAC_1_PI;

/// `exp(-a)` times the modified function, for `a` not below 0: to 8 the quotient `near`, beyond the series
/// `far` over the root of `a`.
#[inline(always)]
fn modified<R: Real>(a: R, near: [R; 2], far: R) -> R {
    let is_near = a.below(8.0);
    R::pick(is_near, near[0], far) / R::pick(is_near, near[1], a.sqrt())
}

/// `scaled * exp(a)`, without overflow of the exponential alone.
#[inline(always)]
fn grown<R: Real>(scaled: R, a: R) -> R {
    let half = (a * 0.5).exp();
    let result = scaled * half * half;
    R::pick(a.is(f64::INFINITY), a, result)
}

/// The modified Bessel function of the first kind of order 0.
#[inline(always)]
pub(crate) fn i0<R: Real>(x: R) -> R {
    let a = x.abs();
    let near = series(a.within(0.0, 8.0) * 0.25 - 1.0, &I0_NEAR, I0_NEAR_SINGLE);
    let far = series(x.of(16.0) / a.at_least(8.0) - 1.0, &I0_FAR, I0_FAR_SINGLE);
    let near = [near, a * 0.75 + 1.0];
    R::pick(a.same(a), grown(modified(a, near, far), a), a)
}

/// The modified Bessel function of the first kind of order 1.
#[inline(always)]
pub(crate) fn i1<R: Real>(x: R) -> R {
    let a = x.abs();
    let near = series(a.within(0.0, 8.0) * 0.25 - 1.0, &I1_NEAR, I1_NEAR_SINGLE) * a;
    let far = series(x.of(16.0) / a.at_least(8.0) - 1.0, &I1_FAR, I1_FAR_SINGLE);
    let root = a * 0.5 + 1.0;
    let y = grown(modified(a, [near, root * root], far), a);
    R::pick(a.same(a), R::pick(x.below(0.0), -y, y), x)
}

/// `sqrt(2 / (pi a)) (cosine * cos(a - shift) - sine * 8 / a * sin(a - shift))` beyond 8, where the cosine
/// and sine of `a - shift` times the root of 2 are given.
#[inline(always)]
fn wave<R: Real>(a: R, [cosine, sine]: [R; 2], [cos, sin]: [R; 2]) -> R {
    let y = (cosine * cos - sine * (a.of(8.0) / a) * sin) * (a.of(FRAC_1_PI) / a).sqrt();
    R::pick(a.is(f64::INFINITY), a.of(0.0), y)
}

/// `128 / a^2 - 1`.
#[inline(always)]
fn far_out<R: Real>(a: R) -> R {
    let ratio = a.of(8.0) / a;
    ratio * ratio * 2.0 - 1.0
}

/// The Bessel function of the first kind of order 0.
#[inline(always)]
pub(crate) fn j0<R: Real>(x: R) -> R {
    let a = x.abs();
    let inner = a.within(0.0, 8.0);
    let near = series(inner * inner * (1.0 / 32.0) - 1.0, &J0_NEAR, J0_NEAR_SINGLE);
    let outer = a.at_least(8.0);
    let u = far_out(outer);
    let amplitudes = [series(u, &J0_COSINE, J0_COSINE_SINGLE), series(u, &J0_SINE, J0_SINE_SINGLE)];
    let (sin, cos) = (outer.sin(), outer.cos());
    let far = wave(outer, amplitudes, [cos + sin, sin - cos]);
    R::pick(a.same(a), R::pick(a.below(8.0), near, far), a)
}

/// The Bessel function of the first kind of order 1.
#[inline(always)]
pub(crate) fn j1<R: Real>(x: R) -> R {
    let a = x.abs();
    let inner = a.within(0.0, 8.0);
    let near = series(inner * inner * (1.0 / 32.0) - 1.0, &J1_NEAR, J1_NEAR_SINGLE) * a;
    let outer = a.at_least(8.0);
    let u = far_out(outer);
    let amplitudes = [series(u, &J1_COSINE, J1_COSINE_SINGLE), series(u, &J1_SINE, J1_SINE_SINGLE)];
    let (sin, cos) = (outer.sin(), outer.cos());
    let far = wave(outer, amplitudes, [sin - cos, -(sin + cos)]);
    let y = R::pick(a.below(8.0), near, far);
    R::pick(a.same(a), R::pick(x.below(0.0), -y, y), x)
}
