//! Matrix products: tiles of the result in registers, factors read where they lie or copied in the order in which they are read.
//!
//! - `vector`, `tile`, `pack`, `kernels`: the innermost loops, written once and compiled for each level of instructions.
//! - `schedule`: which loops suit a shape and a layout, their blocks, and what threads share.
//! - `part`: the loops of one part of a result.
//! - `halves`: f16 and bf16, which are widened to f32, multiplied there and rounded once.
//!
//! An element of a result is summed in an order that follows from the shape and the layout alone, not from the number of
//! threads. Nothing is allocated here: a recording's products share one piece of scratch.

mod halves;
mod kernels;
mod pack;
mod part;
mod schedule;
#[cfg(test)]
mod tests;
mod tile;
mod vector;

use super::memory::block_of;
use super::pool::Pool;
use crate::dtype::DType;
use crate::error::DeviceError;
use crate::rehost::device::{DeviceResult, Matmul, Region};
use halves::Wide;
use kernels::{Kernels, Multiplied};
use part::Job;
use schedule::{Kind, Schedule, Shape};

/// Products with fewer multiplications run on one thread: they take less than waking another is worth.
const PARALLEL_FROM: u128 = 1 << 19;
/// Chunks of a batch that a thread takes, at least.
const CHUNKS: usize = 4;
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
    /// How many chunks threads divide the batch into; each product of it may be divided as well, by the schedule.
    chunks: usize,
    /// Threads that take part.
    threads: usize,
    wide: Option<Wide>,
}

// SAFETY: the pointers are into blocks that the recording keeps and holds while it runs; see `exec`.
unsafe impl Send for Product {}
// SAFETY: as above; a Product is not changed after it is made, and its scratch is divided among threads.
unsafe impl Sync for Product {}

/// Scratch of a recording, as a pointer that threads share.
#[derive(Clone, Copy)]
struct Scratch(*mut u8);

// SAFETY: threads use different parts of it.
unsafe impl Sync for Scratch {}

impl Scratch {
    fn at(&self, bytes: usize) -> *mut u8 {
        self.0.wrapping_add(bytes)
    }
}

fn wrong(message: String) -> DeviceError {
    DeviceError::driver("host", "record matmul", message)
}

/// Whether a factor of these extents and steps lies within so many elements.
fn fits(extents: [u64; 3], steps: [i64; 3], elements: u64) -> bool {
    let (mut low, mut high) = (0i128, 0i128);
    for (&extent, &step) in extents.iter().zip(&steps) {
        let reach = (extent.saturating_sub(1) as i128).saturating_mul(step as i128);
        if reach < 0 { low = low.saturating_add(reach) } else { high = high.saturating_add(reach) }
    }
    low >= 0 && high < elements as i128
}

fn kind_of<T: Multiplied>() -> Kind {
    let kernels = T::best();
    Kind { size: T::SIZE, lanes: kernels.lanes, rows: kernels.tiles.len() }
}

impl Product {
    pub(super) fn new(p: &Matmul, [a, b, c]: [&Region; 3], threads: usize) -> DeviceResult<Product> {
        if !p.dtype.is_float() {
            return Err(wrong(format!("{} has no matrix product here", p.dtype)));
        }
        let size = p.dtype.size();
        let result = [p.batch, p.m, p.n].iter().try_fold(size as u64, |all, e| all.checked_mul(*e));
        let Some(result) = result.filter(|bytes| *bytes <= c.bytes) else {
            return Err(wrong(format!("{p:?} does not fit in the result's {} bytes", c.bytes)));
        };
        let work = result > 0 && p.k > 0;
        let fit = fits([p.batch, p.m, p.k], p.a, a.bytes / size as u64)
            && fits([p.batch, p.k, p.n], p.b, b.bytes / size as u64);
        if work && !fit {
            return Err(wrong(format!("{p:?} does not fit in factors of {} and {} bytes", a.bytes, b.bytes)));
        }
        let mut at = [std::ptr::null_mut(); 3];
        for (at, region) in at.iter_mut().zip([a, b, c]) {
            *at = block_of(region, "record matmul")?.part(region.offset, region.bytes, "record matmul")?;
            if at.addr() % size != 0 {
                return Err(wrong(format!("a region is not aligned for {}", p.dtype)));
            }
        }
        let overlaps = |other: *mut u8, bytes: u64| {
            at[2].addr() < other.addr() + bytes as usize && other.addr() < at[2].addr() + result as usize
        };
        if work && (overlaps(at[0], a.bytes) || overlaps(at[1], b.bytes)) {
            return Err(wrong("the result overlaps a factor".into()));
        }
        let [mut a, mut b] = [at[0].cast_const(), at[1].cast_const()];
        let extents = if result > 0 { [p.m, p.n, p.k] } else { [0; 3] };
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
            c: at[2],
            schedule: Schedule::none(),
            chunks: 1,
            threads: 1,
            wide: None,
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
        self.threads = if work >= PARALLEL_FROM { threads } else { 1 };
        if self.dtype.is_half() {
            let wide = Wide::new(self.dtype, &self.shape).ok_or(u64::MAX);
            let wide = wide.map_err(|_| wrong(format!("{:?} does not fit in memory as f32", self.shape)))?;
            self.shape = wide.shape(&self.shape);
            self.wide = Some(wide);
        }
        // A batch is divided first; its products only where they are too few, or where each thread's copies would take much memory.
        let copies = self.wide.as_ref().map_or(0, |w| w.bytes().saturating_mul(self.threads as u64));
        let by_batch = self.batch >= 2 * self.threads && copies <= COPIES;
        let within = if by_batch { 1 } else { self.threads };
        self.chunks = if within > 1 { self.batch } else { self.batch.min(CHUNKS * self.threads) };
        let kind = if self.dtype == DType::F64 { kind_of::<f64>() } else { kind_of::<f32>() };
        self.schedule = Schedule::new(&self.shape, kind, within);
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
        self.packed_bytes().saturating_mul(self.threads as u64).saturating_add(wide)
    }

    /// Computes it, on at most the threads that [`Product::new`] was told of, in scratch that is aligned to 64 bytes. False if
    /// something panicked.
    ///
    /// # Safety
    /// The regions that it was made for must be held, and the scratch be as large as it says and nobody else's.
    pub(super) unsafe fn run(&self, pool: &Pool, scratch: *mut u8) -> bool {
        let Shape { m, n, k, .. } = self.shape;
        let bytes = self.batch * m * n * self.dtype.size();
        if bytes == 0 {
            return true;
        }
        if k == 0 {
            // SAFETY: the result's bytes were checked against its region; zero bytes are zero in every float type.
            unsafe { std::ptr::write_bytes(self.c, 0, bytes) };
            return true;
        }
        // SAFETY: the caller's promise.
        unsafe {
            match (&self.wide, self.dtype) {
                (Some(wide), _) => self.halves(wide, pool, Scratch(scratch)),
                (None, DType::F64) => self.floats::<f64>(pool, Scratch(scratch)),
                (None, _) => self.floats::<f32>(pool, Scratch(scratch)),
            }
        }
    }

    /// Where product `at` of the batch lies.
    fn places(&self, at: usize) -> (*const u8, *const u8, *mut u8) {
        let size = self.dtype.size();
        let factor =
            |start: *const u8, step: isize| start.wrapping_offset(at as isize * step * size as isize);
        let c = self.c.wrapping_add(at * self.shape.m * self.shape.n * size);
        (factor(self.a, self.steps[0]), factor(self.b, self.steps[1]), c)
    }

    fn job<'a, T>(
        &'a self,
        kernels: &'a Kernels<T>,
        (a, b, c): (*const u8, *const u8, *mut u8),
    ) -> Job<'a, T> {
        Job { kernels, shape: self.shape, schedule: &self.schedule, a: a.cast(), b: b.cast(), c: c.cast() }
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
    unsafe fn floats<T: Multiplied>(&self, pool: &Pool, scratch: Scratch) -> bool {
        let kernels = T::best();
        let parts = self.parts();
        let each = self.packed_bytes() as usize;
        self.share(pool, self.chunks * parts, &|chunk, worker| {
            for at in schedule::piece(self.batch, self.chunks, chunk / parts) {
                let job = self.job::<T>(kernels, self.places(at));
                // SAFETY: `new` checked that every element of both factors and of the result lies within its region, and that
                // the result overlaps no factor; chunks write different parts of it, and a worker has scratch of its own.
                unsafe { job.part(chunk % parts, scratch.at(worker * each).cast()) };
            }
        })
    }
}
