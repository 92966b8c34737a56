//! Loops that end when a condition holds, beside the iterations that they make, written out.

use super::{at, reals, unrolled};
use crate::group::Group;
use workalike::Result;
use workalike::loops::Scan;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![conditions(), parts(), gradients()]
}

/// A scalar that is given, so that nothing about the number of iterations is constant.
fn given(group: &mut Group, value: f64) -> Variable {
    group.input(Value::from(value))
}

fn doubled(x: &Variable) -> Variable {
    x * 2.0
}

/// The condition holds after some iterations, after the first, after the last, never.
fn conditions() -> Result<Group> {
    let mut group = Group::new("loops_until");
    let x = reals(&mut group, &[3], 101)?.abs() + 1.0;
    for (limit, iterations) in [(7.0, 3usize), (-1.0, 1), (255.0, 8), (1e9, 8)] {
        let limit = given(&mut group, limit);
        let powers = Scan::new().steps(8).recurrent(&x).recurrent(constant(1f64)).run_until(|v| {
            let power = &v[1] * 2.0;
            (vec![doubled(&v[0]), power.clone()], power.greater(&limit))
        });
        let written = stack(unrolled(iterations, &x, |_, x| doubled(x)), 0);
        group.unrolled(&format!("history_{iterations}_{limit:?}"), powers.history(0), &written);
        group.unrolled(
            &format!("last_{iterations}_{limit:?}"),
            powers.last_of(0),
            &at(&written, iterations - 1),
        );
        let counted = constant(iterations as i64);
        group.unrolled(&format!("iterations_{iterations}_{limit:?}"), powers.iterations(), &counted);
    }
    let none = given(&mut group, 0.0);
    let steps = none.cast(DType::I64);
    let nothing = Scan::new()
        .steps(&steps)
        .recurrent(&x)
        .run_until(|v| (vec![doubled(&v[0])], v[0].sum(..).greater(0.0)));
    group.unrolled("no_iteration", nothing.last_of(0), &x);
    let undecided = Scan::new().steps(5).recurrent(&x).run_until(|v| {
        let stops = (v[0].sum(..) * f64::NAN).greater(0.0);
        (vec![doubled(&v[0])], stops)
    });
    group.unrolled("a_nan_goes_on", undecided.last_of(0), &(&x * 32.0));
    Ok(group)
}

/// Slices of sequences, several taps, results that are not carried, reversed, in blocks.
fn parts() -> Result<Group> {
    let mut group = Group::new("loops_until_parts");
    let xs = group.input(Value::from_vec(&[7, 2], (0..14).map(f64::from).collect::<Vec<_>>())?);
    let w = reals(&mut group, &[2], 102)?;
    let first = |scan: Scan| {
        scan.run_until(|v| (vec![(&v[0] * &w).sum(..), v[0].clone()], v[0].sum(..).greater(12.0)))
    };
    let four = xs.index(idx![0..4]);
    let forward = first(Scan::new().sequence(&xs));
    group.unrolled("dots", forward.result(0), &four.dot(&w));
    group.unrolled("slices", forward.result(1), &four);
    let backward = first(Scan::new().sequence(&xs).reversed());
    group.unrolled("reversed", backward.result(1), &xs.index(idx![6..]));
    let before = given(&mut group, 0.5);
    let start = stack([before.clone(), &before * 2.0], 0);
    let sums = Scan::new().steps(20).recurrent_taps(&start, [-2, -1]).run_until(|v| {
        let next = &v[0] + &v[1];
        (vec![next.clone(), next.sqr()], next.greater(10.0))
    });
    let all: Vec<Variable> = [1.5, 2.5, 4.0, 6.5, 10.5].iter().map(|n| &before * (n * 2.0)).collect();
    let written = stack(&all, 0);
    group.unrolled("fibonacci", sums.history(0), &written);
    group.unrolled("fibonacci_squares", sums.result(0), &written.sqr());
    let limit = given(&mut group, 100.0);
    let blocks = Scan::new().steps(12).checkpoint(3).recurrent(&before).run_until(|v| {
        let next = doubled(&v[0]);
        (vec![next.clone()], next.greater(&limit))
    });
    group.unrolled("blocks", blocks.history(0), &stack(unrolled(8, &before, |_, x| doubled(x)), 0));
    Ok(group)
}

/// Gradients through the iterations that were made.
fn gradients() -> Result<Group> {
    let mut group = Group::new("loops_until_gradients");
    let (x, a) = (reals(&mut group, &[4], 103)?, given(&mut group, 1.5));
    let grown = Scan::new().steps(30).recurrent(&x).run_until(|v| {
        let next = &v[0] * &a + v[0].sin();
        (vec![next.clone()], next.abs().max(..).greater(20.0))
    });
    let reached = grown.iterations();
    let written = Scan::new().steps(&reached).recurrent(&x).run(|v| vec![&v[0] * &a + v[0].sin()]);
    let cost = |history: &Variable| history.sqr().sum(..);
    let by = |history: &Variable| grad(cost(history), [&x, &a]);
    let (slopes, expected) = (by(&grown.history(0))?, by(&written.history(0))?);
    for ((name, slope), expected) in ["x", "a"].iter().zip(slopes).zip(&expected) {
        group.unrolled(&format!("by_{name}"), slope, expected);
    }
    let squares = Scan::new().steps(9).recurrent(&a).run_until(|v| {
        let next = v[0].sqr();
        (vec![next.clone()], next.greater(5.0))
    });
    let slope = grad(squares.last_of(0), [&a])?.remove(0);
    group.unrolled("of_a_power", slope, &(a.pow(3.0) * 4.0));
    Ok(group)
}
