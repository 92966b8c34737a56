//! The regions of a Program's buffers.

use crate::engine::compile::Compiled;
use crate::engine::storage::EngineContext;
use crate::error::{Error, Result};
use crate::lower::program::{Access, Body, Buffer, BufferId, Role};
use workalike_device::Region;

/// Buffers at other than their planned addresses.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere {
    /// Inputs, by position: the recording reads them in place.
    pub(crate) inputs: Vec<(usize, Region)>,
    /// Scratch buffers that are outputs.
    pub(crate) outputs: Vec<(BufferId, Region)>,
}

/// The memory of each buffer; none for buffers that no step touches.
#[derive(Clone, Debug)]
pub(crate) struct Regions(Vec<Option<Region>>);

impl Regions {
    /// The region of each buffer at the current addresses.
    pub(crate) fn of(compiled: &Compiled, context: &EngineContext, elsewhere: &Elsewhere) -> Regions {
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

    /// The region of each buffer of a body in the first iteration, given those of the Program around it.
    pub(crate) fn of_body(body: &Body, around: &Regions) -> Result<Regions> {
        let part = |access: &Access, buffer: &Buffer| {
            let whole = around.get(access.buffer)?;
            let offset = whole.offset + access.at(0);
            Ok(Some(Region { offset, bytes: buffer.bytes(), ..whole.clone() }))
        };
        let place = |(id, buffer): (BufferId, &Buffer)| {
            if let Some(access) = body.access(id) {
                return part(access, buffer);
            }
            match buffer.role {
                Role::Shared(at) => {
                    body.carried.get(at).map_or(Ok(None), |&id| part(&Access::whole(id), buffer))
                }
                Role::Status => body.status.map(|id| around.get(id).cloned()).transpose(),
                Role::Temp => match body.offsets.get(id).copied().flatten() {
                    Some(first) => part(&Access { first, ..Access::whole(body.scratch) }, buffer),
                    None => Ok(None),
                },
                Role::Input(_) | Role::Constant(_) => Ok(None),
            }
        };
        Ok(Regions(body.program.buffers.iter().enumerate().map(place).collect::<Result<_>>()?))
    }

    /// The memory of a buffer that a step touches, or that is an output.
    pub(crate) fn get(&self, buffer: BufferId) -> Result<&Region> {
        self.find(buffer).ok_or_else(|| Error::Internal(format!("buffer {buffer} has no memory")))
    }

    /// The memory of a buffer, if it has any.
    pub(crate) fn find(&self, buffer: BufferId) -> Option<&Region> {
        self.0.get(buffer).and_then(Option::as_ref)
    }

    /// The memory of each buffer, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<&Region>> {
        self.0.iter().map(Option::as_ref)
    }

    /// Moves a buffer that has memory to the beginning of a region.
    pub(crate) fn place(&mut self, buffer: BufferId, to: &Region) {
        if let Some(Some(region)) = self.0.get_mut(buffer) {
            *region = Region { bytes: region.bytes, ..to.clone() };
        }
    }
}
