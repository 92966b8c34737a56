//! Argmax and argmin of rows or columns in memory, and any and all of rows of bools. Rows are read in blocks,
//! only as far as needed.

use super::floats::Extreme;
use super::strided_reduce::Rows;
use bytemuck::{AnyBitPattern, NoUninit};
use half::{bf16, f16};
use workalike_kernels::DType;
use workalike_kernels::level::{Loop, run};
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::lanes_mut;

/// The extreme element of each row of `n >= 1` elements, and its position times `step` plus `start`, into a
/// lane of `values` and of `indices`.
///
/// # Safety
/// Rows must hold `n` elements, aligned, and no other thread may write them.
pub(crate) type ArgAlong =
    unsafe fn(values: &mut [u64], indices: &mut [i64], rows: Rows<'_>, n: usize, start: i64, step: i64);

/// Elements, and bytes, that are scanned before the search may stop.
const BLOCK: usize = 4096;
const BLOCK_BYTES: usize = 4096;
/// Elements of a row that is too short for the vector loop.
const FEW: usize = 12;
/// Elements that are compared at once: in the scan, and within the block that has the position.
const AT_ONCE: (usize, usize) = (64, 8);

/// An element.
pub(crate) trait Element: AnyBitPattern + NoUninit + PartialOrd + Extreme {
    /// Whether no element can exceed it, NaN included.
    fn is_last(self, max: bool) -> bool;
    /// An integer in the order of elements, NaN last.
    type Key: Copy + Ord;
    fn key(self, max: bool) -> Self::Key;
}

/// The greatest or the least of integers, in any order.
struct Extremes<'a, T, const MAX: bool>(T, &'a [T]);

impl<T: Copy + Ord, const MAX: bool> Loop for Extremes<'_, T, MAX> {
    type Out = T;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> T {
        self.1.iter().fold(self.0, |best, x| if MAX { best.max(*x) } else { best.min(*x) })
    }
}

macro_rules! elements {
    (int $($i:ty),*; float $($f:ty, $key:ty),*) => {
        $(impl Element for $i {
            type Key = $i;
            #[inline(always)]
            fn key(self, _: bool) -> $i {
                self
            }
            fn is_last(self, max: bool) -> bool {
                self == if max { <$i>::MAX } else { <$i>::MIN }
            }
        })*
        $(impl Extreme for $i {
            #[inline]
            fn extreme<const MAX: bool>(start: $i, values: &[$i]) -> $i {
                run(Extremes::<$i, MAX>(start, values))
            }
        })*
        $(impl Element for $f {
            type Key = $key;
            #[inline(always)]
            fn key(self, max: bool) -> $key {
                // Both zeros have one key, and the order of negative numbers is reversed.
                let bits = (self + 0.0).to_bits() as $key;
                let number = bits ^ ((bits >> (<$key>::BITS - 1)) & <$key>::MAX);
                let nan = if max { <$key>::MAX } else { <$key>::MIN };
                if self.is_nan() { nan } else { number }
            }
            fn is_last(self, _: bool) -> bool {
                self.is_nan()
            }
        })*
    };
}
elements!(int i8, i16, i32, i64, u8, u16, u32, u64; float f32, i32, f64, i64);

/// The first position at which a predicate holds.
struct Position<'a, T, F>(&'a [T], F);

impl<T: Copy, F: Fn(T) -> bool> Loop for Position<'_, T, F> {
    type Out = Option<usize>;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> Option<usize> {
        let Position(all, is) = self;
        let mut start = 0;
        for part in all.chunks_exact(AT_ONCE.0) {
            if part.iter().fold(false, |any, x| any | is(*x)) {
                break;
            }
            start += AT_ONCE.0;
        }
        for part in all[start..].chunks_exact(AT_ONCE.1) {
            if part.iter().fold(false, |any, x| any | is(*x)) {
                break;
            }
            start += AT_ONCE.1;
        }
        all[start..].iter().position(|x| is(*x)).map(|at| start + at)
    }
}

/// The extreme element of a short row, and its position.
#[inline(always)]
fn few<T: Element, const MAX: bool>(row: &[T]) -> (T, usize) {
    let (mut best, mut place) = (row[0].key(MAX), 0);
    for (at, x) in row.iter().enumerate().skip(1) {
        let key = x.key(MAX);
        let wins = if MAX { key > best } else { key < best };
        best = if wins { key } else { best };
        place = if wins { at } else { place };
    }
    (row[place], place)
}

/// The extreme element of a non-empty row, and its position.
#[inline(always)]
fn scan<T: Element, const MAX: bool>(row: &[T]) -> (T, usize) {
    if row.len() <= FEW {
        return few::<T, MAX>(row);
    }
    let (mut best, mut block) = (row[0], 0);
    let at_once = (BLOCK_BYTES / size_of::<T>()).max(1);
    for (at, part) in row.chunks(at_once).enumerate() {
        let found = T::extreme::<MAX>(part[0], part);
        let ahead = if MAX { found > best } else { found < best };
        if at == 0 || ahead || found.is_last(MAX) {
            (best, block) = (found, at * at_once);
        }
        if best.is_last(MAX) {
            break;
        }
    }
    let part = &row[block..(block + at_once).min(row.len())];
    #[allow(clippy::eq_op)] // A generic test for NaN.
    let position =
        if best == best { run(Position(part, |x: T| x == best)) } else { run(Position(part, |x: T| x != x)) };
    (best, block + position.unwrap_or(0))
}

/// The same for bools, where 1 is the greatest.
#[inline(always)]
fn scan_bools<const MAX: bool>(row: &[u8]) -> (u8, usize) {
    // Often one of the first elements decides.
    if let Some(first) = row.first_chunk::<8>() {
        let (all, ones) = (u64::from_le_bytes(*first), u64::from_le_bytes([1; 8]));
        // The lowest set bit is in the first nonzero byte, or is the high bit of the first zero byte.
        let found = if MAX { all } else { all.wrapping_sub(ones) & !all & (ones << 7) };
        if found != 0 {
            return (MAX.into(), found.trailing_zeros() as usize / 8);
        }
    } else if row.len() <= FEW {
        return few::<u8, MAX>(row);
    }
    match run(Position(row, |x: u8| (x != 0) == MAX)) {
        Some(position) => (MAX.into(), position),
        None => ((!MAX).into(), 0),
    }
}

/// # Safety
/// Same as [`ArgAlong`].
#[inline(always)]
unsafe fn each<T: AnyBitPattern + NoUninit>(
    (values, indices): (&mut [u64], &mut [i64]),
    rows: Rows<'_>,
    n: usize,
    (start, step): (i64, i64),
    scan: impl Fn(&[T]) -> (T, usize),
) {
    let values = lanes_mut::<T>(values);
    for at in 0..rows.at.len() {
        // SAFETY: the caller guarantees rows of `n` aligned elements, which no other thread writes.
        let (value, position) = scan(unsafe { rows.row::<T>(at, n) });
        values[at] = value;
        indices[at] = start + position as i64 * step;
    }
}

/// # Safety
/// Same as [`ArgAlong`].
unsafe fn first<T: Element, const MAX: bool>(
    values: &mut [u64],
    indices: &mut [i64],
    rows: Rows<'_>,
    n: usize,
    start: i64,
    step: i64,
) {
    // SAFETY: the caller guarantees rows of `n` elements of `T`.
    unsafe { each::<T>((values, indices), rows, n, (start, step), scan::<T, MAX>) };
}

/// # Safety
/// Same as [`ArgAlong`].
unsafe fn first_bool<const MAX: bool>(
    values: &mut [u64],
    indices: &mut [i64],
    rows: Rows<'_>,
    n: usize,
    start: i64,
    step: i64,
) {
    // SAFETY: the caller guarantees rows of `n` bools.
    unsafe { each::<u8>((values, indices), rows, n, (start, step), scan_bools::<MAX>) };
}

/// An integer in the order of halves: equal for equal numbers, NaN last.
#[inline(always)]
pub(crate) fn key<const MAX: bool, const F16: bool>(bits: u16) -> i16 {
    let magnitude = (bits & 0x7fff) as i16;
    let nan = magnitude > if F16 { 0x7c00 } else { 0x7f80 };
    let number = if bits > 0x7fff { -magnitude } else { magnitude };
    match (nan, MAX) {
        (false, _) => number,
        (true, true) => i16::MAX,
        (true, false) => i16::MIN,
    }
}

/// The extreme key of halves.
struct Keys<'a, const MAX: bool, const F16: bool>(&'a [u16]);

impl<const MAX: bool, const F16: bool> Loop for Keys<'_, MAX, F16> {
    type Out = i16;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> i16 {
        let start = if MAX { i16::MIN } else { i16::MAX };
        let keys = self.0.iter().map(|bits| key::<MAX, F16>(*bits));
        keys.fold(start, |best, x| if MAX { best.max(x) } else { best.min(x) })
    }
}

/// The same for halves. Values become f32.
///
/// # Safety
/// Same as [`ArgAlong`].
unsafe fn first_half<const MAX: bool, const F16: bool>(
    values: &mut [u64],
    indices: &mut [i64],
    rows: Rows<'_>,
    n: usize,
    start: i64,
    step: i64,
) {
    let values = lanes_mut::<f32>(values);
    for at in 0..rows.at.len() {
        // SAFETY: the caller guarantees rows of `n` aligned elements, which no other thread writes.
        let row = unsafe { rows.row::<u16>(at, n) };
        let best = run(Keys::<MAX, F16>(row));
        let position = run(Position(row, |bits: u16| key::<MAX, F16>(bits) == best)).unwrap_or(0);
        let bits = row[position];
        values[at] = if F16 { f16::from_bits(bits).to_f32() } else { bf16::from_bits(bits).to_f32() };
        indices[at] = start + position as i64 * step;
    }
}

/// Folds rows of `n` elements, lane by lane, into the extreme values so far and their indices, or replaces
/// these by the first row if `fresh`. `at`: the index of the first row, and the step to each next one.
///
/// # Safety
/// Same as [`ArgAlong`].
pub(crate) type ArgDown =
    unsafe fn(values: &mut [u64], indices: &mut [i64], rows: Rows<'_>, n: usize, at: (i64, i64), fresh: bool);

/// Elements with row numbers of the same size, so that vectors of both have as many lanes.
trait Placed: AnyBitPattern + NoUninit + PartialOrd {
    type Row: Copy + PartialEq + Into<u64>;
    /// No row.
    const NONE: Self::Row;
    fn row(at: usize) -> Self::Row;
}

macro_rules! placed {
    ($($t:ty, $row:ty;)*) => { $(impl Placed for $t {
        type Row = $row;
        const NONE: $row = <$row>::MAX;
        #[inline(always)]
        fn row(at: usize) -> $row {
            at as $row
        }
    })* };
}
placed! { i8, u8; u8, u8; i16, u16; u16, u16; i32, u32; u32, u32; f32, u32; i64, u64; u64, u64; f64, u64; }

/// Lanes that are compared before their indices are written.
const STRIP: usize = 1024;
/// Rows whose numbers fit into the narrowest type.
const ROWS: usize = 128;

struct DownLoop<'a, T, const MAX: bool> {
    values: &'a mut [T],
    indices: &'a mut [i64],
    rows: Rows<'a>,
    at: (i64, i64),
    fresh: bool,
}

/// Folds row number `at` into the extreme values and their rows.
#[inline(always)]
fn take_row<T: Placed, const MAX: bool>(values: &mut [T], places: &mut [T::Row], row: &[T], at: usize) {
    let n = values.len();
    let (places, row, at) = (&mut places[..n], &row[..n], T::row(at));
    for i in 0..n {
        let (old, new) = (values[i], row[i]);
        let ahead = if MAX { new > old } else { new < old };
        #[allow(clippy::eq_op)] // A generic test for NaN.
        let wins = ahead | ((new != new) & (old == old));
        values[i] = if wins { new } else { old };
        places[i] = if wins { at } else { places[i] };
    }
}

impl<T: Placed, const MAX: bool> Loop for DownLoop<'_, T, MAX> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let DownLoop { values, indices, rows, at: (start, step), fresh } = self;
        let n = values.len();
        let mut places = [T::NONE; STRIP];
        // SAFETY: only `down` makes these, and its caller guarantees such rows.
        let row = |k: usize| unsafe { rows.row::<T>(k, n) };
        for first in (0..rows.at.len()).step_by(ROWS) {
            let last = (first + ROWS).min(rows.at.len());
            for from in (0..n).step_by(STRIP) {
                let strip = from..n.min(from + STRIP);
                let (values, indices) = (&mut values[strip.clone()], &mut indices[strip.clone()]);
                let places = &mut places[..values.len()];
                let begins = fresh && first == 0;
                places.fill(if begins { T::row(0) } else { T::NONE });
                if begins {
                    values.copy_from_slice(&row(0)[strip.clone()]);
                }
                for k in first + usize::from(begins)..last {
                    take_row::<T, MAX>(values, places, &row(k)[strip.clone()], k - first);
                }
                for (index, place) in indices.iter_mut().zip(&*places) {
                    let found = start + (first as i64 + (*place).into() as i64) * step;
                    *index = if *place == T::NONE { *index } else { found };
                }
            }
        }
    }
}

/// # Safety
/// Same as [`ArgDown`].
unsafe fn down<T: Placed, const MAX: bool>(
    values: &mut [u64],
    indices: &mut [i64],
    rows: Rows<'_>,
    n: usize,
    at: (i64, i64),
    fresh: bool,
) {
    let values = &mut lanes_mut::<T>(values)[..n];
    run(DownLoop::<T, MAX> { values, indices, rows, at, fresh });
}

/// The loops of ArgMax and ArgMin: along rows, and (except for halves) down columns.
pub(crate) fn arg_loops(fold: Fold, dtype: DType) -> Option<(ArgAlong, Option<ArgDown>)> {
    macro_rules! of {
        ($function:ident $(, $t:ty)?; $lane:ty) => {
            match fold {
                Fold::ArgMax => Some(($function::<$($t,)? true> as ArgAlong, Some(down::<$lane, true> as ArgDown))),
                Fold::ArgMin => Some(($function::<$($t,)? false> as ArgAlong, Some(down::<$lane, false> as ArgDown))),
                _ => None,
            }
        };
    }
    macro_rules! half {
        ($f16:literal) => {
            match fold {
                Fold::ArgMax => Some((first_half::<true, $f16> as ArgAlong, None)),
                Fold::ArgMin => Some((first_half::<false, $f16> as ArgAlong, None)),
                _ => None,
            }
        };
    }
    match dtype {
        DType::Bool => of!(first_bool; u8),
        DType::I8 => of!(first, i8; i8),
        DType::I16 => of!(first, i16; i16),
        DType::I32 => of!(first, i32; i32),
        DType::I64 => of!(first, i64; i64),
        DType::U8 => of!(first, u8; u8),
        DType::U16 => of!(first, u16; u16),
        DType::U32 => of!(first, u32; u32),
        DType::U64 => of!(first, u64; u64),
        DType::F32 => of!(first, f32; f32),
        DType::F64 => of!(first, f64; f64),
        DType::F16 => half!(true),
        DType::BF16 => half!(false),
    }
}

/// Whether any element of a row of bools is true (`ANY`), or all are. See
/// [`Along`](super::strided_reduce::Along).
///
/// # Safety
/// Same as [`Along`](super::strided_reduce::Along).
pub(crate) unsafe fn truth<const ANY: bool>(out: &mut [u64], rows: Rows<'_>, _: Rows<'_>, n: usize, _: u64) {
    let out = lanes_mut::<u8>(out);
    for (at, out) in out[..rows.at.len()].iter_mut().enumerate() {
        // SAFETY: the caller guarantees rows of `n` aligned elements, which no other thread writes.
        let row = unsafe { rows.row::<u8>(at, n) };
        let decides = |part: &[u8]| run(Decides::<ANY>(part));
        *out = u8::from(row.chunks(BLOCK).any(decides) == ANY);
    }
}

/// Whether a part of a row decides the result.
struct Decides<'a, const ANY: bool>(&'a [u8]);

impl<const ANY: bool> Loop for Decides<'_, ANY> {
    type Out = bool;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        self.0.iter().fold(false, |found, x| found | ((*x != 0) == ANY))
    }
}
