//! Chunks of a plan's phases, and the layout of a frame.

use super::super::folds::tiles::Cascade;
use super::super::plan::{LaneAxes, NestPlan};
use crate::folds::memory_reduce;
use workalike_kernels::nest::PhaseKind;

/// Elements of one chunk of a long inner range.
const CHUNK: u64 = 1 << 16;

impl NestPlan {
    /// Divides the phases into chunks and a frame into registers and accumulators. The width is a multiple of
    /// 16 lanes, so that every tile is whole words; 8 words between tiles avoid cache set conflicts.
    pub(super) fn lay_out(&mut self, reg_sizes: &[u8]) {
        let mut words = 0;
        let width = self.width;
        let mut take = |lanes: usize, size: usize| {
            let at = words;
            words += (lanes * size).div_ceil(8).next_multiple_of(8) + 8;
            at
        };
        self.regs = reg_sizes.iter().map(|s| take(width, *s as usize)).collect();
        let conditions = self.phases.iter().flat_map(|p| &p.stores).any(|s| s.when.is_some());
        if conditions || self.accesses.iter().any(|a| !a.dynamic.is_empty()) {
            self.addresses = take(width, 8);
            self.positions = take(width, 8);
        }
        self.staging = take(width, 2);
        let (tiles, rows) = match self.lane_axes {
            LaneAxes::Grid => (self.inner_points as usize, 1),
            LaneAxes::Inner => ((self.inner_points as usize).div_ceil(width), self.together),
        };
        for kept in &mut self.kept {
            kept.row = tiles * width * kept.size as usize / 8;
            kept.at = take(rows * tiles * width, kept.size as usize);
        }
        for phase in &mut self.phases {
            let lanes = match phase.lane_axes {
                Some(LaneAxes::Grid) => self.grid_points.clamp(1, width as u64),
                _ => width as u64,
            };
            phase.steps = match (phase.kind, phase.lane_axes) {
                (PhaseKind::Point, _) => 1,
                (_, Some(LaneAxes::Inner)) => self.inner_points.div_ceil(width as u64),
                _ => self.inner_points,
            };
            phase.chunk =
                if phase.kind == PhaseKind::Ordered { phase.steps } else { (CHUNK / lanes).max(16) };
            phase.chunk = phase.chunk.max(1);
            if phase.streams.is_some() {
                (phase.steps, phase.chunk) = memory_reduce::steps(self.lane_axes, self.inner_points, lanes);
            }
            for fold in &mut self.folds[phase.folds.clone()] {
                let chunks = phase.steps.div_ceil(phase.chunk);
                fold.value_words = (width * fold.dtype.register().size()).div_ceil(8);
                fold.tile_words = fold.value_words + if fold.index.is_some() { width } else { 0 };
                let steps = phase.chunk.min(phase.steps);
                let depth = match phase.streams {
                    Some(_) => memory_reduce::depth(self.lane_axes, fold, steps),
                    None => Cascade::depth(steps, fold.kernel.block),
                };
                fold.stack = take(depth * fold.tile_words, 8);
                fold.chunk_stack = take(Cascade::depth(chunks, 0) * fold.tile_words, 8);
                fold.out = take(fold.tile_words, 8);
            }
        }
        self.frame_words = words;
    }
}
