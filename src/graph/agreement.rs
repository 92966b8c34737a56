//! Which values of a graph are the same for all members of a group, whatever their inputs are. Members that
//! exchange arrays where only some of them come wait forever, so what decides whether an exchange runs has to
//! be such a value.

use super::function_graph::{Def, FunctionGraph};
use crate::error::Result;
use crate::op::Op;
use std::collections::BTreeSet;

impl FunctionGraph {
    /// For each Var whether all members of a group have the same value, given for which inputs and shared
    /// variables that holds.
    ///
    /// # Errors
    /// If members may take different ways, one of which exchanges arrays: names the node.
    pub(crate) fn agreement(&self, group: &str, inputs: &[bool], shared: &[bool]) -> Result<Vec<bool>> {
        let mut agree: Vec<bool> = self
            .vars
            .iter()
            .map(|var| match var.def {
                Def::Input(at) => inputs.get(at as usize).copied().unwrap_or(false),
                Def::Shared(at) => shared.get(at as usize).copied().unwrap_or(false),
                Def::Constant(_) => true,
                Def::Output { .. } => false,
            })
            .collect();
        for (position, node) in self.nodes.iter().enumerate() {
            let given: Vec<bool> = node.inputs.iter().map(|&id| agree[id as usize]).collect();
            let results = node.op.agreement(group, &given, node.outputs.len());
            let results = results.map_err(|message| node.failed(position, &message))?;
            for (&id, result) in node.outputs.iter().zip(results) {
                agree[id as usize] = result;
            }
        }
        Ok(agree)
    }

    /// Checks that all members of each group make the same exchanges, in any call: inputs are each member's
    /// own; shared variables begin with the same values. Where members do no more than to
    /// [divide](crate::function::Function::data_parallel) the work of a Function, what decides is the same
    /// for all: each is given the same inputs, or parts of equal shapes.
    ///
    /// # Errors
    /// As [`FunctionGraph::agreement`].
    pub(crate) fn check_exchanges(&self) -> Result<()> {
        let mut groups = BTreeSet::new();
        self.joint_groups(&mut groups);
        groups.iter().try_for_each(|group| self.check_exchanges_of(group))
    }

    fn check_exchanges_of(&self, group: &str) -> Result<()> {
        let mut shared = vec![true; self.shared.len()];
        loop {
            let agree = self.agreement(group, &vec![false; self.inputs.len()], &shared)?;
            let parts = |&(at, id): &(u32, u32)| shared[at as usize] && !agree[id as usize];
            let apart: Vec<u32> = self.updates.iter().filter(|update| parts(update)).map(|u| u.0).collect();
            if apart.is_empty() {
                return Ok(());
            }
            apart.into_iter().for_each(|at| shared[at as usize] = false);
        }
    }

    /// The groups whose members exchange arrays, and not only to divide work.
    fn joint_groups<'g>(&'g self, found: &mut BTreeSet<&'g str>) {
        for node in &self.nodes {
            let group = node.op.group().filter(|group| node.op.is_joint() && !group.divides);
            found.extend(group.map(|group| group.name.as_str()));
            node.op.bodies().into_iter().for_each(|body| body.joint_groups(found));
        }
    }

    /// Whether members exchange arrays in it, if there are several.
    pub(crate) fn exchanges(&self) -> bool {
        self.any_op(&|op| op.is_joint())
    }

    /// Whether members of a group do.
    pub(crate) fn exchanges_in(&self, group: &str) -> bool {
        self.any_op(&|op| op.is_joint() && op.group().is_some_and(|own| own.name == group))
    }

    /// Whether members exchange arrays in these nodes.
    pub(crate) fn exchanges_at(&self, nodes: &[usize]) -> bool {
        let joint = |op: &dyn Op| op.is_joint() || op.bodies().into_iter().any(|body| body.exchanges());
        nodes.iter().any(|&node| joint(self.nodes[node].op.as_ref()))
    }

    /// Whether a member exchanges arrays with others in it.
    pub(crate) fn exchanges_with_others(&self) -> bool {
        self.any_op(&|op| op.is_joint() && op.group().is_some_and(|group| group.size() > 1))
    }

    /// Whether this holds for an op, or one in its bodies.
    fn any_op(&self, holds: &dyn Fn(&dyn Op) -> bool) -> bool {
        let mut ops = self.nodes.iter().map(|node| &node.op);
        ops.any(|op| holds(op.as_ref()) || op.bodies().into_iter().any(|body| body.any_op(holds)))
    }
}
