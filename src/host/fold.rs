//! Folding tiles: lane by lane, then the lanes of one tile, in an order that depends on nothing but the Nest.
//!
//! Floats are folded in short blocks whose results meet in a binary tree ([`Cascade`]), which keeps the error of a sum
//! proportional to the logarithm of its length.

use crate::dtype::DType;
use crate::kernels::level::{Loop, run};
use crate::kernels::nest::Fold;
use crate::kernels::ops::{lanes, lanes_mut};
use bytemuck::{AnyBitPattern, NoUninit};
use std::marker::PhantomData;

/// Folds `n` lanes of `value` into those of `into`. `other` holds the indices for ArgMax and ArgMin, which are folded into
/// `into_index`; or the lanes that those of `value` are multiplied with; or nothing.
pub(super) type Vertical =
    fn(into: &mut [u64], into_index: &mut [u64], value: &[u64], other: &[u64], n: usize);

/// Folds the first `n >= 1` lanes into the first one.
pub(super) type Horizontal = fn(lanes: &mut [u64], index: &mut [u64], n: usize);

/// How one fold is done on tiles.
#[derive(Clone, Copy)]
pub(super) struct Kernel {
    /// Lane by lane.
    pub(super) vertical: Vertical,
    /// Where all lanes of a tile end up as one: `n` lanes of `value` into `few` of `into`, all of which count.
    pub(super) across: Option<Across>,
    pub(super) horizontal: Horizontal,
    /// The logarithm of how many tiles are folded one after the other before the tree takes over; [`ANY`] where order
    /// cannot matter.
    pub(super) block: u32,
}

/// See [`Kernel::across`].
#[derive(Clone, Copy)]
pub(super) struct Across {
    pub(super) fold: fn(into: &mut [u64], value: &[u64], other: &[u64], n: usize),
    /// Folds the few into the first.
    pub(super) end: fn(into: &mut [u64]),
    pub(super) few: usize,
}

/// Eight tiles of floats are folded in sequence: their errors add up, so few.
const BLOCK: u32 = 3;
/// More tiles than there are.
const ANY: u32 = 63;

/// A fold of two.
pub(super) trait Rule<T> {
    fn fold(a: T, b: T) -> T;
}

pub(super) struct Sum;
pub(super) struct Product;
pub(super) struct Max;
pub(super) struct Min;

macro_rules! rules {
    (float $($f:ty),*; int $($i:ty),*) => {
        $(
            impl Rule<$f> for Sum { #[inline(always)] fn fold(a: $f, b: $f) -> $f { a + b } }
            impl Rule<$f> for Product { #[inline(always)] fn fold(a: $f, b: $f) -> $f { a * b } }
            impl Rule<$f> for Max {
                #[inline(always)] fn fold(a: $f, b: $f) -> $f { if a > b || a.is_nan() { a } else { b } }
            }
            impl Rule<$f> for Min {
                #[inline(always)] fn fold(a: $f, b: $f) -> $f { if a < b || a.is_nan() { a } else { b } }
            }
        )*
        $(
            impl Rule<$i> for Sum { #[inline(always)] fn fold(a: $i, b: $i) -> $i { a.wrapping_add(b) } }
            impl Rule<$i> for Product { #[inline(always)] fn fold(a: $i, b: $i) -> $i { a.wrapping_mul(b) } }
            impl Rule<$i> for Max { #[inline(always)] fn fold(a: $i, b: $i) -> $i { a.max(b) } }
            impl Rule<$i> for Min { #[inline(always)] fn fold(a: $i, b: $i) -> $i { a.min(b) } }
        )*
    };
}
rules!(float f32, f64; int i8, i16, i32, i64, u8, u16, u32, u64);

/// Numbers whose products are summed.
pub(super) trait Factor: Copy {
    fn plus(self, b: Self) -> Self;
    fn add_product<const FMA: bool>(self, a: Self, b: Self) -> Self;
}

macro_rules! products {
    ($($t:ty),*) => { $(impl Factor for $t {
        #[inline(always)]
        fn plus(self, b: $t) -> $t { self + b }
        #[inline(always)]
        fn add_product<const FMA: bool>(self, a: $t, b: $t) -> $t {
            if FMA { a.mul_add(b, self) } else { self + a * b }
        }
    })* };
}
products!(f32, f64);

/// How a lane of an accumulator takes one of a tile, and perhaps one of another.
pub(super) trait Take<T> {
    fn take<const FMA: bool>(into: T, value: T, other: T) -> T;
    /// Folds one accumulator into another.
    fn merge(into: T, from: T) -> T;
    /// Whether there is another tile.
    const TWO: bool;
}

/// Takes by a rule.
pub(super) struct By<R>(PhantomData<R>);

/// Takes the product of two lanes.
pub(super) struct Dot;

impl<T, R: Rule<T>> Take<T> for By<R> {
    #[inline(always)]
    fn take<const FMA: bool>(into: T, value: T, _: T) -> T {
        R::fold(into, value)
    }
    #[inline(always)]
    fn merge(into: T, from: T) -> T {
        R::fold(into, from)
    }
    const TWO: bool = false;
}

impl<T: Factor> Take<T> for Dot {
    #[inline(always)]
    fn take<const FMA: bool>(into: T, value: T, other: T) -> T {
        into.add_product::<FMA>(value, other)
    }
    #[inline(always)]
    fn merge(into: T, from: T) -> T {
        into.plus(from)
    }
    const TWO: bool = true;
}

struct VerticalLoop<'a, T, R> {
    into: &'a mut [T],
    value: &'a [T],
    other: &'a [T],
    rule: PhantomData<R>,
}

impl<T: Copy, R: Take<T>> Loop for VerticalLoop<'_, T, R> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let n = self.into.len();
        let (value, other) = (&self.value[..n], &self.other[..n]);
        for i in 0..n {
            self.into[i] = R::take::<FMA>(self.into[i], value[i], other[i]);
        }
    }
}

fn vertical<T: AnyBitPattern + NoUninit, R: Take<T>>(
    into: &mut [u64],
    _: &mut [u64],
    value: &[u64],
    other: &[u64],
    n: usize,
) {
    let value = &lanes::<T>(value)[..n];
    let other = if R::TWO { &lanes::<T>(other)[..n] } else { value };
    run(VerticalLoop { into: &mut lanes_mut::<T>(into)[..n], value, other, rule: PhantomData::<R> });
}

/// Four vectors of `L` lanes that stay in the processor's registers.
struct AcrossLoop<'a, T, R, const L: usize> {
    into: &'a mut [T],
    value: &'a [T],
    other: &'a [T],
    rule: PhantomData<R>,
}

impl<T: Copy, R: Take<T>, const L: usize> Loop for AcrossLoop<'_, T, R, L> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let into = &mut self.into[..4 * L];
        let (mut a, mut b, mut c, mut d) = ([into[0]; L], [into[0]; L], [into[0]; L], [into[0]; L]);
        for i in 0..L {
            (a[i], b[i], c[i], d[i]) = (into[i], into[L + i], into[2 * L + i], into[3 * L + i]);
        }
        let (values, others) = (self.value.chunks_exact(4 * L), self.other.chunks_exact(4 * L));
        let rest = (values.remainder(), others.remainder());
        for (value, other) in values.zip(others) {
            for i in 0..L {
                a[i] = R::take::<FMA>(a[i], value[i], other[i]);
            }
            for i in 0..L {
                b[i] = R::take::<FMA>(b[i], value[L + i], other[L + i]);
            }
            for i in 0..L {
                c[i] = R::take::<FMA>(c[i], value[2 * L + i], other[2 * L + i]);
            }
            for i in 0..L {
                d[i] = R::take::<FMA>(d[i], value[3 * L + i], other[3 * L + i]);
            }
        }
        for i in 0..L {
            (into[i], into[L + i], into[2 * L + i], into[3 * L + i]) = (a[i], b[i], c[i], d[i]);
        }
        for ((into, value), other) in into.iter_mut().zip(rest.0).zip(rest.1) {
            *into = R::take::<FMA>(*into, *value, *other);
        }
    }
}

fn across<T: AnyBitPattern + NoUninit, R: Take<T>, const L: usize>(
    into: &mut [u64],
    value: &[u64],
    other: &[u64],
    n: usize,
) {
    let value = &lanes::<T>(value)[..n];
    let other = if R::TWO { &lanes::<T>(other)[..n] } else { value };
    run(AcrossLoop::<T, R, L> { into: lanes_mut::<T>(into), value, other, rule: PhantomData });
}

/// The fold of some values, and of `first` of them, which may be folded again and again.
pub(super) fn extreme<T: Copy, R: Rule<T>, const L: usize>(first: T, values: &[T]) -> T {
    let mut all = [first; 256];
    let into = &mut all[..4 * L];
    run(AcrossLoop::<T, By<R>, L> { into, value: values, other: values, rule: PhantomData });
    run(EndLoop::<T, R, L>(into, PhantomData));
    all[0]
}

struct EndLoop<'a, T, R, const L: usize>(&'a mut [T], PhantomData<R>);

impl<T: Copy, R: Rule<T>, const L: usize> Loop for EndLoop<'_, T, R, L> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let all = &mut self.0[..4 * L];
        let mut one = [all[0]; L];
        for i in 0..L {
            one[i] = R::fold(R::fold(all[i], all[2 * L + i]), R::fold(all[L + i], all[3 * L + i]));
        }
        let mut width = L / 2;
        while width > 0 {
            for i in 0..width {
                one[i] = R::fold(one[i], one[width + i]);
            }
            width /= 2;
        }
        all[0] = one[0];
    }
}

fn end<T: AnyBitPattern + NoUninit, R: Rule<T>, const L: usize>(into: &mut [u64]) {
    run(EndLoop::<T, R, L>(lanes_mut::<T>(into), PhantomData));
}

struct HorizontalLoop<'a, T, R>(&'a mut [T], PhantomData<R>);

impl<T: Copy, R: Rule<T>> Loop for HorizontalLoop<'_, T, R> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut all = self.0;
        while all.len() > 1 {
            let (low, high) = all.split_at_mut(all.len().div_ceil(2));
            low.iter_mut().zip(&*high).for_each(|(a, b)| *a = R::fold(*a, *b));
            all = low;
        }
    }
}

fn horizontal<T: AnyBitPattern + NoUninit, R: Rule<T>>(words: &mut [u64], _: &mut [u64], n: usize) {
    run(HorizontalLoop(&mut lanes_mut::<T>(words)[..n], PhantomData::<R>));
}

/// Whether `(a, i)` goes before `(b, j)`: NaN first, then the greater (`MAX`) or the less, then the lower index.
#[inline(always)]
#[allow(clippy::eq_op)] // `a != a` is how a generic type asks for NaN.
fn beats<T: PartialOrd + Copy, const MAX: bool>(a: T, i: i64, b: T, j: i64) -> bool {
    let (a_nan, b_nan) = (a != a, b != b);
    let ahead = if MAX { a > b } else { a < b };
    ahead | (a_nan & !b_nan) | (((a == b) | (a_nan & b_nan)) & (i < j))
}

struct IndexLoop<'a, T, const MAX: bool> {
    into: &'a mut [T],
    into_index: &'a mut [i64],
    value: &'a [T],
    index: &'a [i64],
}

impl<T: Copy + PartialOrd, const MAX: bool> Loop for IndexLoop<'_, T, MAX> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let IndexLoop { into, into_index, value, index } = self;
        let n = into.len();
        let (into_index, value, index) = (&mut into_index[..n], &value[..n], &index[..n]);
        for k in 0..n {
            let wins = beats::<T, MAX>(value[k], index[k], into[k], into_index[k]);
            into[k] = if wins { value[k] } else { into[k] };
            into_index[k] = if wins { index[k] } else { into_index[k] };
        }
    }
}

fn vertical_index<T: AnyBitPattern + NoUninit + PartialOrd, const MAX: bool>(
    into: &mut [u64],
    into_index: &mut [u64],
    value: &[u64],
    index: &[u64],
    n: usize,
) {
    run(IndexLoop::<T, MAX> {
        into: &mut lanes_mut::<T>(into)[..n],
        into_index: lanes_mut::<i64>(into_index),
        value: lanes::<T>(value),
        index: lanes::<i64>(index),
    });
}

fn horizontal_index<T: AnyBitPattern + NoUninit + PartialOrd, const MAX: bool>(
    words: &mut [u64],
    index: &mut [u64],
    n: usize,
) {
    let (mut all, mut index) = (&mut lanes_mut::<T>(words)[..n], &mut lanes_mut::<i64>(index)[..n]);
    while all.len() > 1 {
        let half = all.len().div_ceil(2);
        let ((into, value), (into_index, from)) = (all.split_at_mut(half), index.split_at_mut(half));
        let into_part = &mut into[..value.len()];
        run(IndexLoop::<T, MAX> { into: into_part, into_index, value, index: from });
        (all, index) = (into, into_index);
    }
}

fn kernel_of<T: AnyBitPattern + NoUninit + PartialOrd, const L: usize>(fold: Fold, float: bool) -> Kernel
where
    Sum: Rule<T>,
    Product: Rule<T>,
    Max: Rule<T>,
    Min: Rule<T>,
{
    fn by<T: AnyBitPattern + NoUninit, R: Rule<T>, const L: usize>() -> Kernel {
        Kernel {
            vertical: vertical::<T, By<R>>,
            across: Some(Across { fold: across::<T, By<R>, L>, end: end::<T, R, L>, few: 4 * L }),
            horizontal: horizontal::<T, R>,
            block: ANY,
        }
    }
    let with_index = |vertical, horizontal| Kernel { vertical, across: None, horizontal, block: ANY };
    let kernel = match fold {
        Fold::Sum => by::<T, Sum, L>(),
        Fold::Product => by::<T, Product, L>(),
        Fold::Max => by::<T, Max, L>(),
        Fold::Min => by::<T, Min, L>(),
        Fold::ArgMax => with_index(vertical_index::<T, true>, horizontal_index::<T, true>),
        Fold::ArgMin => with_index(vertical_index::<T, false>, horizontal_index::<T, false>),
    };
    let ordered = float && matches!(fold, Fold::Sum | Fold::Product);
    Kernel { block: if ordered { BLOCK } else { ANY }, ..kernel }
}

/// The loops of a sum of products of two values of `dtype`; only for floats.
pub(super) fn dot(dtype: DType) -> Option<Kernel> {
    fn with<T: AnyBitPattern + NoUninit + PartialOrd + Factor, const L: usize>(sum: Kernel) -> Kernel {
        let across = sum.across.map(|a| Across { fold: across::<T, Dot, L>, ..a });
        Kernel { vertical: vertical::<T, Dot>, across, ..sum }
    }
    match dtype.register() {
        DType::F32 => Some(with::<f32, 16>(kernel(Fold::Sum, dtype))),
        DType::F64 => Some(with::<f64, 8>(kernel(Fold::Sum, dtype))),
        _ => None,
    }
}

/// The loops of a fold over values of `dtype`.
pub(super) fn kernel(fold: Fold, dtype: DType) -> Kernel {
    match dtype {
        // For bool, or is the greater and and is the less.
        DType::Bool => {
            let fold = match fold {
                Fold::Sum => Fold::Max,
                Fold::Product => Fold::Min,
                other => other,
            };
            kernel_of::<u8, 64>(fold, false)
        }
        DType::I8 => kernel_of::<i8, 64>(fold, false),
        DType::I16 => kernel_of::<i16, 32>(fold, false),
        DType::I32 => kernel_of::<i32, 16>(fold, false),
        DType::I64 => kernel_of::<i64, 8>(fold, false),
        DType::U8 => kernel_of::<u8, 64>(fold, false),
        DType::U16 => kernel_of::<u16, 32>(fold, false),
        DType::U32 => kernel_of::<u32, 16>(fold, false),
        DType::U64 => kernel_of::<u64, 8>(fold, false),
        DType::F16 | DType::BF16 | DType::F32 => kernel_of::<f32, 16>(fold, true),
        DType::F64 => kernel_of::<f64, 8>(fold, true),
    }
}

/// The order of a long fold: a stack of accumulators, one per level of a binary tree over blocks of tiles.
#[derive(Clone, Copy, Default)]
pub(super) struct Cascade {
    /// Tiles folded so far.
    count: u64,
}

impl Cascade {
    /// After `count` tiles.
    pub(super) fn after(count: u64) -> Cascade {
        Cascade { count }
    }

    /// Room that `tiles` tiles need on the stack, in blocks of `1 << block`.
    pub(super) fn depth(tiles: u64, block: u32) -> usize {
        (u64::BITS - (tiles >> block).leading_zeros()) as usize + 2
    }

    fn starts_block(&self, block: u32) -> bool {
        self.count & ((1 << block) - 1) == 0
    }

    /// The stack position that takes the next tile, and whether it has to start from the identity.
    pub(super) fn top(&self, block: u32) -> (usize, bool) {
        ((self.count >> block).count_ones() as usize, self.starts_block(block))
    }

    /// Counts the tile, and says how many times the top of the stack is now to be folded into the one below.
    pub(super) fn pushed(&mut self, block: u32) -> usize {
        self.count += 1;
        if self.starts_block(block) { (self.count >> block).trailing_zeros() as usize } else { 0 }
    }

    /// How many accumulators the stack holds; at the end all are folded downwards.
    pub(super) fn height(&self, block: u32) -> usize {
        (self.count >> block).count_ones() as usize + usize::from(!self.starts_block(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cascade_folds_everything_once_within_its_depth() {
        for block in [0, 1, 3, ANY] {
            for tiles in 0..200u64 {
                let mut cascade = Cascade::default();
                let mut stack = vec![0u64; Cascade::depth(tiles, block)];
                for t in 0..tiles {
                    let (top, fresh) = cascade.top(block);
                    stack[top] = t + 1 + if fresh { 0 } else { stack[top] };
                    let merges = cascade.pushed(block);
                    for m in 0..merges {
                        stack[top - m - 1] += stack[top - m];
                    }
                }
                let height = cascade.height(block);
                assert_eq!(stack[..height].iter().sum::<u64>(), tiles * (tiles + 1) / 2);
            }
        }
    }

    #[test]
    fn horizontal_folds_every_lane() {
        for n in 1..40usize {
            let mut words: Vec<u64> = (1..=n as u64).collect();
            (kernel(Fold::Sum, DType::U64).horizontal)(&mut words, &mut [], n);
            assert_eq!(words[0], (n * (n + 1) / 2) as u64);
        }
    }
}
