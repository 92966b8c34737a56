//! Every way to call, record, save and copy a Simulator over two contexts.

use super::super::{Story, family};
use super::two;
use crate::stage::{Scenario, Stage, ensure, equal, fails, near, relative, stacked};
use ndarray::Axis;
use workalike::engine::Pending;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 8] = [
        ("probes", probes),
        ("collected_outputs", collected),
        ("loops_with_a_condition", conditions),
        ("results_in_place", in_place),
        ("submitted_calls", submitted),
        ("typed_and_chosen_outputs", typed),
        ("files_and_forks", files),
        ("inputs_with_a_value", state_inputs),
    ];
    family("contexts", &stories)
}

/// Two states that read each other, and `mixed`, which is computed in `dev1` and has no name in the outputs.
fn coupled() -> Result<Function> {
    let x = vector::<f32>("x");
    let (a, b) = (shared("a", vec![1f32, 2.0]), shared("b", vec![3f32, 4.0]).on("dev1"));
    let inner = (&*a * 0.5 + &x).named("inner");
    let mixed = (&*b * 0.25 + &x).named("mixed");
    let f = function([&x]).name("coupled").output_named("sum", &inner + transfer(&mixed, "dev0"));
    f.output_named("far", &mixed * 2.0).update(&a, &inner * 0.5).update(&b, &mixed + &*a).compile()
}

const STEPS: usize = 7;

fn inputs() -> Vec<Vec<f32>> {
    (0..STEPS).map(|step| vec![step as f32 * 0.5, 1.0 - step as f32 * 0.25]).collect()
}

fn sequence() -> Value {
    let flat: Vec<f32> = inputs().concat();
    ndarray::Array2::from_shape_vec((STEPS, 2), flat).map_or_else(|_| Value::from(0f32), Value::from)
}

/// The values of a Variable of `coupled`, by name, in each iteration, and of the outputs.
fn traced() -> Result<Vec<(&'static str, Vec<Value>)>> {
    let f = coupled()?;
    let (a, b) = (f.shared("a")?, f.shared("b")?);
    let names = ["a", "b", "inner", "mixed", "sum", "far"];
    let mut traced: Vec<(&'static str, Vec<Value>)> = names.map(|name| (name, vec![])).into();
    for x in inputs() {
        let (old_a, old_b) = (a.get_value()?.to_vec::<f32>()?, b.get_value()?.to_vec::<f32>()?);
        let outputs = f.call_reference(args![&x])?;
        let each = |of: &[f32], by: f32| -> Value {
            of.iter().zip(&x).map(|(s, x)| s * by + x).collect::<Vec<f32>>().into()
        };
        let now = [a.get_value()?, b.get_value()?, each(&old_a, 0.5), each(&old_b, 0.25)];
        let outputs = [outputs[0].clone(), outputs[1].clone()];
        traced.iter_mut().zip(now.into_iter().chain(outputs)).for_each(|(all, value)| all.1.push(value));
    }
    Ok(traced)
}

fn all_of(values: &[Value]) -> Result<Value> {
    stacked(&values.iter().collect::<Vec<_>>())
}

fn every_second(values: &[Value]) -> Result<Value> {
    stacked(&values.iter().skip(1).step_by(2).collect::<Vec<_>>())
}

/// On either device: shared variables, outputs, and Variables that are neither, by calls and by loops.
fn probes(stage: &Stage) -> Result<()> {
    for mixed in [false, true] {
        let mut sim = stage.function(&coupled()?)?.optimize(two(stage, mixed)?)?;
        let traced = traced()?;
        let probes = traced.iter().map(|(name, _)| Ok((sim.probe(*name, 1, 3)?, sim.probe(*name, 2, 100)?)));
        let probes = probes.collect::<Result<Vec<_>>>()?;
        let xs = inputs();
        sim.call(args![&xs[0]])?;
        sim.call_device(args![&xs[1]])?;
        let rest = sequence().to_array::<f32>()?.slice_axis(Axis(0), (2..).into()).to_owned();
        sim.run_n(STEPS as u64 - 2, args![each(rest)])?;
        for ((name, values), (all, second)) in traced.iter().zip(&probes) {
            let (want, got) = (all_of(values)?, sim.read_probe(*all)?);
            near(name, &got, &want, &relative(&want, 1e-5))?;
            let (want, got) = (every_second(values)?, sim.take_probe(*second)?);
            near(name, &got, &want, &relative(&want, 1e-5))?;
            ensure(sim.read_probe(*second)?.shape()[0] == 0, || format!("{name}: taken"))?;
        }
        for (all, second) in probes {
            sim.remove_probe(all)?;
            sim.remove_probe(second)?;
        }
        sim.reset()?;
        let (want, got) = (coupled()?.call_reference(args![&xs[0]])?, sim.call(args![&xs[0]])?);
        near("no probes", &got[0], &want[0], &relative(&want[0], 1e-5))?;
        fails("an unknown name", sim.probe("nothing", 1, 1), &["nothing", "mixed"])?;
    }
    far_probe(stage)
}

/// A method that is all on one device, and a shared variable on the other.
fn far_probe(stage: &Stage) -> Result<()> {
    let f = coupled()?;
    let (a, b) = (f.shared("a")?, f.shared("b")?);
    let mut sim = f.optimize(two(stage, true)?)?;
    sim.add_method("grow", &function(()).output(&*a).update(&a, &*a * 2.0).compile()?)?;
    let probe = sim.method("grow")?.probe(&b, 1, 2)?;
    sim.method("grow")?.run_n(3, args![])?;
    equal("b", &sim.read_probe(probe)?, stacked(&[&vec![3f32, 4.0].into(); 3])?)?;
    equal("a", &sim.get(&a)?, vec![8f32, 16.0])
}

fn collected(stage: &Stage) -> Result<()> {
    for mixed in [false, true] {
        let mut sim = stage.function(&coupled()?)?.optimize(two(stage, mixed)?)?;
        let none = sim.run_n_collect(0, args![vec![0f32; 2]])?;
        ensure(none[0].shape() == [0, 2] && none[1].shape() == [0, 2], || format!("{none:?}"))?;
        let traced = traced()?;
        let got = sim.run_n_collect(STEPS as u64, args![each(sequence())])?;
        for (at, (name, values)) in traced[4..].iter().enumerate() {
            let want = all_of(values)?;
            near(name, &got[at], &want, &relative(&want, 1e-5))?;
        }
        let want = &traced[1].1[STEPS - 1];
        near("b", &sim.get_value("b")?, want, &relative(want, 1e-5))?;
    }
    Ok(())
}

/// The condition is computed in `dev1`, from a state that `dev0` updates.
fn conditions(stage: &Stage) -> Result<()> {
    let (n, far) = (shared("n", 1i64), shared("far", 2i64).on("dev1"));
    let more = transfer(&*n * 2i64, "dev1").less(&*far * 500i64);
    let f = function(()).output_named("go_on", &more).output(&*n).update(&n, &*n * 2i64).compile()?;
    for mixed in [false, true] {
        let mut sim = stage.function(&f)?.optimize(two(stage, mixed)?)?;
        let probe = sim.probe("n", 1, 4)?;
        let (steps, last) = sim.run_while("go_on", 100, args![])?;
        equal("the state", &sim.get_value("n")?, 1024i64)?;
        ensure(steps == 10 && last[1].item::<i64>()? == 512, || format!("{steps} iterations, {last:?}"))?;
        ensure(sim.read_probe(probe)?.shape() == [10], || "samples".into())?;
        let (steps, _) = sim.run_while("go_on", 100, args![])?;
        ensure(steps == 1, || format!("then {steps}"))?;
        fails("no condition", sim.run_while("go", 3, args![]), &["no output go", "go_on"])?;
        ensure(sim.run_while("go_on", 0, args![])?.0 == 0, || "none".into())?;
    }
    Ok(())
}

/// Borrowed outputs, device arrays as arguments, donated ones, trusted calls.
fn in_place(stage: &Stage) -> Result<()> {
    for mixed in [false, true] {
        let reference = coupled()?;
        let mut sim = stage.function(&coupled()?)?.optimize(two(stage, mixed)?)?;
        let xs = inputs();
        sim.prepare(args![&xs[0]])?;
        sim.warm_up([args![&xs[1]], args![&xs[2]]])?;
        let want = reference.call_reference(args![&xs[0]])?;
        let borrowed = sim.call_borrowed(args![&xs[0]])?;
        ensure(borrowed.len() == 2, || "two outputs".into())?;
        for at in 0..2 {
            near("borrowed", &borrowed.to_value(at)?, &want[at], &relative(&want[at], 1e-5))?;
        }
        near("by array", &borrowed.array(1)?.to_value()?, &want[1], &relative(&want[1], 1e-5))?;
        fails("no third", borrowed.to_value(2), &["below 2"])?;
        let x = sim.upload(xs[1].clone())?;
        let (want, got) = (reference.call_reference(args![&xs[1]])?, sim.call_device(args![&x])?);
        near("on the device", &got[1].to_value()?, &want[1], &relative(&want[1], 1e-5))?;
        // A result of one context is an argument of both.
        let want = reference.call_reference(args![&want[1]])?;
        let got = sim.call(args![got[1].clone().donate()])?;
        near("again", &got[0], &want[0], &relative(&want[0], 1e-5))?;
        let want = reference.call_reference(args![&xs[2]])?;
        let got = sim.call_trusted(&[xs[2].clone().into()])?;
        near("trusted", &got[0], &want[0], &relative(&want[0], 1e-5))?;
        sim.synchronize()?;
    }
    Ok(())
}

/// With updates, and without: each call has its own results and its own error.
fn submitted(stage: &Stage) -> Result<()> {
    let (at, table) = (vector::<i64>("at"), shared("table", vec![1f32, 2.0, 4.0]).on("dev1"));
    let scale = shared("scale", 2f32);
    let taken = table.index(idx![&at]).sum(..) * &*scale;
    let pure = function([&at]).output(&taken).output(transfer(&taken, "dev0") + &*scale).compile()?;
    for mixed in [false, true] {
        let mut sim = stage.function(&coupled()?)?.optimize(two(stage, mixed)?)?;
        let pending = inputs().into_iter().map(|x| sim.submit(args![x])).collect::<Result<Vec<_>>>()?;
        for (pending, want) in pending.into_iter().zip(&traced()?[4].1) {
            near("sum", &pending.wait()?[0], want, &relative(want, 1e-5))?;
        }
        let mut sim = stage.function(&pure)?.optimize(two(stage, mixed)?)?;
        let calls = [vec![0i64, 1], vec![2, 3], vec![2, 2], vec![7], vec![1]];
        // Where the host copies from device to device, it learns of an error at once.
        let pending: Vec<_> = calls.into_iter().map(|at| sim.submit(args![at])).collect();
        for (pending, want) in pending.into_iter().zip([Some(6f32), None, Some(16.0), None, Some(4.0)]) {
            let outcome = pending.and_then(Pending::wait);
            match want {
                Some(want) => equal("a good call", &outcome?[1], want + 2.0)?,
                None => fails("a bad call", outcome, &["out of range", "on dev1"])?,
            }
        }
        let kept = sim.submit(args![vec![0i64]])?.into_arrays();
        let failed = sim.submit(args![vec![9i64]]).and_then(|pending| pending.into_arrays()[1].to_value());
        fails("a result of a bad call", failed, &["out of range", "on dev1"])?;
        equal("a result", &kept[0].to_value()?, 2f32)?;
        equal("it goes on", &sim.call(args![vec![1i64]])?[0], 4f32)?;
    }
    Ok(())
}

fn typed(stage: &Stage) -> Result<()> {
    for mixed in [false, true] {
        let reference = coupled()?;
        let mut sim = stage.function(&coupled()?)?.optimize(two(stage, mixed)?)?;
        let want = reference.call_reference(args![vec![1f32, 2.0]])?;
        let mut typed = sim.typed::<(Vec<f32>,), (Vec<f32>, Vec<f32>)>()?;
        let (_, far) = typed.call((vec![1f32, 2.0],))?;
        equal("typed", &far.into(), &want[1])?;
        fails("types", sim.typed::<(f32,), (f32,)>().map(drop), &["input x", "float32"])?;
        let want = reference.call_reference(args![vec![3f32, 4.0]])?;
        let far = sim.call_outputs(["far"], args![vec![3f32, 4.0]])?;
        ensure(far.len() == 1, || "one output".into())?;
        near("chosen", &far["far"], &want[1], &relative(&want[1], 1e-5))?;
        // With a probe, all is computed.
        let probe = sim.probe("mixed", 1, 10)?;
        let want = reference.call_reference(args![vec![5f32, 6.0]])?;
        let sum = sim.call_outputs([0], args![vec![5f32, 6.0]])?;
        near("chosen", &sum[0], &want[0], &relative(&want[0], 1e-5))?;
        ensure(sim.read_probe(probe)?.shape() == [1, 2], || "a sample".into())?;
        for name in ["a", "b"] {
            let want = reference.shared(name)?.get_value()?;
            near(name, &sim.get_value(name)?, &want, &relative(&want, 1e-5))?;
        }
    }
    Ok(())
}

/// A file is one of Functions, with hints: it goes on in contexts, on one device, and from there in contexts.
fn files(stage: &Stage) -> Result<()> {
    for mixed in [false, true] {
        let f = stage.function(&coupled()?)?;
        let mut sim = f.optimize(two(stage, mixed)?)?;
        sim.add_method("again", &f.renamed("again"))?;
        sim.run_n(3, args![vec![0.5f32; 2]])?;
        let bytes = sim.to_bytes()?;
        let mut resumed = Simulator::from_bytes(&bytes, two(stage, mixed)?)?;
        ensure(resumed.context_of("b")? == "dev1" && resumed.context_of("a")? == "dev0", || "homes".into())?;
        let mut single = Simulator::from_bytes(&bytes, stage.open()?)?;
        fails("no contexts", single.context_of("b"), &["one device"])?;
        let mut back = Simulator::from_bytes(&single.to_bytes()?, two(stage, mixed)?)?;
        let mut fork = sim.fork()?;
        ensure(fork.context_of("b")? == "dev1" && fork.contexts().eq(["dev0", "dev1"]), || "a fork".into())?;
        ensure(resumed.methods().nth(1) == Some("again"), || "methods".into())?;
        let want = sim.method("again")?.call(args![vec![1f32; 2]])?;
        for (what, sim) in
            [("resumed", &mut resumed), ("single", &mut single), ("back", &mut back), ("fork", &mut fork)]
        {
            let got = sim.method("again")?.call(args![vec![1f32; 2]])?;
            near(what, &got[0], &want[0], &relative(&want[0], 1e-5))?;
        }
        fork.call(args![vec![2f32; 2]])?;
        fork.sync_to_parent()?;
        equal("the parent's", &f.shared("b")?.get_value()?, fork.get_value("b")?)?;
        fails("a conflict", sim.sync_to_parent(), &["changed in the parent"])?;
        let elsewhere = contexts([("gpu", stage.open()?)]);
        fails("other names", Simulator::from_bytes(&bytes, elsewhere), &["dev1", "gpu"])?;
        let bundle = stage.bundle(&[("coupled", &coupled()?)])?;
        let mut sim = bundle.optimize(two(stage, mixed)?)?;
        ensure(sim.context_of("b")? == "dev1", || "a Bundle".into())?;
        // Variables by handle, and some alone.
        let b = bundle.shared("b")?;
        sim.set(&b, vec![9f32, 9.0])?;
        sim.set_value("a", vec![8f32, 8.0])?;
        ensure(sim.sync_to_parent_only([&b])? == ["b"], || "b alone".into())?;
        ensure(sim.reset()? == ["a"] && sim.warnings().is_empty(), || format!("{:?}", sim.warnings()))?;
        equal("b", &sim.get(&b)?, vec![9f32, 9.0])?;
    }
    Ok(())
}

/// An input that keeps a value of its own lives where its hint says: nowhere, so in the first context.
fn state_inputs(stage: &Stage) -> Result<()> {
    let (x, n) = (vector::<f32>("x"), scalar::<f32>("n"));
    let b = shared("b", vec![1f32, 2.0]).on("dev1");
    let f = function((&x, In::new(&n).default(1f32).update(&n * 2.0)));
    let f = f.output((&*b * &x).sum(..) + &n).update(&b, &*b + &n).compile()?;
    for mixed in [false, true] {
        let (reference, f) = (f.fork()?, stage.function(&f.fork()?)?);
        let mut sim = f.optimize(two(stage, mixed)?)?;
        let given: [fn() -> Args; 4] = [
            || args![vec![1f32, 1.0]],
            || args![vec![1f32, 1.0]; n = 10f32],
            || args![vec![2f32, 1.0]],
            || args![vec![0f32, 1.0], 3f32],
        ];
        for given in given {
            let want = reference.call_reference(given())?;
            near("a call", &sim.call(given())?[0], &want[0], &relative(&want[0], 1e-5))?;
        }
        let before = sim.get_value("n")?;
        fails("a shape", sim.call(args![vec![1f32; 3]; n = 5f32]), &["3"])?;
        equal("the value from before", &sim.get_value("n")?, before)?;
        let want = reference.run_n(3, args![vec![1f32, 2.0]; n = 1f32])?;
        let got = sim.run_n(3, args![vec![1f32, 2.0]; n = 1f32])?;
        near("run_n", &got[0], &want[0], &relative(&want[0], 1e-5))?;
    }
    Ok(())
}
