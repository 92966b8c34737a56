//! Device memory: allocated and freed in the order of the stream that uses it.
//!
//! Stream-ordered memory (`cuMemAllocAsync`) is freed after the work that was enqueued before the free, as
//! [`Memory`] requires, without a wait. Devices without memory pools (some virtual GPUs) allocate and free at
//! once; there the free waits for the stream first.

use crate::context::{OrDriver, Queue};
use cudarc::driver::sys::{CUdeviceptr, CUresult};
use cudarc::driver::{DriverError, result};
use std::any::Any;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, Memory, Region};

/// Minimum alignment of every allocation in bytes.
pub(crate) const ALIGNMENT: u64 = 256;

/// An allocation.
#[derive(Debug)]
pub(crate) struct CudaMemory {
    queue: Arc<Queue>,
    pointer: CUdeviceptr,
    bytes: u64,
    pooled: bool,
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
        Ok(Arc::new(CudaMemory { queue: queue.clone(), pointer, bytes, pooled }))
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
        // SAFETY: `pointer` was allocated by `new` in the way `pooled` says and is freed once, after the work
        // enqueued so far.
        context.park(unsafe {
            if self.pooled {
                result::free_async(self.pointer, stream)
            } else {
                result::stream::synchronize(stream).and_then(|()| result::free_sync(self.pointer))
            }
        });
    }
}

impl Memory for CudaMemory {
    fn bytes(&self) -> u64 {
        self.bytes
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The address of a region; an error if it is not memory of this queue, or reaches beyond it.
pub(crate) fn address(queue: &Arc<Queue>, region: &Region, what: &str) -> DeviceResult<CUdeviceptr> {
    let refuse = |message: String| Err(DeviceError::driver(queue.id(), what, message));
    let Some(memory) = region.memory.as_any().downcast_ref::<CudaMemory>() else {
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
