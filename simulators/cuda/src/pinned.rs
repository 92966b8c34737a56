//! Host memory that the device copies to directly: page-locked, cached because the host reads it, and lent to
//! the engine, which pools it. A download to it is one copy, at the speed of the bus, with no page touched
//! for the first time.
//!
//! Where it lies is kept in a list per device object, so that a download can tell such memory from any other.

use crate::context::{Context, OrDriver, Queue, lock};
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdeviceptr};
use std::collections::BTreeMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use workalike_device::{DeviceResult, HostBlock};

/// Bytes that may be page-locked at a time for one device object. What is page-locked is lost to the rest of
/// the system.
const MOST: usize = 4 << 30;

/// The page-locked memory of a device object: lengths by address.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    ranges: Mutex<BTreeMap<usize, usize>>,
}

/// One allocation.
struct Pinned {
    context: Arc<Context>,
    pins: Arc<Pins>,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: plain bytes that the value alone owns; page-locked memory may be used from any thread, and only
// `&mut` writes to it. A download holds that `&mut` until the device's copy has ended.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pins {
    /// New memory, zeroed; `None` where there is none left, or enough is page-locked.
    pub(crate) fn allocate(
        self: &Arc<Pins>,
        context: &Arc<Context>,
        bytes: usize,
    ) -> Option<Box<dyn HostBlock>> {
        let bytes = bytes.max(1);
        // Other threads may go a little beyond, which is no harm.
        let held: usize = lock(&self.ranges).values().sum();
        // An error that was parked stays for the next call that reports errors.
        if held.checked_add(bytes)? > MOST || !context.enter_drop() {
            return None;
        }
        // SAFETY: the context is current. Flags 0: cached, not write-combined.
        let start = NonNull::new(unsafe { result::malloc_host(bytes, 0) }.ok()?.cast::<u8>())?;
        // SAFETY: the allocation is that long. Zeroed, so that no one ever reads uninitialized bytes.
        unsafe { start.write_bytes(0, bytes) };
        lock(&self.ranges).insert(start.addr().get(), bytes);
        Some(Box::new(Pinned { context: context.clone(), pins: self.clone(), start, bytes }))
    }

    /// Whether all of a slice lies in one of these allocations.
    pub(crate) fn hold(&self, slice: &[u8]) -> bool {
        let (first, end) = (slice.as_ptr().addr(), slice.as_ptr().addr() + slice.len());
        let ranges = lock(&self.ranges);
        ranges.range(..=first).next_back().is_some_and(|(start, bytes)| end <= start + bytes)
    }
}

/// Copies from the device to memory that [`Pins::hold`], after all that was enqueued before; returns when
/// `target` is filled. The context must be current, and `target.len()` bytes at `source` be memory of the
/// queue.
pub(crate) fn download(queue: &Queue, source: CUdeviceptr, target: &mut [u8]) -> DeviceResult<()> {
    let stream = queue.stream.cu_stream();
    // SAFETY: both sides hold `target.len()` bytes, and `target` is borrowed until the stream has passed the
    // copy.
    let enqueued =
        unsafe { sys::cuMemcpyDtoHAsync_v2(target.as_mut_ptr().cast(), source, target.len(), stream) };
    // Whatever the call answered, nothing writes to `target` once this returns.
    let waited = queue.synchronize();
    enqueued.or_driver(queue.id(), "cuMemcpyDtoHAsync")?;
    waited
}

impl HostBlock for Pinned {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the allocation is that long and was initialized; nobody writes to it while `self` is
        // shared.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nobody else has it while `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // First, because its address may be another's as soon as it is free.
        lock(&self.pins.ranges).remove(&self.start.addr().get());
        if !self.context.enter_drop() {
            return;
        }
        // SAFETY: it came from cuMemHostAlloc, is freed once, and downloads to it have ended.
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
