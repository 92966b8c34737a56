//! What a sharding rule is given, and what it gives: an op whose inputs the members of a group hold together
//! (as GSPMD and PyTorch's DTensor have it).

use super::Op;
use crate::error::Result;
use crate::graph::{TensorType, Variable};
use std::sync::Arc;
use workalike_kernels::nest::Fold;

/// How the members of a group hold an array together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharding {
    /// Each member has all of it.
    Replicated,
    /// Each member has its part along this axis. Parts are equally large, in the order of ranks.
    Sharded(usize),
    /// Each member has an array of its shape, and the fold of these is the array.
    Partial(Fold),
}

/// An array as a member holds it.
#[derive(Clone, Debug)]
pub struct MemberArray {
    /// What this member has.
    pub variable: Variable,
    /// How it belongs to the array.
    pub sharding: Sharding,
    /// The extents of all of it that are known: a part has fewer, and so has what is gathered of parts.
    pub(crate) extents: Vec<Option<usize>>,
    /// All of it, where this member has that too without asking others.
    pub(crate) whole: Option<Variable>,
    /// What made a term of a sum from another term, if it may as well be applied to the sum.
    pub(crate) made_by: Option<Arc<TermOp>>,
}

/// An op on a term of a sum that does not make it smaller, and its inputs, all others of which are
/// replicated.
#[derive(Debug)]
pub(crate) struct TermOp {
    pub(crate) op: Arc<dyn Op>,
    pub(crate) inputs: Vec<MemberArray>,
    /// How many such ops made it, one after another.
    pub(crate) depth: usize,
}

impl MemberArray {
    pub(crate) fn new(variable: Variable, sharding: Sharding) -> MemberArray {
        MemberArray { variable, sharding, extents: Vec::new(), whole: None, made_by: None }
    }

    /// The member's array, all of which has this type.
    pub(crate) fn of_type(self, whole: &TensorType) -> MemberArray {
        MemberArray { extents: whole.shape.to_vec(), ..self }
    }

    /// An array that each member has.
    pub fn replicated(variable: Variable) -> MemberArray {
        MemberArray::new(variable, Sharding::Replicated)
    }

    /// The member's part along an axis.
    pub fn sharded(variable: Variable, axis: usize) -> MemberArray {
        MemberArray::new(variable, Sharding::Sharded(axis))
    }

    /// The member's term of a sum.
    pub fn term(variable: Variable) -> MemberArray {
        MemberArray::partial(variable, Fold::Sum)
    }

    /// The member's array of a fold.
    pub fn partial(variable: Variable, fold: Fold) -> MemberArray {
        MemberArray::new(variable, Sharding::Partial(fold))
    }
}

/// What [`Op::shard`](super::Op::shard) gives: the outputs, or `None` if there is no rule for such inputs.
pub type ShardedOutputs = Result<Option<Vec<MemberArray>>>;

/// What [`Op::shard`](super::Op::shard) may use: a node's inputs, at least one of which is not replicated.
#[derive(Clone, Copy, Debug)]
pub struct Shards<'a> {
    /// The node's inputs.
    pub inputs: &'a [MemberArray],
    /// The name of the group.
    pub group: &'a str,
}
