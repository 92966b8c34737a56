//! Blocks: the commands of a step many times over, recorded as one Segment, so that the host comes back once
//! a block.
//!
//! State lies at canonical addresses, so a block is the same commands again and again, but for three things:
//! an input that takes a slice a step is bound to its own slot of a stage, which one copy fills; a sample is
//! copied to its own slot of another stage, from which one copy takes them all; and an update that goes
//! through scratch alternates between the canonical place and a twin of it, which saves the copy back. Blocks
//! have an even number of steps, so they end with all state at its place.

use super::super::device::{Command, Region};
use super::context::Context;
use super::planned::Compiled;
use super::ran::Ran;
use super::recorded::{Bound, Recorded};
use super::regions::Regions;
use super::segment::Segment;
use super::tap::{Source, size};
use crate::error::{DeviceError, Error, Result};
use crate::lower::program::Role;
use std::time::Instant;

/// Commands that a block may have: past this many, what a replay costs is spread thin enough.
const COMMANDS: u64 = 512;
/// Bytes that a stage may have.
const STAGE: u64 = 16 << 20;
/// Seconds that recording a block may take, as far as can be told from a smaller one.
const RECORDING: f64 = 0.05;
/// Blocks kept per Program, of all kinds and sizes; beyond that the oldest goes.
const KEPT: usize = 16;
/// From one size of block to the next.
const LADDER: u64 = 8;

/// What blocks of one Program differ in, but for their size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind {
    /// Inputs that take a slice a step: which, bytes of a slice, bytes from one slice to the next.
    pub(super) sequences: Vec<(usize, u64, u64)>,
    /// What is sampled: what, each how many steps, and how many steps before the block the last sample was.
    pub(super) taps: Vec<(Source, u64, u64)>,
}

impl Kind {
    /// After this many steps the samples are at the same phase again.
    fn period(&self) -> u64 {
        self.taps.iter().fold(1, |all, (_, every, _)| lcm(all, *every))
    }
}

/// The least common multiple, or more than any period that blocks have.
pub(super) fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).saturating_mul(b)
}

/// A recorded block.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    pub(super) steps: u64,
    pub(super) segment: Segment,
    /// For each sequence of the kind, where its slices are put before a replay.
    pub(super) stages: Vec<Region>,
    /// For each tap of the kind, where its samples are after a replay, and how many.
    pub(super) samples: Vec<(Region, u64)>,
    seconds: f64,
}

/// The blocks of a Program at its current addresses.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    all: Vec<Block>,
    /// Steps done so far: many steps will be followed by more.
    pub(super) done: u64,
    /// The device had no memory for blocks of this many steps.
    refused: Option<u64>,
}

/// An update that alternates between two places: the shared variable and scratch buffer of it, and the twin.
struct Alternating {
    shared: usize,
    buffer: usize,
    twin: Region,
}

/// A block of a Program, with what its replay needs.
pub(super) struct Unrolled<'p> {
    pub(super) compiled: &'p Compiled,
    regions: &'p Regions,
    pub(super) block: &'p mut Block,
    /// Steps that the Program did so far.
    pub(super) done: &'p mut u64,
}

impl Unrolled<'_> {
    /// What the last replay left.
    pub(super) fn ran<'r>(&'r self, context: &'r Context) -> Ran<'r> {
        Ran { compiled: self.compiled, regions: self.regions, context }
    }
}

impl Compiled {
    /// Whether steps can be put into blocks: the host has nothing to do in them, nor after them.
    fn unrolls(&self) -> bool {
        self.definition.demand.is_static()
            && self.program.host_nodes().next().is_none()
            && self.resized.is_empty()
    }
}

impl<'p> Bound<'p> {
    /// The largest block that does no more than `limit` steps and is recorded, or is worth recording for a
    /// loop that has `left` steps to do.
    pub(super) fn unrolled(
        self,
        context: &Context,
        kind: &Kind,
        limit: u64,
        left: u64,
    ) -> Result<Option<Unrolled<'p>>> {
        let Bound { compiled, recorded } = self;
        if !compiled.unrolls() {
            return Ok(None);
        }
        let mut best = None;
        let mut seconds_a_step = 0.0;
        for steps in sizes(Ran { compiled, regions: &recorded.regions, context }, kind)? {
            let blocks = &recorded.blocks;
            if steps > limit || blocks.refused.is_some_and(|refused| steps >= refused) {
                break;
            }
            if let Some(found) = blocks.all.iter().position(|b| b.steps == steps && b.kind == *kind) {
                seconds_a_step = blocks.all[found].seconds / steps as f64;
                best = Some(found);
                continue;
            }
            let pays = blocks.done.saturating_add(left) >= 2 * steps;
            if !pays || seconds_a_step * steps as f64 > RECORDING {
                break;
            }
            let block = match unroll(Ran { compiled, regions: &recorded.regions, context }, kind, steps) {
                Ok(Some(block)) => block,
                Ok(None) => return Ok(None),
                Err(Error::Device(DeviceError::OutOfMemory { .. })) => {
                    recorded.blocks.refused = Some(steps);
                    break;
                }
                Err(error) => return Err(error),
            };
            seconds_a_step = block.seconds / steps as f64;
            best = Some(recorded.blocks.add(block));
        }
        let Recorded { regions, blocks: Blocks { all, done, .. }, .. } = recorded;
        let block = best.and_then(|at| all.get_mut(at));
        Ok(block.map(|block| Unrolled { compiled, regions, block, done }))
    }
}

impl Blocks {
    /// Keeps a block, and gives its position.
    fn add(&mut self, block: Block) -> usize {
        if self.all.len() >= KEPT {
            self.all.remove(0);
        }
        self.all.push(block);
        self.all.len() - 1
    }
}

/// Steps of blocks of a kind, from few to many; each size is even, and a multiple of the kind's period.
fn sizes(ran: Ran<'_>, kind: &Kind) -> Result<Vec<u64>> {
    let program = &ran.compiled.program;
    let period = kind.period();
    let commands = (program.steps.len() + program.updates.len() + kind.taps.len()).max(1) as u64;
    let mut most = COMMANDS / commands;
    for (_, _, stride) in &kind.sequences {
        most = most.min(STAGE / stride.max(&1));
    }
    for &(source, every, _) in &kind.taps {
        let (_, dtype, shape) = ran.sampled(source)?;
        most = most.min((STAGE / size(dtype, &shape).max(1)).saturating_mul(every));
    }
    let periods = most / period;
    if periods < 2 {
        return Ok(vec![]);
    }
    let top = 1 << periods.ilog2();
    let mut sizes: Vec<u64> = std::iter::successors(Some(top), |n| Some(n / LADDER))
        .take_while(|n| *n >= 2)
        .map(|n| n * period)
        .collect();
    sizes.reverse();
    Ok(sizes)
}

/// Records a block of a Program; `None` if it has host nodes.
fn unroll(ran: Ran<'_>, kind: &Kind, steps: u64) -> Result<Option<Block>> {
    let start = Instant::now();
    let Ran { compiled, context, .. } = ran;
    let Some(own_steps) = compiled.only_segment() else { return Ok(None) };
    let stages = kind.sequences.iter().map(|(_, _, stride)| context.allocate(stride * steps));
    let stages = stages.collect::<Result<Vec<Region>>>()?;
    let mut samples = Vec::new();
    for &(source, every, _) in &kind.taps {
        let bytes = ran.sampled(source)?.0.bytes;
        samples.push((context.allocate(bytes * (steps / every))?, steps / every));
    }
    let alternating = alternating(compiled, context)?;
    let mut taken = vec![0; samples.len()];
    let mut commands = Vec::new();
    for step in 0..steps {
        let back = step % 2 == 1;
        let mut regions = regions_of_step(ran, &alternating, back)?;
        for ((input, bytes, stride), stage) in kind.sequences.iter().zip(&stages) {
            let slot = Region { offset: stage.offset + step * stride, bytes: *bytes, ..stage.clone() };
            regions.put_role(&compiled.program, &Role::Input(*input), &slot);
        }
        for own in &own_steps {
            commands.push(own.command(&regions)?);
        }
        let copied = |shared| !alternating.iter().any(|a| a.shared == shared);
        commands.extend(compiled.copies(context, &regions, copied)?);
        for (tap, &(source, every, phase)) in kind.taps.iter().enumerate() {
            if (phase + step + 1) % every != 0 {
                continue;
            }
            let source = after_step(ran, source, &regions, &alternating, back)?;
            let stage = &samples[tap].0;
            let offset = stage.offset + taken[tap] * source.bytes;
            taken[tap] += 1;
            if source.bytes > 0 {
                let target = Region { offset, bytes: source.bytes, ..stage.clone() };
                commands.push(Command::Copy { source, target });
            }
        }
    }
    let segment = Segment::record(context.device.as_ref(), &compiled.module, &commands)?;
    let kind = kind.clone();
    Ok(Some(Block { kind, steps, segment, stages, samples, seconds: start.elapsed().as_secs_f64() }))
}

/// The updates that can alternate: those computed in scratch that nothing else uses at the end of a step.
fn alternating(compiled: &Compiled, context: &Context) -> Result<Vec<Alternating>> {
    let program = &compiled.program;
    let mut alternating = Vec::new();
    for &(shared, buffer) in &program.updates {
        let state = &context.states[compiled.definition.states[shared]];
        let new = &program.buffers[buffer];
        let once = program.updates.iter().filter(|u| u.1 == buffer).count() == 1;
        let kept = program.outputs.contains(&buffer);
        if new.role != Role::Temp || !once || kept || new.bytes() == 0 || new.bytes() != state.bytes() {
            continue;
        }
        match context.allocate(new.bytes()) {
            Ok(twin) => alternating.push(Alternating { shared, buffer, twin }),
            // It goes through scratch and back, then.
            Err(Error::Device(DeviceError::OutOfMemory { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(alternating)
}

/// Where buffers lie in a step that goes from the canonical places to the twins, or back.
fn regions_of_step(ran: Ran<'_>, alternating: &[Alternating], back: bool) -> Result<Regions> {
    let Ran { compiled, context, regions: canonical } = ran;
    let mut regions = canonical.clone();
    for Alternating { shared, buffer, twin } in alternating {
        let state = &context.states[compiled.definition.states[*shared]];
        let own = Region { bytes: twin.bytes, ..state.region.clone() };
        let (old, new) = if back { (twin, &own) } else { (&own, twin) };
        regions.put_role(&compiled.program, &Role::Shared(*shared), old);
        let bytes = canonical.get(*buffer)?.bytes;
        regions.put(*buffer, Region { bytes, ..new.clone() });
    }
    Ok(regions)
}

/// Where a sample lies after a step of a block.
fn after_step(
    ran: Ran<'_>,
    source: Source,
    regions: &Regions,
    alternating: &[Alternating],
    back: bool,
) -> Result<Region> {
    let (canonical, ..) = ran.sampled(source)?;
    match source {
        Source::State(position) => {
            let states = &ran.compiled.definition.states;
            let moved = alternating.iter().find(|a| states[a.shared] == position && !back);
            Ok(moved.map_or(canonical.clone(), |a| Region { bytes: canonical.bytes, ..a.twin.clone() }))
        }
        Source::Output(output) => {
            let (buffer, ..) = ran.compiled.result(output)?;
            Ok(Region { bytes: canonical.bytes, ..regions.get(buffer)?.clone() })
        }
    }
}
