//! Prune: drops what is not read, unless it has an effect.

use crate::error::Result;
use crate::graph::{Def, FunctionGraph, Node, VarId};

/// Drops nodes and constants that are not read. Inputs and shared variables stay, and so do nodes with an
/// effect: a rule may have made their results unnecessary, but not their checks.
///
/// # Errors
/// Never.
pub fn prune(old: &FunctionGraph) -> Result<FunctionGraph> {
    let mut used = vec![false; old.vars.len()];
    for id in old.roots() {
        used[id as usize] = true;
    }
    let needed =
        |node: &Node, used: &[bool]| node.op.has_effect() || node.outputs.iter().any(|&o| used[o as usize]);
    for node in old.nodes.iter().rev() {
        if needed(node, &used) {
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
    for node in old.nodes.iter().filter(|node| needed(node, &used)) {
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
