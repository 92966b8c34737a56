//! Power iteration: `x <- A x / |A x|`, on the device until x converges.

use crate::{Device, NONE, uniform};
use workalike::Result;
use workalike::prelude::*;

const N: usize = 100;
/// The two largest eigenvalues; their ratio determines the convergence rate.
const FIRST: f64 = 10.0;
const SECOND: f64 = 6.0;

/// A symmetric matrix with known eigenvalues: a diagonal one between two reflections.
fn matrix_of() -> Result<Value> {
    let mut v = uniform(1, &[N], -1.0, 1.0)?.to_f64s();
    let norm = v.iter().map(|e| e * e).sum::<f64>().sqrt();
    v.iter_mut().for_each(|e| *e /= norm);
    let d = |i: usize| if i == 0 { FIRST } else { SECOND * (1.0 - (i - 1) as f64 / N as f64) };
    let mean: f64 = (0..N).map(|k| v[k] * v[k] * d(k)).sum();
    let entry = |i: usize, j: usize| {
        let diagonal = if i == j { d(i) } else { 0.0 };
        diagonal - 2.0 * v[i] * v[j] * (d(i) + d(j)) + 4.0 * v[i] * v[j] * mean
    };
    let entries = (0..N * N).map(|at| entry(at / N, at % N) as f32).collect();
    Value::from_vec::<f32>(&[N, N], entries)
}

pub(crate) fn run(device: &Device) -> Result<String> {
    let a = shared("a", matrix_of()?);
    let x = shared("x", uniform(2, &[N], 0.0, 1.0)?);
    let y = a.dot(&x);
    let next = &y / y.sqr().sum(..).sqrt();
    let f = function(NONE)
        .output_named("moves", (&next - &x).abs().max(..).greater(1e-5))
        .output_named("eigenvalue", next.dot(a.dot(&next)))
        .update(&x, &next)
        .compile()?;
    let mut simulator = f.optimize(device.clone().strict())?;
    let (steps, last) = simulator.run_while("moves", 1_000, args![])?;
    let eigenvalue = last[1].item::<f32>()?;
    assert!(steps < 100, "it still moves after {steps} steps");
    assert!((f64::from(eigenvalue) - FIRST).abs() < 1e-4 * FIRST, "the eigenvalue is {eigenvalue}");
    let x = simulator.get_value("x")?.to_f64s();
    let norm: f64 = x.iter().map(|e| e * e).sum();
    assert!((norm - 1.0).abs() < 1e-5, "the eigenvector's length is {}", norm.sqrt());
    Ok(format!("{eigenvalue} after {steps} steps; the largest eigenvalue is {FIRST}"))
}
