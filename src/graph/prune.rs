//! Prune: drops what is not read, unless it has an effect.

use super::function_graph::{Def, FunctionGraph, Node, VarId};
use super::tensor_type::TensorType;
use crate::error::Result;
use crate::op::Narrowed;
use std::collections::HashMap;

/// Drops nodes and constants that are not read, and results of nodes that are not read, where the op can
/// leave them out. Inputs and shared variables stay, and so do nodes with an effect: a rule may have made
/// their results unnecessary, but not their checks.
///
/// # Errors
/// Never.
pub fn prune(old: &FunctionGraph) -> Result<FunctionGraph> {
    Ok(without_unread_nodes(old, |node| node.op.has_effect()).0)
}

/// A graph without unread nodes, unless `stays` accepts them, and the positions of its nodes in `old`.
pub(crate) fn without_unread_nodes(
    old: &FunctionGraph,
    stays: impl Fn(&Node) -> bool,
) -> (FunctionGraph, Vec<usize>) {
    let mut used = vec![false; old.vars.len()];
    for id in old.roots() {
        used[id as usize] = true;
    }
    let needed = |node: &Node, used: &[bool]| stays(node) || node.outputs.iter().any(|&o| used[o as usize]);
    let mut narrowed: HashMap<usize, Narrowed> = HashMap::new();
    for (position, node) in old.nodes.iter().enumerate().rev() {
        if !needed(node, &used) {
            continue;
        }
        let read: Vec<bool> = node.outputs.iter().map(|&o| used[o as usize]).collect();
        let given: Vec<&TensorType> = node.inputs.iter().map(|&input| &old.var(input).ty).collect();
        match node.op.narrowed(&read, &given) {
            Some(less) => {
                less.inputs.iter().for_each(|&at| used[node.inputs[at] as usize] = true);
                narrowed.insert(position, less);
            }
            None => node.inputs.iter().for_each(|&input| used[input as usize] = true),
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
    let mut positions = Vec::new();
    for (position, node) in old.nodes.iter().enumerate().filter(|(_, node)| needed(node, &used)) {
        positions.push(position);
        let (op, inputs, outputs) = match narrowed.remove(&position) {
            Some(Narrowed { op, inputs, outputs }) => {
                let of = |from: &[VarId], list: Vec<usize>| list.into_iter().map(|at| from[at]).collect();
                (op, of(&node.inputs, inputs), of(&node.outputs, outputs))
            }
            None => (node.op.clone(), node.inputs.clone(), node.outputs.clone()),
        };
        let inputs = inputs.iter().map(|&i| map[i as usize]).collect();
        let types = outputs.iter().map(|&o| old.var(o).ty.clone()).collect();
        new.place = node.place;
        for (&from, to) in outputs.iter().zip(new.add_node(op, inputs, types)) {
            map[from as usize] = to;
            new.vars[to as usize].name.clone_from(&old.var(from).name);
        }
    }
    new.take_roots(old, &map);
    (new, positions)
}
