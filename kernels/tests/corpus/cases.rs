//! The cases, by subject.

mod columns;
mod indices;
mod phases;
mod reductions;

use super::{Builder, Case, adds, products};
use workalike_kernels::DType;
use workalike_kernels::nest::PhaseKind::Point;
use workalike_kernels::nest::*;
use workalike_kernels::ops::{self, OpBody, ScalarOp};

pub use reductions::folds;

/// Every primitive that devices have, in every dtype in which it computes.
pub fn primitives() -> Vec<Case> {
    let mut cases = vec![];
    for op in ScalarOp::all().filter(|op| !op.is_host_only()) {
        for dtype in DType::REAL {
            let arity = op.row().arity;
            let given = op.arguments_of(dtype);
            let Some(signature) = op.signature(&given) else { continue };
            if signature.computing() != dtype || matches!(op.row().body, OpBody::Composition(_)) {
                continue;
            }
            let n = 200;
            let mut b = Builder::new(&format!("{} {dtype}", op.row().name), &[n], 1);
            for dtype in given {
                b = b.special(dtype, &[n]);
            }
            b = b.output(signature.result, &[n]).phase(Point, |p| {
                let args: Vec<Value> = (0..arity).map(|a| p.load(a, &[0])).collect();
                let v = p.op(op, &args);
                p.store(arity, &[0], v);
            });
            // The host's loops have an error of up to `ulp` too.
            cases.push(b.ulp(op.row().ulp * 2).done());
        }
    }
    cases
}

/// Every cast.
pub fn casts() -> Vec<Case> {
    let all = DType::REAL.into_iter().flat_map(|from| DType::REAL.map(|to| (from, to)));
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

/// Nests of all other kinds.
pub fn shapes() -> Vec<Case> {
    let mut cases = reductions::rows();
    cases.extend([indices::layouts(), indices::axes_and_constants()]);
    cases.extend(fills());
    cases.push(indices::gather());
    cases.extend(indices::index_modes());
    cases.extend(indices::wide_addresses());
    cases.extend(indices::scatter_adds());
    cases.push(phases::running_sum());
    cases.extend(phases::dependent_maps());
    cases.extend([phases::in_place(), random_bits(), draws()]);
    cases.extend(columns::columns());
    cases.extend(reductions::extremes());
    cases.extend([no_axes(), long_map()]);
    cases.extend(transposed());
    cases.extend(stacked());
    cases
}

fn fills() -> Vec<Case> {
    let mut cases = vec![];
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
    cases
}

/// Uniform floats from counters.
fn random_bits() -> Case {
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
        .done()
}

/// Draws by rejection and by search.
fn draws() -> Case {
    Builder::new("draws", &[50, 4], 2)
        .output(DType::F64, &[50, 4])
        .phase(Point, |p| {
            let key = p.constant(DType::U64, 1.2e19);
            let (counter, parameter) = (p.push(Inst::Axis(0)), p.push(Inst::Axis(1)));
            let (counter, parameter) = (p.cast(counter, DType::U64), p.cast(parameter, DType::F64));
            let eight = p.constant(DType::F64, 8.0);
            let p_success = p.constant(DType::F64, 0.75);
            let mean = p.op(ops::MUL, &[parameter, eight]);
            let gamma = p.op(ops::DRAW_LOG_GAMMA, &[key, counter, parameter]);
            let poisson = p.op(ops::DRAW_POISSON, &[key, counter, mean]);
            let binomial = p.op(ops::DRAW_BINOMIAL, &[key, counter, mean, p_success]);
            let sum = p.op(ops::ADD, &[gamma, poisson]);
            let sum = p.op(ops::ADD, &[sum, binomial]);
            p.store(0, &[0, 1], sum);
        })
        .ulp(64)
        .done()
}

fn no_axes() -> Case {
    Builder::new("", &[], 0)
        .input(DType::I8, &[])
        .output(DType::I8, &[])
        .phase(Point, |p| {
            let v = p.load(0, &[]);
            let v = p.op(ops::NEG, &[v]);
            p.store(1, &[], v);
        })
        .done()
}

/// Large enough that each item takes several points.
fn long_map() -> Case {
    Builder::new("a long map of a name that is far longer than names may be", &[100, 700], 2)
        .input(DType::F32, &[100, 700])
        .input(DType::F32, &[700])
        .output(DType::F32, &[100, 700])
        .phase(Point, |p| {
            let (a, b) = (p.load(0, &[0, 1]), p.load(1, &[1]));
            let v = p.op(ops::MUL, &[a, b]);
            p.store(2, &[0, 1], v);
        })
        .done()
}

/// Transposed operands, in whole squares and beyond them.
fn transposed() -> Vec<Case> {
    let mut cases = vec![];
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

/// Arrays stacked along a new last axis, from which `first` elements stay as they are.
fn stacked() -> Vec<Case> {
    let mut cases = vec![];
    for (dtype, count, first) in [
        (DType::F32, 2, 0),
        (DType::F32, 3, 0),
        (DType::F32, 12, 0),
        (DType::F32, 7, 1),
        (DType::F64, 4, 0),
        (DType::F16, 8, 0),
        (DType::BF16, 6, 2),
        (DType::Bool, 5, 3),
        (DType::I8, 16, 0),
    ] {
        let all = (count + first) as u64;
        cases.push(
            Builder::new(&format!("stacked {dtype} {count} {first}"), &[9, 31], 2)
                .input(dtype, &[9, 31 + count as u64])
                .output(dtype, &[9, 31, all])
                .phase(Point, |p| {
                    for k in 0..count {
                        let v = p.load_at(0, vec![Index::axis(0), Index { offset: k, ..Index::axis(1) }]);
                        let last = Index { offset: first + k, ..Index::default() };
                        p.store_at(1, vec![Index::axis(0), Index::axis(1), last], v, None);
                    }
                })
                .done(),
        );
    }
    cases
}

/// All cases.
pub fn all() -> Vec<Case> {
    let mut cases = shapes();
    cases.extend(primitives());
    cases.extend(casts());
    cases.extend(folds());
    cases.extend(products(false));
    cases.extend(adds());
    cases.extend(super::neighbours());
    cases
}
