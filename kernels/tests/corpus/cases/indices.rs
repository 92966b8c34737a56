//! Operands with index maps and with computed indices.

use super::super::{Builder, Case, along, computed, modes};
use workalike_kernels::nest::PhaseKind::{Ordered, Point, Reduce};
use workalike_kernels::nest::*;
use workalike_kernels::{DType, Scalar, ops};

/// Transposed, broadcast, reversed, offset and strided, all at once.
pub(super) fn layouts() -> Case {
    Builder::new("layouts", &[6, 5, 4], 3)
        .input(DType::F32, &[4, 5, 6])
        .input(DType::F32, &[4])
        .input(DType::F32, &[20, 9])
        .output(DType::F32, &[6, 5, 4])
        .phase(Point, |p| {
            let a = p.load(0, &[2, 1, 0]);
            let b = p.load(1, &[2]);
            let back = Index { offset: 8, terms: vec![(0, -1)], dynamic: None };
            let every = Index { offset: 1, terms: vec![(1, 2), (2, 3)], dynamic: None };
            let c = p.load_at(2, vec![every, back]);
            let v = p.op(ops::ADD, &[a, b]);
            let v = p.op(ops::MUL, &[v, c]);
            p.store(3, &[0, 1, 2], v);
        })
        .done()
}

/// Axes as values, constants of all kinds, a conditional store, several phases, unused values.
pub(super) fn axes_and_constants() -> Case {
    Builder::new("axes & constants", &[3, 1, 50], 3)
        .output(DType::I64, &[3, 50])
        .output(DType::F64, &[3, 50])
        .output(DType::F32, &[3, 50])
        .output(DType::Bool, &[3, 50])
        .phase(Point, |p| {
            let (a, b, c) = (p.push(Inst::Axis(0)), p.push(Inst::Axis(1)), p.push(Inst::Axis(2)));
            let least = p.push(Inst::Const(Scalar::from_i128(DType::I64, i64::MIN.into())));
            let minus = p.constant(DType::I64, -3.0);
            let minus = p.op(ops::NEG, &[minus]);
            let v = p.op(ops::MUL, &[a, minus]);
            let v = p.op(ops::ADD, &[v, b]);
            let v = p.op(ops::ADD, &[v, c]);
            let _unused = p.op(ops::SUB, &[v, v]);
            let w = p.op(ops::SUB, &[v, least]);
            let (two, odd) = (p.constant(DType::I64, 2.0), p.constant(DType::I64, 1.0));
            let even = p.op(ops::MINIMUM, &[two, c]);
            let when = p.op(ops::NE, &[even, odd]);
            p.store_at(0, along(&[0, 2]), w, Some(when));
            p.store(3, &[0, 2], when);
        })
        .phase(Point, |p| {
            let c = p.push(Inst::Axis(2));
            for (operand, dtype) in [(1, DType::F64), (2, DType::F32)] {
                let mut v = p.cast(c, dtype);
                for x in [0.1, -1e-40, 5e-324, 3.5, -2.0, 1e30, 123456.75, -0.0] {
                    let x = p.constant(dtype, x);
                    v = p.op(ops::ADD, &[v, x]);
                }
                p.store(operand, &[0, 2], v);
            }
        })
        .done()
}

/// Indices for an axis of 4, some of them out of range.
fn indices() -> Vec<u8> {
    [3i64, -7, 0, 99, 2, 3].iter().flat_map(|i| i.to_le_bytes()).collect()
}

/// `y[i, j] = x[clip(at[i]), j]`.
pub(super) fn gather() -> Case {
    Builder::new("gather", &[6, 8], 2)
        .given(DType::I64, &[6], indices())
        .input(DType::BF16, &[4, 8])
        .output(DType::BF16, &[6, 8])
        .phase(Point, |p| {
            let at = p.load(0, &[0]);
            let (zero, last) = (p.constant(DType::I64, 0.0), p.constant(DType::I64, 3.0));
            let at = p.op(ops::MAXIMUM, &[at, zero]);
            let at = p.op(ops::MINIMUM, &[at, last]);
            let v = p.load_at(1, vec![computed(at), Index::axis(1)]);
            p.store(2, &[0, 1], v);
        })
        .done()
}

/// `y[i, j] = x[position, j]`, and `position + 1`, by each index mode.
pub(super) fn index_modes() -> Vec<Case> {
    let mut cases = vec![];
    for (number, mode) in modes(3).into_iter().enumerate() {
        cases.push(
            Builder::new(&format!("index mode {number}"), &[6, 8], 2)
                .given(DType::I64, &[6], indices())
                .input(DType::F32, &[4, 8])
                .output(DType::F32, &[6, 8])
                .output(DType::I64, &[])
                .output(DType::I64, &[6, 8])
                .phase(Point, |p| {
                    let at = p.load(0, &[0]);
                    let at = p.position(at, 4, mode);
                    let v = p.load_at(1, vec![computed(at), Index::axis(1)]);
                    let one = p.constant(DType::I64, 1.0);
                    let next = p.op(ops::ADD, &[at, one]);
                    p.store(2, &[0, 1], v);
                    p.store(4, &[0, 1], next);
                })
                .done(),
        );
    }
    cases
}

/// Forces 64-bit addresses: a large offset that the computed part takes back.
pub(super) fn wide_addresses() -> Vec<Case> {
    let mut cases = vec![];
    for (axes, first, second) in [([6, 8], 0, 1), ([6, 85], 0, 1), ([85, 6], 1, 0)] {
        cases.push(
            Builder::new(&format!("wide {axes:?}"), &axes, 1)
                .input(DType::F32, &[axes[first], axes[second]])
                .output(DType::F32, &[axes[0]])
                .phase(Reduce, |p| {
                    let back = p.constant(DType::I64, -(4294967296.0));
                    let far = Index { offset: 1 << 32, terms: vec![(first, 1)], dynamic: Some(back) };
                    let v = p.load_at(0, vec![far, Index::axis(second)]);
                    p.fold(Fold::Max, v);
                })
                .phase(Point, |p| {
                    let v = p.folded(0, 0);
                    p.store(1, &[0], v);
                })
                .done(),
        );
    }
    cases
}

/// `t[at[k], j] += x[k, j]`, in order.
pub(super) fn scatter_adds() -> Vec<Case> {
    let mut cases = vec![];
    let at: Vec<u8> = [1i64, 1, 0, 3, 1, 0].iter().flat_map(|i| i.to_le_bytes()).collect();
    for dtype in [DType::F32, DType::I32, DType::F16] {
        cases.push(
            Builder::new(&format!("scatter add {dtype}"), &[8, 6], 1)
                .given(DType::I64, &[6], at.clone())
                .input(dtype, &[6, 8])
                .input(dtype, &[4, 8])
                .written()
                .phase(Ordered, |p| {
                    let at = p.load(0, &[1]);
                    let old = p.load_at(2, vec![computed(at), Index::axis(0)]);
                    let new = p.load(1, &[1, 0]);
                    let v = p.op(ops::ADD, &[old, new]);
                    p.store_at(2, vec![computed(at), Index::axis(0)], v, None);
                })
                .done(),
        );
    }
    cases
}
