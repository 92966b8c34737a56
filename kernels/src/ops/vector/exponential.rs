//! Exponentials.

use super::float::{MachineFloat, choose, horner, limited};

/// Constants of the exponentials.
pub(crate) trait Exponential: MachineFloat {
    /// Of `(exp(r) - 1 - r) / r^2` around 0.
    const EXP_SERIES: &'static [Self];
    /// The results of `exp` and `exp2` are 0 below these ranges and infinite above.
    const EXP_RANGE: [Self; 2];
    const EXP2_RANGE: [Self; 2];
    /// `expm1` is -1 below.
    const EXPM1_LEAST: Self;
    /// Magnitudes below, as exponents of 2, are far from overflow and underflow.
    const QUICK_EXP2: Self;
}

impl Exponential for f32 {
    const EXP_SERIES: &'static [f32] = &[0.5, 0.166_665_76, 0.041_666_552, 0.008_363_196, 0.001_392_625_4];
    const EXP_RANGE: [f32; 2] = [-104.0, 89.0];
    const EXP2_RANGE: [f32; 2] = [-151.0, 129.0];
    const EXPM1_LEAST: f32 = -18.0;
    const QUICK_EXP2: f32 = 125.0;
}

impl Exponential for f64 {
    #[rustfmt::skip]
    const EXP_SERIES: &'static [f64] = &[
        0.5, 0.166_666_666_666_666_69, 0.041_666_666_666_624_03, 0.008_333_333_333_329_997,
        0.001_388_888_891_726_128, 0.000_198_412_698_632_884_75, 2.480_152_122_207_07e-5,
        2.755_726_815_182_175_7e-6, 2.762_012_357_888_969e-7, 2.510_051_706_756_199_4e-8,
    ];
    const EXP_RANGE: [f64; 2] = [-746.0, 710.0];
    const EXP2_RANGE: [f64; 2] = [-1076.0, 1025.0];
    const EXPM1_LEAST: f64 = -38.0;
    const QUICK_EXP2: f64 = 1020.0;
}

/// `exp(r) - 1 - r` where r is at most half of ln 2.
#[inline(always)]
pub(super) fn exp_tail<T: Exponential>(r: T) -> T {
    r * r * horner(r, T::EXP_SERIES)
}

/// `exp(r)`, likewise.
#[inline(always)]
pub(super) fn exp_near_one<T: Exponential>(r: T) -> T {
    (exp_tail(r) + r) + T::ONE
}

/// x as `k * ln 2 + r + low`: r, low, and a rounded number with k.
#[inline(always)]
pub(super) fn exp_reduced<T: MachineFloat>(x: T) -> (T, T, T) {
    let rounded = x.mul_add(T::LOG2_E, T::ROUND);
    let n = rounded - T::ROUND;
    let first = n.mul_add(-T::LN2[0], x);
    let r = n.mul_add(-T::LN2[1], first);
    (r, n.mul_add(-T::LN2[1], first - r), rounded)
}

/// e to the power a.
#[inline(always)]
pub(super) fn exp<T: Exponential>(a: T) -> T {
    let (r, _, rounded) = exp_reduced(limited(a, T::EXP_RANGE[0], T::EXP_RANGE[1]));
    exp_near_one(r).scale(rounded)
}

/// 2 to the power of x less its nearest integer, and a rounded number with that integer.
#[inline(always)]
fn exp2_reduced<T: Exponential>(x: T) -> (T, T) {
    let rounded = x + T::ROUND;
    let r = x - (rounded - T::ROUND);
    // r is exact; its product with ln 2 is carried in two parts.
    let high = r * T::LN2[0];
    let low = r.mul_add(T::LN2[1], r.mul_add(T::LN2[0], -high));
    ((exp_tail(high) + low) + high + T::ONE, rounded)
}

/// 2 to the power a.
#[inline(always)]
pub(super) fn exp2<T: Exponential>(a: T) -> T {
    let (p, rounded) = exp2_reduced(limited(a, T::EXP2_RANGE[0], T::EXP2_RANGE[1]));
    p.scale(rounded)
}

/// As `exp2`, valid if the result is far from overflow and underflow, and whether it is.
#[inline(always)]
pub(super) fn quick_exp2<T: Exponential>(a: T) -> (T, bool) {
    let (p, rounded) = exp2_reduced(a);
    (p.times_power(rounded), a.abs() < T::QUICK_EXP2)
}

/// `exp(a) - 1`, exact near 0.
#[inline(always)]
pub(super) fn expm1<T: Exponential>(a: T) -> T {
    let (r, low, rounded) = exp_reduced(limited(a, T::EXPM1_LEAST, T::EXP_RANGE[1]));
    // In f64 the error of the reduction matters: the result may be smaller than the terms.
    let tail = if T::IS_F64 { exp_tail(r) + low } else { exp_tail(r) };
    // Half the power, because the largest one overflows.
    let s = T::power(rounded, -1);
    let y = s.mul_add(tail, s.mul_add(r, s - T::HALF)) * T::TWO;
    choose(a == T::ZERO, a, y)
}
