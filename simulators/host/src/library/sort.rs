//! Sorts: a row's elements become keys, the keys are sorted by their digits, and become elements again. Rows are shared among
//! the threads; of rows along an axis that is not the last, neighbours are read together.

use super::super::pool::Pool;
use super::Sharing;
use super::few::{self, Few};
use super::keys::{
    InOrder, Key, Placing, Sortable, ToElements, ToKeys, by_dtype, element_of, key_of, restore_zeros,
    sort_keys, sort_placed,
};
use super::network::room;
use workalike_kernels::level::run as at_best_level;
use workalike_kernels::library::Sorting;

/// Neighbouring rows that are read together along an axis that is not the last.
const TOGETHER: u64 = 16;
/// Elements from which threads share the work.
const SHARED: u64 = 1 << 12;

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

// SAFETY: as for the call that it is part of.
unsafe impl Sync for Sorter {}

/// Bytes of what is sorted: of a key, or of a key with its position.
fn item(s: &Sorting) -> u64 {
    match (s.indices || s.kept < s.shape[1], s.dtype.size() as u64) {
        (false, size) => size,
        (true, 8) => 16,
        (true, _) => 8,
    }
}

/// Rows of a task.
fn together(s: &Sorting) -> u64 {
    if s.shape[2] == 1 { 1 } else { TOGETHER.min(s.shape[2]).min((1 << 18) / s.shape[1].max(1)).max(1) }
}

/// What one task needs: the items of its rows, and room for one row's to move to.
fn task_bytes(s: &Sorting) -> u64 {
    let other = room(s.shape[1] as usize) as u64;
    ((together(s) * s.shape[1] + other) * item(s)).next_multiple_of(64)
}

pub(super) fn scratch(s: &Sorting, threads: usize) -> Option<u64> {
    // Positions have 32 bits.
    (s.shape[1] < u64::from(u32::MAX)).then(|| task_bytes(s) * sharing(s, threads).slices() as u64)
}

fn sharing(s: &Sorting, threads: usize) -> Sharing {
    let elements: u64 = s.shape.iter().product();
    let tasks = s.shape[0] * s.shape[2].div_ceil(together(s));
    Sharing::new(tasks as usize, threads, elements >= SHARED)
}

impl Sorter {
    pub(super) fn new(s: &Sorting, starts: &[*mut u8], threads: usize) -> Sorter {
        let nowhere = std::ptr::null_mut();
        let values = if s.values { starts[1] } else { nowhere };
        let indices = if s.indices { starts[1 + usize::from(s.values)].cast() } else { std::ptr::null_mut() };
        let each = by_dtype!(s.dtype, rows);
        let scratch = starts[starts.len() - 1];
        let task_bytes = task_bytes(s) as usize;
        let sharing = sharing(s, threads);
        Sorter { each, what: s.clone(), source: starts[0], values, indices, scratch, task_bytes, sharing }
    }

    pub(super) unsafe fn run(&self, pool: &Pool) -> bool {
        // SAFETY: the caller's; each task has a slice of the scratch memory meanwhile, and its part of the results.
        self.sharing.run(pool, &|task, slice| unsafe { (self.each)(self, task, slice) })
    }
}

/// Where a row's elements are, and its results.
#[derive(Clone, Copy)]
struct Lie {
    n: usize,
    kept: usize,
    /// From one element of a row to the next.
    step: usize,
}

unsafe fn rows<T: Sortable>(work: &Sorter, task: usize, slice: usize) {
    let s = &work.what;
    let [_, n, inner] = s.shape.map(|e| e as usize);
    let (kept, together) = (s.kept as usize, together(s) as usize);
    let blocks = inner.div_ceil(together);
    let (outer, first) = (task / blocks, task % blocks * together);
    let width = together.min(inner - first);
    let lie = Lie { n, kept, step: inner };
    let (from, to) = (outer * n * inner + first, outer * kept * inner + first);
    // SAFETY: the call was checked to have memory of these sizes, aligned as a device's regions are; the slice of
    // the scratch memory is this task's, and holds `together` rows of items and a row that is padded, and every task has its own
    // elements of the results.
    unsafe {
        let source = work.source.cast::<T>().add(from);
        let values = if work.values.is_null() { None } else { Some(work.values.cast::<T>().add(to)) };
        let indices = if work.indices.is_null() { None } else { Some(work.indices.add(to)) };
        let scratch = work.scratch.add(slice * work.task_bytes);
        if indices.is_none() && kept == n {
            keys_only::<T>(s, lie, width, source, values, scratch.cast());
        } else {
            with_positions::<T>(s, lie, width, source, values, indices, scratch.cast());
        }
    }
}

unsafe fn keys_only<T: Sortable>(
    s: &Sorting,
    lie: Lie,
    width: usize,
    source: *const T,
    values: Option<*mut T>,
    scratch: *mut T::Key,
) {
    let Lie { n, step, .. } = lie;
    let Some(values) = values else { return };
    // SAFETY: the caller's: all of the scratch memory is this task's, and any bits are a key.
    let (keys, other) = unsafe {
        (
            std::slice::from_raw_parts_mut(scratch, n * width),
            std::slice::from_raw_parts_mut(scratch.add(n * width), room(n)),
        )
    };
    if step == 1 {
        // SAFETY: the caller's: a row lies together, and its elements have the bits of keys.
        let signs = unsafe {
            keys.as_mut_ptr().copy_from_nonoverlapping(source.cast(), n);
            at_best_level(ToKeys::<T> { keys, descending: s.descending })
        };
        sort_keys(keys, other);
        at_best_level(ToElements::<T> { keys, descending: s.descending });
        // SAFETY: as above.
        unsafe {
            values.copy_from_nonoverlapping(keys.as_ptr().cast(), n);
            if signs {
                restore_zeros(source, values, n, 1);
            }
        }
        return;
    }
    for at in 0..n {
        for row in 0..width {
            // SAFETY: the caller's.
            keys[row * n + at] = key_of(unsafe { *source.add(at * step + row) }, s.descending);
        }
    }
    keys.chunks_exact_mut(n.max(1)).for_each(|row| sort_keys(row, other));
    for at in 0..n {
        for row in 0..width {
            // SAFETY: the caller's.
            unsafe { *values.add(at * step + row) = element_of(keys[row * n + at], s.descending) };
        }
    }
    let zero = key_of(T::zero(false), s.descending);
    for row in 0..if T::ZEROS { width } else { 0 } {
        if keys[row * n..(row + 1) * n].binary_search(&zero).is_ok() {
            // SAFETY: the caller's.
            unsafe { restore_zeros(source.add(row), values.add(row), n, step) };
        }
    }
}

/// Gives a row that is in order already as it is; false if it is not.
unsafe fn in_order<T: Sortable>(
    s: &Sorting,
    Lie { n, kept, .. }: Lie,
    source: *const T,
    values: Option<*mut T>,
    indices: Option<*mut i64>,
) -> bool {
    // SAFETY: the caller's: the row lies together, and so do its results.
    unsafe {
        let row = std::slice::from_raw_parts(source, n);
        if !at_best_level(InOrder { source: row, descending: s.descending }) {
            return false;
        }
        if let Some(values) = values {
            values.copy_from_nonoverlapping(source, kept);
        }
        if let Some(indices) = indices {
            (0..kept).for_each(|at| *indices.add(at) = at as i64);
        }
    }
    true
}

unsafe fn with_positions<T: Sortable>(
    s: &Sorting,
    lie: Lie,
    width: usize,
    source: *const T,
    values: Option<*mut T>,
    indices: Option<*mut i64>,
    scratch: *mut <T::Key as Key>::Placed,
) {
    let Lie { n, kept, step } = lie;
    // SAFETY: the caller's: a row lies together, and so do its results.
    if step == 1 && unsafe { in_order(s, lie, source, values, indices) } {
        return;
    }
    // SAFETY: the caller's: all of the scratch memory is this task's, and any bits are a key with a position.
    let (items, other) = unsafe {
        (
            std::slice::from_raw_parts_mut(scratch, n * width),
            std::slice::from_raw_parts_mut(scratch.add(n * width), room(n)),
        )
    };
    let few = step == 1 && few::pays(kept, n);
    if step == 1 {
        // SAFETY: the caller's: a row lies together.
        let source = unsafe { std::slice::from_raw_parts(source, n) };
        let descending = s.descending;
        match few {
            true => at_best_level(Few { source, descending, kept, room: &mut *items }),
            false => at_best_level(Placing { source, placed: &mut *items, descending }),
        }
    }
    for at in 0..if step == 1 { 0 } else { n } {
        for row in 0..width {
            // SAFETY: the caller's.
            let key = key_of(unsafe { *source.add(at * step + row) }, s.descending);
            items[row * n + at] = key.with(at as u32);
        }
    }
    if kept == 0 {
        return;
    }
    for row in items.chunks_exact_mut(n).take(if few { 0 } else { width }) {
        if kept < n / 8 {
            row.select_nth_unstable(kept - 1);
            // The selection moved equal keys, so their positions count.
            row[..kept].sort_unstable();
        } else {
            sort_placed::<T::Key>(row, other);
        }
    }
    for at in 0..kept {
        for row in 0..width {
            let position = T::Key::of_placed(items[row * n + at]).1 as usize;
            // SAFETY: the caller's; positions are those of elements.
            unsafe {
                if let Some(values) = values {
                    *values.add(at * step + row) = *source.add(position * step + row);
                }
                if let Some(indices) = indices {
                    *indices.add(at * step + row) = position as i64;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workalike_kernels::DType;

    fn argsort(shape: [u64; 3]) -> Sorting {
        let kept = shape[1];
        Sorting {
            dtype: DType::F32,
            shape,
            kept,
            descending: false,
            values: false,
            indices: true,
            only: None,
        }
    }

    #[test]
    fn as_many_tasks_as_run_at_a_time_have_scratch_memory() {
        let long = argsort([2, 50_000_000, 1]);
        assert_eq!(scratch(&long, 64), Some(2 * task_bytes(&long)));
        let many = argsort([100, 4096, 1]);
        assert_eq!(scratch(&many, 64), Some(64 * task_bytes(&many)));
        assert_eq!(scratch(&many, 1), Some(task_bytes(&many)));
    }

    #[test]
    fn tasks_keep_to_the_scratch_memory_that_was_planned() {
        for (rows, threads, n) in [(2, 8, 4096), (9, 2, 1000), (9, 1, 1000)] {
            let what = argsort([rows as u64, n as u64, 1]);
            let bytes = scratch(&what, threads).unwrap() as usize;
            let source: Vec<f32> = (0..rows * n).map(|i| (i * 37 % n) as f32).collect();
            let mut indices = vec![-1i64; rows * n];
            // What lies behind the scratch memory belongs to others.
            let mut memory = vec![u64::MAX; bytes / 8 + threads * task_bytes(&what) as usize / 8];
            let starts =
                [source.as_ptr().cast_mut().cast(), indices.as_mut_ptr().cast(), memory.as_mut_ptr().cast()];
            let sorter = Sorter::new(&what, &starts, threads);
            // SAFETY: the memory is there, with more behind it, and nobody else uses it.
            assert!(unsafe { sorter.run(&Pool::shared(threads)) });
            assert!(memory[bytes / 8..].iter().all(|word| *word == u64::MAX), "beyond {bytes} bytes");
            for (row, found) in source.chunks(n).zip(indices.chunks(n)) {
                let sorted: Vec<f32> = found.iter().map(|at| row[*at as usize]).collect();
                assert!(sorted.is_sorted() && found.iter().sum::<i64>() == (n * (n - 1) / 2) as i64);
            }
        }
    }
}
