//! Recording: a planned Program bound to the current addresses, Segment by Segment.

use super::super::device::{Command, Recording, Region};
use super::super::program::{BufferId, HostNode, Role, Step};
use super::block::Blocks;
use super::{Engine, value_bytes};
use crate::error::{Error, Result};

/// Recordings, valid while the epoch lasts.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) epoch: u64,
    pub(super) regions: Vec<Option<Region>>,
    pub(super) runs: Vec<Run>,
    /// Many steps in one.
    pub(super) blocks: Blocks,
}

/// A recorded Segment, or what the host does between two.
#[derive(Debug)]
pub(super) enum Run {
    Segment(Box<dyn Recording>),
    Host(HostNode),
}

impl Engine {
    /// Records the Program for the current addresses, unless it is.
    pub(super) fn record(&mut self, method: usize, at: usize) -> Result<()> {
        let needed = self.methods[method].programs[at].layout.bytes;
        if self.arena.as_ref().map_or(0, |a| a.bytes) < needed {
            // The old arena goes first, so that both need not fit; recordings over it are stale.
            self.arena = None;
            self.epoch += 1;
            self.methods.iter_mut().flat_map(|m| &mut m.programs).for_each(|p| p.recorded = None);
            self.arena = Some(self.allocate(needed)?);
        }
        let wanted = self.methods[method].programs[at].program.status.is_some();
        if wanted && self.methods[method].status.is_none() {
            let status = self.allocate(8)?;
            self.device.upload(&0i64.to_le_bytes(), &status)?;
            self.methods[method].status = Some(status);
        }
        let planned = &self.methods[method].programs[at];
        if planned.recorded.as_ref().is_some_and(|r| r.epoch == self.epoch) {
            return Ok(());
        }
        let regions = self.regions(method, at);
        let runs = self.runs(method, at, &regions)?;
        let epoch = self.epoch;
        let recorded = Recorded { epoch, regions, runs, blocks: Blocks::default() };
        self.methods[method].programs[at].recorded = Some(recorded);
        Ok(())
    }

    /// Records a Program, Segment by Segment.
    fn runs(&self, method: usize, at: usize, regions: &[Option<Region>]) -> Result<Vec<Run>> {
        let planned = &self.methods[method].programs[at];
        let mut runs = Vec::new();
        let mut commands = Vec::new();
        let mut kernels = planned.kernels.iter();
        let flush = |commands: &mut Vec<Command>, runs: &mut Vec<Run>| -> Result<()> {
            if !commands.is_empty() {
                runs.push(Run::Segment(self.device.record(&planned.module, commands)?));
                commands.clear();
            }
            Ok(())
        };
        for step in &planned.program.steps {
            match step {
                Step::Host(node) => {
                    flush(&mut commands, &mut runs)?;
                    runs.push(Run::Host(node.clone()));
                }
                step => commands.push(command(step, &mut kernels, regions)?),
            }
        }
        commands.extend(self.copies(method, at, regions, |_| true)?);
        flush(&mut commands, &mut runs)?;
        Ok(runs)
    }

    /// The commands of a Program without host nodes. Updates for which `copied` does not hold are left where they were computed.
    pub(super) fn commands(
        &self,
        method: usize,
        at: usize,
        regions: &[Option<Region>],
        copied: impl Fn(usize) -> bool,
    ) -> Result<Vec<Command>> {
        let planned = &self.methods[method].programs[at];
        let mut kernels = planned.kernels.iter();
        let steps = planned.program.steps.iter().map(|step| command(step, &mut kernels, regions));
        let mut commands = steps.collect::<Result<Vec<_>>>()?;
        commands.extend(self.copies(method, at, regions, copied)?);
        Ok(commands)
    }

    /// The copies that end a step: new values from scratch to the shared variables' own places.
    fn copies(
        &self,
        method: usize,
        at: usize,
        regions: &[Option<Region>],
        copied: impl Fn(usize) -> bool,
    ) -> Result<Vec<Command>> {
        let planned = &self.methods[method].programs[at];
        let mut commands = Vec::new();
        for &(shared, buffer) in planned.program.updates.iter().filter(|u| copied(u.0)) {
            let state = &self.states[self.methods[method].states[shared]];
            let new = &planned.program.buffers[buffer];
            let in_place = new.role == Role::Shared(shared);
            // A new shape needs new memory, which the call makes when it ends.
            if !in_place && new.bytes() > 0 && new.bytes() == value_bytes(state) {
                let source = region(regions, buffer)?;
                let target = Region { bytes: source.bytes, ..state.region.clone() };
                commands.push(Command::Copy { source, target });
            }
        }
        Ok(commands)
    }

    /// Where each buffer of a Program lies.
    fn regions(&self, method: usize, at: usize) -> Vec<Option<Region>> {
        let m = &self.methods[method];
        let planned = &m.programs[at];
        let buffers = planned.program.buffers.iter().enumerate();
        buffers
            .map(|(id, buffer)| {
                let whole = match buffer.role {
                    Role::Shared(shared) => Some(self.states[m.states[shared]].region.clone()),
                    Role::Constant(constant) => Some(planned.constants[constant].clone()),
                    Role::Status => m.status.clone(),
                    Role::Input(_) | Role::Temp => planned.layout.offsets[id].and_then(|offset| {
                        self.arena.as_ref().map(|a| Region { offset: a.offset + offset, ..a.clone() })
                    }),
                };
                whole.map(|r| Region { bytes: buffer.bytes(), ..r })
            })
            .collect()
    }

    pub(super) fn is_recorded(&self, method: usize, at: usize) -> bool {
        self.methods[method].programs[at].recorded.as_ref().is_some_and(|r| r.epoch == self.epoch)
    }
}

/// A step with memory bound; `kernels` are the Nests' positions in the module, from this step on.
fn command<'k>(
    step: &Step,
    mut kernels: impl Iterator<Item = &'k usize>,
    regions: &[Option<Region>],
) -> Result<Command> {
    match step {
        Step::Nest { buffers, .. } => {
            let nest = *kernels.next().ok_or_else(|| Error::Internal("a Nest without a kernel".into()))?;
            let args = buffers.iter().map(|&b| region(regions, b)).collect::<Result<_>>()?;
            Ok(Command::Launch { nest, args })
        }
        Step::Matmul { product, a, b, c } => {
            let size = product.dtype.size() as u64;
            let at = |(buffer, first): (BufferId, u64)| -> Result<Region> {
                let r = region(regions, buffer)?;
                Ok(Region { offset: r.offset + first * size, bytes: r.bytes - first * size, ..r })
            };
            let (a, b, c) = (at(*a)?, at(*b)?, region(regions, *c)?);
            Ok(Command::Matmul { product: product.clone(), a, b, c })
        }
        Step::Host(node) => Err(Error::Internal(format!("{} is done on the host", node.op.label()))),
    }
}

pub(super) fn region(regions: &[Option<Region>], buffer: BufferId) -> Result<Region> {
    regions[buffer].clone().ok_or_else(|| Error::Internal(format!("buffer {buffer} has no memory")))
}
