//! Page-locked host memory that the device copies to directly. It is cached, because the host reads it, and
//! the engine pools it. A download to it is one copy at the speed of the bus, without page faults.
//!
//! Each device object has a list of its page-locked allocations, by which a download recognizes them.

use crate::context::{OrDriver, PrimaryContext, Queue, lock};
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdeviceptr};
use std::collections::BTreeMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use workalike_device::{DeviceResult, HostBlock};

/// Maximum number of bytes that are page-locked at a time for one device object. The rest of the system
/// cannot use page-locked memory.
const MOST: usize = 4 << 30;

/// The page-locked memory of a device object: lengths by address.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    ranges: Mutex<BTreeMap<usize, usize>>,
}

/// One allocation.
struct Pinned {
    context: Arc<PrimaryContext>,
    pins: Arc<Pins>,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the value is the only owner of its bytes, and page-locked memory may be used from any thread.
unsafe impl Send for Pinned {}
// SAFETY: only `&mut` gives write access. A download holds the `&mut` until the device's copy has ended.
unsafe impl Sync for Pinned {}

impl Pins {
    /// New memory, zeroed; `None` if there is none left, or [`MOST`] bytes would be exceeded.
    pub(crate) fn allocate(
        self: &Arc<Pins>,
        context: &Arc<PrimaryContext>,
        bytes: usize,
    ) -> Option<Box<dyn HostBlock>> {
        let bytes = bytes.max(1);
        // Concurrent calls may exceed the limit a little, which is harmless.
        let held: usize = lock(&self.ranges).values().sum();
        // A parked error stays for the next call that can report it.
        if held.checked_add(bytes)? > MOST || !context.enter_drop() {
            return None;
        }
        let quiet = context.gate.quiet_if_any();
        // SAFETY: the context is current. Flags 0: cached, not write-combined.
        let start = NonNull::new(unsafe { result::malloc_host(bytes, 0) }.ok()?.cast::<u8>())?;
        drop(quiet);
        // SAFETY: the allocation has `bytes` bytes. Zeroed, so that uninitialized bytes are never read.
        unsafe { start.write_bytes(0, bytes) };
        lock(&self.ranges).insert(start.addr().get(), bytes);
        Some(Box::new(Pinned { context: context.clone(), pins: self.clone(), start, bytes }))
    }

    /// Whether a slice lies within one of these allocations.
    pub(crate) fn hold(&self, slice: &[u8]) -> bool {
        let (first, end) = (slice.as_ptr().addr(), slice.as_ptr().addr() + slice.len());
        let ranges = lock(&self.ranges);
        ranges.range(..=first).next_back().is_some_and(|(start, bytes)| end <= start + bytes)
    }
}

/// Copies from the device to memory for which [`Pins::hold`] is true, after all work enqueued before; returns
/// when `target` is filled. The context must be current, and `source` the address of `target.len()` bytes of
/// memory of the queue.
pub(crate) fn download(queue: &Queue, source: CUdeviceptr, target: &mut [u8]) -> DeviceResult<()> {
    let stream = queue.stream.cu_stream();
    // SAFETY: both sides hold `target.len()` bytes, and `target` is borrowed until the stream has passed the
    // copy.
    let enqueued =
        unsafe { sys::cuMemcpyDtoHAsync_v2(target.as_mut_ptr().cast(), source, target.len(), stream) };
    // Also after an error: nothing may write to `target` after the return.
    let waited = queue.synchronize();
    enqueued.or_driver(queue.id(), "cuMemcpyDtoHAsync")?;
    waited
}

impl HostBlock for Pinned {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the allocation has `self.bytes` initialized bytes; nothing writes to them while `self` is
        // borrowed, as writing takes `&mut self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the allocation has `self.bytes` initialized bytes; `&mut self` excludes all other access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Before the memory is freed, because another allocation may then get the same address.
        lock(&self.pins.ranges).remove(&self.start.addr().get());
        if !self.context.enter_drop() {
            return;
        }
        let _quiet = self.context.gate.quiet_if_any();
        // SAFETY: `start` came from cuMemHostAlloc, is freed once, and downloads to it have ended.
        self.context.park(unsafe { result::free_host(self.start.as_ptr().cast()) });
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} page-locked bytes", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slices_that_lie_within_are_held() {
        let bytes = [0u8; 64];
        let pins = Pins::default();
        lock(&pins.ranges).insert(bytes[16..].as_ptr().addr(), 32);
        for (first, end, held) in
            [(16, 48, true), (20, 30, true), (16, 49, false), (15, 20, false), (48, 64, false), (0, 8, false)]
        {
            assert_eq!(pins.hold(&bytes[first..end]), held, "{first}..{end}");
        }
    }
}
