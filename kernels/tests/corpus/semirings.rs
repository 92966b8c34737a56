//! Products over other semirings than that of sum and product, and products of bytes.

use super::{Builder, Case};
use workalike_kernels::DType;
use workalike_kernels::nest::PhaseKind::{Point, Reduce};
use workalike_kernels::nest::*;
use workalike_kernels::ops;

pub fn semirings() -> Vec<Case> {
    let mut cases = Vec::new();
    for size in [[67, 41, 13], [33, 50, 70], [130, 70, 20], [20, 24, 700], [5, 9, 3000]] {
        cases.push(extremes(DType::F32, size, false));
        cases.push(extremes(DType::F32, size, true));
    }
    cases.push(extremes(DType::F64, [40, 36, 50], true));
    for dtype in [DType::I8, DType::U8] {
        for size in [[37, 45, 40], [64, 64, 256], [33, 70, 50], [20, 130, 1028]] {
            cases.push(bytes([dtype; 2], size));
        }
    }
    cases.push(bytes([DType::U8, DType::I8], [37, 45, 40]));
    cases
}

/// A product of bytes in int32, the right factor transposed.
fn bytes([left, right]: [DType; 2], [m, n, k]: [u64; 3]) -> Case {
    Builder::new(&format!("bytes {left} {right} {m} {n} {k}"), &[m, n, k], 2)
        .input(left, &[m, k])
        .input(right, &[n, k])
        .output(DType::I32, &[m, n])
        .phase(Reduce, |p| {
            let (x, y) = (p.load(0, &[0, 2]), p.load(1, &[1, 2]));
            let (x, y) = (p.cast(x, DType::I32), p.cast(y, DType::I32));
            let product = p.op(ops::MUL, &[x, y]);
            p.fold(Fold::Sum, product);
        })
        .phase(Point, |p| {
            let v = p.folded(0, 0);
            p.store(2, &[0, 1], v);
        })
        .done()
}

/// Products over other semirings: `max(x + y)`, `min(x - y)`, and where these are. `special` data have NaN,
/// infinities and ties.
fn extremes(dtype: DType, [m, n, k]: [u64; 3], special: bool) -> Case {
    let name = format!("extremes {dtype} {m} {n} {k}{}", if special { " special" } else { "" });
    let case = Builder::new(&name, &[m, n, k], 2);
    let case = match special {
        true => case.special(dtype, &[m, k]).special(dtype, &[n, k]),
        false => case.input(dtype, &[m, k]).input(dtype, &[n, k]),
    };
    let case = case.output(dtype, &[m, n]).output(dtype, &[m, n]);
    case.output(DType::I64, &[m, n])
        .output(DType::I64, &[m, n])
        .phase(Reduce, |p| {
            let (x, y) = (p.load(0, &[0, 2]), p.load(1, &[1, 2]));
            let (sum, difference) = (p.op(ops::ADD, &[x, y]), p.op(ops::SUB, &[x, y]));
            let here = p.push(Inst::Axis(2));
            p.fold(Fold::Max, sum);
            p.fold(Fold::Min, difference);
            p.arg_fold(Fold::ArgMax, sum, here);
            p.arg_fold(Fold::ArgMin, difference, here);
        })
        .phase(Point, |p| {
            // Which NaN it is differs.
            let nan = p.constant(dtype, f64::NAN);
            for fold in 0..2 {
                let v = p.folded(0, fold);
                let is_nan = p.op(ops::NE, &[v, v]);
                let v = p.op(ops::WHERE, &[is_nan, nan, v]);
                p.store(2 + fold, &[0, 1], v);
            }
            for fold in 2..4 {
                let v = p.folded(0, fold);
                p.store(2 + fold, &[0, 1], v);
            }
        })
        .done()
}
