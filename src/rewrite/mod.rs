//! Portable passes: they change how much is computed, never what, and never name a device.
//!
//! A pass is a pure function from graph to graph, most of them a local rule run by `transform` in topological order. A law of a
//! pass is one line in `tests/laws.rs`.

mod constant_folding;
mod lift;
mod merge;
mod rules;
mod simplify;
mod terms;

pub use constant_folding::fold_constants;
pub use lift::lift;
pub use merge::merge;
pub use simplify::simplify;
pub(crate) use simplify::variables as stabilized;

use crate::error::Result;
use crate::graph::{Def, FunctionGraph, Node, VarId};

/// A pass.
pub type Pass = fn(&FunctionGraph) -> Result<FunctionGraph>;

/// The passes of `compile`, in order, by name.
pub const PASSES: &[(&str, Pass)] = &[
    ("merge", merge),
    ("simplify", simplify),
    ("lift", lift),
    ("fold_constants", fold_constants),
    ("simplify again", simplify),
    ("merge again", merge),
    ("prune", prune),
];

/// Runs all passes.
///
/// # Errors
/// If a pass breaks the graph, which would be our mistake.
pub fn rewrite(graph: FunctionGraph) -> Result<FunctionGraph> {
    PASSES.iter().try_fold(graph, |graph, (_, pass)| {
        let next = pass(&graph)?;
        debug_assert!(crate::graph::verify(&next).is_ok(), "{:?}", crate::graph::verify(&next));
        Ok(next)
    })
}

/// Rebuilds a graph node by node, in order. `rule` sees the new graph, a node and its inputs in the new graph, and may give the outputs
/// that take the place of the node's; otherwise the node is kept.
pub(crate) fn transform(
    old: &FunctionGraph,
    mut rule: impl FnMut(&mut FunctionGraph, &Node, &[VarId]) -> Result<Option<Vec<VarId>>>,
) -> Result<FunctionGraph> {
    let mut new = FunctionGraph::default();
    let mut map: Vec<VarId> = vec![VarId::MAX; old.vars.len()];
    for (id, var) in old.vars.iter().enumerate() {
        if !matches!(var.def, Def::Output { .. }) {
            map[id] = new.add_var(var.ty.clone(), var.name.as_deref(), var.def.clone());
        }
    }
    for node in &old.nodes {
        let inputs: Vec<VarId> = node.inputs.iter().map(|&i| map[i as usize]).collect();
        new.place = node.place;
        let outputs = match rule(&mut new, node, &inputs)? {
            Some(outputs) => outputs,
            None => {
                let types = node.outputs.iter().map(|&o| old.var(o).ty.clone()).collect();
                new.add_node(node.op.clone(), inputs, types)
            }
        };
        for (&from, &to) in node.outputs.iter().zip(&outputs) {
            map[from as usize] = to;
            let unnamed = new.vars[to as usize].name.is_none();
            if let (true, Some(name)) = (unnamed, &old.var(from).name) {
                new.vars[to as usize].name = Some(name.clone());
            }
        }
    }
    let find = |id: &VarId| map[*id as usize];
    new.inputs = old.inputs.iter().map(find).collect();
    new.shared = old.shared.iter().map(find).collect();
    new.outputs = old.outputs.iter().map(find).collect();
    new.updates = old.updates.iter().map(|(s, v)| (*s, find(v))).collect();
    Ok(new)
}

/// Drops nodes and constants that nothing reads. Inputs and shared variables stay.
///
/// # Errors
/// Never.
pub fn prune(old: &FunctionGraph) -> Result<FunctionGraph> {
    let mut used = vec![false; old.vars.len()];
    for id in old.roots() {
        used[id as usize] = true;
    }
    for node in old.nodes.iter().rev() {
        if node.outputs.iter().any(|&o| used[o as usize]) {
            for &input in &node.inputs {
                used[input as usize] = true;
            }
        }
    }
    let mut new = FunctionGraph::default();
    let mut map: Vec<VarId> = vec![VarId::MAX; old.vars.len()];
    for (id, var) in old.vars.iter().enumerate() {
        let keep = match var.def {
            Def::Output { .. } => false,
            Def::Constant(_) => used[id],
            _ => true,
        };
        if keep {
            map[id] = new.add_var(var.ty.clone(), var.name.as_deref(), var.def.clone());
        }
    }
    for node in old.nodes.iter().filter(|n| n.outputs.iter().any(|&o| used[o as usize])) {
        let inputs = node.inputs.iter().map(|&i| map[i as usize]).collect();
        let types = node.outputs.iter().map(|&o| old.var(o).ty.clone()).collect();
        new.place = node.place;
        for (&from, to) in node.outputs.iter().zip(new.add_node(node.op.clone(), inputs, types)) {
            map[from as usize] = to;
            new.vars[to as usize].name.clone_from(&old.var(from).name);
        }
    }
    let find = |id: &VarId| map[*id as usize];
    new.inputs = old.inputs.iter().map(find).collect();
    new.shared = old.shared.iter().map(find).collect();
    new.outputs = old.outputs.iter().map(find).collect();
    new.updates = old.updates.iter().map(|(s, v)| (*s, find(v))).collect();
    Ok(new)
}
