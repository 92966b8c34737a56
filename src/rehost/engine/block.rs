//! Blocks: the commands of a step many times over, recorded as one Segment, so that the host comes back once a block.
//!
//! State lies at canonical addresses, so a block is the same commands again and again, but for three things: an input that takes
//! a slice a step is bound to its own slot of a stage, which one copy fills; a sample is copied to its own slot of another
//! stage, from which one copy takes them all; and an update that goes through scratch alternates between the canonical place
//! and a twin of it, which saves the copy back. Blocks have an even number of steps, so they end with all state at its place.

use super::super::device::{Command, Recording, Region};
use super::record::{Run, region};
use super::tap::{Source, size};
use super::{Engine, value_bytes};
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
    kind: Kind,
    pub(super) steps: u64,
    pub(super) recording: Box<dyn Recording>,
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

impl Engine {
    /// Whether steps of a recorded Program can be put into blocks: the host has nothing to do in it, nor after it.
    pub(super) fn unrolls(&self, method: usize, at: usize) -> bool {
        let m = &self.methods[method];
        let planned = &m.programs[at];
        let alone = |runs: &[Run]| matches!(runs, [] | [Run::Segment(_)]);
        m.demand.is_static()
            && planned.recorded.as_ref().is_some_and(|r| alone(&r.runs))
            && planned.resized.is_empty()
    }

    /// The position of the largest block that does no more than `limit` steps and is recorded, or is worth recording for a loop
    /// that has `left` steps to do.
    pub(super) fn block(
        &mut self,
        method: usize,
        at: usize,
        kind: &Kind,
        limit: u64,
        left: u64,
    ) -> Result<Option<usize>> {
        let mut best = None;
        let mut seconds_a_step = 0.0;
        for steps in self.sizes(method, at, kind)? {
            let blocks = self.blocks(method, at)?;
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
            let block = match self.unroll(method, at, kind, steps) {
                Ok(block) => block,
                Err(Error::Device(DeviceError::OutOfMemory { .. })) => {
                    self.blocks(method, at)?.refused = Some(steps);
                    break;
                }
                Err(error) => return Err(error),
            };
            seconds_a_step = block.seconds / steps as f64;
            let blocks = self.blocks(method, at)?;
            if blocks.all.len() >= KEPT {
                blocks.all.remove(0);
            }
            blocks.all.push(block);
            best = Some(blocks.all.len() - 1);
        }
        Ok(best)
    }

    pub(super) fn blocks(&mut self, method: usize, at: usize) -> Result<&mut Blocks> {
        let recorded = self.methods[method].programs[at].recorded.as_mut();
        recorded.map(|r| &mut r.blocks).ok_or_else(|| Error::Internal("not recorded".into()))
    }

    pub(super) fn block_at(&mut self, method: usize, at: usize, block: usize) -> Result<&mut Block> {
        let found = self.blocks(method, at)?.all.get_mut(block);
        found.ok_or_else(|| Error::Internal("a block is gone".into()))
    }

    /// Steps of blocks of a kind, from few to many; each size is even, and a multiple of the kind's period.
    fn sizes(&self, method: usize, at: usize, kind: &Kind) -> Result<Vec<u64>> {
        let program = &self.methods[method].programs[at].program;
        let period = kind.period();
        let commands = (program.steps.len() + program.updates.len() + kind.taps.len()).max(1) as u64;
        let mut most = COMMANDS / commands;
        for (_, _, stride) in &kind.sequences {
            most = most.min(STAGE / stride.max(&1));
        }
        for &(source, every, _) in &kind.taps {
            let (_, dtype, shape) = self.sampled(method, at, source)?;
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

    /// Records a block.
    fn unroll(&self, method: usize, at: usize, kind: &Kind, steps: u64) -> Result<Block> {
        let start = Instant::now();
        let planned = &self.methods[method].programs[at];
        let Some(recorded) = &planned.recorded else { return Err(Error::Internal("not recorded".into())) };
        let stages = kind.sequences.iter().map(|(_, _, stride)| self.allocate(stride * steps));
        let stages = stages.collect::<Result<Vec<Region>>>()?;
        let mut samples = Vec::new();
        for &(source, every, _) in &kind.taps {
            let bytes = self.sampled(method, at, source)?.0.bytes;
            samples.push((self.allocate(bytes * (steps / every))?, steps / every));
        }
        let alternating = self.alternating(method, at)?;
        let mut taken = vec![0; samples.len()];
        let mut commands = Vec::new();
        for step in 0..steps {
            let back = step % 2 == 1;
            let regions = self.regions_of_step(method, at, &recorded.regions, &alternating, back);
            let mut regions = regions?;
            for ((input, bytes, stride), stage) in kind.sequences.iter().zip(&stages) {
                let slot = Region { offset: stage.offset + step * stride, bytes: *bytes, ..stage.clone() };
                self.bind_role(method, at, &mut regions, |role| *role == Role::Input(*input), &slot);
            }
            let copied = |shared| !alternating.iter().any(|a| a.shared == shared);
            commands.extend(self.commands(method, at, &regions, copied)?);
            for (tap, &(source, every, phase)) in kind.taps.iter().enumerate() {
                if (phase + step + 1) % every != 0 {
                    continue;
                }
                let source = self.after_step(method, at, source, &regions, &alternating, back)?;
                let stage = &samples[tap].0;
                let target = Region {
                    offset: stage.offset + taken[tap] * source.bytes,
                    bytes: source.bytes,
                    ..stage.clone()
                };
                taken[tap] += 1;
                if source.bytes > 0 {
                    commands.push(Command::Copy { source, target });
                }
            }
        }
        let recording = self.device.record(&planned.module, &commands)?;
        let kind = kind.clone();
        Ok(Block { kind, steps, recording, stages, samples, seconds: start.elapsed().as_secs_f64() })
    }

    /// The updates that can alternate: those computed in scratch that nothing else uses at the end of a step.
    fn alternating(&self, method: usize, at: usize) -> Result<Vec<Alternating>> {
        let m = &self.methods[method];
        let program = &m.programs[at].program;
        let mut alternating = Vec::new();
        for &(shared, buffer) in &program.updates {
            let (new, state) = (&program.buffers[buffer], &self.states[m.states[shared]]);
            let once = program.updates.iter().filter(|u| u.1 == buffer).count() == 1;
            let kept = program.outputs.contains(&buffer);
            if new.role != Role::Temp
                || !once
                || kept
                || new.bytes() == 0
                || new.bytes() != value_bytes(state)
            {
                continue;
            }
            match self.allocate(new.bytes()) {
                Ok(twin) => alternating.push(Alternating { shared, buffer, twin }),
                // It goes through scratch and back, then.
                Err(Error::Device(DeviceError::OutOfMemory { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(alternating)
    }

    /// Where buffers lie in a step that goes from the canonical places to the twins, or back.
    fn regions_of_step(
        &self,
        method: usize,
        at: usize,
        canonical: &[Option<Region>],
        alternating: &[Alternating],
        back: bool,
    ) -> Result<Vec<Option<Region>>> {
        let m = &self.methods[method];
        let mut regions = canonical.to_vec();
        for Alternating { shared, buffer, twin } in alternating {
            let own = Region { bytes: twin.bytes, ..self.states[m.states[*shared]].region.clone() };
            let (old, new) = if back { (twin, &own) } else { (&own, twin) };
            self.bind_role(method, at, &mut regions, |role| *role == Role::Shared(*shared), old);
            let bytes = region(canonical, *buffer)?.bytes;
            regions[*buffer] = Some(Region { bytes, ..new.clone() });
        }
        Ok(regions)
    }

    /// Puts all buffers of a role at a place.
    fn bind_role(
        &self,
        method: usize,
        at: usize,
        regions: &mut [Option<Region>],
        is: impl Fn(&Role) -> bool,
        place: &Region,
    ) {
        let buffers = &self.methods[method].programs[at].program.buffers;
        for (buffer, region) in buffers.iter().zip(regions) {
            if is(&buffer.role) && region.is_some() {
                *region = Some(Region { bytes: buffer.bytes(), ..place.clone() });
            }
        }
    }

    /// Where a sample lies after a step of a block.
    fn after_step(
        &self,
        method: usize,
        at: usize,
        source: Source,
        regions: &[Option<Region>],
        alternating: &[Alternating],
        back: bool,
    ) -> Result<Region> {
        let (canonical, ..) = self.sampled(method, at, source)?;
        let m = &self.methods[method];
        match source {
            Source::State(position) => {
                let moved = alternating.iter().find(|a| m.states[a.shared] == position && !back);
                Ok(moved.map_or(canonical.clone(), |a| Region { bytes: canonical.bytes, ..a.twin.clone() }))
            }
            Source::Output(output) => {
                let buffer = m.programs[at].program.outputs[output];
                Ok(Region { bytes: canonical.bytes, ..region(regions, buffer)? })
            }
        }
    }
}
