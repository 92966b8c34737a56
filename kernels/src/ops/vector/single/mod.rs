//! The functions for f32.

mod error;
mod exponential;
mod hyperbolic;
mod logarithm;
mod power;
mod trigonometric;

pub(crate) use exponential::EXP_SERIES;
pub(crate) use hyperbolic::{TANH, TANH_FAR};
pub(crate) use logarithm::{LOG_SERIES, ROOT_HALF};

use super::choose;

/// Added to a number of magnitude below 2^22, it leaves the nearest integer in the low bits; subtracted
/// again, it leaves that integer.
pub(crate) const ROUND: f32 = 12_582_912.0;
/// ln 2 in two parts.
pub(crate) const LN2: [f32; 2] = [std::f32::consts::LN_2, -1.904_654_2e-9];

/// `c[0] + x * (c[1] + x * (..))`. A plain loop, which compilers unroll before they look for vectors.
#[inline(always)]
fn horner<const N: usize>(x: f32, c: [f32; N]) -> f32 {
    let mut sum = c[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, c[i]);
    }
    sum
}

/// 2 to the power of an integer from -126 to 127.
#[inline(always)]
fn power(k: i32) -> f32 {
    f32::from_bits((k.wrapping_add(127) << 23) as u32)
}

/// The integer in the low bits of a number to which `ROUND` was added.
#[inline(always)]
fn integer(rounded: f32) -> i32 {
    (rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32)
}

/// The rounding error of `sum`, which is `large + small`; `large` has the larger magnitude.
#[inline(always)]
fn lost(large: f32, small: f32, sum: f32) -> f32 {
    (large - sum) + small
}

super::vector!(f32, far 48_000.0);
