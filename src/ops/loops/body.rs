//! The body of a loop: a sub-graph with named parts.

use crate::error::{Error, Result};
use crate::graph::shapes::Demand;
use crate::graph::{FunctionGraph, Kind, TensorType, Variable, ancestors, rebuild};
use crate::ops::methods::fail;
use crate::ops::op_from_graph::{pairs, stand_ins};
use std::collections::HashSet;
use std::sync::Arc;

/// Graphs within one another, at most: as many as a file may hold.
pub(super) const MOST_NESTED: usize = 7;

/// Iterations that a recurrence may look back, at most.
pub(super) const MOST_LAG: usize = 1 << 16;

/// What one iteration computes.
///
/// Its inputs are a slice of each sequence, the taps of each recurrence in order, then the constants. Its
/// outputs are the new value of each recurrence, then what is stacked.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) name: String,
    pub(super) sequences: usize,
    /// For each recurrence the iterations that its taps look back, each at least 1.
    pub(super) lags: Vec<Vec<usize>>,
    /// The flat graph, of public ops.
    pub(super) graph: Arc<FunctionGraph>,
    /// As it was written: its inputs and outputs. Ops made of expressions may have gradients of their own there.
    written: Option<(Vec<Variable>, Vec<Variable>)>,
    /// The values on which its shapes depend; they are constants.
    pub(super) demand: Arc<Demand>,
}

/// Which input of the body something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Sequence(usize),
    /// The recurrence, and how far the tap looks back.
    Tap(usize, usize),
    Constant(usize),
}

impl Body {
    /// A body of Variables, whose `inputs` are all that it depends on.
    pub(super) fn new(
        name: &str,
        sequences: usize,
        lags: Vec<Vec<usize>>,
        inputs: Vec<Variable>,
        outputs: Vec<Variable>,
    ) -> Result<Body> {
        let (graph, _) = FunctionGraph::import(&inputs, &outputs, &[])?;
        let body =
            Body::stored(name, sequences, lags, Arc::new(graph)).map_err(|message| fail(name, message))?;
        Ok(Body { written: Some((inputs, outputs)), ..body })
    }

    /// A body of a flat graph.
    ///
    /// # Errors
    /// If the parts do not fit the graph; a carried value changes its type; a shape depends on a value that
    /// changes.
    pub(super) fn stored(
        name: &str,
        sequences: usize,
        lags: Vec<Vec<usize>>,
        graph: Arc<FunctionGraph>,
    ) -> Result<Body, String> {
        let taps: usize = lags.iter().map(Vec::len).sum();
        let fits = sequences.checked_add(taps).is_some_and(|n| n <= graph.inputs.len());
        if !fits || lags.len() > graph.outputs.len() || !graph.shared.is_empty() {
            return Err("the parts of the body are not as many as its inputs and outputs".into());
        }
        if graph.outputs.is_empty() {
            return Err("the body computes nothing".into());
        }
        let far = |list: &Vec<usize>| list.is_empty() || list.iter().any(|lag| !(1..=MOST_LAG).contains(lag));
        if lags.iter().any(far) {
            return Err(format!("a recurrence reads values of 1 to {MOST_LAG} iterations before"));
        }
        if 1 + nesting(&graph) > MOST_NESTED {
            return Err(format!("more than {MOST_NESTED} loops are within one another"));
        }
        let demand = Arc::new(Demand::of(&graph));
        let body = Body { name: name.into(), sequences, lags, graph, demand, written: None };
        body.check()?;
        Ok(body)
    }

    /// Checks that carried values keep their types, and that shapes do not change.
    fn check(&self) -> Result<(), String> {
        for (position, part) in self.parts().enumerate() {
            let Part::Tap(recurrence, _) = part else { continue };
            let (before, after) = (self.input_type(position), self.output_type(recurrence));
            let contradicts = |(a, b): (&Option<usize>, &Option<usize>)| a.is_some() && b.is_some() && a != b;
            let same_rank = before.ndim() == after.ndim();
            let differs = before.shape.iter().zip(&after.shape).any(contradicts);
            if before.dtype != after.dtype || !same_rank || differs {
                let what = self.recurrence_name(recurrence);
                return Err(format!("{what} is {before} before an iteration, and {after} after it"));
            }
        }
        let changing = |&&at: &&usize| !matches!(self.part(at), Part::Constant(_));
        if let Some(&at) = self.demand.inputs.iter().find(changing) {
            let what = self.graph.describe(self.graph.inputs[at]);
            return Err(format!(
                "a shape in the body depends on the value of {what}, which changes from iteration to iteration"
            ));
        }
        Ok(())
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

    /// What each input is.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        let taps =
            self.lags.iter().enumerate().flat_map(|(r, lags)| lags.iter().map(move |&lag| Part::Tap(r, lag)));
        let front = (0..self.sequences).map(Part::Sequence).chain(taps);
        let constants = self.constants();
        front.chain((0..constants).map(Part::Constant))
    }

    fn part(&self, input: usize) -> Part {
        // Inputs beyond the others are constants.
        self.parts().nth(input).unwrap_or(Part::Constant(input))
    }

    /// The position of the first constant among the inputs.
    pub(super) fn first_constant(&self) -> usize {
        self.sequences + self.lags.iter().map(Vec::len).sum::<usize>()
    }

    /// The number of constants.
    pub(super) fn constants(&self) -> usize {
        self.graph.inputs.len() - self.first_constant()
    }

    /// How many values before the first iteration a recurrence reads.
    pub(super) fn depth(&self, recurrence: usize) -> usize {
        self.lags[recurrence].iter().copied().max().unwrap_or(1)
    }

    /// The type of an input.
    pub(super) fn input_type(&self, input: usize) -> &TensorType {
        &self.graph.var(self.graph.inputs[input]).ty
    }

    /// The type of an output.
    pub(super) fn output_type(&self, output: usize) -> &TensorType {
        &self.graph.var(self.graph.outputs[output]).ty
    }

    /// How messages name a recurrence.
    pub(super) fn recurrence_name(&self, recurrence: usize) -> String {
        let tap = self.parts().position(|part| matches!(part, Part::Tap(r, _) if r == recurrence));
        let name = tap.and_then(|tap| self.graph.var(self.graph.inputs[tap]).name.clone());
        name.map_or_else(
            || format!("carried value {recurrence}"),
            |name| format!("the carried value {}", crate::printable::printable(&name)),
        )
    }
}

/// How many loops are within one another in a graph.
fn nesting(graph: &FunctionGraph) -> usize {
    let bodies = graph.nodes.iter().flat_map(|node| node.op.bodies());
    bodies.map(|body| 1 + nesting(body)).max().unwrap_or(0)
}

/// The Variables from outside that `outputs` use, apart from constants: what does not depend on `changing` is
/// computed outside.
pub(super) fn captured(outputs: &[Variable], changing: &[Variable]) -> Vec<Variable> {
    let mut varies: HashSet<(usize, usize)> = changing.iter().map(Variable::key).collect();
    let mut seen = HashSet::new();
    let mut list = Vec::new();
    let mut take = |variable: &Variable, varies: &HashSet<(usize, usize)>| {
        let constant = matches!(variable.kind(), Kind::Constant(_));
        if !constant && !varies.contains(&variable.key()) && seen.insert(variable.key()) {
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
