//! LeNet (`convolutional_mlp.py` of Theano's deep learning tutorials), on small digits.
//!
//! Two convolutions, each followed by 2x2 max pooling and tanh, a layer of 500 units and softmax regression,
//! in batches of 500 as in the tutorial. The tutorial's digits have 28x28 pixels and its filters 5x5. These
//! digits have 8x8, so the filters are 3x3 and 2x2: 8x8, 6x6, pooled 3x3, 2x2, pooled 1x1.

use crate::digits::{CLASSES, load};
use crate::{Device, biases, uniform, weights};
use workalike::prelude::*;
use workalike::{Result, idx};

/// Number and extent of the filters of the two convolutions.
const FILTERS: [(usize, usize); 2] = [(20, 3), (50, 2)];
/// Units of the hidden layer.
const HIDDEN: usize = 500;
const BATCH: i64 = 500;
/// Batches to learn from; the rest is held out.
const BATCHES: i64 = 3;
const EPOCHS: usize = 40;

/// tanh of a pooled convolution, its filters and its biases.
fn layer(x: &Variable, at: usize, channels: usize) -> Result<(Variable, [SharedVariable; 2])> {
    let (filters, extent) = FILTERS[at];
    // Fan-in and fan-out.
    let (inputs, outputs) = (channels * extent * extent, filters * extent * extent / 4);
    let bound = (6.0 / (inputs + outputs) as f64).sqrt();
    let shape = [filters, channels, extent, extent];
    let w = shared(&format!("w{at}"), uniform(at as u64, &shape, -bound, bound)?);
    let b = shared(&format!("b{at}"), biases(filters));
    let pooled = x.conv2d(&w, Conv::default()).max_pool([2, 2]);
    Ok(((pooled + b.dimshuffle([None, Some(0), None, None])).tanh(), [w, b]))
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let (images, digits) = load()?;
    let (data, labels) = (shared("data", &images), shared("labels", &digits));
    let (x, y, index) = (matrix::<f32>("x"), vector::<i64>("y"), scalar::<i64>("index"));

    let (first, first_parameters) = layer(&x.reshape([-1, 1, 8, 8]), 0, 1)?;
    let (second, second_parameters) = layer(&first, 1, FILTERS[0].0)?;
    let features = FILTERS[1].0;
    let (w2, b2) = (shared("w2", weights(2, features, HIDDEN)?), shared("b2", biases(HIDDEN)));
    let (w3, b3) = (shared("w3", weights(3, HIDDEN, CLASSES)?), shared("b3", biases(CLASSES)));
    let hidden = (second.reshape([-1, features as isize]).dot(&w2) + &b2).tanh();
    let p = softmax(hidden.dot(&w3) + &b3, -1);
    let cost = categorical_crossentropy(&p, &y).mean(..);
    let parameters = [first_parameters, second_parameters, [w2, b2], [w3, b3]].concat();
    let gradients = grad(&cost, &parameters)?;
    let updates = parameters.iter().zip(gradients).map(|(p, g)| (p.clone(), p - 0.1 * g));
    let rows = [range(&index * BATCH, (&index + 1i64) * BATCH)];
    let train = function([&index])
        .name("train")
        .output_named("cost", &cost)
        .updates(updates)
        .givens([(&x, data.index(&rows)), (&y, labels.index(&rows))])
        .compile()?;
    let errors = function([&x, &y]).output_named("errors", p.argmax(-1).not_equal(&y).mean(..)).compile()?;

    let mut simulator = train.optimize(device.clone().strict())?;
    simulator.add_method("errors", &errors)?;
    let want = train.fork()?.call_reference(args![0i64])?[0].item::<f32>()?;
    let epoch = Value::from((0..BATCHES).collect::<Vec<i64>>());
    let mut costs: Vec<f32> = Vec::new();
    for _ in 0..EPOCHS {
        let all = simulator.method("train")?.run_n_collect(BATCHES as u64, args![each(&epoch)])?;
        costs.extend(all[0].to_vec::<f32>()?);
    }
    assert!((costs[0] - want).abs() < 1e-4 * want, "the first cost is {}, not {want}", costs[0]);
    let (before, after) = (costs[0], costs[costs.len() - 1]);
    assert!(after < 0.5 * before, "the cost goes from {before} to {after}");

    let rest = |all: &Value| -> Result<Value> {
        let held_out = constant(all).index(idx![BATCH * BATCHES..]);
        Ok(function(crate::NONE).output(held_out).compile()?.call(args![])?[0].clone())
    };
    let (rest_x, rest_y) = (rest(&images)?, rest(&digits)?);
    let wrong = simulator.method("errors")?.call(args![&rest_x, &rest_y])?[0].item::<f64>()?;
    assert!(wrong < 0.35, "{:.0} % of the held-out digits are wrong", 100.0 * wrong);

    // The portable Functions get the trained weights.
    simulator.sync_to_parent()?;
    let parent = errors.call(args![&rest_x, &rest_y])?[0].item::<f64>()?;
    assert!((parent - wrong).abs() < 0.01, "{parent} of the parent's are wrong, {wrong} of the device's");
    Ok(format!("cost {before:.2} to {after:.2}; held-out digits: {:.1} % wrong", 100.0 * wrong))
}
