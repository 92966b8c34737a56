//! Small forms of workloads, most of them from Theano's tutorials. Complete programs are in
//! `examples/workloads`; workloads that test updates only are in `updates`.
//!
//! Theano has a lazy `ifelse` beside the `switch`. There is no control flow here, so only the `switch` is
//! tested.

use super::family;
use crate::data::{below, normal, random};
use crate::stage::{Scenario, Stage, ensure, equal, fails, near, relative};
use crate::tolerance::Bound;
use workalike::ops::range;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    family(
        "workloads",
        &[
            ("logistic", logistic),
            ("several_outputs", several_outputs),
            ("defaults_and_names", defaults_and_names),
            ("givens", givens),
            ("copies", copies),
            ("streams", streams),
            ("switch", switch),
            ("products_and_strides", products_and_strides),
            ("logistic_regression", logistic_regression),
            ("softmax_regression_by_slices", softmax_regression_by_slices),
            ("mlp", mlp),
        ],
    )
}

const NONE: [&Variable; 0] = [];

/// The relative bound of values and steps, compared with float64.
const SHARE: f64 = 1e-8;

fn logistic(stage: &Stage) -> Result<()> {
    let x = matrix::<f64>("x");
    let f = function([&x])
        .output(1.0 / (1.0 + (-&x).exp()))
        .output(x.sigmoid())
        .output((1.0 + (&x / 2.0).tanh()) / 2.0);
    let f = stage.function(&f.compile()?)?;
    let got = stage.simulator(&f)?.call(args![Value::from_vec(&[2, 2], vec![0f64, 1.0, -1.0, -2.0])?])?;
    let want = [0.5, 0.731_058_578_630_004_9, 0.268_941_421_369_995_1, 0.119_202_922_022_117_55];
    let want = Value::from_vec(&[2, 2], want.to_vec())?;
    (0..3).try_for_each(|i| near("logistic", &got[i], &want, &relative(&want, 1e-14)))
}

fn several_outputs(stage: &Stage) -> Result<()> {
    let (a, b) = (matrix::<f32>("a"), matrix::<f32>("b"));
    let difference = &a - &b;
    let f = function([&a, &b])
        .output_named("diff", &difference)
        .output_named("abs", where_(difference.less(0.0), -&difference, &difference))
        .output_named("square", difference.sqr())
        .compile()?;
    let f = stage.function(&f)?;
    let (x, y) =
        (Value::from_vec(&[2, 2], vec![1f32; 4])?, Value::from_vec(&[2, 2], vec![0f32, 1.0, 2.0, 3.0])?);
    let mut simulator = stage.simulator(&f)?;
    let got = simulator.call(args![&x, &y])?;
    for (name, want) in
        [("diff", [1f32, 0.0, -1.0, -2.0]), ("abs", [1.0, 0.0, 1.0, 2.0]), ("square", [1.0, 0.0, 1.0, 4.0])]
    {
        let value = got.get(name).ok_or_else(|| crate::stage::wrong(format!("no output {name}")))?;
        equal(name, value, Value::from_vec(&[2, 2], want.to_vec())?)?;
    }
    Ok(())
}

fn defaults_and_names(stage: &Stage) -> Result<()> {
    let (x, y, w) = (scalar::<f64>("x"), scalar::<f64>("y"), scalar::<f64>("w"));
    let f = function([In::new(&x), In::new(&y).default(1.0), In::new(&w).default(2.0).name("w_by_name")]);
    let f = stage.function(&f.output((&x + &y) * &w).compile()?)?;
    let mut simulator = stage.simulator(&f)?;
    equal("one given", &simulator.call(args![33.0])?[0], 68.0)?;
    equal("two given", &simulator.call(args![33.0, 2.0])?[0], 70.0)?;
    equal("one and a name", &simulator.call(args![33.0; w_by_name = 1.0])?[0], 34.0)?;
    equal("names in any order", &simulator.call(args![33.0; w_by_name = 1.0, y = 0.0])?[0], 33.0)
}

fn givens(stage: &Stage) -> Result<()> {
    let (inc, given) = (scalar::<i64>("inc"), scalar::<i64>("given"));
    let state = shared("state", 0i64);
    let f = function([&inc, &given]).output(&state * 2i64 + &inc).givens([(&*state, &given)]).compile()?;
    let f = stage.function(&f)?;
    equal("2 * 3 + 1", &stage.simulator(&f)?.call(args![1i64, 3i64])?[0], 7i64)?;
    equal("the state", &state.get_value()?, 0i64)
}

/// Theano's `copy`: the accumulator over another state, and without the update.
fn copies(stage: &Stage) -> Result<()> {
    let inc = scalar::<i64>("inc");
    let (state, other) = (shared("state", 0i64), shared("new_state", 0i64));
    let f = function([&inc]).output_named("state", &state + &inc).update(&state, &state + &inc).compile()?;
    let (swapped, null) = (f.swapped([(&state, &other)])?, f.without_updates()?);
    let bundle = stage.bundle(&[("accumulate", &f), ("swapped", &swapped), ("null", &null)])?;
    let mut simulator = stage.simulator(&bundle["accumulate"])?;
    simulator.add_method("swapped", &bundle["swapped"])?;
    simulator.add_method("null", &bundle["null"])?;
    equal("accumulate", &simulator.call(args![10i64])?[0], 10i64)?;
    equal("the state", &simulator.get_value("state")?, 10i64)?;
    equal("over another", &simulator.method("swapped")?.call(args![100i64])?[0], 100i64)?;
    equal("the new state", &simulator.get_value("new_state")?, 100i64)?;
    equal("the state still", &simulator.get_value("state")?, 10i64)?;
    equal("without update", &simulator.method("null")?.call(args![10i64])?[0], 20i64)?;
    equal("no change", &simulator.get_value("state")?, 10i64)?;
    ensure(bundle["null"].updated().next().is_none(), || "the copy has updates".into())?;
    let stranger = shared("stranger", 0i64);
    fails("an unknown one", f.swapped([(&stranger, &other)]), &["stranger", "it has state"])?;
    fails("another type", f.swapped([(&state, &shared("float", 0f32))]), &["float", "int64", "float32"])?;
    let both = function(NONE).output(&state + &other).compile()?;
    fails("one for two", both.swapped([(&state, &other)]), &["new_state", "two"])?;
    let crossed = stage.function(&both.swapped([(&state, &other), (&other, &state)])?)?;
    equal("each for the other", &stage.simulator(&crossed)?.call(args![])?[0], 0i64)
}

/// Both means are computed, and one is selected.
fn switch(stage: &Stage) -> Result<()> {
    let (a, b) = (scalar::<f32>("a"), scalar::<f32>("b"));
    let (x, y) = (matrix::<f32>("x"), matrix::<f32>("y"));
    let f = function([&a, &b, &x, &y]).output(where_(a.less(&b), x.mean(..), y.mean(..))).compile()?;
    let mut simulator = stage.simulator(&stage.function(&f)?)?;
    let (x, y) = (of_shape::<f32>(&[200, 50])?, Value::from_vec(&[100, 30], vec![3f32; 3000])?);
    equal("the first", &simulator.call(args![0f32, 1f32, &x, &y])?[0], 0f32)?;
    equal("the second", &simulator.call(args![1f32, 0f32, &x, &y])?[0], 3f32)?;
    equal("no order", &simulator.call(args![f32::NAN, 0f32, &x, &y])?[0], 3f32)
}

fn streams(stage: &Stage) -> Result<()> {
    let streams = RandomStreams::new(234);
    let (uniform, normal) = (streams.uniform::<f64>([2, 2]), streams.normal::<f64>([2, 2]));
    let none: [&Variable; 0] = [];
    let f = stage.function(&function(none).output(&uniform).compile()?)?;
    let g = stage.function(&function(none).output(&normal).no_default_updates().compile()?)?;
    let (mut sim_f, mut sim_g) = (stage.simulator(&f)?, stage.simulator(&g)?);
    let (first, second) = (sim_f.call(args![])?, sim_f.call(args![])?);
    ensure(first[0] != second[0], || "f repeats itself".into())?;
    equal("g repeats itself", &sim_g.call(args![])?[0], &sim_g.call(args![])?[0])?;
    // Reseeding: the state of a stream is a shared variable.
    let cell = f.cells()[0].get_value()?;
    sim_f.set_value(f.cells()[0].name(), cell)?;
    equal("seeded again", &sim_f.call(args![])?[0], &first[0])
}

fn products_and_strides(stage: &Stage) -> Result<()> {
    let (x, y) = (matrix::<f32>("x"), matrix::<f32>("y"));
    let every_other = workalike::ops::Ix::from(..).step(2);
    let strided =
        x.index([every_other.clone(), every_other.clone()]) * y.index([every_other.clone(), every_other]);
    let f = function([&x, &y]).output(&x * &y).output(&x + &y).output(&x - &y).output(strided).compile()?;
    let f = stage.function(&f)?;
    let (a, b) = (random(DType::F32, &[10, 12], 1)?, random(DType::F32, &[10, 12], 2)?);
    let mut simulator = stage.simulator(&f)?;
    let (got, want) = (simulator.call(args![&a, &b])?, f.call_reference(args![&a, &b])?);
    (0..4).try_for_each(|i| equal(&format!("output {i}"), &got[i], &want[i]))
}

/// Theano's tutorial at a smaller size: random examples with random labels, which enough weights can fit.
fn logistic_regression(stage: &Stage) -> Result<()> {
    let (examples, features) = (40, 60);
    let (x, y) = (matrix::<f64>("x"), vector::<f64>("y"));
    let w = shared("w", random(DType::F64, &[features], 1)?);
    let b = shared("b", 0f64);
    let p = 1.0 / (1.0 + (-x.dot(&w) - &b).exp());
    let xent = -(&y * p.log()) - (1.0 - &y) * (1.0 - &p).log();
    let cost = xent.mean(..) + 0.01 * w.sqr().sum(..);
    let g = grad(&cost, [&*w, &*b])?;
    let prediction = p.greater(0.5);
    let train = function([&x, &y])
        .output(&prediction)
        .output(xent.mean(..))
        .update(&w, &w - 0.1 * &g[0])
        .update(&b, &b - 0.1 * &g[1])
        .compile()?;
    let predict = function([&x]).output(&prediction).compile()?;
    let data = random(DType::F64, &[examples, features], 2)?;
    let labels = below(2, DType::F64, &[examples], 3)?;
    stage.steps(&train, &vec![vec![data.clone(), labels.clone()]; 5], |want| relative(want, SHARE))?;
    let bundle = stage.bundle(&[("train", &train), ("predict", &predict)])?;
    let mut simulator = stage.simulator(&bundle["train"])?;
    simulator.add_method("predict", &bundle["predict"])?;
    simulator.run_n(300, args![&data, &labels])?;
    let want = labels.cast(DType::Bool)?;
    equal("predictions", &simulator.method("predict")?.call(args![&data])?[0], &want)?;
    simulator.sync_to_parent()?;
    equal("the parent's predictions", &bundle["predict"].call(args![&data])?[0], &want)
}

/// `logistic_sgd`: batches are slices of shared data, by givens; training, validation and test share the
/// weights.
fn softmax_regression_by_slices(stage: &Stage) -> Result<()> {
    let (rows, features, classes, batch) = (60, 12, 4, 10i64);
    let (x, y, index) = (matrix::<f32>("x"), vector::<i64>("y"), scalar::<i64>("index"));
    let data = shared("data", random(DType::F32, &[rows, features], 1)?);
    let labels = shared("labels", below(classes, DType::I64, &[rows], 2)?);
    let w = shared("w", Value::zeros(DType::F32, &[features, classes])?);
    let b = shared("b", Value::zeros(DType::F32, &[classes])?);
    let p = softmax(x.dot(&w) + &b, -1);
    let nll = -p.log().index(idx![arange(y.extent(0)), &y]).mean(..);
    let wrong = p.argmax(1).not_equal(&y).mean(..);
    let g = grad(&nll, [&*w, &*b])?;
    let slice = || [range(&index * batch, (&index + 1i64) * batch)];
    let givens = || [(&x, data.index(slice())), (&y, labels.index(slice()))];
    let train = function([&index])
        .output_named("nll", &nll)
        .update(&w, &w - 0.13 * &g[0])
        .update(&b, &b - 0.13 * &g[1])
        .givens(givens().map(|(v, e)| (v.clone(), e)))
        .compile()?;
    let validate = function([&index])
        .output_named("errors", &wrong)
        .givens(givens().map(|(v, e)| (v.clone(), e)))
        .compile()?;
    let steps: Vec<Vec<Value>> = (0..12).map(|i| vec![Value::from(i % 6i64)]).collect();
    stage.steps(
        &train,
        &steps,
        |want| if want.dtype().is_float() { relative(want, 1e-4) } else { Bound::Exact },
    )?;
    let bundle = stage.bundle(&[("train", &train), ("validate", &validate)])?;
    let mut simulator = stage.simulator(&bundle["train"])?;
    simulator.add_method("validate", &bundle["validate"])?;
    let before = simulator.method("validate")?.call(args![0i64])?[0].item::<f64>()?;
    let order = Value::from((0..300).map(|i| i % 6).collect::<Vec<i64>>());
    simulator.run_n(300, args![each(&order)])?;
    let after = simulator.method("validate")?.call(args![0i64])?[0].item::<f64>()?;
    ensure(after < before, || format!("errors went from {before} to {after}"))
}

/// `mlp`: tanh network, L2, minibatch gradient descent; one step and a few.
fn mlp(stage: &Stage) -> Result<()> {
    let (inputs, hidden, classes, batch) = (20, 30, 5, 16);
    let (x, y) = (matrix::<f64>("x"), vector::<i64>("y"));
    let scaled = |shape: [usize; 2], seed: u32, scale: f64| {
        Value::from_vec(
            &shape,
            normal(shape[0] * shape[1], seed).iter().map(|v| v * scale).collect::<Vec<f64>>(),
        )
    };
    let w1 = shared("w1", scaled([inputs, hidden], 1, 0.3)?);
    let b1 = shared("b1", Value::zeros(DType::F64, &[hidden])?);
    let w2 = shared("w2", scaled([hidden, classes], 2, 0.3)?);
    let b2 = shared("b2", Value::zeros(DType::F64, &[classes])?);
    let h = (x.dot(&w1) + &b1).tanh();
    let p = softmax(h.dot(&w2) + &b2, -1);
    let l2 = w1.sqr().sum(..) + w2.sqr().sum(..);
    let cost = categorical_crossentropy(&p, &y).mean(..) + 1e-4 * l2;
    let parameters = [&w1, &b1, &w2, &b2];
    let g = grad(&cost, parameters)?;
    let updates = parameters.iter().zip(&g).map(|(&w, g)| (w.clone(), w - 0.1 * g));
    let train = function([&x, &y]).output(&cost).output(p.argmax(1)).updates(updates).compile()?;
    let data = |seed: u32| -> Result<Vec<Value>> {
        Ok(vec![random(DType::F64, &[batch, inputs], seed)?, below(classes, DType::I64, &[batch], seed)?])
    };
    let steps: Vec<Vec<Value>> = (3..8).map(data).collect::<Result<_>>()?;
    stage.steps(
        &train,
        &steps,
        |want| if want.dtype().is_float() { relative(want, SHARE) } else { Bound::Exact },
    )
}
