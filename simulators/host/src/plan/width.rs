//! The lanes of a tile: as many as fit in the L1 cache.

use super::super::affine::LanePattern;
use super::super::cache_hints::PREFETCH_FROM;
use super::super::exec::VECTOR;
use super::super::plan::{AccessPlan, FoldPlan, LaneAxes, PhasePlan, TileInst, TileOperand, ValueLocation};
use super::compile::NestCompiler;
use crate::uniform_rows::Runs;
use workalike_kernels::nest::PhaseKind;

/// Bytes of registers that should stay in the L1 cache.
const CACHE: usize = 24 << 10;
const WIDTHS: (usize, usize) = (128, 1024);
/// A tile may have more than `WIDTHS.1` lanes if its widest value takes at most this many bytes: narrow
/// values take less time per lane.
const WIDE: usize = 8 << 10;
/// Tile size in bytes for a prefetched operand (one tile ahead, per operand). With whole pages the processor
/// waits for them before it computes; much smaller prefetches come late.
const PREFETCH_TILE: usize = 2 << 10;
/// The most instructions of a Nest with such small tiles, whose overhead is per tile.
const FEW: usize = 3;
/// The most lanes, and bytes, of an accumulator of rows.
const STREAM_WIDTH: (usize, usize) = (4096, 16 << 10);
/// Grid points that run through the phases together if the inner points are lanes, and the most inner points
/// for which several do: the next phase then finds in the cache what the last one read.
pub(super) const TOGETHER: (u64, u64) = (256, 4096);

/// Whether a load is read in place where nothing writes its operand.
fn in_place(access: &AccessPlan) -> bool {
    access.map.lanes == LanePattern::Line(1) && access.dynamic.is_empty() && !access.touch.dtype.is_half()
}

/// Bytes of a lane of an accumulator.
fn fold_bytes(fold: &FoldPlan) -> usize {
    fold.dtype.register().size() + if fold.index.is_some() { 8 } else { 0 }
}

/// The least lanes of a tile that is one row: the overhead per tile is some 70 ns.
const ROW: usize = 1024;

/// Lanes of tiles that divide a row, of which those of a row shorter than `width` are all: within a row,
/// loads are uniform or read memory in place.
fn dividing(row: usize, width: usize) -> Option<usize> {
    let most = row.min(width) / VECTOR;
    let least = if row < width { most } else { most.div_ceil(2) };
    let lanes = (least.max(1)..=most).rev().map(|vectors| vectors * VECTOR);
    lanes.into_iter().find(|lanes| row.is_multiple_of(*lanes))
}

impl NestCompiler<'_> {
    /// Lanes of a full tile, and grid points that run through the phases together.
    pub(super) fn width(&self) -> (usize, usize) {
        let (grid_points, inner_points) = (self.nest.grid_points(), self.nest.inner_points());
        let walks = self.phases.iter().filter(|p| p.kind != PhaseKind::Point).count();
        let together = match (self.lane_axes, walks) {
            (LaneAxes::Grid, _) => u64::MAX,
            (LaneAxes::Inner, 0 | 1) => TOGETHER.0,
            (LaneAxes::Inner, _) => (TOGETHER.1 / inner_points.max(1)).clamp(1, TOGETHER.0),
        };
        let lanes = match self.lane_axes {
            LaneAxes::Grid => grid_points,
            LaneAxes::Inner => inner_points.max(together.min(grid_points)),
        };
        let lanes = lanes.clamp(1, 1 << 20) as usize;
        let bytes = self.lane_bytes();
        let (cache, most) = self.limits(bytes);
        let width = (cache / bytes.max(1) / 64 * 64).clamp(WIDTHS.0, most).min(lanes.next_multiple_of(16));
        // Rows are divided evenly, for the overhead of a short last tile is the same.
        let width = match self.lane_axes {
            LaneAxes::Inner if inner_points > width as u64 => {
                let tiles = inner_points.div_ceil(width as u64);
                (inner_points.div_ceil(tiles) as usize).next_multiple_of(64).min(width)
            }
            LaneAxes::Grid => self.row_lanes(width).and_then(|row| dividing(row, width)).unwrap_or(width),
            _ => width,
        };
        (width, together.min(width as u64) as usize)
    }

    /// Lanes of the shortest row beyond `width` that a load at affine addresses has; or of a shorter one in
    /// which a load that only chains read is uniform.
    fn row_lanes(&self, width: usize) -> Option<usize> {
        let rows = self.accesses.iter().filter_map(|access| match &access.map.lanes {
            // Other loads have a lane per row.
            LanePattern::Rows(strides) if !access.store && self.by_lane[access.reg as usize] => {
                let (row, step, _) = strides.innermost();
                let uniform = step == 0 && access.few && !self.folds.is_empty();
                let least = if uniform { ROW as u64 } else { width as u64 + 1 };
                (access.dynamic.is_empty() && row >= least).then_some(row)
            }
            _ => None,
        });
        rows.filter_map(|row| usize::try_from(row).ok()).min()
    }

    /// Bytes of a lane of all that instructions on a tile read and write.
    fn lane_bytes(&self) -> usize {
        // A register of a load that is read in place is used only briefly.
        let unused = |reg: u32| {
            let mut loads = self.accesses.iter().filter(|a| !a.store && a.reg == reg).peekable();
            let work = || self.phases.iter().flat_map(|p| p.before.iter().chain(&p.body));
            loads.peek().is_some() && loads.all(in_place) && !work().any(|work| work.writes(reg))
        };
        let registers = self.reg_sizes.iter().enumerate();
        let registers = registers.filter(|(at, _)| self.by_lane[*at] && !unused(*at as u32));
        // Chains read only the first lanes of a constant, and some accumulators have few lanes.
        let folds = self.folds.iter().filter(|f| f.lanes(Some(self.lane_axes), 1 << 20) == 1 << 20);
        let consts = (0..self.consts.len()).filter(|c| self.fills_tiles(*c as u32));
        registers.map(|(_, size)| *size as usize).sum::<usize>()
            + folds.map(fold_bytes).sum::<usize>()
            + consts.map(|c| self.consts[c].dtype().register().size()).sum::<usize>()
    }

    /// Whether an instruction reads the whole tile of a constant.
    fn fills_tiles(&self, constant: u32) -> bool {
        let before = |p: &PhasePlan| if p.rows.is_some() { 0 } else { p.before.len() };
        let mut work = self.phases.iter().flat_map(|p| p.before[..before(p)].iter().chain(&p.body));
        let is_it = |arg: &TileOperand| matches!(arg.slot, ValueLocation::Const(c) if c == constant);
        work.any(|work| match work {
            TileInst::Tile { args, arity, .. } => args[..*arity as usize].iter().any(is_it),
            TileInst::Repeat { arg, .. } => is_it(arg),
            TileInst::Load { .. }
            | TileInst::Iota { .. }
            | TileInst::Broadcast { .. }
            | TileInst::Chain(_) => false,
        })
    }

    /// Bytes of a tile, and its most lanes.
    fn limits(&self, bytes: usize) -> (usize, usize) {
        let mut walks = self.phases.iter().filter(|p| p.kind != PhaseKind::Point);
        if let Some(accumulator) = self.folds.iter().map(fold_bytes).max()
            && self.lane_axes == LaneAxes::Grid
            && walks.all(|p| p.streams.is_some())
        {
            return (STREAM_WIDTH.1 * bytes / accumulator, STREAM_WIDTH.0);
        }
        let stored = self.accesses.iter().map(|a| a.touch.dtype.register().size());
        let registers = self.reg_sizes.iter().zip(&self.by_lane).filter(|(_, by_lane)| **by_lane);
        let widest = registers.map(|(size, _)| *size as usize).chain(stored).max().unwrap_or(1);
        let most = (WIDE / widest.max(1)).clamp(WIDTHS.1, WIDE);
        (CACHE, self.prefetched().map_or(most, |size| most.min(PREFETCH_TILE / size)))
    }

    /// The largest size of an element that is prefetched, if tiles should be small for that.
    fn prefetched(&self) -> Option<usize> {
        // Without folds each lane is computed once, and memory is the bottleneck.
        if self.lane_axes != LaneAxes::Grid || !self.folds.is_empty() {
            return None;
        }
        // Gathers of single elements wait for memory anyway.
        let lookups = self.accesses.iter().any(|a| !a.dynamic.is_empty() && a.runs == Runs::Not);
        let computing =
            |body: &[TileInst]| body.iter().filter(|w| !matches!(w, TileInst::Load { .. })).count();
        let few = self.phases.iter().all(|p| computing(&p.body) <= FEW);
        let loads = self.accesses.iter().filter(|a| !a.store && in_place(a));
        let is_large = |size: &usize| self.nest.grid_points().saturating_mul(*size as u64) >= PREFETCH_FROM;
        let largest = loads.map(|a| a.touch.dtype.size()).filter(is_large).max();
        largest.filter(|_| few && !lookups)
    }
}
