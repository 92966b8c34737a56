//! Contexts, queues and buffers that another library made.

use crate::cl;
use crate::cl::{Buffer, Handle, Queue};
use crate::context::OpenClContext;
use crate::memory::OpenClMemory;
use crate::platform;
use crate::platform::PlatformDevice;
use crate::queues::Queues;
use ocl::ffi::{self, cl_int, cl_uint};
use std::ffi::c_void;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, NativeMemory, Owner};

/// A context, a device of it, and an in-order queue on that device, by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Foreign {
    pub(crate) context: usize,
    pub(crate) device: usize,
    pub(crate) queue: usize,
}

impl Foreign {
    /// The context and the queue, each with a reference of ours.
    pub(crate) fn open(&self) -> DeviceResult<(Arc<OpenClContext>, Handle<Queue>)> {
        let found = platform::of_handle(self.device as *mut c_void)?;
        let id = found.info.id();
        let context = retain(self.context, &id, "clRetainContext", ffi::clRetainContext)?;
        let queue = retain(self.queue, &id, "clRetainCommandQueue", ffi::clRetainCommandQueue)?;
        self.check_queue(&id, &queue)?;
        Ok((Arc::new(OpenClContext::foreign(PlatformDevice { near: None, ..found }, context)?), queue))
    }

    /// The queue is of this context and device, and runs commands in order.
    fn check_queue(&self, id: &str, queue: &Handle<Queue>) -> DeviceResult<()> {
        const CALL: &str = "clGetCommandQueueInfo";
        let ask = |question: cl_uint| {
            let query = |size, value, written| {
                // SAFETY: the queue is valid; `cl::info` passes `size` writable bytes at `value`, or none.
                unsafe { ffi::clGetCommandQueueInfo(queue.raw(), question, size, value, written) }
            };
            let answer = cl::info(query).map_err(|status| cl::error(id, CALL, status))?;
            Ok(cl::number(&answer).unwrap_or(0))
        };
        let wrong = |message: &str| Err(DeviceError::driver(id, "OpenCl::from_raw", message));
        if ask(ffi::CL_QUEUE_CONTEXT)? != self.context as u64 {
            return wrong("the queue belongs to another context");
        }
        if ask(ffi::CL_QUEUE_DEVICE)? != self.device as u64 {
            return wrong("the queue belongs to another device");
        }
        match ask(ffi::CL_QUEUE_PROPERTIES)? & ffi::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE {
            0 => Ok(()),
            _ => wrong("the queue runs commands out of order; expected one that runs them in order"),
        }
    }
}

/// Another reference to an object.
fn retain<K: cl::ClObject>(
    raw: usize,
    id: &str,
    call: &str,
    retain: unsafe extern "system" fn(*mut c_void) -> cl_int,
) -> DeviceResult<Handle<K>> {
    let raw = raw as *mut c_void;
    if raw.is_null() {
        return Err(DeviceError::driver(id, call, "the handle is null"));
    }
    // SAFETY: the caller of `OpenCl::from_raw` or of `adopt` promised a valid handle of this kind.
    let status = unsafe { retain(raw) };
    // SAFETY: the reference was just added, and is ours.
    unsafe { Handle::created(raw, id, call, status) }
}

/// See [`Device::adopt`](workalike_device::Device::adopt), whose promises the caller passes on.
pub(crate) fn adopt(
    context: &Arc<OpenClContext>,
    queues: &Arc<Queues>,
    memory: NativeMemory,
    bytes: u64,
    owner: Owner,
) -> DeviceResult<OpenClMemory> {
    const CALL: &str = "clGetMemObjectInfo";
    let id = &context.id;
    let NativeMemory::OpenCl { memory, offset: 0 } = memory else {
        let what = format!("memory that is no cl_mem from its first byte on ({memory:?})");
        return Err(DeviceError::Unsupported { device: id.clone(), what });
    };
    let buffer: Handle<Buffer> = retain(memory as usize, id, "clRetainMemObject", ffi::clRetainMemObject)?;
    let ask = |question: cl_uint| {
        let query = |size, value, written| {
            // SAFETY: the buffer is valid; `cl::info` passes `size` writable bytes at `value`, or none.
            unsafe { ffi::clGetMemObjectInfo(buffer.raw(), question, size, value, written) }
        };
        let answer = cl::info(query).map_err(|status| cl::error(id, CALL, status))?;
        Ok(cl::number(&answer).unwrap_or(0))
    };
    let wrong = |message: String| Err(DeviceError::driver(id, "adopt", message));
    if ask(ffi::CL_MEM_CONTEXT)? != context.handle.raw() as u64 {
        return wrong("the memory belongs to another OpenCL context".into());
    }
    let size = ask(ffi::CL_MEM_SIZE)?;
    if size < bytes {
        return wrong(format!("expected memory of {bytes} bytes, found {size}"));
    }
    Ok(OpenClMemory::adopted(context, queues, buffer, bytes, owner))
}
