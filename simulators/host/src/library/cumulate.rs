//! Cumulative folds (scans). Along the last axis, elements are folded in groups, each independent of the
//! prefix before it; long rows are divided into parts, whose totals are computed first if several threads
//! work. Along other axes, columns are vectorized.
//!
//! Float sums run in float64; sums of float64 are compensated. Groups depend on the position, never on the
//! number of threads.

use super::super::folds::argreduce::key;
use super::super::pool::Pool;
use half::{bf16, f16};
use std::marker::PhantomData;
use workalike_kernels::DType;
use workalike_kernels::level::{Loop, run as at_best_level};
use workalike_kernels::library::Cumulate;
use workalike_kernels::nest::Fold;

/// Elements of a group.
const GROUP: usize = 32;
/// Elements of a part of a row; a multiple of `GROUP`.
const PART: usize = 1 << 14;
/// Columns of a task, which are vectorized.
const COLUMNS: usize = 128;
/// Elements from which threads share the work.
const SHARED: usize = 1 << 15;

/// How elements are folded.
trait Running: Sync {
    /// An element.
    type X: Copy + Send + Sync;
    /// The fold of a group.
    type Few: Copy + Send + Sync;
    /// The fold of a prefix.
    type All: Copy + Send + Sync;
    /// Whether elements may be grouped.
    const GROUPS: bool = true;
    const NONE: Self::All;
    fn few(x: Self::X) -> Self::Few;
    fn join(a: Self::Few, b: Self::Few) -> Self::Few;
    fn after(all: Self::All, few: Self::Few) -> Self::All;
    fn merge(a: Self::All, b: Self::All) -> Self::All;
    fn result(all: Self::All, few: Self::Few) -> Self::X;
    fn total(all: Self::All) -> Self::X;
}

macro_rules! whole { ($name:ident, $none:expr, $join:expr; $($t:ty),*) => {
    struct $name<T>(PhantomData<T>);
    $(impl Running for $name<$t> {
        type X = $t;
        type Few = $t;
        type All = $t;
        const NONE: $t = $none;
        #[inline(always)]
        fn few(x: $t) -> $t { x }
        #[inline(always)]
        fn join(a: $t, b: $t) -> $t { let join: fn($t, $t) -> $t = $join; join(a, b) }
        #[inline(always)]
        fn after(a: $t, b: $t) -> $t { Self::join(a, b) }
        #[inline(always)]
        fn merge(a: $t, b: $t) -> $t { Self::join(a, b) }
        #[inline(always)]
        fn result(a: $t, b: $t) -> $t { Self::join(a, b) }
        #[inline(always)]
        fn total(a: $t) -> $t { a }
    })*
}; }
whole!(WholeSum, 0, |a, b| a.wrapping_add(b); i8, i16, i32, i64, u8, u16, u32, u64);
whole!(WholeProduct, 1, |a, b| a.wrapping_mul(b); i8, i16, i32, i64, u8, u16, u32, u64);

/// The greater or lesser of two, the first of equals. A NaN stays.
struct Extreme<T, const MAX: bool>(PhantomData<T>);

macro_rules! extreme { ($($t:ty: $low:expr, $high:expr, $number:expr, $nan:expr;)*) => { $(
    impl<const MAX: bool> Running for Extreme<$t, MAX> {
        type X = $t;
        type Few = $t;
        type All = $t;
        const NONE: $t = if MAX { $low } else { $high };
        #[inline(always)]
        fn few(x: $t) -> $t { x }
        #[inline(always)]
        fn join(a: $t, b: $t) -> $t {
            let (x, y) = ($number(a), $number(b));
            let better = if MAX { y > x } else { y < x };
            if better || ($nan(y) && !$nan(x)) { b } else { a }
        }
        #[inline(always)]
        fn after(a: $t, b: $t) -> $t { Self::join(a, b) }
        #[inline(always)]
        fn merge(a: $t, b: $t) -> $t { Self::join(a, b) }
        #[inline(always)]
        fn result(a: $t, b: $t) -> $t { Self::join(a, b) }
        #[inline(always)]
        fn total(a: $t) -> $t { a }
    }
)* }; }
extreme! {
    i8: i8::MIN, i8::MAX, |x: i8| x, |_| false;
    i16: i16::MIN, i16::MAX, |x: i16| x, |_| false;
    i32: i32::MIN, i32::MAX, |x: i32| x, |_| false;
    i64: i64::MIN, i64::MAX, |x: i64| x, |_| false;
    u8: u8::MIN, u8::MAX, |x: u8| x, |_| false;
    u16: u16::MIN, u16::MAX, |x: u16| x, |_| false;
    u32: u32::MIN, u32::MAX, |x: u32| x, |_| false;
    u64: u64::MIN, u64::MAX, |x: u64| x, |_| false;
    f32: f32::NEG_INFINITY, f32::INFINITY, |x: f32| x, |x: f32| x.is_nan();
    f64: f64::NEG_INFINITY, f64::INFINITY, |x: f64| x, |x: f64| x.is_nan();
}

/// The same for halves, with integer keys in their order, NaN last, which are compared.
struct ExtremeHalf<T, const MAX: bool>(PhantomData<T>);

macro_rules! extreme_half { ($($t:ident, $f16:literal;)*) => { $(
    impl<const MAX: bool> Running for ExtremeHalf<$t, MAX> {
        type X = $t;
        type Few = (i16, $t);
        type All = (i16, $t);
        const NONE: (i16, $t) = if MAX { (i16::MIN, $t::NEG_INFINITY) } else { (i16::MAX, $t::INFINITY) };
        #[inline(always)]
        fn few(x: $t) -> (i16, $t) { (key::<MAX, $f16>(x.to_bits()), x) }
        #[inline(always)]
        fn join(a: (i16, $t), b: (i16, $t)) -> (i16, $t) {
            let better = if MAX { b.0 > a.0 } else { b.0 < a.0 };
            if better { b } else { a }
        }
        #[inline(always)]
        fn after(a: (i16, $t), b: (i16, $t)) -> (i16, $t) { Self::join(a, b) }
        #[inline(always)]
        fn merge(a: (i16, $t), b: (i16, $t)) -> (i16, $t) { Self::join(a, b) }
        #[inline(always)]
        fn result(a: (i16, $t), b: (i16, $t)) -> $t { Self::join(a, b).1 }
        #[inline(always)]
        fn total(a: (i16, $t)) -> $t { a.1 }
    }
)* }; }
extreme_half! { f16, true; bf16, false; }

/// Sums and products of narrow floats, in float64.
struct Narrow<T, const PRODUCT: bool>(PhantomData<T>);

macro_rules! narrow { ($($t:ty: $to:expr, $from:expr;)*) => { $(
    impl<const PRODUCT: bool> Running for Narrow<$t, PRODUCT> {
        type X = $t;
        type Few = f64;
        type All = f64;
        // A product of a group alone may overflow where the product with the prefix does not.
        const GROUPS: bool = !PRODUCT;
        const NONE: f64 = if PRODUCT { 1.0 } else { 0.0 };
        #[inline(always)]
        fn few(x: $t) -> f64 { $to(x) }
        #[inline(always)]
        fn join(a: f64, b: f64) -> f64 { if PRODUCT { a * b } else { a + b } }
        #[inline(always)]
        fn after(a: f64, b: f64) -> f64 { Self::join(a, b) }
        #[inline(always)]
        fn merge(a: f64, b: f64) -> f64 { Self::join(a, b) }
        #[inline(always)]
        fn result(a: f64, b: f64) -> $t { $from(Self::join(a, b)) }
        #[inline(always)]
        fn total(a: f64) -> $t { $from(a) }
    }
)* }; }
narrow! {
    f32: |x: f32| f64::from(x), |x: f64| x as f32;
    f16: |x: f16| f64::from(f32::from(x)), f16::from_f64;
    bf16: |x: bf16| f64::from(f32::from(x)), |x: f64| bf16::from_f32(x as f32);
}

struct Sum64;

impl Running for Sum64 {
    type X = f64;
    type Few = f64;
    /// The sum, and its rounding error.
    type All = (f64, f64);
    const NONE: (f64, f64) = (0.0, 0.0);
    #[inline(always)]
    fn few(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn join(a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline(always)]
    fn after((sum, lost): (f64, f64), few: f64) -> (f64, f64) {
        let next = sum + few;
        let back = next - sum;
        let error = (sum - (next - back)) + (few - back);
        // Infinities have no rounding error.
        (next, if next.is_finite() { lost + error } else { 0.0 })
    }
    #[inline(always)]
    fn merge(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
        let (sum, lost) = Sum64::after(a, b.0);
        (sum, lost + b.1)
    }
    #[inline(always)]
    fn result((sum, lost): (f64, f64), few: f64) -> f64 {
        sum + (lost + few)
    }
    #[inline(always)]
    fn total((sum, lost): (f64, f64)) -> f64 {
        sum + lost
    }
}

struct Product64;

impl Running for Product64 {
    type X = f64;
    type Few = f64;
    /// The product, and its rounding error.
    type All = (f64, f64);
    const GROUPS: bool = false;
    const NONE: (f64, f64) = (1.0, 0.0);
    #[inline(always)]
    fn few(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn join(a: f64, b: f64) -> f64 {
        a * b
    }
    #[inline(always)]
    fn after((product, _): (f64, f64), few: f64) -> (f64, f64) {
        (product * few, 0.0)
    }
    #[inline(always)]
    fn merge(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
        (a.0 * b.0, 0.0)
    }
    #[inline(always)]
    fn result(a: (f64, f64), few: f64) -> f64 {
        a.0 * few
    }
    #[inline(always)]
    fn total(a: (f64, f64)) -> f64 {
        a.0
    }
}

/// A cumulative fold with memory bound.
pub(super) struct Cumulating {
    each: unsafe fn(&Cumulating, &Pool) -> bool,
    source: *const u8,
    target: *mut u8,
    /// The total of each part of a row, if rows have parts.
    totals: *mut u8,
    shape: [usize; 3],
}

/// Parts of a row.
fn parts(c: &Cumulate) -> u64 {
    let grouped = !(c.fold == Fold::Product && c.dtype.is_float());
    if c.shape[2] == 1 && grouped { c.shape[1].div_ceil(PART as u64).max(1) } else { 1 }
}

pub(super) fn scratch(c: &Cumulate) -> Option<u64> {
    let extreme = matches!(c.fold, Fold::Max | Fold::Min);
    if c.fold.has_index() || (c.dtype == DType::Bool && !extreme) {
        return None;
    }
    // No prefix is larger than two float64.
    Some(if parts(c) > 1 { 16 * parts(c) * c.shape[0] } else { 0 })
}

impl Cumulating {
    pub(super) fn new(c: &Cumulate, starts: &[*mut u8]) -> Cumulating {
        let totals = starts.get(2).copied().unwrap_or(std::ptr::null_mut());
        let shape = c.shape.map(|e| e as usize);
        Cumulating { each: chosen(c), source: starts[0], target: starts[1], totals, shape }
    }

    /// # Safety
    /// Same as [`LibraryCall::run`](super::LibraryCall::run).
    pub(super) unsafe fn run(&self, pool: &Pool) -> bool {
        // SAFETY: the caller guarantees the operands; `chosen` selected the function for their dtype.
        unsafe { (self.each)(self, pool) }
    }
}

fn chosen(c: &Cumulate) -> unsafe fn(&Cumulating, &Pool) -> bool {
    macro_rules! of {
        ($r:ty) => {
            if c.reverse { all::<$r, true> } else { all::<$r, false> }
        };
    }
    macro_rules! by_fold { ($sum:ty, $product:ty, $extreme:ident, $t:ty) => {
        match c.fold {
            Fold::Sum => of!($sum),
            Fold::Product => of!($product),
            Fold::Min => of!($extreme<$t, false>),
            _ => of!($extreme<$t, true>),
        }
    }; }
    macro_rules! ints {
        ($t:ty) => {
            by_fold!(WholeSum<$t>, WholeProduct<$t>, Extreme, $t)
        };
    }
    match c.dtype {
        DType::Bool | DType::U8 => ints!(u8),
        DType::I8 => ints!(i8),
        DType::I16 => ints!(i16),
        DType::I32 => ints!(i32),
        DType::I64 => ints!(i64),
        DType::U16 => ints!(u16),
        DType::U32 => ints!(u32),
        DType::U64 => ints!(u64),
        DType::F16 => by_fold!(Narrow<f16, false>, Narrow<f16, true>, ExtremeHalf, f16),
        DType::BF16 => by_fold!(Narrow<bf16, false>, Narrow<bf16, true>, ExtremeHalf, bf16),
        DType::F32 => by_fold!(Narrow<f32, false>, Narrow<f32, true>, Extreme, f32),
        DType::F64 => by_fold!(Sum64, Product64, Extreme, f64),
    }
}

/// Whether the calling thread does all the work.
fn is_small(elements: usize, pool: &Pool) -> bool {
    elements < SHARED || pool.threads() == 1
}

/// Runs `each` for all numbers below `count`, on several threads if there is enough work.
fn share(pool: &Pool, elements: usize, count: usize, each: &(dyn Fn(usize) + Sync)) -> bool {
    if is_small(elements, pool) || count < 2 {
        (0..count).for_each(each);
        return true;
    }
    pool.run(count, &|i, _| each(i))
}

/// # Safety
/// The operands that `work` was made with are as [`LibraryCall::run`](super::LibraryCall::run) needs them,
/// with elements of `R::X`.
unsafe fn all<R: Running, const REVERSE: bool>(work: &Cumulating, pool: &Pool) -> bool {
    let [outer, n, inner] = work.shape;
    let elements = outer * n * inner;
    if elements == 0 {
        return true;
    }
    // SAFETY: the caller guarantees that source and target hold `elements` aligned elements and do not
    // overlap, and that no other thread writes the source; all bits are valid numbers, and bools stay bools.
    // Tasks write different parts of the target.
    let (source, target) = unsafe {
        (std::slice::from_raw_parts(work.source.cast::<R::X>(), elements), Shared(work.target.cast::<R::X>()))
    };
    if inner > 1 {
        let blocks = inner.div_ceil(COLUMNS);
        return share(pool, elements, outer * blocks, &|task| {
            let first = (task % blocks) * COLUMNS;
            let width = COLUMNS.min(inner - first);
            let at = task / blocks * n * inner + first;
            at_best_level(Columns::<R, REVERSE> { source, target, at, n, width, step: inner });
        });
    }
    let parts = if R::GROUPS { n.div_ceil(PART) } else { 1 };
    if parts == 1 {
        // Several short rows are one task.
        let rows = (SHARED / 2 / n).clamp(1, outer);
        return share(pool, elements, outer.div_ceil(rows), &|task| {
            for row in task * rows..((task + 1) * rows).min(outer) {
                at_best_level(Row::<R, REVERSE> { source, target, row, n, from: 0, to: n, before: R::NONE });
            }
        });
    }
    let span = |part: usize| (part * PART, ((part + 1) * PART).min(n));
    // A single thread needs no separate pass for totals.
    if is_small(elements, pool) {
        for row in 0..outer {
            let mut before = R::NONE;
            for (from, to) in (0..parts).map(span) {
                let total = at_best_level(Row::<R, REVERSE> { source, target, row, n, from, to, before });
                before = R::merge(before, total);
            }
        }
        return true;
    }
    // The scratch memory holds 16 bytes per part of each row, and no prefix is larger.
    let totals = Shared(work.totals.cast::<R::All>());
    let found = share(pool, elements, outer * parts, &|task| {
        let (row, (from, to)) = (task / parts, span(task % parts));
        let total = at_best_level(Total::<R, REVERSE> { source, row, n, from, to });
        // SAFETY: the scratch memory has a total per task, which only that task writes.
        unsafe { totals.write(task, total) };
    });
    if !found {
        return false;
    }
    for row in 0..outer {
        let mut before = R::NONE;
        for part in 0..parts {
            // SAFETY: the scratch memory has a total per part, all of which were written; no other thread is
            // at work.
            unsafe {
                let total = totals.read(row * parts + part);
                totals.write(row * parts + part, before);
                before = R::merge(before, total);
            }
        }
    }
    share(pool, elements, outer * parts, &|task| {
        let (row, (from, to)) = (task / parts, span(task % parts));
        // SAFETY: the scratch memory has a total per task, all of which were written; no thread writes them
        // now.
        let before = unsafe { totals.read(task) };
        at_best_level(Row::<R, REVERSE> { source, target, row, n, from, to, before });
    })
}

/// Memory of which tasks write different parts, as callers of its functions guarantee.
struct Shared<T>(*mut T);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}
// SAFETY: a pointer. It is used through unsafe functions, whose callers guarantee that no other thread uses
// the element.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: a pointer. It is used through unsafe functions, whose callers guarantee that no other thread uses
// the element.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T: Copy> Shared<T> {
    /// # Safety
    /// Element `at` must be aligned and writable, and no other thread may use it.
    #[inline(always)]
    unsafe fn write(self, at: usize, value: T) {
        // SAFETY: the caller guarantees the element.
        unsafe { *self.0.add(at) = value }
    }
    /// # Safety
    /// Element `at` must be aligned and initialized, and no other thread may write it.
    #[inline(always)]
    unsafe fn read(self, at: usize) -> T {
        // SAFETY: the caller guarantees the element.
        unsafe { *self.0.add(at) }
    }
}

/// The running fold of a group of a row, from `at` on. The prefix is folded in by a separate, vectorized
/// loop.
#[inline(always)]
fn group<R: Running, const REVERSE: bool>(
    source: &[R::X],
    (row, n): (usize, usize),
    at: usize,
) -> [R::Few; GROUP] {
    let first = place::<REVERSE>(row, n, if REVERSE { at + GROUP - 1 } else { at });
    let source = &source[first..first + GROUP];
    let element = |at: usize| R::few(source[if REVERSE { GROUP - 1 - at } else { at }]);
    let mut few = element(0);
    let mut all = [few; GROUP];
    for (at, all) in all.iter_mut().enumerate().skip(1) {
        few = R::join(few, element(at));
        *all = few;
    }
    all
}

/// Part of a row; returns its total.
struct Row<'a, R: Running, const REVERSE: bool> {
    source: &'a [R::X],
    target: Shared<R::X>,
    row: usize,
    n: usize,
    from: usize,
    to: usize,
    before: R::All,
}

#[inline(always)]
fn place<const REVERSE: bool>(row: usize, n: usize, at: usize) -> usize {
    row * n + if REVERSE { n - 1 - at } else { at }
}

impl<R: Running, const REVERSE: bool> Loop for Row<'_, R, REVERSE> {
    type Out = R::All;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> R::All {
        let Row { source, target, row, n, from, to, before } = self;
        let place = |at| place::<REVERSE>(row, n, at);
        let mut own = R::NONE;
        if !R::GROUPS {
            let mut all = before;
            for at in from..to {
                all = R::after(all, R::few(source[place(at)]));
                // SAFETY: only `all` makes these, with a target as large as the source and different parts of
                // it for tasks; this is one of the task's own elements.
                unsafe { target.write(place(at), R::total(all)) };
            }
            return all;
        }
        let mut at = from;
        while at + GROUP <= to {
            let few = group::<R, REVERSE>(source, (row, n), at);
            // SAFETY: only `all` makes these, with a target as large as the source, in which `group` found
            // these elements; they are the task's own, and an array is aligned as its elements are.
            let out = unsafe {
                let first = place(if REVERSE { at + GROUP - 1 } else { at });
                &mut *target.0.add(first).cast::<[R::X; GROUP]>()
            };
            let all = R::merge(before, own);
            for (at, out) in out.iter_mut().enumerate() {
                *out = R::result(all, few[if REVERSE { GROUP - 1 - at } else { at }]);
            }
            own = R::after(own, few[GROUP - 1]);
            at += GROUP;
        }
        for at in at..to {
            own = R::after(own, R::few(source[place(at)]));
            // SAFETY: the target is as large as the source, and this is one of the task's own elements.
            unsafe { target.write(place(at), R::total(R::merge(before, own))) };
        }
        own
    }
}

/// The total of a part of a row, with the same rounding as [`Row`].
struct Total<'a, R: Running, const REVERSE: bool> {
    source: &'a [R::X],
    row: usize,
    n: usize,
    from: usize,
    to: usize,
}

impl<R: Running, const REVERSE: bool> Loop for Total<'_, R, REVERSE> {
    type Out = R::All;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> R::All {
        let place = |at| place::<REVERSE>(self.row, self.n, at);
        let mut own = R::NONE;
        let mut at = self.from;
        while at + GROUP <= self.to {
            let mut few = R::few(self.source[place(at)]);
            for at in at + 1..at + GROUP {
                few = R::join(few, R::few(self.source[place(at)]));
            }
            own = R::after(own, few);
            at += GROUP;
        }
        (at..self.to).fold(own, |own, at| R::after(own, R::few(self.source[place(at)])))
    }
}

/// Adjacent columns.
struct Columns<'a, R: Running, const REVERSE: bool> {
    source: &'a [R::X],
    target: Shared<R::X>,
    at: usize,
    n: usize,
    width: usize,
    step: usize,
}

impl<R: Running, const REVERSE: bool> Loop for Columns<'_, R, REVERSE> {
    type Out = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut folds = [R::NONE; COLUMNS];
        let folds = &mut folds[..self.width];
        for row in 0..self.n {
            let row = if REVERSE { self.n - 1 - row } else { row };
            let first = self.at + row * self.step;
            let source = &self.source[first..first + folds.len()];
            for (column, (fold, &x)) in folds.iter_mut().zip(source).enumerate() {
                *fold = R::after(*fold, R::few(x));
                // SAFETY: only `all` makes these, with a target as large as the source and different columns
                // of it for tasks.
                unsafe { self.target.write(first + column, R::total(*fold)) };
            }
        }
    }
}
