//! Networks that learn one example per step (`mlp.py` of the Deep Learning Benchmarks), on small digits.
//!
//! The number of the next example is a shared variable that counts up and wraps around, so a step has no
//! inputs and `run_n` does not involve the host.

use crate::digits::{CLASSES, PIXELS, load};
use crate::{Device, NONE, biases, weights};
use std::time::Instant;
use workalike::prelude::*;
use workalike::{Result, idx};

/// Examples in the data.
const EXAMPLES: usize = 500;
/// Units of the networks' layers.
const NETWORKS: [&[usize]; 3] = [&[PIXELS, CLASSES], &[PIXELS, 50, CLASSES], &[PIXELS, 40, 40, 40, CLASSES]];

/// One step: a row of the data by the counter, a network of tanh layers under a softmax, gradient descent.
fn step(layers: &[usize]) -> Result<Function> {
    let (images, digits) = load()?;
    let (data, labels) = (shared("data", images), shared("labels", digits));
    let si = shared("si", 0i64);
    let (x, y) = (data.index(idx![&si]), labels.index(idx![&si]));
    let mut parameters = Vec::new();
    let (mut scores, mut hidden) = (x.clone(), x);
    for (at, pair) in layers.windows(2).enumerate() {
        let w = shared(&format!("w{at}"), weights(at as u64, pair[0], pair[1])?);
        let b = shared(&format!("b{at}"), biases(pair[1]));
        scores = hidden.dot(&w) + &b;
        hidden = scores.tanh();
        parameters.extend([w, b]);
    }
    let cost = -log_softmax(&scores, -1).index(idx![&y]);
    let gradients = grad(&cost, &parameters)?;
    let updates = parameters.iter().zip(gradients).map(|(p, g)| (p.clone(), p - 0.01 * g));
    function(NONE)
        .output_named("cost", &cost)
        .updates(updates)
        .update(&si, (&si + 1i64) % EXAMPLES as i64)
        .compile()
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let mut report = String::new();
    for layers in NETWORKS {
        let f = step(layers)?;
        let backend = || device.clone().strict();
        let (mut by_call, mut by_run) = (f.optimize(backend())?, f.optimize(backend())?);
        let reference = f.fork()?;
        for at in 0..3 {
            let want = reference.call_reference(args![])?[0].item::<f32>()?;
            let got = by_call.call(args![])?[0].item::<f32>()?;
            assert!((got - want).abs() < 1e-4 * (1.0 + want), "step {at}: the cost is {got}, not {want}");
        }
        for _ in 3..20 {
            by_call.call(args![])?;
        }
        by_run.run_n(20, args![])?;
        for name in by_call.shared_names() {
            assert_eq!(
                by_call.get_value(name)?,
                by_run.get_value(name)?,
                "{name} after 20 steps, one way and the other"
            );
        }
        let start = Instant::now();
        let costs = by_run.run_n_collect(2 * EXAMPLES as u64, args![])?[0].to_vec::<f32>()?;
        let rate = costs.len() as f64 / start.elapsed().as_secs_f64();
        assert_eq!(by_run.get_value("si")?.item::<i64>()?, 20);
        let mean = |part: &[f32]| part.iter().sum::<f32>() / part.len() as f32;
        let (first, last) = (mean(&costs[..100]), mean(&costs[costs.len() - 100..]));
        assert!(last < 0.8 * first, "{layers:?}: the cost goes from {first} to {last}");
        report += &format!("{layers:?}: cost {first:.2} to {last:.2}, {rate:.0} examples a second\n");
    }
    Ok(report.trim_end().into())
}
