//! Short rows sorted side by side: each row has a lane of a sorting network, and a task has as many rows as there are lanes. Where
//! positions are wanted, or only the first elements, a lane has keys with their positions.

use super::super::pool::Pool;
use super::Sharing;
use super::keys::{Key, Sortable, ToElements, ToKeys, by_dtype, key_of, restore_zeros};
use super::network::{BLOCK, Network, lanes};
use workalike_kernels::level::{Loop, run as at_best_level};
use workalike_kernels::library::Sorting;

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

/// Whether positions tell what the results are: also of bytes, whose words with positions are what networks take.
fn is_placed(s: &Sorting) -> bool {
    s.indices || s.kept < s.shape[1] || s.dtype.size() == 1
}

/// Whether enough rows lie side by side.
pub(super) fn pays(s: &Sorting) -> bool {
    let [outer, n, inner] = s.shape;
    let rows = if inner == 1 { outer } else { inner };
    let enough = |(lanes, bytes)| (2..=SHORT).contains(&n) && 5 * rows * VECTOR >= lanes * bytes && rows > 1;
    lanes_of(s).is_some_and(enough)
}

fn sharing(s: &Sorting, threads: usize) -> Sharing {
    let (lanes, _) = lanes_of(s).unwrap_or((1, VECTOR));
    let [outer, n, inner] = s.shape;
    let tasks = if inner == 1 { outer.div_ceil(lanes) } else { outer * inner.div_ceil(lanes) };
    Sharing::new(tasks as usize, threads, outer * n * inner >= SHARED)
}

/// Elements of a row with what fills up blocks and squares.
fn room(s: &Sorting, lanes: u64) -> u64 {
    let n = s.shape[1];
    if s.shape[2] == 1 { n.next_multiple_of(lanes) } else { filled(n as usize) as u64 }
}

/// Elements of a row with those that fill up a block.
fn filled(n: usize) -> usize {
    if n < BLOCK { n } else { n.next_multiple_of(BLOCK) }
}

pub(super) fn scratch(s: &Sorting, threads: usize) -> u64 {
    let (lanes, bytes) = lanes_of(s).unwrap_or((1, VECTOR));
    room(s, lanes) * bytes * sharing(s, threads).slices() as u64
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
    let side = Side::new(&work.what, task, lanes);
    let Side { from, width, step, apart: [apart, _], .. } = side;
    let room = room(&work.what, lanes as u64) as usize;
    // SAFETY: the call was checked to have memory of these sizes, aligned as a device's regions are; the slice of the scratch
    // memory is this task's, and holds `room` vectors, in which any bits are keys, and every task has its own elements of the results.
    unsafe {
        let (source, values) = (work.source.cast::<T>().add(from), work.values.cast::<T>().add(from));
        let first = work.scratch.add(slice * room * VECTOR as usize).cast::<T::Key>();
        let columns = std::slice::from_raw_parts_mut(first, room * lanes);
        lay(source.cast(), &side, n, columns);
        let keys = &mut columns[..n * lanes];
        let signs = at_best_level(ToKeys::<T> { keys, descending });
        columns[n * lanes..filled(n) * lanes].fill(T::Key::default().not());
        T::Key::columns(&mut columns[..filled(n) * lanes]);
        let keys = &mut columns[..n * lanes];
        at_best_level(ToElements::<T> { keys, descending });
        if apart == 1 {
            let bits = values.cast::<T::Key>();
            (0..n).for_each(|at| bits.add(at * step).copy_from_nonoverlapping(first.add(at * lanes), width));
        } else {
            for (square, at) in columns.chunks_exact_mut(lanes * lanes).zip((0..n).step_by(lanes)) {
                let bits = values.cast::<T::Key>().add(at);
                if width == lanes && n - at >= lanes {
                    T::Key::transpose_to([square.as_mut_ptr(), bits], [lanes, apart]);
                    continue;
                }
                T::Key::transpose(square, 1);
                for (row, of) in square.chunks_exact(lanes).take(width).enumerate() {
                    copy(of.as_ptr(), bits.add(row * apart), lanes, n - at);
                }
            }
        }
        if signs {
            (0..width)
                .for_each(|row| restore_zeros(source.add(row * apart), values.add(row * apart), n, step));
        }
    }
}

/// Copies as many elements as a vector has, or fewer if there are only `rest`.
///
/// # Safety
/// There are as many of both.
#[inline(always)]
unsafe fn copy<T>(from: *const T, to: *mut T, lanes: usize, rest: usize) {
    // SAFETY: the caller's; the number of bytes of a vector is known.
    unsafe {
        if rest >= lanes {
            to.cast::<[u8; VECTOR as usize]>()
                .write_unaligned(from.cast::<[u8; VECTOR as usize]>().read_unaligned());
        } else {
            to.copy_from_nonoverlapping(from, rest);
        }
    }
}

/// Lays rows side by side, as they are.
///
/// # Safety
/// There are as many elements, and room for whole squares of vectors where rows lie together.
unsafe fn lay<K: Network + Copy>(source: *const K, side: &Side, n: usize, columns: &mut [K]) {
    let lanes = K::LANES;
    let &Side { width, step, apart: [apart, _], .. } = side;
    // SAFETY: the caller's.
    unsafe {
        if apart == 1 {
            let to = columns.as_mut_ptr();
            (0..n).for_each(|at| to.add(at * lanes).copy_from_nonoverlapping(source.add(at * step), width));
            return;
        }
        for (square, at) in columns.chunks_exact_mut(lanes * lanes).zip((0..n).step_by(lanes)) {
            if width == lanes && n - at >= lanes {
                K::transpose_to([source.add(at).cast_mut(), square.as_mut_ptr()], [apart, lanes]);
                continue;
            }
            for (row, to) in square.chunks_exact_mut(lanes).take(width).enumerate() {
                copy(source.add(at + row * apart), to.as_mut_ptr(), lanes, n - at);
            }
            K::transpose(square, 1);
        }
    }
}

/// The words of the lanes that a type of elements has.
type Word<T> = <<T as Sortable>::Key as Key>::Word;

/// Elements become the words of their keys and positions: side by side, or where a row lies together, in squares that are to be
/// transposed.
struct Placing<'a, T: Sortable> {
    source: *const T,
    side: &'a Side,
    n: usize,
    columns: &'a mut [Word<T>],
    descending: bool,
}

impl<T: Sortable> Loop for Placing<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Placing { source, side: &Side { width, step, apart: [apart, _], .. }, n, columns, descending } =
            self;
        let (lanes, words) = (Word::<T>::LANES, T::Key::WORDS);
        let place = |source: &[T], to: &mut [Word<T>], position: usize, step: usize| {
            let (keys, positions) = to.split_at_mut(lanes);
            for (k, (word, x)) in keys.iter_mut().zip(source).enumerate() {
                *word = key_of(*x, descending).words(position + k * step)[0];
            }
            for (k, word) in positions.iter_mut().enumerate() {
                *word = T::Key::default().words(position + k * step)[1];
            }
        };
        // SAFETY: whoever made this has these elements.
        let elements = |at: usize, count: usize| unsafe { std::slice::from_raw_parts(source.add(at), count) };
        if step > 1 {
            for (at, to) in columns.chunks_exact_mut(words * lanes).take(n).enumerate() {
                place(elements(at * step, width), to, at, 0);
            }
            return;
        }
        for (square, at) in columns.chunks_exact_mut(lanes * words * lanes).zip((0..n).step_by(lanes)) {
            for (row, to) in square.chunks_exact_mut(words * lanes).take(width).enumerate() {
                // The number of a whole vector's elements is known.
                match n - at >= lanes {
                    true => place(elements(at + row * apart, lanes), to, at, 1),
                    false => place(elements(at + row * apart, n - at), to, at, 1),
                }
            }
        }
    }
}

/// Positions, and the elements there, from words side by side, or from squares where a row lies together.
struct Giving<'a, T: Sortable> {
    columns: &'a [Word<T>],
    side: &'a Side,
    kept: usize,
    source: *const T,
    values: Option<*mut T>,
    indices: Option<*mut i64>,
}

impl<T: Sortable> Loop for Giving<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Giving { columns, side, kept, source, values, indices } = self;
        let &Side { width, step, apart: [apart, results_apart], .. } = side;
        let (lanes, vectors) = (Word::<T>::LANES, T::Key::WORDS * Word::<T>::LANES);
        // Results from `to` on of words, the first of which tells of the element `from` and those `step` further, and each of the
        // others of elements `next` beside.
        let give = |words: &[Word<T>], to: usize, from: usize, next: usize| {
            for (k, word) in words.iter().enumerate() {
                let position = T::Key::position(*word);
                // SAFETY: whoever made this has these elements and results; positions are those of elements.
                unsafe {
                    if let Some(indices) = indices {
                        *indices.add(to + k) = position as i64;
                    }
                    if let Some(values) = values {
                        *values.add(to + k) = *source.add(from + position * step + k * next);
                    }
                }
            }
        };
        if step > 1 {
            for (at, of) in columns.chunks_exact(vectors).take(kept).enumerate() {
                give(&of[vectors - lanes..][..width], at * step, 0, 1);
            }
            return;
        }
        for (square, at) in columns.chunks_exact(lanes * vectors).zip((0..kept).step_by(lanes)) {
            for (row, of) in square.chunks_exact(vectors).take(width).enumerate() {
                let count = lanes.min(kept - at);
                give(&of[vectors - lanes..][..count], at + row * results_apart, row * apart, 0);
            }
        }
    }
}

unsafe fn placed_rows<T: Sortable>(work: &ShortSorter, task: usize, slice: usize) {
    let s = &work.what;
    let (n, kept, descending) = (s.shape[1] as usize, s.kept as usize, s.descending);
    let (lanes, words) = (Word::<T>::LANES, T::Key::WORDS);
    let (side, vectors) = (Side::new(s, task, lanes), words * lanes);
    let room = room(s, lanes as u64) as usize;
    // SAFETY: the call was checked to have memory of these sizes, aligned as a device's regions are; the slice of the scratch
    // memory is this task's, and holds `room` rows of words, of which any bits are some, and every task has its own elements of the
    // results.
    unsafe {
        let source = work.source.cast::<T>().add(side.from);
        let first = work.scratch.add(slice * room * words * VECTOR as usize).cast::<Word<T>>();
        let columns = std::slice::from_raw_parts_mut(first, room * vectors);
        let turn = |columns: &mut [Word<T>], rows: usize, from: usize| {
            let squares = if side.step == 1 { rows.div_ceil(lanes) } else { 0 };
            for square in columns.chunks_exact_mut(lanes * vectors).take(squares) {
                (from..words).for_each(|word| Word::<T>::transpose(&mut square[word * lanes..], words));
            }
        };
        at_best_level(Placing { source, side: &side, n, columns: &mut *columns, descending });
        turn(columns, n, 0);
        let rows = filled(n) * vectors;
        columns[n * vectors..rows].fill(Word::<T>::default().not());
        T::Key::sort_columns(&mut columns[..rows]);
        turn(columns, kept, words - 1);
        let values = (!work.values.is_null()).then(|| work.values.cast::<T>().add(side.to));
        let indices = (!work.indices.is_null()).then(|| work.indices.add(side.to));
        at_best_level(Giving { columns, side: &side, kept, source, values, indices });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workalike_kernels::DType;

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
