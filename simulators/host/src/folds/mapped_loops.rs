//! The loops of folds over a mapped element: see [`mapped_reduce`](super::mapped_reduce).

use super::floats;
use super::mapped_reduce::{ElementMap, Test};
use super::stream::BATCH;
use super::strided_reduce::{Along, Down, Rows, down_by};
use super::tiles::{By, Rule};
use bytemuck::AnyBitPattern;
use std::marker::PhantomData;
use workalike_kernels::DType;
use workalike_kernels::level::{Loop, run};
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::lanes_mut;

/// Folds each row of `n` elements to an integer.
///
/// # Safety
/// Rows must hold `n` elements, aligned, and no other thread may write them.
pub(crate) type MappedAlong = unsafe fn(out: &mut [i64], rows: Rows<'_>, n: usize, low: u64, high: u64);

/// The loops of such a fold.
#[derive(Clone, Copy)]
pub(crate) enum MappedLoops {
    /// A number per row: how many elements are in a range (or outside), or an integer sum. Columns go through
    /// tiles.
    Total { along: MappedAlong, low: u64, high: u64, inside: bool, into: DType },
    /// Whether any element of a row is in a range (or outside), or (`not`) none is.
    Truth { along: MappedAlong, down: MappedDown, low: u64, high: u64, not: bool },
    /// A fold of numbers that ignores NaNs.
    Plain(Along, Down),
}

/// Folds rows of `n` elements into truth values, lane by lane.
///
/// # Safety
/// Same as [`MappedAlong`].
type MappedDown = unsafe fn(into: &mut [u8], rows: Rows<'_>, low: u64, high: u64);

/// The greater or the lesser number; a NaN as the second argument is ignored.
struct Above<const MAX: bool>;

/// The sum; a NaN as the second argument is ignored.
struct AddNumber;

macro_rules! above {
    ($($t:ty),*) => { $(
    impl Rule<$t> for AddNumber {
        #[inline(always)]
        fn fold(a: $t, b: $t) -> $t {
            a + if b.is_nan() { 0.0 } else { b }
        }
    }
    impl<const MAX: bool> Rule<$t> for Above<MAX> {
        #[inline(always)]
        fn fold(a: $t, b: $t) -> $t {
            let ahead = if MAX { b > a } else { b < a };
            if ahead { b } else { a }
        }
    }
    )* };
}
above!(f32, f64);

/// The loop of an extreme or a sum that ignores NaNs, down columns.
fn skip_nan_down(fold: Fold, dtype: DType) -> Option<Down> {
    match (fold, dtype) {
        (Fold::Max, DType::F32) => Some(down_by::<f32, By<Above<true>>>()),
        (Fold::Min, DType::F32) => Some(down_by::<f32, By<Above<false>>>()),
        (Fold::Max, DType::F64) => Some(down_by::<f64, By<Above<true>>>()),
        (Fold::Min, DType::F64) => Some(down_by::<f64, By<Above<false>>>()),
        (Fold::Sum, DType::F32) => Some(down_by::<f32, By<AddNumber>>()),
        (Fold::Sum, DType::F64) => Some(down_by::<f64, By<AddNumber>>()),
        _ => None,
    }
}

/// The loops of a fold over memory of dtype `stored`, with a result of `dtype`.
pub(crate) fn mapped_loops(
    element_map: ElementMap,
    fold: Fold,
    stored: DType,
    dtype: DType,
) -> Option<MappedLoops> {
    Some(match element_map {
        ElementMap::Number => {
            MappedLoops::Plain(floats::along(fold, stored, false, true)?, skip_nan_down(fold, stored)?)
        }
        ElementMap::Wide => {
            MappedLoops::Total { along: totals(stored)?, low: 0, high: 0, inside: true, into: dtype }
        }
        ElementMap::Test(Test { low, high, inside }) => {
            let loops = tests(stored)?;
            let truth = |not: bool| {
                // All pass if none fails.
                let (at, wanted) = (usize::from(not), inside != not);
                let (along, down) =
                    if wanted { (loops.any, loops.down[at]) } else { (loops.other, loops.other_down[at]) };
                MappedLoops::Truth { along, down, low, high, not }
            };
            match (dtype, fold) {
                (DType::Bool, Fold::Sum | Fold::Max) => truth(false),
                (DType::Bool, Fold::Product | Fold::Min) => truth(true),
                (_, Fold::Sum) => MappedLoops::Total { along: loops.count, low, high, inside, into: dtype },
                _ => return None,
            }
        }
    })
}

impl MappedLoops {
    /// Folds each row of `n` elements into a lane of `out`.
    ///
    /// # Safety
    /// Same as [`MappedAlong`].
    pub(crate) unsafe fn along(&self, out: &mut [u64], rows: Rows<'_>, n: usize, identity: u64) {
        let mut found = [0; BATCH];
        let found = &mut found[..rows.at.len()];
        // SAFETY: the caller guarantees rows of `n` aligned elements, which no other thread writes.
        unsafe {
            match *self {
                MappedLoops::Plain(along, _) => along(out, rows, rows, n, identity),
                MappedLoops::Truth { along, low, high, not, .. } => {
                    along(found, rows, n, low, high);
                    lanes_mut::<u8>(out)
                        .iter_mut()
                        .zip(found)
                        .for_each(|(o, x)| *o = u8::from((*x != 0) != not));
                }
                MappedLoops::Total { along, low, high, inside, into } => {
                    along(found, rows, n, low, high);
                    if !inside {
                        found.iter_mut().for_each(|x| *x = n as i64 - *x);
                    }
                    put(into, out, found);
                }
            }
        }
    }
}

impl MappedLoops {
    /// Whether it can fold down columns, too.
    pub(crate) fn goes_down(&self) -> bool {
        !matches!(self, MappedLoops::Total { .. })
    }

    /// Folds rows of `n` elements into lanes, which start from `fresh` if it is given.
    ///
    /// # Safety
    /// Same as [`MappedAlong`].
    pub(crate) unsafe fn down(&self, into: &mut [u64], fresh: Option<u64>, rows: Rows<'_>, n: usize) {
        // SAFETY: the caller guarantees rows of `n` aligned elements, which no other thread writes.
        unsafe {
            match *self {
                MappedLoops::Plain(_, down) => down(into, fresh, rows, rows, n),
                MappedLoops::Truth { down, low, high, .. } => {
                    let into = &mut lanes_mut::<u8>(into)[..n];
                    if let Some(word) = fresh {
                        into.fill(word as u8);
                    }
                    down(into, rows, low, high);
                }
                // See `goes_down`.
                MappedLoops::Total { .. } => (),
            }
        }
    }
}

/// Writes integers as lanes of a dtype.
fn put(dtype: DType, out: &mut [u64], from: &[i64]) {
    macro_rules! each {
        ($t:ty) => {
            lanes_mut::<$t>(out).iter_mut().zip(from).for_each(|(o, x)| *o = *x as $t)
        };
    }
    match dtype {
        DType::Bool | DType::I8 | DType::U8 => each!(u8),
        DType::I16 | DType::U16 => each!(u16),
        DType::I32 | DType::U32 => each!(u32),
        DType::I64 | DType::U64 => each!(u64),
        DType::F16 | DType::BF16 | DType::F32 => each!(f32),
        DType::F64 => each!(f64),
    }
}

/// The loops of the tests of a dtype.
struct Tests {
    count: MappedAlong,
    /// Whether any element is inside.
    any: MappedAlong,
    /// Whether any element is outside.
    other: MappedAlong,
    /// Lane by lane, whether any element is inside; and whether none is.
    down: [MappedDown; 2],
    /// Lane by lane, whether any element is outside; and whether none is.
    other_down: [MappedDown; 2],
}

fn tests(dtype: DType) -> Option<Tests> {
    fn of<T: Element>() -> Option<Tests> {
        Some(Tests {
            count: mapped_along::<T, Count>,
            any: mapped_along::<T, Any<true>>,
            other: mapped_along::<T, Any<false>>,
            down: [mapped_down::<T, true, false>, mapped_down::<T, true, true>],
            other_down: [mapped_down::<T, false, false>, mapped_down::<T, false, true>],
        })
    }
    match dtype {
        DType::Bool | DType::I8 | DType::U8 => of::<u8>(),
        DType::I16 | DType::U16 => of::<u16>(),
        DType::I32 | DType::U32 => of::<u32>(),
        DType::I64 | DType::U64 => of::<u64>(),
        DType::F32 => of::<f32>(),
        DType::F64 => of::<f64>(),
        DType::F16 | DType::BF16 => None,
    }
}

/// The loop that sums integers narrow enough for i64 sums not to overflow.
pub(crate) fn totals(dtype: DType) -> Option<MappedAlong> {
    match dtype {
        DType::I8 => Some(mapped_along::<i8, Total>),
        DType::I16 => Some(mapped_along::<i16, Total>),
        DType::I32 => Some(mapped_along::<i32, Total>),
        DType::U8 => Some(mapped_along::<u8, Total>),
        DType::U16 => Some(mapped_along::<u16, Total>),
        DType::U32 => Some(mapped_along::<u32, Total>),
        _ => None,
    }
}

/// The fold of one row.
trait RowFold<T> {
    fn of(row: &[T], low: u64, high: u64) -> i64;
}

struct MappedAlongLoop<'a, T, F> {
    out: &'a mut [i64],
    rows: Rows<'a>,
    n: usize,
    low: u64,
    high: u64,
    what: PhantomData<(T, F)>,
}

impl<T, F: RowFold<T>> Loop for MappedAlongLoop<'_, T, F> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (at, out) in self.out.iter_mut().enumerate() {
            // SAFETY: only `mapped_along` makes these, and its caller guarantees such rows.
            let row = unsafe { self.rows.row::<T>(at, self.n) };
            *out = F::of(row, self.low, self.high);
        }
    }
}

/// # Safety
/// Same as [`MappedAlong`].
unsafe fn mapped_along<T, F: RowFold<T>>(out: &mut [i64], rows: Rows<'_>, n: usize, low: u64, high: u64) {
    run(MappedAlongLoop::<T, F> { out, rows, n, low, high, what: PhantomData });
}

struct DownLoop<'a, T, const INSIDE: bool, const NOT: bool> {
    into: &'a mut [u8],
    rows: Rows<'a>,
    low: T,
    high: T,
}

impl<T: Element, const INSIDE: bool, const NOT: bool> Loop for DownLoop<'_, T, INSIDE, NOT> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for k in 0..self.rows.at.len() {
            // SAFETY: only `mapped_down` makes these, and its caller guarantees such rows.
            let row = unsafe { self.rows.row::<T>(k, self.into.len()) };
            take_row::<T, INSIDE, NOT>(self.into, row, self.low, self.high);
        }
    }
}

/// Folds one row. Its arguments tell the compiler that they do not overlap.
#[inline(always)]
fn take_row<T: Element, const INSIDE: bool, const NOT: bool>(into: &mut [u8], row: &[T], low: T, high: T) {
    let n = into.len();
    let row = &row[..n];
    for i in 0..n {
        let hit = u8::from(row[i].within(low, high) == INSIDE);
        into[i] = if NOT { into[i] & (hit ^ 1) } else { into[i] | hit };
    }
}

/// # Safety
/// Same as [`MappedDown`].
unsafe fn mapped_down<T: Element, const INSIDE: bool, const NOT: bool>(
    into: &mut [u8],
    rows: Rows<'_>,
    low: u64,
    high: u64,
) {
    run(DownLoop::<T, INSIDE, NOT> { into, rows, low: T::from_word(low), high: T::from_word(high) });
}

/// An element that can be tested.
pub(crate) trait Element: AnyBitPattern {
    fn from_word(word: u64) -> Self;
    fn within(self, low: Self, high: Self) -> bool;
    /// The number of elements that pass.
    fn count(row: &[Self], is: impl Fn(Self) -> bool) -> i64;
}

/// The number of elements that pass, counted in narrow lanes over parts short enough for these not to
/// overflow.
macro_rules! counted {
    ($is:ident, $row:ident, $lane:ty, $most:expr) => {
        $row.chunks($most)
            .map(|part| i64::from(part.iter().fold(0, |sum: $lane, x| sum + <$lane>::from($is(*x)))))
            .sum()
    };
}

macro_rules! elements {
    ($($t:ty, $low:ident $high:ident $x:ident $within:expr, $bits:expr, $lane:ty, $most:expr;)*) => { $(impl Element for $t {
        #[inline(always)]
        fn from_word(word: u64) -> $t {
            $bits(word)
        }
        #[inline(always)]
        fn within(self, $low: $t, $high: $t) -> bool {
            let $x = self;
            $within
        }
        #[inline(always)]
        fn count(row: &[$t], is: impl Fn($t) -> bool) -> i64 {
            counted!(is, row, $lane, $most)
        }
    })* };
}
elements! {
    u8, low high x x.wrapping_sub(low) <= high, |word| word as u8, u16, usize::from(u16::MAX);
    u16, low high x x.wrapping_sub(low) <= high, |word| word as u16, u16, usize::from(u16::MAX);
    u32, low high x x.wrapping_sub(low) <= high, |word| word as u32, u32, 1 << 30;
    u64, low high x x.wrapping_sub(low) <= high, |word| word, u32, 1 << 30;
    f32, low high x (x >= low) & (x <= high), |word| f32::from_bits(word as u32), u32, 1 << 30;
    f64, low high x (x >= low) & (x <= high), f64::from_bits, u32, 1 << 30;
}

/// The number of elements in the range.
struct Count;

impl<T: Element> RowFold<T> for Count {
    #[inline(always)]
    fn of(row: &[T], low: u64, high: u64) -> i64 {
        let (low, high) = (T::from_word(low), T::from_word(high));
        T::count(row, |x| x.within(low, high))
    }
}

/// Whether any element is in the range, or (`INSIDE` is false) outside of it.
struct Any<const INSIDE: bool>;

/// Elements that are tested before the loop may stop.
const AT_ONCE: usize = 256;

impl<T: Element, const INSIDE: bool> RowFold<T> for Any<INSIDE> {
    #[inline(always)]
    fn of(row: &[T], low: u64, high: u64) -> i64 {
        let (low, high) = (T::from_word(low), T::from_word(high));
        let decides = |part: &[T]| part.iter().fold(false, |any, x| any | (x.within(low, high) == INSIDE));
        i64::from(row.chunks(AT_ONCE).any(decides))
    }
}

/// The sum of integers.
struct Total;

macro_rules! totals {
    ($($t:ty, $wide:ty, $most:expr;)*) => { $(impl RowFold<$t> for Total {
        #[inline(always)]
        fn of(row: &[$t], _: u64, _: u64) -> i64 {
            let part = |part: &[$t]| part.iter().fold(0, |sum: $wide, x| sum.wrapping_add(<$wide>::from(*x))) as i64;
            row.chunks($most).map(part).fold(0, i64::wrapping_add)
        }
    })* };
}
totals! {
    i8, i32, 1 << 23;
    i16, i32, 1 << 15;
    i32, i64, usize::MAX;
    u8, u32, 1 << 23;
    u16, u32, 1 << 15;
    u32, u64, usize::MAX;
}
