//! Where the greatest or the least element of a row first stands, and whether any of a row is true: rows are read in blocks, as they lie
//! in memory, and no further than can matter.

use super::fold::{Max, Min, Rule, extreme};
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
/// Elements that are compared at once.
const AT_ONCE: usize = 64;

/// An element.
trait Element: AnyBitPattern + NoUninit + PartialOrd {
    /// What nothing exceeds, NaN included.
    fn is_last(self, max: bool) -> bool;
}

macro_rules! elements {
    (int $($i:ty),*; float $($f:ty),*) => {
        $(impl Element for $i {
            fn is_last(self, max: bool) -> bool {
                self == if max { <$i>::MAX } else { <$i>::MIN }
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
    type Out = usize;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> usize {
        let Position(all, is) = self;
        let mut start = 0;
        for part in all.chunks_exact(AT_ONCE) {
            if part.iter().fold(false, |any, x| any | is(*x)) {
                break;
            }
            start += AT_ONCE;
        }
        all[start..].iter().position(|x| is(*x)).map_or(0, |at| start + at)
    }
}

/// The extreme element of a row that has one, and its position. `last` says what nothing exceeds.
fn scan<T: Element, R: Rule<T>, const L: usize>(
    row: &[T],
    max: bool,
    last: impl Fn(T) -> bool,
) -> (T, usize) {
    let (mut best, mut block) = (row[0], 0);
    for (at, part) in row.chunks(BLOCK).enumerate() {
        let found = extreme::<T, R, L>(part[0], part);
        let ahead = if max { found > best } else { found < best };
        if at == 0 || ahead || last(found) {
            (best, block) = (found, at * BLOCK);
        }
        if last(best) {
            break;
        }
    }
    let part = &row[block..(block + BLOCK).min(row.len())];
    #[allow(clippy::eq_op)] // That is how a generic type asks for NaN.
    let position =
        if best == best { run(Position(part, |x: T| x == best)) } else { run(Position(part, |x: T| x != x)) };
    (best, block + position)
}

/// # Safety
/// As of [`First`].
unsafe fn first<T: Element, R: Rule<T>, const L: usize, const MAX: bool, const BOOL: bool>(
    values: &mut [u64],
    indices: &mut [i64],
    rows: Rows<'_>,
    n: usize,
    start: i64,
    step: i64,
) {
    let values = lanes_mut::<T>(values);
    for at in 0..rows.at.len() {
        // SAFETY: the caller's promise.
        let row = unsafe { rows.row::<T>(at, n) };
        // Of bools 1 is the greatest.
        let last = |x: T| if BOOL && MAX { x != T::zeroed() } else { x.is_last(MAX) };
        let (value, position) = scan::<T, R, L>(row, MAX, last);
        values[at] = value;
        indices[at] = start + position as i64 * step;
    }
}

/// The loop for ArgMax and ArgMin; of halves there is none, for they are converted as they are loaded.
pub(super) fn first_of(fold: Fold, dtype: DType) -> Option<First> {
    macro_rules! of {
        ($t:ty, $lanes:literal, $bool:literal) => {
            match fold {
                Fold::ArgMax => Some(first::<$t, Max, $lanes, true, $bool> as First),
                Fold::ArgMin => Some(first::<$t, Min, $lanes, false, $bool> as First),
                _ => None,
            }
        };
    }
    match dtype {
        DType::Bool => of!(u8, 64, true),
        DType::I8 => of!(i8, 64, false),
        DType::I16 => of!(i16, 32, false),
        DType::I32 => of!(i32, 16, false),
        DType::I64 => of!(i64, 8, false),
        DType::U8 => of!(u8, 64, false),
        DType::U16 => of!(u16, 32, false),
        DType::U32 => of!(u32, 16, false),
        DType::U64 => of!(u64, 8, false),
        DType::F32 => of!(f32, 16, false),
        DType::F64 => of!(f64, 8, false),
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
