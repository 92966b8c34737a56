//! Scatters against a loop over the points.

use super::*;
use bytemuck::Pod;
use half::{bf16, f16};

/// A scatter of float32 sums.
fn sums(points: u64, rows: u64, width: u64) -> Scatter {
    Scatter {
        dtype: DType::F32,
        fold: Some(Fold::Sum),
        points,
        rows,
        width,
        each_row: true,
        each_column: true,
    }
}

/// Small numbers that are not in order.
fn mixed(at: usize) -> usize {
    at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}

/// The table after a scatter into `table`; the same for every number of threads. What is behind the operands
/// stays.
fn scattered<T: Pod + PartialEq + std::fmt::Debug>(
    s: &Scatter,
    table: &[T],
    positions: &[u32],
    brought: &[T],
) -> Vec<T> {
    let used = scratch(s).unwrap() as usize / 8;
    let mut results = [1, 2, 3].map(|threads| {
        let mut memory = vec![u64::MAX; used + 64];
        let mut table = table.to_vec();
        let starts = [
            positions.as_ptr().cast_mut().cast(),
            brought.as_ptr().cast_mut().cast(),
            table.as_mut_ptr().cast(),
            memory.as_mut_ptr().cast(),
        ];
        // SAFETY: all memory is as large as the call says, and no other thread uses it.
        assert!(unsafe { Scattering::new(s, &starts).run(&ThreadPool::shared(threads)) });
        assert!(memory[used..].iter().all(|word| *word == u64::MAX), "{s:?}");
        table
    });
    assert!(results.iter().all(|result| *result == results[0]), "{s:?}");
    std::mem::take(&mut results[0])
}

/// Checks a scatter of `T`, whose results are exact in any order.
fn check<T: Pod + PartialEq + std::fmt::Debug>(
    s: &Scatter,
    number: impl Fn(usize) -> T,
    fold: fn(T, T) -> T,
) {
    let [points, rows, width] = [s.points, s.rows, s.width].map(|n| n as usize);
    let positions: Vec<u32> = (0..points).map(|point| (mixed(point) % rows) as u32).collect();
    let brought: Vec<T> = (0..s.brought() as usize).map(|at| number(mixed(at))).collect();
    let table: Vec<T> = (0..rows * width).map(|at| number(mixed(at + 7))).collect();
    let mut want = table.clone();
    for (point, column) in (0..points).flat_map(|point| (0..width).map(move |column| (point, column))) {
        let row = if s.each_column { width } else { 1 };
        let from = if s.each_row { point * row } else { 0 } + if s.each_column { column } else { 0 };
        let to = &mut want[positions[point] as usize * width + column];
        *to = fold(*to, brought[from]);
    }
    assert_eq!(scattered(s, &table, &positions, &brought), want, "{s:?}");
}

/// Sizes of narrow and of wide rows; numbers of points that are no multiples of parts and blocks.
const SIZES: [(u64, u64, u64); 6] =
    [(100_003, 37, 1), (40_000, 300, 3), (4_099, 40, 2), (8_195, 41, 16), (611, 5, 70), (70_001, 9, 33)];

#[test]
fn rows_of_any_width_are_folded() {
    for (points, rows, width) in SIZES {
        for (each_row, each_column) in [(true, true), (true, false), (false, true), (false, false)] {
            let s = Scatter { each_row, each_column, ..sums(points, rows, width) };
            check::<f32>(&s, |x| (x % 8) as f32, |a, b| a + b);
        }
    }
}

#[test]
fn elements_of_any_dtype_are_folded() {
    macro_rules! numbers {
        ($($name:ident $t:ty: $fold:ident $of:expr;)*) => {$(
            for width in [1, 40] {
                let s = Scatter { dtype: DType::$name, fold: Some(Fold::$fold), ..sums(9_001, 13, width) };
                check::<$t>(&s, |x| (x % 200) as u8 as $t, $of);
            }
        )*};
    }
    numbers! {
        I8 i8: Sum i8::wrapping_add; I16 i16: Product i16::wrapping_mul; I32 i32: Min i32::min; I64 i64: Max i64::max;
        U8 u8: Product u8::wrapping_mul; U16 u16: Sum u16::wrapping_add; U32 u32: Max u32::max; U64 u64: Sum u64::wrapping_add;
        F64 f64: Sum |a, b| a + b; F32 f32: Max f32::max; F64 f64: Min f64::min; U8 u8: Max u8::max;
    }
    for width in [1, 40] {
        let of = |dtype, fold| Scatter { dtype, fold: Some(fold), ..sums(9_001, 130, width) };
        check::<f16>(
            &of(DType::F16, Fold::Sum),
            |x| f16::from_f32((x % 3) as f32),
            |a, b| f16::from_f32(a.to_f32() + b.to_f32()),
        );
        check::<bf16>(
            &of(DType::BF16, Fold::Max),
            |x| bf16::from_f32((x % 200) as f32),
            |a, b| {
                if a.to_f32() > b.to_f32() { a } else { b }
            },
        );
        check::<u8>(&of(DType::Bool, Fold::Min), |x| u8::from(x % 50 > 0), u8::min);
    }
}

#[test]
fn the_last_of_wide_rows_stays() {
    let s = |dtype| Scatter { dtype, fold: None, ..sums(5_003, 77, 64) };
    check::<u8>(&s(DType::Bool), |x| (x % 2) as u8, |_, b| b);
    check::<f16>(&s(DType::F16), |x| f16::from_f32(x as f32), |_, b| b);
    check::<f32>(&s(DType::F32), |x| x as f32, |_, b| b);
    check::<i64>(&s(DType::I64), |x| x as i64, |_, b| b);
}

#[test]
fn sums_of_nothing_leave_a_negative_zero() {
    for s in [sums(10_000, 4, 1), sums(1_000, 4, 32)] {
        let len = (s.rows * s.width) as usize;
        let brought = vec![1f32; s.brought() as usize];
        let table = scattered(&s, &vec![-0f32; len], &vec![1; s.points as usize], &brought);
        assert!(table[..s.width as usize].iter().all(|x| x.to_bits() == (-0f32).to_bits()));
        assert_eq!(table[s.width as usize], s.points as f32);
    }
}

#[test]
fn a_nest_does_what_it_does_as_well() {
    let last = |s: Scatter| Scatter { fold: None, ..s };
    for s in [sums(100, 10, 8), sums(10_000, 9_000, 1), sums(10_000, 10, 3), last(sums(10_000, 10, 1))] {
        let parts = s.rows == 10 && s.fold.is_some() && s.points > 100;
        assert_eq!(scratch(&s).is_some(), parts, "{s:?}");
    }
    // No tables larger than what is scattered, however large the table is.
    assert_eq!(scratch(&Scatter { dtype: DType::F64, ..sums(1 << 20, 1 << 32, 1) }), None);
    assert_eq!(way(&sums(1 << 20, 1 << 32, 16)), Some(ScatterPartition::Rows));
}
