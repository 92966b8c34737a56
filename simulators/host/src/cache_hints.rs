//! What the memory system is told: which bytes will be read soon, and which will not be read again for long.
//!
//! Hints only; on processors other than x86-64, nothing and plain copies.

use super::affine::Lanes;
use super::plan::Plan;
#[cfg(target_arch = "x86_64")]
use workalike_kernels::level::{Level, level};

/// Bytes of a cache line.
const LINE: usize = 64;
/// An operand of so many bytes is asked for a tile ahead: it seldom lies in a cache that is near.
pub(super) const FAR: u64 = 1 << 20;
/// A result of so many bytes may be written past the caches: whoever reads it would not find it there anyway,
/// and memory need not be read before it is overwritten.
const PAST: u64 = 4 << 20;
/// That is done where a Nest moves so many bytes in all, and computing takes at most so many times what
/// moving them takes: a processor that waits for lines to leave it would have computed meanwhile. `SINGLE` is
/// for one large operand beside the result.
const SINGLE: (u64, f64) = (40 << 20, 1.6);
const SEVERAL: (u64, f64) = (24 << 20, 2.5);
/// Nanoseconds of a byte that streams through, as estimated.
pub(super) const BYTE: f64 = 0.05;

/// Of each access: whether a load asks for the next tile, or a store goes past the caches. `direct`: those of
/// memory in place; `bytes`: of an operand; `moved`: of all.
pub(super) fn far(plan: &Plan, direct: &[bool], bytes: impl Fn(usize) -> u64, moved: u64) -> Vec<bool> {
    let is_large = |at: usize, from: u64| {
        let access = &plan.accesses[at];
        direct[at] && access.map.lanes == Lanes::Line(1) && bytes(access.touch.operand) >= from
    };
    let all = || plan.accesses.iter().enumerate();
    let loads: Vec<bool> = all().map(|(at, access)| !access.store && is_large(at, FAR)).collect();
    let several = loads.iter().filter(|load| **load).count() > 1;
    let (from, bound) = if several { SEVERAL } else { SINGLE };
    let past = moved >= from && plan.nanoseconds <= bound * BYTE * moved as f64;
    let stores: Vec<bool> = all().map(|(at, access)| past && access.store && is_large(at, PAST)).collect();
    // A single stream beside such stores is foreseen by the processor itself: more to ask for keeps the lines
    // from leaving.
    let asked = several || !stores.contains(&true);
    stores.iter().zip(loads).map(|(store, load)| *store || (load && asked)).collect()
}

/// Asks for `bytes` from `at` on, which need not be readable.
#[inline(always)]
pub(super) fn ask(at: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(at.wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, bytes, LINE);
}

/// Asks for as many bytes as there are from `at` on, right behind them.
#[inline(never)]
pub(super) fn ask_next(at: *const u8, bytes: usize) {
    ask(at.wrapping_add(bytes), bytes);
}

/// Copies past the caches. [`settle`] must be called before another thread is told of it.
///
/// # Safety
/// `from` must be readable and `to` writable for `bytes` bytes, and they must not overlap.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(super) unsafe fn copy_past(from: *const u8, to: *mut u8, bytes: usize) {
    // Whole lines, or they are written in parts.
    let head = to.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE * LINE;
    let rest = head + lines;
    // SAFETY: head, lines and rest are the bytes that the caller guarantees; every line is aligned where it
    // goes; `level` is one of this processor.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        match level() {
            Level::Avx512 => whole_lines(from.add(head), to.add(head), lines),
            _ => quarter_lines(from.add(head), to.add(head), lines),
        }
        std::ptr::copy_nonoverlapping(from.add(rest), to.add(rest), bytes - rest);
    }
}

/// A store of a whole line occupies no buffer until its other parts come: a third faster than quarters.
///
/// # Safety
/// As of [`copy_past`]. `bytes` must be whole lines, `to` must be at the start of one, and the processor must
/// be of [`Level::Avx512`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn whole_lines(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};
    for at in (0..bytes).step_by(LINE) {
        // SAFETY: a whole line of the bytes that the caller guarantees, aligned where it goes; the caller
        // guarantees the processor.
        unsafe { _mm512_stream_si512(to.add(at).cast(), _mm512_loadu_si512(from.add(at).cast())) };
    }
}

/// # Safety
/// As of [`copy_past`]. `bytes` must be whole lines, and `to` must be at the start of one.
#[cfg(target_arch = "x86_64")]
unsafe fn quarter_lines(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    for at in (0..bytes).step_by(LINE) {
        // SAFETY: a whole line of the bytes that the caller guarantees, aligned where it goes; every x86-64
        // has SSE2.
        unsafe {
            let (from, to) = (from.add(at).cast::<__m128i>(), to.add(at).cast::<__m128i>());
            let line = [0, 1, 2, 3].map(|k| _mm_loadu_si128(from.add(k)));
            (0..4).for_each(|k| _mm_stream_si128(to.add(k), line[k]));
        }
    }
}

/// As on x86-64.
///
/// # Safety
/// As on x86-64.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn copy_past(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller guarantees `bytes` bytes on both sides, which do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
}

/// Orders what was written past the caches before all that this thread writes from now on.
pub(super) fn settle() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
