//! Positions of nonzeros, or the elements of another array there. All threads count the nonzeros of blocks,
//! which gives the offset of each block's positions, and then write these.

use super::super::pool::ThreadPool;
use workalike_kernels::library::LibraryNonZero;
use workalike_kernels::nonzero::{chosen, count, positions};

/// Elements of a block.
const BLOCK: u64 = 1 << 14;

/// A search with memory bound.
pub(super) struct Finder {
    what: LibraryNonZero,
    source: *const u8,
    /// The array to gather from, if any.
    elements: *const u8,
    found: *mut u8,
    number: *mut i64,
    /// The offset of each block's positions.
    starts: *mut u64,
    blocks: usize,
}

// SAFETY: it is immutable. Only `run` uses the memory behind the pointers; each block writes its own offset
// and its own part of the results.
unsafe impl Sync for Finder {}

/// Blocks that threads share; one where sharing gains nothing.
fn blocks(z: &LibraryNonZero, threads: usize) -> u64 {
    if threads > 1 && z.len >= 4 * BLOCK { z.len.div_ceil(BLOCK) } else { 1 }
}

pub(super) fn scratch(z: &LibraryNonZero, threads: usize) -> Option<u64> {
    // Elements are taken by bools.
    let known = z.taken.is_none() || z.dtype.size() == 1;
    known.then(|| match blocks(z, threads) {
        1 => 0,
        blocks => 8 * (blocks + 1),
    })
}

impl Finder {
    pub(super) fn new(z: &LibraryNonZero, arguments: &[*mut u8], threads: usize) -> Finder {
        let (given, rest) = arguments.split_at(if z.taken.is_some() { 2 } else { 1 });
        let (found, number) = (rest[0], rest[1].cast());
        let blocks = blocks(z, threads) as usize;
        let starts = rest.get(2).copied().unwrap_or(std::ptr::null_mut()).cast();
        let elements = given[given.len() - 1];
        Finder { what: z.clone(), source: given[0], elements, found, number, starts, blocks }
    }

    /// The bytes of a block, and its first position.
    ///
    /// # Safety
    /// The source is alive, nothing writes it while the slice lives, and the block exists.
    unsafe fn block(&self, block: usize) -> (&[u8], u64) {
        let (size, len) = (self.what.dtype.size(), self.what.len);
        let (from, to) = match self.blocks {
            1 => (0, len),
            _ => (block as u64 * BLOCK, len.min((block as u64 + 1) * BLOCK)),
        };
        // SAFETY: the source has `len` elements, among them these; the caller guarantees that it is alive and
        // not written.
        let bytes = unsafe {
            std::slice::from_raw_parts(self.source.add(from as usize * size), (to - from) as usize * size)
        };
        (bytes, from)
    }

    /// Writes a block's positions, or elements, to `from..to` of the results; returns the block's count.
    ///
    /// # Safety
    /// The operands are as [`LibraryCall::run`](super::LibraryCall::run) needs them, the block exists, `from`
    /// is at most `to`, and no other thread uses this part of the results.
    unsafe fn find(&self, block: usize, from: u64, to: u64) -> usize {
        let (from, to) = (from.min(self.what.kept), to.min(self.what.kept));
        // SAFETY: the caller guarantees the operands, and that no other thread uses these results; there is
        // room for `kept` of them. The array whose elements are taken is as long as the source.
        unsafe {
            let (bytes, first) = self.block(block);
            let (from, count) = (from as usize, (to - from) as usize);
            if let Some(taken) = self.what.taken {
                let (size, len) = (taken.size(), bytes.len());
                let source = std::slice::from_raw_parts(self.elements.add(first as usize * size), len * size);
                let target = std::slice::from_raw_parts_mut(self.found.add(from * size), count * size);
                return chosen(size, bytes, source, target);
            }
            let target = std::slice::from_raw_parts_mut(self.found.cast::<i64>().add(from), count);
            positions(self.what.dtype, bytes, first as i64, target)
        }
    }

    /// # Safety
    /// Same as [`LibraryCall::run`](super::LibraryCall::run).
    pub(super) unsafe fn run(&self, pool: &ThreadPool) -> bool {
        if self.blocks == 1 {
            // SAFETY: the caller guarantees the operands; this thread has all results, and the count is an
            // int64.
            unsafe { *self.number = self.find(0, 0, self.what.kept) as i64 };
            return true;
        }
        // SAFETY: the caller guarantees the operands; the scratch memory holds a number per block and one
        // more, and each task writes its block's.
        let counted = pool.run(self.blocks, &|block, _| unsafe {
            *self.starts.add(block) = count(self.what.dtype, self.block(block).0) as u64;
        });
        if !counted {
            return false;
        }
        let mut all = 0;
        for block in 0..self.blocks {
            // SAFETY: the scratch memory holds a number per block, all of which were written; no other thread
            // is at work.
            unsafe { all += std::mem::replace(&mut *self.starts.add(block), all) };
        }
        // SAFETY: the scratch memory holds one number more, and the count is an int64; no other thread is at
        // work.
        unsafe {
            *self.starts.add(self.blocks) = all;
            *self.number = all as i64;
        }
        // SAFETY: the caller guarantees the operands. Offsets ascend and no thread writes them now, so each
        // block has its own part of the results.
        pool.run(self.blocks, &|block, _| unsafe {
            self.find(block, *self.starts.add(block), *self.starts.add(block + 1));
        })
    }
}
