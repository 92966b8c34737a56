//! Buckets: neighbouring reductions of small arrays, of any dtypes, over the members of a group become one
//! exchange, as in PyTorch's DDP. An exchange costs some microseconds however small its array is, and a
//! network has many small gradients.
//!
//! A bucket is where its last member was. Steps that wait for an earlier one move behind it. A large
//! reduction stays where it is, and those behind it may join those before; other exchanges end a bucket.
//! Programs of equal steps have equal buckets, so all members of the group keep one order of exchanges.

use crate::engine::dependences::DependenceGraph;
use crate::lower::exchange_order::SHARED_BYTES;
use crate::lower::program::{Program, Step};
use std::sync::Arc;
use workalike_device::group::{Collective, CollectiveArray};

/// The most arrays of a bucket: the members' reports join the last one.
const MOST_JOINED: usize = Collective::MOST_ARRAYS - 1;

/// Steps that become one exchange.
struct Bucket {
    /// Positions, in order.
    steps: Vec<usize>,
    bytes: u64,
    /// For each step from the first on, whether it waits for one of them.
    waits: Vec<bool>,
}

/// Joins what can be joined.
pub(super) fn run(program: &mut Program) {
    if program.steps.iter().filter(|step| step.all_reduce().is_some()).count() < 2 {
        return;
    }
    let buckets = buckets(program);
    for Bucket { steps, waits, .. } in buckets.into_iter().rev().filter(|bucket| bucket.steps.len() > 1) {
        let (first, last) = (steps[0], steps[steps.len() - 1]);
        let Some(joined) = joined(steps.iter().map(|&at| &program.steps[at])) else { continue };
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        let between = program.steps.drain(first..=last).zip(first..);
        for (step, at) in between.filter(|(_, at)| !steps.contains(at)) {
            if waits[at - first] { behind.push(step) } else { before.push(step) }
        }
        let steps = before.into_iter().chain([joined]).chain(behind);
        program.steps.splice(first..first, steps.collect::<Vec<_>>());
    }
}

fn bytes(op: &Collective) -> u64 {
    op.arrays.iter().map(CollectiveArray::bytes).fold(0u64, u64::saturating_add)
}

/// Whether two steps are reductions over the same members, both by the device or both through main memory.
fn alike(a: &Step, b: &Step) -> bool {
    let same = |(a, b): (&Collective, &Collective)| Arc::ptr_eq(&a.group, &b.group);
    std::mem::discriminant(a) == std::mem::discriminant(b)
        && a.all_reduce().zip(b.all_reduce()).is_some_and(same)
}

fn buckets(program: &Program) -> Vec<Bucket> {
    let order = DependenceGraph::of(program, &program.steps);
    let mut buckets: Vec<Bucket> = Vec::new();
    let mut open = false;
    for (at, step) in program.steps.iter().enumerate() {
        if let Some(bucket) = buckets.last_mut().filter(|_| open) {
            let first = bucket.steps[0];
            let in_bucket = |before: &usize| {
                // That exchanges keep their order is no reason to wait for one.
                let only_order = step.exchanges() && !reads_of(&program.steps[*before], step);
                *before >= first
                    && (bucket.waits[before - first] || (bucket.steps.contains(before) && !only_order))
            };
            let waits = order.before[at].iter().any(in_bucket);
            bucket.waits.push(waits);
            let more = step.all_reduce().map_or(0, bytes);
            if !waits && alike(step, &program.steps[first]) {
                let fits = bucket.steps.len() < MOST_JOINED;
                if fits && bucket.bytes.saturating_add(more) <= SHARED_BYTES {
                    bucket.steps.push(at);
                    bucket.bytes += more;
                    continue;
                }
                if more > SHARED_BYTES {
                    continue;
                }
            }
        }
        if step.exchanges() {
            open = step.all_reduce().is_some();
            let bytes = step.all_reduce().map_or(0, bytes);
            buckets.push(Bucket { steps: vec![at], bytes, waits: vec![false] });
        }
    }
    buckets
}

/// Whether a step reads what another writes.
fn reads_of(writer: &Step, reader: &Step) -> bool {
    let writes = writer.writes();
    reader.reads().iter().any(|buffer| writes.contains(buffer))
}

/// One exchange in the place of several, which are alike.
fn joined<'s>(steps: impl Iterator<Item = &'s Step>) -> Option<Step> {
    let mut steps = steps.cloned();
    let mut all = steps.next()?;
    for step in steps {
        let (inputs, outputs) = match &step {
            Step::Library(own) => (own.inputs.clone(), &own.outputs),
            Step::Host(own) => (own.inputs.iter().map(|&input| (input, 0)).collect(), &own.outputs),
            _ => return None,
        };
        let arrays = step.all_reduce()?.arrays.iter().cloned();
        all.reduce_too(
            arrays.zip(inputs).zip(outputs).map(|((array, input), &output)| (array, input, output)),
        );
    }
    Some(all)
}

#[cfg(test)]
mod tests;
