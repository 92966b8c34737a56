//! The regions of a Program's buffers.

use super::super::device::{Command, Region};
use super::context::Context;
use super::planned::Compiled;
use crate::error::{Error, Result};
use crate::lower::program::{Access, Body, Buffer, BufferId, Program, Role};

/// Buffers at other than their planned addresses.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// Inputs, by position: the recording reads them in place.
    pub(super) inputs: Vec<(usize, Region)>,
    /// Scratch buffers that are outputs.
    pub(super) outputs: Vec<(BufferId, Region)>,
}

/// The memory of each buffer; none for buffers that no step touches.
#[derive(Clone, Debug)]
pub(super) struct Regions(Vec<Option<Region>>);

impl Regions {
    /// The region of each buffer at the current addresses.
    pub(super) fn of(compiled: &Compiled, context: &Context, elsewhere: &Elsewhere) -> Regions {
        let Compiled { definition, program, layout, constants, .. } = compiled;
        let place = |(id, buffer): (BufferId, &Buffer)| {
            let owned = elsewhere.outputs.iter().find(|(output, _)| *output == id);
            let lent = elsewhere.inputs.iter().find(|(i, _)| buffer.role == Role::Input(*i));
            if let Some((_, region)) = owned.or(lent) {
                return Some(Region { bytes: buffer.bytes(), ..region.clone() });
            }
            let whole = match buffer.role {
                Role::Shared(shared) => Some(context.states[definition.states[shared]].region.clone()),
                Role::Constant(constant) => Some(constants[constant].clone()),
                Role::Status => definition.status.get().map(|status| status.region.clone()),
                Role::Input(_) | Role::Temp => layout.offsets[id].and_then(|offset| {
                    context.arena.as_ref().map(|a| Region { offset: a.offset + offset, ..a.clone() })
                }),
            };
            whole.map(|r| Region { bytes: buffer.bytes(), ..r })
        };
        Regions(program.buffers.iter().enumerate().map(place).collect())
    }

    /// The region of each buffer of a body in an iteration, given those of the Program around it.
    pub(super) fn of_iteration(body: &Body, iteration: u64, around: &Regions) -> Result<Regions> {
        let part = |access: &Access, buffer: &Buffer| {
            let whole = around.get(access.buffer)?;
            let offset = whole.offset + access.at(iteration);
            Ok(Some(Region { offset, bytes: buffer.bytes(), ..whole.clone() }))
        };
        let program = &body.program;
        let place = |(id, buffer): (BufferId, &Buffer)| {
            if let Some(output) = program.outputs.iter().position(|&output| output == id) {
                return body.outputs.get(output).map_or(Ok(None), |access| part(access, buffer));
            }
            match buffer.role {
                Role::Input(at) => body.inputs.get(at).map_or(Ok(None), |access| part(access, buffer)),
                Role::Shared(at) => {
                    body.carried.get(at).map_or(Ok(None), |&id| part(&Access::whole(id), buffer))
                }
                Role::Status => body.status.map(|id| around.get(id).cloned()).transpose(),
                Role::Temp => match body.offsets.get(id).copied().flatten() {
                    Some(first) => part(&Access { first, ..Access::whole(body.scratch) }, buffer),
                    None => Ok(None),
                },
                Role::Constant(_) => Ok(None),
            }
        };
        Ok(Regions(program.buffers.iter().enumerate().map(place).collect::<Result<_>>()?))
    }

    /// The copies at the end of an iteration: new values of what a body carries, given its regions.
    pub(super) fn moves(&self, body: &Body, around: &Regions) -> Result<Vec<Command>> {
        let copy = |(at, buffer): (usize, BufferId)| {
            let source = self.get(buffer)?.clone();
            let home = body.carried.get(at).copied();
            let home = home.ok_or_else(|| Error::Internal("a carried value has no memory".into()))?;
            let target = Region { bytes: source.bytes, ..around.get(home)?.clone() };
            Ok(Command::Copy { source, target })
        };
        body.moved().map(copy).collect()
    }

    /// The memory of a buffer that a step touches, or that is an output.
    pub(super) fn get(&self, buffer: BufferId) -> Result<&Region> {
        self.find(buffer).ok_or_else(|| Error::Internal(format!("buffer {buffer} has no memory")))
    }

    /// The memory of a buffer, if it has any.
    pub(super) fn find(&self, buffer: BufferId) -> Option<&Region> {
        self.0.get(buffer).and_then(Option::as_ref)
    }

    /// The memory of each buffer, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<&Region>> {
        self.0.iter().map(Option::as_ref)
    }

    /// Adds the region of a new buffer, which is returned.
    pub(super) fn add(&mut self, place: Region) -> BufferId {
        self.0.push(Some(place));
        self.0.len() - 1
    }

    /// Sets the region of a buffer.
    pub(super) fn put(&mut self, buffer: BufferId, place: Region) {
        if let Some(region) = self.0.get_mut(buffer) {
            *region = Some(place);
        }
    }

    /// Sets the region of all buffers of a role.
    pub(super) fn put_role(&mut self, program: &Program, role: &Role, place: &Region) {
        for (buffer, region) in program.buffers.iter().zip(&mut self.0) {
            if buffer.role == *role && region.is_some() {
                *region = Some(Region { bytes: buffer.bytes(), ..place.clone() });
            }
        }
    }
}
