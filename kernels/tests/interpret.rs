//! The interpreter against results worked out by hand.

mod corpus;

use corpus::{Builder, Case, computed, modes};
use half::f16;
use workalike_kernels::DType;
use workalike_kernels::interpret::interpret;
use workalike_kernels::nest::PhaseKind::{Map, Ordered, Point, Reduce};
use workalike_kernels::nest::{Fold, Index, IndexMode, Inst};
use workalike_kernels::ops;
use workalike_kernels::verify::NestProblem;

/// The bytes of numbers.
macro_rules! bytes {
    ($t:ty: $($x:expr),* $(,)?) => { [$($x as $t),*].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>() };
}

/// Runs a case, and returns the operand at a position.
fn run(case: Case, operand: usize) -> Vec<u8> {
    let mut operands = case.operands;
    interpret(&case.nest, &mut operands).expect("a sound Nest");
    operands.swap_remove(operand)
}

#[test]
fn elementwise_with_broadcasting() {
    let case = Builder::new("add", &[2, 3], 2)
        .given(DType::I32, &[2, 3], bytes!(i32: 1, 2, 3, 4, 5, i32::MAX))
        .given(DType::I32, &[3], bytes!(i32: 10, 20, 30))
        .output(DType::I32, &[2, 3])
        .phase(Point, |p| {
            let (a, b) = (p.load(0, &[0, 1]), p.load(1, &[1]));
            let v = p.op(ops::ADD, &[a, b]);
            p.store(2, &[0, 1], v);
        });
    assert_eq!(run(case.done(), 2), bytes!(i32: 11, 22, 33, 14, 25, i32::MIN + 29));
}

#[test]
fn a_store_that_adds() {
    let case = Builder::new("count", &[4], 1)
        .given(DType::I64, &[4], bytes!(i64: 1, 0, 1, 1))
        .given(DType::I32, &[4], bytes!(i32: 10, 20, i32::MAX, 2))
        .given(DType::I32, &[3], bytes!(i32: 1, 5, 7))
        .written()
        .phase(Point, |p| {
            let (place, v) = (p.load(0, &[0]), p.load(1, &[0]));
            p.add_at(2, vec![computed(place)], v, None);
        });
    assert_eq!(run(case.done(), 2), bytes!(i32: 21, i32::MIN + 16, 7));
}

#[test]
fn every_op_on_a_half_rounds() {
    // 2048 + 1 is no half: each sum falls back to 2048.
    let x: Vec<u8> = [2048.0, 1.0].iter().flat_map(|&x| f16::from_f32(x).to_le_bytes()).collect();
    let case =
        Builder::new("halves", &[], 0).given(DType::F16, &[2], x).output(DType::F16, &[]).phase(Point, |p| {
            let (a, b) = (p.load_at(0, vec![Index::constant(0)]), p.load_at(0, vec![Index::constant(1)]));
            let v = p.op(ops::ADD, &[a, b]);
            let v = p.op(ops::ADD, &[v, b]);
            p.store(1, &[], v);
        });
    assert_eq!(run(case.done(), 1), f16::from_f32(2048.0).to_le_bytes());
}

#[test]
fn reduce_then_map() {
    let case = Builder::new("centre", &[2, 4], 1)
        .given(DType::F64, &[2, 4], bytes!(f64: 1, 2, 3, 6, -1, -1, -1, 3))
        .output(DType::F64, &[2, 4])
        .phase(Reduce, |p| {
            let v = p.load(0, &[0, 1]);
            p.fold(Fold::Max, v);
        })
        .phase(Map, |p| {
            let (v, top) = (p.load(0, &[0, 1]), p.folded(0, 0));
            let v = p.op(ops::SUB, &[v, top]);
            p.store(1, &[0, 1], v);
        });
    assert_eq!(run(case.done(), 1), bytes!(f64: -5, -4, -3, 0, -4, -4, -4, 0));
}

fn arg(fold: Fold, rows: u64, columns: u64, data: Vec<u8>) -> Vec<u8> {
    let case = Builder::new("arg", &[rows, columns], 1)
        .given(DType::F32, &[rows, columns], data)
        .output(DType::I64, &[rows])
        .phase(Reduce, |p| {
            let (v, at) = (p.load(0, &[0, 1]), p.push(Inst::Axis(1)));
            p.arg_fold(fold, v, at);
        })
        .phase(Point, |p| {
            let v = p.folded(0, 0);
            p.store(1, &[0], v);
        });
    run(case.done(), 1)
}

#[test]
fn arg_folds_take_nan_first_and_the_least_index() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let rows = bytes!(f32: 1, 7, 7, 0,  7, nan, 9, nan,  -inf, -inf, -inf, -inf,  3, 3, 3, inf);
    assert_eq!(arg(Fold::ArgMax, 4, 4, rows.clone()), bytes!(i64: 1, 1, 0, 3));
    assert_eq!(arg(Fold::ArgMin, 4, 4, rows), bytes!(i64: 3, 1, 0, 0));
}

#[test]
fn empty_folds_give_their_identities() {
    assert_eq!(arg(Fold::ArgMax, 2, 0, vec![]), bytes!(i64: i64::MAX, i64::MAX));
    let case = Builder::new("empty", &[0], 0)
        .input(DType::I8, &[0])
        .output(DType::I8, &[4])
        .phase(Reduce, |p| {
            let v = p.load(0, &[0]);
            for fold in [Fold::Sum, Fold::Product, Fold::Max, Fold::Min] {
                p.fold(fold, v);
            }
        })
        .phase(Point, |p| {
            for at in 0..4 {
                let v = p.folded(0, at);
                p.store_at(1, vec![Index::constant(at as i64)], v, None);
            }
        });
    assert_eq!(run(case.done(), 1), bytes!(i8: 0, 1, -128, 127));
}

#[test]
fn a_pairwise_sum_is_exact_where_a_running_one_is_not() {
    let n = 1 << 16;
    let case = Builder::new("sum", &[n], 0)
        .given(DType::F32, &[n], (0..n).flat_map(|_| 0.1f32.to_le_bytes()).collect())
        .output(DType::F32, &[])
        .phase(Reduce, |p| {
            let v = p.load(0, &[0]);
            p.fold(Fold::Sum, v);
        })
        .phase(Point, |p| {
            let v = p.folded(0, 0);
            p.store(1, &[], v);
        });
    assert_eq!(run(case.done(), 1), (0.1f32 * n as f32).to_le_bytes());
}

fn gather(at: [i64; 3]) -> Case {
    Builder::new("gather", &[3, 2], 2)
        .given(DType::I64, &[3], at.iter().flat_map(|i| i.to_le_bytes()).collect())
        .given(DType::U16, &[3, 2], bytes!(u16: 10, 11, 20, 21, 30, 31))
        .output(DType::U16, &[3, 2])
        .phase(Point, |p| {
            let at = p.load(0, &[0]);
            let v = p.load_at(1, vec![computed(at), Index::axis(1)]);
            p.store(2, &[0, 1], v);
        })
        .done()
}

#[test]
fn gathers_and_checks_computed_indices() {
    assert_eq!(run(gather([2, 0, 2]), 2), bytes!(u16: 30, 31, 10, 11, 30, 31));
    for bad in [3, -1, i64::MIN, i64::MAX] {
        let mut case = gather([0, bad, 0]);
        let error = interpret(&case.nest, &mut case.operands).expect_err("out of bounds");
        let expected = NestProblem::Dynamic { operand: 1, dimension: 0, index: bad.into(), extent: 3 };
        assert_eq!(error.problem, expected);
    }
}

#[test]
fn index_modes() {
    let expected: [[i64; 7]; 4] =
        [[0, 0, 0, 0, 2, 2, 2], [1, 0, 2, 0, 2, 0, 1], [0, 0, 2, 0, 2, 2, 2], [0, 0, 2, 0, 2, 2, 2]];
    for (mode, positions) in modes(2).into_iter().zip(expected) {
        let case = |given: Vec<u8>| {
            Builder::new("modes", &[7], 1)
                .given(DType::I64, &[7], given)
                .output(DType::I64, &[7])
                .output(DType::I64, &[])
                .phase(Point, |p| {
                    let at = p.load(0, &[0]);
                    let at = p.position(at, 3, mode);
                    p.store(1, &[0], at);
                })
                .done()
        };
        let integers = || bytes!(i64: -5, -3, -1, 0, 2, 3, 4);
        let positions: Vec<u8> = positions.iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(run(case(integers()), 1), positions, "{mode:?}");
        let reported = if matches!(mode, IndexMode::Report { .. }) { 17i64 } else { 0 };
        assert_eq!(run(case(integers()), 2), reported.to_le_bytes(), "{mode:?}");
        let valid = bytes!(i64: -3, -2, -1, 0, 1, 2, 2);
        assert_eq!(run(case(valid), 2), 0i64.to_le_bytes(), "{mode:?}");
    }
}

#[test]
fn an_index_that_nothing_uses_is_reported() {
    let case = Builder::new("check", &[2], 1)
        .given(DType::I64, &[2], bytes!(i64: 0, 3))
        .output(DType::I64, &[])
        .phase(Point, |p| {
            let at = p.load(0, &[0]);
            p.position(at, 3, IndexMode::Report { status: 1, node: 5 });
        });
    assert_eq!(run(case.done(), 1), 5i64.to_le_bytes());
    for mode in modes(0) {
        assert_eq!(mode.position(-1, 0), 0, "{mode:?}: there is none");
    }
}

#[test]
fn an_ordered_scatter_adds_duplicates() {
    let case = Builder::new("scatter", &[4], 0)
        .given(DType::I64, &[4], bytes!(i64: 1, 0, 1, 1))
        .given(DType::F32, &[4], bytes!(f32: 1, 2, 4, 8))
        .given(DType::F32, &[3], bytes!(f32: 100, 200, 300))
        .written()
        .phase(Ordered, |p| {
            let at = p.load(0, &[0]);
            let (old, new) = (p.load_at(2, vec![computed(at)]), p.load(1, &[0]));
            let v = p.op(ops::ADD, &[old, new]);
            p.store_at(2, vec![computed(at)], v, None);
        });
    assert_eq!(run(case.done(), 2), bytes!(f32: 102, 213, 300));
}

#[test]
fn buffers_have_to_fit() {
    let mut case = gather([0, 1, 2]);
    case.operands[1].truncate(11);
    let error = interpret(&case.nest, &mut case.operands).expect_err("too small");
    assert!(matches!(error.problem, NestProblem::Buffers(_)), "{error}");
    case.operands.pop();
    let error = interpret(&case.nest, &mut case.operands).expect_err("too few");
    assert!(matches!(error.problem, NestProblem::Buffers(_)), "{error}");
}
