//! Radix sorts of elements of 8 and 16 bits: stable, by counting the elements of each digit of 8 bits, from
//! the low digit to the high one.

use super::super::keys::{SortKey, Sortable};
use super::{SortRow, Sorter};

/// Moves each element to its place in the results. Keys have at most 16 bits.
///
/// # Safety
/// Same as [`SortRow::new`].
pub(super) unsafe fn sort_by_counting<T: Sortable>(work: &Sorter, row: usize, slice: usize) {
    let two = size_of::<T>() > 1;
    // SAFETY: the caller guarantees what it needs; `row_bytes` has room for the position of each element if
    // there are two digits, and all bits are valid positions.
    let (row, order) = unsafe {
        let row = SortRow::<T>::new(work, row, slice);
        let order: &mut [u32] = row.scratch(if two { row.n } else { 0 });
        (row, order)
    };
    let digit = |position: usize, shift: u32| row.key(position).index() >> shift & 0xff;
    let kept = work.what.kept as usize;
    let put = |place: usize, position: usize| {
        if place < kept {
            row.put(place, position);
        }
    };
    if !two {
        return distribute(0..row.n, |position| digit(position, 0), put);
    }
    // Positions have 32 bits: `method` takes no longer rows.
    distribute(0..row.n, |position| digit(position, 0), |place, position| order[place] = position as u32);
    distribute(order.iter().map(|&position| position as usize), |position| digit(position, 8), put);
}

/// Calls `put` with the place of each position among all, by their digits.
fn distribute(
    positions: impl Iterator<Item = usize> + Clone,
    digit: impl Fn(usize) -> usize,
    mut put: impl FnMut(usize, usize),
) {
    let mut places = [0usize; 256];
    positions.clone().for_each(|position| places[digit(position)] += 1);
    let mut next = 0;
    for place in &mut places {
        next += std::mem::replace(place, next);
    }
    for position in positions {
        let place = &mut places[digit(position)];
        put(*place, position);
        *place += 1;
    }
}
