//! Device memory: allocated and freed in the order of the stream that uses it.
//!
//! Stream-ordered memory (`cuMemAllocAsync`) is freed after the work that was enqueued before the free, as
//! [`Memory`] requires, without a wait. Devices without memory pools (some virtual GPUs) allocate and free at
//! once; there the free waits for the stream first.

use crate::context::{OrDriver, Queue};
use cudarc::driver::sys::{self, CUcontext, CUdeviceptr, CUpointer_attribute, CUresult};
use cudarc::driver::{CudaModule, DevicePtr, DriverError, result};
use std::fmt;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, Memory, Owner, Region};

/// Minimum alignment of every allocation in bytes.
pub(crate) const ALIGNMENT: u64 = 256;

/// An allocation.
#[derive(Debug)]
pub(crate) struct CudaMemory {
    queue: Arc<Queue>,
    pointer: CUdeviceptr,
    bytes: u64,
    origin: MemoryOrigin,
}

/// Where memory comes from.
enum MemoryOrigin {
    /// Allocated and freed in the order of the stream.
    Pooled,
    /// Allocated and freed at once.
    Direct,
    /// Another library's, whose owner is dropped with it.
    Foreign(#[expect(dead_code, reason = "it is only dropped")] Owner),
}

impl fmt::Debug for MemoryOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MemoryOrigin::Pooled => "pooled",
            MemoryOrigin::Direct => "direct",
            MemoryOrigin::Foreign(_) => "another library",
        })
    }
}

impl CudaMemory {
    /// Allocates; the context must be current.
    pub(crate) fn new(queue: &Arc<Queue>, bytes: u64) -> DeviceResult<Arc<CudaMemory>> {
        let size = usize::try_from(bytes.max(1)).map_err(|_| out_of_memory(queue, bytes))?;
        let pooled = queue.context.cuda.has_async_alloc();
        let allocate = || {
            // SAFETY: the memory is handed out uninitialized, as bytes, and used on this stream only.
            unsafe {
                if pooled {
                    result::malloc_async(queue.stream.cu_stream(), size)
                } else {
                    result::malloc_sync(size)
                }
            }
        };
        let mut pointer = allocate();
        if is_out_of_memory(&pointer) {
            // Enqueued frees take effect once the stream has reached them.
            queue.synchronize()?;
            pointer = allocate();
        }
        if is_out_of_memory(&pointer) {
            return Err(out_of_memory(queue, bytes));
        }
        let call = if pooled { "cuMemAllocAsync" } else { "cuMemAlloc" };
        let pointer = pointer.or_driver(queue.id(), call)?;
        let origin = if pooled { MemoryOrigin::Pooled } else { MemoryOrigin::Direct };
        Ok(Arc::new(CudaMemory { queue: queue.clone(), pointer, bytes, origin }))
    }

    /// A variable of a module, which lives as long as the module.
    pub(crate) fn of_module(
        queue: &Arc<Queue>,
        module: &Arc<CudaModule>,
        name: &str,
    ) -> DeviceResult<Region> {
        let call = format!("cuModuleGetGlobal({name})");
        let found = module.get_global(name, &queue.stream).or_driver(queue.id(), &call)?;
        let (pointer, bytes) = (found.device_ptr(&queue.stream).0, found.len() as u64);
        let origin = MemoryOrigin::Foreign(Box::new(module.clone()));
        // A variable is aligned to its elements only: as a part of aligned memory, kernels that need more
        // refuse it.
        let offset = pointer % ALIGNMENT;
        let (pointer, all) = (pointer - offset, bytes + offset);
        let memory = Arc::new(CudaMemory { queue: queue.clone(), pointer, bytes: all, origin });
        Ok(Region { memory, offset, bytes })
    }

    /// Memory of another library, if it is of this context; the context must be current.
    pub(crate) fn adopted(
        queue: &Arc<Queue>,
        pointer: CUdeviceptr,
        bytes: u64,
        owner: Owner,
    ) -> DeviceResult<Arc<CudaMemory>> {
        const CALL: &str = "cuPointerGetAttribute";
        let mut context: CUcontext = std::ptr::null_mut();
        let mut ordinal: i32 = -1;
        // SAFETY: each attribute is written to a variable of its size.
        unsafe {
            let (of, at) = (CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT, (&raw mut context).cast());
            sys::cuPointerGetAttribute(at, of, pointer).or_driver(queue.id(), CALL)?;
            let (of, at) =
                (CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (&raw mut ordinal).cast());
            sys::cuPointerGetAttribute(at, of, pointer).or_driver(queue.id(), CALL)?;
        }
        // Memory that is allocated in the order of a stream, or mapped, belongs to a device and no context.
        let own = match context.is_null() {
            true => usize::try_from(ordinal) == Ok(queue.context.cuda.ordinal()),
            false => context == queue.context.cuda.cu_ctx(),
        };
        if !own {
            let message = "the memory belongs to another device or context";
            return Err(DeviceError::driver(queue.id(), "adopt", message));
        }
        let origin = MemoryOrigin::Foreign(owner);
        Ok(Arc::new(CudaMemory { queue: queue.clone(), pointer, bytes, origin }))
    }

    /// The stream in whose order it is used.
    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// The address.
    pub(crate) fn pointer(&self) -> CUdeviceptr {
        self.pointer
    }
}

fn is_out_of_memory<T>(outcome: &Result<T, DriverError>) -> bool {
    matches!(outcome, Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)))
}

fn out_of_memory(queue: &Queue, requested: u64) -> DeviceError {
    let available = match result::mem_get_info() {
        Ok((free, total)) => format!("{free} of {total} bytes are free"),
        Err(_) => "how much is free could not be asked".into(),
    };
    DeviceError::OutOfMemory { device: queue.id().into(), requested, available }
}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        let context = &self.queue.context;
        if !context.enter_drop() {
            return;
        }
        let stream = self.queue.stream.cu_stream();
        // SAFETY: `pointer` was allocated by `new` in the way `origin` says and is freed once, after the work
        // enqueued so far. Another library's memory is not freed, but its owner dropped: after that work, or
        // on the library's own stream at once, since what it does next is in order.
        context.park(unsafe {
            match self.origin {
                MemoryOrigin::Pooled => result::free_async(self.pointer, stream),
                MemoryOrigin::Direct => {
                    result::stream::synchronize(stream).and_then(|()| result::free_sync(self.pointer))
                }
                MemoryOrigin::Foreign(_) if self.queue.borrowed => Ok(()),
                MemoryOrigin::Foreign(_) => result::stream::synchronize(stream),
            }
        });
    }
}

impl Memory for CudaMemory {
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The address of a region; an error if it is not memory of this queue, or reaches beyond it.
pub(crate) fn address(queue: &Arc<Queue>, region: &Region, what: &str) -> DeviceResult<CUdeviceptr> {
    let refuse = |message: String| Err(DeviceError::driver(queue.id(), what, message));
    let Some(memory) = region.memory.downcast::<CudaMemory>() else {
        return refuse("the memory belongs to another kind of device".into());
    };
    if !Arc::ptr_eq(&memory.queue, queue) {
        return refuse("the memory belongs to another device object".into());
    }
    match region.offset.checked_add(region.bytes) {
        Some(end) if end <= memory.bytes => Ok(memory.pointer + region.offset),
        _ => refuse(format!(
            "a region of {} bytes at {} reaches beyond its memory of {} bytes",
            region.bytes, region.offset, memory.bytes
        )),
    }
}
