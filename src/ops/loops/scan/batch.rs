//! A loop for a whole batch of some of its inputs: a loop whose body computes a batch.

use super::ScanOp;
use super::body::{BodyInput, ScanBody};
use super::builder::Scan;
use super::scanned::Scanned;
use crate::error::Result;
use crate::graph::{Kind, Variable};
use crate::op::{Batch, Batched, BatchedOutputs};
use crate::ops::batching::{batched_by, repeated};
use std::collections::HashMap;

/// The outputs for the whole batch.
pub(super) fn batch(op: &ScanOp, at: &Batch) -> BatchedOutputs {
    if at.same(op.steps_at()).is_none() {
        // Iterations differ in number.
        return Ok(None);
    }
    let body = op.body.as_ref();
    let (inputs, outputs) = body.closed.variables()?;
    let whole = BatchedLoop { op, body, at, inputs, outputs };
    let carried = whole.carried()?;
    let scanned = whole.scan(&carried)?;
    let results = whole.results(&carried)?;
    let behind = |variable: &Variable| variable.try_moveaxis(1, 0);
    let mut list = Vec::new();
    for (recurrence, batched) in carried.iter().enumerate() {
        let trace = &scanned.traces[recurrence];
        list.push(match batched {
            true => Batched::each(behind(trace)?),
            false => Batched::shared(trace.clone()),
        });
    }
    for (stacked, result) in scanned.stacked.iter().zip(&results[carried.len()..]) {
        list.push(match result.batched {
            true => Batched::each(behind(stacked)?),
            false => Batched::shared(stacked.clone()),
        });
    }
    Ok(Some(list))
}

struct BatchedLoop<'a> {
    op: &'a ScanOp,
    body: &'a ScanBody,
    at: &'a Batch<'a>,
    inputs: Vec<Variable>,
    outputs: Vec<Variable>,
}

impl BatchedLoop<'_> {
    fn given(&self, part: BodyInput) -> &Batched {
        &self.at.inputs[self.op.source(part)]
    }

    /// Which recurrences differ between the elements of the batch: those whose initial values do, and those
    /// that depend on one of them.
    fn carried(&self) -> Result<Vec<bool>> {
        let initial = |recurrence| self.given(BodyInput::Tap(recurrence, 1)).batched;
        let mut carried: Vec<bool> = (0..self.body.lags.len()).map(initial).collect();
        loop {
            let results = self.results(&carried)?;
            let more = |at: usize| results[at].batched && !carried[at];
            let Some(next) = (0..carried.len()).find(|&at| more(at)) else { return Ok(carried) };
            carried[next] = true;
        }
    }

    /// Whether a part has the batch axis.
    fn has_axis(&self, part: BodyInput, carried: &[bool]) -> bool {
        match part {
            BodyInput::Tap(recurrence, _) => carried[recurrence],
            BodyInput::Sequence(_) | BodyInput::Constant(_) => self.given(part).batched,
        }
    }

    /// What the body gives, with stand-ins for what it gets.
    fn results(&self, carried: &[bool]) -> Result<Vec<Batched>> {
        let stand_in = |(input, part): (&Variable, BodyInput)| {
            let mut ty = input.ty().clone();
            if self.has_axis(part, carried) {
                ty.shape.insert(0, None);
            }
            Variable::with_kind(Kind::Input, ty, None)
        };
        let values: Vec<Variable> = self.inputs.iter().zip(self.body.parts()).map(stand_in).collect();
        self.computed(&values, carried)
    }

    /// The loop; `carried` are the recurrences with the batch axis.
    fn scan(&self, carried: &[bool]) -> Result<Scanned> {
        let inward = |variable: &Variable| variable.try_moveaxis(0, 1);
        let mut scan = Scan::new().named(&self.body.name).backwards(self.op.backwards);
        for at in 0..self.body.sequences {
            let Batched { variable, batched } = self.given(BodyInput::Sequence(at));
            scan = scan.sequence(if *batched { inward(variable)? } else { variable.clone() });
        }
        if self.body.sequences == 0 {
            scan = scan.steps(self.at.inputs[self.op.steps_at()].variable.clone());
        }
        for (recurrence, lags) in self.body.lags.iter().enumerate() {
            let Batched { variable, batched } = self.given(BodyInput::Tap(recurrence, 1));
            let initial = match (carried[recurrence], batched) {
                (true, true) => inward(variable)?,
                (true, false) => inward(&repeated(variable, self.at.count)?)?,
                (false, _) => variable.clone(),
            };
            scan = scan.recurrent_taps(initial, lags.iter().map(|&lag| -(lag as isize)));
        }
        let mut failed = None;
        let scanned = scan.try_run(|values| {
            let results = self.computed(values, carried).and_then(|results| {
                let each = |(at, Batched { variable, batched }): (usize, Batched)| {
                    let lacks = carried.get(at) == Some(&true) && !batched;
                    if lacks { repeated(&variable, self.at.count) } else { Ok(variable) }
                };
                results.into_iter().enumerate().map(each).collect()
            });
            results.unwrap_or_else(|error| {
                failed = Some(error.clone());
                vec![Variable::poison(error)]
            })
        });
        failed.map_or(scanned, Err)
    }

    /// What the body gives for these values of its sequences and taps, whose batch axis is in front where
    /// they have one.
    fn computed(&self, values: &[Variable], carried: &[bool]) -> Result<Vec<Batched>> {
        let mut stands = HashMap::new();
        let changing = values.iter().map(Some).chain(std::iter::repeat(None));
        for ((input, part), value) in self.inputs.iter().zip(self.body.parts()).zip(changing) {
            let stand = match (part, value) {
                (BodyInput::Constant(_), _) | (_, None) => self.given(part).clone(),
                (_, Some(value)) => {
                    Batched { variable: value.clone(), batched: self.has_axis(part, carried) }
                }
            };
            stands.insert(input.key(), stand);
        }
        batched_by(&self.outputs, stands, self.at.count)
    }
}
