//! Rows at computed indices, and copies from memory to memory.

use super::*;
use DType::*;

fn zeros(shape: &[u64], dtype: DType) -> Vec<u8> {
    vec![0; shape.iter().product::<u64>() as usize * dtype.size()]
}

fn at(value: Value) -> Index {
    Index { dynamic: Some(value), ..Index::default() }
}

/// The position of `index[at]` by NumPy's rule; indices out of range are reported in operand `status`.
fn position(w: &mut Writer, index: usize, axes: &[usize], extent: u64, status: usize) -> Value {
    let value = w.load(index, axes);
    w.inst(Inst::Position { value, extent, mode: IndexMode::Report { status, node: 7 } })
}

fn indices(count: u64, extent: i64, bad: bool) -> Vec<u8> {
    let mut numbers = Numbers(count);
    let mut all: Vec<i64> = (0..count).map(|_| numbers.next() as i64 % (2 * extent) - extent).collect();
    if bad {
        all[count as usize / 2] = extent;
    }
    all.iter().flat_map(|i| i.to_le_bytes()).collect()
}

#[test]
fn rows_are_taken_and_bad_indices_reported() {
    let sizes = [(1, 1), (5, 7), (3, 8), (40, 25), (1000, 20), (20, 1001), (2, 9000), (2001, 9)];
    for (at_size, (rows, columns)) in sizes.into_iter().enumerate() {
        for dtype in [Bool, I8, F16, F32, F64] {
            for bad in [false, true] {
                let mut w = Writer::new(PhaseKind::Point);
                let row = position(&mut w, 1, &[0], 11, 3);
                let v = w.inst(Inst::Load { operand: 0, index: vec![at(row), Index::axis(1)] });
                w.store(2, &[0, 1], v);
                let operands = vec![
                    Operand::contiguous(dtype, &[11, columns], false),
                    Operand::contiguous(I64, &[rows], false),
                    Operand::contiguous(dtype, &[rows, columns], true),
                    Operand::contiguous(I64, &[], true),
                ];
                let x = match dtype {
                    Bool => (0..11 * columns).map(|i| (i % 3 == 0) as u8).collect(),
                    _ => random(dtype, 11 * columns as usize, 3),
                };
                let buffers = [x, indices(rows, 11, bad), zeros(&[rows, columns], dtype), zeros(&[], I64)];
                let nest = nest(&[rows, columns], 2, operands, vec![w]);
                agrees(&nest, &buffers, &[0, 1, 2, 3], 0.0);
                let status = &run_on(2, &nest, &buffers, &[0, 1, 2, 3])[3];
                assert_eq!(numbers(I64, status), [if bad { 7.0 } else { 0.0 }], "size {at_size}");
            }
        }
    }
}

#[test]
fn rows_that_are_taken_are_computed_with() {
    let sizes = [(1, 9), (5, 64), (40, 25), (1000, 20), (20, 1001), (2, 9000)];
    for ((rows, columns), dtype) in sizes.into_iter().flat_map(|s| [BF16, F16, F32].map(|d| (s, d))) {
        let mut w = Writer::new(PhaseKind::Point);
        let row = position(&mut w, 1, &[0], 11, 3);
        let v = w.inst(Inst::Load { operand: 0, index: vec![at(row), Index::axis(1)] });
        let two = w.constant(F32, 2.0);
        let v = w.cast(F32, v);
        let v = w.op(ops::MUL, &[v, two]);
        w.store(2, &[0, 1], v);
        let operands = vec![
            Operand::contiguous(dtype, &[11, columns], false),
            Operand::contiguous(I64, &[rows], false),
            Operand::contiguous(F32, &[rows, columns], true),
            Operand::contiguous(I64, &[], true),
        ];
        let x = random(dtype, 11 * columns as usize, 3);
        let buffers = [x, indices(rows, 11, false), zeros(&[rows, columns], F32), zeros(&[], I64)];
        agrees(&nest(&[rows, columns], 2, operands, vec![w]), &buffers, &[0, 1, 2, 3], 0.0);
    }
}

#[test]
fn every_index_mode_gives_its_position() {
    // x[position], and the position itself: once computed by the access, once separately.
    for (points, extent) in [(1, 1), (30, 7), (5000, 7), (3001, 900)] {
        for mode in
            [IndexMode::Clamp, IndexMode::Wrap, IndexMode::FromEnd, IndexMode::Report { status: 4, node: 7 }]
        {
            for bad in [false, true] {
                let mut w = Writer::new(PhaseKind::Point);
                let value = w.load(1, &[0]);
                let found = w.inst(Inst::Position { value, extent, mode });
                let v = w.inst(Inst::Load { operand: 0, index: vec![at(found)] });
                w.store(2, &[0], v);
                w.store(3, &[0], found);
                let operands = vec![
                    Operand::contiguous(F32, &[extent], false),
                    Operand::contiguous(I64, &[points], false),
                    Operand::contiguous(F32, &[points], true),
                    Operand::contiguous(I64, &[points], true),
                    Operand::contiguous(I64, &[], true),
                ];
                let buffers = [
                    random(F32, extent as usize, 3),
                    indices(points, extent as i64, bad),
                    zeros(&[points], F32),
                    zeros(&[points], I64),
                    zeros(&[], I64),
                ];
                agrees(&nest(&[points], 1, operands, vec![w]), &buffers, &[0, 1, 2, 3, 4], 0.0);
            }
        }
    }
}

#[test]
fn an_index_is_found_by_the_access_that_uses_it() {
    let load = |mode| {
        let mut w = Writer::new(PhaseKind::Point);
        let value = w.load(1, &[0]);
        let found = w.inst(Inst::Position { value, extent: 9, mode });
        let v = w.inst(Inst::Load { operand: 0, index: vec![at(found)] });
        w.store(2, &[0], v);
        let operands = vec![
            Operand::contiguous(F32, &[9], false),
            Operand::contiguous(I64, &[100], false),
            Operand::contiguous(F32, &[100], true),
        ];
        let plan = plan(&nest(&[100], 1, operands, vec![w])).unwrap();
        let wraps = plan.accesses.iter().find_map(|a| a.dynamic.first()).unwrap().wraps;
        (plan.phases[0].body.len(), wraps)
    };
    assert_eq!(load(IndexMode::Clamp), (2, 0));
    assert_eq!(load(IndexMode::FromEnd), (2, 9));
    assert_eq!(load(IndexMode::Wrap), (3, 0), "a remainder is computed before");
}

#[test]
fn rows_of_many_axes_are_taken() {
    // Strided as after a transposition: so many axes that none are merged.
    let rank = 18;
    let mut w = Writer::new(PhaseKind::Point);
    let row = position(&mut w, 1, &[0], 2, 3);
    let backwards = (1..rank).rev().map(Index::axis);
    let v = w.inst(Inst::Load { operand: 0, index: std::iter::once(at(row)).chain(backwards).collect() });
    let axes: Vec<usize> = (0..rank).collect();
    w.store(2, &axes, v);
    let (mut from, mut to) = (vec![2u64; rank], vec![2u64; rank]);
    (from[0], to[0]) = (2, 4);
    let operands = vec![
        Operand::contiguous(F32, &from, false),
        Operand::contiguous(I64, &[4], false),
        Operand::contiguous(F32, &to, true),
        Operand::contiguous(I64, &[], true),
    ];
    let buffers = [random(F32, 1 << rank, 3), indices(4, 2, false), zeros(&to, F32), zeros(&[], I64)];
    agrees(&nest(&to, rank, operands, vec![w]), &buffers, &[0, 1, 2, 3], 0.0);
}

#[test]
fn values_uniform_in_a_row_are_broadcast() {
    // x[b, index[r], c] * 2 + s[r] + c + index[r], where index[r] is above 3; else -c. Reports once per row,
    // stores once per row.
    for (planes, rows, columns) in [(1, 1, 8), (2, 5, 13), (3, 40, 129), (2, 3, 3000), (90, 3, 30)] {
        let mut w = Writer::new(PhaseKind::Point);
        let row = position(&mut w, 1, &[1], 6, 4);
        let v = w.inst(Inst::Load { operand: 0, index: vec![Index::axis(0), at(row), Index::axis(2)] });
        let two = w.constant(F64, 2.0);
        let v = w.op(ops::MUL, &[v, two]);
        let s = w.load(2, &[1]);
        let v = w.op(ops::ADD, &[v, s]);
        let c = w.inst(Inst::Axis(2));
        let sum = w.op(ops::ADD, &[c, row]);
        let sum = w.cast(F64, sum);
        let v = w.op(ops::ADD, &[v, sum]);
        let three = w.constant(I64, 3.0);
        let above = w.op(ops::GT, &[row, three]);
        let c = w.cast(F64, c);
        let other = w.op(ops::NEG, &[c]);
        let v = w.op(ops::WHERE, &[above, v, other]);
        w.store(3, &[0, 1, 2], v);
        w.store(5, &[0, 1], row);
        w.store(6, &[0, 1, 2], row);
        let operands = vec![
            Operand::contiguous(F64, &[planes, 6, columns], false),
            Operand::contiguous(I64, &[rows], false),
            Operand::contiguous(F64, &[rows], false),
            Operand::contiguous(F64, &[planes, rows, columns], true),
            Operand::contiguous(I64, &[], true),
            Operand::contiguous(I64, &[planes, rows], true),
            Operand::contiguous(I64, &[planes, rows, columns], true),
        ];
        let buffers = [
            random(F64, (planes * 6 * columns) as usize, 3),
            indices(rows, 6, false),
            random(F64, rows as usize, 4),
            zeros(&[planes, rows, columns], F64),
            zeros(&[], I64),
            zeros(&[planes, rows], I64),
            zeros(&[planes, rows, columns], I64),
        ];
        let nest = nest(&[planes, rows, columns], 3, operands, vec![w]);
        agrees(&nest, &buffers, &[0, 1, 2, 3, 4, 5, 6], 1e-15);
    }
}

#[test]
fn two_indices_one_varying_along_the_row() {
    // x[index[r], r + one, c] of one plane and of many.
    for (rows, columns) in [(3, 8), (30, 50), (999, 64)] {
        let mut w = Writer::new(PhaseKind::Point);
        let plane = position(&mut w, 1, &[0], 4, 3);
        let one = w.load(4, &[]);
        let mut follows = at(one);
        follows.add_term(0, 1);
        let v = w.inst(Inst::Load { operand: 0, index: vec![at(plane), follows, Index::axis(1)] });
        w.store(2, &[0, 1], v);
        let operands = vec![
            Operand::contiguous(U16, &[4, rows + 1, columns], false),
            Operand::contiguous(I64, &[rows], false),
            Operand::contiguous(U16, &[rows, columns], true),
            Operand::contiguous(I64, &[], true),
            Operand::contiguous(I64, &[], false),
        ];
        let buffers = [
            random(U16, (4 * (rows + 1) * columns) as usize, 3),
            indices(rows, 4, false),
            zeros(&[rows, columns], U16),
            zeros(&[], I64),
            1i64.to_le_bytes().to_vec(),
        ];
        agrees(&nest(&[rows, columns], 2, operands, vec![w]), &buffers, &[0, 1, 2, 3, 4], 0.0);
    }
}

#[test]
fn strided_copies_in_every_direction() {
    for dtype in [Bool, I8, U16, BF16, F32, I64] {
        for (rows, columns) in [(1i64, 1i64), (3, 5), (37, 8), (13, 1000), (1000, 13)] {
            let (r, c) = (rows as u64, columns as u64);
            let term = |offset: i64, row: i64, column: i64| {
                let mut index = Index::constant(offset);
                index.add_term(0, row);
                index.add_term(1, column);
                index
            };
            let n = rows * columns;
            let maps = [
                term(0, columns, 1),
                term(n - columns, -columns, 1),
                term(columns - 1, columns, -1),
                term(n - 1, -columns, -1),
                term(0, 1, rows),
                term(0, 2 * columns, 1),
                term(n, columns, 1),
                term(1, 2 * columns, 2),
            ];
            for (from, to) in maps.iter().flat_map(|a| maps.iter().map(move |b| (a, b))) {
                let mut w = Writer::new(PhaseKind::Point);
                let v = w.inst(Inst::Load { operand: 0, index: vec![from.clone()] });
                let index = vec![to.clone()];
                w.0.stores.push(Store { operand: 1, index, value: v, when: None, add: false });
                let operands = vec![
                    Operand::contiguous(dtype, &[2 * n as u64], false),
                    Operand::contiguous(dtype, &[2 * n as u64], true),
                ];
                let x = match dtype {
                    Bool => (0..2 * n).map(|i| (i % 3 == 0) as u8).collect(),
                    _ => random(dtype, 2 * n as usize, 3),
                };
                let buffers = [x, zeros(&[2 * n as u64], dtype)];
                if n < 200 || from == to || *from == maps[0] {
                    agrees(&nest(&[r, c], 2, operands, vec![w]), &buffers, &[0, 1], 0.0);
                }
            }
        }
    }
}

#[test]
fn stores_on_bad_indices_write_only_there() {
    for (rows, columns) in [(1, 1), (37, 9), (3000, 1)] {
        let mut w = Writer::new(PhaseKind::Point);
        let given = w.load(0, &[0]);
        let (first, n) = (w.constant(I64, -5.0), w.constant(I64, 5.0));
        let (below, beyond) = (w.op(ops::LT, &[given, first]), w.op(ops::GE, &[given, n]));
        let (value, when) = (w.constant(F32, 7.0), Some(w.op(ops::OR, &[below, beyond])));
        let index = vec![Index::axis(0), Index::axis(1)];
        w.0.stores.push(Store { operand: 1, index, value, when, add: false });
        let operands =
            vec![Operand::contiguous(I64, &[rows], false), Operand::contiguous(F32, &[rows, columns], true)];
        let buffers = [indices(rows, 7, true), random(F32, (rows * columns) as usize, 1)];
        agrees(&nest(&[rows, columns], 2, operands, vec![w]), &buffers, &[0, 1], 0.0);
    }
}
