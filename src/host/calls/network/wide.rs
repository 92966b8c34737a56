//! Networks of AVX-512 vectors. Columns are sorted by blocks that fit the registers, which are then merged, some steps of a merge at
//! each pass through memory.

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

/// Exchanges of an array's items, named one by one, so that registers hold them.
macro_rules! exchanges { ($x:ident: $($a:literal $b:literal,)*) => { $(
    ($x[$a], $x[$b]) = ordered($x[$a], $x[$b]);
)* }; }

/// Of two vectors, named one by one, each becomes lanes of both.
macro_rules! parts { ($both:ident $x:ident $low:ident $high:ident: $($a:literal $b:literal,)*) => { $(
    ($x[$a], $x[$b]) = ($both($x[$a], $low, $x[$b]), $both($x[$a], $high, $x[$b]));
)* }; }

/// Functions that sort columns of rows of `Item`, of which registers hold `$block`. Where the macro stands there are `Item`, and
/// `load`, `store`, `ordered` and `greatest` of it.
macro_rules! columns { ($block:literal) => {
    const BLOCK: usize = $block;

    /// The best network that is known of 8.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn sort8(x: &mut [Item; 8]) {
        exchanges!(x: 0 2, 1 3, 4 6, 5 7, 0 4, 1 5, 2 6, 3 7, 0 1, 2 3, 4 5, 6 7, 2 4, 3 5, 1 4, 3 6, 1 2, 3 4, 5 6,);
    }

    /// The best network that is known of 16.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn sort16(x: &mut [Item; 16]) {
        exchanges!(x:
            0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15, 0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15,
            0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14, 11 15, 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15,
            5 10, 6 9, 3 12, 13 14, 4 8, 7 11, 1 2, 1 4, 7 13, 2 8, 11 14, 2 4, 5 6, 9 10, 11 13, 3 8, 7 12,
            6 8, 10 12, 3 5, 7 9, 3 4, 5 6, 7 8, 9 10, 11 12, 6 7, 8 9,
        );
    }

    /// Sorts what is bitonic.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn clean8(x: &mut [Item; 8]) {
        exchanges!(x: 0 4, 1 5, 2 6, 3 7, 0 2, 1 3, 4 6, 5 7, 0 1, 2 3, 4 5, 6 7,);
    }

    /// Sorts what is bitonic.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn clean16(x: &mut [Item; 16]) {
        exchanges!(x:
            0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15, 0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14, 11 15,
            0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15, 0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15,
        );
    }

    /// Rows from the first on by what sorts so many.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn block<const N: usize>(v: *mut __m512i, sort: impl Fn(&mut [Item; N])) {
        let mut x = [greatest(); N];
        // SAFETY: the caller's: there are as many rows.
        unsafe {
            (0..N).for_each(|i| x[i] = load(v, i));
            sort(&mut x);
            (0..N).for_each(|i| store(v, i, x[i]));
        }
    }

    /// Sorts each column; of 8 rows and more there are a multiple of 8.
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) unsafe fn columns(v: *mut __m512i, rows: usize) {
        // SAFETY: the caller's: there are as many rows.
        unsafe {
            if rows < 8 {
                merge_exchange(rows, |i, j| {
                    let (a, b) = ordered(load(v, i), load(v, j));
                    store(v, i, a);
                    store(v, j, b);
                });
                return;
            }
            each_block(v, rows, |x| sort8(x), |x| sort16(x));
            let mut sorted = BLOCK;
            while sorted < rows {
                for first in (0..rows - sorted).step_by(2 * sorted) {
                    let v = v.add(first * VECTORS);
                    merge(v, sorted, (rows - first).min(2 * sorted));
                }
                sorted *= 2;
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn each_block(
        v: *mut __m512i,
        rows: usize,
        of8: impl Fn(&mut [Item; 8]),
        of16: impl Fn(&mut [Item; 16]),
    ) {
        // SAFETY: the caller's: there are as many rows, in eights.
        unsafe {
            for first in (0..rows).step_by(BLOCK) {
                let v = v.add(first * VECTORS);
                if BLOCK == 16 && rows - first >= 16 { block(v, &of16) } else { block(v, &of8) }
            }
        }
    }

    /// Merges the first `sorted` rows with those behind, up to as many; all beyond `rows` would be greatest.
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn merge(v: *mut __m512i, sorted: usize, rows: usize) {
        let done = (2 * sorted / BLOCK).trailing_zeros().min(3);
        // SAFETY: the caller's: there are as many rows.
        unsafe {
            match done {
                1 => folded::<1>(v, sorted, rows),
                2 => folded::<2>(v, sorted, rows),
                _ => folded::<4>(v, sorted, rows),
            }
            clean(v, sorted >> done, rows);
        }
    }

    /// Where the second sequence is backwards, first meets last; and the first steps of what follows in both halves.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn folded<const N: usize>(v: *mut __m512i, sorted: usize, rows: usize) {
        let part = sorted / N;
        for i in 0..part {
            let (low, high) = (|k: usize| i + k * part, |k: usize| 2 * sorted - 1 - i - k * part);
            let (mut x, mut y) = ([greatest(); N], [greatest(); N]);
            // SAFETY: the caller's: there are as many rows.
            unsafe {
                for k in 0..N {
                    x[k] = load(v, low(k));
                    if high(k) < rows {
                        y[k] = load(v, high(k));
                    }
                }
                for k in 0..N {
                    (x[k], y[k]) = ordered(x[k], y[k]);
                }
                if N == 4 {
                    exchanges!(x: 0 2, 1 3,);
                    exchanges!(y: 2 0, 3 1,);
                    exchanges!(x: 2 3,);
                    exchanges!(y: 3 2,);
                }
                if N > 1 {
                    exchanges!(x: 0 1,);
                    exchanges!(y: 1 0,);
                }
                for k in 0..N {
                    store(v, low(k), x[k]);
                    if high(k) < rows {
                        store(v, high(k), y[k]);
                    }
                }
            }
        }
    }

    /// Sorts each part of `2 * apart` rows, which is bitonic.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn clean(v: *mut __m512i, mut apart: usize, rows: usize) {
        // SAFETY: the caller's: there are as many rows.
        unsafe {
            while apart >= BLOCK {
                let steps = (2 * apart / BLOCK).trailing_zeros().min(3);
                match steps {
                    1 => stepped::<2>(v, apart, rows),
                    2 => stepped::<4>(v, apart, rows),
                    _ => stepped::<8>(v, apart, rows),
                }
                apart >>= steps;
            }
            each_block(v, rows, |x| clean8(x), |x| clean16(x));
        }
    }

    /// The exchanges so far apart, and those of the next steps.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn stepped<const N: usize>(v: *mut __m512i, apart: usize, rows: usize) {
        let part = 2 * apart / N;
        for first in (0..rows).step_by(2 * apart) {
            for i in first..(first + part).min(rows) {
                let mut x = [greatest(); N];
                // SAFETY: the caller's: there are as many rows.
                unsafe {
                    for k in 0..N {
                        if i + k * part < rows {
                            x[k] = load(v, i + k * part);
                        }
                    }
                    if N == 8 {
                        exchanges!(x: 0 4, 1 5, 2 6, 3 7, 4 6, 5 7,);
                    }
                    if N >= 4 {
                        exchanges!(x: 0 2, 1 3, 2 3,);
                    }
                    if N == 8 {
                        exchanges!(x: 4 5, 6 7,);
                    }
                    exchanges!(x: 0 1,);
                    for k in 0..N {
                        if i + k * part < rows {
                            store(v, i + k * part, x[k]);
                        }
                    }
                }
            }
        }
    }
}; }

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
                lanes_by(|lane| lane ^ bits)
            }

            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            fn lanes_by(from: impl Fn(usize) -> usize) -> __m512i {
                let mut at = [0 as $t; $lanes];
                (0..$lanes).for_each(|lane| at[lane] = from(lane) as $t);
                // SAFETY: the array is as large as a vector.
                unsafe { _mm512_loadu_si512(at.as_ptr().cast()) }
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
                // SAFETY: as above; there is a power of two.
                unsafe {
                    if rows >= 8 {
                        clean(v, rows / 2, rows);
                        return;
                    }
                    let mut apart = rows / 2;
                    while apart > 0 {
                        for i in (0..rows).filter(|i| i & apart == 0) {
                            let (low, high) = ordered(load(v, i), load(v, i + apart));
                            store(v, i, low);
                            store(v, i + apart, high);
                        }
                        apart /= 2;
                    }
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
                    let [low, high] = corners(8);
                    parts!($both x low high: 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15,);
                    let [low, high] = corners(4);
                    parts!($both x low high: 8 12, 9 13, 10 14, 11 15,);
                    let [low, high] = corners(2);
                    parts!($both x low high: 8 10, 9 11, 12 14, 13 15,);
                    let [low, high] = corners(1);
                    parts!($both x low high: 8 9, 10 11, 12 13, 14 15,);
                }
                let [low, high] = corners(4);
                parts!($both x low high: 0 4, 1 5, 2 6, 3 7,);
                let [low, high] = corners(2);
                parts!($both x low high: 0 2, 1 3, 4 6, 5 7,);
                let [low, high] = corners(1);
                parts!($both x low high: 0 1, 2 3, 4 5, 6 7,);
            }

            /// Of two vectors so far apart, the lanes of which each is made.
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            fn corners(apart: usize) -> [__m512i; 2] {
                let low = |lane: usize| if lane & apart == 0 { lane } else { $lanes + lane - apart };
                let high = |lane: usize| if lane & apart == 0 { lane + apart } else { $lanes + lane };
                [lanes_by(low), lanes_by(high)]
            }

            #[target_feature(enable = "avx512f,avx512bw")]
            pub(super) unsafe fn transpose(v: *mut __m512i, apart: usize) {
                const REGISTERS: usize = if $lanes < 16 { $lanes } else { 16 };
                // SAFETY: the caller's: there are as many vectors as lanes, so far apart.
                unsafe {
                    let mut far = $lanes / 2;
                    while far >= REGISTERS {
                        let [low, high] = corners(far);
                        for i in (0..$lanes).filter(|i| i & far == 0) {
                            let (a, b) = (load(v, i * apart), load(v, (i + far) * apart));
                            store(v, i * apart, $both(a, low, b));
                            store(v, (i + far) * apart, $both(a, high, b));
                        }
                        far /= 2;
                    }
                    for first in (0..$lanes).step_by(REGISTERS) {
                        let mut x = [greatest(); REGISTERS];
                        (0..REGISTERS).for_each(|i| x[i] = load(v, (first + i) * apart));
                        squares(&mut x);
                        (0..REGISTERS).for_each(|i| store(v, (first + i) * apart, x[i]));
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
                assert!(lanes::<$t>().is_some() && rows.len().is_multiple_of($lanes) && count.is_power_of_two());
                // SAFETY: the processor has the instructions, and there are as many rows.
                unsafe { $module::all(rows.as_mut_ptr().cast(), count) }
            }

            fn transpose(square: &mut [$t], words: usize) {
                assert!(lanes::<$t>().is_some() && square.len() >= (($lanes - 1) * words + 1) * $lanes);
                // SAFETY: the processor has the instructions, and there are as many vectors, so far apart.
                unsafe { $module::transpose(square.as_mut_ptr().cast(), words) }
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
