//! Special functions, as formulas over [`Real`]: the host runs them, for devices they are printed as
//! functions of their language.
//!
//! - `error`: the scaled complement of the error function, and the inverses.
//! - `gamma`: the logarithm of the gamma function and its derivatives.
//! - `bessel`: Bessel functions of order 0 and 1.
//! - `series`: the coefficients, computed by `fit/special.py`.
//! - `iterated`: functions without a formula of fixed length, as loops over f64, for the host only.
//!
//! Their errors are bounded by the row's `ulp`, in units of the larger of the result and the row's `scale`:
//! near a root that is not at 0 (of j0, or of digamma) these formulas have no bound relative to the result.

mod bessel;
mod error;
mod gamma;
mod iterated;
mod series;
#[cfg(test)]
mod tests;

pub(super) use bessel::{i0, i1, j0, j1};
pub(super) use error::{erfcinv, erfcx, erfinv, ndtri};
pub(super) use gamma::{digamma, gammaln, trigamma};
pub(super) use iterated::{betainc, gammainc, gammaincc, hyp2f1, iv, ive, jv, kve, owens_t, polygamma};

use super::real::Real;

/// A Chebyshev series with the number of terms that the precision needs.
#[inline(always)]
fn series<R: Real>(x: R, all: &[f64], single: usize) -> R {
    x.chebyshev(if x.is_single() { &all[..single] } else { all })
}

/// `x` less the nearest integer.
#[inline(always)]
fn fraction<R: Real>(x: R) -> R {
    x - x.rint()
}
