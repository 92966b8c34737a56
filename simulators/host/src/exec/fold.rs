//! Folds of tiles: into the stack of a chunk, over chunks, to the results that later phases read.

use super::super::folds::tiles::Cascade;
use super::super::plan::{FoldPlan, LaneAxes, PhasePlan};
use super::super::tile_io;
use super::{Frame, ThreadRun, view_mut};

impl ThreadRun<'_> {
    /// The accumulator at the top of the fold's stack, and whether it has to start from the identity.
    pub(super) fn accumulator(&self, frame: &Frame, fold: &FoldPlan) -> (*mut u64, bool) {
        let (top, fresh) = Cascade::after(frame.folded).top(fold.kernel.block);
        (frame.at(fold.stack + top * fold.tile_words), fresh)
    }

    /// Prepares the top of the fold's stack for the next tile. `full`: lanes of a full tile.
    pub(super) fn start(&self, frame: &Frame, fold: &FoldPlan, lane_axes: Option<LaneAxes>, full: usize) {
        let (at, fresh) = self.accumulator(frame, fold);
        if fresh {
            // SAFETY: an accumulator of this frame, with room for a full tile.
            unsafe { start(at, fold, fold.lanes(lane_axes, full)) };
        }
    }

    /// Folds the current tile of `n` lanes into the top of the fold's stack, unless a chain did, and counts
    /// it.
    pub(super) fn push(
        &self,
        frame: &Frame,
        fold: &FoldPlan,
        lane_axes: Option<LaneAxes>,
        (full, n): (usize, usize),
    ) {
        let (at, _) = self.accumulator(frame, fold);
        if let Some(value) = fold.value {
            // SAFETY: the phase's instructions ran at these lanes; accumulators are tiles of this frame that
            // overlap no value.
            let ((into, into_index), value, other) = unsafe {
                let other = fold.index.or(fold.factor).map_or(&[][..], |i| self.value(frame, i, n));
                (accumulator(at, fold), self.value(frame, value, n), other)
            };
            if lane_axes == Some(LaneAxes::Inner) && fold.kernel.folds_to_one_lane() {
                fold.kernel.across(into, value, other, n);
            } else {
                fold.kernel.vertical(into, into_index, value, other, n);
            }
        }
        let mut cascade = Cascade::after(frame.folded);
        let (top, _) = cascade.top(fold.kernel.block);
        self.merge(
            frame,
            fold,
            fold.stack,
            top,
            cascade.pushed(fold.kernel.block),
            fold.lanes(lane_axes, full),
        );
    }

    /// Folds the stack of a chunk of `count` tiles into its bottom.
    pub(super) fn fold_chunk(
        &self,
        frame: &Frame,
        fold: &FoldPlan,
        lane_axes: Option<LaneAxes>,
        count: u64,
        full: usize,
    ) {
        let height = Cascade::after(count).height(fold.kernel.block).saturating_sub(1);
        self.merge(frame, fold, fold.stack, height, height, fold.lanes(lane_axes, full));
        if lane_axes == Some(LaneAxes::Inner) && !fold.kernel.folds_to_one_lane() {
            // SAFETY: the bottom accumulator is a tile of this frame; value and index are disjoint parts of
            // it.
            let (value, index) = unsafe { accumulator(frame.at(fold.stack), fold) };
            fold.kernel.horizontal(value, index, full);
        }
    }

    /// Folds the accumulator at `top` into the one below, `merges` times.
    pub(crate) fn merge(
        &self,
        frame: &Frame,
        fold: &FoldPlan,
        stack: usize,
        top: usize,
        merges: usize,
        n: usize,
    ) {
        for m in 0..merges {
            let at = |level: usize| frame.at(stack + level * fold.tile_words);
            // SAFETY: two different accumulators of this frame.
            let (into, from) =
                unsafe { (accumulator(at(top - m - 1), fold), accumulator(at(top - m), fold)) };
            let from = (bytemuck::cast_slice(from.0), bytemuck::cast_slice(from.1));
            fold.kernel.merge(into.0, into.1, from.0, from.1, n);
        }
    }

    /// Pushes the partial result of chunk `chunk`, at `partial`, onto the stack of chunks.
    ///
    /// # Safety
    /// At `partial` there must be `n` lanes of an accumulator of `fold`, outside of its stack of chunks,
    /// which no other thread writes.
    pub(crate) unsafe fn push_partial(
        &self,
        frame: &Frame,
        fold: &FoldPlan,
        chunk: u64,
        partial: *const u64,
        n: usize,
    ) {
        let (top, _) = Cascade::after(chunk).top(0);
        // SAFETY: the caller guarantees `partial`; the target is a tile of the stack of chunks, in this
        // thread's frame.
        unsafe {
            copy_accumulator(partial, frame.at(fold.chunk_stack + top * fold.tile_words), fold, (0, n))
        };
        self.merge(frame, fold, fold.chunk_stack, top, Cascade::after(chunk).pushed(0), n);
    }

    /// Stores the results of a phase's folds where later phases read them.
    pub(crate) fn store_results(&self, frame: &Frame, phase: &PhasePlan, n: usize) {
        let n = results(phase, n);
        let chunks = phase.steps.div_ceil(phase.chunk);
        for fold in &self.plan.folds[phase.folds.clone()] {
            if chunks == 0 {
                // SAFETY: an accumulator of this frame, with room for `n` lanes.
                unsafe { start(frame.at(fold.chunk_stack), fold, n) };
            } else {
                let height = Cascade::after(chunks).height(0);
                self.merge(frame, fold, fold.chunk_stack, height - 1, height - 1, n);
            }
            self.finish(frame, fold, fold.chunk_stack, n);
        }
    }

    /// Stores `n` lanes of the accumulator at `from` as the fold's result.
    pub(crate) fn finish(&self, frame: &Frame, fold: &FoldPlan, from: usize, n: usize) {
        // SAFETY: result and accumulator are different tiles of this frame, and the lanes are within them.
        unsafe { copy_accumulator(frame.at(from), frame.at(fold.out), fold, (frame.lane, n)) };
    }
}

/// Lanes of the results of a phase's folds.
pub(crate) fn results(phase: &PhasePlan, n: usize) -> usize {
    if phase.lane_axes == Some(LaneAxes::Grid) { n } else { 1 }
}

/// The lanes and indices of an accumulator.
///
/// # Safety
/// `at` must be an accumulator of `fold` that nothing else uses while the slices live.
unsafe fn accumulator<'a>(at: *mut u64, fold: &FoldPlan) -> (&'a mut [u64], &'a mut [u64]) {
    // SAFETY: an accumulator has `tile_words` words, and the caller guarantees exclusive use; the plan lays
    // the index out behind the value, so the slices are disjoint.
    unsafe {
        let index = view_mut(at.wrapping_add(fold.value_words), fold.tile_words - fold.value_words);
        (view_mut(at, fold.value_words), index)
    }
}

/// Fills `n` lanes of an accumulator with the identity.
///
/// # Safety
/// `at` must be an accumulator of `fold` with room for `n` lanes that nothing else uses.
unsafe fn start(at: *mut u64, fold: &FoldPlan, n: usize) {
    // SAFETY: the caller guarantees the accumulator.
    let (value, index) = unsafe { accumulator(at, fold) };
    tile_io::fill(value, fold.identity, n);
    if fold.index.is_some() {
        index[..n].fill(i64::MAX as u64);
    }
}

/// Copies the first `n` lanes of an accumulator to those from `lane` on of another.
///
/// # Safety
/// Both must be accumulators of `fold` with room for these lanes, and different. No other thread may write
/// `from` or use `to`.
pub(crate) unsafe fn copy_accumulator(
    from: *const u64,
    to: *mut u64,
    fold: &FoldPlan,
    (lane, n): (usize, usize),
) {
    let size = fold.dtype.register().size();
    let at = fold.value_words;
    // SAFETY: the caller guarantees two different accumulators, each with room for the values and, behind
    // them, the indices.
    unsafe {
        std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>().add(lane * size), n * size);
        if fold.index.is_some() {
            std::ptr::copy_nonoverlapping(from.add(at), to.add(at + lane), n);
        }
    }
}
