//! Strided copies of rectangles of elements.

use super::cache_hints;
use super::tile_io::copy_lanes;

/// Bytes of a row from which stores may be non-temporal.
const LONG: usize = 512;
/// Bytes of a row up to which it is copied by two overlapping moves.
const SHORT: usize = 64;
/// Elements of a row that is too short for its own loop.
const FEW: usize = 8;

/// The layouts of source and target, in elements.
#[derive(Clone, Copy)]
pub(super) struct Rectangles {
    /// Bytes of an element.
    pub(super) size: usize,
    /// Steps between the elements of a row.
    pub(super) step: (i64, i64),
    /// Steps between rows.
    pub(super) by_row: (i64, i64),
    /// Whether stores are non-temporal.
    pub(super) nontemporal: bool,
}

impl Rectangles {
    /// Copies a rectangle of `rows` by `columns`. `offsets`: added to the source of each row; empty for none.
    ///
    /// # Safety
    /// - All elements must be aligned, readable at the source and writable at the target.
    /// - No other thread may write the source or use the target, and the two must not overlap.
    /// - `offsets` must have an element for each row, or none.
    pub(super) unsafe fn copy(
        &self,
        from: *const u8,
        to: *mut u8,
        (rows, columns): (usize, usize),
        offsets: &[i64],
    ) {
        let Rectangles { size, step, by_row, nontemporal } = *self;
        let bytes = |elements: i64| elements as isize * size as isize;
        let row = |at: usize| {
            let offset = offsets.get(at).copied().unwrap_or(0);
            let (a, b) = (at as i64 * by_row.0 + offset, at as i64 * by_row.1);
            (from.wrapping_offset(bytes(a)), to.wrapping_offset(bytes(b)))
        };
        let width = columns * size;
        let each = |run: &dyn Fn(*const u8, *mut u8)| {
            for at in 0..rows {
                let (from, to) = row(at);
                run(from, to);
            }
        };
        match step {
            (1, 1) if width <= SHORT && rows > 1 => {
                macro_rules! two_moves {
                    ($($bytes:literal)*) => {
                        match 1 << width.ilog2() {
                            $($bytes => (0..rows).for_each(|at| {
                                let (from, to) = row(at);
                                // SAFETY: the caller guarantees this row of the rectangle; it has at least
                                // `bytes` bytes, and less than twice as many.
                                unsafe { two_moves::<$bytes>(from, to, width) }
                            }),)*
                            // SAFETY: the caller guarantees this row of the rectangle, of `width` bytes.
                            _ => each(&|from, to| unsafe { std::ptr::copy_nonoverlapping(from, to, width) }),
                        }
                    };
                }
                if width > 0 {
                    two_moves!(1 2 4 8 16 32);
                }
            }
            (1, 1) if nontemporal && width >= LONG => {
                // SAFETY: the caller guarantees this row of the rectangle, of `width` bytes.
                each(&|from, to| unsafe { cache_hints::copy_nontemporal(from, to, width) });
            }
            (1, 1) => {
                // SAFETY: the caller guarantees this row of the rectangle, of `width` bytes.
                each(&|from, to| unsafe { std::ptr::copy_nonoverlapping(from, to, width) });
            }
            _ if columns < FEW && rows > columns && offsets.is_empty() => {
                for column in 0..columns as i64 {
                    let from = from.wrapping_offset(bytes(column * step.0));
                    let to = to.wrapping_offset(bytes(column * step.1));
                    // SAFETY: the caller guarantees this column of the rectangle, with an element in each
                    // row.
                    unsafe { line(from, to, size, rows, by_row) };
                }
            }
            // SAFETY: the caller guarantees this row of the rectangle, of `columns` elements.
            _ => each(&|from, to| unsafe { line(from, to, size, columns, step) }),
        }
    }
}

/// Copies `width` bytes by a move of the first `BYTES` and one of the last `BYTES`.
///
/// # Safety
/// `width` must be between `BYTES` and twice that; `from` must be readable and `to` writable for it, and they
/// must not overlap. No other thread may write the source or use the target.
#[inline(always)]
unsafe fn two_moves<const BYTES: usize>(from: *const u8, to: *mut u8, width: usize) {
    let last = width - BYTES;
    // SAFETY: both moves lie within the `width` bytes that the caller guarantees; arrays of bytes need no
    // alignment.
    unsafe {
        let parts = (from.cast::<[u8; BYTES]>().read(), from.add(last).cast::<[u8; BYTES]>().read());
        to.cast::<[u8; BYTES]>().write(parts.0);
        to.add(last).cast::<[u8; BYTES]>().write(parts.1);
    }
}

/// Copies `n` elements of `size` bytes. `steps`: from one to the next at the source and at the target, in
/// elements.
///
/// # Safety
/// These elements must be aligned, readable from `from` on and writable from `to` on, and must not overlap.
/// No other thread may write the source or use the target.
unsafe fn line(from: *const u8, to: *mut u8, size: usize, n: usize, steps: (i64, i64)) {
    /// # Safety
    /// Same as [`line`], for elements of `T`.
    #[inline(always)]
    unsafe fn each<T: Copy>(from: *const u8, to: *mut u8, n: usize, (a, b): (isize, isize)) {
        let (from, to) = (from.cast::<T>(), to.cast::<T>());
        for i in 0..n as isize {
            // SAFETY: the caller guarantees element `i` on both sides.
            unsafe { *to.offset(i * b) = *from.offset(i * a) };
        }
    }
    let steps = (steps.0 as isize, steps.1 as isize);
    // SAFETY: the caller guarantees the elements; each arm copies elements of their size.
    unsafe {
        match (steps, size) {
            ((_, 1), _) => copy_lanes(from, to, size, n, steps.0),
            (_, 1) => each::<u8>(from, to, n, steps),
            (_, 2) => each::<u16>(from, to, n, steps),
            (_, 4) => each::<u32>(from, to, n, steps),
            _ => each::<u64>(from, to, n, steps),
        }
    }
}
