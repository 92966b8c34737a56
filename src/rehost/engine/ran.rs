//! What a run left behind: outputs and states, where they lie and on the host.

use super::super::device::Region;
use super::array::DeviceArray;
use super::context::Context;
use super::host_pool::Room;
use super::planned::Compiled;
use super::regions::Regions;
use super::tap::{Source, size};
use crate::dtype::DType;
use crate::error::Result;
use crate::lower::program::{BufferId, Role};
use crate::value::Value;
use std::sync::Arc;

/// A Program after its last run.
#[derive(Clone, Copy)]
pub(super) struct Ran<'r> {
    pub(super) compiled: &'r Compiled,
    pub(super) regions: &'r Regions,
    pub(super) context: &'r Context,
}

impl<'r> Ran<'r> {
    /// Where an output lies.
    pub(super) fn region(&self, buffer: BufferId) -> Result<&'r Region> {
        match self.compiled.program.buffers[buffer].role {
            // It may have moved at the end of the run.
            Role::Shared(shared) => Ok(&self.context.states[self.compiled.definition.states[shared]].region),
            _ => self.regions.get(buffer),
        }
    }

    /// The outputs on the host, in memory of `rooms` as far as it goes.
    pub(super) fn outputs(&self, rooms: Vec<Room>) -> Result<Vec<Value>> {
        self.compiled.definition.check_status(self.context)?;
        let mut rooms = rooms.into_iter();
        let results = self.compiled.results();
        let mut values = Vec::with_capacity(results.len());
        for (buffer, dtype, shape) in results {
            let region = self.region(buffer)?;
            values.push(self.context.host_pool.download_to(region, dtype, shape, &mut rooms)?);
        }
        Ok(values)
    }

    /// An output on the host.
    pub(super) fn output(&self, position: usize) -> Result<Value> {
        self.compiled.definition.check_status(self.context)?;
        let (buffer, dtype, shape) = self.compiled.result(position)?;
        self.context.host_pool.download(self.region(buffer)?, dtype, shape)
    }

    /// An output where it lies: whoever has it must see to it that nothing runs meanwhile.
    pub(super) fn output_view(&self, position: usize) -> Result<DeviceArray> {
        let (buffer, dtype, shape) = self.compiled.result(position)?;
        let array = DeviceArray::of(&self.context.device, self.region(buffer)?.clone(), dtype, shape);
        let outcome = self.compiled.definition.outcome();
        Ok(DeviceArray { outcomes: outcome.map(|outcome| Arc::new(vec![outcome])), ..array })
    }

    /// The outputs, copied on the device.
    pub(super) fn device_outputs(&self) -> Result<Vec<DeviceArray>> {
        let copied = self
            .compiled
            .results()
            .map(|(buffer, dtype, shape)| self.context.copy_of(self.region(buffer)?, dtype, shape));
        copied.collect()
    }

    /// Where a tap finds its sample, and what it is.
    pub(super) fn sampled(&self, source: Source) -> Result<(Region, DType, Vec<usize>)> {
        match source {
            Source::State(position) => {
                let state = &self.context.states[position];
                Ok((state.value_region(), state.binding.ty.dtype, state.shape.clone()))
            }
            Source::Output(output) => {
                let (buffer, dtype, shape) = self.compiled.result(output)?;
                let region = self.region(buffer)?;
                Ok((Region { bytes: size(dtype, shape), ..region.clone() }, dtype, shape.to_vec()))
            }
        }
    }
}
