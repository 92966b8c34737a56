//! Phases that read what points or phases before them stored.

use super::super::{Builder, Case};
use workalike_kernels::nest::PhaseKind::{Map, Ordered, Point, Reduce};
use workalike_kernels::nest::*;
use workalike_kernels::{DType, ops};

/// A running sum reads the element that the point before stored.
pub(super) fn running_sum() -> Case {
    Builder::new("cumsum", &[5, 40], 1)
        .input(DType::F64, &[5, 40])
        .output(DType::F64, &[5, 41])
        .phase(Ordered, |p| {
            let old = p.load(1, &[0, 1]);
            let new = p.load(0, &[0, 1]);
            let v = p.op(ops::ADD, &[old, new]);
            let next = Index { offset: 1, terms: vec![(1, 1)], dynamic: None };
            p.store_at(1, vec![Index::axis(0), next], v, None);
        })
        .done()
}

/// Each Map reads, mirrored, the row that the Map before stored; a Point between them stores too.
pub(super) fn dependent_maps() -> Vec<Case> {
    let mut cases = vec![];
    for columns in [3, 200, 1000] {
        let mirror = |columns: u64| Index { offset: columns as i64 - 1, terms: vec![(1, -1)], dynamic: None };
        cases.push(
            Builder::new(&format!("maps in turn {columns}"), &[7, columns], 1)
                .input(DType::F32, &[7, columns])
                .output(DType::F32, &[7, columns])
                .output(DType::F32, &[7, columns])
                .output(DType::F32, &[7])
                .output(DType::F32, &[7])
                .phase(Map, |p| {
                    let v = p.load(0, &[0, 1]);
                    let v = p.op(ops::SQR, &[v]);
                    p.store(1, &[0, 1], v);
                })
                .phase(Point, |p| {
                    let v = p.load_at(1, vec![Index::axis(0), Index::constant(columns as i64 - 1)]);
                    p.store(3, &[0], v);
                })
                .phase(Map, |p| {
                    let v = p.load_at(1, vec![Index::axis(0), mirror(columns)]);
                    let top = p.load(3, &[0]);
                    let v = p.op(ops::SUB, &[v, top]);
                    p.store(2, &[0, 1], v);
                })
                .phase(Reduce, |p| {
                    let v = p.load_at(2, vec![Index::axis(0), mirror(columns)]);
                    p.fold(Fold::Max, v);
                    let x = p.load(0, &[0, 1]);
                    p.store(1, &[0, 1], x);
                })
                .phase(Point, |p| {
                    let v = p.folded(3, 0);
                    let w = p.load_at(1, vec![Index::axis(0), Index::constant(columns as i64 / 2)]);
                    let v = p.op(ops::SUB, &[v, w]);
                    p.store(4, &[0], v);
                })
                .done(),
        );
    }
    cases
}

/// In place, at equal indices.
pub(super) fn in_place() -> Case {
    Builder::new("in place", &[30, 40], 2)
        .input(DType::U8, &[30, 40])
        .written()
        .phase(Point, |p| {
            let v = p.load(0, &[0, 1]);
            let v = p.op(ops::MUL, &[v, v]);
            p.store(0, &[0, 1], v);
        })
        .done()
}
