//! Joins: each input is written to its place in the result.

use crate::graph::Node;
use crate::kernels::nest::PhaseKind;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};
use crate::ops::Join;

impl Lowering<'_> {
    pub(crate) fn join(&mut self, op: &Join, node: &Node, inputs: &[View]) -> Lowered {
        let shape = self.shape(node.outputs[0]);
        let dtype = self.dtype(node.outputs[0]);
        let target = self.temp(dtype, &shape);
        self.program.buffers[target].mutable = true;
        let whole = View::whole(target, &shape);
        let mut start = 0;
        for input in inputs {
            let len = input.shape[op.axis];
            let place = whole.slice(op.axis, start, 1, Some(len), None);
            let mut nest = NestBuilder::new("join", &place.shape, &[]);
            let mut point = nest.phase(PhaseKind::Point, &self.program);
            let at = At::axes(shape.len());
            let value = point.load(input, &at);
            point.store_view(&place, &at, value);
            point.finish();
            self.push(nest);
            start += len as i64;
        }
        Ok(vec![whole])
    }
}
