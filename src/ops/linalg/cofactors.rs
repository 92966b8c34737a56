//! Cofactors: the gradient of determinants.

use super::factor::{self, MatrixElement};
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

/// The cofactors of square matrices: for each element, the determinant of the matrix without its row and
/// column, with the sign of its place. They are finite at singular matrices too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cofactors;

impl Cofactors {
    fn of<T: MatrixElement + Element>(self, matrices: &Value) -> Result<Value> {
        let shape = matrices.shape();
        let (n, _) = order(shape).map_err(|m| Error::mismatch(self.label(), "square matrices", m))?;
        let mut elements = matrices.to_vec::<T>()?;
        if !elements.is_empty() {
            let mut cofactors = factor::CofactorWorkspace::new(n).map_err(fallible::refused)?;
            elements.chunks_exact_mut(n * n).for_each(|matrix| cofactors.replace(matrix));
        }
        Value::from_vec(shape, elements)
    }
}

impl Op for Cofactors {
    fn id(&self) -> &'static str {
        "cofactors"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        let n = square_floats(inputs[0])?;
        let mut ty = inputs[0].clone();
        ty.shape.iter_mut().rev().take(2).for_each(|extent| *extent = n);
        Ok(vec![ty])
    }

    fn results_are_new(&self) -> bool {
        true
    }

    /// With `b` the transposed inverse and `c = det(a) b` the cofactors, the gradient of `sum(g c)` is
    /// `sum(g b) c - c g^T b`. It is an error at singular matrices.
    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None]) };
        let (a, c) = (&at.inputs[0], &at.outputs[0]);
        let b = Variable::apply1(Solve, &[transposed(a)?, identity_like(a)?])?;
        let rank = a.ndim();
        let axes = [rank as isize - 2, rank as isize - 1];
        let total = DimShuffle::keep_dims(&g.try_mul(&b)?.try_sum(axes)?, &[rank - 2, rank - 1])?;
        let second = c.try_matmul(&transposed(g)?)?.try_matmul(&b)?;
        Ok(vec![Some(total.try_mul(c)?.try_sub(second)?)])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(*self)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let cofactors = match inputs[0].dtype() {
            DType::F32 => self.of::<f32>(&inputs[0]),
            _ => self.of::<f64>(&inputs[0]),
        };
        Ok(vec![cofactors?])
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        to.cofactors(node, &inputs[0])
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis)]
    }
}
