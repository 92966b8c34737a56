//! Stable sorts by counting: the number of elements of each key gives the places of the elements.

use super::super::keys::{Key, Sortable};
use super::{Row, Sorter};

/// Moves each element to its place in the results. Keys have at most 16 bits.
///
/// # Safety
/// Same as [`Row::new`].
pub(super) unsafe fn sort_by_counting<T: Sortable>(work: &Sorter, row: usize, slice: usize) {
    // SAFETY: the caller guarantees what it needs; `row_bytes` is room for a count of each key, and all bits
    // are valid counts.
    let (row, places) = unsafe {
        let row = Row::<T>::new(work, row, slice);
        let places: &mut [u32] = row.scratch(work.row_bytes / size_of::<u32>());
        (row, places)
    };
    places.fill(0);
    (0..row.n).for_each(|at| places[row.key(at).index()] += 1);
    let mut next = 0;
    for place in places.iter_mut() {
        next += std::mem::replace(place, next);
    }
    for at in 0..row.n {
        let place = &mut places[row.key(at).index()];
        if u64::from(*place) < work.what.kept {
            row.put(*place as usize, at);
        }
        *place += 1;
    }
}
