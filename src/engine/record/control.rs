//! Control flow between recordings: long loops, loops with a condition, branches.
//!
//! What runs without a decision is recorded as one Segment. A decision is read from the device's memory, for
//! which the host waits.

use super::iteration_layout::{Iteration, IterationLayout};
use super::long_loop::{LongLoop, MOST_COMMANDS};
use super::regions::Regions;
use super::segment::{DeviceStep, Segment};
use super::unrolled_while::UnrolledWhile;
use crate::engine::compile::Compiled;
use crate::engine::storage::EngineContext;
use crate::error::{Error, Result};
use crate::lower::program::{Body, LoopStep, Step, nearest};
use std::time::Duration;
use workalike_device::{Command, Device, Region};

/// Commands that are recorded together, or what comes between them.
#[derive(Debug)]
pub(super) enum ControlNode {
    Segment(Segment),
    Long(LongLoop),
    While(WhileLoop),
    Ahead(UnrolledWhile),
    Branch(Branch),
}

/// A loop with a condition.
#[derive(Debug)]
pub(super) struct WhileLoop {
    flag: Region,
    /// The word that says whether an iteration found an error.
    trouble: Option<Region>,
    most: u64,
    body: Vec<ControlNode>,
}

/// Of several pieces of work one.
#[derive(Debug)]
pub(crate) struct Branch {
    index: Region,
    bodies: Vec<Vec<ControlNode>>,
}

/// How a step with bodies runs, for people: within a recording, in blocks, or decided by the host.
pub(crate) fn way(step: &Step) -> Option<String> {
    let decides = |body: &Body| body.program.steps.iter().any(is_apart);
    Some(match step {
        Step::Loop(_) if !is_apart(step) => "within the recording".into(),
        Step::Loop(own) if decides(&own.body) => "in blocks, between which the host decides".into(),
        Step::Loop(_) => "in blocks that are replayed".into(),
        Step::While(own) if own.ahead > 1 => {
            format!("the host reads the condition after every {} iterations", own.ahead)
        }
        Step::While(_) => "the host reads the condition after each iteration".into(),
        Step::Branch(own) => format!("the host reads which of {} runs", own.bodies.len()),
        Step::Nest { .. } | Step::Library(_) | Step::Host(_) => return None,
    })
}

/// Whether a step is more than commands of the recording around it.
fn is_apart(step: &Step) -> bool {
    match step {
        Step::Nest { .. } | Step::Library(_) | Step::Host(_) => false,
        Step::While(_) | Step::Branch(_) => true,
        Step::Loop(own) => is_loop_apart(own),
    }
}

/// Whether a loop is: it has many commands, or something in it decides while it runs.
pub(super) fn is_loop_apart(step: &LoopStep) -> bool {
    let commands = step.body.launches().saturating_mul(step.trips);
    commands > MOST_COMMANDS || step.body.program.steps.iter().any(is_apart)
}

/// How a Segment is run.
pub(crate) type Each<'e> = &'e mut dyn FnMut(&mut Segment) -> Result<()>;

impl ControlNode {
    /// Runs it once, each Segment by `each`.
    pub(crate) fn run(&mut self, device: &dyn Device, each: Each<'_>) -> Result<()> {
        match self {
            ControlNode::Segment(segment) => each(segment),
            ControlNode::Long(own) => own.run(device, each),
            ControlNode::While(own) => {
                for _ in 0..own.most {
                    if !own.goes_on(device)? {
                        break;
                    }
                    run_all(&mut own.body, device, each)?;
                }
                Ok(())
            }
            ControlNode::Ahead(own) => own.run(device, each),
            ControlNode::Branch(own) => {
                let body = own.chosen(device)?;
                run_all(body, device, each)
            }
        }
    }

    /// Runs it once; returns how long its commands took.
    pub(crate) fn timed(&mut self, device: &dyn Device) -> Result<Duration> {
        let mut took = Duration::ZERO;
        self.run(device, &mut |segment| {
            took += segment.timed()?.iter().sum();
            Ok(())
        })?;
        Ok(took)
    }

    /// Has the driver finish the compilation of its kernels.
    pub(crate) fn finish_compiling(&mut self) -> Result<()> {
        match self {
            ControlNode::Segment(segment) => segment.finish_compiling(),
            ControlNode::Long(own) => own.pieces().try_for_each(ControlNode::finish_compiling),
            ControlNode::While(own) => own.body.iter_mut().try_for_each(ControlNode::finish_compiling),
            ControlNode::Ahead(own) => own.block.iter_mut().try_for_each(ControlNode::finish_compiling),
            ControlNode::Branch(own) => {
                own.bodies.iter_mut().flatten().try_for_each(ControlNode::finish_compiling)
            }
        }
    }
}

/// Runs pieces in order.
pub(super) fn run_all(pieces: &mut [ControlNode], device: &dyn Device, each: Each<'_>) -> Result<()> {
    pieces.iter_mut().try_for_each(|piece| piece.run(device, each))
}

impl WhileLoop {
    fn goes_on(&self, device: &dyn Device) -> Result<bool> {
        let mut flag = [0u8];
        device.download(&self.flag, &mut flag)?;
        let mut word = [0u8; 8];
        if let (Some(trouble), true) = (&self.trouble, flag != [0]) {
            device.download(trouble, &mut word)?;
        }
        Ok(flag != [0] && word == [0; 8])
    }
}

impl Branch {
    fn chosen(&mut self, device: &dyn Device) -> Result<&mut [ControlNode]> {
        let mut index = [0u8; 8];
        device.download(&self.index, &mut index)?;
        let index = nearest(i64::from_le_bytes(index), self.bodies.len());
        let chosen = self.bodies.get_mut(index);
        chosen.map(Vec::as_mut_slice).ok_or_else(|| Error::Internal("a branch without bodies".into()))
    }
}

/// Records steps, piece by piece.
pub(super) struct Recorder<'a> {
    compiled: &'a Compiled,
    context: &'a EngineContext,
    commands: Vec<Command>,
    pieces: Vec<ControlNode>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(compiled: &'a Compiled, context: &'a EngineContext) -> Recorder<'a> {
        Recorder { compiled, context, commands: vec![], pieces: vec![] }
    }

    /// Appends steps.
    pub(crate) fn steps(&mut self, steps: &[DeviceStep<'_>], regions: &Regions) -> Result<()> {
        for step in steps {
            if !step.is_apart() {
                step.commands(regions, &mut self.commands)?;
                continue;
            }
            self.flush()?;
            let piece = self.apart(step, regions)?;
            self.pieces.push(piece);
        }
        Ok(())
    }

    /// Appends the steps of a body for the first iterations.
    pub(crate) fn iterations(
        &mut self,
        steps: &[DeviceStep<'_>],
        iterations: &IterationLayout,
        count: u64,
    ) -> Result<()> {
        for iteration in 0..count {
            let Iteration { before, regions, after } = iterations.at(iteration)?;
            self.commands(before);
            self.steps(steps, &regions)?;
            self.commands(after);
        }
        Ok(())
    }

    /// Appends commands.
    pub(crate) fn commands(&mut self, commands: impl IntoIterator<Item = Command>) {
        self.commands.extend(commands);
    }

    fn apart(&self, step: &DeviceStep<'_>, regions: &Regions) -> Result<ControlNode> {
        let once = |body, steps: &[DeviceStep<'_>]| {
            let mut recorder = Recorder::new(self.compiled, self.context);
            recorder.iterations(steps, &IterationLayout::of(body, regions)?, 1)?;
            recorder.finish()
        };
        Ok(match step {
            DeviceStep::While(step, body) if step.ahead > 1 => {
                ControlNode::Ahead(UnrolledWhile::record(self.compiled, self.context, step, body, regions)?)
            }
            DeviceStep::While(step, body) => {
                let trouble = step.body.status.map(|status| regions.get(status)).transpose()?;
                let trouble = trouble.map(|words| Region { bytes: 8, ..words.clone() });
                let flag = regions.get(step.flag)?.clone();
                let most = step.most;
                ControlNode::While(WhileLoop { flag, trouble, most, body: once(&step.body, body)? })
            }
            DeviceStep::Branch(step, bodies) => {
                let bodies = step.bodies.iter().zip(bodies).map(|(body, steps)| once(body, steps));
                let bodies = bodies.collect::<Result<_>>()?;
                ControlNode::Branch(Branch { index: regions.get(step.index)?.clone(), bodies })
            }
            DeviceStep::Loop(step, body) => {
                ControlNode::Long(LongLoop::record(self.compiled, self.context, step, body, regions)?)
            }
            DeviceStep::Nest(..) | DeviceStep::Library(_) => {
                return Err(Error::Internal("a command that is recorded by itself".into()));
            }
        })
    }

    fn flush(&mut self) -> Result<()> {
        if !self.commands.is_empty() {
            let device = self.context.device.as_ref();
            let segment = Segment::record(device, &self.compiled.module, &self.commands)?;
            self.pieces.push(ControlNode::Segment(segment));
            self.commands.clear();
        }
        Ok(())
    }

    /// The pieces, in order.
    pub(crate) fn finish(mut self) -> Result<Vec<ControlNode>> {
        self.flush()?;
        Ok(self.pieces)
    }
}
