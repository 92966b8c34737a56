//! Where the greatest or the least element of a row first stands, and whether any of a row is true: rows are read in blocks, as they lie
//! in memory, and no further than can matter.

use super::floats::Extreme;
use super::sweeps::Rows;
use crate::dtype::DType;
use crate::kernels::level::{Loop, run};
use crate::kernels::nest::Fold;
use crate::kernels::ops::lanes_mut;
use bytemuck::{AnyBitPattern, NoUninit};

/// Of each row of `n >= 1` elements the extreme one, and its position times `step` after `start`, into a lane of `values` and `indices` each.
///
/// # Safety
/// Rows must hold `n` elements, aligned, which nobody writes meanwhile.
pub(super) type First =
    unsafe fn(values: &mut [u64], indices: &mut [i64], rows: Rows<'_>, n: usize, start: i64, step: i64);

/// Elements that are read before what was found is looked at.
const BLOCK: usize = 4096;
/// Elements that are compared at once, first and where one of those is what is looked for.
const AT_ONCE: (usize, usize) = (64, 8);

/// An element.
trait Element: AnyBitPattern + NoUninit + PartialOrd + Extreme {
    /// What nothing exceeds, NaN included.
    fn is_last(self, max: bool) -> bool;
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
    (int $($i:ty),*; float $($f:ty),*) => {
        $(impl Element for $i {
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
            fn is_last(self, _: bool) -> bool {
                self.is_nan()
            }
        })*
    };
}
elements!(int i8, i16, i32, i64, u8, u16, u32, u64; float f32, f64);

/// The first position at which `is` holds.
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

/// The extreme element of a row that has one, and its position.
#[inline(always)]
fn scan<T: Element, const MAX: bool>(row: &[T]) -> (T, usize) {
    let (mut best, mut block) = (row[0], 0);
    for (at, part) in row.chunks(BLOCK).enumerate() {
        let found = T::extreme::<MAX>(part[0], part);
        let ahead = if MAX { found > best } else { found < best };
        if at == 0 || ahead || found.is_last(MAX) {
            (best, block) = (found, at * BLOCK);
        }
        if best.is_last(MAX) {
            break;
        }
    }
    let part = &row[block..(block + BLOCK).min(row.len())];
    #[allow(clippy::eq_op)] // That is how a generic type asks for NaN.
    let position =
        if best == best { run(Position(part, |x: T| x == best)) } else { run(Position(part, |x: T| x != x)) };
    (best, block + position.unwrap_or(0))
}

/// Of bools, where 1 is the greatest.
#[inline(always)]
fn scan_bools<const MAX: bool>(row: &[u8]) -> (u8, usize) {
    match run(Position(row, |x: u8| (x != 0) == MAX)) {
        Some(position) => (MAX.into(), position),
        None => ((!MAX).into(), 0),
    }
}

/// # Safety
/// As of [`First`].
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
        // SAFETY: the caller's promise.
        let (value, position) = scan(unsafe { rows.row::<T>(at, n) });
        values[at] = value;
        indices[at] = start + position as i64 * step;
    }
}

/// # Safety
/// As of [`First`].
unsafe fn first<T: Element, const MAX: bool>(
    values: &mut [u64],
    indices: &mut [i64],
    rows: Rows<'_>,
    n: usize,
    start: i64,
    step: i64,
) {
    // SAFETY: the caller's promise.
    unsafe { each::<T>((values, indices), rows, n, (start, step), scan::<T, MAX>) };
}

/// # Safety
/// As of [`First`].
unsafe fn first_bool<const MAX: bool>(
    values: &mut [u64],
    indices: &mut [i64],
    rows: Rows<'_>,
    n: usize,
    start: i64,
    step: i64,
) {
    // SAFETY: the caller's promise.
    unsafe { each::<u8>((values, indices), rows, n, (start, step), scan_bools::<MAX>) };
}

/// The loop for ArgMax and ArgMin; of halves there is none, for they are converted as they are loaded.
pub(super) fn first_of(fold: Fold, dtype: DType) -> Option<First> {
    macro_rules! of {
        ($function:ident $(, $t:ty)?) => {
            match fold {
                Fold::ArgMax => Some($function::<$($t,)? true> as First),
                Fold::ArgMin => Some($function::<$($t,)? false> as First),
                _ => None,
            }
        };
    }
    match dtype {
        DType::Bool => of!(first_bool),
        DType::I8 => of!(first, i8),
        DType::I16 => of!(first, i16),
        DType::I32 => of!(first, i32),
        DType::I64 => of!(first, i64),
        DType::U8 => of!(first, u8),
        DType::U16 => of!(first, u16),
        DType::U32 => of!(first, u32),
        DType::U64 => of!(first, u64),
        DType::F32 => of!(first, f32),
        DType::F64 => of!(first, f64),
        DType::F16 | DType::BF16 => None,
    }
}

/// Whether any element of a row of bools is true (`ANY`), or all are. See [`Along`](super::sweeps::Along).
///
/// # Safety
/// As of [`Along`](super::sweeps::Along).
pub(super) unsafe fn truth<const ANY: bool>(out: &mut [u64], rows: Rows<'_>, _: Rows<'_>, n: usize, _: u64) {
    let out = lanes_mut::<u8>(out);
    for (at, out) in out[..rows.at.len()].iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        let row = unsafe { rows.row::<u8>(at, n) };
        let decides = |part: &[u8]| run(Decides::<ANY>(part));
        *out = u8::from(row.chunks(BLOCK).any(decides) == ANY);
    }
}

/// Whether a part of a row decides it.
struct Decides<'a, const ANY: bool>(&'a [u8]);

impl<const ANY: bool> Loop for Decides<'_, ANY> {
    type Out = bool;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        self.0.iter().fold(false, |found, x| found | ((*x != 0) == ANY))
    }
}
