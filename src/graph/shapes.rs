//! Shape inference: concrete extents of every Var, computed on the host before anything runs.
//!
//! Extents follow from the shapes of inputs and shared variables, and from the values of the few small
//! integers that ops ask for ([`Op::shape_values`](crate::ops::Op::shape_values)): slice bounds, lengths.
//! Those values are not part of a Program's signature; the extents they lead to are, unless these follow from
//! shapes too, as those of `x[1:n]` do, where `n` is an extent. Else each call computes what decides them.

use super::evaluate::perform;
use super::function_graph::{Def, FunctionGraph, Node, VarId};
use crate::error::{Error, Result, shape_text};
use crate::op::Known;
use crate::value::{Value, checked_len};
use std::collections::HashMap;

/// What is known of each Var before a Program runs.
#[derive(Clone, Debug)]
pub struct Shapes {
    /// Extents, per Var.
    pub shapes: Vec<Vec<usize>>,
    /// Values that follow from constants and shapes alone.
    pub fixed: Vec<Option<Value>>,
    /// For each node that writes into a part, the extents of the part.
    pub parts: HashMap<usize, Vec<usize>>,
    /// For each node with bodies, what is known within each.
    pub bodies: HashMap<usize, Vec<Shapes>>,
}

/// The Vars on whose values shapes depend; computed once per graph.
#[derive(Debug)]
pub struct Demand {
    /// Per Var: whether its value is needed to compute some shape.
    values: Vec<bool>,
    /// Nodes whose output shapes depend on values that do not follow from shapes.
    deciding: Vec<usize>,
    /// The deciding nodes, and all that their shapes are computed from; in order.
    needed: Vec<usize>,
    /// Inputs (positions) whose values are needed.
    pub inputs: Vec<usize>,
    /// Shared variables (positions) whose values are needed.
    pub shared: Vec<usize>,
    /// Results whose values are needed and known otherwise: see [`Demand::knowing`].
    pub known: Vec<VarId>,
    /// The one shared variable (position) whose value is needed, if its memory may be read in place: no op
    /// keeps or returns that memory. At most one is lent: two threads that each hold one of two could wait
    /// for each other.
    pub lent: Option<usize>,
}

impl Demand {
    /// Finds the values that are needed.
    pub fn of(graph: &FunctionGraph) -> Demand {
        Demand::with(graph, &[], |_| false)
    }

    /// The same, where the values of the results in [`Demand::known`] are known: those of the nodes that
    /// `known` names. What they are made of is not needed for them.
    pub fn knowing(graph: &FunctionGraph, known: impl Fn(&Node) -> bool) -> Demand {
        Demand::with(graph, &[], known)
    }

    /// The same, where the values of the outputs are needed too: see [`output_values`].
    pub fn of_outputs(graph: &FunctionGraph) -> Demand {
        Demand::with(graph, &graph.outputs, |_| false)
    }

    fn with(graph: &FunctionGraph, wanted: &[VarId], known: impl Fn(&Node) -> bool) -> Demand {
        let follows = follows_from_shapes(graph);
        let mut values = vec![false; graph.vars.len()];
        wanted.iter().for_each(|&id| values[id as usize] = true);
        let (mut deciding, mut found) = (Vec::new(), Vec::new());
        for (position, node) in graph.nodes.iter().enumerate().rev() {
            let deciders = node.op.shape_values();
            for &input in deciders.iter().filter_map(|&d| node.inputs.get(d)) {
                values[input as usize] = true;
            }
            let settled = |&d: &usize| node.inputs.get(d).is_none_or(|&i| follows[i as usize]);
            if !deciders.iter().all(settled) {
                deciding.push(position);
            }
            let wanted = || node.outputs.iter().copied().filter(|&o| values[o as usize]);
            if is_of_shapes(graph, node) || wanted().next().is_none() {
                continue;
            }
            if known(node) {
                found.extend(wanted());
            } else {
                node.inputs.iter().for_each(|&i| values[i as usize] = true);
            }
        }
        deciding.reverse();
        let nodes = with_ancestors(graph, &deciding);
        let needed = |ids: &[VarId]| (0..ids.len()).filter(|&p| values[ids[p] as usize]).collect();
        let (inputs, shared): (Vec<usize>, Vec<usize>) = (needed(&graph.inputs), needed(&graph.shared));
        let lent = match shared[..] {
            [one] => {
                let reads = |node: &&Node| node.inputs.contains(&graph.shared[one]);
                graph.nodes.iter().filter(reads).all(|node| node.op.results_are_new()).then_some(one)
            }
            _ => None,
        };
        Demand { values, deciding, needed: nodes, inputs, shared, known: found, lent }
    }

    /// Whether members of a group exchange arrays to find out shapes.
    pub(crate) fn exchanges(&self, graph: &FunctionGraph) -> bool {
        graph.exchanges_at(&self.needed)
    }

    /// The extents that the deciding nodes decide, of all.
    pub(crate) fn decided(
        &self,
        graph: &FunctionGraph,
        shapes: &[Vec<usize>],
        parts: &HashMap<usize, Vec<usize>>,
    ) -> Vec<usize> {
        let outputs = |node: usize| graph.nodes[node].outputs.iter().map(|&o| &shapes[o as usize]);
        let decided = self.deciding.iter().flat_map(|n| outputs(*n).chain(parts.get(n)));
        decided.flatten().copied().collect()
    }

    /// Whether equal shapes of inputs and shared variables always give equal shapes of everything.
    pub fn is_static(&self) -> bool {
        self.deciding.is_empty()
    }
}

/// Whether a node's values follow from the shapes of its inputs.
fn is_of_shapes(graph: &FunctionGraph, node: &Node) -> bool {
    let shapes: Vec<Vec<usize>> = node.inputs.iter().map(|&i| vec![1; graph.var(i).ty.ndim()]).collect();
    let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
    node.op.values_from_shapes(&shapes).is_some()
}

/// These nodes and all that their inputs are computed from, in order.
fn with_ancestors(graph: &FunctionGraph, nodes: &[usize]) -> Vec<usize> {
    let mut wanted = vec![false; graph.vars.len()];
    let mut deciding = nodes.iter().rev().peekable();
    let mut found = Vec::new();
    for (position, node) in graph.nodes.iter().enumerate().rev() {
        let decides = deciding.next_if(|&&next| next == position).is_some();
        if decides || node.outputs.iter().any(|&o| wanted[o as usize]) {
            node.inputs.iter().for_each(|&i| wanted[i as usize] = true);
            found.push(position);
        }
    }
    found.reverse();
    found
}

/// Per Var: whether its value follows from constants and the shapes of inputs and shared variables.
fn follows_from_shapes(graph: &FunctionGraph) -> Vec<bool> {
    let constant = |id| graph.constant(id as VarId).is_some();
    let mut follows: Vec<bool> = (0..graph.vars.len()).map(constant).collect();
    for node in &graph.nodes {
        // What acts, or what the device computes, is new in each call.
        let is_pure = !node.op.has_effect() && !node.op.is_joint() && node.op.bodies().is_empty();
        let from_inputs = is_pure && node.inputs.iter().all(|&i| follows[i as usize]);
        if from_inputs || is_of_shapes(graph, node) {
            node.outputs.iter().for_each(|&o| follows[o as usize] = true);
        }
    }
    follows
}

/// The inputs of shape inference: shapes of inputs and shared variables, and the values that [`Demand`]
/// names.
pub struct ShapeInputs<'a> {
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
pub fn infer(graph: &FunctionGraph, demand: &Demand, given: &ShapeInputs) -> Result<Shapes> {
    infer_knowing(graph, demand, given, &HashMap::new())
}

/// [`infer`], where the values of some Vars are known.
///
/// # Errors
/// As [`infer`].
pub fn infer_knowing(
    graph: &FunctionGraph,
    demand: &Demand,
    given: &ShapeInputs,
    known: &HashMap<VarId, Value>,
) -> Result<Shapes> {
    let mut inference = Inference::new(graph, demand, given);
    known.iter().for_each(|(&id, value)| inference.current[id as usize] = Some(value.clone()));
    for (position, node) in graph.nodes.iter().enumerate() {
        inference.visit(position, node)?;
    }
    let Inference { shapes, fixed, parts, bodies, .. } = inference;
    graph.check_updates(|id| &shapes[id as usize])?;
    Ok(Shapes { shapes, fixed, parts, bodies })
}

/// The extents that make one call's Program differ from another's at equal shapes of inputs and shared
/// variables, from only those nodes that decide them.
///
/// # Errors
/// As [`infer`].
pub fn infer_decided(
    graph: &FunctionGraph,
    demand: &Demand,
    given: &ShapeInputs,
    known: &HashMap<VarId, Value>,
) -> Result<Vec<usize>> {
    let mut inference = Inference::new(graph, demand, given);
    known.iter().for_each(|(&id, value)| inference.current[id as usize] = Some(value.clone()));
    for &position in &demand.needed {
        inference.visit(position, &graph.nodes[position])?;
    }
    Ok(demand.decided(graph, &inference.shapes, &inference.parts))
}

/// The values of a graph's outputs, which follow from shapes and from the values that
/// [`Demand::of_outputs`] names.
///
/// # Errors
/// As [`infer`]; or if a value is not known.
pub fn output_values(graph: &FunctionGraph, demand: &Demand, given: &ShapeInputs) -> Result<Vec<Value>> {
    let mut inference = Inference::new(graph, demand, given);
    for (position, node) in graph.nodes.iter().enumerate() {
        inference.visit(position, node)?;
    }
    let Inference { fixed, current, .. } = inference;
    let value = |&id: &VarId| fixed[id as usize].clone().or_else(|| current[id as usize].clone());
    let missing = |id: &VarId| Error::Compile(format!("the value of {} is not known", graph.describe(*id)));
    graph.outputs.iter().map(|id| value(id).ok_or_else(|| missing(id))).collect()
}

/// Number of elements up to which arrays are evaluated here if their inputs are constant.
const SMALL: usize = 64;

/// Shape inference under way.
struct Inference<'a> {
    graph: &'a FunctionGraph,
    demand: &'a Demand,
    shapes: Vec<Vec<usize>>,
    fixed: Vec<Option<Value>>,
    /// Values that are known for this call alone.
    current: Vec<Option<Value>>,
    parts: HashMap<usize, Vec<usize>>,
    bodies: HashMap<usize, Vec<Shapes>>,
}

/// What is known of the values of a node's outputs.
enum KnownOutputs {
    /// They follow from constants and shapes alone.
    Fixed(Vec<Value>),
    /// They are known for this call alone.
    Current(Vec<Value>),
    Unknown,
}

impl<'a> Inference<'a> {
    /// With the shapes and values of everything that no node computes.
    fn new(graph: &'a FunctionGraph, demand: &'a Demand, given: &ShapeInputs) -> Inference<'a> {
        let count = graph.vars.len();
        let mut shapes: Vec<Vec<usize>> = vec![vec![]; count];
        let mut fixed: Vec<Option<Value>> = vec![None; count];
        let mut current: Vec<Option<Value>> = vec![None; count];
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
        Inference { graph, demand, shapes, fixed, current, parts: HashMap::new(), bodies: HashMap::new() }
    }

    /// Infers the shapes of a node's outputs, and their values where they are known.
    fn visit(&mut self, position: usize, node: &Node) -> Result<()> {
        let fail = |message: String| node.failed(position, &message);
        let known = |&i: &VarId| Known {
            dtype: self.graph.var(i).ty.dtype,
            shape: &self.shapes[i as usize],
            value: self.fixed[i as usize].as_ref().or(self.current[i as usize].as_ref()),
        };
        let known: Vec<Known> = node.inputs.iter().map(known).collect();
        let made = node.op.shapes(&known);
        let made = made.map_err(|message| {
            self.graph.misfit(position, known.iter().map(|known| known.shape), &message)
        })?;
        if made.len() != node.outputs.len() {
            return Err(fail(format!(
                "the op gives {} shapes for {} results",
                made.len(),
                node.outputs.len()
            )));
        }
        let part = node.op.written_part(&known).map_err(fail)?;
        for (&output, shape) in node.outputs.iter().zip(&made) {
            let ty = &self.graph.var(output).ty;
            checked_len(shape, ty.dtype).map_err(|e| fail(e.to_string()))?;
            if !ty.admits_shape(shape) {
                return Err(fail(format!(
                    "the op gives shape {} where {ty} was expected",
                    shape_text(shape)
                )));
            }
        }
        let bodies = node.op.body_shapes(&known).map_err(fail)?;
        let outcome = self.values(position, node, &known, &made)?;
        if !bodies.is_empty() {
            self.bodies.insert(position, bodies);
        }
        if let Some(part) = part {
            self.parts.insert(position, part);
        }
        let (target, values) = match outcome {
            KnownOutputs::Fixed(values) => (&mut self.fixed, values),
            KnownOutputs::Current(values) => (&mut self.current, values),
            KnownOutputs::Unknown => (&mut self.current, vec![]),
        };
        for (&output, value) in node.outputs.iter().zip(values) {
            target[output as usize] = Some(value);
        }
        for (&output, shape) in node.outputs.iter().zip(made) {
            self.shapes[output as usize] = shape;
        }
        Ok(())
    }

    /// The values of a node's outputs, whose shapes are `made`.
    fn values(
        &self,
        position: usize,
        node: &Node,
        known: &[Known],
        made: &[Vec<usize>],
    ) -> Result<KnownOutputs> {
        let unknown = |&o: &VarId| self.demand.values[o as usize] && self.current[o as usize].is_none();
        let wanted = node.outputs.iter().any(unknown);
        let input_shapes: Vec<&[usize]> = known.iter().map(|k| k.shape).collect();
        if let Some(values) = node.op.values_from_shapes(&input_shapes) {
            return Ok(KnownOutputs::Fixed(values));
        }
        // The values are known without `perform`, which may take long.
        if made.iter().all(|s| s.contains(&0)) {
            let zeros = if wanted { Some(zeros(self.graph, node, made)?) } else { None };
            return Ok(zeros.map_or(KnownOutputs::Unknown, KnownOutputs::Current));
        }
        let values: Option<Vec<Value>> = known.iter().map(|k| k.value.cloned()).collect();
        let Some(values) = values else { return Ok(KnownOutputs::Unknown) };
        let shapes = made.iter().map(Vec::as_slice);
        if self.is_constant(node, known, made) {
            let results = perform(self.graph, position, shapes, |op| op.perform(&values));
            return Ok(results.map_or(KnownOutputs::Unknown, KnownOutputs::Fixed));
        }
        if !wanted {
            return Ok(KnownOutputs::Unknown);
        }
        perform(self.graph, position, shapes, |op| op.quietly(&values)).map(KnownOutputs::Current)
    }

    /// Whether a node's inputs are constant, and its inputs and outputs small. A node with an effect is never
    /// constant: it runs at each call. Nor is a loop, which may take long.
    fn is_constant(&self, node: &Node, known: &[Known], made: &[Vec<usize>]) -> bool {
        let mut inputs = node.inputs.iter().map(|&i| self.fixed[i as usize].as_ref());
        let part = node.op.written_part(known).ok().flatten();
        let count = |shape: &Vec<usize>| shape.iter().try_fold(1usize, |n, &e| n.checked_mul(e));
        !node.op.has_effect()
            && !node.op.is_joint()
            && node.op.bodies().is_empty()
            && inputs.all(|value| value.is_some_and(|v| v.len() <= SMALL))
            && made.iter().chain(&part).all(|s| count(s).is_some_and(|n| n <= SMALL))
    }
}

/// Outputs without elements.
fn zeros(graph: &FunctionGraph, node: &Node, shapes: &[Vec<usize>]) -> Result<Vec<Value>> {
    let outputs = node.outputs.iter().zip(shapes);
    outputs.map(|(&output, shape)| Value::zeros(graph.var(output).ty.dtype, shape)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
