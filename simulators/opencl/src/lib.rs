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
//! [`OpenCl`] names a device, [`list`] shows what there is, [`Open::open`] makes the `Device` that the engine
//! drives. Each opened device is a command queue of its own, in order; all that are opened in one process on
//! the same hardware share a context and the programs built in it, so they can use each other's memory (but
//! only after a `synchronize`: nothing orders two queues).
//!
//! # How it is built
//!
//! | room | what |
//! |---|---|
//! | `loader` | finds the OpenCL library at run time, so that a binary starts on hosts that have none |
//! | `cl` | status codes, owned handles, info queries |
//! | `platform` | which platforms and devices there are, without delay or panic where there are none |
//! | `pocl` | the two devices that PoCL has for one processor, made one |
//! | `context` | one context per device and process, with its programs |
//! | `device` | [`Device`]: transfers, and where the other rooms meet |
//! | `memory` | one buffer per allocation, and parts of it |
//! | `program` | building printed source, once per text; compiler logs |
//! | `binary` | built programs, kept on disk for later processes |
//! | `queues` | the queues of a device as one ordered stream |
//! | `recording` | a Segment as prepared kernels and copies, replayed by enqueueing each |
//! | `timing` | the same on a queue that keeps times |
//!
//! OpenCL is reached through the bindings of the `ocl` crate ([`ocl::ffi`]). Its upper layers are left alone
//! on purpose: they panic on status codes they do not know and on failed releases, wait ten seconds for a
//! platform to appear, and take a failed build with an empty log for a success. None of that may happen to a
//! user of a library.
//!
//! Other users of the `ocl` crate in the same program are served by the same loader; they should call
//! [`list`] first and go on only if it finds something.

mod binary;
mod cl;
mod context;
mod device;
mod loader;
mod memory;
mod platform;
mod pocl;
mod program;
mod queues;
mod recording;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod tests;
mod timing;

pub use platform::{DeviceInfo, DeviceKind, list};

use std::sync::Arc;
use workalike_device::{Device, DeviceResult, Open};

/// Names an OpenCL device. It can be made on any host; [`open`](OpenCl::open) says whether the device exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpenCl {
    /// Platform and device index; `None` to choose.
    which: Option<(usize, usize)>,
}

impl OpenCl {
    /// The first usable GPU, else the first usable device of any kind.
    pub fn auto() -> OpenCl {
        OpenCl { which: None }
    }

    /// The device at these positions, as [`list`] counts them.
    pub fn device(platform: usize, device: usize) -> OpenCl {
        OpenCl { which: Some((platform, device)) }
    }
}

impl Open for OpenCl {
    /// A new in-order queue, in the context that this process has for the device.
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        let found = match self.which {
            Some((platform, device)) => platform::find(platform, device)?,
            None => platform::best()?,
        };
        Ok(Arc::new(device::OpenClDevice::open(found)?))
    }
}
