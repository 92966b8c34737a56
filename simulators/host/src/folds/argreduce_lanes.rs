//! Where the extreme element of a row first stands, in one pass: each lane of a vector remembers when it found its best.
//!
//! For elements of four and eight bytes, whose indices take a vector each, on processors with AVX-512.

use super::argreduce::{FEW, First, few, first, first_nan};
use super::strided_reduce::Rows;
use std::arch::x86_64::*;
use workalike_kernels::DType;
use workalike_kernels::level::{Level, level};
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::lanes_mut;

/// Vectors that are looked at side by side.
const CHAINS: usize = 4;
/// Longer rows have indices that lanes may not hold.
const LONGEST: usize = 1 << 30;

macro_rules! tracked {
    ($name:ident: $t:ty, $lanes:literal, $mask:ty, nan $nan:expr,
     [$splat:ident, $load:ident, $part:ident, $pick:ident, $most:ident, $least:ident, $reduce_most:ident, $reduce_least:ident],
     ahead |$x:ident, $best:ident| $greater:expr, $less:expr, equal |$a:ident, $b:ident| $equal:expr,
     [$index:ty, $index_splat:ident, $index_add:ident, $shift:ident, $index_pick:ident, $index_least:ident, $reduce_index:ident, $index_load:ident]) => {
        /// # Safety
        /// As of [`First`]; the processor must have AVX-512.
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
        )]
        unsafe fn $name<const MAX: bool>(
            values: &mut [u64],
            indices: &mut [i64],
            rows: Rows<'_>,
            n: usize,
            start: i64,
            step: i64,
        ) {
            const L: usize = $lanes;
            const LANES: [$index; L] = {
                let mut all = [0; L];
                let mut at = 0;
                while at < L {
                    all[at] = at as $index;
                    at += 1;
                }
                all
            };
            if n > LONGEST {
                // SAFETY: the caller's promise.
                return unsafe { first::<$t, MAX>(values, indices, rows, n, start, step) };
            }
            let values = lanes_mut::<$t>(values);
            for (at, (value, index)) in values.iter_mut().zip(indices).enumerate().take(rows.at.len()) {
                // SAFETY: the caller's promise; all that is loaded lies before `n`.
                unsafe {
                    let row = rows.row::<$t>(at, n);
                    if n <= FEW {
                        let (best, position) = few::<$t, MAX>(row);
                        (*value, *index) = (best, start + position as i64 * step);
                        continue;
                    }
                    let from = row.as_ptr();
                    // Of what equals the first element, that comes first, whatever lanes say that did not find it.
                    let mut best = [$splat(row[0]); CHAINS];
                    let mut found = [$index_splat(0); CHAINS];
                    let mut now = $index_splat(0);
                    let mut nan: $mask = 0;
                    let ahead = |$x, $best| if MAX { $greater } else { $less };
                    let whole = n / (CHAINS * L);
                    for turn in 0..whole {
                        for k in 0..CHAINS {
                            let x = $load(from.add((turn * CHAINS + k) * L).cast());
                            let wins = ahead(x, best[k]);
                            best[k] = $pick(best[k], wins, x);
                            found[k] = $index_pick(found[k], wins, now);
                            nan |= $nan(x);
                        }
                        now = $index_add(now, $index_splat(1));
                    }
                    let mut done = whole * CHAINS * L;
                    for k in 0..CHAINS {
                        if done < n {
                            let mask = (1u32 << L.min(n - done)).wrapping_sub(1) as $mask;
                            let x = $part(best[k], mask, from.add(done).cast());
                            let wins = ahead(x, best[k]);
                            best[k] = $pick(best[k], wins, x);
                            found[k] = $index_pick(found[k], wins, now);
                            nan |= $nan(x);
                            done += L;
                        }
                    }
                    if nan != 0 {
                        (*value, *index) = (<$t>::default(), start);
                        if let Some(position) = first_nan(row) {
                            (*value, *index) = (row[position], start + position as i64 * step);
                        }
                        continue;
                    }
                    let [p, q, r, s] = best;
                    let most = if MAX {
                        $reduce_most($most($most(p, q), $most(r, s)))
                    } else {
                        $reduce_least($least($least(p, q), $least(r, s)))
                    };
                    let (most, lane) = ($splat(most), $index_load(LANES.as_ptr().cast()));
                    let mut first = $index_splat(<$index>::MAX);
                    for k in 0..CHAINS {
                        let ($a, $b) = (best[k], most);
                        let position = $index_add(
                            $shift::<{ (CHAINS * L).ilog2() }>(found[k]),
                            $index_splat((k * L) as $index),
                        );
                        let position = $index_add(position, lane);
                        first =
                            $index_least(first, $index_pick($index_splat(<$index>::MAX), $equal, position));
                    }
                    let position = $reduce_index(first) as usize;
                    (*value, *index) = (row[position], start + position as i64 * step);
                }
            }
        }
    };
}

macro_rules! floats {
    ($name:ident: $t:ty, $lanes:literal, $mask:ty, $compare:ident, $methods:tt, $index:tt) => {
        tracked!($name: $t, $lanes, $mask, nan |x| $compare::<_CMP_UNORD_Q>(x, x), $methods,
            ahead |x, best| $compare::<_CMP_GT_OQ>(x, best), $compare::<_CMP_LT_OQ>(x, best),
            equal |a, b| $compare::<_CMP_EQ_OQ>(a, b), $index);
    };
}

macro_rules! integers {
    ($name:ident: $t:ty, $lanes:literal, $mask:ty, $greater:ident, $less:ident, $equal:ident, $methods:tt, $index:tt) => {
        tracked!($name: $t, $lanes, $mask, nan |_| 0, $methods,
            ahead |x, best| $greater(x, best), $less(x, best), equal |a, b| $equal(a, b), $index);
    };
}

macro_rules! by_eight {
    ($then:ident! $($rest:tt)*) => {
        $then!($($rest)*, [i64, _mm512_set1_epi64, _mm512_add_epi64, _mm512_slli_epi64, _mm512_mask_mov_epi64, _mm512_min_epi64,
            _mm512_reduce_min_epi64, _mm512_loadu_epi64]);
    };
}

macro_rules! by_four {
    ($then:ident! $($rest:tt)*) => {
        $then!($($rest)*, [i32, _mm512_set1_epi32, _mm512_add_epi32, _mm512_slli_epi32, _mm512_mask_mov_epi32, _mm512_min_epi32,
            _mm512_reduce_min_epi32, _mm512_loadu_epi32]);
    };
}

by_eight!(floats! of_f64: f64, 8, __mmask8, _mm512_cmp_pd_mask,
    [_mm512_set1_pd, _mm512_loadu_pd, _mm512_mask_loadu_pd, _mm512_mask_mov_pd, _mm512_max_pd, _mm512_min_pd,
     _mm512_reduce_max_pd, _mm512_reduce_min_pd]);
by_four!(floats! of_f32: f32, 16, __mmask16, _mm512_cmp_ps_mask,
    [_mm512_set1_ps, _mm512_loadu_ps, _mm512_mask_loadu_ps, _mm512_mask_mov_ps, _mm512_max_ps, _mm512_min_ps,
     _mm512_reduce_max_ps, _mm512_reduce_min_ps]);
by_eight!(integers! of_i64: i64, 8, __mmask8, _mm512_cmpgt_epi64_mask, _mm512_cmplt_epi64_mask, _mm512_cmpeq_epi64_mask,
    [_mm512_set1_epi64, _mm512_loadu_epi64, _mm512_mask_loadu_epi64, _mm512_mask_mov_epi64, _mm512_max_epi64, _mm512_min_epi64,
     _mm512_reduce_max_epi64, _mm512_reduce_min_epi64]);
by_eight!(integers! of_u64: u64, 8, __mmask8, _mm512_cmpgt_epu64_mask, _mm512_cmplt_epu64_mask, _mm512_cmpeq_epi64_mask,
    [splat_u64, _mm512_loadu_epi64, _mm512_mask_loadu_epi64, _mm512_mask_mov_epi64, _mm512_max_epu64, _mm512_min_epu64,
     _mm512_reduce_max_epu64, _mm512_reduce_min_epu64]);
by_four!(integers! of_i32: i32, 16, __mmask16, _mm512_cmpgt_epi32_mask, _mm512_cmplt_epi32_mask, _mm512_cmpeq_epi32_mask,
    [_mm512_set1_epi32, _mm512_loadu_epi32, _mm512_mask_loadu_epi32, _mm512_mask_mov_epi32, _mm512_max_epi32, _mm512_min_epi32,
     _mm512_reduce_max_epi32, _mm512_reduce_min_epi32]);
by_four!(integers! of_u32: u32, 16, __mmask16, _mm512_cmpgt_epu32_mask, _mm512_cmplt_epu32_mask, _mm512_cmpeq_epi32_mask,
    [splat_u32, _mm512_loadu_epi32, _mm512_mask_loadu_epi32, _mm512_mask_mov_epi32, _mm512_max_epu32, _mm512_min_epu32,
     _mm512_reduce_max_epu32, _mm512_reduce_min_epu32]);

#[target_feature(enable = "avx512f")]
#[inline]
fn splat_u64(x: u64) -> __m512i {
    _mm512_set1_epi64(x as i64)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn splat_u32(x: u32) -> __m512i {
    _mm512_set1_epi32(x as i32)
}

/// The loop for rows, if this processor has one.
pub(crate) fn tracked(fold: Fold, dtype: DType) -> Option<First> {
    macro_rules! of {
        ($name:ident) => {
            match fold {
                Fold::ArgMax => $name::<true> as First,
                Fold::ArgMin => $name::<false> as First,
                _ => return None,
            }
        };
    }
    if level() != Level::Avx512 {
        return None;
    }
    Some(match dtype {
        DType::F64 => of!(of_f64),
        DType::F32 => of!(of_f32),
        DType::I64 => of!(of_i64),
        DType::U64 => of!(of_u64),
        DType::I32 => of!(of_i32),
        DType::U32 => of!(of_u32),
        _ => return None,
    })
}
