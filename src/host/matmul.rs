//! Matrix products by the `gemm` crate. Halves are widened to f32, multiplied there and rounded once.

use super::memory::{Block, block_of};
use super::moves::round_halves;
use super::pool::Pool;
use crate::dtype::DType;
use crate::error::DeviceError;
use crate::rehost::device::{DeviceResult, Matmul, Region};
use gemm::Parallelism;
use half::{bf16, f16};

/// Products with fewer multiplications run on one thread.
const PARALLEL_FROM: u64 = 64 * 64 * 64;

/// A product bound to memory.
pub(super) struct Product {
    product: Matmul,
    a: *const u8,
    b: *const u8,
    c: *mut u8,
    /// Whether threads take products of the batch, rather than share each.
    by_batch: bool,
    parallelism: Parallelism,
    /// For halves: room for both factors and the result of one product in f32, for each thread that multiplies.
    wide: Option<Block>,
}

// SAFETY: the pointers are into blocks that the recording keeps and holds while it runs; see `exec`.
unsafe impl Send for Product {}
// SAFETY: as above; a Product is not changed after it is made, and its scratch is divided among threads.
unsafe impl Sync for Product {}

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

impl Product {
    pub(super) fn new(product: &Matmul, [a, b, c]: [&Region; 3], threads: usize) -> DeviceResult<Product> {
        let p = product.clone();
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
        let one = p.m.saturating_mul(p.n).saturating_mul(p.k);
        let by_batch = threads > 1
            && p.batch > 1
            && one < 4 * PARALLEL_FROM
            && one.saturating_mul(p.batch) >= PARALLEL_FROM;
        let shared = threads > 1 && !by_batch && one >= PARALLEL_FROM;
        let wide = if p.dtype.is_half() && work {
            let each = Self::wide_elements(&p)
                .and_then(|e| e.checked_mul(if by_batch { threads as u64 } else { 1 }));
            Some(Block::new(each.and_then(|e| e.checked_mul(4)).unwrap_or(u64::MAX))?)
        } else {
            None
        };
        let parallelism = if shared { Parallelism::Rayon(threads) } else { Parallelism::None };
        Ok(Product { product: p, a: at[0], b: at[1], c: at[2], by_batch, parallelism, wide })
    }

    /// f32 elements of both factors and the result of one product.
    fn wide_elements(p: &Matmul) -> Option<u64> {
        let a = p.m.checked_mul(p.k)?;
        let b = p.k.checked_mul(p.n)?;
        a.checked_add(b)?.checked_add(p.m.checked_mul(p.n)?)
    }

    /// Computes it. False if something panicked.
    pub(super) fn run(&self, pool: &Pool) -> bool {
        let p = &self.product;
        let bytes = (p.batch * p.m * p.n) as usize * p.dtype.size();
        if bytes == 0 {
            return true;
        }
        if p.k == 0 {
            // SAFETY: the result's bytes were checked against its region; zero bytes are zero in every float type.
            unsafe { std::ptr::write_bytes(self.c, 0, bytes) };
            return true;
        }
        if self.by_batch {
            return pool.run(p.batch as usize, &|at, worker| self.one(at as u64, worker));
        }
        (0..p.batch).for_each(|at| self.one(at, 0));
        true
    }

    fn one(&self, at: u64, worker: usize) {
        let p = &self.product;
        let size = p.dtype.size();
        let factor =
            |start: *const u8, step: i64| start.wrapping_offset(at as isize * step as isize * size as isize);
        let (a, b) = (factor(self.a, p.a[0]), factor(self.b, p.b[0]));
        let c = self.c.wrapping_add((at * p.m * p.n) as usize * size);
        let (sa, sb) = ([p.a[1] as isize, p.a[2] as isize], [p.b[1] as isize, p.b[2] as isize]);
        // SAFETY: `new` checked that every element of both factors and of the result lies within its region, and that the
        // result overlaps no factor; threads of a batch write different results.
        unsafe {
            match p.dtype {
                DType::F64 => self.multiply::<f64>((a.cast(), sa), (b.cast(), sb), c.cast(), 1.0),
                DType::F32 => self.multiply::<f32>((a.cast(), sa), (b.cast(), sb), c.cast(), 1.0),
                _ => self.halves((a.cast(), sa), (b.cast(), sb), c.cast(), worker),
            }
        }
    }

    /// # Safety
    /// All elements of the product must be valid, and the result nobody else's.
    unsafe fn multiply<T: Copy + Default + 'static>(
        &self,
        (a, [a_row, a_column]): (*const T, [isize; 2]),
        (b, [b_row, b_column]): (*const T, [isize; 2]),
        c: *mut T,
        one: T,
    ) {
        let p = &self.product;
        let (m, n, k) = (p.m as usize, p.n as usize, p.k as usize);
        // SAFETY: the caller's promise; the result is row-major.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                c,
                1,
                n as isize,
                false,
                a,
                a_column,
                a_row,
                b,
                b_column,
                b_row,
                T::default(),
                one,
                false,
                false,
                false,
                self.parallelism,
            );
        }
    }

    /// # Safety
    /// As [`Product::multiply`].
    unsafe fn halves(
        &self,
        (a, sa): (*const u16, [isize; 2]),
        (b, sb): (*const u16, [isize; 2]),
        c: *mut u16,
        worker: usize,
    ) {
        let p = &self.product;
        let Some(wide) = &self.wide else { return };
        let (m, n, k) = (p.m as usize, p.n as usize, p.k as usize);
        let of_one = m * k + k * n + m * n;
        let start = wide.start().cast::<f32>().wrapping_add(worker * of_one);
        // SAFETY: the scratch holds `of_one` elements for each worker; the rest is the caller's promise.
        unsafe {
            let (wide_a, rest) = std::slice::from_raw_parts_mut(start, of_one).split_at_mut(m * k);
            let (wide_b, wide_c) = rest.split_at_mut(k * n);
            widen(p.dtype, a, sa, k, wide_a);
            widen(p.dtype, b, sb, n, wide_b);
            let (rows_a, rows_b) = ([k as isize, 1], [n as isize, 1]);
            self.multiply((wide_a.as_ptr(), rows_a), (wide_b.as_ptr(), rows_b), wide_c.as_mut_ptr(), 1.0f32);
            round_halves(p.dtype, wide_c, std::slice::from_raw_parts_mut(c, m * n));
        }
    }
}

/// Copies a matrix of halves into row-major f32.
///
/// # Safety
/// Every element must be valid.
unsafe fn widen(dtype: DType, from: *const u16, [row, column]: [isize; 2], columns: usize, to: &mut [f32]) {
    let one = |bits: u16| match dtype {
        DType::F16 => f16::from_bits(bits).to_f32(),
        _ => bf16::from_bits(bits).to_f32(),
    };
    for (i, to) in to.chunks_exact_mut(columns).enumerate() {
        // SAFETY: the caller's promise.
        unsafe {
            let from = from.offset(i as isize * row);
            to.iter_mut().enumerate().for_each(|(j, to)| *to = one(*from.offset(j as isize * column)));
        }
    }
}
