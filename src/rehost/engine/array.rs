//! Tensors that stay on their device, and what a call may give for an input.

use super::super::device::{Device, Region};
use crate::dtype::DType;
use crate::error::Result;
use crate::value::Value;
use std::sync::Arc;

/// A tensor that stays on its device.
#[derive(Clone, Debug)]
pub struct DeviceArray {
    pub(super) device: Arc<dyn Device>,
    pub(super) region: Region,
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
}

impl DeviceArray {
    /// Its dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// A copy on the host; waits for the device.
    ///
    /// # Errors
    /// If the device fails.
    pub fn to_value(&self) -> Result<Value> {
        download(self.device.as_ref(), &self.region, self.dtype, &self.shape)
    }

    pub(crate) fn is_on(&self, device: &Arc<dyn Device>) -> bool {
        self.device.properties().id == device.properties().id
    }
}

/// What a call gives for one input.
#[derive(Clone, Debug)]
pub(crate) enum Fed {
    Host(Value),
    Device(DeviceArray),
}

impl Fed {
    pub(super) fn shape(&self) -> &[usize] {
        match self {
            Fed::Host(value) => value.shape(),
            Fed::Device(array) => array.shape(),
        }
    }

    pub(super) fn value(&self) -> Option<Value> {
        match self {
            Fed::Host(value) => Some(value.clone()),
            Fed::Device(array) => array.to_value().ok(),
        }
    }
}

pub(super) fn download(device: &dyn Device, region: &Region, dtype: DType, shape: &[usize]) -> Result<Value> {
    Value::try_filled(dtype, shape, |bytes| {
        if bytes.is_empty() {
            return Ok(());
        }
        let exact = Region { bytes: bytes.len() as u64, ..region.clone() };
        Ok(device.download(&exact, bytes)?)
    })
}
