//! Debugging: a Program whose steps are recorded, launched and waited for one by one, so that an error names
//! its step, and a NaN the first step that makes one.

use super::control::{ControlNode, Recorder, run_all};
use super::regions::Regions;
use super::segment::DeviceStep;
use crate::engine::compile::Compiled;
use crate::engine::storage::EngineContext;
use crate::error::{Error, Result, array_text};
use crate::graph::Node;
use crate::lower::program::{BufferId, HostNode, Role, Step};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use workalike_device::{Command, Device, DeviceError, DeviceModule, Numerics, Recording, Region};
use workalike_kernels::nest::{Block, Fold, FoldOf, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
use workalike_kernels::ops::{ABS, EQ, NE, WHERE};
use workalike_kernels::verify::Verified;
use workalike_kernels::{DType, Scalar};

/// A step that is launched and waited for by itself.
#[derive(Debug)]
pub(super) struct LoneStep {
    /// Nothing for a host node, which has run before.
    pieces: Vec<ControlNode>,
    /// The kernel, and the last node that it computes.
    name: String,
    node: Option<usize>,
    reads: Vec<BufferId>,
    /// What is cleared before: a step may write a part only, and the rest of the memory holds anything.
    cleared: Vec<Region>,
    guards: Vec<Guard>,
}

/// The most bytes that are cleared at once.
const CLEARED: u64 = 1 << 20;

/// The check of a buffer for NaN and infinity.
#[derive(Debug)]
struct Guard {
    buffer: BufferId,
    recording: Box<dyn Recording>,
    found: Region,
}

/// For each buffer that is not finite, which kinds it has: NaN, infinity.
pub(crate) type Found = HashMap<BufferId, [bool; 2]>;

/// The checks of what a Program reads from outside.
#[derive(Debug, Default)]
pub(super) struct Sources(Vec<Guard>);

impl Sources {
    /// The checks of inputs, constants and shared variables, if values are guarded.
    pub(crate) fn of(compiled: &Compiled, context: &EngineContext, regions: &Regions) -> Result<Sources> {
        if !context.options.nan_guard {
            return Ok(Sources::default());
        }
        let buffers = compiled.program.buffers.iter().enumerate();
        let outside = buffers.filter(|(_, buffer)| !matches!(buffer.role, Role::Temp | Role::Status));
        let ids: Vec<BufferId> = outside.map(|(id, _)| id).collect();
        Ok(Sources(guards(&ids, compiled, context, regions)?))
    }

    /// What is not finite before the Program runs.
    pub(crate) fn check(&mut self, device: &dyn Device) -> Result<Found> {
        let mut found = Found::new();
        for guard in &mut self.0 {
            let at = guard.check(device)?;
            found.insert(guard.buffer, at.map(|at| at.is_some()));
        }
        Ok(found)
    }
}

impl LoneStep {
    /// Records a step; no step before it has touched the buffers `fresh`.
    pub(crate) fn record(
        step: &Step,
        on_device: &DeviceStep<'_>,
        fresh: &[BufferId],
        compiled: &Compiled,
        context: &EngineContext,
        regions: &Regions,
    ) -> Result<LoneStep> {
        let buffers = &compiled.program.buffers;
        let node = step.writes().iter().filter_map(|&id| buffers[id].node).max();
        let (guards, cleared) = match context.options.nan_guard {
            true => (guards(&step.writes(), compiled, context, regions)?, scratch(fresh, compiled, regions)),
            false => (vec![], vec![]),
        };
        let name = step.name();
        let mut recorder = Recorder::new(compiled, context);
        let recorded =
            recorder.steps(std::slice::from_ref(on_device), regions).and_then(|()| recorder.finish());
        let pieces = recorded.map_err(|error| failed(compiled, &name, node, &error.to_string()))?;
        Ok(LoneStep { pieces, name, node, reads: step.reads(), cleared, guards })
    }

    /// The checks of a host node's results.
    pub(super) fn after_host(
        step: &Step,
        node: &HostNode,
        compiled: &Compiled,
        context: &EngineContext,
        regions: &Regions,
    ) -> Result<LoneStep> {
        let guards = match context.options.nan_guard {
            true => guards(&node.outputs, compiled, context, regions)?,
            false => vec![],
        };
        let (name, reads) = (step.name(), step.reads());
        Ok(LoneStep { pieces: vec![], name, node: Some(node.node), reads, cleared: vec![], guards })
    }

    /// Launches it and waits; `found` is what is not finite so far.
    pub(crate) fn replay(
        &mut self,
        compiled: &Compiled,
        device: &dyn Device,
        found: &mut Found,
    ) -> Result<()> {
        self.clear(device)?;
        let ran = run_all(&mut self.pieces, device, &mut |segment| segment.replay());
        let done = match self.pieces.is_empty() {
            true => ran,
            false => ran.and_then(|()| Ok(device.synchronize()?)),
        };
        self.finish(done, compiled, device, found)
    }

    /// The same; returns how long it took, unless it is a host node.
    pub(crate) fn timed(
        &mut self,
        compiled: &Compiled,
        device: &dyn Device,
        found: &mut Found,
    ) -> Result<Option<Duration>> {
        self.clear(device)?;
        let took: Result<Duration> = self.pieces.iter_mut().map(|piece| piece.timed(device)).sum();
        let (took, done) = match took {
            Ok(took) => (took, Ok(())),
            Err(error) => (Duration::ZERO, Err(error)),
        };
        self.finish(done, compiled, device, found)?;
        Ok((!self.pieces.is_empty()).then_some(took))
    }

    fn clear(&self, device: &dyn Device) -> Result<()> {
        for region in &self.cleared {
            let zeros = vec![0; region.bytes.min(CLEARED) as usize];
            for first in (0..region.bytes).step_by(CLEARED as usize) {
                let bytes = (region.bytes - first).min(CLEARED);
                let part = Region { offset: region.offset + first, bytes, ..region.clone() };
                device.upload(&zeros[..bytes as usize], &part)?;
            }
        }
        Ok(())
    }

    fn finish(
        &mut self,
        done: Result<()>,
        compiled: &Compiled,
        device: &dyn Device,
        found: &mut Found,
    ) -> Result<()> {
        done.map_err(|error| failed(compiled, &self.name, self.node, &error.to_string()))?;
        let has = |found: &Found, id: &BufferId, kind: usize| found.get(id).is_some_and(|kinds| kinds[kind]);
        let read = [0, 1].map(|kind| self.reads.iter().any(|id| has(found, id, kind)));
        for guard in &mut self.guards {
            let at = guard.check(device)?;
            // A step before may have written another part of it.
            let had = [0, 1].map(|kind| read[kind] || has(found, &guard.buffer, kind));
            for (kind, what) in ["a NaN", "an infinity"].into_iter().enumerate() {
                if let (Some(position), false) = (at[kind], had[kind]) {
                    let message = made(compiled, guard.buffer, what, position, &self.reads);
                    return Err(failed(compiled, &self.name, self.node, &message));
                }
            }
            found.insert(guard.buffer, at.map(|at| at.is_some()));
        }
        Ok(())
    }
}

/// An error at a step: the kernel, the node, and where it was written.
fn failed(compiled: &Compiled, kernel: &str, node: Option<usize>, message: &str) -> Error {
    let written: Option<&Node> = node.and_then(|node| compiled.definition.graph.nodes.get(node));
    let op = written.map_or(kernel.to_string(), |node| node.op.label());
    let kernel = if op == kernel { String::new() } else { format!("kernel {kernel}: ") };
    let place = written.map_or(String::new(), Node::written_at);
    let node = node.map_or("a copy".into(), |node| format!("#{node}"));
    Error::Run { op, node, message: format!("{kernel}{message}{place}") }
}

/// What a step made of finite operands.
fn made(compiled: &Compiled, buffer: BufferId, what: &str, position: u64, reads: &[BufferId]) -> String {
    let buffers = &compiled.program.buffers;
    let text = |id: BufferId| {
        let shape: Vec<usize> = buffers[id].shape.iter().map(|&extent| extent as usize).collect();
        array_text(buffers[id].dtype, &shape)
    };
    let mut left = position;
    let mut at: Vec<u64> = buffers[buffer]
        .shape
        .iter()
        .rev()
        .map(|&extent| {
            let index = left % extent.max(1);
            left /= extent.max(1);
            index
        })
        .collect();
    at.reverse();
    let read: Vec<String> = reads.iter().map(|&id| text(id)).collect();
    format!(
        "it makes {what}, first at {at:?} of {}, from operands that have none: {}",
        text(buffer),
        read.join(", ")
    )
}

/// The memory of the scratch among buffers that is checked.
fn scratch(ids: &[BufferId], compiled: &Compiled, regions: &Regions) -> Vec<Region> {
    let buffers = &compiled.program.buffers;
    let checked = |&&id: &&BufferId| buffers[id].role == Role::Temp && buffers[id].dtype.is_float();
    ids.iter().filter(checked).filter_map(|&id| regions.find(id).cloned()).collect()
}

/// The checks of the floats among buffers.
fn guards(
    ids: &[BufferId],
    compiled: &Compiled,
    context: &EngineContext,
    regions: &Regions,
) -> Result<Vec<Guard>> {
    let mut guards = Vec::new();
    for &id in ids {
        let buffer = &compiled.program.buffers[id];
        let Some(region) = regions.find(id).filter(|_| buffer.dtype.is_float() && !buffer.is_empty()) else {
            continue;
        };
        let device = context.device.as_ref();
        let name = &device.properties().id;
        let nest = Verified::new(nest(buffer.dtype, buffer.len()));
        let nest = nest.map_err(|e| DeviceError::driver(name, "nan_guard", e))?;
        let module: Arc<dyn DeviceModule> = device.compile(&[nest], Numerics::default())?;
        let found = Region { bytes: 16, ..context.allocate(16)? };
        let command = Command::Launch { nest: 0, args: vec![region.clone(), found.clone()] };
        guards.push(Guard { buffer: id, recording: device.record(&module, &[command])?, found });
    }
    Ok(guards)
}

impl Guard {
    /// The first positions of a NaN and of an infinity.
    fn check(&mut self, device: &dyn Device) -> Result<[Option<u64>; 2]> {
        self.recording.replay()?;
        let mut bytes = [0u8; 16];
        device.download(&self.found, &mut bytes)?;
        let (nan, infinity) = bytes.split_at(8);
        Ok([nan, infinity].map(|word| {
            let at = i64::from_le_bytes(word.try_into().unwrap_or([0xff; 8]));
            u64::try_from(at).ok().filter(|_| at != i64::MAX)
        }))
    }
}

/// The first positions of a NaN and of an infinity among `len` elements; `i64::MAX` where there is none.
fn nest(dtype: DType, len: u64) -> Nest {
    let mut block = Block::default();
    let x = block.push(Inst::Load { operand: 0, index: vec![Index::axis(0)] });
    let at = block.push(Inst::Axis(0));
    let none = block.push(Inst::Const(Scalar::from_i128(DType::I64, i64::MAX.into())));
    let nan = block.push(Inst::Op { op: NE, args: vec![x, x] });
    let magnitude = block.push(Inst::Op { op: ABS, args: vec![x] });
    let infinity = block.push(Inst::Const(Scalar::from_f64(dtype, f64::INFINITY)));
    let infinite = block.push(Inst::Op { op: EQ, args: vec![magnitude, infinity] });
    let folds = [nan, infinite].map(|is| {
        let value = block.push(Inst::Op { op: WHERE, args: vec![is, at, none] });
        FoldOf { fold: Fold::Min, value, index: None }
    });
    let reduce = Phase { kind: PhaseKind::Reduce, block, folds: folds.to_vec(), stores: vec![] };
    let mut block = Block::default();
    let stores = [0, 1].map(|fold| {
        let value = block.push(Inst::Folded { phase: 0, fold });
        Store { operand: 1, index: vec![Index::constant(fold as i64)], value, when: None, add: false }
    });
    let point = Phase { kind: PhaseKind::Point, block, folds: vec![], stores: stores.to_vec() };
    let operand = |dtype, len, written| Operand::contiguous(dtype, &[len], written);
    Nest {
        name: "not finite".into(),
        axes: vec![len],
        grid: 0,
        operands: vec![operand(dtype, len, false), operand(DType::I64, 2, true)],
        phases: vec![reduce, point],
    }
}
