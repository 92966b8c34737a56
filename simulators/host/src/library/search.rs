//! Binary searches of several numbers at a time, in lockstep, so that their loads overlap. Elements are
//! compared by their keys. Threads share the numbers.

use super::super::pool::ThreadPool;
use super::Sharing;
use super::keys::{Sortable, by_dtype};
use std::hint::select_unpredictable;
use workalike_kernels::library::Search;

/// Numbers of a group.
const TOGETHER: usize = 16;
/// Numbers of a task.
const TASK: usize = 1 << 10;
/// Steps, of all numbers, from which threads share the work.
const SHARED: usize = 1 << 14;

/// Searches with memory bound.
pub(super) struct Searcher {
    each: unsafe fn(&Searcher, usize),
    what: Search,
    sorted: *const u8,
    asked: *const u8,
    places: *mut i64,
    sharing: Sharing,
}

// SAFETY: it is immutable. Only `run` uses the memory behind the pointers; each task writes its own results.
unsafe impl Sync for Searcher {}

impl Searcher {
    pub(super) fn new(s: &Search, starts: &[*mut u8], threads: usize) -> Searcher {
        let each = if s.right { by_dtype!(s.dtype, some, true) } else { by_dtype!(s.dtype, some, false) };
        let asked = s.asked as usize;
        let steps = (64 - s.len.leading_zeros()) as usize;
        let sharing = Sharing::new(asked.div_ceil(TASK), threads, asked.saturating_mul(steps) >= SHARED);
        let (sorted, asked, places) = (starts[0], starts[1], starts[2].cast());
        Searcher { each, what: s.clone(), sorted, asked, places, sharing }
    }

    /// # Safety
    /// Same as [`LibraryCall::run`](super::LibraryCall::run).
    pub(super) unsafe fn run(&self, pool: &ThreadPool) -> bool {
        // SAFETY: the caller guarantees the memory, and `new` chose the function for its dtype; each task
        // runs once.
        self.sharing.run(pool, &|task, _| unsafe { (self.each)(self, task) })
    }
}

/// The searches of a task.
///
/// # Safety
/// The operands that `work` was made with are as [`LibraryCall::run`](super::LibraryCall::run) needs them,
/// with elements of `T`. The task exists, and no other thread uses its results.
unsafe fn some<T: Sortable, const RIGHT: bool>(work: &Searcher, task: usize) {
    let (len, first) = (work.what.len as usize, task * TASK);
    let count = TASK.min(work.what.asked as usize - first);
    // SAFETY: the caller guarantees operands of these sizes, alive and aligned, and that no other thread uses
    // the task's results. A task begins before the last number and ends there at the latest.
    let (sorted, asked, places) = unsafe {
        (
            std::slice::from_raw_parts(work.sorted.cast::<T>(), len),
            std::slice::from_raw_parts(work.asked.cast::<T>().add(first), count),
            std::slice::from_raw_parts_mut(work.places.add(first), count),
        )
    };
    for (asked, places) in asked.chunks(TOGETHER).zip(places.chunks_mut(TOGETHER)) {
        let mut keys = [T::Key::default(); TOGETHER];
        keys.iter_mut().zip(asked).for_each(|(key, x)| *key = x.key());
        let found = search::<T, RIGHT>(sorted, &keys);
        places.iter_mut().zip(found).for_each(|(place, found)| *place = found as i64);
    }
}

/// The number of elements before each key.
#[inline(always)]
fn search<T: Sortable, const RIGHT: bool>(sorted: &[T], keys: &[T::Key; TOGETHER]) -> [usize; TOGETHER] {
    let mut places = [0; TOGETHER];
    if sorted.is_empty() {
        return places;
    }
    let before = |at: usize, key: T::Key| {
        // SAFETY: `at` is within the remaining range of the search, which lies in `sorted`.
        let element = unsafe { sorted.get_unchecked(at) }.key();
        if RIGHT { element <= key } else { element < key }
    };
    let mut left = sorted.len();
    while left > 1 {
        let half = left / 2;
        for (place, &key) in places.iter_mut().zip(keys) {
            // The outcome is unpredictable, so this is a conditional move.
            *place = select_unpredictable(before(*place + half - 1, key), *place + half, *place);
        }
        left -= half;
    }
    places.iter_mut().zip(keys).for_each(|(place, &key)| *place += usize::from(before(*place, key)));
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;
    use workalike_kernels::DType;

    fn found<T: Copy>(dtype: DType, sorted: &[T], asked: &[T], right: bool) -> Vec<i64> {
        let what = Search { dtype, len: sorted.len() as u64, asked: asked.len() as u64, right };
        let mut places = vec![-1i64; asked.len()];
        let starts =
            [sorted.as_ptr().cast_mut().cast(), asked.as_ptr().cast_mut().cast(), places.as_mut_ptr().cast()];
        // SAFETY: the vectors are as large as the op says, and no other thread uses them.
        assert!(unsafe { Searcher::new(&what, &starts, 2).run(&ThreadPool::shared(2)) });
        places
    }

    #[test]
    fn positions_are_insertion_points() {
        for len in [0usize, 1, 2, 3, 7, 64, 100, 1000] {
            let mut sorted: Vec<f64> = (0..len).map(|at| (at / 3) as f64 - 20.0).collect();
            // Zeros of both signs are equal, and NaNs are last.
            sorted.iter_mut().filter(|x| **x == 0.0).step_by(2).for_each(|x| *x = -0.0);
            sorted.iter_mut().skip(90).take(if len == 100 { 10 } else { 0 }).for_each(|x| *x = f64::NAN);
            let asked: Vec<f64> = (0..3000)
                .map(|at| if at % 50 == 7 { f64::NAN } else { (at * 37 % 800) as f64 / 2.0 - 25.0 })
                .chain([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY])
                .collect();
            for right in [false, true] {
                let before = |a: f64, b: f64| a < b || (b.is_nan() && !a.is_nan());
                let place = |x: f64| {
                    sorted.partition_point(|&a| if right { !before(x, a) } else { before(a, x) }) as i64
                };
                let want: Vec<i64> = asked.iter().map(|&x| place(x)).collect();
                assert_eq!(found(DType::F64, &sorted, &asked, right), want, "{len} {right}");
                let halves = |x: &[f64]| x.iter().map(|&x| f16::from_f64(x)).collect::<Vec<_>>();
                assert_eq!(
                    found(DType::F16, &halves(&sorted), &halves(&asked), right),
                    want,
                    "{len} {right}"
                );
            }
        }
        let sorted: Vec<i8> = (-100..100).map(|at| at / 2).collect();
        assert_eq!(found(DType::I8, &sorted, &[-128, -1, 1, 127], false), [0, 97, 102, 200]);
        assert_eq!(found(DType::I8, &sorted, &[-128, -1, 1, 127], true), [0, 99, 104, 200]);
    }
}
