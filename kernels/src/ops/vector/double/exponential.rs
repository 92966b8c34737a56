//! Exponentials.

use super::{LN2, ROUND, horner, integer, power};
use std::f64::consts::LOG2_E;

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

/// `exp(r) - 1 - r` where r is at most half of ln 2.
#[inline(always)]
pub(super) fn exp_tail(r: f64) -> f64 {
    r * r * horner(r, EXP_SERIES)
}

/// `exp(r)`, likewise.
#[inline(always)]
pub(super) fn exp_near_one(r: f64) -> f64 {
    (exp_tail(r) + r) + 1.0
}

/// As for f32. The sum keeps the halves positive, because there is no arithmetic shift of 64 bits before
/// AVX-512.
#[inline(always)]
pub(super) fn scale(p: f64, k: i64) -> f64 {
    let half = (k.wrapping_add(2048) as u64 >> 1) as i64 - 1024;
    p * power(half) * power(k.wrapping_sub(half))
}

/// e to the power a.
#[inline(always)]
pub(super) fn exp(a: f64) -> f64 {
    let x = if a > 710.0 { 710.0 } else { a };
    let x = if x < -746.0 { -746.0 } else { x };
    let rounded = x.mul_add(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], x));
    scale(exp_near_one(r), integer(rounded))
}

/// As for f32.
#[inline(always)]
fn exp2_reduced(x: f64) -> (f64, f64) {
    let rounded = x + ROUND;
    let r = x - (rounded - ROUND);
    let high = r * LN2[0];
    let low = r.mul_add(LN2[1], r.mul_add(LN2[0], -high));
    ((exp_tail(high) + low) + high + 1.0, rounded)
}

/// 2 to the power a.
#[inline(always)]
pub(super) fn exp2(a: f64) -> f64 {
    let x = if a > 1025.0 { 1025.0 } else { a };
    let x = if x < -1076.0 { -1076.0 } else { x };
    let (p, rounded) = exp2_reduced(x);
    scale(p, integer(rounded))
}

/// As `exp2`, valid if the result is far from overflow and underflow, and whether it is.
#[inline(always)]
pub(super) fn quick_exp2(a: f64) -> (f64, bool) {
    let (p, rounded) = exp2_reduced(a);
    (times_power(p, rounded), a.abs() < 1020.0)
}

/// `p * 2^k` for a normal result; k is in the low bits of the rounded number (see [`ROUND`]).
#[inline(always)]
pub(super) fn times_power(p: f64, rounded: f64) -> f64 {
    f64::from_bits(p.to_bits().wrapping_add(rounded.to_bits() << 52))
}

/// `exp(a) - 1`, exact near 0.
#[inline(always)]
pub(super) fn expm1(a: f64) -> f64 {
    let x = if a > 710.0 { 710.0 } else { a };
    let x = if x < -38.0 { -38.0 } else { x };
    let rounded = x.mul_add(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let first = n.mul_add(-LN2[0], x);
    let r = n.mul_add(-LN2[1], first);
    // The rounding error of the reduction matters here: the result may be smaller than the terms.
    let low = n.mul_add(-LN2[1], first - r);
    let s = power(integer(rounded).wrapping_sub(1));
    let y = s.mul_add(exp_tail(r) + low, s.mul_add(r, s - 0.5)) * 2.0;
    if a == 0.0 { a } else { y }
}
