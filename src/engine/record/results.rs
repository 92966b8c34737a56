//! The results of a run: outputs and states, in place and on the host.

use super::regions::Regions;
use super::sample_ring::SampledTensor;
use crate::engine::compile::Compiled;
use crate::engine::storage::{DeviceArray, EngineContext, HostPool, PackedTransfer, ResultBlock, byte_size};
use crate::error::Result;
use crate::lower::program::{BufferId, Role};
use crate::value::Value;
use std::sync::Arc;
use workalike_device::Region;
use workalike_kernels::DType;

/// A Program after its last run.
#[derive(Clone, Copy)]
pub(crate) struct RunResults<'r> {
    pub(crate) compiled: &'r Compiled,
    pub(crate) regions: &'r Regions,
    /// See [`Recorded::outputs`](crate::engine::record::recorded::Recorded).
    pub(crate) outputs: &'r [PackedTransfer],
    pub(crate) context: &'r EngineContext,
}

impl<'r> RunResults<'r> {
    /// The region of an output.
    pub(crate) fn region(&self, buffer: BufferId) -> Result<&'r Region> {
        match self.compiled.program.buffers[buffer].role {
            // It may have moved at the end of the run.
            Role::Shared(shared) => Ok(&self.context.states[self.compiled.definition.states[shared]].region),
            _ => self.regions.get(buffer),
        }
    }

    /// The outputs on the host, in memory of `blocks` while it lasts.
    pub(crate) fn outputs(&self, blocks: Vec<ResultBlock>) -> Result<Vec<Value>> {
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
    pub(crate) fn output(&self, position: usize) -> Result<Value> {
        self.compiled.definition.check_status(self.context)?;
        let (buffer, dtype, shape) = self.compiled.result(position)?;
        self.context.host_pool.download(self.region(buffer)?, dtype, shape)
    }

    /// An output in place: the caller must ensure that nothing runs while it is used.
    pub(crate) fn output_view(&self, position: usize) -> Result<DeviceArray> {
        let (buffer, dtype, shape) = self.compiled.result(position)?;
        let array = DeviceArray::of(&self.context.device, self.region(buffer)?.clone(), dtype, shape);
        let outcome = self.compiled.definition.outcome();
        Ok(DeviceArray { outcomes: outcome.map(|outcome| Arc::new(vec![outcome])), ..array })
    }

    /// The outputs, copied on the device.
    pub(crate) fn device_outputs(&self) -> Result<Vec<DeviceArray>> {
        let copied = self
            .compiled
            .results()
            .map(|(buffer, dtype, shape)| self.context.copy_of(self.region(buffer)?, dtype, shape));
        copied.collect()
    }

    /// The region, dtype and shape of a sample.
    pub(crate) fn sampled(&self, source: SampledTensor) -> Result<(Region, DType, Vec<usize>)> {
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
