//! How the points of a Nest are dealt out to work items: a pure function of Nest and Target.
//!
//! | schedule | a grid point is done by | chosen for |
//! |---|---|---|
//! | [`Schedule::Strided`] | one work item; items take every n-th point | GPUs: maps; Ordered phases; many points with few inner points each |
//! | [`Schedule::Chunked`] | one work item; items take runs of points, or of tiles of neighbouring points | CPUs: everything |
//! | [`Schedule::Group`] | several items of one group, which fold together | GPUs: all other Nests with inner axes |
//!
//! In a Group the items that share a grid point are neighbours if the inner axes are the contiguous ones (a
//! row reduction), and lie `points` apart if the last grid axis is (a column reduction): either way
//! neighbouring items touch neighbouring addresses.
//!
//! An item of a GPU does a few neighbouring points at a time where they are contiguous: a *pack*, see
//! `vectorize`.
//!
//! On CPUs the same choice is one between [`Lanes`]: what the registers of one item hold side by side.

use super::Target;
use super::access::{Walk, Walks};
use crate::nest::Nest;

mod gpu;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schedule {
    /// Item `i` does the packs `i, i + items, i + 2 * items, ...`.
    Strided {
        /// Number of groups.
        groups: u64,
        /// Items a group.
        group: u32,
        /// Neighbouring grid points that make a pack.
        width: u32,
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
    /// Several items do a grid point.
    Group(Group),
}

/// A group does `points` grid points at a time, each by `items` items; both are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Number of groups.
    pub(super) groups: u64,
    /// Grid points a group does at a time.
    pub(super) points: u32,
    /// Items that share a grid point.
    pub(super) items: u32,
    /// Neighbouring items have neighbouring grid points, not neighbouring inner points.
    pub(super) across: bool,
    /// Neighbouring inner points that an item does as one pack.
    pub(super) width: u32,
    /// Values that a later phase needs again stay in registers.
    pub(super) keeps: bool,
}

impl Group {
    /// Inner points that the items of a grid point do in one round.
    pub(super) fn at_once(self) -> u64 {
        u64::from(self.items) * u64::from(self.width)
    }

    /// Inner points of one item.
    pub(super) fn values(self, nest: &Nest) -> u64 {
        nest.inner_points().div_ceil(self.at_once()) * u64::from(self.width)
    }
}

/// What one item of a CPU does in a loop of fixed length without dependences, which compilers turn into
/// vector code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// Nothing.
    One,
    /// Neighbouring inner points: folds have so many partial results, which are folded at the end.
    Inner(u32),
    /// So many neighbouring grid points, each with its own folds.
    Grid(u32),
}

/// Runs of points that the cores of a CPU go through.
const ROUNDS: u64 = 8;
/// Items of a GPU that access memory together.
const WARP: u64 = 32;

impl Schedule {
    /// Chooses. In a group each item needs `item_bytes` of group memory; `kept` registers for each of its
    /// points would keep what later phases need again. Nests with an empty grid get 0 groups.
    pub(super) fn choose(
        nest: &Nest,
        walks: &Walks,
        item_bytes: u64,
        kept: u64,
        target: &Target,
    ) -> Schedule {
        if target.cpu {
            chunked(nest, walks, target.lanes.clamp(1, 1 << 24))
        } else {
            gpu::choose(nest, walks, item_bytes, kept, target)
        }
    }

    /// Number of groups, and items a group.
    pub(super) fn launch(self) -> (u64, u32) {
        match self {
            Schedule::Strided { groups, group, .. } => (groups, group),
            Schedule::Chunked { groups, .. } => (groups, 1),
            Schedule::Group(Group { groups, points, items, .. }) => (groups, points * items),
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

/// Lanes lie along the loop in which most addresses are contiguous. An address that stays where it is along
/// the grid suits both. Short loops have none: what the lanes save would be lost where they start and end.
fn choose_lanes(nest: &Nest, walks: &Walks, cores: u64) -> Lanes {
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
    // Four rounds at least.
    let along = [32, 8].into_iter().find(|&width| inner.extent >= 4 * u64::from(width));
    if last >= 8 && (votes > 0 || votes == 0 && either && along.is_none()) {
        let others = nest.grid_points() / last;
        let tiles = |width: &u64| others * last.div_ceil(*width);
        // Whoever only streams wants long runs of memory, and has its folds in the cache. What lanes share
        // (the factor of a product) is worth more in a register, beside as many folds.
        let long = [512, 256, 128].into_iter().find(|width| !shared && tiles(width) >= 2 * cores);
        let wide = long.or_else(|| [64, 32].into_iter().find(|width| tiles(width) >= cores));
        return Lanes::Grid(wide.unwrap_or(16).min(last) as u32);
    }
    match along {
        Some(width) if nest.phases.iter().any(|p| !p.folds.is_empty()) => Lanes::Inner(width),
        _ => Lanes::One,
    }
}

/// A map's lanes lie along its last loop, if that is long and every address is contiguous or the same there.
fn lanes_of_map(walks: &Walks) -> Lanes {
    const WIDTH: u64 = 32;
    match walks.grid.last() {
        Some(last)
            if last.extent >= 4 * WIDTH
                && walks.addresses.iter().all(|a| matches!(a.steps[last.axis], 0 | 1)) =>
        {
            Lanes::Grid(WIDTH as u32)
        }
        _ => Lanes::One,
    }
}

fn previous_power_of_two(n: u64) -> u64 {
    1 << n.max(1).ilog2()
}

#[cfg(test)]
mod tests;
