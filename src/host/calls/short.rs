//! Short rows sorted side by side: each row has a lane of a sorting network, and a task has as many rows as there are lanes. Where
//! positions are wanted, or only the first elements, a lane has keys with their positions.

use super::super::pool::Pool;
use super::Sharing;
use super::keys::{Key, Sortable, ToElements, ToKeys, by_dtype, key_of, restore_zeros};
use super::network::{Network, lanes};
use crate::kernels::call::Sorting;
use crate::kernels::level::{Loop, run as at_best_level};

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
    indices: *mut i64,
    scratch: *mut u8,
    sharing: Sharing,
}

// SAFETY: as for the call that it is part of.
unsafe impl Sync for ShortSorter {}

/// Rows that lie side by side, and bytes of an element of each of them.
fn lanes_of(s: &Sorting) -> Option<(u64, u64)> {
    let (lanes, words) = match (is_placed(s), s.dtype.size()) {
        (true, 1 | 2) => (lanes::<u32>(), 1),
        (true, 4) => (lanes::<u64>(), 1),
        (true, _) => (lanes::<u64>(), 2),
        (false, 1) => (lanes::<u8>(), 1),
        (false, 2) => (lanes::<u16>(), 1),
        (false, 4) => (lanes::<u32>(), 1),
        (false, _) => (lanes::<u64>(), 1),
    };
    lanes.map(|lanes| (lanes as u64, words * VECTOR))
}

/// Whether positions tell what the results are.
fn is_placed(s: &Sorting) -> bool {
    s.indices || s.kept < s.shape[1]
}

/// Whether enough rows lie side by side.
pub(super) fn pays(s: &Sorting) -> bool {
    let [outer, n, inner] = s.shape;
    let rows = if inner == 1 { outer } else { inner };
    let enough = |(lanes, _): (u64, u64)| (2..=SHORT).contains(&n) && 4 * rows >= lanes && rows > 1;
    lanes_of(s).is_some_and(enough)
}

fn sharing(s: &Sorting, threads: usize) -> Sharing {
    let (lanes, _) = lanes_of(s).unwrap_or((1, VECTOR));
    let [outer, n, inner] = s.shape;
    let tasks = if inner == 1 { outer.div_ceil(lanes) } else { outer * inner.div_ceil(lanes) };
    Sharing::new(tasks as usize, threads, outer * n * inner >= SHARED)
}

pub(super) fn scratch(s: &Sorting, threads: usize) -> u64 {
    let (_, bytes) = lanes_of(s).unwrap_or((1, VECTOR));
    s.shape[1] * bytes * sharing(s, threads).slices() as u64
}

impl ShortSorter {
    pub(super) fn new(s: &Sorting, starts: &[*mut u8], threads: usize) -> ShortSorter {
        let each = if is_placed(s) { by_dtype!(s.dtype, placed_rows) } else { by_dtype!(s.dtype, rows) };
        let (nowhere, source, scratch) = (std::ptr::null_mut(), starts[0], starts[starts.len() - 1]);
        let values = if s.values { starts[1] } else { nowhere };
        let indices = if s.indices { starts[1 + usize::from(s.values)] } else { nowhere }.cast();
        let sharing = sharing(s, threads);
        ShortSorter { each, what: s.clone(), source, values, indices, scratch, sharing }
    }

    pub(super) unsafe fn run(&self, pool: &Pool) -> bool {
        // SAFETY: the caller's; each task has a slice of the scratch memory meanwhile, and its part of the results.
        self.sharing.run(pool, &|task, slice| unsafe { (self.each)(self, task, slice) })
    }
}

/// The rows of a task.
struct Side {
    /// The first row's first element, in rows of `n` and of `kept` elements.
    from: usize,
    to: usize,
    width: usize,
    /// From element to element of a row, and from row to row of `n` and of `kept` elements.
    step: usize,
    apart: [usize; 2],
}

impl Side {
    fn new(s: &Sorting, task: usize, lanes: usize) -> Side {
        let [outer, n, inner] = s.shape.map(|e| e as usize);
        let kept = s.kept as usize;
        if inner == 1 {
            let first = task * lanes;
            let width = lanes.min(outer - first);
            return Side { from: first * n, to: first * kept, width, step: 1, apart: [n, kept] };
        }
        let blocks = inner.div_ceil(lanes);
        let (block, first) = (task / blocks * inner, task % blocks * lanes);
        let width = lanes.min(inner - first);
        Side { from: block * n + first, to: block * kept + first, width, step: inner, apart: [1; 2] }
    }
}

unsafe fn rows<T: Sortable>(work: &ShortSorter, task: usize, slice: usize) {
    let (n, lanes, descending) = (work.what.shape[1] as usize, T::Key::LANES, work.what.descending);
    let Side { from, width, step, apart: [apart, _], .. } = Side::new(&work.what, task, lanes);
    // SAFETY: the call was checked to have memory of these sizes, aligned as a device's regions are; the slice of
    // the scratch memory is this task's, and holds `n` vectors, in which any bits are keys, and every task has its own elements of the results.
    unsafe {
        let source = work.source.cast::<T>().add(from);
        let values = work.values.cast::<T>().add(from);
        let columns = work.scratch.add(slice * n * VECTOR as usize).cast::<T::Key>();
        if apart == 1 {
            let bits = source.cast::<T::Key>();
            (0..n)
                .for_each(|at| columns.add(at * lanes).copy_from_nonoverlapping(bits.add(at * step), width));
        } else {
            for row in 0..width {
                let bits = source.cast::<T::Key>().add(row * apart);
                (0..n).for_each(|at| *columns.add(at * lanes + row) = *bits.add(at));
            }
        }
        let keys = std::slice::from_raw_parts_mut(columns, n * lanes);
        let signs = at_best_level(ToKeys::<T> { keys, descending });
        T::Key::columns(keys);
        at_best_level(ToElements::<T> { keys, descending });
        if apart == 1 {
            let bits = values.cast::<T::Key>();
            (0..n)
                .for_each(|at| bits.add(at * step).copy_from_nonoverlapping(columns.add(at * lanes), width));
        } else {
            for row in 0..width {
                let bits = values.cast::<T::Key>().add(row * apart);
                (0..n).for_each(|at| *bits.add(at) = *columns.add(at * lanes + row));
            }
        }
        if signs {
            (0..width)
                .for_each(|row| restore_zeros(source.add(row * apart), values.add(row * apart), n, step));
        }
    }
}

/// The elements of rows become words of keys and positions, side by side.
struct Laying<'a, T: Sortable> {
    source: *const T,
    side: &'a Side,
    n: usize,
    columns: *mut <T::Key as Key>::Word,
    descending: bool,
}

impl<T: Sortable> Loop for Laying<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Laying { source, side: &Side { width, step, apart: [apart, _], .. }, n, columns, descending } =
            self;
        let (words, lanes) = (T::Key::WORDS, <T::Key as Key>::Word::LANES);
        // SAFETY: whoever made this has these elements, and room for their words.
        let put = |row: usize, at: usize| unsafe {
            let key = key_of(*source.add(at * step + row * apart), descending);
            let place = columns.add(at * words * lanes + row);
            let [first, second] = key.words(at);
            *place = first;
            if words == 2 {
                *place.add(lanes) = second;
            }
        };
        if apart == 1 {
            (0..n).for_each(|at| (0..width).for_each(|row| put(row, at)));
        } else {
            (0..width).for_each(|row| (0..n).for_each(|at| put(row, at)));
        }
    }
}

unsafe fn placed_rows<T: Sortable>(work: &ShortSorter, task: usize, slice: usize) {
    let s = &work.what;
    let (n, kept, descending) = (s.shape[1] as usize, s.kept as usize, s.descending);
    let (words, lanes) = (T::Key::WORDS, <T::Key as Key>::Word::LANES);
    let side = Side::new(s, task, lanes);
    let Side { from, to, width, step, apart: [apart, results_apart] } = side;
    // SAFETY: the call was checked to have memory of these sizes, aligned as a device's regions are; the slice of the scratch
    // memory is this task's, and holds `n` rows of words, of which any bits are some, and every task has its own elements of the
    // results. Positions are those of elements.
    unsafe {
        let source = work.source.cast::<T>().add(from);
        let columns = work.scratch.add(slice * n * words * VECTOR as usize).cast::<<T::Key as Key>::Word>();
        at_best_level(Laying { source, side: &side, n, columns, descending });
        T::Key::sort_columns(std::slice::from_raw_parts_mut(columns, n * words * lanes));
        let position =
            |row: usize, at: usize| T::Key::position(*columns.add((at * words + words - 1) * lanes + row));
        let each = |place: &dyn Fn(usize, usize)| {
            if apart == 1 {
                (0..kept).for_each(|at| (0..width).for_each(|row| place(row, at)));
            } else {
                (0..width).for_each(|row| (0..kept).for_each(|at| place(row, at)));
            }
        };
        if !work.indices.is_null() {
            let indices = work.indices.add(to);
            each(&|row, at| *indices.add(at * step + row * results_apart) = position(row, at) as i64);
        }
        if !work.values.is_null() {
            let values = work.values.cast::<T>().add(to);
            each(&|row, at| {
                *values.add(at * step + row * results_apart) =
                    *source.add(position(row, at) * step + row * apart);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

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

    /// Values and positions of the first `kept` of each row are those of a stable sort.
    fn check<T: Sortable + Default>(dtype: DType, make: impl Fn(usize) -> T) {
        for (shape, kept) in
            [([25, 40, 1], 40), ([1, 25, 40], 25), ([9, 17, 9], 5), ([3, 2, 70], 1), ([70, 300, 1], 300)]
        {
            let [outer, n, inner] = shape.map(|e| e as usize);
            let x: Vec<T> = (0..outer * n * inner).map(&make).collect();
            for descending in [false, true] {
                let (shape, rows) = (shape, outer * inner);
                let what =
                    Sorting { dtype, shape, kept, descending, values: true, indices: true, only: None };
                if !pays(&what) {
                    continue;
                }
                let kept = kept as usize;
                let (mut values, mut indices) = (vec![T::default(); kept * rows], vec![-1i64; kept * rows]);
                let mut memory = vec![0u64; scratch(&what, 2) as usize / 8];
                let starts = [
                    x.as_ptr().cast_mut().cast(),
                    values.as_mut_ptr().cast(),
                    indices.as_mut_ptr().cast(),
                    memory.as_mut_ptr().cast(),
                ];
                // SAFETY: all is as large as the call says, and nobody else uses it.
                assert!(unsafe { ShortSorter::new(&what, &starts, 2).run(&Pool::shared(2)) });
                for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
                    let row: Vec<T> = (0..n).map(|k| x[(o * n + k) * inner + i]).collect();
                    let mut want: Vec<usize> = (0..n).collect();
                    want.sort_by_key(|&at| key_of(row[at], descending));
                    for (k, &at) in want.iter().take(kept).enumerate() {
                        let place = (o * kept + k) * inner + i;
                        assert_eq!(indices[place], at as i64, "{dtype} {shape:?} {descending} {o} {i} {k}");
                        assert!(values[place].bits() == row[at].bits(), "{dtype} {shape:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn positions_are_those_of_a_stable_sort() {
        let number = |at: usize| (at * 7919 % 101) as i64 - 50;
        check(DType::I8, |at| number(at) as i8);
        check(DType::U16, |at| number(at) as u16);
        check(DType::I32, |at| number(at) as i32);
        check(DType::I64, |at| number(at) << 50 | (at % 3) as i64);
        check(DType::F64, |at| match at % 7 {
            0 => -0.0,
            1 => f64::NAN,
            2 => 0.0,
            _ => number(at) as f64,
        });
    }
}
