//! How the points of a Nest are dealt out to work items: a pure function of Nest and Target.
//!
//! | schedule | a grid point is done by | chosen for |
//! |---|---|---|
//! | [`Schedule::Strided`] | one work item; items take every n-th point | GPUs: maps; Ordered phases; many points with few inner points each |
//! | [`Schedule::Chunked`] | one work item; items take runs of points, or of tiles of neighbouring points | CPUs: everything |
//! | [`Schedule::Group`] | several items of one group, which fold through local memory | GPUs: all other Nests with inner axes |
//!
//! In a Group the items that share a grid point are neighbours if the inner axes are the contiguous ones (a row
//! reduction), and lie `points` apart if the last grid axis is (a column reduction): either way neighbouring items touch
//! neighbouring addresses.
//!
//! On CPUs the same choice is one between [`Lanes`]: what the registers of one item hold side by side.

use super::access::{Walk, Walks};
use super::{Dialect, Target};
use crate::nest::{Nest, PhaseKind};

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schedule {
    /// Item `i` does the points `i, i + items, i + 2 * items, ...`.
    Strided {
        /// Number of groups.
        groups: u64,
        /// Items a group.
        group: u32,
    },
    /// Item `i` does the units `i * run, ..., i * run + run - 1`. Groups have one item.
    Chunked {
        /// Number of items.
        groups: u64,
        /// Units an item.
        run: u64,
        /// A unit is a row, all positions of the last grid loop, and not a point.
        rows: bool,
        /// What an item does side by side. If that is grid points, a unit is a tile of them.
        lanes: Lanes,
    },
    /// A group does `points` grid points at a time, each by `items` items; both are powers of two.
    Group {
        /// Number of groups.
        groups: u64,
        /// Grid points a group does at a time.
        points: u32,
        /// Items that share a grid point.
        items: u32,
        /// Neighbouring items have neighbouring grid points, not neighbouring inner points.
        across: bool,
    },
}

/// What one item of a CPU does in a loop of fixed length without dependences, which compilers turn into vector code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// Nothing.
    One,
    /// Neighbouring inner points: folds have so many partial results, which are folded at the end.
    Inner(u32),
    /// So many neighbouring grid points, each with its own folds.
    Grid(u32),
}

/// Rounds of points that the items of a full device go through before more groups are launched instead.
const ROUNDS: u64 = 8;
/// Items a group where nothing else decides.
const GROUP: u64 = 256;
/// Up to so many inner points are walked by one item when there are grid points enough.
const FEW: u64 = 32;
/// Up to so many in any case.
const VERY_FEW: u64 = 4;
/// Items that access memory together.
const WARP: u64 = 32;
/// Neighbouring elements that memory delivers at once.
const SECTOR: u64 = 8;

impl Schedule {
    /// Chooses. In a group each item needs `item_bytes` of group memory. Nests with an empty grid get 0 groups.
    pub(super) fn choose(nest: &Nest, walks: &Walks, item_bytes: u64, target: &Target) -> Schedule {
        let points = nest.grid_points();
        let inner = nest.inner_points();
        let lanes = target.lanes.clamp(1, 1 << 24);
        if target.cpu {
            return chunked(nest, walks, lanes);
        }
        let strided = || {
            let few = points.next_power_of_two().max(WARP);
            let group = GROUP.min(few).min(u64::from(target.max_group.max(1)));
            let groups = points.div_ceil(group).min((lanes * ROUNDS).div_ceil(group));
            Schedule::Strided { groups, group: group as u32 }
        };
        let alone = nest.grid == nest.axes.len()
            || nest.phases.iter().all(|p| p.kind == PhaseKind::Point)
            || nest.phases.iter().any(|p| p.kind == PhaseKind::Ordered);
        let across = is_across(walks);
        if alone || inner <= VERY_FEW || points == 0 || points >= lanes && (inner <= FEW || across) {
            return strided();
        }
        let most = largest_group(item_bytes, target);
        let (mut share, mut together);
        if across {
            // As many neighbours as leave each compute unit a group, but enough for whole sectors of memory.
            let fill = previous_power_of_two(points / lanes.div_ceil(2048));
            together = fill.clamp(SECTOR, WARP).min(points.next_power_of_two()).min(most);
            let wanted = lanes.div_ceil(points).max(inner.div_ceil(1024));
            share = wanted.min(inner).next_power_of_two().min(most / together);
        } else {
            // With work enough to fill the device, an item walks several points before it folds with the others.
            let walked = if points.saturating_mul(inner) >= lanes * ROUNDS { ROUNDS } else { 1 };
            share = inner.div_ceil(walked).next_power_of_two();
            let fill = (points / lanes.div_ceil(GROUP)).max(1);
            together = (GROUP / 2 / share.min(GROUP / 2)).min(previous_power_of_two(fill));
            together = together.max(WARP / share.min(WARP));
        }
        share = share.min(1024).min(most);
        together = together.min(previous_power_of_two(most / share));
        if share == 1 {
            return strided();
        }
        let groups = points.div_ceil(together).min((lanes * ROUNDS).div_ceil(share * together));
        Schedule::Group { groups, points: together as u32, items: share as u32, across }
    }

    /// Number of groups, and items a group.
    pub(super) fn launch(self) -> (u64, u32) {
        match self {
            Schedule::Strided { groups, group } => (groups, group),
            Schedule::Chunked { groups, .. } => (groups, 1),
            Schedule::Group { groups, points, items, .. } => (groups, points * items),
        }
    }
}

fn chunked(nest: &Nest, walks: &Walks, cores: u64) -> Schedule {
    let points = nest.grid_points();
    let last = walks.grid.last().map_or(1, |w| w.extent.max(1));
    let lanes = choose_lanes(nest, walks, cores);
    let rows = walks.grid.len() > 1 && points / last >= cores && !matches!(lanes, Lanes::Grid(_));
    let units = match lanes {
        Lanes::Grid(width) => points / last * last.div_ceil(width.into()),
        _ if rows => points / last,
        _ => points,
    };
    let run = units.div_ceil(cores * ROUNDS).max(1);
    Schedule::Chunked { groups: units.div_ceil(run), run, rows, lanes }
}

/// Lanes lie along the loop in which most addresses are contiguous. An address that stays where it is along the grid suits
/// both. Short loops have none: what the lanes save would be lost where they start and end.
fn choose_lanes(nest: &Nest, walks: &Walks, cores: u64) -> Lanes {
    let Some(inner) = walks.inner.last() else { return Lanes::One };
    let last = walks.grid.last().map_or(0, |w| w.extent);
    let step = |steps: &[i64], walk: Option<&Walk>| walk.map_or(0, |w| steps[w.axis].unsigned_abs());
    let (mut votes, mut either) = (0, false);
    for address in walks.addresses.iter().filter(|a| walks.inner.iter().any(|w| a.steps[w.axis] != 0)) {
        match (step(&address.steps, walks.grid.last()), step(&address.steps, Some(inner))) {
            (1, 1) => either = true,
            (1, _) => votes += 1,
            (2.., 1) => votes -= 1,
            _ => {}
        }
    }
    // Four rounds at least.
    let along = [32, 8].into_iter().find(|&width| inner.extent >= 4 * u64::from(width));
    if last >= 8 && (votes > 0 || votes == 0 && either && along.is_none()) {
        let others = nest.grid_points() / last;
        let wide = [64, 32].into_iter().find(|&width| others * last.div_ceil(width) >= cores);
        return Lanes::Grid(wide.unwrap_or(16).min(last) as u32);
    }
    match along {
        Some(width) if nest.phases.iter().any(|p| !p.folds.is_empty()) => Lanes::Inner(width),
        _ => Lanes::One,
    }
}

/// Whether most addresses that move with the inner points are contiguous along the grid instead.
fn is_across(walks: &Walks) -> bool {
    let (Some(grid), Some(inner)) = (walks.grid.last(), walks.inner.last()) else { return false };
    let moving = walks.addresses.iter().filter(|a| walks.inner.iter().any(|w| a.steps[w.axis] != 0));
    let votes =
        moving.map(|a| match (a.steps[grid.axis].unsigned_abs(), a.steps[inner.axis].unsigned_abs()) {
            (1, n) if n != 1 => 1,
            (n, 1) if n != 1 => -1,
            _ => 0,
        });
    votes.sum::<i64>() > 0
}

/// The largest power of two that a group may have: its folds have to fit the local memory.
fn largest_group(item_bytes: u64, target: &Target) -> u64 {
    // CUDA C++ has no larger arrays without asking the driver.
    let local = if target.dialect == Dialect::CudaCpp {
        target.local_memory.min(48 << 10)
    } else {
        target.local_memory
    };
    let fits = local.checked_div(item_bytes).unwrap_or(u64::MAX);
    previous_power_of_two(u64::from(target.max_group).min(fits).min(1024))
}

fn previous_power_of_two(n: u64) -> u64 {
    1 << n.max(1).ilog2()
}

#[cfg(test)]
mod tests;
