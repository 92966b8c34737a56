//! Which reductions are split, and that two steps do what the one did.

use super::*;
use workalike_kernels::interpret::interpret;
use workalike_kernels::nest::Fold;
use workalike_kernels::verify::verify;

fn sum_nest(axes: &[u64], grid: usize, fold: Fold) -> Nest {
    let all = (0..axes.len()).map(Index::axis).collect();
    let load = Block { insts: vec![Inst::Load { operand: 0, index: all }] };
    let mut block = BlockWriter::on(load, PhaseKind::Reduce);
    let mut at = Index::default();
    let mut step = 1;
    for axis in (grid..axes.len()).rev() {
        at.add_term(axis, step);
        step *= axes[axis] as i64;
    }
    let index = fold.has_index().then(|| block.materialize(&at));
    let load = block.finish();
    let folds = vec![FoldOf { fold, value: 0, index }];
    let out: Vec<Index> = (0..grid).map(Index::axis).collect();
    let stores = vec![Store { operand: 1, index: out, value: 0, when: None, add: false }];
    let point = Block { insts: vec![Inst::Folded { phase: 0, fold: 0 }] };
    Nest {
        name: "fold".into(),
        axes: axes.to_vec(),
        grid,
        operands: vec![
            Operand::contiguous(DType::I64, axes, false),
            Operand::contiguous(DType::I64, &axes[..grid], true),
        ],
        phases: vec![
            Phase { kind: PhaseKind::Reduce, block: load, folds, stores: vec![] },
            Phase { kind: PhaseKind::Point, block: point, folds: vec![], stores },
        ],
    }
}

fn bytes(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Eight columns of 4,096 are split if they load many elements at each point, and not if they load one;
/// rows are not, since each has a group.
#[test]
fn what_a_group_loads_counts() {
    let thresholds =
        SplitThresholds { busy: 264, parts: 2112, small: 8192, group: 256, tile: 2048, columns: 8 };
    let rows = sum_nest(&[8, 4096], 1, Fold::Sum);
    let mut columns = rows.clone();
    columns.operands[0].strides = vec![1, 8];
    for (nest, is_split) in [(rows, false), (columns, true)] {
        assert!(cut(&nest, thresholds).is_none());
        let mut many = nest;
        let load = many.phases[0].block.insts[0].clone();
        many.phases[0].block.insts.extend(std::iter::repeat_n(load, 9));
        let parts = cut(&many, thresholds).map(|parts| (parts.count, parts.len));
        assert_eq!(parts, is_split.then_some((16, 256)));
    }
}

/// A group takes eight columns and more: a thousand of them are few. Parts are before columns.
#[test]
fn columns_are_taken_together() {
    let thresholds =
        SplitThresholds { busy: 264, parts: 2112, small: 8192, group: 256, tile: 2048, columns: 8 };
    let parts = |columns: u64, transposed: bool| {
        let mut nest = sum_nest(&[columns, 1 << 16], 1, Fold::Sum);
        if transposed {
            nest.operands[0].strides = vec![1, columns as i64];
        }
        cut(&nest, thresholds).map(|parts| (parts.count, parts.at))
    };
    assert_eq!(parts(512, true), Some((32, 0)));
    assert_eq!(parts(2048, true), None);
    assert_eq!(parts(128, false), Some((16, 1)));
    assert_eq!(parts(512, false), None);
}

/// `sum(x[k, i] * y[k, j])` over k.
fn contraction(axes: [u64; 3]) -> Nest {
    let [m, n, k] = axes;
    let mut nest = sum_nest(&[m, n, k], 2, Fold::Sum);
    nest.operands.insert(0, Operand::contiguous(DType::I64, &[k, m], false));
    nest.operands[1] = Operand::contiguous(DType::I64, &[k, n], false);
    let load = |operand, at| Inst::Load { operand, index: vec![Index::axis(2), Index::axis(at)] };
    let product = Inst::Op { op: ops::MUL, args: vec![0, 1] };
    nest.phases[0].block.insts = vec![load(0, 0), load(1, 1), product];
    nest.phases[0].folds[0].value = 2;
    nest.phases[1].stores[0].operand = 2;
    nest
}

/// A few tiles of long sums are split, many tiles are not, nor are short sums.
#[test]
fn a_few_tiles_of_long_sums_are_split() {
    let thresholds =
        SplitThresholds { busy: 33, parts: 264, small: 8192, group: 256, tile: 2048, columns: 8 };
    let parts = |axes| cut(&contraction(axes), thresholds).map(|cut| (cut.axis, cut.count));
    assert_eq!(parts([64, 64, 16_384]), Some((2, 64)));
    assert_eq!(parts([64, 64, 1024]), None);
    assert_eq!(parts([512, 512, 16_384]), None);
    // Items share each sum.
    assert_eq!(parts([64, 8, 4096]), None);
    let without = SplitThresholds { tile: 1, ..thresholds };
    assert!(cut(&contraction([64, 64, 16_384]), without).is_none(), "no tiles");
    verify(&contraction([64, 64, 16_384])).unwrap();
}

/// Divisible extents, prime ones, and several axes: the two steps give what the one gave.
#[test]
fn two_steps_fold_like_one() {
    for (axes, grid) in [
        (vec![65536u64], 0),
        (vec![65537], 0),
        (vec![2, 30011], 1),
        (vec![3, 101, 211], 1),
        (vec![97, 389], 0),
        (vec![40, 9001], 1),
    ] {
        for fold in [Fold::Sum, Fold::Max, Fold::Min, Fold::ArgMax, Fold::ArgMin] {
            let mut nest = sum_nest(&axes, grid, fold);
            // Columns of a matrix.
            if axes == [40, 9001] {
                nest.operands[0].strides = vec![1, 40];
            }
            let count: u64 = axes.iter().product();
            let x: Vec<i64> = (0..count as i64).map(|i| (i * 7919) % 10007 - 5000).collect();
            let results = axes[..grid].iter().product::<u64>() as usize;
            let mut whole = vec![bytes(&x), bytes(&vec![0; results])];
            interpret(&nest, &mut whole).unwrap();
            let mut program = Program::default();
            let thresholds =
                SplitThresholds { busy: 264, parts: 2112, small: 8192, group: 256, tile: 2048, columns: 8 };
            let buffers = [
                program.buffer(DType::I64, &axes, Role::Input(0)),
                program.buffer(DType::I64, &axes[..grid], Role::Temp),
            ];
            let steps = split(&mut program, &nest, &buffers, thresholds).expect("this one is split");
            let mut memory: Vec<Vec<u8>> =
                program.buffers.iter().map(|b| vec![0xAA; b.bytes() as usize]).collect();
            memory[0] = bytes(&x);
            for step in &steps {
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
            assert_eq!(memory[1], whole[1], "{axes:?} {fold:?}");
        }
    }
}
