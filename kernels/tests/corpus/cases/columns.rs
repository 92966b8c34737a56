//! Operands that are contiguous along the grid.

use super::super::{Builder, Case};
use workalike_kernels::nest::PhaseKind::{Map, Ordered, Point, Reduce};
use workalike_kernels::nest::*;
use workalike_kernels::{DType, ops};

/// A matrix product, a convolution, a softmax and a running sum of columns.
pub(super) fn columns() -> Vec<Case> {
    let mut cases = matrix_products();
    cases.extend([convolution(), softmax(), running_sum()]);
    cases
}

fn matrix_products() -> Vec<Case> {
    let mut cases = vec![];
    for (m, n, k) in [(3, 100, 300), (2, 9, 17000), (5, 64, 4)] {
        cases.push(
            Builder::new(&format!("dot {m} {n} {k}"), &[m, n, k], 2)
                .input(DType::F32, &[m, k])
                .input(DType::F32, &[k, n])
                .output(DType::F32, &[m, n])
                .phase(Reduce, |p| {
                    let (a, b) = (p.load(0, &[0, 2]), p.load(1, &[2, 1]));
                    let v = p.op(ops::MUL, &[a, b]);
                    p.fold(Fold::Sum, v);
                })
                .phase(Point, |p| {
                    let v = p.folded(0, 0);
                    p.store(2, &[0, 1], v);
                })
                .ulp(8)
                .done(),
        );
    }
    cases
}

fn convolution() -> Case {
    Builder::new("convolution", &[4, 90, 3], 2)
        .input(DType::F16, &[4, 92])
        .input(DType::F16, &[3])
        .output(DType::F16, &[4, 90])
        .phase(Reduce, |p| {
            let window = Index { offset: 0, terms: vec![(1, 1), (2, 1)], dynamic: None };
            let (a, b) = (p.load_at(0, vec![Index::axis(0), window]), p.load(1, &[2]));
            let (a, b) = (p.cast(a, DType::F32), p.cast(b, DType::F32));
            let v = p.op(ops::MUL, &[a, b]);
            p.fold(Fold::Sum, v);
        })
        .phase(Point, |p| {
            let v = p.folded(0, 0);
            let v = p.cast(v, DType::F16);
            p.store(2, &[0, 1], v);
        })
        .done()
}

fn softmax() -> Case {
    Builder::new("softmax of columns", &[3, 70, 40], 2)
        .input(DType::F32, &[3, 40, 70])
        .output(DType::F32, &[3, 40, 70])
        .output(DType::I64, &[3, 70])
        .phase(Reduce, |p| {
            let (v, at) = (p.load(0, &[0, 2, 1]), p.push(Inst::Axis(2)));
            p.fold(Fold::Max, v);
            p.arg_fold(Fold::ArgMin, v, at);
            p.store(1, &[0, 2, 1], v);
        })
        .phase(Point, |p| {
            let (v, column) = (p.folded(0, 1), p.push(Inst::Axis(1)));
            let v = p.op(ops::MUL, &[v, column]);
            p.store(2, &[0, 1], v);
        })
        .phase(Reduce, |p| {
            let (v, top) = (p.load(1, &[0, 2, 1]), p.folded(0, 0));
            let v = p.op(ops::SUB, &[v, top]);
            let v = p.op(ops::EXP, &[v]);
            p.fold(Fold::Sum, v);
        })
        .phase(Map, |p| {
            let (v, top, sum) = (p.load(1, &[0, 2, 1]), p.folded(0, 0), p.folded(2, 0));
            let v = p.op(ops::SUB, &[v, top]);
            let v = p.op(ops::EXP, &[v]);
            let v = p.op(ops::DIV, &[v, sum]);
            p.store(1, &[0, 2, 1], v);
        })
        .ulp(24)
        .done()
}

fn running_sum() -> Case {
    Builder::new("cumsum of columns", &[75, 40], 1)
        .input(DType::F32, &[40, 75])
        .output(DType::F32, &[41, 75])
        .phase(Ordered, |p| {
            let (old, new) = (p.load(1, &[1, 0]), p.load(0, &[1, 0]));
            let v = p.op(ops::ADD, &[old, new]);
            let next = Index { offset: 1, terms: vec![(1, 1)], dynamic: None };
            p.store_at(1, vec![next, Index::axis(0)], v, None);
        })
        .done()
}
