//! Folds of rows, alone and in several phases.

use super::super::{Build, Builder, Case, along};
use workalike_kernels::nest::PhaseKind::{Map, Point, Reduce};
use workalike_kernels::nest::*;
use workalike_kernels::{DType, ops};

/// Every fold in every dtype, over rows and columns, of several extents.
pub fn folds() -> Vec<Case> {
    let mut cases = vec![];
    for (rows, columns) in [(5, 37), (70, 3), (3, 700), (1, 4000), (4, 0)] {
        for dtype in DType::REAL {
            for across in [false, true] {
                let shape = if across { [columns, rows] } else { [rows, columns] };
                let place: &[usize] = if across { &[1, 0] } else { &[0, 1] };
                let arg_dtype = DType::I64;
                let name =
                    format!("folds {dtype} {rows} {columns} {}", if across { "across" } else { "along" });
                let mut b = Builder::new(&name, &[rows, columns], 1).input(dtype, &shape);
                for _ in 0..4 {
                    b = b.output(dtype, &[rows]);
                }
                b = b.output(arg_dtype, &[rows]).output(arg_dtype, &[rows]);
                let b = b
                    .phase(Reduce, |p| {
                        let v = p.load(0, place);
                        let at = p.push(Inst::Axis(1));
                        // Exact in every dtype.
                        let one = p.constant(dtype, 1.0);
                        p.fold(Fold::Sum, v);
                        p.fold(Fold::Product, one);
                        p.fold(Fold::Max, v);
                        p.fold(Fold::Min, v);
                        p.arg_fold(Fold::ArgMax, v, at);
                        p.arg_fold(Fold::ArgMin, v, at);
                    })
                    .phase(Point, |p| {
                        for fold in 0..6 {
                            let v = p.folded(0, fold);
                            p.store(1 + fold, &[0], v);
                        }
                    });
                cases.push(b.ulp(if dtype.is_half() { 1 } else { 4 }).done());
            }
        }
    }
    cases
}

fn softmax(name: &str, dtype: DType, rows: u64, columns: u64) -> Case {
    Builder::new(name, &[rows, columns], 1)
        .input(dtype, &[rows, columns])
        .output(dtype, &[rows, columns])
        .phase(Reduce, |p| {
            let v = p.load(0, &[0, 1]);
            p.fold(Fold::Max, v);
        })
        .phase(Reduce, |p| {
            let (v, top) = (p.load(0, &[0, 1]), p.folded(0, 0));
            let v = p.op(ops::SUB, &[v, top]);
            let v = p.op(ops::EXP, &[v]);
            p.fold(Fold::Sum, v);
        })
        .phase(Map, |p| {
            let (v, top, sum) = (p.load(0, &[0, 1]), p.folded(0, 0), p.folded(1, 0));
            let v = p.op(ops::SUB, &[v, top]);
            let v = p.op(ops::EXP, &[v]);
            let v = p.op(ops::DIV, &[v, sum]);
            p.store(1, &[0, 1], v);
        })
        .ulp(if dtype.is_half() { 4 } else { 24 })
        .done()
}

/// Phases that share several values: the row, its distance from the mean, and the square of that. The result
/// is scaled by a vector that all rows share; one store is conditional.
fn layer_norm(dtype: DType, rows: u64, columns: u64) -> Case {
    let centred = |p: &mut Build| {
        let (v, sum, n) = (p.load(0, &[0, 1]), p.folded(0, 0), p.constant(DType::F32, columns as f64));
        let v = p.cast(v, DType::F32);
        let mean = p.op(ops::DIV, &[sum, n]);
        p.op(ops::SUB, &[v, mean])
    };
    Builder::new(&format!("layer norm {dtype} {rows} {columns}"), &[rows, columns], 1)
        .input(dtype, &[rows, columns])
        .input(DType::F32, &[columns])
        .output(DType::F32, &[rows, columns])
        .output(DType::F32, &[rows, columns])
        .output(DType::Bool, &[rows, columns])
        .phase(Reduce, |p| {
            let v = p.load(0, &[0, 1]);
            let v = p.cast(v, DType::F32);
            p.fold(Fold::Sum, v);
        })
        .phase(Reduce, |p| {
            let v = centred(p);
            let v = p.op(ops::SQR, &[v]);
            p.fold(Fold::Sum, v);
            p.fold(Fold::Max, v);
        })
        .phase(Map, |p| {
            let v = centred(p);
            let square = p.op(ops::SQR, &[v]);
            let (sum, top, scale) = (p.folded(1, 0), p.folded(1, 1), p.load(1, &[1]));
            let largest = p.op(ops::EQ, &[square, top]);
            let v = p.op(ops::DIV, &[v, sum]);
            let v = p.op(ops::MUL, &[v, scale]);
            p.store(2, &[0, 1], v);
            p.store_at(3, along(&[0, 1]), square, Some(largest));
            p.store(4, &[0, 1], largest);
        })
        .ulp(4096)
        .done()
}

fn sum(name: &str, dtype: DType, axes: [u64; 3], place: &[usize], special: bool) -> Case {
    let shape: Vec<u64> = place.iter().map(|&a| axes[a]).collect();
    let b = Builder::new(name, &axes, 1);
    let b = if special { b.special(dtype, &shape) } else { b.input(dtype, &shape) };
    b.output(dtype, &[axes[0]])
        .phase(Reduce, |p| {
            let v = p.load(0, place);
            p.fold(Fold::Sum, v);
        })
        .phase(Point, |p| {
            let v = p.folded(0, 0);
            p.store(1, &[0], v);
        })
        .ulp(8)
        .done()
}

/// Softmaxes, layer norms and sums.
pub(super) fn rows() -> Vec<Case> {
    let mut cases = vec![];
    for (rows, columns) in [(1, 1), (7, 100), (300, 5), (3, 5000), (0, 4), (5, 0)] {
        cases.push(softmax(&format!("softmax {rows} {columns}"), DType::F32, rows, columns));
        cases.push(softmax(&format!("softmax half {rows} {columns}"), DType::F16, rows, columns));
        cases.push(softmax(&format!("softmax bf16 {rows} {columns}"), DType::BF16, rows, columns));
    }
    for (rows, columns) in [(2, 8190), (2, 2049), (40, 1024)] {
        cases.push(softmax(&format!("softmax {rows} {columns}"), DType::F32, rows, columns));
        cases.push(layer_norm(DType::F32, rows, columns));
    }
    cases.push(softmax("softmax long", DType::F16, 2, 20_000));
    cases.push(layer_norm(DType::BF16, 9, 640));
    // A length that no vector divides.
    for dtype in [DType::F32, DType::F64, DType::U8, DType::F16] {
        cases.push(sum(&format!("sum of odd length {dtype}"), dtype, [1, 1, 4003], &[1, 2], false));
    }
    cases.push(sum("sum of all", DType::F32, [1, 400, 500], &[1, 2], false));
    cases.push(sum("sum of all f64", DType::F64, [1, 10, 500], &[1, 2], false));
    cases.push(sum("sum middle", DType::F32, [9, 13, 20], &[1, 0, 2], false));
    cases.push(sum("sum outer", DType::F32, [64, 13, 20], &[1, 2, 0], false));
    cases.push(sum("sum long columns", DType::F32, [3, 500, 200], &[1, 2, 0], false));
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    for (name, row) in [("inf", [1.0, inf, 2.0]), ("inf-inf", [-inf, 3.0, inf]), ("nan", [nan, inf, 0.0])] {
        let mut case = sum(name, DType::F32, [1, 1, 300], &[1, 2], false);
        for (at, x) in row.iter().enumerate() {
            case.operands[0][at * 596..at * 596 + 4].copy_from_slice(&x.to_le_bytes());
        }
        cases.push(case);
    }
    cases.push(sum("sum of wrapping", DType::I16, [8, 500, 3], &[0, 1, 2], true));
    cases
}

/// Long rows of NaN, infinities and equal values.
pub(super) fn extremes() -> Vec<Case> {
    let mut cases = vec![];
    for dtype in [DType::F32, DType::F16, DType::I8, DType::Bool] {
        cases.push(
            Builder::new(&format!("extremes {dtype}"), &[20, 3, 141], 1)
                .special(dtype, &[20, 3, 141])
                .output(dtype, &[20])
                .output(dtype, &[20])
                .output(DType::I64, &[20])
                .output(DType::I64, &[20])
                .phase(Reduce, |p| {
                    let v = p.load(0, &[0, 1, 2]);
                    let (row, column) = (p.push(Inst::Axis(1)), p.push(Inst::Axis(2)));
                    let columns = p.constant(DType::I64, 141.0);
                    let at = p.op(ops::MUL, &[row, columns]);
                    let at = p.op(ops::ADD, &[at, column]);
                    p.fold(Fold::Max, v);
                    p.fold(Fold::Min, v);
                    p.arg_fold(Fold::ArgMax, v, at);
                    p.arg_fold(Fold::ArgMin, v, at);
                })
                .phase(Point, |p| {
                    for fold in 0..4 {
                        let v = p.folded(0, fold);
                        p.store(1 + fold, &[0], v);
                    }
                })
                .done(),
        );
    }
    cases
}
