//! Frames: one thread's registers, accumulators and scratch tiles.

use super::super::plan::NestPlan;
use workalike_device::{DeviceResult, HostMemory};

/// One thread's registers and scratch, for all steps of a recording.
pub(crate) struct Frame {
    block: HostMemory,
    pub(crate) coordinates: Vec<u64>,
    /// The lanes of each load of the current plan.
    pub(super) loads: Vec<*const u8>,
    /// Whether all lanes of a load are one element, of which only the first lanes are there.
    pub(super) uniform: Vec<bool>,
    /// Which stores of the current phase an instruction has already done.
    pub(crate) stored: Vec<bool>,
    /// The lane of fold results that belongs to the current grid point.
    pub(super) lane: usize,
    /// The current step of a phase, which addresses kept values.
    pub(super) step: usize,
    /// Tiles of the current chunk that were folded.
    pub(super) folded: u64,
}

// SAFETY: `loads` point into this frame or into memory that the recording locks; only the thread that runs
// the frame uses them.
unsafe impl Send for Frame {}

impl Frame {
    /// A frame for any of these plans.
    pub(crate) fn new<'a>(plans: impl Iterator<Item = &'a NestPlan>) -> DeviceResult<Frame> {
        let (mut words, mut axes, mut loads, mut stores) = (8, 0, 0, 0);
        for plan in plans {
            words = words.max(plan.frame_words);
            axes = axes.max(plan.extents.len());
            loads = loads.max(plan.accesses.len());
            stores = stores.max(plan.phases.iter().map(|p| p.stores.len()).max().unwrap_or(0));
        }
        Ok(Frame {
            block: HostMemory::new(words as u64 * 8)?,
            coordinates: vec![0; axes],
            loads: vec![std::ptr::null(); loads],
            uniform: vec![false; loads],
            stored: vec![false; stores],
            lane: 0,
            step: 0,
            folded: 0,
        })
    }

    pub(crate) fn base(&self) -> *mut u64 {
        self.block.start().cast()
    }

    /// The lanes of a load.
    pub(crate) fn loaded(&self, access: u32) -> *const u8 {
        self.loads[access as usize]
    }

    pub(crate) fn at(&self, word: usize) -> *mut u64 {
        self.base().wrapping_add(word)
    }
}

/// Words that hold `n` lanes of `size` bytes.
pub(crate) fn words(n: usize, size: usize) -> usize {
    (n * size).div_ceil(8)
}
