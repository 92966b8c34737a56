//! Elements as unsigned integers in the order of sorting, and those sorted by their digits.

use half::{bf16, f16};

/// An unsigned integer that stands for an element.
pub(super) trait Key: Copy + Ord + Send + Sync + Default {
    /// With its position below it, in one number.
    type Placed: Copy + Ord + Send + Sync + Default;
    const BITS: u32;
    fn digit(self, shift: u32, mask: usize) -> usize;
    fn with(self, position: u32) -> Self::Placed;
    fn of_placed(placed: Self::Placed) -> (Self, u32);
    fn placed_digit(placed: Self::Placed, shift: u32, mask: usize) -> usize;
    fn not(self) -> Self;
}

macro_rules! keys { ($($k:ty, $placed:ty;)*) => { $(
    impl Key for $k {
        type Placed = $placed;
        const BITS: u32 = <$k>::BITS;
        #[inline(always)]
        fn digit(self, shift: u32, mask: usize) -> usize { (self >> shift) as usize & mask }
        #[inline(always)]
        fn with(self, position: u32) -> $placed { (self as $placed) << 32 | position as $placed }
        #[inline(always)]
        fn of_placed(placed: $placed) -> ($k, u32) { ((placed >> 32) as $k, placed as u32) }
        #[inline(always)]
        fn placed_digit(placed: $placed, shift: u32, mask: usize) -> usize { (placed >> (32 + shift)) as usize & mask }
        #[inline(always)]
        fn not(self) -> $k { !self }
    }
)* }; }
keys! { u8, u64; u16, u64; u32, u64; u64, u128; }

/// An element and its key.
pub(super) trait Sortable: Copy + Send + Sync + 'static {
    type Key: Key;
    fn key(self) -> Self::Key;
    /// The element of a key; of what is equal in order, one.
    fn of(key: Self::Key) -> Self;
    /// For a zero that may have either sign, whether it is the negative one.
    fn negative_zero(self) -> Option<bool> {
        None
    }
    /// Zero with this sign.
    fn zero(negative: bool) -> Self;
    /// Whether elements with one key may differ in their bits, apart from NaN.
    const ZEROS: bool = false;
}

macro_rules! integers { ($($t:ty, $k:ty, $flip:expr;)*) => { $(
    impl Sortable for $t {
        type Key = $k;
        #[inline(always)]
        fn key(self) -> $k { self as $k ^ $flip }
        #[inline(always)]
        fn of(key: $k) -> $t { (key ^ $flip) as $t }
        fn zero(_: bool) -> $t { 0 }
    }
)* }; }
integers! {
    u8, u8, 0; u16, u16, 0; u32, u32, 0; u64, u64, 0;
    i8, u8, 1 << 7; i16, u16, 1 << 15; i32, u32, 1 << 31; i64, u64, 1 << 63;
}

macro_rules! floats { ($($t:ty, $k:ty, $i:ty, $infinity:expr;)*) => { $(
    impl Sortable for $t {
        type Key = $k;
        const ZEROS: bool = true;
        /// Both zeros are the positive one, and all NaN the greatest.
        #[inline(always)]
        fn key(self) -> $k {
            const TOP: $k = 1 << (<$k>::BITS - 1);
            let bits = self.to_bits();
            let bits = if bits == TOP { 0 } else { bits };
            let key = bits ^ ((((bits as $i) >> (<$k>::BITS - 1)) as $k) | TOP);
            if bits & !TOP > $infinity { <$k>::MAX } else { key }
        }
        #[inline(always)]
        fn of(key: $k) -> $t {
            const TOP: $k = 1 << (<$k>::BITS - 1);
            <$t>::from_bits(if key & TOP != 0 { key ^ TOP } else { !key })
        }
        #[inline(always)]
        fn negative_zero(self) -> Option<bool> {
            let bits = self.to_bits();
            (bits << 1 == 0).then_some(bits != 0)
        }
        fn zero(negative: bool) -> $t { <$t>::from_bits((negative as $k) << (<$k>::BITS - 1)) }
    }
)* }; }
floats! {
    f16, u16, i16, 0x7c00;
    bf16, u16, i16, 0x7f80;
    f32, u32, i32, 0x7f80_0000;
    f64, u64, i64, 0x7ff0_0000_0000_0000;
}

/// Up to so many elements comparisons are faster.
const FEW: usize = 96;
/// Bits of a digit, of short rows and of long ones.
const DIGITS: [u32; 2] = [8, 11];
/// A row is long from here.
const LONG: usize = 1 << 14;

/// Sorts by digits of `digit`, the least significant first, back and forth between `items` and `other`; the result is in `items`.
/// All items with equal keys stay in their order, if comparing items tells them apart.
fn by_digits<T: Copy + Ord>(
    items: &mut [T],
    other: &mut [T],
    bits: u32,
    digit: impl Fn(T, u32, usize) -> usize + Copy,
) {
    let n = items.len();
    if n <= FEW {
        items.sort_unstable();
        return;
    }
    let width = DIGITS[usize::from(n >= LONG && bits > 16)];
    let passes = bits.div_ceil(width) as usize;
    let (size, mask) = (1usize << width, (1usize << width) - 1);
    let mut counts = [0u32; 8 << 8];
    let counts = &mut counts[..];
    // Digits of 11 bits of a 64-bit key need more than the short table: they are counted pass by pass.
    let at_once = passes * size <= counts.len();
    if at_once {
        for &item in items.iter() {
            for pass in 0..passes {
                counts[pass * size + digit(item, pass as u32 * width, mask)] += 1;
            }
        }
    }
    let mut here = true;
    for pass in 0..passes {
        let shift = pass as u32 * width;
        let (from, to): (&mut [T], &mut [T]) =
            if here { (&mut *items, &mut *other) } else { (&mut *other, &mut *items) };
        let starts = if at_once { &mut counts[pass * size..(pass + 1) * size] } else { &mut counts[..size] };
        if !at_once {
            starts.fill(0);
            from.iter().for_each(|&item| starts[digit(item, shift, mask)] += 1);
        }
        if starts[digit(from[0], shift, mask)] as usize == n {
            continue;
        }
        let mut sum = 0;
        for start in starts.iter_mut() {
            sum += std::mem::replace(start, sum);
        }
        for &item in from.iter() {
            let start = &mut starts[digit(item, shift, mask)];
            to[*start as usize] = item;
            *start += 1;
        }
        here = !here;
    }
    if !here {
        items.copy_from_slice(other);
    }
}

/// Sorts keys; `other` is as long.
pub(super) fn sort_keys<K: Key>(keys: &mut [K], other: &mut [K]) {
    by_digits(keys, other, K::BITS, |key, shift, mask| key.digit(shift, mask));
}

/// Sorts keys with their positions; those of equal keys ascend.
pub(super) fn sort_placed<K: Key>(placed: &mut [K::Placed], other: &mut [K::Placed]) {
    by_digits(placed, other, K::BITS, |item, shift, mask| K::placed_digit(item, shift, mask));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_numbers() {
        let ordered = [f64::NEG_INFINITY, -2.5, -1e-310, 0.0, 1e-310, 1.0, f64::INFINITY, f64::NAN];
        assert!(ordered.windows(2).all(|w| w[0].key() < w[1].key()));
        assert_eq!((-0.0f32).key(), 0.0f32.key());
        assert_eq!((-f32::NAN).key(), f32::NAN.key());
        for x in [-3.5f32, 0.0, 7.25, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(f32::of(x.key()), x);
        }
        assert!(f32::of(f32::NAN.key()).is_nan() && f32::of(f32::NAN.key().not().not()).is_nan());
        assert_eq!([i64::MIN, -1, 0, i64::MAX].map(|x| i64::of(x.key())), [i64::MIN, -1, 0, i64::MAX]);
        assert!((-1i8).key() < 0i8.key());
    }

    #[test]
    fn digits_sort_as_comparisons_do() {
        for n in [0usize, 1, 2, 95, 97, 1000, 20_000] {
            let mut state = 1u64;
            let keys: Vec<u64> = (0..n)
                .map(|i| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1442695040888963407);
                    if i % 3 == 0 { state >> 60 } else { state }
                })
                .collect();
            let (mut sorted, mut want) = (keys.clone(), keys.clone());
            want.sort_unstable();
            sort_keys(&mut sorted, &mut vec![0; n]);
            assert_eq!(sorted, want, "{n} keys");
            let narrow: Vec<u32> = keys.iter().map(|&k| (k >> 40) as u32).collect();
            let mut placed: Vec<u64> = narrow.iter().enumerate().map(|(i, k)| k.with(i as u32)).collect();
            let mut want = placed.clone();
            want.sort_unstable();
            sort_placed::<u32>(&mut placed, &mut vec![0; n]);
            assert_eq!(placed, want, "{n} keys with positions");
        }
    }
}
