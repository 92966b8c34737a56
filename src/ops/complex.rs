//! Complex numbers, of dtype `complex64` or `complex128`: NumPy's functions on them.
//!
//! A complex array is an input, a shared variable or a constant like any other; Rust's numbers are
//! `num_complex::Complex<f32>` and `Complex<f64>`. Operators, powers, `exp`, `log`, `sqrt`, `abs`,
//! trigonometric and hyperbolic functions, comparisons for equality, `where_`, `sum`, `mean`, running sums,
//! products of matrices, Fourier transforms ([`crate::ops::fft`]), indexing, views, joins and loops take
//! complex numbers. Everything else refuses them when the expression is built: work on the parts then,
//! [`Variable::real`] and [`Variable::imag`].
//!
//! ```
//! use workalike::ops::complex;
//! use workalike::prelude::*;
//! let (re, im) = (vector::<f32>("re"), vector::<f32>("im"));
//! let z = complex(&re, &im);
//! let power = (&z * z.conj()).real().sum(..);
//! let slope = grad(&power, [&z])?.swap_remove(0);
//! let f = function([&re, &im]).outputs([&z.exp(), &slope]).compile()?;
//! let outputs = f.call(args![vec![0.0f32, 1.0], vec![0.0f32, 2.0]])?;
//! assert_eq!(outputs[0].to_vec::<Complex<f32>>()?[0], Complex::new(1.0, 0.0));
//! assert_eq!(outputs[1].to_vec::<Complex<f32>>()?[1], Complex::new(2.0, 4.0));
//! # Ok::<(), workalike::Error>(())
//! ```
//!
//! **Pairs.** Kernels compute with real and imaginary parts. A complex array of shape `(..)` is in memory
//! what a real one of shape `(.., 2)` is, so [`view_as_real`] and [`view_as_complex`] copy nothing. An op on
//! complex numbers is an expression of ops on their parts as soon as it is built; the file and `debugprint`
//! show these.
//!
//! **Gradients** are those of real functions of the parts: of a real cost C with respect to `z = x + iy` it
//! is `dC/dx + i dC/dy`, the direction of steepest ascent, as in Theano and PyTorch. (JAX gives its
//! conjugate.)

mod elementwise;
mod op;

pub use op::{ComplexOf, ImagPart, RealPart, ViewAsComplex, ViewAsReal};

pub(crate) use elementwise::{converted, elementwise};

use super::creation::zeros_like;
use super::elemwise::cast;
use super::methods::{fail, floats, functions, methods};
use super::shape::BroadcastLike;
use crate::error::Result;
use crate::graph::Variable;
use crate::graph::source_location;
use crate::op::Op;

functions! {
    /// Complex numbers of these real and imaginary parts, which broadcast: complex64 of float32, complex128
    /// of float64 and integers.
    complex / try_complex(re, im) {
        let parts = [floats("complex", &re)?, floats("complex", &im)?];
        let like = parts[0].try_add(&parts[1])?;
        let [re, im] = parts.map(|part| BroadcastLike::of(&cast(&part, like.dtype())?, &like));
        Variable::apply1(ComplexOf, &[re?, im?])
    }
    /// Complex numbers `r (cos theta + i sin theta)` of these magnitudes and angles in radians, which
    /// broadcast (PyTorch's `polar`).
    from_polar / try_from_polar(r, theta) {
        let (r, theta) = (floats("from_polar", &r)?, floats("from_polar", &theta)?);
        try_complex(r.try_mul(theta.try_cos()?)?, r.try_mul(theta.try_sin()?)?)
    }
    /// Complex numbers `(..)` as real ones `(.., 2)`, the real parts first. Copies nothing.
    view_as_real / try_view_as_real(z) { Variable::apply1(ViewAsReal, &[z]) }
    /// Pairs of float32 or float64 `(.., 2)` as complex numbers `(..)`. Copies nothing.
    view_as_complex / try_view_as_complex(x) { Variable::apply1(ViewAsComplex, &[x]) }
}

methods! {
    /// The real part; of real numbers themselves.
    real / try_real(z) { part(z, Part::Real) }
    /// The imaginary part; of real numbers 0.
    imag / try_imag(z) { part(z, Part::Imaginary) }
    /// The complex conjugate; of real numbers themselves.
    #[doc(alias("conjugate"))]
    conj / try_conj(z) {
        if !z.dtype().is_complex() {
            return Ok(z.clone());
        }
        joined(&part(z, Part::Real)?, &-part(z, Part::Imaginary)?)
    }
    /// The angle from the positive real axis in radians, from -pi to pi (NumPy's `angle`); of real numbers 0
    /// or pi.
    #[doc(alias("phase"))]
    angle / try_angle(z) { part(z, Part::Imaginary)?.try_arctan2(part(z, Part::Real)?) }
}

/// A part of complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Real,
    Imaginary,
}

/// Both parts, in the order in which they lie in memory.
const PARTS: [Part; 2] = [Part::Real, Part::Imaginary];

/// A part of numbers, which may be real.
pub(crate) fn part(z: &Variable, part: Part) -> Result<Variable> {
    let z = std::slice::from_ref(z.checked()?);
    match part {
        Part::Real if !z[0].dtype().is_complex() => Ok(z[0].clone()),
        Part::Imaginary if !z[0].dtype().is_complex() => Ok(zeros_like(&z[0])),
        Part::Real => Variable::apply1(RealPart, z),
        Part::Imaginary => Variable::apply1(ImagPart, z),
    }
}

/// Complex numbers of parts of equal types.
fn joined(re: &Variable, im: &Variable) -> Result<Variable> {
    Variable::apply1(ComplexOf, &[re.clone(), im.clone()])
}

/// A linear op on complex inputs: applied to all real parts, and to all imaginary parts. Inputs that are real
/// (indices, extents) are given to both.
pub(crate) fn by_parts(op: impl Op + Clone, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
    let of = |which: Part| {
        let choose = |input: &Variable| {
            if input.dtype().is_complex() { part(input, which) } else { Ok(input.clone()) }
        };
        let inputs = inputs.iter().map(choose).collect::<Result<Vec<_>>>()?;
        Variable::apply(op.clone(), &inputs)
    };
    let [re, im] = PARTS.map(of);
    re?.iter().zip(im?).map(|(re, im)| joined(re, &im)).collect::<Result<_>>().map(Some)
}

/// An op that is linear in each of its two inputs, of which one may be real.
pub(crate) fn bilinear(op: impl Op + Clone, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
    let [a, b] = inputs else { return Ok(None) };
    if !(a.dtype().is_complex() && b.dtype().is_complex()) {
        return by_parts(op, inputs);
    }
    let product = |x: Part, y: Part| Variable::apply1(op.clone(), &[part(a, x)?, part(b, y)?]);
    let re = product(Part::Real, Part::Real)?.try_sub(product(Part::Imaginary, Part::Imaginary)?)?;
    let im = product(Part::Real, Part::Imaginary)?.try_add(product(Part::Imaginary, Part::Real)?)?;
    Ok(Some(vec![joined(&re, &im)?]))
}

/// An op that reads only extents of its second input: of that the real part.
pub(crate) fn like_parts(op: impl Op + Clone, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
    let [x, like] = inputs else { return Ok(None) };
    let inputs = [x.clone(), part(like, Part::Real)?];
    if x.dtype().is_complex() { by_parts(op, &inputs) } else { Variable::apply(op, &inputs).map(Some) }
}

/// The sum of two gradients of a complex Variable. Zeros, as the gradient of a part leaves for the other
/// part, are not added.
pub(crate) fn accumulated(a: &Variable, b: &Variable) -> Result<Variable> {
    let add = |which: Part| {
        let (a, b) = (part(a, which)?, part(b, which)?);
        match [&a, &b].map(|x| own_part(x, which).and_then(|x| super::splat::uniform(&x)) == Some(0.0)) {
            [true, _] => Ok(b),
            [_, true] => Ok(a),
            _ => a.try_add(&b),
        }
    };
    let [re, im] = PARTS.map(add);
    joined(&re?, &im?)
}

/// What complex numbers were made of, if a part of them is just taken again.
fn own_part(x: &Variable, part: Part) -> Option<Variable> {
    let (taken, _) = x.owner()?;
    let (made, _) = taken.inputs.first()?.owner()?;
    made.op.downcast::<ComplexOf>()?;
    made.inputs.get(usize::from(part == Part::Imaginary)).cloned()
}

/// Why complex numbers are not converted to real ones.
fn no_cast(to: impl std::fmt::Display) -> crate::error::Error {
    fail("cast", format!("complex numbers are no {to}; use real(), imag() or abs()"))
}
