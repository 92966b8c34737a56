//! The driver's own objects behind a device and its memory, for programs that use other libraries beside it.

use std::any::Any;
use std::ffi::c_void;

/// The driver's objects behind a device. They stay the device's: release none of them.
///
/// Work that another library enqueues on the stream or queue runs in order with the device's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NativeDevice {
    /// Main memory. Work is done when a call returns.
    Host,
    /// CUDA.
    Cuda {
        /// The device's number.
        ordinal: usize,
        /// `CUcontext`.
        context: *mut c_void,
        /// `CUstream`.
        stream: *mut c_void,
    },
    /// OpenCL.
    OpenCl {
        /// `cl_context`.
        context: *mut c_void,
        /// `cl_device_id`.
        device: *mut c_void,
        /// `cl_command_queue`, in order.
        queue: *mut c_void,
    },
}

/// Where memory lies, in the terms of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NativeMemory {
    /// An address in main memory.
    Host(*mut u8),
    /// `CUdeviceptr`.
    Cuda(u64),
    /// `cl_mem`, and the first byte in it.
    OpenCl {
        /// `cl_mem`.
        memory: *mut c_void,
        /// The first byte.
        offset: u64,
    },
}

/// What keeps another library's memory alive. It is dropped when no enqueued work uses the memory any more.
pub type Owner = Box<dyn Any + Send + Sync>;
