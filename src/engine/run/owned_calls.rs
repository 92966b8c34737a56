//! Calls whose results stay on the device and belong to the caller.

use super::Engine;
use crate::engine::plan::Planned;
use crate::engine::record::{BoundProgram, RecordingChoice};
use crate::engine::storage::{CallInput, CallOutcome, DeviceArray, EngineContext};
use crate::error::{DeviceError, Error, Result};
use std::sync::Arc;
use workalike_device::Region;

impl Engine {
    /// One call whose outputs stay on the device and belong to the caller.
    pub(crate) fn run_owned(&mut self, method: usize, args: &[CallInput]) -> Result<Vec<DeviceArray>> {
        let (planned, context) = self.ready(method, args)?;
        let chosen = match planned.caller_recordings.choose(&planned.compiled, context, args) {
            Err(Error::Device(DeviceError::OutOfMemory { .. })) if self.trim() > 0 => {
                // The arena was dropped if it was larger than needed.
                self.make_room(method)?;
                let (planned, context) = self.current(method)?;
                planned.caller_recordings.choose(&planned.compiled, context, args)
            }
            outcome => outcome,
        };
        let chosen = chosen?;
        let (planned, context) = self.current(method)?;
        match chosen {
            Some(chosen) => planned.run_chosen(context, args, chosen),
            None => planned.run_and_copy(context, args),
        }
    }
}

impl Planned {
    /// One call that writes its results directly to memory of the caller.
    fn run_chosen(
        &mut self,
        context: &mut EngineContext,
        args: &[CallInput],
        chosen: RecordingChoice,
    ) -> Result<Vec<DeviceArray>> {
        let Planned { compiled, caller_recordings, .. } = self;
        let Some(variant) = caller_recordings.list.get_mut(chosen.variant) else {
            return self.run_and_copy(context, args);
        };
        let mut bound = BoundProgram { compiled, recorded: &mut variant.recorded };
        bound.upload_inputs(context, args, None)?;
        let outcomes = outcomes(bound.replay(context)?, args);
        let results = bound.results(context);
        let outputs = results.compiled.results().map(|(buffer, dtype, shape)| {
            match variant.outputs.iter().zip(&chosen.leases).find(|((output, _), _)| *output == buffer) {
                Some((_, lease)) => {
                    Ok(DeviceArray::in_pool(&results.context.device, lease.clone(), dtype, shape))
                }
                None => results.context.copy_of(results.region(buffer)?, dtype, shape),
            }
        });
        Ok(watched(outputs.collect::<Result<_>>()?, outcomes.as_ref()))
    }

    /// One call through the arena, whose outputs are copied. Their memory is allocated before anything runs,
    /// so that a call that fails for lack of memory makes no update.
    fn run_and_copy(&mut self, context: &mut EngineContext, args: &[CallInput]) -> Result<Vec<DeviceArray>> {
        let arrays = self.compiled.results().map(|(buffer, dtype, shape)| {
            let bytes = crate::engine::storage::byte_size(dtype, shape);
            Ok((buffer, DeviceArray::in_pool(&context.device, context.pool.take(bytes)?, dtype, shape)))
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let mut bound = self.record(context)?;
        bound.upload_inputs(context, args, None)?;
        let outcomes = outcomes(bound.replay(context)?, args);
        let results = bound.results(context);
        let copied = arrays.into_iter().map(|(buffer, array)| {
            let source = results.region(buffer)?;
            if array.region.bytes > 0 {
                let source = Region { bytes: array.region.bytes, ..source.clone() };
                results.context.device.copy(&source, &array.region)?;
            }
            Ok(array)
        });
        Ok(watched(copied.collect::<Result<_>>()?, outcomes.as_ref()))
    }
}

/// Results with the outcomes of the calls that they depend on.
fn watched(mut results: Vec<DeviceArray>, outcomes: Option<&Arc<Vec<CallOutcome>>>) -> Vec<DeviceArray> {
    if let Some(outcomes) = outcomes {
        results.iter_mut().for_each(|array| array.outcomes = Some(outcomes.clone()));
    }
    results
}

/// The outcomes that results depend on: the call's own, and those of its array arguments.
fn outcomes(own: Option<CallOutcome>, args: &[CallInput]) -> Option<Arc<Vec<CallOutcome>>> {
    if own.is_none() && args.is_empty() {
        return None;
    }
    let given = args.iter().flat_map(|arg| match arg {
        CallInput::Device(array) => array.outcomes(),
        CallInput::Host(_) | CallInput::Slices(..) => &[],
    });
    let mut all: Vec<CallOutcome> = Vec::new();
    for outcome in own.into_iter().chain(given.filter(|outcome| !outcome.is_good()).cloned()) {
        // Of calls between the same two checks, the latest fails if any does.
        match all.iter_mut().find(|known| known.is_beside(&outcome)) {
            Some(known) => known.extend_to(&outcome),
            None => all.push(outcome),
        }
    }
    (!all.is_empty()).then(|| Arc::new(all))
}
