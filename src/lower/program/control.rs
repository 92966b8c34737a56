//! Steps that run bodies: loops, loops with a condition, branches.

use super::step::Step;
use super::{BufferId, Program};

/// A Program with buffers of its own, bound to buffers of the Program around it.
#[derive(Clone, Debug)]
pub struct Body {
    /// What it does.
    pub program: Program,
    /// The memory of each input.
    pub inputs: Vec<Access>,
    /// The memory of each output.
    pub outputs: Vec<Access>,
    /// The buffer of each shared variable, which it updates.
    pub carried: Vec<BufferId>,
    /// The status words, if the body can report an error.
    pub status: Option<BufferId>,
    /// The memory of its scratch buffers.
    pub scratch: BufferId,
    /// Where each of its buffers lies in `scratch`; set by the memory plan.
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

/// A body that runs a number of times.
#[derive(Clone, Debug)]
pub struct LoopStep {
    /// Its name, for people.
    pub name: String,
    /// One iteration.
    pub body: Body,
    /// The number of iterations.
    pub trips: u64,
}

/// A body that runs again and again while a flag is set.
#[derive(Clone, Debug)]
pub struct WhileStep {
    /// Its name, for people.
    pub name: String,
    /// One iteration, which sets the flag anew.
    pub body: Body,
    /// The flag, a bool.
    pub flag: BufferId,
    /// The most iterations; the body itself sees to it that there are no more, unless a file was made by
    /// hand.
    pub most: u64,
    /// How many iterations are enqueued before the flag is read. With more than one, those behind the last
    /// are computed for nothing.
    pub ahead: u64,
}

/// Several bodies, one of which runs.
#[derive(Clone, Debug)]
pub struct BranchStep {
    /// Its name, for people.
    pub name: String,
    /// The bodies.
    pub bodies: Vec<Body>,
    /// The position of the body that runs, an int64; one out of range means the [`nearest`].
    pub index: BufferId,
}

/// The position among `count` items that is nearest to `index`; 0 if there are no items.
pub fn nearest(index: impl Into<i128>, count: usize) -> usize {
    let last = count.saturating_sub(1);
    usize::try_from(index.into().max(0)).unwrap_or(last).min(last)
}

impl Access {
    /// All of a buffer, in each iteration.
    pub fn whole(buffer: BufferId) -> Access {
        Access { buffer, first: 0, stride: 0, rows: None }
    }

    /// The same rows in so many iterations, from the last to the first. It is no ring.
    pub(crate) fn backwards(self, iterations: u64) -> Access {
        let first = self.at(iterations.saturating_sub(1));
        Access { first, stride: self.stride.saturating_neg(), ..self }
    }

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

impl Body {
    /// Buffers that it reads.
    pub fn reads(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.inputs.iter().map(|access| access.buffer).chain(self.carried.iter().copied())
    }

    /// Buffers that it writes.
    pub fn writes(&self) -> impl Iterator<Item = BufferId> + '_ {
        let outputs = self.outputs.iter().map(|access| access.buffer);
        outputs.chain(self.carried.iter().copied()).chain(self.status).chain([self.scratch])
    }

    /// What one of its buffers is of an array of the Program around it.
    pub fn access(&self, buffer: BufferId) -> Option<&Access> {
        let output = self.program.outputs.iter().position(|&output| output == buffer);
        output.and_then(|output| self.outputs.get(output)).or_else(|| {
            match self.program.buffers[buffer].role {
                super::Role::Input(at) => self.inputs.get(at),
                _ => None,
            }
        })
    }

    /// Every mention of a buffer of the Program around it.
    pub(crate) fn buffers_mut(&mut self) -> impl Iterator<Item = &mut BufferId> {
        let accessed = self.inputs.iter_mut().chain(&mut self.outputs).map(|access| &mut access.buffer);
        accessed.chain(&mut self.carried).chain(&mut self.status).chain([&mut self.scratch])
    }

    /// Kernels, library ops and copies that it launches.
    pub(crate) fn launches(&self) -> u64 {
        let steps = self.program.steps.iter().fold(0u64, |sum, step| sum.saturating_add(step.launches()));
        steps.saturating_add(self.moved().count() as u64)
    }

    /// Floating-point operations.
    pub(crate) fn flops(&self) -> f64 {
        self.program.steps.iter().map(Step::flops).sum()
    }

    /// The updates that end with a copy: carried value, and buffer of the new value.
    pub fn moved(&self) -> impl Iterator<Item = (usize, BufferId)> + '_ {
        let program = &self.program;
        let stays = |buffer: BufferId, at: usize| {
            let new = &program.buffers[buffer];
            new.role == super::Role::Shared(at) || new.is_empty()
        };
        program.updates.iter().copied().filter(move |&(at, buffer)| !stays(buffer, at))
    }
}

/// A step's bodies, and what it accesses beside them.
impl Step {
    /// The bodies that it runs.
    pub fn bound_bodies(&self) -> &[Body] {
        match self {
            Step::Nest { .. } | Step::Library(_) | Step::Host(_) => &[],
            Step::Loop(step) => std::slice::from_ref(&step.body),
            Step::While(step) => std::slice::from_ref(&step.body),
            Step::Branch(step) => &step.bodies,
        }
    }

    /// [`Step::bound_bodies`], to be rewritten.
    pub(crate) fn bound_bodies_mut(&mut self) -> &mut [Body] {
        match self {
            Step::Nest { .. } | Step::Library(_) | Step::Host(_) => &mut [],
            Step::Loop(step) => std::slice::from_mut(&mut step.body),
            Step::While(step) => std::slice::from_mut(&mut step.body),
            Step::Branch(step) => &mut step.bodies,
        }
    }

    /// Whether it decides while it runs what it does, or a step of its bodies does.
    pub(crate) fn decides(&self) -> bool {
        let within = |body: &Body| body.program.steps.iter().any(Step::decides);
        self.control().is_some() || self.bound_bodies().iter().any(within)
    }

    /// The buffer that says whether or which body runs.
    pub(super) fn control(&self) -> Option<BufferId> {
        match self {
            Step::While(step) => Some(step.flag),
            Step::Branch(step) => Some(step.index),
            _ => None,
        }
    }

    /// How often its bodies run, as far as that is known: once at least.
    pub(crate) fn trips(&self) -> u64 {
        if let Step::Loop(step) = self { step.trips } else { 1 }
    }
}
