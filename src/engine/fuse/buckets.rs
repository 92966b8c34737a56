//! Buckets: neighbouring reductions of small arrays over the members of a group become one exchange, as in
//! PyTorch's DDP. An exchange costs some microseconds however small its array is, and a network has many
//! small gradients.
//!
//! A bucket is where its last member was. Steps that wait for an earlier one move behind it; other exchanges
//! end it, so that all members of the group keep one order of exchanges.

use crate::engine::dependences::DependenceGraph;
use crate::lower::program::{LibraryStep, Program, Step};
use std::sync::Arc;
use workalike_device::group::{Collective, CollectiveKind};

/// The most bytes of a bucket. From about this size on an exchange takes its time for the bytes (4 MiB at 100
/// GB/s are 40 us, an empty one takes 5 to 20), and one that begins early overlaps with the steps behind it.
const MOST_BYTES: u64 = 4 << 20;

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
    if program.steps.iter().filter(|step| reduction(step).is_some()).count() < 2 {
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

/// The op of a step that reduces arrays over a group.
fn reduction(step: &Step) -> Option<&Collective> {
    step.exchange().filter(|op| matches!(op.kind, CollectiveKind::AllReduce(_)))
}

fn bytes(op: &Collective) -> u64 {
    op.elements.iter().fold(0u64, |all, n| all.saturating_add(n.saturating_mul(op.dtype.size() as u64)))
}

/// Whether two reductions are over the same members, and of one kind and dtype.
fn alike(a: &Collective, b: &Collective) -> bool {
    Arc::ptr_eq(&a.group, &b.group) && a.kind == b.kind && a.dtype == b.dtype
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
            let fits = reduction(step).zip(reduction(&program.steps[first]));
            let fits = fits.is_some_and(|(own, other)| {
                !waits && alike(own, other) && bucket.bytes.saturating_add(bytes(own)) <= MOST_BYTES
            });
            if fits {
                bucket.steps.push(at);
                bucket.bytes += reduction(step).map_or(0, bytes);
                continue;
            }
        }
        if step.exchanges() {
            open = reduction(step).is_some();
            let bytes = reduction(step).map_or(0, bytes);
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

/// One exchange in the place of several.
fn joined<'s>(steps: impl Iterator<Item = &'s Step>) -> Option<Step> {
    let mut steps = steps.cloned();
    let mut all = steps.next()?;
    let mut elements = reduction(&all)?.elements.clone();
    for step in steps {
        elements.extend(&reduction(&step)?.elements);
        match (&mut all, step) {
            (Step::Library(all), Step::Library(own)) => {
                all.inputs.extend(own.inputs);
                all.outputs.extend(own.outputs);
            }
            (Step::Host(all), Step::Host(own)) => {
                all.inputs.extend(own.inputs);
                all.outputs.extend(own.outputs);
            }
            _ => return None,
        }
    }
    let op = Collective { elements, ..reduction(&all)?.clone() };
    match &mut all {
        Step::Library(LibraryStep { op: own, .. }) => *own = Arc::new(op),
        Step::Host(node) => node.exchange = Some(op),
        _ => return None,
    }
    Some(all)
}

#[cfg(test)]
mod tests;
