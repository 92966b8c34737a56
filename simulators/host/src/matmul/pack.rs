//! Packing: copies of parts of a factor, in the order of access of the kernels.

use super::super::vector::{Vector, VectorElement};

/// A copy of `rows` by `columns` elements, with rows that are contiguous and `to_row` elements apart.
pub(super) struct PackCopy<T> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) from: *const T,
    /// Strides of the source along rows and columns.
    pub(super) row: isize,
    pub(super) column: isize,
    pub(super) to: *mut T,
    pub(super) to_row: usize,
}

/// Packs a source with contiguous columns: `column` is 1.
///
/// # Safety
/// - The processor must have the vectors' instructions.
/// - All elements must be readable at the source and writable at the target. The two must not overlap, and no
///   other thread may write the source or use the target.
#[inline(always)]
pub(super) unsafe fn pack_rows<V: Vector>(r: &PackCopy<V::Item>) {
    // SAFETY: whole vectors lie within the columns, and the mask keeps the last one within; the caller
    // guarantees these elements in every row, and the instructions.
    unsafe {
        let whole = r.columns / V::LANES * V::LANES;
        let mask = V::mask(r.columns - whole);
        for i in 0..r.rows {
            let (from, to) = (r.from.offset(i as isize * r.row), r.to.add(i * r.to_row));
            let mut at = 0;
            while at < whole {
                V::load(from.add(at)).store(to.add(at));
                at += V::LANES;
            }
            if whole < r.columns {
                V::load_part(from.add(at), mask).store_part(to.add(at), mask);
            }
        }
    }
}

/// Packs a source with contiguous rows, or with none.
///
/// # Safety
/// All elements must be readable at the source and writable at the target. The two must not overlap, and no
/// other thread may write the source or use the target.
#[inline(always)]
pub(super) unsafe fn pack_columns<T: VectorElement>(r: &PackCopy<T>) {
    // SAFETY: both loops take rows below `rows` and columns below `columns`, whose elements the caller
    // guarantees; blocks of four begin at least four before the end.
    unsafe {
        if r.row == 1 && r.rows >= 4 && r.columns >= 4 {
            // The last block of a row or a column overlaps the one before.
            for j in (0..r.columns).step_by(4).map(|j| j.min(r.columns - 4)) {
                for i in (0..r.rows).step_by(4).map(|i| i.min(r.rows - 4)) {
                    let from = r.from.offset(j as isize * r.column).add(i);
                    T::transpose_4x4(from, r.column, r.to.add(i * r.to_row + j), r.to_row);
                }
            }
            return;
        }
        for j in 0..r.columns {
            for i in 0..r.rows {
                *r.to.add(i * r.to_row + j) = *r.from.offset(i as isize * r.row + j as isize * r.column);
            }
        }
    }
}
