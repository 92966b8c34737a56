//! A few first elements of long rows, in one pass that skips most blocks.

use super::super::keys::{SortKey, Sortable, directed};
use super::{SortRow, Sorter, sort_first};
use workalike_kernels::level::{SimdLoop, run};

/// Elements of a block, which is skipped if none of them can be kept.
const BLOCK: usize = 512;

/// The least key of a block in the direction of the sort, which is descending if the flag is set.
struct FirstKey<'a, T>(&'a [T], bool);

impl<T: Sortable> SimdLoop for FirstKey<'_, T> {
    type Out = T::Key;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> T::Key {
        let FirstKey(block, descending) = self;
        let keys = block.iter().map(|x| directed(x.key(), descending));
        keys.fold(directed(block[0].key(), descending), |first, key| first.min(key))
    }
}

/// Sorts the first elements of a contiguous row. It collects elements that may be among them. When there are
/// twice as many as are kept, it drops the last half; later elements must precede the last that remains.
///
/// # Safety
/// Same as [`SortRow::new`].
pub(super) unsafe fn sort_top_k<T: Sortable>(work: &Sorter, row: usize, slice: usize) {
    let (kept, descending) = (work.what.kept as usize, work.what.descending);
    // SAFETY: the caller guarantees what `new` needs, and a source whose rows are contiguous: `method` chose
    // this function. `row_bytes` has room for twice the keys to keep with their positions, and all bits are
    // valid ones.
    let (row, source, found) = unsafe {
        let row = SortRow::<T>::new(work, row, slice);
        let found: &mut [<T::Key as SortKey>::Placed] = row.scratch(2 * kept);
        let source = std::slice::from_raw_parts(row.source, row.n);
        (row, source, found)
    };
    let mut count = 0;
    let mut last: Option<<T::Key as SortKey>::Placed> = None;
    for (number, block) in source.chunks(BLOCK).enumerate() {
        // Positions have 32 bits: `scratch` refuses longer rows.
        let first = number * BLOCK;
        if last.is_some_and(|last| run(FirstKey(block, descending)).at(first as u32) > last) {
            continue;
        }
        for (at, x) in block.iter().enumerate() {
            let item = directed(x.key(), descending).at((first + at) as u32);
            if last.is_some_and(|last| item > last) {
                continue;
            }
            found[count] = item;
            count += 1;
            if count == found.len() {
                last = Some(*found.select_nth_unstable(kept - 1).1);
                count = kept;
            }
        }
    }
    sort_first(&mut found[..count], kept);
    found[..kept].iter().enumerate().for_each(|(at, item)| row.put(at, T::Key::position(*item)));
}
