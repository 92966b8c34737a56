//! Schedules for GPUs.

use super::{GroupShape, Points, WARP, previous_power_of_two};
use crate::nest::{Inst, Nest, PhaseKind};
use crate::schedule::access::Walks;
use crate::schedule::interior::Interior;
use crate::schedule::packs;
use crate::target::{Dialect, Target};

/// Maximum number of groups, in multiples of what the device runs at once. With more points, items loop.
const WAVES: u64 = 64;
/// Default number of items of a group.
const GROUP: u64 = 256;
/// Items of a compute unit.
const UNIT: u64 = 2048;
/// One item walks up to this number of inner points if there are enough grid points.
const FEW: u64 = 32;
/// One item walks up to this number of inner points in any case.
const VERY_FEW: u64 = 4;
/// Neighbouring elements in one memory transaction.
const SECTOR: u64 = 8;
/// Maximum number of registers of an item that keep a row; half as many in groups of more than 512 items.
const REGISTERS: u64 = 64;
/// Values of a kept row for each item if there are enough items to fill the device.
const KEPT: u64 = 16;
/// Flops per inner point above which a kernel is compute-bound.
const HEAVY: u32 = 24;
/// Values that an item reads if no row is kept in registers.
const READ: u64 = 32;

/// See [`Points::choose`].
pub(crate) fn choose(
    nest: &Nest,
    walks: &Walks,
    interiors: &[Interior],
    item_bytes: u64,
    kept: u64,
    target: &Target,
) -> Points {
    let points = nest.grid_points();
    let inner = nest.inner_points();
    let lanes = target.lanes.clamp(1, 1 << 24);
    let alone = nest.grid == nest.axes.len()
        || nest.phases.iter().all(|p| p.kind == PhaseKind::Point)
        || nest.phases.iter().any(|p| p.kind == PhaseKind::Ordered);
    let across = is_across(walks);
    let exchange = target.dialect == Dialect::CudaCpp && !across;
    // Without barriers, a fold across items pays for short rows too.
    let few = if exchange { VERY_FEW } else { FEW };
    if alone || inner <= VERY_FEW || points == 0 || points >= lanes && (inner <= few || across) {
        return strided(nest, walks, interiors, lanes, target);
    }
    let most = largest_group(item_bytes, target);
    let (share, together, width) = if across {
        let (share, together) = columns(points, inner, lanes, most);
        (share, together, 1)
    } else {
        rows(nest, walks, kept, lanes, most)
    };
    if share == 1 {
        return strided(nest, walks, interiors, lanes, target);
    }
    let groups = points.div_ceil(together).min((lanes * WAVES).div_ceil(share * together));
    let mut group =
        GroupShape { groups, points: together as u32, items: share as u32, across, width, keeps: false };
    let room = if share * together > 512 { REGISTERS / 2 } else { REGISTERS };
    group.keeps = kept > 0 && !across && group.values(nest) * kept <= room;
    Points::Group(group)
}

/// A schedule whose form depends on few thresholds: one item, a warp or a group for each grid point.
pub(crate) fn choose_for_any_size(nest: &Nest, walks: &Walks, item_bytes: u64, target: &Target) -> Points {
    let (points, inner) = (nest.grid_points(), nest.inner_points());
    let items = target.lanes.clamp(1, 1 << 24) * WAVES;
    let alone = nest.grid == nest.axes.len()
        || nest.phases.iter().all(|p| p.kind == PhaseKind::Point)
        || nest.phases.iter().any(|p| p.kind == PhaseKind::Ordered);
    if alone || inner <= FEW || is_across(walks) && points > 1 {
        let group = (GROUP / 2).min(target.max_group.max(1).into());
        let groups = points.div_ceil(group).min(items.div_ceil(group));
        return Points::Strided { groups, group: group as u32, width: 1 };
    }
    let share = if inner <= WARP * READ { WARP } else { GROUP };
    let share = share.min(largest_group(item_bytes, target));
    let groups = points.min(items.div_ceil(share));
    Points::Group(GroupShape {
        groups,
        points: 1,
        items: share as u32,
        across: false,
        width: 1,
        keeps: false,
    })
}

/// Instructions of an item beyond which a wider pack makes a kernel that compiles for seconds and is no
/// faster: it computes more than it loads.
const LONG: u64 = 2048;

/// One item for each point, or for each pack of points.
fn strided(nest: &Nest, walks: &Walks, interiors: &[Interior], lanes: u64, target: &Target) -> Points {
    let points = nest.grid_points();
    // A Nest with inner points has long-running items and needs as many as the device runs; a map has short
    // ones and needs fewer.
    let enough = if nest.is_map() { lanes / 8 } else { lanes };
    let width_of = |nest: &Nest| u64::from(packs::width(nest, &walks.grid, false, true));
    let inside = interiors.iter().map(|interior| width_of(&interior.nest)).min();
    let mut width = inside.unwrap_or_else(|| width_of(nest));
    let nests = interiors.iter().map(|interior| &interior.nest).chain([nest]);
    let insts: u64 = nests.flat_map(|nest| &nest.phases).map(|phase| phase.block.insts.len() as u64).sum();
    while width > 1 && (points / width < enough || insts * width > LONG) {
        width /= 2;
    }
    let packs = (points / width).max(1);
    // At least two groups for every compute unit, if there are enough points.
    let fill = previous_power_of_two(packs / (2 * lanes / UNIT).max(1)).max(2 * WARP);
    let group = GROUP.min(fill).min(points.next_power_of_two().max(WARP)).min(target.max_group.max(1).into());
    let groups = packs.div_ceil(group).min((lanes * WAVES).div_ceil(group));
    let groups = if points == 0 { 0 } else { groups };
    Points::Strided { groups, group: group as u32, width: width as u32 }
}

/// Items per point and points per group, if neighbouring items have neighbouring points.
fn columns(points: u64, inner: u64, lanes: u64, most: u64) -> (u64, u64) {
    // At least one group for each compute unit, but enough neighbours for whole sectors of memory.
    let fill = previous_power_of_two(points / lanes.div_ceil(UNIT));
    let together = fill.clamp(SECTOR, WARP).min(points.next_power_of_two()).min(most);
    let wanted = lanes.div_ceil(points).max(inner.div_ceil(1024));
    let share = wanted.min(inner).next_power_of_two().min(most / together).min(1024);
    (share, together.min(previous_power_of_two(most / share)))
}

/// Items per point, points per group and the width of packs, if neighbouring items have neighbouring inner
/// points.
fn rows(nest: &Nest, walks: &Walks, kept: u64, lanes: u64, most: u64) -> (u64, u64, u32) {
    let (points, inner) = (nest.grid_points(), nest.inner_points());
    let mut width = u64::from(packs::width(nest, &walks.inner, true, kept == 0));
    // In compute-bound kernels more items hide memory latency better than wider packs.
    let heavy = inner_flops(nest) > HEAVY;
    let wanted = if heavy { 2 * lanes } else { lanes / 2 };
    // At least half a warp's packs: for a short row, more items are faster than wider packs.
    while width > 1 && (inner / width < WARP / 2 || points.saturating_mul(inner) / width < wanted) {
        width /= 2;
    }
    let values = KEPT.checked_div(kept).map_or(READ, |values| values.max(width));
    let packs = inner.div_ceil(width).next_power_of_two();
    // The items of one point read whole sectors.
    let mut share = inner.div_ceil(values).next_power_of_two().max((SECTOR / width).max(1)).min(packs);
    // The items of one warp fold without a barrier, those of several warps need one.
    if inner <= WARP * READ / kept.max(1) {
        share = share.min(WARP);
    }
    let least = if heavy { packs } else { packs / 2 };
    // If there is enough work, an item loops rather than share its point with more items than this.
    share = share.min(if kept == 0 { GROUP } else { 2 * GROUP });
    if kept > 0 && inner.div_ceil(share) * kept > REGISTERS && inner * kept <= REGISTERS / 2 * 1024 {
        share = 1024;
    }
    // If there is less work, latency counts: a row gets a whole warp, or as many items as it can occupy.
    while points * share < wanted && (share < WARP.min(packs) || share < least) {
        share *= 2;
    }
    let share = share.min(1024).min(most);
    // At least two groups for each compute unit, if there are enough points, and no group smaller than a
    // warp.
    let fill = previous_power_of_two(points / (2 * lanes / UNIT).max(1));
    let together = (GROUP / share.min(GROUP)).min(fill).max(WARP / share.min(WARP));
    (share, together.min(previous_power_of_two(most / share)), width as u32)
}

/// Flops per inner point, in the phase that has most.
fn inner_flops(nest: &Nest) -> u32 {
    let inner = nest.phases.iter().filter(|p| p.kind != PhaseKind::Point);
    let flops = inner.map(|phase| phase.block.insts.iter().map(Inst::flops).fold(0, u32::saturating_add));
    flops.max().unwrap_or(0)
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

/// The largest group size, a power of two: the group's folds have to fit the local memory.
fn largest_group(item_bytes: u64, target: &Target) -> u64 {
    // CUDA C++ allows larger arrays only with a driver call.
    let local = if target.dialect == Dialect::CudaCpp {
        target.local_memory.min(48 << 10)
    } else {
        target.local_memory
    };
    let fits = local.checked_div(item_bytes).unwrap_or(u64::MAX);
    previous_power_of_two(u64::from(target.max_group).min(fits).min(1024))
}
