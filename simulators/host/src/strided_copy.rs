//! Rectangles of elements from memory to memory.

use super::cache_hints;
use super::tile_io::copy_lanes;

/// Bytes of a row that goes past the caches.
const LONG: usize = 512;
/// Bytes of a row that is copied by two moves.
const SHORT: usize = 64;
/// Elements of a row that is too short for a loop of its own.
const FEW: usize = 8;

/// How rectangles lie where they come from and where they go, in elements.
#[derive(Clone, Copy)]
pub(super) struct Rectangles {
    /// Bytes of an element.
    pub(super) size: usize,
    /// From element to element of a row.
    pub(super) step: (i64, i64),
    /// From row to row.
    pub(super) by_row: (i64, i64),
    /// Whether they go past the caches.
    pub(super) past: bool,
}

impl Rectangles {
    /// Copies one of so many rows and columns. `offsets`: how far each row is from where it would come from;
    /// none if it is empty.
    ///
    /// # Safety
    /// - All elements must be aligned, readable where they come from and writable where they go.
    /// - Nobody else may write the former or touch the latter meanwhile, and the two must not overlap.
    /// - `offsets` must have an element for each row, or none.
    pub(super) unsafe fn copy(
        &self,
        from: *const u8,
        to: *mut u8,
        (rows, columns): (usize, usize),
        offsets: &[i64],
    ) {
        let Rectangles { size, step, by_row, past } = *self;
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
                                // SAFETY: a row of the rectangle, which the caller guarantees; it has at
                                // least `bytes` bytes, and less than twice as many.
                                unsafe { two_moves::<$bytes>(from, to, width) }
                            }),)*
                            // SAFETY: `from` and `to` are rows of the rectangle, `width` bytes long, which
                            // the caller guarantees.
                            _ => each(&|from, to| unsafe { std::ptr::copy_nonoverlapping(from, to, width) }),
                        }
                    };
                }
                if width > 0 {
                    two_moves!(1 2 4 8 16 32);
                }
            }
            (1, 1) if past && width >= LONG => {
                // SAFETY: `from` and `to` are rows of the rectangle, `width` bytes long, which the caller
                // guarantees.
                each(&|from, to| unsafe { cache_hints::copy_past(from, to, width) });
            }
            (1, 1) => {
                // SAFETY: `from` and `to` are rows of the rectangle, `width` bytes long, which the caller
                // guarantees.
                each(&|from, to| unsafe { std::ptr::copy_nonoverlapping(from, to, width) });
            }
            _ if columns < FEW && rows > columns && offsets.is_empty() => {
                for column in 0..columns as i64 {
                    let from = from.wrapping_offset(bytes(column * step.0));
                    let to = to.wrapping_offset(bytes(column * step.1));
                    // SAFETY: a column of the rectangle, of an element of each row; the caller guarantees its
                    // elements.
                    unsafe { line(from, to, size, rows, by_row) };
                }
            }
            // SAFETY: `from` and `to` are rows of the rectangle, of so many columns; the caller guarantees
            // their elements.
            _ => each(&|from, to| unsafe { line(from, to, size, columns, step) }),
        }
    }
}

/// Copies `width` bytes by a move of the first `BYTES` and one of the last.
///
/// # Safety
/// `width` must be between `BYTES` and twice as many; `from` must be readable and `to` writable for it, and
/// they must not overlap. Nobody else may write the former or touch the latter meanwhile.
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

/// Copies `n` elements of `size` bytes; from one to the next it is so many elements, and so many where they
/// go.
///
/// # Safety
/// These elements must be aligned, readable from `from` on and writable from `to` on, and must not overlap.
/// Nobody else may write the former or touch the latter meanwhile.
unsafe fn line(from: *const u8, to: *mut u8, size: usize, n: usize, steps: (i64, i64)) {
    /// # Safety
    /// As of [`line`], for elements of `T`.
    #[inline(always)]
    unsafe fn each<T: Copy>(from: *const u8, to: *mut u8, n: usize, (a, b): (isize, isize)) {
        let (from, to) = (from.cast::<T>(), to.cast::<T>());
        for i in 0..n as isize {
            // SAFETY: element `i` of those that the caller guarantees.
            unsafe { *to.offset(i * b) = *from.offset(i * a) };
        }
    }
    let steps = (steps.0 as isize, steps.1 as isize);
    // SAFETY: the caller guarantees the elements, and each arm takes as many, of their size.
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
