//! Results of sorts against the standard library's stable sort.

use super::*;
use bytemuck::{Pod, bytes_of};
use half::{bf16, f16};
use std::cmp::Ordering;
use workalike_kernels::DType;

/// A sort of float32 that returns indices only.
fn argsort(shape: [u64; 3]) -> Sorting {
    let (dtype, kept) = (DType::F32, shape[1]);
    Sorting { dtype, shape, kept, descending: false, values: false, indices: true, only: None }
}

fn median(rows: u64, n: u64) -> Sorting {
    let only = Some(vec![n / 2]);
    Sorting { values: true, indices: false, only, ..argsort([rows, n, 1]) }
}

/// Whether two elements are equal in order, and zeros also in sign.
fn is_same<T: Sortable + Pod>(a: &T, b: &T) -> bool {
    a.key() == b.key() && (T::ZERO_KEY != Some(a.key()) || bytes_of(a) == bytes_of(b))
}

/// Checks the requested results of this call against a stable sort of each row.
fn check<T: Sortable + Pod>(x: &[T], what: &Sorting, order: impl Fn(&T, &T) -> Ordering) {
    let [outer, n, inner] = what.shape.map(|e| e as usize);
    let kept = what.kept as usize;
    let order = |a: &T, b: &T| if what.descending { order(b, a) } else { order(a, b) };
    for threads in [1, 2] {
        let all = outer * kept * inner;
        let (mut values, mut indices) = (vec![T::zeroed(); all], vec![-1i64; all]);
        let used = scratch(what, threads).unwrap() as usize / 16;
        // The memory behind the scratch memory must not change.
        let mut memory = vec![u128::MAX; used + 64];
        let mut starts: Vec<*mut u8> = vec![x.as_ptr().cast_mut().cast()];
        starts.extend(what.values.then(|| values.as_mut_ptr().cast::<u8>()));
        starts.extend(what.indices.then(|| indices.as_mut_ptr().cast::<u8>()));
        starts.push(memory.as_mut_ptr().cast());
        // SAFETY: all memory is as large as the call says, and no other thread uses it.
        assert!(unsafe { Sorter::new(what, &starts, threads).run(&ThreadPool::shared(threads)) });
        assert!(memory[used..].iter().all(|word| *word == u128::MAX), "{what:?}");
        let places: Vec<usize> = match selected(what) {
            Some(only) => only.iter().map(|&place| place as usize).collect(),
            None => (0..kept).collect(),
        };
        for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
            let row: Vec<T> = (0..n).map(|k| x[(o * n + k) * inner + i]).collect();
            let mut want: Vec<usize> = (0..n).collect();
            want.sort_by(|&a, &b| order(&row[a], &row[b]));
            for &k in &places {
                let at = (o * kept + k) * inner + i;
                let value = !what.values || is_same(&values[at], &row[want[k]]);
                let index = !what.indices || indices[at] == want[k] as i64;
                assert!(value && index, "{what:?}: row {o} {i}, place {k}, {threads} threads");
            }
        }
    }
}

/// All sorts of this shape: values, indices, both; all elements, the first ones, single order statistics;
/// ascending and descending.
fn check_all<T: Sortable + Pod>(
    dtype: DType,
    shape: [u64; 3],
    make: impl Fn(usize) -> T,
    order: impl Fn(&T, &T) -> Ordering + Copy,
) {
    let x: Vec<T> = (0..shape.iter().product::<u64>() as usize).map(make).collect();
    let n = shape[1];
    for descending in [false, true] {
        let whole = Sorting { dtype, descending, ..argsort(shape) };
        for (values, indices) in [(true, false), (false, true), (true, true)] {
            for kept in [n, n / 10, n / 40, 1.min(n), n.saturating_sub(1), 0] {
                check(&x, &Sorting { values, indices, kept, ..whole.clone() }, order);
            }
        }
        for only in [vec![], vec![n / 2], vec![0, 1, n.saturating_sub(1)], vec![n / 3, n / 2, n / 2 + 1]] {
            let what = Sorting { values: true, indices: false, only: Some(only), ..whole.clone() };
            if selected(&what).is_some() {
                check(&x, &what, order);
            }
        }
    }
}

/// NaNs are equal to each other and greater than all numbers.
fn order<T: Copy + Into<f64>>(a: &T, b: &T) -> Ordering {
    let (a, b): (f64, f64) = ((*a).into(), (*b).into());
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

const SHAPES: [[u64; 3]; 9] = [
    [1, 5003, 1],
    [25, 40, 1],
    [1, 25, 40],
    [3, 17, 9],
    [300, 2, 1],
    [2, 0, 3],
    [0, 5, 1],
    [2, 50, 70],
    [3, 1500, 1],
];

fn number(at: usize) -> i64 {
    (at * 7919 % 101) as i64 - 50
}

#[test]
fn integers_are_in_the_order_of_a_stable_sort() {
    for shape in SHAPES {
        check_all(DType::I8, shape, |at| number(at) as i8, i8::cmp);
        check_all(DType::U16, shape, |at| number(at) as u16, u16::cmp);
        check_all(DType::I32, shape, |at| number(at) as i32, i32::cmp);
        check_all(DType::I64, shape, |at| number(at) << 50 | (at % 3) as i64, i64::cmp);
        // Ascending, descending, and all equal.
        check_all(DType::U64, shape, |at| at as u64, u64::cmp);
        check_all(DType::U32, shape, |at| u32::MAX - at as u32, u32::cmp);
        check_all(DType::Bool, shape, |_| 1u8, u8::cmp);
    }
}

#[test]
fn zeros_keep_their_order_and_nan_are_last() {
    let make = |at: usize| match at * 37 % 7 {
        0 => -0.0,
        1 => f64::NAN,
        2 => 0.0,
        3 => f64::NEG_INFINITY,
        4 => f64::INFINITY,
        _ => number(at) as f64,
    };
    for shape in SHAPES {
        check_all(DType::F64, shape, make, order);
        check_all(DType::F32, shape, |at| make(at) as f32, order);
        check_all(DType::F16, shape, |at| f16::from_f64(make(at)), order);
        check_all(DType::BF16, shape, |at| bf16::from_f64(make(at)), order);
    }
}

#[test]
fn long_rows_of_16_bits_are_sorted_by_counting() {
    let zeros = |at: usize| if at.is_multiple_of(5) { -0.0 } else { number(at) as f64 % 7.0 };
    for shape in [[1, 9000, 1], [2, 8200, 3]] {
        assert_eq!(method(&Sorting { dtype: DType::F16, ..argsort(shape) }), SortAlgorithm::Counting);
        check_all(DType::I16, shape, |at| (at * 7919 % 65536) as u16 as i16, i16::cmp);
        check_all(DType::U16, shape, |at| number(at) as u16, u16::cmp);
        check_all(DType::F16, shape, |at| f16::from_f64(zeros(at)), order);
        check_all(
            DType::BF16,
            shape,
            |at| if at % 99 == 0 { bf16::NAN } else { bf16::from_f64(zeros(at)) },
            order,
        );
    }
}

#[test]
fn the_first_elements_of_several_blocks_are_found() {
    let makes: [fn(usize) -> f32; 3] = [|at| at as f32, |at| -(at as f32), |at| (at * 7919 % 3001) as f32];
    for make in makes {
        let x: Vec<f32> = (0..6000).map(make).collect();
        for (kept, descending) in [(1, false), (3, true), (100, false), (300, true)] {
            let what = Sorting { kept, descending, values: true, ..argsort([2, 3000, 1]) };
            assert_eq!(method(&what) == SortAlgorithm::TopK, kept < 300);
            check(&x, &what, order);
        }
    }
}

#[test]
fn concurrent_tasks_have_scratch_memory() {
    let long = argsort([2, 50_000_000, 1]);
    assert_eq!(scratch(&long, 64), Some(2 * row_bytes(&long)));
    let many = argsort([100, 4096, 1]);
    assert_eq!(scratch(&many, 64), Some(64 * row_bytes(&many)));
    assert_eq!(scratch(&many, 1), Some(row_bytes(&many)));
}

#[test]
fn rows_may_be_longer_than_positions_of_32_bits_where_none_are_kept() {
    assert!(scratch(&median(1, 1 << 33), 2).is_some());
    assert!(scratch(&argsort([1, 1 << 33, 1]), 2).is_none());
}

#[test]
fn a_few_places_are_selected() {
    assert!(selected(&median(3, 100)).is_some());
    let many = Sorting { only: Some((0..9).collect()), ..median(3, 100) };
    assert!(selected(&many).is_none() && scratch(&many, 2).is_none());
    assert!(selected(&median(3, 3)).is_none());
}
