//! Scenarios: sequences of calls, updates and syncs. Each runs with compiled Functions, and again with saved
//! and loaded ones.

use crate::devices::Tested;
use crate::tolerance::{Bound, compare};
use std::sync::Arc;
use workalike::engine::device::Device;
use workalike::prelude::*;
use workalike::{Error, Result};

/// One scenario.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// The family's name.
    pub family: &'static str,
    /// The name.
    pub name: &'static str,
    /// Whether it is independent of the device, and runs on the host device only.
    pub host_only: bool,
    /// Runs it on a device.
    pub run: fn(&Stage) -> Result<()>,
}

/// The device of a scenario, and whether Functions are saved and loaded first.
pub struct Stage<'a> {
    device: &'a Tested,
    loaded: bool,
}

/// An error with this message.
pub fn wrong(message: impl Into<String>) -> Error {
    Error::Sync(message.into())
}

/// An error unless the condition holds.
///
/// # Errors
/// The message, if the condition is false.
pub fn ensure(condition: bool, message: impl FnOnce() -> String) -> Result<()> {
    if condition { Ok(()) } else { Err(wrong(message())) }
}

/// An error unless two values are near enough.
///
/// # Errors
/// What differs.
pub fn near(what: &str, got: &Value, want: &Value, bound: &Bound) -> Result<()> {
    compare(got, want, bound).map_err(|e| wrong(format!("{what}: {e}")))
}

/// An error unless two values are equal.
///
/// # Errors
/// What differs.
pub fn equal(what: &str, got: &Value, want: impl Into<Value>) -> Result<()> {
    near(what, got, &want.into(), &Bound::Exact)
}

/// An error unless the result is an error that contains all of these words.
///
/// # Errors
/// What the result is instead.
pub fn fails<T>(what: &str, result: Result<T>, words: &[&str]) -> Result<()> {
    match result {
        Ok(_) => Err(wrong(format!("{what}: expected an error"))),
        Err(error) => {
            let text = error.to_string();
            let lacks = words.iter().find(|w| !text.contains(**w));
            ensure(lacks.is_none(), || format!("{what}: the error does not say {lacks:?}: {text}"))
        }
    }
}

/// The results of a call, which a second, equal call must give too.
pub fn twice(stage: &Stage, f: &Function, args: Args) -> Result<Vec<Value>> {
    let mut simulator = stage.simulator(f)?;
    let first = simulator.call(args.clone())?.into_values();
    let second = simulator.call(args)?.into_values();
    ensure(first == second, || "two equal calls differ".into())?;
    Ok(first)
}

/// A bound relative to each value: for long chains of iterations that accumulate errors.
pub fn relative(want: &Value, share: f64) -> Bound {
    let bounds: Vec<f64> = want.to_f64s().iter().map(|v| v.abs() * share + share * 1e-3).collect();
    Value::from_vec(want.shape(), bounds).map_or(Bound::Exact, Bound::Within)
}

impl<'a> Stage<'a> {
    /// A stage that uses Functions as compiled.
    pub fn direct(device: &'a Tested) -> Stage<'a> {
        Stage { device, loaded: false }
    }

    /// A stage that saves and loads Functions first.
    pub fn loaded(device: &'a Tested) -> Stage<'a> {
        Stage { device, loaded: true }
    }

    /// Whether Functions are saved and loaded first.
    pub fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// The Functions as a Bundle, saved and loaded if the stage says so.
    ///
    /// # Errors
    /// If they cannot be saved or loaded.
    pub fn bundle(&self, functions: &[(&str, &Function)]) -> Result<Bundle> {
        let bundle = functions.iter().fold(Bundle::new(), |bundle, (name, f)| bundle.with(name, f));
        match self.loaded {
            true => Bundle::from_bytes_with(&bundle.to_bytes()?, LoadOptions::new().allow_kernels(true)),
            false => Ok(bundle),
        }
    }

    /// One Function, saved and loaded if the stage says so.
    ///
    /// # Errors
    /// If it cannot be saved or loaded.
    pub fn function(&self, function: &Function) -> Result<Function> {
        let bundle = self.bundle(&[("f", function)])?;
        bundle.get("f").cloned().ok_or_else(|| wrong("the loaded bundle lacks the function"))
    }

    /// Opens the stage's device with a new stream.
    ///
    /// # Errors
    /// As [`Open::open`].
    pub fn open(&self) -> Result<Arc<dyn Device>> {
        self.device.open()
    }

    /// Opens new streams of the stage's device for the members of a group, or of as many devices of its kind.
    ///
    /// # Errors
    /// As [`Open::open`].
    pub fn open_members(&self, count: usize) -> Result<Vec<Arc<dyn Device>>> {
        (0..count).map(|rank| self.device.open_member(rank)).collect()
    }

    /// A strict Simulator on the stage's device.
    ///
    /// # Errors
    /// As [`Function::optimize`].
    pub fn simulator(&self, function: &Function) -> Result<Simulator> {
        self.device.optimize(function)
    }

    /// Runs a Function with updates, by `call` and by `run_n`, and compares outputs, states and, after a
    /// sync, the parent with the reference. `bound` gives the bound of a value from the reference's value.
    ///
    /// # Errors
    /// What differs.
    pub fn steps(
        &self,
        original: &Function,
        steps: &[Vec<Value>],
        bound: impl Fn(&Value) -> Bound,
    ) -> Result<()> {
        let reference = original.fork()?;
        let function = self.function(&original.fork()?)?;
        let mut by_call = self.simulator(&function)?;
        let mut by_run = self.simulator(&function)?;
        let args = |step: &[Value]| step.iter().fold(Args::new(), Args::with);
        let mut wanted = Outputs::default();
        for (number, step) in steps.iter().enumerate() {
            wanted = reference.call_reference(args(step))?;
            let got = by_call.call(args(step))?;
            ensure(got.len() == wanted.len(), || "another number of outputs".into())?;
            near_outputs(&format!("step {number}"), &got, &wanted, &bound)?;
        }
        let sequences = (0..steps.first().map_or(0, Vec::len)).map(|i| {
            let slices: Vec<&Value> = steps.iter().map(|s| &s[i]).collect();
            stacked(&slices)
        });
        let sequences: Vec<Value> = sequences.collect::<Result<_>>()?;
        let each_args = sequences.iter().fold(Args::new(), |args, s| args.with(each(s)));
        let last = by_run.run_n(steps.len() as u64, each_args)?;
        near_outputs("run_n", &last, &wanted, &bound)?;
        for cell in reference.cells() {
            let (name, want) = (cell.name(), cell.get_value()?);
            near(&format!("{name} after call"), &by_call.get_value(name)?, &want, &bound(&want))?;
            near(&format!("{name} after run_n"), &by_run.get_value(name)?, &want, &bound(&want))?;
        }
        synced(&mut by_run, &function, &reference, &bound)?;
        // The parent's next call starts from the synced state, as the reference's does.
        if let Some(step) = steps.last() {
            let want = reference.call_reference(args(step))?;
            near_outputs("the parent's call", &function.call(args(step))?, &want, &bound)?;
        }
        Ok(())
    }
}

/// An error unless all outputs are near enough.
fn near_outputs(what: &str, got: &Outputs, want: &Outputs, bound: &impl Fn(&Value) -> Bound) -> Result<()> {
    for (output, want) in want.iter().map(|o| o.1).enumerate() {
        near(&format!("{what}, output {output}"), &got[output], want, &bound(want))?;
    }
    Ok(())
}

/// Syncs the Simulator to its parent, which must have the reference's state afterwards. Every shared variable
/// that changed must be reported.
fn synced(
    simulator: &mut Simulator,
    parent: &Function,
    reference: &Function,
    bound: &impl Fn(&Value) -> Bound,
) -> Result<()> {
    let before = parent.updated().map(|c| c.get_value()).collect::<Result<Vec<_>>>()?;
    let written = simulator.sync_to_parent()?;
    for (cell, before) in parent.updated().zip(before) {
        let told = written.iter().any(|w| w == cell.name());
        ensure(told || cell.get_value()? == before, || format!("{} was not synced", cell.name()))?;
    }
    for cell in reference.cells() {
        let (name, want) = (cell.name(), cell.get_value()?);
        let got = parent.shared(name)?.get_value()?;
        near(&format!("{name} of the parent"), &got, &want, &bound(&want))?;
    }
    Ok(())
}

/// Stacks values of one dtype and shape along a new first axis.
///
/// # Errors
/// If there are no values, or dtypes or shapes differ.
pub fn stacked(values: &[&Value]) -> Result<Value> {
    let first = values.first().ok_or_else(|| wrong("nothing to stack"))?;
    let shape: Vec<usize> = std::iter::once(values.len()).chain(first.shape().iter().copied()).collect();
    let mut bytes = Vec::new();
    for value in values {
        bytes.extend_from_slice(value.contiguous()?.contiguous_bytes().unwrap_or(&[]));
    }
    Value::from_bytes(first.dtype(), &shape, &bytes)
}
