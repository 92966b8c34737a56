//! A failed call changes nothing: on every device the state is that from before the call, and after `run_n`
//! that of the last good iteration.

use super::family;
use crate::stage::{Scenario, Stage, ensure, equal, fails};
use workalike::ops::concatenate;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    family(
        "failures",
        &[
            ("calls_change_nothing", calls),
            ("iterations_before_it_stand", iterations),
            ("iterations_by_slices", slices),
            ("resized_state_stays", resized),
            ("results_on_the_device_are_refused", results),
            ("the_next_call_goes_on", next),
            ("loops_end_before_or_at_it", conditions),
            ("probes_stop_with_it", probes),
            ("both_ways_of_checking_agree", ways),
        ],
    )
}

/// A Function over `w`, `b` and `calls` that may read an index out of range, and its description.
struct Program {
    what: &'static str,
    function: Function,
}

const ROWS: usize = 6;

/// Inputs `x: float32 (n, 4)`, `i: int64 (n,)`, `k: int64 ()`. An index is in range if `i + k` is in `-6..6`.
fn programs() -> Result<Vec<Program>> {
    let mut all = Vec::new();
    for (what, computed) in [("given", false), ("computed", true)] {
        let (x, i, k) = (matrix::<f32>("x"), vector::<i64>("i"), scalar::<i64>("k"));
        let at = if computed { &i + &k } else { i.clone() };
        let table = || shared("w", Array2::<f32>::ones((ROWS, 4)));
        let (b, calls) = (shared("b", vec![0.5f32; 4]), shared("calls", 0i64));
        let start = || function([&x, &i, &k]).allow_unused_inputs().update(&calls, &calls + 1i64);
        let w = table();
        let cost = (w.index(idx![&at]) * &x + &b).sqr().sum(..);
        let g = grad(&cost, [&w, &b])?;
        let embedding = start().output(&cost).update(&w, &w - 0.1 * &g[0]).update(&b, &b - 0.1 * &g[1]);
        let w = table();
        let labels = categorical_crossentropy(softmax(x.dot(w.t()), -1), &at).mean(..);
        let g = grad(&labels, [&w])?;
        let classifier = start().output(&labels).update(&w, &w - 0.5 * &g[0]).update(&b, &b * 0.5);
        let w = table();
        let written = start().update(&w, w.set_index(idx![&at], &x)).update(&b, &b + x.sum(0));
        let w = table();
        let added = start().update(&w, w.inc_index(idx![&at], &x)).update(&b, w.index(idx![&at]).sum(0));
        let w = table();
        let sound = x.assert(at.less(ROWS as i64), "rows");
        let asserted = start().output(sound.sum(..)).update(&w, &w + x.sum(..)).update(&b, &b * 2.0);
        let swapped = {
            let w = table();
            let row = w.index(idx![at.index(idx![0])]);
            start().update(&w, &w * 2.0).update(&b, row)
        };
        for (name, builder) in [
            ("an embedding", embedding),
            ("a classifier", classifier),
            ("rows that are set", written),
            ("rows that are added to", added),
            ("a condition", asserted),
            ("a row that becomes another variable", swapped),
        ] {
            all.push(Program { what: name, function: builder.name(what).compile()? });
        }
    }
    Ok(all)
}

fn data(n: usize) -> Result<Value> {
    Value::from_vec(&[n, 4], (0..4 * n).map(|i| (i % 7) as f32 * 0.25 - 0.5).collect())
}

fn state(simulator: &Simulator) -> Result<Vec<Value>> {
    let names: Vec<String> = simulator.shared_names().map(String::from).collect();
    names.iter().map(|name| simulator.get_value(name)).collect()
}

/// Compares all shared variables with those of a Function.
fn same(what: &str, simulator: &Simulator, function: &Function) -> Result<()> {
    for cell in function.cells() {
        let (got, wanted) = (simulator.get_value(cell.name())?, cell.get_value()?);
        let near = got.to_f64s().iter().zip(wanted.to_f64s()).all(|(a, b)| (a - b).abs() <= 1e-4);
        ensure(near, || format!("{what}: {} is {got:?}, expected {wanted:?}", cell.name()))?;
    }
    Ok(())
}

fn calls(stage: &Stage) -> Result<()> {
    for Program { what, function } in programs()? {
        let f = stage.function(&function)?;
        let mut simulator = stage.simulator(&f)?;
        let reference = f.fork()?;
        let x = data(3)?;
        for round in 0..3 {
            let here = format!("{what}, index {}, call {round}", function.name());
            let good = || args![&x, vec![0i64, 5, 2], 0i64];
            simulator.call(good())?;
            reference.call_reference(good())?;
            same(&here, &simulator, &reference)?;
            let before = state(&simulator)?;
            for bad in [vec![6i64, 1, 0], vec![9, 1, 2], vec![1 << 40, 0, 0]] {
                fails(&here, simulator.call(args![&x, bad.clone(), 0i64]), &["node"])?;
                fails(&here, reference.call_reference(args![&x, bad.clone(), 0i64]), &["node"])?;
                fails(&here, f.call(args![&x, bad, 0i64]), &["node"])?;
                ensure(state(&simulator)? == before, || format!("{here}: a failed call changed the state"))?;
            }
        }
        ensure(f.cells().iter().all(|c| c.version() == 0), || format!("{what}: the parent changed"))?;
    }
    Ok(())
}

/// One bad index among the iterations, at each place.
fn iterations(stage: &Stage) -> Result<()> {
    const N: usize = 70;
    for Program { what, function } in programs()? {
        if function.name() == "given" {
            continue;
        }
        for bad in [0usize, 1, 40, N - 1] {
            let f = stage.function(&function)?;
            let (mut simulator, reference) = (stage.simulator(&f)?, f.fork()?);
            let x = data(2)?;
            let offsets: Vec<i64> = (0..N).map(|k| if k == bad { 5 } else { (k % 3) as i64 }).collect();
            let i = vec![1i64, 3];
            let here = format!("{what}, iteration {bad}");
            let ran = simulator.run_n(N as u64, args![&x, i.clone(), each(offsets.clone())]);
            fails(&here, ran, &["node", &format!("iteration {bad} of {N}")])?;
            for &k in &offsets[..bad] {
                reference.call_reference(args![&x, i.clone(), k])?;
            }
            same(&here, &simulator, &reference)?;
            // The loop can be started again.
            simulator.run_n(3, args![&x, i.clone(), 1i64])?;
            (0..3).try_for_each(|_| reference.call_reference(args![&x, i.clone(), 1i64]).map(drop))?;
            same(&format!("{here}, afterwards"), &simulator, &reference)?;
        }
    }
    Ok(())
}

/// Index arrays that are sequences: one of the slices has an index out of range.
fn slices(stage: &Stage) -> Result<()> {
    const N: usize = 20;
    for Program { what, function } in programs()? {
        let f = stage.function(&function)?;
        let (mut simulator, reference) = (stage.simulator(&f)?, f.fork()?);
        let x = data(2)?;
        let row = |k: usize| if k == 7 { [6i64, 0] } else { [(k % 6) as i64, 2] };
        let indices = Value::from_vec(&[N, 2], (0..N).flat_map(row).collect())?;
        let ran = simulator.run_n(N as u64, args![&x, each(&indices), 0i64]);
        fails(what, ran, &["node", &format!("iteration 7 of {N}")])?;
        for k in 0..7 {
            reference.call_reference(args![&x, row(k).to_vec(), 0i64])?;
        }
        same(&format!("{what}, index {}", function.name()), &simulator, &reference)?;
    }
    Ok(())
}

fn resized(stage: &Stage) -> Result<()> {
    let (x, i) = (vector::<f32>("x"), scalar::<i64>("i"));
    let rows = shared_dynamic("rows", Array2::<f32>::zeros((1, 2)), &[0]);
    let total = shared("total", 0f32);
    let row = rows.index(idx![&i + &i * &i - &i * &i]) + &x;
    let grown = concatenate([(*rows).clone(), row.expand_dims(0)], 0);
    let f = function([&x, &i]).output(&row).update(&rows, &grown).update(&total, &total + x.sum(..));
    let f = stage.function(&f.compile()?)?;
    let (mut simulator, reference) = (stage.simulator(&f)?, f.fork()?);
    for step in 0..4i64 {
        simulator.call(args![vec![1f32, 2.0], step])?;
        reference.call_reference(args![vec![1f32, 2.0], step])?;
        fails("an index", simulator.call(args![vec![1f32, 2.0], 9i64]), &["out of"])?;
        fails("an index", f.call(args![vec![1f32, 2.0], 9i64]), &["out of"])?;
        same("after it", &simulator, &reference)?;
    }
    ensure(simulator.get_value("rows")?.shape() == [5, 2], || "the rows were not added".into())
}

/// Outputs of a failed call that stay on the device are errors, and so is everything computed from them.
fn results(stage: &Stage) -> Result<()> {
    let (x, i) = (vector::<f32>("x"), vector::<i64>("i"));
    let taken = function([&x, &i]).output(x.index(idx![&i + &i]) * 2.0);
    let f = stage.function(&taken.compile()?)?;
    let g = stage.function(&function([&x]).output(&x + 1.0).compile()?)?;
    let mut simulator = stage.simulator(&f)?;
    let mut next = g.optimize(simulator.device().clone())?;
    let x = Value::from(vec![1f32, 2.0, 3.0]);
    let good = simulator.call_device(args![&x, vec![0i64, 1]])?.remove(0);
    equal("before", &good.to_value()?, vec![2f32, 6.0])?;
    let bad = simulator.call_device(args![&x, vec![0i64, 2]])?.remove(0);
    let made = next.call_device(args![&bad])?.remove(0);
    fails("the result", bad.to_value(), &["out of"])?;
    fails("a result computed from it", made.to_value(), &["out of"])?;
    fails("a call with it", next.call(args![&bad]), &["out of"])?;
    fails("synchronize", simulator.synchronize(), &["out of"])?;
    ensure(simulator.synchronize().is_ok(), || "an error is reported twice".into())?;
    fails("the result, later", bad.to_value(), &["out of"])?;
    fails("a result computed from it, later", made.to_value(), &["out of"])?;
    equal("a good result from before", &good.to_value()?, vec![2f32, 6.0])?;
    let borrowed = simulator.call_borrowed(args![&x, vec![0i64, 2]])?;
    fails("a borrowed result", borrowed.array(0)?.to_value(), &["out of"])?;
    fails("the borrowed call", borrowed.to_value(0), &["out of"])?;
    let waiting = simulator.submit(args![&x, vec![0i64, 2]])?;
    let fine = simulator.submit(args![&x, vec![0i64, 0]])?.into_arrays().remove(0);
    equal("a call submitted after it", &fine.to_value()?, vec![2f32, 2.0])?;
    fails("a submitted call", waiting.into_arrays().remove(0).to_value(), &["out of"])
}

/// Calls submitted after a failed call that is not waited for change nothing either. Later calls succeed.
fn next(stage: &Stage) -> Result<()> {
    let (i, calls) = (vector::<i64>("i"), shared("calls", 0i64));
    let table = constant(vec![1f32, 2.0, 3.0]);
    let f = function([&i]).output(table.index(idx![&i * &i])).update(&calls, &calls + 1i64).compile()?;
    let mut simulator = stage.simulator(&stage.function(&f)?)?;
    let first = simulator.call_device(args![vec![1i64]])?;
    simulator.call_device(args![vec![2i64]])?;
    let third = simulator.call_device(args![vec![1i64]])?;
    equal("calls", &simulator.get_value("calls")?, 1i64)?;
    equal("the first", &first[0].to_value()?, vec![2f32])?;
    fails("the one behind it", third[0].to_value(), &["out of"])?;
    fails("the report", simulator.call(args![vec![0i64]]), &["out of"])?;
    simulator.call(args![vec![0i64]])?;
    let pending = simulator.submit(args![vec![3i64]])?;
    simulator.submit(args![vec![1i64]])?.wait()?;
    fails("a submitted call", pending.wait(), &["out of"])?;
    equal("calls", &simulator.get_value("calls")?, 3i64)
}

fn conditions(stage: &Stage) -> Result<()> {
    let (at, sum) = (shared("at", 0i64), shared("sum", 0f32));
    let limit = scalar::<i64>("limit");
    let table = constant((0..100).map(|k| k as f32).collect::<Vec<_>>());
    let f = function([&limit])
        .output_named("go_on", (&at + 1i64).less(&limit))
        .update(&at, &at + 1i64)
        .update(&sum, &sum + table.index(idx![&at]));
    let f = stage.function(&f.compile()?)?;
    for (limit, good) in [(30i64, Some(30)), (100, Some(100)), (101, None), (1_000, None)] {
        let mut simulator = stage.simulator(&f)?;
        let ran = simulator.run_while("go_on", 10_000, args![limit]);
        match good {
            Some(steps) => {
                ensure(ran?.0 == steps, || format!("limit {limit}"))?;
                equal("at", &simulator.get_value("at")?, limit)?;
            }
            None => {
                fails("beyond the table", ran, &["out of", "iteration 100 of"])?;
                equal("at", &simulator.get_value("at")?, 100i64)?;
                equal("sum", &simulator.get_value("sum")?, 4950f32)?;
            }
        }
    }
    Ok(())
}

fn probes(stage: &Stage) -> Result<()> {
    let (k, at) = (scalar::<i64>("k"), shared("at", 0i64));
    let table = constant((0..10).map(|k| k as f32).collect::<Vec<_>>());
    let read = table.index(idx![&at + &k]).named("read");
    let twice = (&read * 2.0).named("twice");
    let total = shared("total", 0f32);
    let f = function([&k]).output(&twice + 1.0).update(&at, &at + 1i64).update(&total, &total + &read);
    let f = f.compile()?;
    let mut simulator = stage.simulator(&f)?;
    simulator.probe("twice", 3, 100)?;
    fails("run_n", simulator.run_n(25, args![0i64]), &["out of", "iteration 10 of 25"])?;
    equal("at", &simulator.get_value("at")?, 10i64)?;
    equal("total", &simulator.get_value("total")?, 45f32)
}

/// Arrays that only the device has are checked there, with the same results.
fn ways(stage: &Stage) -> Result<()> {
    let i = vector::<i64>("i");
    let moved = stage.function(&function([&i]).output(i.maximum(-9i64)).compile()?)?;
    for Program { what, function } in programs()? {
        let f = stage.function(&function)?;
        let mut known = stage.simulator(&f)?;
        let mut unknown = f.optimize(known.device().clone())?;
        let mut mover = moved.optimize(known.device().clone())?;
        let x = data(2)?;
        for indices in [vec![0i64, 5], vec![-6, 3], vec![2, 2]] {
            let there = mover.call_device(args![indices.clone()])?.remove(0);
            known.call(args![&x, known.upload(indices.clone())?, 0i64])?;
            unknown.call(args![&x, &there, 0i64])?;
            ensure(state(&known)? == state(&unknown)?, || format!("{what}: {indices:?}"))?;
            let before = state(&known)?;
            let bad = mover.call_device(args![vec![7i64, 0]])?.remove(0);
            let uploaded = known.upload(vec![7i64, 0])?;
            fails(what, known.call(args![&x, uploaded, 0i64]), &["node"])?;
            fails(what, unknown.call(args![&x, bad, 0i64]), &["node"])?;
            ensure(state(&known)? == before && state(&unknown)? == before, || format!("{what}: changed"))?;
        }
    }
    Ok(())
}
