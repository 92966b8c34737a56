//! One Function on two devices: the tested one, and a second handle of it or the host.

mod inspection;
mod surface;

use super::{Story, family};
use crate::stage::{Scenario, Stage, ensure, equal, fails, near, relative};
use ndarray::Array2;
use std::sync::Arc;
use workalike::engine::Contexts;
use workalike::engine::device::Device;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 9] = [
        ("two_variables", two_variables),
        ("training_in_two_halves", training),
        ("values_swap_places", swap),
        ("many_stages", many_stages),
        ("methods", methods),
        ("late_hints", late_hints),
        ("a_failed_call_changes_nothing", failed),
        ("hints_on_one_device", one_device),
        ("misuse", misuse),
    ];
    let own = family("contexts", &stories).into_iter();
    own.chain(surface::scenarios()).chain(inspection::scenarios()).collect()
}

/// The tested device as `dev0`, and as `dev1` a second stream of it, or the host.
fn two(stage: &Stage, mixed: bool) -> Result<Contexts<Arc<dyn Device>>> {
    let second = if mixed { Host::threads(1).open()? } else { stage.open()? };
    Ok(contexts([("dev0", stage.open()?), ("dev1", second)]))
}

fn ramp(rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * columns + j) % 13) as f32 * 0.05 - 0.3)
}

/// Theano's example: products on each device, and their sum on one of them.
fn two_variables(stage: &Stage) -> Result<()> {
    let (v01, v02) = (shared("v01", ramp(64, 32)).on("dev0"), shared("v02", ramp(32, 64)).on("dev0"));
    let (v11, v12) = (shared("v11", ramp(64, 48)).on("dev1"), shared("v12", ramp(48, 64)).on("dev1"));
    let f = function(())
        .output(v01.dot(&v02))
        .output(v11.dot(&v12))
        .output(v01.dot(&v02) + transfer(v11.dot(&v12), "dev0"));
    let f = stage.function(&f.compile()?)?;
    let want = f.call_reference(args![])?;
    for mixed in [false, true] {
        let mut sim = f.optimize(two(stage, mixed)?)?;
        for _ in 0..3 {
            let got = sim.call(args![])?;
            for output in 0..3 {
                near(
                    &format!("output {output}"),
                    &got[output],
                    &want[output],
                    &relative(&want[output], 1e-4),
                )?;
            }
        }
        ensure(sim.context_of("v11")? == "dev1" && sim.context_of("v01")? == "dev0", || "contexts".into())?;
        let text = sim.explain();
        ensure(text.contains(" on dev0") && text.contains(" on dev1"), || text)?;
        ensure(sim.contexts().eq(["dev0", "dev1"]), || "names".into())?;
        let same = Arc::ptr_eq(sim.device(), sim.context_device("dev0")?);
        ensure(same && !Arc::ptr_eq(sim.device(), sim.context_device("dev1")?), || "devices".into())?;
    }
    Ok(())
}

/// A network whose layers live on two devices; gradients and updates of each stay there.
fn train() -> Result<Function> {
    let (x, t) = (matrix::<f32>("x"), matrix::<f32>("t"));
    let (w1, b1) = (shared("w1", ramp(4, 8)), shared("b1", vec![0.1f32; 8]));
    let (w2, b2) = (shared("w2", ramp(8, 2)).on("dev1"), shared("b2", vec![-0.1f32; 2]).on("dev1"));
    let h = (x.dot(&w1) + &*b1).tanh();
    let y = transfer(h, "dev1").dot(&w2) + &*b2;
    let cost = (y - &t).sqr().mean(..);
    let states = [&w1, &b1, &w2, &b2];
    let grads = grad(&cost, states)?;
    let updates: Vec<_> = states.iter().zip(&grads).map(|(&s, g)| (s.clone(), &**s - 0.1 * g)).collect();
    function([&x, &t]).name("train").output(&cost).updates(updates).compile()
}

fn training(stage: &Stage) -> Result<()> {
    let steps = 6;
    let xs =
        ndarray::Array3::from_shape_fn((steps, 16, 4), |(s, i, j)| ((s * 7 + i * 4 + j) % 11) as f32 * 0.1);
    let ts = ndarray::Array3::from_shape_fn((steps, 16, 2), |(s, i, j)| ((s + i * 2 + j) % 5) as f32 * 0.2);
    let slice = |a: &ndarray::Array3<f32>, s| Value::from(a.index_axis(ndarray::Axis(0), s).to_owned());
    for mixed in [false, true] {
        let (reference, f) = (train()?, stage.function(&train()?)?);
        let (mut by_call, mut by_run) = (f.optimize(two(stage, mixed)?)?, f.optimize(two(stage, mixed)?)?);
        for step in 0..steps {
            let given = || args![slice(&xs, step), slice(&ts, step)];
            let want = reference.call_reference(given())?[0].clone();
            near(&format!("step {step}"), &by_call.call(given())?[0], &want, &relative(&want, 1e-4))?;
        }
        by_run.run_n(steps as u64, args![each(&xs), each(&ts)])?;
        let long = by_run.run_n(steps as u64 + 1, args![each(&xs), each(&ts)]);
        fails("a short sequence", long, &["input", "7 slices", "6"])?;
        let none = by_run.run_n(0, args![slice(&xs, 0), slice(&ts, 0)])?;
        ensure(none.is_empty(), || "no iterations".into())?;
        for cell in reference.cells() {
            let (name, want) = (cell.name(), cell.get_value()?);
            near(name, &by_call.get_value(name)?, &want, &relative(&want, 1e-4))?;
            near(name, &by_run.get_value(name)?, &want, &relative(&want, 1e-4))?;
            let at = if name.ends_with('2') { "dev1" } else { "dev0" };
            ensure(by_call.context_of(name)? == at, || format!("{name} is on {at}"))?;
        }
        // The parents are written at once; the other Simulator then has a conflict.
        let mut written = by_call.sync_to_parent()?;
        written.sort();
        ensure(written == ["b1", "b2", "w1", "w2"], || format!("{written:?}"))?;
        by_run.run_n(1, args![slice(&xs, 0), slice(&ts, 0)])?;
        fails("a conflict", by_run.sync_to_parent(), &["changed in the parent", "sync_to_parent_keeping"])?;
        let own = by_run.get_value("w2")?;
        by_run.sync_to_parent_keeping(Keep::Simulator)?;
        equal("settled", &f.shared("w2")?.get_value()?, own)?;
        by_call.sync_from_parent_keeping(Keep::Parent)?;
        by_call.call(args![slice(&xs, 0), slice(&ts, 0)])?;
        by_call.reset()?;
        equal("reset", &by_call.get_value("w1")?, f.shared("w1")?.get_value()?)?;
        f.shared("b2")?.set_value(vec![0f32; 2])?;
        ensure(by_call.sync_from_parent()? == ["b2"], || "b2 alone".into())?;
        equal("b2", &by_call.get_value("b2")?, vec![0f32; 2])?;
        by_call.set_value("b1", vec![1f32; 8])?;
        equal("b1", &by_call.get_value("b1")?, vec![1f32; 8])?;
    }
    Ok(())
}

/// Updates read old values on every device; outputs are variables and inputs as they are.
fn swap(stage: &Stage) -> Result<()> {
    let x = vector::<f32>("x");
    let (a, b) = (shared("a", vec![1f32, 2.0]), shared("b", vec![3f32, 4.0]).on("dev1"));
    let c = shared("c", vec![0f32; 2]).on("dev1");
    let f = function([&x]).output(&a).output(&b).output(&x).output(constant(vec![7f32]));
    let f = f.update(&a, &*b).update(&b, &*a).update(&c, &x).compile()?;
    let mut sim = stage.function(&f)?.optimize(two(stage, true)?)?;
    for (first, second) in [([1f32, 2.0], [3f32, 4.0]), ([3.0, 4.0], [1.0, 2.0]), ([1.0, 2.0], [3.0, 4.0])] {
        let got = sim.call(args![vec![5f32, 6.0]])?;
        let want = [first.to_vec(), second.to_vec(), vec![5.0, 6.0], vec![7.0]];
        for (output, want) in want.into_iter().enumerate() {
            equal(&format!("output {output}"), &got[output], want)?;
        }
    }
    equal("a", &sim.get_value("a")?, vec![3f32, 4.0])?;
    equal("b", &sim.get_value("b")?, vec![1f32, 2.0])?;
    equal("c", &sim.get_value("c")?, vec![5f32, 6.0])
}

/// There and back several times, with shapes that change from call to call.
fn many_stages(stage: &Stage) -> Result<()> {
    let (x, w) = (vector::<f32>("x"), shared("w", 1.5f32).on("dev1"));
    let mut y = &x * 2.0;
    for turn in 0..4 {
        y = transfer(&y, if turn % 2 == 0 { "dev1" } else { "dev0" });
        y = (&y + &*w).sin() + (turn as f64);
    }
    let last = transfer(&y, "dev0").cumsum(0);
    let f = stage.function(&function([&x]).output(&last).output(y.sum(..)).compile()?)?;
    let mut sim = f.optimize(two(stage, false)?)?;
    for n in [5usize, 1, 33, 0, 5] {
        let x: Vec<f32> = (0..n).map(|i| i as f32 * 0.1).collect();
        let (got, want) = (sim.call(args![&x])?, f.call_reference(args![&x])?);
        for output in 0..2 {
            near(
                &format!("{n}, output {output}"),
                &got[output],
                &want[output],
                &relative(&want[output], 1e-4),
            )?;
        }
    }
    Ok(())
}

/// Methods over the same variables, some of them on one device alone.
fn methods(stage: &Stage) -> Result<()> {
    let x = scalar::<f32>("x");
    let (a, b) = (shared("a", 1f32), shared("b", 10f32).on("dev1"));
    let both = function([&x]).output(&*a + &*b).update(&a, &*a + &x).update(&b, &*b * &x).compile()?;
    let one = function([&x]).output(&*b - &x).update(&b, &*b + 1.0).compile()?;
    let bundle = stage.bundle(&[("both", &both), ("one", &one)])?;
    let mut sim = bundle["both"].optimize(two(stage, true)?)?;
    sim.add_method("one", &bundle["one"])?;
    ensure(sim.methods().eq(["both", "one"]), || "names".into())?;
    ensure(sim.call(args![2f32])?[0].item::<f32>()? == 11.0, || "the first".into())?;
    ensure(sim.method("one")?.call(args![5f32])?[0].item::<f32>()? == 15.0, || "the second".into())?;
    let last = sim.method("one")?.run_n(3, args![0f32])?;
    ensure(last[0].item::<f32>()? == 23.0, || format!("{:?}", last[0]))?;
    let array = sim.call_device(args![1f32])?.remove(0);
    ensure(array.to_value()?.item::<f32>()? == 27.0, || format!("{array:?}"))?;
    fails("a name", sim.add_method("one", &bundle["one"]), &["already has a method one"])?;
    // A Function over other values of the variables is refused on both devices, and can come again.
    let other = Bundle::from_bytes(&Bundle::new().with("both", &both).to_bytes()?)?;
    let other = &other["both"];
    sim.sync_to_parent()?;
    other.shared("a")?.set_value(bundle["both"].shared("a")?.get_value()?)?;
    other.shared("b")?.set_value(-1f32)?;
    for _ in 0..2 {
        fails("another value", sim.add_method("other", other), &["b has another value"])?;
    }
    sim.add_method_keeping("other", other, Keep::Parent)?;
    ensure(sim.method("one")?.call(args![0f32])?[0].item::<f32>()? == -1.0, || "the parent's".into())?;
    fails("no method", sim.method("two"), &["no method two", "both, one, other"])
}

/// A hint that comes later does not move a variable.
fn late_hints(stage: &Stage) -> Result<()> {
    let late = shared("late", 1f32);
    let first = function(()).update(&late, &*late + 1.0).compile()?;
    let mut sim = first.optimize(two(stage, true)?)?;
    let again = function(()).output(late.clone().on("dev1")).compile()?;
    let expected = ["late", "dev0, where another method has it", "dev1"];
    fails("a late hint", sim.add_method("again", &again), &expected)
}

/// An error on one device leaves the variables of both.
fn failed(stage: &Stage) -> Result<()> {
    let (x, at) = (vector::<f32>("x"), vector::<i64>("at"));
    let (a, b) = (shared("a", vec![1f32; 2]), shared("b", vec![1f32, 2.0, 3.0]).on("dev1"));
    let taken = b.index(idx![&at]);
    let f = function([&x, &at]).output(taken.sum(..)).update(&a, &*a + &x).update(&b, &*b * 2.0).compile()?;
    let mut sim = stage.function(&f)?.optimize(two(stage, false)?)?;
    sim.call(args![vec![1f32; 2], vec![0i64, 2]])?;
    fails("an index", sim.call(args![vec![1f32; 2], vec![0i64, 3]]), &["index", "out of range"])?;
    equal("a", &sim.get_value("a")?, vec![2f32; 2])?;
    equal("b", &sim.get_value("b")?, vec![2f32, 4.0, 6.0])?;
    fails("a shape", sim.call(args![vec![1f32; 3], vec![0i64]]), &["3"])?;
    equal("a", &sim.get_value("a")?, vec![2f32; 2])?;
    equal("b", &sim.get_value("b")?, vec![2f32, 4.0, 6.0])?;
    let good = sim.call(args![vec![1f32; 2], vec![1i64]])?;
    equal("it goes on", &good[0], 4f32)
}

/// On one device, hints cost nothing: not a step more.
fn one_device(stage: &Stage) -> Result<()> {
    let build = |hints: bool| -> Result<Function> {
        let x = vector::<f32>("x");
        let w = shared("w", vec![1f32; 4]);
        let w = if hints { w.on("dev1") } else { w };
        let y = (&x * &*w).exp();
        let y = if hints { transfer(transfer(&y, "dev0"), "dev7") } else { y };
        function([&x]).output((&y + 1.0).sum(..)).update(&w, &*w + &y).compile()
    };
    let plan = |f: &Function| stage.simulator(f)?.plan(args![vec![0.5f32; 4]]);
    let (with, without) = (plan(&stage.function(&build(true)?)?)?, plan(&build(false)?)?);
    ensure(with.steps.len() == without.steps.len(), || format!("{:?}", with.steps))?;
    let mut sim = build(true)?.optimize(contexts([
        ("dev1", stage.open()?),
        ("dev0", stage.open()?),
        ("dev7", stage.open()?),
    ]))?;
    let mut plain = stage.simulator(&build(false)?)?;
    for _ in 0..3 {
        let (got, want) = (sim.call(args![vec![0.5f32; 4]])?, plain.call(args![vec![0.5f32; 4]])?);
        near("three contexts", &got[0], &want[0], &relative(&want[0], 1e-5))?;
    }
    Ok(())
}

fn misuse(stage: &Stage) -> Result<()> {
    let x = vector::<f32>("x");
    let named = |name: &str, device: Arc<dyn Device>| contexts([(name.to_string().leak() as &str, device)]);
    let w = shared("weights", vec![1f32; 2]).on("gpu7");
    let f = stage.function(&function([&x]).output(&x + &*w).compile()?)?;
    let unknown = f.optimize(named("dev0", stage.open()?));
    fails("a variable", unknown, &["shared variable weights", "contexts dev0", "gpu7"])?;
    let line = line!() + 1;
    let moved = transfer(&x * 2.0, "gpu8");
    let f = function([&x]).output(&moved).compile()?;
    let place = format!("contexts.rs:{line}");
    fails("a transfer", f.optimize(named("dev0", stage.open()?)), &["transfer", &place, "gpu8", "dev0"])?;
    let twice = contexts([("dev0", stage.open()?), ("dev0", stage.open()?)]);
    fails("a name twice", f.optimize(twice), &["dev0 twice"])?;
    fails("none", f.optimize(contexts([] as [(&str, Host); 0])), &["at least one device"])?;
    let mut sim = f.optimize(named("gpu8", stage.open()?))?;
    fails("an argument", sim.call(args![]), &["x"])?;
    fails("no variable", sim.get_value("q"), &["no shared variable q"])?;
    fails("no context", sim.context_device("q").map(drop), &["gpu8", "q"])?;
    // The Function is as it was.
    equal("the Function", &f.call(args![vec![1f32]])?[0], vec![2f32])
}
