//! A Program: what a Function does at one signature, as Nests, library ops and host nodes over buffers.
//!
//! Lowering makes it (op by op, unfused), fusion rewrites it, planning lays its buffers out in memory, a
//! device runs it. Nothing in it is bound to memory or to a device.
//!
//! - here: buffers, and the [`Program`];
//! - `step`: the steps, and what passes ask of them; `control`: steps that run bodies.

mod control;
mod exchange;
mod step;

pub use super::index_bounds::IndexBound;
pub use control::{Access, Body, BranchStep, LoopStep, WhileStep, nearest};
pub use step::{Epilogue, HostNode, LibraryStep, Step};

use crate::value::Value;
use std::collections::HashMap;
use std::fmt::Write;
use workalike_kernels::DType;
use workalike_kernels::nest::Nest;

/// Position of a buffer in [`Program::buffers`].
pub type BufferId = usize;

/// Words of [`Role::Status`]: the last error, the number of calls that succeeded, and the first error; then
/// for each level of loops the number of iterations so far, and the number of the iteration in which the
/// first error was found, from 1.
pub const STATUS_WORDS: u64 = 3 + 2 * LOOP_LEVELS as u64;
/// Loops within one another whose iterations are counted.
pub const LOOP_LEVELS: usize = 7;

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
    /// The node of the graph whose result it holds, or for which it is scratch; for errors.
    pub node: Option<usize>,
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
        self.buffers.push(Buffer { dtype, shape: shape.to_vec(), role, mutable: false, node: None });
        self.buffers.len() - 1
    }

    /// The status words, which are made at the first call: the buffer in which steps report errors.
    pub(crate) fn status_words(&mut self) -> BufferId {
        if let Some(status) = self.status {
            return status;
        }
        let status = self.buffer(DType::I64, &[STATUS_WORDS], Role::Status);
        self.buffers[status].mutable = true;
        self.status = Some(status);
        status
    }

    /// The steps and those of their bodies, in order.
    pub(crate) fn all_steps(&self) -> impl Iterator<Item = &Step> {
        step::walk(&self.steps)
    }

    /// The buffer at this position, if there is one.
    pub(crate) fn buffer_at(&self, id: BufferId) -> Result<&Buffer, String> {
        self.buffers.get(id).ok_or_else(|| format!("there is no buffer {id}, only {}", self.buffers.len()))
    }

    /// The host nodes, including those of bodies.
    pub fn host_nodes(&self) -> impl Iterator<Item = &HostNode> {
        self.all_steps().filter_map(|s| if let Step::Host(node) = s { Some(node) } else { None })
    }

    /// The Nests in the order of the steps, including those of bodies.
    pub fn nests(&self) -> impl Iterator<Item = &Nest> {
        self.all_steps().filter_map(Step::nest)
    }

    /// The bodies of all steps, to be rewritten.
    pub(crate) fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Program> {
        self.steps.iter_mut().flat_map(Step::bodies_mut)
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
            let (written, what, read) = (list(step.writes()), step.description(), list(step.reads()));
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{written} <- {what} <- {read}");
            for body in step.bodies() {
                body.print().lines().for_each(|line| _ = writeln!(text, "  {line}"));
            }
        }
        let _ = writeln!(text, "outputs {}", list(self.outputs.clone()));
        for (shared, buffer) in &self.updates {
            let _ = writeln!(text, "update shared{shared} <- {}", name(buffer));
        }
        text
    }
}
