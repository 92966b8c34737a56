//! Locks all memories that a recording accesses.

use super::HostMemory;
use super::block::Allocation;
use crate::device::DeviceResult;
use std::sync::Arc;

/// The memories that a recording accesses: each once, in the order of their addresses, so that two recordings
/// never deadlock.
#[derive(Debug, Default)]
pub struct LockSet {
    blocks: Vec<(Arc<Allocation>, bool)>,
}

impl LockSet {
    /// Adds a memory for reading, or for reading and writing if `write`.
    pub fn add(&mut self, memory: &HostMemory, write: bool) {
        let block = &memory.block;
        match self.blocks.binary_search_by_key(&block.start(), |(b, _)| b.start()) {
            Ok(at) => self.blocks[at].1 |= write,
            Err(at) => self.blocks.insert(at, (block.clone(), write)),
        }
    }

    /// Locks all memories until the guard is dropped; after an error none is locked.
    ///
    /// # Errors
    /// If this thread lent a memory that is to be written, which would deadlock.
    #[inline]
    pub fn lock(&self) -> DeviceResult<LockSetGuard<'_>> {
        let mut held = LockSetGuard(&self.blocks[..0]);
        for (at, (block, write)) in self.blocks.iter().enumerate() {
            block.acquire(*write)?;
            held.0 = &self.blocks[..=at];
        }
        Ok(held)
    }
}

/// All memories of a [`LockSet`], locked.
#[derive(Debug)]
pub struct LockSetGuard<'a>(&'a [(Arc<Allocation>, bool)]);

impl Drop for LockSetGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        for (block, write) in self.0 {
            block.release(*write);
        }
    }
}
