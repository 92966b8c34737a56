//! A step that runs a body a number of times, and the memory that iterations access.

use super::{BufferId, Program};

/// See [`Step::Loop`](super::Step::Loop).
#[derive(Clone, Debug)]
pub struct LoopStep {
    /// Its name, for people.
    pub name: String,
    /// What one iteration does, with buffers of its own.
    pub body: Box<Program>,
    /// The number of iterations.
    pub trips: u64,
    /// The memory of each input of the body.
    pub inputs: Vec<Access>,
    /// The memory of each output of the body.
    pub outputs: Vec<Access>,
    /// The status words, if the body may find an error.
    pub status: Option<BufferId>,
    /// The memory of the body's scratch buffers.
    pub scratch: BufferId,
    /// Where each buffer of the body lies in `scratch`; set by the memory plan.
    pub offsets: Vec<Option<u64>>,
}

/// The part of a buffer that an iteration of a loop accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The buffer.
    pub buffer: BufferId,
    /// The first byte, in the first iteration.
    pub first: u64,
    /// Bytes from one iteration to the next.
    pub stride: i64,
    /// The rows of a ring: after the last comes the first again.
    pub rows: Option<u64>,
}

impl Access {
    /// The first byte in an iteration.
    pub fn at(&self, iteration: u64) -> u64 {
        let stride = self.stride.unsigned_abs();
        match self.rows {
            Some(rows) => (self.first / stride.max(1) + iteration) % rows.max(1) * stride,
            None if self.stride < 0 => self.first.saturating_sub(stride.saturating_mul(iteration)),
            None => self.first.saturating_add(stride.saturating_mul(iteration)),
        }
    }
}

impl LoopStep {
    /// Buffers that its iterations read; one that they write may be read by a later iteration.
    pub(crate) fn reads(&self) -> Vec<BufferId> {
        self.inputs.iter().map(|access| access.buffer).collect()
    }

    pub(crate) fn writes(&self) -> Vec<BufferId> {
        let written = self.outputs.iter().map(|access| access.buffer);
        written.chain(self.status).chain([self.scratch]).collect()
    }
}
