//! Checking and timing one line.

use crate::workloads::CallMode;
use serde::Serialize;
use std::time::Instant;
use workalike::engine::Open;
use workalike::engine::verify::{Check, verify};
use workalike::prelude::*;
use workalike_cli_common::report::{Failure, Result, say, say_json};

/// Repeats of a measurement; the median is reported.
const REPEATS: usize = 7;
/// Target time of one repeat in seconds, and the largest number of calls in it.
const REPEAT_SECONDS: f64 = 0.1;
const MOST_CALLS: f64 = 2_000.0;

/// One row of the results.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BenchRow {
    pub(crate) work: String,
    pub(crate) variant: String,
    pub(crate) device: String,
    pub(crate) lib: &'static str,
    /// Microseconds per call or iteration: the median of the repeats.
    pub(crate) us: f64,
    /// The fastest and the slowest repeat.
    pub(crate) us_min: f64,
    pub(crate) us_max: f64,
    /// The fewest bytes that the work must move.
    pub(crate) bytes: f64,
    /// The floating-point operations it must do.
    pub(crate) flops: f64,
    /// Kernels, library calls and copies that a call or iteration launches.
    pub(crate) launches: u64,
    /// The sum of all outputs and shared variables after three calls.
    pub(crate) checksum: f64,
}

impl BenchRow {
    pub(crate) fn print(&self, json: bool) -> Result<()> {
        if json {
            return say_json(&serde_json::to_string(self)?);
        }
        let rate =
            |amount: f64| if amount > 0.0 { format!("{:.1}", amount / self.us / 1e3) } else { "-".into() };
        say(&format!(
            "{:<16} {:<28} {:>12.2} us  ({:.2} to {:.2})  {:>8} GB/s {:>10} GFLOP/s  {} launches",
            self.work,
            self.variant,
            self.us,
            self.us_min,
            self.us_max,
            rate(self.bytes),
            rate(self.flops),
            self.launches
        ))
    }
}

/// The measurements of a line.
pub(crate) struct Timed {
    times: Vec<f64>,
    bytes: f64,
    flops: f64,
    launches: u64,
    checksum: f64,
}

impl Timed {
    pub(crate) fn row(&self, work: &str, variant: &str, device: &str) -> BenchRow {
        BenchRow {
            work: work.into(),
            variant: variant.into(),
            device: device.into(),
            lib: "workalike",
            us: self.times[self.times.len() / 2],
            us_min: self.times[0],
            us_max: self.times[self.times.len() - 1],
            bytes: self.bytes,
            flops: self.flops,
            launches: self.launches,
            checksum: self.checksum,
        }
    }
}

/// Checks three calls, state included, against the reference (of `small`, if given), and checks that `run_n`
/// does what calls do. Then measures.
pub(crate) fn measure(
    function: &Function,
    small: Option<&Function>,
    args: &Args,
    way: CallMode,
    place: impl Open + Copy,
) -> Result<Timed> {
    let checked = small.unwrap_or(function);
    let found = verify(checked, &place.open()?, args.clone(), Check { steps: 3, ..Check::default() })?;
    if !found.passed() {
        return Err(Failure::new(found.to_string()));
    }
    if way == CallMode::Steps {
        check_steps(checked, args, place)?;
    }
    let mut simulator = function.fork()?.optimize(place)?;
    let plan = simulator.plan(args.clone())?;
    for _ in 0..2 {
        simulator.call(args.clone())?;
    }
    let last = simulator.call(args.clone())?;
    let outputs: f64 = last.iter().map(|(_, value)| sum(value)).sum();
    drop(last);
    let state: f64 = states(&simulator)?.iter().map(sum).sum();
    Ok(Timed {
        times: time(&mut simulator, args, way)?,
        bytes: plan.compulsory_bytes as f64,
        flops: plan.total.flops,
        launches: plan.total.launches,
        checksum: outputs + state,
    })
}

/// Three iterations of `run_n` leave the same state as three calls.
fn check_steps(function: &Function, args: &Args, place: impl Open + Copy) -> Result<()> {
    let (mut steps, mut calls) = (function.fork()?.optimize(place)?, function.fork()?.optimize(place)?);
    steps.run_n(3, args.clone())?;
    for _ in 0..3 {
        calls.call(args.clone())?;
    }
    for (steps, calls) in states(&steps)?.iter().zip(states(&calls)?) {
        let (a, b) = (steps.to_f64s(), calls.to_f64s());
        let off: f64 = a.iter().zip(&b).map(|(x, y)| (x - y).powi(2)).sum();
        let size: f64 = b.iter().map(|x| x * x).sum();
        let worst = (off / size.max(1e-30)).sqrt();
        if worst.is_nan() || worst > 1e-4 {
            return Err(Failure::new(format!("three steps are off from three calls by {worst:.1e}")));
        }
    }
    Ok(())
}

fn states(simulator: &Simulator) -> Result<Vec<Value>> {
    let names: Vec<String> = simulator.shared_names().map(Into::into).collect();
    Ok(names.iter().map(|name| simulator.get_value(name)).collect::<workalike::Result<_>>()?)
}

fn sum(value: &Value) -> f64 {
    value.to_f64s().iter().sum()
}

/// Microseconds per call of each repeat, sorted.
fn time(simulator: &mut Simulator, args: &Args, way: CallMode) -> Result<Vec<f64>> {
    repeated(|calls| {
        match way {
            CallMode::Host => {
                for _ in 0..calls {
                    simulator.call(args.clone())?;
                }
            }
            CallMode::Device => {
                for _ in 0..calls {
                    simulator.call_device(args.clone())?;
                }
            }
            CallMode::Borrowed => {
                for _ in 0..calls {
                    simulator.call_borrowed(args.clone())?;
                }
            }
            CallMode::Steps => drop(simulator.run_n(calls, args.clone())?),
        }
        Ok(simulator.synchronize()?)
    })
}

/// Microseconds per call of each repeat, sorted; `run` makes a number of calls and waits for them.
pub(crate) fn repeated(mut run: impl FnMut(u64) -> Result<()>) -> Result<Vec<f64>> {
    let mut run = |calls: u64| -> Result<f64> {
        let start = Instant::now();
        run(calls)?;
        Ok(start.elapsed().as_secs_f64())
    };
    run(3)?;
    let once = run(1)?.min(run(1)?);
    // Measured again with several calls per synchronization: a single call includes the whole
    // synchronization.
    let few = (REPEAT_SECONDS / 5.0 / once).clamp(1.0, MOST_CALLS) as u64;
    let each = run(few)? / few as f64;
    let calls = (REPEAT_SECONDS / each).clamp(1.0, MOST_CALLS) as u64;
    let mut times = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        times.push(run(calls)? * 1e6 / calls as f64);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}
