//! f16 and bf16: both factors are widened to f32 and multiplied as f32, and the result is rounded once.

use super::super::halves::{narrow, widen};
use super::kernels::Multiplied;
use super::schedule::{MatmulShape, piece};
use super::{BoundMatmul, HANDED, MatmulResources};
use std::ops::Range;
use workalike_kernels::DType;

/// A matrix of halves as lines, along which it is contiguous where possible.
#[derive(Clone, Copy)]
struct Lines {
    lines: usize,
    elements: usize,
    /// Steps from line to line, and along a line.
    line: isize,
    element: isize,
}

/// The f32 copies of one product: both factors, then the result.
pub(super) struct Wide {
    dtype: DType,
    factors: [Lines; 2],
    /// Strides of the copies.
    steps: [[isize; 2]; 2],
    /// The offset of each copy, and of the end, in elements.
    at: [usize; 4],
}

impl Wide {
    /// `None` if the number of elements overflows.
    pub(super) fn new(dtype: DType, shape: &MatmulShape) -> Option<Wide> {
        let &MatmulShape { m, n, k, a, b } = shape;
        let mut at = [0usize; 4];
        for (i, [rows, columns]) in [[m, k], [k, n], [m, n]].into_iter().enumerate() {
            let end = rows.checked_mul(columns)?.checked_next_multiple_of(16)?.checked_add(at[i])?;
            at[i + 1] = end.checked_mul(4).map(|_| end)?;
        }
        let of = |[rows, columns]: [usize; 2], [row, column]: [isize; 2]| {
            if row == 1 && column != 1 {
                (Lines { lines: columns, elements: rows, line: column, element: 1 }, [1, rows as isize])
            } else {
                (Lines { lines: rows, elements: columns, line: row, element: column }, [columns as isize, 1])
            }
        };
        let (a, b) = (of([m, k], a), of([k, n], b));
        Some(Wide { dtype, factors: [a.0, b.0], steps: [a.1, b.1], at })
    }

    /// The shape of the product of the copies.
    pub(super) fn shape(&self, shape: &MatmulShape) -> MatmulShape {
        MatmulShape { a: self.steps[0], b: self.steps[1], ..*shape }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.at[3] as u64 * 4
    }
}

/// A product of halves that runs.
struct HalfMatmul<'a> {
    product: &'a BoundMatmul,
    wide: &'a Wide,
    resources: MatmulResources<'a>,
}

impl HalfMatmul<'_> {
    /// A worker's copies. They come first in the scratch: one set per worker, or one that all share.
    fn copies(&self, worker: usize) -> *mut f32 {
        self.resources.at(worker * self.wide.bytes() as usize).cast()
    }

    /// Scratch behind all copies, of which each worker has this many bytes.
    fn behind_copies(&self, bytes: usize) -> *mut u8 {
        self.resources.at(self.product.wide_copies() as usize * self.wide.bytes() as usize + bytes)
    }

    /// Widens piece `i` of `count` of each factor of product `at` of the batch.
    ///
    /// # Safety
    /// Same as [`BoundMatmul::run`]. No other thread may use these lines of the copies.
    unsafe fn widen(&self, at: usize, copies: *mut f32, count: usize, i: usize) {
        let (a, b, _) = self.product.places(at);
        for (factor, from) in [a, b].into_iter().enumerate() {
            let all = self.wide.factors[factor];
            for line in piece(all.lines, count, i) {
                let from = from.cast::<u16>().wrapping_offset(line as isize * all.line);
                let to = copies.wrapping_add(self.wide.at[factor] + line * all.elements);
                // SAFETY: copies have room for all lines of the factor; the caller guarantees that no other
                // thread uses this one.
                let to = unsafe { std::slice::from_raw_parts_mut(to, all.elements) };
                if all.element == 1 {
                    // SAFETY: the caller guarantees that the factor lies within its region and is not
                    // written; the elements of a line are contiguous here.
                    let from = unsafe { std::slice::from_raw_parts(from, all.elements) };
                    widen(self.wide.dtype, from, to);
                    continue;
                }
                for (i, to) in to.iter_mut().enumerate() {
                    // SAFETY: this is an element of the factor, which the caller guarantees.
                    let bits = unsafe { *from.offset(i as isize * all.element) };
                    widen(self.wide.dtype, &[bits], std::slice::from_mut(to));
                }
            }
        }
    }

    /// Computes a part of the product of the copies.
    ///
    /// # Safety
    /// Same as [`BoundMatmul::run`]. Both factors must be widened, and no other thread may write them or use
    /// this part of the result's copy. `worker` must be the calling thread's number.
    unsafe fn multiply(&self, copies: *mut f32, part: usize, worker: usize) {
        let [a, b, c] = [0, 1, 2].map(|i| copies.wrapping_add(self.wide.at[i]).cast::<u8>());
        let job = self.product.task::<f32>(f32::best(), (a.cast_const(), b.cast_const(), c), None);
        let packed = self.behind_copies(worker * self.product.packed_bytes() as usize);
        // SAFETY: the copies have room for both factors and the result, and the caller guarantees them; each
        // worker has its own packed scratch. `best` chose the kernels for this processor.
        unsafe { job.part(part, packed.cast()) };
    }

    /// Rounds elements of the result of product `at` of the batch, and passes them to the epilogue, if there
    /// is one.
    ///
    /// # Safety
    /// Same as [`BoundMatmul::run`]. These elements of the copy must be computed, and no other thread may
    /// write them. Each may be rounded once in a run. `worker` must be the calling thread's number.
    unsafe fn round(&self, at: usize, copies: *mut f32, elements: Range<usize>, worker: usize) {
        let (product, dtype) = (self.product, self.wide.dtype);
        // SAFETY: copies have room for all of the result; the caller guarantees these elements.
        let from = unsafe {
            std::slice::from_raw_parts(copies.wrapping_add(self.wide.at[2] + elements.start), elements.len())
        };
        if product.epilogue().is_none() {
            let c = product.places(at).2.cast::<u16>().wrapping_add(elements.start);
            // SAFETY: the caller guarantees that the result lies within its region, and that no other thread
            // uses these elements.
            narrow(dtype, from, unsafe { std::slice::from_raw_parts_mut(c, elements.len()) });
            return;
        }
        let packed = product.threads * product.packed_bytes() as usize;
        let halves = self.behind_copies(packed + worker * product.handed_bytes() as usize);
        let first = at * product.elements() + elements.start;
        for (number, from) in from.chunks(HANDED).enumerate() {
            // SAFETY: this worker's scratch holds `HANDED` halves, in whole words; the caller guarantees that
            // each element is passed on once.
            unsafe {
                narrow(dtype, from, std::slice::from_raw_parts_mut(halves.cast(), from.len()));
                product.hand_over(&self.resources, worker, first + number * HANDED, from.len(), halves);
            }
        }
    }
}

impl BoundMatmul {
    /// # Safety
    /// Same as [`BoundMatmul::run`]; the product must be of halves.
    pub(super) unsafe fn halves(&self, wide: &Wide, resources: MatmulResources<'_>) -> bool {
        let run = HalfMatmul { product: self, wide, resources };
        let (pool, threads, parts, elements) = (resources.pool, self.threads, self.parts(), self.elements());
        if parts == 1 {
            return self.share(pool, self.chunks, &|chunk, worker| {
                for at in piece(self.batch, self.chunks, chunk) {
                    let copies = run.copies(worker);
                    // SAFETY: the caller guarantees the product; each worker has its own copies, and chunks
                    // have different products of the batch.
                    unsafe {
                        run.widen(at, copies, 1, 0);
                        run.multiply(copies, 0, worker);
                        run.round(at, copies, 0..elements, worker);
                    }
                }
            });
        }
        (0..self.batch).all(|at| {
            // SAFETY: the caller guarantees the product; threads have different lines of the copies.
            self.share(pool, threads, &|i, _| unsafe { run.widen(at, run.copies(0), threads, i) })
                // SAFETY: the factors are widened by now, and threads have different parts.
                && self.share(pool, parts, &|i, worker| unsafe { run.multiply(run.copies(0), i, worker) })
                && self.share(pool, threads, &|i, worker| {
                    // SAFETY: the result is computed by now, and threads have different elements.
                    unsafe { run.round(at, run.copies(0), piece(elements, threads, i), worker) };
                })
        })
    }
}
