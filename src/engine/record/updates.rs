//! New values of shared variables at the end of a call: copied to their regions, or to new ones where their
//! size changes.

use super::regions::Regions;
use crate::engine::compile::Compiled;
use crate::engine::storage::{EngineContext, byte_size};
use crate::error::Result;
use crate::lower::program::BufferId;
use workalike_device::{Command, Region};

impl Compiled {
    /// The copies at the end of a call: new values from scratch to their shared variables. Values for which
    /// `copied` does not hold stay in scratch.
    pub(crate) fn copies(
        &self,
        context: &EngineContext,
        regions: &Regions,
        copied: impl Fn(usize) -> bool,
    ) -> Result<Vec<Command>> {
        let copied = self.copied(context).filter(|(shared, _)| copied(*shared));
        let copy = |(shared, buffer): (usize, BufferId)| {
            let state = &context.states[self.definition.states[shared]];
            let source = regions.get(buffer)?.clone();
            let target = Region { bytes: source.bytes, ..state.region.clone() };
            Ok(Command::Copy { source, target })
        };
        copied.map(copy).collect()
    }

    /// New memory for each shared variable whose size a call changes, in the order of [`Compiled::resized`].
    pub(super) fn room_for_resized(&self, context: &EngineContext) -> Result<Vec<Option<Region>>> {
        let resized = self.resized.iter().map(|(state, shape, _)| {
            let state = &context.states[*state];
            let bytes = byte_size(state.binding.ty.dtype, shape);
            (bytes != state.bytes()).then(|| context.allocate(bytes)).transpose()
        });
        resized.collect()
    }

    /// Moves updated shared variables of a new shape to their new memory.
    pub(super) fn resize_states(
        &self,
        context: &mut EngineContext,
        regions: &Regions,
        room: Vec<Option<Region>>,
    ) -> Result<()> {
        for ((position, shape, buffer), region) in self.resized.iter().zip(room) {
            let state = &mut context.states[*position];
            if let Some(region) = region {
                let bytes = byte_size(state.binding.ty.dtype, shape);
                if let (Some(source), true) = (regions.find(*buffer), bytes > 0) {
                    context.device.copy(source, &Region { bytes, ..region.clone() })?;
                }
                state.region = region;
            }
            state.shape.clone_from(shape);
            // Even at the same address: another shape selects another Program.
            context.epoch += 1;
        }
        Ok(())
    }
}
