//! Sorting networks: exchanges that are the same whatever the keys are, done for a vector of keys at a time. Of several short rows each
//! has a lane. A single row is laid out so that its parts have a lane each; sorted, they are merged, two and two.
//!
//! Where the processor has no wide vectors, or keys are too narrow to gain by them, [`Network::LANES`] says so.

use crate::kernels::level::{Level, level};

/// Keys up to which one row is sorted by a network.
pub(super) const LONGEST: usize = 1 << 11;

/// Keys that networks sort.
pub(super) trait Network: Sized {
    /// Keys of a vector; 0 where there are no networks.
    const LANES: usize;
    /// Sorts each column of rows of `LANES` keys.
    fn columns(rows: &mut [Self]);
    /// Sorts all keys of rows of `LANES`, whose number is a power of two: the columns one after the other are in order.
    fn all(rows: &mut [Self]);
}

/// Keys of a vector, if networks can be used.
pub(super) fn lanes<K: Network>() -> Option<usize> {
    (K::LANES > 0 && level() == Level::Avx512).then_some(K::LANES)
}

/// Keys that `n` keys and what fills up the vectors take.
pub(super) fn room(n: usize) -> usize {
    if n > LONGEST { n } else { n.next_power_of_two().max(64) }
}

/// Sorts keys; `other` has room for as many as [`room`] says. False if they are too many, or there are no networks.
pub(super) fn sort<K: Network + Copy>(keys: &mut [K], other: &mut [K], last: K) -> bool {
    let n = keys.len();
    let Some(lanes) = lanes::<K>() else { return false };
    let rows = n.div_ceil(lanes).next_power_of_two();
    if n > LONGEST || other.len() < rows * lanes {
        return false;
    }
    let all = &mut other[..rows * lanes];
    all[..n].copy_from_slice(keys);
    all[n..].fill(last);
    K::all(all);
    for (lane, part) in keys.chunks_mut(rows).enumerate() {
        part.iter_mut().zip(all[lane..].iter().step_by(lanes)).for_each(|(key, sorted)| *key = *sorted);
    }
    true
}

macro_rules! none { ($($t:ty),*) => { $(
    impl Network for $t {
        const LANES: usize = 0;
        fn columns(_: &mut [$t]) {}
        fn all(_: &mut [$t]) {}
    }
)* }; }
none!(u8);
#[cfg(not(target_arch = "x86_64"))]
none!(u16, u32, u64);

/// Sorts each column of pairs of numbers, by the first and then the second: a row is `LANES` first numbers, then `LANES` second ones.
pub(super) fn columns_of_pairs(rows: &mut [u64]) {
    let vectors = rows.len() / <u64 as Network>::LANES.max(1);
    assert!(lanes::<u64>().is_some() && rows.len().is_multiple_of(2 * <u64 as Network>::LANES));
    // SAFETY: the processor has the instructions, and there are as many rows of two vectors.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        wide::columns_of_pairs(rows.as_mut_ptr().cast(), vectors / 2)
    }
    let _ = vectors;
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Network, lanes};
    use std::arch::x86_64::*;

    /// Calls `exchange(i, j)`, `i` before `j`, in an order that sorts `n`: Batcher's merge exchange.
    #[inline(always)]
    fn merge_exchange(n: usize, mut exchange: impl FnMut(usize, usize)) {
        let top = n.next_power_of_two() / 2;
        let mut p = top;
        while p > 0 {
            let (mut q, mut first, mut apart) = (top, 0, p);
            loop {
                let mut start = first;
                while start + apart < n {
                    (start..(start + p).min(n - apart)).for_each(|i| exchange(i, i + apart));
                    start += 2 * p;
                }
                if q == p {
                    break;
                }
                (apart, first, q) = (q - p, p, q / 2);
            }
            p /= 2;
        }
    }

    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn columns_of_pairs(v: *mut __m512i, rows: usize) {
        merge_exchange(rows, |i, j| {
            // SAFETY: the caller's: both are rows of two vectors.
            unsafe {
                let (from, to) = (v.add(2 * i), v.add(2 * j));
                let (a, b) = (_mm512_loadu_si512(from), _mm512_loadu_si512(to));
                let (p, q) = (_mm512_loadu_si512(from.add(1)), _mm512_loadu_si512(to.add(1)));
                let equal = _mm512_cmpeq_epu64_mask(a, b);
                let after = _mm512_cmpgt_epu64_mask(a, b) | _mm512_mask_cmpgt_epu64_mask(equal, p, q);
                _mm512_storeu_si512(from, _mm512_min_epu64(a, b));
                _mm512_storeu_si512(to, _mm512_max_epu64(a, b));
                _mm512_storeu_si512(from.add(1), _mm512_mask_blend_epi64(after, p, q));
                _mm512_storeu_si512(to.add(1), _mm512_mask_blend_epi64(after, q, p));
            }
        });
    }

    macro_rules! network {
        ($t:ty, $lanes:literal, $module:ident, $mask:ty, $min:ident, $max:ident, $permute:ident, $blend:ident) => {
            mod $module {
                use super::*;

                const FEATURES: () = assert!(size_of::<[$t; $lanes]>() == 64);

                /// The lanes by number, each with these bits changed.
                #[inline]
                #[target_feature(enable = "avx512f,avx512bw")]
                fn swapped(bits: usize) -> __m512i {
                    let mut at = [0 as $t; $lanes];
                    (0..$lanes).for_each(|lane| at[lane] = (lane ^ bits) as $t);
                    // SAFETY: the array is as large as a vector.
                    unsafe { _mm512_loadu_si512(at.as_ptr().cast()) }
                }

                /// The lanes whose number has this bit.
                fn with_bit(bit: usize) -> $mask {
                    (0..$lanes).filter(|lane| lane & bit != 0).fold(0, |mask, lane| mask | 1 << lane)
                }

                #[inline]
                #[target_feature(enable = "avx512f,avx512bw")]
                unsafe fn exchange(v: *mut __m512i, i: usize, j: usize) {
                    // SAFETY: the caller's: both are rows of keys.
                    unsafe {
                        let (a, b) = (_mm512_loadu_si512(v.add(i)), _mm512_loadu_si512(v.add(j)));
                        _mm512_storeu_si512(v.add(i), $min(a, b));
                        _mm512_storeu_si512(v.add(j), $max(a, b));
                    }
                }

                #[target_feature(enable = "avx512f,avx512bw")]
                pub(super) unsafe fn columns(v: *mut __m512i, rows: usize) {
                    // SAFETY: the caller's: there are as many rows.
                    merge_exchange(rows, |i, j| unsafe { exchange(v, i, j) });
                }

                /// Merges neighbouring groups of `group` columns.
                #[target_feature(enable = "avx512f,avx512bw")]
                unsafe fn merge(v: *mut __m512i, rows: usize, group: usize) {
                    let upper = with_bit(group);
                    // The second group backwards: the first keys meet the last ones.
                    let back = swapped(2 * group - 1);
                    for i in 0..rows.div_ceil(2) {
                        let j = rows - 1 - i;
                        // SAFETY: the caller's: both are rows.
                        unsafe {
                            let (a, b) = (_mm512_loadu_si512(v.add(i)), _mm512_loadu_si512(v.add(j)));
                            let b = $permute(back, b);
                            let (low, high) = ($min(a, b), $max(a, b));
                            _mm512_storeu_si512(v.add(i), $blend(upper, low, high));
                            if i < j {
                                let b = $permute(back, $blend(upper, high, low));
                                _mm512_storeu_si512(v.add(j), b);
                            }
                        }
                    }
                    let mut apart = group / 2;
                    while apart > 0 {
                        let (upper, other) = (with_bit(apart), swapped(apart));
                        for i in 0..rows {
                            // SAFETY: as above.
                            unsafe {
                                let a = _mm512_loadu_si512(v.add(i));
                                let b = $permute(other, a);
                                _mm512_storeu_si512(v.add(i), $blend(upper, $min(a, b), $max(a, b)));
                            }
                        }
                        apart /= 2;
                    }
                    let mut apart = rows / 2;
                    // Two steps at once, while there are two.
                    while apart > 1 {
                        let half = apart / 2;
                        for start in (0..rows).step_by(2 * apart) {
                            for i in start..start + half {
                                // SAFETY: as above.
                                unsafe {
                                    let at = |k: usize| v.add(i + k * half);
                                    let (a, b) = (_mm512_loadu_si512(at(0)), _mm512_loadu_si512(at(1)));
                                    let (c, d) = (_mm512_loadu_si512(at(2)), _mm512_loadu_si512(at(3)));
                                    let (a, c) = ($min(a, c), $max(a, c));
                                    let (b, d) = ($min(b, d), $max(b, d));
                                    _mm512_storeu_si512(at(0), $min(a, b));
                                    _mm512_storeu_si512(at(1), $max(a, b));
                                    _mm512_storeu_si512(at(2), $min(c, d));
                                    _mm512_storeu_si512(at(3), $max(c, d));
                                }
                            }
                        }
                        apart /= 4;
                    }
                    if apart == 1 {
                        // SAFETY: as above.
                        (0..rows).step_by(2).for_each(|i| unsafe { exchange(v, i, i + 1) });
                    }
                }

                #[target_feature(enable = "avx512f,avx512bw")]
                pub(super) unsafe fn all(v: *mut __m512i, rows: usize) {
                    let () = FEATURES;
                    // SAFETY: passed on.
                    unsafe {
                        columns(v, rows);
                        let mut group = 1;
                        while group < $lanes {
                            merge(v, rows, group);
                            group *= 2;
                        }
                    }
                }
            }

            impl Network for $t {
                const LANES: usize = $lanes;

                fn columns(rows: &mut [$t]) {
                    assert!(lanes::<$t>().is_some() && rows.len().is_multiple_of($lanes));
                    // SAFETY: the processor has the instructions, and there are as many rows.
                    unsafe { $module::columns(rows.as_mut_ptr().cast(), rows.len() / $lanes) }
                }

                fn all(rows: &mut [$t]) {
                    let count = rows.len() / $lanes;
                    assert!(
                        lanes::<$t>().is_some()
                            && rows.len().is_multiple_of($lanes)
                            && count.is_power_of_two()
                    );
                    // SAFETY: the processor has the instructions, and there are as many rows.
                    unsafe { $module::all(rows.as_mut_ptr().cast(), count) }
                }
            }
        };
    }
    network!(
        u16,
        32,
        of16,
        u32,
        _mm512_min_epu16,
        _mm512_max_epu16,
        _mm512_permutexvar_epi16,
        _mm512_mask_blend_epi16
    );
    network!(
        u32,
        16,
        of32,
        u16,
        _mm512_min_epu32,
        _mm512_max_epu32,
        _mm512_permutexvar_epi32,
        _mm512_mask_blend_epi32
    );
    network!(
        u64,
        8,
        of64,
        u8,
        _mm512_min_epu64,
        _mm512_max_epu64,
        _mm512_permutexvar_epi64,
        _mm512_mask_blend_epi64
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(n: usize, bits: u32) -> Vec<u64> {
        let mut state = 9u64 + n as u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 8
        };
        (0..n)
            .map(|i| if i % 5 == 0 { u64::MAX >> (64 - bits) } else { random() % (1 << (bits - 1)) })
            .collect()
    }

    #[test]
    fn networks_sort_as_comparisons_do() {
        for n in [1, 2, 7, 8, 9, 31, 64, 100, 500, 1000, 1024, 1025, LONGEST] {
            let wide = keys(n, 64);
            macro_rules! check {
                ($t:ty) => {{
                    let mut sorted: Vec<$t> = wide.iter().map(|&k| k as $t).collect();
                    let mut want = sorted.clone();
                    want.sort_unstable();
                    let done = sort(&mut sorted, &mut vec![0; room(n)], <$t>::MAX);
                    assert_eq!(done, lanes::<$t>().is_some());
                    assert!(!done || sorted == want, "{n} keys of {} bits", <$t>::BITS);
                }};
            }
            check!(u16);
            check!(u32);
            check!(u64);
        }
    }

    #[test]
    fn columns_are_sorted_by_themselves() {
        let Some(lanes) = lanes::<u32>() else { return };
        for rows in 1..70 {
            let mut all: Vec<u32> = keys(rows * lanes, 32).iter().map(|&k| k as u32).collect();
            let mut want = all.clone();
            for lane in 0..lanes {
                let mut column: Vec<u32> = all[lane..].iter().step_by(lanes).copied().collect();
                column.sort_unstable();
                column.iter().enumerate().for_each(|(row, &key)| want[row * lanes + lane] = key);
            }
            u32::columns(&mut all);
            assert_eq!(all, want, "{rows} rows");
        }
    }
}
