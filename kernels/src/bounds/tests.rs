use super::*;
use crate::nest::{Block, Operand, Store};
use crate::verify::verify;

/// `out[i] = table[index]` for `n` points; the block computes value 0 from operand 0 before.
fn gather(insts: Vec<Inst>, index: Index, extent: u64) -> Nest {
    let mut insts = insts;
    insts.push(Inst::Load { operand: 1, index: vec![index] });
    let value = (insts.len() - 1) as Value;
    let store = Store { operand: 2, index: vec![Index::axis(0)], value, when: None, add: false };
    Nest {
        name: "gather".into(),
        axes: vec![64],
        grid: 1,
        operands: vec![
            Operand::contiguous(DType::I64, &[64], false),
            Operand::contiguous(DType::F32, &[extent], false),
            Operand::contiguous(DType::F32, &[64], true),
        ],
        phases: vec![Phase {
            kind: PhaseKind::Point,
            block: Block { insts },
            folds: vec![],
            stores: vec![store],
        }],
    }
}

fn loaded() -> Inst {
    Inst::Load { operand: 0, index: vec![Index::axis(0)] }
}

fn number(n: i64) -> Inst {
    Inst::Const(Scalar::from_i128(DType::I64, i128::from(n)))
}

fn op(op: crate::ops::ScalarOp, args: &[Value]) -> Inst {
    Inst::Op { op, args: args.to_vec() }
}

fn at(value: Value) -> Index {
    Index { dynamic: Some(value), ..Index::default() }
}

fn is_changed(nest: &Nest) -> bool {
    verify(nest).expect("a sound Nest");
    let clamped = explicit_bounds(nest);
    verify(&clamped).expect("a sound Nest");
    matches!(clamped, Cow::Owned(_))
}

#[test]
fn indices_that_are_in_range_stay_as_they_are() {
    let clamped = vec![loaded(), number(0), number(9), op(MAXIMUM, &[0, 1]), op(MINIMUM, &[3, 2])];
    assert!(!is_changed(&gather(clamped.clone(), at(4), 10)));
    assert!(is_changed(&gather(clamped.clone(), at(4), 9)));
    assert!(is_changed(&gather(clamped.clone(), Index { offset: 1, ..at(4) }, 10)));
    assert!(!is_changed(&gather(clamped.clone(), Index { offset: 1, ..at(4) }, 11)));
    assert!(!is_changed(&gather(clamped.clone(), Index { terms: vec![(0, 2)], ..at(4) }, 9 + 2 * 63 + 1)));
    let sum = [clamped, vec![Inst::Axis(0), op(ADD, &[4, 5]), op(MUL, &[6, 2])]].concat();
    assert!(!is_changed(&gather(sum.clone(), at(7), 9 * (9 + 63) + 1)));
    assert!(is_changed(&gather(sum, at(7), 9 * (9 + 63))));
    assert!(!is_changed(&gather(vec![], Index::axis(0), 64)));
}

#[test]
fn indices_out_of_data_are_clamped() {
    let nest = gather(vec![loaded()], at(0), 4);
    assert!(is_changed(&nest));
    let clamped = explicit_bounds(&nest);
    let far: Vec<u8> = (0..64i64).flat_map(|i| ((i - 2) * 4_000_000_000).to_le_bytes()).collect();
    let table: Vec<u8> = (0..4).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let mut buffers = [far, table, vec![0; 64 * 4]];
    assert!(crate::interpret::interpret(&nest, &mut buffers.clone()).is_err());
    crate::interpret::interpret(&clamped, &mut buffers).expect("clamped");
    let values: Vec<f32> =
        buffers[2].chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    assert_eq!(values[..4], [0.0, 0.0, 0.0, 3.0]);
}

#[test]
fn sums_that_may_wrap_are_not_trusted() {
    let sum = vec![loaded(), number(0), op(MAXIMUM, &[0, 1]), number(1), op(ADD, &[2, 3])];
    assert!(is_changed(&gather(sum, at(4), i64::MAX as u64 / 64)));
    let product = vec![loaded(), number(2), op(MUL, &[0, 1])];
    assert!(is_changed(&gather(product, at(2), 1 << 40)));
}

#[test]
fn an_index_whose_static_part_is_wider_than_the_dimension_is_clamped_as_a_whole() {
    let nest = gather(vec![loaded()], Index { terms: vec![(0, 3)], offset: -5, dynamic: Some(0) }, 10);
    assert!(is_changed(&nest));
    let clamped = explicit_bounds(&nest);
    for start in [i64::MIN, -1000, 0, 7, i64::MAX] {
        let index: Vec<u8> = (0..64).flat_map(|_| start.to_le_bytes()).collect();
        let mut buffers = [index, vec![0; 40], vec![0; 64 * 4]];
        crate::interpret::interpret(&clamped, &mut buffers).expect("clamped");
    }
}

#[test]
fn modes_are_written_out() {
    let report = IndexMode::Report { status: 3, node: 17 };
    for mode in [IndexMode::Clamp, IndexMode::Wrap, IndexMode::FromEnd, report] {
        let position = Inst::Position { value: 0, extent: 4, mode };
        let mut nest = gather(vec![loaded(), position], at(1), 4);
        nest.operands.push(Operand::contiguous(DType::I64, &[], true));
        assert!(is_changed(&nest));
        let explicit = explicit_bounds(&nest);
        assert!(!is_changed(&explicit), "{mode:?} leaves nothing to clamp");
        let left = |inst: &Inst| matches!(inst, Inst::Position { .. });
        assert!(!explicit.phases[0].block.insts.iter().any(left));
        let given: Vec<u8> = (0..64i64).flat_map(|i| (i % 12 - 6).to_le_bytes()).collect();
        let table: Vec<u8> = (0..4).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let mut defined = [given, table, vec![0; 64 * 4], vec![0; 8]];
        let mut computed = defined.clone();
        crate::interpret::interpret(&nest, &mut defined).expect("in range");
        crate::interpret::interpret(&explicit, &mut computed).expect("in range");
        assert!(defined == computed, "{mode:?}");
        assert_eq!(defined[3][0], if mode == report { 17 } else { 0 });
    }
}

#[test]
fn a_choice_by_a_comparison_is_known_on_both_sides_of_it() {
    // A roll by one: the position before, or the last one at the start.
    let roll = |bound: i64, op_of: crate::ops::ScalarOp, choice: [Value; 3]| {
        let test = vec![Inst::Axis(0), number(bound), op(op_of, &[0, 1])];
        let sides = vec![number(-1), op(ADD, &[0, 3]), number(63), op(ADD, &[0, 5])];
        [test, sides, vec![op(WHERE, &choice)]].concat()
    };
    assert!(!is_changed(&gather(roll(1, GE, [2, 4, 6]), at(7), 64)));
    assert!(!is_changed(&gather(roll(1, LT, [2, 6, 4]), at(7), 64)));
    assert!(is_changed(&gather(roll(1, GE, [2, 4, 6]), at(7), 63)), "position 63");
    assert!(is_changed(&gather(roll(0, GE, [2, 4, 6]), at(7), 64)), "position -1");
    assert!(is_changed(&gather(roll(2, GE, [2, 4, 6]), at(7), 64)), "position 64");
    assert!(is_changed(&gather(roll(1, GE, [2, 6, 4]), at(7), 64)), "the wrong way round");
}

#[test]
fn quotients_by_constants_are_known_and_short() {
    let bounded = |by: i64, extent: u64| {
        let insts = vec![Inst::Axis(0), number(by), op(TRUNC_DIVIDE, &[0, 1])];
        let nest = gather(insts, at(2), extent);
        verify(&nest).expect("a sound Nest");
        let bounded = explicit_bounds(&nest).into_owned();
        verify(&bounded).expect("a sound Nest");
        let has = |wanted: fn(&Inst) -> bool| bounded.phases[0].block.insts.iter().any(wanted);
        let clamps = has(|i| matches!(i, Inst::Op { op: MINIMUM, .. }));
        (clamps, has(|i| matches!(i, Inst::Cast { to: DType::U32, .. })))
    };
    assert_eq!(bounded(5, 13), (false, true));
    assert_eq!(bounded(5, 12), (true, true));
    assert_eq!(bounded(0, 13), (true, false));
    assert_eq!(bounded(-5, 13), (true, false));
    assert_eq!(bounded(1 << 40, 13), (false, false), "a long divisor");
}
