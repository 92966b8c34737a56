//! Special functions of several arguments: their sums end where the numbers say, so they loop, in f64, on the
//! host only.
//!
//! - `incomplete_gamma`, `incomplete_beta`: the regularized incomplete functions.
//! - `polygamma`, `owen`, `bessel`, `hypergeometric`: as they are called.
//! - `twofold`: numbers of twice the digits, where sums cancel and exponents are large.
//!
//! Every loop has a last turn. Within a few ulp wherever they were compared with 60 digits; the rows state
//! more.

mod bessel;
mod hypergeometric;
mod incomplete_beta;
mod incomplete_gamma;
mod owen;
mod polygamma;
mod twofold;

pub(crate) use bessel::{iv, ive, jv, kve};
pub(crate) use hypergeometric::hyp2f1;
pub(crate) use incomplete_beta::betainc;
pub(crate) use incomplete_gamma::{gammainc, gammaincc};
pub(crate) use owen::owens_t;
pub(crate) use polygamma::polygamma;

/// No series or continued fraction is followed further: what has not converged by then is NaN.
const TERMS: i32 = 20_000;
