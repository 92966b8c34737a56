//! A plan bound to memory: bounds checks, and how threads share the work.
//!
//! - `operands`: what accesses overlap. `schedule`: how threads share a run.

mod operands;
mod schedule;

use super::cache_hints;
use super::contiguous::run_lanes;
use super::exec::{Frame, ThreadRun, copy_accumulator, results};
use super::plan::{LaneAxes, NestPlan, PhasePlan};
use super::pool::ThreadPool;
use operands::{BoundOperands, Report};
use schedule::ThreadSchedule;
use std::cell::UnsafeCell;
use std::sync::Arc;
use workalike_device::{DeviceResult, HostMemory, Region};

/// Runs of fewer nanoseconds stay on the calling thread: waking and joining others takes as long.
pub(super) const SHARE_FROM: f64 = 15_000.0;

/// The product of a Nest that is no epilogue.
const NO_PRODUCT: (*const u8, u64) = (std::ptr::null(), 0);

/// A plan with its operands' memory.
pub(super) struct BoundPlan {
    pub(super) plan: Arc<NestPlan>,
    /// First byte of each operand; null for a product that is not stored.
    pub(super) bases: Vec<*mut u8>,
    /// Per access: whether instructions may use the operand's memory in place of a register.
    pub(super) direct: Vec<bool>,
    /// Per access: whether a load prefetches the next tile, or a store is non-temporal.
    pub(super) hinted: Vec<bool>,
    /// Whether any store is non-temporal.
    nontemporal: bool,
    /// Whether points of Ordered phases run one at a time, since one may load what another stores.
    pub(super) one_by_one: bool,
    /// Per access: the report, if the store only reports an error.
    pub(super) reports: Vec<Option<Report>>,
    /// Whether threads may take different grid points.
    pub(super) independent: bool,
    schedule: ThreadSchedule,
}

// SAFETY: the pointers are into blocks that the recording keeps alive and locks while it runs, so any thread
// may use them.
unsafe impl Send for BoundPlan {}
// SAFETY: it is immutable. The memory behind `bases` and `partials` is written by `run` and `points`, whose
// callers exclude other threads; the threads of one run write different elements and partial results.
unsafe impl Sync for BoundPlan {}

/// The frames of a recording: one for each thread.
pub(super) struct Frames(Vec<UnsafeCell<Frame>>);

// SAFETY: a frame is reached only through `of`, whose caller guarantees that no other thread uses it.
unsafe impl Sync for Frames {}

impl Frames {
    pub(super) fn new(frames: Vec<Frame>) -> Frames {
        Frames(frames.into_iter().map(UnsafeCell::new).collect())
    }

    /// # Safety
    /// No other thread may use this worker's frame while the reference lives.
    #[allow(clippy::mut_from_ref)] // The caller guarantees exclusive use.
    unsafe fn of(&self, worker: usize) -> &mut Frame {
        // SAFETY: the caller guarantees that there is no other reference to this frame.
        unsafe { &mut *self.0[worker].get() }
    }
}

impl BoundPlan {
    /// Binds checked regions, one per operand.
    ///
    /// `share_from`: estimated nanoseconds of a run from which threads share it.
    pub(super) fn new(
        plan: &Arc<NestPlan>,
        args: &[Region],
        threads: usize,
        share_from: f64,
    ) -> DeviceResult<BoundPlan> {
        let args: Vec<Option<&Region>> = args.iter().map(Some).collect();
        BoundPlan::with(plan, &args, (threads, share_from))
    }

    /// Binds an epilogue, which [`BoundPlan::points`] runs. `None` among the regions is the product.
    pub(super) fn epilogue(plan: &Arc<NestPlan>, args: &[Option<Region>]) -> DeviceResult<BoundPlan> {
        let args: Vec<Option<&Region>> = args.iter().map(Option::as_ref).collect();
        BoundPlan::with(plan, &args, (1, 0.0))
    }

    fn with(
        plan: &Arc<NestPlan>,
        args: &[Option<&Region>],
        threads: (usize, f64),
    ) -> DeviceResult<BoundPlan> {
        let operands = BoundOperands::new(plan, args)?;
        let direct: Vec<bool> = plan.accesses.iter().map(|access| operands.in_place(access)).collect();
        let moved = args.iter().flatten().map(|a| a.bytes).sum();
        let hinted = cache_hints::hinted(plan, &direct, |operand| operands.bytes(operand), moved);
        let nontemporal = plan.accesses.iter().zip(&hinted).any(|(access, hinted)| access.store && *hinted);
        let reports = operands.reports();
        let shares = |phase: Option<usize>| operands.may_share(&reports, phase);
        let contiguous = run_lanes(plan, &operands.bases, &direct, &hinted);
        let schedule = ThreadSchedule::new(plan, threads, contiguous, &shares)?;
        Ok(BoundPlan {
            plan: plan.clone(),
            independent: shares(None),
            one_by_one: operands.one_by_one(),
            bases: operands.bases,
            direct,
            hinted,
            nontemporal,
            reports,
            schedule,
        })
    }

    /// Whether threads besides the caller take part.
    pub(super) fn parallel(&self) -> bool {
        self.schedule.is_shared()
    }

    /// Whether threads share the chunks of a phase.
    #[cfg(test)]
    pub(super) fn shares_chunks(&self) -> bool {
        matches!(self.schedule, ThreadSchedule::Inner { .. })
    }

    /// Runs `n` grid points of an epilogue from `first` on.
    ///
    /// # Safety
    /// - The memory that it was bound to is locked, and no other thread touches it except by this function.
    /// - The products of these points lie at `product`, row-major, aligned for their dtype and readable up to
    ///   the next multiple of 8 bytes.
    /// - The frames were made for its plan, and no other thread uses this worker's frame.
    /// - No other thread runs these points, or any points if they are not [independent](Bound::independent).
    pub(super) unsafe fn points(
        &self,
        frames: &Frames,
        worker: usize,
        (first, n): (u64, u64),
        product: *const u8,
    ) {
        // SAFETY: the caller guarantees memory, products and frame, and that other threads run other,
        // independent points.
        unsafe {
            let run = ThreadRun::new(self, std::ptr::null(), (product, first));
            self.tiles(&run, frames.of(worker), (first, first + n), self.plan.width as u64);
        }
    }

    /// Runs it once. False if something panicked.
    ///
    /// # Safety
    /// - The memory that it was bound to is locked, and no other thread touches it or runs this.
    /// - There is a frame per thread of the pool, or one if it is not [parallel](Bound::parallel). They were
    ///   made for its plan, and no other thread uses them.
    pub(super) unsafe fn run(&self, frames: &Frames, pool: &ThreadPool) -> bool {
        let plan = &*self.plan;
        match &self.schedule {
            ThreadSchedule::Grid { lanes, group } => {
                let chunk = lanes.saturating_mul(*group);
                pool.run(plan.grid_points.div_ceil(chunk) as usize, &|at, worker| {
                    let first = at as u64 * chunk;
                    let end = first.saturating_add(chunk).min(plan.grid_points);
                    // SAFETY: the caller guarantees memory and frames; the pool gives a worker number to one
                    // thread at a time, and threads share grid points only where `may_share` allows it.
                    unsafe {
                        let run = ThreadRun::new(self, std::ptr::null(), NO_PRODUCT);
                        self.tiles(&run, frames.of(worker), (first, end), *lanes);
                    }
                })
            }
            ThreadSchedule::Inner { shared, partials } => {
                let lanes = if plan.lane_axes == LaneAxes::Grid { plan.width } else { 1 };
                let mut done = true;
                for first in (0..plan.grid_points).step_by(lanes) {
                    let n = (plan.grid_points - first).min(lanes as u64) as usize;
                    for (phase, shared) in plan.phases.iter().zip(shared) {
                        // SAFETY: the caller guarantees memory and frames, `schedule` made a row of
                        // `partials` per chunk of the phases that threads may share; phases run in sequence.
                        done &= unsafe {
                            match *shared {
                                true => self.share(frames, pool, phase, (first, n), partials),
                                false => self.alone(frames, phase, (first, n)),
                            }
                        };
                    }
                }
                done
            }
        }
    }

    /// Runs grid points `first..end`, `lanes` at a time.
    fn tiles(&self, run: &ThreadRun<'_>, frame: &mut Frame, (mut first, end): (u64, u64), lanes: u64) {
        while first < end {
            run.block(frame, first, lanes.min(end - first));
            first += lanes;
        }
        self.fence_stores();
    }

    /// Completes non-temporal stores before this thread reports that it is done.
    fn fence_stores(&self) {
        if self.nontemporal {
            cache_hints::store_fence();
        }
    }

    /// Runs one phase at one grid tile on the calling thread.
    ///
    /// # Safety
    /// Same as [`BoundPlan::run`].
    unsafe fn alone(&self, frames: &Frames, phase: &PhasePlan, (point, n): (u64, usize)) -> bool {
        // SAFETY: the caller guarantees memory and frames, and no other thread is at work.
        let (run, frame) = unsafe { (ThreadRun::new(self, std::ptr::null(), NO_PRODUCT), frames.of(0)) };
        run.phase(frame, phase, point, n);
        self.fence_stores();
        true
    }

    /// Runs one phase at one grid tile; threads take its chunks.
    ///
    /// # Safety
    /// Same as [`BoundPlan::run`]. Threads may share the chunks, and `partials` has a row for each.
    unsafe fn share(
        &self,
        frames: &Frames,
        pool: &ThreadPool,
        phase: &PhasePlan,
        (point, n): (u64, usize),
        partials: &HostMemory,
    ) -> bool {
        let folds = &self.plan.folds[phase.folds.clone()];
        let row: usize = folds.iter().map(|f| f.tile_words).sum();
        let lanes = results(phase, n);
        let partial = |chunk: usize, fold: usize| {
            let before: usize = folds[..fold].iter().map(|f| f.tile_words).sum();
            partials.start().cast::<u64>().wrapping_add(chunk * row + before)
        };
        // SAFETY: the caller guarantees the memory, and that chunks may be shared. No other thread is at work
        // yet; fold results in the first frame are written after all chunks are done.
        let run = unsafe { ThreadRun::new(self, frames.of(0).base().cast_const(), NO_PRODUCT) };
        let work = |chunk: usize, worker: usize| {
            // SAFETY: the pool gives a worker number to one thread at a time, so no other thread uses the
            // frame.
            let frame = unsafe { frames.of(worker) };
            run.chunk(frame, phase, point, n, chunk as u64);
            self.fence_stores();
            for (at, fold) in folds.iter().enumerate() {
                // SAFETY: the bottom of the fold's stack is an accumulator of this thread's frame; each chunk
                // has its own row of `partials`, with a tile per fold.
                unsafe { copy_accumulator(frame.at(fold.stack), partial(chunk, at), fold, (0, lanes)) };
            }
        };
        // The first chunk may already decide the result.
        if let (Some([stream]), [fold]) = (phase.streams.as_deref(), folds)
            && stream.may_decide_early()
            && phase.lane_axes == Some(LaneAxes::Inner)
        {
            work(0, 0);
            // SAFETY: no other thread is at work, and `work` no longer uses the frame; it wrote the first
            // chunk's partial result.
            let (frame, found) = unsafe { (&*frames.of(0), partial(0, 0).read()) };
            if stream.is_decided(&[found], 1) {
                run.finish(frame, fold, fold.stack, lanes);
                return true;
            }
        }
        let chunks = phase.steps.div_ceil(phase.chunk) as usize;
        let done = pool.run(chunks, &work);
        // SAFETY: the workers are done, so no other thread uses a frame.
        let frame = unsafe { frames.of(0) };
        for chunk in 0..chunks {
            for (at, fold) in folds.iter().enumerate() {
                // SAFETY: each chunk wrote `lanes` lanes of each fold to its row of `partials`, which is
                // outside of the frame.
                unsafe { run.push_partial(frame, fold, chunk as u64, partial(chunk, at), lanes) };
            }
        }
        run.store_results(frame, phase, n);
        done
    }
}
