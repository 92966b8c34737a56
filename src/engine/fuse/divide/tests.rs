//! What is divided computes what the whole does.

use super::*;
use crate::engine::fuse::cost::Busy;
use workalike_kernels::interpret::interpret;
use workalike_kernels::nest::Fold;
use workalike_kernels::ops;
use workalike_kernels::verify::verify;

const LIMITS: SplitThresholds =
    SplitThresholds { busy: 12, parts: 64, small: 8, group: 4, tile: 1, columns: 1 };
const COST: CostModel = CostModel {
    launch: 8000.0,
    step: 8000.0,
    concurrent: true,
    dispatch: None,
    flop: 0.1,
    gather: 0.0,
    edges_apart: true,
    units: 40.0,
    busy: Busy { points: 12, inner: 1024 },
    cut: Some(LIMITS),
    exchange: None,
};

/// `y = x - max(x)`, `z = sum(y) + max(x)` and `w = y * z` of each row of integers.
fn three_passes(rows: u64, length: u64) -> Nest {
    let here = || vec![Index::axis(0), Index::axis(1)];
    let load = |operand| Inst::Load { operand, index: here() };
    let store = |operand, index, value| Store { operand, index, value, when: None, add: false };
    let fold = |fold, value| FoldOf { fold, value, index: None };
    let phase = |kind, insts, folds, stores| Phase { kind, block: Block { insts }, folds, stores };
    let folded = |phase| Inst::Folded { phase, fold: 0 };
    let sub = |a, b| Inst::Op { op: ops::SUB, args: vec![a, b] };
    let phases = vec![
        phase(PhaseKind::Reduce, vec![load(0)], vec![fold(Fold::Max, 0)], vec![]),
        phase(
            PhaseKind::Reduce,
            vec![load(0), folded(0), sub(0, 1)],
            vec![fold(Fold::Sum, 2)],
            vec![store(1, here(), 2)],
        ),
        phase(
            PhaseKind::Point,
            vec![folded(1), folded(0), Inst::Op { op: ops::ADD, args: vec![0, 1] }],
            vec![],
            vec![store(2, vec![Index::axis(0)], 2)],
        ),
        phase(
            PhaseKind::Map,
            vec![load(1), folded(1), Inst::Op { op: ops::MUL, args: vec![0, 1] }],
            vec![],
            vec![store(3, here(), 2)],
        ),
    ];
    let all = [rows, length];
    let operand = |shape: &[u64], written| Operand::contiguous(DType::I64, shape, written);
    let operands =
        vec![operand(&all, false), operand(&all, true), operand(&all[..1], true), operand(&all, true)];
    Nest { name: "passes".into(), axes: all.to_vec(), grid: 1, operands, phases }
}

#[test]
fn the_steps_do_what_the_whole_does() {
    let (rows, length) = (2, 200);
    let nest = three_passes(rows, length);
    verify(&nest).unwrap();
    let mut program = Program::default();
    let mut buffer = |shape: &[u64]| program.buffer(DType::I64, shape, Role::Temp);
    let buffers: Vec<BufferId> = nest.operands.iter().map(|operand| buffer(&operand.shape)).collect();
    program.steps = vec![Step::Nest { nest: nest.clone(), buffers: buffers.clone() }];
    run(&mut program, &COST, LIMITS);
    assert_eq!(program.steps.len(), 3, "{}", program.print());
    let x: Vec<u8> = (0..400i64).flat_map(|i| ((i * 7919) % 1009).to_le_bytes()).collect();
    let mut memory: Vec<Vec<u8>> = program.buffers.iter().map(|b| vec![0xAA; b.bytes() as usize]).collect();
    memory[buffers[0]] = x.clone();
    let mut whole: Vec<Vec<u8>> = buffers.iter().map(|&b| memory[b].clone()).collect();
    interpret(&nest, &mut whole).unwrap();
    for step in &program.steps {
        let Step::Nest { nest, buffers } = step else { panic!("a Nest") };
        verify(nest).unwrap();
        let mut operands: Vec<Vec<u8>> = buffers.iter().map(|&b| memory[b].clone()).collect();
        interpret(nest, &mut operands).unwrap();
        for ((operand, bytes), &buffer) in nest.operands.iter().zip(operands).zip(buffers) {
            if operand.written {
                memory[buffer] = bytes;
            }
        }
    }
    for (&buffer, whole) in buffers.iter().zip(&whole) {
        assert!(memory[buffer] == *whole, "buffer {buffer}");
    }
}

#[test]
fn many_rows_and_short_ones_stay_whole() {
    for (rows, length) in [(3, 200), (2, 100)] {
        let nest = three_passes(rows, length);
        assert!(!suits(&nest, &[0, 1, 2, 3], (&COST, LIMITS)), "{rows} {length}");
    }
}
