//! Writes into a part: a copy of the whole, then a Nest that writes into the copy.

use super::IncSubtensor;
use super::lower::SliceStart;
use crate::graph::Node;
use crate::lower::program::BufferId;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};
use crate::ops::elemwise::lower::aligned;
use workalike_kernels::nest::PhaseKind;
use workalike_kernels::ops as scalar;

pub(crate) fn inc_subtensor(
    op: &IncSubtensor,
    to: &mut Lowering<'_>,
    node: &Node,
    inputs: &[View],
) -> Lowered {
    let (x, y) = (&inputs[0], &inputs[1]);
    let part = to.shapes.parts.get(&to.node).ok_or("the extents of the part are not known")?;
    let lens = crate::lower::wide(part);
    let parts = to.parts(&op.slots, &x.shape, &lens, &node.inputs[2..], &inputs[2..])?;
    let target = to.writable_copy(x);
    let mut place = View::whole(target, &x.shape);
    let mut axis = 0;
    for part in parts {
        let (start, dynamic) = match part.start {
            SliceStart::Fixed(start) => (start, None),
            SliceStart::Dynamic(buffer) => (0, Some(buffer)),
        };
        place = place.slice(axis, start, part.step, part.len, dynamic);
        axis += usize::from(part.len.is_some());
    }
    let shape = place.shape.clone();
    let mut nest = NestBuilder::new(if op.set { "set_part" } else { "inc_part" }, &shape, &[]);
    // Only an Ordered phase reads what it stores at a computed index.
    let computed = !op.set && place.dynamic.iter().any(|d| !d.is_empty());
    let kind = if computed { PhaseKind::Ordered } else { PhaseKind::Point };
    let mut point = nest.phase(kind, &to.program);
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
    to.push(nest);
    Ok(vec![View::whole(target, &x.shape)])
}

impl Lowering<'_> {
    /// A copy that later steps write into.
    pub(crate) fn writable_copy(&mut self, view: &View) -> BufferId {
        let copy = self.own_copy(view);
        self.program.buffers[copy.buffer].mutable = true;
        copy.buffer
    }
}
