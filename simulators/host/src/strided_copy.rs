//! The strided copy: lanes from memory to registers, back, and from memory to memory.

use super::affine::{Rectangle, Strides};
use super::cache_hints;
use workalike_kernels::level::{SimdLoop, run};

/// Bytes of a row from which stores may be non-temporal.
const LONG: usize = 512;
/// Elements of a row that is too short for its own loop.
const FEW: usize = 8;

/// A copy of lanes from one strided layout to another.
pub(super) struct StridedCopy<'a> {
    /// The maps of source and target, in elements.
    pub(super) strides: &'a Strides,
    /// Bytes of an element.
    pub(super) size: usize,
    /// The lanes of a row, and for each row that is copied the number of elements added to its source.
    pub(super) offsets: Option<(u64, &'a [i64])>,
    /// Whether stores are non-temporal.
    pub(super) nontemporal: bool,
}

impl StridedCopy<'_> {
    /// Copies lanes `start..start + n`. `from`, `to`: the addresses at which the maps are 0.
    ///
    /// # Safety
    /// - The elements of these lanes must be aligned, readable at the source and writable at the target.
    /// - No other thread may write the source or use the target, and the two must not overlap.
    /// - The strides must keep rows apart if there are offsets.
    pub(super) unsafe fn run(&self, from: *const u8, to: *mut u8, start: u64, n: usize) {
        self.strides.rectangles(start, n, |r| {
            let (first, offsets) = match self.offsets {
                None => (0, &[][..]),
                Some((row, offsets)) => {
                    let at = ((start + r.lane as u64) / row - start / row) as usize;
                    // If a row has several axes, a rectangle lies within one row.
                    match self.strides.plain {
                        true => (0, &offsets[at..at + r.rows]),
                        false => (offsets[at], &[][..]),
                    }
                }
            };
            let r = Rectangle { at: (r.at.0 + first, r.at.1), ..r };
            // SAFETY: the caller guarantees the elements of all lanes.
            unsafe { self.rectangle(from, to, r, offsets) };
        });
    }

    /// Copies a rectangle. `offsets`: added to the source of each row; empty for none.
    ///
    /// # Safety
    /// Same as [`StridedCopy::run`], for the lanes of the rectangle.
    #[inline]
    unsafe fn rectangle(&self, from: *const u8, to: *mut u8, r: Rectangle, offsets: &[i64]) {
        let (mut rows, mut columns) = (r.rows, r.columns);
        let [mut step, mut by_row] = self.strides.steps();
        if step != (1, 1) && columns < FEW && rows > columns && offsets.is_empty() {
            std::mem::swap(&mut rows, &mut columns);
            std::mem::swap(&mut step, &mut by_row);
        }
        let bytes = |elements: i64| elements as isize * self.size as isize;
        let width = columns * self.size;
        if step == (1, 1) && offsets.is_empty() && rows > 1 {
            let from = from.wrapping_offset(bytes(r.at.0));
            let to = to.wrapping_offset(bytes(r.at.1));
            let by_row = (bytes(by_row.0), bytes(by_row.1));
            // SAFETY: the caller guarantees these rows, of `width` bytes.
            let done = unsafe { short_rows(from, to, (rows, width), by_row) };
            if done {
                return;
            }
        }
        for row in 0..rows {
            let offset = offsets.get(row).copied().unwrap_or(0);
            let from = from.wrapping_offset(bytes(r.at.0 + row as i64 * by_row.0 + offset));
            let to = to.wrapping_offset(bytes(r.at.1 + row as i64 * by_row.1));
            // SAFETY: the caller guarantees this row, of `columns` elements of `size` bytes.
            unsafe {
                match (step, self.size) {
                    ((1, 1), _) if self.nontemporal && width >= LONG => {
                        cache_hints::copy_nontemporal(from, to, width);
                    }
                    ((1, 1), _) => std::ptr::copy_nonoverlapping(from, to, width),
                    (_, 1) => line(from, to, columns, step),
                    (_, 2) => line(from.cast::<u16>(), to.cast(), columns, step),
                    (_, 4) => line(from.cast::<u32>(), to.cast(), columns, step),
                    _ => line(from.cast::<u64>(), to.cast(), columns, step),
                }
            }
        }
    }
}

/// Copies rows of so many bytes, if there is a loop for that: a call for each would take longer than the
/// copy. `by_row`: bytes from a row to the next at the source and at the target.
///
/// # Safety
/// The rows must be readable at the source and writable at the target, and must not overlap. No other thread
/// may write the source or use the target.
unsafe fn short_rows(
    from: *const u8,
    to: *mut u8,
    (rows, width): (usize, usize),
    by_row: (isize, isize),
) -> bool {
    /// # Safety
    /// Same as [`short_rows`], for rows of `T`, which need no alignment.
    #[inline(never)]
    unsafe fn each<T: Copy>(from: *const u8, to: *mut u8, rows: usize, by_row: (isize, isize)) {
        for row in 0..rows as isize {
            let (from, to) = (from.wrapping_offset(row * by_row.0), to.wrapping_offset(row * by_row.1));
            // SAFETY: the caller guarantees the row on both sides.
            unsafe { to.cast::<T>().write_unaligned(from.cast::<T>().read_unaligned()) };
        }
    }
    // SAFETY: the caller guarantees rows of this width.
    unsafe {
        match width {
            2 => each::<u16>(from, to, rows, by_row),
            4 => each::<u32>(from, to, rows, by_row),
            8 => each::<u64>(from, to, rows, by_row),
            16 => each::<[u64; 2]>(from, to, rows, by_row),
            32 => each::<[u64; 4]>(from, to, rows, by_row),
            64 => each::<[u64; 8]>(from, to, rows, by_row),
            _ => return false,
        }
    }
    true
}

/// Copies `n` elements, at least one. `steps`: from one to the next at the source and at the target, in
/// elements. Loops with a constant step are vectorized.
///
/// # Safety
/// The elements must be aligned, readable from `from` on and writable from `to` on, and must not overlap. No
/// other thread may write the source or use the target.
#[inline(never)]
unsafe fn line<T: Copy>(from: *const T, to: *mut T, n: usize, steps: (i64, i64)) {
    // SAFETY: the caller guarantees element `i` on both sides for each `i` below `n`, with these steps.
    unsafe {
        match steps {
            (0, 1) => {
                let value = *from;
                (0..n).for_each(|i| *to.add(i) = value);
            }
            (2, 1) => run(StridedLoop::<T, 2>::new(from, to, n)),
            (3, 1) => run(StridedLoop::<T, 3>::new(from, to, n)),
            (4, 1) => run(StridedLoop::<T, 4>::new(from, to, n)),
            (a, 1) => (0..n).for_each(|i| *to.add(i) = *from.offset(i as isize * a as isize)),
            (a, b) => {
                let (a, b) = (a as isize, b as isize);
                (0..n as isize).for_each(|i| *to.offset(i * b) = *from.offset(i * a));
            }
        }
    }
}

/// Copies every `STEP`-th element. Only [`StridedLoop::new`] makes one.
struct StridedLoop<T, const STEP: isize> {
    from: *const T,
    to: *mut T,
    n: usize,
}

impl<T: Copy, const STEP: isize> StridedLoop<T, STEP> {
    /// # Safety
    /// Until it has run, `from` must be aligned and readable for `n` elements, `STEP` apart, which no other
    /// thread writes, and `to` writable for `n`, which overlap none of those.
    unsafe fn new(from: *const T, to: *mut T, n: usize) -> Self {
        StridedLoop { from, to, n }
    }
}

impl<T: Copy, const STEP: isize> SimdLoop for StridedLoop<T, STEP> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for i in 0..self.n {
            // SAFETY: the caller of `new` guarantees element `i` on both sides.
            unsafe { *self.to.add(i) = *self.from.offset(i as isize * STEP) };
        }
    }
}
