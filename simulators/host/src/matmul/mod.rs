//! Matrix products: tiles of the result in registers; factors are read in place or packed in the order of
//! access.
//!
//! - `microkernel`, `pack`, `kernels`: the innermost loops, written once and compiled for each instruction
//!   set level.
//! - `schedule`: chooses loops, block sizes and the division among threads by shape and layout.
//! - `task`: the loops over one part of a result.
//! - `halves`: f16 and bf16, which are widened to f32, multiplied and rounded once.
//! - `integers`: integer products, which have their own loops.
//!
//! A product with an epilogue is not stored: each thread passes its blocks to the epilogue's Nest as soon as
//! they are computed, while they are in its cache.
//!
//! The order of summation of an element depends on the shape and the layout only, not on the number of
//! threads. Nothing is allocated here: a recording's products share one piece of scratch.

mod halves;
pub(super) mod integers;
mod kernels;
mod microkernel;
mod pack;
mod schedule;
mod task;
#[cfg(test)]
mod tests;

use super::bind::{BoundPlan, Frames, SHARE_FROM};
use super::pool::ThreadPool;
use halves::Wide;
use kernels::{MatmulKernels, Multiplied};
use schedule::{KernelShape, MatmulSchedule, MatmulShape};
use task::{MatmulTask, Then};
use workalike_device::{DeviceError, DeviceResult, HostMemory, Matmul, Region};
use workalike_kernels::DType;

/// Multiplications from which a product runs on several threads: below, waking one takes longer than it
/// saves.
const PARALLEL_FROM: u128 = 1 << 19;
/// The least chunks of a batch per thread.
const CHUNKS: usize = 4;
/// Elements of halves that are rounded and passed to an epilogue at a time, and of an empty sum.
const HANDED: usize = 4096;
/// The most bytes of the threads' own f32 copies of halves.
const COPIES: u64 = 64 << 20;

/// A product bound to memory.
pub(super) struct BoundMatmul {
    dtype: DType,
    /// The number of products, and the strides of both factors between them.
    batch: usize,
    steps: [isize; 2],
    shape: MatmulShape,
    a: *const u8,
    b: *const u8,
    c: *mut u8,
    schedule: MatmulSchedule,
    /// The number of chunks of the batch; the schedule may divide each product of it as well.
    chunks: usize,
    /// Threads that take part.
    threads: usize,
    wide: Option<Wide>,
    epilogue: Option<Box<BoundPlan>>,
}

/// Whether there are products of this dtype and these sizes.
pub(super) fn takes(product: &Matmul) -> bool {
    product.dtype.is_float() || integers::takes(product)
}

/// Whether an epilogue saves time. With longer sums a pass over the result is relatively cheap, and blocks of
/// it would have to wait between blocks of k.
pub(super) fn gains_by_epilogue(product: &Matmul) -> bool {
    product.k <= schedule::K_BLOCK as u64
}

/// The target of a product.
pub(super) enum Goal<'a> {
    Memory(&'a Region),
    Epilogue(Box<BoundPlan>),
}

/// The resources that a recording's products share: the threads, their frames for epilogues, and scratch
/// aligned to 64 bytes.
#[derive(Clone, Copy)]
pub(super) struct MatmulResources<'a> {
    pub(super) pool: &'a ThreadPool,
    pub(super) frames: &'a Frames,
    pub(super) scratch: *mut u8,
}

// SAFETY: pool and frames are `Sync`, and the scratch is only an address. Writers divide it by worker
// numbers, each of which the pool gives to one thread at a time.
unsafe impl Sync for MatmulResources<'_> {}

impl MatmulResources<'_> {
    /// The address of scratch behind this many bytes.
    fn at(&self, bytes: usize) -> *mut u8 {
        self.scratch.wrapping_add(bytes)
    }
}

// SAFETY: the pointers are into blocks that the recording keeps alive and locks while it runs, so any thread
// may use them.
unsafe impl Send for BoundMatmul {}
// SAFETY: it is immutable. Only `run` uses the memory behind the pointers, and its caller excludes other
// threads; the threads of one run write different parts of the result and of the scratch.
unsafe impl Sync for BoundMatmul {}

fn wrong(message: String) -> DeviceError {
    DeviceError::driver("host", "record matmul", message)
}

fn kind_of<T: Multiplied>() -> KernelShape {
    let kernels = T::best();
    KernelShape { size: T::SIZE, lanes: kernels.lanes, rows: kernels.tiles.len() }
}

impl BoundMatmul {
    /// Binds a checked product. Only [`BoundMatmul::run`] may touch the memory.
    pub(super) fn new(
        p: &Matmul,
        [a, b]: [&Region; 2],
        goal: Goal<'_>,
        threads: usize,
    ) -> DeviceResult<BoundMatmul> {
        if p.dtype == DType::Bool || (p.dtype.is_integer() && matches!(goal, Goal::Epilogue(..))) {
            return Err(wrong(format!("{} has no matrix product here", p.dtype)));
        }
        let address = |region: &Region| {
            HostMemory::of_region(region, "record matmul")?.part(region.offset, region.bytes, "record matmul")
        };
        let factors = [address(a)?, address(b)?];
        let (c, epilogue) = match goal {
            Goal::Memory(c) => (address(c)?, None),
            Goal::Epilogue(bound) => (std::ptr::null_mut(), Some(bound)),
        };
        let is_empty = [p.batch, p.m, p.n].contains(&0);
        let work = !is_empty && p.k > 0;
        let [mut a, mut b] = factors.map(|at| at.cast_const());
        let extents = if is_empty { [0; 3] } else { [p.m, p.n, p.k] };
        let [m, n, k] = extents.map(|e| e as usize);
        let mut steps = [p.a[0] as isize, p.b[0] as isize];
        let step = |s: &[i64; 3]| [s[1] as isize, s[2] as isize];
        let mut shape = MatmulShape { m, n, k, a: step(&p.a), b: step(&p.b) };
        if n == 1 && m > 1 {
            shape = shape.swapped();
            steps.swap(0, 1);
            std::mem::swap(&mut a, &mut b);
        }
        let mut product = BoundMatmul {
            dtype: p.dtype,
            batch: p.batch as usize,
            steps,
            shape,
            a,
            b,
            c,
            schedule: MatmulSchedule::default(),
            chunks: 1,
            threads: 1,
            wide: None,
            epilogue,
        };
        if work {
            product.plan(threads)?;
        }
        Ok(product)
    }

    /// Divides the work among threads, and computes the size of the scratch.
    fn plan(&mut self, threads: usize) -> DeviceResult<()> {
        let MatmulShape { m, n, k, .. } = self.shape;
        let work = [n, k, self.batch].iter().fold(m as u128, |all, e| all.saturating_mul(*e as u128));
        let (independent, long) = self.epilogue.as_ref().map_or((true, false), |epilogue| {
            (epilogue.independent, epilogue.plan.nanoseconds >= SHARE_FROM)
        });
        self.threads = if independent && (work >= PARALLEL_FROM || long) { threads } else { 1 };
        if self.dtype.is_integer() {
            return Ok(());
        }
        if self.dtype.is_half() {
            let wide = Wide::new(self.dtype, &self.shape).ok_or(u64::MAX);
            let wide = wide.map_err(|_| wrong(format!("{:?} does not fit in memory as f32", self.shape)))?;
            self.shape = wide.shape(&self.shape);
            self.wide = Some(wide);
        }
        // The batch is divided first; its products only where they are too few, or where the threads' copies
        // would take much memory.
        let copies = self.wide.as_ref().map_or(0, |w| w.bytes().saturating_mul(self.threads as u64));
        let by_batch = self.batch >= 2 * self.threads && copies <= COPIES;
        let within = if by_batch { 1 } else { self.threads };
        self.chunks = if within > 1 { self.batch } else { self.batch.min(CHUNKS * self.threads) };
        let kind = if self.dtype == DType::F64 { kind_of::<f64>() } else { kind_of::<f32>() };
        // Halves are passed to the epilogue when they are rounded.
        let kept = self.epilogue.is_none() || self.wide.is_some();
        self.schedule = MatmulSchedule::new(&self.shape, kind, within, kept);
        Ok(())
    }

    /// Bytes of packing scratch per thread.
    fn packed_bytes(&self) -> u64 {
        let size = if self.dtype == DType::F64 { 8 } else { 4 };
        self.schedule.scratch as u64 * size
    }

    /// The number of widened copies that exist at a time.
    fn wide_copies(&self) -> u64 {
        if self.schedule.parts == [1, 1] { self.threads as u64 } else { 1 }
    }

    /// Bytes of scratch that [`BoundMatmul::run`] needs; saturates.
    pub(super) fn scratch(&self) -> u64 {
        let wide = self.wide.as_ref().map_or(0, |w| w.bytes().saturating_mul(self.wide_copies()));
        let each = self.packed_bytes().saturating_add(self.handed_bytes());
        each.saturating_mul(self.threads as u64).saturating_add(wide)
    }

    /// Bytes of scratch per thread, behind all else, for elements of an epilogue that are not in a tile.
    fn handed_bytes(&self) -> u64 {
        let needed = self.epilogue.is_some() && (self.wide.is_some() || self.shape.k == 0);
        if needed { (HANDED * self.dtype.size()) as u64 } else { 0 }
    }

    /// Whether threads besides the caller take part.
    pub(super) fn parallel(&self) -> bool {
        self.threads > 1
    }

    /// Its epilogue, bound.
    pub(super) fn epilogue(&self) -> Option<&BoundPlan> {
        self.epilogue.as_deref()
    }

    /// Computes it, on at most the number of threads given to [`BoundMatmul::new`]. False if something
    /// panicked.
    ///
    /// # Safety
    /// - The regions that it was made for are locked, and no other thread touches them. The factors' elements
    ///   lie within theirs, aligned; so do the result's, which overlaps no factor.
    /// - The room's scratch is as large as [`BoundMatmul::scratch`] says, aligned to 64 bytes, and nothing
    ///   else uses it.
    /// - The room's frames were made for its epilogue, one per thread, and no other thread uses them.
    /// - No other thread runs it.
    pub(super) unsafe fn run(&self, resources: MatmulResources<'_>) -> bool {
        let MatmulShape { m, n, k, .. } = self.shape;
        let elements = self.batch * m * n;
        let bytes = elements * self.dtype.size();
        if bytes == 0 {
            return true;
        }
        if k == 0 {
            let to = if self.epilogue.is_some() { resources.scratch } else { self.c };
            let bytes = bytes.min(if self.epilogue.is_some() { HANDED * self.dtype.size() } else { bytes });
            // SAFETY: the caller guarantees a region of the result's size, or scratch, which holds
            // `handed_bytes`; zero bytes are zero in every dtype.
            unsafe { std::ptr::write_bytes(to, 0, bytes) };
            for first in (0..elements).step_by(HANDED) {
                // SAFETY: the caller guarantees regions and frames. The scratch begins with as many zeros,
                // each position is passed once, and no other thread takes part.
                unsafe {
                    self.hand_over(&resources, 0, first, HANDED.min(elements - first), resources.scratch)
                };
            }
            return true;
        }
        // SAFETY: the caller guarantees what they need; each is called for its dtypes.
        unsafe {
            match (&self.wide, self.dtype) {
                (Some(wide), _) => self.halves(wide, resources),
                (None, dtype) if dtype.is_integer() => self.integers(resources),
                (None, DType::F64) => self.floats::<f64>(resources),
                (None, _) => self.floats::<f32>(resources),
            }
        }
    }

    /// Passes elements of the result, counted over the whole batch, to the epilogue, if there is one.
    ///
    /// # Safety
    /// - Same as [`BoundMatmul::run`].
    /// - `at` must point to `count` elements, aligned and readable up to the next multiple of 8 bytes.
    /// - No element may be passed twice in a run, and `worker` must be the calling thread's number.
    unsafe fn hand_over(
        &self,
        resources: &MatmulResources<'_>,
        worker: usize,
        first: usize,
        count: usize,
        at: *const u8,
    ) {
        if let Some(epilogue) = &self.epilogue {
            // SAFETY: the caller guarantees the elements, the epilogue's memory and frames, and that each
            // point is run once. `plan` lets several threads take part only if points are independent.
            unsafe { epilogue.points(resources.frames, worker, (first as u64, count as u64), at) };
        }
    }

    /// The addresses of product `at` of the batch: both factors and the result.
    fn places(&self, at: usize) -> (*const u8, *const u8, *mut u8) {
        let size = self.dtype.size();
        let factor =
            |start: *const u8, step: isize| start.wrapping_offset(at as isize * step * size as isize);
        let c = self.c.wrapping_add(at * self.elements() * size);
        (factor(self.a, self.steps[0]), factor(self.b, self.steps[1]), c)
    }

    /// Elements of one result of the batch.
    fn elements(&self) -> usize {
        self.shape.m * self.shape.n
    }

    fn task<'a, T>(
        &'a self,
        kernels: &'a MatmulKernels<T>,
        (a, b, c): (*const u8, *const u8, *mut u8),
        then: Option<Then<'a>>,
    ) -> MatmulTask<'a, T> {
        let (shape, schedule) = (self.shape, &self.schedule);
        MatmulTask { kernels, shape, schedule, a: a.cast(), b: b.cast(), c: c.cast(), then }
    }

    fn parts(&self) -> usize {
        self.schedule.parts[0] * self.schedule.parts[1]
    }

    /// Runs chunks on the threads, or all on this one.
    fn share(&self, pool: &ThreadPool, chunks: usize, work: &(dyn Fn(usize, usize) + Sync)) -> bool {
        if self.threads > 1 {
            return pool.run(chunks, work);
        }
        (0..chunks).for_each(|chunk| work(chunk, 0));
        true
    }

    /// # Safety
    /// Same as [`BoundMatmul::run`].
    unsafe fn floats<T: Multiplied>(&self, resources: MatmulResources<'_>) -> bool {
        let (kernels, parts, each) = (T::best(), self.parts(), self.packed_bytes() as usize);
        self.share(resources.pool, self.chunks * parts, &|chunk, worker| {
            for at in schedule::piece(self.batch, self.chunks, chunk / parts) {
                let first = at * self.elements();
                let then =
                    self.epilogue().map(|_| Then { product: self, resources: &resources, worker, first });
                let job = self.task::<T>(kernels, self.places(at), then);
                // SAFETY: the caller guarantees that both factors and the result lie within their regions,
                // that the result overlaps no factor, and what the epilogue needs; chunks compute different
                // parts, and each worker has its own scratch.
                unsafe { job.part(chunk % parts, resources.at(worker * each).cast()) };
            }
        })
    }
}
