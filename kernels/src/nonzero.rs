//! Counts and positions of nonzero elements, by loops over vectors. Elements are bytes in native order, of
//! any alignment.

use crate::dtype::{DType, Width};
use crate::level::{SimdLoop, run};

/// Elements that are examined together: the bits of a word.
const TOGETHER: usize = 64;

/// For each byte, the positions of its ones, ascending.
static ONES: [[u8; 8]; 256] = ones();

const fn ones() -> [[u8; 8]; 256] {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut found) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][found] = bit as u8;
                found += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
}

/// Flags, each 0 or 1, as the bits of a word; the first is the lowest.
#[inline(always)]
pub fn packed(flags: &[u8; TOGETHER]) -> u64 {
    let mut bits = 0;
    for (at, eight) in flags.chunks_exact(8).enumerate() {
        let mut word = [0; 8];
        word.copy_from_slice(eight);
        // Each flag is shifted to its place in the highest byte; the lower bits do not collide.
        bits |= (u64::from_le_bytes(word).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * at);
    }
    bits
}

/// The bits of an element.
trait ElementBits: Copy {
    const BYTES: usize = size_of::<Self>();
    fn of(bytes: &[u8]) -> Self;
    fn put(self, place: &mut [u8]);
    /// Whether it is nonzero; a float's zero may have a sign.
    fn some<const FLOAT: bool>(self) -> bool;
    /// Number of nonzero elements of at most [`COUNTED`]; the count has the width of an element.
    fn count<const FLOAT: bool>(bytes: &[u8]) -> usize;
}

/// Elements that are counted in lanes of their own width; the count must fit a byte.
const COUNTED: usize = 128;

macro_rules! bits { ($($t:ty),*) => { $(
    impl ElementBits for $t {
        #[inline(always)]
        fn of(bytes: &[u8]) -> $t {
            let mut word = [0; size_of::<$t>()];
            word.copy_from_slice(bytes);
            <$t>::from_ne_bytes(word)
        }
        #[inline(always)]
        fn put(self, place: &mut [u8]) { place.copy_from_slice(&self.to_ne_bytes()); }
        #[inline(always)]
        fn some<const FLOAT: bool>(self) -> bool {
            if FLOAT { self << 1 != 0 } else { self != 0 }
        }
        #[inline(always)]
        fn count<const FLOAT: bool>(bytes: &[u8]) -> usize {
            let mut all: $t = 0;
            for element in bytes.chunks_exact(Self::BYTES) {
                all += <$t>::from(Self::of(element).some::<FLOAT>());
            }
            all as usize
        }
    }
)* }; }
bits!(u8, u16, u32, u64);

/// A loop over elements of any dtype.
macro_rules! by_bits { ($dtype:expr, $work:ident { $($field:ident: $value:expr),* }) => {
    match ($dtype.width(), $dtype.is_float()) {
        (Width::Bits8, _) => run($work::<u8, false> { $($field: $value,)* of: std::marker::PhantomData }),
        (Width::Bits16, false) => run($work::<u16, false> { $($field: $value,)* of: std::marker::PhantomData }),
        (Width::Bits16, true) => run($work::<u16, true> { $($field: $value,)* of: std::marker::PhantomData }),
        (Width::Bits32, false) => run($work::<u32, false> { $($field: $value,)* of: std::marker::PhantomData }),
        (Width::Bits32, true) => run($work::<u32, true> { $($field: $value,)* of: std::marker::PhantomData }),
        // Checked ops have no complex operands.
        (Width::Bits64 | Width::Bits128, false) => run($work::<u64, false> { $($field: $value,)* of: std::marker::PhantomData }),
        (Width::Bits64 | Width::Bits128, true) => run($work::<u64, true> { $($field: $value,)* of: std::marker::PhantomData }),
    }
}; }

struct CountLoop<'a, B, const FLOAT: bool> {
    bytes: &'a [u8],
    of: std::marker::PhantomData<B>,
}

impl<B: ElementBits, const FLOAT: bool> SimdLoop for CountLoop<'_, B, FLOAT> {
    type Out = usize;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> usize {
        let mut all = 0;
        let parts = self.bytes.chunks_exact(COUNTED * B::BYTES);
        all += B::count::<FLOAT>(parts.remainder());
        for part in parts {
            all += B::count::<FLOAT>(part);
        }
        all
    }
}

/// Number of nonzero elements.
pub fn count(dtype: DType, bytes: &[u8]) -> usize {
    by_bits!(dtype, CountLoop { bytes: bytes })
}

struct Positions<'a, B, const FLOAT: bool> {
    bytes: &'a [u8],
    first: i64,
    target: &'a mut [i64],
    of: std::marker::PhantomData<B>,
}

impl<B: ElementBits, const FLOAT: bool> SimdLoop for Positions<'_, B, FLOAT> {
    type Out = usize;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> usize {
        let Positions { bytes, first, target, .. } = self;
        let (mut at, mut found) = (first, 0);
        let mut words = bytes.chunks_exact(TOGETHER * B::BYTES);
        for word in &mut words {
            let mut flags = [0; TOGETHER];
            for (flag, element) in flags.iter_mut().zip(word.chunks_exact(B::BYTES)) {
                *flag = u8::from(B::of(element).some::<FLOAT>());
            }
            let mut bits = packed(&flags);
            let mut from = at;
            while bits != 0 {
                let ones = &ONES[(bits & 0xff) as usize];
                let count = (bits & 0xff).count_ones() as usize;
                // Eight positions are written; the valid ones come first, and the next write overwrites the
                // others. They are computed before any is stored, as one vector.
                let eight: [i64; 8] = std::array::from_fn(|i| from + i64::from(ones[i]));
                if let Some(places) = target.get_mut(found..found + 8) {
                    places.copy_from_slice(&eight);
                } else {
                    let rest = target.get_mut(found..).unwrap_or(&mut []);
                    rest.iter_mut().zip(&eight[..count]).for_each(|(place, position)| *place = *position);
                }
                found += count;
                from += 8;
                bits >>= 8;
            }
            at += TOGETHER as i64;
        }
        for element in words.remainder().chunks_exact(B::BYTES) {
            if B::of(element).some::<FLOAT>() {
                if let Some(place) = target.get_mut(found) {
                    *place = at;
                }
                found += 1;
            }
            at += 1;
        }
        found
    }
}

/// Returns the number of nonzero elements, and writes their positions, counted from `first`, to `target`, up
/// to its length. The rest of `target` may be overwritten too.
pub fn positions(dtype: DType, bytes: &[u8], first: i64, target: &mut [i64]) -> usize {
    by_bits!(dtype, Positions { bytes: bytes, first: first, target: target })
}

struct CompressLoop<'a, B> {
    flags: &'a [u8],
    source: &'a [u8],
    target: &'a mut [u8],
    of: std::marker::PhantomData<B>,
}

impl<B: ElementBits> SimdLoop for CompressLoop<'_, B> {
    type Out = usize;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> usize {
        let CompressLoop { flags, source, target, .. } = self;
        let mut found = 0;
        let (mut words, mut parts) = (flags.chunks_exact(TOGETHER), source.chunks_exact(TOGETHER * B::BYTES));
        for (word, part) in (&mut words).zip(&mut parts) {
            let mut ones_of = [0; TOGETHER];
            ones_of.iter_mut().zip(word).for_each(|(one, flag)| *one = u8::from(*flag != 0));
            let mut bits = packed(&ones_of);
            for eight in part.chunks_exact(8 * B::BYTES) {
                let ones = &ONES[(bits & 0xff) as usize];
                let count = (bits & 0xff).count_ones() as usize;
                let element = |one: u8| B::of(&eight[(one & 7) as usize * B::BYTES..][..B::BYTES]);
                // As in `positions`, the next write overwrites the elements that are not valid.
                if let Some(places) = target.get_mut(found * B::BYTES..(found + 8) * B::BYTES) {
                    let places = places.chunks_exact_mut(B::BYTES);
                    if B::BYTES < 8 {
                        let eight: [B; 8] = std::array::from_fn(|i| element(ones[i]));
                        places.zip(eight).for_each(|(place, chosen)| chosen.put(place));
                    } else {
                        // A gather of eight of these takes longer than eight loads.
                        places.zip(ones).for_each(|(place, one)| element(*one).put(place));
                    }
                } else {
                    let rest = target.get_mut(found * B::BYTES..).unwrap_or(&mut []);
                    for (place, one) in rest.chunks_exact_mut(B::BYTES).zip(&ones[..count]) {
                        element(*one).put(place);
                    }
                }
                found += count;
                bits >>= 8;
            }
        }
        let rest = parts.remainder().chunks_exact(B::BYTES);
        for (_, element) in words.remainder().iter().zip(rest).filter(|(flag, _)| **flag != 0) {
            if let Some(place) = target.get_mut(found * B::BYTES..(found + 1) * B::BYTES) {
                B::of(element).put(place);
            }
            found += 1;
        }
        found
    }
}

/// Returns the number of nonzero flags, and writes the elements of `size` bytes at their positions to
/// `target`, up to its length. The rest of `target` may be overwritten too.
pub fn chosen(size: usize, flags: &[u8], source: &[u8], target: &mut [u8]) -> usize {
    match size {
        1 => run(CompressLoop::<u8> { flags, source, target, of: std::marker::PhantomData }),
        2 => run(CompressLoop::<u16> { flags, source, target, of: std::marker::PhantomData }),
        4 => run(CompressLoop::<u32> { flags, source, target, of: std::marker::PhantomData }),
        _ => run(CompressLoop::<u64> { flags, source, target, of: std::marker::PhantomData }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_a_plain_loop() {
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for dtype in DType::REAL {
            let size = dtype.size();
            for (n, often) in [(0, 2), (1, 1), (63, 2), (64, 1), (65, 2), (1000, 50), (1000, 1), (4099, 3)] {
                let mut bytes = vec![0u8; n * size];
                let mut want = Vec::new();
                for (at, element) in bytes.chunks_exact_mut(size).enumerate() {
                    match random() % often {
                        // Only one byte of an element is not 0, whichever it is.
                        0 => {
                            element[random() as usize % size] = 1;
                            want.push(at as i64 + 5);
                        }
                        // A float's negative zero.
                        1 if dtype.is_float() => element[size - 1] = 0x80,
                        _ => {}
                    }
                }
                assert_eq!(count(dtype, &bytes), want.len(), "{dtype} {n}");
                for room in [want.len(), want.len() + 9, want.len().saturating_sub(3)] {
                    let mut found = vec![-1; room];
                    assert_eq!(positions(dtype, &bytes, 5, &mut found), want.len(), "{dtype} {n}");
                    let both = room.min(want.len());
                    assert_eq!(found[..both], want[..both], "{dtype} {n} {room}");
                }
            }
        }
    }

    #[test]
    fn chosen_elements_are_those_of_a_plain_loop() {
        for size in [1usize, 2, 4, 8] {
            for n in [0usize, 5, 64, 200, 1001] {
                let flags: Vec<u8> = (0..n).map(|at| u8::from(at * 7919 % 13 < 6)).collect();
                let source: Vec<u8> = (0..n * size).map(|at| (at * 31 % 251) as u8).collect();
                let elements = flags.iter().zip(source.chunks_exact(size)).filter(|(flag, _)| **flag != 0);
                let want: Vec<u8> = elements.flat_map(|(_, element)| element.to_vec()).collect();
                for room in [want.len(), want.len() + 9 * size, want.len().saturating_sub(3 * size)] {
                    let mut found = vec![255; room];
                    assert_eq!(chosen(size, &flags, &source, &mut found), want.len() / size);
                    let both = room.min(want.len());
                    assert_eq!(found[..both], want[..both], "{n} of {size} bytes, room for {room}");
                }
            }
        }
    }
}
