//! A flat graph as expressions again.

use super::function_graph::{Def, FunctionGraph, VarId};
use super::source_location;
use super::variable::Variable;
use crate::error::{Error, Result};

impl FunctionGraph {
    /// The Variables of these Vars, with its inputs and shared variables replaced. Only what they depend on
    /// is built.
    ///
    /// # Errors
    /// If an op refuses the types of the given inputs.
    pub(crate) fn expressions(
        &self,
        inputs: &[Variable],
        shared: &[Variable],
        roots: &[VarId],
    ) -> Result<Vec<Variable>> {
        let missing = || Error::Internal("a graph reads what is not there".into());
        let needed = self.needed(roots);
        let mut known: Vec<Option<Variable>> = Vec::with_capacity(self.vars.len());
        for (var, needed) in self.vars.iter().zip(&needed) {
            known.push(match &var.def {
                _ if !needed => None,
                Def::Input(at) => Some(inputs.get(*at as usize).ok_or_else(missing)?.clone()),
                Def::Shared(at) => Some(shared.get(*at as usize).ok_or_else(missing)?.clone()),
                Def::Constant(value) => Some(Variable::constant(value)),
                Def::Output { .. } => None,
            });
        }
        for node in &self.nodes {
            if !node.outputs.iter().any(|&id| needed[id as usize]) {
                continue;
            }
            let given: Option<Vec<Variable>> =
                node.inputs.iter().map(|&id| known[id as usize].clone()).collect();
            let made =
                Variable::apply_at(node.op.clone(), &given.ok_or_else(missing)?, source_location::here())?;
            for (&id, variable) in node.outputs.iter().zip(made) {
                known[id as usize] = Some(match &self.var(id).name {
                    Some(name) => variable.named(name),
                    None => variable,
                });
            }
        }
        roots.iter().map(|&id| known[id as usize].clone().ok_or_else(missing)).collect()
    }

    /// Which Vars these roots depend on.
    fn needed(&self, roots: &[VarId]) -> Vec<bool> {
        let mut needed = vec![false; self.vars.len()];
        roots.iter().for_each(|&id| needed[id as usize] = true);
        for node in self.nodes.iter().rev() {
            if node.outputs.iter().any(|&id| needed[id as usize]) {
                node.inputs.iter().for_each(|&id| needed[id as usize] = true);
            }
        }
        needed
    }
}
