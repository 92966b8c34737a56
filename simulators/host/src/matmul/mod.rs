//! Matrix products: tiles of the result in registers, factors read where they lie or copied in the order in
//! which they are read.
//!
//! - `tile`, `pack`, `kernels`: the innermost loops, written once and compiled for each level of
//!   instructions.
//! - `schedule`: which loops suit a shape and a layout, their blocks, and what threads share.
//! - `part`: the loops of one part of a result.
//! - `halves`: f16 and bf16, which are widened to f32, multiplied there and rounded once.
//! - `integers`: which have loops of their own.
//!
//! A product with an epilogue is not stored: each thread hands what it has computed to the epilogue's Nest
//! block by block, as soon as it is done with a block and while that is in its cache.
//!
//! An element of a result is summed in an order that follows from the shape and the layout alone, not from
//! the number of threads. Nothing is allocated here: a recording's products share one piece of scratch.

mod halves;
pub(super) mod integers;
mod kernels;
mod pack;
mod part;
mod schedule;
#[cfg(test)]
mod tests;
mod tile;

use super::bind::{Bound, Frames, SHARE_FROM};
use super::pool::Pool;
use halves::Wide;
use kernels::{Kernels, Multiplied};
use part::{Job, Then};
use schedule::{Kind, Schedule, Shape};
use workalike_device::{DeviceError, DeviceResult, HostMemory, Matmul, Region};
use workalike_kernels::DType;

/// Products with fewer multiplications run on one thread: they take less than waking another is worth.
const PARALLEL_FROM: u128 = 1 << 19;
/// Chunks of a batch that a thread takes, at least.
const CHUNKS: usize = 4;
/// Elements of halves that are rounded and handed to an epilogue at a time, and of a product over nothing.
const HANDED: usize = 4096;
/// Bytes that the threads' own copies of halves as f32 may take together.
const COPIES: u64 = 64 << 20;

/// A product bound to memory.
pub(super) struct Product {
    dtype: DType,
    /// Number of products, and the steps of both factors from one to the next.
    batch: usize,
    steps: [isize; 2],
    shape: Shape,
    a: *const u8,
    b: *const u8,
    c: *mut u8,
    schedule: Schedule,
    /// How many chunks threads divide the batch into; each product of it may be divided as well, by the
    /// schedule.
    chunks: usize,
    /// Threads that take part.
    threads: usize,
    wide: Option<Wide>,
    epilogue: Option<Box<Bound>>,
}

/// Whether there are products of this dtype and these sizes.
pub(super) fn takes(product: &Matmul) -> bool {
    product.dtype.is_float() || integers::takes(product)
}

/// Whether an epilogue saves time. Beside longer sums a pass over the result takes next to none, and blocks
/// of it would wait from one stretch of k to the next.
pub(super) fn gains_by_epilogue(product: &Matmul) -> bool {
    product.k <= schedule::K_BLOCK as u64
}

/// What becomes of a product.
pub(super) enum Goal<'a> {
    Memory(&'a Region),
    Epilogue(Box<Bound>),
}

/// What a recording's products share: the threads, their frames for epilogues, and scratch aligned to 64
/// bytes.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    pub(super) pool: &'a Pool,
    pub(super) frames: &'a Frames,
    pub(super) scratch: *mut u8,
}

// SAFETY: the pointers are into blocks that the recording keeps and holds while it runs, so they may be used
// on any thread.
unsafe impl Send for Product {}
// SAFETY: a Product is not changed after it is made. What lies behind the pointers is used by `run` alone,
// whose caller guarantees that nobody else uses it; the threads of a run write different parts of the result
// and of the scratch.
unsafe impl Sync for Product {}

/// Scratch of a recording, as a pointer that threads share.
#[derive(Clone, Copy)]
struct Scratch(*mut u8);

// SAFETY: only an address. Who writes there divides it by workers, of which the pool has one number for each
// thread at a time.
unsafe impl Sync for Scratch {}

impl Scratch {
    fn at(&self, bytes: usize) -> *mut u8 {
        self.0.wrapping_add(bytes)
    }
}

/// A [`Room`] that threads share.
struct Shared<'a>(Room<'a>);

// SAFETY: pool and frames are `Sync`, and the scratch is only an address. Who writes there divides it by
// workers, of which the pool has one number for each thread at a time.
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    fn room(&self) -> &Room<'a> {
        &self.0
    }
}

fn wrong(message: String) -> DeviceError {
    DeviceError::driver("host", "record matmul", message)
}

fn kind_of<T: Multiplied>() -> Kind {
    let kernels = T::best();
    Kind { size: T::SIZE, lanes: kernels.lanes, rows: kernels.tiles.len() }
}

impl Product {
    /// Binds a product that was checked. What it is bound to is touched by [`Product::run`] only.
    pub(super) fn new(
        p: &Matmul,
        [a, b]: [&Region; 2],
        goal: Goal<'_>,
        threads: usize,
    ) -> DeviceResult<Product> {
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
        let mut shape = Shape { m, n, k, a: step(&p.a), b: step(&p.b) };
        if n == 1 && m > 1 {
            shape = shape.swapped();
            steps.swap(0, 1);
            std::mem::swap(&mut a, &mut b);
        }
        let mut product = Product {
            dtype: p.dtype,
            batch: p.batch as usize,
            steps,
            shape,
            a,
            b,
            c,
            schedule: Schedule::none(),
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

    /// Divides the work among threads, and finds out how much scratch that takes.
    fn plan(&mut self, threads: usize) -> DeviceResult<()> {
        let Shape { m, n, k, .. } = self.shape;
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
        // A batch is divided first; its products only where they are too few, or where each thread's copies
        // would take much memory.
        let copies = self.wide.as_ref().map_or(0, |w| w.bytes().saturating_mul(self.threads as u64));
        let by_batch = self.batch >= 2 * self.threads && copies <= COPIES;
        let within = if by_batch { 1 } else { self.threads };
        self.chunks = if within > 1 { self.batch } else { self.batch.min(CHUNKS * self.threads) };
        let kind = if self.dtype == DType::F64 { kind_of::<f64>() } else { kind_of::<f32>() };
        // Halves are handed over when they are rounded.
        let kept = self.epilogue.is_none() || self.wide.is_some();
        self.schedule = Schedule::new(&self.shape, kind, within, kept);
        Ok(())
    }

    /// Bytes of scratch for each thread that multiplies.
    fn packed_bytes(&self) -> u64 {
        let size = if self.dtype == DType::F64 { 8 } else { 4 };
        self.schedule.scratch as u64 * size
    }

    /// Widened factors and results that exist at a time.
    fn wide_copies(&self) -> u64 {
        if self.schedule.parts == [1, 1] { self.threads as u64 } else { 1 }
    }

    /// Bytes of scratch that [`Product::run`] needs; more than there can be if they cannot be counted.
    pub(super) fn scratch(&self) -> u64 {
        let wide = self.wide.as_ref().map_or(0, |w| w.bytes().saturating_mul(self.wide_copies()));
        let each = self.packed_bytes().saturating_add(self.handed_bytes());
        each.saturating_mul(self.threads as u64).saturating_add(wide)
    }

    /// Bytes of scratch for each thread, behind all else, in which elements are handed over that come out of
    /// no tile.
    fn handed_bytes(&self) -> u64 {
        let needed = self.epilogue.is_some() && (self.wide.is_some() || self.shape.k == 0);
        if needed { (HANDED * self.dtype.size()) as u64 } else { 0 }
    }

    /// Whether other threads than the caller take part.
    pub(super) fn parallel(&self) -> bool {
        self.threads > 1
    }

    /// How its epilogue runs.
    pub(super) fn epilogue(&self) -> Option<&Bound> {
        self.epilogue.as_deref()
    }

    /// Computes it, on at most the threads that [`Product::new`] was told of. False if something panicked.
    ///
    /// # Safety
    /// - The regions that it was made for are held, and nobody else touches them. The factors' elements lie
    ///   within theirs, aligned; so do the result's, which overlaps no factor.
    /// - The room's scratch is as large as [`Product::scratch`] says, aligned to 64 bytes, and nobody else's.
    /// - The room's frames were made for its epilogue, one for each of its threads, and nobody else uses
    ///   them.
    /// - Nobody else runs it meanwhile.
    pub(super) unsafe fn run(&self, room: Room<'_>) -> bool {
        let Shape { m, n, k, .. } = self.shape;
        let elements = self.batch * m * n;
        let bytes = elements * self.dtype.size();
        if bytes == 0 {
            return true;
        }
        if k == 0 {
            let to = if self.epilogue.is_some() { room.scratch } else { self.c };
            let bytes = bytes.min(if self.epilogue.is_some() { HANDED * self.dtype.size() } else { bytes });
            // SAFETY: the caller guarantees a region of all of the result's bytes, or scratch, which holds
            // `handed_bytes`; zero bytes are zero in every dtype.
            unsafe { std::ptr::write_bytes(to, 0, bytes) };
            for first in (0..elements).step_by(HANDED) {
                // SAFETY: the caller guarantees regions and frames. The scratch begins with as many zeros,
                // each position is given once, and no other thread takes part.
                unsafe { self.hand_over(&room, 0, first, HANDED.min(elements - first), room.scratch) };
            }
            return true;
        }
        // SAFETY: the caller guarantees what they need; each is called for the dtype that it multiplies.
        unsafe {
            match (&self.wide, self.dtype) {
                (Some(wide), _) => self.halves(wide, room),
                (None, dtype) if dtype.is_integer() => self.integers(room),
                (None, DType::F64) => self.floats::<f64>(room),
                (None, _) => self.floats::<f32>(room),
            }
        }
    }

    /// Gives elements of the result, of all of the batch, to the epilogue, if there is one.
    ///
    /// # Safety
    /// - As of [`Product::run`].
    /// - `at` must point to `count` elements, aligned and readable up to the next multiple of 8 bytes.
    /// - No element may be passed twice in a run, and `worker` must be the calling thread's number.
    unsafe fn hand_over(&self, room: &Room<'_>, worker: usize, first: usize, count: usize, at: *const u8) {
        if let Some(epilogue) = &self.epilogue {
            // SAFETY: the caller guarantees the elements, the epilogue's memory and frames, and that each
            // point is run once. `plan` lets several threads take part only if points are independent.
            unsafe { epilogue.points(room.frames, worker, (first as u64, count as u64), at) };
        }
    }

    /// Where product `at` of the batch lies.
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

    fn job<'a, T>(
        &'a self,
        kernels: &'a Kernels<T>,
        (a, b, c): (*const u8, *const u8, *mut u8),
        then: Option<Then<'a>>,
    ) -> Job<'a, T> {
        let (shape, schedule) = (self.shape, &self.schedule);
        Job { kernels, shape, schedule, a: a.cast(), b: b.cast(), c: c.cast(), then }
    }

    fn parts(&self) -> usize {
        self.schedule.parts[0] * self.schedule.parts[1]
    }

    /// Runs chunks on the threads, or all here.
    fn share(&self, pool: &Pool, chunks: usize, work: &(dyn Fn(usize, usize) + Sync)) -> bool {
        if self.threads > 1 {
            return pool.run(chunks, work);
        }
        (0..chunks).for_each(|chunk| work(chunk, 0));
        true
    }

    /// # Safety
    /// As [`Product::run`].
    unsafe fn floats<T: Multiplied>(&self, room: Room<'_>) -> bool {
        let (kernels, scratch) = (T::best(), Scratch(room.scratch));
        let (pool, shared) = (room.pool, Shared(room));
        let parts = self.parts();
        let each = self.packed_bytes() as usize;
        let one = self.job::<T>(kernels, self.places(0), None).as_tile().filter(|_| self.epilogue.is_none());
        let one = one.map(|(kernel, _)| kernel);
        self.share(pool, self.chunks * parts, &|chunk, worker| {
            let batch = schedule::piece(self.batch, self.chunks, chunk / parts);
            if let (Some(kernel), false) = (one, batch.is_empty()) {
                // What is the same for all is found out once: a small product takes no longer than that.
                let first = self.job::<T>(kernels, self.places(batch.start), None);
                let Some((_, mut tile)) = first.as_tile() else { return };
                for _ in batch {
                    // SAFETY: the caller guarantees that every element of both factors and of the result lies
                    // within its region, and that the result overlaps no factor; chunks have different
                    // products. `best` chose the kernel for this processor.
                    unsafe { kernel(&tile) };
                    tile.a = tile.a.wrapping_offset(self.steps[0]);
                    tile.b = tile.b.wrapping_offset(self.steps[1]);
                    tile.c = tile.c.wrapping_add(self.elements());
                }
                return;
            }
            for at in schedule::piece(self.batch, self.chunks, chunk / parts) {
                let run = |first: usize, count: usize, from: *const u8| {
                    // SAFETY: who calls this guarantees `count` elements at `from`, readable to the end of
                    // the last word, each given once (see `Then`); products of the batch have positions of
                    // their own. The caller of this function guarantees the rest.
                    unsafe {
                        self.hand_over(shared.room(), worker, at * self.elements() + first, count, from)
                    };
                };
                let then = self.epilogue.as_ref().map(|_| Then::new(&run));
                let job = self.job::<T>(kernels, self.places(at), then);
                // SAFETY: the caller guarantees that every element of both factors and of the result lies
                // within its region, and that the result overlaps no factor; chunks write different parts of
                // it, and a worker has scratch of its own.
                unsafe { job.part(chunk % parts, scratch.at(worker * each).cast()) };
            }
        })
    }
}
