//! Which layouts of operands and which axes an epilogue may have.

use super::*;

#[test]
fn operands_lie_as_the_result_or_along_its_columns() {
    let p = product(DType::F32);
    let with = |strides: [i64; 2], index: Vec<Index>| {
        let mut nest = plus(DType::F32);
        nest.operands[C].strides = strides.to_vec();
        let Inst::Load { index: old, .. } = &mut nest.phases[0].block.insts[1] else { panic!("a load") };
        *old = index;
        epilogue(&p, &nest, P)
    };
    let (i, j) = (Index::axis(0), Index::axis(1));
    let n = N as i64;
    assert_eq!(with([n, 1], vec![i.clone(), j.clone()]), sum(1.0, 1.0, Some(C), None));
    assert_eq!(with([n, 1], vec![Index::constant(0), j.clone()]), sum(1.0, 0.0, None, Some(C)));
    assert_eq!(with([0, 1], vec![i.clone(), j.clone()]), sum(1.0, 0.0, None, Some(C)));
    for (strides, index) in [
        // Column-major, with gaps, one per row, a fixed row, a shifted column, one for all, a step of 2,
        // dynamic.
        ([1, M as i64], vec![i.clone(), j.clone()]),
        ([n + 1, 1], vec![i.clone(), j.clone()]),
        ([n, 1], vec![i.clone(), Index::constant(0)]),
        ([n, 1], vec![Index::constant(1), j.clone()]),
        ([n, 1], vec![i.clone(), Index { offset: 1, ..j.clone() }]),
        ([n, 1], vec![Index::constant(0), Index::constant(0)]),
        ([0, 2], vec![i.clone(), j.clone()]),
        ([n, 1], vec![i.clone(), Index { dynamic: Some(0), ..j.clone() }]),
    ] {
        assert_eq!(with(strides, index.clone()), None, "{strides:?} {index:?}");
    }
}

/// `p + c + bias` over `axes`, where `bias` has these strides.
fn over(axes: &[u64], steps: &[i64]) -> Nest {
    let own: Vec<Index> = (0..axes.len()).map(Index::axis).collect();
    let load = |operand| Inst::Load { operand, index: own.clone() };
    let insts = vec![
        load(0),
        load(1),
        load(2),
        Inst::Op { op: ADD, args: vec![0, 1] },
        Inst::Op { op: ADD, args: vec![3, 2] },
    ];
    let stores = vec![Store { operand: 3, index: own.clone(), value: 4, when: None, add: false }];
    let whole = |written| Operand::contiguous(DType::F32, axes, written);
    let bias = Operand { strides: steps.to_vec(), ..whole(false) };
    let phases = vec![Phase { kind: PhaseKind::Point, block: Block { insts }, folds: vec![], stores }];
    let operands = vec![whole(false), whole(false), bias, whole(true)];
    Nest { name: "over".into(), axes: axes.to_vec(), grid: axes.len(), operands, phases }
}

#[test]
fn axes_may_be_cut_and_joined() {
    let p = product(DType::F32);
    let both =
        Some(LinearForm { alpha: 1.0, beta: 1.0, added: Some(1), bias: Some(2), relu: false, result: 3 });
    for (axes, steps, want) in [
        (&[6, 4][..], &[0, 1][..], both),
        (&[2, 3, 4], &[0, 0, 1], both),
        (&[6, 1, 4], &[0, 7, 1], both),
        (&[6, 2, 2], &[0, 2, 1], both),
        (&[6, 2, 2], &[0, 1, 2], None),
        (&[6, 2, 2], &[0, 0, 1], None),
        // Axes that are a part of the columns, or cross them.
        (&[12, 2], &[0, 1], None),
        (&[3, 8], &[0, 1], None),
        (&[4, 6], &[0, 1], None),
        (&[24], &[0], None),
    ] {
        assert_eq!(epilogue(&p, &over(axes, steps), 0), want, "{axes:?} {steps:?}");
    }
}

#[test]
fn a_single_row_is_added_not_a_bias() {
    // An addend may be in place, a bias may not. With one row an operand could be either.
    let p = Matmul { m: 1, ..product(DType::F32) };
    assert_eq!(epilogue(&p, &over(&[N], &[1]), 0), None, "two to be added");
    let mut nest = over(&[1, N], &[0, 1]);
    nest.phases[0].stores[0].value = 3;
    assert_eq!(
        epilogue(&p, &nest, 0),
        Some(LinearForm { alpha: 1.0, beta: 1.0, added: Some(1), bias: None, relu: false, result: 3 })
    );
}

#[test]
fn of_a_batch_everything_is_added_and_there_is_no_bias() {
    let p = Matmul { batch: 3, a: [30, 5, 1], b: [20, N as i64, 1], ..product(DType::F32) };
    let axes = [3, M, N];
    assert_eq!(epilogue(&p, &over(&axes, &[0, 0, 1]), 0), None);
    // An operand that is the same for each product of the batch is not contiguous.
    let mut nest = over(&axes, &[0, N as i64, 1]);
    assert_eq!(epilogue(&p, &nest, 0), None);
    nest.phases[0].stores[0].value = 3;
    let added = LinearForm { alpha: 1.0, beta: 1.0, added: Some(1), bias: None, relu: false, result: 3 };
    assert_eq!(epilogue(&p, &nest, 0), Some(added));
}
