//! A pool of device memory for results that the caller owns.
//!
//! Memory is lent by size class as a [`PooledMemory`], which acts as the memory it holds and returns it to
//! the pool when the last handle is dropped. Work on a device is one ordered stream: the work of the next
//! owner of a memory runs after the work of the last owner. So memory can be lent again at once, without
//! waiting.

use super::free_list::{FreeList, size_class};
use crate::error::DeviceError;
use crate::memory_report::PoolReport;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use workalike_device::{Device, DeviceResult, Memory};

/// The fraction (one part in `IDLE_SHARE`) of the device's memory that may be idle in the pool.
const IDLE_SHARE: u64 = 4;

/// See the [module](self).
pub(crate) struct DevicePool {
    device: Arc<dyn Device>,
    idle: FreeList<Arc<dyn Memory>>,
    lent_bytes: AtomicU64,
    /// Allocations made so far.
    made: AtomicU64,
}

/// Memory from a [`DevicePool`]. Devices treat it as the memory it holds.
pub(crate) struct PooledMemory {
    memory: Arc<dyn Memory>,
    pool: Weak<DevicePool>,
}

impl PooledMemory {
    /// The memory itself. A recording that binds it instead of the [`PooledMemory`] does not keep it from
    /// being lent again: the memory must be borrowed before such a recording is replayed.
    pub(crate) fn inner(&self) -> &Arc<dyn Memory> {
        &self.memory
    }
}

impl Memory for PooledMemory {
    fn bytes(&self) -> u64 {
        self.memory.bytes()
    }

    fn wrapped(&self) -> Option<&dyn Memory> {
        Some(&*self.memory)
    }
}

impl fmt::Debug for PooledMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.memory.fmt(f)
    }
}

impl Drop for PooledMemory {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.give(self.memory.clone());
        }
    }
}

/// Whether two handles are of the same memory.
pub(crate) fn is_same(a: &Arc<dyn Memory>, b: &Arc<dyn Memory>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b))
}

impl DevicePool {
    pub(crate) fn new(device: Arc<dyn Device>) -> Arc<DevicePool> {
        let (lent_bytes, made) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(DevicePool { device, idle: FreeList::default(), lent_bytes, made })
    }

    fn limit(&self) -> u64 {
        self.device.properties().memory / IDLE_SHARE
    }

    /// Memory of at least this size: idle memory if there is any, otherwise new memory. If the device has
    /// none left, idle memory is freed first.
    pub(crate) fn take(self: &Arc<DevicePool>, bytes: u64) -> DeviceResult<Arc<PooledMemory>> {
        let class = size_class(bytes);
        let memory = match self.idle.take(class) {
            Some(memory) => memory,
            None => {
                let memory = self.allocate(class, bytes)?;
                self.made.fetch_add(1, Ordering::Relaxed);
                memory
            }
        };
        Ok(self.lend(memory))
    }

    /// This memory, if it is idle.
    pub(crate) fn take_this(self: &Arc<DevicePool>, memory: &Arc<dyn Memory>) -> Option<Arc<PooledMemory>> {
        let found = self.idle.take_this(memory.bytes(), |m| is_same(m, memory));
        found.map(|memory| self.lend(memory))
    }

    fn lend(self: &Arc<DevicePool>, memory: Arc<dyn Memory>) -> Arc<PooledMemory> {
        self.lent_bytes.fetch_add(memory.bytes(), Ordering::Relaxed);
        Arc::new(PooledMemory { memory, pool: Arc::downgrade(self) })
    }

    /// New memory of a class's size, or of the exact size where the class exceeds the device's largest
    /// allocation.
    fn allocate(&self, class: u64, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        let limit = self.device.properties().largest_allocation;
        let size = if class <= limit { class } else { bytes };
        within(self.device.as_ref(), size)?;
        match self.device.allocate(size) {
            Err(DeviceError::OutOfMemory { .. }) if self.trim() > 0 => self.device.allocate(size),
            outcome => outcome,
        }
    }

    fn give(&self, memory: Arc<dyn Memory>) {
        let bytes = memory.bytes();
        self.lent_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.idle.give(memory, bytes, self.limit());
    }

    /// Frees all idle memory, and returns its size in bytes.
    pub(crate) fn trim(&self) -> u64 {
        self.idle.trim()
    }

    pub(crate) fn report(&self) -> PoolReport {
        PoolReport {
            lent: self.lent_bytes.load(Ordering::Relaxed),
            idle: self.idle.bytes(),
            limit: self.limit(),
            allocations: self.made.load(Ordering::Relaxed),
        }
    }
}

impl fmt::Debug for DevicePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report().fmt(f)
    }
}

/// Refuses sizes above the device's largest allocation.
pub(crate) fn within(device: &dyn Device, bytes: u64) -> DeviceResult<()> {
    let properties = device.properties();
    let limit = properties.largest_allocation;
    if bytes <= limit {
        return Ok(());
    }
    let available = format!("the largest single allocation is {limit} bytes");
    Err(DeviceError::OutOfMemory { device: properties.id.clone(), requested: bytes, available })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;
    use workalike_device::Open;

    #[test]
    fn memory_comes_back_with_its_last_handle() {
        let pool = DevicePool::new(Host::threads(1).open().unwrap());
        let first = pool.take(1000).unwrap();
        let (memory, again) = (first.inner().clone(), first.clone());
        drop(first);
        assert!(pool.take_this(&memory).is_none());
        drop(again);
        assert!(is_same(pool.take(990).unwrap().inner(), &memory));
        assert_eq!(
            pool.report(),
            PoolReport { idle: memory.bytes(), limit: pool.limit(), lent: 0, allocations: 1 }
        );
        let held = pool.take_this(&memory).unwrap();
        assert!(!is_same(pool.take(1000).unwrap().inner(), held.inner()));
        assert_eq!(pool.trim(), memory.bytes());
        drop(held);
        assert_eq!(pool.report().idle, memory.bytes());
    }

    #[test]
    fn memory_outlives_its_pool() {
        let device = Host::threads(1).open().unwrap();
        let lent = DevicePool::new(device.clone()).take(8).unwrap();
        let region = workalike_device::Region { memory: lent, offset: 0, bytes: 8 };
        device.upload(&7u64.to_le_bytes(), &region).unwrap();
        let mut word = [0; 8];
        device.download(&region, &mut word).unwrap();
        assert_eq!(u64::from_le_bytes(word), 7);
    }
}
