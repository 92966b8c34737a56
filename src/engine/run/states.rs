//! The shared variables of an engine: added, moved, read and written.

use super::Engine;
use crate::engine::storage::{DeviceArray, State, StateBinding};
use crate::error::Result;
use crate::lower::index_bounds::Bounds;
use crate::value::Value;
use std::sync::Arc;
use workalike_device::{Device, DeviceResult, Memory, Region};

impl Engine {
    /// The shared variables.
    pub(crate) fn states(&self) -> &[State] {
        &self.context.states
    }

    /// Adds a shared variable in memory of its own; returns its position.
    pub(crate) fn add_state(&mut self, binding: StateBinding, value: &Value) -> Result<usize> {
        let whole = value.contiguous()?;
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        let region = self.allocate_anew(bytes.len() as u64)?;
        if !bytes.is_empty() {
            self.device().upload(bytes, &Region { bytes: bytes.len() as u64, ..region.clone() })?;
        }
        let (shape, bounds) = (value.shape().to_vec(), Bounds::of(value));
        Ok(self.push_state(State { binding, region, shape, bounds, version: None }))
    }

    /// Adds a shared variable with the value of one of another engine on the same stream of work.
    pub(crate) fn add_state_like(&mut self, other: &State) -> Result<usize> {
        let bytes = other.bytes();
        let region = self.allocate_anew(bytes)?;
        if bytes > 0 {
            self.device().copy(&other.value_region(), &Region { bytes, ..region.clone() })?;
        }
        let (binding, shape) = (other.binding.clone(), other.shape.clone());
        Ok(self.push_state(State { binding, region, shape, bounds: other.bounds, version: None }))
    }

    /// Adds a shared variable in given memory.
    pub(crate) fn add_state_at(&mut self, binding: StateBinding, memory: Arc<dyn Memory>, shape: &[usize]) {
        let (region, shape) = (Region::whole(memory), shape.to_vec());
        self.push_state(State { binding, region, shape, bounds: None, version: None });
    }

    fn push_state(&mut self, state: State) -> usize {
        self.context.states.push(state);
        self.context.states.len() - 1
    }

    /// Sets the region of a shared variable, and the version of its value; recordings become stale if it
    /// moved.
    pub(crate) fn move_state(
        &mut self,
        position: usize,
        memory: Arc<dyn Memory>,
        shape: &[usize],
        version: u64,
    ) {
        let state = &mut self.context.states[position];
        if state.version.replace(version) != Some(version) {
            state.bounds = None;
        }
        if !Arc::ptr_eq(&state.region.memory, &memory) {
            state.region = Region::whole(memory);
            self.context.epoch += 1;
        }
        if state.shape != shape {
            state.shape = shape.to_vec();
        }
    }

    /// Notes which version of the Function's shared variable a copy on the device is; `None`: it is not
    /// known.
    pub(crate) fn hold_version(&mut self, position: usize, version: Option<u64>) {
        self.context.states[position].version = version;
    }

    /// The version that [`Engine::hold_version`] noted.
    pub(crate) fn version_held(&self, position: usize) -> Option<u64> {
        self.context.states[position].version
    }

    /// The region of a shared variable, and its extents.
    pub(crate) fn state_place(&self, position: usize) -> (Region, Vec<usize>) {
        let state = &self.context.states[position];
        (state.value_region(), state.shape.clone())
    }

    pub(crate) fn read_state(&self, position: usize) -> Result<Value> {
        self.context.states[position].read(self.device().as_ref())
    }

    pub(crate) fn write_state(&mut self, position: usize, value: &Value) -> Result<()> {
        let whole = value.contiguous()?;
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        let upload = |device: &dyn Device, region: &Region| device.upload(bytes, region);
        self.replace_state(position, value.shape(), Bounds::of(value), upload)
    }

    /// Gives a shared variable the elements of an array of its dtype on this stream.
    pub(crate) fn copy_to_state(&mut self, position: usize, array: &DeviceArray) -> Result<()> {
        array.check()?;
        let copy = |device: &dyn Device, region: &Region| {
            device.copy(&Region { bytes: region.bytes, ..array.region.clone() }, region)
        };
        self.replace_state(position, &array.shape, array.bounds(), copy)
    }

    /// Has `write` store a value of this shape, if it has elements.
    fn replace_state(
        &mut self,
        position: usize,
        shape: &[usize],
        bounds: Option<Bounds>,
        write: impl FnOnce(&dyn Device, &Region) -> DeviceResult<()>,
    ) -> Result<()> {
        let state = &self.context.states[position];
        let (moves, bytes) =
            (state.shape != shape, crate::engine::storage::byte_size(state.binding.ty.dtype, shape));
        let region = match moves {
            true => self.allocate_anew(bytes)?,
            false => state.region.clone(),
        };
        if bytes > 0 {
            write(self.device().as_ref(), &Region { bytes, ..region.clone() })?;
        }
        let state = &mut self.context.states[position];
        state.bounds = bounds;
        if moves {
            (state.region, state.shape) = (region, shape.to_vec());
            self.context.epoch += 1;
        }
        Ok(())
    }

    /// Frees a state's memory; no method may use the state any more.
    pub(crate) fn forget_state(&mut self, position: usize) -> Result<()> {
        let region = self.context.allocate(0)?;
        let state = &mut self.context.states[position];
        state.region = region;
        state.shape.iter_mut().for_each(|extent| *extent = 0);
        Ok(())
    }
}
