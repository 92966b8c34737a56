//! Ops that have no form on a device, and a graph of other ops in their place.

use super::abilities::Abilities;
use crate::error::Result;
use crate::graph::{FunctionGraph, Node};
use crate::rewrite::{Rewrites, transform};
use std::sync::Arc;

/// The nodes of a graph that are replaced on a device, by position, and why.
pub(crate) fn replaced_nodes<'g>(
    graph: &'g FunctionGraph,
    device: &Abilities<'_>,
) -> Vec<(usize, &'g Node, String)> {
    let nodes = graph.nodes.iter().enumerate();
    nodes.filter_map(|(at, node)| Some((at, node, node.op.replacement(device)?.1))).collect()
}

/// The graph with what [`Op::replacement`](crate::ops::Op::replacement) says in place of its nodes.
///
/// # Errors
/// If a replacement is ill-formed.
pub(crate) fn with_replacements(
    graph: &Arc<FunctionGraph>,
    device: &Abilities<'_>,
) -> Result<Arc<FunctionGraph>> {
    if replaced_nodes(graph, device).is_empty() {
        return Ok(graph.clone());
    }
    let new = transform(graph, |new, node, inputs| match node.op.replacement(device) {
        None => Ok(None),
        Some((replacement, _)) => {
            let rewritten = Rewrites::default().run(replacement.clone())?;
            new.insert(&rewritten, inputs).map(Some)
        }
    })?;
    Ok(Arc::new(new))
}
