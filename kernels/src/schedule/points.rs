//! The assignment of the points of a Nest to work items: a pure function of Nest and Target.
//!
//! | schedule | a grid point is computed by | chosen for |
//! |---|---|---|
//! | [`Points::Strided`] | one item; each takes every n-th point | GPUs: maps, Ordered, short folds |
//! | [`Points::Chunked`] | one item; each takes a run of points or tiles | CPUs: everything |
//! | [`Points::Group`] | several items of a group; they fold together | GPUs: all others |
//!
//! Folds are short if there are many grid points with few inner points each.
//!
//! In a Group the items that share a grid point are neighbours if the inner axes are the contiguous ones (a
//! row reduction), and lie `points` apart if the last grid axis is (a column reduction): either way
//! neighbouring items touch neighbouring addresses.
//!
//! An item of a GPU computes a few neighbouring points at a time if they are contiguous: a *pack*, see
//! [`packs`](super::packs).
//!
//! On CPUs the corresponding choice is [`CpuLanes`]: the points in the vector registers of an item.

use super::access::{Walk, Walks};
use super::interior::Interior;
use crate::nest::Nest;
use crate::target::Target;

mod gpu;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Points {
    /// Item `i` computes the packs `i, i + items, i + 2 * items, ...`.
    Strided {
        /// Number of groups.
        groups: u64,
        /// Items per group.
        group: u32,
        /// Neighbouring grid points that make a pack.
        width: u32,
    },
    /// Item `i` computes the units `i * run, ..., i * run + run - 1`. Groups have one item.
    Chunked {
        /// Number of items.
        groups: u64,
        /// Units per item.
        run: u64,
        /// A unit is a row (all positions of the last grid loop) rather than a point.
        rows: bool,
        /// The lanes of an item. If they are grid points, a unit is a tile of these.
        lanes: CpuLanes,
    },
    /// Several items compute a grid point.
    Group(GroupShape),
}

/// A group computes `points` grid points at a time, each with `items` items; both are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupShape {
    /// Number of groups.
    pub(crate) groups: u64,
    /// Grid points that a group computes at a time.
    pub(crate) points: u32,
    /// Items that share a grid point.
    pub(crate) items: u32,
    /// Neighbouring items have neighbouring grid points, not neighbouring inner points.
    pub(crate) across: bool,
    /// Neighbouring inner points that an item computes as one pack.
    pub(crate) width: u32,
    /// Values that a later phase needs again stay in registers.
    pub(crate) keeps: bool,
}

impl GroupShape {
    /// Inner points that the items of a grid point compute in one round.
    pub(crate) fn at_once(self) -> u64 {
        u64::from(self.items) * u64::from(self.width)
    }

    /// Inner points of one item.
    pub(crate) fn values(self, nest: &Nest) -> u64 {
        nest.inner_points().div_ceil(self.at_once()) * u64::from(self.width)
    }
}

/// The lanes of an item of a CPU: the iterations of a loop of fixed length without dependences, which
/// compilers turn into vector code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuLanes {
    /// No lanes.
    One,
    /// This number of neighbouring inner points. Folds have a partial result for each lane.
    Inner(u32),
    /// This number of neighbouring grid points, each with its own folds.
    Grid(u32),
}

/// Runs of points for each core of a CPU.
const ROUNDS: u64 = 8;
/// Grid points in the lanes of an item, in kernels for any size.
const GRID_FOR_ANY_SIZE: u32 = 16;
/// Items of a GPU that access memory together.
const WARP: u64 = 32;

impl Points {
    /// Chooses a schedule. In a group each item needs `item_bytes` of group memory; `kept` is the number of
    /// registers for each of its points that would hold values for later phases; most points lie in
    /// `interiors`. Nests with an empty grid get 0 groups.
    pub(crate) fn choose(
        nest: &Nest,
        walks: &Walks,
        interiors: &[Interior],
        item_bytes: u64,
        kept: u64,
        target: &Target,
    ) -> Points {
        if target.cpu {
            chunked(nest, walks, false, target)
        } else {
            gpu::choose(nest, walks, interiors, item_bytes, kept, target)
        }
    }

    /// Chooses a schedule that depends on few thresholds of sizes, so that most sizes have the same.
    pub(crate) fn choose_for_any_size(
        nest: &Nest,
        walks: &Walks,
        item_bytes: u64,
        target: &Target,
    ) -> Points {
        if target.cpu {
            chunked(nest, walks, true, target)
        } else {
            gpu::choose_for_any_size(nest, walks, item_bytes, target)
        }
    }

    /// Number of groups, and items per group.
    pub(crate) fn launch(self) -> (u64, u32) {
        match self {
            Points::Strided { groups, group, .. } => (groups, group),
            Points::Chunked { groups, .. } => (groups, 1),
            Points::Group(GroupShape { groups, points, items, .. }) => (groups, points * items),
        }
    }
}

fn chunked(nest: &Nest, walks: &Walks, any_size: bool, target: &Target) -> Points {
    let cores = target.lanes.clamp(1, 1 << 24);
    let points = nest.grid_points();
    let last = walks.grid.last().map_or(1, |w| w.extent.max(1));
    let lanes = choose_lanes(nest, walks, cores, any_size);
    let rows = walks.grid.len() > 1 && points / last >= cores && !matches!(lanes, CpuLanes::Grid(_));
    let units = match lanes {
        CpuLanes::Grid(width) => points / last * last.div_ceil(width.into()),
        _ if rows => points / last,
        _ => points,
    };
    let run = units.div_ceil(cores * ROUNDS).max(1);
    Points::Chunked { groups: units.div_ceil(run), run, rows, lanes }
}

/// Lanes lie along the loop in which most addresses are contiguous. An address that is contiguous along both
/// loops suits both. Short loops have no lanes: the overhead before and after the loop would outweigh the
/// gain.
fn choose_lanes(nest: &Nest, walks: &Walks, cores: u64, any_size: bool) -> CpuLanes {
    let Some(inner) = walks.inner.last() else { return lanes_of_map(walks) };
    let last = walks.grid.last().map_or(0, |w| w.extent);
    let step = |steps: &[i64], walk: Option<&Walk>| walk.map_or(0, |w| steps[w.axis].unsigned_abs());
    let (mut votes, mut either, mut shared) = (0, false, false);
    for address in walks.addresses.iter().filter(|a| walks.inner.iter().any(|w| a.steps[w.axis] != 0)) {
        match (step(&address.steps, walks.grid.last()), step(&address.steps, Some(inner))) {
            (1, 1) => either = true,
            (1, _) => votes += 1,
            (2.., 1) => votes -= 1,
            (0, _) => shared = true,
            _ => {}
        }
    }
    // At least four rounds.
    let widths = if any_size { &[8][..] } else { &[32, 8] };
    let along = widths.iter().copied().find(|&width: &u32| inner.extent >= 4 * u64::from(width));
    if any_size && last >= 8 && (votes > 0 || votes == 0 && either && along.is_none()) {
        return CpuLanes::Grid(GRID_FOR_ANY_SIZE);
    }
    if last >= 8 && (votes > 0 || votes == 0 && either && along.is_none()) {
        let others = nest.grid_points() / last;
        let tiles = |width: &u64| others * last.div_ceil(*width);
        // If lanes share no operand, long runs of memory are fastest, with the accumulators in the cache. A
        // shared operand (the factor of a product) should stay in a register, with few enough accumulators
        // for registers too.
        let long = [512, 256, 128].into_iter().find(|width| !shared && tiles(width) >= 2 * cores);
        let wide = long.or_else(|| [64, 32].into_iter().find(|width| tiles(width) >= cores));
        return CpuLanes::Grid(wide.unwrap_or(16).min(last) as u32);
    }
    match along {
        Some(width) if nest.phases.iter().any(|p| !p.folds.is_empty()) => CpuLanes::Inner(width),
        _ => CpuLanes::One,
    }
}

/// A map's lanes lie along its last loop, if that is long and every address is contiguous or constant in it.
fn lanes_of_map(walks: &Walks) -> CpuLanes {
    const WIDTH: u64 = 32;
    match walks.grid.last() {
        Some(last)
            if last.extent >= 4 * WIDTH
                && walks.addresses.iter().all(|a| matches!(a.steps[last.axis], 0 | 1)) =>
        {
            CpuLanes::Grid(WIDTH as u32)
        }
        _ => CpuLanes::One,
    }
}

fn previous_power_of_two(n: u64) -> u64 {
    1 << n.max(1).ilog2()
}

#[cfg(test)]
mod tests;
