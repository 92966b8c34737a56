//! Helpers that the tests share: a device, memories and their values.
#![allow(dead_code)] // each test binary uses a part of it

use std::sync::Arc;
use workalike::engine::Open;
use workalike::engine::device::{Device, Memory, Region};
use workalike::error::DeviceError;
use workalike_opencl::OpenCl;

/// A device; `None` if the host has no OpenCL, which is a failure in continuous integration.
pub(crate) fn device() -> Option<Arc<dyn Device>> {
    match OpenCl::auto().open() {
        Ok(device) => Some(device),
        Err(error @ DeviceError::Missing { .. }) => {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI needs an OpenCL platform: {error}");
            println!("ignored: no OpenCL platform");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A part of a memory.
pub(crate) fn region(memory: &Arc<dyn Memory>, offset: u64, bytes: u64) -> Region {
    Region { memory: memory.clone(), offset, bytes }
}

/// New memory that holds `values`.
pub(crate) fn uploaded(device: &dyn Device, values: &[f32]) -> Region {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let whole = Region::whole(device.allocate(bytes.len() as u64).unwrap());
    device.upload(&bytes, &whole).unwrap();
    whole
}

/// The values of a region.
pub(crate) fn downloaded(device: &dyn Device, region: &Region) -> Vec<f32> {
    let mut bytes = vec![0; region.bytes as usize];
    device.download(region, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect()
}
