//! Random streams: equal bits on all devices, and a state that advances with each call.

use super::family;
use crate::stage::{Scenario, Stage, ensure, equal, near};
use crate::tolerance::{Bound, eps};
use workalike::Result;
use workalike::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    family(
        "random",
        &[
            ("draws_equal_the_reference", draws),
            ("a_stream_moves_on", moves_on),
            ("no_default_updates_repeats", repeats),
            ("run_n_is_many_calls", run_n),
            ("equal_seeds_give_equal_draws", seeds),
            ("nearly_zeros", nearly_zeros),
            ("two_functions_share_a_stream", shared_stream),
            ("sizes_are_known_at_the_call", sizes),
        ],
    )
}

const NONE: [&Variable; 0] = [];

fn draws(stage: &Stage) -> Result<()> {
    let streams = RandomStreams::new(42);
    let weights = constant(vec![1f32, 0.0, 4.0, 3.0]);
    let broadcast = full([100, 4], 1f32) * &weights;
    let exact = [
        streams.bits([3, 5]),
        streams.bits(()),
        streams.bits([0, 4]),
        streams.uniform::<f32>([1001]),
        streams.uniform::<f64>([7, 11]),
        streams.uniform::<half::f16>([100]),
        streams.uniform::<half::bf16>([100]),
        streams.uniform::<f32>([2, 3, 4]) * 2.0 - 1.0,
        streams.uniform::<f32>([50, 50]).less(0.3),
        streams.integers(-5, 1000, [300]),
        streams.integers(0u8, constant(vec![7i64, 1, i64::MAX]), (20, 3)),
        streams.bernoulli(0.3, [500]),
        streams.bernoulli(constant(vec![0.3f64, 0.9]), [40, 2]),
        streams.permutation(400),
        streams.choice_without_replacement(50, 7),
        streams.choice_by_weight(&weights, [200]),
        streams.categorical(broadcast),
    ];
    let normals = [
        streams.normal::<f32>([1000]),
        streams.normal::<f64>([33, 3]),
        streams.normal::<half::f16>([64]),
        streams.exponential::<f32>(2.0, [1000]),
        streams.exponential::<f64>(constant(0.5f64), [77]),
    ];
    let f = function(NONE).outputs(&exact).outputs(&normals).compile()?;
    let reference = f.fork()?;
    let mut simulator = stage.simulator(&stage.function(&f.fork()?)?)?;
    for call in 0..3 {
        let (got, want) = (simulator.call(args![])?, reference.call_reference(args![])?);
        for i in 0..exact.len() {
            equal(&format!("call {call}, draw {i}"), &got[i], &want[i])?;
        }
        for i in exact.len()..got.len() {
            // Logarithm, square root, cosine and products; the error of the angle is absolute, and the radius
            // is below 9.
            let bound: Vec<f64> = want[i]
                .to_f64s()
                .iter()
                .map(|v| (v.abs() * 16.0 + 9.0 * 8.0) * eps(want[i].dtype()))
                .collect();
            let bound = Bound::Within(Value::from_vec(want[i].shape(), bound)?);
            near(&format!("call {call}, normals {i}"), &got[i], &want[i], &bound)?;
        }
    }
    for cell in reference.cells() {
        equal(cell.name(), &simulator.get_value(cell.name())?, cell.get_value()?)?;
    }
    let numbers = simulator.call(args![])?[exact.len()].to_f64s();
    let mean = numbers.iter().sum::<f64>() / 1000.0;
    let square = numbers.iter().map(|v| v * v).sum::<f64>() / 1000.0;
    ensure(mean.abs() < 0.15 && (square - 1.0).abs() < 0.2, || format!("mean {mean}, mean square {square}"))
}

fn moves_on(stage: &Stage) -> Result<()> {
    let streams = RandomStreams::new(7);
    let f = function(NONE).output(streams.bits([4])).compile()?;
    let f = stage.function(&f)?;
    let mut simulator = stage.simulator(&f)?;
    let (first, second) = (simulator.call(args![])?, simulator.call(args![])?);
    ensure(first[0] != second[0], || "two calls drew the same".into())?;
    equal("the parent's stream", &f.call(args![])?[0], &first[0])?;
    // Element i of a draw is the element at counter + i, so draws of 4 are parts of a longer draw.
    let long = function(NONE).output(RandomStreams::new(7).bits([8])).compile()?;
    let all = stage.simulator(&stage.function(&long)?)?.call(args![])?[0].to_vec::<u64>()?;
    equal("first half", &first[0], all[..4].to_vec())?;
    equal("second half", &second[0], all[4..].to_vec())
}

fn repeats(stage: &Stage) -> Result<()> {
    let streams = RandomStreams::new(3);
    let f = function(NONE).output(streams.uniform::<f32>([9])).no_default_updates().compile()?;
    let mut simulator = stage.simulator(&stage.function(&f)?)?;
    let first = simulator.call(args![])?;
    equal("second call", &simulator.call(args![])?[0], &first[0])?;
    ensure(simulator.sync_to_parent()?.is_empty(), || "something was synced".into())
}

fn run_n(stage: &Stage) -> Result<()> {
    let u = RandomStreams::new(5).uniform::<f64>([10]);
    let total = shared("total", 0f64);
    let f = function(NONE).output(&u).update(&total, &total + u.sum(..)).compile()?;
    stage.steps(&f, &vec![vec![]; 5], |want| {
        let bound = want.to_f64s().iter().map(|v| v.abs() * 200.0 * f64::EPSILON).collect();
        Value::from_vec(want.shape(), bound).map_or(Bound::Exact, Bound::Within)
    })
}

fn seeds(stage: &Stage) -> Result<()> {
    let draw = |seed: u64| -> Result<Value> {
        let streams = RandomStreams::new(seed);
        let f = function(NONE).outputs([streams.bits([3]), streams.bits([3])]).compile()?;
        let out = stage.simulator(&stage.function(&f)?)?.call(args![])?;
        ensure(out[0] != out[1], || "two streams of one seed are equal".into())?;
        Ok(out[1].clone())
    };
    equal("equal seeds", &draw(11)?, draw(11)?)?;
    ensure(draw(11)? != draw(12)?, || "two seeds give equal draws".into())
}

/// Two uses of one draw see the same numbers (Theano's tutorial).
fn nearly_zeros(stage: &Stage) -> Result<()> {
    let streams = RandomStreams::new(234);
    let u = streams.uniform::<f32>([2, 2]);
    let f = function(NONE).output(&u + &u - &u * 2.0).compile()?;
    let mut simulator = stage.simulator(&stage.function(&f)?)?;
    for _ in 0..2 {
        equal("nearly zeros", &simulator.call(args![])?[0], Value::zeros(DType::F32, &[2, 2])?)?;
    }
    Ok(())
}

fn shared_stream(stage: &Stage) -> Result<()> {
    let bits = RandomStreams::new(9).bits([2]);
    let (f, g) = (function(NONE).output(&bits).compile()?, function(NONE).output(&bits).compile()?);
    let bundle = stage.bundle(&[("f", &f), ("g", &g)])?;
    let mut simulator = stage.simulator(&bundle["f"])?;
    simulator.add_method("g", &bundle["g"])?;
    let first = simulator.call(args![])?;
    let second = simulator.method("g")?.call(args![])?;
    ensure(first[0] != second[0], || "the second method drew the same".into())
}

/// The draws of a size that is known at the call are those of the same size in numbers, and the streams move
/// on by as much.
fn sizes(stage: &Stage) -> Result<()> {
    let x = matrix::<f32>("x");
    let n = scalar::<i64>("n");
    let streams = RandomStreams::new(17);
    let draws = [
        streams.uniform::<f32>(like(&x)),
        streams.bits((&n, 3)),
        streams.permutation(x.extent(0)),
        streams.bernoulli(x.abs(), like(&x)),
    ];
    let f = function([&x, &n]).outputs(draws).compile()?;
    let reference = f.fork()?;
    let mut simulator = stage.simulator(&stage.function(&f)?)?;
    for (rows, columns, n) in [(3, 5, 4i64), (3, 5, 4), (40, 1, 0), (1, 7, 1), (0, 3, 2), (3, 5, 9)] {
        let x = Value::zeros(DType::F32, &[rows, columns])?;
        let (got, want) = (simulator.call(args![&x, n])?, reference.call_reference(args![&x, n])?);
        for i in 0..4 {
            equal(&format!("{rows} x {columns}, {n}: draw {i}"), &got[i], &want[i])?;
        }
    }
    for cell in reference.cells() {
        equal(cell.name(), &simulator.get_value(cell.name())?, cell.get_value()?)?;
    }
    Ok(())
}
