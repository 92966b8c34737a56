//! Hints on the context that computes: Theano's `transfer`.

use super::methods::methods;
use crate::error::Result;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, BatchedOutputs, Gradient, Op, ShardedOutputs, Shards, expect_inputs,
};
use crate::value::Value;

/// Its input, in the memory of a context: see [`transfer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The context's name.
    pub to: String,
}

/// The same value in the memory of a context of this name, given when the Function is re-hosted by
/// [`contexts`](crate::engine::contexts). Ops that read it first run there. On one device it costs nothing.
///
/// ```
/// use workalike::prelude::*;
/// let (x, w) = (vector::<f32>("x"), shared("w", vec![1f32, 2.0]).on("dev1"));
/// let y = transfer((&*w * 2.0).exp(), "dev0") + &x;
/// let f = function([&x]).output(&y).compile()?;
/// let mut sim = f.optimize(contexts([("dev0", Host::auto()), ("dev1", Host::auto())]))?;
/// let (got, want) = (sim.call(args![vec![0f32, 0.0]])?, f.call(args![vec![0f32, 0.0]])?);
/// assert_eq!(got[0].to_vec::<f32>()?, want[0].to_vec::<f32>()?);
/// # Ok::<(), workalike::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn transfer(x: impl Into<Variable>, context: &str) -> Variable {
    x.into().transfer(context)
}

methods! {
    /// The same value in the memory of a context: see [`transfer`].
    transfer / try_transfer(x, context: &str) {
        Variable::apply1(Transfer { to: context.into() }, std::slice::from_ref(x))
    }
}

impl Op for Transfer {
    fn id(&self) -> &'static str {
        "transfer"
    }

    fn attributes(&self) -> Attributes {
        vec![("to".into(), Attr::Text(self.to.clone()))]
    }

    fn label(&self) -> String {
        format!("transfer[{}]", self.to)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        Ok(vec![inputs[0].clone()])
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis)]
    }
    fn takes_complex(&self) -> bool {
        true
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![at.output_grads[0].clone()])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(self.clone())
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        at.along(self.clone(), true, Some)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![inputs[0].clone()])
    }

    fn lower(&self, _: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].clone()])
    }
}
