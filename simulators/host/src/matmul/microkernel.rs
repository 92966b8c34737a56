//! The innermost loops: a tile of the result stays in registers during the loop over the contracted axis.

use crate::cache_hints::prefetch;
use crate::vector::Vector;

/// A tile of some rows by a few vectors of columns, as the sum of outer products of a column of the left
/// factor and a row of the right one, whose rows are contiguous.
pub(super) struct MatmulTile<T> {
    /// Extent of the contracted axis.
    pub(super) k: usize,
    /// The left factor, and its strides along rows and along k.
    pub(super) a: *const T,
    pub(super) a_row: isize,
    pub(super) a_k: isize,
    /// The right factor, and its stride along k.
    pub(super) b: *const T,
    pub(super) b_k: isize,
    /// The result, and its stride along rows.
    pub(super) c: *mut T,
    pub(super) c_row: usize,
    /// Valid lanes of the last vector of each row.
    pub(super) last: usize,
    /// Whether the tile is added to the result.
    pub(super) add: bool,
}

/// Few rows of the left factor by few columns of the right one; both are contiguous along k.
pub(super) struct Dots<T> {
    /// Extent of the contracted axis.
    pub(super) k: usize,
    /// The left factor, and its stride along rows.
    pub(super) a: *const T,
    pub(super) a_row: isize,
    /// The right factor, and its stride along columns.
    pub(super) b: *const T,
    pub(super) b_column: isize,
    /// The result, and its stride along rows.
    pub(super) c: *mut T,
    pub(super) c_row: usize,
}

/// Computes a tile of `R` rows and `N` vectors.
///
/// # Safety
/// - The processor must have the vectors' instructions.
/// - All elements of the tile must be readable in both factors, and no other thread may write them.
/// - Those of the result must be writable, initialized if the tile is added to them, and no other thread may
///   use them.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // Loops over constant ranges unroll into registers.
pub(super) unsafe fn tile<V: Vector, const R: usize, const N: usize>(t: &MatmulTile<V::Item>) {
    // SAFETY: rows are below `R`, and columns within the valid lanes of `N` vectors; the caller guarantees
    // their elements and the instructions. Pointers past the end are not read.
    unsafe {
        let mask = V::mask(t.last);
        let mut sums = [[V::zero(); N]; R];
        let (mut a, mut b) = (t.a, t.b);
        if t.add {
            // The result is prefetched during the loop, since it is needed right after it.
            for r in 0..R {
                for v in 0..N {
                    prefetch(t.c.wrapping_add(r * t.c_row + v * V::LANES).cast(), 1);
                }
            }
        }
        for _ in 0..t.k {
            let mut row = [V::zero(); N];
            for v in 0..N {
                let from = b.wrapping_add(v * V::LANES);
                row[v] = if v + 1 == N { V::load_part(from, mask) } else { V::load(from) };
            }
            for r in 0..R {
                let left = V::splat(*a.offset(r as isize * t.a_row));
                for v in 0..N {
                    sums[r][v] = sums[r][v].add_product(left, row[v]);
                }
            }
            a = a.wrapping_offset(t.a_k);
            b = b.wrapping_offset(t.b_k);
        }
        for (r, sums) in sums.iter_mut().enumerate() {
            let to = t.c.add(r * t.c_row);
            for (v, sum) in sums.iter_mut().enumerate() {
                let to = to.add(v * V::LANES);
                let is_last = v + 1 == N;
                if t.add {
                    let old = if is_last { V::load_part(to, mask) } else { V::load(to) };
                    *sum = sum.add(old);
                }
                if is_last { sum.store_part(to, mask) } else { sum.store(to) }
            }
        }
    }
}

/// Computes `R` by `N` dot products.
///
/// # Safety
/// - The processor must have the vectors' instructions.
/// - `R` rows and `N` columns of `k` elements must be readable, and no other thread may write them.
/// - The result's elements must be writable, and no other thread may use them.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // Loops over constant ranges unroll into registers.
pub(super) unsafe fn dots<V: Vector, const R: usize, const N: usize>(d: &Dots<V::Item>) {
    // SAFETY: whole vectors end before `k`, and the mask keeps the last one within; the caller guarantees
    // these elements of `R` rows and `N` columns, the result's, and the instructions.
    unsafe {
        let mut sums = [[V::zero(); N]; R];
        let full = d.k / V::LANES * V::LANES;
        let mut at = 0;
        while at < full {
            let mut columns = [V::zero(); N];
            for (n, column) in columns.iter_mut().enumerate() {
                *column = V::load(d.b.offset(n as isize * d.b_column).add(at));
            }
            for r in 0..R {
                let row = V::load(d.a.offset(r as isize * d.a_row).add(at));
                for n in 0..N {
                    sums[r][n] = sums[r][n].add_product(row, columns[n]);
                }
            }
            at += V::LANES;
        }
        if full < d.k {
            let mask = V::mask(d.k - full);
            for r in 0..R {
                let row = V::load_part(d.a.offset(r as isize * d.a_row).add(at), mask);
                for n in 0..N {
                    let column = V::load_part(d.b.offset(n as isize * d.b_column).add(at), mask);
                    sums[r][n] = sums[r][n].add_product(row, column);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            for (n, sum) in sums.iter().enumerate() {
                *d.c.add(r * d.c_row + n) = sum.sum();
            }
        }
    }
}
