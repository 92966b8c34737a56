//! Portable rewrites: they change how much is computed, never what, and never name a device.
//!
//! A [`Pass`] is a pure function from graph to graph. A [`Rule`] is local: it replaces an op, given its
//! inputs; the pass `simplify` applies all rules in topological order. [`Rewrites`] holds passes and rules,
//! this library's and added ones; [`FunctionBuilder::rewrites`](crate::function::FunctionBuilder::rewrites)
//! takes it. Each rule has a law: a test of its name in `tests/laws/`.

mod constant_folding;
mod hoist;
mod join_loops;
mod lift;
mod merge;
mod mirror;
mod pairs;
mod pass;
mod rewrites;
mod rule;
mod rules;
mod simplify;
mod subgraph;
mod terms;

pub use constant_folding::fold_constants;
pub use hoist::hoist;
pub use join_loops::join_loops;
pub use lift::lift;
pub use merge::merge;
pub use pairs::pairs;
pub use pass::Pass;
pub use rewrites::Rewrites;
pub use rule::{Rule, argument};
pub(crate) use simplify::variables as stabilized;
pub(crate) use subgraph::extract_subgraph;

pub use crate::graph::prune::prune;
pub use crate::ops::splat::uniform;

use crate::error::Result;
use crate::graph::{Def, FunctionGraph, Node, TensorType, VarId};

/// Rebuilds a graph node by node, in order. `rule` gets the new graph, a node and its inputs in the new
/// graph, and may return outputs that replace the node's, as for [`Rebuilt::put`].
pub(crate) fn transform(
    old: &FunctionGraph,
    mut rule: impl FnMut(&mut FunctionGraph, &Node, &[VarId]) -> Result<Option<Vec<VarId>>>,
) -> Result<FunctionGraph> {
    let mut copy = Rebuilt::new(old);
    for node in &old.nodes {
        let inputs = copy.inputs(node);
        let replaced = rule(&mut copy.new, node, &inputs)?;
        copy.put(node, inputs, replaced);
    }
    Ok(copy.finish())
}

/// A graph that is rebuilt.
struct Rebuilt<'a> {
    old: &'a FunctionGraph,
    new: FunctionGraph,
    /// For each Var its own in the new graph.
    map: Vec<VarId>,
}

impl<'a> Rebuilt<'a> {
    /// A copy without nodes.
    fn new(old: &'a FunctionGraph) -> Rebuilt<'a> {
        let mut copy = Rebuilt { old, new: FunctionGraph::default(), map: vec![VarId::MAX; old.vars.len()] };
        for (id, var) in old.vars.iter().enumerate() {
            if !matches!(var.def, Def::Output { .. }) {
                copy.map[id] = copy.new.add_var(var.ty.clone(), var.name.as_deref(), var.def.clone());
            }
        }
        copy
    }

    /// A node's inputs in the new graph, to which nodes are added at the node's place from now on.
    fn inputs(&mut self, node: &Node) -> Vec<VarId> {
        self.new.place = node.place;
        node.inputs.iter().map(|&input| self.map[input as usize]).collect()
    }

    /// Copies a node, or has other outputs replace its own. Outputs whose types are less precise than the
    /// node's do not replace it, since a reader may need what its type says. More precise types are carried
    /// on to all readers.
    fn put(&mut self, node: &Node, inputs: Vec<VarId>, replaced: Option<Vec<VarId>>) {
        let Rebuilt { old, new, map } = self;
        let declared = |at: usize| &old.var(node.outputs[at]).ty;
        let precise = |outputs: &Vec<VarId>| {
            outputs.iter().enumerate().all(|(at, &to)| declared(at).includes(&new.var(to).ty))
        };
        let outputs = match replaced.filter(precise) {
            Some(outputs) => outputs,
            None => {
                let types = types(new, node, &inputs, |at| declared(at).clone());
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

    /// The new graph.
    fn finish(self) -> FunctionGraph {
        let Rebuilt { old, mut new, map } = self;
        new.take_roots(old, &map);
        new
    }
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
