//! Selects the Nests to join: pairs that access a common buffer, where joining saves more than it costs.

use super::join::join;
use super::limits::FusionLimits;
use super::reframe::reframe;
use super::{CostModel, directions, is_private, nothing, order_matters, size};
use crate::engine::dependences::Dependences;
use crate::lower::program::{BufferId, Program, Role, Step};
use std::collections::BTreeSet;
use workalike_kernels::nest::{Nest, PhaseKind};

/// The number of earlier steps that are tried for each step.
const CANDIDATES: usize = 16;
/// Which pairs are joined.
#[derive(Clone, Copy, PartialEq)]
enum Pairs {
    /// A Nest that folds, and a reader of its results at the points where they are stored, which becomes its
    /// epilogue.
    Epilogues,
    /// Nests over the same grid, one of them a map.
    Maps,
    /// Any that visit the same points.
    Any,
}

/// Joins epilogues to the Nests that fold and whose results they read. Runs before maps are inlined: work
/// done once on the result of a fold need not be repeated by each reader.
pub(super) fn epilogues(program: &mut Program, cost: &CostModel, limits: FusionLimits) {
    merge_all(program, (cost, limits), Pairs::Epilogues);
}

/// Joins maps over the same grid, to each other and to the steps that fold.
pub(super) fn maps(program: &mut Program, cost: &CostModel, limits: FusionLimits) {
    merge_all(program, (cost, limits), Pairs::Maps);
}

/// Joins all Nests that visit the same points.
pub(super) fn frames(program: &mut Program, cost: &CostModel, limits: FusionLimits) {
    merge_all(program, (cost, limits), Pairs::Any);
}

/// Tries every step as the later of a pair, against the steps that write or read what it reads.
fn merge_all(program: &mut Program, model: (&CostModel, FusionLimits), pairs: Pairs) {
    let mut uses = Dependences::of(program);
    for later in 0..program.steps.len() {
        // A merge may enable another one with the same step, which is still at `later`.
        while let Some((earlier, at, step)) = find(program, &uses, later, model, pairs) {
            let gone = if at == later { earlier } else { later };
            uses.replace(program, gone, nothing());
            uses.replace(program, at, step);
            if gone == later {
                break;
            }
        }
    }
}

/// A step that can join `later`, the position of the merged step, and the merged step.
fn find(
    program: &Program,
    uses: &Dependences,
    later: usize,
    (cost, limits): (&CostModel, FusionLimits),
    pairs: Pairs,
) -> Option<(usize, usize, Step)> {
    let Step::Nest { nest, buffers } = &program.steps[later] else { return None };
    if order_matters(program, uses, later) || (pairs == Pairs::Maps && !nest.is_map()) {
        return None;
    }
    let mut candidates: Vec<usize> = Vec::new();
    for read in program.steps[later].reads() {
        if program.buffers[read].role == Role::Status {
            continue;
        }
        for steps in [&uses.writers[read], &uses.readers[read]] {
            candidates.extend(steps.range(..later).rev().take(CANDIDATES));
        }
    }
    candidates.sort_unstable_by(|a, b| b.cmp(a));
    candidates.dedup();
    candidates.truncate(CANDIDATES);
    candidates.into_iter().find_map(|earlier| {
        let Step::Nest { nest: first, buffers: first_buffers } = &program.steps[earlier] else { return None };
        let tried = match pairs {
            Pairs::Epilogues => {
                let reads = program.steps[later].reads();
                !first.is_map() && program.steps[earlier].writes().iter().any(|w| reads.contains(w))
            }
            Pairs::Maps => nest.axes[..] == first.axes[..first.grid],
            Pairs::Any => true,
        };
        if !tried || order_matters(program, uses, earlier) {
            return None;
        }
        let at = place(program, uses, earlier, later)?;
        if cost.dispatch.is_some_and(|each| !saves_more_than_dispatch(program, earlier, later, (cost, each)))
        {
            return None;
        }
        let private = |id: BufferId| is_private(program, uses, id, |step| *step == earlier || *step == later);
        let reframed = match pairs {
            Pairs::Maps => None,
            // Those would be copied in vain.
            _ if limits.too_large(first, nest) => None,
            _ => reframe((first, first_buffers), (nest, buffers)),
        };
        let (joined, buffers) = match &reframed {
            Some([first, second]) => join((&first.0, &first.1), (&second.0, &second.1), &private, limits)?,
            None => join((first, first_buffers), (nest, buffers), &private, limits)?,
        };
        let good = (reframed.is_none() || fills(&joined, cost))
            && is_worth_it(&joined, cost)
            && !turns(&joined, [first, nest]);
        good.then_some((earlier, at, Step::Nest { nest: joined, buffers }))
    })
}

/// Whether a fold in which a map is done too, whose points are in another shape, keeps the device as busy as
/// the map alone.
fn fills(nest: &Nest, cost: &CostModel) -> bool {
    let (grid, points) = (nest.grid_points(), nest.inner_points());
    nest.is_map() || grid.saturating_mul(points) <= CostModel::SMALL || cost.keeps_busy(grid, points)
}

/// Whether the joined Nest reads large arrays along its rows and across them, where neither part does both:
/// sums of the rows and of the columns of a matrix. One of them would be read with a stride.
fn turns(joined: &Nest, parts: [&Nest; 2]) -> bool {
    let is_small = joined.grid_points().saturating_mul(joined.inner_points()) <= CostModel::SMALL;
    let mixes = |nest: &Nest| directions(nest) == [true, true];
    !is_small && mixes(joined) && !parts.into_iter().any(mixes)
}

/// The position of the merged step: the later one if nothing in between reads what the earlier step writes,
/// the earlier one if nothing in between writes what the later step reads.
fn place(program: &Program, uses: &Dependences, earlier: usize, later: usize) -> Option<usize> {
    let between = |steps: &BTreeSet<usize>| steps.range(earlier + 1..later).next().is_some();
    let writes = program.steps[earlier].writes();
    let scratch = |b: &&BufferId| program.buffers[**b].role != Role::Status;
    let read_between = writes.iter().filter(scratch).any(|&b| between(&uses.readers[b]));
    if !read_between {
        return Some(later);
    }
    let written_between = program.steps[later].reads().iter().any(|&b| between(&uses.writers[b]));
    (!written_between).then_some(earlier)
}

/// On a device that interprets: an instruction that joins a Nest with a fold is dispatched at each grid
/// point, where a separate step dispatches it once for many. The saving is the step, and the memory traffic
/// between the two.
fn saves_more_than_dispatch(
    program: &Program,
    earlier: usize,
    later: usize,
    (cost, each): (&CostModel, f64),
) -> bool {
    let (Step::Nest { nest: first, .. }, Step::Nest { nest: second, .. }) =
        (&program.steps[earlier], &program.steps[later])
    else {
        return false;
    };
    let folds = if first.is_map() { second } else { first };
    if folds.is_map() {
        return true;
    }
    let joining = if first.is_map() { first } else { second };
    let visits = folds.grid_points() as f64 * size(joining) as f64;
    let reads = program.steps[later].reads();
    let writes = program.steps[earlier].writes();
    let between: u64 = writes.iter().filter(|w| reads.contains(w)).map(|&w| program.buffers[w].bytes()).sum();
    let shared: u64 = program.steps[earlier]
        .reads()
        .iter()
        .filter(|r| reads.contains(r))
        .map(|&r| program.buffers[r].bytes())
        .sum();
    visits * each <= cost.launch + 2.0 * between as f64 + shared as f64
}

/// Whether the joined Nest keeps the device busy. A Nest that folds and then visits its inner points again
/// runs as one group per grid point; a Nest that only folds can still be split.
pub(super) fn is_worth_it(nest: &Nest, cost: &CostModel) -> bool {
    let inner = nest.phases.iter().filter(|p| p.kind != PhaseKind::Point).count();
    let (grid, points) = (nest.grid_points(), nest.inner_points());
    inner <= 1 || grid.saturating_mul(points) <= CostModel::SMALL || cost.keeps_busy(grid, points)
}
