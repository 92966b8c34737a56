//! Sorts: a library op, where the device has it, or else Nests.

use super::{Sort, Sorted};
use crate::graph::{Node, VarId};
use crate::lower::program::BufferId;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View, is_done};
use crate::op::{AxisRead, Op};
use std::collections::BTreeSet;
use workalike_kernels::library::Sorting;
use workalike_kernels::nest::{Fold, PhaseKind};
use workalike_kernels::{DType, ops as scalar};

/// Up to so many elements a row is sorted by counting, for each, how many come before it.
const COUNTED: u64 = 1 << 14;

/// Up to so many sorted elements that someone takes together are selected.
const MANY: usize = 64;

/// Extents before an axis, along it, and after it.
pub(crate) fn about(shape: &[u64], axis: usize) -> [u64; 3] {
    [shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product()]
}

/// A position that is read along an axis, if the axis has it.
fn position(start: i64, step: i64, at: usize, extent: usize) -> Option<u64> {
    let place = i64::try_from(at).ok()?.checked_mul(step)?.checked_add(start)?;
    u64::try_from(place).ok().filter(|&place| place < extent as u64)
}

pub(crate) fn lower(op: &Sort, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let shape = to.shape(node.outputs[0]);
    if to.is_order_of_positions(op, node) {
        return Ok(vec![to.push_inverse(op.axis, &inputs[0])]);
    }
    let Some((other, both)) = to.sort_beside(op, node) else { return lower_alone(op, to, node, inputs) };
    let [values, indices] = <[View; 2]>::try_from(lower_alone(&both, to, node, inputs)?)
        .map_err(|views| format!("a sort gives {} results, not values and positions", views.len()))?;
    debug_assert_eq!(values.shape, shape);
    let (own, beside) = if op.gives.values() { (values, indices) } else { (indices, values) };
    to.give(other, beside);
    Ok(vec![own])
}

/// The sort by itself.
fn lower_alone(op: &Sort, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let x = &inputs[0];
    let shape = to.shape(node.outputs[0]);
    let (n, kept) = (x.shape[op.axis], shape[op.axis]);
    let (dtype, values, indices) =
        (to.program.buffers[x.buffer].dtype, op.gives.values(), op.gives.indices());
    let descending = op.descending;
    let all = about(&x.shape, op.axis);
    let sorting = Sorting { dtype, shape: all, kept, descending, values, indices, only: None };
    let only = if op.gives == Sorted::Values && kept == n { to.places_read(op, node) } else { None };
    // A device that does not select, or not so many, sorts.
    let selecting = only.map(|only| Sorting { only: Some(only), ..sorting.clone() });
    for sorting in selecting.into_iter().chain([sorting]) {
        if !to.abilities.has(&sorting) {
            continue;
        }
        let input = to.whole(x);
        if let Some(views) = to.library(sorting, vec![(input, 0)], &[&shape, &shape]) {
            return Ok(views);
        }
    }
    if n > COUNTED {
        return Err(format!(
            "the device has no sort, and {n} elements are too many to count those before each"
        ));
    }
    let mut outputs = Vec::new();
    if values {
        outputs.push(to.temp(dtype, &shape));
    }
    if indices {
        outputs.push(to.temp(DType::I64, &shape));
    }
    let views = outputs.iter().map(|&b| View::whole(b, &shape)).collect();
    if kept > 0 {
        to.push_ranked(op, x, &shape, &outputs);
    }
    Ok(views)
}

impl Lowering<'_> {
    /// Whether it sorts the positions `0..n` and gives where each was: `argsort(argsort(x))`, the ranks.
    fn is_order_of_positions(&self, op: &Sort, node: &Node) -> bool {
        let extent = self.shapes.shapes[node.inputs[0] as usize][op.axis];
        op.gives == Sorted::Indices
            && !op.descending
            && op.first.is_none()
            && extent > 1
            && self.is_distinct_along(node.inputs[0], op.axis)
            && self.stays_within(node.inputs[0], 0, extent as i128)
    }

    /// Where each of the positions in `x` is along the axis.
    fn push_inverse(&mut self, axis: usize, x: &View) -> View {
        let target = self.temp(DType::I64, &x.shape);
        let mut nest = NestBuilder::new("inverse", &x.shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let mut at = At::axes(x.shape.len());
        let position = point.load(x, &at);
        let position = point.convert(position, DType::I64);
        at[axis] = At::Value(point.nearest(position, x.shape[axis]));
        let here = point.axis(axis);
        point.store(target, &x.shape, &at, here, None);
        point.finish();
        self.push(nest);
        View::whole(target, &x.shape)
    }

    /// The result of another sort of the same input that is still to come, where one gives the values and the
    /// other the positions, and the sort that gives both. None where a few of the values are selected.
    fn sort_beside(&self, op: &Sort, node: &Node) -> Option<(VarId, Sort)> {
        let both = Sort { gives: Sorted::Both, ..*op };
        let wanted = match op.gives {
            Sorted::Values => Sort { gives: Sorted::Indices, ..*op },
            _ => Sort { gives: Sorted::Values, ..*op },
        };
        let selects = |op: &Sort, node: &Node| {
            op.gives == Sorted::Values && op.first.is_none() && self.places_read(op, node).is_some()
        };
        let beside = |&at: &usize| {
            let other = &self.graph.nodes[at];
            let is_wanted = other.op.id() == wanted.id() && other.op.attributes() == wanted.attributes();
            let is_next = at > self.node && is_done(other, self.shapes, &self.needed);
            (is_wanted && is_next && !selects(&wanted, other)).then_some(other.outputs[0])
        };
        let alone = op.gives == Sorted::Both || selects(op, node);
        let readers = &self.readers()[node.inputs[0] as usize];
        let found = if alone { None } else { readers.iter().find_map(beside) };
        found.map(|other| (other, both))
    }

    /// The positions along the axis that are read of the sorted elements, where all readers take a few that
    /// are known.
    fn places_read(&self, op: &Sort, node: &Node) -> Option<Vec<u64>> {
        let readers = self.readers();
        let mut places = BTreeSet::new();
        // Sorted elements, which may lie transposed, and where the axis is.
        let mut sorted = vec![(node.outputs[0], op.axis)];
        while let Some((id, axis)) = sorted.pop() {
            if self.graph.roots().any(|root| root == id) {
                return None;
            }
            let extent = *self.shapes.shapes[id as usize].get(axis)?;
            for reader in readers[id as usize].iter().map(|&at| &self.graph.nodes[at]) {
                if !is_done(reader, self.shapes, &self.needed) {
                    continue;
                }
                let known = self.known_inputs(reader);
                for input in (0..known.len()).filter(|&input| reader.inputs[input] == id) {
                    match reader.op.axis_read(input, axis, &known) {
                        AxisRead::Passed(to) => sorted.push((*reader.outputs.first()?, to)),
                        AxisRead::Slice { start, step, count } if count <= MANY => {
                            for at in 0..count {
                                places.insert(position(start, step, at, extent)?);
                            }
                        }
                        AxisRead::Slice { .. } | AxisRead::All => return None,
                    }
                }
            }
        }
        Some(places.into_iter().collect())
    }

    /// How many elements of its row come before each is where it belongs.
    fn push_ranked(&mut self, op: &Sort, x: &View, shape: &[u64], outputs: &[BufferId]) {
        let float = self.program.buffers[x.buffer].dtype.is_float();
        let rank = shape.len();
        let mut nest = NestBuilder::new("rank", &x.shape, &[x.shape[op.axis]]);
        let mut phase = nest.phase(PhaseKind::Reduce, &self.program);
        let here = At::axes(rank);
        let mut there = here.clone();
        there[op.axis] = At::Axis(rank);
        let (a, b) = (phase.load(x, &here), phase.load(x, &there));
        // Whether b comes before a, and whether a comes before b.
        let (first, second) = if op.descending { (a, b) } else { (b, a) };
        let mut less = |x, y| {
            let less = phase.apply(scalar::LT, &[x, y]);
            if !float {
                return less;
            }
            let (nan, other) = (phase.apply(scalar::NE, &[y, y]), phase.apply(scalar::EQ, &[x, x]));
            let last = phase.apply(scalar::BITWISE_AND, &[nan, other]);
            phase.apply(scalar::BITWISE_OR, &[less, last])
        };
        let (before, after) = (less(first, second), less(second, first));
        let (mine, other) = (phase.axis(op.axis), phase.axis(rank));
        let earlier = phase.apply(scalar::LT, &[other, mine]);
        let no = {
            let zero = phase.number(DType::Bool, 0);
            phase.apply(scalar::EQ, &[after, zero])
        };
        let tie = phase.apply(scalar::BITWISE_AND, &[no, earlier]);
        let before = phase.apply(scalar::BITWISE_OR, &[before, tie]);
        let before = phase.convert(before, DType::I64);
        let fold = phase.fold(Fold::Sum, before, None);
        let reduce = phase.finish();
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let place = point.folded(reduce, fold, DType::I64);
        let kept = point.number(DType::I64, shape[op.axis] as i128);
        let wanted = point.apply(scalar::LT, &[place, kept]);
        let place = point.nearest(place, shape[op.axis]);
        let mut at = here.clone();
        at[op.axis] = At::Value(place);
        let (value, position) = (point.load(x, &here), point.axis(op.axis));
        let results = op.gives.values().then_some(value).into_iter();
        for (&output, result) in outputs.iter().zip(results.chain(op.gives.indices().then_some(position))) {
            point.store(output, shape, &at, result, Some(wanted));
        }
        point.finish();
        self.push(nest);
    }
}
