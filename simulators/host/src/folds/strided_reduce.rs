//! Loops that fold numbers in memory: each of several rows to a number, or several rows to one row.
//!
//! A row is contiguous. [`floats`] folds rows of floats.

use super::argreduce::truth;
use super::floats;
use super::tiles::{By, Dot, Factor, Max, Min, Product, Rule, Sum, Take};
use bytemuck::{AnyBitPattern, NoUninit};
use std::marker::PhantomData;
use workalike_kernels::DType;
use workalike_kernels::level::{Loop, run};
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::{lanes, lanes_mut};

/// Rows in memory: `at` has the address of each one's first element, in elements from `base`.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) base: *const u8,
    pub(crate) at: &'a [i64],
}

impl Rows<'_> {
    /// # Safety
    /// The row must hold `n` elements of `T`, aligned, and nothing may write them while the slice lives.
    #[inline(always)]
    pub(crate) unsafe fn row<'m, T>(&self, row: usize, n: usize) -> &'m [T] {
        // SAFETY: the caller guarantees `n` aligned elements there, and no writes.
        unsafe { std::slice::from_raw_parts(self.base.cast::<T>().offset(self.at[row] as isize), n) }
    }
}

/// Folds each row of `n` elements of `value` (or of its products with those of `other`), into a lane of
/// `out`.
///
/// # Safety
/// Rows must hold `n` elements, aligned, and no other thread may write them.
pub(crate) type Along = unsafe fn(out: &mut [u64], value: Rows<'_>, other: Rows<'_>, n: usize, identity: u64);

/// Folds the first `n` lanes of `into` (of `fresh`, if it is given) with those of some rows.
///
/// # Safety
/// Same as [`Along`]; the rows of a broadcast `other` hold one element.
pub(crate) type Down =
    unsafe fn(into: &mut [u64], fresh: Option<u64>, value: Rows<'_>, other: Rows<'_>, n: usize);

/// Rows that [`Down`] folds at once, if it has that many: the accumulator is read and written once for all.
pub(crate) const GROUP: usize = 8;

/// The loops of one fold.
#[derive(Clone, Copy)]
pub(crate) struct StridedLoops {
    pub(crate) along: Along,
    pub(crate) down: Down,
    /// Each row of `other` is one number.
    pub(crate) down_broadcast: Down,
}

/// Folds several rows into one. Each is its own argument, so that the compiler knows that `into` overlaps
/// none.
macro_rules! takes {
    ($name:ident: $($value:ident $other:ident),+) => {
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        fn $name<T: Copy, R: Take<T>, const FMA: bool>(into: &mut [T], $($value: &[T], $other: &[T]),+) {
            let n = into.len();
            $(let ($value, $other) = (&$value[..n], &$other[..n]);)+
            for i in 0..n {
                let mut sum = into[i];
                $(sum = R::take::<FMA>(sum, $value[i], $other[i]);)+
                into[i] = sum;
            }
        }
    };
}
takes!(take_one: a ao);
takes!(take_eight: a ao, b bo, c co, d d_o, e eo, f fo, g go, h ho);

/// Folds rows into one; each row of `other` is one number.
macro_rules! takes_broadcast {
    ($name:ident: $($value:ident $other:ident),+) => {
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        fn $name<T: Copy, R: Take<T>, const FMA: bool>(into: &mut [T], $($value: &[T], $other: T),+) {
            let n = into.len();
            $(let $value = &$value[..n];)+
            for i in 0..n {
                let mut sum = into[i];
                $(sum = R::take::<FMA>(sum, $value[i], $other);)+
                into[i] = sum;
            }
        }
    };
}
takes_broadcast!(take_one_broadcast: a ao);
takes_broadcast!(take_eight_broadcast: a ao, b bo, c co, d d_o, e eo, f fo, g go, h ho);

/// Folds of rows in any order: the plainest loop, which the compiler vectorizes.
struct AlongLoop<'a, T, R> {
    out: &'a mut [T],
    value: Rows<'a>,
    other: Rows<'a>,
    n: usize,
    identity: T,
    rule: PhantomData<R>,
}

impl<T: Copy, R: Take<T>> Loop for AlongLoop<'_, T, R> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (at, out) in self.out.iter_mut().enumerate() {
            // SAFETY: only `along` makes these, and its caller guarantees such rows.
            let value = unsafe { self.value.row::<T>(at, self.n) };
            *out = if R::TWO {
                // SAFETY: only `along` makes these, and its caller guarantees such rows of both.
                let other = unsafe { self.other.row::<T>(at, self.n) };
                value.iter().zip(other).fold(self.identity, |all, (x, y)| R::take::<FMA>(all, *x, *y))
            } else {
                value.iter().fold(self.identity, |all, x| R::take::<FMA>(all, *x, *x))
            };
        }
    }
}

/// # Safety
/// See [`Along`].
unsafe fn along<T: AnyBitPattern + NoUninit, R: Take<T>>(
    out: &mut [u64],
    value: Rows<'_>,
    other: Rows<'_>,
    n: usize,
    identity: u64,
) {
    let out = &mut lanes_mut::<T>(out)[..value.at.len()];
    let identity = lanes::<T>(&[identity])[0];
    run(AlongLoop::<T, R> { out, value, other, n, identity, rule: PhantomData });
}

struct DownLoop<'a, T, R, const BROADCAST: bool> {
    into: &'a mut [T],
    fresh: Option<T>,
    value: Rows<'a>,
    other: Rows<'a>,
    rule: PhantomData<R>,
}

impl<T: Copy, R: Take<T>, const BROADCAST: bool> Loop for DownLoop<'_, T, R, BROADCAST> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (into, rows) = (self.into, self.value.at.len());
        if let Some(identity) = self.fresh {
            into.fill(identity);
        }
        let n = into.len();
        let of = |k: usize| -> (&[T], &[T]) {
            // SAFETY: only `down` makes these, and its caller guarantees such rows.
            let row = unsafe { self.value.row::<T>(k, n) };
            // SAFETY: only `down` makes these, and its caller guarantees such rows of both.
            (row, if R::TWO { unsafe { self.other.row::<T>(k, if BROADCAST { 1 } else { n }) } } else { row })
        };
        let mut done = 0;
        while rows - done >= GROUP {
            let [a, b, c, d, e, f, g, h] = [0, 1, 2, 3, 4, 5, 6, 7].map(|k| of(done + k));
            if BROADCAST {
                take_eight_broadcast::<T, R, FMA>(
                    into, a.0, a.1[0], b.0, b.1[0], c.0, c.1[0], d.0, d.1[0], e.0, e.1[0], f.0, f.1[0], g.0,
                    g.1[0], h.0, h.1[0],
                );
            } else {
                take_eight::<T, R, FMA>(
                    into, a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1, e.0, e.1, f.0, f.1, g.0, g.1, h.0, h.1,
                );
            }
            done += GROUP;
        }
        for (value, other) in (done..rows).map(of) {
            if BROADCAST {
                take_one_broadcast::<T, R, FMA>(into, value, other[0]);
            } else {
                take_one::<T, R, FMA>(into, value, other);
            }
        }
    }
}

/// # Safety
/// See [`Down`].
unsafe fn down<T: AnyBitPattern + NoUninit, R: Take<T>, const BROADCAST: bool>(
    into: &mut [u64],
    fresh: Option<u64>,
    value: Rows<'_>,
    other: Rows<'_>,
    n: usize,
) {
    let into = &mut lanes_mut::<T>(into)[..n];
    let fresh = fresh.map(|word| lanes::<T>(&[word])[0]);
    run(DownLoop::<T, R, BROADCAST> { into, fresh, value, other, rule: PhantomData });
}

/// The loop that folds rows lane by lane.
pub(crate) fn down_by<T: AnyBitPattern + NoUninit, R: Take<T>>() -> Down {
    down::<T, R, false>
}

fn loops<T: AnyBitPattern + NoUninit, R: Take<T>>() -> StridedLoops {
    StridedLoops {
        along: along::<T, R>,
        down: down::<T, R, false>,
        // Only products have a second row.
        down_broadcast: if R::TWO { down::<T, R, true> } else { down::<T, R, false> },
    }
}

fn by_fold<T: AnyBitPattern + NoUninit>(fold: Fold) -> Option<StridedLoops>
where
    Sum: Rule<T>,
    Product: Rule<T>,
    Max: Rule<T>,
    Min: Rule<T>,
{
    match fold {
        Fold::Sum => Some(loops::<T, By<Sum>>()),
        Fold::Product => Some(loops::<T, By<Product>>()),
        Fold::Max => Some(loops::<T, By<Max>>()),
        Fold::Min => Some(loops::<T, By<Min>>()),
        Fold::ArgMax | Fold::ArgMin => None,
    }
}

/// The loops of a fold over memory of `dtype`, or of a sum of products if `dot`. `None`: it has to go through
/// tiles.
pub(crate) fn strided_loops(fold: Fold, dtype: DType, dot: bool) -> Option<StridedLoops> {
    fn of<T: AnyBitPattern + NoUninit + Factor>(fold: Fold, dot: bool) -> Option<StridedLoops>
    where
        Sum: Rule<T>,
        Product: Rule<T>,
        Max: Rule<T>,
        Min: Rule<T>,
    {
        if dot { (fold == Fold::Sum).then(loops::<T, Dot>) } else { by_fold::<T>(fold) }
    }
    let floats =
        |loops: StridedLoops| Some(StridedLoops { along: floats::along(fold, dtype, dot, false)?, ..loops });
    match dtype {
        DType::F16 | DType::BF16 => None,
        DType::Bool if dot => None,
        // For bools Or is Max and And is Min.
        DType::Bool => match fold {
            Fold::Sum | Fold::Max => Some(StridedLoops { along: truth::<true>, ..by_fold::<u8>(Fold::Max)? }),
            Fold::Product | Fold::Min => {
                Some(StridedLoops { along: truth::<false>, ..by_fold::<u8>(Fold::Min)? })
            }
            _ => None,
        },
        DType::F32 => floats(of::<f32>(fold, dot)?),
        DType::F64 => floats(of::<f64>(fold, dot)?),
        DType::I8 => of::<i8>(fold, dot),
        DType::I16 => of::<i16>(fold, dot),
        DType::I32 => of::<i32>(fold, dot),
        DType::I64 => of::<i64>(fold, dot),
        DType::U8 => of::<u8>(fold, dot),
        DType::U16 => of::<u16>(fold, dot),
        DType::U32 => of::<u32>(fold, dot),
        DType::U64 => of::<u64>(fold, dot),
    }
}
