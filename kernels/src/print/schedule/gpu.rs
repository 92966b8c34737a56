//! The choice for GPUs.

use super::{Group, Schedule, WARP, previous_power_of_two};
use crate::nest::{Inst, Nest, PhaseKind};
use crate::print::access::Walks;
use crate::print::{Dialect, Target, vectorize};

/// Groups are launched anew up to so many times what the device holds; only then do items go round.
const WAVES: u64 = 64;
/// Items a group where nothing else decides.
const GROUP: u64 = 256;
/// Items of a compute unit.
const UNIT: u64 = 2048;
/// Up to so many inner points are walked by one item when there are grid points enough.
const FEW: u64 = 32;
/// Up to so many in any case.
const VERY_FEW: u64 = 4;
/// Neighbouring elements that memory delivers at once.
const SECTOR: u64 = 8;
/// Registers of an item in which a row is kept; half as many in groups of more than 512.
const REGISTERS: u64 = 64;
/// Values of a kept row that an item has where the device is full.
const KEPT: u64 = 16;
/// Flops at each inner point from which computing takes longer than reading.
const HEAVY: u32 = 24;
/// Values that an item reads one after the other where nothing is kept.
const READ: u64 = 32;

/// Chooses; see [`Schedule::choose`].
pub(super) fn choose(nest: &Nest, walks: &Walks, item_bytes: u64, kept: u64, target: &Target) -> Schedule {
    let points = nest.grid_points();
    let inner = nest.inner_points();
    let lanes = target.lanes.clamp(1, 1 << 24);
    let alone = nest.grid == nest.axes.len()
        || nest.phases.iter().all(|p| p.kind == PhaseKind::Point)
        || nest.phases.iter().any(|p| p.kind == PhaseKind::Ordered);
    let across = is_across(walks);
    let exchange = target.dialect == Dialect::CudaCpp && !across;
    // Where folding costs no meeting, rows are never too short for it.
    let few = if exchange { VERY_FEW } else { FEW };
    if alone || inner <= VERY_FEW || points == 0 || points >= lanes && (inner <= few || across) {
        return strided(nest, walks, lanes, target);
    }
    let most = largest_group(item_bytes, target);
    let (share, together, width) = if across {
        let (share, together) = columns(points, inner, lanes, most);
        (share, together, 1)
    } else {
        rows(nest, walks, kept, lanes, most)
    };
    if share == 1 {
        return strided(nest, walks, lanes, target);
    }
    let groups = points.div_ceil(together).min((lanes * WAVES).div_ceil(share * together));
    let mut group =
        Group { groups, points: together as u32, items: share as u32, across, width, keeps: false };
    let room = if share * together > 512 { REGISTERS / 2 } else { REGISTERS };
    group.keeps = kept > 0 && !across && group.values(nest) * kept <= room;
    Schedule::Group(group)
}

/// One item a point, or a pack of points.
fn strided(nest: &Nest, walks: &Walks, lanes: u64, target: &Target) -> Schedule {
    let points = nest.grid_points();
    // What one item does for long is dealt out to as many as there are; the rest is quick, and fewer items
    // do.
    let enough = if nest.is_map() { lanes / 8 } else { lanes };
    let mut width = u64::from(vectorize::width(nest, &walks.grid, false, true));
    while width > 1 && points / width < enough {
        width /= 2;
    }
    let packs = (points / width).max(1);
    // Every compute unit gets two groups, if there is work for them.
    let fill = previous_power_of_two(packs / (2 * lanes / UNIT).max(1)).max(2 * WARP);
    let group = GROUP.min(fill).min(points.next_power_of_two().max(WARP)).min(target.max_group.max(1).into());
    let groups = packs.div_ceil(group).min((lanes * WAVES).div_ceil(group));
    let groups = if points == 0 { 0 } else { groups };
    Schedule::Strided { groups, group: group as u32, width: width as u32 }
}

/// Items a point and points a group, if neighbouring items have neighbouring points.
fn columns(points: u64, inner: u64, lanes: u64, most: u64) -> (u64, u64) {
    // As many neighbours as leave each compute unit a group, but enough for whole sectors of memory.
    let fill = previous_power_of_two(points / lanes.div_ceil(UNIT));
    let together = fill.clamp(SECTOR, WARP).min(points.next_power_of_two()).min(most);
    let wanted = lanes.div_ceil(points).max(inner.div_ceil(1024));
    let share = wanted.min(inner).next_power_of_two().min(most / together).min(1024);
    (share, together.min(previous_power_of_two(most / share)))
}

/// Items a point and points a group, if neighbouring items have neighbouring inner points; and how many of
/// these each does at a time.
fn rows(nest: &Nest, walks: &Walks, kept: u64, lanes: u64, most: u64) -> (u64, u64, u32) {
    let (points, inner) = (nest.grid_points(), nest.inner_points());
    let mut width = u64::from(vectorize::width(nest, &walks.inner, true, kept == 0));
    // Where there is much to compute at each point, waiting for memory is hidden by more items, not by wider
    // ones.
    let heavy = inner_flops(nest) > HEAVY;
    let wanted = if heavy { 2 * lanes } else { lanes / 2 };
    // Half a warp's worth of packs at least: a short row is read at once rather than by few.
    while width > 1 && (inner / width < WARP / 2 || points.saturating_mul(inner) / width < wanted) {
        width /= 2;
    }
    let values = KEPT.checked_div(kept).map_or(READ, |values| values.max(width));
    let packs = inner.div_ceil(width).next_power_of_two();
    // Items of one point read whole sectors.
    let mut share = inner.div_ceil(values).next_power_of_two().max((SECTOR / width).max(1)).min(packs);
    // The items of a warp fold at once, those of several have to meet.
    if inner <= WARP * READ / kept.max(1) {
        share = share.min(WARP);
    }
    let least = if heavy { packs } else { packs / 2 };
    // On a device with work enough, an item goes round rather than share its point with more than these.
    share = share.min(if kept == 0 { GROUP } else { 2 * GROUP });
    if kept > 0 && inner.div_ceil(share) * kept > REGISTERS && inner * kept <= REGISTERS / 2 * 1024 {
        share = 1024;
    }
    // Where there is less work, a row is done as fast as it can be: by a whole warp, and by as many as have
    // something to do.
    while points * share < wanted && (share < WARP.min(packs) || share < least) {
        share *= 2;
    }
    let share = share.min(1024).min(most);
    // Two groups for each compute unit, if there are points for them, and no group of less than a warp.
    let fill = previous_power_of_two(points / (2 * lanes / UNIT).max(1));
    let together = (GROUP / share.min(GROUP)).min(fill).max(WARP / share.min(WARP));
    (share, together.min(previous_power_of_two(most / share)), width as u32)
}

/// Flops at each inner point, in the phase that has most.
fn inner_flops(nest: &Nest) -> u32 {
    let inner = nest.phases.iter().filter(|p| p.kind != PhaseKind::Point);
    let flops = inner.map(|phase| {
        let ops = phase.block.insts.iter();
        ops.map(|inst| if let Inst::Op { op, .. } = inst { op.row().flops } else { 0 }).sum()
    });
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
