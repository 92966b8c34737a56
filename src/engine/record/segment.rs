//! Segments: device work without returning to the host.

use super::control::is_loop_apart;
use super::iteration_layout::{Iteration, IterationLayout};
use super::regions::Regions;
use crate::engine::compile::Compiled;
use crate::error::{Error, Result};
use crate::lower::program::{
    BranchStep, BufferId, Epilogue, HostNode, LibraryStep, LoopStep, Program, Step, WhileStep,
};
use std::sync::Arc;
use std::time::Duration;
use workalike_device::{Command, Device, DeviceModule, LibraryOutput, Recording, Region};

/// A maximal run of steps between host nodes, recorded.
#[derive(Debug)]
pub(crate) struct Segment {
    recording: Box<dyn Recording>,
}

/// A step that runs on the device.
pub(crate) enum DeviceStep<'p> {
    /// A Nest: its position in the module, and its operands' buffers.
    Nest(usize, &'p [BufferId]),
    Library(&'p LibraryStep),
    /// A loop, and the steps of its body.
    Loop(&'p LoopStep, Vec<DeviceStep<'p>>),
    /// A loop with a condition, and the steps of its body.
    While(&'p WhileStep, Vec<DeviceStep<'p>>),
    /// Branches, and the steps of each.
    Branch(&'p BranchStep, Vec<Vec<DeviceStep<'p>>>),
}

/// A part of a Program.
pub(crate) enum ProgramPart<'p> {
    /// The steps of a Segment.
    Segment(Vec<DeviceStep<'p>>),
    Host(&'p HostNode),
}

impl Segment {
    /// Records commands with the kernels of a module.
    pub(crate) fn record(
        device: &dyn Device,
        module: &Arc<dyn DeviceModule>,
        commands: &[Command],
    ) -> Result<Segment> {
        Ok(Segment { recording: device.record(module, commands)? })
    }

    /// Runs it once.
    pub(crate) fn replay(&mut self) -> Result<()> {
        Ok(self.recording.replay()?)
    }

    /// Has the driver finish the compilation of its kernels.
    pub(crate) fn finish_compiling(&mut self) -> Result<()> {
        Ok(self.recording.finish_compiling()?)
    }

    /// Runs it once, and returns the duration of each command.
    pub(crate) fn timed(&mut self) -> Result<Vec<Duration>> {
        Ok(self.recording.timed()?)
    }
}

/// The steps of a Program, each with the kernels of its Nests: one for a Nest, and one for each Nest of its
/// bodies. `kernels` has one for each of [`Program::nests`].
fn with_kernels<'p>(
    program: &'p Program,
    kernels: &'p [usize],
) -> impl Iterator<Item = (&'p Step, &'p [usize])> {
    let mut left = kernels;
    program.steps.iter().map(move |step| {
        let (own, rest) = left.split_at(step.nests().count().min(left.len()));
        left = rest;
        (step, own)
    })
}

/// A step as a part by itself.
fn part<'p>(step: &'p Step, kernels: &'p [usize]) -> Result<ProgramPart<'p>, String> {
    let on_device = match (step, kernels) {
        (Step::Nest { buffers, .. }, &[kernel]) => DeviceStep::Nest(kernel, buffers),
        (Step::Nest { nest, .. }, _) => return Err(format!("{} has {} kernels", nest.name, kernels.len())),
        (Step::Library(library), _) => DeviceStep::Library(library),
        (Step::Host(node), _) => return Ok(ProgramPart::Host(node)),
        (Step::Loop(step), kernels) => DeviceStep::Loop(step, body_steps(&step.body.program, kernels)?),
        (Step::While(step), kernels) => DeviceStep::While(step, body_steps(&step.body.program, kernels)?),
        (Step::Branch(step), kernels) => {
            let mut left = kernels;
            let mut bodies = Vec::with_capacity(step.bodies.len());
            for body in &step.bodies {
                let (own, rest) = left.split_at(body.program.nests().count().min(left.len()));
                bodies.push(body_steps(&body.program, own)?);
                left = rest;
            }
            DeviceStep::Branch(step, bodies)
        }
    };
    Ok(ProgramPart::Segment(vec![on_device]))
}

/// The steps of a body, which has no host nodes.
fn body_steps<'p>(body: &'p Program, kernels: &'p [usize]) -> Result<Vec<DeviceStep<'p>>, String> {
    let mut steps = Vec::new();
    for (step, kernels) in with_kernels(body, kernels) {
        match part(step, kernels)? {
            ProgramPart::Segment(own) => steps.extend(own),
            ProgramPart::Host(node) => return Err(format!("{} in the body of a loop", node.op.label())),
        }
    }
    Ok(steps)
}

/// A Program cut at its host nodes.
fn parts<'p>(program: &'p Program, kernels: &'p [usize]) -> Result<Vec<ProgramPart<'p>>> {
    let mut parts = Vec::new();
    for (step, kernels) in with_kernels(program, kernels) {
        let next = part(step, kernels).map_err(Error::Internal)?;
        match (parts.last_mut(), next) {
            (Some(ProgramPart::Segment(all)), ProgramPart::Segment(steps)) => all.extend(steps),
            (_, next) => parts.push(next),
        }
    }
    Ok(parts)
}

impl Compiled {
    /// The steps, each with the positions of its Nests in the module.
    pub(crate) fn with_kernels(&self) -> impl Iterator<Item = (&Step, &[usize])> {
        with_kernels(&self.program, &self.kernels)
    }

    /// The Program cut at its host nodes.
    pub(crate) fn parts(&self) -> Result<Vec<ProgramPart<'_>>> {
        parts(&self.program, &self.kernels)
    }

    /// Each step as a part by itself.
    pub(super) fn lone_parts(&self) -> Result<Vec<(&Step, ProgramPart<'_>)>> {
        let lone = |(step, kernels)| Ok((step, part(step, kernels).map_err(Error::Internal)?));
        self.with_kernels().map(lone).collect()
    }

    /// The number of commands of each step that runs on the device, in order; 1 for what is more than
    /// commands.
    pub(super) fn command_counts(&self) -> Result<Vec<usize>> {
        let parts = self.parts()?.into_iter();
        let steps =
            parts.flat_map(|part| if let ProgramPart::Segment(steps) = part { steps } else { vec![] });
        let count = |step: DeviceStep<'_>| if step.is_apart() { 1 } else { step.count() };
        Ok(steps.map(|step| usize::try_from(count(step)).unwrap_or(usize::MAX)).collect())
    }

    /// The number of commands of all its steps.
    pub(crate) fn commands(&self) -> Result<u64> {
        if let Some(count) = self.commands.get() {
            return Ok(*count);
        }
        let count =
            self.command_counts()?.into_iter().fold(0u64, |sum, count| sum.saturating_add(count as u64));
        Ok(*self.commands.get_or_init(|| count))
    }

    /// The steps of a Program that is recorded as one Segment; `None` for any other.
    pub(super) fn only_segment(&self) -> Result<Option<Vec<DeviceStep<'_>>>> {
        let mut parts = self.parts()?;
        Ok(match (parts.pop(), parts.is_empty()) {
            (None, _) => Some(vec![]),
            (Some(ProgramPart::Segment(steps)), true) if !steps.iter().any(DeviceStep::is_apart) => {
                Some(steps)
            }
            _ => None,
        })
    }
}

impl DeviceStep<'_> {
    /// The number of its commands.
    pub(crate) fn count(&self) -> u64 {
        match self {
            DeviceStep::Nest(..) | DeviceStep::Library(_) => 1,
            DeviceStep::Loop(step, body) => {
                let moved = step.body.moved().count() as u64;
                let each = body.iter().fold(moved, |sum, own| sum.saturating_add(own.count()));
                each.saturating_mul(step.trips)
            }
            DeviceStep::While(..) | DeviceStep::Branch(..) => 1,
        }
    }

    /// Whether it is more than commands: a loop of many iterations, or what decides while it runs.
    pub(crate) fn is_apart(&self) -> bool {
        match self {
            DeviceStep::Nest(..) | DeviceStep::Library(_) => false,
            DeviceStep::While(..) | DeviceStep::Branch(..) => true,
            DeviceStep::Loop(step, _) => is_loop_apart(step),
        }
    }

    /// Appends the step with memory bound: one command, or those of all iterations.
    pub(crate) fn commands(&self, regions: &Regions, to: &mut Vec<Command>) -> Result<()> {
        to.push(match self {
            DeviceStep::Nest(nest, buffers) => {
                let args = buffers.iter().map(|&b| regions.get(b).cloned()).collect::<Result<_>>()?;
                Command::Launch { nest: *nest, args }
            }
            DeviceStep::Library(step) => library_command(step, regions)?,
            DeviceStep::Loop(step, body) => {
                let iterations = IterationLayout::of(&step.body, regions)?;
                for iteration in 0..step.trips {
                    let Iteration { before, regions, after } = iterations.at(iteration)?;
                    to.extend(before);
                    body.iter().try_for_each(|own| own.commands(&regions, to))?;
                    to.extend(after);
                }
                return Ok(());
            }
            DeviceStep::While(..) | DeviceStep::Branch(..) => {
                return Err(Error::Internal("what decides while it runs is no command".into()));
            }
        });
        Ok(())
    }
}

fn library_command(step: &LibraryStep, regions: &Regions) -> Result<Command> {
    let inputs = step.inputs.iter().enumerate().map(|(at, &(buffer, _))| {
        let (whole, first) = (regions.get(buffer)?.clone(), step.first_byte(at));
        Ok(Region { offset: whole.offset + first, bytes: whole.bytes.saturating_sub(first), ..whole })
    });
    let target = match &step.epilogue {
        None => LibraryOutput::Memory(
            step.outputs.iter().map(|&b| regions.get(b).cloned()).collect::<Result<_>>()?,
        ),
        Some(Epilogue { nest, buffers }) => {
            let arg = |&buffer| match step.outputs.contains(&buffer) {
                true => Ok(None),
                false => regions.get(buffer).cloned().map(Some),
            };
            let args = buffers.iter().map(arg).collect::<Result<_>>()?;
            LibraryOutput::Epilogue { nest: nest.clone(), args }
        }
    };
    let scratch = step.scratch.map(|buffer| regions.get(buffer).cloned()).transpose()?;
    Ok(Command::Library { op: step.op.clone(), inputs: inputs.collect::<Result<_>>()?, target, scratch })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::program::Role;
    use workalike_kernels::DType;
    use workalike_kernels::nest::Nest;
    use workalike_kernels::ops;

    /// A Nest over a new buffer.
    fn add_nest(program: &mut Program) {
        let id = program.buffer(DType::F32, &[8], Role::Temp);
        let nest = Nest { name: "fill".into(), axes: vec![], grid: 0, operands: vec![], phases: vec![] };
        program.steps.push(Step::Nest { nest, buffers: vec![id] });
    }

    #[test]
    fn segments_end_at_host_nodes() {
        let mut program = Program::default();
        (0..4).for_each(|_| add_nest(&mut program));
        let op = Arc::new(crate::ops::Elemwise { op: ops::ADD });
        let node =
            HostNode { op, node: 0, why: "a test".into(), inputs: vec![0], outputs: vec![2], exchange: None };
        program.steps.insert(3, Step::Host(node));
        let kernel = |step: &DeviceStep<'_>| match step {
            DeviceStep::Nest(kernel, _) => *kernel,
            _ => panic!("a Nest"),
        };
        let part = |part: &ProgramPart<'_>| match part {
            ProgramPart::Segment(steps) => Some(steps.iter().map(kernel).collect::<Vec<_>>()),
            ProgramPart::Host(_) => None,
        };
        let cut: Vec<_> = parts(&program, &[7, 8, 7, 9]).unwrap().iter().map(part).collect();
        assert_eq!(cut, [Some(vec![7, 8, 7]), None, Some(vec![9])]);
        assert!(parts(&program, &[0]).is_err(), "the second Nest has no kernel");
    }
}
