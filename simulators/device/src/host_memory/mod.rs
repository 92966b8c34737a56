//! Main memory: the storage of values and of the host device, and the target of downloads.

mod block;
mod lock_set;

pub use block::{ALIGNMENT, total_memory};
pub use lock_set::{LockSet, LockSetGuard};

use crate::command::Region;
use crate::command_check::check_transfer;
use crate::device::{Device, DeviceResult, Memory};
use crate::error::DeviceError;
use block::{Allocation, BorrowedBytes};
use bytemuck::NoUninit;
use std::fmt::Debug;
use std::sync::Arc;

/// Host memory that can hold a value. Implement it to lend foreign memory (NumPy, DLPack, a memory map).
pub trait HostBytes: Send + Sync {
    /// The bytes, which must not change while the value lives.
    fn bytes(&self) -> &[u8];

    /// The bytes for writing, if this memory can be written: it has one owner then.
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        None
    }
}

impl<T: NoUninit + Send + Sync> HostBytes for Vec<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

/// Host memory to which a device copies fast. The host reads it, so it is never write-combined.
pub trait HostBlock: Send + Sync + Debug {
    /// The bytes.
    fn bytes(&self) -> &[u8];
    /// The bytes, for writing.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// A block of main memory, owned by its handles; 64-byte aligned.
///
/// It can be read and written through a shared reference, from any thread, under a readers-writer lock: a
/// replay locks all memories that it accesses while it runs, [`HostMemory::read`] and [`HostMemory::write`]
/// lock theirs for the copy. The value of a shared variable is stored in a `HostMemory` and bound to
/// recordings directly.
#[derive(Clone, Debug)]
pub struct HostMemory {
    block: Arc<Allocation>,
}

impl HostMemory {
    /// New zeroed memory of at least one byte. [`DeviceError::OutOfMemory`] if the machine has too little.
    pub fn new(bytes: u64) -> DeviceResult<HostMemory> {
        Ok(HostMemory { block: Arc::new(Allocation::new(bytes)?) })
    }

    /// New memory that holds a copy of `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> DeviceResult<HostMemory> {
        let memory = HostMemory::new(bytes.len() as u64)?;
        memory.write(0, bytes)?;
        Ok(memory)
    }

    /// Another handle to a device's memory that is main memory; `None` if it is not.
    pub fn of(memory: &dyn Memory) -> Option<HostMemory> {
        memory.downcast::<HostMemory>().cloned()
    }

    /// The main memory of a region, after a check that the region lies within it.
    ///
    /// # Errors
    /// If the memory is another device's, or the region reaches beyond it; the error names `call`.
    pub fn of_region<'a>(region: &'a Region, call: &str) -> DeviceResult<&'a HostMemory> {
        let Some(memory) = region.memory.downcast::<HostMemory>() else {
            return Err(DeviceError::driver("host", call, "the memory belongs to another device"));
        };
        memory.block.part(region.offset, region.bytes, call)?;
        Ok(memory)
    }

    /// The first byte. Reading or writing up to the memory's size is sound while a [`LockSet`] that holds
    /// this memory is locked, or while there is no other handle.
    pub fn start(&self) -> *mut u8 {
        self.block.start()
    }

    /// The first byte of a part, under the same conditions as [`HostMemory::start`].
    ///
    /// # Errors
    /// If the part reaches beyond the memory.
    pub fn part(&self, offset: u64, bytes: u64, call: &str) -> DeviceResult<*mut u8> {
        self.block.part(offset, bytes, call)
    }

    /// Lends a part for reading, without a copy. Until the result is dropped, writes by other threads wait,
    /// and a write by this thread is an error.
    ///
    /// # Errors
    /// If the part reaches beyond the memory.
    pub fn lend(&self, offset: u64, bytes: u64) -> DeviceResult<Arc<dyn HostBytes>> {
        Ok(Arc::new(BorrowedBytes::new(&self.block, offset, bytes)?))
    }

    /// Copies `target.len()` bytes from `offset` to `target`.
    #[inline]
    pub fn read(&self, offset: u64, target: &mut [u8]) -> DeviceResult<()> {
        let source = self.block.part(offset, target.len() as u64, "read")?;
        let _held = self.block.hold(false)?;
        // SAFETY: `part` checked the range; the lock excludes writers; `target` is a `&mut`, which nothing
        // overlaps.
        unsafe { std::ptr::copy_nonoverlapping(source, target.as_mut_ptr(), target.len()) };
        Ok(())
    }

    /// Copies `source` to `offset`. Waits for readers on other threads; an error if this thread lent the
    /// memory.
    #[inline]
    pub fn write(&self, offset: u64, source: &[u8]) -> DeviceResult<()> {
        let target = self.block.part(offset, source.len() as u64, "write")?;
        let _held = self.block.hold(true)?;
        // SAFETY: `part` checked the range; the lock excludes all other access; `source` is a slice, and this
        // memory hands out slices only while it is locked for reading.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), target, source.len()) };
        Ok(())
    }
}

impl Memory for HostMemory {
    fn bytes(&self) -> u64 {
        self.block.bytes as u64
    }
}

/// [`Device::upload`] for devices that use [`HostMemory`].
///
/// # Errors
/// As [`check_transfer`]; or if the memory is another device's.
pub fn upload(device: &dyn Device, source: &[u8], target: &Region) -> DeviceResult<()> {
    check_transfer(device, "upload", source.len(), target)?;
    HostMemory::of_region(target, "upload")?.write(target.offset, source)
}

/// [`Device::download`] for devices that use [`HostMemory`].
///
/// # Errors
/// As [`upload`].
pub fn download(device: &dyn Device, source: &Region, target: &mut [u8]) -> DeviceResult<()> {
    check_transfer(device, "download", target.len(), source)?;
    HostMemory::of_region(source, "download")?.read(source.offset, target)
}

/// [`Device::lend`] for devices that use [`HostMemory`].
pub fn lend(source: &Region) -> Option<Arc<dyn HostBytes>> {
    HostMemory::of_region(source, "lend").ok()?.lend(source.offset, source.bytes).ok()
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
