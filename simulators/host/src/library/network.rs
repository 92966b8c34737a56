//! Sorting networks: exchanges that are the same whatever the keys are, done for a vector of keys at a time. Of several short rows each
//! has a lane. A single row is laid out so that its parts have a lane each; sorted, they are merged, two and two.
//!
//! Where the processor has no wide vectors, or keys are too narrow to gain by them, [`Network::LANES`] says so.

#[cfg(target_arch = "x86_64")]
mod columns;
#[cfg(target_arch = "x86_64")]
mod wide;

use workalike_kernels::level::{Level, level};

/// Keys up to which one row is sorted by a network.
pub(super) const LONGEST: usize = 1 << 11;

/// Keys that networks sort.
pub(super) trait Network: Sized {
    /// Keys of a vector; 0 where there are no networks.
    const LANES: usize;
    /// Sorts each column of rows of `LANES` keys; from 8 rows on, of a multiple of [`BLOCK`].
    fn columns(rows: &mut [Self]);
    /// Sorts all keys of rows of `LANES`, of as many as [`filled`] gives: the columns one after the other are in order.
    fn all(rows: &mut [Self]);
    /// Transposes a square of as many vectors as there are lanes, each so many vectors from the one before.
    fn transpose(square: &mut [Self], apart: usize);
    /// Transposes a square from the first place to the second, in each of which vectors are so many elements apart.
    ///
    /// # Safety
    /// There are as many vectors of both as there are lanes, which may be the same, and nobody else uses them.
    unsafe fn transpose_to(between: [*mut Self; 2], apart: [usize; 2]);
}

/// Rows that columns are sorted by; the last ones may be of the greatest keys.
pub(super) const BLOCK: usize = 8;

/// Keys of a vector, if networks can be used.
pub(super) fn lanes<K: Network>() -> Option<usize> {
    (K::LANES > 0 && level() == Level::Avx512).then_some(K::LANES)
}

/// Rows that networks take, where there are at least so many: few of them, or four to seven times a power of two, of eights.
fn filled(rows: usize) -> usize {
    if rows <= 8 {
        return rows.next_power_of_two();
    }
    rows.next_multiple_of(1 << (rows.ilog2() - 2)).next_multiple_of(BLOCK)
}

/// Keys that `n` keys and what fills up the vectors take.
pub(super) fn room(n: usize) -> usize {
    if n > LONGEST { n } else { n.next_power_of_two().max(64) }
}

/// Sorts keys; `other` has room for as many as [`room`] says. False if they are too many, or there are no networks.
pub(super) fn sort<K: Network + Copy>(keys: &mut [K], other: &mut [K], last: K) -> bool {
    let n = keys.len();
    let Some(lanes) = lanes::<K>() else { return false };
    let rows = filled(n.div_ceil(lanes));
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
        fn transpose(_: &mut [$t], _: usize) {}
        unsafe fn transpose_to(_: [*mut $t; 2], _: [usize; 2]) {}
    }
)* }; }
none!(u8);
#[cfg(not(target_arch = "x86_64"))]
none!(u16, u32, u64);

/// Sorts each column of pairs of numbers, by the first and then the second: a row is `LANES` first numbers, then `LANES` second ones. From
/// 8 rows on there are a multiple of [`BLOCK`].
pub(super) fn columns_of_pairs(rows: &mut [u64]) {
    let count = rows.len() / (2 * <u64 as Network>::LANES).max(1);
    assert!(lanes::<u64>().is_some() && (count < 8 || count.is_multiple_of(BLOCK)));
    // SAFETY: the processor has the instructions, and there are as many rows of two vectors.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        wide::columns_of_pairs(rows.as_mut_ptr().cast(), count)
    }
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
        for n in [1, 2, 7, 8, 9, 31, 64, 100, 177, 330, 400, 500, 700, 840, 1000, 1024, 1025, 1700, LONGEST] {
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

    fn check_columns<K: Network + Ord + Copy + std::fmt::Debug>(narrow: impl Fn(u64) -> K, greatest: K) {
        let Some(lanes) = lanes::<K>() else { return };
        for rows in (1..8).chain((8..200).step_by(8)).chain([256, 264, 480, 512]) {
            let mut all: Vec<K> = keys(rows * lanes, 64).iter().map(|&k| narrow(k >> 3)).collect();
            all.iter_mut().rev().step_by(7).for_each(|key| *key = greatest);
            let mut want = all.clone();
            for lane in 0..lanes {
                let mut column: Vec<K> = all[lane..].iter().step_by(lanes).copied().collect();
                column.sort_unstable();
                column.iter().enumerate().for_each(|(row, &key)| want[row * lanes + lane] = key);
            }
            K::columns(&mut all);
            assert!(all == want, "{rows} rows of {lanes}");
        }
        let square: Vec<K> = keys(3 * lanes * lanes, 64).into_iter().map(&narrow).collect();
        for apart in [1, 2, 3] {
            let mut turned = square.clone();
            K::transpose(&mut turned, apart);
            for (i, j) in (0..lanes).flat_map(|i| (0..lanes).map(move |j| (i, j))) {
                assert_eq!(turned[i * apart * lanes + j], square[j * apart * lanes + i], "{apart} {i} {j}");
            }
        }
    }

    #[test]
    fn columns_are_sorted_by_themselves_and_squares_are_transposed() {
        check_columns(|k| k as u16, u16::MAX);
        check_columns(|k| k as u32, u32::MAX);
        check_columns(|k| k, u64::MAX);
    }

    #[test]
    fn pairs_are_sorted_by_the_first_and_then_the_second() {
        let Some(lanes) = lanes::<u64>() else { return };
        for rows in [1, 2, 7, 8, 16, 24, 40, 64, 72, 256, 512] {
            let mut all: Vec<u64> = keys(2 * rows * lanes, 64).iter().map(|&k| k % 50).collect();
            let mut want = all.clone();
            for lane in 0..lanes {
                let at = |row: usize| 2 * row * lanes + lane;
                let mut column: Vec<_> = (0..rows).map(|row| (all[at(row)], all[at(row) + lanes])).collect();
                column.sort_unstable();
                for (row, pair) in column.into_iter().enumerate() {
                    (want[at(row)], want[at(row) + lanes]) = pair;
                }
            }
            columns_of_pairs(&mut all);
            assert!(all == want, "{rows} rows");
        }
    }
}
