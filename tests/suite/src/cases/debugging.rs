//! Steps that are launched one by one, and the first node that makes a NaN or an infinity.

use super::{Story, family};
use crate::stage::{Scenario, Stage, ensure, equal, fails, near, relative};
use workalike::Result;
use workalike::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 6] = [
        ("launch_blocking", launch_blocking),
        ("the_first_nan", first_nan),
        ("infinities", infinities),
        ("what_is_given_is_not_made", given),
        ("results_written_in_parts", parts),
        ("a_guarded_call_that_fails_changes_nothing", unchanged),
    ];
    family("debugging", &stories)
}

/// A training step: by call, by `run_n`, and timed.
fn launch_blocking(stage: &Stage) -> Result<()> {
    let (x, w) = (matrix::<f32>("x"), shared("w", array![[0.1f32, -0.2], [0.3, 0.4]]));
    let h = softmax(x.dot(&w).tanh(), -1);
    let cost = (h.cumsum(0).sqr()).mean(..);
    let g = grad(&cost, [&w])?;
    let f = function([&x]).output(&cost).update(&w, &*w - 0.5 * &g[0]).compile()?;
    let given = || args![array![[1f32, 2.0], [3.0, -4.0], [0.5, 0.25]]];
    let mut plain = f.optimize(stage.open()?)?;
    for (blocking, guard) in [(true, false), (false, true), (true, true)] {
        let backend = stage.open()?.launch_blocking(blocking).nan_guard(guard);
        let mut sim = stage.function(&f)?.optimize(backend)?;
        let want = plain.call(given())?[0].clone();
        near("a call", &sim.call(given())?[0], &want, &relative(&want, 1e-5))?;
        let (want, got) = (plain.run_n(7, given())?, sim.run_n(7, given())?);
        near("run_n", &got[0], &want[0], &relative(&want[0], 1e-5))?;
        let profile = sim.profile(3, given())?;
        ensure(!profile.kernels().is_empty(), || "a profile".into())?;
        let want = plain.get_value("w")?;
        plain = f.optimize(stage.open()?)?;
        ensure(want.to_f64s().iter().all(|w| w.is_finite()), || format!("{want:?}"))?;
    }
    Ok(())
}

/// In the middle of a graph; the error names op, node, position, operands and the line.
fn first_nan(stage: &Stage) -> Result<()> {
    let (x, y) = (matrix::<f32>("x"), vector::<f32>("y"));
    let line = line!() + 1;
    let root = (&x - &y).sqrt();
    let f = function([&x, &y]).output((root.exp() + 1.0).sum(..)).compile()?;
    let mut sim = f.optimize(stage.open()?.nan_guard(true))?;
    let good = || args![array![[4f32, 5.0], [6.0, 7.0]], vec![1f32, 2.0]];
    let want = f.call_reference(good())?[0].clone();
    near("finite", &sim.call(good())?[0], &want, &relative(&want, 1e-5))?;
    let bad = args![array![[4f32, 5.0], [6.0, 1.0]], vec![1f32, 2.0]];
    let place = format!("debugging.rs:{line}");
    fails("a root", sim.call(bad), &["sqrt", "it makes a NaN, first at [1, 1] of float32(2, 2)", &place])?;
    // The Simulator goes on.
    near("finite again", &sim.call(good())?[0], &want, &relative(&want, 1e-5))
}

fn infinities(stage: &Stage) -> Result<()> {
    for dtype in [DType::F32, DType::F16] {
        let x = Variable::input("x", TensorType::of_rank(dtype, 1));
        let f = function([&x]).output((1.0 / &x).tanh()).compile()?;
        let mut sim = stage.function(&f)?.optimize(stage.open()?.nan_guard(true))?;
        let given = |x: [f32; 3]| Value::from(x.to_vec()).cast(dtype);
        sim.call(args![given([1.0, 2.0, 4.0])?])?;
        let call = sim.call(args![given([1.0, 0.0, 4.0])?]);
        fails("a division", call, &["divide", "an infinity, first at [1]"])?;
    }
    let x = vector::<f32>("x");
    let f = function([&x]).output(x.cumsum(0).log()).compile()?;
    let mut sim = f.optimize(stage.open()?.nan_guard(true))?;
    fails("after a library op", sim.call(args![vec![1f32, -1.0, 3.0]]), &["log", "an infinity", "[1]"])
}

/// NaN and infinity of inputs, constants and shared variables are passed on; a mask of -inf is no error.
fn given(stage: &Stage) -> Result<()> {
    let (x, keep) = (matrix::<f32>("x"), matrix::<bool>("keep"));
    let w = shared("w", vec![f32::NAN, 1.0]);
    let masked = softmax(where_(&keep, &x, f64::NEG_INFINITY), -1);
    let f = function([&x, &keep]).output(&masked).output(x.sum(0) + &*w).compile()?;
    let mut sim = stage.function(&f)?.optimize(stage.open()?.nan_guard(true))?;
    let got = sim.call(args![array![[1f32, 1.0], [0.0, 2.0]], array![[true, true], [true, false]]])?;
    equal("a mask", &got[0], array![[0.5f32, 0.5], [1.0, 0.0]])?;
    let sums = got[1].to_vec::<f32>()?;
    ensure(sums[0].is_nan() && sums[1] == 4.0, || format!("{sums:?}"))?;
    let nan = args![array![[f32::NAN, 1.0]], array![[true, true]]];
    ensure(sim.call(nan)?[1].to_vec::<f32>()?[0].is_nan(), || "a NaN that is given".into())
}

/// What a step leaves to the next is not yet computed, and its memory may have held a NaN before.
fn parts(stage: &Stage) -> Result<()> {
    let (x, p, q) = (vector::<f32>("x"), vector::<f32>("p"), vector::<f32>("q"));
    let least = (&x * 2.0).cumsum(0).sort(0).index(idx![0]);
    let roots = concatenate([p.sqrt() + &least - &least, (&q + &least - &least).log()], 0).cumsum(0);
    let f = function([&x, &p, &q]).output(roots).output(x.index(idx![1])).compile()?;
    let mut sim = stage.function(&f)?.optimize(stage.open()?.nan_guard(true))?;
    let (x, half) = (vec![1f32, f32::NAN, 2.0, 3.0], vec![1f32, 4.0]);
    let want = f.call_reference(args![&x, &half, &half])?[0].clone();
    for _ in 0..2 {
        near("finite", &sim.call(args![&x, &half, &half])?[0], &want, &relative(&want, 1e-5))?;
        fails("a root", sim.call(args![&x, vec![1f32, -1.0], &half]), &["sqrt", "a NaN", "[1]"])?;
        fails("a logarithm", sim.call(args![&x, &half, vec![0f32, 1.0]]), &["log", "an infinity", "[0]"])?;
    }
    Ok(())
}

/// Shared variables keep their values, in a call and in the iteration of `run_n` that fails.
fn unchanged(stage: &Stage) -> Result<()> {
    let (n, log) = (shared("n", vec![3f32; 4]), shared("log", vec![0f32; 4]));
    let f = function(()).update(&n, &*n - 1.0).update(&log, n.sqrt() + &*log).compile()?;
    let mut sim = stage.function(&f)?.optimize(stage.open()?.nan_guard(true))?;
    sim.run_n(3, args![])?;
    equal("three iterations", &sim.get_value("n")?, vec![0f32; 4])?;
    let before = sim.get_value("log")?;
    // The root of 0 is 0; in the iteration after it the root is of -1.
    fails("a root", sim.run_n(5, args![]), &["sqrt", "NaN"])?;
    equal("the iteration that failed", &sim.get_value("n")?, vec![-1f32; 4])?;
    equal("the other variable", &sim.get_value("log")?, before)?;
    fails("a call", sim.call(args![]), &["sqrt", "NaN"])?;
    equal("a call that failed", &sim.get_value("n")?, vec![-1f32; 4])
}
