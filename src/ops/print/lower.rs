//! A value that is told on the host, and passed on beside it.

use crate::graph::Node;
use crate::lower::program::{HostNode, Step};
use crate::lower::{Lowered, Lowering, View};

impl Lowering<'_> {
    /// A host node without a result, beside which the value passes.
    pub(crate) fn print(&mut self, node: &Node, inputs: &[View]) -> Lowered {
        let given = self.whole(&inputs[0]);
        let why = "a value is told where the host can see it".into();
        let told =
            HostNode { op: node.op.clone(), node: self.node, why, inputs: vec![given], outputs: vec![] };
        self.program.steps.push(Step::Host(told));
        Ok(vec![inputs[0].clone()])
    }
}
