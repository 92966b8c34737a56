//! Sorting networks: short rows are sorted in registers, each by one item.
//!
//! Batcher's odd-even merge sort (Sorting networks and their applications, AFIPS 1968).

/// Lengths that have a network; rows of other lengths are filled up to the next.
const LENGTHS: [u64; 4] = [4, 8, 16, 32];
/// Bytes of keys of an item's row: they are in registers, as are positions.
const KEYS: u64 = 128;

/// The length of the network for rows of `n` keys of `size` bytes.
pub(super) fn length(n: u64, size: u64) -> Option<u64> {
    LENGTHS.into_iter().find(|length| n <= *length && length * size <= KEYS)
}

/// The pairs that are compared and exchanged, in order; `length` is a power of two.
fn pairs(length: u64) -> Vec<(u64, u64)> {
    let mut pairs = Vec::new();
    let sizes = (0..length.ilog2()).map(|bit| 1u64 << bit);
    for size in sizes {
        // Merges sorted runs of `size`.
        for step in (0..=size.ilog2()).rev().map(|bit| 1u64 << bit) {
            for start in (step % size..length - step).step_by(2 * step as usize) {
                for a in start..start + step {
                    let b = a + step;
                    if b < length && a / (2 * size) == b / (2 * size) {
                        pairs.push((a, b));
                    }
                }
            }
        }
    }
    pairs
}

/// The exchanges of a network, as calls of a macro: `EXCHANGE(0, 1)`.
pub(super) fn exchanges(length: u64) -> String {
    pairs(length).into_iter().map(|(a, b)| format!("EXCHANGE({a}, {b})\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that sorts all rows of zeros and ones sorts all rows (Knuth, The art of computer
    /// programming, volume 3, section 5.3.4).
    #[test]
    fn rows_of_zeros_and_ones_are_sorted() {
        for length in [4, 8, 16] {
            let pairs = pairs(length);
            for row in 0u32..1 << length {
                let mut keys: Vec<u32> = (0..length).map(|at| row >> at & 1).collect();
                for &(a, b) in &pairs {
                    if keys[a as usize] > keys[b as usize] {
                        keys.swap(a as usize, b as usize);
                    }
                }
                assert!(keys.is_sorted(), "{row:b}");
            }
        }
        assert_eq!([4, 8, 16, 32].map(|length| pairs(length).len()), [5, 19, 63, 191]);
    }

    #[test]
    fn short_rows_have_a_network() {
        assert_eq!([1, 4, 5, 32].map(|n| length(n, 4)), [Some(4), Some(4), Some(8), Some(32)]);
        assert_eq!((length(33, 4), length(16, 8), length(17, 8)), (None, Some(16), None));
    }
}
