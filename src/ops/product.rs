//! Matrix products.

use super::elemwise::cast;
use super::shape::DimShuffle;
use super::{Gradient, Known, Op, expect_inputs};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{TensorType, Variable};
use crate::kernels::Scalar;
use crate::value::Value;
use std::any::Any;
use std::panic::Location;

/// `(m, k) @ (k, n) -> (m, n)`, both of one dtype. Halves accumulate in f32 and round once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dot;

impl Op for Dot {
    fn id(&self) -> &'static str {
        "dot"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 2)?;
        let (a, b) = (inputs[0], inputs[1]);
        let contracts = a.ndim() == 2
            && b.ndim() == 2
            && (a.shape[1].is_none() || b.shape[0].is_none() || a.shape[1] == b.shape[0]);
        if !contracts || a.dtype != b.dtype {
            return Err(format!("cannot multiply {a} by {b}"));
        }
        Ok(vec![TensorType::new(a.dtype, [a.shape[0], b.shape[1]])])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let (a, b) = (inputs[0].shape, inputs[1].shape);
        if a[1] != b[0] {
            return Err(format!("cannot multiply shapes {a:?} and {b:?}"));
        }
        Ok(vec![vec![a[0], b[1]]])
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = at.output_grads[0].as_ref().filter(|_| at.inputs[0].dtype().is_float()) else {
            return Ok(vec![None, None]);
        };
        let transposed = |x: &Variable| DimShuffle::of(x, vec![Some(1), Some(0)]);
        let da = Variable::apply1(Dot, &[g.clone(), transposed(&at.inputs[1])?])?;
        let db = Variable::apply1(Dot, &[transposed(&at.inputs[0])?, g.clone()])?;
        Ok(vec![Some(da), Some(db)])
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let (a, b) = (&inputs[0], &inputs[1]);
        let dtype = a.dtype();
        let (m, k, n) = (a.shape()[0], a.shape()[1], b.shape()[1]);
        if dtype.is_float() {
            let (a, b) = (a.to_f64s(), b.to_f64s());
            let product = matrix(m, k, a)?.dot(&matrix(k, n, b)?);
            return Ok(vec![Value::from(product).cast(dtype)?]);
        }
        let (a, b) = (numbers(a), numbers(b));
        let fill = |bytes: &mut [u8]| {
            for (at, element) in bytes.chunks_exact_mut(dtype.size()).enumerate() {
                let (i, j) = (at / n, at % n);
                let sum = (0..k).fold(0i128, |s, p| s.wrapping_add(a[i * k + p].wrapping_mul(b[p * n + j])));
                element.copy_from_slice(&Scalar::from_i128(dtype, sum).to_le_bytes()[..dtype.size()]);
            }
        };
        Ok(vec![Value::filled(dtype, &[m, n], fill)?])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn matrix(rows: usize, columns: usize, elements: Vec<f64>) -> Result<ndarray::Array2<f64>> {
    ndarray::Array2::from_shape_vec((rows, columns), elements).map_err(|e| Error::Internal(e.to_string()))
}

fn numbers(value: &Value) -> Vec<i128> {
    value.scalars().map(Scalar::to_i128).collect()
}

/// NumPy's `dot` for 1-d and 2-d operands, promoted to one dtype.
#[track_caller]
pub(crate) fn dot(a: &Variable, b: &Variable) -> Result<Variable> {
    let (a, b) = (a.checked()?, b.checked()?);
    let place = Location::caller();
    if !(1..=2).contains(&a.ndim()) || !(1..=2).contains(&b.ndim()) {
        let message = format!("operands must have one or two axes, got {} and {}", a.ty(), b.ty());
        return Err(Error::Expression { op: "dot".into(), message, place });
    }
    let dtype: DType = a.dtype().promote(b.dtype());
    let (row, column) = (a.ndim() == 1, b.ndim() == 1);
    let left = if row { DimShuffle::of(a, vec![None, Some(0)])? } else { a.clone() };
    let right = if column { DimShuffle::of(b, vec![Some(0), None])? } else { b.clone() };
    let inputs = [cast(&left, dtype)?, cast(&right, dtype)?];
    let product = Variable::apply_at(std::sync::Arc::new(Dot), &inputs, place)?;
    let product =
        product.into_iter().next().ok_or_else(|| Error::Internal("a product without output".into()))?;
    let order = match (row, column) {
        (false, false) => return Ok(product),
        (true, false) => vec![Some(1)],
        (false, true) => vec![Some(0)],
        (true, true) => vec![],
    };
    DimShuffle::of(&product, order)
}
