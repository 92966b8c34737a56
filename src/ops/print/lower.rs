//! A value that a host node prints. Later steps read it as it is.

use super::Print;
use crate::graph::Node;
use crate::lower::program::{HostNode, Step};
use crate::lower::{Lowered, Lowering, View};

/// A host node without a result; the value's view is returned.
pub(crate) fn lower(_: &Print, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let given = to.whole(&inputs[0]);
    let why = "a value is told where the host can see it".into();
    let (op, outputs, exchange) = (node.op.clone(), vec![], None);
    let told = HostNode { op, node: to.node, why, inputs: vec![given], outputs, exchange };
    to.program.steps.push(Step::Host(told));
    Ok(vec![inputs[0].clone()])
}
