//! Cache hints: prefetches of data that is read soon, and non-temporal stores of large results.
//!
//! On processors other than x86-64 these are no-ops and plain copies.

use super::affine::LanePattern;
use super::plan::NestPlan;
#[cfg(target_arch = "x86_64")]
use workalike_kernels::level::{Level, level};

/// Bytes of a cache line.
const LINE: usize = 64;
/// Size in bytes of an operand from which loads prefetch the next tile: it is rarely in a near cache.
pub(super) const PREFETCH_FROM: u64 = 1 << 20;
/// Size in bytes of a result from which stores may be non-temporal: it does not fit in a cache anyway, and
/// its lines need not be read before they are overwritten.
const NONTEMPORAL_FROM: u64 = 4 << 20;
/// Stores are non-temporal if a Nest moves at least this many bytes, and its computation takes at most this
/// multiple of the time to move them: a processor that waits for write buffers could have computed instead.
/// `SINGLE` is for one large operand besides the result.
const SINGLE: (u64, f64) = (40 << 20, 1.6);
const SEVERAL: (u64, f64) = (24 << 20, 2.5);
/// Estimated nanoseconds per streamed byte.
pub(super) const BYTE: f64 = 0.05;

/// Per access: whether a load prefetches, or a store is non-temporal. `direct`: accesses that use memory in
/// place; `bytes`: the size of an operand; `moved`: bytes of all operands.
pub(super) fn hinted(
    plan: &NestPlan,
    direct: &[bool],
    bytes: impl Fn(usize) -> u64,
    moved: u64,
) -> Vec<bool> {
    let is_large = |at: usize, from: u64| {
        let access = &plan.accesses[at];
        direct[at] && access.map.lanes == LanePattern::Line(1) && bytes(access.touch.operand) >= from
    };
    let all = || plan.accesses.iter().enumerate();
    let loads: Vec<bool> = all().map(|(at, access)| !access.store && is_large(at, PREFETCH_FROM)).collect();
    let several = loads.iter().filter(|load| **load).count() > 1;
    let (from, bound) = if several { SEVERAL } else { SINGLE };
    let nontemporal = moved >= from && plan.nanoseconds <= bound * BYTE * moved as f64;
    let stores: Vec<bool> =
        all().map(|(at, access)| nontemporal && access.store && is_large(at, NONTEMPORAL_FROM)).collect();
    // The hardware prefetcher handles a single stream; more prefetches would delay the write buffers.
    let prefetch_loads = several || !stores.contains(&true);
    stores.iter().zip(loads).map(|(store, load)| *store || (load && prefetch_loads)).collect()
}

/// Prefetches `bytes` bytes from `at` on, which need not be readable.
#[inline(always)]
pub(super) fn prefetch(at: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch cannot fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(at.wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, bytes, LINE);
}

/// Prefetches the `bytes` bytes behind the `bytes` bytes at `at`.
#[inline(never)]
pub(super) fn prefetch_next(at: *const u8, bytes: usize) {
    prefetch(at.wrapping_add(bytes), bytes);
}

/// Copies by non-temporal stores. [`store_fence`] must be called before another thread is told of the data.
///
/// # Safety
/// `from` must be readable and `to` writable for `bytes` bytes, and they must not overlap.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(super) unsafe fn copy_nontemporal(from: *const u8, to: *mut u8, bytes: usize) {
    // Whole lines, for parts of a line would be written separately.
    let head = to.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE * LINE;
    let rest = head + lines;
    // SAFETY: head, lines and rest are the bytes that the caller guarantees; the target of every line is
    // aligned; `level` is supported by this processor.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        match level() {
            Level::Avx512 => whole_lines(from.add(head), to.add(head), lines),
            _ => quarter_lines(from.add(head), to.add(head), lines),
        }
        std::ptr::copy_nonoverlapping(from.add(rest), to.add(rest), bytes - rest);
    }
}

/// A store of a whole line occupies no write buffer until the line is complete: a third faster than quarters.
///
/// # Safety
/// Same as [`copy_nontemporal`]. `bytes` must be whole lines, `to` must be aligned to a line, and the
/// processor must have [`Level::Avx512`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn whole_lines(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};
    for at in (0..bytes).step_by(LINE) {
        // SAFETY: the caller guarantees this line, an aligned target, and the processor.
        unsafe { _mm512_stream_si512(to.add(at).cast(), _mm512_loadu_si512(from.add(at).cast())) };
    }
}

/// # Safety
/// Same as [`copy_nontemporal`]. `bytes` must be whole lines, and `to` must be aligned to a line.
#[cfg(target_arch = "x86_64")]
unsafe fn quarter_lines(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    for at in (0..bytes).step_by(LINE) {
        // SAFETY: the caller guarantees this line and an aligned target; every x86-64 has SSE2.
        unsafe {
            let (from, to) = (from.add(at).cast::<__m128i>(), to.add(at).cast::<__m128i>());
            let line = [0, 1, 2, 3].map(|k| _mm_loadu_si128(from.add(k)));
            (0..4).for_each(|k| _mm_stream_si128(to.add(k), line[k]));
        }
    }
}

/// A plain copy.
///
/// # Safety
/// `from` must be readable and `to` writable for `bytes` bytes, and they must not overlap.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn copy_nontemporal(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller guarantees `bytes` bytes on both sides, which do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
}

/// Orders non-temporal stores before all later stores of this thread.
pub(super) fn store_fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has SSE.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
