//! Reshape: a view where the elements lie in order.

use crate::graph::Node;
use crate::lower::{Lowered, Lowering, View};

impl Lowering<'_> {
    pub(crate) fn reshape(&mut self, node: &Node, inputs: &[View]) -> Lowered {
        let shape = self.shape(node.outputs[0]);
        if let Some(view) = inputs[0].reshape(&shape) {
            return Ok(vec![view]);
        }
        let copy = self.own_copy(&inputs[0]);
        Ok(vec![View::whole(copy.buffer, &shape)])
    }
}
