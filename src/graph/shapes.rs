//! Shape arithmetic: concrete extents of every Var, worked out on the host before anything runs.
//!
//! Extents follow from the shapes of inputs and shared variables, and from the values of the few small
//! integers that ops ask for ([`Op::shape_values`](crate::ops::Op::shape_values)): slice bounds, lengths.
//! Those values are not part of a Program's signature; the extents they lead to are.

use crate::error::{Error, Result, shape_text};
use crate::graph::{Def, FunctionGraph, Node, VarId, check_results};
use crate::ops::{IncSubtensor, Known, downcast, written_part};
use crate::value::{Value, checked_len};
use std::collections::HashMap;

/// What is known of each Var before a Program runs.
#[derive(Debug)]
pub struct Shapes {
    /// Extents, per Var.
    pub shapes: Vec<Vec<usize>>,
    /// Values that follow from constants and shapes alone: as fixed as the shapes are.
    pub fixed: Vec<Option<Value>>,
    /// For each node that writes into a part, the extents of the part.
    pub parts: HashMap<usize, Vec<usize>>,
}

/// Which Vars' values shapes depend on; made once per graph.
#[derive(Debug)]
pub struct Demand {
    /// Per Var: its value is needed to work out some shape.
    values: Vec<bool>,
    /// Nodes whose output shapes depend on values.
    deciding: Vec<usize>,
    /// Inputs (positions) whose values are needed.
    pub inputs: Vec<usize>,
    /// Shared variables (positions) whose values are needed.
    pub shared: Vec<usize>,
    /// The one shared variable (position) whose value is needed, if its memory may be read in place: no op
    /// keeps or passes on what it is given of it. Of two that are lent, each might be waited for by whoever
    /// holds the other.
    pub lent: Option<usize>,
}

impl Demand {
    /// Works out which values are needed.
    pub fn of(graph: &FunctionGraph) -> Demand {
        let mut values = vec![false; graph.vars.len()];
        let mut deciding = Vec::new();
        for (position, node) in graph.nodes.iter().enumerate().rev() {
            let deciders = node.op.shape_values();
            for &input in deciders.iter().filter_map(|&d| node.inputs.get(d)) {
                values[input as usize] = true;
            }
            let constant = |&d: &usize| node.inputs.get(d).is_none_or(|&i| graph.constant(i).is_some());
            if !deciders.iter().all(constant) {
                deciding.push(position);
            }
            let shapes: Vec<Vec<usize>> =
                node.inputs.iter().map(|&i| vec![1; graph.var(i).ty.ndim()]).collect();
            let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
            let from_shapes = node.op.values_from_shapes(&shapes).is_some();
            if !from_shapes && node.outputs.iter().any(|&o| values[o as usize]) {
                node.inputs.iter().for_each(|&i| values[i as usize] = true);
            }
        }
        deciding.reverse();
        let needed = |ids: &[VarId]| (0..ids.len()).filter(|&p| values[ids[p] as usize]).collect();
        let (inputs, shared): (Vec<usize>, Vec<usize>) = (needed(&graph.inputs), needed(&graph.shared));
        let lent = match shared[..] {
            [one] => {
                let reads = |node: &&Node| node.inputs.contains(&graph.shared[one]);
                graph.nodes.iter().filter(reads).all(|node| node.op.results_are_new()).then_some(one)
            }
            _ => None,
        };
        Demand { values, deciding, inputs, shared, lent }
    }

    /// Whether equal shapes of inputs and shared variables always give equal shapes of everything.
    pub fn is_static(&self) -> bool {
        self.deciding.is_empty()
    }
}

/// What a call brings: shapes of inputs and shared variables, and the values that [`Demand`] asked for.
pub struct Given<'a> {
    /// Shapes of the inputs.
    pub inputs: &'a [Vec<usize>],
    /// Shapes of the shared variables.
    pub shared: &'a [Vec<usize>],
    /// Values of inputs, where demanded.
    pub input_values: &'a dyn Fn(usize) -> Option<Value>,
    /// Values of shared variables, where demanded.
    pub shared_values: &'a dyn Fn(usize) -> Option<Value>,
}

/// All shapes.
///
/// # Errors
/// If an op refuses the shapes: names op, node and shapes.
pub fn infer(graph: &FunctionGraph, demand: &Demand, given: &Given) -> Result<Shapes> {
    let count = graph.vars.len();
    let mut shapes: Vec<Vec<usize>> = vec![vec![]; count];
    let mut fixed: Vec<Option<Value>> = vec![None; count];
    let mut current: Vec<Option<Value>> = vec![None; count];
    let mut parts = HashMap::new();
    for (id, var) in graph.vars.iter().enumerate() {
        match &var.def {
            Def::Input(i) => {
                shapes[id] = given.inputs[*i as usize].clone();
                current[id] = demand.values[id].then(|| (given.input_values)(*i as usize)).flatten();
            }
            Def::Shared(i) => {
                shapes[id] = given.shared[*i as usize].clone();
                current[id] = demand.values[id].then(|| (given.shared_values)(*i as usize)).flatten();
            }
            Def::Constant(value) => {
                shapes[id] = value.shape().to_vec();
                fixed[id] = Some(value.clone());
            }
            Def::Output { .. } => {}
        }
    }
    for (position, node) in graph.nodes.iter().enumerate() {
        let fail = |message: String| Error::Run {
            op: node.op.label(),
            node: format!("#{position}"),
            message: format!("{message}{}", node.written_at()),
        };
        let known: Vec<Known> = node
            .inputs
            .iter()
            .map(|&i| Known {
                shape: &shapes[i as usize],
                value: fixed[i as usize].as_ref().or(current[i as usize].as_ref()),
            })
            .collect();
        let made = node.op.shapes(&known).map_err(fail)?;
        if made.len() != node.outputs.len() {
            return Err(fail(format!(
                "the op gives {} shapes for {} results",
                made.len(),
                node.outputs.len()
            )));
        }
        if let Some(op) = downcast::<IncSubtensor>(node.op.as_ref()) {
            parts.insert(position, op.part(&known).map_err(fail)?);
        }
        for (&output, shape) in node.outputs.iter().zip(&made) {
            let ty = &graph.var(output).ty;
            checked_len(shape, ty.dtype).map_err(|e| fail(e.to_string()))?;
            if !ty.admits_shape(shape) {
                return Err(fail(format!(
                    "the op gives shape {} where {ty} was expected",
                    shape_text(shape)
                )));
            }
        }
        let wanted = node.outputs.iter().any(|&o| demand.values[o as usize]);
        let input_shapes: Vec<&[usize]> = known.iter().map(|k| k.shape).collect();
        let by_shape = node.op.values_from_shapes(&input_shapes);
        let all_fixed: Option<Vec<Value>> = node.inputs.iter().map(|&i| fixed[i as usize].clone()).collect();
        let part = written_part(node.op.as_ref(), &known);
        let count = |shape: &Vec<usize>| shape.iter().try_fold(1usize, |n, &e| n.checked_mul(e));
        let small = made.iter().chain(&part).all(|s| count(s).is_some_and(|n| n <= 64));
        let empty = made.iter().all(|s| s.contains(&0));
        // What has an effect is done at each call, and what it gives stays what it computes.
        let constants =
            all_fixed.is_some_and(|v| v.iter().all(|v| v.len() <= 64)) && small && !node.op.has_effect();
        let values: Option<Vec<Value>> = known.iter().map(|k| k.value.cloned()).collect();
        let as_expected =
            |results: &[Value]| check_results(graph, node, made.iter().map(Vec::as_slice), results);
        let (target, result) = match (by_shape, values) {
            (Some(values), _) => (&mut fixed, Some(values)),
            // What is in nothing is known without working it out, which may take long.
            (None, _) if empty && wanted => (&mut current, Some(zeros(graph, node, &made)?)),
            (None, _) if empty => (&mut current, None),
            (None, Some(values)) if constants => {
                (&mut fixed, node.op.perform(&values).ok().filter(|results| as_expected(results).is_ok()))
            }
            (None, Some(values)) if wanted => {
                let results = node.op.quietly(&values);
                let results = results.and_then(|results| as_expected(&results).map(|()| results));
                (&mut current, Some(results.map_err(|e| fail(e.to_string()))?))
            }
            _ => (&mut current, None),
        };
        for (&output, value) in node.outputs.iter().zip(result.into_iter().flatten()) {
            target[output as usize] = Some(value);
        }
        for (&output, shape) in node.outputs.iter().zip(made) {
            shapes[output as usize] = shape;
        }
    }
    graph.check_updates(|id| &shapes[id as usize])?;
    Ok(Shapes { shapes, fixed, parts })
}

/// Outputs that have no elements.
fn zeros(graph: &FunctionGraph, node: &Node, shapes: &[Vec<usize>]) -> Result<Vec<Value>> {
    let outputs = node.outputs.iter().zip(shapes);
    outputs.map(|(&output, shape)| Value::zeros(graph.var(output).ty.dtype, shape)).collect()
}

/// The extents that make one call's Program differ from another's at equal input shapes.
pub fn decided_extents(graph: &FunctionGraph, demand: &Demand, shapes: &Shapes) -> Vec<usize> {
    let outputs = |node: usize| graph.nodes[node].outputs.iter().map(|&o| &shapes.shapes[o as usize]);
    let decided = demand.deciding.iter().flat_map(|n| outputs(*n).chain(shapes.parts.get(n)));
    decided.flatten().copied().collect()
}
