//! What is joined after a change of axes computes what the two Nests do.

use super::*;
use crate::engine::fuse::join::join;
use crate::engine::fuse::limits::FusionLimits;
use crate::lower::program::{Program, Role};
use workalike_kernels::interpret::interpret;
use workalike_kernels::nest::{Block, Fold, FoldOf, PhaseKind};
use workalike_kernels::verify::verify;
use workalike_kernels::{DType, ops};

fn phase(kind: PhaseKind, insts: Vec<Inst>, folds: Vec<FoldOf>, stores: Vec<Store>) -> Phase {
    Phase { kind, block: Block { insts }, folds, stores }
}

fn store(operand: usize, axes: usize, value: u32) -> Store {
    Store { operand, index: (0..axes).map(Index::axis).collect(), value, when: None, add: false }
}

/// `y = x + (the position along the last axis)`.
fn map(axes: &[u64]) -> Nest {
    let all = || (0..axes.len()).map(Index::axis).collect::<Vec<_>>();
    let insts = vec![
        Inst::Load { operand: 0, index: all() },
        Inst::Axis(axes.len() - 1),
        Inst::Op { op: ops::ADD, args: vec![0, 1] },
    ];
    let operands = [false, true].map(|written| Operand::contiguous(DType::I64, axes, written)).to_vec();
    let phases = vec![phase(PhaseKind::Point, insts, vec![], vec![store(1, axes.len(), 2)])];
    Nest { name: "map".into(), axes: axes.to_vec(), grid: axes.len(), operands, phases }
}

/// The sum over the axes from `grid` on.
fn sum(axes: &[u64], grid: usize) -> Nest {
    let load = Inst::Load { operand: 0, index: (0..axes.len()).map(Index::axis).collect() };
    let folds = vec![FoldOf { fold: Fold::Sum, value: 0, index: None }];
    let folded = Inst::Folded { phase: 0, fold: 0 };
    let phases = vec![
        phase(PhaseKind::Reduce, vec![load], folds, vec![]),
        phase(PhaseKind::Point, vec![folded], vec![], vec![store(1, grid, 0)]),
    ];
    let operands = vec![
        Operand::contiguous(DType::I64, axes, false),
        Operand::contiguous(DType::I64, &axes[..grid], true),
    ];
    Nest { name: "sum".into(), axes: axes.to_vec(), grid, operands, phases }
}

/// Runs Nests in order.
fn run(nests: &[(&Nest, &[BufferId])], memory: &mut [Vec<u8>]) {
    for (nest, buffers) in nests {
        verify(nest).unwrap();
        let mut operands: Vec<Vec<u8>> = buffers.iter().map(|&b| memory[b].clone()).collect();
        interpret(nest, &mut operands).unwrap();
        for ((operand, bytes), &buffer) in nest.operands.iter().zip(operands).zip(*buffers) {
            if operand.written {
                memory[buffer] = bytes;
            }
        }
    }
}

#[test]
fn one_nest_does_what_two_do() {
    for (first, second) in [
        (map(&[96]), sum(&[3, 32], 1)),
        (map(&[3, 32]), sum(&[96], 0)),
        (map(&[6, 64]), sum(&[2, 3, 4, 16], 2)),
        (map(&[6, 64]), map(&[384])),
        (map(&[2, 192]), map(&[24, 16])),
        (sum(&[48, 5], 1), map(&[3, 16])),
        (sum(&[3, 16, 5], 2), map(&[48])),
    ] {
        let shapes = [&first.operands[0].shape, &first.operands[1].shape, &second.operands[1].shape];
        let mut program = Program::default();
        for shape in shapes {
            program.buffer(DType::I64, shape, Role::Temp);
        }
        let count = shapes[0].iter().product::<u64>() as i64;
        let x: Vec<u8> = (0..count).flat_map(|i| ((i * 7919) % 1009).to_le_bytes()).collect();
        let blank: Vec<Vec<u8>> = program.buffers.iter().map(|b| vec![0; b.bytes() as usize]).collect();
        let (mut two, mut one) = (blank.clone(), blank);
        (two[0], one[0]) = (x.clone(), x);
        run(&[(&first, &[0, 1]), (&second, &[1, 2])], &mut two);
        let [a, b] = reframe((&first, &[0, 1]), (&second, &[1, 2])).expect("the same points");
        let limits = FusionLimits::least();
        let (nest, buffers) = join((&a.0, &a.1), (&b.0, &b.1), &|_| false, limits).expect("joins");
        assert!(nest.operands.iter().zip(&buffers).all(|(o, &b)| b != 1 || o.written), "read from registers");
        run(&[(&nest, &buffers)], &mut one);
        assert_eq!(one, two, "{:?} then {:?}", first.axes, second.axes);
    }
}

#[test]
fn other_points_stay_apart() {
    for (first, second) in [
        (map(&[96]), sum(&[5, 32], 1)),
        (map(&[96]), map(&[96])),
        (map(&[4, 6]), map(&[6, 4])),
        // Neighbours would be a few.
        (map(&[96]), sum(&[24, 4], 1)),
        (map(&[0, 4]), map(&[0])),
    ] {
        let reframed = reframe((&first, &[0, 1]), (&second, &[1, 2]));
        assert!(reframed.is_none(), "{:?} then {:?}", first.axes, second.axes);
    }
}
