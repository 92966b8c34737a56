//! Loops against the same expressions written out, iteration by iteration.

mod gradients;
mod until;

use crate::data::{below, normal, random};
use crate::group::Group;
use crate::tolerance::Tier;
use workalike::Result;
use workalike::loops::{Scan, foldr, fori, map, reduce, scan};
use workalike::ops::Ix;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    let mut all =
        vec![carried(), taps(), results(), layouts(), bodies(), nested(), in_place(), parts_of_parts()];
    all.extend(gradients::groups());
    all.extend(until::groups());
    all
}

/// Iterations of most cases.
const STEPS: usize = 6;

/// A row of an array.
fn at(x: &Variable, position: usize) -> Variable {
    x.index(idx![position as i64])
}

/// The values after each iteration.
fn unrolled(
    steps: usize,
    initial: &Variable,
    mut body: impl FnMut(usize, &Variable) -> Variable,
) -> Vec<Variable> {
    let mut value = initial.clone();
    (0..steps)
        .map(|step| {
            value = body(step, &value);
            value.clone()
        })
        .collect()
}

/// A tolerance for a few roundings in another order.
fn near(value: &Variable) -> Tier {
    let eps = if value.dtype() == DType::F64 { 1e-12 } else { 2e-5 };
    Tier::Within((value.cast(DType::F64).abs() + 1.0) * eps)
}

fn reals(group: &mut Group, shape: &[usize], seed: u32) -> Result<Variable> {
    let len = shape.iter().product();
    Ok(group.input(Value::from_vec(shape, normal(len, seed))?))
}

fn singles(group: &mut Group, shape: &[usize], seed: u32) -> Result<Variable> {
    let len = shape.iter().product();
    Ok(group.input(Value::from_vec(shape, normal(len, seed))?.cast(DType::F32)?))
}

impl Group {
    /// A loop beside what it is, written out.
    fn unrolled(&mut self, name: &str, looped: Variable, written: &Variable) {
        self.against(name, looped, written, near(written));
    }
}

/// Carried values: all of them, the last alone, of any dtype and size.
fn carried() -> Result<Group> {
    let mut group = Group::new("loops_carried");
    let a = reals(&mut group, &[5], 1)?;
    let power = fori(STEPS as i64, ones_like(&a), |_, product| product * &a);
    group.unrolled("power", power, &a.pow(STEPS as f64));
    group.unrolled("no_iteration", fori(0i64, &a, |_, x| x * 2.0), &a);
    let history = Scan::new().steps(0i64).recurrent(&a).run(|v| vec![&v[0] * 2.0]).history(0);
    group.unrolled("no_history", history.sum(..), &(a.sum(..) * 0.0));
    for (rows, columns) in [(STEPS, 1), (STEPS, 3), (STEPS, 64), (1, 300), (40, 7)] {
        let xs = singles(&mut group, &[rows, columns], 2)?;
        let h0 = singles(&mut group, &[columns], 3)?;
        let step = |x: &Variable, h: &Variable| (x * 0.5 + h * 0.7).tanh();
        let history = scan(&xs, &h0, |x, h| step(&x, &h));
        let written = unrolled(rows, &h0, |t, h| step(&at(&xs, t), h));
        let name = |what: &str| format!("{what}_{rows}x{columns}_f32");
        group.unrolled(&name("history"), history.clone(), &stack(&written, 0));
        group.unrolled(&name("last"), history.index(idx![-1]), &written[rows - 1]);
        let third = rows as i64 / 3;
        group.unrolled(&name("some"), history.index(idx![third..]), &stack(&written[third as usize..], 0));
    }
    let xs = reals(&mut group, &[STEPS], 4)?;
    let start = reals(&mut group, &[], 5)?;
    let sums = scan(&xs, &start, |x, sum| x + sum);
    group.unrolled("scalars", sums, &(xs.cumsum(0) + &start));
    let (low, high) = (group.input(0i64), group.input(1i64));
    let fibonacci = Scan::new().steps(10i64).recurrent(&low).recurrent(&high);
    let fibonacci = fibonacci.run(|v| vec![v[1].clone(), &v[0] + &v[1]]);
    group.golden("fibonacci", fibonacci.last_of(0), Value::from(55i64), Tier::Exact);
    let numbers = vec![1i64, 1, 2, 3, 5, 8, 13, 21, 34, 55];
    group.golden("swapped", fibonacci.history(0), Value::from(numbers), Tier::Exact);
    for dtype in [DType::Bool, DType::U8, DType::I32, DType::F16, DType::BF16, DType::U64] {
        let xs = group.input(random(dtype, &[STEPS, 9], 6)?);
        let first = at(&xs, 0);
        let step = |x: &Variable, h: &Variable| where_(x.equal(h), x.clone(), h.maximum(x));
        let history = scan(&xs, &first, |x, h| step(&x, &h));
        let written = unrolled(STEPS, &first, |t, h| step(&at(&xs, t), h));
        group.against(format!("history_{}", dtype.short()), history, &stack(&written, 0), Tier::Exact);
    }
    Ok(group)
}

/// Taps of sequences and of carried values.
fn taps() -> Result<Group> {
    let mut group = Group::new("loops_taps");
    let xs = reals(&mut group, &[STEPS, 5], 11)?;
    let two = reals(&mut group, &[2, 5], 14)?;
    let taps = Scan::new().sequence_taps(&xs, [-1, 0, 1]).run(|v| vec![&v[0] - &v[1] * 2.0 + &v[2]]);
    let inner: Vec<Variable> =
        (1..STEPS - 1).map(|t| at(&xs, t - 1) - at(&xs, t) * 2.0 + at(&xs, t + 1)).collect();
    group.unrolled("sequence_taps", taps.result(0), &stack(&inner, 0));
    let second = Scan::new().sequence(&xs).recurrent_taps(&two, [-2, -1]);
    let second = second.run(|v| vec![&v[0] + &v[1] * &v[2]]);
    let mut values = vec![at(&two, 0), at(&two, 1)];
    for t in 0..STEPS {
        values.push(at(&xs, t) + &values[t] * &values[t + 1]);
    }
    group.unrolled("recurrent_taps", second.history(0), &stack(&values[2..], 0));
    group.unrolled("recurrent_taps_last", second.last_of(0), &values[STEPS + 1]);
    let older = Scan::new().sequence(&xs).recurrent_taps(&two, [-2]).run(|v| vec![&v[0] + &v[1]]);
    let mut values = vec![at(&two, 0), at(&two, 1)];
    for t in 0..STEPS {
        values.push(at(&xs, t) + &values[t]);
    }
    group.unrolled("a_tap_alone", older.history(0), &stack(&values[2..], 0));
    group.unrolled("a_tap_alone_last", older.last_of(0), &values[STEPS + 1]);
    Ok(group)
}

/// Several sequences, results that are not carried, and the relatives of `scan`.
fn results() -> Result<Group> {
    let mut group = Group::new("loops_results");
    let xs = reals(&mut group, &[STEPS, 5], 11)?;
    let ys = reals(&mut group, &[STEPS, 5], 12)?;
    let h0 = reals(&mut group, &[5], 13)?;
    let mixed = Scan::new().sequence(&xs).sequence(&ys).recurrent(&h0).run(|v| {
        let h = (&v[0] + &v[2] * 0.5).sin();
        vec![h.clone(), &h * &v[1], h, v[0].sum(..)]
    });
    let written = unrolled(STEPS, &h0, |t, h| (at(&xs, t) + h * 0.5).sin());
    group.unrolled("mixed_history", mixed.history(0), &stack(&written, 0));
    group.unrolled("mixed_product", mixed.result(0), &(stack(&written, 0) * &ys));
    group.unrolled("mixed_again", mixed.result(1), &stack(&written, 0));
    group.unrolled("mixed_sum", mixed.result(2), &xs.sum(over(1)));
    group.unrolled(
        "mixed_last_result",
        mixed.result(0).index(idx![-1]),
        &(&written[STEPS - 1] * at(&ys, STEPS - 1)),
    );
    let product = map((&xs, &ys), |(x, y)| [&x * &y, x - y]);
    group.unrolled("map_first", product[0].clone(), &(&xs * &ys));
    group.unrolled("map_second", product[1].clone(), &(&xs - &ys));
    group.unrolled("reduce", reduce(&xs, &h0, |x, h| h * 0.5 + x), &{
        unrolled(STEPS, &h0, |t, h| h * 0.5 + at(&xs, t))[STEPS - 1].clone()
    });
    group.unrolled("foldr", foldr(&xs, &h0, |x, h| h * 0.5 + x), &{
        unrolled(STEPS, &h0, |t, h| h * 0.5 + at(&xs, STEPS - 1 - t))[STEPS - 1].clone()
    });
    let fewer = Scan::new().sequence(&xs).steps(3i64).recurrent(&h0).run(|v| vec![&v[0] + &v[1]]);
    group.unrolled("fewer_steps", fewer.last_of(0), &(xs.index(idx![..3]).sum(over(0)) + &h0));
    Ok(group)
}

/// Sequences that lie otherwise than row by row.
fn layouts() -> Result<Group> {
    let mut group = Group::new("loops_layouts");
    let xs = reals(&mut group, &[STEPS, 5], 11)?;
    let h0 = reals(&mut group, &[5], 13)?;
    let sum = |xs: &Variable| reduce(xs, zeros_like(at(xs, 0)), |x, h| h * 0.5 + x);
    let sum_written = |xs: &Variable, steps: usize| {
        unrolled(steps, &zeros_like(at(xs, 0)), |t, h| h * 0.5 + at(xs, t))[steps - 1].clone()
    };
    let layouts = [
        ("transposed", xs.t(), 5),
        ("every_second", xs.index(idx![Ix::from(..).step(2)]), STEPS / 2),
        ("backwards", xs.index(idx![Ix::from(..).step(-1)]), STEPS),
        ("computed", xs.exp(), STEPS),
        ("broadcast", h0.expand_dims(0).broadcast_to([STEPS, 5]), STEPS),
        ("columns", xs.index(idx![.., 1..4]), STEPS),
    ];
    for (name, view, steps) in layouts {
        group.unrolled(name, sum(&view), &sum_written(&view, steps));
    }
    Ok(group)
}

/// Bodies of several steps: products, folds, sorts, computed positions, constants.
fn bodies() -> Result<Group> {
    let mut group = Group::new("loops_bodies");
    let xs = reals(&mut group, &[STEPS, 4, 3], 21)?;
    let h0 = reals(&mut group, &[4, 5], 22)?;
    let w = reals(&mut group, &[3, 5], 23)?;
    let u = reals(&mut group, &[5, 5], 24)?;
    let cell = |x: &Variable, h: &Variable| (x.dot(&w) + h.dot(&u) * 0.3).tanh();
    let written = unrolled(STEPS, &h0, |t, h| cell(&at(&xs, t), h));
    let states = scan(&xs, &h0, |x, h| cell(&x, &h));
    group.unrolled("rnn", states.clone(), &stack(&written, 0));
    group.unrolled("rnn_read_twice", states.sum(over(0)) + states.index(idx![-1]), &{
        stack(&written, 0).sum(over(0)) + &written[STEPS - 1]
    });
    let attend = |h: &Variable| softmax(h, 1).dot(&u);
    let written = unrolled(STEPS, &h0, |_, h| attend(h));
    group.unrolled("softmax", fori(STEPS as i64, &h0, |_, h| attend(&h)), &written[STEPS - 1]);
    let mix = |h: &Variable| h.sort(1) * 0.9 + h.cumsum(1) * 0.1;
    let written = unrolled(STEPS, &h0, |_, h| mix(h));
    group.unrolled("sorts", fori(STEPS as i64, &h0, |_, h| mix(&h)), &written[STEPS - 1]);
    let table = group.input(below(7, DType::I64, &[7], 25)?);
    let start = group.input(below(7, DType::I64, &[9], 26)?);
    let written = unrolled(STEPS, &start, |_, p| table.take(p, 0));
    group.unrolled("pointers", fori(STEPS as i64, &start, |_, p| table.take(&p, 0)), &written[STEPS - 1]);
    let numbers = arange(STEPS as i64);
    let set =
        reduce(&numbers, &u.index(idx![0]), |i, row| row.set_index(idx![&i % 5i64], i.cast(DType::F64)));
    let mut row = at(&u, 0);
    for t in 0..STEPS {
        row = row.set_index(idx![(t % 5) as i64], t as f64);
    }
    group.unrolled("set_index", set, &row);
    let weights = constant(Value::from_vec(&[5], vec![0.5, 0.25, 2.0, 1.0, -1.0])?);
    let scaled = |h: &Variable| (h * &weights + weights.exp()).sin();
    let written = unrolled(STEPS, &h0, |_, h| scaled(h));
    group.unrolled("constants", fori(STEPS as i64, &h0, |_, h| scaled(&h)), &written[STEPS - 1]);
    let counted = fori(STEPS as i64, &h0, |i, h| h + i.cast(DType::F64));
    group.unrolled("numbers", counted, &(&h0 + 15.0));
    Ok(group)
}

/// Loops in loops.
fn nested() -> Result<Group> {
    let mut group = Group::new("loops_nested");
    let xs = reals(&mut group, &[4, 3, 5], 31)?;
    let h0 = reals(&mut group, &[5], 32)?;
    let inner = |rows: &Variable, h: &Variable| reduce(rows, h, |x, h| (x + h * 0.5).sin());
    let written = unrolled(4, &h0, |t, h| {
        unrolled(3, h, |s, h| (xs.index(idx![t as i64, s as i64]) + h * 0.5).sin())[2].clone()
    });
    let states = scan(&xs, &h0, |rows, h| inner(&rows, &h));
    group.unrolled("two", states, &stack(&written, 0));
    let histories = map(&xs, |rows| scan(&rows, &h0, |x, h| (x + h * 0.5).sin()));
    let each: Vec<Variable> = (0..4)
        .map(|t| stack(unrolled(3, &h0, |s, h| (xs.index(idx![t as i64, s as i64]) + h * 0.5).sin()), 0))
        .collect();
    group.unrolled("histories", histories, &stack(&each, 0));
    let three = fori(2i64, &h0, |_, h| fori(2i64, &h, |_, h| fori(3i64, &h, |_, h| (h * 0.9).sin())));
    group.unrolled("three", three, &unrolled(12, &h0, |_, h| (h * 0.9).sin())[11]);
    Ok(group)
}

/// Carried arrays that are changed in part, which stay where they are.
fn in_place() -> Result<Group> {
    let mut group = Group::new("loops_in_place");
    let (x, y) = (reals(&mut group, &[7], 81)?, reals(&mut group, &[7], 82)?);
    let set = fori(5, &x, |i, x| x.set_index(idx![&i + 1i64], x.index(idx![&i]) + y.index(idx![&i])));
    let sums = concatenate(
        [x.index(idx![..1]), x.index(idx![0]) + y.index(idx![..5]).cumsum(0), x.index(idx![6..])],
        0,
    );
    group.unrolled("running_sums", set, &sums);
    let grid = reals(&mut group, &[5, 4], 83)?;
    let added = fori(5, &grid, |i, grid| grid.inc_index(idx![&i, 1..], y.index(idx![1..4]) * 2.0));
    let column = concatenate([zeros_like(y.index(idx![..1])), y.index(idx![1..4]) * 2.0], 0);
    group.unrolled("rows_of_a_grid", added, &(&grid + column));
    let at = group.input(Value::from(vec![6i64, 0, 3, 3, 5]));
    let scattered = scan(&at, &x, |at, x| x.inc_index(idx![stack([&at, &at], 0)], 1.0));
    let ones = scattered.index(idx![-1]) - &x;
    let counts = group.input(Value::from(vec![2.0f64, 0.0, 0.0, 4.0, 0.0, 2.0, 2.0]));
    group.unrolled("scattered", ones, &counts);
    // The old value is read after the write, and the new one is handed out as well.
    let both = Scan::new().steps(4).recurrent(&x).run(|v| {
        let next = v[0].set_index(idx![2], v[0].sum(..));
        vec![next.clone(), &next - &v[0], next]
    });
    let (mut value, mut changes, mut values) = (x.clone(), vec![], vec![]);
    for _ in 0..4 {
        let next = value.set_index(idx![2], value.sum(..));
        changes.push(&next - &value);
        values.push(next.clone());
        value = next;
    }
    group.unrolled("old_and_new", both.last_of(0), &value);
    group.unrolled("changes", both.result(0), &stack(changes, 0));
    group.unrolled("values", both.result(1), &stack(values, 0));
    let swapped = fori(3, (&x, &y), |i, (x, y)| {
        (x.set_index(idx![&i], y.index(idx![&i])), y.set_index(idx![&i], x.index(idx![&i])))
    });
    group.unrolled("swapped", swapped.0, &concatenate([y.index(idx![..3]), x.index(idx![3..])], 0));
    group.unrolled("swapped_back", swapped.1, &concatenate([x.index(idx![..3]), y.index(idx![3..])], 0));
    let nested = fori(3, &grid, |i, grid| {
        fori(4, &grid, |j, grid| grid.set_index(idx![&i, &j], grid.index(idx![&i, &j]) * 2.0))
    });
    group.unrolled("nested", nested, &concatenate([grid.index(idx![..3]) * 2.0, grid.index(idx![3..])], 0));
    let none = fori(0i64, &x, |i, x| x.set_index(idx![&i], 0.0));
    group.unrolled("no_iteration", none, &x);
    Ok(group)
}

/// Parts of a carried array that are computed of other parts.
fn parts_of_parts() -> Result<Group> {
    let mut group = Group::new("loops_parts_of_parts");
    let (x, y) = (reals(&mut group, &[7], 91)?, reals(&mut group, &[7], 92)?);
    let grid = reals(&mut group, &[5, 4], 93)?;
    let rows = fori(4, &grid, |i, grid| {
        grid.set_index(idx![&i + 1i64], grid.index(idx![&i]) * 0.5 + y.index(idx![..4]))
    });
    let mut row = grid.index(idx![0]);
    let mut all = vec![row.clone()];
    for _ in 0..4 {
        row = row * 0.5 + y.index(idx![..4]);
        all.push(row.clone());
    }
    group.unrolled("rows_from_rows", rows, &stack(all, 0));
    let shifted = fori(3, &x, |_, x| x.set_index(idx![1..], x.index(idx![..-1]) * 2.0));
    let first = x.index(idx![..1]);
    let tail = concatenate([&first * 2.0, &first * 4.0, &first * 8.0, x.index(idx![1..4]) * 8.0], 0);
    group.unrolled("shifted", shifted, &concatenate([first, tail], 0));
    let turned = fori(1, &x, |_, x| x.inc_index(idx![2..], x.index(idx![..5]).flip(0)));
    group.unrolled(
        "turned",
        turned,
        &concatenate([x.index(idx![..2]), x.index(idx![2..]) + x.index(idx![..5]).flip(0)], 0),
    );
    Ok(group)
}
