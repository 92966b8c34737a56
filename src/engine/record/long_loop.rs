//! Loops of many iterations: a block of iterations is recorded once, and replayed until all are done.
//!
//! A recording has fixed addresses, so the rows that a block's iterations access are in staging memory while
//! it runs: before each replay they are copied there, and what was written is copied back. Nothing is waited
//! for. What has the same address in all iterations, or goes round in a ring, is bound as it is.

use super::block::{COMMANDS, STAGE, lcm};
use super::control::{ControlNode, Each, Recorder, run_all};
use super::iteration_layout::IterationLayout;
use super::regions::Regions;
use super::segment::DeviceStep;
use crate::engine::compile::Compiled;
use crate::engine::storage::EngineContext;
use crate::error::Result;
use crate::lower::program::{Access, Body, BufferId, LoopStep};
use std::collections::BTreeSet;
use workalike_device::{Device, Region};

/// Commands up to which all iterations of a loop are a part of the recording around it.
pub(super) const MOST_COMMANDS: u64 = 1024;

/// A loop that is recorded in blocks.
#[derive(Debug)]
pub(super) struct LongLoop {
    /// Iterations of a block.
    iterations: u64,
    block: Vec<ControlNode>,
    /// How often the block runs.
    blocks: u64,
    /// The last iterations, which do not fill a block.
    rest: Vec<ControlNode>,
    last: u64,
    windows: Vec<StagedRows>,
}

/// The rows of an array that a block accesses, and where they are while it runs.
#[derive(Debug)]
struct StagedRows {
    array: Region,
    stage: Region,
    /// The first byte of the first block's rows.
    low: i64,
    /// Bytes from the row of one iteration to that of the next.
    stride: i64,
    /// Bytes of a whole block's rows.
    bytes: u64,
    iterations: u64,
    read: bool,
    written: bool,
}

/// Whether an access is to another row in each iteration.
fn moves(access: &Access) -> bool {
    access.stride != 0 && access.rows.is_none()
}

impl LongLoop {
    pub(crate) fn record(
        compiled: &Compiled,
        context: &EngineContext,
        step: &LoopStep,
        body: &[DeviceStep<'_>],
        around: &Regions,
    ) -> Result<LongLoop> {
        let iterations = block_size(step, body);
        let (blocks, last) = (step.trips / iterations, step.trips % iterations);
        let mut all = IterationLayout::of(&step.body, around)?;
        let mut windows = Vec::new();
        let accesses = step.body.inputs.iter().chain(&step.body.outputs);
        let arrays: BTreeSet<(BufferId, i64)> =
            accesses.filter(|access| moves(access)).map(|access| (access.buffer, access.stride)).collect();
        for array in arrays {
            let window = StagedRows::of(&step.body, array, iterations, around, context)?;
            // The staging memory takes the place of the array.
            for row in all.rows.iter_mut().filter(|row| moves(&row.access)) {
                if (row.access.buffer, row.access.stride) == array {
                    let first = row.access.first.saturating_add_signed(window.low.saturating_neg());
                    (row.array, row.access.first) = (window.stage.clone(), first);
                }
            }
            windows.push(window);
        }
        let pieces = |count: u64| {
            let mut recorder = Recorder::new(compiled, context);
            recorder.iterations(body, &all, count)?;
            recorder.finish()
        };
        Ok(LongLoop { iterations, block: pieces(iterations)?, blocks, rest: pieces(last)?, last, windows })
    }

    /// Everything that is recorded.
    pub(crate) fn pieces(&mut self) -> impl Iterator<Item = &mut ControlNode> {
        self.block.iter_mut().chain(&mut self.rest)
    }

    /// Runs all iterations once, each Segment by `each`.
    pub(crate) fn run(&mut self, device: &dyn Device, each: Each<'_>) -> Result<()> {
        for block in 0..self.blocks {
            self.run_block(device, block, self.iterations, each)?;
        }
        if self.last > 0 {
            self.run_block(device, self.blocks, self.last, each)?;
        }
        Ok(())
    }

    fn run_block(&mut self, device: &dyn Device, block: u64, count: u64, each: Each<'_>) -> Result<()> {
        for window in self.windows.iter().filter(|window| window.read) {
            let (array, stage) = window.at(block, count);
            device.copy(&array, &stage)?;
        }
        let pieces = if count == self.iterations { &mut self.block } else { &mut self.rest };
        run_all(pieces, device, each)?;
        for window in self.windows.iter().filter(|window| window.written) {
            let (array, stage) = window.at(block, count);
            device.copy(&stage, &array)?;
        }
        Ok(())
    }
}

/// Iterations of a block: a multiple of the rows of every ring.
fn block_size(step: &LoopStep, body: &[DeviceStep<'_>]) -> u64 {
    let accesses = || step.body.inputs.iter().chain(&step.body.outputs);
    let period = accesses().filter_map(|access| access.rows).fold(1, lcm).max(1);
    let staged = accesses().filter(|access| moves(access));
    let bytes = staged.fold(1u64, |sum, access| sum.saturating_add(access.stride.unsigned_abs()));
    let moved = step.body.moved().count() as u64;
    let commands = body.iter().fold(moved, |sum, own| sum.saturating_add(own.count())).max(1);
    let most = (COMMANDS / commands).min(STAGE / bytes).min(step.trips);
    (most / period).max(1).saturating_mul(period)
}

impl StagedRows {
    fn of(
        body: &Body,
        (buffer, stride): (BufferId, i64),
        iterations: u64,
        around: &Regions,
        context: &EngineContext,
    ) -> Result<StagedRows> {
        let own = |access: &&Access| moves(access) && (access.buffer, access.stride) == (buffer, stride);
        let firsts = || body.inputs.iter().chain(&body.outputs).filter(own).map(|access| access.first as i64);
        let (least, most) = (firsts().min().unwrap_or(0), firsts().max().unwrap_or(0));
        let reach = stride.saturating_mul(iterations as i64 - 1);
        let low = least + reach.min(0);
        let bytes = (most - least) as u64 + reach.unsigned_abs() + stride.unsigned_abs();
        let array = around.get(buffer)?.clone();
        let stage = context.allocate(bytes)?;
        let (read, written) = (body.inputs.iter().any(|a| own(&a)), body.outputs.iter().any(|a| own(&a)));
        Ok(StagedRows { array, stage, low, stride, bytes, iterations, read, written })
    }

    /// The rows of a block of `count` iterations in the array, and in the staging memory.
    fn at(&self, block: u64, count: u64) -> (Region, Region) {
        let missing = self.stride.unsigned_abs() * (self.iterations - count);
        let skipped = if self.stride < 0 { missing } else { 0 };
        let low = self.low + self.stride * (block * self.iterations) as i64;
        // The rows that are missing may lie before the array.
        let first = low.saturating_add_unsigned(skipped).unsigned_abs();
        // The last row may be shorter than the distance of rows.
        let bytes = (self.bytes - missing).min(self.array.bytes.saturating_sub(first));
        let array = Region { offset: self.array.offset + first, bytes, ..self.array.clone() };
        (array, Region { offset: self.stage.offset + skipped, bytes, ..self.stage.clone() })
    }
}
