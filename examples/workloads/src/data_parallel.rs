//! Data parallel training: a network for handwritten digits, by one, two and four members of a group, from
//! one file. All end with the same weights, to rounding, and the members of a group with the same bits.
//!
//! Here the members are streams of one device, in threads. Processes with a device each run the same file:
//! `mpirun -n 4 workalike run train.wa --group workers --divide x,y --each x=x.npy --each y=y.npy`.

use crate::digits::{CLASSES, PIXELS, load};
use crate::{Device, biases, temporary_file, weights};
use std::time::Instant;
use workalike::Result;
use workalike::prelude::*;

const BATCH: usize = 60;
const STEPS: usize = 24;
const HIDDEN: usize = 48;

/// A step of training: two layers, softmax, momentum.
fn step() -> Result<Function> {
    let (x, y) = (matrix::<f32>("x"), vector::<i64>("y"));
    let parameters = [
        shared("w0", weights(0, PIXELS, HIDDEN)?),
        shared("b0", biases(HIDDEN)),
        shared("w1", weights(1, HIDDEN, CLASSES)?),
        shared("b1", biases(CLASSES)),
    ];
    let [w0, b0, w1, b1] = &parameters;
    let scores = (x.dot(w0) + b0).relu().dot(w1) + b1;
    let cost = categorical_crossentropy(softmax(&scores, 1), &y).mean(..);
    let right = scores.argmax(1).equal(&y).cast(DType::F32).mean(..);
    let f = function([&x, &y]).name("train").output_named("cost", &cost).output_named("right", right);
    f.updates(momentum(&parameters, grad(&cost, &parameters)?, 0.05, 0.9)?).compile()
}

/// The digits in batches: images, and labels.
fn batches() -> Result<(Value, Value)> {
    let (images, labels) = load()?;
    let (pixels, labels) = (images.to_vec::<f32>()?, labels.to_vec::<i64>()?);
    let row = |at: usize| at * 7 % labels.len();
    let rows = || (0..STEPS * BATCH).map(row);
    let x = rows().flat_map(|row| &pixels[row * PIXELS..(row + 1) * PIXELS]).copied().collect();
    let y = rows().map(|row| labels[row]).collect();
    Ok((Value::from_vec::<f32>(&[STEPS, BATCH, PIXELS], x)?, Value::from_vec::<i64>(&[STEPS, BATCH], y)?))
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let file = temporary_file("data_parallel.wa");
    Bundle::new().with("train", &step()?.data_parallel("workers", ["x", "y"])?).save(&file)?;
    let (x, y) = batches()?;
    let mut report = String::new();
    let mut alone: Vec<Vec<f32>> = Vec::new();
    for members in [1, 2, 4] {
        let train = Bundle::load(&file)?["train"].clone();
        let devices = std::iter::repeat_n(device.clone(), members);
        let mut sim = train.optimize(group("workers", devices))?;
        // The first run compiles.
        sim.run_n(STEPS, args![each(&x), each(&y)])?;
        let start = Instant::now();
        let last = sim.run_n(STEPS, args![each(&x), each(&y)])?;
        let took = start.elapsed();
        let (cost, right) = (last["cost"].item::<f32>()?, last["right"].item::<f32>()?);
        let weights = sim.each_member(|_, simulator| simulator.get_value("w0"))?;
        assert!(weights.iter().all(|w| *w == weights[0]), "the members' weights differ");
        let weights = weights[0].to_vec::<f32>()?;
        let first = alone.first().unwrap_or(&weights);
        let apart = weights.iter().zip(first).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(apart < 1e-4, "{members} members learn other weights: {apart} apart");
        sim.sync_to_parent()?;
        assert_eq!(train.shared("w0")?.get_value()?.to_vec::<f32>()?, weights);
        report += &format!(
            "{members} members: {STEPS} steps in {took:.1?}, cost {cost:.4}, {:.0} % right; weights {apart:.1e} apart from one member's\n",
            100.0 * right
        );
        assert!(cost < 2.3, "nothing is learned: {cost}");
        alone.push(weights);
    }
    Ok(report.trim_end().into())
}
