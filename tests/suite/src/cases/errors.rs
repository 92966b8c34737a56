//! Errors: the same on every device, and the state is unchanged.

use super::family;
use crate::stage::{Scenario, Stage, ensure, equal, fails};
use workalike::ops::range;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    family(
        "errors",
        &[
            ("gather_out_of_range", gather),
            ("scatter_out_of_range", scatter),
            ("index_out_of_range", index),
            ("labels_out_of_range", labels),
            ("arguments", arguments),
            ("shapes", shapes),
            ("empty_extremes", empty),
            ("recovery", recovery),
        ],
    )
}

fn gather(stage: &Stage) -> Result<()> {
    let (x, i) = (matrix::<f32>("x"), vector::<i64>("i"));
    let f = stage.function(&function([&x, &i]).output(x.index(idx![&i]) * 2.0).compile()?)?;
    let mut simulator = stage.simulator(&f)?;
    let table = Value::from_vec(&[3, 2], vec![1f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    for bad in [3i64, -4, 1 << 40, i64::MIN, i64::MAX] {
        fails(&format!("{bad}"), simulator.call(args![&table, vec![0, bad, 1]]), &["out of"])?;
        fails(&format!("{bad}, run_n"), simulator.run_n(3, args![&table, vec![0, bad, 1]]), &["out of"])?;
        fails(
            &format!("{bad}, the reference"),
            f.call_reference(args![&table, vec![0, bad, 1]]),
            &["out of"],
        )?;
        let good = simulator.call(args![&table, vec![-3i64, 2, 0]])?;
        equal(
            "the call after it",
            &good[0],
            Value::from_vec(&[3, 2], vec![2f32, 4.0, 10.0, 12.0, 2.0, 4.0])?,
        )?;
    }
    Ok(())
}

fn scatter(stage: &Stage) -> Result<()> {
    let i = vector::<i64>("i");
    let x = shared("x", vec![1f32, 2.0, 3.0]);
    let f = stage.function(&function([&i]).output(x.inc_index(idx![&i], 1.0)).compile()?)?;
    let mut simulator = stage.simulator(&f)?;
    for bad in [3i64, -4, i64::MIN] {
        fails(&format!("{bad}"), simulator.call(args![vec![0, bad]]), &["out of"])?;
    }
    equal("the call after it", &simulator.call(args![vec![-1i64, 0, 0]])?[0], vec![3f32, 2.0, 4.0])?;
    equal("the state", &simulator.get_value("x")?, vec![1f32, 2.0, 3.0])
}

fn index(stage: &Stage) -> Result<()> {
    let (x, i) = (matrix::<f64>("x"), scalar::<i64>("i"));
    let f = function([&x, &i]).output(x.index(idx![&i])).output(x.set_index(idx![.., &i], 0.0)).compile()?;
    let f = stage.function(&f)?;
    let mut simulator = stage.simulator(&f)?;
    let table = Value::from_vec(&[2, 2], vec![1f64, 2.0, 3.0, 4.0])?;
    for bad in [2i64, -3, i64::MAX, i64::MIN] {
        fails(&format!("{bad}"), simulator.call(args![&table, bad]), &["out of"])?;
        fails(&format!("{bad}, the reference"), f.call_reference(args![&table, bad]), &["out of"])?;
    }
    equal("the call after it", &simulator.call(args![&table, -2i64])?[0], vec![1f64, 2.0])
}

fn labels(stage: &Stage) -> Result<()> {
    let (x, y) = (matrix::<f32>("x"), vector::<i64>("y"));
    let w = shared("w", Value::zeros(DType::F32, &[2, 3])?);
    let cost = categorical_crossentropy(softmax(x.dot(&w), -1), &y).mean(..);
    let g = grad(&cost, [&w])?;
    let f = stage.function(&function([&x, &y]).output(&cost).update(&w, &w - &g[0]).compile()?)?;
    let mut simulator = stage.simulator(&f)?;
    let x = Value::from_vec(&[2, 2], vec![1f32, 0.0, 0.0, 1.0])?;
    fails("a label of 3", simulator.call(args![&x, vec![0i64, 3]]), &["out of"])?;
    Ok(())
}

fn arguments(stage: &Stage) -> Result<()> {
    let (x, k) = (matrix::<f32>("x"), scalar::<f32>("k"));
    let f =
        stage.function(&function([&x, &k]).name("scaled").output(&x * &k).compile()?.renamed("scaled"))?;
    let mut simulator = stage.simulator(&f)?;
    let good = Value::zeros(DType::F32, &[2, 2])?;
    fails("too few", simulator.call(args![&good]), &["k", "missing"])?;
    fails("too many", simulator.call(args![&good, 1f32, 2f32]), &["2 inputs", "3"])?;
    fails("an unknown name", simulator.call(args![&good; j = 1f32]), &["j", "x", "k"])?;
    fails("given twice", simulator.call(args![&good, 1f32; k = 1f32]), &["k", "twice"])?;
    fails("wrong rank", simulator.call(args![vec![1f32], 1f32]), &["x", "float32"])?;
    fails("wrong dtype", simulator.call(args![Value::zeros(DType::F64, &[2, 2])?, 1f32]), &["x", "float64"])?;
    equal("the call after it", &simulator.call(args![&good; k = 1f32])?[0], &good)
}

fn shapes(stage: &Stage) -> Result<()> {
    let (x, y) = (matrix::<f32>("x"), matrix::<f32>("y"));
    let f = stage.function(&function([&x, &y]).output(&x + &y).compile()?)?;
    let g = stage.function(&function([&x, &y]).output(x.dot(&y)).compile()?)?;
    let h = stage.function(&function([&x]).output(x.reshape([3, -1])).compile()?)?;
    let value = |shape: &[usize]| Value::zeros(DType::F32, shape);
    let (a, b) = (value(&[2, 3])?, value(&[2, 4])?);
    fails("a sum", stage.simulator(&f)?.call(args![&a, &b]), &["add", "3", "4"])?;
    // An axis of extent 1 that was not declared so does not broadcast if the other argument determines the
    // extent.
    fails("a product", stage.simulator(&g)?.call(args![&a, &b]), &["dot"])?;
    fails("a reshape", stage.simulator(&h)?.call(args![&b]), &["reshape"])?;
    equal("the call after it", &stage.simulator(&h)?.call(args![&a])?[0], value(&[3, 2])?)
}

fn empty(stage: &Stage) -> Result<()> {
    let x = matrix::<f32>("x");
    for (what, output) in [("max", x.max(1)), ("argmin", x.argmin(1))] {
        let f = stage.function(&function([&x]).output(output).compile()?)?;
        let result = stage.simulator(&f)?.call(args![Value::zeros(DType::F32, &[3, 0])?]);
        fails(what, result, &[what, "empty"])?;
    }
    Ok(())
}

/// After an error the Simulator is usable, and the parent is unchanged.
fn recovery(stage: &Stage) -> Result<()> {
    let (v, n) = (vector::<f32>("v"), scalar::<i64>("n"));
    let state = shared("state", vec![0f32; 4]);
    let f = function([&v, &n]).output(v.index([range(0i64, &n)])).update(&state, &state + &v).compile()?;
    let f = stage.function(&f)?;
    let mut simulator = stage.simulator(&f)?;
    let ones = Value::from(vec![1f32; 4]);
    simulator.call(args![&ones, 2i64])?;
    fails("a wrong extent", simulator.call(args![vec![1f32; 5], 2i64]), &["add"])?;
    equal("the state", &simulator.get_value("state")?, &ones)?;
    simulator.call(args![&ones, 3i64])?;
    equal("the state", &simulator.get_value("state")?, vec![2f32; 4])?;
    equal("the parent", &f.cells()[0].get_value()?, vec![0f32; 4])?;
    ensure(simulator.sync_to_parent()? == ["state"], || "the state was not synced".into())
}
