//! Discrete Fourier transforms: NumPy's `fft`.
//!
//! They compute in complex64 of float32 and complex64, in complex128 of everything else; halves are refused.
//!
//! The functions transform along the last axis, those whose names end in `n` along all axes. [`over`] chooses
//! axes, lengths and the [`Norm`]:
//!
//! ```
//! use workalike::ops::fft::{self, Norm};
//! use workalike::prelude::*;
//! let x = vector::<f64>("x");
//! let spectrum = fft::rfft(&x);
//! let back = fft::irfft(&spectrum);
//! let unitary = fft::over([-1]).norm(Norm::Ortho).rfft(&x);
//! let f = function([&x]).outputs([&spectrum, &back, &unitary]).compile()?;
//! let outputs = f.call(args![vec![1.0, 2.0, 3.0, 4.0]])?;
//! assert_eq!(outputs[0].to_vec::<Complex<f64>>()?[1], Complex::new(-2.0, 2.0));
//! assert_eq!(outputs[1].to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
//! assert_eq!(outputs[2].to_vec::<Complex<f64>>()?[0].re, 5.0);
//! # Ok::<(), workalike::Error>(())
//! ```
//!
//! Gradients are those of [`complex`](mod@super::complex).
//!
//! **Devices.** cuFFT on CUDA, realfft and rustfft on the host; on OpenCL a transform is computed on the
//! host.

mod lower;
mod op;
mod options;
mod transform;

pub use op::{FourierOp, Transform};
pub use options::{Fft, Norm, over};

use super::complex::{try_complex, try_view_as_real};
use super::creation::{arange, zeros_like};
use super::elemwise::cast;
use super::methods::{floats, functions};
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{IntoOperand, Variable};
use workalike_kernels::DType;

functions! {
    /// `y[k] = sum over j of z[j] exp(-2 pi i j k / n)` along the last axis (NumPy's `fft`). For real numbers
    /// [`rfft`] does half the work.
    fft / try_fft(z) { over([-1]).try_fft(z) }
    /// The inverse of [`fft`] (NumPy's `ifft`).
    ifft / try_ifft(z) { over([-1]).try_ifft(z) }
    /// The first half of [`fft`] of real numbers `(.., n)`: complex numbers `(.., n / 2 + 1)` (NumPy's
    /// `rfft`).
    rfft / try_rfft(x) { over([-1]).try_rfft(x) }
    /// The inverse of [`rfft`] to an even number of real numbers, `2 (m - 1)` from complex numbers `(..,
    /// m)` (NumPy's `irfft`). For an odd number use [`Fft::lengths`]. The imaginary parts of the first and of
    /// the last complex number are not read.
    irfft / try_irfft(z) { over([-1]).try_irfft(z) }
    /// [`fft`] along all axes (NumPy's `fftn`).
    fftn / try_fftn(z) { Fft::all().try_fft(z) }
    /// The inverse of [`fftn`] (NumPy's `ifftn`).
    ifftn / try_ifftn(z) { Fft::all().try_ifft(z) }
    /// [`rfft`] along the last axis, then [`fft`] along the others (NumPy's `rfftn`).
    rfftn / try_rfftn(x) { Fft::all().try_rfft(x) }
    /// The inverse of [`rfftn`] to an even number of real numbers along the last axis (NumPy's `irfftn`).
    irfftn / try_irfftn(z) { Fft::all().try_irfft(z) }
}

/// The frequencies of [`fft`] of `n` samples at intervals of `d`: `0, 1, .., -2, -1` over `n d`, of float64
/// (NumPy's `fftfreq`).
#[must_use]
#[track_caller]
pub fn fftfreq(n: impl IntoOperand, d: impl IntoOperand) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let n = super::creation::int_scalar("fftfreq", n)?;
        let half = n.try_add(1i64)?.try_floor_divide(2i64)?;
        let position = arange(&n);
        let position = super::where_(position.try_less(&half)?, &position, position.try_sub(&n)?);
        frequencies(&position, &n, d)
    };
    build().unwrap_or_else(Variable::poison)
}

/// The frequencies of [`rfft`] of `n` samples at intervals of `d`: `0, 1, .., n / 2` over `n d`, of float64
/// (NumPy's `rfftfreq`).
#[must_use]
#[track_caller]
pub fn rfftfreq(n: impl IntoOperand, d: impl IntoOperand) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let n = super::creation::int_scalar("rfftfreq", n)?;
        let position = arange(n.try_floor_divide(2i64)?.try_add(1i64)?);
        frequencies(&position, &n, d)
    };
    build().unwrap_or_else(Variable::poison)
}

fn frequencies(position: &Variable, n: &Variable, d: impl IntoOperand) -> Result<Variable> {
    cast(position, DType::F64)?.try_div(cast(n, DType::F64)?.try_mul(d)?)
}

/// Complex numbers as pairs along a further axis; real ones have imaginary parts of 0.
fn pairs(op: &str, z: &Variable) -> Result<Variable> {
    if z.checked()?.dtype().is_complex() {
        return try_view_as_real(z);
    }
    let re = floats(op, z)?;
    try_view_as_real(try_complex(&re, zeros_like(&re))?)
}
