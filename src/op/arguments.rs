//! What the methods of [`Op`] take and give.

use super::Op;
use super::attributes::Attr;
use crate::graph::{TensorType, Variable};
use crate::value::Value;
use std::sync::Arc;
use workalike_device::group::Group;
use workalike_kernels::DType;

/// What shape inference knows of an input.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Its dtype.
    pub dtype: DType,
    /// Its extents.
    pub shape: &'a [usize],
    /// Its value, if the op needs it for its shapes (see [`Op::shape_values`]).
    pub value: Option<&'a Value>,
}

impl<'a> Known<'a> {
    /// What a value tells.
    pub fn of(value: &'a Value) -> Known<'a> {
        Known { dtype: value.dtype(), shape: value.shape(), value: Some(value) }
    }

    /// The type, whose extents are all known.
    pub fn ty(&self) -> TensorType {
        TensorType::fixed(self.dtype, self.shape)
    }
}

/// What an op reads along an axis of an input: what [`Op::axis_read`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisRead {
    /// Any positions.
    All,
    /// These positions alone.
    Slice {
        /// The first position.
        start: i64,
        /// From one position to the next.
        step: i64,
        /// The number of positions.
        count: usize,
    },
    /// All positions, and does nothing but pass them on: its only result is the input with its axes in
    /// another order, new axes of extent 1 among them, and this axis of the result is the input's.
    Passed(usize),
}

/// Whether a property of the elements along an axis of a result holds: what [`Op::distinct_along`] and
/// [`Op::ascends_along`] say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Not that it is known.
    Unknown,
    /// Whatever the inputs are.
    Always,
    /// If it holds along this axis of an input, and all elements of the input are in the dtype of the result.
    As {
        /// The position of the input.
        input: usize,
        /// The axis of the input.
        axis: usize,
    },
}

/// An op in place of another that computes only some of its outputs: what [`Op::narrowed`] gives.
#[derive(Clone, Debug)]
pub struct Narrowed {
    /// The op.
    pub op: Arc<dyn Op>,
    /// Positions of its inputs among those of the other, ascending.
    pub inputs: Vec<usize>,
    /// Positions of its outputs among those of the other, ascending.
    pub outputs: Vec<usize>,
}

/// What [`Op::grad`] may use.
pub struct Gradient<'a> {
    /// The node's inputs.
    pub inputs: &'a [Variable],
    /// The node's outputs.
    pub outputs: &'a [Variable],
    /// The gradient of the cost with respect to each output; `None` where the cost does not depend on it.
    pub output_grads: &'a [Option<Variable>],
}

/// The group of an op: see [`Op::group`].
#[derive(Clone, Debug)]
pub struct OpGroup {
    /// Its name.
    pub name: String,
    /// Whether the op is there because [`data_parallel`](crate::function::Function::data_parallel) divided
    /// work among the members: computed by one alone, from whole inputs, the graph has the same results.
    pub divides: bool,
    /// The member, in the graph of a Simulator; no file has it.
    pub seat: Option<Seat>,
}

impl OpGroup {
    /// A group of this name, which is written out in the graph.
    pub fn new(name: &str) -> OpGroup {
        OpGroup { name: name.into(), divides: false, seat: None }
    }

    /// The attributes of its op that name it.
    pub fn attributes(&self) -> impl Iterator<Item = (String, Attr)> {
        let divides = self.divides.then(|| ("divides".into(), Attr::Int(1)));
        std::iter::once(("group".into(), Attr::Text(self.name.clone()))).chain(divides)
    }

    /// The member's number, 0 without a seat.
    pub fn rank(&self) -> usize {
        self.seat.as_ref().map_or(0, |seat| seat.group.rank())
    }

    /// The number of members, 1 without a seat.
    pub fn size(&self) -> usize {
        self.seat.as_ref().map_or(1, |seat| seat.group.size())
    }
}

/// A member's seat in a group.
#[derive(Clone, Debug)]
pub struct Seat {
    /// The member's side of the group.
    pub group: Arc<dyn Group>,
    /// The position of the node in its graph, by which members at different collectives find out.
    pub number: u64,
}
