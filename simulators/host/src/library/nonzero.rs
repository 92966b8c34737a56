//! Positions of what is not zero, or the elements of another array there: blocks are counted, which says
//! where each one's positions begin, and then found, by all threads.

use super::super::pool::Pool;
use workalike_kernels::library::NonZero;
use workalike_kernels::nonzero::{chosen, count, positions};

/// Elements of a block.
const BLOCK: u64 = 1 << 14;

/// A search with memory bound.
pub(super) struct Finder {
    what: NonZero,
    source: *const u8,
    /// What elements are taken of, if they are.
    elements: *const u8,
    found: *mut u8,
    number: *mut i64,
    /// Where each block's positions begin.
    starts: *mut u64,
    blocks: usize,
}

// SAFETY: nothing in it changes. What lies behind the pointers is used by `run` alone, in which each block
// writes its own start and its own part of what is found.
unsafe impl Sync for Finder {}

/// Blocks that threads share; one where that gains nothing.
fn blocks(z: &NonZero, threads: usize) -> u64 {
    if threads > 1 && z.len >= 4 * BLOCK { z.len.div_ceil(BLOCK) } else { 1 }
}

pub(super) fn scratch(z: &NonZero, threads: usize) -> Option<u64> {
    // Elements are taken by bools.
    let known = z.taken.is_none() || z.dtype.size() == 1;
    known.then(|| match blocks(z, threads) {
        1 => 0,
        blocks => 8 * (blocks + 1),
    })
}

impl Finder {
    pub(super) fn new(z: &NonZero, arguments: &[*mut u8], threads: usize) -> Finder {
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
    /// The source is alive, and nobody writes it while the slice lives; there is such a block.
    unsafe fn block(&self, block: usize) -> (&[u8], u64) {
        let (size, len) = (self.what.dtype.size(), self.what.len);
        let (from, to) = match self.blocks {
            1 => (0, len),
            _ => (block as u64 * BLOCK, len.min((block as u64 + 1) * BLOCK)),
        };
        // SAFETY: the source has `len` elements, of which these are some; the caller guarantees that it is
        // alive and not written.
        let bytes = unsafe {
            std::slice::from_raw_parts(self.source.add(from as usize * size), (to - from) as usize * size)
        };
        (bytes, from)
    }

    /// Writes positions of a block, or elements, to these places among all; gives how many the block has.
    ///
    /// # Safety
    /// The operands are as [`LibraryCall::run`](super::LibraryCall::run) needs them; there is such a block,
    /// `from` is at most `to`, and nobody else uses these places meanwhile.
    unsafe fn find(&self, block: usize, from: u64, to: u64) -> usize {
        let (from, to) = (from.min(self.what.kept), to.min(self.what.kept));
        // SAFETY: the caller guarantees the operands; there is room for `kept` positions or elements, and
        // these places are nobody else's. What elements are taken of is as long as the source.
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
    /// As of [`LibraryCall::run`](super::LibraryCall::run).
    pub(super) unsafe fn run(&self, pool: &Pool) -> bool {
        if self.blocks == 1 {
            // SAFETY: the caller guarantees the operands; this thread has all places, and the number is an
            // int64.
            unsafe { *self.number = self.find(0, 0, self.what.kept) as i64 };
            return true;
        }
        // SAFETY: the caller guarantees the operands; the scratch memory holds a number more than there are
        // blocks, and each task writes its block's.
        let counted = pool.run(self.blocks, &|block, _| unsafe {
            *self.starts.add(block) = count(self.what.dtype, self.block(block).0) as u64;
        });
        if !counted {
            return false;
        }
        let mut all = 0;
        for block in 0..self.blocks {
            // SAFETY: the scratch memory holds a number for each block, all of which were written; no other
            // thread is at work.
            unsafe { all += std::mem::replace(&mut *self.starts.add(block), all) };
        }
        // SAFETY: the scratch memory holds one number more, and the result is an int64; no other thread is at
        // work.
        unsafe {
            *self.starts.add(self.blocks) = all;
            *self.number = all as i64;
        }
        // SAFETY: the caller guarantees the operands. Starts ascend and nobody writes them now, so each block
        // has places of its own.
        pool.run(self.blocks, &|block, _| unsafe {
            self.find(block, *self.starts.add(block), *self.starts.add(block + 1));
        })
    }
}
