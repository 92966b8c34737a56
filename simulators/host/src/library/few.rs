//! The first few elements of a long row, in one pass: those that come before all but a few of what was seen are kept, and now and then
//! parted.

use super::keys::{Key, Sortable, key_of};
use workalike_kernels::level::Loop;
use workalike_kernels::nonzero::packed;

/// Elements that are looked at together: as many as a word has bits.
const TOGETHER: usize = 64;
/// What there is room for besides the few.
const BESIDES: usize = 256;

/// Whether so few are wanted of so many that a pass pays.
pub(super) fn pays(kept: usize, n: usize) -> bool {
    kept > 0 && kept < n / 8 && n >= 4 * BESIDES
}

/// Finds the first few: they are left in order at the front of the room.
pub(super) struct Few<'a, T: Sortable> {
    pub(super) source: &'a [T],
    pub(super) descending: bool,
    pub(super) kept: usize,
    /// As many as there are elements.
    pub(super) room: &'a mut [<T::Key as Key>::Placed],
}

impl<T: Sortable> Loop for Few<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Few { source, descending, kept, room } = self;
        let room = &mut room[..(4 * kept + BESIDES).min(source.len())];
        let mut count = 0;
        // What is not below this key is none of the few.
        let mut bound = sampled(source, descending, kept, room);
        let mut parts = source.chunks_exact(TOGETHER);
        let mut first = 0;
        for part in &mut parts {
            let mut keys = [T::Key::default(); TOGETHER];
            keys.iter_mut().zip(part).for_each(|(key, x)| *key = key_of(*x, descending));
            let mut bits = u64::MAX;
            if let Some(bound) = bound {
                let mut flags = [0u8; TOGETHER];
                flags.iter_mut().zip(&keys).for_each(|(flag, key)| *flag = u8::from(*key < bound));
                if flags.iter().fold(0, |any, flag| any | flag) == 0 {
                    first += TOGETHER;
                    continue;
                }
                bits = packed(&flags);
            }
            while bits != 0 {
                let at = bits.trailing_zeros() as usize;
                room[count] = keys[at].with((first + at) as u32);
                count += 1;
                bits &= bits - 1;
            }
            first += TOGETHER;
            if count + TOGETHER > room.len() {
                let (_, last, _) = room[..count].select_nth_unstable(kept - 1);
                // What is equal, but comes later, is behind it.
                bound = Some(T::Key::of_placed(*last).0);
                count = kept;
            }
        }
        for (at, x) in parts.remainder().iter().enumerate() {
            room[count] = key_of(*x, descending).with((first + at) as u32);
            count += 1;
        }
        if count > kept {
            room[..count].select_nth_unstable(kept - 1);
        }
        room[..kept].sort_unstable();
    }
}

/// A key that as many as are wanted of a sample are below, so that rows that get better and better are no worse than others; `None` if
/// no key is surely above theirs.
#[inline(always)]
fn sampled<T: Sortable>(
    source: &[T],
    descending: bool,
    kept: usize,
    room: &mut [<T::Key as Key>::Placed],
) -> Option<T::Key> {
    let count = (source.len() / 16).min(BESIDES).max(2 * kept);
    let (sample, stride) = (&mut room[..count], source.len() / count);
    let mut state = 1u64;
    for (at, item) in sample.iter_mut().enumerate() {
        // Not at equal distances, which the data may have as well.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *item = key_of(source[at * stride + (state >> 33) as usize % stride], descending).with(0);
    }
    let last = T::Key::of_placed(*sample.select_nth_unstable(kept - 1).1).0;
    (last < T::Key::default().not()).then(|| T::Key::narrow(last.wide() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workalike_kernels::level::run;

    #[test]
    fn the_few_are_the_first_of_a_stable_sort() {
        for (n, kept) in [(1024, 1), (1024, 127), (5003, 10), (100_000, 300)] {
            assert!(pays(kept, n));
            for kind in 0..4 {
                let row: Vec<i16> = (0..n)
                    .map(|at| match kind {
                        0 => (at * 7919 % 30_011) as i16,
                        1 => (at / 4) as i16,
                        2 => -((at / 4) as i16),
                        _ => (at % 3) as i16,
                    })
                    .collect();
                for descending in [false, true] {
                    let mut room = vec![0; n];
                    run(Few { source: &row, descending, kept, room: &mut room });
                    let mut want: Vec<usize> = (0..n).collect();
                    want.sort_by_key(|&at| key_of(row[at], descending));
                    let found: Vec<usize> =
                        room[..kept].iter().map(|&item| u16::of_placed(item).1 as usize).collect();
                    assert_eq!(found, want[..kept], "{n} {kept} {kind} {descending}");
                }
            }
        }
    }
}
