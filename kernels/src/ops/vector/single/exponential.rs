//! Exponentials.

use super::{LN2, ROUND, horner, integer, power};
use std::f32::consts::LOG2_E;

/// Of `(exp(r) - 1 - r) / r^2` around 0.
pub(crate) const EXP_SERIES: [f32; 5] = [0.5, 0.166_665_76, 0.041_666_552, 0.008_363_196, 0.001_392_625_4];

/// `exp(r) - 1 - r` where r is at most half of ln 2.
#[inline(always)]
pub(super) fn exp_tail(r: f32) -> f32 {
    r * r * horner(r, EXP_SERIES)
}

/// `exp(r)`, likewise.
#[inline(always)]
pub(super) fn exp_near_one(r: f32) -> f32 {
    (exp_tail(r) + r) + 1.0
}

/// `p * 2^k`, rounded once, for p near 1, down to underflow to 0. Two factors, because the result may be
/// subnormal.
#[inline(always)]
pub(super) fn scale(p: f32, k: i32) -> f32 {
    let half = k >> 1;
    p * power(half) * power(k.wrapping_sub(half))
}

/// e to the power a.
#[inline(always)]
pub(super) fn exp(a: f32) -> f32 {
    let x = if a > 89.0 { 89.0 } else { a };
    let x = if x < -104.0 { -104.0 } else { x };
    let rounded = x.mul_add(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], x));
    scale(exp_near_one(r), integer(rounded))
}

/// 2 to the power of x less its nearest integer, and a number with that integer in the low bits.
#[inline(always)]
fn exp2_reduced(x: f32) -> (f32, f32) {
    let rounded = x + ROUND;
    let r = x - (rounded - ROUND);
    // r is exact; its product with ln 2 is carried in two parts.
    let high = r * LN2[0];
    let low = r.mul_add(LN2[1], r.mul_add(LN2[0], -high));
    ((exp_tail(high) + low) + high + 1.0, rounded)
}

/// 2 to the power a.
#[inline(always)]
pub(super) fn exp2(a: f32) -> f32 {
    let x = if a > 129.0 { 129.0 } else { a };
    let x = if x < -151.0 { -151.0 } else { x };
    let (p, rounded) = exp2_reduced(x);
    scale(p, integer(rounded))
}

/// As `exp2`, valid if the result is far from overflow and underflow, and whether it is.
#[inline(always)]
pub(super) fn quick_exp2(a: f32) -> (f32, bool) {
    let (p, rounded) = exp2_reduced(a);
    (times_power(p, rounded), a.abs() < 125.0)
}

/// `p * 2^k` for a normal result; k is in the low bits of the rounded number (see [`ROUND`]).
#[inline(always)]
pub(super) fn times_power(p: f32, rounded: f32) -> f32 {
    f32::from_bits(p.to_bits().wrapping_add(rounded.to_bits() << 23))
}

/// `exp(a) - 1`, exact near 0.
#[inline(always)]
pub(super) fn expm1(a: f32) -> f32 {
    let x = if a > 89.0 { 89.0 } else { a };
    let x = if x < -18.0 { -18.0 } else { x };
    let rounded = x.mul_add(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], x));
    let k = integer(rounded);
    // Half the power, because 2^128 overflows.
    let s = power(k.wrapping_sub(1));
    let y = s.mul_add(exp_tail(r), s.mul_add(r, s - 0.5)) * 2.0;
    if a == 0.0 { a } else { y }
}
