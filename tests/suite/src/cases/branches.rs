//! Branches.

use crate::stage::{Scenario, Stage, ensure, equal, fails, near, relative, twice};
use workalike::Result;
use workalike::loops::{Scan, fori, if_else, switch};
use workalike::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    let case = |name, run| Scenario { family: "branches", name, host_only: false, run };
    vec![
        case("one_of_several", one_of_several),
        case("one_branch_is_computed", one_branch_is_computed),
        case("gradients", gradients),
        case("jacobians", jacobians),
        case("draws", draws),
        case("draws_in_loops", draws_in_loops),
    ]
}

fn one_of_several(stage: &Stage) -> Result<()> {
    let (x, c, i) = (vector::<f32>("x"), scalar::<bool>("c"), scalar::<i64>("i"));
    let two = if_else(&c, || [x.exp(), &x + 1.0], || [&x * 2.0, x.clone()]);
    let arms: Vec<Box<dyn FnOnce() -> Variable>> = vec![
        Box::new({
            let x = x.clone();
            move || x.sum(..)
        }),
        Box::new({
            let x = x.clone();
            move || x.max(..)
        }),
        Box::new({
            let x = x.clone();
            move || x.sort(0).index(idx![0])
        }),
    ];
    let one = switch(&i, arms);
    let f = function([&x, &c, &i]).output(&two[0]).output(&two[1]).output(&one).compile()?;
    let values = vec![1f32, -2.0, 0.5];
    let exp: Vec<f32> = values.iter().map(|x| x.exp()).collect();
    for (c, i, first, second, third) in [
        (true, 0i64, exp.clone(), vec![2f32, -1.0, 1.5], -0.5f32),
        (false, 1, vec![2.0, -4.0, 1.0], values.clone(), 1.0),
        (true, 2, exp, vec![2.0, -1.0, 1.5], -2.0),
        (false, 7, vec![2.0, -4.0, 1.0], values.clone(), -2.0),
        (false, -7, vec![2.0, -4.0, 1.0], values.clone(), -0.5),
    ] {
        let got = twice(stage, &f, args![&values, c, i])?;
        let first = Value::from(first);
        near("the first", &got[0], &first, &relative(&first, 1e-6))?;
        equal("the second", &got[1], second)?;
        equal("the third", &got[2], third)?;
    }
    Ok(())
}

/// A branch that is not taken is not computed: its assertion would fail.
fn one_branch_is_computed(stage: &Stage) -> Result<()> {
    let x = vector::<f64>("x");
    let safe = |x: &Variable| x.assert(x.greater(0.0), "a root of a negative number").sqrt();
    let y = if_else(x.min(..).greater(0.0), || safe(&x), || zeros_like(&x));
    let z = if_else(x.min(..).greater(5.0), || zeros_like(&x), || safe(&x));
    let f = function([&x]).output(&y).compile()?;
    let g = function([&x]).output(&z).compile()?;
    equal("no root", &twice(stage, &f, args![vec![-4.0, 9.0]])?[0], vec![0.0, 0.0])?;
    equal("roots", &twice(stage, &f, args![vec![4.0, 9.0]])?[0], vec![2.0, 3.0])?;
    let mut simulator = stage.simulator(&g)?;
    fails("the branch is taken", simulator.call(args![vec![-4.0, 9.0]]), &["a root of a negative number"])?;
    equal("a good call", &simulator.call(args![vec![4.0, 9.0]])?[0], vec![2.0, 3.0])
}

fn gradients(stage: &Stage) -> Result<()> {
    let (x, y, c) = (vector::<f64>("x"), vector::<f64>("y"), scalar::<bool>("c"));
    let z = if_else(&c, || (&x * &x * &y).sum(..), || x.sin().sum(..));
    let slopes = grad(&z, [&x, &y])?;
    let second = grad(slopes[0].sqr().sum(..), [&x])?;
    let f = function([&x, &y, &c]).outputs(&slopes).output(&second[0]).compile()?;
    let (a, b) = (vec![0.5, 2.0], vec![3.0, -1.0]);
    let got = twice(stage, &f, args![&a, &b, true])?;
    equal("by x", &got[0], vec![3.0, -4.0])?;
    equal("by y", &got[1], vec![0.25, 4.0])?;
    let want = Value::from(vec![2.0 * 3.0 * 6.0, 2.0 * -4.0 * -2.0]);
    near("again", &got[2], &want, &relative(&want, 1e-12))?;
    let got = twice(stage, &f, args![&a, &b, false])?;
    let want = Value::from(a.iter().map(|x: &f64| x.cos()).collect::<Vec<_>>());
    near("by x", &got[0], &want, &relative(&want, 1e-12))?;
    equal("by y", &got[1], vec![0.0, 0.0])
}

/// All rows of a jacobian at once, through a branch alone, and through one in a loop.
fn jacobians(stage: &Stage) -> Result<()> {
    let (x, y, c) = (vector::<f64>("x"), vector::<f64>("y"), scalar::<bool>("c"));
    let taken = if_else(&c, || [&x * &x * &y, y.clone()], || [x.sin(), constant(vec![1.0f64, 1.0])]);
    let looped = fori(3i64, &x, |_, h| if_else(h.sum(..).greater(1.0), || &h * &y, || &h + 0.5));
    let roots = [&taken[0] + &taken[1], looped];
    let mut f = function([&x, &y, &c]);
    for root in &roots {
        f = f.outputs(&jacobian(root, [&x, &y])?);
    }
    let f = f.compile()?;
    let (a, b) = (vec![0.5f64, 2.0], vec![0.5f64, 0.25]);
    let diagonal = |d: [f64; 2]| Value::from_vec(&[2, 2], vec![d[0], 0.0, 0.0, d[1]]);
    let got = twice(stage, &f, args![&a, &b, true])?;
    equal("by x", &got[0], diagonal([0.5, 1.0])?)?;
    equal("by y", &got[1], diagonal([1.25, 5.0])?)?;
    // The sums are 2.5, 0.75 and 1.75: (x y + 0.5) y.
    equal("by x in a loop", &got[2], diagonal([0.25, 0.0625])?)?;
    equal("by y in a loop", &got[3], diagonal([1.0, 1.5])?)?;
    let got = twice(stage, &f, args![&a, &b, false])?;
    near("by x", &got[0], &diagonal([a[0].cos(), a[1].cos()])?, &relative(&got[0], 1e-12))?;
    equal("by y", &got[1], diagonal([0.0, 0.0])?)
}

/// Draws in a loop in a branch go on from one call that takes it to the next; others leave them as they are.
/// A draw in a branch itself moves on with each call, and with each iteration.
fn draws(stage: &Stage) -> Result<()> {
    let (streams, c) = (RandomStreams::new(3), scalar::<bool>("c"));
    let sum = |streams: &RandomStreams| fori(3i64, constant(0f64), |_, sum| sum + streams.uniform::<f64>(()));
    let sums = if_else(&c, || sum(&streams), || constant(0f64));
    let twice = fori(2i64, constant(0f64), |_, all| {
        all + if_else(&c, || RandomStreams::new(3).uniform::<f64>(()), || constant(1f64))
    });
    let f = function([&c]).output(&sums).output(twice).compile()?;
    let plain = RandomStreams::new(3);
    let one = function(()).output(plain.uniform::<f64>(())).compile()?;
    let draws: Vec<f64> = (0..8).map(|_| one.call(args![])?[0].item::<f64>()).collect::<Result<_>>()?;
    let mut simulator = stage.simulator(&f)?;
    for (call, taken) in [true, false, false, true].into_iter().enumerate() {
        let got = simulator.call(args![taken])?;
        let at = if call == 0 { 0 } else { 3 };
        let want = if taken { draws[at..at + 3].iter().sum() } else { 0.0 };
        let want = Value::from(want);
        near("three draws", &got[0], &want, &relative(&want, 1e-12))?;
        let at = 2 * call;
        let want = Value::from(if taken { draws[at..at + 2].iter().sum() } else { 2.0 });
        near("two draws", &got[1], &want, &relative(&want, 1e-12))?;
    }
    Ok(())
}

/// Loops that are made of the body of another, with a loop of draws in a branch in it: the one that finds a
/// number of iterations, and that of a gradient.
fn draws_in_loops(stage: &Stage) -> Result<()> {
    let (streams, x) = (RandomStreams::new(7), scalar::<f64>("x"));
    let step = |streams: &RandomStreams, h: &Variable| {
        let drawn = || fori(2i64, constant(0f64), |_, sum| sum + streams.uniform::<f64>(()));
        h + if_else(h.less(2.0), drawn, || constant(0.5f64))
    };
    let until = Scan::new().steps(20).recurrent(&x).run_until(|v| {
        let next = step(&streams, &v[0]);
        (vec![next.clone()], next.greater(3.0))
    });
    let f = function([&x]).output(until.history(0)).output(until.iterations()).compile()?;
    let plain = RandomStreams::new(7);
    let one = function(()).output(plain.uniform::<f64>(())).compile()?;
    let mut simulator = stage.simulator(&f)?;
    for _ in 0..3 {
        let mut states = vec![0.25];
        while states[states.len() - 1] <= 3.0 {
            let last = states[states.len() - 1];
            let draw = || one.call(args![])?[0].item::<f64>();
            states.push(last + if last < 2.0 { draw()? + draw()? } else { 0.5 });
        }
        let got = simulator.call(args![0.25])?;
        equal("the iterations", &got[1], states.len() as i64 - 1)?;
        let want = Value::from(states.split_off(1));
        near("the states", &got[0], &want, &relative(&want, 1e-12))?;
    }
    slope_of_draws(stage)?;
    let counter = shared("counter", 1.0).with_default_update(|n| n + 1.0);
    let both = if_else(x.greater(0.0), || &x * &*counter, || x.clone())
        + if_else(x.greater(1.0), || &x + &*counter, || x.clone());
    let mut simulator = stage.simulator(&function([&x]).output(both).compile()?)?;
    equal("the first call", &simulator.call(args![2.0])?[0], 2.0 + 3.0)?;
    equal("the second call", &simulator.call(args![2.0])?[0], 4.0 + 4.0)
}

/// The gradient of a loop with a loop of draws in a branch: it meets the same draws again.
fn slope_of_draws(stage: &Stage) -> Result<()> {
    let (streams, x) = (RandomStreams::new(8), scalar::<f64>("x"));
    let last = fori(4i64, &x, |_, h| {
        let drawn = || fori(2i64, constant(0f64), |_, sum| sum + streams.uniform::<f64>(()));
        ((&h + if_else(h.less(0.75), drawn, || constant(0.5f64))) * &h).sin()
    });
    let g = function([&x]).output(&last).outputs(&grad(&last, [&x])?).compile()?;
    let one = function(()).output(RandomStreams::new(8).uniform::<f64>(())).compile()?;
    let mut simulator = stage.simulator(&g)?;
    for _ in 0..3 {
        let (mut h, mut slope, mut taken) = (0.5f64, 1.0, 0);
        for _ in 0..4 {
            let draw = || one.call(args![])?[0].item::<f64>();
            let more = if h < 0.75 { draw()? + draw()? } else { 0.5 };
            taken += i32::from(h < 0.75);
            let inner = (h + more) * h;
            (h, slope) = (inner.sin(), slope * inner.cos() * (2.0 * h + more));
        }
        ensure((1..4).contains(&taken), || format!("{taken} of 4 branches draw"))?;
        let got = simulator.call(args![0.5])?;
        for (what, got, want) in [("the value", &got[0], h), ("the slope", &got[1], slope)] {
            let want = Value::from(want);
            near(what, got, &want, &relative(&want, 1e-10))?;
        }
    }
    Ok(())
}
