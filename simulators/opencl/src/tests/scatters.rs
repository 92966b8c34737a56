//! Scatters of some thousands of points, grouped by position.

use super::corpus::gpu;
use super::device;
use super::routines::{run, words};
use std::sync::Arc;
use workalike_device::LibraryOp;
use workalike_kernels::DType;
use workalike_kernels::library::Scatter;
use workalike_kernels::nest::Fold;
use workalike_kernels::print::Target;

/// A list of positions: how many rows the table has, and the position of each point.
type Positions = (u64, Vec<i32>);

fn lists() -> Vec<Positions> {
    let of = |count: i64, rows: u64, position: &dyn Fn(i64) -> i64| {
        (rows, (0..count).map(|point| (position(point) % rows as i64) as i32).collect::<Vec<i32>>())
    };
    vec![
        of(1, 3000, &|_| 7),
        of(2000, 3000, &|point| point * 7 + 1),
        of(2000, 20_000, &|point| (point % 700) * 1021),
        // Nine points of each row: one more than the members of a slot.
        of(2700, 5000, &|point| point % 300),
        of(5000, 30_000, &|point| 64 * (point * point % 600)),
        of(3000, 3000, &|_| 2999),
        // Few rows with most of the points, many with one.
        of(4000, 25_000, &|point| if point % 3 == 0 { point * 1009 } else { point % 5 }),
    ]
}

fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + 13) % 1009) as f32 * 0.37 - 180.0).collect()
}

fn scatter(fold: Fold, points: usize, rows: u64, width: u64, [each_row, each_column]: [bool; 2]) -> Scatter {
    Scatter { dtype: DType::F32, fold: Some(fold), points: points as u64, rows, width, each_row, each_column }
}

/// Rows with up to eight points are folded one by one; those with more to about the same.
#[test]
fn points_are_folded_in_their_order() {
    let Some(device) = device() else { return };
    for (rows, positions) in lists() {
        for (width, forms) in [(4, [true, true]), (5, [true, true]), (40, [false, true]), (4, [true, false])]
        {
            let op = scatter(Fold::Sum, positions.len(), rows, width, forms);
            let brought = values(op.brought() as usize);
            let table: Vec<f32> = (0..rows * width).map(|i| (i % 7) as f32 - 3.0).collect();
            let bytes: Vec<u8> = table.iter().flat_map(|v| v.to_ne_bytes()).collect();
            let given = brought.iter().map(|value| value.to_bits() as i32).collect::<Vec<_>>();
            let shared: Arc<dyn LibraryOp> = Arc::new(op.clone());
            let results = [(1000, 256), (40_000, 512)].map(|(lanes, max_group)| {
                let inputs = [positions.clone(), given.clone()];
                let target = Target { max_group, ..gpu(lanes) };
                words(&run(&device, &target, &shared, &inputs, std::slice::from_ref(&bytes))[0])
            });
            results.iter().for_each(|result| check(&op, &positions, &brought, &table, result));
        }
    }
}

fn check(op: &Scatter, positions: &[i32], brought: &[f32], table: &[f32], got: &[i32]) {
    let width = op.width as usize;
    let mut of_row = vec![vec![]; op.rows as usize];
    positions.iter().enumerate().for_each(|(point, &row)| of_row[row as usize].push(point));
    for (row, points) in of_row.iter().enumerate() {
        for column in 0..width {
            let value = |&point: &usize| {
                let across = if op.each_column { width } else { 1 };
                let from = if op.each_row { point * across } else { 0 };
                brought[from + if op.each_column { column } else { 0 }]
            };
            let (at, old) = (row * width + column, table[row * width + column]);
            let found = f32::from_bits(got[at] as u32);
            if points.len() <= 8 {
                let sum = points.iter().map(value).reduce(|all, x| all + x);
                let want = sum.map_or(old, |sum| old + sum);
                assert_eq!(found.to_bits(), want.to_bits(), "{op:?}: row {row}, column {column}");
            } else {
                let want = points.iter().map(|point| f64::from(value(point))).sum::<f64>() + f64::from(old);
                let size = points.iter().map(|point| f64::from(value(point).abs())).sum::<f64>();
                let error = (f64::from(found) - want).abs();
                assert!(error <= 1e-7 * size.max(want.abs()), "{op:?}: row {row}: {found}, not {want}");
            }
        }
    }
}

/// Sums of negative zeros alone are negative zeros, infinities stay, and a position beyond the table stands
/// for its last row.
#[test]
fn corners_of_groups_of_points() {
    let Some(device) = device() else { return };
    let (rows, width) = (4096u64, 4u64);
    let lists: [(i32, usize, f32, f32); 4] = [
        (3, 5, -0.0, -0.0),
        (5, 12, -0.0, -0.0),
        (9, 30, f32::INFINITY, f32::INFINITY),
        (5000, 20, 2.0, 40.0),
    ];
    let mut points = Vec::new();
    for &(row, count, value, _) in &lists {
        points.extend(std::iter::repeat_n((row, value), count));
    }
    let positions: Vec<i32> = points.iter().map(|point| point.0).collect();
    let given: Vec<i32> = points
        .iter()
        .flat_map(|point| std::iter::repeat_n(point.1.to_bits() as i32, width as usize))
        .collect();
    let table = vec![-0.0f32; (rows * width) as usize];
    let bytes: Vec<u8> = table.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let op: Arc<dyn LibraryOp> = Arc::new(scatter(Fold::Sum, points.len(), rows, width, [true, true]));
    let got = words(&run(&device, &gpu(1000), &op, &[positions, given], std::slice::from_ref(&bytes))[0]);
    for (row, _, _, want) in lists {
        let at = (row as u64).min(rows - 1) as usize * width as usize;
        for &found in &got[at..at + width as usize] {
            assert_eq!(f32::from_bits(found as u32).to_bits(), want.to_bits(), "row {row}");
        }
    }
}

/// Sums of 64-bit integers are two additions of 32 bits: carries and negative numbers, in memory and in the
/// tables of groups.
#[test]
fn sums_of_wide_integers() {
    let Some(device) = device() else { return };
    for (points, rows) in [(300u64, 7u64), (9000, 4), (2000, 900)] {
        let positions: Vec<i32> = (0..points).map(|point| (point * point % rows) as i32).collect();
        let value = |point: u64| match point % 4 {
            0 => -1,
            1 => i64::from(u32::MAX) - point as i64,
            2 => i64::MIN / 4096 + point as i64,
            _ => (point as i64) << 31,
        };
        let table: Vec<i64> = (0..rows).map(|row| i64::from(u32::MAX) * (row as i64 - 2)).collect();
        let words_of = |values: &[i64]| -> Vec<i32> {
            values.iter().flat_map(|v| [*v as i32, (*v >> 32) as i32]).collect()
        };
        let values: Vec<i64> = (0..points).map(value).collect();
        let bytes: Vec<u8> = table.iter().flat_map(|v| v.to_le_bytes()).collect();
        let sum = Scatter { dtype: DType::I64, ..scatter(Fold::Sum, points as usize, rows, 1, [true, true]) };
        let op: Arc<dyn LibraryOp> = Arc::new(sum);
        let mut want = table;
        for (&row, value) in positions.iter().zip(&values) {
            want[row as usize] = want[row as usize].wrapping_add(*value);
        }
        // Few lanes and enough for groups with tables of their own.
        for lanes in [1000, 40_000] {
            let inputs = [positions.clone(), words_of(&values)];
            let got = run(&device, &gpu(lanes), &op, &inputs, std::slice::from_ref(&bytes));
            assert_eq!(words(&got[0]), words_of(&want), "{points} points to {rows} rows, {lanes} lanes");
        }
    }
}
