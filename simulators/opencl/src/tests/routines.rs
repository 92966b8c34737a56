//! Kernels of library ops in the form for GPUs, run on any device: several sizes of a class share a text.

use super::corpus::gpu;
use super::device;
use crate::device::OpenClDevice;
use std::sync::Arc;
use workalike_device::{Command, Device, LibraryOp, LibraryOutput as Results, Region};
use workalike_kernels::DType;
use workalike_kernels::library::{Cumulate, Scatter, Sorting};
use workalike_kernels::nest::Fold;
use workalike_kernels::print::Target;

/// The outputs of an op of 4-byte integers, which begin as `outputs`.
pub(super) fn run(
    device: &OpenClDevice,
    target: &Target,
    op: &Arc<dyn LibraryOp>,
    inputs: &[Vec<i32>],
    outputs: &[Vec<u8>],
) -> Vec<Vec<u8>> {
    let upload = |bytes: &[u8]| {
        let region = Region::whole(device.allocate(bytes.len() as u64).unwrap());
        device.upload(bytes, &region).unwrap();
        region
    };
    let bytes = |values: &Vec<i32>| -> Vec<u8> { values.iter().flat_map(|v| v.to_ne_bytes()).collect() };
    let inputs = inputs.iter().map(|input| upload(&bytes(input))).collect();
    let results: Vec<Region> = outputs.iter().map(|output| upload(output)).collect();
    let scratch = op.routine_scratch(target).unwrap();
    let scratch = (scratch > 0).then(|| Region::whole(device.allocate(scratch).unwrap()));
    let command =
        Command::Library { op: op.clone(), inputs, target: Results::Memory(results.clone()), scratch };
    let mut recording = device.record_for(target, &[command]).unwrap();
    // Twice, since scratch memory is not cleared in between.
    for _ in 0..2 {
        for (region, output) in results.iter().zip(outputs) {
            device.upload(output, region).unwrap();
        }
        recording.replay().unwrap();
    }
    let download = |region: &Region| {
        let mut bytes = vec![0; region.bytes as usize];
        device.download(region, &mut bytes).unwrap();
        bytes
    };
    results.iter().map(download).collect()
}

pub(super) fn words(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|b| i32::from_ne_bytes(b.try_into().unwrap())).collect()
}

pub(super) fn data(count: u64) -> Vec<i32> {
    (0..count).map(|i| ((i * 7919 + 13) % 1009) as i32 - 500).collect()
}

/// The position of element `i` of row `row` in an array of these extents.
fn at([_, n, inner]: [u64; 3], row: u64, i: u64) -> usize {
    (row / inner * n * inner + i * inner + row % inner) as usize
}

#[test]
fn running_folds() {
    let Some(device) = device() else { return };
    let rows = [[3, 1, 1], [3, 100, 1], [2, 128, 1], [2, 129, 1], [5, 600, 1], [1, 5000, 1], [2, 9001, 1]];
    let columns = [[2, 100, 7], [1, 3000, 5], [1, 64, 300], [300, 2, 3]];
    for (lanes, shape) in
        [64, 100_000].into_iter().flat_map(|l| rows.iter().chain(&columns).map(move |s| (l, *s)))
    {
        for reverse in [false, true] {
            let [outer, n, inner] = shape;
            let x = data(outer * n * inner);
            let op: Arc<dyn LibraryOp> =
                Arc::new(Cumulate { fold: Fold::Sum, dtype: DType::I32, from: DType::I32, shape, reverse });
            let got = run(&device, &gpu(lanes), &op, std::slice::from_ref(&x), &[vec![0; 4 * x.len()]]);
            let mut want = x.clone();
            for row in 0..outer * inner {
                let mut sum = 0;
                for i in 0..n {
                    let here = at(shape, row, if reverse { n - 1 - i } else { i });
                    sum += x[here];
                    want[here] = sum;
                }
            }
            assert_eq!(words(&got[0]), want, "{shape:?}, {lanes} lanes");
        }
    }
}

#[test]
fn sorts() {
    let Some(device) = device() else { return };
    let shapes = [
        [3, 2, 1],
        [300, 9, 1],
        [5, 16, 1],
        [7, 32, 1],
        [3, 50, 1],
        [2, 64, 1],
        [2, 200, 1],
        [1, 1024, 1],
        [1, 1025, 1],
        [2, 3000, 1],
        [1, 9001, 1],
    ];
    let strided = [[40, 4, 3], [2, 30, 3], [2, 1500, 3], [1, 2500, 2]];
    for (shape, part) in shapes.into_iter().chain(strided).flat_map(|s| [(s, 1), (s, 3)]) {
        let [outer, n, inner]: [u64; 3] = shape;
        let kept = n.div_ceil(part);
        let op = Sorting {
            dtype: DType::I32,
            shape,
            kept,
            descending: false,
            values: true,
            indices: true,
            only: None,
        };
        let op: Arc<dyn LibraryOp> = Arc::new(op);
        let (x, count) = (data(outer * n * inner), (outer * kept * inner) as usize);
        let got = run(
            &device,
            &gpu(1000),
            &op,
            std::slice::from_ref(&x),
            &[vec![0; 4 * count], vec![0; 8 * count]],
        );
        let indices: Vec<i64> =
            got[1].chunks_exact(8).map(|b| i64::from_ne_bytes(b.try_into().unwrap())).collect();
        for row in 0..outer * inner {
            let mut order: Vec<u64> = (0..n).collect();
            order.sort_by_key(|i| x[at(shape, row, *i)]);
            for (i, from) in (0..kept).zip(order) {
                let to = at([outer, kept, inner], row, i);
                let found = (words(&got[0])[to], indices[to]);
                assert_eq!(found, (x[at(shape, row, from)], from as i64), "{shape:?}: {i} of row {row}");
            }
        }
    }
}

#[test]
fn scatters() {
    let Some(device) = device() else { return };
    for (fold, each_row, each_column) in [
        (Some(Fold::Sum), true, true),
        (Some(Fold::Max), true, false),
        (Some(Fold::Min), true, true),
        // Products are not atomic: positions are sorted.
        (Some(Fold::Product), true, true),
        (None, true, true),
        (None, false, true),
    ] {
        for [points, rows, width] in
            [[1, 5, 3], [40, 5, 1], [300, 7, 4], [2000, 3, 2], [1500, 900, 1], [9000, 4, 3], [8001, 11, 1]]
        {
            let op = Scatter { dtype: DType::I32, fold, points, rows, width, each_row, each_column };
            let (brought, table) = (data(op.brought()), data(rows * width));
            let places: Vec<i32> = (0..points).map(|i| (i * i % rows) as i32).collect();
            let bytes: Vec<u8> = table.iter().flat_map(|v| v.to_ne_bytes()).collect();
            let op: Arc<dyn LibraryOp> = Arc::new(op);
            // Enough lanes for groups with tables of their own.
            let inputs = [places.clone(), brought.clone()];
            let got = [1000, 40_000]
                .map(|lanes| run(&device, &gpu(lanes), &op, &inputs, std::slice::from_ref(&bytes)));
            let mut want = table;
            for (point, row) in places.iter().enumerate() {
                for column in 0..width as usize {
                    let across = if each_column { width as usize } else { 1 };
                    let from =
                        if each_row { point * across } else { 0 } + if each_column { column } else { 0 };
                    let to = &mut want[*row as usize * width as usize + column];
                    *to = match fold {
                        Some(Fold::Sum) => *to + brought[from],
                        Some(Fold::Product) => to.wrapping_mul(brought[from]),
                        Some(Fold::Min) => (*to).min(brought[from]),
                        Some(_) => (*to).max(brought[from]),
                        None => brought[from],
                    };
                }
            }
            for got in got {
                assert_eq!(words(&got[0]), want, "{fold:?} of {points} points to {rows} x {width}");
            }
        }
    }
}

/// Extremes of floats do not depend on the order in which they come: neither does the sign of zeros, and a
/// NaN of either sign stays.
#[test]
fn extremes_of_floats() {
    let Some(device) = device() else { return };
    let nan = [f32::NAN, -f32::NAN];
    let lists: [&[f32]; 6] =
        [&[0.0, -0.0], &[-3.0, -0.5, -7.0], &[2.0, f32::INFINITY], &nan[..1], &nan[1..], &[-1.0, 0.0, 1.0]];
    for (fold, none) in [(Fold::Max, f32::NEG_INFINITY), (Fold::Min, f32::INFINITY)] {
        let rows = lists.len() as u64;
        let mut points: Vec<(i32, f32)> = Vec::new();
        for turn in 0..400 {
            for (row, list) in lists.iter().enumerate() {
                points.push((row as i32, list[turn % list.len()]));
            }
        }
        let (forward, mut backward) = (points.clone(), points);
        backward.reverse();
        let count = forward.len() as u64;
        let op = Scatter {
            dtype: DType::F32,
            fold: Some(fold),
            points: count,
            rows: rows + 2,
            width: 1,
            each_row: true,
            each_column: true,
        };
        let op: Arc<dyn LibraryOp> = Arc::new(op);
        // Two more rows hold NaN before, and get numbers.
        let mut table = vec![none; lists.len()];
        table.extend(nan);
        let bytes: Vec<u8> = table.iter().flat_map(|v| v.to_ne_bytes()).collect();
        let runs = [(1000, forward.clone()), (40_000, forward), (1000, backward.clone()), (40_000, backward)];
        let results = runs.map(|(lanes, mut points)| {
            let last = points.len() - 2;
            points[last..].copy_from_slice(&[(rows as i32, 5.0), (rows as i32 + 1, -5.0)]);
            let (places, values): (Vec<i32>, Vec<i32>) =
                points.iter().map(|&(row, value)| (row, value.to_bits() as i32)).unzip();
            words(&run(&device, &gpu(lanes), &op, &[places, values], std::slice::from_ref(&bytes))[0])
        });
        let found = results[0].iter().map(|&bits| f32::from_bits(bits as u32)).collect::<Vec<f32>>();
        let of = |list: &&[f32]| {
            let total = |a: f32, b: f32| if (b.total_cmp(&a).is_gt()) == (fold == Fold::Max) { b } else { a };
            if list.iter().any(|x| x.is_nan()) { f32::NAN } else { list.iter().copied().fold(none, total) }
        };
        let want: Vec<f32> = lists.iter().map(of).chain(nan).collect();
        for (found, want) in found.iter().zip(&want) {
            let same = found.to_bits() == want.to_bits() || found.is_nan() && want.is_nan();
            assert!(same, "{fold:?}: {found} instead of {want}");
        }
        assert!(results.iter().all(|result| *result == results[0]), "{fold:?}: {results:?}");
    }
}

/// The bits of a float32 table after sums of points, given as row and value, in each order and division.
fn sums(device: &OpenClDevice, table: &[f32], width: u64, points: &[(i32, f32)]) -> Vec<Vec<f32>> {
    let op = |points: u64| Scatter {
        dtype: DType::F32,
        fold: Some(Fold::Sum),
        points,
        rows: table.len() as u64 / width,
        width,
        each_row: true,
        each_column: true,
    };
    let bytes: Vec<u8> = table.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let of = |(lanes, backward): (u64, bool)| {
        let mut points: Vec<&[(i32, f32)]> = points.chunks(width as usize).collect();
        if backward {
            points.reverse();
        }
        let places = points.iter().map(|point| point[0].0).collect();
        let values = points.concat().iter().map(|point| point.1.to_bits() as i32).collect();
        let op: Arc<dyn LibraryOp> = Arc::new(op(points.len() as u64));
        let got = run(device, &gpu(lanes), &op, &[places, values], std::slice::from_ref(&bytes));
        words(&got[0]).iter().map(|&bits| f32::from_bits(bits as u32)).collect()
    };
    [(1000, false), (1000, true), (40_000, false), (40_000, true)].map(of).to_vec()
}

/// Sums of floats do not depend on the order of the points, and each is as exact as its own largest value
/// allows, whatever others are.
#[test]
fn sums_of_floats() {
    let Some(device) = device() else { return };
    for [count, rows, width] in
        [[1, 5, 3], [40, 5, 1], [300, 7, 4], [40, 3000, 3], [1500, 900, 1], [9000, 4, 3], [8001, 11, 1]]
    {
        let table: Vec<f32> = (0..rows * width).map(|i| (i % 7) as f32 - 3.0).collect();
        // Rows differ by up to 2^200, the values of one by up to 2^30.
        let value = |point: u64, row: u64, column: u64| {
            let digits = ((point * 7919 + column * 104_729) % 2_000_003) as f32 / 1_000_003.0 - 0.9;
            digits * 2f32.powi((row % 5) as i32 * 50 - 100 - (point % 31) as i32)
        };
        let mut points = Vec::new();
        for point in 0..count {
            let row = point * point % rows;
            points.extend((0..width).map(|column| (row as i32, value(point, row, column))));
        }
        let results = sums(&device, &table, width, &points);
        assert!(results.iter().all(|result| bits(result) == bits(&results[0])), "{count} {rows} {width}");
        let mut exact: Vec<f64> = table.iter().map(|&x| x.into()).collect();
        let mut size = exact.iter().map(|x| x.abs()).collect::<Vec<f64>>();
        for (at, &(row, value)) in points.iter().enumerate() {
            let to = row as usize * width as usize + at % width as usize;
            exact[to] += f64::from(value);
            size[to] = size[to].max(f64::from(value).abs());
        }
        for (at, (got, want)) in results[0].iter().zip(&exact).enumerate() {
            let error = (f64::from(*got) - want).abs();
            assert!(error <= 2e-7 * size[at].max(want.abs()), "{count} {rows} {width} at {at}: {got} {want}");
        }
    }
}

/// Infinities and NaN are summed as they are one by one, and subnormal numbers are not lost.
#[test]
fn sums_of_floats_that_are_not_finite() {
    let Some(device) = device() else { return };
    let inf = f32::INFINITY;
    let tiny = f32::from_bits(3);
    let lists: [(&[f32], f32); 8] = [
        (&[inf, 1.0, inf], inf),
        (&[-inf, 3e38], -inf),
        (&[inf, -inf, 2.0], f32::NAN),
        (&[f32::NAN, -inf], f32::NAN),
        (&[-f32::NAN, 1.0], f32::NAN),
        (&[3e38, 3e38, 3e38], inf),
        (&[tiny, -1e-45], f32::from_bits(2)),
        (&[1e30, -1e30, 7.0], 0.0),
    ];
    let mut points = Vec::new();
    for turn in 0..3 {
        for (row, (list, _)) in lists.iter().enumerate() {
            points.extend(list.get(turn).map(|&value| (row as i32, value)));
        }
    }
    for rows in [lists.len(), 1000] {
        let mut table = vec![0.0; rows];
        table[1] = 1.0;
        for result in sums(&device, &table, 1, &points) {
            for (row, (list, want)) in lists.iter().enumerate() {
                let got = result[row];
                let same = got == *want || got.is_nan() && want.is_nan();
                assert!(same, "{list:?}: {got} instead of {want}");
            }
            assert!(result[lists.len()..].iter().all(|x| *x == 0.0));
        }
    }
}

/// A positive zero makes a negative zero of the table positive, a negative one leaves it.
#[test]
fn sums_of_zeros() {
    let Some(device) = device() else { return };
    for rows in [4, 1000] {
        let mut table = vec![-0.0f32; rows];
        table[2] = 0.0;
        let points: Vec<(i32, f32)> = (0..40).flat_map(|_| [(0, 0.0), (1, -0.0), (2, -0.0)]).collect();
        for result in sums(&device, &table, 1, &points) {
            assert_eq!(bits(&result[..4]), bits(&[0.0, -0.0, 0.0, -0.0]), "{rows} rows");
        }
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}
