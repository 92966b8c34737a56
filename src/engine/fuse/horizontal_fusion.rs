//! Horizontal fusion: independent Nests over the same points become one launch, whether or not they share a
//! buffer, for example the updates of weights of one shape, layers of one size, populations of one number.
//!
//! Two steps are independent if the longest paths from each to the end of the Program have the same number of
//! steps: if one depended on the other, its path would be shorter. So steps are sorted by this *height*, and
//! steps of one height over the same points are joined one by one; then the same by *depth*, the longest path
//! from the start. Pairs are not enumerated, so the pass takes time proportional to the Program. The steps
//! are then sorted by their dependences; where nothing was joined, the order is unchanged.
//!
//! A host node is a barrier: no step moves past it. Steps of different devices stay apart.

use super::join::join;
use super::limits::FusionLimits;
use super::merge::is_worth_it;
use super::{CostModel, nothing, touches_mutable};
use crate::engine::cost::step as work_of;
use crate::engine::dependences::DependenceGraph;
use crate::lower::program::{Program, Step};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use workalike_kernels::nest::Nest;

/// The measure by which steps are grouped.
#[derive(Clone, Copy)]
enum Rank {
    Height,
    Depth,
}

/// Joins steps if it saves time.
pub(super) fn run(program: &mut Program, cost: &CostModel, limits: FusionLimits) {
    for rank in [Rank::Height, Rank::Depth] {
        let steps = std::mem::take(&mut program.steps);
        let mut done = Vec::with_capacity(steps.len());
        let mut between_hosts = Vec::new();
        for step in steps {
            if !step.needs_host() {
                between_hosts.push(step);
                continue;
            }
            done.extend(joined(program, std::mem::take(&mut between_hosts), (cost, limits), rank));
            done.push(step);
        }
        done.extend(joined(program, between_hosts, (cost, limits), rank));
        program.steps = done;
    }
}

impl DependenceGraph {
    /// A number for each step, smaller than those of the steps that wait for it; steps of equal number are
    /// independent.
    fn levels(&self, rank: Rank) -> Vec<usize> {
        let mut levels = vec![0; self.before.len()];
        match rank {
            Rank::Depth => {
                for at in 0..levels.len() {
                    levels[at] = self.before[at].iter().map(|&b| levels[b] + 1).max().unwrap_or(0);
                }
            }
            Rank::Height => {
                for at in (0..levels.len()).rev() {
                    levels[at] = self.after[at].iter().map(|&a| levels[a] + 1).max().unwrap_or(0);
                }
                let most = levels.iter().copied().max().unwrap_or(0);
                levels.iter_mut().for_each(|level| *level = most - *level);
            }
        }
        levels
    }

    /// The time from the end of each step to the end of the Program, if all independent steps run
    /// concurrently.
    fn tails(&self, times: &[f64]) -> Vec<f64> {
        let mut tails = vec![0f64; times.len()];
        for at in (0..times.len()).rev() {
            tails[at] = self.after[at].iter().map(|&a| tails[a] + times[a]).fold(0.0, f64::max);
        }
        tails
    }
}

/// Steps that were joined, identified by the first of them. Times are in bytes that could be moved meanwhile.
#[derive(Clone)]
struct FusionGroup {
    /// The number of steps.
    count: usize,
    /// The position of the last of them.
    last: usize,
    /// The sum of their traffic and arithmetic.
    work: f64,
    /// The work of the longest step.
    longest: f64,
    /// The earliest start.
    start: f64,
    /// The time from its end to the end of the Program.
    tail: f64,
}

impl CostModel {
    /// Two units as one, unless that costs more than it saves. On a device that runs independent steps
    /// concurrently, joining them must not make one wait so long for the other that the whole takes longer
    /// than `limit`.
    fn joined(&self, a: &FusionGroup, b: &FusionGroup, limit: f64) -> Option<FusionGroup> {
        let both = FusionGroup {
            count: a.count + b.count,
            last: a.last.max(b.last),
            work: a.work + b.work,
            longest: a.longest.max(b.longest),
            start: a.start.max(b.start),
            tail: a.tail.max(b.tail),
        };
        let saved = (both.count - 1) as f64 * self.saved_by_joining();
        let waits = self.concurrent && both.start + self.step + both.longest + both.tail > limit;
        (both.work * CostModel::JOINED_SLOWDOWN <= saved && !waits).then_some(both)
    }
}

/// A list of steps without host nodes, some of them joined.
fn joined(
    program: &Program,
    steps: Vec<Step>,
    (cost, limits): (&CostModel, FusionLimits),
    rank: Rank,
) -> Vec<Step> {
    let work: Vec<f64> = steps
        .iter()
        .map(|step| {
            let work = work_of(program, step);
            work.bytes() as f64 + work.flops * cost.flop
        })
        .collect();
    let is_small = |at: usize| work[at] <= cost.step && can_join(program, &steps[at], cost);
    let small: Vec<bool> = (0..steps.len()).map(is_small).collect();
    if small.iter().filter(|small| **small).count() < 2 {
        return steps;
    }
    let order = DependenceGraph::of(program, &steps);
    let levels = order.levels(rank);
    let times: Vec<f64> = work.iter().map(|work| work + cost.step).collect();
    let tails = order.tails(&times);
    let whole = times.iter().zip(&tails).map(|(time, tail)| time + tail).fold(0.0, f64::max);
    // However many are joined, the whole may become longer by the saving of the first join.
    let limit = whole + cost.step * (1.0 - CostModel::HIDDEN);
    let mut sorted: Vec<usize> = (0..steps.len()).collect();
    sorted.sort_by_key(|&at| levels[at]);
    let mut steps = steps;
    let mut units: Vec<FusionGroup> = Vec::with_capacity(steps.len());
    for (at, (&work, &tail)) in work.iter().zip(&tails).enumerate() {
        units.push(FusionGroup { count: 1, last: at, work, longest: work, start: 0.0, tail });
    }
    let mut first: Vec<usize> = (0..steps.len()).collect();
    // The unit that accepts further steps, by level and points.
    let mut open: HashMap<(usize, Vec<u64>, usize), usize> = HashMap::new();
    for at in sorted {
        let ends = order.before[at].iter().map(|&b| &units[first[b]]);
        units[at].start = ends.map(|u| u.start + cost.step + u.longest).fold(0.0, f64::max);
        let (true, Step::Nest { nest, .. }) = (small[at], &steps[at]) else { continue };
        let key = (levels[at], nest.axes.clone(), nest.grid);
        if let Some(&unit) = open.get(&key)
            && let Some(both) = cost.joined(&units[unit], &units[at], limit)
            && let Some(step) = as_one(&steps[unit], &steps[at], (cost, limits))
        {
            steps[unit] = step;
            steps[at] = nothing();
            units[unit] = both;
            first[at] = unit;
        } else {
            open.insert(key, at);
        }
    }
    ordered(steps, &order, &first, &units)
}

/// Whether a step may be joined with others at all.
fn can_join(program: &Program, step: &Step, cost: &CostModel) -> bool {
    let Step::Nest { nest, .. } = step else { return false };
    // If instructions are dispatched for each row, folding two rows at once saves nothing.
    let suits = nest.is_map() || !cost.interprets();
    suits && nest.grid_points() > 0 && !touches_mutable(program, step)
}

fn as_one(earlier: &Step, later: &Step, (cost, limits): (&CostModel, FusionLimits)) -> Option<Step> {
    let (Step::Nest { nest: a, buffers: a_buffers }, Step::Nest { nest: b, buffers: b_buffers }) =
        (earlier, later)
    else {
        return None;
    };
    let (nest, buffers): (Nest, _) = join((a, a_buffers), (b, b_buffers), &|_| false, limits)?;
    is_worth_it(&nest, cost).then_some(Step::Nest { nest, buffers })
}

/// The remaining steps, sorted by their dependences, then by the position of their last part.
fn ordered(steps: Vec<Step>, order: &DependenceGraph, first: &[usize], units: &[FusionGroup]) -> Vec<Step> {
    let count = steps.len();
    if first.iter().enumerate().all(|(at, &unit)| at == unit) {
        return steps;
    }
    let (mut waits, mut after) = (vec![0usize; count], vec![vec![]; count]);
    for at in 0..count {
        for &before in &order.before[at] {
            after[first[before]].push(first[at]);
            waits[first[at]] += 1;
        }
    }
    let is_first = |at: &usize| first[*at] == *at;
    let ready = (0..count).filter(|at| is_first(at) && waits[*at] == 0);
    let mut ready: BinaryHeap<_> = ready.map(|at| Reverse((units[at].last, at))).collect();
    let mut steps: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    let mut sorted = Vec::with_capacity(count);
    while let Some(Reverse((_, at))) = ready.pop() {
        sorted.extend(steps[at].take());
        for &next in &after[at] {
            waits[next] -= 1;
            if waits[next] == 0 {
                ready.push(Reverse((units[next].last, next)));
            }
        }
    }
    sorted
}

#[cfg(test)]
mod tests;
