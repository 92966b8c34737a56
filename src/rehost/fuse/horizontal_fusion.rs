//! Independent Nests over the same points become one launch, whether or not they touch a buffer in common:
//! the updates of weights of one shape, layers of one size, populations of one number.
//!
//! Two steps are independent if the longest ways from each to the end of the Program have as many steps: one
//! that leads to the other would have more. So steps are sorted by that *height*, and those of one height
//! over the same points are joined, one after the other; the same again by *depth*, the longest way from the
//! start. No pair is looked for, so the pass takes time in proportion to the Program. The steps then stand in
//! an order that follows from what they need; where nothing was joined, it is the order from before.
//!
//! A host node is a fence: nothing moves past it.

use super::join::join;
use super::merge::is_worth_it;
use super::{Cost, nothing, touches_mutable};
use crate::kernels::nest::Nest;
use crate::lower::program::{Program, Step};
use crate::rehost::cost;
use crate::rehost::dependences::Order;
use crate::rehost::device::Properties;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// How much longer the bytes of several Nests take in one: an item has more registers, and there are fewer
/// items.
const CROWDED: f64 = 0.125;
/// The part of a launch that a wide device does not hide by running steps that do not depend on each other
/// side by side.
const BESIDE: f64 = 0.5;

/// What a step costs a device that interprets: a look at what there is to do, no launch.
const LOOK: f64 = 3e3;

/// Which steps are tried for each other.
#[derive(Clone, Copy)]
enum Rank {
    Height,
    Depth,
}

/// Joins what is worth joining.
pub(super) fn run(program: &mut Program, properties: &Properties) {
    for rank in [Rank::Height, Rank::Depth] {
        let steps = std::mem::take(&mut program.steps);
        let mut done = Vec::with_capacity(steps.len());
        let mut fenced = Vec::new();
        for step in steps {
            if !matches!(step, Step::Host(_)) {
                fenced.push(step);
                continue;
            }
            done.extend(joined(program, std::mem::take(&mut fenced), properties, rank));
            done.push(step);
        }
        done.extend(joined(program, fenced, properties, rank));
        program.steps = done;
    }
}

impl Order {
    /// Numbers that rise from each step to those that wait for it; steps of one number are independent.
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

    /// The time from the end of each step to the end of the Program, if all that is independent runs side by
    /// side.
    fn tails(&self, times: &[f64]) -> Vec<f64> {
        let mut tails = vec![0f64; times.len()];
        for at in (0..times.len()).rev() {
            tails[at] = self.after[at].iter().map(|&a| tails[a] + times[a]).fold(0.0, f64::max);
        }
        tails
    }
}

/// Steps that are one now, known by the first of them. Times are bytes that could be moved meanwhile.
#[derive(Clone)]
struct Unit {
    /// How many.
    count: usize,
    /// Where the last of them stood.
    last: usize,
    /// What they move and compute, added up.
    work: f64,
    /// The work of the longest.
    longest: f64,
    /// When it can begin.
    start: f64,
    /// What comes after it.
    tail: f64,
}

/// The prices that decide.
struct Prices {
    launch: f64,
    /// Independent steps run side by side as it is.
    beside: bool,
}

impl Prices {
    /// Two units as one, unless that costs more than it saves. Independent steps that the device runs side by
    /// side save only a part of a launch, and must not wait for each other so long that the whole takes
    /// longer than `limit`.
    fn joined(&self, a: &Unit, b: &Unit, limit: f64) -> Option<Unit> {
        let both = Unit {
            count: a.count + b.count,
            last: a.last.max(b.last),
            work: a.work + b.work,
            longest: a.longest.max(b.longest),
            start: a.start.max(b.start),
            tail: a.tail.max(b.tail),
        };
        let saved = (both.count - 1) as f64 * self.launch * if self.beside { BESIDE } else { 1.0 };
        let waits = self.beside && both.start + self.launch + both.longest + both.tail > limit;
        (both.work * CROWDED <= saved && !waits).then_some(both)
    }
}

/// Steps without host nodes, some of them joined.
fn joined(program: &Program, steps: Vec<Step>, properties: &Properties, rank: Rank) -> Vec<Step> {
    let prices = Cost::of(properties);
    let work: Vec<f64> = steps
        .iter()
        .map(|step| {
            let work = cost::step(program, step);
            work.bytes() as f64 + work.flops * prices.flop
        })
        .collect();
    let launch = if properties.interprets { LOOK } else { prices.launch };
    let prices = Prices { launch, beside: properties.is_wide() };
    let is_small = |at: usize| work[at] <= prices.launch && can_join(program, &steps[at], properties);
    let small: Vec<bool> = (0..steps.len()).map(is_small).collect();
    if small.iter().filter(|small| **small).count() < 2 {
        return steps;
    }
    let order = Order::of(program, &steps);
    let levels = order.levels(rank);
    let times: Vec<f64> = work.iter().map(|work| work + prices.launch).collect();
    let tails = order.tails(&times);
    let whole = times.iter().zip(&tails).map(|(time, tail)| time + tail).fold(0.0, f64::max);
    // However many are joined, the whole may become longer by what the first of them saves.
    let limit = whole + prices.launch * BESIDE;
    let mut sorted: Vec<usize> = (0..steps.len()).collect();
    sorted.sort_by_key(|&at| levels[at]);
    let mut steps = steps;
    let mut units: Vec<Unit> = Vec::with_capacity(steps.len());
    for (at, (&work, &tail)) in work.iter().zip(&tails).enumerate() {
        units.push(Unit { count: 1, last: at, work, longest: work, start: 0.0, tail });
    }
    let mut first: Vec<usize> = (0..steps.len()).collect();
    // The unit that is still open for those of a level that visit the same points.
    let mut open: HashMap<(usize, Vec<u64>, usize), usize> = HashMap::new();
    for at in sorted {
        let ends = order.before[at].iter().map(|&b| &units[first[b]]);
        units[at].start = ends.map(|u| u.start + prices.launch + u.longest).fold(0.0, f64::max);
        let (true, Step::Nest { nest, .. }) = (small[at], &steps[at]) else { continue };
        let key = (levels[at], nest.axes.clone(), nest.grid);
        if let Some(&unit) = open.get(&key)
            && let Some(both) = prices.joined(&units[unit], &units[at], limit)
            && let Some(step) = as_one(&steps[unit], &steps[at], properties)
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
fn can_join(program: &Program, step: &Step, properties: &Properties) -> bool {
    let Step::Nest { nest, .. } = step else { return false };
    // Where instructions are begun anew for each row, folding two rows at once saves nothing.
    let suits = nest.is_map() || !properties.interprets;
    suits && nest.grid_points() > 0 && !touches_mutable(program, step)
}

fn as_one(earlier: &Step, later: &Step, properties: &Properties) -> Option<Step> {
    let (Step::Nest { nest: a, buffers: a_buffers }, Step::Nest { nest: b, buffers: b_buffers }) =
        (earlier, later)
    else {
        return None;
    };
    let (nest, buffers): (Nest, _) = join((a, a_buffers), (b, b_buffers))?;
    is_worth_it(&nest, properties).then_some(Step::Nest { nest, buffers })
}

/// The steps that are left, each after what it needs, and else where the last of its parts stood.
fn ordered(steps: Vec<Step>, order: &Order, first: &[usize], units: &[Unit]) -> Vec<Step> {
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
