//! The results of a run: outputs and states, in place and on the host.

use super::array::DeviceArray;
use super::array::byte_size;
use super::compiled::Compiled;
use super::context::EngineContext;
use super::host_pool::{HostPool, ResultBlock};
use super::regions::Regions;
use super::tap::SampledTensor;
use super::transfers::PackedTransfer;
use crate::error::Result;
use crate::lower::program::{BufferId, Role};
use crate::value::Value;
use std::sync::Arc;
use workalike_device::Region;
use workalike_kernels::DType;

/// A Program after its last run.
#[derive(Clone, Copy)]
pub(super) struct RunResults<'r> {
    pub(super) compiled: &'r Compiled,
    pub(super) regions: &'r Regions,
    /// See [`Recorded::outputs`](super::recorded::Recorded).
    pub(super) outputs: &'r [PackedTransfer],
    pub(super) context: &'r EngineContext,
}

impl<'r> RunResults<'r> {
    /// The region of an output.
    pub(super) fn region(&self, buffer: BufferId) -> Result<&'r Region> {
        match self.compiled.program.buffers[buffer].role {
            // It may have moved at the end of the run.
            Role::Shared(shared) => Ok(&self.context.states[self.compiled.definition.states[shared]].region),
            _ => self.regions.get(buffer),
        }
    }

    /// The outputs on the host, in memory of `blocks` while it lasts.
    pub(super) fn outputs(&self, blocks: Vec<ResultBlock>) -> Result<Vec<Value>> {
        self.compiled.definition.check_status(self.context)?;
        let mut blocks = blocks.into_iter();
        let results = self.compiled.results();
        let mut values: Vec<Option<Value>> = vec![None; results.len()];
        for transfer in self.outputs {
            transfer.download(self.context.device.as_ref(), |position, bytes| {
                let (_, dtype, shape) = self.compiled.result(position)?;
                values[position] = Some(HostPool::small(dtype, shape, bytes)?);
                Ok(())
            })?;
        }
        let value =
            |(value, (buffer, dtype, shape)): (Option<Value>, (BufferId, DType, &[usize]))| match value {
                Some(value) => Ok(value),
                None => self.context.host_pool.download_to(self.region(buffer)?, dtype, shape, &mut blocks),
            };
        values.into_iter().zip(results).map(value).collect()
    }

    /// An output on the host.
    pub(super) fn output(&self, position: usize) -> Result<Value> {
        self.compiled.definition.check_status(self.context)?;
        let (buffer, dtype, shape) = self.compiled.result(position)?;
        self.context.host_pool.download(self.region(buffer)?, dtype, shape)
    }

    /// An output in place: the caller must ensure that nothing runs while it is used.
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

    /// The region, dtype and shape of a tap's sample.
    pub(super) fn sampled(&self, source: SampledTensor) -> Result<(Region, DType, Vec<usize>)> {
        match source {
            SampledTensor::State(position) => {
                let state = &self.context.states[position];
                Ok((state.value_region(), state.binding.ty.dtype, state.shape.clone()))
            }
            SampledTensor::Output(output) => {
                let (buffer, dtype, shape) = self.compiled.result(output)?;
                let region = self.region(buffer)?;
                Ok((Region { bytes: byte_size(dtype, shape), ..region.clone() }, dtype, shape.to_vec()))
            }
        }
    }
}
