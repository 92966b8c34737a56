//! Copies between two streams, of one GPU or of two, without the host.

use crate::context::{OrDriver, Queue};
use crate::memory::{CudaMemory, address};
use cudarc::driver::sys::{self, CUevent, CUevent_flags};
use std::sync::Arc;
use workalike_device::{DeviceResult, Region};

/// An event, destroyed when it is dropped; work that waits for it still does.
struct Event<'q> {
    raw: CUevent,
    queue: &'q Queue,
}

impl<'q> Event<'q> {
    /// An event after all work enqueued so far.
    fn after(queue: &'q Queue) -> DeviceResult<Event<'q>> {
        queue.context.enter()?;
        let mut raw: CUevent = std::ptr::null_mut();
        let flags = CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: the event is written to `raw`.
        unsafe { sys::cuEventCreate(&mut raw, flags) }.or_driver(queue.id(), "cuEventCreate")?;
        let event = Event { raw, queue };
        // SAFETY: event and stream are of the context that is current.
        unsafe { sys::cuEventRecord(raw, queue.stream.cu_stream()) }
            .or_driver(queue.id(), "cuEventRecord")?;
        Ok(event)
    }

    /// Lets the work that another stream enqueues next wait for it.
    fn before(&self, queue: &Queue) -> DeviceResult<()> {
        queue.context.enter()?;
        // SAFETY: both are valid; they may be of different contexts.
        unsafe { sys::cuStreamWaitEvent(queue.stream.cu_stream(), self.raw, 0) }
            .or_driver(queue.id(), "cuStreamWaitEvent")
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        let context = &self.queue.context;
        if context.enter_drop() {
            // SAFETY: the event is valid, and destroyed once.
            context.park(unsafe { sys::cuEventDestroy_v2(self.raw) }.result());
        }
    }
}

/// Enqueues a copy from memory of another stream: after that stream's work so far, and before its next, so
/// that the memory may be freed or written again there. False if it is not CUDA's memory.
pub(crate) fn copy(queue: &Arc<Queue>, source: &Region, target: &Region) -> DeviceResult<bool> {
    let Some(memory) = source.memory.downcast::<CudaMemory>() else { return Ok(false) };
    let from = memory.queue();
    let (at, to) = (address(from, source, "copy_from_peer")?, address(queue, target, "copy_from_peer")?);
    if source.bytes == 0 {
        return Ok(true);
    }
    Event::after(from)?.before(queue)?;
    let contexts = [queue, from].map(|queue| queue.context.cuda.cu_ctx());
    // SAFETY: both regions lie in memory of their contexts, and the streams keep it until the copy is done.
    unsafe {
        sys::cuMemcpyPeerAsync(
            to,
            contexts[0],
            at,
            contexts[1],
            source.bytes as usize,
            queue.stream.cu_stream(),
        )
    }
    .or_driver(queue.id(), "cuMemcpyPeerAsync")?;
    Event::after(queue)?.before(from)?;
    queue.context.enter()?;
    Ok(true)
}
