//! State common to all methods of an engine: the device, the shared variables, the arena, and memory for
//! results.

use super::array::{DeviceArray, KnownBounds};
use super::device_pool::{DevicePool, within};
use super::host_pool::HostPool;
use super::outcome::STATUS_BYTES;
use super::specialist::Specialist;
use super::state::State;
use crate::error::{DeviceError, Result};
use crate::graph::FunctionGraph;
use crate::lower::index_bounds::Bounds;
use crate::lower::replace::with_replacements;
use crate::lower::{Abilities, Promised};
use crate::value::Value;
use std::sync::{Arc, OnceLock};
use workalike_device::{Device, Options, Region};
use workalike_kernels::DType;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct EngineContext {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) options: Options,
    pub(crate) states: Vec<State>,
    pub(crate) arena: Option<Region>,
    /// Counts changes of addresses: arena, state.
    pub(crate) epoch: u64,
    /// Memory of results that stay on the device.
    pub(crate) pool: Arc<DevicePool>,
    /// Memory of results on the host.
    pub(crate) host_pool: Arc<HostPool>,
    /// Status words that are all 0: see [`EngineContext::zero`].
    zero: OnceLock<Region>,
    pub(crate) specialist: Specialist,
}

impl EngineContext {
    pub(crate) fn new(device: Arc<dyn Device>, options: Options) -> EngineContext {
        let (pool, host_pool) = (DevicePool::new(device.clone()), HostPool::new(device.clone()));
        let (states, arena, epoch, zero) = (vec![], None, 0, OnceLock::new());
        let specialist = Specialist::default();
        EngineContext { device, options, states, arena, epoch, pool, host_pool, zero, specialist }
    }

    /// What the device offers.
    pub(crate) fn abilities(&self) -> Abilities<'_> {
        let Options { fast_math: fast, deterministic, in_bounds, nan_guard, .. } = self.options;
        let promised = match (nan_guard, in_bounds) {
            (true, _) => Promised::None,
            (false, true) => Promised::All,
            (false, false) => Promised::Marked,
        };
        Abilities { device: self.device.as_ref(), fast, deterministic, promised }
    }

    /// A method's graph, with other ops in place of those that have no form on the device. If they cannot be
    /// replaced, they run on the host.
    pub(crate) fn replaced(&self, graph: Arc<FunctionGraph>) -> Arc<FunctionGraph> {
        with_replacements(&graph, &self.abilities()).unwrap_or(graph)
    }

    /// Memory outside the pool. If the device has none left, idle memory of the pool is freed first.
    pub(crate) fn allocate(&self, bytes: u64) -> Result<Region> {
        let bytes = bytes.max(8);
        within(self.device.as_ref(), bytes)?;
        let memory = match self.device.allocate(bytes) {
            Err(DeviceError::OutOfMemory { .. }) if self.pool.trim() > 0 => self.device.allocate(bytes),
            outcome => outcome,
        };
        Ok(Region::whole(memory?))
    }

    /// A value in device memory of the pool.
    pub(crate) fn upload(&self, value: &Value) -> Result<DeviceArray> {
        let whole = value.contiguous()?;
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        let lease = self.pool.take(bytes.len() as u64)?;
        let mut array = DeviceArray::in_pool(&self.device, lease, value.dtype(), value.shape());
        array.bounds = Bounds::of(value).map(KnownBounds::new);
        if !bytes.is_empty() {
            self.device.upload(bytes, &array.region)?;
        }
        Ok(array)
    }

    /// A copy on the device, in memory of the pool.
    pub(crate) fn copy_of(&self, source: &Region, dtype: DType, shape: &[usize]) -> Result<DeviceArray> {
        let bytes = super::array::byte_size(dtype, shape);
        let array = DeviceArray::in_pool(&self.device, self.pool.take(bytes)?, dtype, shape);
        if bytes > 0 {
            self.device.copy(&Region { bytes, ..source.clone() }, &array.region)?;
        }
        Ok(array)
    }

    /// A copy of an array of another stream or device, in memory of the pool; `None` if only the host can
    /// make it.
    pub(crate) fn copy_of_peer(&self, from: &DeviceArray) -> Result<Option<DeviceArray>> {
        let bytes = super::array::byte_size(from.dtype(), from.shape());
        let mut copy = DeviceArray::in_pool(&self.device, self.pool.take(bytes)?, from.dtype(), from.shape());
        let source = Region { bytes, ..from.region().clone() };
        if bytes > 0 && !self.device.copy_from_peer(&source, &Region { bytes, ..copy.region.clone() })? {
            return Ok(None);
        }
        copy.bounds.clone_from(&from.bounds);
        copy.outcomes.clone_from(&from.outcomes);
        Ok(Some(copy))
    }

    /// Words that are 0, from which status words are cleared in stream order, without waiting.
    pub(crate) fn zero(&self) -> Result<Region> {
        if let Some(zero) = self.zero.get() {
            return Ok(zero.clone());
        }
        let zero = Region { bytes: STATUS_BYTES as u64, ..self.allocate(STATUS_BYTES as u64)? };
        self.device.upload(&[0; STATUS_BYTES], &zero)?;
        Ok(self.zero.get_or_init(|| zero).clone())
    }

    /// The bounds of a shared variable. If the host can read its memory, they are computed; not if `waits`,
    /// since then other threads may be waited for.
    pub(crate) fn state_bounds(&mut self, position: usize, waits: bool) -> Option<Bounds> {
        if self.states[position].bounds.is_none() && !waits {
            let value = self.states[position].borrowed_value(self.device.as_ref());
            self.states[position].bounds = value.as_ref().and_then(Bounds::of);
        }
        self.states[position].bounds
    }

    /// Makes a state's region large enough for a value of this shape. The old value is lost if the shape
    /// differs.
    pub(crate) fn reshape_state(&mut self, position: usize, shape: &[usize]) -> Result<()> {
        let state = &self.states[position];
        if state.shape == shape {
            return Ok(());
        }
        let region = self.allocate(super::array::byte_size(state.binding.ty.dtype, shape))?;
        let state = &mut self.states[position];
        (state.region, state.shape) = (region, shape.to_vec());
        self.epoch += 1;
        Ok(())
    }
}
