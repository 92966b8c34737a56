//! Gathers and scatters. A write into a part is a copy of the whole, then a Nest that writes into the copy.

use super::build::{At, NestBuilder, PhaseBuilder};
use super::elemwise::aligned;
use super::views::{Start, clamped, from_front, report};
use super::{Lowered, Lowering};
use crate::graph::{Def, Node, VarId};
use crate::kernels::nest::{PhaseKind, Value};
use crate::kernels::ops as scalar;
use crate::ops::{ARange, AdvancedIncSubtensor, DimShuffle, IncSubtensor, downcast};
use crate::rehost::program::BufferId;
use crate::rehost::view::View;

impl Lowering<'_> {
    /// A copy that later steps write into.
    fn writable_copy(&mut self, view: &View) -> BufferId {
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
        let (mut x, indices) = (inputs[0].clone(), &inputs[1..]);
        let shape = self.shape(node.outputs[0]);
        has_positions(&x, indices)?;
        if !(0..indices.len()).all(|axis| x.takes_dynamic(axis)) {
            x = self.own_copy(&x);
        }
        let rank = shape.len() + indices.len() - x.shape.len();
        let status = self.status();
        let number = self.node as i128 + 1;
        let target = {
            let dtype = self.dtype(node.outputs[0]);
            self.temp(dtype, &shape)
        };
        let mut nest = NestBuilder::new("gather", &shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let index_at = At::axes(rank);
        let mut at = positions(&mut point, indices, &x.shape, &shape[..rank], &index_at, status, number);
        at.extend((rank..shape.len()).map(At::Axis));
        let value = point.load(&x, &at);
        point.store(target, &shape, &At::axes(shape.len()), value, None);
        point.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &shape)])
    }

    /// Deterministic: repeated indices are visited in order by one worker. Axes of the index along which some index array is a
    /// range never repeat, so they and the axes of `x` that are not indexed are grid axes.
    pub(super) fn scatter(&mut self, op: &AdvancedIncSubtensor, node: &Node, inputs: &[View]) -> Lowered {
        let (x, y, indices) = (&inputs[0], &inputs[1], &inputs[2..]);
        has_positions(x, indices)?;
        let known: Vec<Vec<u64>> = indices.iter().map(|v| v.shape.clone()).collect();
        let rank = known[0].len();
        let points: Vec<u64> =
            (0..rank).map(|a| known.iter().map(|s| s[a]).find(|&e| e != 1).unwrap_or(1)).collect();
        let rest = &x.shape[indices.len()..];
        let distinct = |axis: usize| {
            let mut ranges = node.inputs[2..].iter().zip(&known);
            ranges.any(|(&id, shape)| shape[axis] == points[axis] && self.is_range_along(id, axis))
        };
        let (free, ordered): (Vec<usize>, Vec<usize>) = (0..rank).partition(|&a| distinct(a));
        let grid: Vec<u64> = free.iter().map(|&a| points[a]).chain(rest.iter().copied()).collect();
        let inner: Vec<u64> = ordered.iter().map(|&a| points[a]).collect();
        let position = |axis: usize| match free.iter().position(|&a| a == axis) {
            Some(at) => At::Axis(at),
            None => At::Axis(grid.len() + ordered.iter().position(|&a| a == axis).unwrap_or(0)),
        };
        let index_at: Vec<At> = (0..rank).map(position).collect();
        let rest_at = (0..rest.len()).map(|i| At::Axis(free.len() + i));

        let target = self.writable_copy(x);
        let status = self.status();
        let number = self.node as i128 + 1;
        let mut nest = NestBuilder::new("scatter", &grid, &inner);
        let mut phase = nest.phase(PhaseKind::Ordered, &self.program);
        let mut at = positions(&mut phase, indices, &x.shape, &points, &index_at, status, number);
        at.extend(rest_at.clone());
        let full: Vec<u64> = points.iter().chain(rest).copied().collect();
        let y_at = index_at.iter().copied().chain(rest_at).zip(y.shape.iter().zip(&full));
        let y_at: Vec<At> =
            y_at.map(|(at, (&e, &f))| if e == 1 && f != 1 { At::First } else { at }).collect();
        let mut value = phase.load(y, &y_at);
        let place = View::whole(target, &x.shape);
        if !op.set {
            let old = phase.load(&place, &at);
            value = phase.apply(scalar::ADD, &[old, value]);
        }
        phase.store_view(&place, &at, value);
        phase.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &x.shape)])
    }

    /// Whether a Var is an `arange` laid along one axis of its shape, of positions that differ: none is negative, for those count
    /// from the end.
    fn is_range_along(&self, id: VarId, axis: usize) -> bool {
        let Def::Output { node, .. } = self.graph.var(id).def else { return false };
        let node = &self.graph.nodes[node as usize];
        match downcast::<DimShuffle>(node.op.as_ref()) {
            Some(shuffle) => shuffle.order.get(axis) == Some(&Some(0)) && self.is_range(node.inputs[0]),
            None => axis == 0 && self.is_range(id),
        }
    }

    fn is_range(&self, id: VarId) -> bool {
        let Def::Output { node, .. } = self.graph.var(id).def else { return false };
        let node = &self.graph.nodes[node as usize];
        let fixed = |at: usize| self.shapes.fixed[node.inputs[at] as usize].as_ref()?.to_scalar();
        let at_least = |at: usize, least: i128| fixed(at).is_some_and(|s| s.to_i128() >= least);
        downcast::<ARange>(node.op.as_ref()).is_some() && at_least(0, 0) && at_least(2, 1)
    }
}

/// A position in an empty axis cannot be kept in range.
fn has_positions(x: &View, indices: &[View]) -> Result<(), String> {
    let some = indices.iter().all(|v| !v.shape.contains(&0));
    if some && x.shape[..indices.len()].contains(&0) {
        return Err(format!("an index into an empty axis of shape {:?}", x.shape));
    }
    Ok(())
}

/// Positions along the indexed axes of `x`, in range, at one point of the index arrays; out of range is reported.
fn positions(
    phase: &mut PhaseBuilder,
    indices: &[View],
    shape: &[u64],
    points: &[u64],
    index_at: &[At],
    status: BufferId,
    number: i128,
) -> Vec<At> {
    let one = |phase: &mut PhaseBuilder, index: &View, extent: u64| -> Value {
        let at: Vec<At> = (0..index_at.len())
            .map(|a| if index.shape[a] == 1 && points[a] != 1 { At::First } else { index_at[a] })
            .collect();
        let given = phase.load(index, &at);
        let at = from_front(phase, given, extent as i64);
        report(phase, status, at, extent as i64, number);
        clamped(phase, at, 0, (extent as i64 - 1).max(0))
    };
    indices.iter().zip(shape).map(|(index, &extent)| At::Value(one(phase, index, extent))).collect()
}
