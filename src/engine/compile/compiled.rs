//! A Program compiled for one signature.

use super::definition::Definition;
use crate::engine::memory::Layout;
use crate::engine::storage::EngineContext;
use crate::error::{Error, Result};
use crate::graph::shapes::Shapes;
use crate::lower::index_bounds::{Bounds, Trusted};
use crate::lower::program::{BufferId, Program, Role};
use std::sync::{Arc, OnceLock};
use workalike_device::{DeviceModule, Region};
use workalike_kernels::DType;

/// A Program compiled for one signature. Only its constants have addresses.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) definition: Arc<Definition>,
    /// Extents of inputs and shared variables, then extents that values decided, concatenated: ranks are
    /// fixed.
    pub(crate) signature: Vec<usize>,
    /// The inputs and shared variables about whose values it makes assumptions.
    pub(crate) trusted: Trusted,
    pub(crate) shapes: Arc<Shapes>,
    pub(crate) program: Program,
    pub(crate) layout: Layout,
    pub(crate) module: Arc<dyn DeviceModule>,
    /// For each of [`Program::nests`], its position in the module.
    pub(crate) kernels: Vec<usize>,
    pub(crate) constants: Vec<Region>,
    /// Shared variables whose shape a call changes: the state, the new shape, the buffer of the new value.
    pub(crate) resized: Vec<(usize, Vec<usize>, BufferId)>,
    /// The outputs that can be written directly to memory of the caller, and their sizes.
    pub(crate) owned: Vec<(BufferId, u64)>,
    /// The number of commands of its steps, once it was asked for.
    pub(crate) commands: OnceLock<u64>,
}

impl Compiled {
    /// Whether the assumptions hold for these bounds of inputs and the known bounds of shared variables.
    pub(crate) fn assumptions_hold(
        &self,
        context: &EngineContext,
        input: impl Fn(usize) -> Option<Bounds>,
    ) -> bool {
        self.program.assumed.iter().all(|assumed| {
            let bounds = match assumed.source {
                Role::Input(i) => input(i),
                Role::Shared(i) => context.states[self.definition.states[i]].bounds,
                _ => None,
            };
            bounds.is_some_and(|bounds| assumed.holds(bounds))
        })
    }

    /// The outputs: buffer, dtype, shape.
    pub(crate) fn results(&self) -> impl ExactSizeIterator<Item = (BufferId, DType, &[usize])> {
        let graph = &self.definition.graph;
        let outputs = self.program.outputs.iter().zip(&graph.outputs);
        outputs
            .map(move |(&buffer, &id)| (buffer, graph.var(id).ty.dtype, &self.shapes.shapes[id as usize][..]))
    }

    /// The output at a position.
    pub(crate) fn result(&self, position: usize) -> Result<(BufferId, DType, &[usize])> {
        self.results().nth(position).ok_or_else(|| {
            let count = self.program.outputs.len();
            Error::mismatch("output", format!("a position below {count}"), position.to_string())
        })
    }

    /// Sizes of the outputs.
    pub(crate) fn result_sizes(&self) -> impl Iterator<Item = u64> {
        self.results().map(|(_, dtype, shape)| crate::engine::storage::byte_size(dtype, shape))
    }

    /// The updates that end with a copy, in order: shared variable, and buffer of the new value.
    pub(crate) fn copied(&self, context: &EngineContext) -> impl Iterator<Item = (usize, BufferId)> {
        let program = &self.program;
        program.updates.iter().copied().filter(move |&(shared, buffer)| {
            let new = &program.buffers[buffer];
            let in_place = new.role == Role::Shared(shared);
            // A value of another size gets new memory instead, when the call ends.
            let state = &context.states[self.definition.states[shared]];
            !in_place && new.bytes() > 0 && new.bytes() == state.bytes()
        })
    }

    /// Whether an output is an input as it was given.
    pub(crate) fn lends_inputs(&self) -> bool {
        let buffers = &self.program.buffers;
        self.program.outputs.iter().any(|&output| matches!(buffers[output].role, Role::Input(_)))
    }

    /// Whether an input has a buffer.
    pub(crate) fn reads_input(&self, input: usize) -> bool {
        self.program.buffers.iter().any(|b| b.role == Role::Input(input))
    }
}
