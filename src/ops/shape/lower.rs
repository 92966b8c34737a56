//! Reshape: a view where the elements lie in order.

use super::Reshape;
use crate::graph::Node;
use crate::lower::{Lowered, Lowering, View};

pub(crate) fn reshape(_: &Reshape, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let shape = to.shape(node.outputs[0]);
    if let Some(view) = inputs[0].reshape(&shape) {
        return Ok(vec![view]);
    }
    let copy = to.own_copy(&inputs[0]);
    Ok(vec![View::whole(copy.buffer, &shape)])
}
