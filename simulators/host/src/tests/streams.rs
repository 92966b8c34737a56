//! Folds that read memory in place: rows and columns of every length, dtype and fold, and products.

use super::*;
use DType::*;

/// Folds a matrix, or its product with another one, along `axis`; `pad`: extra elements per row that are not
/// read. `factor`: whether the other one is a vector along `axis`.
fn fold_of(fold: Fold, dtype: DType, shape: [u64; 2], axis: usize, pad: u64, factor: Option<bool>) -> Nest {
    let axes = [shape[1 - axis], shape[axis]];
    let at: &[usize] = if axis == 1 { &[0, 1] } else { &[1, 0] };
    let mut x = Operand::contiguous(dtype, &shape, false);
    x.strides[0] += pad as i64;
    x.shape[0] += pad;
    let mut w = Writer::new(PhaseKind::Reduce);
    let mut v = w.load(0, at);
    let mut operands = vec![x.clone()];
    if let Some(vector) = factor {
        let other = if vector { w.load(1, &[1]) } else { w.load(1, at) };
        operands.push(if vector { Operand::contiguous(dtype, &[shape[axis]], false) } else { x });
        v = w.op(ops::MUL, &[other, v]);
    }
    w.fold(fold, v, None);
    let mut end = Writer::new(PhaseKind::Point);
    let v = end.inst(Inst::Folded { phase: 0, fold: 0 });
    let one = end.constant(dtype, 1.0);
    let v = end.op(ops::ADD, &[v, one]);
    end.store(operands.len(), &[0], v);
    operands.push(Operand::contiguous(dtype, &axes[..1], true));
    nest(&axes, 1, operands, vec![w, end])
}

fn check(nest: &Nest, tolerance: f64) {
    let buffers: Vec<Vec<u8>> = nest
        .operands
        .iter()
        .enumerate()
        .map(|(i, o)| {
            let last: i64 = o.shape.iter().zip(&o.strides).map(|(n, s)| (*n as i64 - 1) * s).sum();
            random(o.dtype, (last + 1).max(1) as usize, i as u64 + 3)
        })
        .collect();
    agrees(nest, &buffers, &(0..buffers.len()).collect::<Vec<_>>(), tolerance);
}

const SHAPES: [[u64; 2]; 9] =
    [[1, 1], [3, 7], [300, 50], [70, 64], [9, 131], [17, 1000], [2, 9000], [1, 140_001], [1000, 3]];

/// Column reductions of a narrow matrix.
#[test]
fn few_columns_of_many_rows() {
    for shape in [[40_003, 2], [9001, 5], [5000, 10], [2003, 17], [1100, 33], [700, 64], [700, 65]] {
        for dtype in [I8, U16, I32, U64, F32, F64] {
            for fold in [Fold::Sum, Fold::Max, Fold::Min] {
                for pad in [0, 1] {
                    let n = fold_of(fold, dtype, shape, 0, pad, None);
                    check(&n, if dtype == F32 { 1e-3 } else { 1e-9 });
                }
            }
            for vector in [false, true] {
                let n = fold_of(Fold::Sum, dtype, shape, 0, 0, Some(vector));
                check(&n, if dtype == F32 { 1e-3 } else { 1e-9 });
            }
        }
    }
}

#[test]
fn every_fold_of_rows_and_columns() {
    for shape in SHAPES {
        for axis in [0, 1] {
            for fold in [Fold::Sum, Fold::Max, Fold::Min] {
                for pad in [0, 1] {
                    let n = fold_of(fold, F32, shape, axis, pad, None);
                    // Lanes along an axis of one point, or strided ones of few points, are no streams.
                    let streams = plan(&n).unwrap().phases[0].streams.is_some();
                    assert!(streams || shape[0].min(shape[1]) < 5, "{shape:?} {axis}");
                    check(&n, 1e-3);
                }
            }
        }
    }
    for dtype in [I8, U8, I16, U16, I32, U32, I64, U64, F64] {
        for fold in [Fold::Sum, Fold::Product, Fold::Max, Fold::Min] {
            for axis in [0, 1] {
                check(&fold_of(fold, dtype, [37, 211], axis, 1, None), 1e-9);
            }
        }
    }
}

#[test]
fn products_of_rows_columns_and_vectors() {
    for shape in SHAPES {
        for axis in [0, 1] {
            for vector in [false, true] {
                for dtype in [F32, F64] {
                    let n = fold_of(Fold::Sum, dtype, shape, axis, 1, Some(vector));
                    let streams = plan(&n).unwrap().phases[0].streams.is_some();
                    assert!(streams || shape[0].min(shape[1]) < 5, "{shape:?} {axis} {vector}");
                    check(&n, if dtype == F32 { 1e-3 } else { 1e-9 });
                }
            }
        }
    }
}

#[test]
fn halves_bools_and_strides_go_through_tiles() {
    for dtype in [F16, BF16] {
        let n = fold_of(Fold::Max, dtype, [30, 40], 1, 0, None);
        assert!(plan(&n).unwrap().phases[0].streams.is_none());
        check(&n, 1e-2);
    }
    let mut n = fold_of(Fold::Sum, F32, [30, 40], 1, 0, None);
    n.operands[0].strides = vec![80, 2];
    assert!(plan(&n).unwrap().phases[0].streams.is_none());
    check(&n, 1e-4);
}

/// A sum of a million numbers of one sign is within the error bound of sums.
#[test]
fn long_sums_stay_within_their_error_bound() {
    let (rows, columns) = (1u64 << 20, 3u64);
    for (shape, axis) in [([1, rows], 1), ([rows, columns], 0)] {
        let mut n = fold_of(Fold::Sum, F32, shape, axis, 0, None);
        n.phases[1].block.insts[1] = Inst::Const(Scalar::from_f64(F32, 0.0));
        let all: Vec<f64> = {
            let mut numbers = Numbers(5);
            (0..shape[0] * shape[1]).map(|_| (numbers.float() as f32).abs() as f64).collect()
        };
        let out = vec![0; 4 * shape[1 - axis] as usize];
        let got = numbers(F32, &run_on(2, &n, &[bytes(F32, &all), out], &[0, 1])[1]);
        for (at, got) in got.iter().enumerate() {
            let want: f64 = all.iter().skip(at).step_by(if axis == 1 { 1 } else { 3 }).sum();
            let bound = 2.0 * (rows as f64).log2() * f32::EPSILON as f64 * want;
            assert!((got - want).abs() <= bound / 4.0, "{got} {want}");
        }
    }
}

/// Rows are folded several at a time, but each as if it were alone, since the grouping may depend on the
/// number of threads.
#[test]
fn a_row_does_not_depend_on_its_group() {
    for (dtype, columns) in [(F32, 32), (F32, 100), (F32, 784), (F32, 1024), (F64, 17), (F64, 500), (I32, 33)]
    {
        let rows = 11u64;
        let product = |rows: u64, both: bool| {
            let mut reduce = Writer::new(PhaseKind::Reduce);
            let x = reduce.load(0, &[0, 1]);
            let y = reduce.load(1, &[1]);
            let value = if both { reduce.op(ops::MUL, &[x, y]) } else { x };
            reduce.fold(Fold::Sum, value, None);
            let mut point = Writer::new(PhaseKind::Point);
            let sum = point.inst(Inst::Folded { phase: 0, fold: 0 });
            point.store(2, &[0], sum);
            let operands = vec![
                Operand::contiguous(dtype, &[rows, columns], false),
                Operand::contiguous(dtype, &[columns], false),
                Operand::contiguous(dtype, &[rows], true),
            ];
            nest(&[rows, columns], 1, operands, vec![reduce, point])
        };
        for both in [false, true] {
            let (x, y) = (random(dtype, (rows * columns) as usize, 7), random(dtype, columns as usize, 8));
            let out = vec![0; dtype.size() * rows as usize];
            agrees(&product(rows, both), &[x.clone(), y.clone(), out.clone()], &[0, 1, 2], 1e-4);
            let all = run_on(1, &product(rows, both), &[x.clone(), y.clone(), out], &[0, 1, 2]);
            for row in 0..rows as usize {
                let bytes = dtype.size() * columns as usize;
                let x = x[row * bytes..(row + 1) * bytes].to_vec();
                let one = run_on(1, &product(1, both), &[x, y.clone(), vec![0; dtype.size()]], &[0, 1, 2]);
                assert_eq!(one[2], all[2][row * dtype.size()..(row + 1) * dtype.size()], "{dtype} {columns}");
            }
        }
    }
}
