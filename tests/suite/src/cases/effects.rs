//! Side effects of a call: assertions and printed values; and ops made of expressions.

use super::family;
use crate::stage::{Scenario, Stage, ensure, equal, fails, near, relative};
use std::sync::{Arc, Mutex};
use workalike::Result;
use workalike::ops::set_print_hook;
use workalike::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    family("effects", &[("assert", assert), ("print", print), ("op_from_graph", op_from_graph)])
}

fn assert(stage: &Stage) -> Result<()> {
    let (x, limit) = (matrix::<f32>("x"), scalar::<f32>("limit"));
    let total = shared("total", 0f32);
    let checked =
        x.assert(x.less(&limit), "x is below its limit").assert(x.extent(0).greater(0i64), "x has rows");
    let f = function([&x, &limit]).output(checked.exp().sum(1)).update(&total, &total + checked.sum(..));
    let f = stage.function(&f.compile()?)?;
    let mut simulator = stage.simulator(&f)?;
    let good = Value::from_vec(&[2, 2], vec![0f32, 0.0, 0.0, 0.0])?;
    for bad in [vec![0f32, 0.0, 0.0, 3.0], vec![f32::NAN, 0.0, 0.0, 0.0], vec![f32::INFINITY; 4]] {
        let bad = Value::from_vec(&[2, 2], bad)?;
        let words = ["assert", "node #", "x is below its limit"];
        fails("a call", simulator.call(args![&bad, 2f32]), &words)?;
        fails("many calls", simulator.run_n(3, args![&bad, 2f32]), &words)?;
        fails("the reference", f.call_reference(args![&bad, 2f32]), &words)?;
        equal("the call after it", &simulator.call(args![&good, 2f32])?[0], vec![2f32, 2.0])?;
    }
    let none = Value::zeros(DType::F32, &[0, 2])?;
    fails("no rows", simulator.call(args![none, 2f32]), &["x has rows"])
}

/// The hook is global to the process, and other scenarios may run at the same time, so the label is unique.
fn print(stage: &Stage) -> Result<()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock();
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let sink = seen.clone();
    let before = set_print_hook(Some(Arc::new(move |label: &str, value: &Value| {
        if let ("a story's x", Ok(mut seen)) = (label, sink.lock()) {
            seen.push(value.clone());
        }
    })));
    let result = printed(stage, &seen);
    set_print_hook(before);
    result
}

fn printed(stage: &Stage, seen: &Mutex<Vec<Value>>) -> Result<()> {
    let x = matrix::<f32>("x");
    let total = shared("total", vec![0f32; 2]);
    let y = (&x + 1.0).t().print("a story's x");
    let slope = grad(y.sqr().sum(..), [&x])?;
    let f = function([&x]).output(&slope[0]).update(&total, &total + y.sum(0)).compile()?;
    let f = stage.function(&f)?;
    // Strict: printing a value needs no host node.
    let mut simulator = stage.simulator(&f)?;
    let value = Value::from_vec(&[2, 2], vec![0f32, 1.0, 2.0, 3.0])?;
    let told = Value::from_vec(&[2, 2], vec![1f32, 3.0, 2.0, 4.0])?;
    let got = simulator.call(args![&value])?;
    equal("the gradient", &got[0], Value::from_vec(&[2, 2], vec![2f32, 4.0, 6.0, 8.0])?)?;
    simulator.run_n(2, args![&value])?;
    equal("the state", &simulator.get_value("total")?, vec![9f32, 21.0])?;
    let seen = seen.lock().map_or(vec![], |mut seen| std::mem::take(&mut *seen));
    ensure(seen.len() == 3, || format!("{} values were printed in 3 steps", seen.len()))?;
    seen.iter().try_for_each(|value| equal("what was told", value, &told))
}

fn op_from_graph(stage: &Stage) -> Result<()> {
    let (x, w, rate) = (matrix::<f32>("x"), matrix::<f32>("w"), scalar::<f32>("rate"));
    let plain = OpFromGraph::new([&x, &w], [x.dot(&w).tanh()])?.named("layer");
    // A gradient that is clipped.
    let clipped = plain.clone().grad(|inputs, output_grads| {
        let (x, w) = (&inputs[0], &inputs[1]);
        let y = x.dot(w).tanh();
        let g = (&output_grads[0] * (1.0 - y.sqr())).clip(-0.01, 0.01);
        vec![Some(g.dot(w.t())), Some(x.t().dot(&g))]
    })?;
    for (what, op) in [("plain", plain.clone()), ("inlined", plain.inline(true)), ("clipped", clipped)] {
        let start: Vec<f32> = (0..9).map(|i| (i as f32 - 4.0) * 0.2).collect();
        let w = shared("w", Value::from_vec(&[3, 3], start)?);
        let layer = |x: &Variable| op.apply([x, &*w]).swap_remove(0);
        let cost = layer(&layer(&x)).sqr().sum(..);
        let slope = grad(&cost, [&w])?;
        let f = function([&x, &rate]).output(&cost).update(&w, &w - &slope[0] * &rate).compile()?;
        let f = stage.function(&f)?;
        let given: Vec<f32> = (0..12).map(|i| (i % 5) as f32 * 0.3 - 0.5).collect();
        let args = || -> Result<Args> { Ok(args![Value::from_vec(&[4, 3], given.clone())?, 0.1f32]) };
        let (reference, mut simulator) = (f.fork()?, stage.simulator(&f)?);
        for _ in 0..3 {
            let (got, want) = (simulator.call(args()?)?, reference.call_reference(args()?)?);
            near(&format!("{what}, the cost"), &got[0], &want[0], &relative(&want[0], 1e-5))?;
        }
        let want = reference.cells()[0].get_value()?;
        near(&format!("{what}, the weights"), &simulator.get_value("w")?, &want, &relative(&want, 1e-4))?;
    }
    Ok(())
}
