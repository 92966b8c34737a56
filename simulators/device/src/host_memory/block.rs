//! One allocation of main memory, and its readers-writer lock.

use super::HostBytes;
use crate::device::DeviceResult;
use crate::error::DeviceError;
use std::alloc::{Layout, alloc, dealloc};
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;

/// Alignment of every allocation in bytes; sizes are rounded up to a multiple of it.
pub const ALIGNMENT: usize = 64;

/// Minimum size in bytes of allocations with huge pages, where the system has them: they reduce TLB misses
/// when memory is streamed.
const LARGE: usize = 2 * HUGE_PAGE;
const HUGE_PAGE: usize = 2 << 20;

/// Advises the system to use huge pages for memory that was not accessed yet. A failure has no effect.
fn advise_huge_pages(start: NonNull<u8>, bytes: usize) {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        const MADV_HUGEPAGE: std::ffi::c_int = 14;
        unsafe extern "C" {
            fn madvise(at: *mut std::ffi::c_void, bytes: usize, advice: std::ffi::c_int) -> std::ffi::c_int;
        }
        // SAFETY: the range is whole huge pages of our own allocation, aligned to them; the advice does not
        // change the contents. A refusal is no error.
        unsafe { madvise(start.as_ptr().cast(), bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE) };
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = (start, bytes);
}

/// One allocation and its lock.
pub(super) struct Allocation {
    start: NonNull<u8>,
    layout: Layout,
    pub(super) bytes: usize,
    /// 0: free; [`WRITER`]: locked by one writer; else the number of readers.
    state: AtomicU32,
    /// The threads that lent parts of the block, once for each [`BorrowedBytes`].
    lenders: Mutex<Vec<ThreadId>>,
}

const WRITER: u32 = u32::MAX;

// SAFETY: a Block is plain bytes, which may be accessed and freed by any thread.
unsafe impl Send for Allocation {}
// SAFETY: every access through `start` holds the lock in `state` (`Allocation::hold`, `BorrowedBytes` or a
// `LockSet`) or has the only handle, so the accesses of different threads are ordered by its acquire and
// release operations.
unsafe impl Sync for Allocation {}

impl Allocation {
    pub(super) fn new(bytes: u64) -> DeviceResult<Allocation> {
        let refused = || DeviceError::OutOfMemory {
            device: "host".into(),
            requested: bytes,
            available: format!("the machine has {} bytes", total_memory()),
        };
        if bytes > total_memory() {
            return Err(refused());
        }
        let bytes = usize::try_from(bytes.max(1)).map_err(|_| refused())?;
        let rounded = bytes.checked_next_multiple_of(ALIGNMENT).ok_or_else(refused)?;
        let align = if rounded < LARGE { ALIGNMENT } else { HUGE_PAGE };
        let layout = Layout::from_size_align(rounded, align).map_err(|_| refused())?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc(layout) }).ok_or_else(refused)?;
        if rounded >= LARGE {
            advise_huge_pages(start, rounded);
        }
        // SAFETY: the allocation has `rounded` bytes. Zeroed, so that uninitialized bytes are never read.
        unsafe { start.write_bytes(0, rounded) };
        Ok(Allocation { start, layout, bytes, state: AtomicU32::new(0), lenders: Mutex::default() })
    }

    /// The first byte. Valid for reads and writes up to the allocation's rounded size, while the lock is
    /// held.
    #[inline]
    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The address of a part; an error if the part reaches beyond the block.
    #[inline]
    pub(super) fn part(&self, offset: u64, bytes: u64, call: &str) -> DeviceResult<*mut u8> {
        match offset.checked_add(bytes) {
            // SAFETY: the offset is within the allocation.
            Some(end) if end <= self.bytes as u64 => Ok(unsafe { self.start().add(offset as usize) }),
            _ => Err(DeviceError::driver(
                "host",
                call,
                format!("{bytes} bytes at {offset} were asked for, of a memory of {} bytes", self.bytes),
            )),
        }
    }

    /// Locks the block until the guard is dropped.
    pub(super) fn hold(&self, write: bool) -> DeviceResult<Held<'_>> {
        self.acquire(write)?;
        Ok(Held { block: self, write })
    }

    /// Waits for the lock and takes it. An error if this thread has lent the block, which would deadlock.
    #[inline]
    pub(super) fn acquire(&self, write: bool) -> DeviceResult<()> {
        let mut turns = 0u32;
        loop {
            let now = self.state.load(Relaxed);
            let free = if write { now == 0 } else { now < WRITER - 1 };
            let next = if write { WRITER } else { now.wrapping_add(1) };
            if free && self.state.compare_exchange_weak(now, next, Acquire, Relaxed).is_ok() {
                return Ok(());
            }
            turns += 1;
            if turns == 100 && write && self.lenders().contains(&std::thread::current().id()) {
                let message = "this memory is lent to this thread, which would wait for itself; drop what `lend` gave before \
                               writing to it";
                return Err(DeviceError::driver("host", "write", message));
            }
            match turns {
                0..100 => std::hint::spin_loop(),
                100..1000 => std::thread::yield_now(),
                _ => {
                    turns = 1000;
                    std::thread::sleep(std::time::Duration::from_micros(50));
                }
            }
        }
    }

    fn lenders(&self) -> MutexGuard<'_, Vec<ThreadId>> {
        self.lenders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(super) fn release(&self, write: bool) {
        if write {
            self.state.store(0, Release);
        } else {
            self.state.fetch_sub(1, Release);
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and no references to it are left.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes)
    }
}

/// A locked [`Allocation`].
pub(super) struct Held<'a> {
    block: &'a Allocation,
    write: bool,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.block.release(self.write);
    }
}

/// Part of an [`Allocation`], which is locked for reading until this is dropped.
pub(super) struct BorrowedBytes {
    block: Arc<Allocation>,
    start: *const u8,
    bytes: usize,
    lender: ThreadId,
}

// SAFETY: a Lent only reads, under the block's lock, which any thread may release.
unsafe impl Send for BorrowedBytes {}
// SAFETY: a shared Lent only reads, under the block's lock.
unsafe impl Sync for BorrowedBytes {}

impl BorrowedBytes {
    pub(super) fn new(block: &Arc<Allocation>, offset: u64, bytes: u64) -> DeviceResult<BorrowedBytes> {
        let start = block.part(offset, bytes, "lend")?;
        block.acquire(false)?;
        let lender = std::thread::current().id();
        block.lenders().push(lender);
        Ok(BorrowedBytes { block: block.clone(), start, bytes: bytes as usize, lender })
    }
}

impl HostBytes for BorrowedBytes {
    fn bytes(&self) -> &[u8] {
        // SAFETY: `part` checked the range, and the lock, which is held as long as `self` lives, excludes
        // writers.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
}

impl Drop for BorrowedBytes {
    fn drop(&mut self) {
        let mut lenders = self.block.lenders();
        if let Some(at) = lenders.iter().position(|lender| *lender == self.lender) {
            lenders.swap_remove(at);
        }
        self.block.release(false);
    }
}

/// Bytes of memory of this machine; `isize::MAX` if the system does not say.
pub fn total_memory() -> u64 {
    static TOTAL: OnceLock<u64> = OnceLock::new();
    *TOTAL.get_or_init(|| {
        let kilobytes = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
            let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
            line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()
        });
        kilobytes.map_or(isize::MAX as u64, |k| k.saturating_mul(1024))
    })
}
