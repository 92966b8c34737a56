//! The boxes of Nests.

use super::*;
use crate::dtype::DType;
use crate::nest::{BlockWriter, Index, Operand, Phase, PhaseKind, Store, Value};
use crate::ops::{ADD, GE, MAXIMUM, REMAINDER, WHERE};

/// A copy of elements at computed columns; `place` is given the position along the columns.
fn copy(axes: [u64; 2], place: impl Fn(&mut BlockWriter, Value) -> Value) -> Nest {
    let mut writer = BlockWriter::new(PhaseKind::Point);
    let position = writer.push(Inst::Axis(1));
    let dynamic = Some(place(&mut writer, position));
    let index = vec![Index::axis(0), Index { dynamic, ..Index::default() }];
    let value = writer.push(Inst::Load { operand: 0, index });
    let store = Store { operand: 1, index: [0, 1].map(Index::axis).into(), value, when: None, add: false };
    Nest {
        name: "copy".into(),
        axes: axes.into(),
        grid: 2,
        operands: [false, true].map(|written| Operand::contiguous(DType::F32, &axes, written)).into(),
        phases: vec![Phase {
            kind: PhaseKind::Point,
            block: writer.finish(),
            folds: vec![],
            stores: vec![store],
        }],
    }
}

fn op(writer: &mut BlockWriter, op: crate::ops::ScalarOp, args: &[Value]) -> Value {
    writer.push(Inst::Op { op, args: args.into() })
}

/// The columns of each box, and the index along the columns there.
fn boxes(nest: &Nest) -> Vec<(Range, Index)> {
    let load = |inside: &Interior| {
        let insts = &inside.nest.phases[0].block.insts;
        assert_eq!(insts.len(), 1, "what chose the index is gone: {insts:?}");
        let Inst::Load { index, .. } = &insts[0] else { panic!("{insts:?}") };
        index[1].clone()
    };
    let all = Interior::all(nest, &Walks::new(nest));
    all.iter().map(|inside| (inside.within[1], load(inside))).collect()
}

fn shifted(offset: i64) -> Index {
    Index { offset, ..Index::axis(1) }
}

#[test]
fn a_roll_has_an_interior() {
    let rolled = |columns: u64, shift: i64| {
        copy([8, columns], |writer, position| {
            let [bound, back] = [shift, columns as i64 - shift].map(|number| writer.number(number));
            let inside = op(writer, GE, &[position, bound]);
            let front = writer.number(-shift);
            let [front, back] = [front, back].map(|by| op(writer, ADD, &[position, by]));
            op(writer, WHERE, &[inside, front, back])
        })
    };
    assert_eq!(boxes(&rolled(256, 1)), [((1, 255), shifted(-1))]);
    assert_eq!(boxes(&rolled(256, 256 - 9)), [((0, 246), shifted(9))]);
    assert_eq!(boxes(&rolled(256, 96)), [((96, 255), shifted(-96)), ((0, 95), shifted(160))]);
    assert_eq!(boxes(&rolled(24, 1)), [], "shorter rows have none");
}

#[test]
fn remainders_and_bounds_are_known_within() {
    let around = copy([8, 256], |writer, position| {
        let [five, extent] = [5, 256].map(|number| writer.number(number));
        let moved = op(writer, ADD, &[position, five]);
        op(writer, REMAINDER, &[moved, extent])
    });
    assert_eq!(boxes(&around), [((0, 250), shifted(5))]);
    let clamped = |from: i64| {
        copy([8, 256], |writer, position| {
            let [by, low] = [from, 0].map(|number| writer.number(number));
            let moved = op(writer, ADD, &[position, by]);
            op(writer, MAXIMUM, &[moved, low])
        })
    };
    assert_eq!(boxes(&clamped(-2)), [((2, 255), shifted(-2))]);
    // An index that would be out of range stays computed, for its bounds to be made explicit.
    assert_eq!(boxes(&clamped(3)), []);
}

#[test]
fn what_is_looked_up_has_no_interior() {
    let gathered = copy([8, 256], |writer, _| {
        let value = writer.push(Inst::Load { operand: 0, index: [0, 1].map(Index::axis).into() });
        writer.push(Inst::Cast { to: DType::I64, value })
    });
    assert_eq!(Interior::all(&gathered, &Walks::new(&gathered)), []);
}
