//! Steps of a Program, and what passes, plans and listings ask of a step.

use super::control::{BranchStep, LoopStep, WhileStep};
use super::{BufferId, Program};
use crate::op::Op;
use std::sync::Arc;
use workalike_device::LibraryOp;
use workalike_device::group::Collective;
use workalike_kernels::cost::{self, AccessDirection};
use workalike_kernels::nest::{Inst, Nest};
use workalike_kernels::verify::Verified;

/// One step.
#[derive(Clone, Debug)]
pub enum Step {
    /// A Nest; one buffer per operand. Two operands may name one buffer.
    Nest {
        /// What is computed.
        nest: Nest,
        /// The operands' buffers.
        buffers: Vec<BufferId>,
    },
    /// An op that the device has code of its own for.
    Library(LibraryStep),
    /// An op that the device lacks: its `perform`, on copies in host memory. It ends a Segment.
    Host(HostNode),
    /// A body that runs a number of times.
    Loop(LoopStep),
    /// A body that runs while a condition holds.
    While(WhileStep),
    /// Several bodies, one of which runs.
    Branch(BranchStep),
}

/// See [`Step::Library`].
#[derive(Clone, Debug)]
pub struct LibraryStep {
    /// What is computed.
    pub op: Arc<dyn LibraryOp>,
    /// The buffers that it reads, and the position of each operand's first element there.
    pub inputs: Vec<(BufferId, u64)>,
    /// The buffers that it writes, whole. With an epilogue the only one is not memory: the epilogue's operand
    /// of this name reads the result directly.
    pub outputs: Vec<BufferId>,
    /// Scratch memory.
    pub scratch: Option<BufferId>,
    /// The epilogue that is applied to each element of the result.
    pub epilogue: Option<Epilogue>,
}

/// An elementwise Nest that is applied to a library op's only result while it is computed: one Point phase
/// over exactly the result's elements, each point reading its own element.
#[derive(Clone, Debug)]
pub struct Epilogue {
    /// What is computed.
    pub nest: Verified,
    /// The operands' buffers; one of them is the result's.
    pub buffers: Vec<BufferId>,
}

/// See [`Step::Host`].
#[derive(Clone, Debug)]
pub struct HostNode {
    /// The op.
    pub op: Arc<dyn Op>,
    /// Its node in the FunctionGraph.
    pub node: usize,
    /// The reason that the op does not run on the device.
    pub why: String,
    /// Its inputs.
    pub inputs: Vec<BufferId>,
    /// Its outputs.
    pub outputs: Vec<BufferId>,
    /// If it is no `perform` of the op: arrays that members of a group exchange through main memory.
    pub exchange: Option<Collective>,
}

/// Names, for listings.
impl Step {
    /// The kind of step: `nest`, `library` or `host`.
    pub fn kind(&self) -> &'static str {
        match self {
            Step::Nest { .. } => "nest",
            Step::Library(_) => "library",
            Step::Host(_) => "host",
            Step::Loop(_) => "loop",
            Step::While(_) => "while",
            Step::Branch(_) => "branch",
        }
    }

    /// Its name in listings: the kernel's, or the op's.
    pub fn name(&self) -> String {
        match self {
            Step::Nest { nest, .. } => nest.name.clone(),
            Step::Library(LibraryStep { op, epilogue: None, .. }) => op.name(),
            Step::Library(LibraryStep { op, epilogue: Some(epilogue), .. }) => {
                format!("{}_{}", op.name(), epilogue.nest.name)
            }
            Step::Host(node) => node.op.label(),
            Step::Loop(LoopStep { name, .. })
            | Step::While(WhileStep { name, .. })
            | Step::Branch(BranchStep { name, .. }) => name.clone(),
        }
    }

    /// Its name, and for a library op the dtype and the extents.
    pub fn label(&self) -> String {
        match self {
            Step::Nest { nest, .. } => nest.name.clone(),
            Step::Library(LibraryStep { op, epilogue, .. }) => {
                let then = epilogue.as_ref().map_or(String::new(), |e| format!(", {}", e.nest.name));
                format!("{}{then}", op.label())
            }
            Step::Host(node) => node.op.label(),
            Step::Loop(step) => format!("{} x {}", step.name, step.trips),
            Step::While(_) | Step::Branch(_) => self.name(),
        }
    }

    /// What it does, in one line of [`Program::print`].
    pub(super) fn description(&self) -> String {
        let (kind, label) = (self.kind(), self.label());
        match self {
            Step::Nest { nest, .. } => {
                let axes: Vec<String> = nest.axes.iter().map(u64::to_string).collect();
                let phases: Vec<String> = nest.phases.iter().map(|p| format!("{:?}", p.kind)).collect();
                format!("{kind} {label} ({}; grid {}; {})", axes.join("x"), nest.grid, phases.join("+"))
            }
            Step::Library(_) | Step::Loop(_) | Step::While(_) | Step::Branch(_) => format!("{kind} {label}"),
            Step::Host(node) => format!("{kind} {label}: {}", node.why),
        }
    }
}

/// The buffers that it accesses.
impl Step {
    /// Buffers it reads, including buffers it adds to.
    pub fn reads(&self) -> Vec<BufferId> {
        match self {
            Step::Nest { nest, buffers } => reads(nest, buffers),
            Step::Library(library) => library.reads(),
            Step::Host(node) => node.inputs.clone(),
            Step::Loop(_) | Step::While(_) | Step::Branch(_) => {
                self.bound_bodies().iter().flat_map(|body| body.reads()).chain(self.control()).collect()
            }
        }
    }

    /// Buffers it writes.
    pub fn writes(&self) -> Vec<BufferId> {
        match self {
            Step::Nest { nest, buffers } => writes(nest, buffers),
            Step::Library(library) => library.writes(),
            Step::Host(node) => node.outputs.clone(),
            Step::Loop(_) | Step::While(_) | Step::Branch(_) => {
                self.bound_bodies().iter().flat_map(|body| body.writes()).collect()
            }
        }
    }

    /// Every mention of a buffer.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        let list: Vec<BufferId> = match self {
            Step::Nest { buffers, .. } => buffers.clone(),
            Step::Library(LibraryStep { inputs, outputs, scratch, epilogue, .. }) => {
                let more = epilogue.iter().flat_map(|e| &e.buffers);
                inputs
                    .iter()
                    .map(|input| &input.0)
                    .chain(outputs)
                    .chain(scratch)
                    .chain(more)
                    .copied()
                    .collect()
            }
            Step::Host(node) => node.inputs.iter().chain(&node.outputs).copied().collect(),
            Step::Loop(_) | Step::While(_) | Step::Branch(_) => [self.reads(), self.writes()].concat(),
        };
        list.into_iter()
    }

    /// Every mention of a buffer, to be renamed.
    pub(crate) fn buffers_mut(&mut self) -> Vec<&mut BufferId> {
        match self {
            Step::Nest { buffers, .. } => buffers.iter_mut().collect(),
            Step::Library(LibraryStep { inputs, outputs, scratch, epilogue, .. }) => {
                let more = epilogue.iter_mut().flat_map(|e| &mut e.buffers);
                inputs
                    .iter_mut()
                    .map(|input| &mut input.0)
                    .chain(outputs)
                    .chain(scratch)
                    .chain(more)
                    .collect()
            }
            Step::Host(node) => node.inputs.iter_mut().chain(&mut node.outputs).collect(),
            Step::Loop(LoopStep { body, .. }) => body.buffers_mut().collect(),
            Step::While(WhileStep { body, flag, .. }) => body.buffers_mut().chain([flag]).collect(),
            Step::Branch(BranchStep { bodies, index, .. }) => {
                bodies.iter_mut().flat_map(|body| body.buffers_mut()).chain([index]).collect()
            }
        }
    }
}

/// Its Nests, and the Programs that it holds.
impl Step {
    /// The Nest, if it is one.
    pub fn nest(&self) -> Option<&Nest> {
        match self {
            Step::Nest { nest, .. } => Some(nest),
            _ => None,
        }
    }

    /// Its Nest, or the Nests of its bodies.
    pub fn nests(&self) -> impl Iterator<Item = &Nest> {
        walk(std::slice::from_ref(self)).filter_map(Step::nest)
    }

    /// The Programs that it runs as a part of itself. Each has buffers of its own; the step reads and writes
    /// the buffers of the Program around it.
    pub fn bodies(&self) -> impl DoubleEndedIterator<Item = &Program> {
        self.bound_bodies().iter().map(|body| &body.program)
    }

    /// [`Step::bodies`], to be rewritten.
    pub(crate) fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Program> {
        self.bound_bodies_mut().iter_mut().map(|body| &mut body.program)
    }

    /// Whether the host acts while it runs: a host node, or a step whose bodies have one.
    pub fn needs_host(&self) -> bool {
        let in_bodies = || self.bodies().flat_map(|body| &body.steps).any(Step::needs_host);
        matches!(self, Step::Host(_)) || in_bodies()
    }
}

/// Its cost, for [`cost`](crate::engine::cost).
impl Step {
    /// Kernels and library ops that it launches; of a branch, the most.
    pub(crate) fn launches(&self) -> u64 {
        match self {
            Step::Nest { nest, .. } => u64::from(nest.grid_points() > 0),
            Step::Library(_) => 1,
            Step::Host(_) => 0,
            Step::Loop(_) | Step::While(_) | Step::Branch(_) => {
                let bodies = self.bound_bodies().iter().map(|body| body.launches());
                bodies.max().unwrap_or(0).saturating_mul(self.trips())
            }
        }
    }

    /// Floating-point operations; 0 for a host node, whose cost is unknown.
    pub(crate) fn flops(&self) -> f64 {
        match self {
            Step::Nest { nest, .. } => cost::flops(nest),
            Step::Library(LibraryStep { op, epilogue, .. }) => {
                op.flops() + epilogue.as_ref().map_or(0.0, |e| cost::flops(&e.nest))
            }
            Step::Host(_) => 0.0,
            Step::Loop(_) | Step::While(_) | Step::Branch(_) => {
                let bodies = self.bound_bodies().iter().map(|body| body.flops());
                bodies.fold(0.0, f64::max) * self.trips() as f64
            }
        }
    }

    /// Distinct elements that it accesses in each buffer; a buffer may be in the list more than once.
    pub(crate) fn touched(&self, program: &Program, way: AccessDirection) -> Vec<(BufferId, u64)> {
        match self {
            Step::Nest { nest, buffers } => buffers.iter().copied().zip(cost::elements(nest, way)).collect(),
            Step::Library(library) => library.touched(way),
            Step::Host(node) => {
                let buffers = if way == AccessDirection::Read { &node.inputs } else { &node.outputs };
                buffers.iter().map(|&b| (b, program.buffers[b].len())).collect()
            }
            Step::Loop(_) | Step::While(_) | Step::Branch(_) => {
                let buffers = if way == AccessDirection::Read { self.reads() } else { self.writes() };
                buffers.iter().map(|&b| (b, program.buffers[b].len())).collect()
            }
        }
    }
}

impl LibraryStep {
    /// The byte offset of an input's first element within its buffer.
    pub fn first_byte(&self, input: usize) -> u64 {
        let operands = self.op.inputs();
        self.inputs
            .get(input)
            .zip(operands.get(input))
            .map_or(0, |((_, first), operand)| first.saturating_mul(operand.dtype.size() as u64))
    }

    fn reads(&self) -> Vec<BufferId> {
        let mut read: Vec<BufferId> = self.inputs.iter().map(|input| input.0).collect();
        match &self.epilogue {
            Some(Epilogue { nest, buffers }) => {
                let others = reads(nest, buffers).into_iter().filter(|b| !self.outputs.contains(b));
                read.extend(others);
            }
            None if self.op.reads_outputs() => read.extend(&self.outputs),
            None => {}
        }
        read
    }

    fn writes(&self) -> Vec<BufferId> {
        let mut written = match &self.epilogue {
            Some(Epilogue { nest, buffers }) => writes(nest, buffers),
            None => self.outputs.clone(),
        };
        written.extend(self.scratch);
        written
    }

    fn touched(&self, way: AccessDirection) -> Vec<(BufferId, u64)> {
        let mut touched = Vec::new();
        if way == AccessDirection::Read {
            let read = self.inputs.iter().zip(self.op.inputs());
            touched.extend(read.map(|(input, operand)| (input.0, self.op.touched(&operand))));
        }
        match &self.epilogue {
            Some(Epilogue { nest, buffers }) => {
                let all = buffers.iter().copied().zip(cost::elements(nest, way));
                touched.extend(all.filter(|(b, _)| !self.outputs.contains(b)));
            }
            None if way == AccessDirection::Write || self.op.reads_outputs() => {
                let written = self.outputs.iter().zip(self.op.outputs());
                touched.extend(written.map(|(&b, operand)| (b, self.op.touched(&operand))));
            }
            None => {}
        }
        touched
    }
}

fn reads(nest: &Nest, buffers: &[BufferId]) -> Vec<BufferId> {
    let mut read = vec![false; buffers.len()];
    nest.phases.iter().flat_map(|p| &p.block.insts).for_each(|inst| {
        if let Inst::Load { operand, .. } = inst {
            read[*operand] = true;
        }
    });
    nest.phases.iter().flat_map(|p| &p.stores).filter(|s| s.add).for_each(|s| read[s.operand] = true);
    buffers.iter().zip(read).filter(|(_, r)| *r).map(|(b, _)| *b).collect()
}

fn writes(nest: &Nest, buffers: &[BufferId]) -> Vec<BufferId> {
    nest.operands.iter().zip(buffers).filter(|(o, _)| o.written).map(|(_, b)| *b).collect()
}

/// The steps and those of their bodies, in order; each comes before the steps of its own bodies.
pub(super) fn walk(steps: &[Step]) -> impl Iterator<Item = &Step> {
    let mut left = vec![steps.iter()];
    std::iter::from_fn(move || {
        loop {
            let Some(step) = left.last_mut()?.next() else {
                left.pop();
                continue;
            };
            left.extend(step.bodies().rev().map(|body| body.steps.iter()));
            return Some(step);
        }
    })
}
