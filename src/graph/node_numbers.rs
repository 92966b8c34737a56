//! Numbers of nodes, those of bodies included: how a device names the node that found something wrong.
//!
//! A graph's own nodes come first, then those of the bodies of its first node that has some, and so on.

use super::function_graph::{FunctionGraph, Node};
use super::shapes::Shapes;

/// The numbers of a graph's nodes, among those of the graph around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeNumbers {
    /// What is added to all of them.
    base: i128,
    first: usize,
    /// The number of nodes of the outermost graph, with those of bodies.
    pub(crate) all: usize,
}

/// A node, and the shapes of what is around it.
pub(crate) struct Numbered<'g> {
    pub(crate) node: &'g Node,
    pub(crate) shapes: &'g Shapes,
    /// Positions of the nodes around it, and its own: `3.0` is the first node in the body of node 3.
    pub(crate) path: String,
}

/// The number of nodes, with those of bodies.
pub(crate) fn count(graph: &FunctionGraph) -> usize {
    graph.nodes.iter().fold(graph.nodes.len(), |sum, node| sum.saturating_add(within(node)))
}

fn within(node: &Node) -> usize {
    node.op.bodies().iter().fold(0, |sum, body| sum.saturating_add(count(body)))
}

impl NodeNumbers {
    /// Those of a graph that is no body.
    pub(crate) fn of(graph: &FunctionGraph, base: i128) -> NodeNumbers {
        NodeNumbers { base, first: 0, all: count(graph) }
    }

    /// Those of the body at a position of a node of `graph`.
    pub(crate) fn of_body(&self, graph: &FunctionGraph, node: usize, position: usize) -> NodeNumbers {
        let before: usize = graph.nodes[..node].iter().map(within).sum();
        let bodies = graph.nodes[node].op.bodies();
        let before = before + bodies.iter().take(position).map(|body| count(body)).sum::<usize>();
        NodeNumbers { first: self.first + graph.nodes.len() + before, ..*self }
    }

    /// The number of a node, which is above 0.
    pub(crate) fn number(&self, node: usize) -> i128 {
        self.base + (self.first + node) as i128 + 1
    }
}

/// The node of this number, which counts from 0; `None` if there is none or its shapes are not known.
pub(crate) fn find<'g>(graph: &'g FunctionGraph, shapes: &'g Shapes, number: usize) -> Option<Numbered<'g>> {
    if let Some(node) = graph.nodes.get(number) {
        return Some(Numbered { node, shapes, path: number.to_string() });
    }
    let mut left = number - graph.nodes.len();
    for (position, node) in graph.nodes.iter().enumerate() {
        let all = within(node);
        if left >= all {
            left -= all;
            continue;
        }
        // Of several bodies each has shapes of its own.
        let bodies = node.op.bodies();
        let mut inner = bodies.iter().zip(shapes.bodies.get(&position)?);
        return inner.find_map(|(body, shapes)| {
            let here = count(body);
            let found = if left < here { find(body, shapes, left) } else { None };
            left = left.saturating_sub(if found.is_some() { 0 } else { here });
            found.map(|found| Numbered { path: format!("{position}.{}", found.path), ..found })
        });
    }
    None
}
