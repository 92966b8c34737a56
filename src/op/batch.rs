//! What a batching rule is given, and what it gives: an op on a whole batch of values of some of its inputs
//! (JAX's `vmap`).

use crate::error::Result;
use crate::graph::Variable;

/// An input or output of a node, for a whole batch.
#[derive(Clone, Debug)]
pub struct Batched {
    /// With the batch axis in front, if `batched`.
    pub variable: Variable,
    /// Whether there is one for each of the batch; else the same one is for all.
    pub batched: bool,
}

impl Batched {
    /// With the batch axis in front.
    pub fn each(variable: Variable) -> Batched {
        Batched { variable, batched: true }
    }

    /// The same for all of the batch.
    pub fn shared(variable: Variable) -> Batched {
        Batched { variable, batched: false }
    }
}

/// What [`Op::batch`](super::Op::batch) gives: the outputs for the whole batch, or `None` if there is no
/// rule.
pub type BatchedOutputs = Result<Option<Vec<Batched>>>;

/// What [`Op::batch`](super::Op::batch) may use: a node's inputs for a whole batch. At least one of them has
/// the batch axis.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The node's inputs.
    pub inputs: &'a [Batched],
    /// The extent of the batch axis, a 0-d int64.
    pub count: &'a Variable,
}
