//! Special functions of several arguments: the number of terms depends on the arguments, so they are loops,
//! in f64, on the host only.
//!
//! - `incomplete_gamma`, `incomplete_beta`: the regularized incomplete functions.
//! - `polygamma`, `owen`, `bessel`, `hypergeometric`: the functions of these names.
//! - `double_double`: numbers of twice the digits, for sums that cancel and large exponents.
//!
//! Every loop has a bounded number of iterations. Errors are within a few ulp in comparisons with 60-digit
//! references; the bounds in the rows are larger.

mod bessel;
mod double_double;
mod hypergeometric;
mod incomplete_beta;
mod incomplete_gamma;
mod owen;
mod polygamma;

pub(crate) use bessel::{iv, ive, jv, kve};
pub(crate) use hypergeometric::hyp2f1;
pub(crate) use incomplete_beta::betainc;
pub(crate) use incomplete_gamma::{gammainc, gammaincc};
pub(crate) use owen::owens_t;
pub(crate) use polygamma::polygamma;

/// Maximum number of terms of a series or continued fraction; the result is NaN if it has not converged.
const TERMS: i32 = 20_000;
