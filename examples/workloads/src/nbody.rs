//! Planets around a sun, by fourth-order Runge-Kutta steps that stay on the device.

use crate::{Device, NONE};
use std::f64::consts::TAU;
use workalike::Result;
use workalike::ops::eye;
use workalike::prelude::*;

/// Distances of the planets from the sun, whose mass is 1, and their mass.
const RADII: [f64; 4] = [1.0, 1.6, 2.3, 3.1];
const MASS: f64 = 1e-5;
/// Steps per orbit of the innermost planet.
const STEPS: u64 = 400;

/// The acceleration of each body, from differences of positions and squared distances between all pairs.
fn acceleration(position: &Variable, mass: &Variable) -> Variable {
    let away = position.expand_dims(0) - position.expand_dims(1);
    // The difference of a body from itself is 0, and so is its acceleration.
    let square = away.sqr().sum(-1) + 1e-9;
    let pull = mass / (&square * square.sqrt());
    (pull.expand_dims(2) * away).sum(1)
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let bodies = RADII.len() + 1;
    let (mut places, mut speeds) = (vec![0f32; 2], vec![0f32; 2]);
    for (at, radius) in RADII.iter().enumerate() {
        // On circles, starting at different angles.
        let (sin, cos) = (at as f64).sin_cos();
        let speed = (1.0 / radius).sqrt();
        places.extend([(radius * cos) as f32, (radius * sin) as f32]);
        speeds.extend([(-speed * sin) as f32, (speed * cos) as f32]);
    }
    let masses: Vec<f32> = std::iter::once(1.0).chain([MASS as f32; RADII.len()]).collect();
    let start = places.clone();
    let position = shared("position", Value::from_vec(&[bodies, 2], places)?);
    let velocity = shared("velocity", Value::from_vec(&[bodies, 2], speeds)?);
    let mass = constant(masses);

    let dt = TAU / STEPS as f64;
    let (p, v) = (&*position, &*velocity);
    let (v1, a1) = (v.clone(), acceleration(p, &mass));
    let (v2, a2) = (v + &a1 * (dt / 2.0), acceleration(&(p + &v1 * (dt / 2.0)), &mass));
    let (v3, a3) = (v + &a2 * (dt / 2.0), acceleration(&(p + &v2 * (dt / 2.0)), &mass));
    let (v4, a4) = (v + &a3 * dt, acceleration(&(p + &v3 * dt), &mass));
    let step = function(NONE)
        .update(&position, p + (v1 + 2.0 * v2 + 2.0 * v3 + v4) * (dt / 6.0))
        .update(&velocity, v + (a1 + 2.0 * a2 + 2.0 * a3 + a4) * (dt / 6.0))
        .compile()?;

    let away = (p.expand_dims(0) - p.expand_dims(1)).sqr().sum(-1);
    let itself = eye(bodies as i64, bodies as i64, 0, DType::F32);
    let pairs = mass.expand_dims(0) * mass.expand_dims(1) * (1.0 - &itself) / (&away + &itself).sqrt();
    let kinetic = (&mass * v.sqr().sum(1)).sum(..) / 2.0;
    let momentum = (mass.expand_dims(1) * v).sum(0);
    let watch = function(NONE)
        .output_named("energy", (kinetic - pairs.sum(..) / 2.0) / MASS)
        .output_named("momentum", momentum / MASS)
        .compile()?;

    let mut simulator = step.optimize(device.clone().strict())?;
    simulator.add_method("watch", &watch)?;
    let before = simulator.method("watch")?.call(args![])?;
    simulator.run_n(STEPS, args![])?;
    let after = simulator.method("watch")?.call(args![])?;

    let [e0, e1] = [&before[0], &after[0]].map(|e| e.to_f64s()[0]);
    let drift = ((e1 - e0) / e0).abs();
    assert!(drift < 1e-4, "the energy goes from {e0} to {e1}");
    let [m0, m1] = [&before[1], &after[1]].map(Value::to_f64s);
    assert!(m0.iter().zip(&m1).all(|(a, b)| (a - b).abs() < 0.05), "the momentum goes from {m0:?} to {m1:?}");
    // After one orbit the innermost planet is back, apart from perturbations.
    let place = simulator.get_value("position")?.to_f64s();
    let off = (0..2).map(|k| (place[2 + k] - f64::from(start[2 + k])).powi(2)).sum::<f64>().sqrt();
    assert!(off < 5e-3, "the innermost planet is off by {off} after a year");
    Ok(format!("{STEPS} steps: the energy drifts by {drift:.1e}, the innermost planet is off by {off:.1e}"))
}
