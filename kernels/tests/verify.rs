//! The Nests that are refused, with the reasons; the corpus is accepted.

mod corpus;

use corpus::{Build, Builder, along, computed};
use workalike_kernels::nest::PhaseKind::{self, Map, Ordered, Point, Reduce};
use workalike_kernels::nest::{Fold, Index, IndexMode, Inst, Nest};
use workalike_kernels::verify::{NestProblem, dtypes, verify};
use workalike_kernels::{DType, ops};

/// A Nest with one phase over a (4,) grid and a (5,) inner axis; operand 0 is an f32 input and 1 an f32
/// output, both (4, 5).
fn nest(kind: PhaseKind, build: impl FnOnce(&mut Build)) -> Nest {
    Builder::new("n", &[4, 5], 1)
        .input(DType::F32, &[4, 5])
        .output(DType::F32, &[4, 5])
        .phase(kind, build)
        .done()
        .nest
}

fn refused(nest: &Nest) -> NestProblem {
    verify(nest).expect_err("a fault").problem
}

#[test]
fn the_corpus_is_sound() {
    for case in corpus::all() {
        verify(&case.nest).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn axes_and_sizes() {
    let good = nest(Map, |p| {
        let v = p.load(0, &[0, 1]);
        p.store(1, &[0, 1], v);
    });
    assert_eq!(refused(&Nest { grid: 3, ..good.clone() }), NestProblem::Grid { grid: 3, axes: 2 });
    let long = Nest { axes: vec![1 << 40, 1 << 40], ..good.clone() };
    assert!(matches!(refused(&long), NestProblem::TooLarge(_)));
    let mut short = good.clone();
    short.operands[1].strides.pop();
    assert_eq!(refused(&short), NestProblem::Strides(1));
    let mut wide = good.clone();
    wide.operands[0].strides[0] = i64::MAX;
    assert!(matches!(refused(&wide), NestProblem::TooLarge(_)));
    let inner = nest(Point, |p| {
        p.push(Inst::Axis(1));
    });
    assert_eq!(refused(&inner), NestProblem::Axis(1));
    let inner = nest(Point, |p| {
        p.load(0, &[0, 1]);
    });
    assert_eq!(refused(&inner), NestProblem::Axis(1));
}

#[test]
fn indices() {
    let rank = nest(Map, |p| {
        p.load(0, &[0]);
    });
    assert_eq!(refused(&rank), NestProblem::Rank { operand: 0, rank: 2, given: 1 });
    let swapped = nest(Map, |p| {
        p.load(0, &[1, 0]);
    });
    assert_eq!(
        refused(&swapped),
        NestProblem::Bounds { operand: 0, dimension: 0, low: 0, high: 4, extent: 4 }
    );
    let below = Index { offset: 3, terms: vec![(1, -1)], dynamic: None };
    let below = nest(Map, |p| {
        p.load_at(0, vec![below, Index::constant(0)]);
    });
    assert_eq!(
        refused(&below),
        NestProblem::Bounds { operand: 0, dimension: 0, low: -1, high: 3, extent: 4 }
    );
    let mut empty = nest(Map, |p| {
        p.load_at(0, vec![Index::constant(9), Index::axis(1)]);
    });
    empty.axes[1] = 0;
    assert_eq!(verify(&empty), Ok(()), "no point, no fault");
    let unsorted = Index { offset: 0, terms: vec![(1, 1), (0, 1)], dynamic: None };
    let unsorted = nest(Map, |p| {
        p.load_at(0, vec![unsorted, Index::constant(0)]);
    });
    assert_eq!(refused(&unsorted), NestProblem::Terms(0));
    let float = nest(Map, |p| {
        let v = p.load(0, &[0, 1]);
        p.load_at(0, vec![computed(v), Index::constant(0)]);
    });
    assert!(matches!(refused(&float), NestProblem::Type { expected: DType::I64, given: DType::F32, .. }));
    let far = Index { offset: i64::MAX, terms: vec![], dynamic: Some(0) };
    let far = nest(Map, |p| {
        p.push(Inst::Axis(0));
        p.load_at(0, vec![far, Index::constant(0)]);
    });
    assert!(matches!(refused(&far), NestProblem::TooLarge(_)));
    let unknown = nest(Map, |p| {
        p.load(7, &[]);
    });
    assert_eq!(refused(&unknown), NestProblem::Operand(7));
}

#[test]
fn values() {
    let later = nest(Map, |p| {
        p.op(ops::NEG, &[0]);
    });
    assert_eq!(refused(&later), NestProblem::Undefined(0));
    let mixed = nest(Map, |p| {
        let (v, i) = (p.load(0, &[0, 1]), p.push(Inst::Axis(0)));
        p.op(ops::ADD, &[v, i]);
    });
    assert_eq!(refused(&mixed), NestProblem::Arguments { op: ops::ADD, given: vec![DType::F32, DType::I64] });
    let promoted = nest(Map, |p| {
        let i = p.push(Inst::Axis(0));
        p.op(ops::EXP, &[i]);
    });
    assert!(matches!(refused(&promoted), NestProblem::Arguments { .. }));
    let composed = nest(Map, |p| {
        let v = p.load(0, &[0, 1]);
        p.op(ops::SIGMOID, &[v]);
    });
    assert_eq!(refused(&composed), NestProblem::Composition(ops::SIGMOID));
}

#[test]
fn stores() {
    let unmarked = nest(Map, |p| {
        let v = p.load(0, &[0, 1]);
        p.store(0, &[0, 1], v);
    });
    assert_eq!(refused(&unmarked), NestProblem::NotWritten(0));
    let wrong = nest(Map, |p| {
        let v = p.push(Inst::Axis(0));
        p.store(1, &[0, 1], v);
    });
    assert!(matches!(refused(&wrong), NestProblem::Type { expected: DType::F32, given: DType::I64, .. }));
    let when = nest(Map, |p| {
        let v = p.load(0, &[0, 1]);
        p.store_at(1, along(&[0, 1]), v, Some(v));
    });
    assert!(matches!(refused(&when), NestProblem::Type { expected: DType::Bool, .. }));
}

#[test]
fn what_is_added_to_is_added_to_only() {
    let adds = |dtype: DType, build: fn(&mut Build)| {
        let case = Builder::new("n", &[4, 5], 1).input(dtype, &[4, 5]).output(dtype, &[9]).phase(Map, |p| {
            let v = p.load(0, &[0, 1]);
            p.add_at(1, vec![Index::axis(1)], v, None);
            build(p);
        });
        verify(&case.done().nest).map_err(|e| e.problem)
    };
    for dtype in DType::REAL {
        let allowed = corpus::addable().any(|d| d == dtype);
        let outcome = if allowed { Ok(()) } else { Err(NestProblem::Adds { operand: 1, dtype }) };
        assert_eq!(adds(dtype, |_| {}), outcome);
    }
    let loaded = adds(DType::F32, |p| {
        p.load(1, &[1]);
    });
    assert_eq!(loaded, Err(NestProblem::AddedTo(1)));
    assert_eq!(adds(DType::F32, |p| p.store(1, &[1], 0)), Err(NestProblem::AddedTo(1)));
    assert_eq!(adds(DType::F32, |p| p.add_at(1, vec![Index::constant(0)], 0, None)), Ok(()), "once more");
    let later =
        Builder::new("n", &[4], 1).input(DType::I32, &[4]).output(DType::I32, &[4]).phase(Point, |p| {
            let v = p.load(0, &[0]);
            p.add_at(1, vec![Index::constant(0)], v, None);
        });
    let later = later.phase(Point, |p| {
        let v = p.load(1, &[0]);
        p.store(0, &[0], v);
    });
    assert_eq!(refused(&later.done().nest), NestProblem::AddedTo(1));
}

#[test]
fn a_phase_does_not_read_what_its_other_points_store() {
    let mirrored = |p: &mut Build| {
        let back = Index { offset: 4, terms: vec![(1, -1)], dynamic: None };
        let v = p.load_at(1, vec![Index::axis(0), back]);
        p.store(1, &[0, 1], v);
    };
    assert_eq!(refused(&nest(Map, mirrored)), NestProblem::Race(1));
    assert_eq!(verify(&nest(Ordered, mirrored)), Ok(()));
    let same = nest(Map, |p| {
        let v = p.load(1, &[0, 1]);
        p.store(1, &[0, 1], v);
    });
    assert_eq!(verify(&same), Ok(()));
    let picked = nest(Map, |p| {
        let at = p.push(Inst::Axis(0));
        let v = p.load_at(1, vec![computed(at), Index::axis(1)]);
        p.store_at(1, vec![computed(at), Index::axis(1)], v, None);
    });
    assert_eq!(refused(&picked), NestProblem::Race(1));
}

#[test]
fn positions() {
    let with = |dtype: DType, word: &[u64], written: bool, extent: u64, build: fn(&mut Build)| {
        let mut builder = Builder::new("n", &[4], 1).input(dtype, &[4]).input(DType::I64, word);
        if written {
            builder = builder.written();
        }
        let case = builder.phase(Point, |p| {
            build(p);
            let at = p.load(0, &[0]);
            p.position(at, extent, IndexMode::Report { status: 1, node: 1 });
        });
        verify(&case.done().nest).map_err(|error| error.problem)
    };
    let nothing: fn(&mut Build) = |_| ();
    assert_eq!(with(DType::I64, &[], true, 9, nothing), Ok(()));
    assert_eq!(with(DType::I64, &[], true, 0, nothing), Ok(()));
    let float = with(DType::F32, &[], true, 9, nothing);
    assert!(matches!(float, Err(NestProblem::Type { expected: DType::I64, given: DType::F32, .. })));
    let large = with(DType::I64, &[], true, u64::MAX, nothing);
    assert!(matches!(large, Err(NestProblem::TooLarge(_))));
    assert_eq!(with(DType::I64, &[3], true, 9, nothing), Err(NestProblem::Status(1)));
    assert_eq!(with(DType::I64, &[], false, 9, nothing), Err(NestProblem::Status(1)));
    let loads: fn(&mut Build) = |p| _ = p.load(1, &[]);
    assert_eq!(with(DType::I64, &[], true, 9, loads), Err(NestProblem::Status(1)));
    let adds: fn(&mut Build) = |p| {
        let one = p.constant(DType::I64, 1.0);
        p.add_at(1, vec![], one, None);
    };
    assert_eq!(with(DType::I64, &[], true, 9, adds), Err(NestProblem::AddedTo(1)));
    let unknown = nest(Point, |p| {
        let at = p.push(Inst::Axis(0));
        p.position(at, 4, IndexMode::Report { status: 7, node: 1 });
    });
    assert_eq!(refused(&unknown), NestProblem::Operand(7));
}

#[test]
fn folds() {
    let map = nest(Map, |p| {
        let v = p.load(0, &[0, 1]);
        p.fold(Fold::Sum, v);
    });
    assert_eq!(refused(&map), NestProblem::Folds);
    let bare = nest(Reduce, |p| {
        let v = p.load(0, &[0, 1]);
        p.fold(Fold::ArgMax, v);
    });
    assert_eq!(refused(&bare), NestProblem::FoldIndex(0));
    let index = nest(Reduce, |p| {
        let v = p.load(0, &[0, 1]);
        p.arg_fold(Fold::ArgMin, v, v);
    });
    assert!(matches!(refused(&index), NestProblem::Type { expected: DType::I64, .. }));
    let own = nest(Reduce, |p| {
        let v = p.load(0, &[0, 1]);
        p.folded(0, 0);
        p.fold(Fold::Sum, v);
    });
    assert_eq!(refused(&own), NestProblem::Folded { phase: 0, fold: 0 });
}

#[test]
fn dtypes_of_values() {
    let nest = Builder::new("n", &[4, 5], 1)
        .input(DType::BF16, &[4, 5])
        .phase(Reduce, |p| {
            let (v, at) = (p.load(0, &[0, 1]), p.push(Inst::Axis(1)));
            p.fold(Fold::Max, v);
            p.arg_fold(Fold::ArgMax, v, at);
        })
        .phase(Map, |p| {
            let (top, _) = (p.folded(0, 0), p.folded(0, 1));
            let v = p.load(0, &[0, 1]);
            p.op(ops::LT, &[v, top]);
            p.cast(v, DType::F64);
        })
        .done()
        .nest;
    assert_eq!(dtypes(&nest, 0), Ok(vec![DType::BF16, DType::I64]));
    let second = vec![DType::BF16, DType::I64, DType::BF16, DType::Bool, DType::F64];
    assert_eq!(dtypes(&nest, 1), Ok(second));
    assert_eq!(dtypes(&nest, 2).expect_err("there are two").problem, NestProblem::NoPhase(2));
    let text = verify(&Nest { grid: 9, ..nest }).expect_err("a fault").to_string();
    assert_eq!(text, "Nest `n`: 9 grid axes, but only 2 axes in all");
}
