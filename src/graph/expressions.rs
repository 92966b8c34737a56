//! A flat graph as expressions again.

use super::function_graph::{Def, FunctionGraph, Node, VarId};
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
        self.interpret(
            roots,
            |def| FunctionGraph::leaf(def, inputs, shared),
            |node, given| {
                let made = Variable::apply_at(node.op.clone(), given, source_location::here())?;
                Ok(self.with_names(node, made))
            },
        )
    }

    /// What these Vars are, where `leaf` says what inputs, shared variables and constants are, and `work` what
    /// the outputs of a node are, given its inputs. Only what the Vars depend on is visited, in order.
    ///
    /// # Errors
    /// Those of `leaf` and `work`.
    pub(crate) fn interpret<T: Clone>(
        &self,
        roots: &[VarId],
        leaf: impl Fn(&Def) -> Result<T>,
        mut work: impl FnMut(&Node, &[T]) -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        let missing = || Error::Internal("a graph reads what is not there".into());
        let needed = self.needed(roots);
        let mut known: Vec<Option<T>> = vec![None; self.vars.len()];
        for ((var, needed), known) in self.vars.iter().zip(&needed).zip(&mut known) {
            if *needed && !matches!(var.def, Def::Output { .. }) {
                *known = Some(leaf(&var.def)?);
            }
        }
        for node in &self.nodes {
            if !node.outputs.iter().any(|&id| needed[id as usize]) {
                continue;
            }
            let given: Option<Vec<T>> = node.inputs.iter().map(|&id| known[id as usize].clone()).collect();
            let made = work(node, &given.ok_or_else(missing)?)?;
            node.outputs.iter().zip(made).for_each(|(&id, made)| known[id as usize] = Some(made));
        }
        roots.iter().map(|&id| known[id as usize].clone().ok_or_else(missing)).collect()
    }

    /// The Variable of an input, a shared variable or a constant.
    ///
    /// # Errors
    /// If it is none of these.
    pub(crate) fn leaf(def: &Def, inputs: &[Variable], shared: &[Variable]) -> Result<Variable> {
        let found = match def {
            Def::Input(at) => inputs.get(*at as usize).cloned(),
            Def::Shared(at) => shared.get(*at as usize).cloned(),
            Def::Constant(value) => Some(Variable::constant(value)),
            Def::Output { .. } => None,
        };
        found.ok_or_else(|| Error::Internal("a graph reads what is not there".into()))
    }

    /// A node's outputs under their names.
    pub(crate) fn with_names(&self, node: &Node, made: Vec<Variable>) -> Vec<Variable> {
        let named = |(&id, variable): (&VarId, Variable)| match &self.var(id).name {
            Some(name) => variable.named(name),
            None => variable,
        };
        node.outputs.iter().zip(made).map(named).collect()
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
