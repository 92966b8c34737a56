//! A plan bound to memory: bounds checked once and for all, and the ways in which threads may share the work.

use super::cache_hints;
use super::contiguous::straight;
use super::exec::{Frame, Run, copy_tile};
use super::plan::{Access, Arg, PhasePlan, Plan, Side, Slot, Work};
use super::pool::Pool;
use std::cell::UnsafeCell;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, HostMemory, Region};
use workalike_kernels::DType;
use workalike_kernels::nest::PhaseKind;

/// Runs of fewer nanoseconds stay on the calling thread: waking and joining others would take as long.
pub(super) const SHARE_FROM: f64 = 15_000.0;
/// What a tile costs apart from its lanes is estimated low, beside them.
const TILE_WEIGHT: f64 = 8.0;

/// Of a Nest that is no epilogue.
const NO_PRODUCT: (*const u8, u64) = (std::ptr::null(), 0);

/// A plan with its operands' memory.
pub(super) struct Bound {
    pub(super) plan: Arc<Plan>,
    /// First byte of each operand; null for a product that is not stored.
    pub(super) bases: Vec<*mut u8>,
    /// Of each access: whether instructions may read, or write, the operand's memory in place of a register.
    pub(super) direct: Vec<bool>,
    /// Of each access: whether a load asks for the next tile, or a store goes past the caches.
    pub(super) far: Vec<bool>,
    /// Whether a store does.
    past: bool,
    /// See [`contiguous`](super::contiguous).
    straight: Option<u64>,
    /// Whether points of Ordered phases are taken one by one, for one might read what another stores.
    pub(super) one_by_one: bool,
    /// Of each store that only reports something: how.
    pub(super) reports: Vec<Option<Report>>,
    /// Whether threads may take different grid points.
    pub(super) independent: bool,
    schedule: Schedule,
}

// SAFETY: the pointers are into blocks that the recording keeps and holds while it runs, so they may be used
// on any thread.
unsafe impl Send for Bound {}
// SAFETY: no field changes once it is made. What lies behind `bases` and `partials` is written by `run` and
// `points`, whose callers guarantee that nobody else runs it; within a run, threads write different elements
// and different partial results.
unsafe impl Sync for Bound {}

/// A conditional store of a number to one int64 that no other access of the Nest touches, but for others of
/// this kind. Any point may make it: threads may meet there, and whatever they do, the report stays that
/// comes last in the Nest.
pub(super) struct Report {
    pub(super) number: i64,
    /// Numbers that it does not replace.
    pub(super) above: Vec<i64>,
}

/// How threads share a run.
enum Schedule {
    /// The caller alone.
    Alone,
    /// Each takes grid points; this many lanes (or points) at a time, `group` such tiles a chunk.
    Grid { lanes: u64, group: u64 },
    /// Each takes chunks of the inner range, phase after phase and grid tile after grid tile. `partials`
    /// holds what the chunks fold.
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
    /// Nobody else may use this worker's frame meanwhile.
    #[allow(clippy::mut_from_ref)] // That is what the contract is about.
    unsafe fn of(&self, worker: usize) -> &mut Frame {
        // SAFETY: the caller guarantees that there is no other reference to this frame.
        unsafe { &mut *self.0[worker].get() }
    }
}

impl Bound {
    /// Binds regions that were checked, one for each operand.
    ///
    /// `share_from`: threads share a run that is estimated to take this many nanoseconds.
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

    /// Binds an epilogue, which [`Bound::points`] runs. `None` among the regions: the product.
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
        // The commands were checked against the Nest; here is what the planner made of it.
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
        let meets = |a: usize, b: usize| {
            let (from, to) = (bases[a].addr(), bases[a].addr() + sizes[a] as usize);
            let (other, end) = (bases[b].addr(), bases[b].addr() + sizes[b] as usize);
            // A product that is not stored has no address.
            from < end && other < to && bases[a].is_null() == bases[b].is_null()
        };
        let touched = |operand: usize, store: bool| {
            let mut others = plan.accesses.iter().filter(move |a| a.store == store);
            others.any(|a| meets(a.touch.operand, operand))
        };
        let direct = plan.accesses.iter().enumerate().map(|(at, access)| {
            let operand = access.touch.operand;
            let plain = access.dynamic.is_empty();
            if access.store {
                let mut others = plan.accesses.iter().enumerate().filter(|(other, _)| *other != at);
                plain && !others.any(|(_, a)| meets(a.touch.operand, operand))
            } else {
                plain && (!touched(operand, true) || is_rewritten(plan, at, &meets, &bases))
            }
        });
        let lies: Vec<bool> = direct.collect();
        let whole = plan.accesses.iter().map(|a| !a.touch.dtype.is_half());
        let direct: Vec<bool> = lies.iter().zip(whole).map(|(lies, whole)| *lies && whole).collect();
        let moved = args.iter().flatten().map(|a| a.bytes).sum();
        let bytes = |operand: usize| if bases[operand].is_null() { 0 } else { sizes[operand] };
        let far = cache_hints::far(plan, &direct, bytes, moved);
        let past = plan.accesses.iter().zip(&far).any(|(access, far)| access.store && *far);
        let reports = reports(plan, &meets, &bases);
        let shares = |phase: Option<usize>| may_share(plan, &meets, &bases, &reports, phase);
        let straight = straight(plan, &bases, (&lies, &direct), &far);
        let schedule = match (schedule(plan, &shares)?, straight) {
            (Schedule::Grid { .. }, Some(lanes)) => Schedule::Grid { lanes, group: 1 },
            (schedule, _) => schedule,
        };
        let independent = shares(None);
        let ordered = |a: &&Access| plan.phases[a.phase].kind == PhaseKind::Ordered;
        let one_by_one = plan.accesses.iter().filter(ordered).filter(|a| a.store).any(|store| {
            let mut loads = plan.accesses.iter().filter(|a| !a.store && a.phase == store.phase);
            loads.any(|load| meets(load.touch.operand, store.touch.operand))
        });
        Ok(Bound {
            plan: plan.clone(),
            bases,
            direct,
            far,
            past,
            straight,
            one_by_one,
            reports,
            independent,
            schedule,
        })
    }

    /// Runs `n` grid points of an epilogue from `first` on.
    ///
    /// # Safety
    /// - The memory that it was bound to is held, and nobody but its runs touches it.
    /// - The products of these points lie at `product`, row-major, aligned for their dtype and readable to
    ///   the end of the last word.
    /// - The frames were made for its plan. Nobody else uses this worker's meanwhile.
    /// - Nobody else runs these points meanwhile, or any if points are not [independent](Bound::independent).
    pub(super) unsafe fn points(
        &self,
        frames: &Frames,
        worker: usize,
        (first, n): (u64, u64),
        product: *const u8,
    ) {
        // SAFETY: the caller guarantees memory, products and frame; other threads take other points, where
        // those are independent.
        let (run, frame) = unsafe { (Run::new(self, std::ptr::null(), (product, first)), frames.of(worker)) };
        let (mut at, end, width) = (first, first + n, self.plan.width as u64);
        while at < end {
            run.block(frame, at, width.min(end - at));
            at += width;
        }
        self.settle();
    }

    /// Whether other threads than the caller are used.
    pub(super) fn parallel(&self) -> bool {
        !matches!(self.schedule, Schedule::Alone)
    }

    /// Runs it once. False if something panicked.
    ///
    /// # Safety
    /// - The memory that it was bound to is held, and nobody else touches it or runs this meanwhile.
    /// - There is a frame for each thread of the pool, or one if it is not [parallel](Bound::parallel). They
    ///   were made for its plan, and nobody else uses them meanwhile.
    pub(super) unsafe fn run(&self, frames: &Frames, pool: &Pool) -> bool {
        let plan = &*self.plan;
        let width = match (&self.schedule, plan.side) {
            (_, Side::Grid) => self.straight.map_or(plan.width, |lanes| lanes as usize),
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
                self.settle();
                true
            }
            Schedule::Grid { lanes, group } => {
                let chunk = lanes * group;
                let chunks = plan.grid_points.div_ceil(chunk);
                pool.run(chunks as usize, &|at, worker| {
                    // SAFETY: the caller guarantees memory and frames; the pool gives a worker's number to
                    // one thread at a time, and `schedule` shares grid points only where `may_share` allows
                    // it.
                    let (run, frame) =
                        unsafe { (Run::new(self, std::ptr::null(), NO_PRODUCT), frames.of(worker)) };
                    let end = ((at as u64 + 1) * chunk).min(plan.grid_points);
                    let mut first = at as u64 * chunk;
                    while first < end {
                        run.block(frame, first, (*lanes).min(end - first));
                        first += lanes;
                    }
                    self.settle();
                })
            }
            Schedule::Inner { shared, partials } => {
                let mut first = 0;
                let mut done = true;
                while first < plan.grid_points {
                    let n = width.min(plan.grid_points - first);
                    for (p, shared) in shared.iter().enumerate() {
                        // SAFETY: the caller of this guarantees what that needs; phases run one after the
                        // other.
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

    /// What was written past the caches is written before this thread says that it is done.
    fn settle(&self) {
        if self.past {
            cache_hints::settle();
        }
    }

    /// One phase at one grid tile, its chunks shared by the threads if they may be.
    ///
    /// # Safety
    /// As of [`Bound::run`]. Only if `shared` may threads share the chunks. Of `partials` there must be a row
    /// for each chunk.
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
        // in the first frame are written when all chunks are done.
        let run = SharedRun(unsafe { Run::new(self, folded, NO_PRODUCT) });
        let chunks = phase.steps.div_ceil(phase.chunk) as usize;
        let work = |chunk: usize, worker: usize| {
            let run = run.get();
            // SAFETY: the pool gives a worker's number to one thread at a time, so the frame is this
            // thread's.
            let frame = unsafe { frames.of(worker) };
            run.chunk(frame, p, point, n, chunk as u64);
            self.settle();
            for (at, fold) in folds.iter().enumerate() {
                let from = frame.base().wrapping_add(fold.stack).cast_const();
                // SAFETY: the bottom of the fold's stack is an accumulator of this thread's frame; each chunk
                // has a row of `partials` of its own, with a tile for each fold.
                unsafe { copy_tile(from, partial(chunk, at), fold, lanes) };
            }
        };
        // A look at the first chunk may do.
        if let (Some([stream]), [fold]) = (phase.streams.as_deref(), folds)
            && stream.may_settle()
            && phase.side == Some(Side::Inner)
        {
            work(0, 0);
            // SAFETY: no other thread is at work, and `work` no longer uses the frame; it wrote the first
            // chunk's partial result.
            let (frame, found) = unsafe { (&*frames.of(0), partial(0, 0).read()) };
            if stream.settled(&[found], 1) {
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
        // SAFETY: the workers are done, so nobody else uses a frame.
        let frame = unsafe { frames.of(0) };
        for chunk in 0..chunks {
            for (at, fold) in folds.iter().enumerate() {
                // SAFETY: each chunk left `lanes` lanes of each fold in its row of `partials`, outside of the
                // frame.
                unsafe { run.get().absorb(frame, fold, chunk as u64, partial(chunk, at), lanes) };
            }
        }
        run.get().conclude(frame, p, n);
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

/// Chooses how threads share a plan; nothing that is computed depends on it. `shares` says what they [may
/// share](may_share).
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
        // Chunks of some microseconds, unless that leaves too few of them to share evenly.
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

/// The lanes of a tile: fewer than it has room for if that lets every thread have some, and costs less than
/// it gains.
fn narrowed(plan: &Plan, threads: u64) -> u64 {
    let lanes = plan.grid_points.div_ceil(threads * 2).next_multiple_of(64).min(plan.width as u64);
    let (wide, narrow) =
        (plan.grid_points.div_ceil(plan.width as u64), plan.grid_points.div_ceil(lanes.max(1)));
    let tiles = narrow as f64 / wide.max(1) as f64;
    let (overhead, rest) = (TILE_WEIGHT * plan.overhead, plan.nanoseconds - plan.overhead);
    let share = threads.min(narrow).max(1) as f64;
    if (overhead * tiles + rest) / share < overhead + rest { lanes } else { plan.width as u64 }
}

/// Whether a load's operand is written, but only where the load itself reads, by stores of its phase that
/// copy from registers: then all instructions on a tile are done before its memory changes. Not if a store
/// itself asks for what is loaded, for another store may have changed that by then.
fn is_rewritten(plan: &Plan, load: usize, meets: &dyn Fn(usize, usize) -> bool, bases: &[*mut u8]) -> bool {
    let access = &plan.accesses[load];
    let touch = &access.touch;
    let is_it = |arg: &Arg| matches!(arg.slot, Slot::Load(id) if id as usize == load);
    let PhasePlan { stores, body, .. } = &plan.phases[access.phase];
    // Not once for many steps.
    let each_time = body.iter().any(|w| matches!(w, Work::Load { access } if *access as usize == load));
    let asked = stores.iter().any(|store| {
        let dynamic = &plan.accesses[store.access as usize].dynamic;
        is_it(&store.value) || store.when.iter().any(is_it) || dynamic.iter().any(|d| is_it(&d.value))
    });
    let mut writers =
        plan.accesses.iter().filter(|a| a.store && meets(a.touch.operand, touch.operand)).peekable();
    !access.store
        && each_time
        && !asked
        && writers.peek().is_some()
        && writers.all(|writer| {
            writer.phase == access.phase
                && writer.touch.dynamic.is_empty()
                && bases[writer.touch.operand] == bases[touch.operand]
                && touch.shift_to(&writer.touch) == Some(0)
        })
}

/// Which stores only report something.
fn reports(plan: &Plan, meets: &dyn Fn(usize, usize) -> bool, bases: &[*mut u8]) -> Vec<Option<Report>> {
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
            let others = (0..plan.accesses.len()).filter(|o| meets(plan.accesses[*o].touch.operand, operand));
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
/// one grid tile: nothing that one stores may be loaded or stored by another, but for reports.
fn may_share(
    plan: &Plan,
    meets: &dyn Fn(usize, usize) -> bool,
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
            // Stores at computed addresses may meet, if nothing else touches the operand.
            return !touch.dynamic.is_empty()
                && !store.updates
                && !others.any(|a| meets(a.touch.operand, touch.operand));
        }
        others.filter(|a| meets(a.touch.operand, touch.operand)).all(|other| {
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
