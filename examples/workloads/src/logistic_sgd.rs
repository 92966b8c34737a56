//! Softmax regression (`logistic_sgd.py` of Theano's deep learning tutorials), on small digits.
//!
//! The data are shared variables; a batch is a slice, by givens. Three methods share the weights: one trains,
//! one validates after each epoch, and one tests the best weights so far.

use crate::digits::{CLASSES, PIXELS, load};
use crate::{Device, biases};
use workalike::Result;
use workalike::prelude::*;

const BATCH: i64 = 50;
/// Batches for training, validation and testing.
const TRAIN: i64 = 25;
const VALIDATE: i64 = 5;
const TEST: i64 = 5;

pub(crate) fn run(device: &Device) -> Result<String> {
    let (images, digits) = load()?;
    let (data, labels) = (shared("data", images), shared("labels", digits));
    let w = shared("w", Array2::<f32>::zeros((PIXELS, CLASSES)));
    let b = shared("b", biases(CLASSES));
    let (x, y, index) = (matrix::<f32>("x"), vector::<i64>("y"), scalar::<i64>("index"));

    let p = softmax(x.dot(&w) + &b, -1);
    let cost = -p.log().index(workalike::idx![arange(y.extent(0)), &y]).mean(..);
    let wrong = p.argmax(-1).not_equal(&y).mean(..);
    let g = grad(&cost, [&w, &b])?;
    let rows = [range(&index * BATCH, (&index + 1i64) * BATCH)];
    let (batch_x, batch_y) = (data.index(&rows), labels.index(&rows));
    let train = function([&index])
        .name("train")
        .output_named("cost", &cost)
        .update(&w, &w - 0.13 * &g[0])
        .update(&b, &b - 0.13 * &g[1])
        .givens([(&x, &batch_x), (&y, &batch_y)])
        .compile()?;
    let errors = function([&index])
        .output_named("errors", &wrong)
        .givens([(&x, &batch_x), (&y, &batch_y)])
        .compile()?;

    let mut simulator = train.optimize(device.clone().strict())?;
    simulator.add_method("validate", &errors)?;
    simulator.add_method("test", &errors)?;
    let batches = |from: i64, count: i64| Value::from((from..from + count).collect::<Vec<i64>>());
    let share = |s: &mut Simulator, method: &str, from: i64, count: i64| -> Result<f64> {
        let all = s.method(method)?.run_n_collect(count as u64, args![each(batches(from, count))])?;
        Ok(all[0].to_f64s().iter().sum::<f64>() / count as f64)
    };
    let (mut best, mut tested) = (f64::INFINITY, f64::INFINITY);
    let mut costs = Vec::new();
    for _ in 0..40 {
        let epoch = simulator.method("train")?.run_n_collect(TRAIN as u64, args![each(batches(0, TRAIN))])?;
        costs.push(epoch[0].to_vec::<f32>()?.iter().sum::<f32>() / TRAIN as f32);
        let wrong = share(&mut simulator, "validate", TRAIN, VALIDATE)?;
        if wrong < best {
            best = wrong;
            tested = share(&mut simulator, "test", TRAIN + VALIDATE, TEST)?;
        }
    }
    // With zero weights each class has probability 0.1.
    let first = train.fork()?.call_reference(args![0i64])?[0].item::<f32>()?;
    assert!((first - (CLASSES as f32).ln()).abs() < 1e-5, "the first cost is {first}");
    assert!(costs.windows(2).all(|pair| pair[1] < pair[0]), "the costs go up: {costs:?}");
    assert!(best < 0.15 && tested < 0.2, "{best} of the validation digits are wrong, {tested} of the test's");
    Ok(format!(
        "cost {:.3}, then {:.3}; wrong are {:.1} % of the validation digits and {:.1} % of the test's",
        costs[0],
        costs[costs.len() - 1],
        100.0 * best,
        100.0 * tested
    ))
}
