//! Loops with a condition.

use crate::data::normal;
use crate::stage::{Scenario, Stage, ensure, equal, fails, near, relative, twice};
use workalike::Result;
use workalike::loops::{Scan, While, fori, if_else, reduce, scan, while_loop};
use workalike::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    let case = |name, run| Scenario { family: "conditions", name, host_only: false, run };
    vec![
        case("newton", newton),
        case("collatz", collatz),
        case("states_of_any_size", states_of_any_size),
        case("nested", nested),
        case("nested_in_a_loop", nested_in_a_loop),
        case("endless", endless),
        case("an_error_within", an_error_within),
        case("the_iteration_of_an_error", the_iteration_of_an_error),
        case("nothing_is_wrong_behind_the_end", nothing_is_wrong_behind_the_end),
        case("a_number_that_the_device_finds", a_number_that_the_device_finds),
        case("in_loops", in_loops),
        case("draws", draws),
        case("swapped", swapped),
        case("checkpoints_with_draws", checkpoints_with_draws),
        case("step_by_step", step_by_step),
        case("profiled", profiled),
    ]
}

fn newton(stage: &Stage) -> Result<()> {
    let a = vector::<f32>("a");
    let error = |x: &Variable| (x * x / &a - 1.0).abs().max(..);
    let root = while_loop(&a, |x| error(x).greater(1e-6), |x| (&x + &a / &x) * 0.5);
    let f = function([&a]).output(&root).compile()?;
    let results = twice(stage, &f, args![vec![2f32, 9.0, 0.25, 1e4]])?;
    let want = Value::from(vec![2f32.sqrt(), 3.0, 0.5, 100.0]);
    near("roots", &results[0], &want, &relative(&want, 1e-5))
}

/// The number of iterations is that of the reference; none at all, and very many.
fn collatz(stage: &Stage) -> Result<()> {
    let n = scalar::<i64>("n");
    let (last, steps) = While::new().run(
        &n,
        |n| n.greater(1i64),
        |n| where_((&n % 2i64).equal(0i64), &n / 2i64, &n * 3i64 + 1i64).cast(DType::I64),
    );
    let f = function([&n]).output(&last).output(&steps).compile()?;
    for (start, count) in [(1i64, 0i64), (2, 1), (6, 8), (27, 111), (97, 118)] {
        let results = twice(stage, &f, args![start])?;
        equal("the last number", &results[0], 1i64)?;
        equal("the number of steps", &results[1], count)?;
    }
    Ok(())
}

/// Carried arrays, of which parts are written in place, beside constants.
fn states_of_any_size(stage: &Stage) -> Result<()> {
    let (x, w) = (vector::<f64>("x"), matrix::<f64>("w"));
    let (sums, i, y) = while_loop(
        (zeros_like(&x), constant(0i64), &x),
        |(_, i, _)| i.less(x.extent(0)),
        |(sums, i, y)| (sums.set_index(idx![&i], y.sum(..)), &i + 1i64, w.dot(&y).tanh()),
    );
    let f = function([&x, &w]).output(&sums).output(&i).output(&y).compile()?;
    for size in [1usize, 3, 40] {
        let (start, weights) = (normal(size, 3), normal(size * size, 4));
        // Not chaotic.
        let weights = weights.iter().map(|w| w / size as f64).collect();
        let weights = Value::from_vec(&[size, size], weights)?;
        let arguments = args![&start, &weights];
        let got = twice(stage, &f, arguments.clone())?;
        let want = f.call_reference(arguments)?.into_values();
        for (got, want) in got.iter().zip(&want) {
            near("a state", got, want, &relative(want, 1e-9))?;
        }
        equal("the counter", &got[1], size as i64)?;
    }
    Ok(())
}

fn nested(stage: &Stage) -> Result<()> {
    let (n, x) = (scalar::<i64>("n"), vector::<f64>("x"));
    let outer = while_loop(
        (constant(0i64), &x),
        |(i, _)| i.less(&n),
        |(i, x)| {
            let inner = while_loop(&x, |x| x.max(..).less(i.cast(DType::F64) + 1.0), |x| x * 2.0);
            (&i + 1i64, fori(2, inner, |_, x| x + 0.25))
        },
    );
    let f = function([&n, &x]).output(&outer.1).compile()?;
    let arguments = args![5i64, vec![0.1, 0.2, 0.3]];
    let got = twice(stage, &f, arguments.clone())?;
    equal("the result", &got[0], f.call_reference(arguments)?[0].clone())
}

/// What decides is not in the body itself, but in a loop in it. Behind the last iteration it would not end.
fn nested_in_a_loop(stage: &Stage) -> Result<()> {
    let n = scalar::<i64>("n");
    let collatz = |m: &Variable| where_(m.remainder(2i64).equal(0i64), m.floor_divide(2i64), m * 3i64 + 1i64);
    let (left, ones) = while_loop(
        (&n, constant(0i64)),
        |(n, _)| n.greater(0i64),
        |(n, ones)| {
            let one = fori(3i64, &n, |_, m| while_loop(m, |m| m.not_equal(1i64), |m| collatz(&m)));
            (n - 1i64, ones + one)
        },
    );
    let f = function([&n]).output(left).output(ones).compile()?;
    let got = twice(stage, &f, args![3i64])?;
    equal("what is left", &got[0], 0i64)?;
    equal("ones", &got[1], 3i64)
}

fn endless(stage: &Stage) -> Result<()> {
    let (x, count) = (scalar::<f64>("x"), shared("count", 0i64));
    let (last, steps) = While::new().at_most(25).run(&x, |x| x.less(1.0), |x| x * 2.0);
    let f = function([&x]).output(&last).update(&count, &count + &steps).compile()?;
    let mut simulator = stage.simulator(&f)?;
    fails(
        "a loop without end",
        simulator.call(args![0.0]),
        &["after 25 iterations the condition still holds", "at_most"],
    )?;
    fails("a NaN ends it", simulator.call(args![-1.0]), &["after 25 iterations"])?;
    equal("the state", &simulator.get(&count)?, 0i64)?;
    equal("NaN ends it", &Value::from(simulator.call(args![f64::NAN])?[0].item::<f64>()?.is_nan()), true)?;
    equal("a good call", &simulator.call(args![0.125])?[0], 1.0)?;
    equal("the state", &simulator.get(&count)?, 3i64)
}

fn an_error_within(stage: &Stage) -> Result<()> {
    let (table, at, total) = (vector::<i64>("table"), scalar::<i64>("at"), shared("total", 0i64));
    let last = while_loop(&at, |at| at.not_equal(0i64), |at| table.index(idx![at]));
    let f = function([&table, &at]).output(&last).update(&total, &total + 1i64).compile()?;
    let mut simulator = stage.simulator(&f)?;
    let message = ["out of range", "in iteration 2 of its loop", "conditions.rs"];
    let words = if stage.is_loaded() { &message[..2] } else { &message[..] };
    fails("a pointer out of range", simulator.call(args![vec![0i64, 2, 9, 1], 1i64]), words)?;
    equal("the state", &simulator.get(&total)?, 0i64)?;
    equal("a good call", &simulator.call(args![vec![0i64, 3, 0, 2], 1i64])?[0], 0i64)?;
    equal("the state", &simulator.get(&total)?, 1i64)
}

/// In loops within one another, in blocks of many iterations, and in `run_n`.
fn the_iteration_of_an_error(stage: &Stage) -> Result<()> {
    let (xs, limit, total) = (matrix::<f64>("xs"), scalar::<f64>("limit"), shared("total", 0f64));
    let sum = reduce(&xs, &total, |row, sum| {
        reduce(row, sum, |x, sum| sum + x.assert(x.less(&limit), "x is too large"))
    });
    let f = function([&xs, &limit]).output(&sum).update(&total, &sum).compile()?;
    let mut simulator = stage.simulator(&f)?;
    let values = Value::from_vec(&[3, 4], (0..12).map(f64::from).collect())?;
    let words = ["x is too large", "in iterations 1, 2 of the loops around it"];
    fails("an inner iteration", simulator.call(args![&values, 5.5]), &words)?;
    fails("another", simulator.call(args![&values, 10.5]), &["in iterations 2, 3 of the loops around it"])?;
    equal("the state", &simulator.get(&total)?, 0.0)?;
    equal("a good call", &simulator.call(args![&values, 100.0])?[0], 66.0)?;
    let counter = shared("counter", 0i64);
    let many =
        fori(5_000, constant(0i64), |i, n| n + i.assert((&i + &counter * 100i64).less(4_321i64), "too many"));
    let g = function(()).output(&many).update(&counter, &counter + 1i64).compile()?;
    let mut simulator = stage.simulator(&g)?;
    fails("a late iteration", simulator.call(args![]), &["too many", "in iteration 4321 of its loop"])?;
    let short =
        fori(50, constant(0i64), |i, n| n + i.assert((&i + &counter * 10i64).less(75i64), "too many"));
    let h = function(()).output(&short).update(&counter, &counter + 1i64).compile()?;
    let mut simulator = stage.simulator(&h)?;
    let words = ["too many", "in iteration 45 of its loop", "in iteration 3 of 9"];
    fails("iterations of a call", simulator.run_n(9, args![]), &words)?;
    equal("the state", &simulator.get(&counter)?, 3i64)
}

/// A device may compute iterations behind the last, which find an index out of range here: the end of a table
/// is known by a number in it.
fn nothing_is_wrong_behind_the_end(stage: &Stage) -> Result<()> {
    let table = vector::<f64>("table");
    let value = |i: &Variable| table.index(idx![i]);
    let state = (constant(0i64), constant(0f64));
    let (end, sum) =
        while_loop(state, |(i, _)| value(i).not_equal(0.0), |(i, sum)| (&i + 1i64, sum + value(&i)));
    let f = function([&table]).output(&end).output(&sum).compile()?;
    for length in [1usize, 2, 8, 9, 30] {
        let mut numbers: Vec<f64> = (1..length).map(|at| at as f64).collect();
        numbers.push(0.0);
        let mut simulator = stage.simulator(&f)?;
        let endless = vec![1.5f64; length];
        let place = format!("in iteration {} of its loop", length - 1);
        fails("a table without an end", simulator.call(args![&endless]), &["out of range", &place])?;
        let got = simulator.call(args![&numbers])?;
        equal("where it ends", &got[0], length as i64 - 1)?;
        equal("the sum", &got[1], numbers.iter().sum::<f64>())?;
    }
    Ok(())
}

/// The number of iterations depends on values of the device: of a state that moves on, and of an input.
fn a_number_that_the_device_finds(stage: &Stage) -> Result<()> {
    let (x, table) = (shared("x", vec![1.0, 2.0]), vector::<f64>("table"));
    let grown = Scan::new().steps(40).recurrent(&x).recurrent(constant(0i64)).run_until(|v| {
        let next = &v[0] + table.index(idx![&v[1]]);
        (vec![next.clone(), &v[1] + 1i64], next.sum(..).greater(20.0))
    });
    let f = function([&table])
        .output(grown.history(0).sum(over(1)))
        .output(grown.iterations())
        .update(&x, &x + 1.0)
        .compile()?;
    let expected = |x: &mut f64, table: &[f64]| {
        let mut sums = vec![2.0 * *x + 1.0 + 2.0 * table[0]];
        while sums[sums.len() - 1] <= 20.0 {
            sums.push(sums[sums.len() - 1] + 2.0 * table[sums.len()]);
        }
        *x += 1.0;
        sums
    };
    let (mut simulator, mut first) = (stage.simulator(&f)?, 1.0);
    for table in [vec![1.0; 30], vec![4.0; 30], vec![0.5, 1.5, 2.5, 3.5, 4.5, 5.5], vec![1.0; 30]] {
        let want = expected(&mut first, &table);
        let got = simulator.call(args![&table])?;
        equal("the iterations", &got[1], want.len() as i64)?;
        equal("the sums", &got[0], want)?;
    }
    let words = ["an index is out of range", "in iteration 2 of its loop"];
    fails("a table that is too short", simulator.call(args![vec![1.0, 1.0]]), &words)?;
    equal("the state", &simulator.get(&x)?, vec![first, first + 1.0])?;
    let table = vec![0.25; 30];
    let counts: Vec<i64> = (0..3).map(|_| expected(&mut first, &table).len() as i64).collect();
    let got = simulator.run_n(3, args![&table])?;
    equal("the last of three", &got[1], counts[2])?;
    equal("the state", &simulator.get(&x)?, vec![first, first + 1.0])
}

/// Conditions in scans, and scans in branches.
fn in_loops(stage: &Stage) -> Result<()> {
    let (xs, h) = (matrix::<f64>("xs"), vector::<f64>("h"));
    let states = scan(&xs, &h, |x, h| {
        let small = while_loop(&x, |x| x.abs().max(..).greater(1.0), |x| x * 0.5);
        if_else(h.sum(..).greater(0.0), || &h * 0.5 - &small, || fori(2, &h, |_, h| h + 0.125) + &small)
    });
    let lazy =
        if_else(h.sum(..).greater(100.0), || scan(&xs, &h, |x, h| x + h).index(idx![-1]), || h.clone());
    let f = function([&xs, &h]).output(&states).output(&lazy).compile()?;
    for rows in [1usize, 7] {
        let xs = Value::from_vec(&[rows, 3], normal(rows * 3, 5).iter().map(|x| x * 4.0).collect())?;
        for start in [vec![0.5, -0.25, 1.0], vec![200.0, 0.0, 0.0]] {
            let arguments = args![&xs, start];
            let got = twice(stage, &f, arguments.clone())?;
            let want = f.call_reference(arguments)?.into_values();
            for (got, want) in got.iter().zip(&want) {
                near("a state", got, want, &relative(want, 1e-12))?;
            }
        }
    }
    let cost = states.sqr().sum(..);
    fails(
        "a gradient through a condition",
        grad(&cost, [&xs]),
        &["no gradient through a loop with a condition"],
    )?;
    let by_h = Scan::new().sequence(&xs).recurrent(&h).run(|v| {
        vec![if_else(v[1].sum(..).greater(0.0), || (&v[1] * 0.5 - &v[0]).sin(), || &v[1] + &v[0] * &v[0])]
    });
    let slopes = grad(by_h.history(0).sqr().sum(..), [&xs, &h])?;
    let g = function([&xs, &h]).outputs(&slopes).compile()?;
    for rows in [6usize, 7] {
        let arguments = args![Value::from_vec(&[rows, 3], normal(rows * 3, 6))?, vec![0.5, -0.25, 0.75]];
        let got = twice(stage, &g, arguments.clone())?;
        for (got, want) in got.iter().zip(g.call_reference(arguments)?.into_values()) {
            near("a gradient", got, &want, &relative(&want, 1e-10))?;
        }
    }
    Ok(())
}

/// Random draws in a loop with a condition go on from call to call.
fn draws(stage: &Stage) -> Result<()> {
    let (streams, limit) = (RandomStreams::new(3), scalar::<f64>("limit"));
    let (total, steps) =
        While::new().run(&limit * 0.0, |t| t.less(&limit), |t| t + streams.uniform::<f64>(()));
    let f = function([&limit]).output(&total).output(&steps).compile()?;
    let plain = RandomStreams::new(3);
    let one = function(()).output(plain.uniform::<f64>(())).compile()?;
    let mut simulator = stage.simulator(&f)?;
    for limit in [2.0, 3.0] {
        let (mut sum, mut count) = (0.0, 0i64);
        while sum < limit {
            sum += one.call(args![])?[0].item::<f64>()?;
            count += 1;
        }
        let got = simulator.call(args![limit])?;
        equal("the number of draws", &got[1], count)?;
        let want = Value::from(sum);
        near("their sum", &got[0], &want, &relative(&want, 1e-12))?;
    }
    Ok(())
}

/// Carried values that change places, and one that stays.
fn swapped(stage: &Stage) -> Result<()> {
    let (a, b) = (vector::<f64>("a"), vector::<f64>("b"));
    let state = (&a, &b, constant(0i64), constant(2.5f64));
    let (x, y, _, z) = while_loop(state, |s| s.2.less(3i64), |(a, b, i, z)| (b, a + &z, i + 1i64, z));
    let f = function([&a, &b]).output(&x).output(&y).output(&z).compile()?;
    let got = twice(stage, &f, args![vec![1.0, 2.0], vec![10.0, 20.0]])?;
    equal("the first", &got[0], vec![12.5, 22.5])?;
    equal("the second", &got[1], vec![6.0, 7.0])?;
    equal("the third", &got[2], 2.5)
}

/// Blocks of iterations draw what the iterations draw without them, and the next call goes on.
fn checkpoints_with_draws(stage: &Stage) -> Result<()> {
    let sums = |block: Option<usize>| -> Result<Function> {
        let (streams, x) = (RandomStreams::new(9), scalar::<f64>("x"));
        let loops = Scan::new().steps(7).recurrent(&x);
        let loops = block.map_or(loops.clone(), |block| loops.checkpoint(block));
        let history = loops.run(|v| vec![&v[0] + streams.uniform::<f64>(())]).history(0);
        function([&x]).output(history).compile()
    };
    let (mut plain, mut blocks) = (stage.simulator(&sums(None)?)?, stage.simulator(&sums(Some(3))?)?);
    for _ in 0..3 {
        let want = plain.call(args![0.5])?;
        near("sums of draws", &blocks.call(args![0.5])?[0], &want[0], &relative(&want[0], 1e-12))?;
    }
    Ok(())
}

/// Loops and branches where each step is waited for, and where values are guarded.
fn step_by_step(stage: &Stage) -> Result<()> {
    let (xs, h) = (matrix::<f32>("xs"), vector::<f32>("h"));
    let states = scan(&xs, &h, |x, h| (x + h * 0.5).sqrt());
    let last = Scan::new().steps(6_000).recurrent(&h).run(|v| vec![&v[0] * 0.999 + 0.001]).history(0);
    let halved = while_loop(&h, |x| x.max(..).greater(1.0), |x| x * 0.5);
    let chosen = if_else(h.sum(..).greater(0.0), || h.exp(), || h.sin());
    let outputs = [&states, &last.index(idx![4_000..]).sum(over(0)), &halved, &chosen];
    let f = function([&xs, &h]).outputs(outputs).compile()?;
    let xs = |x: f32| {
        Value::from_vec(&[5, 3], vec![1f32, 2.0, 3.0].into_iter().cycle().take(14).chain([x]).collect())
    };
    let start = vec![4f32, 2.0, 1.0];
    let want = f.call_reference(args![xs(3.0)?, &start])?.into_values();
    let device = stage.open()?;
    for options in [
        Options { launch_blocking: true, ..Options::default() },
        Options { nan_guard: true, ..Options::default() },
    ] {
        let mut simulator = f.optimize(device.clone().with_options(options))?;
        for _ in 0..2 {
            let got = simulator.call(args![xs(3.0)?, &start])?.into_values();
            for (got, want) in got.iter().zip(&want) {
                near("a result", got, want, &relative(want, 1e-4))?;
            }
        }
        if options.nan_guard {
            fails(
                "a root of a negative number",
                simulator.call(args![xs(-9.0)?, &start]),
                &["a NaN", "scan"],
            )?;
        }
        equal("a good call", &simulator.call(args![xs(3.0)?, &start])?[2], vec![1f32, 0.5, 0.25])?;
    }
    Ok(())
}

/// The profile and the plan name loops and branches, and the sizes of a call may change.
fn profiled(stage: &Stage) -> Result<()> {
    let (xs, h) = (matrix::<f64>("xs"), vector::<f64>("h"));
    let states = scan(&xs, &h, |x, h| (x + h * 0.5).sin());
    let halved = while_loop(&h, |x| x.max(..).greater(1.0), |x| x * 0.5);
    let chosen = if_else(h.sum(..).greater(0.0), || h.exp(), || h.sin());
    let f = function([&xs, &h]).output(states.sum(over(0))).output(&halved).output(&chosen).compile()?;
    let mut simulator = stage.simulator(&f)?;
    for (rows, columns) in [(4usize, 3usize), (7, 3), (2, 5), (4, 3)] {
        let arguments = args![
            Value::from_vec(&[rows, columns], normal(rows * columns, 8))?,
            Value::from_vec(&[columns], normal(columns, 9).iter().map(|x| x.abs() * 9.0).collect())?
        ];
        let profile = simulator.profile(2, arguments.clone())?.to_string();
        let plan = simulator.plan(arguments.clone())?.to_string();
        for what in ["scan", "while_loop", "if_else"] {
            ensure(profile.contains(what), || format!("the profile lacks {what}: {profile}"))?;
            ensure(plan.contains(what), || format!("the plan lacks {what}: {plan}"))?;
        }
        let want = f.call_reference(arguments.clone())?.into_values();
        for (got, want) in simulator.call(arguments)?.into_values().iter().zip(&want) {
            near("a result", got, want, &relative(want, 1e-11))?;
        }
    }
    Ok(())
}
