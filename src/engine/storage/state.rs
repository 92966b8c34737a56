//! Shared variables on the device, each at its own address.

use super::array::download;
use crate::error::Result;
use crate::graph::TensorType;
use crate::lower::index_bounds::Bounds;
use crate::value::Value;
use workalike_device::{Device, Region};

/// A shared variable as an engine needs it.
#[derive(Clone, Debug)]
pub(crate) struct StateBinding {
    pub(crate) name: String,
    pub(crate) ty: TensorType,
}

/// The canonical region of a shared variable.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) binding: StateBinding,
    pub(crate) region: Region,
    pub(crate) shape: Vec<usize>,
    /// Bounds of the value, if it is an integer array that the host has read and no call has changed since.
    pub(crate) bounds: Option<Bounds>,
    /// The version of the Function's shared variable that it holds: see [`Engine::move_state`] and
    /// [`Engine::hold_version`].
    pub(crate) version: Option<u64>,
}

impl State {
    /// The size of its value.
    pub(crate) fn bytes(&self) -> u64 {
        super::array::byte_size(self.binding.ty.dtype, &self.shape)
    }

    /// The region of its value.
    pub(crate) fn value_region(&self) -> Region {
        Region { bytes: self.bytes(), ..self.region.clone() }
    }

    pub(crate) fn read(&self, device: &dyn Device) -> Result<Value> {
        download(device, &self.region, self.binding.ty.dtype, &self.shape)
    }

    /// The value in place, if the host can read it there. Nothing that writes it can run while the Value
    /// exists.
    pub(crate) fn borrowed_value(&self, device: &dyn Device) -> Option<Value> {
        let bytes = device.lend(&self.value_region())?;
        // A bool is 0 or 1 there: it was normalized when it was uploaded or computed.
        Some(Value::over(self.binding.ty.dtype, &self.shape, bytes))
    }
}
