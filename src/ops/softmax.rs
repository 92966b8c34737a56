//! Softmax, its logarithm, and the cross-entropy built on them.

pub(crate) mod lower;

use super::axes::normalize_axis;
use super::creation::arange;
use super::elemwise::{cast, elemwise};
use super::methods::fail;
use super::reduce::Reduce;
use super::shape::DimShuffle;
use super::specify_shape::EqualExtents;
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{Node, Operand, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, BatchedOutputs, Gradient, Op, ShardedOutputs, Shards, expect_inputs,
};
use crate::value::Value;
use workalike_kernels::{DType, Scalar, ops as scalar};

/// `exp(x - max) / sum(exp(x - max))` along an axis, or its logarithm `x - max - log(sum(exp(x - max)))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Softmax {
    /// The axis along which results sum to one.
    pub axis: usize,
    /// The logarithm instead.
    pub log: bool,
}

impl Op for Softmax {
    fn id(&self) -> &'static str {
        "softmax"
    }

    fn attributes(&self) -> Attributes {
        vec![("axis".into(), Attr::Int(self.axis as i64)), ("log".into(), Attr::Int(i64::from(self.log)))]
    }

    fn label(&self) -> String {
        format!("{}[{}]", if self.log { "log_softmax" } else { "softmax" }, self.axis)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        if !inputs[0].dtype.is_float() || self.axis >= inputs[0].ndim() {
            return Err(format!("expected floats with an axis {}, got {}", self.axis, inputs[0]));
        }
        Ok(vec![inputs[0].clone()])
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None]) };
        let y = &at.outputs[0];
        let op = |op, a: &Variable, b: &Variable| {
            elemwise(op, vec![Operand::Variable(a.clone()), Operand::Variable(b.clone())])
        };
        let total =
            |x: &Variable| DimShuffle::keep_dims(&Reduce::sum_in(x, &[self.axis], x.dtype())?, &[self.axis]);
        // softmax: (g - sum(g * y)) * y; log_softmax: g - exp(y) * sum(g).
        let grad = if self.log {
            let p = elemwise(scalar::EXP, vec![Operand::Variable(y.clone())])?;
            op(scalar::SUB, g, &op(scalar::MUL, &p, &total(g)?)?)?
        } else {
            let weighted = total(&op(scalar::MUL, g, y)?)?;
            op(scalar::MUL, &op(scalar::SUB, g, &weighted)?, y)?
        };
        Ok(vec![Some(grad)])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(Softmax { axis: self.axis + 1, ..*self })
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        at.along(*self, false, |axis| (axis != self.axis).then_some(axis))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let x = &inputs[0];
        let shape = x.shape();
        let n = shape[self.axis];
        let step: usize = shape[self.axis + 1..].iter().product();
        let mut y = x.try_map(Scalar::to_f64)?;
        for first in (0..y.len()).filter(|i| (i / step).is_multiple_of(n.max(1))) {
            let at = |i: usize| first + i * step;
            let max = (0..n)
                .map(|i| y[at(i)])
                .fold(f64::NEG_INFINITY, |a, b| if b > a || b.is_nan() { b } else { a });
            let sum: f64 = (0..n).map(|i| (y[at(i)] - max).exp()).sum();
            for i in 0..n {
                let shifted = y[at(i)] - max;
                y[at(i)] = if self.log { shifted - sum.ln() } else { shifted.exp() / sum };
            }
        }
        Ok(vec![Value::from_vec(shape, y)?.cast(x.dtype())?])
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis)]
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }
}

fn along(x: &Variable, axis: isize, log: bool) -> Result<Variable> {
    let x = x.checked()?;
    let name = if log { "log_softmax" } else { "softmax" };
    let axis = normalize_axis(axis, x.ndim()).map_err(|m| fail(name, m))?;
    let x = cast(x, x.dtype().to_float())?;
    Variable::apply1(Softmax { axis, log }, &[x])
}

/// Softmax along an axis (negative: from the end).
#[track_caller]
pub fn softmax(x: impl Into<Variable>, axis: isize) -> Variable {
    let _scope = source_location::enter();
    along(&x.into(), axis, false).unwrap_or_else(Variable::poison)
}

/// The logarithm of [`softmax`], exact where softmax underflows.
#[track_caller]
pub fn log_softmax(x: impl Into<Variable>, axis: isize) -> Variable {
    let _scope = source_location::enter();
    along(&x.into(), axis, true).unwrap_or_else(Variable::poison)
}

/// Cross-entropy of predicted probabilities `p` (n, classes) with true classes: `-log(p)[arange(n), y]` for
/// integer labels `y` (n), `-sum(y * log(p), axis=1)` for distributions `y` (n, classes). Shape (n). Where
/// `p` is a softmax, `compile` and `grad` make `log(p)` a log_softmax.
#[track_caller]
pub fn categorical_crossentropy(p: impl Into<Variable>, y: impl Into<Variable>) -> Variable {
    let _scope = source_location::enter();
    let (p, y) = (p.into(), y.into());
    let build = || -> Result<Variable> {
        let (p, y) = (p.checked()?, y.checked()?);
        let log = elemwise(scalar::LOG, vec![Operand::Variable(p.clone())])?;
        let picked = match (p.ndim(), y.ndim(), y.dtype()) {
            (2, 1, d) if d.is_integer() => {
                let rows = cast(&arange(super::ShapeOf::of(p, 0)?), DType::I64)?;
                let y = EqualExtents::of("categorical_crossentropy", (y, 0), (p, 0))?;
                Variable::apply1(super::AdvancedSubtensor, &[log, rows, y])?
            }
            (2, 2, d) if d.is_float() => {
                let mut y = y.clone();
                for axis in 0..2 {
                    y = EqualExtents::of("categorical_crossentropy", (&y, axis), (p, axis))?;
                }
                let weighted =
                    elemwise(scalar::MUL, vec![Operand::Variable(y.clone()), Operand::Variable(log)])?;
                Reduce::sum_in(&weighted, &[1], weighted.dtype())?
            }
            _ => {
                let message = format!(
                    "expected (n, classes) floats with (n,) integers or (n, classes) floats, got {} and {}",
                    p.ty(),
                    y.ty()
                );
                return Err(fail("categorical_crossentropy", message));
            }
        };
        elemwise(scalar::NEG, vec![Operand::Variable(picked)])
    };
    build().unwrap_or_else(Variable::poison)
}
