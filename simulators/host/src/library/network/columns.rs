//! Functions that sort columns of vectors, whatever the vectors are: blocks that fit the registers are sorted, and then merged, some
//! steps of a merge at each pass through memory.

/// Calls `exchange(i, j)`, `i` before `j`, in an order that sorts `n`: Batcher's merge exchange.
#[inline(always)]
pub(super) fn merge_exchange(n: usize, mut exchange: impl FnMut(usize, usize)) {
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

pub(super) use {columns, exchanges};
