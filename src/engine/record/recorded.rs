//! Recordings: a compiled Program bound to addresses, Segment by Segment, and its runs.

use super::block::BlockCache;
use super::control::{ControlNode, Recorder};
use super::regions::{Elsewhere, Regions};
use super::results::RunResults;
use super::segment::{ProgramPart, Segment};
use super::stepwise::{LoneStep, Sources};
use crate::engine::compile::Compiled;
use crate::engine::storage::{
    CallInput, CallOutcome, EngineContext, PackedTransfer, contiguous_bytes, download, transfers,
};
use crate::error::{Error, Result};
use crate::graph::{VarId, perform};
use crate::lower::program::{BufferId, HostNode, Role};
use crate::value::Value;
use std::collections::HashSet;
use std::time::{Duration, Instant};
use workalike_device::{Device, DeviceError, Region};
use workalike_kernels::DType;

/// Recordings of a Program, valid while the epoch lasts.
#[derive(Debug)]
pub(crate) struct Recorded {
    epoch: u64,
    pub(crate) regions: Regions,
    runs: Vec<ReplayStep>,
    /// Checks of values that come from outside the Program, for debugging.
    sources: Sources,
    /// The regions to which each call copies its inputs, by position; empty inputs are left out.
    inputs: Vec<PackedTransfer>,
    /// The outputs, by position; one transfer may bring several to the host.
    pub(crate) outputs: Vec<PackedTransfer>,
    /// Recordings of many iterations.
    pub(crate) blocks: BlockCache,
}

/// A recorded Segment, or a host node between two Segments.
#[derive(Debug)]
enum ReplayStep {
    Segment(Segment),
    /// What comes between recordings.
    Control(ControlNode),
    /// A step by itself, for debugging.
    Step(LoneStep),
    Host(HostNode),
}

/// A Program that is ready to run.
pub(crate) struct BoundProgram<'p> {
    pub(crate) compiled: &'p Compiled,
    pub(crate) recorded: &'p mut Recorded,
}

impl Recorded {
    /// Binds and records a Program, with the buffers of `elsewhere` at other than their planned addresses.
    pub(crate) fn bind(
        compiled: &Compiled,
        context: &EngineContext,
        elsewhere: &Elsewhere,
    ) -> Result<Recorded> {
        compiled.agree_on_exchanges()?;
        let regions = Regions::of(compiled, context, elsewhere);
        let runs = match context.options.stepwise() {
            true => lone_runs(compiled, context, &regions)?,
            false => runs(compiled, context, &regions)
                .map_err(|error| with_step(error, || lone_runs(compiled, context, &regions)))?,
        };
        let sources = Sources::of(compiled, context, &regions)?;
        let buffers = compiled.program.buffers.iter().zip(regions.iter());
        let inputs = buffers.filter_map(|(buffer, region)| match (&buffer.role, region) {
            (Role::Input(i), Some(region)) if region.bytes > 0 => Some((*i, region.clone())),
            _ => None,
        });
        let inputs = inputs.filter(|(i, _)| elsewhere.inputs.iter().all(|(at, _)| at != i));
        let inputs = transfers(inputs.collect(), context.device.properties());
        let outputs = small_outputs(compiled, context, &regions);
        let blocks = BlockCache::default();
        Ok(Recorded { epoch: context.epoch, regions, runs, sources, inputs, outputs, blocks })
    }

    /// Whether it is bound to the current addresses.
    pub(crate) fn is_current(&self, context: &EngineContext) -> bool {
        self.epoch == context.epoch
    }
}

/// The transfers of several small outputs. The memory of a shared variable may be another after a call.
fn small_outputs(compiled: &Compiled, context: &EngineContext, regions: &Regions) -> Vec<PackedTransfer> {
    let region = |(position, (buffer, dtype, shape)): (usize, (BufferId, DType, &[usize]))| {
        let (region, bytes) = (regions.find(buffer)?, crate::engine::storage::byte_size(dtype, shape));
        let stays = !matches!(compiled.program.buffers[buffer].role, Role::Shared(_));
        (stays && bytes > 0).then(|| (position, Region { bytes, ..region.clone() }))
    };
    let regions = compiled.results().enumerate().filter_map(region).collect();
    let mut outputs = transfers(regions, context.device.properties());
    outputs.retain(PackedTransfer::has_several);
    outputs
}

/// Records a Program, Segment by Segment. The last Segment ends with the copies of new values to shared
/// variables.
fn runs(compiled: &Compiled, context: &EngineContext, regions: &Regions) -> Result<Vec<ReplayStep>> {
    let mut runs = Vec::new();
    let mut recorder = Recorder::new(compiled, context);
    for part in compiled.parts()? {
        match part {
            ProgramPart::Host(node) => {
                let before = std::mem::replace(&mut recorder, Recorder::new(compiled, context));
                runs.extend(before.finish()?.into_iter().map(ReplayStep::of));
                runs.push(ReplayStep::Host(node.clone()));
            }
            ProgramPart::Segment(steps) => recorder.steps(&steps, regions)?,
        }
    }
    recorder.commands(compiled.copies(context, regions, |_| true)?);
    runs.extend(recorder.finish()?.into_iter().map(ReplayStep::of));
    Ok(runs)
}

impl ReplayStep {
    fn of(piece: ControlNode) -> ReplayStep {
        match piece {
            ControlNode::Segment(segment) => ReplayStep::Segment(segment),
            other => ReplayStep::Control(other),
        }
    }
}

/// The error of a kernel that does not compile, with its step: that of recording the steps one by one.
fn with_step(error: Error, one_by_one: impl FnOnce() -> Result<Vec<ReplayStep>>) -> Error {
    match error {
        Error::Device(DeviceError::KernelCompile { .. }) => one_by_one().err().unwrap_or(error),
        error => error,
    }
}

/// The durations of steps, given those of their commands, and how many commands each step has; what comes
/// after the steps is one command each.
fn by_step(commands: &[Duration], counts: &mut impl Iterator<Item = usize>) -> Vec<Duration> {
    let mut left = commands;
    let mut took = Vec::new();
    while !left.is_empty() {
        let count = counts.next().unwrap_or(1).clamp(1, left.len());
        let (own, rest) = left.split_at(count);
        took.push(own.iter().sum());
        left = rest;
    }
    took
}

/// Records each step by itself, and the copies at the end.
fn lone_runs(compiled: &Compiled, context: &EngineContext, regions: &Regions) -> Result<Vec<ReplayStep>> {
    let mut runs = Vec::new();
    let mut touched = HashSet::new();
    for (step, part) in compiled.lone_parts()? {
        let fresh: Vec<BufferId> = step.buffers().filter(|&id| touched.insert(id)).collect();
        match part {
            ProgramPart::Host(node) => {
                runs.push(ReplayStep::Host(node.clone()));
                runs.push(ReplayStep::Step(LoneStep::after_host(step, node, compiled, context, regions)?));
            }
            ProgramPart::Segment(steps) => {
                for own in &steps {
                    runs.push(ReplayStep::Step(LoneStep::record(
                        step, own, &fresh, compiled, context, regions,
                    )?));
                }
            }
        }
    }
    let copies = compiled.copies(context, regions, |_| true)?;
    if !copies.is_empty() {
        let device = context.device.as_ref();
        runs.push(ReplayStep::Segment(Segment::record(device, &compiled.module, &copies)?));
    }
    Ok(runs)
}

impl Compiled {
    /// Performs a host node on copies of its inputs.
    fn perform(&self, device: &dyn Device, regions: &Regions, node: &HostNode) -> Result<()> {
        if let Some(collective) = &node.exchange {
            return self.exchange(device, regions, node, collective).map_err(Error::in_unchanged_call);
        }
        let graph = &self.definition.graph;
        let written = &graph.nodes[node.node];
        // A buffer may have been reshaped: the graph knows the shape for which the op was written.
        let shape_of = |&id: &VarId| self.shapes.shapes[id as usize].as_slice();
        let buffers = &self.program.buffers;
        let inputs = node
            .inputs
            .iter()
            .zip(&written.inputs)
            .map(|(&b, id)| download(device, regions.get(b)?, graph.var(*id).ty.dtype, shape_of(id)));
        let inputs: Vec<Value> = inputs.collect::<Result<_>>()?;
        let shapes = written.outputs.iter().map(shape_of);
        let results = perform(graph, node.node, shapes, |op| op.perform(&inputs));
        for (&buffer, value) in node.outputs.iter().zip(results.map_err(Error::in_unchanged_call)?) {
            let whole = value.contiguous()?;
            if let (Some(region), true) = (regions.find(buffer), buffers[buffer].bytes() > 0) {
                device.upload(whole.contiguous_bytes().unwrap_or(&[]), region)?;
            }
        }
        Ok(())
    }
}

impl BoundProgram<'_> {
    /// Copies the inputs, or one of them, to the regions from which the Program reads them.
    pub(crate) fn upload_inputs(
        &self,
        context: &EngineContext,
        args: &[CallInput],
        only: Option<usize>,
    ) -> Result<()> {
        let device = context.device.as_ref();
        let value = |i: usize| match &args[i] {
            CallInput::Host(value) if only.is_none() => Some(value),
            _ => None,
        };
        for transfer in &self.recorded.inputs {
            if transfer.upload(device, value)? {
                continue;
            }
            for (i, region) in transfer.parts().filter(|(i, _)| only.is_none_or(|only| only == *i)) {
                match &args[i] {
                    CallInput::Host(value) => device.upload(&contiguous_bytes(value)?, &region)?,
                    CallInput::Device(array) => {
                        device.copy(&Region { bytes: region.bytes, ..array.region.clone() }, &region)?
                    }
                    // Each iteration copies its slice.
                    CallInput::Slices(..) => {}
                }
            }
        }
        Ok(())
    }

    /// Copies inputs of the same sizes as the last call's to the regions from which the Program reads them.
    pub(crate) fn upload_again(&self, context: &EngineContext, values: &[Value]) -> Result<()> {
        let device = context.device.as_ref();
        for (i, region) in self.recorded.inputs.iter().flat_map(PackedTransfer::parts) {
            let bytes = values[i].len() as u64 * values[i].dtype().size() as u64;
            if bytes != region.bytes {
                let m = &self.compiled.definition;
                let what = format!("{}: input {}", m.name, m.graph.describe(m.graph.inputs[i]));
                let expected = format!("{} bytes, as in the last call", region.bytes);
                return Err(Error::mismatch(what, expected, format!("{bytes} bytes")));
            }
        }
        for transfer in &self.recorded.inputs {
            if !transfer.upload(device, |i| Some(&values[i]))? {
                for (i, region) in transfer.parts() {
                    device.upload(&contiguous_bytes(&values[i])?, &region)?;
                }
            }
        }
        Ok(())
    }

    /// Runs the Program once. Returns its outcome, if it can fail on the device.
    pub(crate) fn replay(&mut self, context: &mut EngineContext) -> Result<Option<CallOutcome>> {
        let replayed = self.replay_in_loop(context);
        replayed.map_err(|error| self.compiled.definition.aborted_call_error(context, error))
    }

    /// [`BoundProgram::replay`]; after an error, what the device may have reported is left to the caller.
    pub(crate) fn replay_in_loop(&mut self, context: &mut EngineContext) -> Result<Option<CallOutcome>> {
        let ((), outcome) = self.transact(context, BoundProgram::replay_once)?;
        Ok(outcome)
    }

    /// Runs the Program once; returns the duration of each step, in the order of [`Compiled::work`].
    pub(crate) fn timed(&mut self, context: &mut EngineContext) -> Result<Vec<Duration>> {
        let timed = self.transact(context, BoundProgram::timed_once);
        timed
            .map(|(times, _)| times)
            .map_err(|error| self.compiled.definition.aborted_call_error(context, error))
    }

    /// Runs the Program once by `run`, and moves the variables that it resizes.
    fn transact<T>(
        &mut self,
        context: &mut EngineContext,
        run: impl FnOnce(&mut Self, &dyn Device) -> Result<T>,
    ) -> Result<(T, Option<CallOutcome>)> {
        let compiled = self.compiled;
        let resizes = !compiled.resized.is_empty();
        // Memory for resized variables is allocated before the call changes anything.
        let room = if resizes { compiled.room_for_resized(context)? } else { vec![] };
        let outcome = compiled.note_calls(1);
        let done = run(self, context.device.as_ref())?;
        if resizes {
            compiled.definition.check_status(context)?;
            compiled.resize_states(context, &self.recorded.regions, room)?;
        }
        compiled.definition.forget_bounds(context);
        Ok((done, outcome))
    }

    fn replay_once(&mut self, device: &dyn Device) -> Result<()> {
        let Recorded { runs, regions, sources, .. } = &mut *self.recorded;
        let mut found = sources.check(device)?;
        for run in runs {
            match run {
                ReplayStep::Segment(segment) => segment.replay()?,
                ReplayStep::Control(own) => own.run(device, &mut |segment| segment.replay())?,
                ReplayStep::Step(step) => step.replay(self.compiled, device, &mut found)?,
                ReplayStep::Host(node) => self.compiled.perform(device, regions, node)?,
            }
        }
        Ok(())
    }

    fn timed_once(&mut self, device: &dyn Device) -> Result<Vec<Duration>> {
        let Recorded { runs, regions, sources, .. } = &mut *self.recorded;
        let mut found = sources.check(device)?;
        let mut counts = self.compiled.command_counts()?.into_iter();
        let mut took = Vec::new();
        for run in runs {
            match run {
                ReplayStep::Segment(segment) => took.extend(by_step(&segment.timed()?, &mut counts)),
                ReplayStep::Control(own) => took.extend(by_step(&[own.timed(device)?], &mut counts)),
                ReplayStep::Step(step) => {
                    if let Some(time) = step.timed(self.compiled, device, &mut found)? {
                        took.push(time);
                        counts.next();
                    }
                }
                ReplayStep::Host(node) => {
                    let start = Instant::now();
                    self.compiled.perform(device, regions, node)?;
                    took.push(start.elapsed());
                }
            }
        }
        Ok(took)
    }

    /// Has the driver finish the compilation of the Program's kernels.
    pub(crate) fn finish_compiling(&mut self) -> Result<()> {
        self.recorded.runs.iter_mut().try_for_each(|run| match run {
            ReplayStep::Segment(segment) => segment.finish_compiling(),
            ReplayStep::Control(own) => own.finish_compiling(),
            ReplayStep::Step(_) | ReplayStep::Host(_) => Ok(()),
        })
    }

    /// The results of the last run.
    pub(crate) fn results<'r>(&'r self, context: &'r EngineContext) -> RunResults<'r> {
        let Recorded { regions, outputs, .. } = &*self.recorded;
        RunResults { compiled: self.compiled, regions, outputs, context }
    }
}
