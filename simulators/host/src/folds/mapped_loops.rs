//! The loops of folds of what is made of each element as it is read: see
//! [`mapped_reduce`](super::mapped_reduce).

use super::floats;
use super::mapped_reduce::{Sight, Test};
use super::stream::BATCH;
use super::strided_reduce::{Along, Down, Rows, down_by};
use super::tiles::{By, Rule};
use bytemuck::AnyBitPattern;
use std::marker::PhantomData;
use workalike_kernels::DType;
use workalike_kernels::level::{Loop, run};
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::lanes_mut;

/// Sees the rows of `n` elements, into a number each.
///
/// # Safety
/// Rows must hold `n` elements, aligned, which nobody writes meanwhile.
pub(crate) type Look = unsafe fn(out: &mut [i64], rows: Rows<'_>, n: usize, low: u64, high: u64);

/// How such a fold is done.
#[derive(Clone, Copy)]
pub(crate) enum Seen {
    /// A number for each row, of so many elements in a range, or a sum. Columns go through tiles.
    Total { look: Look, low: u64, high: u64, inside: bool, into: DType },
    /// Whether a row has an element in or outside a range, or (`not`) has none.
    Truth { look: Look, down: LookDown, low: u64, high: u64, not: bool },
    /// A number, as any other row.
    Plain(Along, Down),
}

/// Takes rows of `n` elements into truth values, lane by lane.
///
/// # Safety
/// As of [`Look`].
type LookDown = unsafe fn(into: &mut [u8], rows: Rows<'_>, low: u64, high: u64);

/// The greater one, or the less, unless the second one is NaN.
struct Above<const MAX: bool>;

/// The sum, unless the second one is NaN.
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

/// The loop of an extreme or a sum without NaNs, down rows.
fn numbers_down(fold: Fold, dtype: DType) -> Option<Down> {
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

/// The loops for a fold over memory of `stored`, in `dtype`.
pub(crate) fn seen(sight: Sight, fold: Fold, stored: DType, dtype: DType) -> Option<Seen> {
    Some(match sight {
        Sight::Number => Seen::Plain(floats::along(fold, stored, false, true)?, numbers_down(fold, stored)?),
        Sight::Wide => Seen::Total { look: totals(stored)?, low: 0, high: 0, inside: true, into: dtype },
        Sight::Test(Test { low, high, inside }) => {
            let look = tests(stored)?;
            let truth = |not: bool| {
                // None fails, or any passes.
                let (at, wanted) = (usize::from(not), inside != not);
                let (look, down) =
                    if wanted { (look.any, look.down[at]) } else { (look.other, look.other_down[at]) };
                Seen::Truth { look, down, low, high, not }
            };
            match (dtype, fold) {
                (DType::Bool, Fold::Sum | Fold::Max) => truth(false),
                (DType::Bool, Fold::Product | Fold::Min) => truth(true),
                (_, Fold::Sum) => Seen::Total { look: look.count, low, high, inside, into: dtype },
                _ => return None,
            }
        }
    })
}

impl Seen {
    /// Folds each row of `n` elements into a lane of `out`.
    ///
    /// # Safety
    /// As of [`Look`].
    pub(crate) unsafe fn along(&self, out: &mut [u64], rows: Rows<'_>, n: usize, identity: u64) {
        let mut found = [0; BATCH];
        let found = &mut found[..rows.at.len()];
        // SAFETY: the caller guarantees rows of `n` elements, aligned, which nobody writes.
        unsafe {
            match *self {
                Seen::Plain(along, _) => along(out, rows, rows, n, identity),
                Seen::Truth { look, low, high, not, .. } => {
                    look(found, rows, n, low, high);
                    lanes_mut::<u8>(out)
                        .iter_mut()
                        .zip(found)
                        .for_each(|(o, x)| *o = u8::from((*x != 0) != not));
                }
                Seen::Total { look, low, high, inside, into } => {
                    look(found, rows, n, low, high);
                    if !inside {
                        found.iter_mut().for_each(|x| *x = n as i64 - *x);
                    }
                    put(into, out, found);
                }
            }
        }
    }
}

impl Seen {
    /// Whether rows may be taken one after the other, too.
    pub(crate) fn goes_down(&self) -> bool {
        !matches!(self, Seen::Total { .. })
    }

    /// Takes rows of `n` elements into lanes, which begin with `fresh` if it is given.
    ///
    /// # Safety
    /// As of [`Look`].
    pub(crate) unsafe fn down(&self, into: &mut [u64], fresh: Option<u64>, rows: Rows<'_>, n: usize) {
        // SAFETY: the caller guarantees rows of `n` elements, aligned, which nobody writes.
        unsafe {
            match *self {
                Seen::Plain(_, down) => down(into, fresh, rows, rows, n),
                Seen::Truth { down, low, high, .. } => {
                    let into = &mut lanes_mut::<u8>(into)[..n];
                    if let Some(word) = fresh {
                        into.fill(word as u8);
                    }
                    down(into, rows, low, high);
                }
                // See `goes_down`.
                Seen::Total { .. } => (),
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

/// The loops of tests.
struct Tests {
    count: Look,
    /// Whether there is any inside.
    any: Look,
    /// Whether there is any outside.
    other: Look,
    /// Lane by lane, whether there is any inside; and whether there is none.
    down: [LookDown; 2],
    /// Of those outside, likewise.
    other_down: [LookDown; 2],
}

fn tests(dtype: DType) -> Option<Tests> {
    fn of<T: Element>() -> Option<Tests> {
        Some(Tests {
            count: look::<T, Count>,
            any: look::<T, Any<true>>,
            other: look::<T, Any<false>>,
            down: [look_down::<T, true, false>, look_down::<T, true, true>],
            other_down: [look_down::<T, false, false>, look_down::<T, false, true>],
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

/// The loop that sums integers of so few bits that no sum overflows.
pub(crate) fn totals(dtype: DType) -> Option<Look> {
    match dtype {
        DType::I8 => Some(look::<i8, Total>),
        DType::I16 => Some(look::<i16, Total>),
        DType::I32 => Some(look::<i32, Total>),
        DType::U8 => Some(look::<u8, Total>),
        DType::U16 => Some(look::<u16, Total>),
        DType::U32 => Some(look::<u32, Total>),
        _ => None,
    }
}

/// What is found out about a row.
trait Found<T> {
    fn of(row: &[T], low: u64, high: u64) -> i64;
}

struct LookLoop<'a, T, F> {
    out: &'a mut [i64],
    rows: Rows<'a>,
    n: usize,
    low: u64,
    high: u64,
    what: PhantomData<(T, F)>,
}

impl<T, F: Found<T>> Loop for LookLoop<'_, T, F> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (at, out) in self.out.iter_mut().enumerate() {
            // SAFETY: `look`, which makes these, has a caller who guarantees such rows.
            let row = unsafe { self.rows.row::<T>(at, self.n) };
            *out = F::of(row, self.low, self.high);
        }
    }
}

/// # Safety
/// As of [`Look`].
unsafe fn look<T, F: Found<T>>(out: &mut [i64], rows: Rows<'_>, n: usize, low: u64, high: u64) {
    run(LookLoop::<T, F> { out, rows, n, low, high, what: PhantomData });
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
            // SAFETY: `look_down`, which makes these, has a caller who guarantees such rows.
            let row = unsafe { self.rows.row::<T>(k, self.into.len()) };
            take_row::<T, INSIDE, NOT>(self.into, row, self.low, self.high);
        }
    }
}

/// Takes one row. The compiler knows that arguments do not overlap.
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
/// As of [`LookDown`].
unsafe fn look_down<T: Element, const INSIDE: bool, const NOT: bool>(
    into: &mut [u8],
    rows: Rows<'_>,
    low: u64,
    high: u64,
) {
    run(DownLoop::<T, INSIDE, NOT> { into, rows, low: T::from_word(low), high: T::from_word(high) });
}

/// An element that is tested.
pub(crate) trait Element: AnyBitPattern {
    fn from_word(word: u64) -> Self;
    fn within(self, low: Self, high: Self) -> bool;
    /// How many pass.
    fn count(row: &[Self], is: impl Fn(Self) -> bool) -> i64;
}

/// How many elements of a row pass, in lanes about as narrow as they are, and so many at a time that these
/// hold them.
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

/// How many elements are in the range.
struct Count;

impl<T: Element> Found<T> for Count {
    #[inline(always)]
    fn of(row: &[T], low: u64, high: u64) -> i64 {
        let (low, high) = (T::from_word(low), T::from_word(high));
        T::count(row, |x| x.within(low, high))
    }
}

/// Whether any element is in the range, or outside of it.
struct Any<const INSIDE: bool>;

/// Elements that are looked at before it is asked whether that settles it.
const AT_ONCE: usize = 256;

impl<T: Element, const INSIDE: bool> Found<T> for Any<INSIDE> {
    #[inline(always)]
    fn of(row: &[T], low: u64, high: u64) -> i64 {
        let (low, high) = (T::from_word(low), T::from_word(high));
        let settles = |part: &[T]| part.iter().fold(false, |any, x| any | (x.within(low, high) == INSIDE));
        i64::from(row.chunks(AT_ONCE).any(settles))
    }
}

/// The sum of integers.
struct Total;

macro_rules! totals {
    ($($t:ty, $wide:ty, $most:expr;)*) => { $(impl Found<$t> for Total {
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
