//! The order in which nodes are lowered: large exchanges of members begin as early as they can.
//!
//! Devices exchange arrays beside what does not depend on them, so a gradient is summed while those of
//! earlier layers are computed. But a graph begins with what its first output needs, then comes what each
//! update needs: the exchange for the first layer of a network, whose gradient is the last to be known, would
//! come first, and others behind it, since members make all exchanges in one order.
//!
//! The order follows from the graph and the shapes alone: members may have unlike devices. Small exchanges
//! share one at the end (`engine/fuse/buckets.rs`), and what they need is in the order of the graph.

use crate::graph::shapes::Shapes;
use crate::graph::{Def, FunctionGraph, Node};
use std::mem::replace;

/// The most bytes of an exchange that others share: see `engine/fuse/buckets.rs`. From about this size on an
/// exchange takes its time for the bytes (4 MiB at 100 GB/s are 40 us, an empty one takes 5 to 20), and one
/// that begins early overlaps with the steps behind it.
pub(crate) const SHARED_BYTES: u64 = 4 << 20;

/// Nodes that are looked at, at most: beyond it the order is the graph's.
const PATIENCE: usize = 1 << 24;

/// The positions of all nodes: large exchanges in the order of how many nodes they need, each directly behind
/// these, and then the others.
pub(super) fn order(graph: &FunctionGraph, shapes: &Shapes) -> Vec<usize> {
    let all = 0..graph.nodes.len();
    let large: Vec<usize> = all.clone().filter(|&at| is_large(graph, shapes, &graph.nodes[at])).collect();
    // What has an effect has its place.
    let acts = || graph.nodes.iter().any(|node| node.op.has_effect());
    if large.is_empty() || large.len().saturating_mul(graph.nodes.len()) > PATIENCE || acts() {
        return all.collect();
    }
    // An exchange that needs another needs more nodes than that one.
    let mut large: Vec<(usize, usize)> = large.into_iter().map(|at| (needed(graph, at).len(), at)).collect();
    large.sort_unstable();
    let mut placed = vec![false; graph.nodes.len()];
    let order = large.into_iter().flat_map(|(_, at)| needed(graph, at)).chain(all);
    order.filter(|&at| !replace(&mut placed[at], true)).collect()
}

fn is_large(graph: &FunctionGraph, shapes: &Shapes, node: &Node) -> bool {
    node.op.is_joint()
        && node.inputs.iter().any(|&id| {
            let elements = shapes.shapes[id as usize].iter().map(|&extent| extent as u64);
            let bytes = elements.fold(graph.var(id).ty.dtype.size() as u64, u64::saturating_mul);
            bytes > SHARED_BYTES
        })
}

/// The positions of the nodes that a node needs, and its own, in order.
fn needed(graph: &FunctionGraph, at: usize) -> Vec<usize> {
    let mut found = vec![false; at + 1];
    found[at] = true;
    for position in (0..=at).rev() {
        if !found[position] {
            continue;
        }
        for &input in &graph.nodes[position].inputs {
            if let Def::Output { node, .. } = graph.var(input).def {
                found[node as usize] = true;
            }
        }
    }
    (0..=at).filter(|&position| found[position]).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::graph::shapes::{Demand, ShapeInputs, infer};
    use crate::prelude::*;

    /// The labels of the nodes in their order, for an input of so many elements.
    fn labels(outputs: &[Variable], x: &Variable, elements: usize) -> Vec<String> {
        let (graph, _) = FunctionGraph::import(std::slice::from_ref(x), outputs, &[]).unwrap();
        let graph = crate::rewrite::merge(&graph).unwrap();
        let given = ShapeInputs {
            inputs: &[vec![elements]],
            shared: &[],
            input_values: &|_| None,
            shared_values: &|_| None,
        };
        let shapes = infer(&graph, &Demand::of(&graph), &given).unwrap();
        order(&graph, &shapes).into_iter().map(|at| graph.nodes[at].op.label()).collect()
    }

    #[test]
    fn a_large_exchange_comes_before_what_it_does_not_need() {
        let x = vector::<f32>("x");
        // The exchange of what takes longer is written first.
        let late = x.tanh().exp().all_reduce(Reduction::Sum, "g");
        let outputs = [late, x.tanh().all_reduce(Reduction::Max, "g")];
        let written = ["tanh", "exp", "all_reduce[g]", "all_reduce[g]"];
        assert_eq!(labels(&outputs, &x, 1 << 20), written);
        assert_eq!(labels(&outputs, &x, 1 + (1 << 20)), ["tanh", "all_reduce[g]", "exp", "all_reduce[g]"]);
    }

    #[test]
    fn an_exchange_of_an_exchange_stays_behind_it() {
        let x = vector::<f32>("x");
        let sum = x.all_reduce(Reduction::Sum, "g");
        let again = sum.abs().all_reduce(Reduction::Max, "g");
        let both = ["all_reduce[g]", "absolute", "all_reduce[g]", "exp", "add"];
        assert_eq!(labels(&[sum.exp() + again], &x, 1 << 21), both);
    }

    #[test]
    fn effects_keep_their_place() {
        let x = vector::<f32>("x");
        let shown = x.exp().print("x").all_reduce(Reduction::Sum, "g");
        let outputs = [shown, x.all_reduce(Reduction::Sum, "g")];
        assert_eq!(labels(&outputs, &x, 1 << 21), labels(&outputs, &x, 1));
    }
}
