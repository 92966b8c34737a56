//! Where a body's buffers are in each iteration, for all that repeats: loops of a Program, loops that run
//! ahead of their condition, and `run_n`, where a method's Program is the body.

use super::regions::Regions;
use crate::error::Result;
use crate::lower::program::{Access, Body, BufferId, Program, Role};
use workalike_device::{Command, Region};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct IterationLayout {
    /// Each buffer in the first iteration.
    first: Regions,
    /// Buffers that are elsewhere in each iteration.
    pub(crate) rows: Vec<RowBuffer>,
    pub(crate) carried: Vec<Carried>,
    pub(crate) samples: Vec<Sample>,
}

/// A buffer that is a row of an array.
#[derive(Debug)]
pub(super) struct RowBuffer {
    pub(crate) buffer: BufferId,
    pub(crate) array: Region,
    /// Which row; its buffer is that of the array.
    pub(crate) access: Access,
}

/// A value that an iteration takes from the one before.
#[derive(Debug)]
pub(super) struct Carried {
    /// The buffers with the value before an iteration.
    pub(crate) buffers: Vec<BufferId>,
    /// Where it is before the first iteration, before the second, and so on, in turns.
    pub(crate) slots: Vec<Region>,
    pub(crate) next: Next,
}

/// How the value after an iteration gets to the next slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It is there: it was changed in place, or not at all.
    There,
    /// The buffer with the new value is there.
    Written(BufferId),
    /// It is copied there before the iteration, which then changes it in this buffer.
    Changed(BufferId),
    /// It is copied from this buffer.
    Copied(BufferId),
}

/// An iteration.
#[derive(Debug)]
pub(super) struct Iteration {
    /// Copies at its beginning.
    pub(crate) before: Vec<Command>,
    pub(crate) regions: Regions,
    /// Copies at its end.
    pub(crate) after: Vec<Command>,
}

/// A value that is copied after some iterations.
#[derive(Debug)]
pub(super) struct Sample {
    pub(crate) source: SampleSource,
    pub(crate) bytes: u64,
    /// Where the samples go, one behind the other.
    pub(crate) target: Region,
    /// Iterations from one sample to the next.
    pub(crate) every: u64,
    /// Iterations since the last sample before the first iteration.
    pub(crate) phase: u64,
}

/// What is sampled.
#[derive(Debug)]
pub(super) enum SampleSource {
    Buffer(BufferId),
    /// A carried value, after the iteration.
    Carried(usize),
    /// Memory that no iteration moves.
    Fixed(Region),
}

impl IterationLayout {
    /// Iterations with each buffer in the same place.
    pub(crate) fn fixed(first: Regions) -> IterationLayout {
        IterationLayout { first, rows: vec![], carried: vec![], samples: vec![] }
    }

    /// Those of a body, given the regions of the Program around it.
    pub(crate) fn of(body: &Body, around: &Regions) -> Result<IterationLayout> {
        let mut all = IterationLayout::fixed(Regions::of_body(body, around)?);
        for buffer in 0..body.program.buffers.len() {
            if let Some(access) = body.access(buffer).filter(|access| access.stride != 0) {
                all.rows.push(RowBuffer {
                    buffer,
                    array: around.get(access.buffer)?.clone(),
                    access: *access,
                });
            }
        }
        for (at, &home) in body.carried.iter().enumerate() {
            let moved = body.moved().find(|(own, _)| *own == at);
            if moved.is_none() && around.find(home).is_none() {
                // No step touches it.
                continue;
            }
            all.carried.push(Carried {
                buffers: of_role(&body.program, &Role::Shared(at)),
                slots: vec![around.get(home)?.clone()],
                next: moved.map_or(Next::There, |(_, buffer)| Next::Copied(buffer)),
            });
        }
        Ok(all)
    }

    /// An iteration, counted from 0.
    pub(crate) fn at(&self, iteration: u64) -> Result<Iteration> {
        let mut regions = self.first.clone();
        let mut before = Vec::new();
        for row in &self.rows {
            regions.place(row.buffer, &row.at(iteration));
        }
        for own in self.carried.iter().filter(|own| own.slots.len() > 1) {
            own.buffers.iter().for_each(|&buffer| regions.place(buffer, own.before(iteration)));
            let (now, next) = (own.before(iteration), own.before(iteration + 1));
            if let Next::Written(buffer) | Next::Changed(buffer) = own.next {
                regions.place(buffer, next);
            }
            if let Next::Changed(_) = own.next {
                before.push(Command::Copy { source: now.clone(), target: next.clone() });
            }
        }
        Ok(Iteration { before, after: self.copies(iteration, &regions)?, regions })
    }

    /// The copies at the end of an iteration.
    fn copies(&self, iteration: u64, regions: &Regions) -> Result<Vec<Command>> {
        let mut copies = Vec::new();
        for own in &self.carried {
            if let Next::Copied(buffer) = own.next {
                let source = regions.get(buffer)?.clone();
                let target = Region { bytes: source.bytes, ..own.before(iteration + 1).clone() };
                copies.push(Command::Copy { source, target });
            }
        }
        for sample in self.samples.iter().filter(|sample| sample.bytes > 0) {
            let Some(target) = sample.slot(iteration) else { continue };
            let source = match &sample.source {
                SampleSource::Buffer(buffer) => regions.get(*buffer)?,
                SampleSource::Carried(at) => self.carried[*at].before(iteration + 1),
                SampleSource::Fixed(region) => region,
            };
            copies.push(Command::Copy { source: Region { bytes: sample.bytes, ..source.clone() }, target });
        }
        Ok(copies)
    }
}

impl RowBuffer {
    fn at(&self, iteration: u64) -> Region {
        Region { offset: self.array.offset + self.access.at(iteration), ..self.array.clone() }
    }
}

impl Carried {
    /// Where it is before an iteration.
    pub(crate) fn before(&self, iteration: u64) -> &Region {
        &self.slots[(iteration % self.slots.len() as u64) as usize]
    }
}

impl Sample {
    /// Where the sample after an iteration goes, if there is one.
    fn slot(&self, iteration: u64) -> Option<Region> {
        let passed = self.phase + iteration + 1;
        let offset = self.target.offset + (passed / self.every).saturating_sub(1) * self.bytes;
        passed.is_multiple_of(self.every).then(|| Region { offset, bytes: self.bytes, ..self.target.clone() })
    }
}

/// The buffers of a role.
pub(super) fn of_role(program: &Program, role: &Role) -> Vec<BufferId> {
    (0..program.buffers.len()).filter(|&buffer| program.buffers[buffer].role == *role).collect()
}
