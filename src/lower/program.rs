//! A Program: what a Function does at one signature, as Nests, library ops and host nodes over buffers.
//!
//! Lowering makes it (op by op, unfused), fusion rewrites it, planning lays its buffers out in memory, a
//! device runs it. Nothing in it is bound to memory, and nothing in it names a device.

pub use super::index_check::IndexBound;
use crate::dtype::DType;
use crate::kernels::nest::Nest;
use crate::kernels::verify::Verified;
use crate::ops::Op;
use crate::value::Value;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use workalike_device::LibraryOp;

/// Position of a buffer in [`Program::buffers`].
pub type BufferId = usize;

/// Words of [`Role::Status`]: the last error, the number of calls that succeeded, and the first error.
pub const STATUS_WORDS: u64 = 3;

/// Memory that steps read and write.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// The stored element type.
    pub dtype: DType,
    /// Extents; contiguous row-major.
    pub shape: Vec<u64>,
    /// Where it lies.
    pub role: Role,
    /// Written by more than one step, in order. Fusion leaves such a buffer's steps alone, except that a copy
    /// into a part of it may be replaced by the step that computes the copied values.
    pub mutable: bool,
}

/// Where a buffer lies.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// The input at this position; filled by each call.
    Input(usize),
    /// The shared variable at this position of the graph, at its canonical address.
    Shared(usize),
    /// The constant at this position of [`Program::constants`].
    Constant(usize),
    /// Scratch.
    Temp,
    /// [`STATUS_WORDS`] int64. The first is 0, or the number plus one of a node that found something wrong:
    /// an index out of range, a condition that does not hold.
    Status,
}

impl Buffer {
    /// Number of elements.
    pub fn len(&self) -> u64 {
        self.shape.iter().fold(1, |n, &extent| n.saturating_mul(extent))
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.len().saturating_mul(self.dtype.size() as u64)
    }
}

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
}

/// See [`Step::Host`].
#[derive(Clone, Debug)]
pub struct HostNode {
    /// The op.
    pub op: Arc<dyn Op>,
    /// Its node in the FunctionGraph.
    pub node: usize,
    /// Why it does not run on the device.
    pub why: String,
    /// Its inputs.
    pub inputs: Vec<BufferId>,
    /// Its outputs.
    pub outputs: Vec<BufferId>,
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// All buffers.
    pub buffers: Vec<Buffer>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Values of [`Role::Constant`] buffers.
    pub constants: Vec<Value>,
    /// The buffer of each output: scratch of its own, alive to the end.
    pub outputs: Vec<BufferId>,
    /// New values: position of the shared variable, and the buffer that holds its new value at the end: the
    /// shared variable's own (updated in place), or scratch that is copied there at the end.
    pub updates: Vec<(usize, BufferId)>,
    /// The status words, if some step may report an index out of range.
    pub status: Option<BufferId>,
    /// Assumptions about the values of inputs and shared variables; a call that does not meet them must not
    /// run this Program.
    pub assumed: Vec<IndexBound>,
}

impl Step {
    /// Its name in listings: the kernel's, or the op's.
    pub fn name(&self) -> String {
        match self {
            Step::Nest { nest, .. } => nest.name.clone(),
            Step::Library(LibraryStep { op, epilogue: None, .. }) => op.name(),
            Step::Library(LibraryStep { op, epilogue: Some(epilogue), .. }) => {
                format!("{}_{}", op.name(), epilogue.nest.name)
            }
            Step::Host(node) => node.op.label(),
        }
    }

    /// Buffers it reads, including buffers it adds to.
    pub fn reads(&self) -> Vec<BufferId> {
        match self {
            Step::Nest { nest, buffers } => reads(nest, buffers),
            Step::Library(library) => library.reads(),
            Step::Host(node) => node.inputs.clone(),
        }
    }

    /// Buffers it writes.
    pub fn writes(&self) -> Vec<BufferId> {
        match self {
            Step::Nest { nest, buffers } => writes(nest, buffers),
            Step::Library(library) => library.writes(),
            Step::Host(node) => node.outputs.clone(),
        }
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
        }
    }
}

fn reads(nest: &Nest, buffers: &[BufferId]) -> Vec<BufferId> {
    let mut read = vec![false; buffers.len()];
    nest.phases.iter().flat_map(|p| &p.block.insts).for_each(|inst| {
        if let crate::kernels::nest::Inst::Load { operand, .. } = inst {
            read[*operand] = true;
        }
    });
    nest.phases.iter().flat_map(|p| &p.stores).filter(|s| s.add).for_each(|s| read[s.operand] = true);
    buffers.iter().zip(read).filter(|(_, r)| *r).map(|(b, _)| *b).collect()
}

fn writes(nest: &Nest, buffers: &[BufferId]) -> Vec<BufferId> {
    nest.operands.iter().zip(buffers).filter(|(o, _)| o.written).map(|(_, b)| *b).collect()
}

impl Program {
    /// The buffer at the canonical address of each shared variable; the first, if there are several.
    pub(crate) fn homes(&self) -> HashMap<usize, BufferId> {
        let mut homes = HashMap::new();
        for (id, buffer) in self.buffers.iter().enumerate() {
            if let Role::Shared(shared) = buffer.role {
                homes.entry(shared).or_insert(id);
            }
        }
        homes
    }

    /// A new buffer.
    pub fn buffer(&mut self, dtype: DType, shape: &[u64], role: Role) -> BufferId {
        self.buffers.push(Buffer { dtype, shape: shape.to_vec(), role, mutable: false });
        self.buffers.len() - 1
    }

    /// The buffer at this position, if there is one.
    pub(crate) fn buffer_at(&self, id: BufferId) -> Result<&Buffer, String> {
        self.buffers.get(id).ok_or_else(|| format!("there is no buffer {id}, only {}", self.buffers.len()))
    }

    /// The host nodes.
    pub fn host_nodes(&self) -> impl Iterator<Item = &HostNode> {
        self.steps.iter().filter_map(|s| if let Step::Host(node) = s { Some(node) } else { None })
    }

    /// The Program as text: one line per step, with its buffers.
    pub fn print(&self) -> String {
        let mut text = String::new();
        let name = |id: &BufferId| {
            let b = &self.buffers[*id];
            let shape: Vec<String> = b.shape.iter().map(u64::to_string).collect();
            let role = match b.role {
                Role::Input(i) => format!("input{i}"),
                Role::Shared(i) => format!("shared{i}"),
                Role::Constant(i) => format!("constant{i}"),
                Role::Temp => format!("t{id}"),
                Role::Status => "status".into(),
            };
            format!("{role}:{}[{}]", b.dtype.short(), shape.join(","))
        };
        let list = |ids: Vec<BufferId>| ids.iter().map(name).collect::<Vec<_>>().join(" ");
        for step in &self.steps {
            let what = match step {
                Step::Nest { nest, .. } => {
                    let axes: Vec<String> = nest.axes.iter().map(u64::to_string).collect();
                    let phases: Vec<String> = nest.phases.iter().map(|p| format!("{:?}", p.kind)).collect();
                    format!(
                        "nest {} ({}; grid {}; {})",
                        nest.name,
                        axes.join("x"),
                        nest.grid,
                        phases.join("+")
                    )
                }
                Step::Library(LibraryStep { op, epilogue, .. }) => {
                    let then = epilogue.as_ref().map_or(String::new(), |e| format!(", {}", e.nest.name));
                    format!("library {}{then}", op.label())
                }
                Step::Host(node) => format!("host {}: {}", node.op.label(), node.why),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{} <- {what} <- {}", list(step.writes()), list(step.reads()));
        }
        let _ = writeln!(text, "outputs {}", list(self.outputs.clone()));
        for (shared, buffer) in &self.updates {
            let _ = writeln!(text, "update shared{shared} <- {}", name(buffer));
        }
        text
    }
}
