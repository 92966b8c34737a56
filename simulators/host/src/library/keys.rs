//! Elements as unsigned integers in the order of sorting, and those sorted by their digits.

use super::network::{self, LONGEST, Network};
use half::{bf16, f16};
use workalike_kernels::level::Loop;

/// The function `f::<T>` of the elements of a dtype; bools are bytes.
macro_rules! by_dtype {
    ($dtype:expr, $f:ident) => {{
        use workalike_kernels::DType;
        match $dtype {
            DType::Bool | DType::U8 => $f::<u8>,
            DType::U16 => $f::<u16>,
            DType::U32 => $f::<u32>,
            DType::U64 => $f::<u64>,
            DType::I8 => $f::<i8>,
            DType::I16 => $f::<i16>,
            DType::I32 => $f::<i32>,
            DType::I64 => $f::<i64>,
            DType::F16 => $f::<half::f16>,
            DType::BF16 => $f::<half::bf16>,
            DType::F32 => $f::<f32>,
            DType::F64 => $f::<f64>,
        }
    }};
}
pub(super) use by_dtype;

/// An unsigned integer that stands for an element.
pub(super) trait Key: Copy + Ord + Send + Sync + Default + Network {
    /// With its position below it, in one number.
    type Placed: Copy + Ord + Send + Sync + Default;
    const BITS: u32;
    fn digit(self, shift: u32, mask: usize) -> usize;
    fn with(self, position: u32) -> Self::Placed;
    fn of_placed(placed: Self::Placed) -> (Self, u32);
    fn placed_digit(placed: Self::Placed, shift: u32, mask: usize) -> usize;
    fn not(self) -> Self;
    fn wide(self) -> u64;
    fn narrow(wide: u64) -> Self;
    /// What a lane has of a key with a position below 2^16: one word, or of the widest keys two.
    type Word: Key;
    const WORDS: usize;
    fn words(self, position: usize) -> [Self::Word; 2];
    /// The position, of the last word.
    fn position(word: Self::Word) -> usize;
    /// Sorts each column of rows of as many words a lane.
    fn sort_columns(rows: &mut [Self::Word]);
    /// Sorts keys with their positions in a way that is faster than by their digits, if there is one for these.
    fn sort_faster(placed: &mut [Self::Placed], other: &mut [Self::Placed]) -> bool;
}

macro_rules! keys { ($($k:ty, $placed:ty, $few:expr, $word:ty, $words:literal, $columns:expr;)*) => { $(
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
        #[inline(always)]
        fn wide(self) -> u64 { self as u64 }
        #[inline(always)]
        fn narrow(wide: u64) -> $k { wide as $k }
        fn sort_faster(placed: &mut [$placed], other: &mut [$placed]) -> bool { $few(placed, other) }
        type Word = $word;
        const WORDS: usize = $words;
        #[inline(always)]
        fn words(self, position: usize) -> [$word; 2] {
            let (key, position) = (self as $word, position as $word);
            if $words == 1 { [key << 16 | position; 2] } else { [key, position] }
        }
        #[inline(always)]
        fn position(word: $word) -> usize { (word & 0xffff) as usize }
        fn sort_columns(rows: &mut [$word]) { $columns(rows) }
    }
)* }; }
keys! {
    u8, u64, sort_narrow, u32, 1, u32::columns;
    u16, u64, sort_narrow, u32, 1, u32::columns;
    u32, u64, sort_narrow, u64, 1, u64::columns;
    u64, u128, sort_wide, u64, 2, network::columns_of_pairs;
}

fn sort_narrow(placed: &mut [u64], other: &mut [u64]) -> bool {
    network::sort(placed, other, u64::MAX)
}

/// By the 32 bits from the first one on in which keys differ; those that are the same in these are then sorted by the rest, unless
/// they are many. Items come with their positions from 0 on.
fn sort_wide(placed: &mut [u128], other: &mut [u128]) -> bool {
    let n = placed.len();
    let key = |item: u128| (item >> 32) as u64;
    let Some(first) = placed.first().map(|&item| key(item)) else { return true };
    let differing = placed.iter().fold(0, |bits, &item| bits | (key(item) ^ first));
    let shift = (64 - differing.leading_zeros()).saturating_sub(32);
    let other: &mut [u64] = bytemuck::cast_slice_mut(other);
    let (short, work) = other.split_at_mut(other.len() / 2);
    let short = &mut short[..n];
    for (at, (short, &item)) in short.iter_mut().zip(&*placed).enumerate() {
        *short = (key(item) >> shift) << 32 | at as u64;
    }
    sort_placed::<u32>(short, work);
    let whole = &mut work[..n];
    whole.iter_mut().zip(&*placed).for_each(|(whole, &item)| *whole = key(item));
    // What is the same in all bits is in order.
    let differ = |two: &[u64]| {
        two[0] >> 32 == two[1] >> 32 && whole[two[0] as u32 as usize] != whole[two[1] as u32 as usize]
    };
    if differing & ((1 << shift) - 1) != 0 {
        if n > LONGEST && short.windows(2).filter(|two| differ(two)).count() > n / 8 {
            return false;
        }
        for run in short.chunk_by_mut(|a, b| a >> 32 == b >> 32) {
            if run.windows(2).any(differ) {
                run.sort_unstable_by_key(|&at| (whole[at as u32 as usize], at));
            }
        }
    }
    for (item, &at) in placed.iter_mut().zip(&*short) {
        *item = whole[at as u32 as usize].with(at as u32);
    }
    true
}

/// An element and its key.
pub(super) trait Sortable: Copy + Send + Sync + 'static {
    type Key: Key;
    fn key(self) -> Self::Key;
    /// The element of a key; of what is equal in order, one.
    fn of(key: Self::Key) -> Self;
    /// The element of these bits.
    fn of_bits(bits: Self::Key) -> Self;
    fn bits(self) -> Self::Key;
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
        #[inline(always)]
        fn of_bits(bits: $k) -> $t { bits as $t }
        #[inline(always)]
        fn bits(self) -> $k { self as $k }
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
        #[inline(always)]
        fn of_bits(bits: $k) -> $t { <$t>::from_bits(bits) }
        #[inline(always)]
        fn bits(self) -> $k { self.to_bits() }
        fn zero(negative: bool) -> $t { <$t>::from_bits((negative as $k) << (<$k>::BITS - 1)) }
    }
)* }; }
floats! {
    f16, u16, i16, 0x7c00;
    bf16, u16, i16, 0x7f80;
    f32, u32, i32, 0x7f80_0000;
    f64, u64, i64, 0x7ff0_0000_0000_0000;
}

#[inline(always)]
pub(super) fn key_of<T: Sortable>(x: T, descending: bool) -> T::Key {
    if descending { x.key().not() } else { x.key() }
}

#[inline(always)]
pub(super) fn element_of<T: Sortable>(key: T::Key, descending: bool) -> T {
    T::of(if descending { key.not() } else { key })
}

/// The bits of elements become their keys. Gives whether there is a negative zero.
pub(super) struct ToKeys<'a, T: Sortable> {
    pub(super) keys: &'a mut [T::Key],
    pub(super) descending: bool,
}

impl<T: Sortable> Loop for ToKeys<'_, T> {
    type Out = bool;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        let mut signs = T::Key::default();
        let (negative, none) = (T::zero(true).bits(), T::Key::default());
        for key in self.keys.iter_mut() {
            let bits = *key;
            *key = key_of(T::of_bits(bits), self.descending);
            if T::ZEROS {
                signs = signs.max(if bits == negative { negative } else { none });
            }
        }
        signs != none
    }
}

/// Keys become the bits of their elements.
pub(super) struct ToElements<'a, T: Sortable> {
    pub(super) keys: &'a mut [T::Key],
    pub(super) descending: bool,
}

impl<T: Sortable> Loop for ToElements<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for key in self.keys.iter_mut() {
            *key = element_of::<T>(*key, self.descending).bits();
        }
    }
}

/// Whether elements are in order already.
pub(super) struct InOrder<'a, T: Sortable> {
    pub(super) source: &'a [T],
    pub(super) descending: bool,
}

impl<T: Sortable> Loop for InOrder<'_, T> {
    type Out = bool;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        // Each part is looked at as a whole, and with the first one of the next.
        const PART: usize = 64;
        let key = |x: T| key_of(x, self.descending);
        let mut rest = self.source;
        while rest.len() > PART {
            let pairs = rest[..PART].iter().zip(&rest[1..=PART]);
            if pairs.fold(false, |wrong, (a, b)| wrong | (key(*a) > key(*b))) {
                return false;
            }
            rest = &rest[PART..];
        }
        rest.windows(2).all(|two| key(two[0]) <= key(two[1]))
    }
}

/// Elements become keys with their positions.
pub(super) struct Placing<'a, T: Sortable> {
    pub(super) source: &'a [T],
    pub(super) placed: &'a mut [<T::Key as Key>::Placed],
    pub(super) descending: bool,
}

impl<T: Sortable> Loop for Placing<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (at, (placed, x)) in self.placed.iter_mut().zip(self.source).enumerate() {
            *placed = key_of(*x, self.descending).with(at as u32);
        }
    }
}

/// Zeros have one key; in a sorted row of `n` their signs stand in the order they were in.
///
/// # Safety
/// There are as many elements of both, so far apart, and nobody else uses the sorted ones.
pub(super) unsafe fn restore_zeros<T: Sortable>(source: *const T, sorted: *mut T, n: usize, step: usize) {
    // SAFETY: the caller's.
    let mut signs = (0..n).filter_map(|at| unsafe { *source.add(at * step) }.negative_zero());
    for at in 0..n {
        // SAFETY: the caller's.
        unsafe {
            if (*sorted.add(at * step)).negative_zero().is_some()
                && let Some(negative) = signs.next()
            {
                *sorted.add(at * step) = T::zero(negative);
            }
        }
    }
}

/// From so many elements on networks are faster than comparisons.
const SOME: usize = 16;
/// Up to so many elements comparisons are faster than digits.
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
    let other = &mut other[..n];
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

/// Sorts keys; `other` has room for as many as [`room`](super::network::room) says.
pub(super) fn sort_keys<K: Key>(keys: &mut [K], other: &mut [K]) {
    if keys.len() >= SOME && network::sort(keys, other, K::default().not()) {
        return;
    }
    by_digits(keys, other, K::BITS, |key, shift, mask| key.digit(shift, mask));
}

/// Sorts keys with their positions, which ascend from 0; those of equal keys still do. `other` has room for as many as [`room`](super::network::room) says.
pub(super) fn sort_placed<K: Key>(placed: &mut [K::Placed], other: &mut [K::Placed]) {
    if placed.len() >= SOME && K::sort_faster(placed, other) {
        return;
    }
    by_digits(placed, other, K::BITS, |item, shift, mask| K::placed_digit(item, shift, mask));
}

#[cfg(test)]
mod tests {
    use super::super::network::room;
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
        for n in [0usize, 1, 2, 20, 95, 97, 1000, 20_000] {
            let mut state = 1u64;
            let keys: Vec<u64> = (0..n)
                .map(|i| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1442695040888963407);
                    if i % 3 == 0 { state >> 60 } else { state }
                })
                .collect();
            let (mut sorted, mut want) = (keys.clone(), keys.clone());
            want.sort_unstable();
            sort_keys(&mut sorted, &mut vec![0; room(n)]);
            assert_eq!(sorted, want, "{n} keys");
            let mut bytes: Vec<u8> = keys.iter().map(|&k| (k >> 30) as u8).collect();
            let mut want = bytes.clone();
            want.sort_unstable();
            sort_keys(&mut bytes, &mut vec![0; room(n)]);
            assert_eq!(bytes, want, "{n} bytes");
            let narrow: Vec<u32> = keys.iter().map(|&k| (k >> 40) as u32).collect();
            let mut placed: Vec<u64> = narrow.iter().enumerate().map(|(i, k)| k.with(i as u32)).collect();
            let mut want = placed.clone();
            want.sort_unstable();
            sort_placed::<u32>(&mut placed, &mut vec![0; room(n)]);
            assert_eq!(placed, want, "{n} keys with positions");
            let mut placed: Vec<u128> = keys.iter().enumerate().map(|(i, k)| k.with(i as u32)).collect();
            let mut want = placed.clone();
            want.sort_unstable();
            sort_placed::<u64>(&mut placed, &mut vec![0; room(n)]);
            assert_eq!(placed, want, "{n} wide keys with positions");
        }
    }
}
