//! Ops that change a gradient and nothing else: each returns its input.

use super::complex;
use crate::error::Result;
use crate::graph::{Node, TensorType, Variable, source_location};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Batch, BatchedOutputs, Gradient, Op, expect_inputs};
use crate::value::Value;

/// How the gradient passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Passes {
    /// Not at all: the result counts as a constant, which depends on nothing.
    Disconnected,
    /// As zeros: the result depends on the input, with a gradient of 0.
    Zero,
    /// Each element clipped to a range.
    Clipped {
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// Scaled: -1 reverses it.
    Scaled(f64),
}

/// Its input, with another gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WithGradient {
    /// Which.
    pub passes: Passes,
}

impl WithGradient {
    /// From a file's attributes.
    pub(super) fn decode(kind: &str, numbers: &[i64]) -> Result<WithGradient, String> {
        let number = |at: usize| numbers.get(at).map(|&bits| f64::from_bits(bits as u64));
        let passes = match (kind, number(0), number(1)) {
            ("disconnected", None, None) => Passes::Disconnected,
            ("zero", None, None) => Passes::Zero,
            ("clipped", Some(low), Some(high)) => Passes::Clipped { low, high },
            ("scaled", Some(by), None) => Passes::Scaled(by),
            _ => return Err(format!("a gradient that passes {kind}, with {} numbers", numbers.len())),
        };
        Ok(WithGradient { passes })
    }
}

impl Op for WithGradient {
    fn id(&self) -> &'static str {
        "with_gradient"
    }

    fn attributes(&self) -> Attributes {
        let (kind, numbers) = match self.passes {
            Passes::Disconnected => ("disconnected", vec![]),
            Passes::Zero => ("zero", vec![]),
            Passes::Clipped { low, high } => ("clipped", vec![low, high]),
            Passes::Scaled(by) => ("scaled", vec![by]),
        };
        // Bit by bit: a file holds no floats among attributes.
        let bits = numbers.into_iter().map(|n: f64| n.to_bits() as i64).collect();
        vec![("passes".into(), Attr::Text(kind.into())), ("numbers".into(), Attr::Ints(bits))]
    }

    fn label(&self) -> String {
        match self.passes {
            Passes::Disconnected => "consider_constant".into(),
            Passes::Zero => "zero_grad".into(),
            Passes::Clipped { .. } => "grad_clip".into(),
            Passes::Scaled(_) => "grad_scale".into(),
        }
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        Ok(vec![inputs[0].clone()])
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::by_parts(*self, inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None]) };
        Ok(vec![match self.passes {
            Passes::Disconnected => None,
            Passes::Zero => Some(super::zeros_like(&at.inputs[0])),
            Passes::Clipped { low, high } => Some(g.try_clip(low, high)?),
            Passes::Scaled(by) => Some(g.try_mul(by)?),
        }])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(*self)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![inputs[0].clone()])
    }

    fn is_identity(&self) -> bool {
        true
    }

    fn lower(&self, _: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].clone()])
    }
}

fn with(x: impl Into<Variable>, passes: Passes) -> Variable {
    Variable::apply1(WithGradient { passes }, &[x.into()]).unwrap_or_else(Variable::poison)
}

/// `x` as a constant for [`grad`](crate::grad::grad): no gradient reaches the expression of `x`.
#[track_caller]
pub fn consider_constant(x: impl Into<Variable>) -> Variable {
    let _scope = source_location::enter();
    with(x, Passes::Disconnected)
}

/// `x`, with a gradient of zeros.
#[track_caller]
pub fn zero_grad(x: impl Into<Variable>) -> Variable {
    let _scope = source_location::enter();
    with(x, Passes::Zero)
}

/// `x`, whose gradient is clipped to a range, element by element.
#[track_caller]
pub fn grad_clip(x: impl Into<Variable>, low: f64, high: f64) -> Variable {
    let _scope = source_location::enter();
    with(x, Passes::Clipped { low, high })
}

/// `x`, whose gradient is multiplied by a number.
#[track_caller]
pub fn grad_scale(x: impl Into<Variable>, by: f64) -> Variable {
    let _scope = source_location::enter();
    with(x, Passes::Scaled(by))
}
