//! Running a plan: instructions over tiles of lanes, tile by tile.
//!
//! Why the raw memory access here is sound. A Nest was [verified](workalike_kernels::verify::Verified), so
//! its indices stay within its operands. The recording locks operands' memory while it runs, so no other
//! recording and no host copy touches it. `bind` has proven that every address lies in its operand's region,
//! and lets threads share a run only if no thread loads or stores what another stores. A frame belongs to one
//! thread; its registers, accumulators and scratch tiles are disjoint parts of one allocation, laid out by
//! the plan, each with room for a full tile. The caller of [`ThreadRun::new`] guarantees this for the
//! lifetime of the [`ThreadRun`]; methods that need more are `unsafe` themselves.
//!
//! - `frame`: registers and scratch. `instructions`: instructions. `memory`: loads and stores. `fold`:
//!   accumulators.

mod fold;
mod frame;
mod instructions;
mod memory;

pub(super) use fold::{copy_accumulator, results};
pub(super) use frame::{Frame, words};
pub(super) use instructions::VECTOR;
pub(super) use std::slice::{from_raw_parts as view, from_raw_parts_mut as view_mut};

use super::bind::BoundPlan;
use super::plan::{LaneAxes, NestPlan, PhasePlan};
use workalike_kernels::nest::PhaseKind;

/// Row-major coordinates of a point over these axes.
fn locate(mut point: u64, extents: &[u64], out: &mut [u64]) {
    for (at, &extent) in out.iter_mut().zip(extents).rev() {
        *at = point % extent;
        point /= extent;
    }
}

/// Advances to the next point.
fn advance(extents: &[u64], at: &mut [u64]) {
    for (at, &extent) in at.iter_mut().zip(extents).rev() {
        *at += 1;
        if *at < extent {
            return;
        }
        *at = 0;
    }
}

/// A bound plan, as one thread runs it. Only [`ThreadRun::new`] makes one.
pub(super) struct ThreadRun<'a> {
    pub(super) plan: &'a NestPlan,
    pub(super) bound: &'a BoundPlan,
    /// The frame whose fold results all threads read while they share the phases of a grid tile; null: each
    /// thread reads its own.
    pub(super) folded: *const u64,
    /// Of an epilogue: the address of the product of grid point `first`; the products of the next points
    /// follow.
    pub(super) product: (*const u8, u64),
}

impl<'a> ThreadRun<'a> {
    /// See the fields for the arguments.
    ///
    /// # Safety
    /// Until its last use the caller guarantees:
    /// - The memory that `bound` was bound to is locked, and only Runs of `bound` touch it.
    /// - Runs on other threads take other grid points, or other chunks of one phase, and only where `bound`
    ///   allows it.
    /// - It is given grid points, phases and chunks of the plan only, at most a tile of points at a time
    ///   unless the plan is [contiguous](super::contiguous), and frames that were made for the plan.
    /// - `folded` is null, or the start of a frame of the plan in which no thread writes fold results.
    /// - If an operand has no memory, `product` points to its elements at these grid points, row-major,
    ///   aligned for their dtype and readable up to the next multiple of 8 bytes, and no other thread writes
    ///   them.
    pub(super) unsafe fn new(
        bound: &'a BoundPlan,
        folded: *const u64,
        product: (*const u8, u64),
    ) -> ThreadRun<'a> {
        ThreadRun { plan: &bound.plan, bound, folded, product }
    }
}

// SAFETY: plan and binding are `Sync`, and the results and products behind the pointers are only read. The
// caller of `new` guarantees that threads take other grid points or other chunks, each with its own frame.
unsafe impl Sync for ThreadRun<'_> {}

impl ThreadRun<'_> {
    /// Runs all phases at `n` grid points from `first` on, at most a tile unless the plan is
    /// [contiguous](super::contiguous).
    pub(super) fn block(&self, frame: &mut Frame, first: u64, n: u64) {
        self.plan.phases.iter().for_each(|phase| self.phase(frame, phase, first, n as usize));
    }

    /// Runs a phase at `n` grid points from `point` on.
    pub(super) fn phase(&self, frame: &mut Frame, phase: &PhasePlan, point: u64, n: usize) {
        match &phase.streams {
            _ if phase.kind == PhaseKind::Point => self.point(frame, phase, point, n),
            _ if phase.lane_axes == Some(LaneAxes::Grid) => self.chunks(frame, phase, point, n),
            Some(streams) if phase.steps <= phase.chunk => {
                self.along_rows(frame, streams, (point, n), (0, phase.steps), false);
            }
            _ => {
                for lane in 0..n {
                    frame.lane = lane;
                    self.chunks(frame, phase, point + lane as u64, 1);
                }
                frame.lane = 0;
            }
        }
    }

    /// Runs all chunks of a phase at a grid tile.
    #[inline(never)]
    fn chunks(&self, frame: &mut Frame, phase: &PhasePlan, point: u64, n: usize) {
        let chunks = phase.steps.div_ceil(phase.chunk);
        let folds = &self.plan.folds[phase.folds.clone()];
        if chunks == 1 {
            self.chunk(frame, phase, point, n, 0);
            folds.iter().for_each(|fold| self.finish(frame, fold, fold.stack, results(phase, n)));
            return;
        }
        for chunk in 0..chunks {
            self.chunk(frame, phase, point, n, chunk);
            for fold in folds {
                // SAFETY: `chunk` left its result at the bottom of the fold's stack, which is disjoint from
                // the stack of chunks.
                unsafe { self.push_partial(frame, fold, chunk, frame.at(fold.stack), results(phase, n)) };
            }
        }
        self.store_results(frame, phase, n);
    }

    /// Runs one chunk of the steps of a phase other than a Point at a grid tile. Each fold's partial result
    /// ends at the bottom of its stack.
    pub(super) fn chunk(&self, frame: &mut Frame, phase: &PhasePlan, point: u64, n: usize, chunk: u64) {
        let plan = self.plan;
        let from = chunk * phase.chunk;
        let to = (from + phase.chunk).min(phase.steps);
        let full = match (&phase.streams, phase.lane_axes) {
            (Some(streams), Some(LaneAxes::Grid)) => {
                return self.down_rows(frame, streams, (point, n), (from, to));
            }
            (Some(streams), _) => return self.along_rows(frame, streams, (point, 1), (from, to), true),
            (None, Some(LaneAxes::Grid)) => n,
            (None, Some(LaneAxes::Inner)) => plan.inner_points.min(plan.width as u64) as usize,
            (None, None) => 1,
        };
        if phase.lane_axes != Some(LaneAxes::Grid) {
            locate(point, &plan.extents[..plan.grid], &mut frame.coordinates[..plan.grid]);
        }
        self.steps(frame, phase, (point, full), (from, to));
        for fold in &plan.folds[phase.folds.clone()] {
            self.fold_chunk(frame, fold, phase.lane_axes, to - from, full);
        }
    }

    /// Runs steps `from..to` of a phase; full tiles have `full` lanes.
    fn steps(
        &self,
        frame: &mut Frame,
        phase: &PhasePlan,
        (point, full): (u64, usize),
        (from, to): (u64, u64),
    ) {
        let plan = self.plan;
        let (axes, inner) = (plan.inner_axes(), phase.lane_axes == Some(LaneAxes::Inner));
        let tile = |step: u64| match phase.lane_axes {
            Some(LaneAxes::Grid) => (point, full),
            Some(LaneAxes::Inner) => {
                let start = step * plan.width as u64;
                (start, (plan.inner_points - start).min(full as u64) as usize)
            }
            None => (0, 1),
        };
        self.work(frame, phase, &phase.before, tile(0).0, full.min(phase.before_lanes));
        if !inner {
            locate(from, &plan.extents[axes.clone()], &mut frame.coordinates[axes.clone()]);
        }
        let folds = &plan.folds[phase.folds.clone()];
        let one_by_one = inner && phase.kind == PhaseKind::Ordered && self.bound.one_by_one;
        for step in from..to {
            frame.step = step as usize;
            frame.folded = step - from;
            let (start, lanes) = tile(step);
            let each = if one_by_one { 1 } else { lanes.max(1) };
            for lane in (0..lanes).step_by(each) {
                let start = start + lane as u64;
                folds.iter().for_each(|fold| self.start(frame, fold, phase.lane_axes, full));
                self.work(frame, phase, &phase.body, start, each);
                folds.iter().for_each(|fold| self.push(frame, fold, phase.lane_axes, (full, each)));
                self.stores(frame, phase, start, each, false);
            }
            if !inner {
                advance(&plan.extents[axes.clone()], &mut frame.coordinates[axes.clone()]);
            }
        }
    }
}
