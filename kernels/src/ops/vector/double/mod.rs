//! The functions for f64.

mod error;
mod exponential;
mod hyperbolic;
mod logarithm;
mod power;
mod trigonometric;

pub(crate) use exponential::EXP_SERIES;
pub(crate) use hyperbolic::{TANH_BOTTOM, TANH_TOP};
pub(crate) use logarithm::{LOG_SERIES, ONE, ROOT_HALF};

use super::choose;

/// Added to a number of magnitude below 2^51, it leaves the nearest integer in the low bits; subtracted
/// again, it leaves that integer.
pub(crate) const ROUND: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts.
pub(crate) const LN2: [f64; 2] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];
/// The bits of 2^52.
const TWO_52: u64 = 0x4330_0000_0000_0000;

/// `c[0] + x * (c[1] + x * (..))`. A plain loop, which compilers unroll before they look for vectors.
#[inline(always)]
pub(super) fn horner<const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let mut sum = c[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, c[i]);
    }
    sum
}

/// The same as two sums, of the even and of the odd powers: half the steps depend on each other, which is
/// faster from about twenty terms on.
#[inline(always)]
fn by_halves<const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let z = x * x;
    let (mut sum, mut other) = (c[N - 1], c[N - 2]);
    let mut i = N - 2;
    while i > 0 {
        i -= 1;
        let next = sum.mul_add(z, c[i]);
        sum = other;
        other = next;
    }
    sum.mul_add(x, other)
}

/// 2 to the power of an integer from -1022 to 1023.
#[inline(always)]
pub(super) fn power(k: i64) -> f64 {
    f64::from_bits((k.wrapping_add(1023) << 52) as u64)
}

/// The integer in the low bits of a number to which `ROUND` was added.
#[inline(always)]
pub(super) fn integer(rounded: f64) -> i64 {
    (rounded.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64)
}

/// The rounding error of `sum`, which is `large + small`; `large` has the larger magnitude.
#[inline(always)]
fn lost(large: f64, small: f64, sum: f64) -> f64 {
    (large - sum) + small
}

super::vector!(f64, far 1e9);
