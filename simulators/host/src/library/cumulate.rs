//! Cumulative folds (scans). Along the last axis, long rows are divided into parts, each folded
//! independently of the prefix before it; if several threads work, they compute the totals of all parts
//! first. Along other axes, columns are vectorized.
//!
//! Floats are folded in float64; sums of float64 are compensated. Parts depend on the position, never on the
//! number of threads.

use super::super::pool::ThreadPool;
use super::Sharing;
use super::keys::by_dtype;
use half::{bf16, f16};
use std::marker::PhantomData;
use std::num::Wrapping;
use std::ops::{Add, Mul};
use std::slice::{from_raw_parts, from_raw_parts_mut};
use workalike_kernels::DType;
use workalike_kernels::level::{SimdLoop, run};
use workalike_kernels::library::Cumulate;
use workalike_kernels::nest::Fold;

/// Elements of a part of a row.
const PART: usize = 1 << 14;
/// Columns of a task, which are vectorized.
const COLUMNS: usize = 128;
/// Elements from which threads share the work.
const SHARED: usize = 1 << 15;

/// How elements are folded.
trait ScanFold {
    /// The elements.
    type X: Copy;
    /// The fold of some elements.
    type Fold: Copy;
    /// Whether rows may have parts.
    const PARTS: bool = true;
    /// The fold of no elements.
    const NONE: Self::Fold;
    fn one(x: Self::X) -> Self::Fold;
    fn join(a: Self::Fold, b: Self::Fold) -> Self::Fold;
    fn result(fold: Self::Fold) -> Self::X;
}

/// An element, and the numbers in which it is folded.
trait ScanElement: Copy {
    /// A number that holds every element. Integers wrap.
    type Wide: Copy + PartialOrd + Add<Output = Self::Wide> + Mul<Output = Self::Wide>;
    const IS_FLOAT: bool;
    /// The fold of no elements by [`SUM`], [`PRODUCT`], [`MIN`] and [`MAX`].
    const NONE: [Self::Wide; 4];
    fn wide(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
}

macro_rules! integers { ($($t:ty),*) => { $(
    impl ScanElement for $t {
        type Wide = Wrapping<$t>;
        const IS_FLOAT: bool = false;
        const NONE: [Wrapping<$t>; 4] = [Wrapping(0), Wrapping(1), Wrapping(<$t>::MAX), Wrapping(<$t>::MIN)];
        #[inline(always)]
        fn wide(self) -> Wrapping<$t> { Wrapping(self) }
        #[inline(always)]
        fn narrow(wide: Wrapping<$t>) -> $t { wide.0 }
    }
)* }; }
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats { ($($t:ty, $narrow:expr;)*) => { $(
    impl ScanElement for $t {
        type Wide = f64;
        const IS_FLOAT: bool = true;
        const NONE: [f64; 4] = [0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY];
        #[inline(always)]
        fn wide(self) -> f64 { f64::from(self) }
        #[inline(always)]
        fn narrow(wide: f64) -> $t { $narrow(wide) }
    }
)* }; }
floats! {
    f16, f16::from_f64;
    bf16, |x: f64| bf16::from_f32(x as f32);
    f32, |x: f64| x as f32;
    f64, std::convert::identity;
}

/// A fold without compensation: one of the following.
struct UncompensatedFold<T, const FOLD: usize>(PhantomData<T>);
const SUM: usize = 0;
const PRODUCT: usize = 1;
const MIN: usize = 2;
const MAX: usize = 3;

impl<T: ScanElement, const FOLD: usize> ScanFold for UncompensatedFold<T, FOLD> {
    type X = T;
    type Fold = T::Wide;
    // The product of a part of floats may overflow where the product with the prefix does not.
    const PARTS: bool = !(FOLD == PRODUCT && T::IS_FLOAT);
    const NONE: T::Wide = T::NONE[FOLD];
    #[inline(always)]
    fn one(x: T) -> T::Wide {
        x.wide()
    }
    /// Of extremes, the first of equals, or NaN.
    #[inline(always)]
    #[allow(clippy::eq_op)] // A generic test for NaN.
    fn join(a: T::Wide, b: T::Wide) -> T::Wide {
        let ahead = match FOLD {
            SUM => return a + b,
            PRODUCT => return a * b,
            MIN => b < a,
            _ => b > a,
        };
        if ahead | (b != b) { b } else { a }
    }
    #[inline(always)]
    fn result(fold: T::Wide) -> T {
        T::narrow(fold)
    }
}

/// Sums of float64.
struct Compensated;

impl ScanFold for Compensated {
    type X = f64;
    /// The sum, and its rounding error.
    type Fold = (f64, f64);
    const NONE: (f64, f64) = (0.0, 0.0);
    #[inline(always)]
    fn one(x: f64) -> (f64, f64) {
        (x, 0.0)
    }
    #[inline(always)]
    fn join(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
        let sum = a.0 + b.0;
        let back = sum - a.0;
        let error = (a.0 - (sum - back)) + (b.0 - back);
        (sum, a.1 + b.1 + error)
    }
    #[inline(always)]
    fn result((sum, error): (f64, f64)) -> f64 {
        // The error of an infinite sum is NaN.
        let exact = sum + error;
        if exact.is_finite() { exact } else { sum }
    }
}

/// [`scan`] for some fold and dtype.
type Each = unsafe fn(&Cumulating, &ThreadPool) -> bool;

/// A cumulative fold with memory bound.
pub(super) struct Cumulating {
    each: Each,
    source: *const u8,
    target: *mut u8,
    /// The total of each part of a row, if rows have parts.
    totals: *mut u8,
    shape: [usize; 3],
    reverse: bool,
}

// SAFETY: it is immutable. Only `run` uses the memory behind the pointers; each task writes its own part of
// the target and of the totals.
unsafe impl Sync for Cumulating {}

/// Bytes of scratch memory: the totals of all parts; `None` for folds that have no loops here.
pub(super) fn scratch(c: &Cumulate) -> Option<u64> {
    if c.from != c.dtype {
        return None;
    }
    let extreme = matches!(c.fold, Fold::Max | Fold::Min);
    if c.fold.has_index() || (c.dtype == DType::Bool && !extreme) {
        return None;
    }
    let divided = c.shape[2] == 1 && !(c.fold == Fold::Product && c.dtype.is_float());
    let parts = if divided { c.shape[1].div_ceil(PART as u64) } else { 1 };
    // No prefix is larger than two float64.
    Some(if parts > 1 { 16 * parts * c.shape[0] } else { 0 })
}

/// A plain fold of elements of `T`.
fn plain<T: ScanElement>(fold: Fold) -> Each {
    match fold {
        Fold::Sum => scan::<UncompensatedFold<T, SUM>>,
        Fold::Product => scan::<UncompensatedFold<T, PRODUCT>>,
        Fold::Min => scan::<UncompensatedFold<T, MIN>>,
        _ => scan::<UncompensatedFold<T, MAX>>,
    }
}

impl Cumulating {
    pub(super) fn new(c: &Cumulate, starts: &[*mut u8]) -> Cumulating {
        let plain: fn(Fold) -> Each = by_dtype!(c.dtype, plain);
        let compensated = c.fold == Fold::Sum && c.dtype == DType::F64;
        let each: Each = if compensated { scan::<Compensated> } else { plain(c.fold) };
        let totals = starts.get(2).copied().unwrap_or(std::ptr::null_mut());
        let (shape, reverse) = (c.shape.map(|e| e as usize), c.reverse);
        Cumulating { each, source: starts[0], target: starts[1], totals, shape, reverse }
    }

    /// # Safety
    /// Same as [`LibraryCall::run`](super::LibraryCall::run).
    pub(super) unsafe fn run(&self, pool: &ThreadPool) -> bool {
        // SAFETY: the caller guarantees the operands; `new` chose the function for their dtype.
        unsafe { (self.each)(self, pool) }
    }

    /// `count` elements from `first` on, of the source and of the target.
    ///
    /// # Safety
    /// The operands are as [`LibraryCall::run`](super::LibraryCall::run) needs them, with these elements, of
    /// type `X`. No other thread uses this part of the target.
    #[inline(always)]
    unsafe fn elements<'a, X>(&self, first: usize, count: usize) -> (&'a [X], &'a mut [X]) {
        let (source, target) = (self.source.cast::<X>(), self.target.cast::<X>());
        // SAFETY: the caller guarantees these elements, aligned, that no thread writes the source, and that
        // no other thread uses this part of the target, which does not overlap the source. All bits are valid
        // numbers, and bools stay bools.
        unsafe { (from_raw_parts(source.add(first), count), from_raw_parts_mut(target.add(first), count)) }
    }

    /// The address of the total of a part, counted over all rows.
    fn total<P>(&self, part: usize) -> *mut P {
        self.totals.cast::<P>().wrapping_add(part)
    }
}

/// # Safety
/// The operands that `work` was made with are as [`LibraryCall::run`](super::LibraryCall::run) needs them,
/// with elements of `R::X`.
unsafe fn scan<R: ScanFold>(work: &Cumulating, pool: &ThreadPool) -> bool {
    let Cumulating { shape: [outer, n, inner], reverse, .. } = *work;
    let elements = outer * n * inner;
    if elements == 0 {
        return true;
    }
    let share = |tasks: usize, task: &(dyn Fn(usize) + Sync)| {
        Sharing::new(tasks, pool.threads(), elements >= SHARED).run(pool, &|number, _| task(number))
    };
    if inner > 1 {
        let blocks = inner.div_ceil(COLUMNS);
        return share(outer * blocks, &|task| {
            let column = task % blocks * COLUMNS;
            let (first, width) = (task / blocks * n * inner + column, COLUMNS.min(inner - column));
            run(Columns::<R> { work, first, width, folds: [R::NONE; COLUMNS] });
        });
    }
    let size = if R::PARTS { PART } else { n };
    let parts = n.div_ceil(size);
    // Folds a part, counted over all rows.
    let fold = |part: usize, before: Option<R::Fold>| {
        let from = part % parts * size;
        let to = n.min(from + size);
        let first = part / parts * n + if reverse { n - to } else { from };
        // SAFETY: the caller guarantees the operands; the part lies within its row, and no other task has it.
        let (source, target) = unsafe { work.elements(first, to - from) };
        fold_part::<R>(source, target, before, reverse)
    };
    // A single thread needs no separate pass for totals.
    if parts == 1 || elements < SHARED || pool.threads() == 1 {
        // Several short rows are one task.
        let rows = (SHARED / 2 / n).clamp(1, outer);
        return share(outer.div_ceil(rows), &|task| {
            for row in task * rows..outer.min((task + 1) * rows) {
                let parts = row * parts..(row + 1) * parts;
                parts.fold(R::NONE, |before, part| R::join(before, fold(part, Some(before))));
            }
        });
    }
    let done = share(outer * parts, &|part| {
        // SAFETY: a prefix needs no more than the 16 bytes per part of the scratch; each task writes its own.
        unsafe { *work.total::<R::Fold>(part) = fold(part, None) };
    });
    if !done {
        return false;
    }
    // The fold before each part replaces its total.
    for row in 0..outer {
        (row * parts..(row + 1) * parts).fold(R::NONE, |before, part| {
            // SAFETY: all totals were written, and no other thread is at work.
            let total = unsafe { std::mem::replace(&mut *work.total::<R::Fold>(part), before) };
            R::join(before, total)
        });
    }
    share(outer * parts, &|part| {
        // SAFETY: the folds before all parts were written, and no thread writes them now.
        let before = unsafe { *work.total::<R::Fold>(part) };
        fold(part, Some(before));
    })
}

/// Folds a part of a row; returns its total. Writes results if the fold of all `before` it is given.
fn fold_part<R: ScanFold>(from: &[R::X], to: &mut [R::X], before: Option<R::Fold>, reverse: bool) -> R::Fold {
    let n = from.len();
    let mut own = R::NONE;
    for at in 0..n {
        let at = if reverse { n - 1 - at } else { at };
        own = R::join(own, R::one(from[at]));
        if let Some(before) = before {
            to[at] = R::result(R::join(before, own));
        }
    }
    own
}

/// Adjacent columns. Only [`scan`] makes them.
struct Columns<'a, R: ScanFold> {
    work: &'a Cumulating,
    /// The first element of the first row.
    first: usize,
    width: usize,
    folds: [R::Fold; COLUMNS],
}

impl<R: ScanFold> SimdLoop for Columns<'_, R> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        let [_, n, inner] = self.work.shape;
        for row in 0..n {
            let row = if self.work.reverse { n - 1 - row } else { row };
            let first = self.first + row * inner;
            // SAFETY: the caller of `scan` guarantees the operands; these columns of the row are this task's.
            let (source, target) = unsafe { self.work.elements::<R::X>(first, self.width) };
            for ((fold, x), to) in self.folds.iter_mut().zip(source).zip(target) {
                *fold = R::join(*fold, R::one(*x));
                *to = R::result(*fold);
            }
        }
    }
}
