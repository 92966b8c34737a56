//! What the memory system is told: which bytes will be read soon, and which will not be read again for long.
//!
//! Hints only; on processors other than x86-64, nothing and plain copies.

/// Bytes of a cache line.
const LINE: usize = 64;
/// An operand of so many bytes is asked for a tile ahead: it seldom lies in a cache that is near.
pub(super) const FAR: u64 = 1 << 20;
/// A result of so many bytes, in a Nest that moves so many in all, is written past the caches: whoever reads it would not
/// find it there anyway, and memory need not be read before it is overwritten.
pub(super) const PAST: (u64, u64) = (4 << 20, 24 << 20);

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
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    // Whole lines, or they are written in parts.
    let head = to.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE * LINE;
    // SAFETY: head, lines and rest are the bytes of the caller's promise; every line is aligned.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        for at in (head..head + lines).step_by(LINE) {
            let (from, to) = (from.add(at).cast::<__m128i>(), to.add(at).cast::<__m128i>());
            let line = [0, 1, 2, 3].map(|k| _mm_loadu_si128(from.add(k)));
            (0..4).for_each(|k| _mm_stream_si128(to.add(k), line[k]));
        }
        let rest = head + lines;
        std::ptr::copy_nonoverlapping(from.add(rest), to.add(rest), bytes - rest);
    }
}

/// As on x86-64.
///
/// # Safety
/// As on x86-64.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn copy_past(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
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
