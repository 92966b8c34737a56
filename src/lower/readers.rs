//! Which nodes read a Var, and which part of it: an op computes only what its readers need.

use super::Lowering;
use crate::graph::{Def, Node, VarId};
use crate::op::Known;

impl Lowering<'_> {
    /// For each Var, the nodes that read it.
    pub(crate) fn readers(&self) -> &[Vec<usize>] {
        self.readers.get_or_init(|| {
            let mut readers = vec![vec![]; self.graph.vars.len()];
            for (at, node) in self.graph.nodes.iter().enumerate() {
                node.inputs.iter().for_each(|&id| readers[id as usize].push(at));
            }
            readers
        })
    }

    /// The extents of a node's inputs, and the values that constants and extents decide.
    pub(crate) fn known_inputs(&self, node: &Node) -> Vec<Known<'_>> {
        let known = |&id: &VarId| {
            let constant = || match &self.graph.var(id).def {
                Def::Constant(value) => Some(value),
                _ => None,
            };
            let value = self.shapes.fixed[id as usize].as_ref().or_else(constant);
            Known { dtype: self.graph.var(id).ty.dtype, shape: &self.shapes.shapes[id as usize], value }
        };
        node.inputs.iter().map(known).collect()
    }

    /// Whether the data of a Var are computed, because a node that is done reads them or they are results.
    pub fn is_computed(&self, id: VarId) -> bool {
        self.needed[id as usize]
    }
}
