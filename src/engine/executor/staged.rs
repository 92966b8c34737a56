//! A call of a method that is cut into stages.
//!
//! All stages read the old values of shared variables. The new values are results, and the commits, the last
//! stages, store them after all other stages have succeeded: a failed call changes nothing, on any device.

use super::stages::{Stage, StageInput};
use super::{ContextEngine, ExecutionMode, Executor};
use crate::engine::run::Engine;
use crate::engine::storage::{CallInput, DeviceArray, StageOrigin};
use crate::error::{Error, Result};
use crate::graph::VarId;
use std::collections::HashMap;
use std::sync::Arc;

/// A method that is cut into stages.
#[derive(Debug)]
pub(super) struct Staged {
    /// In an order in which they can run.
    pub(super) stages: Vec<StagedPart>,
    /// New values to where shared variables live.
    pub(super) commits: Vec<StagedPart>,
    /// The outputs of the last run that left them in place.
    pub(super) last: Option<Vec<DeviceArray>>,
}

/// A stage as a method of its device's engine.
#[derive(Debug)]
pub(super) struct StagedPart {
    pub(super) stage: Stage,
    /// Its position among the engine's methods.
    pub(super) at: usize,
    pub(super) origin: Arc<StageOrigin>,
}

/// Whether a call waits for the outcome of its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Its results go to the host.
    ForOutcome,
    /// Its results stay on their devices: only if it stores new values.
    IfNeeded,
}

/// How an engine runs a stage: the engine, the stage, its arguments.
type Runner<'r> = dyn FnMut(&mut Engine, &StagedPart, &[CallInput]) -> Result<Vec<DeviceArray>> + 'r;

/// Values that stages have computed, by the method's Vars.
type Values = HashMap<VarId, DeviceArray>;

impl Staged {
    /// All stages, in the order in which they run.
    pub(super) fn all(&self) -> impl Iterator<Item = &StagedPart> {
        self.stages.iter().chain(&self.commits)
    }
}

impl StagedPart {
    pub(super) fn part(&self) -> usize {
        self.stage.device
    }

    /// The arguments of the stage, on its device.
    fn args(&self, engine: &Engine, given: &[CallInput], values: &Values) -> Result<Vec<CallInput>> {
        let arg = |source: &StageInput| match source {
            StageInput::Input(at) => match given.get(*at).ok_or_else(missing)? {
                CallInput::Device(array) => peer_copy(engine, array.clone()),
                other => Ok(other.clone()),
            },
            StageInput::Value(id) => peer_copy(engine, values.get(id).ok_or_else(missing)?.clone()),
        };
        self.stage.inputs.iter().map(arg).collect()
    }

    /// [`StagedPart::args`] in memory of the device, where the stage is then ready to run.
    fn ready_args(
        &self,
        engine: &mut Engine,
        given: &[CallInput],
        values: &Values,
    ) -> Result<Vec<CallInput>> {
        let on_device = |arg: CallInput| match arg {
            CallInput::Host(value) | CallInput::Slices(value, _) => {
                engine.upload(&value).map(CallInput::Device)
            }
            array => Ok(array),
        };
        let args =
            self.args(engine, given, values)?.into_iter().map(on_device).collect::<Result<Vec<_>>>()?;
        engine.prepare(self.at, &args)?;
        Ok(args)
    }
}

fn missing() -> Error {
    Error::Internal("a stage reads what no stage computes".into())
}

/// An array as it is, if it is on the engine's stream of work; otherwise a copy, by way of the host where the
/// devices cannot make it themselves.
pub(super) fn peer_copy(engine: &Engine, array: DeviceArray) -> Result<CallInput> {
    match array.is_on(engine.device()) {
        true => Ok(CallInput::Device(array)),
        false => match engine.context().copy_of_peer(&array)? {
            Some(copy) => Ok(CallInput::Device(copy)),
            None => Ok(CallInput::Host(array.to_value()?)),
        },
    }
}

impl Executor {
    /// One call of a method's stages: see [`Executor::run_stages_by`].
    pub(super) fn run_stages(
        &mut self,
        method: usize,
        given: &[CallInput],
        wait: Wait,
    ) -> Result<Vec<DeviceArray>> {
        self.run_stages_by(method, given, wait, &mut |engine, stage, args| engine.run_owned(stage.at, args))
    }

    /// One call of a method's stages, whose outputs are kept for [`Executor::outputs`].
    pub(super) fn run_stages_in_place(
        &mut self,
        method: usize,
        given: &[CallInput],
        wait: Wait,
    ) -> Result<()> {
        let outputs = self.run_stages(method, given, wait)?;
        if let ExecutionMode::Stages(staged) = &mut self.methods[method].form {
            staged.last = Some(outputs);
        }
        Ok(())
    }

    /// Runs all stages, then stores the new values. Nothing is stored if a stage fails. Afterwards no device
    /// has an error of this call to report, unless nothing had to wait for its outcome.
    pub(super) fn run_stages_by(
        &mut self,
        method: usize,
        given: &[CallInput],
        wait: Wait,
        run: &mut Runner<'_>,
    ) -> Result<Vec<DeviceArray>> {
        let Executor { parts, methods, .. } = self;
        let method = &methods[method];
        let ExecutionMode::Stages(staged) = &method.form else {
            return Err(Error::Internal("a method without stages".into()));
        };
        let mut values = Values::new();
        let ran = staged.stages.iter().try_for_each(|stage| {
            let engine = &mut parts[stage.part()].engine;
            let args = stage.args(engine, given, &values)?;
            let arrays = run(engine, stage, &args).map_err(|error| stage.origin.locate(error))?;
            let arrays = arrays.into_iter().map(|array| array.located(&stage.origin));
            values.extend(stage.stage.outputs.iter().copied().zip(arrays));
            Ok(())
        });
        if ran.is_err() || wait == Wait::ForOutcome || !staged.commits.is_empty() {
            collect_stage_errors(parts, staged, ran)?;
        }
        // All that may fail comes before the first store: transfers, and compiling.
        let ready = |stage: &StagedPart| stage.ready_args(&mut parts[stage.part()].engine, given, &values);
        let local = staged.commits.iter().map(ready).collect::<Result<Vec<_>>>()?;
        for (stage, args) in staged.commits.iter().zip(&local) {
            let engine = &mut parts[stage.part()].engine;
            run(engine, stage, args).map_err(|error| stage.origin.locate(error))?;
        }
        let missing = || Error::Internal("an output that no stage computes".into());
        method.graph.outputs.iter().map(|id| values.get(id).cloned().ok_or_else(missing)).collect()
    }

    /// See [`collect_stage_errors`].
    pub(super) fn collect_stage_errors(&self, staged: &Staged, ran: Result<()>) -> Result<()> {
        collect_stage_errors(&self.parts, staged, ran)
    }
}

/// The outcome of a call whose stages were enqueued, as far as `ran` says. Every stage is waited for, and
/// what its device reported is cleared, whichever of them failed. The error is that of the first stage that
/// has one.
fn collect_stage_errors(parts: &[ContextEngine], staged: &Staged, ran: Result<()>) -> Result<()> {
    let outcome = |stage: &StagedPart| {
        let checked = parts[stage.part()].engine.check_status(stage.at);
        checked.map_err(|error| stage.origin.locate(error))
    };
    // A stage that failed on the host comes after those that it reads.
    staged.stages.iter().map(outcome).fold(Ok(()), Result::and).and(ran)
}
