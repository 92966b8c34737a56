//! Copies between the host and the device, through pinned memory.
//!
//! The host's arrays are pageable: the driver would copy them through its own pinned memory, and wait for
//! each copy. Here the host fills a ring of slots while the device still reads earlier slots. An event is
//! recorded after the copy that uses a slot, and the slot is used again only after that event. Slots start
//! small and grow as needed up to [`SLOT`] bytes each, 64 MiB in all; larger copies are split into pieces.
//! The slots are not write-combined, because the host reads them too.

use crate::context::{OrDriver, Queue, lock};
use cudarc::driver::sys::{self, CUdeviceptr};
use cudarc::driver::{CudaEvent, result};
use std::collections::VecDeque;
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex};
use workalike_device::DeviceResult;

/// Maximum size of a slot, and so of a piece, in bytes.
const SLOT: usize = 8 << 20;
/// Number of slots.
const SLOTS: usize = 8;
/// Minimum size of a slot in bytes.
const SMALLEST: usize = 64 << 10;

/// The ring of a device object.
pub(crate) struct Staging {
    queue: Arc<Queue>,
    ring: Mutex<Ring>,
}

struct Ring {
    slots: Vec<StagingSlot>,
    next: usize,
}

/// Pinned host memory and the event after its last use.
struct StagingSlot {
    queue: Arc<Queue>,
    host: *mut u8,
    capacity: usize,
    done: CudaEvent,
    pending: bool,
}

// SAFETY: the pointer is to pinned memory owned by the slot alone; pinned memory may be used from any thread.
unsafe impl Send for StagingSlot {}

impl Staging {
    /// An empty ring; pins nothing yet.
    pub(crate) fn new(queue: Arc<Queue>) -> Staging {
        Staging { queue, ring: Mutex::new(Ring { slots: Vec::new(), next: 0 }) }
    }

    /// Enqueues a copy to the device. The caller may change `source` after the return. The context must be
    /// current, and `target` the address of `source.len()` bytes of memory of the queue.
    pub(crate) fn upload(&self, source: &[u8], mut target: CUdeviceptr) -> DeviceResult<()> {
        let mut ring = lock(&self.ring);
        for piece in source.chunks(SLOT) {
            let at = ring.free_slot(&self.queue, piece.len())?;
            let slot = &mut ring.slots[at];
            // SAFETY: the slot holds at least `piece.len()` bytes that no copy uses any more.
            unsafe { ptr::copy_nonoverlapping(piece.as_ptr(), slot.host, piece.len()) };
            slot.pending = true;
            let stream = self.queue.stream.cu_stream();
            // SAFETY: both sides hold `piece.len()` bytes; the slot is left alone until its event has passed.
            unsafe { sys::cuMemcpyHtoDAsync_v2(target, slot.host.cast(), piece.len(), stream) }
                .or_driver(self.queue.id(), "cuMemcpyHtoDAsync")?;
            slot.mark()?;
            target += piece.len() as u64;
        }
        Ok(())
    }

    /// Copies from the device, after all work enqueued before; returns when `target` is filled. The context
    /// must be current, and `source` the address of `target.len()` bytes of memory of the queue.
    pub(crate) fn download(&self, mut source: CUdeviceptr, target: &mut [u8]) -> DeviceResult<()> {
        let mut ring = lock(&self.ring);
        let mut in_flight = VecDeque::with_capacity(SLOTS);
        for piece in target.chunks_mut(SLOT) {
            if in_flight.len() == SLOTS {
                finish_download(&mut ring, in_flight.pop_front())?;
            }
            let at = ring.free_slot(&self.queue, piece.len())?;
            let slot = &mut ring.slots[at];
            slot.pending = true;
            let stream = self.queue.stream.cu_stream();
            // SAFETY: both sides hold `piece.len()` bytes; the slot is left alone until its event has passed.
            unsafe { sys::cuMemcpyDtoHAsync_v2(slot.host.cast(), source, piece.len(), stream) }
                .or_driver(self.queue.id(), "cuMemcpyDtoHAsync")?;
            slot.mark()?;
            source += piece.len() as u64;
            in_flight.push_back((at, piece));
        }
        while !in_flight.is_empty() {
            finish_download(&mut ring, in_flight.pop_front())?;
        }
        Ok(())
    }
}

/// Waits for the copy of a piece to its slot, then copies it from the slot to its target.
fn finish_download(ring: &mut Ring, piece: Option<(usize, &mut [u8])>) -> DeviceResult<()> {
    let Some((at, piece)) = piece else { return Ok(()) };
    let slot = &mut ring.slots[at];
    slot.wait()?;
    // SAFETY: the slot holds at least `piece.len()` bytes, written by a copy that has ended.
    unsafe { ptr::copy_nonoverlapping(slot.host, piece.as_mut_ptr(), piece.len()) };
    Ok(())
}

impl Ring {
    /// The next slot in turn, free to use and of at least `bytes` bytes.
    fn free_slot(&mut self, queue: &Arc<Queue>, bytes: usize) -> DeviceResult<usize> {
        let at = self.next;
        self.next = (self.next + 1) % SLOTS;
        if at == self.slots.len() {
            self.slots.push(StagingSlot::new(queue, bytes)?);
        }
        self.slots[at].wait()?;
        if self.slots[at].capacity < bytes {
            self.slots[at] = StagingSlot::new(queue, bytes)?;
        }
        Ok(at)
    }
}

impl StagingSlot {
    fn new(queue: &Arc<Queue>, bytes: usize) -> DeviceResult<StagingSlot> {
        let done = queue.context.cuda.new_event(None).or_driver(queue.id(), "cuEventCreate")?;
        let capacity = bytes.next_power_of_two().clamp(SMALLEST, SLOT);
        let _quiet = queue.context.gate.quiet_if_any();
        // SAFETY: the memory is only ever written before it is read. Flags 0: cached, because the host reads
        // it.
        let host = unsafe { result::malloc_host(capacity, 0) }.or_driver(queue.id(), "cuMemHostAlloc")?;
        Ok(StagingSlot { queue: queue.clone(), host: host.cast(), capacity, done, pending: false })
    }

    /// Records that the copy just enqueued is the slot's last use.
    fn mark(&mut self) -> DeviceResult<()> {
        let marked = self.done.record(&self.queue.stream);
        if marked.is_err() {
            // Without the event, only the stream itself can say when the slot is free.
            self.queue.synchronize()?;
            self.pending = false;
        }
        marked.or_driver(self.queue.id(), "cuEventRecord")
    }

    /// Waits until the slot's last copy has ended.
    fn wait(&mut self) -> DeviceResult<()> {
        if self.pending {
            self.done.synchronize().or_driver(self.queue.id(), "cuEventSynchronize")?;
            self.pending = false;
        }
        Ok(())
    }
}

impl Drop for StagingSlot {
    fn drop(&mut self) {
        let context = &self.queue.context;
        if !context.enter_drop() {
            return;
        }
        let waited = match self.pending {
            // SAFETY: the stream is alive.
            true => unsafe { result::stream::synchronize(self.queue.stream.cu_stream()) },
            false => Ok(()),
        };
        let _quiet = context.gate.quiet_if_any();
        // SAFETY: the memory came from cuMemHostAlloc, is freed once, and no copy uses it after the wait.
        context.park(waited.and_then(|()| unsafe { result::free_host(self.host.cast()) }));
    }
}

impl fmt::Debug for Staging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staging").field("slots", &lock(&self.ring).slots.len()).finish()
    }
}
