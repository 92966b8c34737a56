//! Gathers, and writes into parts: a copy of the whole, then a Nest that writes into the copy.

use super::build::{At, NestBuilder, PhaseBuilder};
use super::elemwise::aligned;
use super::views::{Start, clamped, from_front, report};
use super::{Lowered, Lowering};
use crate::graph::Node;
use crate::kernels::nest::{PhaseKind, Value};
use crate::kernels::ops as scalar;
use crate::ops::IncSubtensor;
use crate::rehost::program::BufferId;
use crate::rehost::view::View;

impl Lowering<'_> {
    /// A copy that later steps write into.
    pub(super) fn writable_copy(&mut self, view: &View) -> BufferId {
        let copy = self.own_copy(view);
        self.program.buffers[copy.buffer].mutable = true;
        copy.buffer
    }

    pub(super) fn inc_subtensor(&mut self, op: &IncSubtensor, node: &Node, inputs: &[View]) -> Lowered {
        let (x, y) = (&inputs[0], &inputs[1]);
        let part = self.shapes.parts.get(&self.node).ok_or("the extents of the part are not known")?;
        let lens = super::wide(part);
        let parts = self.parts(&op.slots, &x.shape, &lens, &node.inputs[2..], &inputs[2..])?;
        let target = self.writable_copy(x);
        let mut place = View::whole(target, &x.shape);
        let mut axis = 0;
        for part in parts {
            let (start, dynamic) = match part.start {
                Start::Fixed(start) => (start, None),
                Start::Dynamic(buffer) => (0, Some(buffer)),
            };
            place = place.slice(axis, start, part.step, part.len, dynamic);
            axis += usize::from(part.len.is_some());
        }
        let shape = place.shape.clone();
        let mut nest = NestBuilder::new(if op.set { "set_part" } else { "inc_part" }, &shape, &[]);
        // Only an Ordered phase reads what it stores at a computed index.
        let computed = !op.set && place.dynamic.iter().any(|d| !d.is_empty());
        let kind = if computed { PhaseKind::Ordered } else { PhaseKind::Point };
        let mut point = nest.phase(kind, &self.program);
        let value = point.load(y, &aligned(y, &shape));
        let at = At::axes(shape.len());
        let value = if op.set {
            value
        } else {
            let old = point.load(&place, &at);
            point.apply(scalar::ADD, &[old, value])
        };
        point.store_view(&place, &at, value);
        point.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &x.shape)])
    }

    pub(super) fn gather(&mut self, node: &Node, inputs: &[View]) -> Lowered {
        if let Some(taken) = self.compressed(node, inputs) {
            return Ok(vec![taken]);
        }
        let (mut x, indices) = (inputs[0].clone(), &inputs[1..]);
        let shape = self.shape(node.outputs[0]);
        has_positions(&x, indices)?;
        if !(0..indices.len()).all(|axis| x.takes_dynamic(axis)) {
            x = self.own_copy(&x);
        }
        let rank = shape.len() + indices.len() - x.shape.len();
        let reports = self.check_indices(&node.inputs[1..], indices, &x.shape);
        let number = self.report();
        let target = {
            let dtype = self.dtype(node.outputs[0]);
            self.temp(dtype, &shape)
        };
        if shape.contains(&0) {
            // No point is taken, and there may be no element that a load could name. An index out of range is
            // an error all the same.
            let asked = indices.iter().zip(&x.shape).zip(&reports).filter(|(_, report)| report.is_some());
            asked.for_each(|((index, &extent), _)| self.push_check(index, extent));
            return Ok(vec![View::whole(target, &shape)]);
        }
        let mut nest = NestBuilder::new("gather", &shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let index_at = At::axes(rank);
        let mut at = positions(&mut point, indices, &x.shape, &shape[..rank], &index_at, &reports, number);
        at.extend((rank..shape.len()).map(At::Axis));
        let value = point.load(&x, &at);
        point.store(target, &shape, &At::axes(shape.len()), value, None);
        point.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &shape)])
    }
}

/// A position in an empty axis cannot be kept in range.
pub(super) fn has_positions(x: &View, indices: &[View]) -> Result<(), String> {
    let some = indices.iter().all(|v| !v.shape.contains(&0));
    if some && x.shape[..indices.len()].contains(&0) {
        return Err(format!("an index into an empty axis of shape {:?}", x.shape));
    }
    Ok(())
}

/// Positions along the indexed axes of `x`, in range, at one point of the index arrays. An index with a status word in `reports` is
/// reported there if it is out of range.
pub(super) fn positions(
    phase: &mut PhaseBuilder,
    indices: &[View],
    shape: &[u64],
    points: &[u64],
    index_at: &[At],
    reports: &[Option<BufferId>],
    number: i128,
) -> Vec<At> {
    let one = |phase: &mut PhaseBuilder, index: &View, extent: u64, status: Option<BufferId>| -> Value {
        let at: Vec<At> = (0..index_at.len())
            .map(|a| if index.shape[a] == 1 && points[a] != 1 { At::First } else { index_at[a] })
            .collect();
        let given = phase.load(index, &at);
        let at = from_front(phase, given, extent as i64);
        if let Some(status) = status {
            report(phase, status, at, extent as i64, number);
        }
        clamped(phase, at, 0, (extent as i64 - 1).max(0))
    };
    let all = indices.iter().zip(shape).zip(reports);
    all.map(|((index, &extent), &status)| At::Value(one(phase, index, extent, status))).collect()
}
