//! Memory of the host device: aligned, shared, and guarded by a lock that a replay takes once.

use crate::error::DeviceError;
use crate::rehost::device::{DeviceResult, Memory, Region};
use crate::value::HostBytes;
use std::alloc::{Layout, alloc, dealloc};
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;

/// Every allocation starts at a multiple of this, and is as long as a multiple of it.
pub(super) const ALIGNMENT: usize = 64;

/// Allocations from this size on are given huge pages where the system has them: streams through memory then seldom wait for
/// the address of a page.
const LARGE: usize = 2 * HUGE_PAGE;
const HUGE_PAGE: usize = 2 << 20;

/// A hint for memory that was not touched yet; a system that does not take it loses nothing.
fn ask_for_huge_pages(start: NonNull<u8>, bytes: usize) {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        const MADV_HUGEPAGE: std::ffi::c_int = 14;
        unsafe extern "C" {
            fn madvise(at: *mut std::ffi::c_void, bytes: usize, advice: std::ffi::c_int) -> std::ffi::c_int;
        }
        // SAFETY: whole huge pages of an allocation of ours, aligned to them; the advice changes no contents. It may be
        // refused, which is no error.
        unsafe { madvise(start.as_ptr().cast(), bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE) };
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = (start, bytes);
}

/// Bytes of main memory in use by nobody but whoever holds it; 64-byte aligned.
///
/// It can be read and written through a shared reference, from any thread. Readers and writers exclude each other: a replay
/// holds all the memories it touches for as long as it runs, [`HostMemory::read`] and [`HostMemory::write`] hold theirs for
/// the copy. A shared variable's value lives in such memory and is bound to recordings directly.
#[derive(Debug)]
pub struct HostMemory {
    block: Arc<Block>,
}

impl HostMemory {
    /// New memory, zeroed; at least one byte. [`DeviceError::OutOfMemory`] if the machine has no room for it.
    pub fn new(bytes: u64) -> DeviceResult<HostMemory> {
        Ok(HostMemory { block: Arc::new(Block::new(bytes)?) })
    }

    /// New memory that holds a copy of `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> DeviceResult<HostMemory> {
        let memory = HostMemory::new(bytes.len() as u64)?;
        memory.write(0, bytes)?;
        Ok(memory)
    }

    /// Another handle to memory of the host device; `None` if it is another device's.
    pub(crate) fn of(memory: &dyn Memory) -> Option<HostMemory> {
        let memory = memory.as_any().downcast_ref::<HostMemory>()?;
        Some(HostMemory { block: memory.block.clone() })
    }

    /// Copies bytes from `offset` on into `target`.
    pub fn read(&self, offset: u64, target: &mut [u8]) -> DeviceResult<()> {
        let source = self.block.part(offset, target.len() as u64, "read")?;
        let _held = self.block.hold(false)?;
        // SAFETY: `part` checked the range; the lock keeps writers away; `target` is the caller's own.
        unsafe { std::ptr::copy_nonoverlapping(source, target.as_mut_ptr(), target.len()) };
        Ok(())
    }

    /// Copies `source` to `offset`. Waits for readers on other threads; what this thread lent is an error.
    pub fn write(&self, offset: u64, source: &[u8]) -> DeviceResult<()> {
        let target = self.block.part(offset, source.len() as u64, "write")?;
        let _held = self.block.hold(true)?;
        // SAFETY: `part` checked the range; the lock keeps everyone else away; `source` is an ordinary slice, which nothing
        // that this memory hands out can overlap.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), target, source.len()) };
        Ok(())
    }
}

impl Memory for HostMemory {
    fn bytes(&self) -> u64 {
        self.block.bytes as u64
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The block behind a region, after checking that the region lies within it.
pub(super) fn block_of<'a>(region: &'a Region, call: &str) -> DeviceResult<&'a Arc<Block>> {
    let Some(memory) = region.memory.as_any().downcast_ref::<HostMemory>() else {
        return Err(DeviceError::driver("host", call, "the memory belongs to another device"));
    };
    memory.block.part(region.offset, region.bytes, call)?;
    Ok(&memory.block)
}

/// One allocation and its lock.
pub(super) struct Block {
    start: NonNull<u8>,
    layout: Layout,
    bytes: usize,
    /// 0: free; [`WRITER`]: held by one writer; else the number of readers.
    state: AtomicU32,
    /// The threads that lent it, once for each [`Lent`].
    lenders: Mutex<Vec<ThreadId>>,
}

const WRITER: u32 = u32::MAX;

// SAFETY: a Block is plain bytes. Whoever reads or writes them through `start` holds `state` for as long (`Block::hold`, or a
// recording's `Holds`), so accesses of different threads are ordered by its acquire and release operations.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    pub(super) fn new(bytes: u64) -> DeviceResult<Block> {
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
            ask_for_huge_pages(start, rounded);
        }
        // SAFETY: the allocation is that long. Zeroed, so that no one ever reads uninitialized bytes.
        unsafe { start.write_bytes(0, rounded) };
        Ok(Block { start, layout, bytes, state: AtomicU32::new(0), lenders: Mutex::default() })
    }

    /// The first byte. Valid for reads and writes up to the allocation's rounded size, while it is held.
    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The address of a part, checked.
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

    /// Holds this block until the guard is dropped.
    pub(super) fn hold(&self, write: bool) -> DeviceResult<Held<'_>> {
        self.acquire(write)?;
        Ok(Held { block: self, write })
    }

    /// Waits until it is free. An error if it never can be, for this thread lent what it wants to write.
    fn acquire(&self, write: bool) -> DeviceResult<()> {
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

    fn release(&self, write: bool) {
        if write {
            self.state.store(0, Release);
        } else {
            self.state.fetch_sub(1, Release);
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and nobody refers to it any more.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes)
    }
}

/// A held [`Block`].
pub(super) struct Held<'a> {
    block: &'a Block,
    write: bool,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.block.release(self.write);
    }
}

/// Part of a [`Block`], which is held for reading until this is dropped.
pub(super) struct Lent {
    block: Arc<Block>,
    start: *const u8,
    bytes: usize,
    lender: ThreadId,
}

// SAFETY: a Lent only reads, and holds the block's lock, which any thread may release.
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}

impl Lent {
    pub(super) fn new(block: &Arc<Block>, offset: u64, bytes: u64) -> DeviceResult<Lent> {
        let start = block.part(offset, bytes, "lend")?;
        block.acquire(false)?;
        let lender = std::thread::current().id();
        block.lenders().push(lender);
        Ok(Lent { block: block.clone(), start, bytes: bytes as usize, lender })
    }
}

impl HostBytes for Lent {
    fn bytes(&self) -> &[u8] {
        // SAFETY: `part` checked the range, and the lock, which is held as long as this lives, keeps writers away.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut lenders = self.block.lenders();
        if let Some(at) = lenders.iter().position(|lender| *lender == self.lender) {
            lenders.swap_remove(at);
        }
        self.block.release(false);
    }
}

/// The blocks that a recording touches: each once, in the order of their addresses, so that two recordings never wait for
/// each other.
#[derive(Debug, Default)]
pub(super) struct Holds {
    blocks: Vec<(Arc<Block>, bool)>,
}

impl Holds {
    pub(super) fn add(&mut self, block: &Arc<Block>, write: bool) {
        match self.blocks.binary_search_by_key(&block.start(), |(b, _)| b.start()) {
            Ok(at) => self.blocks[at].1 |= write,
            Err(at) => self.blocks.insert(at, (block.clone(), write)),
        }
    }

    /// Holds them all until the guard is dropped; none of them after an error.
    pub(super) fn hold(&self) -> DeviceResult<HeldAll<'_>> {
        let mut held = HeldAll(&self.blocks[..0]);
        for (at, (block, write)) in self.blocks.iter().enumerate() {
            block.acquire(*write)?;
            held.0 = &self.blocks[..=at];
        }
        Ok(held)
    }
}

/// All blocks of a [`Holds`], held.
pub(super) struct HeldAll<'a>(&'a [(Arc<Block>, bool)]);

impl Drop for HeldAll<'_> {
    fn drop(&mut self) {
        for (block, write) in self.0 {
            block.release(*write);
        }
    }
}

/// Bytes of memory of this machine; where it cannot be asked, all that could be addressed.
pub(super) fn total_memory() -> u64 {
    static TOTAL: OnceLock<u64> = OnceLock::new();
    *TOTAL.get_or_init(|| {
        let kilobytes = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
            let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
            line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()
        });
        kilobytes.map_or(isize::MAX as u64, |k| k.saturating_mul(1024))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_bounds_are_checked() {
        let memory = HostMemory::from_bytes(&[1, 2, 3]).unwrap();
        assert_eq!(memory.block.start() as usize % ALIGNMENT, 0);
        memory.write(1, &[9]).unwrap();
        let mut back = [0; 3];
        memory.read(0, &mut back).unwrap();
        assert_eq!(back, [1, 9, 3]);
        assert!(memory.read(2, &mut [0; 2]).is_err());
        assert!(memory.write(u64::MAX, &[0]).is_err());
        assert!(memory.read(3, &mut []).is_ok());
    }

    #[test]
    fn absurd_sizes_are_refused() {
        for bytes in [u64::MAX, u64::MAX / 2, 1 << 50] {
            assert!(
                matches!(HostMemory::new(bytes), Err(DeviceError::OutOfMemory { requested, .. }) if requested == bytes)
            );
        }
        assert_eq!(HostMemory::new(0).unwrap().bytes(), 1);
    }

    #[test]
    fn readers_and_writers_exclude_each_other() {
        let memory = HostMemory::from_bytes(&[0; 4096]).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..200u8).for_each(|i| memory.write(0, &[i; 4096]).unwrap()));
            let mut seen = [0; 4096];
            for _ in 0..200 {
                memory.read(0, &mut seen).unwrap();
                assert!(seen.iter().all(|b| *b == seen[0]));
            }
        });
    }
}
