//! The context of a device: one per device and process, with the programs built in it.

use crate::cl::{self, Handle};
use crate::platform::{DeviceInfo, PlatformDevice};
use crate::program::Programs;
use ocl::ffi::{self, cl_device_id, cl_int};
use std::collections::HashMap;
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use workalike_device::{DeviceError, DeviceResult};

/// One of a context's devices, and its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum QueueKind {
    /// The device itself.
    #[default]
    Wide,
    /// The device whose kernels run on the calling thread, if there is one; see [`crate::pocl`].
    Near,
}

/// The state that all Devices on the same hardware share.
pub(crate) struct OpenClContext {
    /// `opencl:platform:device`.
    pub(crate) id: String,
    pub(crate) info: DeviceInfo,
    device: cl_device_id,
    /// See [`PlatformDevice::near`].
    pub(crate) near: Option<cl_device_id>,
    /// Declared before the context, so that they are released before it.
    pub(crate) programs: Programs,
    pub(crate) handle: Handle<cl::Context>,
}

// SAFETY: `device` and `near` are root devices, which are never released and may be used from any thread; the
// other fields are Send.
unsafe impl Send for OpenClContext {}
// SAFETY: `device` and `near` are root devices, which several threads may use at once; the other fields are
// Sync.
unsafe impl Sync for OpenClContext {}

impl fmt::Debug for OpenClContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.id)
    }
}

impl OpenClContext {
    /// The context of a device, made at the first call and kept until the process ends: it is small, its
    /// programs can be used again, and some drivers fail when they are shut down and initialized again.
    pub(crate) fn of(found: PlatformDevice) -> DeviceResult<Arc<OpenClContext>> {
        static CONTEXTS: Mutex<Option<HashMap<usize, Arc<OpenClContext>>>> = Mutex::new(None);
        let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        let contexts = contexts.get_or_insert_with(HashMap::new);
        let key = found.device as usize;
        if let Some(context) = contexts.get(&key) {
            return Ok(context.clone());
        }
        let context = Arc::new(OpenClContext::new(found)?);
        contexts.insert(key, context.clone());
        Ok(context)
    }

    /// The device of a side.
    pub(crate) fn device(&self, queue_kind: QueueKind) -> cl_device_id {
        match queue_kind {
            QueueKind::Wide => self.device,
            QueueKind::Near => self.near.unwrap_or(self.device),
        }
    }

    fn new(found: PlatformDevice) -> DeviceResult<OpenClContext> {
        const CALL: &str = "clCreateContext";
        let PlatformDevice { info, platform, device, near } = found;
        let id = info.id();
        if let Some(why) = &info.unusable {
            return Err(DeviceError::Unsupported { device: id, what: format!("running workalike ({why})") });
        }
        let properties = [ffi::CL_CONTEXT_PLATFORM as isize, platform as isize, 0];
        let devices: Vec<cl_device_id> = std::iter::once(device).chain(near).collect();
        let mut status: cl_int = 0;
        // SAFETY: the list of properties ends with 0, the devices are the platform's, and there is no
        // callback.
        let raw = unsafe {
            ffi::clCreateContext(
                properties.as_ptr(),
                devices.len() as u32,
                devices.as_ptr(),
                None,
                ptr::null_mut(),
                &mut status,
            )
        };
        // SAFETY: a new context, or null.
        let handle = unsafe { Handle::created(raw, &id, CALL, status) }?;
        Ok(OpenClContext { id, info, device, near, programs: Programs::default(), handle })
    }

    /// Another library's context of a device.
    pub(crate) fn foreign(found: PlatformDevice, handle: Handle<cl::Context>) -> DeviceResult<OpenClContext> {
        let PlatformDevice { info, device, near, .. } = found;
        let id = info.id();
        if let Some(why) = &info.unusable {
            return Err(DeviceError::Unsupported { device: id, what: format!("running workalike ({why})") });
        }
        Ok(OpenClContext { id, info, device, near, programs: Programs::default(), handle })
    }
}
