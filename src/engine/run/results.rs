//! The results of a method's last run, and its errors.

use super::{Engine, not_run};
use crate::engine::plan::Planned;
use crate::engine::record::{Recorded, RunResults, SampledTensor};
use crate::engine::storage::{CallInput, DeviceArray, Ticket};
use crate::error::Result;
use crate::value::Value;
use workalike_device::Region;
use workalike_kernels::DType;

impl Engine {
    /// The results of a method's last run.
    pub(crate) fn last_results(&self, method: usize) -> Result<RunResults<'_>> {
        let m = &self.methods[method];
        let last = m.plans.current().and_then(Planned::last_run);
        let (compiled, recorded) = last.ok_or_else(|| not_run(&m.definition.name))?;
        let Recorded { regions, outputs, .. } = recorded;
        Ok(RunResults { compiled, regions, outputs, context: &self.context })
    }

    /// The outputs of a method's last run, on the host.
    pub(crate) fn outputs(&self, method: usize) -> Result<Vec<Value>> {
        self.last_results(method)?.outputs(vec![])
    }

    /// An output of a method's last run, on the host.
    pub(crate) fn output(&self, method: usize, position: usize) -> Result<Value> {
        self.last_results(method)?.output(position)
    }

    /// An output of a method's last run, in place: the caller must ensure that nothing runs while it is used.
    pub(crate) fn output_view(&self, method: usize, position: usize) -> Result<DeviceArray> {
        self.last_results(method)?.output_view(position)
    }

    /// What a ring samples after a method's last run: region, dtype and shape.
    pub(crate) fn sampled(
        &self,
        method: usize,
        source: SampledTensor,
    ) -> Result<(Region, DType, Vec<usize>)> {
        self.last_results(method)?.sampled(source)
    }

    /// The outputs of a method's last run, copied on the device.
    pub(crate) fn device_outputs(&self, method: usize) -> Result<Vec<DeviceArray>> {
        self.last_results(method)?.device_outputs()
    }

    /// The dtypes and extents of the outputs of a call, which is planned and not run.
    pub(crate) fn output_types(
        &mut self,
        method: usize,
        args: &[CallInput],
    ) -> Result<Vec<(DType, Vec<usize>)>> {
        let compiled = self.prepare(method, args)?;
        Ok(compiled.results().map(|(_, dtype, shape)| (dtype, shape.to_vec())).collect())
    }

    /// Reports the errors of a method's calls since the last check.
    #[inline]
    pub(crate) fn check_status(&self, method: usize) -> Result<()> {
        self.methods[method].definition.check_status(&self.context)
    }

    /// Waits for all calls; no later call reports their errors.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn discard_errors(&self) -> Result<()> {
        let mut methods = self.methods.iter();
        methods.try_for_each(|method| method.definition.take_trouble(&self.context).map(drop))
    }

    /// A ticket to wait for the call of a method that was enqueued last.
    pub(crate) fn ticket(&self, method: usize) -> Result<Ticket> {
        self.methods[method].definition.ticket(&self.context)
    }

    /// Waits, and reports the first error of all methods; the others are known by the calls' results.
    pub(crate) fn finish(&self) -> Result<()> {
        self.device().synchronize()?;
        let outcomes = (0..self.methods.len()).map(|method| self.check_status(method));
        outcomes.fold(Ok(()), Result::and)
    }
}
