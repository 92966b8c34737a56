//! Which nodes read a Var, and what of it: an op computes less where its readers need less.

use super::Lowering;
use super::program::BufferId;
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

    /// Leaves positions out, because all nodes that read them take elements by this mask. False if one of
    /// them was seen not to.
    pub(crate) fn leave_out(&mut self, positions: VarId, mask: BufferId) -> bool {
        let left_out = !self.computed.contains(&positions);
        if left_out {
            self.masks.insert(positions, mask);
        }
        left_out
    }

    /// Checks that the current node has all that it reads. If not, its positions are computed after all: the
    /// graph is lowered again.
    pub(super) fn check_masks(&mut self, node: &Node, on_device: bool) {
        let by_mask = std::mem::take(&mut self.by_mask);
        for id in node.inputs.iter().filter(|id| self.masks.contains_key(*id)) {
            if !on_device || by_mask != Some(*id) {
                self.computed.insert(*id);
                self.incomplete = true;
            }
        }
    }
}
