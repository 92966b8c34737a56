//! Device memory: one OpenCL buffer per allocation. A region is bound to a kernel as the buffer and an
//! offset.

use crate::cl::{self, Buffer, Handle};
use crate::context::OpenClContext;
use crate::queues::Queues;
use ocl::ffi::{self, cl_int};
use std::fmt;
use std::ptr;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, Memory, Owner, Region};

/// An allocation. It may be dropped early: OpenCL deletes a buffer when no enqueued command uses it any more.
#[derive(Debug)]
pub(crate) struct OpenClMemory {
    buffer: Handle<Buffer>,
    bytes: u64,
    /// Of another library's memory.
    _owner: Option<DeferredOwner>,
    /// Declared after the buffer, so that it is released after it.
    context: Arc<OpenClContext>,
}

/// An [`Owner`], which is dropped once the enqueued commands are done: they keep the buffer alive, but not
/// memory of the host behind it.
struct DeferredOwner {
    _owner: Owner,
    queues: Arc<Queues>,
}

impl Drop for DeferredOwner {
    fn drop(&mut self) {
        // An error cannot be reported here, and shows when the queue is used again.
        let _ = self.queues.finish();
    }
}

impl fmt::Debug for DeferredOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another library")
    }
}

impl Memory for OpenClMemory {
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl OpenClMemory {
    /// New memory of at least one byte.
    pub(crate) fn allocate(context: &Arc<OpenClContext>, bytes: u64) -> DeviceResult<OpenClMemory> {
        const CALL: &str = "clCreateBuffer";
        let device = &context.id;
        let info = &context.info;
        let bytes = bytes.max(1);
        let size = usize::try_from(bytes).ok().filter(|_| bytes <= info.largest_allocation);
        let Some(size) = size else {
            let available =
                format!("the largest allocation is {} of {}", info.largest_allocation, info.memory);
            return Err(DeviceError::OutOfMemory { device: device.clone(), requested: bytes, available });
        };
        let mut status: cl_int = 0;
        // SAFETY: the context is valid; no host memory is passed.
        let raw = unsafe {
            ffi::clCreateBuffer(
                context.handle.raw(),
                ffi::CL_MEM_READ_WRITE,
                size,
                ptr::null_mut(),
                &mut status,
            )
        };
        cl::check_memory(device, CALL, status, bytes)?;
        // SAFETY: a new buffer, or null.
        let buffer = unsafe { Handle::created(raw, device, CALL, status) }?;
        Ok(OpenClMemory { buffer, bytes, _owner: None, context: context.clone() })
    }

    /// Another library's buffer, of which we have a reference.
    pub(crate) fn adopted(
        context: &Arc<OpenClContext>,
        queues: &Arc<Queues>,
        buffer: Handle<Buffer>,
        bytes: u64,
        owner: Owner,
    ) -> OpenClMemory {
        let owner = DeferredOwner { _owner: owner, queues: queues.clone() };
        OpenClMemory { buffer, bytes, _owner: Some(owner), context: context.clone() }
    }
}

/// A region that was checked to lie within a memory of the context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    memory: &'a OpenClMemory,
    /// Byte offset within `memory`.
    pub(crate) offset: usize,
    /// Size in bytes.
    pub(crate) bytes: usize,
}

impl<'a> Span<'a> {
    /// Checks a region; `call` is the call that the error names.
    pub(crate) fn of(region: &'a Region, context: &Arc<OpenClContext>, call: &str) -> DeviceResult<Span<'a>> {
        let refuse = |message: String| Err(DeviceError::driver(&context.id, call, message));
        let Some(memory) = region.memory.downcast::<OpenClMemory>() else {
            return refuse(format!("the memory {:?} is not of an OpenCL device", region.memory));
        };
        if !Arc::ptr_eq(&memory.context, context) {
            return refuse(format!("the memory is of another device, {}", memory.context.id));
        }
        let (Region { offset, bytes, .. }, all) = (region, memory.bytes);
        if offset.checked_add(*bytes).is_none_or(|end| end > all) {
            return refuse(format!("{bytes} bytes at {offset} are not within a memory of {all}"));
        }
        // No truncation: both are at most the buffer's size, which was a usize.
        Ok(Span { memory, offset: *offset as usize, bytes: *bytes as usize })
    }

    /// The buffer. The span starts at `offset` in it.
    pub(crate) fn raw(&self) -> ffi::cl_mem {
        self.memory.buffer.raw()
    }
}
