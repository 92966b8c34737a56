//! Hybrid Monte Carlo (Duane and others, 1987), as in the Deep Learning Tutorials: leapfrog steps by a loop
//! in the graph, gradients of the energy within, a step size that adapts to the rate of acceptance.

use crate::Device;
use workalike::Result;
use workalike::prelude::*;

const CHAINS: usize = 64;
const SIZE: usize = 5;
const LEAPS: i64 = 20;
const TARGET: f64 = 0.9;

pub(crate) fn run(device: &Device) -> Result<String> {
    let streams = RandomStreams::new(21);
    let scales = [0.5f32, 1.0, 1.5, 2.0, 3.0];
    let variance = constant(scales.iter().map(|s| s * s).collect::<Vec<f32>>());
    // The negative logarithm of the density of each chain's position: a normal one.
    let energy = |x: &Variable| (x.sqr() / &variance).sum(over(1)) * 0.5;
    let slope = |x: &Variable| {
        grad(energy(x).sum(..), [x]).map_or_else(Variable::poison, |mut slopes| slopes.remove(0))
    };
    let positions = shared("positions", streams.draw_normal::<f32>(&[CHAINS, SIZE])?);
    let (step, rate) = (shared("step", 0.01f32), shared("rate", TARGET as f32));
    let velocity = streams.normal::<f32>([CHAINS, SIZE]);
    let half = &velocity - slope(&positions) * &step * 0.5;
    let (x, v) = fori(LEAPS, (&positions, &half), |_, (x, v)| {
        let x = &x + &v * &step;
        let v = v - slope(&x) * &step;
        (x, v)
    });
    // The last velocity went half a step too far.
    let v = v + slope(&x) * &step * 0.5;
    let whole = |x: &Variable, v: &Variable| energy(x) + v.sqr().sum(over(1)) * 0.5;
    let change = whole(&positions, &velocity) - whole(&x, &v);
    let accepted = streams.uniform::<f32>([CHAINS]).less(change.exp());
    let next = where_(accepted.expand_dims(1), &x, &positions);
    let f = function(())
        .output(&next)
        .update(&positions, &next)
        .update(&rate, &rate * 0.9 + accepted.cast(DType::F32).mean(..) * 0.1)
        .update(&step, where_(rate.greater(TARGET), &step * 1.02, &step * 0.98).maximum(1e-3).minimum(0.5))
        .compile()?;
    let mut simulator = f.optimize(device.clone().strict())?;
    simulator.run_n(400, args![])?;
    let samples = simulator.run_n_collect(300, args![])?[0].to_f64s();
    let count = (samples.len() / SIZE) as f64;
    let mut found = Vec::new();
    for (at, scale) in scales.iter().enumerate() {
        let of = || samples.iter().skip(at).step_by(SIZE);
        let mean = of().sum::<f64>() / count;
        let deviation = (of().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
        assert!(mean.abs() < 0.15 * f64::from(*scale), "coordinate {at} has the mean {mean}");
        assert!((deviation / f64::from(*scale) - 1.0).abs() < 0.1, "coordinate {at} deviates by {deviation}");
        found.push(format!("{deviation:.2}"));
    }
    let rate = simulator.get(&rate)?.item::<f32>()?;
    assert!((f64::from(rate) - TARGET).abs() < 0.1, "the rate of acceptance is {rate}");
    Ok(format!("deviations {} at a rate of {rate:.2}", found.join(", ")))
}
