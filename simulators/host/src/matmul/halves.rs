//! f16 and bf16: both factors are widened to f32 and multiplied as f32, and the result is rounded once.

use super::super::halves::{narrow, widen};
use super::kernels::Multiplied;
use super::schedule::{Shape, piece};
use super::{HANDED, Product, Room, Scratch, Shared};
use half::{bf16, f16};
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
    pub(super) fn new(dtype: DType, shape: &Shape) -> Option<Wide> {
        let &Shape { m, n, k, a, b } = shape;
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
    pub(super) fn shape(&self, shape: &Shape) -> Shape {
        Shape { a: self.steps[0], b: self.steps[1], ..*shape }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.at[3] as u64 * 4
    }

    /// Widens lines of a factor.
    ///
    /// # Safety
    /// - All elements of these lines must be aligned and readable, counted from `from`, the start of the
    ///   factor. No other thread may write them.
    /// - `copies` must be the start of a product's copies. No other thread may use these lines of the
    ///   factor's copy.
    unsafe fn widen(&self, factor: usize, lines: Range<usize>, from: *const u16, copies: *mut f32) {
        let all = self.factors[factor];
        for line in lines {
            let from = from.wrapping_offset(line as isize * all.line);
            let to = copies.wrapping_add(self.at[factor] + line * all.elements);
            // SAFETY: copies have room for all lines of the factor; the caller guarantees that no other
            // thread uses this one.
            let to = unsafe { std::slice::from_raw_parts_mut(to, all.elements) };
            if all.element == 1 {
                // SAFETY: the elements of a line are contiguous here; the caller guarantees that they are
                // readable and not written.
                widen(self.dtype, unsafe { std::slice::from_raw_parts(from, all.elements) }, to);
                continue;
            }
            for (i, to) in to.iter_mut().enumerate() {
                // SAFETY: the caller guarantees element `i` of the line.
                let bits = unsafe { *from.offset(i as isize * all.element) };
                *to = match self.dtype {
                    DType::F16 => f16::from_bits(bits).to_f32(),
                    _ => bf16::from_bits(bits).to_f32(),
                };
            }
        }
    }

    /// Rounds elements of the result.
    ///
    /// # Safety
    /// - `copies` must be the start of a product's copies. These elements of the result's copy must be
    ///   computed, and no other thread may write them.
    /// - They must be aligned and writable at `c`, counted from the result's first element, and no other
    ///   thread may use them there.
    unsafe fn round(&self, elements: Range<usize>, copies: *mut f32, c: *mut u16) {
        // SAFETY: copies have room for all of the result; the caller guarantees these elements on both sides.
        let (from, to) = unsafe {
            let from = copies.wrapping_add(self.at[2] + elements.start);
            let to = c.wrapping_add(elements.start);
            (
                std::slice::from_raw_parts(from, elements.len()),
                std::slice::from_raw_parts_mut(to, elements.len()),
            )
        };
        narrow(self.dtype, from, to);
    }
}

impl Product {
    /// # Safety
    /// Same as [`Product::run`]; the product must be of halves.
    pub(super) unsafe fn halves(&self, wide: &Wide, room: Room<'_>) -> bool {
        let (pool, scratch, shared) = (room.pool, Scratch(room.scratch), Shared(room));
        let kernels = f32::best();
        let (each, one, parts) = (self.packed_bytes() as usize, wide.bytes() as usize, self.parts());
        let elements = self.shape.m * self.shape.n;
        // The copies come first: one per worker, or one that all share.
        let packed =
            |worker: usize| scratch.at(self.wide_copies() as usize * one + worker * each).cast::<f32>();
        let factors = [0, 1].map(|f| wide.factors[f].lines);
        let widen = |at: usize, copies: *mut f32, factor: usize, lines: Range<usize>| {
            let (a, b, _) = self.places(at);
            // SAFETY: the caller guarantees that both factors lie within their regions. Each worker has its
            // own copies, or threads have different lines of them.
            unsafe { wide.widen(factor, lines, if factor == 0 { a.cast() } else { b.cast() }, copies) };
        };
        let multiply = |copies: *mut f32, part: usize, worker: usize| {
            let [a, b, c] = [0, 1, 2].map(|i| copies.wrapping_add(wide.at[i]).cast::<u8>());
            let job = self.job::<f32>(kernels, (a.cast_const(), b.cast_const(), c), None);
            // SAFETY: the copies hold both widened factors and the result, of which parts write different
            // parts; each worker has its own packed scratch. `best` chose the kernels for this processor.
            unsafe { job.part(part, packed(worker)) };
        };
        let handed = self.handed_bytes() as usize;
        let round = |at: usize, copies: *mut f32, range: Range<usize>, worker: usize| {
            if self.epilogue().is_none() {
                // SAFETY: the caller guarantees that the result lies within its region; its copy is computed
                // by now, and threads have disjoint ranges.
                return unsafe { wide.round(range, copies, self.places(at).2.cast()) };
            }
            let packed = self.threads * each;
            let halves = scratch.at(self.wide_copies() as usize * one + packed + worker * handed);
            for first in range.clone().step_by(HANDED) {
                let some = first..range.end.min(first + HANDED);
                // SAFETY: this worker's scratch holds `HANDED` halves, in whole words; the copy is computed
                // by now, and each element is rounded and passed on once.
                unsafe {
                    wide.round(some.clone(), copies, halves.cast::<u16>().wrapping_sub(first));
                    self.hand_over(shared.room(), worker, at * elements + first, some.len(), halves);
                }
            }
        };
        if parts == 1 {
            return self.share(pool, self.chunks, &|chunk, worker| {
                let copies = scratch.at(worker * one).cast::<f32>();
                for at in piece(self.batch, self.chunks, chunk) {
                    (0..2).for_each(|f| widen(at, copies, f, 0..factors[f]));
                    multiply(copies, 0, worker);
                    round(at, copies, 0..elements, worker);
                }
            });
        }
        let copies = || scratch.at(0).cast::<f32>();
        (0..self.batch).all(|at| {
            self.share(pool, self.threads, &|i, _| {
                (0..2).for_each(|f| widen(at, copies(), f, piece(factors[f], self.threads, i)));
            }) && self.share(pool, parts, &|part, worker| multiply(copies(), part, worker))
                && self.share(pool, self.threads, &|i, worker| {
                    round(at, copies(), piece(elements, self.threads, i), worker);
                })
        })
    }
}
