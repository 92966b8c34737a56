//! Locking all memories that a recording touches at once.

use super::HostMemory;
use super::block::Block;
use crate::device::DeviceResult;
use std::sync::Arc;

/// The memories that a recording touches: each once, in the order of their addresses, so that two recordings
/// never wait for each other.
#[derive(Debug, Default)]
pub struct LockSet {
    blocks: Vec<(Arc<Block>, bool)>,
}

impl LockSet {
    /// Adds a memory, to be read, or to be read and written.
    pub fn add(&mut self, memory: &HostMemory, write: bool) {
        let block = &memory.block;
        match self.blocks.binary_search_by_key(&block.start(), |(b, _)| b.start()) {
            Ok(at) => self.blocks[at].1 |= write,
            Err(at) => self.blocks.insert(at, (block.clone(), write)),
        }
    }

    /// Locks them all until the guard is dropped; none of them after an error.
    ///
    /// # Errors
    /// If this thread lent one that is to be written: it would wait for itself.
    #[inline]
    pub fn lock(&self) -> DeviceResult<Locked<'_>> {
        let mut held = Locked(&self.blocks[..0]);
        for (at, (block, write)) in self.blocks.iter().enumerate() {
            block.acquire(*write)?;
            held.0 = &self.blocks[..=at];
        }
        Ok(held)
    }
}

/// All memories of a [`LockSet`], locked.
#[derive(Debug)]
pub struct Locked<'a>(&'a [(Arc<Block>, bool)]);

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        for (block, write) in self.0 {
            block.release(*write);
        }
    }
}
