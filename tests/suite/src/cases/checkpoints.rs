//! Simulators that are saved and restored, and forked, on their device.

use super::family;
use crate::stage::{Scenario, Stage, ensure, equal, fails};
use workalike::Result;
use workalike::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    family(
        "checkpoints",
        &[("resumes_bit_equal", resumes), ("forks", forks), ("without_transient_values", without_data)],
    )
}

const NONE: [&Variable; 0] = [];

/// Noisy gradient descent with momentum, after a few steps.
fn trained(stage: &Stage) -> Result<Simulator> {
    let streams = RandomStreams::new(7);
    let (w, velocity) = (shared("w", vec![1f32; 300]), shared("velocity", vec![0f32; 300]));
    let loss = (&w + &streams.normal::<f32>([300]) * 0.1).sqr().sum(..);
    let slope = grad(&loss, [&*w])?.swap_remove(0);
    let next = 0.9 * &*velocity - 0.01 * slope;
    let train = function(NONE).output(&loss).update(&velocity, &next).update(&w, &w + &next).compile()?;
    let norm = function(NONE).output(w.sqr().sum(..)).compile()?;
    let bundle = stage.bundle(&[("train", &train), ("norm", &norm)])?;
    let mut simulator = stage.simulator(&bundle["train"])?;
    simulator.add_method("norm", &bundle["norm"])?;
    simulator.run_n(20, args![])?;
    Ok(simulator)
}

/// Asserts that both continue with equal results.
fn alike(one: &mut Simulator, other: &mut Simulator) -> Result<()> {
    let (got, want) = (
        other.method("train")?.run_n_collect(20, args![])?,
        one.method("train")?.run_n_collect(20, args![])?,
    );
    equal("the losses", &got[0], &want[0])?;
    for name in one.shared_names() {
        equal(name, &other.get_value(name)?, one.get_value(name)?)?;
    }
    equal("the norm", &other.method("norm")?.call(args![])?[0], &one.method("norm")?.call(args![])?[0])
}

fn resumes(stage: &Stage) -> Result<()> {
    let mut simulator = trained(stage)?;
    let before = simulator.bundle().to_bytes()?;
    let mut resumed = Simulator::from_bytes(&simulator.to_bytes()?, stage.open()?)?;
    ensure(simulator.bundle().to_bytes()? == before, || "saving changed the parents".into())?;
    alike(&mut simulator, &mut resumed)
}

fn forks(stage: &Stage) -> Result<()> {
    let mut simulator = trained(stage)?;
    let mut fork = simulator.fork()?;
    alike(&mut simulator, &mut fork)?;
    let before = simulator.get_value("w")?;
    fork.run_n(5, args![])?;
    equal("the model", &simulator.get_value("w")?, before)
}

/// A data set that the file leaves out is set after loading, and the run goes on with equal bits.
fn without_data(stage: &Stage) -> Result<()> {
    let numbers: Vec<f32> = (0..500u16).map(f32::from).collect();
    let data = shared("data", numbers.clone()).transient();
    let seen = shared("seen", 0f32);
    let batch = data.take(RandomStreams::new(3).choice(500, 16), 0);
    let f = function(()).output(batch.max(..)).update(&seen, seen.maximum(batch.sum(..))).compile()?;
    let mut simulator = stage.simulator(&f)?;
    simulator.run_n(4, args![])?;
    let file = simulator.to_bytes()?;
    ensure(file.len() < 500 * 4, || format!("the file has {} bytes", file.len()))?;
    fails("the data is missing", Simulator::from_bytes(&file, stage.open()?), &["data", "transient"])?;
    let bundle = Bundle::from_bytes(&file)?;
    bundle["main"].shared("data")?.set_value(numbers)?;
    let mut resumed = stage.simulator(&bundle["main"])?;
    let (got, want) = (resumed.run_n(4, args![])?, simulator.run_n(4, args![])?);
    equal("the output", &got[0], &want[0])?;
    equal("the state", &resumed.get_value("seen")?, &simulator.get_value("seen")?)
}
