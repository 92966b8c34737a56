//! A loop without the outputs that nothing reads, and what only they need.

use super::ScanOp;
use super::body::{BodyInput, ScanBody};
use crate::graph::prune::prune;
use crate::graph::{Def, FunctionGraph, TensorType, VarId};
use crate::op::Narrowed;
use std::sync::Arc;

/// The loop that computes only these outputs; `None` if nothing is left out.
pub(super) fn narrow(op: &ScanOp, read: &[bool], given: &[&TensorType]) -> Option<Narrowed> {
    let Less { op, inputs, outputs } = less(op, read, given)?;
    Some(Narrowed { op: Arc::new(op), inputs, outputs })
}

/// A loop that computes less, and where its inputs and outputs are among those of the whole.
pub(super) struct Less {
    pub(super) op: ScanOp,
    pub(super) inputs: Vec<usize>,
    pub(super) outputs: Vec<usize>,
}

/// [`narrow`], as a scan.
pub(super) fn less(op: &ScanOp, read: &[bool], given: &[&TensorType]) -> Option<Less> {
    let body = &op.body;
    let mut live: Vec<bool> = read.to_vec();
    if !live.contains(&true) {
        // An op has an output, even if it runs for its effects alone.
        *live.first_mut()? = true;
    }
    let needed = loop {
        let needed = needed(&body.closed.graph, &live);
        let reads = |input: usize| needed[body.closed.graph.inputs[input] as usize];
        let carried = body.parts().enumerate().filter(|(input, _)| reads(*input));
        let more: Vec<usize> = carried
            .filter_map(
                |(_, part)| if let BodyInput::Tap(recurrence, _) = part { Some(recurrence) } else { None },
            )
            .filter(|&recurrence| !live[recurrence])
            .collect();
        if more.is_empty() {
            break needed;
        }
        more.into_iter().for_each(|recurrence| live[recurrence] = true);
    };
    let keeps = |(input, part): (usize, BodyInput)| match part {
        BodyInput::Tap(recurrence, _) => live[recurrence],
        BodyInput::Sequence(_) | BodyInput::Constant(_) => needed[body.closed.graph.inputs[input] as usize],
    };
    let kept: Vec<(usize, BodyInput)> = body.parts().enumerate().filter(|part| keeps(*part)).collect();
    let outputs: Vec<usize> = (0..live.len()).filter(|&output| live[output]).collect();
    if outputs.len() == live.len() && kept.len() == body.closed.graph.inputs.len() {
        return None;
    }
    let mut inputs: Vec<usize> = kept.iter().map(|(_, part)| op.source(*part)).collect();
    inputs.dedup();
    inputs.push(op.steps_at());
    // Nodes within may have results that nothing reads any more.
    let graph = prune(&part_of(&body.closed.graph, &needed, &kept, &outputs)?).ok()?;
    let sequences = kept.iter().filter(|(_, part)| matches!(part, BodyInput::Sequence(_))).count();
    let lags = outputs.iter().filter_map(|&output| body.lags.get(output).cloned()).collect();
    let less = ScanBody::stored(&body.name, sequences, lags, Arc::new(graph)).ok()?;
    // The sequence that told the number of iterations may be gone.
    let steps = op.known_steps(given);
    let op = ScanOp { body: Arc::new(less), steps, states: vec![], ..op.clone() };
    Some(Less { op, inputs, outputs })
}

/// Which Vars these outputs and the effects of a graph depend on, themselves among them.
fn needed(graph: &FunctionGraph, outputs: &[bool]) -> Vec<bool> {
    let mut needed = vec![false; graph.vars.len()];
    let read = graph.outputs.iter().zip(outputs).filter(|(_, read)| **read);
    read.for_each(|(&id, _)| needed[id as usize] = true);
    for node in graph.nodes.iter().rev() {
        if node.op.has_effect() || node.outputs.iter().any(|&id| needed[id as usize]) {
            node.inputs.iter().chain(&node.outputs).for_each(|&id| needed[id as usize] = true);
        }
    }
    needed
}

/// The graph of these inputs and outputs, and of the Vars that are needed.
fn part_of(
    graph: &FunctionGraph,
    needed: &[bool],
    inputs: &[(usize, BodyInput)],
    outputs: &[usize],
) -> Option<FunctionGraph> {
    let mut new = FunctionGraph::default();
    let mut map: Vec<Option<VarId>> = vec![None; graph.vars.len()];
    for (position, (input, _)) in inputs.iter().enumerate() {
        let old = graph.inputs[*input];
        let var = graph.var(old);
        let id = new.add_var(var.ty.clone(), var.name.as_deref(), Def::Input(position as u32));
        new.inputs.push(id);
        map[old as usize] = Some(id);
    }
    for (id, var) in graph.vars.iter().enumerate() {
        if matches!(var.def, Def::Constant(_)) && needed[id] {
            map[id] = Some(new.add_var(var.ty.clone(), var.name.as_deref(), var.def.clone()));
        }
    }
    for node in &graph.nodes {
        if !node.outputs.iter().any(|&id| needed[id as usize]) {
            continue;
        }
        let given: Option<Vec<VarId>> = node.inputs.iter().map(|&id| map[id as usize]).collect();
        let types = node.outputs.iter().map(|&id| graph.var(id).ty.clone()).collect();
        new.place = node.place;
        for (&old, id) in node.outputs.iter().zip(new.add_node(node.op.clone(), given?, types)) {
            new.vars[id as usize].name.clone_from(&graph.var(old).name);
            map[old as usize] = Some(id);
        }
    }
    new.outputs = outputs.iter().map(|&output| map[graph.outputs[output] as usize]).collect::<Option<_>>()?;
    Some(new)
}
