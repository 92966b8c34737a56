//! Scenarios: stories with calls, updates and syncs, told once with Functions as they were compiled and once
//! with Functions that were saved and loaded.

use crate::devices::Tested;
use crate::tolerance::{Bound, compare};
use std::sync::Arc;
use workalike::prelude::*;
use workalike::rehost::device::Device;
use workalike::{Error, Result};

/// One story.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// The family's name.
    pub family: &'static str,
    /// The story's name.
    pub name: &'static str,
    /// Whether it is about what is the same for all devices: then it is told on the host device only.
    pub host_only: bool,
    /// Tells it on a device.
    pub run: fn(&Stage) -> Result<()>,
}

/// Where a story is told.
pub struct Stage<'a> {
    device: &'a Tested,
    loaded: bool,
}

/// An error that says what is wrong.
pub fn wrong(message: impl Into<String>) -> Error {
    Error::Sync(message.into())
}

/// An error unless the condition holds.
///
/// # Errors
/// With this message.
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

/// An error unless something failed, saying all of these words.
///
/// # Errors
/// What happened instead.
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

/// A bound relative to each value: for long chains of steps, whose errors are carried from call to call.
pub fn relative(want: &Value, share: f64) -> Bound {
    let bounds: Vec<f64> = want.to_f64s().iter().map(|v| v.abs() * share + share * 1e-3).collect();
    Value::from_vec(want.shape(), bounds).map_or(Bound::Exact, Bound::Within)
}

impl<'a> Stage<'a> {
    /// With Functions as they were compiled.
    pub fn direct(device: &'a Tested) -> Stage<'a> {
        Stage { device, loaded: false }
    }

    /// With Functions that were saved and loaded.
    pub fn loaded(device: &'a Tested) -> Stage<'a> {
        Stage { device, loaded: true }
    }

    /// The Functions, as the stage has them.
    ///
    /// # Errors
    /// If they cannot be saved or loaded.
    pub fn bundle(&self, functions: &[(&str, &Function)]) -> Result<Bundle> {
        let bundle = functions.iter().fold(Bundle::new(), |bundle, (name, f)| bundle.with(name, f));
        if self.loaded { Bundle::from_bytes(&bundle.to_bytes()?) } else { Ok(bundle) }
    }

    /// One Function, as the stage has it.
    ///
    /// # Errors
    /// If it cannot be saved or loaded.
    pub fn function(&self, function: &Function) -> Result<Function> {
        let bundle = self.bundle(&[("f", function)])?;
        bundle.get("f").cloned().ok_or_else(|| wrong("the loaded bundle lacks the function"))
    }

    /// The stage's device, with a stream of its own.
    ///
    /// # Errors
    /// As [`Open::open`].
    pub fn open(&self) -> Result<Arc<dyn Device>> {
        self.device.open()
    }

    /// A strict Simulator on the stage's device.
    ///
    /// # Errors
    /// As [`Function::optimize`].
    pub fn simulator(&self, function: &Function) -> Result<Simulator> {
        self.device.rehost(function)
    }

    /// Runs a Function with updates step by step, by `call` and by `run_n`, and compares outputs, states and,
    /// after a sync, the parent with the reference. `bound` gives the bound of a value from the reference's.
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
            for (output, want) in wanted.iter().map(|o| o.1).enumerate() {
                near(&format!("step {number}, output {output}"), &got[output], want, &bound(want))?;
            }
        }
        let sequences = (0..steps.first().map_or(0, Vec::len)).map(|i| {
            let slices: Vec<&Value> = steps.iter().map(|s| &s[i]).collect();
            stacked(&slices)
        });
        let sequences: Vec<Value> = sequences.collect::<Result<_>>()?;
        let each_args = sequences.iter().fold(Args::new(), |args, s| args.with(each(s)));
        let last = by_run.run_n(steps.len() as u64, each_args)?;
        for (output, want) in wanted.iter().map(|o| o.1).enumerate() {
            near(&format!("run_n, output {output}"), &last[output], want, &bound(want))?;
        }
        for cell in reference.cells() {
            let want = cell.get_value()?;
            near(
                &format!("{} after call", cell.name()),
                &by_call.get_value(cell.name())?,
                &want,
                &bound(&want),
            )?;
            near(
                &format!("{} after run_n", cell.name()),
                &by_run.get_value(cell.name())?,
                &want,
                &bound(&want),
            )?;
        }
        let before = function.updated().map(|c| c.get_value()).collect::<Result<Vec<_>>>()?;
        let written = by_run.sync_to_parent()?;
        for (cell, before) in function.updated().zip(before) {
            let told = written.iter().any(|w| w == cell.name());
            ensure(told || cell.get_value()? == before, || format!("{} was not synced", cell.name()))?;
        }
        for cell in reference.cells() {
            let parent = function.shared(cell.name())?;
            let want = cell.get_value()?;
            near(&format!("{} of the parent", cell.name()), &parent.get_value()?, &want, &bound(&want))?;
        }
        // The parent's own call goes on from there, as the reference's.
        if let Some(step) = steps.last() {
            let want = reference.call_reference(args(step))?;
            let got = function.call(args(step))?;
            for (output, want) in want.iter().map(|o| o.1).enumerate() {
                near(&format!("the parent's call, output {output}"), &got[output], want, &bound(want))?;
            }
        }
        Ok(())
    }
}

/// Values of one dtype and shape along a new first axis.
///
/// # Errors
/// If there is none, or they differ.
pub fn stacked(values: &[&Value]) -> Result<Value> {
    let first = values.first().ok_or_else(|| wrong("nothing to stack"))?;
    let shape: Vec<usize> = std::iter::once(values.len()).chain(first.shape().iter().copied()).collect();
    let mut bytes = Vec::new();
    for value in values {
        bytes.extend_from_slice(value.contiguous()?.contiguous_bytes().unwrap_or(&[]));
    }
    Value::from_bytes(first.dtype(), &shape, &bytes)
}
