//! Joins: each input is written to its place in the result.

use super::Join;
use crate::graph::Node;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};
use workalike_kernels::nest::PhaseKind;

pub(crate) fn lower(op: &Join, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let shape = to.shape(node.outputs[0]);
    let dtype = to.dtype(node.outputs[0]);
    let target = to.temp(dtype, &shape);
    to.program.buffers[target].mutable = true;
    let whole = View::whole(target, &shape);
    let mut start = 0;
    for input in inputs {
        let len = input.shape[op.axis];
        let place = whole.slice(op.axis, start, 1, Some(len), None);
        let mut nest = NestBuilder::new("join", &place.shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &to.program);
        let at = At::axes(shape.len());
        let value = point.load(input, &at);
        point.store_view(&place, &at, value);
        point.finish();
        to.push(nest);
        start += len as i64;
    }
    Ok(vec![whole])
}
