//! How threads share a run.

use super::super::plan::{LaneAxes, NestPlan};
use workalike_device::{DeviceResult, HostMemory};

/// Weight of the estimated overhead per tile, which is low relative to the estimated cost per lane.
const TILE_WEIGHT: f64 = 8.0;
/// The group of a schedule of one chunk.
const ALL: u64 = u64::MAX;

/// How threads share a run. Results do not depend on it.
pub(super) enum ThreadSchedule {
    /// Threads take grid points: chunks of `group` tiles of `lanes` lanes (or points).
    Grid { lanes: u64, group: u64 },
    /// Threads take chunks of the inner range, phase by phase and grid tile by grid tile. `partials` holds
    /// the chunks' fold results.
    Inner { shared: Vec<bool>, partials: HostMemory },
}

impl ThreadSchedule {
    /// Chooses a schedule. `contiguous`: the lanes done at once, if that is more than a tile; `shares`: what
    /// threads [may share](super::operands::Operands::may_share).
    pub(super) fn new(
        plan: &NestPlan,
        (threads, share_from): (usize, f64),
        contiguous: Option<u64>,
        shares: &dyn Fn(Option<usize>) -> bool,
    ) -> DeviceResult<ThreadSchedule> {
        let shared = match threads < 2 || plan.nanoseconds < share_from {
            true => None,
            false => shared(plan, threads as u64, share_from, shares)?,
        };
        let tile = if plan.lane_axes == LaneAxes::Grid { plan.width } else { plan.together };
        Ok(match (shared, contiguous) {
            (None, _) => ThreadSchedule::Grid { lanes: contiguous.unwrap_or(tile as u64), group: ALL },
            (Some(ThreadSchedule::Grid { .. }), Some(lanes)) => ThreadSchedule::Grid { lanes, group: 1 },
            (Some(schedule), _) => schedule,
        })
    }

    /// Whether threads besides the caller take part.
    pub(super) fn is_shared(&self) -> bool {
        !matches!(self, ThreadSchedule::Grid { group: ALL, .. })
    }
}

/// A schedule for several threads, if they can share the plan.
fn shared(
    plan: &NestPlan,
    threads: u64,
    share_from: f64,
    shares: &dyn Fn(Option<usize>) -> bool,
) -> DeviceResult<Option<ThreadSchedule>> {
    let by_grid = shares(None);
    let lanes = match plan.lane_axes {
        LaneAxes::Grid => narrowed(plan, threads),
        LaneAxes::Inner => plan.grid_points.div_ceil(threads * 4).min(plan.together as u64),
    };
    let tiles = plan.grid_points.div_ceil(lanes.max(1));
    let grid = |per_thread: u64| {
        // Chunks take about `share_from` nanoseconds, unless that makes too few of them to share evenly.
        let long = (share_from / (plan.nanoseconds / tiles as f64)).ceil() as u64;
        Some(ThreadSchedule::Grid { lanes, group: long.min(tiles.div_ceil(threads * per_thread)).max(1) })
    };
    if by_grid && tiles >= 4 * threads {
        return Ok(grid(4));
    }
    // A kept value is in the frame of the thread that computed it, so all chunks are one thread's.
    let splits = |p: usize| plan.kept.is_empty() && plan.phases[p].steps > plan.phases[p].chunk;
    let shared: Vec<bool> = (0..plan.phases.len()).map(|p| splits(p) && shares(Some(p))).collect();
    if shared.contains(&true) {
        let room = plan.phases.iter().map(|phase| {
            let row: usize = plan.folds[phase.folds.clone()].iter().map(|f| f.tile_words).sum();
            phase.steps.div_ceil(phase.chunk) * row as u64 * 8
        });
        let partials = HostMemory::new(room.max().unwrap_or(0))?;
        return Ok(Some(ThreadSchedule::Inner { shared, partials }));
    }
    Ok(if by_grid && tiles > 1 { grid(2) } else { None })
}

/// The lanes of a tile: fewer than fit if every thread then has some, and that gains more than it costs.
fn narrowed(plan: &NestPlan, threads: u64) -> u64 {
    let lanes = plan.grid_points.div_ceil(threads * 2).next_multiple_of(64).min(plan.width as u64);
    let (wide, narrow) =
        (plan.grid_points.div_ceil(plan.width as u64), plan.grid_points.div_ceil(lanes.max(1)));
    let tiles = narrow as f64 / wide.max(1) as f64;
    let (overhead, rest) = (TILE_WEIGHT * plan.overhead, plan.nanoseconds - plan.overhead);
    let share = threads.min(narrow).max(1) as f64;
    if (overhead * tiles + rest) / share < overhead + rest { lanes } else { plan.width as u64 }
}
