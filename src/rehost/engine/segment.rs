//! Segments: device work without returning to the host.

use super::super::device::{Command, Device, Module, Recording, Region, Target};
use super::planned::Compiled;
use super::regions::Regions;
use crate::error::Result;
use crate::lower::program::{BufferId, Epilogue, HostNode, LibraryStep, Step};
use std::sync::Arc;
use std::time::Duration;

/// A maximal run of steps between host nodes, recorded.
#[derive(Debug)]
pub(super) struct Segment {
    recording: Box<dyn Recording>,
}

/// A step that runs on the device.
pub(super) enum DeviceStep<'p> {
    /// A Nest: its position in the module, and its operands' buffers.
    Nest(usize, &'p [BufferId]),
    Library(&'p LibraryStep),
}

/// A part of a Program.
pub(super) enum Part<'p> {
    /// The steps of a Segment.
    Segment(Vec<DeviceStep<'p>>),
    Host(&'p HostNode),
}

impl Segment {
    /// Records commands with the kernels of a module.
    pub(super) fn record(
        device: &dyn Device,
        module: &Arc<dyn Module>,
        commands: &[Command],
    ) -> Result<Segment> {
        Ok(Segment { recording: device.record(module, commands)? })
    }

    /// Runs it once.
    pub(super) fn replay(&mut self) -> Result<()> {
        Ok(self.recording.replay()?)
    }

    /// Runs it once, and returns the duration of each command.
    pub(super) fn timed(&mut self) -> Result<Vec<Duration>> {
        Ok(self.recording.timed()?)
    }
}

impl Compiled {
    /// The Program cut at its host nodes.
    pub(super) fn parts(&self) -> Vec<Part<'_>> {
        let mut parts = Vec::new();
        for (step, &kernel) in self.program.steps.iter().zip(&self.kernels) {
            let step = match step {
                Step::Nest { buffers, .. } => DeviceStep::Nest(kernel, buffers),
                Step::Library(library) => DeviceStep::Library(library),
                Step::Host(node) => {
                    parts.push(Part::Host(node));
                    continue;
                }
            };
            match parts.last_mut() {
                Some(Part::Segment(steps)) => steps.push(step),
                _ => parts.push(Part::Segment(vec![step])),
            }
        }
        parts
    }

    /// The steps of a Program without host nodes; `None` for one that has some.
    pub(super) fn only_segment(&self) -> Option<Vec<DeviceStep<'_>>> {
        let mut parts = self.parts();
        match (parts.pop(), parts.is_empty()) {
            (None, _) => Some(vec![]),
            (Some(Part::Segment(steps)), true) => Some(steps),
            _ => None,
        }
    }
}

impl DeviceStep<'_> {
    /// The step with memory bound.
    pub(super) fn command(&self, regions: &Regions) -> Result<Command> {
        match self {
            DeviceStep::Nest(nest, buffers) => {
                let args = buffers.iter().map(|&b| regions.get(b).cloned()).collect::<Result<_>>()?;
                Ok(Command::Launch { nest: *nest, args })
            }
            DeviceStep::Library(step) => library_command(step, regions),
        }
    }
}

fn library_command(step: &LibraryStep, regions: &Regions) -> Result<Command> {
    let inputs = step.inputs.iter().enumerate().map(|(at, &(buffer, _))| {
        let (whole, first) = (regions.get(buffer)?.clone(), step.first_byte(at));
        Ok(Region { offset: whole.offset + first, bytes: whole.bytes.saturating_sub(first), ..whole })
    });
    let target = match &step.epilogue {
        None => Target::Memory(step.outputs.iter().map(|&b| regions.get(b).cloned()).collect::<Result<_>>()?),
        Some(Epilogue { nest, buffers }) => {
            let arg = |&buffer| match step.outputs.contains(&buffer) {
                true => Ok(None),
                false => regions.get(buffer).cloned().map(Some),
            };
            let args = buffers.iter().map(arg).collect::<Result<_>>()?;
            Target::Epilogue { nest: nest.clone(), args }
        }
    };
    let scratch = step.scratch.map(|buffer| regions.get(buffer).cloned()).transpose()?;
    Ok(Command::Library { op: step.op.clone(), inputs: inputs.collect::<Result<_>>()?, target, scratch })
}
