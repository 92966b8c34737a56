//! Loops: what is refused and how, files, listings, random streams. Values are tested by the conformance
//! suite (`tests/suite/src/cases/loops.rs`).

use workalike::graph::{FunctionGraph, debugprint, dot, listing};
use workalike::loops::{Scan, fori, map, reduce, scan};
use workalike::prelude::*;
use workalike::{Error, Result};

fn text<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

/// The error of an expression.
fn refused(expression: &Variable) -> String {
    text(expression.checked().cloned())
}

fn says(message: &str, words: &[&str]) {
    for word in words {
        assert!(message.contains(word), "{message:?} does not say {word:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused_where_it_is_written() {
    let (xs, h) = (matrix::<f64>("xs"), vector::<f64>("h"));
    let line = line!() + 1;
    let dtype = scan(&xs, &h, |x, h| (x + h).cast(DType::F32));
    says(
        &refused(&dtype),
        &["the carried value h is float64(?,) before", "float32(?,) after", &format!("loops.rs:{line}")],
    );
    says(&refused(&scan(&xs, &h, |x, _| x.sum(..))), &["the carried value h", "float64() after"]);
    let fixed = tensor::<f64>("fixed", [Some(3)]);
    let longer = scan(&xs, &fixed, |_, h| h.broadcast_to([2, 3]).reshape([6]));
    says(&refused(&longer), &["float64(3,) before", "float64(6,) after"]);
    says(&refused(&fori(-3, &h, |_, h| h)), &["-3 iterations"]);
    says(&refused(&Scan::new().run(|_| vec![]).result(0)), &["no sequences, and no number of iterations"]);
    let tap = Scan::new().sequence(&xs).recurrent_taps(&xs, [1]).run(|v| vec![v[0].clone()]);
    says(&refused(&tap.history(0)), &["tap 1", "taps are negative"]);
    let few = Scan::new().sequence(&xs).recurrent(&h).run(|_| vec![]);
    says(&refused(&few.history(0)), &["the body returns 0 values"]);
    says(&refused(&scan(scalar::<f64>("s"), &h, |x, _| x)), &["has no axis"]);
    let shape =
        scan(vector::<i64>("lengths"), scalar::<f64>("s"), |n, s| arange(n).cast(DType::F64).sum(..) + s);
    says(
        &refused(&shape),
        &["a shape in the body depends on the value of lengths", "changes from iteration"],
    );
    let stops = Scan::new().sequence(&xs).run_until(|v| (vec![v[0].clone()], v[0].greater(0.0)));
    says(&refused(&stops.result(0)), &["the condition is a 0-d bool, got bool(?,)"]);
    let three = tensor::<f64>("three", [Some(3), Some(2)]);
    let four = tensor::<f64>("four", [Some(4), Some(2)]);
    let lengths = map((&three, &four), |(a, b)| [a + b]);
    says(&refused(&lengths[0]), &["sequences of 4 slices for 3"]);
    let good = function([&xs, &h]).output(scan(&xs, &h, |x, h| x + h)).compile().unwrap();
    let results = good.call(args![array![[1.0, 2.0], [3.0, 4.0]], vec![10.0, 20.0]]).unwrap();
    assert_eq!(results[0].to_vec::<f64>().unwrap(), [11.0, 22.0, 14.0, 26.0]);
}

#[test]
fn deep_nests_are_refused() {
    fn nest(depth: usize, x: &Variable) -> Variable {
        if depth == 0 { x * 0.5 } else { fori(1, x, |_, x| nest(depth - 1, &x)) }
    }
    let x = scalar::<f64>("x");
    let deepest = function([&x]).output(nest(7, &x)).compile().unwrap();
    assert_eq!(deepest.call(args![8.0]).unwrap()[0].item::<f64>().unwrap(), 4.0);
    let bundle = Bundle::new().with("f", &deepest).to_bytes().unwrap();
    let loaded = Bundle::from_bytes(&bundle).unwrap();
    assert_eq!(loaded["f"].call(args![8.0]).unwrap()[0].item::<f64>().unwrap(), 4.0);
    says(&refused(&nest(8, &x)), &["more than 7 loops are within one another"]);
}

#[test]
fn what_types_do_not_tell_is_refused_at_the_call() {
    let (xs, ys, h, n) = (matrix::<f64>("xs"), matrix::<f64>("ys"), vector::<f64>("h"), scalar::<i64>("n"));
    let both = reduce((&xs, &ys), &h, |(x, y), h| x * y + h);
    let f = function([&xs, &ys, &h]).output(&both).compile().unwrap();
    let (two, three) = (array![[1.0, 2.0], [3.0, 4.0]], array![[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]);
    let message = text(f.call(args![&two, &three, vec![0.0, 0.0]]));
    says(&message, &["sequence 1 has 3 slices for 2 iterations", "loops.rs"]);
    let message = text(f.call(args![&two, &two, vec![0.0]]));
    says(&message, &["the carried value h has shape (1,) before an iteration, and (2,) after"]);
    let good = f.call(args![&two, &two, vec![0.0, 0.0]]).unwrap();
    assert_eq!(good[0].to_vec::<f64>().unwrap(), [10.0, 20.0]);
    let g = function([&h, &n]).output(fori(&n, &h, |_, h| h * 2.0)).compile().unwrap();
    says(&text(g.call(args![vec![1.0], -2i64])), &["-2 iterations"]);
    assert_eq!(g.call(args![vec![1.0], 3i64]).unwrap()[0].to_vec::<f64>().unwrap(), [8.0]);
    assert_eq!(g.call(args![vec![1.0], 0i64]).unwrap()[0].to_vec::<f64>().unwrap(), [1.0]);
}

#[test]
fn an_error_in_an_iteration_names_the_line_and_changes_nothing() {
    let (xs, total) = (vector::<f64>("xs"), shared("total", 0f64));
    let line = line!() + 1;
    let sum = reduce(&xs, &total, |x, sum| sum + x.assert(x.less(10.0), "x is too large"));
    let f = function([&xs]).output(&sum).update(&total, &sum).compile().unwrap();
    let mut sim = f.optimize(Host::auto()).unwrap();
    let message = text(sim.call(args![vec![1.0, 2.0, 30.0]]));
    says(&message, &["x is too large", &format!("loops.rs:{line}"), "in iteration 2 of its loop"]);
    assert_eq!(sim.get(&total).unwrap().item::<f64>().unwrap(), 0.0);
    assert_eq!(sim.call(args![vec![1.0, 2.0, 3.0]]).unwrap()[0].item::<f64>().unwrap(), 6.0);
    assert_eq!(sim.get(&total).unwrap().item::<f64>().unwrap(), 6.0);
    let message = text(f.call_reference(args![vec![1.0, 20.0, 3.0]]));
    says(&message, &["x is too large", "in iteration 1 of a loop of 3", &format!("loops.rs:{line}")]);
    let (table, at, start) = (vector::<f64>("table"), vector::<i64>("at"), scalar::<f64>("start"));
    let sum = reduce(&at, &start, |at, sum| sum + table.index(idx![at]));
    let f = function([&table, &at, &start]).output(&sum).compile().unwrap();
    let mut sim = f.optimize(Host::auto()).unwrap();
    let mut call = |at: i64| sim.call(args![vec![1.0, 2.0], vec![0i64, at], 0.5]);
    says(&text(call(2)), &["out of range", "loops.rs", "in iteration 1 of its loop"]);
    assert_eq!(call(1).unwrap()[0].item::<f64>().unwrap(), 3.5);
}

#[test]
fn a_loop_is_saved_loaded_and_differentiated() {
    let (xs, h, w) = (matrix::<f64>("xs"), vector::<f64>("h"), matrix::<f64>("w"));
    let states = scan(&xs, &h, |x, h| (x + h.dot(&w)).tanh());
    let f = function([&xs, &h, &w]).name("rnn").output(&states).compile().unwrap();
    let bytes = Bundle::new().with("rnn", &f).to_bytes().unwrap();
    let loaded = Bundle::from_bytes(&bytes).unwrap();
    let arguments = args![
        array![[0.5, -0.25], [0.125, 1.0], [0.75, -0.5]],
        vec![0.1, 0.2],
        array![[0.5, -1.0], [0.25, 0.75]]
    ];
    let gradient = |states: &Variable| {
        let slope = grad(states.sqr().sum(..), [&w, &h, &xs]).unwrap();
        let g = function([&xs, &h, &w]).outputs(&slope).compile().unwrap();
        let results = g.call(&arguments).unwrap();
        (0..3).map(|at| results[at].to_vec::<f64>().unwrap()).collect::<Vec<_>>()
    };
    let again = loaded["rnn"].apply([&xs, &h, &w]).unwrap();
    assert_eq!(gradient(&states), gradient(&again[0]));
    assert_eq!(f.call(&arguments).unwrap()[0], loaded["rnn"].call(&arguments).unwrap()[0]);
}

#[test]
fn bodies_are_listed() {
    let (xs, h) = (vector::<f64>("xs"), scalar::<f64>("h"));
    let f = function([&xs, &h]).output(scan(&xs, &h, |x, h| (x + h).sin())).compile().unwrap();
    says(&listing(f.graph()), &["scan(", "  input xs", " = sin("]);
    says(&debugprint(f.graph()), &["body of scan, node #", "  sin [id A] float64()\n", "|add [id"]);
    says(&dot(f.graph()), &["subgraph cluster_n", "label=\"body of scan\"", "label=\"sin\""]);
}

#[test]
fn draws_in_the_body_are_made_anew_and_go_on() -> Result<()> {
    let streams = RandomStreams::new(7);
    let before = streams.uniform::<f64>([2]);
    let draws = Scan::new().steps(3).run(|_| vec![streams.uniform::<f64>([2]), before.clone()]);
    let f = function(()).output(draws.result(0)).output(draws.result(1)).compile()?;
    let plain = RandomStreams::new(7);
    let (outside, within) = (plain.uniform::<f64>([2]), plain.uniform::<f64>([2]));
    let one = function(()).output(&within).output(&outside).compile()?;
    let mut sim = f.optimize(Host::auto())?;
    for _ in 0..2 {
        let results = sim.call(args![])?;
        let (mut expected, mut fixed) = (vec![], vec![]);
        for _ in 0..3 {
            let drawn = one.call(args![])?;
            expected.extend(drawn[0].to_vec::<f64>()?);
            fixed.extend(drawn[1].to_vec::<f64>()?);
        }
        assert_eq!(results[0].to_vec::<f64>()?, expected);
        let same = results[1].to_vec::<f64>()?;
        assert_eq!(same[..2], same[2..4]);
        assert_eq!(same[..2], same[4..]);
    }
    let x = scalar::<f64>("x");
    let twice = fori(2, &x, |_, x| fori(2, &x, |_, x| x + streams.uniform::<f64>(())));
    let f = function([&x]).output(&twice).compile()?;
    assert_ne!(f.call(args![0.0])?[0], f.call(args![0.0])?[0]);
    Ok(())
}

#[test]
fn a_loop_may_end_when_a_draw_says_so() -> Result<()> {
    let streams = RandomStreams::new(11);
    let limit = scalar::<f64>("limit");
    let draws = Scan::new().steps(500).run_until(|_| {
        let draw = streams.uniform::<f64>(());
        (vec![draw.clone()], draw.greater(&limit))
    });
    let f = function([&limit]).output(draws.result(0)).output(draws.iterations()).compile()?;
    let f = &Bundle::from_bytes(&Bundle::new().with("f", &f).to_bytes()?)?["f"];
    let one = function(()).output(RandomStreams::new(11).uniform::<f64>(())).compile()?;
    let mut sim = f.optimize(Host::auto())?;
    for limit in [0.9, -1.0, 0.5, 0.95] {
        let results = sim.call(args![limit])?;
        let mut expected = vec![one.call(args![])?[0].item::<f64>()?];
        while expected.last().is_some_and(|&draw| draw <= limit) {
            expected.push(one.call(args![])?[0].item::<f64>()?);
        }
        assert_eq!(results[0].to_vec::<f64>()?, expected);
        assert_eq!(results[1].item::<i64>()?, expected.len() as i64);
    }
    Ok(())
}

#[test]
fn only_what_is_read_is_computed() -> Result<()> {
    let (xs, h) = (vector::<f64>("xs"), scalar::<f64>("h"));
    let both = Scan::new()
        .sequence(&xs)
        .recurrent(&h)
        .recurrent(&h)
        .run(|v| vec![&v[0] + &v[1], &v[2] * v[0].exp(), v[1].sin()]);
    let f = function([&xs, &h]).output(both.last_of(0)).compile()?;
    let text = listing(f.graph());
    assert!(!text.contains("exp(") && !text.contains("sin("), "{text}");
    Ok(())
}

#[test]
fn iterations_by_the_thousand() -> Result<()> {
    let (n, x) = (scalar::<i64>("n"), vector::<f64>("x"));
    let logistic = fori(&n, &x, |_, x| 3.9 * &x * (1.0 - &x));
    let history = Scan::new().steps(&n).recurrent(&x).run(|v| vec![3.9 * &v[0] * (1.0 - &v[0])]).history(0);
    let last = function([&n, &x]).output(&logistic).compile()?;
    let all = function([&n, &x]).output(&history).compile()?;
    for steps in [1i64, 2, 4095, 4096, 4097, 10_000] {
        let mut value = 0.25f64;
        let expected: Vec<f64> = (0..steps)
            .map(|_| {
                value = 3.9 * value * (1.0 - value);
                value
            })
            .collect();
        let start = vec![0.25, 0.25];
        let got = last.call(args![steps, &start])?[0].to_vec::<f64>()?;
        let rows = all.call(args![steps, &start])?[0].to_vec::<f64>()?;
        // It is chaotic, so only the first iterations are near.
        assert_eq!(rows.len(), 2 * steps as usize);
        for (row, want) in rows.chunks(2).zip(&expected).take(30) {
            assert!((row[0] - want).abs() < 1e-6 && row[0] == row[1], "{row:?} {want}");
        }
        assert_eq!(got, rows[rows.len() - 2..]);
    }
    Ok(())
}

/// A loop of a thousand iterations over vectors of a thousand: its gradient keeps a thousand of them, or some
/// sixty.
/// How many products a Function computes outside of its loops and within.
fn products(inputs: &[&Variable], outputs: &[Variable]) -> [usize; 2] {
    let f = function(inputs.iter().copied()).outputs(outputs).allow_unused_inputs().compile().unwrap();
    let count = |graph: &FunctionGraph| {
        graph.nodes.iter().filter(|node| node.op.id() == "dot").map(|node| node.outputs.len()).sum()
    };
    let bodies = f.graph().nodes.iter().flat_map(|node| node.op.bodies());
    [count(f.graph()), bodies.map(|body| count(body)).sum()]
}

#[test]
fn products_that_need_no_iteration_leave_the_loop() {
    let (xs, h0) = (tensor::<f32>("xs", [None, Some(4), Some(3)]), tensor::<f32>("h0", [Some(4), Some(3)]));
    let [w, u, v] = ["w", "u", "v"].map(|name| tensor::<f32>(name, [Some(3), Some(3)]));
    let all_inputs = [&xs, &h0, &w, &u, &v];
    let cell = |x: &Variable, h: &Variable| (x.exp().dot(&w) + h.dot(&u)).tanh();
    assert_eq!(products(&all_inputs, &[scan(&xs, &h0, |x, h| cell(&x, &h))]), [1, 1]);
    let read = |loops: Scan| {
        loops.sequence(&xs).recurrent(&h0).run(|v_| {
            let h = cell(&v_[0], &v_[1]);
            vec![h.clone(), h.dot(&v).tanh(), h.dot(&v).sum(..)]
        })
    };
    let all = read(Scan::new());
    // The history is read: products of it are computed after the loop, sums of these are not.
    assert_eq!(products(&all_inputs, &[all.history(0), all.result(0)]), [2, 1]);
    assert_eq!(products(&all_inputs, &[all.history(0), all.result(1)]), [1, 2]);
    // Nothing else reads the history.
    assert_eq!(products(&all_inputs, &[all.result(0), all.last_of(0)]), [1, 2]);
    let cut = read(Scan::new().truncate_gradient(2));
    assert_eq!(products(&all_inputs, &[cut.history(0), cut.result(0)]), [1, 2]);
    // Iterations that do not depend on each other are there to save memory.
    assert_eq!(products(&all_inputs, &[map(&xs, |x| x.dot(&w))]), [0, 1]);
    // The product of each row of three elements has a hundred.
    let wide = tensor::<f32>("wide", [Some(3), Some(100)]);
    let start = tensor::<f32>("start", [Some(4), Some(100)]);
    let states = scan(&xs, &start, |x, h| (x.dot(&wide) + h).tanh());
    assert_eq!(products(&[&xs, &wide, &start], &[states]), [0, 1]);
    for steps in [None, Some(6)] {
        let xs = tensor::<f32>("xs", [steps, Some(4), Some(3)]);
        let states = scan(&xs, &h0, |x, h| cell(&x, &h));
        let slopes = grad(states.sqr().sum(..), [&xs, &w, &u]).unwrap();
        // Before: x w, for both loops. After: the gradients of w and u, and of xs.
        assert_eq!(products(&[&xs, &h0, &w, &u], &slopes), [4, 2]);
    }
}

#[test]
fn checkpoints_save_memory() -> Result<()> {
    let arena = |block: Option<usize>| -> Result<(u64, Value)> {
        let (h, w) = (vector::<f64>("h"), vector::<f64>("w"));
        let scan = Scan::new().steps(1024).recurrent(&h);
        let scan = block.map_or(scan.clone(), |block| scan.checkpoint(block));
        let last = scan.run(|v| vec![(&v[0] * &w).sin()]).last_of(0);
        let f = function([&h, &w]).output(&grad(last.sum(..), [&w])?[0]).compile()?;
        let mut sim = f.optimize(Host::auto().strict())?;
        let values: Vec<f64> = (0..1024).map(|i| f64::from(i) / 1024.0).collect();
        let slope = sim.call(args![&values, vec![0.9; 1024]])?[0].clone();
        Ok((sim.plan(args![&values, vec![0.9; 1024]])?.arena_bytes, slope))
    };
    let ((plain, slope), (blocks, again)) = (arena(None)?, arena(Some(32))?);
    let row = 8 * 1024;
    assert!(plain > 1000 * row && blocks < 120 * row, "{plain} and {blocks} bytes");
    for (a, b) in slope.to_f64s().iter().zip(again.to_f64s()) {
        assert!((a - b).abs() < 1e-12 * (1.0 + a.abs()), "{a} {b}");
    }
    Ok(())
}

#[test]
fn an_error_has_the_kind_of_its_cause() {
    let x = vector::<f64>("x");
    let expression = fori(2, &x, |_, x| x.cast(DType::F32));
    assert!(matches!(expression.checked(), Err(Error::Expression { .. })));
}

#[test]
fn a_sum_that_leaves_the_loop_keeps_its_shape() {
    let (xs, h) = (matrix::<f64>("xs"), vector::<f64>("h"));
    let f = function([&xs, &h]).output(reduce(&xs, &h, |x, h| h + x)).compile().unwrap();
    let xs = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    let longer = text(f.call(args![&xs, vec![1.0]]));
    says(&longer, &["axis 0 has extent 2, where 1 is expected", "loops.rs"]);
    let good = f.call(args![&xs, vec![1.0, 1.0]]).unwrap();
    assert_eq!(good[0].to_vec::<f64>().unwrap(), [10.0, 13.0]);
    let good = f.call(args![array![[1.0], [2.0]], vec![1.0, 3.0]]).unwrap();
    assert_eq!(good[0].to_vec::<f64>().unwrap(), [4.0, 6.0]);
}

#[test]
fn iterations_by_the_thousand_change_parts_in_place() -> Result<()> {
    let x = vector::<f64>("x");
    let counted = fori(6000, &x, |i, x| x.inc_index(idx![i % 7i64], 1.0));
    // The old value is read after the part was set, so the new one is moved to its place.
    let moved = fori(6000, &x, |i, x| {
        let next = x.set_index(idx![&i % 7i64], x.mean(..) * 0.5);
        next.set_index(idx![(i + 1i64) % 7i64], x.max(..) + 0.125)
    });
    let f = function([&x]).output(&counted).output(&moved).compile()?;
    let want = f.call_reference(args![vec![0.5; 7]])?;
    for options in [Options::default(), Options { launch_blocking: true, ..Options::default() }] {
        let mut sim = f.optimize(Host::threads(2).with_options(options))?;
        let got = sim.call(args![vec![0.5; 7]])?;
        assert_eq!(got[0], want[0]);
        for (a, b) in got[1].to_vec::<f64>()?.iter().zip(want[1].to_vec::<f64>()?) {
            assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} {b}");
        }
    }
    Ok(())
}

#[test]
fn a_failed_call_leaves_an_array_that_changes_in_part() -> Result<()> {
    let (x, i) = (shared("x", vec![1.0, 2.0, 3.0, 4.0]), scalar::<i64>("i"));
    let rows = |x: &Variable| x.set_index(idx![1..], x.index(idx![..-1]) + x.index(idx![&i]));
    let f = function([&i]).update(&x, rows(&x)).compile()?;
    let mut sim = f.optimize(Host::threads(2))?;
    sim.call(args![0i64])?;
    assert_eq!(sim.get(&x)?.to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
    assert!(sim.call(args![9i64]).is_err());
    assert_eq!(sim.get(&x)?.to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
    sim.call(args![3i64])?;
    assert_eq!(sim.get(&x)?.to_vec::<f64>()?, [1.0, 5.0, 6.0, 7.0]);
    Ok(())
}

#[test]
fn a_part_of_a_carried_array_is_changed_in_place() -> Result<()> {
    let (x, grid) = (vector::<f64>("x"), matrix::<f64>("grid"));
    let element = fori(100, &x, |i, x| x.set_index(idx![&i], x.index(idx![&i]) * 2.0));
    let row = fori(100, &grid, |i, grid| grid.set_index(idx![&i + 1i64], grid.index(idx![&i]) + 1.0));
    let zeros = Value::zeros(DType::F64, &[101, 10])?;
    for (output, input, value, most) in
        [(&element, &x, Value::from(vec![1.0; 1000]), 16), (&row, &grid, zeros, 2 * 80 + 16)]
    {
        let f = function([input]).output(output).compile()?;
        let mut sim = f.optimize(Host::auto())?;
        let plan = sim.plan(args![&value])?;
        let body = plan.steps.iter().flat_map(|step| &step.bodies).next();
        let steps = body.into_iter().flat_map(|body| &body.steps);
        let written: u64 = steps.map(|step| step.work.bytes_written).sum();
        assert!((8..=most).contains(&written), "an iteration writes {written} bytes:\n{plan}");
        assert!(plan.to_string().contains("loop fori: 100 iterations; within the recording\n"), "{plan}");
        assert_eq!(sim.call(args![&value])?[0], f.call_reference(args![&value])?[0]);
    }
    Ok(())
}
