//! A plan bound to memory: bounds checks, and how threads may share the work.

use super::cache_hints;
use super::contiguous::run_lanes;
use super::exec::{Frame, Run, copy_tile};
use super::plan::{Access, Arg, PhasePlan, Plan, Side, Slot, Work};
use super::pool::Pool;
use std::cell::UnsafeCell;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, HostMemory, Region};
use workalike_kernels::DType;
use workalike_kernels::nest::PhaseKind;

/// Runs of fewer nanoseconds stay on the calling thread: waking and joining others takes as long.
pub(super) const SHARE_FROM: f64 = 15_000.0;
/// Weight of the estimated overhead per tile, which is low relative to the estimated cost per lane.
const TILE_WEIGHT: f64 = 8.0;

/// The product of a Nest that is no epilogue.
const NO_PRODUCT: (*const u8, u64) = (std::ptr::null(), 0);

/// A plan with its operands' memory.
pub(super) struct Bound {
    pub(super) plan: Arc<Plan>,
    /// First byte of each operand; null for a product that is not stored.
    pub(super) bases: Vec<*mut u8>,
    /// Per access: whether instructions may use the operand's memory in place of a register.
    pub(super) direct: Vec<bool>,
    /// Per access: whether a load prefetches the next tile, or a store is non-temporal.
    pub(super) hinted: Vec<bool>,
    /// Whether any store is non-temporal.
    nontemporal: bool,
    /// Lanes of a run of a contiguous plan: see [`contiguous`](super::contiguous).
    contiguous: Option<u64>,
    /// Whether points of Ordered phases run one at a time, since one may load what another stores.
    pub(super) one_by_one: bool,
    /// Per access: the report, if the store only reports an error.
    pub(super) reports: Vec<Option<Report>>,
    /// Whether threads may take different grid points.
    pub(super) independent: bool,
    schedule: Schedule,
}

// SAFETY: the pointers are into blocks that the recording keeps alive and locks while it runs, so any thread
// may use them.
unsafe impl Send for Bound {}
// SAFETY: it is immutable. The memory behind `bases` and `partials` is written by `run` and `points`, whose
// callers exclude other threads; the threads of one run write different elements and partial results.
unsafe impl Sync for Bound {}

/// A conditional store of a number to one int64 that only such stores of the Nest touch. Several points may
/// make it at once: whatever their order, the report that comes last in the Nest stays.
pub(super) struct Report {
    pub(super) number: i64,
    /// Numbers that it does not replace.
    pub(super) above: Vec<i64>,
}

/// How threads share a run.
enum Schedule {
    /// Only the calling thread.
    Alone,
    /// Threads take grid points: chunks of `group` tiles of `lanes` lanes (or points).
    Grid { lanes: u64, group: u64 },
    /// Threads take chunks of the inner range, phase by phase and grid tile by grid tile. `partials` holds
    /// the chunks' fold results.
    Inner { shared: Vec<bool>, partials: HostMemory },
}

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

impl Bound {
    /// Binds checked regions, one per operand.
    ///
    /// `share_from`: estimated nanoseconds of a run from which threads share it.
    pub(super) fn new(
        plan: &Arc<Plan>,
        args: &[Region],
        threads: usize,
        share_from: f64,
    ) -> DeviceResult<Bound> {
        let args: Vec<Option<&Region>> = args.iter().map(Some).collect();
        Bound::with(plan, &args, |plan, shares| {
            if threads < 2 || plan.nanoseconds < share_from {
                return Ok(Schedule::Alone);
            }
            schedule(plan, threads, share_from, shares)
        })
    }

    /// Binds an epilogue, which [`Bound::points`] runs. `None` among the regions is the product.
    pub(super) fn epilogue(plan: &Arc<Plan>, args: &[Option<Region>]) -> DeviceResult<Bound> {
        let args: Vec<Option<&Region>> = args.iter().map(Option::as_ref).collect();
        Bound::with(plan, &args, |_, _| Ok(Schedule::Alone))
    }

    fn with(
        plan: &Arc<Plan>,
        args: &[Option<&Region>],
        schedule: impl FnOnce(&Plan, &dyn Fn(Option<usize>) -> bool) -> DeviceResult<Schedule>,
    ) -> DeviceResult<Bound> {
        let (mut bases, mut sizes) = (Vec::new(), Vec::new());
        for (region, (dtype, _)) in args.iter().zip(&plan.operands) {
            let product = plan.grid_points.saturating_mul(dtype.size() as u64);
            sizes.push(region.map_or(product, |r| r.bytes));
            let base = region
                .map(|r| HostMemory::of_region(r, "record")?.part(r.offset, r.bytes, "record"))
                .transpose()?;
            bases.push(base.unwrap_or(std::ptr::null_mut()));
        }
        // The commands were checked against the Nest; this checks the planner's index maps.
        for access in plan.accesses.iter().filter(|a| a.visited) {
            let (low, high) = access.touch.range;
            let operand = access.touch.operand;
            let bytes = sizes[operand];
            if low < 0 || (high + 1).saturating_mul(access.touch.dtype.size() as i128) > bytes as i128 {
                let message = format!(
                    "{}: operand {operand}: elements {low} to {high} do not fit in {bytes} bytes",
                    plan.name
                );
                return Err(DeviceError::driver("host", "record", message));
            }
        }
        let overlaps = |a: usize, b: usize| {
            let (from, to) = (bases[a].addr(), bases[a].addr() + sizes[a] as usize);
            let (other, end) = (bases[b].addr(), bases[b].addr() + sizes[b] as usize);
            // A product that is not stored has no address.
            from < end && other < to && bases[a].is_null() == bases[b].is_null()
        };
        let touched = |operand: usize, store: bool| {
            let mut others = plan.accesses.iter().filter(move |a| a.store == store);
            others.any(|a| overlaps(a.touch.operand, operand))
        };
        let direct = plan.accesses.iter().enumerate().map(|(at, access)| {
            let operand = access.touch.operand;
            let plain = access.dynamic.is_empty() && !access.touch.dtype.is_half();
            if access.store {
                let mut others = plan.accesses.iter().enumerate().filter(|(other, _)| *other != at);
                plain && !others.any(|(_, a)| overlaps(a.touch.operand, operand))
            } else {
                plain && (!touched(operand, true) || is_rewritten(plan, at, &overlaps, &bases))
            }
        });
        let direct: Vec<bool> = direct.collect();
        let moved = args.iter().flatten().map(|a| a.bytes).sum();
        let bytes = |operand: usize| if bases[operand].is_null() { 0 } else { sizes[operand] };
        let hinted = cache_hints::hinted(plan, &direct, bytes, moved);
        let nontemporal = plan.accesses.iter().zip(&hinted).any(|(access, hinted)| access.store && *hinted);
        let reports = reports(plan, &overlaps, &bases);
        let shares = |phase: Option<usize>| may_share(plan, &overlaps, &bases, &reports, phase);
        let contiguous = run_lanes(plan, &bases, &direct, &hinted);
        let schedule = match (schedule(plan, &shares)?, contiguous) {
            (Schedule::Grid { .. }, Some(lanes)) => Schedule::Grid { lanes, group: 1 },
            (schedule, _) => schedule,
        };
        let independent = shares(None);
        let ordered = |a: &&Access| plan.phases[a.phase].kind == PhaseKind::Ordered;
        let one_by_one = plan.accesses.iter().filter(ordered).filter(|a| a.store).any(|store| {
            let mut loads = plan.accesses.iter().filter(|a| !a.store && a.phase == store.phase);
            loads.any(|load| overlaps(load.touch.operand, store.touch.operand))
        });
        Ok(Bound {
            plan: plan.clone(),
            bases,
            direct,
            hinted,
            nontemporal,
            contiguous,
            one_by_one,
            reports,
            independent,
            schedule,
        })
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
        let (run, frame) = unsafe { (Run::new(self, std::ptr::null(), (product, first)), frames.of(worker)) };
        let (mut at, end, width) = (first, first + n, self.plan.width as u64);
        while at < end {
            run.block(frame, at, width.min(end - at));
            at += width;
        }
        self.fence_stores();
    }

    /// Whether threads besides the caller take part.
    pub(super) fn parallel(&self) -> bool {
        !matches!(self.schedule, Schedule::Alone)
    }

    /// Runs it once. False if something panicked.
    ///
    /// # Safety
    /// - The memory that it was bound to is locked, and no other thread touches it or runs this.
    /// - There is a frame per thread of the pool, or one if it is not [parallel](Bound::parallel). They were
    ///   made for its plan, and no other thread uses them.
    pub(super) unsafe fn run(&self, frames: &Frames, pool: &Pool) -> bool {
        let plan = &*self.plan;
        let width = match (&self.schedule, plan.side) {
            (_, Side::Grid) => self.contiguous.map_or(plan.width, |lanes| lanes as usize),
            (Schedule::Inner { .. }, Side::Inner) => 1,
            (_, Side::Inner) => plan.together,
        } as u64;
        match &self.schedule {
            Schedule::Alone => {
                // SAFETY: the caller guarantees memory and frames, and this is the only thread at work.
                let (run, frame) = unsafe { (Run::new(self, std::ptr::null(), NO_PRODUCT), frames.of(0)) };
                let mut first = 0;
                while first < plan.grid_points {
                    run.block(frame, first, width.min(plan.grid_points - first));
                    first += width;
                }
                self.fence_stores();
                true
            }
            Schedule::Grid { lanes, group } => {
                let chunk = lanes * group;
                let chunks = plan.grid_points.div_ceil(chunk);
                pool.run(chunks as usize, &|at, worker| {
                    // SAFETY: the caller guarantees memory and frames; the pool gives a worker number to one
                    // thread at a time, and `schedule` shares grid points only where `may_share` allows it.
                    let (run, frame) =
                        unsafe { (Run::new(self, std::ptr::null(), NO_PRODUCT), frames.of(worker)) };
                    let end = ((at as u64 + 1) * chunk).min(plan.grid_points);
                    let mut first = at as u64 * chunk;
                    while first < end {
                        run.block(frame, first, (*lanes).min(end - first));
                        first += lanes;
                    }
                    self.fence_stores();
                })
            }
            Schedule::Inner { shared, partials } => {
                let mut first = 0;
                let mut done = true;
                while first < plan.grid_points {
                    let n = width.min(plan.grid_points - first);
                    for (p, shared) in shared.iter().enumerate() {
                        // SAFETY: the caller guarantees memory and frames, `schedule` made a row of
                        // `partials` per chunk and found which phases threads may share; phases run in
                        // sequence.
                        let good =
                            unsafe { self.phase(frames, pool, p, (first, n as usize), *shared, partials) };
                        done &= good;
                    }
                    first += width;
                }
                done
            }
        }
    }

    /// Completes non-temporal stores before this thread reports that it is done.
    fn fence_stores(&self) {
        if self.nontemporal {
            cache_hints::store_fence();
        }
    }

    /// Runs one phase at one grid tile; threads take its chunks if `shared`.
    ///
    /// # Safety
    /// Same as [`Bound::run`]. `shared` only if threads may share the chunks. `partials` must have a row per
    /// chunk.
    unsafe fn phase(
        &self,
        frames: &Frames,
        pool: &Pool,
        p: usize,
        (point, n): (u64, usize),
        shared: bool,
        partials: &HostMemory,
    ) -> bool {
        let plan = &*self.plan;
        let phase = &plan.phases[p];
        let folds = &plan.folds[phase.folds.clone()];
        let row: usize = folds.iter().map(|f| f.tile_words).sum();
        let lanes = if phase.side == Some(Side::Grid) { n } else { 1 };
        let partial = |chunk: usize, fold: usize| {
            let before: usize = folds[..fold].iter().map(|f| f.tile_words).sum();
            partials.start().cast::<u64>().wrapping_add(chunk * row + before)
        };
        // SAFETY: no other thread is at work yet, and only the address is taken.
        let folded = unsafe { frames.of(0) }.base().cast_const();
        // SAFETY: the caller guarantees the memory, and that chunks may be shared if they are. Fold results
        // in the first frame are written after all chunks are done.
        let run = SharedRun(unsafe { Run::new(self, folded, NO_PRODUCT) });
        let chunks = phase.steps.div_ceil(phase.chunk) as usize;
        let work = |chunk: usize, worker: usize| {
            let run = run.get();
            // SAFETY: the pool gives a worker number to one thread at a time, so no other thread uses the
            // frame.
            let frame = unsafe { frames.of(worker) };
            run.chunk(frame, p, point, n, chunk as u64);
            self.fence_stores();
            for (at, fold) in folds.iter().enumerate() {
                let from = frame.base().wrapping_add(fold.stack).cast_const();
                // SAFETY: the bottom of the fold's stack is an accumulator of this thread's frame; each chunk
                // has its own row of `partials`, with a tile per fold.
                unsafe { copy_tile(from, partial(chunk, at), fold, lanes) };
            }
        };
        // The first chunk may already decide the result.
        if let (Some([stream]), [fold]) = (phase.streams.as_deref(), folds)
            && stream.may_decide_early()
            && phase.side == Some(Side::Inner)
        {
            work(0, 0);
            // SAFETY: no other thread is at work, and `work` no longer uses the frame; it wrote the first
            // chunk's partial result.
            let (frame, found) = unsafe { (&*frames.of(0), partial(0, 0).read()) };
            if stream.is_decided(&[found], 1) {
                run.get().finish(frame, fold, fold.stack, lanes);
                return true;
            }
        }
        let done = if shared {
            pool.run(chunks, &work)
        } else {
            (0..chunks).for_each(|chunk| work(chunk, 0));
            true
        };
        // SAFETY: the workers are done, so no other thread uses a frame.
        let frame = unsafe { frames.of(0) };
        for chunk in 0..chunks {
            for (at, fold) in folds.iter().enumerate() {
                // SAFETY: each chunk wrote `lanes` lanes of each fold to its row of `partials`, which is
                // outside of the frame.
                unsafe { run.get().push_partial(frame, fold, chunk as u64, partial(chunk, at), lanes) };
            }
        }
        run.get().store_results(frame, p, n);
        done
    }
}

/// A [`Run`] that threads share.
struct SharedRun<'a>(Run<'a>);

// SAFETY: plan and binding are `Sync`; the results behind `folded` are only read while the run is shared, and
// there is no product.
unsafe impl Sync for SharedRun<'_> {}

impl<'a> SharedRun<'a> {
    fn get(&self) -> &Run<'a> {
        &self.0
    }
}

/// Chooses how threads share a plan; results do not depend on it. `shares`: what they [may share](may_share).
fn schedule(
    plan: &Plan,
    threads: usize,
    share_from: f64,
    shares: &dyn Fn(Option<usize>) -> bool,
) -> DeviceResult<Schedule> {
    let threads = threads as u64;
    let by_grid = shares(None);
    let lanes = match plan.side {
        Side::Grid => narrowed(plan, threads),
        Side::Inner => plan.grid_points.div_ceil(threads * 4).min(plan.together as u64),
    };
    let tiles = plan.grid_points.div_ceil(lanes.max(1));
    let grid = |per_thread: u64| {
        // Chunks take about `share_from` nanoseconds, unless that makes too few of them to share evenly.
        let long = (share_from / (plan.nanoseconds / tiles as f64)).ceil() as u64;
        Schedule::Grid { lanes, group: long.min(tiles.div_ceil(threads * per_thread)).max(1) }
    };
    if by_grid && tiles >= 4 * threads {
        return Ok(grid(4));
    }
    let shared: Vec<bool> = (0..plan.phases.len())
        .map(|p| plan.phases[p].steps > plan.phases[p].chunk && shares(Some(p)))
        .collect();
    if shared.contains(&true) {
        let room = plan.phases.iter().map(|phase| {
            let row: usize = plan.folds[phase.folds.clone()].iter().map(|f| f.tile_words).sum();
            phase.steps.div_ceil(phase.chunk) * row as u64 * 8
        });
        return Ok(Schedule::Inner { shared, partials: HostMemory::new(room.max().unwrap_or(0))? });
    }
    Ok(if by_grid && tiles > 1 { grid(2) } else { Schedule::Alone })
}

/// The lanes of a tile: fewer than fit if every thread then has some, and that gains more than it costs.
fn narrowed(plan: &Plan, threads: u64) -> u64 {
    let lanes = plan.grid_points.div_ceil(threads * 2).next_multiple_of(64).min(plan.width as u64);
    let (wide, narrow) =
        (plan.grid_points.div_ceil(plan.width as u64), plan.grid_points.div_ceil(lanes.max(1)));
    let tiles = narrow as f64 / wide.max(1) as f64;
    let (overhead, rest) = (TILE_WEIGHT * plan.overhead, plan.nanoseconds - plan.overhead);
    let share = threads.min(narrow).max(1) as f64;
    if (overhead * tiles + rest) / share < overhead + rest { lanes } else { plan.width as u64 }
}

/// Whether a load may read its written operand in place: only the same lanes are written, by stores of the
/// same phase that copy from registers, so all instructions on a tile are done before its memory changes. Not
/// if a store uses the loaded value, for another store may have changed that by then.
fn is_rewritten(
    plan: &Plan,
    load: usize,
    overlaps: &dyn Fn(usize, usize) -> bool,
    bases: &[*mut u8],
) -> bool {
    let access = &plan.accesses[load];
    let touch = &access.touch;
    let is_it = |arg: &Arg| matches!(arg.slot, Slot::Load(id) if id as usize == load);
    let PhasePlan { stores, body, .. } = &plan.phases[access.phase];
    // Not for a load that is hoisted out of the loop.
    let each_time = body.iter().any(|w| matches!(w, Work::Load { access } if *access as usize == load));
    let used = stores.iter().any(|store| {
        let dynamic = &plan.accesses[store.access as usize].dynamic;
        is_it(&store.value) || store.when.iter().any(is_it) || dynamic.iter().any(|d| is_it(&d.value))
    });
    let mut writers =
        plan.accesses.iter().filter(|a| a.store && overlaps(a.touch.operand, touch.operand)).peekable();
    !access.store
        && each_time
        && !used
        && writers.peek().is_some()
        && writers.all(|writer| {
            writer.phase == access.phase
                && writer.touch.dynamic.is_empty()
                && bases[writer.touch.operand] == bases[touch.operand]
                && touch.shift_to(&writer.touch) == Some(0)
        })
}

/// The stores that only report an error, per access.
fn reports(plan: &Plan, overlaps: &dyn Fn(usize, usize) -> bool, bases: &[*mut u8]) -> Vec<Option<Report>> {
    let axes = 0..plan.extents.len();
    let number = |at: usize, access: &Access| {
        let touch = &access.touch;
        let store = plan.phases[access.phase].stores.iter().find(|s| s.access as usize == at)?;
        let Slot::Const(constant) = store.value.slot else { return None };
        let fixed = touch.dynamic.is_empty() && !touch.affine.varies(axes.clone(), &plan.extents);
        (store.when.is_some() && fixed && touch.dtype == DType::I64)
            .then(|| plan.consts[constant as usize][0] as i64)
    };
    let numbers = plan.accesses.iter().enumerate();
    let numbers: Vec<Option<i64>> =
        numbers.map(|(at, a)| if a.store { number(at, a) } else { None }).collect();
    let place = |at: usize| {
        let touch = &plan.accesses[at].touch;
        (bases[touch.operand], touch.affine.offset)
    };
    (0..plan.accesses.len())
        .map(|at| {
            let number = numbers[at]?;
            let operand = plan.accesses[at].touch.operand;
            let others =
                (0..plan.accesses.len()).filter(|o| overlaps(plan.accesses[*o].touch.operand, operand));
            let mut there: Vec<i64> = Vec::new();
            for other in others {
                there.push(numbers[other].filter(|_| place(other) == place(at))?);
            }
            let last = there.iter().rposition(|n| *n == number)?;
            let above = there.split_off(last + 1);
            Some(Report { number, above })
        })
        .collect()
}

/// Whether threads may take different grid points (`phase: None`), or different inner points of one phase at
/// one grid tile: except for reports, no point stores to what another loads or stores.
fn may_share(
    plan: &Plan,
    overlaps: &dyn Fn(usize, usize) -> bool,
    bases: &[*mut u8],
    reports: &[Option<Report>],
    phase: Option<usize>,
) -> bool {
    if phase.is_some_and(|p| !matches!(plan.phases[p].kind, PhaseKind::Map | PhaseKind::Reduce)) {
        return false;
    }
    let considered = plan.accesses.iter().zip(reports).filter(|(_, report)| report.is_none()).map(|(a, _)| a);
    let considered = considered.filter(|a| a.visited && phase.is_none_or(|p| a.phase == p));
    let inner = phase.is_some();
    considered.clone().filter(|a| a.store).all(|store| {
        let touch = &store.touch;
        let mut others = considered.clone().filter(|a| !std::ptr::eq(*a, store));
        if !touch.apart(plan.grid, &plan.extents, inner, 0) {
            // Stores at computed addresses may coincide if no other access touches the operand.
            return !touch.dynamic.is_empty()
                && !store.updates
                && !others.any(|a| overlaps(a.touch.operand, touch.operand));
        }
        others.filter(|a| overlaps(a.touch.operand, touch.operand)).all(|other| {
            let size = touch.dtype.size() as i128;
            let (from, to) = (bases[touch.operand].addr(), bases[other.touch.operand].addr());
            let bytes = to as i128 - from as i128;
            let Some(shift) = touch.shift_to(&other.touch) else { return false };
            if bytes % size != 0 {
                return false;
            }
            let shift = shift + bytes / size;
            if inner {
                shift == 0 && touch.dynamic.is_empty()
            } else {
                touch.apart(plan.grid, &plan.extents, false, shift)
            }
        })
    })
}
