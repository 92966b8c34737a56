//! Sorts, top-k and order statistics. The elements of a row become keys in scratch memory, which the standard
//! library sorts or partitions, and become elements again. Where positions matter, each key has its position
//! in the low bits, so that an unstable sort of these is a stable sort of the elements and needs no further
//! memory.
//!
//! Threads share the rows. Adjacent rows along an axis other than the last are read and written together.

use super::super::pool::Pool;
use super::Sharing;
use super::keys::{Key, Sortable, by_dtype, directed};
use workalike_kernels::library::Sorting;

/// Adjacent rows of a task along an axis other than the last: they use whole cache lines of the source.
const TOGETHER: u64 = 16;
/// Elements up to which a task has several rows. It limits scratch memory.
const TASK: u64 = 1 << 18;
/// Elements from which threads share the work.
const SHARED: u64 = 1 << 12;
/// Order statistics up to which they are selected; for more the row is sorted.
const SELECTED: usize = 8;

/// A sort with memory bound.
pub(super) struct Sorter {
    each: unsafe fn(&Sorter, usize, usize),
    what: Sorting,
    source: *const u8,
    values: *mut u8,
    indices: *mut i64,
    scratch: *mut u8,
    task_bytes: usize,
    sharing: Sharing,
}

// SAFETY: it is immutable. Only `run` uses the memory behind the pointers; each task writes its rows of the
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

/// Rows of a task.
fn together(s: &Sorting) -> u64 {
    TOGETHER.min(s.shape[2]).min(TASK / s.shape[1].max(1)).max(1)
}

/// Bytes of scratch memory of a task: the keys of its rows.
fn task_bytes(s: &Sorting) -> u64 {
    let key = match (is_placed(s), s.dtype.size() as u64) {
        (false, size) => size,
        (true, 8) => 16,
        (true, _) => 8,
    };
    (together(s) * s.shape[1] * key).next_multiple_of(64)
}

fn sharing(s: &Sorting, threads: usize) -> Sharing {
    let elements: u64 = s.shape.iter().product();
    let tasks = s.shape[0] * s.shape[2].div_ceil(together(s));
    Sharing::new(tasks as usize, threads, elements >= SHARED)
}

/// Bytes of scratch memory; `None` where positions need more than 32 bits, or order statistics are needed
/// that are not selected.
pub(super) fn scratch(s: &Sorting, threads: usize) -> Option<u64> {
    let too_long = is_placed(s) && s.shape[1] > u64::from(u32::MAX);
    let too_many = s.only.is_some() && selected(s).is_none();
    (!too_long && !too_many).then(|| task_bytes(s) * sharing(s, threads).slices() as u64)
}

impl Sorter {
    pub(super) fn new(s: &Sorting, starts: &[*mut u8], threads: usize) -> Sorter {
        let nowhere = std::ptr::null_mut();
        let values = if s.values { starts[1] } else { nowhere };
        let indices = if s.indices { starts[1 + usize::from(s.values)] } else { nowhere }.cast();
        let each = if is_placed(s) { by_dtype!(s.dtype, sort_placed) } else { by_dtype!(s.dtype, sort_keys) };
        let scratch = starts[starts.len() - 1];
        let (task_bytes, sharing) = (task_bytes(s) as usize, sharing(s, threads));
        Sorter { each, what: s.clone(), source: starts[0], values, indices, scratch, task_bytes, sharing }
    }

    /// # Safety
    /// Same as [`LibraryCall::run`](super::LibraryCall::run).
    pub(super) unsafe fn run(&self, pool: &Pool) -> bool {
        if self.what.kept == 0 {
            return true;
        }
        // SAFETY: the caller guarantees the memory; `Sharing` gives each task a slice of the scratch memory
        // that no other has at the same time, and tasks have different rows of the results.
        self.sharing.run(pool, &|task, slice| unsafe { (self.each)(self, task, slice) })
    }

    /// The address of a slice of the scratch memory.
    ///
    /// # Safety
    /// The scratch memory is alive and as large as [`scratch`] says, and the slice exists.
    unsafe fn slice(&self, slice: usize) -> *mut u8 {
        // SAFETY: the caller guarantees the slice; `scratch` requested all slices of `task_bytes`.
        unsafe { self.scratch.add(slice * self.task_bytes) }
    }
}

/// The adjacent rows of a task.
struct Rows<T> {
    source: *const T,
    /// Elements from the start of the results to the first of these rows.
    to: usize,
    n: usize,
    width: usize,
    /// Elements from one element of a row to the next.
    stride: usize,
    descending: bool,
}

impl<T: Sortable> Rows<T> {
    /// # Safety
    /// The source is alive and has the shape of the sort, with elements of `T`; the task exists.
    unsafe fn new(work: &Sorter, task: usize) -> Rows<T> {
        let s = &work.what;
        let [_, n, inner] = s.shape.map(|e| e as usize);
        let (kept, together) = (s.kept as usize, together(s) as usize);
        let blocks = inner.div_ceil(together);
        let (outer, first) = (task / blocks, task % blocks * together);
        let width = together.min(inner - first);
        // SAFETY: the caller guarantees a source of this shape and the task, so its first element lies
        // within.
        let source = unsafe { work.source.cast::<T>().add(outer * n * inner + first) };
        Rows { source, to: outer * kept * inner + first, n, width, stride: inner, descending: s.descending }
    }

    /// # Safety
    /// The source is alive, and no other thread writes it; `row` is below `width`, and `at` below `n`.
    unsafe fn element(&self, row: usize, at: usize) -> T {
        // SAFETY: the caller guarantees this element of the rows that `new` found.
        unsafe { *self.source.add(at * self.stride + row) }
    }

    /// Makes an item of each key and its position, and writes them to scratch memory, row by row.
    ///
    /// # Safety
    /// The source is alive, and no other thread writes it. `scratch` is aligned and has room for the items of
    /// all rows; its bits are valid items, and nothing else uses it while the slice lives.
    unsafe fn load<'a, I>(&self, scratch: *mut I, item: impl Fn(T::Key, usize) -> I) -> &'a mut [I] {
        // SAFETY: the caller guarantees room for `n` initialized items of each row, which nothing else uses.
        let items = unsafe { std::slice::from_raw_parts_mut(scratch, self.n * self.width) };
        for at in 0..self.n {
            for row in 0..self.width {
                // SAFETY: `row` and `at` are in range; the caller guarantees that the source is alive and not
                // written.
                let key = unsafe { self.element(row, at) }.key();
                items[row * self.n + at] = item(directed(key, self.descending), at);
            }
        }
        items
    }
}

/// Sorts keys, or selects some. The results are their elements.
///
/// # Safety
/// - The operands that `work` was made with are as [`LibraryCall::run`](super::LibraryCall::run) needs them,
///   with elements of `T`.
/// - The task and the slice of the scratch memory exist. No other thread uses the slice, or the task's rows
///   of the results.
unsafe fn sort_keys<T: Sortable>(work: &Sorter, task: usize, slice: usize) {
    if work.values.is_null() {
        return;
    }
    let places = selected(&work.what);
    // SAFETY: the caller guarantees the source and the task.
    let rows = unsafe { Rows::<T>::new(work, task) };
    // SAFETY: the caller guarantees the slice, of `task_bytes`, which have room for a task's keys. Slices are
    // multiples of 64 bytes, so they are aligned as the scratch memory is; all bits are valid keys.
    let keys = unsafe { rows.load(work.slice(slice).cast(), |key, _| key) };
    let Rows { n, width, stride, descending, .. } = rows;
    for row in keys.chunks_exact_mut(n) {
        match places {
            Some(places) => partition(row, places),
            None => row.sort_unstable(),
        }
    }
    // SAFETY: without positions all elements are kept, so the results have the shape of the source, and these
    // rows are this task's; `put` is called with rows below `width` and places below `n`.
    let put = |row: usize, at: usize, x: T| unsafe {
        *work.values.cast::<T>().add(rows.to + at * stride + row) = x;
    };
    let count = places.map_or(n, <[u64]>::len);
    let place = |number: usize| places.map_or(number, |places| places[number] as usize);
    for at in (0..count).map(place) {
        for row in 0..width {
            put(row, at, T::of(directed(keys[row * n + at], descending)));
        }
    }
    let Some(zero) = T::ZERO_KEY.map(|key| directed(key, descending)) else { return };
    for (row, keys) in keys.chunks_exact(n).enumerate() {
        // SAFETY: there are `width` rows of `n` keys, as of elements; the caller guarantees the source.
        let source = (0..n).map(|at| unsafe { rows.element(row, at) });
        let zeros = source.filter(|x| directed(x.key(), descending) == zero);
        restore_zeros(keys, zero, (0..count).map(place), zeros, |at, x| put(row, at, x));
    }
}

/// Moves the keys of the ascending `places` to where sorting would move them.
fn partition<K: Key>(keys: &mut [K], places: &[u64]) {
    let (mut rest, mut first) = (keys, 0);
    for place in places.iter().map(|&place| place as usize) {
        let (_, _, above) = rest.select_nth_unstable(place - first);
        (rest, first) = (above, place + 1);
    }
}

/// Zeros of both signs have one key. Restores those at the ascending `places` of a sorted row, in the order
/// in which the row had them.
fn restore_zeros<K: Key, T>(
    keys: &[K],
    zero: K,
    places: impl Iterator<Item = usize>,
    mut zeros: impl Iterator<Item = T>,
    put: impl Fn(usize, T),
) {
    let mut places = places.filter(|&at| keys[at] == zero).peekable();
    if places.peek().is_none() {
        return;
    }
    // The place of the next zero. A key at one of `places` is as in the sorted row, so this starts at the
    // first zero.
    let mut next = keys.iter().filter(|key| **key < zero).count();
    for at in places {
        if let Some(x) = zeros.nth(at - next) {
            put(at, x);
        }
        next = at + 1;
    }
}

/// Sorts the first keys with their positions. The results are the elements there, or the positions.
///
/// # Safety
/// Same as [`sort_keys`].
unsafe fn sort_placed<T: Sortable>(work: &Sorter, task: usize, slice: usize) {
    let kept = work.what.kept as usize;
    // SAFETY: the caller guarantees the source and the task.
    let rows = unsafe { Rows::<T>::new(work, task) };
    // SAFETY: the caller guarantees the slice, of `task_bytes`, which have room for a task's keys with their
    // positions. Slices are multiples of 64 bytes, so they are aligned as the scratch memory is; all bits are
    // valid keys with positions. Positions have 32 bits: `scratch` refuses longer rows.
    let items = unsafe { rows.load(work.slice(slice).cast(), |key, at| key.at(at as u32)) };
    for row in items.chunks_exact_mut(rows.n) {
        if kept < rows.n {
            row.select_nth_unstable(kept - 1);
        }
        row[..kept].sort_unstable();
    }
    for at in 0..kept {
        for row in 0..rows.width {
            let position = T::Key::position(items[row * rows.n + at]);
            let to = rows.to + at * rows.stride + row;
            // SAFETY: the results have `kept` elements per row, and these rows are this task's; `load` gave
            // positions below `n`, and the caller guarantees the source.
            unsafe {
                if !work.values.is_null() {
                    *work.values.cast::<T>().add(to) = rows.element(row, position);
                }
                if !work.indices.is_null() {
                    *work.indices.add(to) = position as i64;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
