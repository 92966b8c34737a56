//! Linear algebra on the matrices in the last two axes: NumPy's `linalg` and SciPy's `solve_triangular`.
//!
//! The axes before the last two are a batch. Matrices are of float32 or float64; integers and bools become
//! float64, and halves are refused, as in NumPy. No function symmetrizes its argument or checks symmetry.
//!
//! A singular matrix, or one that is not positive definite, is an error of the call, which names the op, its
//! node and the first such matrix of the batch; that of `call_reference` also names the pivot. A NaN in a
//! matrix gives NaN, except in [`cholesky()`], where it is an error; [`cholesky_or_nan()`] has no errors.
//!
//! ```
//! use workalike::prelude::*;
//! let (a, b) = (matrix::<f64>("a"), vector::<f64>("b"));
//! let f = function([&a, &b]).output(linalg::solve(&a, &b)).output(linalg::det(&a)).compile()?;
//! let outputs = f.call(args![array![[2.0, 1.0], [0.0, 4.0]], vec![4.0, 8.0]])?;
//! assert_eq!(outputs[0].to_vec::<f64>()?, [1.0, 2.0]);
//! assert_eq!(outputs[1].item::<f64>()?, 8.0);
//! # Ok::<(), workalike::Error>(())
//! ```

mod cofactors;
mod decompositions;
mod definition;
mod determinants;
mod factor;
mod lower;
mod solvers;

pub use cofactors::Cofactors;
pub use decompositions::Cholesky;
pub use determinants::{Det, SlogDet};
pub use solvers::{Solve, SolveTriangular};

use super::creation::zeros_like;
use super::elemwise::cast;
use super::methods::{fail, floats, functions};
use super::shape::DimShuffle;
use super::specify_shape::SpecifyShape;
use crate::error::{Error, Result, shape_text};
use crate::graph::source_location;
use crate::graph::{TensorType, Variable};
use crate::value::{Element, Value};
use workalike_kernels::DType;

functions! {
    /// The lower factor of each symmetric positive definite matrix: `a = l.matmul(l^T)` (NumPy's `cholesky`).
    /// Only the lower triangle is read, so the gradient is 0 above the diagonal.
    ///
    /// # Errors
    /// At run time, if a matrix is not positive definite or not finite.
    cholesky / try_cholesky(a) {
        Variable::apply1(Cholesky { upper: false, nan: false }, &[floats("cholesky", &a)?])
    }
    /// [`cholesky()`], but the factor of a matrix that is not positive definite, or has NaN, is all NaN, and
    /// no error (PyTensor's `on_error="nan"`): a sampler rejects such a proposal and goes on.
    cholesky_or_nan / try_cholesky_or_nan(a) {
        Variable::apply1(Cholesky { upper: false, nan: true }, &[floats("cholesky", &a)?])
    }
    /// The upper factor of each symmetric positive definite matrix: `a = (u^T).matmul(u)` (NumPy's
    /// `cholesky(upper=True)`). Only the upper triangle is read, so the gradient is 0 below the diagonal.
    ///
    /// # Errors
    /// As [`cholesky()`].
    cholesky_upper / try_cholesky_upper(a) {
        Variable::apply1(Cholesky { upper: true, nan: false }, &[floats("cholesky", &a)?])
    }
    /// `x` with `a.matmul(x) = b`, for square matrices `a`, by LU factorization with partial pivoting
    /// (NumPy's `solve`). A `b` of one axis is a vector; any other `b` has one right-hand side in each column
    /// of its last two axes. The axes before the last two broadcast.
    ///
    /// # Errors
    /// At run time, if a matrix is exactly singular.
    solve / try_solve(a, b) { system("solve", Solve, &a, &b) }
    /// `x` with `t.matmul(x) = b`, where `t` is a triangle of the square matrices `a` (SciPy's
    /// `solve_triangular`); see [`SolveTriangular`]. The other triangle is not read. `b` is as in
    /// [`solve()`].
    ///
    /// # Errors
    /// At run time, if an element of the diagonal is 0.
    solve_triangular / try_solve_triangular(a, b; triangle: SolveTriangular) {
        system("solve_triangular", triangle, &a, &b)
    }
    /// The inverse of each square matrix (NumPy's `inv`). For a system of equations [`solve()`] is faster and
    /// more accurate.
    ///
    /// # Errors
    /// As [`solve()`].
    inv / try_inv(a) {
        let a = floats("inv", &a)?;
        square(a.ty()).map_err(|m| fail("inv", m))?;
        let identity = identity_like(&a)?;
        Variable::apply1(Solve, &[a, identity])
    }
    /// The determinant of each square matrix (NumPy's `det`): 0 if the matrix is singular, 1 if it has no
    /// rows. Its gradient, the cofactors, is finite at singular matrices; the gradient of the gradient is an
    /// error there.
    det / try_det(a) { Variable::apply1(Det, &[floats("det", &a)?]) }
}

/// Sign and logarithm of the magnitude of the determinant of each square matrix (NumPy's `slogdet`): 0 and
/// minus infinity if the matrix is singular. The determinant is the sign times the exponential of the
/// logarithm.
#[must_use]
#[track_caller]
pub fn slogdet(a: impl Into<Variable>) -> [Variable; 2] {
    try_slogdet(a).unwrap_or_else(|e| [Variable::poison(e.clone()), Variable::poison(e)])
}

/// [`slogdet()`], with its error at once.
///
/// # Errors
/// If the types do not fit.
#[track_caller]
pub fn try_slogdet(a: impl Into<Variable>) -> Result<[Variable; 2]> {
    let a = a.into();
    let _scope = source_location::enter();
    let outputs = Variable::apply(SlogDet, &[floats("slogdet", &a)?])?;
    outputs.try_into().map_err(|_| Error::Internal("slogdet has not two outputs".into()))
}

/// A system with right-hand sides `b`: a vector if it has one axis.
fn system(op: &str, solver: impl super::Op, a: &Variable, b: &Variable) -> Result<Variable> {
    let (a, b) = (floats(op, a)?, floats(op, b)?);
    square(a.ty()).map_err(|m| fail(op, m))?;
    if b.ndim() == 0 {
        return Err(fail(
            op,
            format!("expected a vector or matrices on the right-hand side, got {}", b.ty()),
        ));
    }
    let dtype = a.dtype().promote(b.dtype());
    let (a, b) = (cast(&a, dtype)?, cast(&b, dtype)?);
    let is_vector = b.ndim() == 1;
    let b = if is_vector { DimShuffle::keep_dims(&b, &[1])? } else { b };
    let rank = a.ndim().max(b.ndim());
    let inputs = [DimShuffle::pad_left(&a, rank)?, DimShuffle::pad_left(&b, rank)?];
    let x = Variable::apply1(solver, &inputs)?;
    if is_vector { DimShuffle::of(&x, (0..rank - 1).map(Some).collect()) } else { Ok(x) }
}

/// Identity matrices, as many and as large as the square matrices `a`. An extent that one axis knows is known
/// of both.
fn identity_like(a: &Variable) -> Result<Variable> {
    let identity = zeros_like(a).try_fill_diagonal(1i64)?;
    let mut extents = vec![None; a.ndim()];
    let known = square(a.ty()).map_err(|message| fail("inv", message))?;
    extents.iter_mut().rev().take(2).for_each(|extent| *extent = known);
    if known.is_none() { Ok(identity) } else { Variable::apply1(SpecifyShape { extents }, &[identity]) }
}

/// The transposes of matrices.
fn transposed(x: &Variable) -> Result<Variable> {
    x.try_swapaxes(-1, -2)
}

/// The extent of the last two axes, where it is known; an error if they differ.
fn square(ty: &TensorType) -> Result<Option<usize>, String> {
    let refuse = || format!("expected square matrices in the last two axes, got {ty}");
    let &[.., rows, columns] = ty.shape.as_slice() else { return Err(refuse()) };
    match (rows, columns) {
        (Some(rows), Some(columns)) if rows != columns => Err(refuse()),
        _ => Ok(rows.or(columns)),
    }
}

/// As [`square`], for matrices that an op takes.
fn square_floats(ty: &TensorType) -> Result<Option<usize>, String> {
    match ty.dtype {
        DType::F32 | DType::F64 => square(ty),
        _ => Err(format!("expected matrices of float32 or float64, got {ty}")),
    }
}

/// The order of square matrices of this shape, and the shape of their batch.
fn order(shape: &[usize]) -> Result<(usize, &[usize]), String> {
    match shape {
        [batch @ .., rows, columns] if rows == columns => Ok((*rows, batch)),
        _ => Err(format!("expected square matrices in the last two axes, got shape {}", shape_text(shape))),
    }
}

/// What an error calls a matrix, if there is a batch of them.
fn matrix_of(batch: &[usize], at: usize) -> Option<String> {
    (!batch.is_empty()).then(|| format!("matrix {at} of the batch"))
}

/// Which matrix of a batch an error is about, behind what is wrong with it.
fn which(batch: &[usize], at: usize) -> String {
    matrix_of(batch, at).map_or_else(String::new, |matrix| format!(" ({matrix})"))
}

/// [`matrix_of`], by the extents of an op's inputs, the first of which are the matrices.
fn matrix_in(inputs: &[&[usize]], at: usize) -> Option<String> {
    let own = order(inputs.first()?).ok()?.1;
    let other = |axis: usize| inputs.get(1).and_then(|other| other.get(axis)).copied().unwrap_or(1);
    let batch: Vec<usize> = own
        .iter()
        .enumerate()
        .map(|(axis, &extent)| if extent == 1 { other(axis) } else { extent })
        .collect();
    matrix_of(own, own_position(own, &batch, at))
}

/// The position in a batch of shape `own` of position `at` in the batch that it is broadcast to.
fn own_position(own: &[usize], batch: &[usize], mut at: usize) -> usize {
    let (mut position, mut step) = (0, 1);
    for (&own, &extent) in own.iter().zip(batch).rev() {
        if own != 1 {
            position += at % extent.max(1) * step;
        }
        step *= own;
        at /= extent.max(1);
    }
    position
}

/// The elements of the matrices of a batch of this shape; of one matrix alone where all are the same.
fn elements<T: Element>(matrices: &Value, batch: &[usize]) -> Result<Vec<T>> {
    let (own, matrix) = matrices.shape().split_at(batch.len());
    if own.iter().all(|&extent| extent == 1) {
        return matrices.to_vec();
    }
    matrices.broadcast_to(&[batch, matrix].concat())?.to_vec()
}
