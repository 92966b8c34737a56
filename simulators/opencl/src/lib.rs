//! workalike on OpenCL: one [`Device`] for every GPU, CPU or accelerator with an OpenCL 1.2 driver.
//!
//! ```
//! use workalike_device::Open;
//! use workalike_opencl::OpenCl;
//!
//! match OpenCl::auto().open() {
//!     Ok(device) => println!("{}: {}", device.properties().id, device.properties().name),
//!     Err(error) => println!("{error}"), // says what is missing and what to install
//! }
//! ```
//!
//! [`OpenCl`] selects a device, [`list`] lists all, [`Open::open`] makes the `Device` for the engine. Each
//! opened device is a separate in-order command queue. Devices opened in one process on the same hardware
//! share a context and the programs built in it, so they can use each other's memory (but only after a
//! `synchronize`: two queues are not ordered).
//!
//! # How it is built
//!
//! | module | contents |
//! |---|---|
//! | `loader` | finds the OpenCL library at run time, so that a binary starts on hosts that have none |
//! | `cl` | status codes, owned handles, info queries |
//! | `platform` | lists platforms and devices, without delay or panic where there are none |
//! | `pocl` | joins the two devices that PoCL has for one processor |
//! | `context` | one context per device and process, with its programs |
//! | `device` | [`Device`]: transfers, and the entry points to the other modules |
//! | `interop` | contexts, queues and buffers of other libraries |
//! | `memory` | one buffer per allocation, and parts of it |
//! | `program` | building printed source, once per text; compiler logs |
//! | `bind` | commands as steps with buffers, kernels with their arguments set |
//! | `binary` | built programs, cached on disk for later processes |
//! | `queues` | the queues of a device as one ordered stream |
//! | `recording` | a Segment as prepared kernels and copies, enqueued in order by each replay |
//! | `warm_up` | launches on other memory, after which PoCL has compiled a kernel |
//! | `timing` | the same on a queue with profiling enabled |
//!
//! This crate calls OpenCL through the bindings of the `ocl` crate ([`ocl::ffi`]). It does not use the upper
//! layers of `ocl`: they panic on unknown status codes and failed releases, wait ten seconds for a platform
//! to appear, and treat a failed build with an empty log as a success.
//!
//! Other users of the `ocl` crate in the same program use this crate's loader too; they should call [`list`]
//! first, and continue only if it finds a device.

mod binary;
mod bind;
mod cl;
mod context;
mod device;
#[cfg(test)]
mod gpu_schedule_tests;
mod interop;
mod loader;
mod memory;
mod platform;
mod pocl;
mod program;
mod queues;
mod recording;
#[cfg(test)]
mod tests;
mod timing;
mod warm_up;

pub use platform::{DeviceInfo, DeviceKind, list};

use crate::interop::Foreign;
use std::ffi::c_void;
use std::sync::Arc;
use workalike_device::{Device, DeviceResult, Open};

/// Selects an OpenCL device. It can be made on any host; [`open`](OpenCl::open) checks whether the device
/// exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpenCl {
    which: OpenClChoice,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum OpenClChoice {
    #[default]
    Best,
    /// Platform and device index.
    Listed(usize, usize),
    Foreign(Foreign),
}

impl OpenCl {
    /// The first usable GPU, else the first usable device of any kind.
    pub fn auto() -> OpenCl {
        OpenCl { which: OpenClChoice::Best }
    }

    /// The device at these positions, as [`list`] counts them.
    pub fn device(platform: usize, device: usize) -> OpenCl {
        OpenCl { which: OpenClChoice::Listed(platform, device) }
    }

    /// The device, context and queue of another library: a `cl_context`, a `cl_device_id` of it and a
    /// `cl_command_queue` on that device, which runs commands in order. Work is enqueued on that queue, in
    /// order with the other library's. References are added while a device is open; nothing of the other
    /// library's is released.
    ///
    /// # Safety
    /// The handles are valid whenever a device is opened.
    pub unsafe fn from_raw(context: *mut c_void, device: *mut c_void, queue: *mut c_void) -> OpenCl {
        let foreign = Foreign { context: context as usize, device: device as usize, queue: queue as usize };
        OpenCl { which: OpenClChoice::Foreign(foreign) }
    }
}

impl Open for OpenCl {
    /// A new in-order queue, in the context that this process has for the device.
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        let found = match self.which {
            OpenClChoice::Listed(platform, device) => platform::find(platform, device)?,
            OpenClChoice::Best => platform::best()?,
            OpenClChoice::Foreign(foreign) => return Ok(Arc::new(device::OpenClDevice::foreign(&foreign)?)),
        };
        Ok(Arc::new(device::OpenClDevice::open(found)?))
    }
}
