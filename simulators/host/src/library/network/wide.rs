//! Networks of AVX-512 vectors: of keys, and of keys with positions.

use super::columns::{columns, exchanges, merge_exchange};
use super::{Network, filled, lanes};
use std::arch::x86_64::*;

/// Of two vectors, named one by one, each becomes lanes of both.
macro_rules! parts { ($both:ident $x:ident $low:ident $high:ident: $($a:literal $b:literal,)*) => { $(
    ($x[$a], $x[$b]) = ($both($x[$a], $low, $x[$b]), $both($x[$a], $high, $x[$b]));
)* }; }

/// Pairs of 64 bits: a row is a vector of the first ones and one of the second ones.
mod pairs {
    use super::*;

    type Item = (__m512i, __m512i);
    const VECTORS: usize = 2;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn load(v: *mut __m512i, i: usize) -> Item {
        // SAFETY: the caller's: it is a row.
        unsafe { (_mm512_loadu_si512(v.add(2 * i)), _mm512_loadu_si512(v.add(2 * i + 1))) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn store(v: *mut __m512i, i: usize, (first, second): Item) {
        // SAFETY: the caller's: it is a row.
        unsafe {
            _mm512_storeu_si512(v.add(2 * i), first);
            _mm512_storeu_si512(v.add(2 * i + 1), second);
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn ordered((a, p): Item, (b, q): Item) -> (Item, Item) {
        let equal = _mm512_cmpeq_epu64_mask(a, b);
        let after = _mm512_cmpgt_epu64_mask(a, b) | _mm512_mask_cmpgt_epu64_mask(equal, p, q);
        let low = (_mm512_min_epu64(a, b), _mm512_mask_blend_epi64(after, p, q));
        (low, (_mm512_max_epu64(a, b), _mm512_mask_blend_epi64(after, q, p)))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn greatest() -> Item {
        (_mm512_set1_epi64(-1), _mm512_set1_epi64(-1))
    }

    columns!(8);
}

/// Sorts each column of pairs.
///
/// # Safety
/// The processor has AVX-512 F and BW, and there are as many rows of two vectors; of 8 and more a multiple of 8.
pub(super) unsafe fn columns_of_pairs(v: *mut __m512i, rows: usize) {
    // SAFETY: the caller's.
    unsafe { pairs::columns(v, rows) }
}

macro_rules! network {
    ($t:ty, $lanes:literal, $module:ident, $mask:ty, $min:ident, $max:ident, $permute:ident, $both:ident, $blend:ident) => {
        mod $module {
            use super::*;

            const FEATURES: () = assert!(size_of::<[$t; $lanes]>() == 64);
            type Item = __m512i;
            const VECTORS: usize = 1;

            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            unsafe fn load(v: *mut __m512i, i: usize) -> Item {
                // SAFETY: the caller's: it is a row.
                unsafe { _mm512_loadu_si512(v.add(i)) }
            }

            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            unsafe fn store(v: *mut __m512i, i: usize, item: Item) {
                // SAFETY: the caller's: it is a row.
                unsafe { _mm512_storeu_si512(v.add(i), item) }
            }

            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            fn ordered(a: Item, b: Item) -> (Item, Item) {
                ($min(a, b), $max(a, b))
            }

            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            fn greatest() -> Item {
                _mm512_set1_epi64(-1)
            }

            columns!(16);

            /// The lanes by number, each with these bits changed.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            fn swapped(bits: usize) -> __m512i {
                const LANES: [[$t; $lanes]; $lanes] = {
                    let mut all = [[0; $lanes]; $lanes];
                    let mut at = 0;
                    while at < $lanes * $lanes {
                        all[at / $lanes][at % $lanes] = (at / $lanes ^ at % $lanes) as $t;
                        at += 1;
                    }
                    all
                };
                static ALL: [[$t; $lanes]; $lanes] = LANES;
                // SAFETY: an array is as large as a vector.
                unsafe { _mm512_loadu_si512(ALL[bits].as_ptr().cast()) }
            }

            /// The lanes whose number has this bit.
            fn with_bit(bit: usize) -> $mask {
                (0..$lanes).filter(|lane| lane & bit != 0).fold(0, |mask, lane| mask | 1 << lane)
            }

            /// Merges neighbouring groups of `group` columns.
            #[target_feature(enable = "avx512f,avx512bw")]
            unsafe fn merge_columns(v: *mut __m512i, rows: usize, group: usize) {
                let upper = with_bit(group);
                // The second group backwards: the first keys meet the last ones.
                let back = swapped(2 * group - 1);
                for i in 0..rows.div_ceil(2) {
                    let j = rows - 1 - i;
                    // SAFETY: the caller's: both are rows.
                    unsafe {
                        let (a, b) = (load(v, i), load(v, j));
                        let b = $permute(back, b);
                        let (low, high) = ordered(a, b);
                        store(v, i, $blend(upper, low, high));
                        if i < j {
                            store(v, j, $permute(back, $blend(upper, high, low)));
                        }
                    }
                }
                let mut apart = group / 2;
                while apart > 0 {
                    let (upper, other) = (with_bit(apart), swapped(apart));
                    for i in 0..rows {
                        // SAFETY: as above.
                        unsafe {
                            let a = load(v, i);
                            let (low, high) = ordered(a, $permute(other, a));
                            store(v, i, $blend(upper, low, high));
                        }
                    }
                    apart /= 2;
                }
                // SAFETY: as above.
                unsafe { clean_column(v, rows) }
            }

            /// Sorts each column, which is bitonic, of so many rows as [`filled`](super::super::filled) gives.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            unsafe fn clean_column(v: *mut __m512i, rows: usize) {
                // SAFETY: the caller's: there are as many rows.
                unsafe {
                    if rows.is_power_of_two() && rows >= 8 {
                        clean(v, rows / 2, rows);
                        return;
                    }
                    // Halves of halves, down to a few rows.
                    let mut part = rows;
                    while part.is_multiple_of(2) && part > 7 {
                        let steps = part.trailing_zeros().min((part / 4).ilog2()).min(3);
                        match steps {
                            1 => stepped::<2>(v, part / 2, rows),
                            2 => stepped::<4>(v, part / 2, rows),
                            _ => stepped::<8>(v, part / 2, rows),
                        }
                        part >>= steps;
                    }
                    for first in (0..rows).step_by(part) {
                        let v = v.add(first);
                        match part {
                            7 => block::<7>(v, |x| sort7(x)),
                            6 => block::<6>(v, |x| sort6(x)),
                            5 => block::<5>(v, |x| sort5(x)),
                            _ => columns(v, part),
                        }
                    }
                }
            }

            /// The best network of 5.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            fn sort5(x: &mut [Item; 5]) {
                exchanges!(x: 0 3, 1 4, 0 2, 1 3, 0 1, 2 4, 1 2, 3 4, 2 3,);
            }

            /// The best network of 6.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            fn sort6(x: &mut [Item; 6]) {
                exchanges!(x: 0 5, 1 3, 2 4, 1 2, 3 4, 0 3, 2 5, 0 1, 2 3, 4 5, 1 2, 3 4,);
            }

            /// The best network of 7.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            fn sort7(x: &mut [Item; 7]) {
                exchanges!(x: 0 6, 2 3, 4 5, 0 2, 1 4, 3 6, 0 1, 2 5, 3 4, 1 2, 4 6, 2 3, 4 5, 1 2, 3 4, 5 6,);
            }

            #[target_feature(enable = "avx512f,avx512bw")]
            pub(super) unsafe fn all(v: *mut __m512i, rows: usize) {
                let () = FEATURES;
                // SAFETY: passed on.
                unsafe {
                    columns(v, rows);
                    let mut group = 1;
                    while group < $lanes {
                        merge_columns(v, rows, group);
                        group *= 2;
                    }
                }
            }

            /// Exchanges the parts off the diagonal, of squares of these many vectors and of smaller ones.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            fn squares<const N: usize>(x: &mut [__m512i; N]) {
                if N == 16 {
                    let [low, high] = corners::<8>();
                    parts!($both x low high: 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15,);
                    let [low, high] = corners::<4>();
                    parts!($both x low high: 8 12, 9 13, 10 14, 11 15,);
                    let [low, high] = corners::<2>();
                    parts!($both x low high: 8 10, 9 11, 12 14, 13 15,);
                    let [low, high] = corners::<1>();
                    parts!($both x low high: 8 9, 10 11, 12 13, 14 15,);
                }
                let [low, high] = corners::<4>();
                parts!($both x low high: 0 4, 1 5, 2 6, 3 7,);
                let [low, high] = corners::<2>();
                parts!($both x low high: 0 2, 1 3, 4 6, 5 7,);
                let [low, high] = corners::<1>();
                parts!($both x low high: 0 1, 2 3, 4 5, 6 7,);
            }

            /// Of two vectors so far apart, the lanes of which each is made.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            fn corners<const APART: usize>() -> [__m512i; 2] {
                let [low, high] = const {
                    let mut lanes = [[0 as $t; $lanes]; 2];
                    let mut lane = 0;
                    while lane < $lanes {
                        let first = lane & APART == 0;
                        lanes[0][lane] = if first { lane } else { $lanes + lane - APART } as $t;
                        lanes[1][lane] = if first { lane + APART } else { $lanes + lane } as $t;
                        lane += 1;
                    }
                    lanes
                };
                // SAFETY: the arrays are as large as a vector.
                unsafe { [_mm512_loadu_si512(low.as_ptr().cast()), _mm512_loadu_si512(high.as_ptr().cast())] }
            }

            #[target_feature(enable = "avx512f,avx512bw")]
            pub(super) unsafe fn transpose([from, to]: [*mut $t; 2], [apart, to_apart]: [usize; 2]) {
                const REGISTERS: usize = if $lanes < 16 { $lanes } else { 16 };
                let (mut from, mut apart) = (from, apart);
                // SAFETY: the caller's: there are as many vectors as lanes of both, so far apart.
                unsafe {
                    // Of 32 vectors half are too many for the registers.
                    if $lanes == 32 {
                        let [low, high] = corners::<16>();
                        for i in 0..16 {
                            let a = _mm512_loadu_si512(from.add(i * apart).cast());
                            let b = _mm512_loadu_si512(from.add((i + 16) * apart).cast());
                            _mm512_storeu_si512(to.add(i * to_apart).cast(), $both(a, low, b));
                            _mm512_storeu_si512(to.add((i + 16) * to_apart).cast(), $both(a, high, b));
                        }
                        (from, apart) = (to, to_apart);
                    }
                    for first in (0..$lanes).step_by(REGISTERS) {
                        let mut x = [greatest(); REGISTERS];
                        for i in 0..REGISTERS {
                            x[i] = _mm512_loadu_si512(from.add((first + i) * apart).cast());
                        }
                        squares(&mut x);
                        for i in 0..REGISTERS {
                            _mm512_storeu_si512(to.add((first + i) * to_apart).cast(), x[i]);
                        }
                    }
                }
            }
        }

        impl Network for $t {
            const LANES: usize = $lanes;

            fn columns(rows: &mut [$t]) {
                let count = rows.len() / $lanes;
                assert!(lanes::<$t>().is_some() && rows.len().is_multiple_of($lanes));
                assert!(count < 8 || count.is_multiple_of(8));
                // SAFETY: the processor has the instructions, and there are as many rows.
                unsafe { $module::columns(rows.as_mut_ptr().cast(), count) }
            }

            fn all(rows: &mut [$t]) {
                let count = rows.len() / $lanes;
                assert!(lanes::<$t>().is_some() && rows.len().is_multiple_of($lanes) && count == filled(count));
                // SAFETY: the processor has the instructions, and there are as many rows.
                unsafe { $module::all(rows.as_mut_ptr().cast(), count) }
            }

            fn transpose(square: &mut [$t], apart: usize) {
                assert!(square.len() >= (($lanes - 1) * apart + 1) * $lanes);
                let square = square.as_mut_ptr();
                // SAFETY: there are as many vectors, so far apart.
                unsafe { <$t>::transpose_to([square; 2], [apart * $lanes; 2]) }
            }

            unsafe fn transpose_to(between: [*mut $t; 2], apart: [usize; 2]) {
                assert!(lanes::<$t>().is_some());
                // SAFETY: the processor has the instructions; the rest is the caller's.
                unsafe { $module::transpose(between, apart) }
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
    _mm512_permutex2var_epi16,
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
    _mm512_permutex2var_epi32,
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
    _mm512_permutex2var_epi64,
    _mm512_mask_blend_epi64
);
