//! Closed sub-graphs: what a body computes from its inputs alone.

use crate::error::{Error, Result};
use crate::graph::shapes::{Demand, ShapeInputs, Shapes, infer};
use crate::graph::{Def, FunctionGraph, Kind, TensorType, VarId, Variable, ancestors, rebuild};
use crate::ops::op_from_graph::{pairs, stand_ins};
use crate::value::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// Graphs within one another, at most: as many as a file may hold.
const MOST_NESTED: usize = 7;

/// A sub-graph without shared variables.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    /// The flat graph, of public ops.
    pub(super) graph: Arc<FunctionGraph>,
    /// As it was written: its inputs and outputs. Ops made of expressions may have gradients of their own
    /// there.
    written: Option<(Vec<Variable>, Vec<Variable>)>,
    /// The values on which its shapes depend.
    pub(super) demand: Arc<Demand>,
}

impl Closed {
    /// Of Variables, whose `inputs` are all that the outputs depend on.
    pub(super) fn new(inputs: Vec<Variable>, outputs: Vec<Variable>) -> Result<Result<Closed, String>> {
        let (graph, _) = FunctionGraph::import(&inputs, &outputs, &[])?;
        let closed = Closed::stored(Arc::new(graph));
        Ok(closed.map(|closed| Closed { written: Some((inputs, outputs)), ..closed }))
    }

    /// Of a flat graph.
    ///
    /// # Errors
    /// If it has shared variables or no outputs, or is too deep a nest.
    pub(super) fn stored(graph: Arc<FunctionGraph>) -> Result<Closed, String> {
        if !graph.shared.is_empty() {
            return Err("a body has shared variables of its own".into());
        }
        if graph.outputs.is_empty() {
            return Err("the body computes nothing".into());
        }
        if 1 + nesting(&graph) > MOST_NESTED {
            return Err(format!("more than {MOST_NESTED} loops are within one another"));
        }
        let demand = Arc::new(Demand::of(&graph));
        Ok(Closed { graph, demand, written: None })
    }

    /// Its inputs and outputs as Variables.
    ///
    /// # Errors
    /// If an op refuses the types of its inputs.
    pub(super) fn variables(&self) -> Result<(Vec<Variable>, Vec<Variable>)> {
        if let Some(written) = &self.written {
            return Ok(written.clone());
        }
        let new = |&id: &u32| {
            let var = self.graph.var(id);
            Variable::with_kind(Kind::Input, var.ty.clone(), var.name.clone())
        };
        let inputs: Vec<Variable> = self.graph.inputs.iter().map(new).collect();
        let outputs = self.graph.expressions(&inputs, &[], &self.graph.outputs)?;
        Ok((inputs, outputs))
    }

    /// The type of an input.
    pub(super) fn input_type(&self, input: usize) -> &TensorType {
        &self.graph.var(self.graph.inputs[input]).ty
    }

    /// The type of an output.
    pub(super) fn output_type(&self, output: usize) -> &TensorType {
        &self.graph.var(self.graph.outputs[output]).ty
    }

    /// The name of an input, for messages.
    pub(super) fn input_name(&self, input: usize) -> Option<String> {
        let name = self.graph.var(self.graph.inputs[input]).name.as_deref();
        name.map(crate::printable::printable)
    }

    /// The shapes within, for inputs of these shapes; `value` gives the values that are demanded.
    pub(super) fn shapes(
        &self,
        inputs: &[Vec<usize>],
        value: &dyn Fn(usize) -> Option<Value>,
    ) -> Result<Shapes, String> {
        let given = ShapeInputs { inputs, shared: &[], input_values: value, shared_values: &|_| None };
        infer(&self.graph, &self.demand, &given).map_err(|e| format!("in its body: {e}"))
    }

    /// The graph with some inputs as shared variables, of which each is updated to an output: pairs of
    /// positions, by input.
    pub(super) fn in_place(&self, carried: &[(usize, usize)]) -> FunctionGraph {
        let mut graph = self.graph.as_ref().clone();
        let pairs = carried.iter().enumerate();
        graph.updates = pairs.map(|(at, &(_, output))| (at as u32, graph.outputs[output])).collect();
        graph.shared = carried.iter().map(|&(input, _)| graph.inputs[input]).collect();
        let left = |list: &[VarId], gone: &dyn Fn(usize) -> bool| -> Vec<VarId> {
            list.iter().enumerate().filter(|(at, _)| !gone(*at)).map(|(_, &id)| id).collect()
        };
        graph.inputs = left(&graph.inputs, &|at| carried.iter().any(|&(input, _)| input == at));
        graph.outputs = left(&graph.outputs, &|at| carried.iter().any(|&(_, output)| output == at));
        for (at, &id) in graph.shared.iter().enumerate() {
            graph.vars[id as usize].def = Def::Shared(at as u32);
        }
        for (at, &id) in graph.inputs.iter().enumerate() {
            graph.vars[id as usize].def = Def::Input(at as u32);
        }
        graph
    }

    /// Whether an output is an input of which parts were changed.
    pub(super) fn changes_parts(&self, input: usize, output: usize) -> bool {
        let (first, mut last) = (self.graph.inputs[input], self.graph.outputs[output]);
        let changed = last != first;
        while let Def::Output { node, .. } = self.graph.var(last).def
            && let node = &self.graph.nodes[node as usize]
            && node.op.changes_part()
            && let Some(&of) = node.inputs.first()
        {
            last = of;
        }
        changed && last == first
    }

    /// Checks that an output fits the input that it becomes in the next iteration.
    pub(super) fn check_carried(&self, input: usize, output: usize, what: &str) -> Result<(), String> {
        let (before, after) = (self.input_type(input), self.output_type(output));
        let contradicts = |(a, b): (&Option<usize>, &Option<usize>)| a.is_some() && b.is_some() && a != b;
        let differs = before.shape.iter().zip(&after.shape).any(contradicts);
        if before.dtype != after.dtype || before.ndim() != after.ndim() || differs {
            return Err(format!("{what} is {before} before an iteration, and {after} after it"));
        }
        Ok(())
    }

    /// Checks that no shape depends on the value of an input for which `changes` holds.
    pub(super) fn check_shapes(&self, changes: impl Fn(usize) -> bool) -> Result<(), String> {
        match self.demand.inputs.iter().find(|&&input| changes(input)) {
            Some(&input) => {
                let what = self.graph.describe(self.graph.inputs[input]);
                Err(format!(
                    "a shape in the body depends on the value of {what}, which changes from iteration to iteration"
                ))
            }
            None => Ok(()),
        }
    }
}

/// How many loops are within one another in a graph.
fn nesting(graph: &FunctionGraph) -> usize {
    let bodies = graph.nodes.iter().flat_map(|node| node.op.bodies());
    bodies.map(|body| 1 + nesting(body)).max().unwrap_or(0)
}

/// Elements, and ops, up to which a value of constants alone is a part of the body that uses it, where rules
/// see it.
const SMALL: usize = 16;

/// Whether it is small, and made of constants alone by a few ops.
fn is_fixed(variable: &Variable) -> bool {
    let len = variable.ty().shape.iter().try_fold(1usize, |len, extent| len.checked_mul((*extent)?));
    let mut open = vec![variable.clone()];
    let mut left = SMALL;
    while let Some(variable) = open.pop() {
        if matches!(variable.kind(), Kind::Constant(_)) {
            continue;
        }
        let Some((apply, _)) = variable.owner().filter(|_| left > 0) else { return false };
        if apply.op.has_effect() || !apply.op.bodies().is_empty() {
            return false;
        }
        left -= 1;
        open.extend(apply.inputs.iter().cloned());
    }
    len.is_some_and(|len| len <= SMALL)
}

/// The Variables from outside that `outputs` use, apart from constants: what does not depend on `changing` is
/// computed outside.
pub(super) fn captured(outputs: &[Variable], changing: &[Variable]) -> Vec<Variable> {
    let mut varies: HashSet<(usize, usize)> = changing.iter().map(Variable::key).collect();
    let mut seen = HashSet::new();
    let mut list = Vec::new();
    let mut take = |variable: &Variable, varies: &HashSet<(usize, usize)>| {
        let constant = || matches!(variable.kind(), Kind::Constant(_)) || is_fixed(variable);
        if !varies.contains(&variable.key()) && !seen.contains(&variable.key()) && !constant() {
            seen.insert(variable.key());
            list.push(variable.clone());
        }
    };
    let given = varies.clone();
    for variable in ancestors(outputs, |v| given.contains(&v.key())) {
        let Some((apply, _)) = variable.owner() else { continue };
        if apply.inputs.iter().any(|input| varies.contains(&input.key())) {
            varies.insert(variable.key());
            apply.inputs.iter().for_each(|input| take(input, &varies));
        }
    }
    outputs.iter().for_each(|output| take(output, &varies));
    list
}

/// The expressions with `captured` replaced by inputs; returns these, then the expressions.
pub(super) fn closed(outputs: &[Variable], captured: &[Variable]) -> Result<(Vec<Variable>, Vec<Variable>)> {
    let instead = stand_ins(captured);
    let outputs = rebuild(outputs, &mut pairs(captured, &instead), |_, _| Ok(None))?;
    Ok((instead, outputs))
}

/// The error for something that a checked body rules out.
pub(super) fn broken(what: &str) -> Error {
    Error::Internal(format!("the body of a loop has no {what}"))
}
