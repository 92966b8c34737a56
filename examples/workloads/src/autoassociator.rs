//! An autoassociator (`aa.py` of the Deep Learning Benchmarks) on small digits: a narrow tanh layer and a
//! decoder with the same weights. The gradient of the weights has two parts.

use crate::digits::{PIXELS, load};
use crate::{Device, biases, weights};
use workalike::Result;
use workalike::prelude::*;

const HIDDEN: usize = 24;
const BATCH: i64 = 60;
const BATCHES: i64 = 29;

pub(crate) fn run(device: &Device) -> Result<String> {
    let (x, lr) = (matrix::<f32>("x"), scalar::<f32>("lr"));
    let w = shared("w", weights(1, PIXELS, HIDDEN)?);
    let (b, back) = (shared("b", biases(HIDDEN)), shared("back", biases(PIXELS)));
    // Pixels from -1 to 1, the range of tanh.
    let input = 2.0 * &x - 1.0;
    let restored = ((input.dot(&w) + &b).tanh().dot(w.t()) + &back).tanh();
    let cost = (restored - &input).sqr().sum(1).mean(..);
    let parameters = [&w, &b, &back];
    let gradients = grad(&cost, parameters)?;
    let updates = parameters.iter().zip(gradients).map(|(&p, g)| (p.clone(), p - &lr * g));
    let f = function([In::new(&x), In::new(&lr).default(0.01f32)])
        .output_named("cost", &cost)
        .updates(updates)
        .compile()?;

    let (images, _) = load()?;
    let rows = images.to_vec::<f32>()?[..(BATCHES * BATCH) as usize * PIXELS].to_vec();
    let batches = Value::from_vec(&[BATCHES as usize, BATCH as usize, PIXELS], rows)?;
    let batch = images.view_as(&[BATCH as usize, PIXELS], &[PIXELS as isize, 1], 0)?;

    let mut simulator = f.optimize(device.clone().strict())?;
    let reference = f.fork()?;
    for at in 0..3 {
        let want = reference.call_reference(args![&batch])?[0].item::<f32>()?;
        let got = simulator.call(args![&batch])?[0].item::<f32>()?;
        assert!((got - want).abs() < 1e-4 * want, "step {at}: the cost is {got}, not {want}");
    }
    let mut costs = Vec::new();
    for _ in 0..30 {
        let all = simulator.run_n_collect(BATCHES as u64, args![each(&batches)])?[0].to_vec::<f32>()?;
        costs.push(all.iter().sum::<f32>() / BATCHES as f32);
    }
    let (first, last) = (costs[0], costs[costs.len() - 1]);
    assert!(last < 0.5 * first, "the cost goes from {first} to {last}");
    Ok(format!(
        "{PIXELS} pixels through {HIDDEN} units: the squared error goes from {first:.2} to {last:.2} an image"
    ))
}
