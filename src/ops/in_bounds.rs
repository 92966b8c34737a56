//! A promise that indices are in range, which spares the checks of them.

use super::methods::{fail, methods};
use crate::error::Result;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Batch, BatchedOutputs, Gradient, Op, ShardedOutputs, Shards, expect_inputs};
use crate::value::Value;

/// Its input, integers that are positions along each axis that they index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InBounds;

impl Op for InBounds {
    fn id(&self) -> &'static str {
        "in_bounds"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        if !inputs[0].dtype.is_integer() {
            return Err(format!("indices are integers, not {}", inputs[0]));
        }
        Ok(vec![inputs[0].clone()])
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(*self)
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        at.along(*self, false, Some)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![inputs[0].clone()])
    }

    fn is_identity(&self) -> bool {
        true
    }

    fn promises_bounds(&self) -> bool {
        true
    }

    fn lower(&self, _: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].clone()])
    }
}

methods! {
    /// `x`, integers, with the promise that where they are an index they are in range (JAX's
    /// `promise_in_bounds`): a device does not check them, and a call does not look at them before. If one is
    /// out of range after all, the position nearest to it is read or written, and the call is no error.
    /// [`Simulator::verify`](crate::engine::Simulator::verify) and
    /// [`nan_guard`](crate::engine::Tuned::nan_guard) find such an index; so does `call_reference`.
    /// [`in_bounds`](crate::engine::Tuned::in_bounds) of a backend promises it of all indices.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (x, i) = (vector::<f32>("x"), vector::<i64>("i"));
    /// let f = function([&x, &i]).output(x.index(idx![i.in_bounds()])).compile()?;
    /// let mut sim = f.optimize(Host::auto())?;
    /// assert_eq!(sim.call(args![vec![1f32, 2.0], vec![1i64, -2]])?[0].to_vec::<f32>()?, [2.0, 1.0]);
    /// assert!(f.call_reference(args![vec![1f32, 2.0], vec![7i64]]).is_err());
    /// # Ok::<(), workalike::Error>(())
    /// ```
    in_bounds / try_in_bounds(x) {
        if !x.checked()?.dtype().is_integer() {
            return Err(fail("in_bounds", format!("indices are integers, not {}", x.ty())));
        }
        Variable::apply1(InBounds, std::slice::from_ref(x))
    }
}
