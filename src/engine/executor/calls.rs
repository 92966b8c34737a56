//! Calls of methods and their results.

use super::staged::{Wait, peer_copy};
use super::{ExecutionMode, Executor};
use crate::engine::storage::{CallInput, DeviceArray, Ticket};
use crate::error::{Error, Result};
use crate::value::Value;

impl Executor {
    /// A call whose inputs have the sizes of the last call's; their dtypes and shapes are not checked. `None`
    /// if something else changed, or the method runs in stages.
    pub(crate) fn call_again(&mut self, method: usize, values: &[Value]) -> Result<Option<Vec<Value>>> {
        match self.methods[method].form {
            ExecutionMode::Whole { part, at } => self.parts[part].engine.call_again(at, values),
            ExecutionMode::Stages(_) => Ok(None),
        }
    }

    /// One call with outputs left in place, for [`Executor::outputs`].
    pub(crate) fn run(&mut self, method: usize, args: &[CallInput]) -> Result<()> {
        match self.methods[method].form {
            ExecutionMode::Whole { part, at } => self.parts[part].engine.run(at, args),
            ExecutionMode::Stages(_) => self.run_stages_in_place(method, args, Wait::IfNeeded),
        }
    }

    /// One call whose outputs stay on their devices and belong to the caller.
    pub(crate) fn run_owned(&mut self, method: usize, args: &[CallInput]) -> Result<Vec<DeviceArray>> {
        match self.methods[method].form {
            ExecutionMode::Whole { part, at } => self.parts[part].engine.run_owned(at, args),
            ExecutionMode::Stages(_) => self.run_stages(method, args, Wait::IfNeeded),
        }
    }

    /// The outputs of a method's last run, on the host.
    pub(crate) fn outputs(&self, method: usize) -> Result<Vec<Value>> {
        match &self.methods[method].form {
            ExecutionMode::Whole { part, at } => self.parts[*part].engine.outputs(*at),
            ExecutionMode::Stages(_) => {
                self.check_status(method)?;
                self.last(method)?.iter().map(DeviceArray::to_value).collect()
            }
        }
    }

    /// An output of a method's last run, on the host.
    pub(crate) fn output(&self, method: usize, position: usize) -> Result<Value> {
        match &self.methods[method].form {
            ExecutionMode::Whole { part, at } => self.parts[*part].engine.output(*at, position),
            ExecutionMode::Stages(_) => {
                self.check_status(method)?;
                self.output_view(method, position)?.to_value()
            }
        }
    }

    /// An output of a method's last run, in place: the caller must ensure that nothing runs while it is used.
    pub(crate) fn output_view(&self, method: usize, position: usize) -> Result<DeviceArray> {
        match &self.methods[method].form {
            ExecutionMode::Whole { part, at } => self.parts[*part].engine.output_view(*at, position),
            ExecutionMode::Stages(_) => {
                let missing = || Error::Internal("an output that a method does not have".into());
                self.last(method)?.get(position).cloned().ok_or_else(missing)
            }
        }
    }

    /// The outputs of a method's last run, copied on their devices.
    pub(crate) fn device_outputs(&self, method: usize) -> Result<Vec<DeviceArray>> {
        match &self.methods[method].form {
            ExecutionMode::Whole { part, at } => self.parts[*part].engine.device_outputs(*at),
            // No call writes to them again.
            ExecutionMode::Stages(_) => self.last(method).map(<[DeviceArray]>::to_vec),
        }
    }

    /// The outputs that the last [`Executor::run`] of stages left.
    pub(super) fn last(&self, method: usize) -> Result<&[DeviceArray]> {
        let method = &self.methods[method];
        match &method.form {
            ExecutionMode::Stages(staged) if staged.last.is_some() => {
                Ok(staged.last.as_deref().unwrap_or_default())
            }
            _ => {
                let message = "it has not run yet: call it before its results are read".into();
                Err(Error::Call { function: method.name.clone(), message })
            }
        }
    }

    /// Reports the errors of a method's calls since the last check.
    pub(crate) fn check_status(&self, method: usize) -> Result<()> {
        match &self.methods[method].form {
            ExecutionMode::Whole { part, at } => self.parts[*part].engine.check_status(*at),
            ExecutionMode::Stages(staged) => self.collect_stage_errors(staged, Ok(())),
        }
    }

    /// Waits for all calls; no later call reports their errors.
    ///
    /// # Errors
    /// If a device fails.
    pub(crate) fn discard_errors(&self) -> Result<()> {
        self.engines().map(|engine| engine.discard_errors()).fold(Ok(()), Result::and)
    }

    /// A ticket to wait for the call of a method that was enqueued last.
    pub(crate) fn ticket(&self, method: usize) -> Result<Ticket> {
        match &self.methods[method].form {
            ExecutionMode::Whole { part, at } => self.parts[*part].engine.ticket(*at),
            ExecutionMode::Stages(staged) => {
                let ticket = |stage: &super::StagedPart| {
                    Ok((self.parts[stage.part()].engine.ticket(stage.at)?, stage.origin.clone()))
                };
                let tickets = staged.stages.iter().map(ticket).collect::<Result<Vec<_>>>()?;
                Ok(Ticket::of_parts(tickets))
            }
        }
    }

    /// Waits, and reports the first error of all methods; the others are known by the calls' results.
    pub(crate) fn finish(&self) -> Result<()> {
        self.engines().try_for_each(|engine| engine.device().synchronize())?;
        let outcomes = (0..self.methods.len()).map(|method| self.check_status(method));
        outcomes.fold(Ok(()), Result::and)
    }

    /// A value in memory of the first device.
    pub(crate) fn upload(&self, value: &Value) -> Result<DeviceArray> {
        self.parts[0].engine.upload(value)
    }

    /// An array as an argument of a method: as it is, if it is on the method's device; otherwise a copy, by
    /// way of the host where the devices cannot make it themselves. Each stage copies what it needs.
    pub(crate) fn array_input(
        &self,
        method: usize,
        array: DeviceArray,
        unchecked: bool,
    ) -> Result<CallInput> {
        if !unchecked {
            array.check()?;
        }
        match self.methods[method].form {
            ExecutionMode::Whole { part, .. } => peer_copy(&self.parts[part].engine, array),
            ExecutionMode::Stages(_) => Ok(CallInput::Device(array)),
        }
    }
}
