//! The Cholesky decomposition.

use super::factor::{Llt, MatrixElement, nan};
use super::solvers::SolveTriangular;
use super::{matrix_in, order, square_floats, transposed, which};
use crate::error::{Error, Result};
use crate::fallible;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Batch, BatchedOutputs, Gradient, Op, expect_inputs};
use crate::value::{Element, Value};
use workalike_kernels::DType;

/// The lower factor `l` of symmetric positive definite matrices `l l^T`, of which only the lower triangle is
/// read, or the upper factor `u` of `u^T u`, of which only the upper triangle is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cholesky {
    /// The upper factor.
    pub upper: bool,
    /// All of the factor of a matrix that is not positive definite is NaN; otherwise it is an error.
    pub nan: bool,
}

impl Cholesky {
    fn factors<T: MatrixElement + Element>(&self, matrices: &Value) -> Result<Value> {
        let shape = matrices.shape();
        let (n, batch) = order(shape).map_err(|m| Error::mismatch(self.label(), "square matrices", m))?;
        let mut elements = matrices.to_vec::<T>()?;
        if elements.is_empty() {
            return Value::from_vec(shape, elements);
        }
        let mut llt = Llt::new::<T>(n).map_err(fallible::refused)?;
        for (at, matrix) in elements.chunks_exact_mut(n * n).enumerate() {
            let factored = llt.factor(matrix, self.upper);
            if self.nan {
                // A pivot that is NaN need not be an error.
                let definite = factored.is_ok() && matrix.last().is_some_and(|pivot| *pivot > T::default());
                if !definite {
                    matrix.fill(nan());
                }
                continue;
            }
            factored.map_err(|minor| {
                let given = format!("a leading minor of order {minor} that is not{}", which(batch, at));
                Error::mismatch("matrix is not positive definite", "positive leading minors", given)
            })?;
        }
        Value::from_vec(shape, elements)
    }
}

/// The lower triangle of matrices, with half of the diagonal.
fn half_of_lower(x: &Variable) -> Result<Variable> {
    x.try_tril(0)?.try_add(x.try_tril(-1)?)?.try_mul(0.5)
}

impl Op for Cholesky {
    fn id(&self) -> &'static str {
        "cholesky"
    }

    fn attributes(&self) -> Attributes {
        let mut attributes = vec![("upper".into(), Attr::Int(i64::from(self.upper)))];
        if self.nan {
            attributes.push(("nan".into(), Attr::Int(1)));
        }
        attributes
    }

    fn label(&self) -> String {
        match (self.upper, self.nan) {
            (false, false) => "cholesky".into(),
            (true, false) => "cholesky[upper]".into(),
            (false, true) => "cholesky[nan]".into(),
            (true, true) => "cholesky[upper, nan]".into(),
        }
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

    /// Reverse mode as in Murray, "Differentiation of the Cholesky decomposition" (2016), with respect to the
    /// elements of the triangle that is read.
    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None]) };
        let lower = |x: &Variable| if self.upper { transposed(x) } else { Ok(x.clone()) };
        let (l, g) = (lower(&at.outputs[0])?, lower(g)?);
        let divide = |x: &Variable| {
            let op = SolveTriangular { lower: true, transposed: true, unit_diagonal: false };
            Variable::apply1(op, &[l.clone(), x.clone()])
        };
        // With P = half_of_lower(l^T g) the gradient of a symmetric matrix is l^-T P l^-1, made symmetric.
        let p = half_of_lower(&transposed(&l)?.try_matmul(&g)?)?;
        let s = divide(&transposed(&divide(&p)?)?)?;
        let grad = half_of_lower(&s.try_add(transposed(&s)?)?)?;
        Ok(vec![Some(lower(&grad)?)])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(*self)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let factors = match inputs[0].dtype() {
            DType::F32 => self.factors::<f32>(&inputs[0]),
            _ => self.factors::<f64>(&inputs[0]),
        };
        Ok(vec![factors?])
    }

    fn trouble(&self) -> String {
        "matrix is not positive definite".into()
    }

    fn trouble_part(&self, part: usize, inputs: &[&[usize]]) -> Option<String> {
        matrix_in(inputs, part)
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        to.cholesky(self, node, inputs)
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis)]
    }
}
