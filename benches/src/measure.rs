//! Checking and timing.

use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;
use workalike::function::Args;
use workalike::prelude::*;
use workalike::rehost::device::Device;
use workalike::{Error, Result};

/// One row of the results.
#[derive(Serialize)]
struct Row<'a> {
    work: &'a str,
    variant: &'a str,
    device: &'a str,
    /// Microseconds a call or step: the median of several repeats.
    us: f64,
    /// The fewest bytes that the work must move.
    bytes: f64,
    /// The floating-point operations it must do.
    flops: f64,
    checksum: f64,
}

/// A device, and how many results on it were wrong.
pub(crate) struct Bench<'a> {
    open: &'a dyn Open,
    id: String,
    /// Whether the device is large: workloads then take their large sizes.
    pub(crate) large: bool,
    pub(crate) wrong: usize,
}

/// The sizes of a piece of work.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) bytes: f64,
    pub(crate) flops: f64,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(open: &'a dyn Open) -> Result<Bench<'a>> {
        let device: Arc<dyn Device> = open.open()?;
        let properties = device.properties();
        let (id, large) = (properties.id.clone(), properties.lanes > 1024);
        eprintln!("{id}: {}, {}", properties.name, properties.driver);
        Ok(Bench { open, id, large, wrong: 0 })
    }

    /// A Simulator of `f`.
    pub(crate) fn simulator(&self, f: &Function) -> Result<Simulator> {
        f.optimize(Reopened(self.open))
    }

    /// A Simulator of `f`, after three calls of it agreed with three calls of the reference, state included.
    pub(crate) fn checked(
        &mut self,
        work: &str,
        f: &Function,
        args: &Args,
        tolerance: f64,
    ) -> Result<Simulator> {
        let (reference, tried) = (f.fork()?, f.fork()?);
        let mut sim = self.simulator(&tried)?;
        for call in 0..3 {
            let (want, got) = (reference.call_reference(args.clone())?, sim.call(args.clone())?);
            let outputs = want.iter().zip(got.iter()).map(|((_, w), (_, g))| (w.clone(), g.clone()));
            let mut pairs: Vec<(Value, Value)> = outputs.collect();
            for cell in reference.cells() {
                pairs.push((cell.get_value()?, sim.get_value(cell.name())?));
            }
            if let Some(worst) =
                pairs.iter().map(|(w, g)| distance(w, g)).find(|d| d.is_nan() || *d > tolerance)
            {
                self.wrong += 1;
                return Err(Error::Sync(format!(
                    "{work}: call {call} is off by {worst:.1e}, more than {tolerance:.0e}"
                )));
            }
        }
        Ok(sim)
    }

    /// Times `inner` repetitions of `step` several times, with a synchronization at the end of each, and prints the row.
    pub(crate) fn time(
        &self,
        work: &str,
        variant: &str,
        size: Work,
        sim: &mut Simulator,
        inner: u64,
        mut step: impl FnMut(&mut Simulator, u64) -> Result<()>,
    ) -> Result<()> {
        step(sim, inner.min(3))?;
        sim.synchronize()?;
        let mut times = Vec::new();
        for _ in 0..7 {
            let start = Instant::now();
            step(sim, inner)?;
            sim.synchronize()?;
            times.push(start.elapsed().as_secs_f64() * 1e6 / inner as f64);
        }
        times.sort_by(f64::total_cmp);
        let row = Row {
            work,
            variant,
            device: &self.id,
            us: times[times.len() / 2],
            bytes: size.bytes,
            flops: size.flops,
            checksum: 0.0,
        };
        self.print(row, sim)
    }

    fn print(&self, mut row: Row, sim: &mut Simulator) -> Result<()> {
        let names: Vec<String> = sim.shared_names().map(Into::into).collect();
        for name in names {
            row.checksum += sim.get_value(&name)?.to_f64s().iter().sum::<f64>();
        }
        match serde_json::to_string(&row) {
            Ok(line) => println!("{line}"),
            Err(error) => return Err(Error::Internal(error.to_string())),
        }
        Ok(())
    }
}

/// Lends a device selector to `optimize`.
struct Reopened<'a>(&'a dyn Open);

impl Open for Reopened<'_> {
    fn open(&self) -> Result<Arc<dyn Device>> {
        self.0.open()
    }
}

/// `|a - b| / |a|` in the Euclidean norm.
fn distance(a: &Value, b: &Value) -> f64 {
    let (a, b) = (a.to_f64s(), b.to_f64s());
    let off: f64 = a.iter().zip(&b).map(|(x, y)| (x - y).powi(2)).sum();
    let size: f64 = a.iter().map(|x| x * x).sum();
    (off / size.max(1e-30)).sqrt()
}

/// Random-normal elements, the same in every run.
pub(crate) fn normal(seed: u64, shape: &[usize], scale: f64) -> Result<Value> {
    let draw = RandomStreams::new(seed).normal::<f32>(shape) * scale;
    let mut outputs = function([] as [&Variable; 0]).output(&draw).compile()?.call(args![])?.into_values();
    outputs.pop().ok_or_else(|| Error::Internal("no draw".into()))
}

/// Random integers below `below`, the same in every run.
pub(crate) fn labels(seed: u64, count: usize, below: u64) -> Result<Value> {
    let bits = RandomStreams::new(seed).bits(&[count]);
    let drawn = function([] as [&Variable; 0]).output(&bits).compile()?.call(args![])?;
    let labels: Vec<i64> = drawn[0].to_vec::<u64>()?.iter().map(|b| (b % below) as i64).collect();
    Ok(Value::from(labels))
}
