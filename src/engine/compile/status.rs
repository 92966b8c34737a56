//! The status words of a method: which calls may have set them, and the errors that are taken from them.

use super::compiled::Compiled;
use super::definition::Definition;
use crate::engine::storage::{CallOutcome, EngineContext, STATUS_BYTES, Ticket, Trouble, Watch};
use crate::error::{Error, Result};
use crate::lower::part_reports::NODE_BITS;
use crate::lower::program::STATUS_WORDS;
use std::sync::Arc;
use workalike_kernels::DType;

impl Compiled {
    /// Notes that the Program is enqueued `count` times. Returns the outcome of the first call, if it can
    /// fail on the device.
    #[inline]
    pub(crate) fn note_calls(&self, count: u64) -> Option<CallOutcome> {
        self.program.status?;
        self.note_checked_calls(count)
    }

    fn note_checked_calls(&self, count: u64) -> Option<CallOutcome> {
        let m = &self.definition;
        let mut calls = m.status.get()?.calls();
        let before = calls.counted;
        calls.counted += count;
        calls.unchecked = true;
        let mut graphs = calls.watch.graphs();
        match graphs.iter_mut().find(|(known, ..)| *known == m.number) {
            Some(known) if Arc::ptr_eq(&known.2, &self.shapes) => {}
            Some(known) => *known = (m.number, m.graph.clone(), self.shapes.clone()),
            None => graphs.push((m.number, m.graph.clone(), self.shapes.clone())),
        }
        drop(graphs);
        Some(CallOutcome { watch: calls.watch.clone(), before, origin: None })
    }
}

impl Definition {
    /// The first of its report numbers.
    pub(crate) fn report_base(&self) -> i128 {
        (self.number as i128) << NODE_BITS
    }

    /// The outcome of the call that was enqueued last; `None` if it is known.
    pub(crate) fn outcome(&self) -> Option<CallOutcome> {
        let calls = self.status.get()?.calls();
        let before = calls.counted.saturating_sub(1);
        calls.unchecked.then(|| CallOutcome { watch: calls.watch.clone(), before, origin: None })
    }

    /// Counted calls, if all succeeded.
    pub(crate) fn counted(&self) -> u64 {
        self.status.get().map_or(0, |status| status.calls().counted)
    }

    /// Waits for the calls, returns their error since the last check, and clears the words.
    pub(crate) fn take_trouble(&self, context: &EngineContext) -> Result<Option<Trouble>> {
        self.take(context, false)
    }

    /// [`Definition::take_trouble`]. `aborted`: the last call did not run to its end, so the
    /// device counted fewer calls than the host.
    fn take(&self, context: &EngineContext, aborted: bool) -> Result<Option<Trouble>> {
        let Some(status) = self.status.get() else { return Ok(None) };
        let mut calls = status.calls();
        if !calls.unchecked {
            return Ok(None);
        }
        let trouble = calls.watch.read()?;
        if trouble.is_some() || aborted {
            context.device.upload(&[0; STATUS_BYTES], &status.region)?;
            calls.counted = 0;
        }
        calls.unchecked = false;
        // Only this function sets it.
        let _ = calls.watch.settled.set(trouble.clone());
        calls.watch = Watch::new(&context.device, status.region.clone());
        Ok(trouble)
    }

    /// Waits for a call that ended in the middle, since something failed on the host. Returns the error that
    /// the device reported until then, and clears the words, so that no later call has to report it. It is
    /// the error of an earlier call, or led to the wrong values on which a host node failed.
    pub(crate) fn take_aborted(&self, context: &EngineContext, error: &Error) -> Option<Trouble> {
        let trouble = self.take(context, true);
        // A device that failed may not answer any more.
        trouble.ok().flatten().filter(|_| !error.may_change_state())
    }

    /// The error of a call that ended in the middle: see [`Definition::take_aborted`].
    pub(crate) fn aborted_call_error(&self, context: &EngineContext, error: Error) -> Error {
        self.take_aborted(context, &error).map_or(error, |trouble| trouble.error)
    }

    /// Reports the errors of calls since the last check.
    #[inline]
    pub(crate) fn check_status(&self, context: &EngineContext) -> Result<()> {
        if self.status.get().is_none() {
            return Ok(());
        }
        self.take_trouble(context)?.map_or(Ok(()), |trouble| Err(trouble.error))
    }

    /// Sets the number of calls that the status words have counted, when earlier words are restored.
    pub(crate) fn recount(&self, counted: u64) {
        if let Some(status) = self.status.get() {
            status.calls().counted = counted;
        }
    }

    /// A ticket to wait for the call that was enqueued last. It takes a copy of the status words, so that a
    /// later call does not report this one's errors.
    pub(crate) fn ticket(&self, context: &EngineContext) -> Result<Ticket> {
        let (host_pool, outcomes) = (Some(context.host_pool.clone()), vec![]);
        let Some(status) = self.status.get() else { return Ok(Ticket { host_pool, outcomes }) };
        let mut calls = status.calls();
        if !calls.unchecked {
            return Ok(Ticket { host_pool, outcomes });
        }
        let words = context.copy_of(&status.region, DType::I64, &[STATUS_WORDS as usize])?;
        context.device.copy(&context.zero()?, &status.region)?;
        let watch = Watch::new(&context.device, words.region);
        std::mem::swap(&mut *watch.graphs(), &mut *calls.watch.graphs());
        let before = calls.counted.saturating_sub(1);
        (calls.counted, calls.unchecked) = (0, false);
        Ok(Ticket { host_pool, outcomes: vec![CallOutcome { watch, before, origin: None }] })
    }
}
