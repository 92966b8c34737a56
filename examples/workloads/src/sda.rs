//! Stacked denoising autoencoders (`SdA.py` of Theano's deep learning tutorials), on small digits.
//!
//! Each layer learns to restore its input from a copy of which a share is put out. One method trains each
//! layer, another tunes all of them as a classifier, a third predicts: all are Functions over the same
//! weights, so they are methods of one Simulator. The rates are inputs with defaults.

use crate::digits::{CLASSES, PIXELS, load};
use crate::{Device, biases, weights};
use workalike::prelude::*;
use workalike::{Result, idx};

/// Units of the layers.
const HIDDEN: [usize; 2] = [64, 40];
/// Shares of each layer's input that are put out.
const CORRUPTION: [f32; 2] = [0.1, 0.2];
const BATCH: usize = 20;
/// Batches to learn from; the rest is held out.
const BATCHES: i64 = 70;

pub(crate) fn run(device: &Device) -> Result<String> {
    let (images, digits) = load()?;
    let (data, labels) = (shared("data", &images), shared("labels", &digits));
    let (index, lr) = (scalar::<i64>("index"), scalar::<f32>("lr"));
    let (x, y) = (matrix::<f32>("x"), vector::<i64>("y"));
    let rows = [range(&index * BATCH as i64, (&index + 1i64) * BATCH as i64)];
    let (batch_x, batch_y) = (data.index(&rows), labels.index(&rows));

    let streams = RandomStreams::new(123);
    let mut pretrain: Vec<Function> = vec![];
    let mut parameters: Vec<SharedVariable> = vec![];
    let (mut input, mut size) = (x.clone(), PIXELS);
    for (layer, &units) in HIDDEN.iter().enumerate() {
        let w = shared(&format!("w{layer}"), weights(layer as u64, size, units)?);
        let b = shared(&format!("b{layer}"), biases(units));
        let back = shared(&format!("back{layer}"), biases(size));
        let corruption = scalar::<f32>("corruption");
        // A binomial draw: one where a uniform one lies below the probability.
        let kept = streams.uniform::<f32>(&[BATCH, size]).less(1.0 - &corruption);
        let code = (where_(kept, &input, 0.0).dot(&w) + &b).sigmoid();
        let z = (code.dot(w.t()) + &back).sigmoid();
        let cost = -(&input * z.log() + (1.0 - &input) * (1.0 - &z).log()).sum(1).mean(..);
        let inputs =
            [In::new(&index), In::new(&corruption).default(CORRUPTION[layer]), In::new(&lr).default(0.1f32)];
        let f = function(inputs).name(&format!("pretrain{layer}")).output_named("cost", &cost);
        let own = [&w, &b, &back];
        let updates = own.iter().zip(grad(&cost, own)?).map(|(&p, g)| (p.clone(), p - &lr * g));
        pretrain.push(f.updates(updates).givens([(&x, &batch_x)]).compile()?);
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
    let updates = parameters.iter().zip(gradients).map(|(p, g)| (p.clone(), p - &lr * g));
    let finetune = function([In::new(&index), In::new(&lr).default(0.5f32)])
        .output_named("cost", &cost)
        .updates(updates)
        .givens([(&x, &batch_x), (&y, &batch_y)])
        .compile()?;
    let errors = function([&x, &y]).output_named("errors", p.argmax(-1).not_equal(&y).mean(..)).compile()?;

    let mut simulator = pretrain[0].optimize(device.clone().strict())?;
    for f in &pretrain[1..] {
        simulator.add_method(f.name(), f)?;
    }
    simulator.add_method("finetune", &finetune)?;
    simulator.add_method("errors", &errors)?;

    // Random bits are the same everywhere, so costs of corrupted inputs can be compared.
    let reference = pretrain[0].fork()?;
    for at in 0..2i64 {
        let want = reference.call_reference(args![at])?[0].item::<f32>()?;
        let got = simulator.call(args![at])?[0].item::<f32>()?;
        assert!((got - want).abs() < 1e-4 * want, "step {at}: the cost is {got}, not {want}");
    }

    let epoch = Value::from((0..BATCHES).collect::<Vec<i64>>());
    let mut report = String::new();
    for (layer, f) in pretrain.iter().enumerate() {
        let mut costs = Vec::new();
        for _ in 0..5 {
            let all = simulator.method(f.name())?.run_n_collect(BATCHES as u64, args![each(&epoch)])?[0]
                .to_vec::<f32>()?;
            costs.push(all.iter().sum::<f32>() / BATCHES as f32);
        }
        assert!(costs[4] < costs[0], "layer {layer} does not learn: {costs:?}");
        report += &format!("layer {layer}: cost {:.2}, after five epochs {:.2}\n", costs[0], costs[4]);
    }
    let held_out = BATCHES as usize * BATCH;
    let rest = |all: &Value| -> Result<Value> {
        let v = constant(all);
        let f = function(crate::NONE).output(v.index(idx![held_out as i64..])).compile()?;
        Ok(f.call(args![])?[0].clone())
    };
    let (rest_x, rest_y) = (rest(&images)?, rest(&digits)?);
    let share = |s: &mut Simulator| s.method("errors")?.call(args![&rest_x, &rest_y])?[0].item::<f64>();
    let before = share(&mut simulator)?;
    for epoch_number in 0..30 {
        let rate = if epoch_number < 20 { 0.5f32 } else { 0.1 };
        simulator.method("finetune")?.run_n(BATCHES as u64, args![each(&epoch); lr = rate])?;
    }
    let after = share(&mut simulator)?;
    assert!(after < 0.15, "{:.0} % of the held-out digits are wrong", 100.0 * after);

    // The portable Functions get what was learned.
    simulator.sync_to_parent()?;
    let parent = errors.call(args![&rest_x, &rest_y])?[0].item::<f64>()?;
    assert!((parent - after).abs() < 0.01, "{parent} of the parent's are wrong, {after} of the device's");
    report +=
        &format!("held-out digits: {:.1} % wrong, {:.1} % before tuning", 100.0 * after, 100.0 * before);
    Ok(report)
}
