//! Loops with a condition, some iterations ahead: a block of iterations is enqueued, then the host reads
//! after which of them the condition no longer held. Each iteration has memory of its own for what is
//! carried and of what it reports, so the iterations behind the last change nothing.

use super::control::{ControlNode, Each, Recorder, run_all};
use super::iteration_layout::{Carried, IterationLayout, Next, RowBuffer};
use super::regions::Regions;
use super::segment::DeviceStep;
use crate::engine::compile::Compiled;
use crate::engine::storage::EngineContext;
use crate::error::Result;
use crate::lower::program::{Access, Body, BufferId, Role, WhileStep};
use workalike_device::{Device, Region};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct UnrolledWhile {
    /// Whether there is a first iteration.
    first: Region,
    pub(crate) block: Vec<ControlNode>,
    marks: ConditionFlags,
    /// The carried values; also the status words if the loop can report errors.
    carried: Vec<Slots>,
    /// How many blocks there are at most.
    most: u64,
}

/// What the host reads of the iterations of a block: whether there is another, then what each has reported.
#[derive(Debug)]
struct ConditionFlags {
    region: Region,
    iterations: usize,
    /// Bytes from one flag to the next.
    flag: usize,
    /// Bytes from the status words of one iteration to the next; 0 if none can report.
    status: usize,
}

/// Where a carried value is.
#[derive(Debug)]
struct Slots {
    /// Where it is before and after the loop.
    home: Region,
    /// Where it is before each iteration of a block; the last iteration writes the first.
    slots: Vec<Region>,
}

impl UnrolledWhile {
    pub(crate) fn record(
        compiled: &Compiled,
        context: &EngineContext,
        step: &WhileStep,
        steps: &[DeviceStep<'_>],
        around: &Regions,
    ) -> Result<UnrolledWhile> {
        let body = &step.body;
        let mut all = IterationLayout::of(body, around)?;
        let status = status(body, around)?;
        let marks = ConditionFlags::of(context, step, status.as_ref())?;
        let mut carried = Vec::new();
        for own in &mut all.carried {
            let slots = Slots::of(context, step, own)?;
            (own.slots, own.next) = (slots.slots.clone(), own.next.ahead(step));
            carried.push(slots);
        }
        if let Some(status) = status {
            let home = status.slots[0].clone();
            let place = |at: usize| Region { bytes: home.bytes, ..marks.status_of(at) };
            let slots: Vec<Region> = (0..marks.iterations).map(place).collect();
            all.carried.push(Carried { slots: slots.clone(), ..status });
            carried.push(Slots { home, slots });
        }
        // Each iteration has a flag of its own.
        let output = |buffer: &BufferId| body.program.outputs.contains(buffer);
        all.rows.retain(|row| !output(&row.buffer));
        let access = Access { stride: marks.flag as i64, ..Access::whole(step.flag) };
        let flag = |&buffer: &BufferId| RowBuffer { buffer, array: marks.region.clone(), access };
        all.rows.extend(body.program.outputs.iter().map(flag));
        let mut recorder = Recorder::new(compiled, context);
        recorder.iterations(steps, &all, step.ahead)?;
        let (first, most) = (around.get(step.flag)?.clone(), step.most / step.ahead + 1);
        Ok(UnrolledWhile { first, block: recorder.finish()?, marks, carried, most })
    }

    /// Runs it, each Segment by `each`.
    pub(crate) fn run(&mut self, device: &dyn Device, each: Each<'_>) -> Result<()> {
        let mut flag = [0u8];
        device.download(&self.first, &mut flag)?;
        if flag == [0] {
            return Ok(());
        }
        let moved = |device: &dyn Device, from: &Region, to: &Region| match from.bytes {
            0 => Ok(()),
            _ => device.copy(from, to),
        };
        for Slots { home, slots } in &self.carried {
            moved(device, home, &slots[0])?;
        }
        let mut read = vec![0u8; self.marks.region.bytes as usize];
        for block in 0..self.most {
            run_all(&mut self.block, device, each)?;
            device.download(&self.marks.region, &mut read)?;
            let ended = self.marks.end(&read);
            // Behind the most iterations it ends as it is.
            let ended = ended.or((block + 1 == self.most).then_some(self.marks.iterations - 1));
            let Some(last) = ended else { continue };
            for Slots { home, slots } in &self.carried {
                moved(device, &slots[(last + 1) % slots.len()], home)?;
            }
            break;
        }
        Ok(())
    }
}

impl ConditionFlags {
    fn of(context: &EngineContext, step: &WhileStep, status: Option<&Carried>) -> Result<ConditionFlags> {
        let stride = context.device.properties().alignment.max(1);
        let words = status.map_or(0, |status| status.slots[0].bytes.next_multiple_of(stride));
        let bytes = (stride + words) * step.ahead;
        let region = Region { bytes, ..context.allocate(bytes)? };
        let [flag, status] = [stride, words].map(|bytes| bytes as usize);
        Ok(ConditionFlags { region, iterations: step.ahead as usize, flag, status })
    }

    /// Where the status words before an iteration begin.
    fn status_at(&self, iteration: usize) -> usize {
        self.flag * self.iterations + self.status * iteration
    }

    /// The status words before an iteration, which are those after the one before.
    fn status_of(&self, iteration: usize) -> Region {
        let (offset, bytes) = (self.status_at(iteration) as u64, self.status as u64);
        Region { offset: self.region.offset + offset, bytes, ..self.region.clone() }
    }

    /// The last iteration by what was read, if the loop has ended: the first that is not followed by another,
    /// or has reported an error.
    fn end(&self, marks: &[u8]) -> Option<usize> {
        let ends = |&at: &usize| {
            // The last iteration's are the first.
            let word = self.status_at((at + 1) % self.iterations);
            marks[at * self.flag] == 0 || (self.status > 0 && marks[word..word + 8] != [0; 8])
        };
        (0..self.iterations).find(ends)
    }
}

/// The status words of a body that can report, as a carried value.
fn status(body: &Body, around: &Regions) -> Result<Option<Carried>> {
    let (Some(home), Some(within)) = (body.status, body.program.status) else { return Ok(None) };
    let slots = vec![around.get(home)?.clone()];
    Ok(Some(Carried { buffers: vec![within], slots, next: Next::Changed(within) }))
}

impl Slots {
    /// Memory for a carried value before each iteration.
    fn of(context: &EngineContext, step: &WhileStep, own: &Carried) -> Result<Slots> {
        let home = own.slots[0].clone();
        let slot = |_| Ok(Region { bytes: home.bytes, ..context.allocate(home.bytes)? });
        // What no iteration changes has one place.
        let count = if own.next == Next::There { 1 } else { step.ahead };
        let slots = (0..count).map(slot).collect::<Result<Vec<_>>>()?;
        Ok(Slots { home, slots })
    }
}

impl Next {
    /// What it is where each iteration has memory of its own.
    fn ahead(self, step: &WhileStep) -> Next {
        match self {
            Next::Copied(buffer) if is_own(step, buffer) => Next::Written(buffer),
            other => other,
        }
    }
}

/// Whether an update's buffer has no other purpose at the end of an iteration, so that it may be the next
/// iteration's memory.
fn is_own(step: &WhileStep, buffer: BufferId) -> bool {
    let program = &step.body.program;
    let once = program.updates.iter().filter(|update| update.1 == buffer).count() == 1;
    program.buffers[buffer].role == Role::Temp && once && !program.outputs.contains(&buffer)
}
