//! From a mismatch to the node where it originates.

use super::compare::{Difference, compare};
use super::{Check, Origin, as_args, type_text};
use crate::engine::executor::OpenContext;
use crate::engine::simulator::Simulator;
use crate::error::{Error, Result};
use crate::function::Function;
use crate::graph::{Def, FunctionGraph, VarId};
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The number of nodes before the first differing one whose values are also checked.
const LOOK_BACK: usize = 64;

/// The start of the iteration that differed.
pub(super) struct IterationStart<'a> {
    pub(super) function: &'a Function,
    pub(super) inputs: &'a [Value],
    pub(super) shared: &'a [Value],
}

/// A Var whose value differs.
struct DifferingVar {
    id: VarId,
    difference: Difference,
}

/// The first node that is found to differ; `None` if none does.
///
/// # Errors
/// If device or reference fail on a part of the graph.
pub(super) fn trace(
    start: &IterationStart,
    contexts: &[OpenContext],
    check: Check,
) -> Result<Option<Origin>> {
    let graph = start.function.graph();
    let differs = |count: usize, probes: &[VarId]| first_difference(start, contexts, check, count, probes);
    // The first `good` nodes leave correct values to the rest, the first `bad` do not.
    let (mut good, mut bad) = (0, graph.nodes.len());
    let Some(mut found) = differs(bad, &left_by(graph, bad))? else { return Ok(None) };
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        match differs(middle, &left_by(graph, middle))? {
            Some(earlier) => (found, bad) = (earlier, middle),
            None => good = middle,
        }
    }
    // A wrong value may have been masked on the way: the values that lead here are checked once more, all at
    // once.
    let mut probes = before(graph, found.id);
    probes.push(found.id);
    if let Some(earlier) = differs(bad, &probes)? {
        found = earlier;
    }
    describe(start, found).map(Some)
}

/// The values of the first `count` nodes that later nodes, outputs or updates read.
fn left_by(graph: &FunctionGraph, count: usize) -> Vec<VarId> {
    let mut read = vec![false; graph.vars.len()];
    graph.nodes[count..].iter().flat_map(|n| &n.inputs).for_each(|&id| read[id as usize] = true);
    graph.roots().for_each(|id| read[id as usize] = true);
    let whole = count == graph.nodes.len();
    let within = |id: &VarId| match graph.var(*id).def {
        Def::Output { node, .. } => (node as usize) < count,
        // Only the whole graph has inputs and constants as results.
        _ => whole,
    };
    (0..graph.vars.len() as VarId).filter(|id| read[*id as usize] && within(id)).collect()
}

/// Values that lead to `id`, the nearest [`LOOK_BACK`] in topological order.
fn before(graph: &FunctionGraph, id: VarId) -> Vec<VarId> {
    let Def::Output { node: last, .. } = graph.var(id).def else { return vec![] };
    let mut needed = vec![false; last as usize + 1];
    needed[last as usize] = true;
    let mut found = Vec::new();
    for position in (0..=last as usize).rev() {
        if !needed[position] {
            continue;
        }
        if position != last as usize {
            found.extend_from_slice(&graph.nodes[position].outputs);
        }
        if found.len() >= LOOK_BACK {
            break;
        }
        for &input in &graph.nodes[position].inputs {
            if let Def::Output { node, .. } = graph.var(input).def {
                needed[node as usize] = true;
            }
        }
    }
    found
}

/// Computes `probes` from the first `count` nodes alone, on the device and by the reference; returns the
/// first that differs.
fn first_difference(
    start: &IterationStart,
    contexts: &[OpenContext],
    check: Check,
    count: usize,
    probes: &[VarId],
) -> Result<Option<DifferingVar>> {
    let reference = part(start, count, probes)?;
    let tried = reference.fork()?;
    let want = reference.call_reference(as_args(start.inputs))?;
    let mut simulator = Simulator::over(contexts.to_vec(), &tried)?;
    let got = simulator.call(as_args(start.inputs))?;
    let graph = start.function.graph();
    let mut differing = Vec::new();
    for ((&id, (_, want)), (_, got)) in probes.iter().zip(want.iter()).zip(got.iter()) {
        if let Err(difference) = compare(want, got, check.slack) {
            differing.push(DifferingVar { id, difference });
        }
    }
    let position = |found: &DifferingVar| match graph.var(found.id).def {
        Def::Output { node, .. } => Some(node),
        _ => None,
    };
    Ok(differing.into_iter().min_by_key(position))
}

/// The first `count` nodes as a Function with other outputs and no updates, over shared variables as they
/// were.
fn part(start: &IterationStart, count: usize, probes: &[VarId]) -> Result<Function> {
    let graph = start.function.graph();
    let mut ids: HashMap<VarId, VarId> = HashMap::new();
    let mut cut = FunctionGraph::default();
    for (id, var) in graph.vars.iter().enumerate() {
        let kept = match var.def {
            Def::Output { node, .. } => (node as usize) < count,
            _ => true,
        };
        if kept {
            ids.insert(id as VarId, cut.vars.len() as VarId);
            cut.vars.push(var.clone());
        }
    }
    let renumber = |old: &[VarId]| -> Result<Vec<VarId>> {
        let new = old.iter().map(|id| ids.get(id).copied());
        new.collect::<Option<_>>().ok_or_else(|| Error::Internal("a cut graph reads what was cut off".into()))
    };
    for node in &graph.nodes[..count] {
        let mut node = node.clone();
        (node.inputs, node.outputs) = (renumber(&node.inputs)?, renumber(&node.outputs)?);
        cut.nodes.push(node);
    }
    (cut.inputs, cut.shared) = (renumber(&graph.inputs)?, renumber(&graph.shared)?);
    cut.outputs = renumber(probes)?;
    let forked = start.function.fork()?;
    for (cell, value) in forked.cells().iter().zip(start.shared) {
        cell.set_value(value)?;
    }
    let names = vec![None; probes.len()];
    let (inputs, cells) = (start.function.inputs().to_vec(), forked.cells().to_vec());
    Ok(Function::assemble(format!("the first {count} nodes"), Arc::new(cut), inputs, names, cells, None))
}

/// Op, types and shapes of the node that was found.
fn describe(start: &IterationStart, found: DifferingVar) -> Result<Origin> {
    let graph = start.function.graph();
    let Def::Output { node: position, .. } = graph.var(found.id).def else {
        let why = format!("{} itself arrives changed: {}", graph.describe(found.id), found.difference);
        return Ok(Origin::Unknown(why));
    };
    let node = &graph.nodes[position as usize];
    let mut probes = node.inputs.clone();
    probes.push(found.id);
    let values = part(start, position as usize + 1, &probes)?.call_reference(as_args(start.inputs))?;
    let mut types: Vec<String> = values.iter().map(|(_, value)| type_text(value)).collect();
    let output = types.pop().unwrap_or_default();
    Ok(Origin::Node {
        node: position as usize,
        op: node.op.label(),
        name: graph.var(found.id).name.clone(),
        inputs: types,
        output,
        difference: found.difference,
    })
}
