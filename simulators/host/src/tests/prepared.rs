//! Nests that are rewritten before planning, and Nests that run without tiles.

use super::*;
use DType::*;

fn buffer(shape: &[u64], dtype: DType, seed: u64) -> Vec<u8> {
    random(dtype, shape.iter().product::<u64>() as usize, seed)
}

fn zeros(shape: &[u64], dtype: DType) -> Vec<u8> {
    vec![0; shape.iter().product::<u64>() as usize * dtype.size()]
}

#[test]
fn ordered_updates_agree_with_the_op_table() {
    let (count, rows) = (3000u64, 40u64);
    for dtype in [F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool] {
        for op in [ops::ADD, ops::MUL, ops::MAXIMUM, ops::MINIMUM, ops::BITWISE_XOR] {
            if op == ops::BITWISE_XOR && dtype.is_float() {
                continue;
            }
            let mut w = Writer::new(PhaseKind::Ordered);
            let (i, x) = (w.load(0, &[0]), w.load(1, &[0]));
            let index = vec![Index { dynamic: Some(i), ..Index::default() }];
            let old = w.inst(Inst::Load { operand: 2, index: index.clone() });
            let new = w.op(op, &[old, x]);
            w.0.stores.push(Store { operand: 2, index, value: new, when: None, add: false });
            let operands = vec![
                Operand::contiguous(I64, &[count], false),
                Operand::contiguous(dtype, &[count], false),
                Operand::contiguous(dtype, &[rows], true),
            ];
            let mut some = Numbers(8);
            let at: Vec<f64> = (0..count).map(|_| (some.next() % rows) as f64).collect();
            let buffers = [bytes(I64, &at), buffer(&[count], dtype, 1), buffer(&[rows], dtype, 2)];
            agrees(&nest(&[count], 0, operands, vec![w]), &buffers, &[0, 1, 2], 0.0);
        }
    }
}

/// `y[i] = x[k, first + step * i]` for a `k` that is loaded: one row.
#[test]
fn a_row_at_a_loaded_position_is_copied() {
    for (dtype, step, points) in
        [(F32, 1, 3200u64), (I8, 1, 3001), (F64, 3, 1000), (Bool, 2, 700), (BF16, 1, 900)]
    {
        for k in [0, 4, -7, 99] {
            let mut w = Writer::new(PhaseKind::Point);
            let row = w.load(0, &[]);
            let [zero, last] = [0, 4].map(|n| w.inst(Inst::Const(Scalar::from_i128(I64, n))));
            let row = w.op(ops::MAXIMUM, &[row, zero]);
            let row = w.op(ops::MINIMUM, &[row, last]);
            let mut column = Index::constant(5);
            column.add_term(0, step);
            let index = vec![Index { dynamic: Some(row), ..Index::default() }, column];
            let x = w.inst(Inst::Load { operand: 1, index });
            w.0.stores.push(Store {
                operand: 2,
                index: vec![Index::axis(0)],
                value: x,
                when: None,
                add: false,
            });
            let shape = [5, 5 + step as u64 * points];
            let operands = vec![
                Operand::contiguous(I64, &[], false),
                Operand::contiguous(dtype, &shape, false),
                Operand::contiguous(dtype, &[points], true),
            ];
            let nest = nest(&[points], 1, operands, vec![w]);
            let loads = plan(&nest).unwrap().accesses;
            assert!(
                loads.iter().any(|a| a.runs != crate::uniform_rows::Runs::Not && a.touch.operand == 1),
                "{dtype}: no row is copied"
            );
            let buffers = [bytes(I64, &[f64::from(k)]), buffer(&shape, dtype, 3), zeros(&[points], dtype)];
            agrees(&nest, &buffers, &[0, 1, 2], 0.0);
        }
    }
}

/// `target[index[i]] = x[i]`, where x may be the target itself: then each point reads the results of earlier
/// ones.
#[test]
fn writes_in_order_that_read_the_target() {
    let n = 2000u64;
    let mut w = Writer::new(PhaseKind::Ordered);
    let (i, x) = (w.load(0, &[0]), w.load(1, &[0]));
    let index = vec![Index { dynamic: Some(i), ..Index::default() }];
    w.0.stores.push(Store { operand: 2, index, value: x, when: None, add: false });
    let mut some = Numbers(5);
    let at: Vec<f64> = (0..n).map(|_| (some.next() % n) as f64).collect();
    for dtype in [F16, I32, F64] {
        let operands = vec![
            Operand::contiguous(I64, &[n], false),
            Operand::contiguous(dtype, &[n], false),
            Operand::contiguous(dtype, &[n], true),
        ];
        let nest = nest(&[n], 0, operands, vec![Writer(w.0.clone())]);
        let buffers = [bytes(I64, &at), buffer(&[n], dtype, 1), buffer(&[n], dtype, 2)];
        agrees(&nest, &buffers, &[0, 1, 2], 0.0);
        let out = run_on(2, &nest, &buffers[..2], &[0, 1, 1]);
        let mut want = numbers(dtype, &buffers[1]);
        (0..n as usize).for_each(|i| want[at[i] as usize] = want[i]);
        assert_eq!(numbers(dtype, &out[1]), want);
    }
}

/// Long maps of one instruction, with extents that are not whole words.
#[test]
fn one_instruction_from_memory_to_memory() {
    for dtype in [Bool, I8, U16, I32, F32, F64] {
        for n in [8193u64, 20_001, 100_003] {
            let mut w = Writer::new(PhaseKind::Point);
            let (x, y) = (w.load(0, &[0]), w.load(1, &[0]));
            let least = w.op(ops::MINIMUM, &[x, y]);
            w.store(2, &[0], least);
            let operands = [false, false, true].map(|written| Operand::contiguous(dtype, &[n], written));
            let buffers = [buffer(&[n], dtype, 1), buffer(&[n], dtype, 2), zeros(&[n], dtype)];
            agrees(&nest(&[n], 1, operands.into(), vec![w]), &buffers, &[0, 1, 2], 0.0);
        }
    }
}

/// Copied halves keep their bits, including NaNs.
#[test]
fn copied_halves_keep_their_bits() {
    let n = 3000u64;
    for dtype in [F16, BF16] {
        let mut w = Writer::new(PhaseKind::Point);
        let (c, x, y) = (w.load(0, &[0]), w.load(1, &[0]), w.load(2, &[0]));
        let chosen = w.op(ops::WHERE, &[c, x, y]);
        w.store(3, &[0], chosen);
        let half = |written| Operand::contiguous(dtype, &[n], written);
        let operands = vec![Operand::contiguous(Bool, &[n], false), half(false), half(false), half(true)];
        let bits =
            |seed: u64| (0..n).flat_map(|i| ((i * 40_503 + seed) as u16).to_le_bytes()).collect::<Vec<u8>>();
        let which: Vec<u8> = (0..n).map(|i| (i % 3 == 0) as u8).collect();
        let (x, y) = (bits(7), bits(31_000));
        let out = run_on(
            2,
            &nest(&[n], 1, operands, vec![w]),
            &[which, x.clone(), y.clone(), zeros(&[n], dtype)],
            &[0, 1, 2, 3],
        );
        for i in 0..n as usize {
            let from = if i % 3 == 0 { &x } else { &y };
            assert_eq!(out[3][2 * i..2 * i + 2], from[2 * i..2 * i + 2], "{dtype} {i}");
        }
    }
}

/// Rows of one block and of many, of several chunks; ties, NaN, and values that end the search early.
#[test]
fn positions_of_extremes_of_long_rows() {
    for dtype in [Bool, I8, U16, I32, I64, F16, F32, F64] {
        for (rows, n) in [(1u64, 1u64), (3, 63), (2, 4097), (1, 70_001), (2, 200_000)] {
            for fold in [Fold::ArgMax, Fold::ArgMin] {
                let mut w = Writer::new(PhaseKind::Reduce);
                let (x, at) = (w.load(0, &[0, 1]), w.inst(Inst::Axis(1)));
                w.fold(fold, x, Some(at));
                let mut end = Writer::new(PhaseKind::Point);
                let found = end.inst(Inst::Folded { phase: 0, fold: 0 });
                end.store(1, &[0], found);
                let operands = vec![
                    Operand::contiguous(dtype, &[rows, n], false),
                    Operand::contiguous(I64, &[rows], true),
                ];
                let nest = nest(&[rows, n], 1, operands, vec![w, end]);
                let mut some = Numbers(n);
                let few: Vec<f64> = (0..rows * n).map(|_| (some.next() % 7) as f64).collect();
                let mut late = vec![3.0; (rows * n) as usize];
                late[(rows * n - 1) as usize] = if fold == Fold::ArgMax { 5.0 } else { 1.0 };
                let mut lists = vec![few, late.clone()];
                if dtype.is_float() {
                    late[(rows * n / 2) as usize] = f64::NAN;
                    lists.push(late);
                }
                for list in lists {
                    let list: Vec<f64> = list
                        .iter()
                        .map(|x| if dtype == Bool { (*x > 3.0) as u8 as f64 } else { *x })
                        .collect();
                    agrees(&nest, &[bytes(dtype, &list), zeros(&[rows], I64)], &[0, 1], 0.0);
                }
            }
        }
    }
}
