//! A loop that the members of a group compute together: a loop whose body computes with parts.

use super::ScanOp;
use super::body::{BodyInput, ScanBody};
use super::builder::Scan;
use super::scanned::Scanned;
use crate::error::Result;
use crate::graph::{Kind, Variable};
use crate::op::{MemberArray, ShardedOutputs, Sharding, Shards};
use crate::ops::sharding::sharded_by;
use std::collections::HashMap;
use workalike_kernels::nest::Fold;

/// What each member has of the outputs.
pub(super) fn shard(op: &ScanOp, at: &Shards) -> ShardedOutputs {
    let (inputs, outputs) = op.body.closed.variables()?;
    let whole = ShardedLoop { op, body: op.body.as_ref(), at, inputs, outputs };
    let carried = whole.carried()?;
    if !whole.gains(&carried) {
        return Ok(None);
    }
    let results = whole.results(&carried)?;
    let expected: Vec<Sharding> = results.iter().map(|result| result.sharding).collect();
    let Some(scanned) = whole.scan(&carried, &expected)? else { return Ok(None) };
    // All iterations are along a further axis, in front.
    let outer = |variable: &Variable, sharding| MemberArray::new(variable.clone(), outwards(sharding));
    let traces = scanned.traces.iter().zip(&carried).map(|(trace, sharding)| outer(trace, *sharding));
    let stacked = scanned.stacked.iter().zip(&results[carried.len()..]);
    let stacked = stacked.map(|(stacked, result)| outer(stacked, result.sharding));
    Ok(Some(traces.chain(stacked).collect()))
}

/// How all slices are held, each of which is held so.
fn outwards(slice: Sharding) -> Sharding {
    match slice {
        Sharding::Sharded(axis) => Sharding::Sharded(axis + 1),
        other => other,
    }
}

/// How each slice is held along the first axis; `None` if that axis itself is divided.
fn inwards(all: Sharding) -> Option<Sharding> {
    match all {
        Sharding::Sharded(axis) => axis.checked_sub(1).map(Sharding::Sharded),
        other => Some(other),
    }
}

struct ShardedLoop<'a> {
    op: &'a ScanOp,
    body: &'a ScanBody,
    at: &'a Shards<'a>,
    inputs: Vec<Variable>,
    outputs: Vec<Variable>,
}

impl ShardedLoop<'_> {
    fn given(&self, part: BodyInput) -> &MemberArray {
        &self.at.inputs[self.op.source(part)]
    }

    /// How a slice of a sequence, or of initial values, is held.
    fn slice(&self, part: BodyInput) -> Sharding {
        match inwards(self.given(part).sharding) {
            Some(sharded @ Sharding::Sharded(_)) => sharded,
            _ => Sharding::Replicated,
        }
    }

    /// How the members hold what each recurrence carries. It begins with the initial values; what the body
    /// makes of parts is parts then, and what it adds to zeros are terms.
    fn carried(&self) -> Result<Vec<Sharding>> {
        let initial = |recurrence| self.slice(BodyInput::Tap(recurrence, 1));
        let mut carried: Vec<Sharding> = (0..self.body.lags.len()).map(initial).collect();
        // Each recurrence becomes a term or a part at most once, and then perhaps whole for good.
        let mut settled = vec![false; carried.len()];
        loop {
            let results = self.results(&carried)?;
            let other = (0..carried.len()).find(|&at| !settled[at] && results[at].sharding != carried[at]);
            let Some(at) = other else { return Ok(carried) };
            let zero = self.at.is_zero(self.op.source(BodyInput::Tap(at, 1)));
            (carried[at], settled[at]) = match (carried[at], results[at].sharding) {
                (Sharding::Replicated, Sharding::Sharded(axis)) => (Sharding::Sharded(axis), false),
                (Sharding::Replicated, Sharding::Partial(Fold::Sum)) if zero => {
                    (Sharding::Partial(Fold::Sum), false)
                }
                // A part that the body makes whole, or along another axis, is cut again in each iteration.
                (part @ Sharding::Sharded(_), _) => (part, true),
                _ => (Sharding::Replicated, true),
            };
        }
    }

    /// Whether members do less than the whole each.
    fn gains(&self, carried: &[Sharding]) -> bool {
        let sequences = (0..self.body.sequences).map(|at| self.slice(BodyInput::Sequence(at)));
        carried.iter().copied().chain(sequences).any(|sharding| sharding != Sharding::Replicated)
    }

    /// How the members hold a part of what the body gets.
    fn held(&self, part: BodyInput, carried: &[Sharding]) -> Sharding {
        match part {
            BodyInput::Tap(recurrence, _) => carried[recurrence],
            BodyInput::Sequence(_) => self.slice(part),
            BodyInput::Constant(_) => self.given(part).sharding,
        }
    }

    /// What the body gives, with stand-ins for what it gets.
    fn results(&self, carried: &[Sharding]) -> Result<Vec<MemberArray>> {
        let stand_in = |(input, part): (&Variable, BodyInput)| {
            let mut ty = input.ty().clone();
            if let Sharding::Sharded(axis) = self.held(part, carried) {
                ty.shape[axis] = None;
            }
            Variable::with_kind(Kind::Input, ty, None)
        };
        let values: Vec<Variable> = self.inputs.iter().zip(self.body.parts()).map(stand_in).collect();
        self.computed(&values, carried)
    }

    /// The loop, each recurrence of which is held like this; `None` if its body gives something that is held
    /// otherwise than expected, since types are more precise now.
    fn scan(&self, carried: &[Sharding], expected: &[Sharding]) -> Result<Option<Scanned>> {
        let group = self.at.group;
        let mut scan = Scan::new().named(&self.body.name).backwards(self.op.backwards);
        for at in 0..self.body.sequences {
            let part = BodyInput::Sequence(at);
            scan = scan.sequence(match self.slice(part) {
                Sharding::Sharded(_) => self.given(part).variable.clone(),
                _ => self.given(part).gathered(group)?,
            });
        }
        if self.body.sequences == 0 {
            scan = scan.steps(self.at.whole(self.op.steps_at())?);
        }
        for (recurrence, lags) in self.body.lags.iter().enumerate() {
            let given = self.given(BodyInput::Tap(recurrence, 1));
            let initial = match carried[recurrence] {
                Sharding::Sharded(axis) => given.divided(axis + 1, group)?,
                // Zeros are terms of their sum.
                _ => given.gathered(group)?,
            };
            scan = scan.recurrent_taps(initial, lags.iter().map(|&lag| -(lag as isize)));
        }
        let (mut failed, mut as_expected) = (None, true);
        let scanned = scan.try_run(|values| {
            let results = self.computed(values, carried).and_then(|results| {
                as_expected = results.iter().map(|result| result.sharding).eq(expected.iter().copied());
                let each = |(at, held): (usize, MemberArray)| match carried.get(at) {
                    Some(Sharding::Sharded(axis)) => held.divided(*axis, group),
                    Some(Sharding::Replicated) => held.gathered(group),
                    _ => Ok(held.variable),
                };
                results.into_iter().enumerate().map(each).collect()
            });
            results.unwrap_or_else(|error| {
                failed = Some(error.clone());
                vec![Variable::poison(error)]
            })
        });
        failed.map_or(scanned, Err).map(|scanned| as_expected.then_some(scanned))
    }

    /// What the body gives for these values of its sequences and taps, of which this member has parts.
    fn computed(&self, values: &[Variable], carried: &[Sharding]) -> Result<Vec<MemberArray>> {
        let mut stands = HashMap::new();
        let changing = values.iter().map(Some).chain(std::iter::repeat(None));
        for ((input, part), value) in self.inputs.iter().zip(self.body.parts()).zip(changing) {
            let stand = match (part, value) {
                (BodyInput::Constant(_), _) | (_, None) => self.given(part).clone(),
                (_, Some(value)) => {
                    MemberArray::new(value.clone(), self.held(part, carried)).of_type(input.ty())
                }
            };
            stands.insert(input.key(), stand);
        }
        sharded_by(&self.outputs, stands, self.at.group)
    }
}
