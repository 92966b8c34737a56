//! The gradient of a loop: a loop over the same iterations backwards (backpropagation through time).
//!
//! It carries, for each recurrence, the gradient of the values that later iterations read, and for each
//! constant the sum so far. Its sequences are those of the loop, the values of the recurrences before and
//! after each iteration, and the gradients of the results. They stay in the order of the loop's sequences,
//! which the two loops take in opposite directions. Values within the body are computed again, except its
//! outputs.

use super::ScanOp;
use super::body::{BodyInput, ScanBody};
use super::builder::Scan;
use super::scanned::Scanned;
use crate::error::Result;
use crate::graph::{Kind, Variable, ancestors};
use crate::op::{Gradient, Op};
use crate::ops::backpropagate::slopes;
use crate::ops::creation::zeros_like;
use crate::ops::elementwise_methods::where_;
use crate::ops::index_expression::Ix;
use crate::ops::join::concatenate;
use crate::ops::op_from_graph::{pairs, replaced, stand_ins};
use crate::ops::splat::uniform;
use crate::ops::subtensor::{Bound, IncSubtensor, Slot};
use std::collections::HashSet;

/// The gradient of each input.
pub(super) fn grad(op: &ScanOp, at: &Gradient) -> Result<Vec<Option<Variable>>> {
    let backward = Backward::of(op, at)?;
    backward.run()
}

/// The loop backwards, under construction.
struct Backward<'a> {
    op: &'a ScanOp,
    body: &'a ScanBody,
    at: &'a Gradient<'a>,
    inputs: Vec<Variable>,
    outputs: Vec<Variable>,
    /// Whether a gradient flows through each output of the body.
    flows: Vec<bool>,
    /// In place of each output of the body, its gradient.
    seeds: Vec<Variable>,
    /// The gradient of each input of the body, in terms of the body's inputs, outputs and `seeds`.
    slopes: Vec<Option<Variable>>,
}

/// Whether a gradient flows through each output of the body: it has one, or an iteration later something
/// through which one flows is made of it.
fn flows(body: &ScanBody, at: &Gradient, inputs: &[Variable], outputs: &[Variable]) -> Vec<bool> {
    let float = |output: usize| body.closed.output_type(output).dtype.real().is_float();
    let mut flows: Vec<bool> =
        (0..outputs.len()).map(|output| float(output) && at.output_grads[output].is_some()).collect();
    loop {
        let through: Vec<Variable> = outputs
            .iter()
            .zip(&flows)
            .filter(|(_, flows)| **flows)
            .map(|(output, _)| output.clone())
            .collect();
        let read: HashSet<(usize, usize)> =
            ancestors(&through, |_| false).iter().map(Variable::key).collect();
        let tapped = |recurrence: usize| {
            let mut parts = inputs.iter().zip(body.parts());
            parts.any(|(input, part)| {
                matches!(part, BodyInput::Tap(own, _) if own == recurrence) && read.contains(&input.key())
            })
        };
        let more = |&r: &usize| !flows[r] && float(r) && tapped(r);
        let more: Vec<usize> = (0..body.lags.len()).filter(more).collect();
        if more.is_empty() {
            return flows;
        }
        more.into_iter().for_each(|recurrence| flows[recurrence] = true);
    }
}

/// What is added to the last row of zeros, if a gradient is no more than that: directly, or in a part of them
/// that begins at one of the first `depth` rows.
fn last_alone(gradient: &Variable, depth: usize) -> Option<Variable> {
    let (apply, _) = gradient.owner()?;
    let [zeros, part, ..] = &apply.inputs[..] else { return None };
    // Ops are equal if their ids and attributes are.
    let adds = |slot: Slot| {
        let op = IncSubtensor { slots: vec![slot], set: false };
        apply.op.id() == op.id() && apply.op.attributes() == op.attributes()
    };
    if uniform(zeros) != Some(0.0) {
        return None;
    }
    if adds(Slot::Index(Bound::At(-1))) {
        return Some(part.clone());
    }
    let behind = |first: i64| adds(Slot::Slice { start: Bound::At(first), stop: Bound::Open, step: 1 });
    (0..=depth as i64).any(behind).then(|| last_alone(part, depth)).flatten()
}

impl<'a> Backward<'a> {
    fn of(op: &'a ScanOp, at: &'a Gradient<'a>) -> Result<Backward<'a>> {
        let body = op.body.as_ref();
        let (inputs, outputs) = body.closed.variables()?;
        let seeds = stand_ins(&outputs);
        let flows = flows(body, at, &inputs, &outputs);
        let known = outputs.iter().zip(&seeds).zip(&flows);
        let known = known.filter(|(_, flows)| **flows).map(|(pair, _)| pair);
        let slopes = slopes(known, &inputs)?;
        Ok(Backward { op, body, at, inputs, outputs, flows, seeds, slopes })
    }

    /// The gradient of a recurrence's last value, where nothing else of it has one.
    fn of_last(&self, recurrence: usize) -> Option<Variable> {
        last_alone(self.at.output_grads[recurrence].as_ref()?, self.body.depth(recurrence))
    }

    /// The gradient of each row of an output, where it has one that is not only of the last value.
    fn direct(&self, output: usize) -> Option<&'a Variable> {
        let whole = output >= self.body.lags.len() || self.of_last(output).is_none();
        self.at.output_grads[output].as_ref().filter(|_| whole)
    }

    /// Where among the slices of a sequence those of the iterations are that the gradient flows through, if
    /// it does not flow through all.
    fn last(&self) -> Option<Ix> {
        Some(match self.op.truncated? {
            last if self.op.backwards || last == 0 => Ix::from(..last as i64),
            last => Ix::from(-(last as i64)..),
        })
    }

    /// What flows to the first iteration and beyond: nothing, if the gradient ends before.
    fn reaching_back(&self, gradient: Variable) -> Result<Variable> {
        let Some(last) = self.op.truncated else { return Ok(gradient) };
        let steps = &self.at.inputs[self.op.steps_at()];
        let reaches = steps.try_less_equal(last as i64)?;
        Ok(where_(reaches, &gradient, zeros_like(&gradient)))
    }

    fn recurrences(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.body.lags.len()).filter(|&recurrence| self.flows[recurrence])
    }

    /// Positions of the body's inputs of a kind that have a gradient.
    fn sloped(&self, kind: impl Fn(BodyInput) -> bool) -> Vec<(usize, BodyInput)> {
        let parts = self.body.parts().enumerate();
        parts.filter(|(position, part)| self.slopes[*position].is_some() && kind(*part)).collect()
    }

    /// The rows of a trace that are as many as the iterations, beginning with this one, in the order of the
    /// sequences.
    fn rows(&self, recurrence: usize, of: &Variable, first: usize) -> Variable {
        let last = self.body.depth(recurrence) - first;
        let rows = match last {
            0 => of.index([Ix::from(first as i64..)]),
            _ => of.index([Ix::from(first as i64..-(last as i64))]),
        };
        if self.op.backwards { rows.index([Ix::from(..).step(-1)]) } else { rows }
    }

    /// Everything that goes into the loop as sequences: the values of the body's inputs, except constants;
    /// the values of its outputs; the gradients of outputs that have one.
    fn sequences(&self) -> (Vec<Variable>, usize, usize) {
        let (body, at) = (self.body, self.at);
        let of_part = |part: BodyInput| match part {
            BodyInput::Sequence(s) => Some(at.inputs[s].clone()),
            BodyInput::Tap(r, lag) => Some(self.rows(r, &at.outputs[r], body.depth(r) - lag)),
            BodyInput::Constant(_) => None,
        };
        let mut list: Vec<Variable> = body.parts().filter_map(of_part).collect();
        let inputs = list.len();
        let whole = |output: usize, of: &Variable| match output < body.lags.len() {
            true => self.rows(output, of, body.depth(output)),
            false => of.clone(),
        };
        list.extend(at.outputs.iter().enumerate().map(|(output, of)| whole(output, of)));
        let outputs = list.len();
        for output in 0..at.output_grads.len() {
            if let Some(g) = self.direct(output).filter(|_| self.flows[output]) {
                list.push(whole(output, g));
            }
        }
        (list, inputs, outputs)
    }

    fn run(&self) -> Result<Vec<Option<Variable>>> {
        let (body, at, op) = (self.body, self.at, self.op);
        let (sequences, inputs, outputs) = self.sequences();
        let constants = self.sloped(|part| matches!(part, BodyInput::Constant(_)));
        let given = sequences.len();
        let name = format!("gradient of {}", body.name);
        let mut backwards = Scan::new().named(&name).lockstep().backwards(!op.backwards);
        for sequence in sequences {
            backwards = backwards.sequence(match self.last() {
                None => sequence,
                Some(last) => sequence.try_index([last])?,
            });
        }
        for recurrence in self.recurrences() {
            let row = at.inputs[op.first_initial() + recurrence].index([Ix::from(0i64)]);
            for back in 0..body.depth(recurrence) {
                let last = self.of_last(recurrence).filter(|_| back == 0);
                backwards = backwards.recurrent(last.unwrap_or_else(|| zeros_like(&row)));
            }
        }
        for (_, part) in &constants {
            backwards = backwards.recurrent(zeros_like(&at.inputs[op.source(*part)]));
        }
        let mut failed = None;
        let scanned = backwards.try_run(|values| {
            self.iteration(values, [inputs, outputs, given]).unwrap_or_else(|error| {
                failed = Some(error.clone());
                vec![Variable::poison(error)]
            })
        });
        failed.map_or(scanned, Err).and_then(|scanned| self.results(&scanned, &constants))
    }

    /// One iteration backwards: the new gradients of values before it, the new sums, then the gradients of
    /// the slices. `values` are the sequences (those of the body's inputs, to the first position; of its
    /// outputs, to the second; gradients of the outputs, to the third), then the carried values.
    fn iteration(&self, values: &[Variable], [inputs, outputs, given]: [usize; 3]) -> Result<Vec<Variable>> {
        let body = self.body;
        let constants = &self.at.inputs[self.op.first_constant()..self.op.steps_at()];
        let before: Vec<Variable> = values[..inputs].iter().chain(constants).cloned().collect();
        let mut known = pairs(&self.inputs, &before);
        // The outputs are known; an output that is an input is known as the input.
        for (output, value) in self.outputs.iter().zip(&values[inputs..outputs]) {
            if !matches!(output.kind(), Kind::Input | Kind::Constant(_)) {
                known.entry(output.key()).or_insert_with(|| value.clone());
            }
        }
        let mut direct = values[outputs..given].iter();
        let mut carried = values[given..].iter();
        let mut later: Vec<Vec<Variable>> = vec![vec![]; body.lags.len()];
        for recurrence in self.recurrences() {
            later[recurrence] = carried.by_ref().take(body.depth(recurrence)).cloned().collect();
        }
        for (output, seed) in self.seeds.iter().enumerate() {
            if !self.flows[output] {
                continue;
            }
            let own = self.direct(output).and_then(|_| direct.next());
            let total = match (later.get(output).and_then(|list| list.first()), own) {
                (Some(later), Some(own)) => later.try_add(own)?,
                (Some(one), None) | (None, Some(one)) => one.clone(),
                (None, None) => continue,
            };
            known.insert(seed.key(), total);
        }
        let slopes = replaced(&self.slopes, &mut known)?;
        let mut results = Vec::new();
        for recurrence in self.recurrences() {
            for back in 1..=body.depth(recurrence) {
                let taps = body.parts().zip(&slopes);
                let here = taps.filter_map(|(part, slope)| {
                    slope.as_ref().filter(|_| part == BodyInput::Tap(recurrence, back))
                });
                let terms: Vec<&Variable> = later[recurrence].get(back).into_iter().chain(here).collect();
                results.push(match terms.split_first() {
                    None => zeros_like(&later[recurrence][0]),
                    Some((first, others)) => {
                        others.iter().try_fold((*first).clone(), |sum, term| sum.try_add(*term))?
                    }
                });
            }
        }
        let parts = || body.parts().zip(&slopes);
        for (part, slope) in parts() {
            if let (BodyInput::Constant(_), Some(slope)) = (part, slope) {
                let sum = carried.next().ok_or_else(|| super::super::closed::broken("sum for a constant"))?;
                results.push(sum.try_add(slope)?);
            }
        }
        for (part, slope) in parts() {
            if let (BodyInput::Sequence(_), Some(slope)) = (part, slope) {
                results.push(slope.clone());
            }
        }
        Ok(results)
    }

    /// The gradients of the op's inputs, from the results of the loop backwards.
    fn results(&self, scanned: &Scanned, constants: &[(usize, BodyInput)]) -> Result<Vec<Option<Variable>>> {
        let (body, op) = (self.body, self.op);
        let mut grads: Vec<Option<Variable>> = vec![None; op.steps_at() + 1];
        let mut last = scanned.clone().last().into_iter();
        for recurrence in self.recurrences() {
            let depth = body.depth(recurrence);
            // The first is that of the value nearest to the first iteration.
            let mut rows: Vec<Variable> = last.by_ref().take(depth).collect();
            rows.reverse();
            for (at, row) in rows.iter_mut().enumerate() {
                *row = self.reaching_back(row.clone())?;
                if let Some(own) = self.direct(recurrence) {
                    *row = row.try_add(own.try_index([Ix::from(at as i64)])?)?;
                }
                *row = row.try_expand_dims(0)?;
            }
            let all = if depth == 1 { rows.remove(0) } else { concatenate(&rows, 0) };
            grads[op.first_initial() + recurrence] = Some(all);
        }
        for ((_, part), sum) in constants.iter().zip(last) {
            grads[op.source(*part)] = Some(sum);
        }
        let slices = self.sloped(|part| matches!(part, BodyInput::Sequence(_)));
        for ((_, part), slices) in slices.iter().zip(scanned.clone().stacked()) {
            let at = op.source(*part);
            grads[at] = Some(match self.last() {
                None => slices,
                Some(last) => zeros_like(&self.at.inputs[at]).try_set_index([last], &slices)?,
            });
        }
        Ok(grads)
    }
}
