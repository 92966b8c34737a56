//! A Kalman filter by `scan`: the likelihood of a track of noisy positions, and its gradient by the noise,
//! with which the noise is found.

use crate::Device;
use workalike::Result;
use workalike::prelude::*;

const STEPS: usize = 300;
const DT: f64 = 0.1;
/// Standard deviations of the acceleration and of the measured position.
const TRUTH: [f64; 2] = [0.7, 0.4];

/// A body that is pushed at random, and its measured positions.
fn track() -> Result<Vec<f64>> {
    let streams = RandomStreams::new(11);
    let pushes = streams.draw_normal::<f64>(&[STEPS])?.to_f64s();
    let noise = streams.draw_normal::<f64>(&[STEPS])?.to_f64s();
    let (mut x, mut v) = (0.0, 1.0);
    let mut step = |(push, noise): (&f64, &f64)| {
        let a = TRUTH[0] * push;
        (x, v) = (x + v * DT + 0.5 * a * DT * DT, v + a * DT);
        x + TRUTH[1] * noise
    };
    Ok(pushes.iter().zip(&noise).map(&mut step).collect())
}

/// The mean of the negative logarithm of the likelihood of positions.
fn cost(positions: &Variable, logs: &Variable) -> Variable {
    let variance = |at: i64| (logs.index(idx![at]) * 2.0).exp();
    let (acceleration, measured) = (variance(0), variance(1));
    let f = constant(array![[1.0, DT], [0.0, 1.0]]);
    let push = constant(array![[0.5 * DT * DT], [DT]]);
    let q = push.dot(push.t()) * &acceleration;
    let start = (constant(array![0.0, 1.0]), constant(array![[1.0, 0.0], [0.0, 1.0]]));
    let filtered = workalike::loops::Scan::new().sequence(positions).recurrent(&start.0).recurrent(&start.1);
    let filtered = filtered.run(|given| {
        let (z, mean, p) = (&given[0], f.dot(&given[1]), f.dot(&given[2]).dot(f.t()) + &q);
        let (error, s) = (z - mean.index(idx![0]), p.index(idx![0, 0]) + &measured);
        let gain = p.index(idx![.., 0]) / &s;
        let likelihood = (s.log() + &error * &error / &s) * 0.5;
        let smaller = &p - gain.expand_dims(1) * p.index(idx![0]).expand_dims(0);
        vec![mean + &gain * &error, smaller, likelihood]
    });
    filtered.result(0).mean(..)
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let positions = vector::<f64>("positions");
    let logs = shared("logs", vec![0.0, 0.0]);
    let cost = cost(&positions, &logs);
    let slope = grad(&cost, [&logs])?.remove(0);
    let f = function([&positions])
        .output(&cost)
        .update(&logs, &logs - slope.maximum(-0.5).minimum(0.5) * 0.2)
        .compile()?;
    let reference = f.fork()?;
    let mut simulator = f.optimize(device.clone())?;
    let track = track()?;
    let first = simulator.call(args![&track])?[0].item::<f64>()?;
    let expected = reference.call_reference(args![&track])?[0].item::<f64>()?;
    assert!((first - expected).abs() < 1e-9, "{first}, expected {expected}");
    let last = simulator.run_n(400, args![&track])?[0].item::<f64>()?;
    let found: Vec<f64> = simulator.get(&logs)?.to_f64s().iter().map(|log| log.exp()).collect();
    assert!(last < first, "{last} is no less than {first}");
    let near = |at: usize, share: f64| (found[at] - TRUTH[at]).abs() < share * TRUTH[at];
    assert!(near(0, 0.5) && near(1, 0.1), "{found:?} is not near {TRUTH:?}");
    Ok(format!(
        "noise of {:.2} and {:.2}; the truth is {:.2} and {:.2}",
        found[0], found[1], TRUTH[0], TRUTH[1]
    ))
}
