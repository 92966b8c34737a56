//! The expressions that a Function was compiled from, as long as it lives in this process: files hold its
//! graph alone.

use crate::error::Result;
use crate::graph::{Cell, FunctionGraph, Variable, ancestors, rebuild, verify};
use crate::rewrite::Rewrites;
use std::collections::HashMap;
use std::sync::Arc;

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct FunctionSource {
    pub(crate) inputs: Vec<Variable>,
    /// After givens.
    pub(crate) outputs: Vec<Variable>,
    /// After givens, default updates included.
    pub(crate) updates: Vec<(Arc<Cell>, Variable)>,
    pub(crate) givens: Vec<(Variable, Variable)>,
    /// The ids of its shared variables, in the Function's order. A fork has other ids.
    pub(crate) cells: Vec<u128>,
    /// The passes and rules that it was compiled with.
    pub(crate) rewrites: Arc<Rewrites>,
}

impl FunctionSource {
    /// The optimized graph with further updates, written as the user wrote the Function; and its shared
    /// variables.
    pub(crate) fn with_updates(
        &self,
        further: &[(Arc<Cell>, Variable)],
    ) -> Result<(FunctionGraph, Vec<Arc<Cell>>)> {
        let mut known: HashMap<_, Variable> =
            self.givens.iter().map(|(from, to)| (from.key(), to.clone())).collect();
        let written: Vec<Variable> = further.iter().map(|u| u.1.clone()).collect();
        let replaced = rebuild(&written, &mut known, |_, _| Ok(None))?;
        let further = further.iter().zip(replaced).map(|((cell, _), value)| (cell.clone(), value));
        let updates: Vec<_> = self.updates.iter().cloned().chain(further).collect();
        let (graph, cells) = FunctionGraph::import(&self.inputs, &self.outputs, &updates)?;
        let graph = self.rewrites.run(graph)?;
        verify(&graph)?;
        Ok((graph, cells))
    }

    /// The Variables of this name that outputs or updates depend on.
    pub(crate) fn named(&self, name: &str) -> Vec<Variable> {
        let updates = self.updates.iter().map(|u| u.1.clone());
        let roots: Vec<Variable> = self.outputs.iter().cloned().chain(updates).collect();
        let mut found: Vec<Variable> = vec![];
        for variable in ancestors(&roots, |_| false).into_iter().chain(roots) {
            if variable.name() == Some(name) && !found.iter().any(|f| f.key() == variable.key()) {
                found.push(variable);
            }
        }
        found
    }
}
