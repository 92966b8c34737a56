//! Products of matrices, with fused ops before and behind. Their values are multiples of 1/8 up to 4, so that
//! sums are exact in any order.

use super::semirings::semirings;
use super::{Build, Builder, Case, along, computed};
use workalike_kernels::nest::PhaseKind::{Point, Reduce};
use workalike_kernels::nest::*;
use workalike_kernels::ops::{self, ScalarOp};
use workalike_kernels::{DType, Scalar};

/// A plain product: `[m, n, k]`, and whether each factor is transposed.
pub fn product(dtype: DType, [m, n, k]: [u64; 3], transposed: [bool; 2]) -> Case {
    let acc = dtype.register();
    let swap = |mut pair: [u64; 2], swapped: bool| {
        if swapped {
            pair.swap(0, 1);
        }
        pair
    };
    Builder::new(&format!("product {dtype} {m} {n} {k} {transposed:?}"), &[m, n, k], 2)
        .input(dtype, &swap([m, k], transposed[0]))
        .input(dtype, &swap([k, n], transposed[1]))
        .output(acc, &[m, n])
        .phase(Reduce, |p| {
            let left = p.load(0, if transposed[0] { &[2, 0] } else { &[0, 2] });
            let right = p.load(1, if transposed[1] { &[1, 2] } else { &[2, 1] });
            let (left, right) = (p.cast(left, acc), p.cast(right, acc));
            let v = p.op(ops::MUL, &[left, right]);
            p.fold(Fold::Sum, v);
        })
        .phase(Point, |p| {
            let v = p.folded(0, 0);
            p.store(2, &[0, 1], v);
        })
        .done()
}

/// All products; `large` adds products that take seconds in an interpreter.
pub fn products(large: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let plain = [false; 2];
    for size in [
        [1, 1, 1],
        [1, 40, 50],
        [40, 1, 50],
        [9, 7, 1],
        [4, 4, 8],
        [5, 6, 33],
        [20, 50, 78],
        [64, 64, 64],
        [67, 35, 129],
        [20, 10, 500],
        [130, 70, 20],
        [4, 5, 9000],
    ] {
        cases.push(product(DType::F32, size, plain));
    }
    for transposed in [[true, false], [false, true], [true, true]] {
        cases.push(product(DType::F32, [33, 50, 70], transposed));
        cases.push(product(DType::F64, [64, 32, 40], transposed));
    }
    for dtype in DType::REAL {
        cases.push(product(dtype, [37, 45, 40], plain));
        cases.push(product(dtype, [32, 64, 16], [true, true]));
    }
    if large {
        cases.push(product(DType::F32, [129, 200, 60], plain));
        cases.push(product(DType::F32, [256, 128, 32], [true, false]));
        cases.push(product(DType::I64, [130, 129, 17], plain));
        cases.push(product(DType::F64, [140, 130, 21], [false, true]));
    }
    cases.extend(fused());
    cases.extend(semirings());
    cases
}

/// Products with fused ops before and behind.
fn fused() -> Vec<Case> {
    let mut cases =
        vec![layer(DType::F32), layer(DType::F16), layer(DType::BF16), descent(), two_sums(), batched()];
    cases.extend([windows(), gathered(), conditional(), results_in_columns(), same_for_all_rows()]);
    for size in [[67, 41, 13], [33, 50, 70], [130, 70, 20], [5, 6, 1]] {
        cases.push(distances(DType::F32, size));
    }
    cases.push(distances(DType::F64, [40, 36, 50]));
    cases
}

/// Sums of other functions of two factors than their product: `sum (x - y)^2` and `sum |y - x| + max(x, y)`.
fn distances(dtype: DType, [m, n, k]: [u64; 3]) -> Case {
    Builder::new(&format!("distances {dtype} {m} {n} {k}"), &[m, n, k], 2)
        .input(dtype, &[m, k])
        .input(dtype, &[n, k])
        .output(dtype, &[m, n])
        .output(dtype, &[m, n])
        .phase(Reduce, |p| {
            let (x, y) = (p.load(0, &[0, 2]), p.load(1, &[1, 2]));
            let away = p.op(ops::SUB, &[x, y]);
            let square = p.op(ops::SQR, &[away]);
            let back = p.op(ops::SUB, &[y, x]);
            let (far, most) = (p.op(ops::ABS, &[back]), p.op(ops::MAXIMUM, &[x, y]));
            let both = p.op(ops::ADD, &[far, most]);
            p.fold(Fold::Sum, square);
            p.fold(Fold::Sum, both);
        })
        .phase(Point, |p| {
            for fold in 0..2 {
                let v = p.folded(0, fold);
                p.store(2 + fold, &[0, 1], v);
            }
        })
        .done()
}

/// `tanh(dropout(x) w + b)`, stored twice: a fused hidden layer.
fn layer(dtype: DType) -> Case {
    let (m, n, k) = (20, 50, 78);
    Builder::new(&format!("layer {dtype}"), &[m, n, k], 2)
        .input(dtype, &[m, k])
        .input(DType::Bool, &[m, k])
        .input(dtype, &[k, n])
        .input(dtype, &[n])
        .input(DType::F32, &[])
        .output(DType::F32, &[m, n])
        .output(dtype, &[m, n])
        .phase(Reduce, |p| {
            let (x, mask, w, scale) =
                (p.load(0, &[0, 2]), p.load(1, &[0, 2]), p.load(2, &[2, 1]), p.load(4, &[]));
            let (x, w) = (p.cast(x, DType::F32), p.cast(w, DType::F32));
            let two = p.constant(DType::F32, 2.0);
            let twice = p.op(ops::MUL, &[scale, two]);
            let scaled = p.op(ops::MUL, &[x, twice]);
            let zero = p.constant(DType::F32, 0.0);
            let kept = p.op(ScalarOp::named("where").expect("an op"), &[mask, scaled, zero]);
            // The right factor first.
            let v = p.op(ops::MUL, &[w, kept]);
            p.fold(Fold::Sum, v);
        })
        .phase(Point, |p| {
            let (v, b) = (p.folded(0, 0), p.load(3, &[1]));
            let b = p.cast(b, DType::F32);
            let v = p.op(ops::ADD, &[v, b]);
            let small = p.constant(DType::F32, 1.0 / 64.0);
            let v = p.op(ops::MUL, &[v, small]);
            p.store(5, &[0, 1], v);
        })
        .phase(Point, |p| {
            let v = p.load(5, &[0, 1]);
            let v = p.op(ScalarOp::named("tanh").expect("an op"), &[v]);
            let v = p.cast(v, dtype);
            p.store(6, &[0, 1], v);
        })
        .ulp(12)
        .done()
}

/// `w - lr * (x^T d + l2 * w)` in place, and the gradient.
fn descent() -> Case {
    let (m, n, k) = (78, 50, 20);
    Builder::new("descent", &[m, n, k], 2)
        .input(DType::F32, &[k, m])
        .input(DType::F32, &[k, n])
        .input(DType::F32, &[m, n])
        .written()
        .output(DType::F32, &[m, n])
        .phase(Reduce, |p| {
            let (x, d) = (p.load(0, &[2, 0]), p.load(1, &[2, 1]));
            let v = p.op(ops::MUL, &[x, d]);
            p.fold(Fold::Sum, v);
        })
        .phase(Point, |p| {
            let (g, w) = (p.folded(0, 0), p.load(2, &[0, 1]));
            let (rate, decay) = (p.constant(DType::F32, 0.125), p.constant(DType::F32, 0.25));
            let decayed = p.op(ops::MUL, &[decay, w]);
            let g = p.op(ops::ADD, &[g, decayed]);
            let step = p.op(ops::MUL, &[rate, g]);
            let v = p.op(ops::SUB, &[w, step]);
            p.store(2, &[0, 1], v);
            p.store(3, &[0, 1], g);
        })
        .done()
}

/// Two products that share a factor, of different dtypes.
fn two_sums() -> Case {
    let (m, n, k) = (19, 40, 90);
    Builder::new("two sums", &[m, n, k], 2)
        .input(DType::F32, &[m, k])
        .input(DType::F32, &[k, n])
        .input(DType::I32, &[k, n])
        .output(DType::F32, &[m, n])
        .output(DType::F64, &[m, n])
        .phase(Reduce, |p| {
            let (x, w, u) = (p.load(0, &[0, 2]), p.load(1, &[2, 1]), p.load(2, &[2, 1]));
            let v = p.op(ops::MUL, &[x, w]);
            p.fold(Fold::Sum, v);
            let (x, u) = (p.cast(x, DType::F64), p.cast(u, DType::F64));
            let v = p.op(ops::MUL, &[u, x]);
            p.fold(Fold::Sum, v);
        })
        .phase(Point, |p| {
            let (a, b) = (p.folded(0, 0), p.folded(0, 1));
            p.store(3, &[0, 1], a);
            p.store(4, &[0, 1], b);
        })
        .done()
}

/// A product, and beside it one whose left factor is the same for all rows.
fn same_for_all_rows() -> Case {
    let (m, n, k) = (19, 40, 90);
    Builder::new("same for all rows", &[m, n, k], 2)
        .input(DType::F32, &[m, k])
        .input(DType::F32, &[k, n])
        .input(DType::F32, &[k])
        .output(DType::F32, &[m, n])
        .output(DType::F32, &[m, n])
        .phase(Reduce, |p| {
            let (x, w, u) = (p.load(0, &[0, 2]), p.load(1, &[2, 1]), p.load(2, &[2]));
            for left in [x, u] {
                let v = p.op(ops::MUL, &[left, w]);
                p.fold(Fold::Sum, v);
            }
        })
        .phase(Point, |p| {
            for fold in 0..2 {
                let v = p.folded(0, fold);
                p.store(3 + fold, &[0, 1], v);
            }
        })
        .done()
}

/// A batch of products, its loop between the loops of rows and columns; two inner loops; several loops of
/// rows.
fn batched() -> Case {
    Builder::new("batched", &[3, 2, 7, 30, 6, 5], 4)
        .input(DType::F32, &[2, 3, 7, 5, 6])
        .input(DType::F32, &[2, 6, 5, 30])
        .input(DType::F32, &[7])
        .output(DType::F32, &[2, 7, 30, 3])
        .phase(Reduce, |p| {
            let (x, w) = (p.load(0, &[1, 0, 2, 5, 4]), p.load(1, &[1, 4, 5, 3]));
            let v = p.op(ops::MUL, &[x, w]);
            p.fold(Fold::Sum, v);
        })
        .phase(Point, |p| {
            let (v, b) = (p.folded(0, 0), p.load(2, &[2]));
            let at = p.push(Inst::Axis(0));
            let at = p.cast(at, DType::F32);
            let v = p.op(ops::ADD, &[v, b]);
            let v = p.op(ops::ADD, &[v, at]);
            p.store(3, &[1, 2, 3, 0], v);
        })
        .done()
}

/// A convolution: the left factor is a window.
fn windows() -> Case {
    Builder::new("windows", &[40, 12, 9, 4], 2)
        .input(DType::F32, &[48, 4])
        .input(DType::F32, &[12, 4, 9])
        .output(DType::F32, &[12, 40])
        .phase(Reduce, |p| {
            let window = Index { offset: 0, terms: vec![(0, 1), (2, 1)], dynamic: None };
            let x = p.load_at(0, vec![window, Index::axis(3)]);
            let w = p.load(1, &[1, 3, 2]);
            let v = p.op(ops::MUL, &[x, w]);
            p.fold(Fold::Sum, v);
        })
        .phase(Point, |p| {
            let v = p.folded(0, 0);
            p.store(2, &[1, 0], v);
        })
        .done()
}

/// Rows of the left factor are looked up, and so is the first of them.
fn gathered() -> Case {
    let (m, n, k) = (26, 33, 40);
    let at: Vec<u8> = (0..m).flat_map(|i| ((i * 7 % 10) as i64).to_le_bytes()).collect();
    Builder::new("gathered", &[m, n, k], 2)
        .input(DType::F32, &[11, k])
        .given(DType::I64, &[m], at)
        .input(DType::F32, &[k, n])
        .given(DType::I64, &[], 1i64.to_le_bytes().to_vec())
        .output(DType::F32, &[m, n])
        .phase(Reduce, |p| {
            let (row, first) = (p.load(1, &[0]), p.load(3, &[]));
            let row = p.op(ops::ADD, &[row, first]);
            let x = p.load_at(0, vec![computed(row), Index::axis(2)]);
            let w = p.load(2, &[2, 1]);
            let v = p.op(ops::MUL, &[x, w]);
            p.fold(Fold::Sum, v);
        })
        .phase(Point, |p| {
            let v = p.folded(0, 0);
            p.store(4, &[0, 1], v);
        })
        .done()
}

/// Only some results are stored.
fn conditional() -> Case {
    let (m, n, k) = (30, 30, 30);
    Builder::new("conditional", &[m, n, k], 2)
        .input(DType::I32, &[m, k])
        .input(DType::I32, &[n, k])
        .output(DType::I32, &[m, n])
        .phase(Reduce, |p: &mut Build| {
            let (x, w) = (p.load(0, &[0, 2]), p.load(1, &[1, 2]));
            let v = p.op(ops::MUL, &[x, w]);
            p.fold(Fold::Sum, v);
        })
        .phase(Point, |p| {
            let v = p.folded(0, 0);
            let zero = p.push(Inst::Const(Scalar::from_i128(DType::I32, 0)));
            let when = p.op(ScalarOp::named("less").expect("an op"), &[zero, v]);
            p.store_at(2, along(&[0, 1]), v, Some(when));
        })
        .done()
}

/// The result is contiguous along the first grid loop.
fn results_in_columns() -> Case {
    let (m, n, k) = (50, 21, 64);
    Builder::new("results in columns", &[m, n, k], 2)
        .input(DType::F32, &[k, m])
        .input(DType::F32, &[n, k])
        .output(DType::F32, &[n, m])
        .phase(Reduce, |p| {
            let (x, w) = (p.load(0, &[2, 0]), p.load(1, &[1, 2]));
            let v = p.op(ops::MUL, &[x, w]);
            p.fold(Fold::Sum, v);
        })
        .phase(Point, |p| {
            let v = p.folded(0, 0);
            p.store(2, &[1, 0], v);
        })
        .done()
}
