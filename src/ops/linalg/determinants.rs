//! Determinants, and their logarithms.

use super::cofactors::Cofactors;
use super::factor::{Lu, MatrixElement};
use super::solvers::Solve;
use super::{identity_like, order, square_floats, transposed};
use crate::error::{Error, Result};
use crate::fallible;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Batch, BatchedOutputs, Gradient, Op, expect_inputs};
use crate::ops::shape::DimShuffle;
use crate::value::{Element, Value};
use workalike_kernels::DType;

/// The determinants of square matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Det;

/// The signs of the determinants of square matrices, and the logarithms of their magnitudes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlogDet;

/// The determinant of a matrix, in float64.
struct Determinant {
    sign: f64,
    log: f64,
    value: f64,
}

impl Determinant {
    /// From the pivots of an LU factorization; `odd` says that the permutation of the rows is odd.
    fn of_pivots(pivots: impl Iterator<Item = f64>, odd: bool) -> Determinant {
        let sign = if odd { -1.0 } else { 1.0 };
        let mut all = Determinant { sign, log: 0.0, value: sign };
        let mut in_range = true;
        for pivot in pivots {
            all.sign *= pivot.signum();
            all.log += pivot.abs().ln();
            all.value *= pivot;
            in_range &= all.value.is_normal();
        }
        // A product that overflows on the way may be an ordinary number in the end.
        if !in_range {
            all.value = all.sign * all.log.exp();
        }
        all
    }

    /// The determinants of all matrices, of order `n`, which is at least 1.
    fn of_all<T: MatrixElement + Element>(matrices: &Value, n: usize) -> Result<Vec<Determinant>> {
        let elements = matrices.to_vec::<T>()?;
        let mut lu = Lu::<T>::new(n).map_err(fallible::refused)?;
        let one = |matrix: &[T]| {
            lu.factor(matrix);
            if lu.has_nan() {
                Determinant { sign: f64::NAN, log: f64::NAN, value: f64::NAN }
            } else if lu.zero_pivot().is_some() {
                Determinant { sign: 0.0, log: f64::NEG_INFINITY, value: 0.0 }
            } else {
                Determinant::of_pivots(lu.pivots(), lu.is_odd())
            }
        };
        fallible::collected(elements.chunks_exact(n * n).map(one))
    }
}

/// The product of numbers, negated if `odd`. It may leave the range of float64 on the way.
pub(super) fn product(numbers: impl Iterator<Item = f64>, odd: bool) -> f64 {
    Determinant::of_pivots(numbers, odd).value
}

/// For each of these functions, its number of the determinant of each matrix.
fn determinants(op: &dyn Op, matrices: &Value, numbers: &[fn(&Determinant) -> f64]) -> Result<Vec<Value>> {
    let (n, batch) =
        order(matrices.shape()).map_err(|m| Error::mismatch(op.label(), "square matrices", m))?;
    let dtype = matrices.dtype();
    let all = match (n, dtype) {
        // The determinant of a matrix without rows is 1.
        (0, _) => {
            let count: usize = batch.iter().product();
            let ones = (0..count).map(|_| Determinant::of_pivots(std::iter::empty(), false));
            fallible::collected(ones)?
        }
        _ if matrices.is_empty() => vec![],
        (_, DType::F32) => Determinant::of_all::<f32>(matrices, n)?,
        _ => Determinant::of_all::<f64>(matrices, n)?,
    };
    let list = numbers
        .iter()
        .map(|number| Value::from_vec(batch, fallible::collected(all.iter().map(number))?)?.cast(dtype));
    list.collect()
}

/// The type of one number for each matrix.
fn number_of_each(inputs: &[&TensorType]) -> Result<TensorType, String> {
    expect_inputs(inputs.len(), 1)?;
    square_floats(inputs[0])?;
    let batch = inputs[0].ndim() - 2;
    Ok(TensorType::new(inputs[0].dtype, inputs[0].shape[..batch].to_vec()))
}

/// `g` times the transposed inverse of each matrix: the gradient of the logarithm of the determinant, as in
/// Giles, "An extended collection of matrix derivative results for forward and reverse mode AD" (2008).
fn times_inverse(g: &Variable, a: &Variable) -> Result<Variable> {
    let inverse = Variable::apply1(Solve, &[transposed(a)?, identity_like(a)?])?;
    let rank = a.ndim();
    DimShuffle::keep_dims(g, &[rank - 2, rank - 1])?.try_mul(inverse)
}

impl Op for Det {
    fn id(&self) -> &'static str {
        "det"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        Ok(vec![number_of_each(inputs)?])
    }

    fn results_are_new(&self) -> bool {
        true
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None]) };
        let cofactors = Variable::apply1(Cofactors, std::slice::from_ref(&at.inputs[0]))?;
        let rank = at.inputs[0].ndim();
        Ok(vec![Some(DimShuffle::keep_dims(g, &[rank - 2, rank - 1])?.try_mul(cofactors)?)])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(*self)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        determinants(self, &inputs[0], &[|d| d.value])
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        to.determinant(node, &inputs[0], false)
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis)]
    }
}

impl Op for SlogDet {
    fn id(&self) -> &'static str {
        "slogdet"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        let ty = number_of_each(inputs)?;
        Ok(vec![ty.clone(), ty])
    }

    fn results_are_new(&self) -> bool {
        true
    }

    /// The sign has no gradient.
    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[1] else { return Ok(vec![None]) };
        Ok(vec![Some(times_inverse(g, &at.inputs[0])?)])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(*self)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        determinants(self, &inputs[0], &[|d| d.sign, |d| d.log])
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        to.determinant(node, &inputs[0], true)
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_pivots_may_overflow_on_the_way() {
        let large = Determinant::of_pivots([1e200, -1e200, 1e-300].into_iter(), true);
        assert!((large.value / 1e100 - 1.0).abs() < 1e-12, "{}", large.value);
        let small = Determinant::of_pivots([1e-200, 1e-120, 1e100].into_iter(), false);
        assert!((small.value / 1e-220 - 1.0).abs() < 1e-12, "{}", small.value);
        let none = Determinant::of_pivots(std::iter::empty(), false);
        assert_eq!((none.sign, none.log, none.value), (1.0, 0.0, 1.0));
        assert_eq!(Determinant::of_pivots([3.0, -2.0].into_iter(), true).value, 6.0);
    }
}
