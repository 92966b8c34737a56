//! What is made of Nests before they are planned, and what is run without tiles.

use super::*;
use DType::*;

fn buffer(shape: &[u64], dtype: DType, seed: u64) -> Vec<u8> {
    random(dtype, shape.iter().product::<u64>() as usize, seed)
}

fn zeros(shape: &[u64], dtype: DType) -> Vec<u8> {
    vec![0; shape.iter().product::<u64>() as usize * dtype.size()]
}

#[test]
fn updates_in_order_are_as_the_table_has_them() {
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

/// `target[index[i]] = x[i]`, where x may be the target itself: then each point reads what those before it left.
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

/// Long maps of one instruction, of extents that are no whole words.
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

/// Halves that are moved keep their bits, NaN's too.
#[test]
fn moved_halves_keep_their_bits() {
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
