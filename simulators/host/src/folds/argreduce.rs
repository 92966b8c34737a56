//! Argmax and argmin of rows in memory, which are read in blocks, only as far as needed. Down columns they go
//! through tiles.

use super::strided_reduce::RowAddresses;
use bytemuck::{AnyBitPattern, NoUninit};
use half::{bf16, f16};
use workalike_kernels::DType;
use workalike_kernels::level::{SimdLoop, run};
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::lanes_mut;

/// The extreme element of each row of `n >= 1` elements into a lane of `values`, and its index into one of
/// `indices`. `index`: that of the first element, and the step to each next one.
///
/// # Safety
/// Rows must hold `n` elements, aligned, and no other thread may write them.
pub(crate) type ArgAlong =
    unsafe fn(values: &mut [u64], indices: &mut [i64], rows: RowAddresses<'_>, n: usize, index: (i64, i64));

/// Bytes that are scanned before the search may stop.
const BLOCK_BYTES: usize = 4096;
/// Elements of a row that is too short for the vector loop.
const FEW: usize = 12;
/// Elements that are compared at once within the block that has the position.
const AT_ONCE: usize = 32;

/// An element in memory.
trait OrderedElement: Copy {
    /// The element in a tile.
    type Lane: AnyBitPattern + NoUninit;
    /// An integer in the order of elements, equal for equal ones; NaN is last in the direction of the search.
    type Key: Copy + Ord;
    /// The least and the greatest key: no element beats one that has it, so the search ends there.
    const LAST: [Self::Key; 2];
    fn lane(self) -> Self::Lane;
    fn key<const MAX: bool>(self) -> Self::Key;
}

/// A bool in memory.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Bool(u8);

impl OrderedElement for Bool {
    type Lane = u8;
    type Key = u8;
    const LAST: [u8; 2] = [0, 1];
    #[inline(always)]
    fn lane(self) -> u8 {
        u8::from(self.0 != 0)
    }
    #[inline(always)]
    fn key<const MAX: bool>(self) -> u8 {
        self.lane()
    }
}

macro_rules! elements {
    (int $($i:ty),*; float $($f:ty: $key:ty),*; half $($h:ty: $f16:literal),*) => {
        $(impl OrderedElement for $i {
            type Lane = $i;
            type Key = $i;
            const LAST: [$i; 2] = [<$i>::MIN, <$i>::MAX];
            #[inline(always)]
            fn lane(self) -> $i {
                self
            }
            #[inline(always)]
            fn key<const MAX: bool>(self) -> $i {
                self
            }
        })*
        $(impl OrderedElement for $f {
            type Lane = $f;
            type Key = $key;
            const LAST: [$key; 2] = [<$key>::MIN, <$key>::MAX];
            #[inline(always)]
            fn lane(self) -> $f {
                self
            }
            #[inline(always)]
            fn key<const MAX: bool>(self) -> $key {
                // Both zeros have one key, and the order of negative numbers is reversed.
                let bits = (self + 0.0).to_bits() as $key;
                let number = bits ^ ((bits >> (<$key>::BITS - 1)) & <$key>::MAX);
                if self.is_nan() { Self::LAST[usize::from(MAX)] } else { number }
            }
        })*
        $(impl OrderedElement for $h {
            type Lane = f32;
            type Key = i16;
            const LAST: [i16; 2] = [i16::MIN, i16::MAX];
            #[inline(always)]
            fn lane(self) -> f32 {
                self.to_f32()
            }
            #[inline(always)]
            fn key<const MAX: bool>(self) -> i16 {
                key::<MAX, $f16>(self.to_bits())
            }
        })*
    };
}
elements!(int i8, i16, i32, i64, u8, u16, u32, u64; float f32: i32, f64: i64; half f16: true, bf16: false);

/// An integer in the order of halves: equal for equal numbers, NaN last.
#[inline(always)]
fn key<const MAX: bool, const F16: bool>(bits: u16) -> i16 {
    let magnitude = (bits & 0x7fff) as i16;
    let nan = magnitude > if F16 { 0x7c00 } else { 0x7f80 };
    let number = if bits > 0x7fff { -magnitude } else { magnitude };
    match (nan, MAX) {
        (false, _) => number,
        (true, true) => i16::MAX,
        (true, false) => i16::MIN,
    }
}

/// Whether a key comes after another one in the direction of the search.
#[inline(always)]
fn beats<K: Ord, const MAX: bool>(a: K, b: K) -> bool {
    if MAX { a > b } else { a < b }
}

/// The first position of the extreme element of a short row.
#[inline(always)]
fn scan_few<T: OrderedElement, const MAX: bool>(row: &[T]) -> usize {
    let (mut best, mut place) = (row[0].key::<MAX>(), 0);
    for (at, x) in row.iter().enumerate().skip(1) {
        let key = x.key::<MAX>();
        let wins = beats::<_, MAX>(key, best);
        best = if wins { key } else { best };
        place = if wins { at } else { place };
    }
    place
}

/// The first position of the extreme element of a row that is not empty.
#[inline(always)]
fn scan<T: OrderedElement, const MAX: bool>(row: &[T]) -> usize {
    if row.len() <= FEW {
        return scan_few::<T, MAX>(row);
    }
    let block = BLOCK_BYTES / size_of::<T>();
    let (mut best, mut start, mut next) = (row[0].key::<MAX>(), 0, 0);
    // Among the first of a few different numbers there is often one that ends the search.
    let (first, rest) = row.split_at(row.len().min(2 * AT_ONCE));
    for part in std::iter::once(first).chain(rest.chunks(block)) {
        let mut found = best;
        for x in part {
            let key = x.key::<MAX>();
            found = if MAX { found.max(key) } else { found.min(key) };
        }
        if beats::<_, MAX>(found, best) {
            (best, start) = (found, next);
        }
        next += part.len();
        if best == T::LAST[usize::from(MAX)] {
            break;
        }
    }
    // Whole groups first, then the elements of the group that has it.
    for part in row[start..].chunks_exact(AT_ONCE) {
        if part.iter().fold(false, |any, x| any | (x.key::<MAX>() == best)) {
            break;
        }
        start += AT_ONCE;
    }
    start + row[start..].iter().position(|x| x.key::<MAX>() == best).unwrap_or(0)
}

struct ArgReduceLoop<'a, T: OrderedElement, const MAX: bool> {
    values: &'a mut [T::Lane],
    indices: &'a mut [i64],
    rows: RowAddresses<'a>,
    n: usize,
    index: (i64, i64),
}

impl<T: OrderedElement, const MAX: bool> SimdLoop for ArgReduceLoop<'_, T, MAX> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let ArgReduceLoop { values, indices, rows, n, index: (first, step) } = self;
        for at in 0..rows.at.len() {
            // SAFETY: only `along` makes these, and its caller guarantees such rows.
            let row = unsafe { rows.row::<T>(at, n) };
            let position = scan::<T, MAX>(row);
            values[at] = row[position].lane();
            indices[at] = first + position as i64 * step;
        }
    }
}

/// # Safety
/// Same as [`ArgAlong`].
unsafe fn along<T: OrderedElement, const MAX: bool>(
    values: &mut [u64],
    indices: &mut [i64],
    rows: RowAddresses<'_>,
    n: usize,
    index: (i64, i64),
) {
    let values = lanes_mut::<T::Lane>(values);
    run(ArgReduceLoop::<T, MAX> { values, indices, rows, n, index });
}

/// The loop of ArgMax or ArgMin along rows.
pub(crate) fn arg_loop(fold: Fold, dtype: DType) -> Option<ArgAlong> {
    fn of<T: OrderedElement>(fold: Fold) -> Option<ArgAlong> {
        match fold {
            Fold::ArgMax => Some(along::<T, true>),
            Fold::ArgMin => Some(along::<T, false>),
            _ => None,
        }
    }
    match dtype {
        DType::Bool => of::<Bool>(fold),
        DType::F16 => of::<f16>(fold),
        DType::BF16 => of::<bf16>(fold),
        number => with_number!(number, T => of::<T>(fold), else None),
    }
}
