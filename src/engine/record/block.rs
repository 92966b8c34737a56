//! Blocks: many iterations of a method, recorded as one Segment, so that the host acts once per block.
//!
//! State lies at canonical addresses, so a block repeats the same commands, with three exceptions: an input
//! that takes one slice per iteration is bound to its own slot of a staging region, which one copy fills; a
//! sample is copied to its own slot of another staging region, which one copy empties; and an update that
//! goes through scratch alternates between the canonical region and a twin of it, which saves the copy back.
//! Blocks have an even number of iterations, so all state ends in its canonical region.

use super::iteration_layout::{
    Carried, Iteration, IterationLayout, Next, RowBuffer, Sample, SampleSource, of_role,
};
use super::recorded::{BoundProgram, Recorded};
use super::regions::Regions;
use super::results::RunResults;
use super::sample_ring::SampledTensor;
use super::segment::Segment;
use crate::engine::compile::Compiled;
use crate::engine::storage::{EngineContext, byte_size};
use crate::error::{DeviceError, Error, Result};
use crate::lower::program::{Access, BufferId, Role};
use std::time::Instant;
use workalike_device::Region;

/// Maximum number of commands of a block: beyond it, the cost of a replay per command is already negligible.
pub(super) const COMMANDS: u64 = 512;
/// Maximum size of a staging region, in bytes.
pub(super) const STAGE: u64 = 16 << 20;
/// Maximum time to record a block, in seconds, estimated from a smaller block.
const RECORDING: f64 = 0.05;
/// Blocks kept per Program, of all kinds and sizes; the oldest is dropped first.
const KEPT: usize = 16;
/// Factor from one block size to the next.
const LADDER: u64 = 8;

/// The properties in which the blocks of one Program differ, besides their size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockKey {
    /// Inputs that take one slice per iteration: position, bytes of a slice, bytes from one slice to the
    /// next.
    pub(crate) sequences: Vec<(usize, u64, u64)>,
    /// Samples: source, iterations from one sample to the next, iterations from the last sample to the block.
    pub(crate) rings: Vec<(SampledTensor, u64, u64)>,
}

impl BlockKey {
    /// The number of iterations after which the samples are at the same phase again.
    fn period(&self) -> u64 {
        self.rings.iter().fold(1, |all, (_, every, _)| lcm(all, *every))
    }
}

/// The least common multiple, saturated: a block has no longer period.
pub(crate) fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).saturating_mul(b)
}

/// A recorded block.
#[derive(Debug)]
pub(crate) struct RecordedBlock {
    pub(crate) kind: BlockKey,
    pub(crate) steps: u64,
    pub(crate) segment: Segment,
    /// For each sequence of the kind, the staging region of its slices, filled before a replay.
    pub(crate) stages: Vec<Region>,
    /// For each ring of the kind, the region of its samples after a replay, and their number.
    pub(crate) samples: Vec<(Region, u64)>,
    seconds: f64,
}

/// The blocks of a Program at its current addresses.
#[derive(Debug, Default)]
pub(crate) struct BlockCache {
    all: Vec<RecordedBlock>,
    /// Iterations run so far. A Program that ran many iterations is expected to run more.
    pub(crate) done: u64,
    /// The device had no memory for blocks of this many iterations.
    refused: Option<u64>,
}

/// A block of a Program, with the context of its replay.
pub(crate) struct Unrolled<'p> {
    pub(crate) compiled: &'p Compiled,
    regions: &'p Regions,
    pub(crate) block: &'p mut RecordedBlock,
    /// Iterations that the Program has run so far.
    pub(crate) done: &'p mut u64,
}

impl Unrolled<'_> {
    /// The results of the last replay.
    pub(crate) fn results<'r>(&'r self, context: &'r EngineContext) -> RunResults<'r> {
        RunResults { compiled: self.compiled, regions: self.regions, outputs: &[], context }
    }
}

impl Compiled {
    /// Whether iterations can be recorded in blocks: the host has nothing to do during or after them.
    fn unrolls(&self) -> bool {
        self.definition.demand.is_static()
            && self.program.host_nodes().next().is_none()
            && self.resized.is_empty()
    }
}

impl<'p> BoundProgram<'p> {
    /// The largest block of at most `limit` iterations that is recorded, or that is worth recording for a
    /// loop with `left` iterations to run.
    pub(crate) fn unrolled(
        self,
        context: &EngineContext,
        kind: &BlockKey,
        limit: u64,
        left: u64,
    ) -> Result<Option<Unrolled<'p>>> {
        let BoundProgram { compiled, recorded } = self;
        if !compiled.unrolls() {
            return Ok(None);
        }
        let mut best = None;
        let mut seconds_a_step = 0.0;
        for steps in sizes(RunResults { compiled, regions: &recorded.regions, outputs: &[], context }, kind)?
        {
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
            let block = match unroll(
                RunResults { compiled, regions: &recorded.regions, outputs: &[], context },
                kind,
                steps,
            ) {
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
        let Recorded { regions, blocks: BlockCache { all, done, .. }, .. } = recorded;
        let block = best.and_then(|at| all.get_mut(at));
        Ok(block.map(|block| Unrolled { compiled, regions, block, done }))
    }
}

impl BlockCache {
    /// Keeps a block, and returns its position.
    fn add(&mut self, block: RecordedBlock) -> usize {
        if self.all.len() >= KEPT {
            self.all.remove(0);
        }
        self.all.push(block);
        self.all.len() - 1
    }
}

/// Block sizes of a kind, in iterations, ascending; each is even, and a multiple of the kind's period.
fn sizes(results: RunResults<'_>, kind: &BlockKey) -> Result<Vec<u64>> {
    let program = &results.compiled.program;
    let period = kind.period();
    let steps = results.compiled.commands()?;
    let commands = steps.saturating_add((program.updates.len() + kind.rings.len()) as u64).max(1);
    let mut most = COMMANDS / commands;
    for (_, _, stride) in &kind.sequences {
        most = most.min(STAGE / stride.max(&1));
    }
    for &(source, every, _) in &kind.rings {
        let (_, dtype, shape) = results.sampled(source)?;
        most = most.min((STAGE / byte_size(dtype, &shape).max(1)).saturating_mul(every));
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

/// Records a block of a Program; `None` unless it is one Segment.
fn unroll(results: RunResults<'_>, kind: &BlockKey, steps: u64) -> Result<Option<RecordedBlock>> {
    let start = Instant::now();
    let RunResults { compiled, context, .. } = results;
    if context.options.stepwise() {
        return Ok(None);
    }
    let Some(own_steps) = compiled.only_segment()? else { return Ok(None) };
    let stages = kind.sequences.iter().map(|(_, _, stride)| context.allocate(stride * steps));
    let stages = stages.collect::<Result<Vec<Region>>>()?;
    let mut samples = Vec::new();
    for &(source, every, _) in &kind.rings {
        let bytes = results.sampled(source)?.0.bytes;
        samples.push((context.allocate(bytes * (steps / every))?, steps / every));
    }
    let iterations = iterations(results, kind, &stages, &samples)?;
    let mut commands = Vec::new();
    for step in 0..steps {
        let Iteration { before, regions, after } = iterations.at(step)?;
        commands.extend(before);
        own_steps.iter().try_for_each(|own| own.commands(&regions, &mut commands))?;
        commands.extend(after);
    }
    let segment = Segment::record(context.device.as_ref(), &compiled.module, &commands)?;
    let kind = kind.clone();
    Ok(Some(RecordedBlock { kind, steps, segment, stages, samples, seconds: start.elapsed().as_secs_f64() }))
}

/// The iterations of a block: the Program is their body, its shared variables are carried, and the slices of
/// sequences are rows of the staging regions.
fn iterations(
    results: RunResults<'_>,
    kind: &BlockKey,
    stages: &[Region],
    samples: &[(Region, u64)],
) -> Result<IterationLayout> {
    let RunResults { compiled, context, regions, .. } = results;
    let program = &compiled.program;
    let mut all = IterationLayout::fixed(regions.clone());
    for (&(input, _, stride), stage) in kind.sequences.iter().zip(stages) {
        for buffer in of_role(program, &Role::Input(input)) {
            let access = Access { stride: stride as i64, ..Access::whole(buffer) };
            all.rows.push(RowBuffer { buffer, array: stage.clone(), access });
        }
    }
    let copied: Vec<(usize, BufferId)> = compiled.copied(context).collect();
    for &(shared, buffer) in &program.updates {
        let twin = twin(compiled, context, (shared, buffer))?;
        let home = context.states[compiled.definition.states[shared]].region.clone();
        let next = match &twin {
            Some(_) => Next::Written(buffer),
            None if copied.contains(&(shared, buffer)) => Next::Copied(buffer),
            None => Next::There,
        };
        let slots = [home].into_iter().chain(twin).collect();
        all.carried.push(Carried { buffers: of_role(program, &Role::Shared(shared)), slots, next });
    }
    for (&(source, every, phase), (target, _)) in kind.rings.iter().zip(samples) {
        let (region, ..) = results.sampled(source)?;
        let bytes = region.bytes;
        let source = match source {
            SampledTensor::Output(output) => SampleSource::Buffer(compiled.result(output)?.0),
            SampledTensor::State(position) => {
                let updated = |update: &(usize, BufferId)| compiled.definition.states[update.0] == position;
                program
                    .updates
                    .iter()
                    .position(updated)
                    .map_or(SampleSource::Fixed(region), SampleSource::Carried)
            }
        };
        all.samples.push(Sample { source, bytes, target: target.clone(), every, phase });
    }
    Ok(all)
}

/// A second region for a shared variable, if its new value is computed in a scratch buffer that has no other
/// use at the end of an iteration: the two alternate.
fn twin(
    compiled: &Compiled,
    context: &EngineContext,
    (shared, buffer): (usize, BufferId),
) -> Result<Option<Region>> {
    let program = &compiled.program;
    let state = &context.states[compiled.definition.states[shared]];
    let new = &program.buffers[buffer];
    let once = program.updates.iter().filter(|u| u.1 == buffer).count() == 1;
    let kept = program.outputs.contains(&buffer);
    if new.role != Role::Temp || !once || kept || new.bytes() == 0 || new.bytes() != state.bytes() {
        return Ok(None);
    }
    match context.allocate(new.bytes()) {
        Ok(twin) => Ok(Some(twin)),
        // The update then goes through scratch and is copied back.
        Err(Error::Device(DeviceError::OutOfMemory { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}
