//! workalike's Simulator on CUDA, through `cudarc`.
//!
//! The crate builds on every host and links nothing of CUDA: the driver, NVRTC, cuBLASLt and cuBLAS are
//! loaded when a device is opened. If one is missing, the result is an error that names it, never a panic.
//!
//! ```
//! use workalike_device::Open;
//!
//! match workalike_cuda::Cuda::device(0).open() {
//!     Ok(device) => println!("{} ({})", device.properties().name, device.properties().driver),
//!     Err(error) => println!("{error}"),
//! }
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `preflight` | whether CUDA is installed, and where its libraries are |
//! | `context` | one context per device and process; a stream in it |
//! | `exchange_gate` | what may not happen at the same time as exchanges between GPUs |
//! | `device` | the engine's `Device`, made of the modules below |
//! | `memory` | allocations in stream order, regions to addresses |
//! | `peer` | copies between two streams, of one GPU or of two |
//! | `staging` | copies between host and device through pinned memory |
//! | `pinned` | host memory for results, which the device copies to directly |
//! | `module` | compiled Nests, loaded |
//! | `nvrtc` | generated source to loaded kernels, cached on disk |
//! | `vendor` | products, convolutions, linear algebra, transforms and exchanges by NVIDIA's libraries |
//! | `routine` | other library ops, as generated kernels |
//! | `recording` | a Segment captured as a CUDA graph, and replayed |
//! | `timing` | the same graph with events between its commands |
//!
//! **Streams.** Each opened device is one stream. Its memory is allocated, used and freed in the order of
//! that stream, so nothing waits except downloads, `synchronize`, recording and the drop of a recording. Two
//! devices opened on one GPU share its context and its compiled kernels, and nothing else.
//!
//! **Requirements.** A driver for CUDA 12.3 or later, and NVRTC of CUDA 12 or 13. Without cuBLASLt and cuBLAS
//! the engine's own kernels multiply matrices. Without cuSOLVER linear algebra runs on the host, without
//! cuFFT Fourier transforms do. Members of a group exchange arrays by NCCL, or through each
//! other's memory; otherwise through main memory.
//! `WORKALIKE_CUDA_LIBS` may name folders, those of Python wheels for instance, in which to look for NVRTC,
//! cuBLASLt and cuBLAS. One of the `cuda-*` features picks the bindings; the default serves 12.x and 13.x
//! drivers.

mod capture;
mod context;
mod dependencies;
mod device;
mod exchange_gate;
mod memory;
mod module;
mod nvrtc;
mod peer;
mod pinned;
mod preflight;
mod recording;
mod routine;
mod staging;
mod timing;
mod vendor;

use cudarc::driver::result;
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use std::ffi::c_void;
use std::sync::Arc;
use workalike_device::{Device, DeviceResult, Open};

/// Names a CUDA device; nothing is touched before [`Cuda::open`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cuda {
    which: CudaChoice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CudaChoice {
    /// The device of this number.
    Ordinal(usize),
    /// Another library's context, and its stream; a new stream if there is none.
    Foreign { context: usize, stream: Option<usize> },
}

impl Cuda {
    /// The device of this number, counted from 0 in the list of visible devices (`CUDA_VISIBLE_DEVICES`).
    pub fn device(ordinal: usize) -> Cuda {
        Cuda { which: CudaChoice::Ordinal(ordinal) }
    }

    /// The device of another library's `CUcontext`, with a stream of its own in it. Nothing orders that
    /// stream's work with the other library's.
    ///
    /// The first call of a Simulator with new shapes captures CUDA graphs. Meanwhile the driver refuses calls
    /// of other threads that wait for the whole context (`cuCtxSynchronize`), and our call may fail with
    /// theirs.
    ///
    /// # Safety
    /// The context is valid until the process ends.
    pub unsafe fn from_context(context: *mut c_void) -> Cuda {
        Cuda { which: CudaChoice::Foreign { context: context as usize, stream: None } }
    }

    /// The device of another library's `CUcontext`, on its `CUstream`: work runs in the order in which the
    /// two libraries enqueue it. The null stream is the legacy default stream.
    ///
    /// # Safety
    /// The context is valid until the process ends, and the stream, which belongs to it, as long as an opened
    /// device, its memory or a recording exists. The stream captures nothing while a device uses it.
    pub unsafe fn from_stream(context: *mut c_void, stream: *mut c_void) -> Cuda {
        Cuda { which: CudaChoice::Foreign { context: context as usize, stream: Some(stream as usize) } }
    }

    /// The device that CUDA lists first: the fastest, unless `CUDA_DEVICE_ORDER` says otherwise.
    pub fn auto() -> Cuda {
        Cuda::device(0)
    }
}

impl Open for Cuda {
    /// A new device object, with its own stream;
    /// [`DeviceError::Missing`](workalike_device::DeviceError::Missing) says what this host lacks.
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        Ok(Arc::new(match self.which {
            CudaChoice::Ordinal(ordinal) => device::CudaDevice::open(ordinal)?,
            CudaChoice::Foreign { context, stream } => device::CudaDevice::foreign(context, stream)?,
        }))
    }
}

/// A device of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaInfo {
    /// The argument of [`Cuda::device`].
    pub ordinal: usize,
    /// The product name, e.g. `NVIDIA H200`.
    pub name: String,
    /// Total memory in bytes.
    pub memory: u64,
    /// Compute capability, major and minor.
    pub capability: (i32, i32),
    /// Multiprocessors.
    pub units: u32,
    /// The driver's CUDA version, e.g. `13.0`.
    pub driver: String,
}

/// The CUDA devices of this host; empty without a driver ([`why_not`] says what is missing).
pub fn list() -> Vec<CudaInfo> {
    let Ok(driver) = preflight::driver() else { return Vec::new() };
    // A device that cannot be queried is left out.
    (0..driver.devices).filter_map(|ordinal| info(ordinal, driver.version).ok()).collect()
}

fn info(ordinal: usize, version: i32) -> Result<CudaInfo, result::DriverError> {
    // Device counts come from the driver as i32.
    let device = result::device::get(ordinal as i32)?;
    // SAFETY: `device` was just given by the driver.
    let attribute = |which: Attribute| unsafe { result::device::get_attribute(device, which) };
    Ok(CudaInfo {
        ordinal,
        name: result::device::get_name(device)?,
        // SAFETY: `device` was just given by the driver.
        memory: unsafe { result::device::total_mem(device)? } as u64,
        capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        units: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.unsigned_abs(),
        driver: preflight::version_text(version),
    })
}

/// Why this host cannot run on CUDA, and what to do about it; `None` if it can.
pub fn why_not() -> Option<String> {
    let absent = preflight::driver().err().or_else(|| preflight::nvrtc().err())?;
    Some(format!("{}. {}", absent.why, absent.help))
}
