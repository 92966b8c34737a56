//! Where parts are not what the whole is: shapes that do not fit, dtypes that cut terms, loops and reshapes
//! whose extents only a call tells.

use super::{compare, printed, ramp};
use crate::cases::{Story, family};
use crate::stage::{Scenario, Stage, ensure, equal, fails, near, relative};
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 4] = [
        ("batches_that_differ", batches_that_differ),
        ("integers_of_floats", integers_of_floats),
        ("loops_of_unknown_length", loops_of_unknown_length),
        ("reshapes", reshapes),
    ];
    family("data_parallel", &stories)
}

/// A part of one row is not repeated where the array that it is a part of is not.
fn batches_that_differ(stage: &Stage) -> Result<()> {
    let (x, t, b) = (matrix::<f32>("x"), vector::<f32>("t"), matrix::<f32>("b"));
    let w = constant(vec![1f32, 2.0, 3.0]);
    let [two_rows, four, wide] = [ramp(&[2, 3], 5), ramp(&[4], 3), ramp(&[2, 4], 5)];
    let [four_rows, one_row] = [ramp(&[4, 3], 5), ramp(&[1, 3], 5)];
    let zero = |positions: Variable| positions.cast(DType::I64).abs().minimum(0i64);
    let taken = constant(vec![1f32, 2.0]).reshape([1i64, 2]).index(idx![zero(x.sum(1)), zero(t.clone())]);
    let [differ, beside, below] = [x.dot(&w) - &t, concatenate([&x, &b], 1), concatenate([&x, &b], 0)];
    let to_four = x.broadcast_to([4i64, 3]);
    let more = "axis 0 has extent 4, where 2 is expected";
    // What is computed of x and another array, whether that is divided too, and what the error says.
    let cases = [
        (&differ, Some((&t, &four)), true, more),
        (&differ, Some((&t, &four)), false, more),
        (&beside, Some((&b, &four_rows)), true, more),
        (&beside, Some((&b, &one_row)), false, "expected a multiple of 2 along axis 0"),
        (&below, Some((&b, &wide)), true, "they differ along axis 1"),
        (&taken, Some((&t, &four)), true, more),
        (&to_four, None, false, "axis 0 has extent 2, where 4 is expected"),
    ];
    for (at, (output, other, both, says)) in cases.into_iter().enumerate() {
        let inputs = [Some((&x, &two_rows)), other].into_iter().flatten();
        let given = || inputs.clone().fold(Args::new(), |args, (_, value)| args.with(value));
        let f = function(inputs.clone().map(|(input, _)| input)).output(output).compile()?;
        ensure(f.call_reference(given()).is_err(), || format!("case {at} is no error on one device"))?;
        let divided = inputs.clone().take(1 + usize::from(both)).filter_map(|(input, _)| input.name());
        let parallel = stage.function(&f.data_parallel("g", divided)?)?;
        let mut sim = parallel.optimize(group("g", stage.open_members(2)?))?;
        fails(&format!("case {at}"), sim.call(given()), &[says])?;
    }
    // One member has whole arrays, whose rows are repeated as those of one device are.
    let f = function([&x, &t, &b]).output(x.dot(&w) - &t).output(&x * &b).compile()?;
    let parallel = stage.function(&f.data_parallel("g", ["x", "t", "b"])?)?;
    let given = || args![ramp(&[1, 3], 5), ramp(&[4], 3), ramp(&[4, 3], 7)];
    let mut sim = parallel.optimize(group("g", stage.open_members(1)?))?;
    let (got, want) = (sim.call(given())?, f.call_reference(given())?);
    for at in 0..2 {
        near("one row of one member", &got[at], &want[at], &relative(&want[at], 1e-5))?;
    }
    // One row of all members is repeated, whatever its type says.
    let f = function([&x, &b]).output(&x * &b).output((&b - &x).sum(0)).compile()?;
    compare(stage, &f, &["x"], &[ramp(&[6, 3], 5), ramp(&[1, 3], 7)], 1e-5)?;
    compare(stage, &f, &["x"], &[ramp(&[6, 3], 5), ramp(&[6, 3], 7)], 1e-5)
}

/// Sums of floats with an integer as their result: the terms of members are not cut.
fn integers_of_floats(stage: &Stage) -> Result<()> {
    let x = vector::<f64>("x");
    let total = x.sum(over(0).acc_dtype(DType::F64).dtype(DType::I64));
    let halves = (&x * 0.5).sum(over(0).acc_dtype(DType::F64).dtype(DType::I64));
    let f = function([&x]).output(total).output(halves).compile()?;
    compare(stage, &f, &["x"], &[Value::from(vec![0.6f64, 0.6, 0.7, 0.9, 0.6, 0.6])], 0.0)
}

/// A body that takes statistics of the batch, for as many iterations as a call says.
fn loops_of_unknown_length(stage: &Stage) -> Result<()> {
    let xs = tensor::<f32>("xs", [None, None, Some(3)]);
    let (w, bias) = (shared("w", ramp(&[3, 3], 5)), shared("bias", ramp(&[3], 7)));
    let start = full([xs.extent(0), constant(3i64)], 0f32);
    let states = scan([&xs.moveaxis(1, 0)], [&start], |[x], [h]| {
        let next = (x.dot(&w) + h + &*bias).tanh();
        [&next - next.mean(0)]
    });
    let cost = states[0].index(idx![-1]).sqr().sum(..);
    let slopes = grad(&cost, [&w, &bias])?;
    let f = function([&xs])
        .output(&cost)
        .update(&w, &*w - 0.01 * &slopes[0])
        .update(&bias, &*bias - 0.01 * &slopes[1])
        .compile()?;
    compare(stage, &f, &["xs"], &[ramp(&[6, 4, 3], 5)], 1e-3)?;
    compare(stage, &f, &["xs"], &[ramp(&[6, 2, 3], 5)], 1e-3)
}

/// Rows that become others.
fn reshapes(stage: &Stage) -> Result<()> {
    let x = tensor::<f32>("x", [Some(6), Some(4)]);
    let f = function([&x])
        .output(x.reshape([1i64, 24]) * 2.0)
        .output(x.reshape([8i64, 3]).sum(0))
        .output(x.reshape([-1i64, 8]).exp())
        .output(x.reshape([6i64, 2, 2]).sum(2))
        .output(x.reshape([-1i64, 2]).exp())
        .compile()?;
    compare(stage, &f, &["x"], &[ramp(&[6, 4], 5)], 1e-5)?;
    // Rows that stay together stay with their member.
    let kept = function([&x])
        .output(x.reshape([6i64, 2, 2]).sum(2))
        .output(x.reshape([-1i64, 2]).exp())
        .compile()?;
    let parallel = kept.data_parallel("g", ["x"])?;
    let gathered = printed(&parallel).matches("all_gather").count();
    equal("rows that are gathered as outputs alone", &Value::from(gathered as i64), Value::from(2i64))
}
