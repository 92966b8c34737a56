//! A Program planned for one signature, and its recordings.

use super::specialization::KernelSpecialization;
use crate::engine::compile::Compiled;
use crate::engine::record::{BoundProgram, CallerRecordings, Elsewhere, Recorded, VariantId};
use crate::engine::storage::{CallInput, EngineContext};
use crate::error::Result;
use std::sync::Arc;
use workalike_device::DeviceModule;

/// A compiled Program and its recordings.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) compiled: Compiled,
    /// Whether `compiled` has kernels for any size.
    pub(crate) kernels: KernelSpecialization,
    /// The recording with all buffers at their planned addresses; stale if the epoch differs.
    recorded: Option<Recorded>,
    /// The recordings with some buffers in memory that the caller owns.
    pub(crate) caller_recordings: CallerRecordings,
    /// The variant of the last call whose results stay at their planned addresses; `None`: the planned
    /// recording.
    chosen: Option<VariantId>,
}

impl Planned {
    pub(crate) fn new(compiled: Compiled, kernels: KernelSpecialization) -> Planned {
        Planned {
            compiled,
            kernels,
            recorded: None,
            caller_recordings: CallerRecordings::default(),
            chosen: None,
        }
    }

    /// Whether the recording of the last call is one for the current addresses.
    pub(crate) fn is_recorded(&self, context: &EngineContext) -> bool {
        self.last_run().is_some_and(|(_, recorded)| recorded.is_current(context))
    }

    /// Records the Program with all buffers at their planned addresses, unless that is recorded.
    pub(crate) fn record(&mut self, context: &EngineContext) -> Result<BoundProgram<'_>> {
        self.chosen = None;
        self.rebind(context)
    }

    /// The recording for a call whose results stay at their planned addresses: one that reads device arrays
    /// in place, if earlier calls had the same, else the planned one, to which they are copied.
    pub(crate) fn bind(&mut self, context: &EngineContext, args: &[CallInput]) -> Result<BoundProgram<'_>> {
        self.chosen = match self.compiled.lends_inputs() {
            true => None,
            false => self.caller_recordings.in_place(&self.compiled, context, args)?,
        };
        self.rebind(context)
    }

    /// The recording that was bound last.
    pub(crate) fn rebind(&mut self, context: &EngineContext) -> Result<BoundProgram<'_>> {
        let Planned { compiled, recorded, caller_recordings, chosen, .. } = self;
        if let Some(recorded) = chosen.and_then(|id| caller_recordings.current_mut(id, context)) {
            return Ok(BoundProgram { compiled, recorded });
        }
        *chosen = None;
        if recorded.as_ref().is_some_and(|recorded| !recorded.is_current(context)) {
            *recorded = None;
        }
        let recorded = match &mut *recorded {
            Some(recorded) => recorded,
            none => none.insert(Recorded::bind(compiled, context, &Elsewhere::default())?),
        };
        Ok(BoundProgram { compiled, recorded })
    }

    /// The Program as it was last run, if it has run; it may be stale.
    pub(crate) fn last_run(&self) -> Option<(&Compiled, &Recorded)> {
        let recorded = match self.chosen {
            None => self.recorded.as_ref(),
            Some(id) => self.caller_recordings.recorded(id),
        };
        Some((&self.compiled, recorded?))
    }

    /// The Program, if it is recorded for the current addresses.
    pub(crate) fn bound(&mut self, context: &EngineContext) -> Option<BoundProgram<'_>> {
        let recorded = self.recorded.as_mut().filter(|recorded| recorded.is_current(context))?;
        Some(BoundProgram { compiled: &self.compiled, recorded })
    }

    /// Uses other kernels from now on.
    pub(super) fn replace_module(&mut self, module: Arc<dyn DeviceModule>) {
        self.drop_recordings();
        self.compiled.module = module;
    }

    /// Drops the recordings, which keep the arena alive.
    pub(crate) fn drop_recordings(&mut self) {
        self.recorded = None;
        self.caller_recordings.clear();
    }
}
