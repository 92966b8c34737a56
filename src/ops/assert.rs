//! A condition that is checked while a Function runs. The op returns its input; if the condition fails, the
//! call is an error, on every device.

pub(crate) mod lower;

use super::methods::{fail, methods};
use crate::error::{Error, Result, shape_text};
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Gradient, Op, ShardedOutputs, Shards, expect_inputs};
use crate::value::Value;
use workalike_kernels::DType;

/// Its first input, if every element of the second, of bools, is true; else an error with this message.
///
/// No pass removes it unless its condition is a constant that holds, and a device checks it even if only the
/// shape of the result is read. It does not run if no output or update depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assert {
    /// What the error says.
    pub message: String,
}

/// Where a condition of these shape and values fails first.
fn failure(condition: &Value) -> Option<String> {
    let at = condition.scalars().position(|s| s.to_i128() == 0)?;
    let mut rest = at;
    let mut position: Vec<usize> = condition
        .shape()
        .iter()
        .rev()
        .map(|&e| {
            let here = rest % e.max(1);
            rest /= e.max(1);
            here
        })
        .collect();
    position.reverse();
    Some(match position[..] {
        [] => "it is false".into(),
        _ => format!("it is false at {} of {}", shape_text(&position), shape_text(condition.shape())),
    })
}

impl Op for Assert {
    fn id(&self) -> &'static str {
        "assert"
    }

    fn attributes(&self) -> Attributes {
        vec![("message".into(), Attr::Text(self.message.clone()))]
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 2)?;
        if inputs[1].dtype != DType::Bool {
            return Err(format!("a condition is of bools, not {}", inputs[1]));
        }
        Ok(vec![inputs[0].clone()])
    }

    fn has_effect(&self) -> bool {
        true
    }

    fn trouble(&self) -> String {
        format!("{}: the condition does not hold", self.message)
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![at.output_grads[0].clone(), None])
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        at.along(self.clone(), false, Some)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        match failure(&inputs[1]) {
            None => Ok(vec![inputs[0].clone()]),
            Some(what) => Err(Error::mismatch(&self.message, "a condition that holds everywhere", what)),
        }
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }
}

methods! {
    /// `x`, if every element of `condition` is true (of numbers: not 0). Otherwise the call is an error that
    /// names the op, its node and `message` (PyTensor's `Assert`): found on the device, when the call ends;
    /// nothing is updated then. The gradient passes through.
    assert / try_assert(x, condition: impl Into<Variable>, message: &str) {
        let condition = condition.into();
        let condition = match condition.checked()?.dtype() {
            DType::Bool => condition,
            _ => condition.try_not_equal(0i64)?,
        };
        match condition.constant_value().map(failure) {
            Some(None) => Ok(x.clone()),
            Some(Some(what)) => Err(fail("assert", format!("{message}: the condition never holds: {what}"))),
            None => Variable::apply1(Assert { message: message.into() }, &[x.clone(), condition]),
        }
    }
}
