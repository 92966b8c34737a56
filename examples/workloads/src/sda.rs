//! Stacked denoising autoencoders (`SdA.py` of Theano's deep learning tutorials), on small digits.
//!
//! Each layer learns to restore its input from a copy in which a share of the elements is set to 0. One
//! method trains each layer, another fine-tunes all of them as a classifier, a third predicts. All are
//! Functions over the same weights, so they are methods of one Simulator. The learning rates are inputs with
//! defaults.

use crate::digits::{CLASSES, PIXELS, load};
use crate::{Device, biases, weights};
use workalike::prelude::*;
use workalike::{Result, idx};

/// Units of the layers.
const HIDDEN: [usize; 2] = [64, 40];
/// The share of each layer's input that is set to 0.
const CORRUPTION: [f32; 2] = [0.1, 0.2];
const BATCH: usize = 20;
/// Batches to learn from; the rest is held out.
const BATCHES: i64 = 70;

/// The Functions over the common weights.
struct Model {
    /// Trains one layer, for each layer.
    pretrain: Vec<Function>,
    /// Trains all layers as a classifier.
    finetune: Function,
    /// The share of images that are classified wrongly.
    errors: Function,
}

/// The symbolic inputs of the training Functions.
struct Inputs {
    /// The number of the batch.
    index: Variable,
    /// The learning rate.
    lr: Variable,
    /// Images, and the batch of the data that replaces them.
    x: Variable,
    batch_x: Variable,
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let (images, digits) = load()?;
    let model = model(&images, &digits)?;
    let mut simulator = model.pretrain[0].optimize(device.clone().strict())?;
    for f in &model.pretrain[1..] {
        simulator.add_method(f.name(), f)?;
    }
    simulator.add_method("finetune", &model.finetune)?;
    simulator.add_method("errors", &model.errors)?;
    check_costs(&model.pretrain[0], &mut simulator)?;

    let epoch = Value::from((0..BATCHES).collect::<Vec<i64>>());
    let mut report = pretrain(&model, &mut simulator, &epoch)?;
    let (rest_x, rest_y) = (held_out(&images)?, held_out(&digits)?);
    let share = |s: &mut Simulator| s.method("errors")?.call(args![&rest_x, &rest_y])?[0].item::<f64>();
    let before = share(&mut simulator)?;
    for epoch_number in 0..30 {
        let rate = if epoch_number < 20 { 0.5f32 } else { 0.1 };
        simulator.method("finetune")?.run_n(BATCHES as u64, args![each(&epoch); lr = rate])?;
    }
    let after = share(&mut simulator)?;
    assert!(after < 0.15, "{:.0} % of the held-out digits are wrong", 100.0 * after);

    // The portable Functions get the trained weights.
    simulator.sync_to_parent()?;
    let parent = model.errors.call(args![&rest_x, &rest_y])?[0].item::<f64>()?;
    assert!((parent - after).abs() < 0.01, "{parent} of the parent's are wrong, {after} of the device's");
    report +=
        &format!("held-out digits: {:.1} % wrong, {:.1} % before tuning", 100.0 * after, 100.0 * before);
    Ok(report)
}

/// Builds the layers, with a classifier on top, and compiles the Functions.
fn model(images: &Value, digits: &Value) -> Result<Model> {
    let (data, labels) = (shared("data", images), shared("labels", digits));
    let (index, lr) = (scalar::<i64>("index"), scalar::<f32>("lr"));
    let (x, y) = (matrix::<f32>("x"), vector::<i64>("y"));
    let rows = [range(&index * BATCH as i64, (&index + 1i64) * BATCH as i64)];
    let (batch_x, batch_y) = (data.index(&rows), labels.index(&rows));
    let inputs = Inputs { index, lr, x, batch_x };

    let streams = RandomStreams::new(123);
    let mut pretrain: Vec<Function> = vec![];
    let mut parameters: Vec<SharedVariable> = vec![];
    let (mut input, mut size) = (inputs.x.clone(), PIXELS);
    for (layer, &units) in HIDDEN.iter().enumerate() {
        let (f, w, b) = autoencoder(&inputs, &streams, layer, &input, size)?;
        pretrain.push(f);
        input = (input.dot(&w) + &b).sigmoid();
        size = units;
        parameters.extend([w, b]);
    }
    let w = shared("w", weights(9, size, CLASSES)?);
    let b = shared("b", biases(CLASSES));
    let p = softmax(input.dot(&w) + &b, -1);
    let cost = categorical_crossentropy(&p, &y).mean(..);
    parameters.extend([w, b]);
    let gradients = grad(&cost, &parameters)?;
    let updates = parameters.iter().zip(gradients).map(|(p, g)| (p.clone(), p - &inputs.lr * g));
    let finetune = function([In::new(&inputs.index), In::new(&inputs.lr).default(0.5f32)])
        .output_named("cost", &cost)
        .updates(updates)
        .givens([(&inputs.x, &inputs.batch_x), (&y, &batch_y)])
        .compile()?;
    let errors =
        function([&inputs.x, &y]).output_named("errors", p.argmax(-1).not_equal(&y).mean(..)).compile()?;
    Ok(Model { pretrain, finetune, errors })
}

/// The Function that trains one layer over `input` of `size` elements, and the layer's weights and biases.
fn autoencoder(
    inputs: &Inputs,
    streams: &RandomStreams,
    layer: usize,
    input: &Variable,
    size: usize,
) -> Result<(Function, SharedVariable, SharedVariable)> {
    let units = HIDDEN[layer];
    let w = shared(&format!("w{layer}"), weights(layer as u64, size, units)?);
    let b = shared(&format!("b{layer}"), biases(units));
    let back = shared(&format!("back{layer}"), biases(size));
    let corruption = scalar::<f32>("corruption");
    // A binomial draw: 1 where a uniform draw is below the probability.
    let kept = streams.uniform::<f32>([BATCH, size]).less(1.0 - &corruption);
    let code = (where_(kept, input, 0.0).dot(&w) + &b).sigmoid();
    let z = (code.dot(w.t()) + &back).sigmoid();
    let cost = -(input * z.log() + (1.0 - input) * (1.0 - &z).log()).sum(1).mean(..);
    let arguments = [
        In::new(&inputs.index),
        In::new(&corruption).default(CORRUPTION[layer]),
        In::new(&inputs.lr).default(0.1f32),
    ];
    let f = function(arguments).name(&format!("pretrain{layer}")).output_named("cost", &cost);
    let own = [&w, &b, &back];
    let updates = own.iter().zip(grad(&cost, own)?).map(|(&p, g)| (p.clone(), p - &inputs.lr * g));
    let f = f.updates(updates).givens([(&inputs.x, &inputs.batch_x)]).compile()?;
    Ok((f, w, b))
}

/// Checks the costs of the first two batches. Random bits are the same on all devices, so costs of corrupted
/// inputs can be compared.
fn check_costs(pretrain: &Function, simulator: &mut Simulator) -> Result<()> {
    let reference = pretrain.fork()?;
    for at in 0..2i64 {
        let want = reference.call_reference(args![at])?[0].item::<f32>()?;
        let got = simulator.call(args![at])?[0].item::<f32>()?;
        assert!((got - want).abs() < 1e-4 * want, "step {at}: the cost is {got}, not {want}");
    }
    Ok(())
}

/// Trains each layer for five epochs; a line of the report for each.
fn pretrain(model: &Model, simulator: &mut Simulator, epoch: &Value) -> Result<String> {
    let mut report = String::new();
    for (layer, f) in model.pretrain.iter().enumerate() {
        let mut costs = Vec::new();
        for _ in 0..5 {
            let all = simulator.method(f.name())?.run_n_collect(BATCHES as u64, args![each(epoch)])?[0]
                .to_vec::<f32>()?;
            costs.push(all.iter().sum::<f32>() / BATCHES as f32);
        }
        assert!(costs[4] < costs[0], "layer {layer} does not learn: {costs:?}");
        report += &format!("layer {layer}: cost {:.2}, after five epochs {:.2}\n", costs[0], costs[4]);
    }
    Ok(report)
}

/// The held-out rows.
fn held_out(all: &Value) -> Result<Value> {
    let first = BATCHES as usize * BATCH;
    let f = function(crate::NONE).output(constant(all).index(idx![first as i64..])).compile()?;
    Ok(f.call(args![])?[0].clone())
}
