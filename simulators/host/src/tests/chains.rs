//! Chains against the interpreter, which runs each instruction by itself: bit for bit.

use super::*;

/// Numbers, including special values of comparisons and selections.
fn elements(dtype: DType, count: usize, seed: u64) -> Vec<u8> {
    let special = [f64::NAN, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 1.0, 1e-42];
    let mut numbers = Numbers(seed);
    let mut one = || match numbers.next() % 12 {
        at @ 0..7 => special[at as usize],
        _ => numbers.float(),
    };
    bytes(dtype, &(0..count).map(|_| one()).collect::<Vec<_>>())
}

/// A Map phase of `length` random ops over four operands of `n` elements, which stores some of its values.
fn chain(seed: u64, dtype: DType, n: u64, length: usize) -> (Nest, Vec<Vec<u8>>) {
    let mut numbers = Numbers(seed);
    let mut below = |n: usize| numbers.next() as usize % n;
    let mut w = Writer::new(PhaseKind::Point);
    let mut operands = vec![Operand::contiguous(dtype, &[n], false); 3];
    operands.push(Operand::contiguous(DType::Bool, &[n], false));
    let mut floats: Vec<Value> = (0..3).map(|at| w.load(at, &[0])).collect();
    floats.extend([w.constant(dtype, 0.5), w.constant(dtype, -0.0)]);
    let mut bools = vec![w.load(3, &[0])];
    let mut stored = Vec::new();
    for k in 0..length {
        // Mostly the latest value, as in a chain; sometimes any.
        let mut pick = |of: &[Value]| {
            if below(3) > 0 { of[of.len() - 1 - below(2).min(of.len() - 1)] } else { of[below(of.len())] }
        };
        let (a, b, c) = (pick(&floats), pick(&floats), pick(&bools));
        let binary = [ops::ADD, ops::SUB, ops::MUL, ops::DIV, ops::MAXIMUM, ops::MINIMUM];
        let compare = [ops::LT, ops::LE, ops::GT, ops::GE, ops::EQ, ops::NE];
        let (value, of) = match below(16) {
            0..7 => (w.op(binary[below(6)], &[a, b]), dtype),
            7 => (w.op([ops::NEG, ops::SQR, ops::SQRT][below(3)], &[a]), dtype),
            8..11 => (w.op(compare[below(6)], &[a, b]), DType::Bool),
            11 => (w.op(ops::NOT, &[c]), DType::Bool),
            12 => (w.cast(dtype, c), dtype),
            _ => (w.op(ops::WHERE, &[c, a, b]), dtype),
        };
        if of == DType::Bool {
            bools.push(value)
        } else {
            floats.push(value)
        }
        if below(6) == 0 || k + 1 == length {
            stored.push((value, of));
        }
    }
    for (value, of) in stored {
        operands.push(Operand::contiguous(of, &[n], true));
        w.store(operands.len() - 1, &[0], value);
    }
    let buffers = operands.iter().enumerate().map(|(at, o)| match o.dtype {
        DType::Bool => (0..n).map(|i| (i * 7 % 3 == 0) as u8).collect(),
        of => elements(of, n as usize, seed * 31 + at as u64),
    });
    let buffers = buffers.collect();
    (nest(&[n], 1, operands, vec![w]), buffers)
}

#[test]
fn chains_have_the_bits_of_their_ops() {
    for seed in 0..300 {
        let dtype = [DType::F32, DType::F64][seed as usize % 2];
        let n = [1, 3, 7, 8, 15, 16, 17, 33, 64, 100, 127, 128, 129, 500, 1025, 3000][seed as usize % 16];
        let (nest, buffers) = chain(seed + 1, dtype, n, 2 + seed as usize % 23);
        let args: Vec<usize> = (0..buffers.len()).collect();
        let mut want = buffers.clone();
        interpret(&nest, &mut want).unwrap();
        let got = run_on(1, &nest, &buffers, &args);
        for (at, operand) in nest.operands.iter().enumerate().filter(|(_, o)| o.written) {
            let (g, w) = (numbers(operand.dtype, &got[at]), numbers(operand.dtype, &want[at]));
            for (i, (g, w)) in g.iter().zip(&w).enumerate() {
                assert!(
                    g.to_bits() == w.to_bits() || g.is_nan() && w.is_nan(),
                    "seed {seed}: element {i} of {n} of operand {at} is {g}, not {w}: {nest:?}"
                );
            }
        }
    }
}

/// More ops, and more live values, than fit in one chain.
#[test]
fn long_chains_are_cut() {
    for (length, alive) in [(200, 1), (90, 20), (60, 40)] {
        let mut w = Writer::new(PhaseKind::Point);
        let x = w.load(0, &[0]);
        let constants: Vec<Value> = (0..alive).map(|k| w.constant(DType::F32, 1.0 + k as f64)).collect();
        let mut values: Vec<Value> = constants.iter().map(|c| w.op(ops::MUL, &[x, *c])).collect();
        for k in 0..length {
            let last = values[values.len() - 1];
            values.push(w.op([ops::ADD, ops::SUB][k % 2], &[values[k % alive], last]));
        }
        w.store(1, &[0], values[values.len() - 1]);
        let operands = vec![
            Operand::contiguous(DType::F32, &[333], false),
            Operand::contiguous(DType::F32, &[333], true),
        ];
        let nest = nest(&[333], 1, operands, vec![w]);
        agrees(&nest, &[random(DType::F32, 333, 5), vec![0; 4 * 333]], &[0, 1], 0.0);
    }
}

/// Stored operands are also read, in the chain and after it.
#[test]
fn a_chain_may_store_where_it_reads() {
    let mut w = Writer::new(PhaseKind::Map);
    let (x, y) = (w.load(0, &[0]), w.load(1, &[0]));
    let sum = w.op(ops::ADD, &[x, y]);
    let less = w.op(ops::LT, &[sum, x]);
    let chosen = w.op(ops::WHERE, &[less, y, sum]);
    let e = w.op(ops::EXP, &[chosen]);
    let end = w.op(ops::SUB, &[e, x]);
    w.store(0, &[0], end);
    w.store(1, &[0], sum);
    let operands =
        vec![Operand::contiguous(DType::F32, &[777], true), Operand::contiguous(DType::F32, &[777], true)];
    let nest = nest(&[777], 0, operands, vec![w]);
    agrees(&nest, &[random(DType::F32, 777, 1), random(DType::F32, 777, 2)], &[0, 1], 1e-6);
}

/// Values that are uniform along a row are computed for a few lanes, unless an instruction needs more.
#[test]
fn values_uniform_along_a_row_have_any_use() {
    for (rows, columns, wanted) in
        [(3, 2000, 0), (2, 5000, 1), (3, 2000, 2), (5, 700, 3), (1, 37, 0), (2, 3, 1)]
    {
        let hoisted = |w: &mut Writer| {
            let (s, t) = (w.load(1, &[0]), w.load(2, &[0]));
            let sum = w.op(ops::ADD, &[s, t]);
            let e = w.op(ops::EXP, &[sum]);
            (s, w.op(ops::MUL, &[e, sum]))
        };
        let mut reduce = Writer::new(PhaseKind::Reduce);
        let x = reduce.load(0, &[0, 1]);
        let (_, scale) = hoisted(&mut reduce);
        let scaled = reduce.op(ops::MUL, &[x, scale]);
        let moved = reduce.op(ops::SUB, &[scaled, scale]);
        reduce.fold(Fold::Max, moved, None);
        let mut map = Writer::new(PhaseKind::Map);
        let x = map.load(0, &[0, 1]);
        let (s, scale) = hoisted(&mut map);
        let most = map.inst(Inst::Folded { phase: 0, fold: 0 });
        let less = map.op(ops::LT, &[x, s]);
        let chosen = map.op(ops::WHERE, &[less, most, x]);
        let value = match wanted {
            // Used by a chain only; by a loop outside of chains; by a store; by both.
            0 => map.op(ops::DIV, &[chosen, scale]),
            1 => map.op(ops::LOG1P, &[scale]),
            2 => scale,
            _ => map.op(ops::EXP, &[scale]),
        };
        map.store(3, &[0, 1], chosen);
        map.store(4, &[0, 1], value);
        let operand = |shape: &[u64], written| Operand::contiguous(DType::F32, shape, written);
        let operands = vec![
            operand(&[rows, columns], false),
            operand(&[rows], false),
            operand(&[rows], false),
            operand(&[rows, columns], true),
            operand(&[rows, columns], true),
        ];
        let all = (rows * columns) as usize;
        let buffers = vec![
            random(DType::F32, all, 1),
            random(DType::F32, rows as usize, 2),
            random(DType::F32, rows as usize, 3),
            vec![0; 4 * all],
            vec![0; 4 * all],
        ];
        agrees(&nest(&[rows, columns], 1, operands, vec![reduce, map]), &buffers, &[0, 1, 2, 3, 4], 1e-5);
    }
}
