//! A member's rank and the number of members, as values of a graph.

use crate::error::Result;
use crate::graph::{TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attributes, Batch, Batched, BatchedOutputs, Gradient, Op, OpGroup, expect_inputs};
use crate::ops::methods::fail;
use crate::ops::stored_op::StoredOp;
use crate::value::Value;
use std::sync::Arc;
use workalike_kernels::DType;

/// What is asked about a member's place in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlaceKind {
    /// Its number, from 0.
    Rank,
    /// The number of members.
    Size,
}

/// A member's place in a group: see [`group_rank`] and [`group_size`].
#[derive(Clone, Debug)]
pub struct GroupPlace {
    /// What is asked.
    pub kind: PlaceKind,
    /// The group.
    pub group: OpGroup,
}

/// The rank of the member that runs the Function, a 0-d int64: known when the Function is re-hosted, so
/// shapes may depend on it. 0 outside of a group.
///
/// ```
/// use workalike::prelude::*;
/// let x = vector::<f32>("x");
/// let rows = range(group_rank("workers") * 2i64, (group_rank("workers") + 1i64) * 2i64);
/// let f = function([&x]).output(x.index(idx![rows])).compile()?;
/// let x = vec![1f32, 2.0, 3.0, 4.0];
/// assert_eq!(f.call(args![&x])?[0].to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn group_rank(group: &str) -> Variable {
    GroupPlace::apply(PlaceKind::Rank, group).unwrap_or_else(Variable::poison)
}

/// The number of members of a group, a 0-d int64: known when the Function is re-hosted. 1 outside of a group.
#[must_use]
#[track_caller]
pub fn group_size(group: &str) -> Variable {
    GroupPlace::apply(PlaceKind::Size, group).unwrap_or_else(Variable::poison)
}

impl GroupPlace {
    /// The place in a group of this name.
    pub fn new(kind: PlaceKind, group: &str) -> GroupPlace {
        GroupPlace { kind, group: OpGroup::new(group) }
    }

    #[track_caller]
    fn apply(kind: PlaceKind, group: &str) -> Result<Variable> {
        if group.is_empty() {
            return Err(fail(kind.name(), "expected the name of a group, got none".into()));
        }
        Variable::apply1(GroupPlace::new(kind, group), &[])
    }

    fn value(&self) -> Value {
        Value::from(match self.kind {
            PlaceKind::Rank => self.group.rank(),
            PlaceKind::Size => self.group.size(),
        } as i64)
    }

    /// The op that a file holds.
    pub(crate) fn decode(kind: PlaceKind, stored: &StoredOp) -> Result<GroupPlace, String> {
        Ok(GroupPlace { kind, group: stored.group()? })
    }
}

impl PlaceKind {
    /// Its name, in files too.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PlaceKind::Rank => "group_rank",
            PlaceKind::Size => "group_size",
        }
    }
}

impl Op for GroupPlace {
    fn id(&self) -> &'static str {
        self.kind.name()
    }

    fn attributes(&self) -> Attributes {
        self.group.attributes().collect()
    }

    fn label(&self) -> String {
        format!("{}[{}]", self.kind.name(), self.group.name)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 0)?;
        Ok(vec![TensorType::of_rank(DType::I64, 0)])
    }

    /// Its value, as soon as the graph is a Simulator's: shape inference then takes it for a constant.
    fn values_from_shapes(&self, _: &[&[usize]]) -> Option<Vec<Value>> {
        self.group.seat.as_ref().map(|_| vec![self.value()])
    }

    fn group(&self) -> Option<&OpGroup> {
        Some(&self.group)
    }

    fn agreement(&self, _: &str, _: &[bool], outputs: usize) -> Result<Vec<bool>, String> {
        Ok(vec![self.kind == PlaceKind::Size; outputs])
    }

    fn in_group(&self, group: OpGroup) -> Option<Arc<dyn Op>> {
        Some(Arc::new(GroupPlace { group, ..self.clone() }))
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![])
    }

    fn batch(&self, _: &Batch) -> BatchedOutputs {
        Ok(Some(vec![Batched::shared(Variable::apply1(self.clone(), &[])?)]))
    }

    fn perform(&self, _: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![self.value()])
    }

    fn lower(&self, to: &mut Lowering<'_>, _: &crate::graph::Node, _: &[View]) -> Lowered {
        let constant = to.constant(&self.value());
        Ok(vec![View::whole(constant, &[])])
    }
}
