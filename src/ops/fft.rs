//! Discrete Fourier transforms: NumPy's `fft`, on pairs of real numbers.
//!
//! A complex number is a pair along the last axis, its real part first, as in Theano's `fft` and PyTorch's
//! `view_as_real`. That axis is not counted: of complex numbers of shape `(8, 64, 2)` axis -1 has extent 64.
//! [`complex`], [`real`] and [`imag`] make pairs and take them apart; [`conj`], [`product`] and [`magnitude`]
//! compute with them. Numbers are of float32 or float64; integers and bools become float64, and halves are
//! refused.
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
//! assert_eq!(outputs[0].to_vec::<f64>()?, [10.0, 0.0, -2.0, 2.0, -2.0, 0.0]);
//! assert_eq!(outputs[1].to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
//! assert_eq!(outputs[2].to_vec::<f64>()?[0], 5.0);
//! # Ok::<(), workalike::Error>(())
//! ```
//!
//! Gradients are those of real functions of real and imaginary parts. (JAX gives the conjugate of that
//! gradient.)
//!
//! **Devices.** cuFFT on CUDA, realfft and rustfft on the host; on OpenCL a transform is computed on the
//! host.

mod lower;
mod op;
mod options;
mod transform;

pub use op::{FourierOp, Transform};
pub use options::{Fft, Norm, over};

use super::elemwise::cast;
use super::methods::{fail, floats, functions};
use super::{BroadcastLike, ELLIPSIS, Ix, arange, stack};
use crate::error::Result;
use crate::graph::{IntoOperand, Variable, place};
use workalike_kernels::DType;

functions! {
    /// `y[k] = sum over j of z[j] exp(-2 pi i j k / n)`, from and to complex numbers `(.., n, 2)`, along the
    /// last axis (NumPy's `fft`). For real numbers use [`rfft`], or [`complex`] with zeros.
    fft / try_fft(z) { over([-1]).try_fft(z) }
    /// The inverse of [`fft`] (NumPy's `ifft`).
    ifft / try_ifft(z) { over([-1]).try_ifft(z) }
    /// The first half of [`fft`] of real numbers `(.., n)`: complex numbers `(.., n / 2 + 1, 2)` (NumPy's
    /// `rfft`).
    rfft / try_rfft(x) { over([-1]).try_rfft(x) }
    /// The inverse of [`rfft`] to an even number of real numbers, `2 (m - 1)` from complex numbers `(.., m,
    /// 2)` (NumPy's `irfft`). For an odd number use [`Fft::lengths`]. The imaginary parts of the first and of
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

    /// Complex numbers `(.., 2)` from real and imaginary parts, which broadcast.
    complex / try_complex(re, im) {
        let parts = [floats("complex", &re)?, floats("complex", &im)?];
        let like = parts[0].try_add(&parts[1])?;
        let [re, im] = parts.map(|part| BroadcastLike::of(&cast(&part, like.dtype())?, &like));
        Ok(stack([re?, im?], -1))
    }
    /// The real parts of complex numbers.
    real / try_real(z) { part("real", &z, 0) }
    /// The imaginary parts of complex numbers.
    imag / try_imag(z) { part("imag", &z, 1) }
    /// Complex numbers with the opposite imaginary parts.
    conj / try_conj(z) { try_complex(part("conj", &z, 0)?, -part("conj", &z, 1)?) }
    /// Products of complex numbers, which broadcast.
    product / try_product(a, b) {
        let [x, y] = [0, 1].map(|at| part("product", &a, at));
        let [u, v] = [0, 1].map(|at| part("product", &b, at));
        let (x, y, u, v) = (x?, y?, u?, v?);
        let re = x.try_mul(&u)?.try_sub(y.try_mul(&v)?)?;
        let im = x.try_mul(&v)?.try_add(y.try_mul(&u)?)?;
        try_complex(re, im)
    }
    /// The magnitudes of complex numbers (NumPy's `abs`), also where squares leave the range of the dtype.
    /// The gradient at 0 is 0.
    magnitude / try_magnitude(z) { part("magnitude", &z, 0)?.try_hypot(part("magnitude", &z, 1)?) }
}

/// The frequencies of [`fft`] of `n` samples at intervals of `d`: `0, 1, .., -2, -1` over `n d`, of float64
/// (NumPy's `fftfreq`).
#[must_use]
#[track_caller]
pub fn fftfreq(n: impl IntoOperand, d: impl IntoOperand) -> Variable {
    let _scope = place::enter();
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
    let _scope = place::enter();
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

/// Complex numbers, checked.
fn pairs(op: &str, z: &Variable) -> Result<Variable> {
    let z = floats(op, z)?;
    match z.ty().shape.last() {
        Some(None | Some(2)) => Ok(z),
        _ => Err(fail(
            op,
            format!("expected pairs of a real and an imaginary part along the last axis, got {}", z.ty()),
        )),
    }
}

/// One part of complex numbers.
fn part(op: &str, z: &Variable, at: i64) -> Result<Variable> {
    pairs(op, z)?.try_index([ELLIPSIS, Ix::from(at)])
}
