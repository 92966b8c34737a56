//! How the points of a Nest are dealt out to work items: a pure function of Nest and Target.
//!
//! | schedule | a grid point is done by | chosen for |
//! |---|---|---|
//! | [`Schedule::Strided`] | one work item; items take every n-th point | GPUs: maps; Ordered phases; many points with few inner points each |
//! | [`Schedule::Chunked`] | one work item; items take runs of points | CPUs: everything |
//! | [`Schedule::Group`] | several items of one group, which fold through local memory | GPUs: all other Nests with inner axes |
//!
//! In a Group the items that share a grid point are neighbours if the inner axes are the contiguous ones (a row
//! reduction), and lie `points` apart if the last grid axis is (a column reduction): either way neighbouring items touch
//! neighbouring addresses.

use super::access::Walks;
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
            return chunked(points, walks, lanes);
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

fn chunked(points: u64, walks: &Walks, lanes: u64) -> Schedule {
    let items = lanes * ROUNDS;
    let last = walks.grid.last().map_or(1, |w| w.extent.max(1));
    let rows = walks.grid.len() > 1 && points / last >= lanes;
    let units = if rows { points / last } else { points };
    let run = units.div_ceil(items).max(1);
    Schedule::Chunked { groups: units.div_ceil(run), run, rows }
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
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::nest::{Block, Fold, FoldOf, Index, Inst, Operand, Phase};

    fn gpu(lanes: u64) -> Target {
        Target { dialect: Dialect::CudaCpp, max_group: 1024, local_memory: 48 << 10, lanes, cpu: false }
    }

    fn nest(axes: &[u64], grid: usize, place: &[usize], kind: PhaseKind) -> Nest {
        let shape: Vec<u64> = place.iter().map(|&a| axes[a]).collect();
        let index = place.iter().map(|&a| Index::axis(a)).collect();
        let block = Block { insts: vec![Inst::Load { operand: 0, index }] };
        let fold = FoldOf { fold: Fold::Sum, value: 0, index: None };
        let folds = if kind == PhaseKind::Reduce { vec![fold] } else { vec![] };
        Nest {
            name: "test".into(),
            axes: axes.to_vec(),
            grid,
            operands: vec![Operand::contiguous(DType::F32, &shape, false)],
            phases: vec![Phase { kind, block, folds, stores: vec![] }],
        }
    }

    fn choose(nest: &Nest, target: &Target) -> Schedule {
        Schedule::choose(nest, &Walks::new(nest), 4, target)
    }

    #[test]
    fn maps_are_strided_and_capped() {
        let small = nest(&[10, 100], 2, &[0, 1], PhaseKind::Point);
        assert_eq!(choose(&small, &gpu(1 << 17)), Schedule::Strided { groups: 4, group: 256 });
        let large = nest(&[1 << 14, 1 << 14], 2, &[0, 1], PhaseKind::Point);
        assert_eq!(choose(&large, &gpu(1 << 17)), Schedule::Strided { groups: 1 << 12, group: 256 });
        let modest = Target { max_group: 64, ..gpu(1 << 17) };
        assert_eq!(choose(&small, &modest), Schedule::Strided { groups: 16, group: 64 });
    }

    #[test]
    fn rows_are_folded_by_groups() {
        let few = nest(&[8, 100_000], 1, &[0, 1], PhaseKind::Reduce);
        let want = Schedule::Group { groups: 8, points: 1, items: 1024, across: false };
        assert_eq!(choose(&few, &gpu(1 << 17)), want);
        let many = nest(&[100_000, 256], 1, &[0, 1], PhaseKind::Reduce);
        let want = Schedule::Group { groups: 8192, points: 4, items: 32, across: false };
        assert_eq!(choose(&many, &gpu(1 << 17)), want);
        let short = nest(&[1 << 18, 10], 1, &[0, 1], PhaseKind::Reduce);
        assert_eq!(choose(&short, &gpu(1 << 17)), Schedule::Strided { groups: 1024, group: 256 });
    }

    #[test]
    fn columns_are_folded_across() {
        let few = nest(&[64, 4096], 1, &[1, 0], PhaseKind::Reduce);
        let want = Schedule::Group { groups: 8, points: 8, items: 128, across: true };
        assert_eq!(choose(&few, &gpu(1 << 17)), want);
        let wide = nest(&[1 << 14, 4096], 1, &[1, 0], PhaseKind::Reduce);
        let want = Schedule::Group { groups: 512, points: 32, items: 8, across: true };
        assert_eq!(choose(&wide, &gpu(1 << 17)), want);
        let many = nest(&[1 << 18, 4096], 1, &[1, 0], PhaseKind::Reduce);
        assert_eq!(choose(&many, &gpu(1 << 17)), Schedule::Strided { groups: 1024, group: 256 });
    }

    #[test]
    fn groups_fit_the_local_memory() {
        let nest = nest(&[8, 100_000], 1, &[0, 1], PhaseKind::Reduce);
        for (local_memory, items) in [(48 << 10, 1024), (3000, 512), (1024, 256), (0, 1)] {
            let target = Target { local_memory, ..gpu(1 << 17) };
            let (_, group) = choose(&nest, &target).launch();
            // Without any local memory, one item walks alone.
            assert!(
                group == items || items == 1 && matches!(choose(&nest, &target), Schedule::Strided { .. })
            );
        }
    }

    #[test]
    fn ordered_phases_and_cpus_walk_alone() {
        let ordered = nest(&[8, 1000], 1, &[0, 1], PhaseKind::Ordered);
        assert_eq!(choose(&ordered, &gpu(1 << 17)), Schedule::Strided { groups: 1, group: 32 });
        let cpu = Target { cpu: true, ..gpu(4) };
        let rows = nest(&[100, 70], 2, &[1, 0], PhaseKind::Point);
        assert_eq!(choose(&rows, &cpu), Schedule::Chunked { groups: 25, run: 4, rows: true });
        let flat = nest(&[100, 70], 2, &[0, 1], PhaseKind::Point);
        assert_eq!(choose(&flat, &cpu), Schedule::Chunked { groups: 32, run: 219, rows: false });
    }

    #[test]
    fn an_empty_grid_has_no_groups() {
        for kind in [PhaseKind::Point, PhaseKind::Reduce, PhaseKind::Ordered] {
            let nest = nest(&[0, 10], 2 - usize::from(kind != PhaseKind::Point), &[0, 1], kind);
            for target in [gpu(1000), Target { cpu: true, ..gpu(4) }] {
                assert_eq!(choose(&nest, &target).launch().0, 0);
            }
        }
    }
}
