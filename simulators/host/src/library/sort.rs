//! Sorts, top-k and order statistics. The elements of a row become keys in scratch memory, which the standard
//! library sorts or partitions, and become elements again. Where positions matter, each key has its position
//! in the low bits, so that an unstable sort of these is a stable sort of the elements and needs no further
//! memory.
//!
//! - `counting`: long rows of elements of 8 and 16 bits.
//! - `top_k`: a few first elements of long rows.
//!
//! Threads share the rows.

mod counting;
mod top_k;

use super::super::pool::ThreadPool;
use super::Sharing;
use super::keys::{SortKey, Sortable, by_dtype, directed};
use counting::sort_by_counting;
use top_k::sort_top_k;
use workalike_kernels::library::Sorting;

/// Elements from which threads share the work.
const SHARED: u64 = 1 << 12;
/// Order statistics up to which they are selected; for more the row is sorted.
const SELECTED: usize = 8;
/// Elements of a row from which on those of at most 16 bits are sorted by counting. An estimate.
const COUNTED: u64 = 128;
/// Elements of a row per element to keep from which [`top_k`] pays: with fewer, most blocks hold an element
/// to keep. An estimate.
const TOP_K: u64 = 16;

/// A sort with memory bound.
pub(super) struct Sorter {
    each: unsafe fn(&Sorter, usize, usize),
    what: Sorting,
    source: *const u8,
    values: *mut u8,
    indices: *mut i64,
    scratch: *mut u8,
    row_bytes: usize,
    sharing: Sharing,
}

// SAFETY: it is immutable. Only `run` uses the memory behind the pointers; each task writes its row of the
// results and a slice of the scratch memory that no other task has at the same time.
unsafe impl Sync for Sorter {}

/// Whether keys have their positions.
fn is_placed(s: &Sorting) -> bool {
    s.indices || s.kept < s.shape[1]
}

/// The order statistics to select; `None` where the row is sorted.
fn selected(s: &Sorting) -> Option<&[u64]> {
    let places = s.only.as_deref()?;
    let few = places.len() <= SELECTED && places.len() as u64 * 4 <= s.shape[1];
    (few && s.values && !is_placed(s)).then_some(places)
}

/// How rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SortAlgorithm {
    /// Sorts or partitions keys.
    Keys,
    /// Sorts keys with their positions.
    Placed,
    /// Counts the elements of each digit of the keys.
    Counting,
    /// Finds a few first elements of contiguous rows in one pass.
    TopK,
}

fn method(s: &Sorting) -> SortAlgorithm {
    let n = s.shape[1];
    let few_digits = s.dtype.size() <= 2 && (COUNTED..=u64::from(u32::MAX)).contains(&n);
    if s.only.is_none() && s.shape[2] == 1 && s.kept.saturating_mul(TOP_K) <= n {
        SortAlgorithm::TopK
    } else if s.only.is_none() && few_digits {
        SortAlgorithm::Counting
    } else if is_placed(s) {
        SortAlgorithm::Placed
    } else {
        SortAlgorithm::Keys
    }
}

/// Bytes of scratch memory of a row: its keys, its positions in the order of one digit, or twice the elements
/// to keep.
fn row_bytes(s: &Sorting) -> u64 {
    let size = s.dtype.size() as u64;
    let placed = if size == 8 { 16 } else { 8 };
    let bytes = match method(s) {
        SortAlgorithm::Keys => s.shape[1] * size,
        SortAlgorithm::Placed => s.shape[1] * placed,
        SortAlgorithm::Counting => s.shape[1] * 4 * (size - 1),
        SortAlgorithm::TopK => 2 * s.kept * placed,
    };
    bytes.max(1).next_multiple_of(64)
}

fn sharing(s: &Sorting, threads: usize) -> Sharing {
    let elements: u64 = s.shape.iter().product();
    Sharing::new((s.shape[0] * s.shape[2]) as usize, threads, elements >= SHARED)
}

/// Bytes of scratch memory; `None` where positions need more than 32 bits, or order statistics are needed
/// that are not selected.
pub(super) fn scratch(s: &Sorting, threads: usize) -> Option<u64> {
    let too_long = is_placed(s) && s.shape[1] > u64::from(u32::MAX);
    let too_many = s.only.is_some() && selected(s).is_none();
    (!too_long && !too_many).then(|| row_bytes(s) * sharing(s, threads).slices() as u64)
}

impl Sorter {
    pub(super) fn new(s: &Sorting, starts: &[*mut u8], threads: usize) -> Sorter {
        let nowhere = std::ptr::null_mut();
        let values = if s.values { starts[1] } else { nowhere };
        let indices = if s.indices { starts[1 + usize::from(s.values)] } else { nowhere }.cast();
        let each: unsafe fn(&Sorter, usize, usize) = match method(s) {
            SortAlgorithm::Keys => by_dtype!(s.dtype, sort_keys),
            SortAlgorithm::Placed => by_dtype!(s.dtype, sort_placed),
            SortAlgorithm::Counting => by_dtype!(s.dtype, sort_by_counting),
            SortAlgorithm::TopK => by_dtype!(s.dtype, sort_top_k),
        };
        let scratch = starts[starts.len() - 1];
        let (row_bytes, sharing) = (row_bytes(s) as usize, sharing(s, threads));
        Sorter { each, what: s.clone(), source: starts[0], values, indices, scratch, row_bytes, sharing }
    }

    /// # Safety
    /// Same as [`LibraryCall::run`](super::LibraryCall::run).
    pub(super) unsafe fn run(&self, pool: &ThreadPool) -> bool {
        if self.what.kept == 0 {
            return true;
        }
        // SAFETY: the caller guarantees the memory; `Sharing` gives each task a slice of the scratch memory
        // that no other has at the same time, and tasks are different rows.
        self.sharing.run(pool, &|row, slice| unsafe { (self.each)(self, row, slice) })
    }
}

/// A row, and its scratch memory.
struct SortRow<'a, T> {
    work: &'a Sorter,
    source: *const T,
    /// The place of its first result.
    to: usize,
    n: usize,
    /// Elements from one element of a row to the next.
    stride: usize,
    scratch: *mut u8,
}

impl<'a, T: Sortable> SortRow<'a, T> {
    /// # Safety
    /// - The operands that `work` was made with are as [`LibraryCall::run`](super::LibraryCall::run) needs
    ///   them, with elements of `T`, as long as the row is used.
    /// - The row and the slice of the scratch memory exist. No other thread uses the slice, or the results of
    ///   the row.
    unsafe fn new(work: &'a Sorter, row: usize, slice: usize) -> SortRow<'a, T> {
        let [_, n, stride] = work.what.shape.map(|e| e as usize);
        let (outer, inner) = (row / stride, row % stride);
        let to = outer * work.what.kept as usize * stride + inner;
        // SAFETY: the caller guarantees the source and the row, so its first element lies within, and the
        // slice; `scratch` requested all slices of `row_bytes`.
        let (source, scratch) = unsafe {
            let source = work.source.cast::<T>().add(outer * n * stride + inner);
            (source, work.scratch.add(slice * work.row_bytes))
        };
        SortRow { work, source, to, n, stride, scratch }
    }

    /// An element of the row; callers pass positions below `n`.
    fn element(&self, at: usize) -> T {
        assert!(at < self.n);
        // SAFETY: this is an element of the row; the caller of `new` guarantees the source.
        unsafe { *self.source.add(at * self.stride) }
    }

    /// The key of an element in the direction of the sort.
    fn key(&self, at: usize) -> T::Key {
        directed(self.element(at).key(), self.work.what.descending)
    }

    /// The scratch memory.
    ///
    /// # Safety
    /// `count` items are no larger than [`row_bytes`], all bits are valid items, and there is no other slice
    /// of it.
    unsafe fn scratch<'s, I>(&self, count: usize) -> &'s mut [I] {
        // SAFETY: the caller guarantees items and their count. The caller of `new` guarantees the slice,
        // which has the alignment of the scratch memory: slices are multiples of 64 bytes.
        unsafe { std::slice::from_raw_parts_mut(self.scratch.cast(), count) }
    }

    /// The place of result `at`; callers pass numbers below that of the elements to keep.
    fn place(&self, at: usize) -> usize {
        assert!(at < self.work.what.kept as usize);
        self.to + at * self.stride
    }

    /// Writes result `at`, an element, if values are wanted.
    fn put_value(&self, at: usize, x: impl FnOnce() -> T) {
        if !self.work.values.is_null() {
            // SAFETY: this is one of the row's results, which the caller of `new` guarantees.
            unsafe { *self.work.values.cast::<T>().add(self.place(at)) = x() };
        }
    }

    /// Writes result `at`: the element at `position`, the position, or both.
    fn put(&self, at: usize, position: usize) {
        self.put_value(at, || self.element(position));
        if !self.work.indices.is_null() {
            // SAFETY: this is one of the row's results, which the caller of `new` guarantees.
            unsafe { *self.work.indices.add(self.place(at)) = position as i64 };
        }
    }
}

/// Sorts the first `kept` items, at least one; the others follow in any order.
fn sort_first<I: Ord>(items: &mut [I], kept: usize) {
    if kept < items.len() {
        items.select_nth_unstable(kept - 1);
    }
    items[..kept].sort_unstable();
}

/// Sorts keys, or selects some. The results are their elements.
///
/// # Safety
/// Same as [`SortRow::new`].
unsafe fn sort_keys<T: Sortable>(work: &Sorter, row: usize, slice: usize) {
    let places = selected(&work.what);
    // SAFETY: the caller guarantees what it needs; `row_bytes` has room for a key of each element, and all
    // bits are valid keys.
    let (row, keys) = unsafe {
        let row = SortRow::<T>::new(work, row, slice);
        let keys: &mut [T::Key] = row.scratch(row.n);
        (row, keys)
    };
    keys.iter_mut().enumerate().for_each(|(at, key)| *key = row.key(at));
    match places {
        Some(places) => partition(keys, places),
        None => keys.sort_unstable(),
    }
    let count = places.map_or(row.n, <[u64]>::len);
    let place = |number: usize| places.map_or(number, |places| places[number] as usize);
    for at in (0..count).map(place) {
        row.put_value(at, || T::of(directed(keys[at], work.what.descending)));
    }
    // Zeros of both signs have one key. They are put in the order in which the row has them.
    let Some(zero) = T::ZERO_KEY.map(|key| directed(key, work.what.descending)) else { return };
    if !(0..count).any(|number| keys[place(number)] == zero) {
        return;
    }
    let first = keys.iter().filter(|key| **key < zero).count();
    for (at, position) in (first..).zip((0..row.n).filter(|&at| row.key(at) == zero)) {
        if places.is_none_or(|places| places.contains(&(at as u64))) {
            row.put_value(at, || row.element(position));
        }
    }
}

/// Moves the keys of the ascending `places` to where sorting would move them.
fn partition<K: SortKey>(keys: &mut [K], places: &[u64]) {
    let (mut rest, mut first) = (keys, 0);
    for place in places.iter().map(|&place| place as usize) {
        let (_, _, above) = rest.select_nth_unstable(place - first);
        (rest, first) = (above, place + 1);
    }
}

/// Sorts the first keys with their positions. The results are the elements there, or the positions.
///
/// # Safety
/// Same as [`SortRow::new`].
unsafe fn sort_placed<T: Sortable>(work: &Sorter, row: usize, slice: usize) {
    let kept = work.what.kept as usize;
    // SAFETY: the caller guarantees what it needs; `row_bytes` has room for the key of each element with its
    // position, and all bits are valid ones.
    let (row, items) = unsafe {
        let row = SortRow::<T>::new(work, row, slice);
        let items: &mut [<T::Key as SortKey>::Placed] = row.scratch(row.n);
        (row, items)
    };
    // Positions have 32 bits: `scratch` refuses longer rows.
    items.iter_mut().enumerate().for_each(|(at, item)| *item = row.key(at).at(at as u32));
    sort_first(items, kept);
    items[..kept].iter().enumerate().for_each(|(at, item)| row.put(at, T::Key::position(*item)));
}

#[cfg(test)]
mod tests;
