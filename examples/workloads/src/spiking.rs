//! Ensembles of leaky integrate-and-fire neurons learn a product: decoders follow the prescribed error
//! sensitivity rule (PES; T. Bekolay et al., 2013). The simulation is saved half-way and continued.

use crate::{Device, temporary_file};
use std::f32::consts::TAU;
use workalike::Result;
use workalike::prelude::*;

const NEURONS: usize = 200;
const STEPS: usize = 12_000;
const DT: f64 = 0.001; // time step in seconds, as all times here
const TAU_RC: f64 = 0.02; // membrane time constant
const TAU_REF: f64 = 0.002; // refractory period
const TAU_SYNAPSE: f64 = 0.01;
const LEARNING_RATE: f64 = 1e-9;

/// A population that represents a vector and decodes a number.
struct Ensemble {
    encoders: Variable,
    bias: Variable,
    voltage: SharedVariable,
    refractory: SharedVariable,
    activity: SharedVariable,
    decoders: SharedVariable,
}

impl Ensemble {
    /// Neurons for vectors in the unit ball, with maximal rates of 200 to 400 Hz and intercepts of -1 to 0.9.
    fn new(name: &str, streams: &RandomStreams, dimensions: usize) -> Result<Ensemble> {
        let directions = constant(streams.draw_normal::<f32>(&[dimensions, NEURONS])?);
        let max_rates = constant(streams.draw_uniform::<f32>(&[NEURONS])?) * 200.0 + 200.0;
        let intercepts = constant(streams.draw_uniform::<f32>(&[NEURONS])?) * 1.9 - 1.0;
        let gain = 1.0 / ((1.0 / max_rates - TAU_REF) / TAU_RC).expm1() / (1.0 - &intercepts);
        let state = |part: &str| shared(&format!("{name}.{part}"), vec![0f32; NEURONS]);
        Ok(Ensemble {
            encoders: &directions / directions.norm(2.0, over(0).keepdims()) * &gain,
            bias: 1.0 - gain * intercepts,
            voltage: state("voltage"),
            refractory: state("refractory"),
            activity: state("activity"),
            decoders: state("decoders"),
        })
    }

    /// One step of DT: the spikes (0 or 1), and the updates of the state and, by PES, of the decoders.
    fn step(&self, input: &Variable, error: &Variable) -> (Variable, Vec<(SharedVariable, Variable)>) {
        let current = input.dot(&self.encoders) + &self.bias;
        let waiting = &self.refractory - DT;
        let charging = (DT - &waiting).clip(0.0, DT); // the part of this step that is not refractory
        let charged = &self.voltage - (&current - &self.voltage) * (-charging / TAU_RC).expm1();
        let fired = charged.greater(1.0);
        let fired_at = DT + TAU_RC * (-(&charged - 1.0) / (&current - 1.0)).log1p();
        let spikes = fired.cast(DType::F32);
        let change = (1.0 - (-DT / TAU_SYNAPSE).exp()) * (&spikes / DT - &*self.activity);
        let updates = vec![
            (self.voltage.clone(), where_(&fired, 0.0, charged.maximum(0.0))),
            (self.refractory.clone(), where_(&fired, TAU_REF + fired_at, waiting)),
            (self.activity.clone(), &self.activity + change),
            (self.decoders.clone(), &self.decoders - LEARNING_RATE * error * &*self.activity),
        ];
        (spikes, updates)
    }
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let streams = RandomStreams::new(1);
    let (first, second) = (Ensemble::new("first", &streams, 2)?, Ensemble::new("second", &streams, 1)?);
    let (u, learning) = (tensor::<f32>("u", [Some(2)]), scalar::<f32>("learning"));
    let product = u.index(idx![0]) * u.index(idx![1]);
    let decoded = [&first, &second].map(|ensemble| ensemble.activity.dot(&ensemble.decoders));
    let errors = [&decoded[0] - &product, &decoded[1] - product];
    let (spikes, updates) = first.step(&u, &(&learning * &errors[0]));
    let (_, more_updates) = second.step(&decoded[0].expand_dims(0), &(&learning * &errors[1]));
    // Firing rates in Hz for a constant input.
    let above = (u.dot(&first.encoders) + &first.bias - 1.0).maximum(1e-6);
    let rates = where_(above.greater(1e-6), 1.0 / (TAU_REF + TAU_RC * (1.0 / above).log1p()), 0.0);
    let f = function((&u, In::new(&learning).default(1.0))).output_named("error", &errors[1]);
    let f = f.output_named("rates", rates).output_named("spikes", spikes);
    let f = f.updates(updates).updates(more_updates).compile()?;

    // Two sines of 1 and 1.6 Hz cover the square.
    let signal = |(t, axis): (usize, usize)| 0.7 * (TAU * [1.0, 1.6][axis] * t as f32 * DT as f32).sin();
    let input = Array2::from_shape_fn((STEPS, 2), signal);
    let mut sim = f.optimize(device)?;
    let error = sim.probe("error", 1, STEPS as u64)?;
    sim.run_n(STEPS as u64, args![each(&input)])?;
    let mean = |errors: &[f32]| errors.iter().map(|e| e.abs()).sum::<f32>() / errors.len() as f32;
    let before = mean(&sim.take_probe(error)?.to_vec::<f32>()?[..500]);

    // Saved, and continued here and from the file: both reach the same state, bit by bit.
    let file = temporary_file("spiking");
    sim.save(&file)?;
    let mut continued = Simulator::load(&file, device)?;
    sim.run_n(STEPS as u64, args![each(&input)])?;
    continued.run_n(STEPS as u64, args![each(&input)])?;
    for name in sim.shared_names() {
        assert_eq!(sim.get_value(name)?, continued.get_value(name)?, "{name}, continued from a file");
    }
    // With the current decoders.
    sim.take_probe(error)?;
    sim.run_n(STEPS as u64, args![each(&input); learning = 0.0])?;
    let after = mean(&sim.read_probe(error)?.to_vec::<f32>()?);
    assert!(after < 0.5 * before, "the mean error went from {before} to {after}");

    // In a second of constant input each neuron fires at the rate of its tuning curve.
    let spikes = sim.probe("spikes", 1, 1000)?;
    let rates = sim.run_n(1000, args![[0.5f32, -0.3]])?["rates"].to_vec::<f32>()?;
    let spikes = sim.read_probe(spikes)?.to_vec::<f32>()?;
    for (neuron, rate) in rates.iter().enumerate() {
        let count: f32 = spikes.iter().skip(neuron).step_by(NEURONS).sum();
        assert!((count - rate).abs() <= 2.0, "neuron {neuron} fired {count} times, not at {rate} Hz");
    }
    std::fs::remove_file(&file).ok();
    Ok(format!("mean error of the product: {before:.3} at first, {after:.3} after learning"))
}
