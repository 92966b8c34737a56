//! A part of a graph as a graph of its own.

use crate::graph::prune::without_unread_nodes;
use crate::graph::{FunctionGraph, VarId};
use crate::ops::Print;
use std::collections::HashMap;

/// What some Vars of a graph depend on, as a graph of the same inputs and shared variables, whose outputs
/// they are, and the positions of its nodes in the whole. It updates nothing and prints nothing.
pub(crate) fn extract_subgraph(graph: &FunctionGraph, outputs: &[VarId]) -> (FunctionGraph, Vec<usize>) {
    let mut whole = FunctionGraph { outputs: outputs.to_vec(), updates: vec![], ..graph.clone() };
    let mut printed: HashMap<VarId, VarId> = HashMap::new();
    let instead = |printed: &HashMap<VarId, VarId>, id: &mut VarId| *id = *printed.get(id).unwrap_or(id);
    for node in &mut whole.nodes {
        node.inputs.iter_mut().for_each(|input| instead(&printed, input));
        if node.op.downcast::<Print>().is_some() {
            printed.extend(node.outputs.iter().copied().zip(node.inputs.iter().copied()));
        }
    }
    whole.outputs.iter_mut().for_each(|output| instead(&printed, output));
    without_unread_nodes(&whole, |_| false)
}
