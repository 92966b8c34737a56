//! The elements of short rows, sorted side by side: each row has a lane of a sorting network, and a task has as many rows as there are
//! lanes.

use super::super::pool::Pool;
use super::keys::{Sortable, ToElements, ToKeys, by_dtype, restore_zeros};
use super::network::{Network, lanes};
use super::share;
use crate::dtype::DType;
use crate::kernels::call::Sorting;
use crate::kernels::level::run as at_best_level;

/// Rows are short up to here: what a task sorts stays in the first-level cache.
const SHORT: u64 = 1 << 9;
/// Elements from which threads share the work.
const SHARED: u64 = 1 << 13;
/// Bytes of a row of lanes.
const VECTOR: u64 = 64;

/// A sort with memory bound.
pub(super) struct ShortSorter {
    each: unsafe fn(&ShortSorter, usize, usize),
    what: Sorting,
    source: *const u8,
    values: *mut u8,
    scratch: *mut u8,
    threads: usize,
}

// SAFETY: as for the call that it is part of.
unsafe impl Sync for ShortSorter {}

fn lanes_of(dtype: DType) -> Option<u64> {
    let found = match dtype.size() {
        1 => lanes::<u8>(),
        2 => lanes::<u16>(),
        4 => lanes::<u32>(),
        _ => lanes::<u64>(),
    };
    found.map(|lanes| lanes as u64)
}

/// Whether enough rows lie side by side.
pub(super) fn pays(s: &Sorting) -> bool {
    let [outer, n, inner] = s.shape;
    let rows = if inner == 1 { outer } else { inner };
    let enough = |lanes: u64| (2..=SHORT).contains(&n) && 4 * rows >= lanes && rows > 1;
    s.values && !s.indices && s.kept == n && lanes_of(s.dtype).is_some_and(enough)
}

fn tasks(s: &Sorting) -> u64 {
    let lanes = lanes_of(s.dtype).unwrap_or(1);
    let [outer, _, inner] = s.shape;
    if inner == 1 { outer.div_ceil(lanes) } else { outer * inner.div_ceil(lanes) }
}

fn is_shared(s: &Sorting, threads: usize) -> bool {
    threads > 1 && tasks(s) > 1 && s.shape.iter().product::<u64>() >= SHARED
}

pub(super) fn scratch(s: &Sorting, threads: usize) -> u64 {
    s.shape[1] * VECTOR * if is_shared(s, threads) { threads as u64 } else { 1 }
}

impl ShortSorter {
    pub(super) fn new(s: &Sorting, starts: &[*mut u8], threads: usize) -> ShortSorter {
        let each = by_dtype!(s.dtype, rows);
        let (source, values, scratch) = (starts[0], starts[1], starts[2]);
        ShortSorter { each, what: s.clone(), source, values, scratch, threads }
    }

    pub(super) unsafe fn run(&self, pool: &Pool) -> bool {
        let tasks = tasks(&self.what) as usize;
        let threads = if is_shared(&self.what, self.threads) { self.threads } else { 1 };
        // SAFETY: the caller's; each worker has scratch memory of its own, each task its part of the results.
        share(pool, tasks, threads, &|task, worker| unsafe { (self.each)(self, task, worker) })
    }
}

unsafe fn rows<T: Sortable>(work: &ShortSorter, task: usize, worker: usize) {
    let [outer, n, inner] = work.what.shape.map(|e| e as usize);
    let (lanes, descending) = (T::Key::LANES, work.what.descending);
    // Where the task's rows begin, how many there are, and from element to element and from row to row.
    let (from, width, step, apart) = if inner == 1 {
        (task * lanes * n, lanes.min(outer - task * lanes), 1, n)
    } else {
        let blocks = inner.div_ceil(lanes);
        let first = task % blocks * lanes;
        (task / blocks * n * inner + first, lanes.min(inner - first), inner, 1)
    };
    // SAFETY: the call was checked to have memory of these sizes, aligned as a device's regions are; every worker has its part
    // of the scratch memory, which holds `n` vectors, in which any bits are keys, and every task its own elements of the results.
    unsafe {
        let source = work.source.cast::<T>().add(from);
        let values = work.values.cast::<T>().add(from);
        let room = work.scratch.add(worker.min(work.threads - 1) * n * VECTOR as usize).cast::<T::Key>();
        if apart == 1 {
            let bits = source.cast::<T::Key>();
            (0..n).for_each(|at| room.add(at * lanes).copy_from_nonoverlapping(bits.add(at * step), width));
        } else {
            for row in 0..width {
                let bits = source.cast::<T::Key>().add(row * apart);
                (0..n).for_each(|at| *room.add(at * lanes + row) = *bits.add(at));
            }
        }
        let keys = std::slice::from_raw_parts_mut(room, n * lanes);
        let signs = at_best_level(ToKeys::<T> { keys, descending });
        T::Key::columns(keys);
        at_best_level(ToElements::<T> { keys, descending });
        if apart == 1 {
            let bits = values.cast::<T::Key>();
            (0..n).for_each(|at| bits.add(at * step).copy_from_nonoverlapping(room.add(at * lanes), width));
        } else {
            for row in 0..width {
                let bits = values.cast::<T::Key>().add(row * apart);
                (0..n).for_each(|at| *bits.add(at) = *room.add(at * lanes + row));
            }
        }
        if signs {
            (0..width)
                .for_each(|row| restore_zeros(source.add(row * apart), values.add(row * apart), n, step));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows sorted by this call.
    fn sorted<T: Sortable + Default>(
        dtype: DType,
        x: &[T],
        shape: [u64; 3],
        descending: bool,
    ) -> Option<Vec<T>> {
        let what =
            Sorting { dtype, shape, kept: shape[1], descending, values: true, indices: false, only: None };
        if !pays(&what) {
            return None;
        }
        let mut values = vec![T::default(); x.len()];
        let mut memory = vec![0u64; scratch(&what, 2) as usize / 8];
        let starts = [x.as_ptr().cast_mut().cast(), values.as_mut_ptr().cast(), memory.as_mut_ptr().cast()];
        // SAFETY: all is as large as the call says, and nobody else uses it.
        assert!(unsafe { ShortSorter::new(&what, &starts, 2).run(&Pool::shared(2)) });
        Some(values)
    }

    #[test]
    fn rows_side_by_side_are_sorted_by_themselves() {
        for shape in [[25, 40, 1], [1, 25, 40], [3, 17, 9], [200, 100, 1], [33, 2, 1]] {
            let [outer, n, inner] = shape.map(|e| e as usize);
            let x: Vec<f32> = (0..outer * n * inner)
                .map(|at| match at * 37 % 11 {
                    0 => -0.0,
                    1 => 0.0,
                    2 => f32::NAN,
                    k => (at * 7919 % 101) as f32 - 50.0 * k as f32,
                })
                .collect();
            for descending in [false, true] {
                let Some(found) = sorted(DType::F32, &x, shape, descending) else { continue };
                for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
                    let row =
                        |of: &[f32]| -> Vec<f32> { (0..n).map(|k| of[(o * n + k) * inner + i]).collect() };
                    let mut want = row(&x);
                    want.sort_by(|a, b| {
                        let order = a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
                        if descending { order.reverse() } else { order }
                    });
                    let bits = |row: Vec<f32>| -> Vec<Option<u32>> {
                        row.into_iter().map(|x| (!x.is_nan()).then_some(x.to_bits())).collect()
                    };
                    assert_eq!(bits(row(&found)), bits(want), "{shape:?} {o} {i}");
                }
            }
        }
    }
}
