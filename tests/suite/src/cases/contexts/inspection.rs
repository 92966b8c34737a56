//! What a Simulator over two contexts says of itself: plans, profiles, checks, errors.

use super::super::{Story, family};
use super::{ramp, train, two};
use crate::stage::{Scenario, Stage, ensure, equal, fails, near, relative};
use ndarray::Array3;
use workalike::engine::Plan;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 4] = [
        ("plans", plans),
        ("profiles_and_checks", profiles),
        ("errors_name_node_and_context", errors),
        ("a_guarded_nan", guarded),
    ];
    family("contexts", &stories)
}

/// The plans of the stages, one after another.
fn plans(stage: &Stage) -> Result<()> {
    let given = || args![ramp(16, 4), ramp(16, 2)];
    for mixed in [false, true] {
        let mut sim = stage.function(&train()?)?.optimize(two(stage, mixed)?)?;
        let report = sim.memory_report(given())?;
        let rows = |context: &str| report.largest.iter().filter(|row| row.what.contains(context)).count();
        ensure(rows("(on dev0)") > 0 && rows("(on dev1)") > 0, || report.to_string())?;
        let states = 4 * (4 * 8 + 8 + 8 * 2 + 2);
        ensure(report.state == states && report.arena >= report.lower_bound, || report.to_string())?;
        sim.reserve(1 << 12)?;
        sim.reserve_for(given())?;
        let Plan { steps, buffers, device, total, .. } = &sim.plan(given())?;
        let of = |name: &str| steps.iter().filter(|step| step.context.as_deref() == Some(name)).count();
        ensure(of("dev0") > 1 && of("dev1") > 1 && of("dev0") + of("dev1") == steps.len(), || {
            device.clone()
        })?;
        ensure(device.contains("dev0 (") && device.contains("dev1 ("), || device.clone())?;
        ensure(total.launches as usize >= steps.len() / 2, || format!("{total:?}"))?;
        let known = |id: usize| buffers.iter().any(|buffer| buffer.id == id);
        ensure(steps.iter().flat_map(|step| &step.operands).all(|o| known(o.buffer)), || "buffers".into())?;
        ensure(buffers.iter().any(|buffer| buffer.name == "w2"), || format!("{buffers:?}"))?;
        let text = sim.plan(given())?.to_string();
        ensure(text.contains("segment 0 on dev0") && text.contains(" on dev0 ("), || text)?;
        sim.call(given())?;
        let text = sim.explain();
        ensure(text.contains("/0 on dev0") && text.contains("/commit on dev1"), || text)?;
        sim.trim();
        sim.call(given())?;
        sim.sources();
    }
    // A length that another context computes is not known before a call.
    let (x, n) = (vector::<f32>("x"), shared("n", 1i64).on("dev1"));
    let taken = transfer(&x * 2.0, "dev0").index(idx![range(0i64, &*n + 1i64)]);
    let mut sim =
        stage.function(&function([&x]).output(taken + 1.0).compile()?)?.optimize(two(stage, true)?)?;
    let given = || args![vec![1f32, 2.0, 3.0]];
    fails(
        "an unknown length",
        sim.plan(given()),
        &["shapes on dev0", "another context computes", "Call it"],
    )?;
    fails("an unknown length", sim.memory_report(given()), &["not known before a call"])?;
    equal("the call", &sim.call(given())?[0], vec![3f32, 5.0])
}

fn profiles(stage: &Stage) -> Result<()> {
    let xs = Array3::from_shape_fn((3, 16, 4), |(s, i, j)| ((s * 7 + i * 4 + j) % 11) as f32 * 0.1);
    let given = || args![each(&xs), ramp(16, 2)];
    for mixed in [false, true] {
        let f = stage.function(&train()?)?;
        let (mut sim, mut plain) = (f.optimize(two(stage, mixed)?)?, f.optimize(two(stage, mixed)?)?);
        let profile = sim.profile(3, given())?;
        let of = |name: &str| profile.kernels().iter().filter(|k| k.name.starts_with(name)).count();
        ensure(of("dev0: ") > 0 && of("dev1: ") > 0, || profile.to_string())?;
        ensure(of("dev0: ") + of("dev1: ") == profile.kernels().len(), || profile.to_string())?;
        ensure(profile.calls() == 3 && profile.total() <= profile.elapsed(), || profile.to_string())?;
        plain.run_n(3, given())?;
        for name in ["w1", "b2"] {
            let want = plain.get_value(name)?;
            near(name, &sim.get_value(name)?, &want, &relative(&want, 1e-5))?;
        }
        let before = sim.get_value("w2")?;
        let found = sim.verify(given(), 3)?;
        ensure(found.passed() && found.steps == 3, || found.to_string())?;
        equal("verification works on copies", &sim.get_value("w2")?, before)?;
    }
    Ok(())
}

/// As on one device: op, node, line; and the context.
fn errors(stage: &Stage) -> Result<()> {
    let (x, at) = (vector::<f32>("x"), vector::<i64>("at"));
    let (a, b) = (shared("a", vec![1f32; 2]), shared("b", vec![1f32, 2.0, 3.0]).on("dev1"));
    let grown = (&*a * &x).exp();
    let line = line!() + 1;
    let taken = (&*b * transfer(grown.sum(..), "dev1")).index(idx![&at]);
    let f = function([&x, &at]).output(transfer(taken.sum(..), "dev0") * 2.0).update(&a, &grown).compile()?;
    let pure = function([&x, &at]).output(transfer(taken.sum(..), "dev0") * 2.0).compile()?;
    let place = format!("contexts/inspection.rs:{line}");
    let place = if stage.is_loaded() { "" } else { &place };
    let bad = || args![vec![0f32; 2], vec![0i64, 3]];
    for f in [f, pure] {
        let f = stage.function(&f)?;
        let one = match f.optimize(stage.open()?)?.call(bad()) {
            Err(error) => error.to_string(),
            Ok(_) => String::new(),
        };
        let node =
            one.find("(node #").map_or("", |from| &one[from..from + one[from..].find(')').unwrap_or(0)]);
        ensure(!node.is_empty(), || one.clone())?;
        for mixed in [false, true] {
            let mut sim = f.optimize(two(stage, mixed)?)?;
            let words = [node, "out of range", "(on dev1)", place];
            fails("a call", sim.call(bad()), &words)?;
            fails("a borrowing call", sim.call_borrowed(bad()).and_then(|b| b.to_value(0)), &words)?;
            let results = sim.call_device(bad()).and_then(|results| results[0].to_value());
            fails("a call on the devices", results, &words)?;
            let _ = sim.synchronize();
            fails("iterations", sim.run_n(2, bad()), &[node, "(on dev1)", "iteration 0 of 2"])?;
            fails("a profile", sim.profile(1, bad()), &words)?;
            equal("a", &sim.get_value("a")?, vec![1f32; 2])?;
            sim.call(args![vec![0f32; 2], vec![0i64]])?;
        }
    }
    Ok(())
}

/// Debugging options belong to a context's device.
fn guarded(stage: &Stage) -> Result<()> {
    let (x, b) = (vector::<f32>("x"), shared("b", vec![1f32, 4.0]).on("dev1"));
    let line = line!() + 1;
    let root = (&*b - &x).sqrt();
    let f = function([&x]).output(transfer(&root, "dev0") * 2.0).update(&b, &root + 1.0).compile()?;
    let open = || -> Result<_> { Ok(stage.open()?.nan_guard(true)) };
    let mut sim = f.optimize(contexts([("dev0", open()?), ("dev1", open()?)]))?;
    equal("finite", &sim.call(args![vec![1f32, 3.0]])?[0], vec![0f32, 2.0])?;
    let place = format!("contexts/inspection.rs:{line}");
    let bad = sim.call(args![vec![0f32, 3.0]]);
    fails("a root", bad, &["sqrt", "it makes a NaN, first at [1]", &place, "(on dev1)"])?;
    equal("the state", &sim.get_value("b")?, vec![1f32, 2.0])
}
