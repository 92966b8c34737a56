//! The cases.

use super::{Builder, Case, adds, along, computed, modes, products};
use workalike_kernels::nest::PhaseKind::{Map, Ordered, Point, Reduce};
use workalike_kernels::nest::*;
use workalike_kernels::ops::{self, Body, ScalarOp};
use workalike_kernels::{DType, Scalar};

/// Every primitive that devices have, in every dtype in which it computes.
pub fn primitives() -> Vec<Case> {
    let mut cases = vec![];
    for op in ScalarOp::all().filter(|op| !op.is_host_only()) {
        for dtype in DType::ALL {
            let arity = op.row().arity;
            let Some(signature) = op.signature(&vec![dtype; arity]) else { continue };
            let select = signature.args.first() != signature.args.last();
            if signature.computing() != dtype || matches!(op.row().body, Body::Composition(_)) {
                continue;
            }
            let n = 200;
            let mut b = Builder::new(&format!("{} {dtype}", op.row().name), &[n], 1);
            for at in 0..arity {
                b = b.special(if select && at == 0 { DType::Bool } else { dtype }, &[n]);
            }
            b = b.output(signature.result, &[n]).phase(Point, |p| {
                let args: Vec<Value> = (0..arity).map(|a| p.load(a, &[0])).collect();
                let v = p.op(op, &args);
                p.store(arity, &[0], v);
            });
            // The host is off by as much again.
            cases.push(b.ulp(op.row().ulp * 2).done());
        }
    }
    cases
}

/// Every cast.
pub fn casts() -> Vec<Case> {
    let all = DType::ALL.into_iter().flat_map(|from| DType::ALL.map(|to| (from, to)));
    all.map(|(from, to)| {
        Builder::new(&format!("cast {from} {to}"), &[300], 1)
            .special(from, &[300])
            .output(to, &[300])
            .phase(Point, |p| {
                let v = p.load(0, &[0]);
                let v = p.cast(v, to);
                p.store(1, &[0], v);
            })
            .done()
    })
    .collect()
}

/// Every fold in every dtype, over rows and columns, of several extents.
pub fn folds() -> Vec<Case> {
    let mut cases = vec![];
    for (rows, columns) in [(5, 37), (70, 3), (3, 700), (1, 4000), (4, 0)] {
        for dtype in DType::ALL {
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

/// Phases that share several values: the row, its distance from the mean, and what is made of that; scaled by
/// a row that all share, which ends in a store on a condition.
fn layer_norm(dtype: DType, rows: u64, columns: u64) -> Case {
    let centred = |p: &mut super::Build| {
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

/// Everything else that a Nest can be.
pub fn shapes() -> Vec<Case> {
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
    // Transposed, broadcast, reversed, offset and strided, all at once.
    cases.push(
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
            .done(),
    );
    // Axes as values, constants of all kinds, a conditional store, several phases, unused values.
    cases.push(
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
            .done(),
    );
    for constant in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.1] {
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            cases.push(
                Builder::new(&format!("fill {dtype} {constant}"), &[40], 1)
                    .output(dtype, &[40])
                    .phase(Point, |p| {
                        let v = p.constant(dtype, constant);
                        p.store(0, &[0], v);
                    })
                    .done(),
            );
        }
    }
    // y[i, j] = x[clip(at[i]), j], and a picked element beside it.
    let at: Vec<u8> = [3i64, -7, 0, 99, 2, 3].iter().flat_map(|i| i.to_le_bytes()).collect();
    cases.push(
        Builder::new("gather", &[6, 8], 2)
            .given(DType::I64, &[6], at.clone())
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
            .done(),
    );
    // y[i, j] = x[position, j], and position + 1, by each index mode.
    for (number, mode) in modes(3).into_iter().enumerate() {
        cases.push(
            Builder::new(&format!("index mode {number}"), &[6, 8], 2)
                .given(DType::I64, &[6], at.clone())
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
    // Forces 64-bit addresses: a large offset that the computed part takes back.
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
    // t[at[k], j] += x[k, j], in order.
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
    // A running sum reads what the point before it stored.
    cases.push(
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
            .done(),
    );
    // Each Map reads, mirrored, what the one before stored; a Point between them stores too.
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
    // In place, at equal indices.
    cases.push(
        Builder::new("in place", &[30, 40], 2)
            .input(DType::U8, &[30, 40])
            .written()
            .phase(Point, |p| {
                let v = p.load(0, &[0, 1]);
                let v = p.op(ops::MUL, &[v, v]);
                p.store(0, &[0, 1], v);
            })
            .done(),
    );
    // Uniform floats from counters.
    cases.push(
        Builder::new("philox", &[50, 2], 2)
            .output(DType::U64, &[50, 2])
            .output(DType::F64, &[50, 2])
            .phase(Point, |p| {
                let key = p.constant(DType::U64, 1.2e19);
                let (counter, lane) = (p.push(Inst::Axis(0)), p.push(Inst::Axis(1)));
                let (counter, lane) = (p.cast(counter, DType::U64), p.cast(lane, DType::U64));
                let bits = p.op(ops::PHILOX, &[key, counter, lane]);
                let eleven = p.constant(DType::U64, 11.0);
                let top = p.op(ops::RIGHT_SHIFT, &[bits, eleven]);
                let (top, scale) = (p.cast(top, DType::F64), p.constant(DType::F64, 2f64.powi(-53)));
                let uniform = p.op(ops::MUL, &[top, scale]);
                p.store(0, &[0, 1], bits);
                p.store(1, &[0, 1], uniform);
            })
            .done(),
    );
    // Contiguous along the grid: a matrix product, a convolution, a softmax and a running sum of columns.
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
    cases.push(
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
            .done(),
    );
    cases.push(
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
            .done(),
    );
    cases.push(
        Builder::new("cumsum of columns", &[75, 40], 1)
            .input(DType::F32, &[40, 75])
            .output(DType::F32, &[41, 75])
            .phase(Ordered, |p| {
                let (old, new) = (p.load(1, &[1, 0]), p.load(0, &[1, 0]));
                let v = p.op(ops::ADD, &[old, new]);
                let next = Index { offset: 1, terms: vec![(1, 1)], dynamic: None };
                p.store_at(1, vec![next, Index::axis(0)], v, None);
            })
            .done(),
    );
    // Long rows of NaN, infinities and equals.
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
    // No axes at all.
    cases.push(
        Builder::new("", &[], 0)
            .input(DType::I8, &[])
            .output(DType::I8, &[])
            .phase(Point, |p| {
                let v = p.load(0, &[]);
                let v = p.op(ops::NEG, &[v]);
                p.store(1, &[], v);
            })
            .done(),
    );
    // Large enough that items go round.
    cases.push(
        Builder::new("a long map of a name that is far longer than names may be", &[100, 700], 2)
            .input(DType::F32, &[100, 700])
            .input(DType::F32, &[700])
            .output(DType::F32, &[100, 700])
            .phase(Point, |p| {
                let (a, b) = (p.load(0, &[0, 1]), p.load(1, &[1]));
                let v = p.op(ops::MUL, &[a, b]);
                p.store(2, &[0, 1], v);
            })
            .done(),
    );
    // Operands across, in whole squares and beyond them.
    for (dtype, [n, rows, columns]) in [
        (DType::F32, [1, 300, 201]),
        (DType::F16, [3, 131, 160]),
        (DType::F64, [2, 64, 300]),
        (DType::Bool, [1, 500, 333]),
    ] {
        cases.push(
            Builder::new(&format!("turned {dtype}"), &[n, rows, columns], 3)
                .input(dtype, &[n, columns, rows])
                .input(DType::F32, &[columns, n, rows])
                .input(DType::F32, &[rows, columns])
                .output(DType::F32, &[n, rows, columns])
                .phase(Point, |p| {
                    let (a, b, c) = (p.load(0, &[0, 2, 1]), p.load(1, &[2, 0, 1]), p.load(2, &[1, 2]));
                    let a = p.cast(a, DType::F32);
                    let v = p.op(ops::MUL, &[a, c]);
                    let v = p.op(ops::ADD, &[v, b]);
                    p.store(3, &[0, 1, 2], v);
                })
                .done(),
        );
    }
    cases
}

/// All of them.
pub fn all() -> Vec<Case> {
    let mut cases = shapes();
    cases.extend(primitives());
    cases.extend(casts());
    cases.extend(folds());
    cases.extend(products(false));
    cases.extend(adds());
    cases
}
