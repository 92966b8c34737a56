//! A member's own part of an array that each member has.

use super::place::group_rank;
use crate::error::{Error, Result};
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, BatchedOutputs, Gradient, Known, MemberArray, Op, Seat, expect_inputs,
};
use crate::ops::creation::zeros_like;
use crate::ops::index_expression::{Ix, range};
use crate::ops::methods::fail;
use crate::ops::shape::BroadcastLike;
use crate::ops::stored_op::StoredOp;
use crate::value::Value;
use std::sync::Arc;

/// The member's part of its input along an axis, of as many equal parts as there are members: see
/// [`Variable::own_part`].
#[derive(Clone, Debug)]
pub struct OwnPart {
    /// The axis.
    pub axis: usize,
    /// The group's name.
    pub group: String,
    /// An extent of 1, which broadcasts, is left as it is.
    pub unless_one: bool,
    /// The member, in the graph of a Simulator; no file has it.
    seat: Option<Seat>,
}

impl OwnPart {
    /// A part along an axis.
    pub fn new(axis: usize, group: &str) -> OwnPart {
        OwnPart { axis, group: group.into(), unless_one: false, seat: None }
    }

    /// The op that a file holds.
    pub(crate) fn decode(stored: &StoredOp) -> Result<OwnPart, String> {
        let unless_one = stored.find("unless_one").is_ok() && stored.int("unless_one")? != 0;
        Ok(OwnPart { unless_one, ..OwnPart::new(stored.index("axis")?, stored.text("group")?) })
    }

    /// Its first position, and how many it has.
    fn range(&self, extent: usize) -> Result<(usize, usize), String> {
        let (rank, size) = self.seat.as_ref().map_or((0, 1), |seat| (seat.group.rank(), seat.group.size()));
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
        let mut list = vec![
            ("axis".into(), Attr::Int(self.axis as i64)),
            ("group".into(), Attr::Text(self.group.clone())),
        ];
        if self.unless_one {
            list.push(("unless_one".into(), Attr::Int(1)));
        }
        list
    }

    fn label(&self) -> String {
        format!("own_part[{}, {}]", self.axis, self.group)
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

    fn group(&self) -> Option<&str> {
        Some(&self.group)
    }

    fn agreement(&self, _: &[bool], outputs: usize) -> Result<Vec<bool>, String> {
        Ok(vec![false; outputs])
    }

    fn seated(&self, seat: &Seat) -> Option<Arc<dyn Op>> {
        Some(Arc::new(OwnPart { seat: Some(seat.clone()), ..self.clone() }))
    }

    fn takes_complex(&self) -> bool {
        true
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    /// Zeros in the place of the other members' parts.
    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let (x, Some(g)) = (&at.inputs[0], &at.output_grads[0]) else { return Ok(vec![None]) };
        let rows = at.outputs[0].try_extent(self.axis as isize)?;
        let first = group_rank(&self.group).try_mul(&rows)?;
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
    Ok(MemberArray { whole: Some(x.clone()), ..MemberArray::sharded(part, axis) })
}
