//! Graphs as text, for people.

use super::function_graph::{Def, FunctionGraph, VarId};
use std::fmt::Write;

/// One line per node in order, then outputs and updates; ids are those of the graph's Vars.
pub fn debugprint(graph: &FunctionGraph) -> String {
    let mut text = String::new();
    let name = |id: VarId| match &graph.var(id).def {
        Def::Constant(value) => format!("{value:?}"),
        _ => graph.var(id).name.clone().map_or(format!("%{id}"), |n| format!("{n}%{id}")),
    };
    let list = |ids: &[VarId]| ids.iter().map(|&id| name(id)).collect::<Vec<_>>().join(", ");
    // Writing to a String cannot fail, so the results are not looked at.
    for (kind, ids) in [("input", &graph.inputs), ("shared", &graph.shared)] {
        for &id in ids {
            let _ = writeln!(text, "{kind} {}: {}", name(id), graph.var(id).ty);
        }
    }
    for node in &graph.nodes {
        let types: Vec<String> = node.outputs.iter().map(|&id| graph.var(id).ty.to_string()).collect();
        let (outputs, inputs) = (list(&node.outputs), list(&node.inputs));
        let _ = writeln!(text, "{outputs} = {}({inputs}): {}", node.op.label(), types.join(", "));
    }
    let _ = writeln!(text, "output {}", list(&graph.outputs));
    for &(position, id) in &graph.updates {
        let _ = writeln!(text, "update {} <- {}", name(graph.shared[position as usize]), name(id));
    }
    text
}
