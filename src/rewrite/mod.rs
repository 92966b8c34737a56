//! Portable rewrites: they change how much is computed, never what, and never name a device.
//!
//! A [`Pass`] is a pure function from graph to graph. A [`Rule`] is local: it replaces an op, given its
//! inputs; the pass `simplify` applies all rules in topological order. [`Rewrites`] holds passes and rules,
//! this library's and added ones; [`FunctionBuilder::rewrites`](crate::function::FunctionBuilder::rewrites)
//! takes it. Each rule has a law: a test of its name in `tests/laws/`.

mod constant_folding;
mod hoist;
mod lift;
mod merge;
mod mirror;
mod pass;
mod prune;
mod rewrites;
mod rule;
mod rules;
mod simplify;
mod terms;

pub use constant_folding::fold_constants;
pub use hoist::hoist;
pub use lift::lift;
pub use merge::merge;
pub use pass::Pass;
pub use prune::prune;
pub use rewrites::Rewrites;
pub use rule::{Rule, argument, uniform};
pub(crate) use simplify::variables as stabilized;

use crate::error::Result;
use crate::graph::{Def, FunctionGraph, Node, TensorType, VarId};

/// Rebuilds a graph node by node, in order. `rule` gets the new graph, a node and its inputs in the new
/// graph, and may return outputs that replace the node's; otherwise the node is kept. Outputs whose types are
/// less precise than the node's do not replace it, since a reader may need what its type says. More precise
/// types are carried on to all readers.
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
        let declared = |at: usize| &old.var(node.outputs[at]).ty;
        let replaced = rule(&mut new, node, &inputs)?;
        let precise = |outputs: &Vec<VarId>| {
            outputs.iter().enumerate().all(|(at, &to)| declared(at).includes(&new.var(to).ty))
        };
        let outputs = match replaced.filter(precise) {
            Some(outputs) => outputs,
            None => {
                let types = types(&new, node, &inputs, |at| declared(at).clone());
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

/// The types of a node's outputs for inputs in a new graph, which may have more precise types than before.
/// `declared` are the types before, which hold too.
pub(crate) fn types(
    new: &FunctionGraph,
    node: &Node,
    inputs: &[VarId],
    declared: impl Fn(usize) -> TensorType,
) -> Vec<TensorType> {
    let given: Vec<&TensorType> = inputs.iter().map(|&id| &new.var(id).ty).collect();
    // An op that refuses the types is reported by the verifier.
    let made = node.op.types(&given).ok().filter(|made| made.len() == node.outputs.len());
    let known = |at: usize| {
        let mut ty = declared(at);
        let Some(made) = made.as_ref().map(|made| &made[at]) else { return ty };
        for (extent, made) in ty.shape.iter_mut().zip(&made.shape) {
            // What was not known before may be 1 and broadcast: rules must not take it for known.
            if extent.is_none() && *made != Some(1) {
                *extent = *made;
            }
        }
        ty
    };
    (0..node.outputs.len()).map(known).collect()
}
