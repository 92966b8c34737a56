//! A loop taken apart, for rewrites that take something out of it.

use super::body::{BodyInput, ScanBody};
use super::{ScanInputs, ScanOp};
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{Variable, rebuild};
use crate::op::Op;
use crate::ops::op_from_graph::stand_ins;
use crate::ops::shape::ShapeOf;
use crate::value::Value;
use std::collections::HashMap;
use std::slice;
use std::sync::Arc;
use workalike_kernels::Scalar;

/// What the body is given: a Variable of an iteration, with the one outside that it is a part of.
#[derive(Clone, Debug)]
pub(crate) struct LoopArgument {
    pub(crate) within: Variable,
    pub(crate) outside: Variable,
}

/// A carried value.
#[derive(Clone, Debug)]
pub(crate) struct Recurrence {
    /// What an iteration gets: how many iterations it looks back, and the Variable.
    pub(crate) taps: Vec<(usize, Variable)>,
    /// The values before the first iteration.
    pub(crate) initial: Variable,
    /// The value after an iteration.
    pub(crate) next: Variable,
}

/// A loop as expressions of an iteration.
#[derive(Clone, Debug)]
pub(crate) struct LoopParts {
    op: ScanOp,
    name: String,
    /// Slices, and all of them along the first axis.
    pub(crate) sequences: Vec<LoopArgument>,
    pub(crate) recurrences: Vec<Recurrence>,
    /// The same in all iterations.
    pub(crate) constants: Vec<LoopArgument>,
    /// Results that are not carried.
    pub(crate) results: Vec<Variable>,
    /// The number of iterations.
    pub(crate) steps: Variable,
}

impl LoopParts {
    /// Those of an op on these inputs.
    ///
    /// # Errors
    /// If an op of the body refuses its inputs.
    pub(crate) fn of(op: &ScanOp, inputs: &[Variable]) -> Result<LoopParts> {
        let (within, outputs) = op.body.closed.variables()?;
        let parts = || within.iter().zip(op.body.parts());
        let bound = |kind: fn(BodyInput) -> bool| -> Vec<LoopArgument> {
            let own = parts().filter(|(_, part)| kind(*part));
            let bind = |(within, part): (&Variable, BodyInput)| LoopArgument {
                within: within.clone(),
                outside: inputs[op.source(part)].clone(),
            };
            own.map(bind).collect()
        };
        let recurrence = |(at, next): (usize, &Variable)| {
            let taps = parts().filter_map(|(within, part)| match part {
                BodyInput::Tap(recurrence, lag) if recurrence == at => Some((lag, within.clone())),
                _ => None,
            });
            let initial = inputs[op.first_initial() + at].clone();
            Recurrence { taps: taps.collect(), initial, next: next.clone() }
        };
        let (next, results) = outputs.split_at(op.body.lags.len());
        Ok(LoopParts {
            sequences: bound(|part| matches!(part, BodyInput::Sequence(_))),
            constants: bound(|part| matches!(part, BodyInput::Constant(_))),
            recurrences: next.iter().enumerate().map(recurrence).collect(),
            results: results.to_vec(),
            steps: inputs[op.steps_at()].clone(),
            name: op.body.name.clone(),
            op: op.clone(),
        })
    }

    /// Whether it goes backwards: see [`ScanOp`].
    pub(crate) fn backwards(&self) -> bool {
        self.op.backwards
    }

    /// Whether its gradient flows through all iterations.
    pub(crate) fn flows_through(&self) -> bool {
        self.op.truncated.is_none()
    }

    /// Whether a sequence is known to be as long as there are iterations.
    pub(crate) fn is_as_long(&self, sequence: &LoopArgument) -> bool {
        let outside = &sequence.outside;
        let shape = ShapeOf { axis: 0 };
        let measured = self.steps.owner().is_some_and(|(apply, _)| {
            let same = apply.inputs.first().is_some_and(|of| of.key() == outside.key());
            same && apply.op.id() == shape.id() && apply.op.attributes() == shape.attributes()
        });
        let steps = self.steps.constant_value().and_then(Value::to_scalar).map(Scalar::to_i128);
        let extent = outside.ty().shape.first().copied().flatten();
        self.op.lockstep || measured || (steps.is_some() && steps == extent.map(|extent| extent as i128))
    }

    /// This loop and another of as many iterations, in the same direction, as one. Its recurrences and its
    /// results come before the other's. What both get is one argument.
    ///
    /// # Errors
    /// If an op of the other's body refuses its inputs.
    pub(crate) fn beside(mut self, other: &LoopParts) -> Result<LoopParts> {
        // Two loops may have been written by one closure: each has Variables of its own here.
        let mut known: HashMap<(usize, usize), Variable> = HashMap::new();
        let mut own = |within: &Variable| {
            let new = stand_ins(slice::from_ref(within)).remove(0);
            known.insert(within.key(), new.clone());
            new
        };
        let taps: Vec<Vec<(usize, Variable)>> = other
            .recurrences
            .iter()
            .map(|recurrence| recurrence.taps.iter().map(|(lag, tap)| (*lag, own(tap))).collect())
            .collect();
        share(&mut self.sequences, &other.sequences, &mut known);
        share(&mut self.constants, &other.constants, &mut known);
        let next = other.recurrences.iter().map(|recurrence| &recurrence.next);
        let outputs: Vec<Variable> = next.chain(&other.results).cloned().collect();
        let mut outputs = rebuild(&outputs, &mut known, |_, _| Ok(None))?;
        self.results.extend(outputs.split_off(other.recurrences.len()));
        for ((recurrence, taps), next) in other.recurrences.iter().zip(taps).zip(outputs) {
            self.recurrences.push(Recurrence { taps, next, initial: recurrence.initial.clone() });
        }
        if self.name != other.name {
            self.name = format!("{} and {}", self.name, other.name);
        }
        self.op.lockstep &= other.op.lockstep;
        Ok(self)
    }

    /// The outputs of the loop of these parts: for each recurrence its values before the first iteration and
    /// after each, then the results. Without either there is no loop.
    ///
    /// # Errors
    /// If the parts do not fit each other.
    pub(crate) fn outputs(&self) -> Result<Vec<Variable>> {
        let LoopParts { op, name, sequences, recurrences, constants, results, steps } = self;
        let within =
            |list: &[LoopArgument]| list.iter().map(|bound| bound.within.clone()).collect::<Vec<_>>();
        let outside =
            |list: &[LoopArgument]| list.iter().map(|bound| bound.outside.clone()).collect::<Vec<_>>();
        let taps = recurrences.iter().flat_map(|own| own.taps.iter().map(|(_, tap)| tap.clone())).collect();
        let lags = recurrences.iter().map(|own| own.taps.iter().map(|(lag, _)| *lag).collect()).collect();
        let inputs = [within(sequences), taps, within(constants)].concat();
        let next = recurrences.iter().map(|own| own.next.clone());
        let outputs: Vec<Variable> = next.chain(results.iter().cloned()).collect();
        if outputs.is_empty() {
            return Ok(outputs);
        }
        let body = ScanBody::new(name, sequences.len(), lags, inputs, outputs)?;
        let op = ScanOp { body: Arc::new(body), states: vec![], ..op.clone() };
        let initial = recurrences.iter().map(|own| own.initial.clone()).collect();
        let (sequences, constants) = (outside(sequences), outside(constants));
        let given = ScanInputs { sequences, initial, constants, steps: steps.clone() };
        Variable::apply_at(Arc::new(op), &given.list(), source_location::here())
    }
}

/// Adds arguments to others. `known` gets what stands for them in the body: an argument that is there
/// already, or a new one.
fn share(all: &mut Vec<LoopArgument>, more: &[LoopArgument], known: &mut HashMap<(usize, usize), Variable>) {
    for LoopArgument { within, outside } in more {
        let same = |own: &&LoopArgument| own.outside.key() == outside.key() && own.within.ty() == within.ty();
        let there = all.iter().find(same).map(|own| own.within.clone());
        let stand = there.unwrap_or_else(|| {
            let new = stand_ins(slice::from_ref(within)).remove(0);
            all.push(LoopArgument { within: new.clone(), outside: outside.clone() });
            new
        });
        known.insert(within.key(), stand);
    }
}

impl Recurrence {
    /// How many values before the first iteration it has.
    pub(crate) fn depth(&self) -> usize {
        self.taps.iter().map(|(lag, _)| *lag).max().unwrap_or(1)
    }
}
