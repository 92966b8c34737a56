//! Recording: a planned Program bound to the current addresses, Segment by Segment.

use super::super::device::{Command, Recording, Region, Target};
use super::block::Blocks;
use super::{Engine, value_bytes};
use crate::error::{Error, Result};
use crate::lower::program::{BufferId, Epilogue, HostNode, LibraryStep, Role, Step};
use crate::rehost::Sizes;

/// Recordings, valid while the epoch lasts.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) epoch: u64,
    pub(super) regions: Vec<Option<Region>>,
    pub(super) runs: Vec<Run>,
    /// Where each call puts its inputs: their positions, and memory that is not empty.
    pub(super) inputs: Vec<(usize, Region)>,
    /// Many steps in one.
    pub(super) blocks: Blocks,
}

/// Buffers that do not lie where the plan says.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// Inputs, by position: the recording reads them where they lie.
    pub(super) inputs: Vec<(usize, Region)>,
    /// Scratch buffers that are outputs.
    pub(super) outputs: Vec<(BufferId, Region)>,
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
        self.make_room(method, at)?;
        if !self.is_recorded(method, at) {
            let recorded = self.bind(method, at, &Elsewhere::default())?;
            self.methods[method].programs[at].recorded = Some(recorded);
        }
        Ok(())
    }

    /// An arena that is large enough, and the status words.
    pub(super) fn make_room(&mut self, method: usize, at: usize) -> Result<()> {
        if self.methods[method].programs[at].program.status.is_some() {
            // First, since the search for its memory may drop an arena that is larger than needed.
            self.make_status(method)?;
        }
        let needed = self.methods[method].programs[at].layout.bytes;
        let refused = self.grow_arena(needed).err();
        if let Some(error) = refused {
            // The Program goes, so that nothing is held for shapes that cannot run.
            let gone = self.methods[method].programs.remove(at);
            return Err(self.with_plan(method, &gone.program, &gone.layout, error));
        }
        Ok(())
    }

    /// Makes the arena at least this large.
    pub(super) fn grow_arena(&mut self, needed: u64) -> Result<()> {
        let had = self.arena.as_ref().map_or(0, |a| a.bytes);
        if had >= needed {
            return Ok(());
        }
        // The old arena goes first, so that both need not fit; recordings over it are stale.
        self.drop_arena();
        if self.options.sizes == Sizes::Dynamic && had > 0 {
            // Ahead of what is asked, if there is room.
            let ahead = needed.saturating_add(needed / 4);
            self.arena = self.allocate(ahead).ok();
        }
        if self.arena.is_none() {
            self.arena = Some(self.allocate_anew(needed)?);
        }
        Ok(())
    }

    pub(super) fn drop_arena(&mut self) {
        self.arena = None;
        self.epoch += 1;
        for planned in self.methods.iter_mut().flat_map(|m| &mut m.programs) {
            planned.recorded = None;
            planned.variants.clear();
        }
    }

    /// Binds and records a Program, with some buffers elsewhere than planned.
    pub(super) fn bind(&self, method: usize, at: usize, elsewhere: &Elsewhere) -> Result<Recorded> {
        let regions = self.regions(method, at, elsewhere);
        let runs = self.runs(method, at, &regions)?;
        let buffers = self.methods[method].programs[at].program.buffers.iter().zip(&regions);
        let inputs = buffers.filter_map(|(buffer, region)| match (&buffer.role, region) {
            (Role::Input(i), Some(region)) if region.bytes > 0 => Some((*i, region.clone())),
            _ => None,
        });
        let inputs = inputs.filter(|(i, _)| elsewhere.inputs.iter().all(|(at, _)| at != i)).collect();
        Ok(Recorded { epoch: self.epoch, regions, runs, inputs, blocks: Blocks::default() })
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
        let copied = self.copied(method, at).filter(|(shared, _)| copied(*shared));
        let copy = |(shared, buffer): (usize, BufferId)| {
            let state = &self.states[self.methods[method].states[shared]];
            let source = region(regions, buffer)?;
            let target = Region { bytes: source.bytes, ..state.region.clone() };
            Ok(Command::Copy { source, target })
        };
        copied.map(copy).collect()
    }

    /// The updates that a copy ends, in order: shared variable, and buffer of the new value.
    pub(super) fn copied(&self, method: usize, at: usize) -> impl Iterator<Item = (usize, BufferId)> {
        let m = &self.methods[method];
        let program = &m.programs[at].program;
        program.updates.iter().copied().filter(move |&(shared, buffer)| {
            let new = &program.buffers[buffer];
            let in_place = new.role == Role::Shared(shared);
            // A new shape needs new memory, which the call makes when it ends.
            !in_place && new.bytes() > 0 && new.bytes() == value_bytes(&self.states[m.states[shared]])
        })
    }

    /// Where each buffer of a Program lies.
    fn regions(&self, method: usize, at: usize, elsewhere: &Elsewhere) -> Vec<Option<Region>> {
        let m = &self.methods[method];
        let planned = &m.programs[at];
        let buffers = planned.program.buffers.iter().enumerate();
        buffers
            .map(|(id, buffer)| {
                let owned = elsewhere.outputs.iter().find(|(output, _)| *output == id);
                let lent = elsewhere.inputs.iter().find(|(i, _)| buffer.role == Role::Input(*i));
                if let Some((_, region)) = owned.or(lent) {
                    return Some(Region { bytes: buffer.bytes(), ..region.clone() });
                }
                let whole = match buffer.role {
                    Role::Shared(shared) => Some(self.states[m.states[shared]].region.clone()),
                    Role::Constant(constant) => Some(planned.constants[constant].clone()),
                    Role::Status => self.status(method).map(|status| status.region.clone()),
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
        Step::Library(step) => library_command(step, regions),
        Step::Host(node) => Err(Error::Internal(format!("{} is done on the host", node.op.label()))),
    }
}

fn library_command(step: &LibraryStep, regions: &[Option<Region>]) -> Result<Command> {
    let inputs = step.inputs.iter().enumerate().map(|(at, &(buffer, _))| {
        let (whole, first) = (region(regions, buffer)?, step.first_byte(at));
        Ok(Region { offset: whole.offset + first, bytes: whole.bytes.saturating_sub(first), ..whole })
    });
    let target = match &step.epilogue {
        None => Target::Memory(step.outputs.iter().map(|&b| region(regions, b)).collect::<Result<_>>()?),
        Some(Epilogue { nest, buffers }) => {
            let arg = |&buffer| match step.outputs.contains(&buffer) {
                true => Ok(None),
                false => region(regions, buffer).map(Some),
            };
            let args = buffers.iter().map(arg).collect::<Result<_>>()?;
            Target::Epilogue { nest: nest.clone(), args }
        }
    };
    let scratch = step.scratch.map(|buffer| region(regions, buffer)).transpose()?;
    Ok(Command::Library { op: step.op.clone(), inputs: inputs.collect::<Result<_>>()?, target, scratch })
}

pub(super) fn region(regions: &[Option<Region>], buffer: BufferId) -> Result<Region> {
    regions[buffer].clone().ok_or_else(|| Error::Internal(format!("buffer {buffer} has no memory")))
}
