//! A member's own part of an array that each member has.

use super::place::group_rank;
use crate::error::{Error, Result};
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, AxisRead, Batch, BatchedOutputs, Gradient, Holds, Known, MemberArray, Op, OpGroup,
    expect_inputs,
};
use crate::ops::creation::zeros_like;
use crate::ops::index_expression::{Ix, range};
use crate::ops::methods::fail;
use crate::ops::shape::BroadcastLike;
use crate::ops::stored_op::StoredOp;
use crate::value::Value;
use std::sync::Arc;
use workalike_kernels::interval::Interval;

/// The member's part of its input along an axis, of as many equal parts as there are members: see
/// [`Variable::own_part`].
#[derive(Clone, Debug)]
pub struct OwnPart {
    /// The axis.
    pub axis: usize,
    /// The group.
    pub group: OpGroup,
    /// An extent of 1, which broadcasts, is left as it is.
    pub unless_one: bool,
}

impl OwnPart {
    /// A part along an axis.
    pub fn new(axis: usize, group: &str) -> OwnPart {
        OwnPart { axis, group: OpGroup::new(group), unless_one: false }
    }

    /// The op that a file holds.
    pub(crate) fn decode(stored: &StoredOp) -> Result<OwnPart, String> {
        let unless_one = stored.find("unless_one").is_ok() && stored.int("unless_one")? != 0;
        Ok(OwnPart { axis: stored.index("axis")?, group: stored.group()?, unless_one })
    }

    /// Its first position, and how many it has.
    fn range(&self, extent: usize) -> Result<(usize, usize), String> {
        let (rank, size) = (self.group.rank(), self.group.size());
        if self.unless_one && extent == 1 {
            return Ok((0, 1));
        }
        if size == 0 || !extent.is_multiple_of(size) {
            return Err(format!(
                "axis {} has extent {extent}: expected a multiple of {size}, the number of members",
                self.axis
            ));
        }
        Ok((rank * (extent / size), extent / size))
    }
}

/// The member's part of an array that each member has.
pub(crate) fn own_part(x: &Variable, axis: usize, group: &str) -> Result<Variable> {
    if group.is_empty() {
        return Err(fail("own_part", "expected the name of a group, got none".into()));
    }
    Variable::apply1(OwnPart::new(axis, group), std::slice::from_ref(x))
}

impl Op for OwnPart {
    fn id(&self) -> &'static str {
        "own_part"
    }

    fn attributes(&self) -> Attributes {
        let axis = ("axis".into(), Attr::Int(self.axis as i64));
        let unless_one = self.unless_one.then(|| ("unless_one".into(), Attr::Int(1)));
        std::iter::once(axis).chain(self.group.attributes()).chain(unless_one).collect()
    }

    fn label(&self) -> String {
        format!("own_part[{}, {}]", self.axis, self.group.name)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        let mut ty = inputs[0].clone();
        // The number of members is not known before there are some.
        *ty.shape
            .get_mut(self.axis)
            .ok_or_else(|| format!("axis {} is out of range for {}", self.axis, inputs[0]))? = None;
        Ok(vec![ty])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let mut shape = inputs[0].shape.to_vec();
        shape[self.axis] = self.range(shape[self.axis])?.1;
        Ok(vec![shape])
    }

    fn group(&self) -> Option<&OpGroup> {
        Some(&self.group)
    }

    fn agreement(&self, _: &str, _: &[bool], outputs: usize) -> Result<Vec<bool>, String> {
        Ok(vec![false; outputs])
    }

    fn in_group(&self, group: OpGroup) -> Option<Arc<dyn Op>> {
        Some(Arc::new(OwnPart { group, ..self.clone() }))
    }

    fn takes_complex(&self) -> bool {
        true
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    fn axis_read(&self, _: usize, axis: usize, inputs: &[Known]) -> AxisRead {
        let own = || inputs.first().and_then(|x| self.range(*x.shape.get(self.axis)?).ok());
        let slice = |(start, count)| AxisRead::Slice { start: start as i64, step: 1, count };
        // What runs without a seat is the only member.
        match self.group.size() {
            1 => AxisRead::Passed(axis),
            _ if axis == self.axis => own().map_or(AxisRead::All, slice),
            _ => AxisRead::All,
        }
    }

    fn distinct_along(&self, _: usize, axis: usize) -> Holds {
        Holds::As { input: 0, axis }
    }

    fn ascends_along(&self, _: usize, axis: usize, _: &[Known], _: &[Interval]) -> Holds {
        Holds::As { input: 0, axis }
    }

    /// Zeros in the place of the other members' parts.
    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let (x, Some(g)) = (&at.inputs[0], &at.output_grads[0]) else { return Ok(vec![None]) };
        let rows = at.outputs[0].try_extent(self.axis as isize)?;
        let first = group_rank(&self.group.name).try_mul(&rows)?;
        let mut slots = vec![Ix::from(..); self.axis];
        slots.push(range(&first, first.try_add(&rows)?));
        let zeros = BroadcastLike::of(&zeros_like(x), x)?;
        Ok(vec![Some(zeros.try_set_index(slots, g)?)])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(OwnPart { axis: self.axis + 1, ..self.clone() })
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let x = &inputs[0];
        let part =
            self.range(x.shape()[self.axis]).map_err(|m| Error::mismatch(self.label(), "equal parts", m));
        let (first, count) = part?;
        Ok(vec![x.range(self.axis, first, count)?])
    }

    fn lower(&self, _: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        let extent = usize::try_from(inputs[0].shape[self.axis]).map_err(|e| e.to_string())?;
        let (start, count) = self.range(extent)?;
        Ok(vec![inputs[0].slice(self.axis, start as i64, 1, Some(count as u64), None)])
    }
}

/// The member's part of an array that each member has, or all of one that broadcasts along the axis.
pub(crate) fn own_part_or_one(x: &Variable, axis: usize, group: &str) -> Result<Variable> {
    let op = OwnPart { unless_one: true, ..OwnPart::new(axis, group) };
    Variable::apply1(op, std::slice::from_ref(x))
}

/// An input of which each member is given all, and computes with its part.
pub(crate) fn divided_input(x: &Variable, axis: usize, group: &str) -> Result<MemberArray> {
    let part = own_part(x, axis, group)?;
    let held = MemberArray::sharded(part, axis).of_type(x.ty());
    Ok(MemberArray { whole: Some(x.clone()), ..held })
}
