//! Loops with a condition, some iterations ahead: a block of iterations is enqueued, then the host reads
//! after which of them the condition no longer held. Each iteration has memory of its own for what is
//! carried, so the iterations behind the last change nothing.

use super::super::device::{Command, Device, Region};
use super::context::Context;
use super::control::{Each, Piece, Recorder, run_all};
use super::planned::Compiled;
use super::regions::Regions;
use super::segment::DeviceStep;
use crate::error::Result;
use crate::lower::program::{BufferId, Role, WhileStep};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct AheadLoop {
    /// Whether there is a first iteration.
    first: Region,
    pub(super) block: Vec<Piece>,
    /// Whether there is another iteration after each of a block.
    flags: Region,
    /// Bytes from one flag to the next.
    stride: usize,
    carried: Vec<Carried>,
    /// How many blocks there are at most.
    most: u64,
}

/// A carried value.
#[derive(Debug)]
struct Carried {
    /// Where it is before and after the loop.
    home: Region,
    /// Where it is before each iteration of a block; the last iteration writes the first.
    slots: Vec<Region>,
}

impl AheadLoop {
    pub(super) fn record(
        compiled: &Compiled,
        context: &Context,
        step: &WhileStep,
        steps: &[DeviceStep<'_>],
        around: &Regions,
    ) -> Result<AheadLoop> {
        let body = &step.body;
        let stride = context.device.properties().alignment.max(1);
        let bytes = stride * step.ahead;
        let flags = Region { bytes, ..context.allocate(bytes)? };
        let mut carried = Vec::new();
        for (at, &id) in body.carried.iter().enumerate() {
            let home = around.get(id)?.clone();
            // What no iteration changes has one place.
            let changes = body.program.updates.iter().any(|&(shared, _)| shared == at);
            let count = if changes { step.ahead } else { 1 };
            let slot = |_| {
                let whole = context.allocate(home.bytes)?;
                Ok(Region { bytes: home.bytes, ..whole })
            };
            let slots = (0..count).map(slot).collect::<Result<Vec<_>>>()?;
            carried.push(Carried { home, slots });
        }
        let mut recorder = Recorder::new(compiled, context);
        for iteration in 0..step.ahead as usize {
            let mut regions = Regions::of_iteration(body, 0, around)?;
            let slot = |carried: &Carried, at: usize| carried.slots[at % carried.slots.len()].clone();
            for (at, carried) in carried.iter().enumerate() {
                regions.put_role(&body.program, &Role::Shared(at), &slot(carried, iteration));
            }
            let flag = Region { offset: flags.offset + stride * iteration as u64, bytes: 1, ..flags.clone() };
            body.program.outputs.iter().for_each(|&output| regions.put(output, flag.clone()));
            let mut copies = Vec::new();
            for &(at, buffer) in &body.program.updates {
                let target = slot(&carried[at], iteration + 1);
                match is_own(step, buffer) {
                    true => regions.put(buffer, target),
                    false => copies.push((buffer, target)),
                }
            }
            recorder.steps(steps, &regions)?;
            for (buffer, target) in copies.into_iter().filter(|(_, target)| target.bytes > 0) {
                let source = Region { bytes: target.bytes, ..regions.get(buffer)?.clone() };
                recorder.commands([Command::Copy { source, target }]);
            }
        }
        let first = around.get(step.flag)?.clone();
        Ok(AheadLoop {
            first,
            block: recorder.finish()?,
            flags,
            stride: stride as usize,
            carried,
            most: step.most / step.ahead + 1,
        })
    }

    /// Runs it, each Segment by `each`.
    pub(super) fn run(&mut self, device: &dyn Device, each: Each<'_>) -> Result<()> {
        let mut flag = [0u8];
        device.download(&self.first, &mut flag)?;
        if flag == [0] {
            return Ok(());
        }
        let moved = |device: &dyn Device, from: &Region, to: &Region| match from.bytes {
            0 => Ok(()),
            _ => device.copy(from, to),
        };
        for Carried { home, slots } in &self.carried {
            moved(device, home, &slots[0])?;
        }
        let mut flags = vec![0u8; self.flags.bytes as usize];
        for block in 0..self.most {
            run_all(&mut self.block, device, each)?;
            device.download(&self.flags, &mut flags)?;
            let ended = flags.iter().step_by(self.stride).position(|flag| *flag == 0);
            // Behind the most iterations it ends as it is.
            let ended = ended.or((block + 1 == self.most).then_some(flags.len() / self.stride - 1));
            let Some(last) = ended else { continue };
            for Carried { home, slots } in &self.carried {
                moved(device, &slots[(last + 1) % slots.len()], home)?;
            }
            break;
        }
        Ok(())
    }
}

/// Whether an update's buffer has no other purpose at the end of an iteration, so that it may be the next
/// iteration's memory.
fn is_own(step: &WhileStep, buffer: BufferId) -> bool {
    let program = &step.body.program;
    let once = program.updates.iter().filter(|update| update.1 == buffer).count() == 1;
    program.buffers[buffer].role == Role::Temp && once && !program.outputs.contains(&buffer)
}
