//! Folds of tiles: lane by lane, then over the lanes of one tile, in an order that depends on nothing but the
//! Nest.
//!
//! Floats are folded in short blocks whose results are folded in a binary tree ([`Cascade`]), so that the
//! error of a sum grows with the logarithm of its length.

use super::super::tile_io::fill;
use super::strided_reduce::{Along, Rows, strided_loops};
use bytemuck::{AnyBitPattern, NoUninit};
use std::marker::PhantomData;
use workalike_kernels::DType;
use workalike_kernels::level::{Loop, run};
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::{lanes, lanes_mut};

/// Folds `n` lanes of `value` into those of `into`. `other` holds the indices for ArgMax and ArgMin, which
/// are folded into `into_index`; or the second factor of a product; or nothing.
pub(crate) type Vertical = fn(into: &mut [u64], into_index: &mut [u64], value: &[u8], other: &[u8], n: usize);

/// Folds the first `n >= 1` lanes into the first one.
pub(crate) type Horizontal = fn(lanes: &mut [u64], index: &mut [u64], n: usize);

/// The loops of one fold over tiles.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    /// Lane by lane.
    pub(crate) vertical: Vertical,
    /// Folds all lanes of a tile to one.
    pub(crate) across: Option<Across>,
    pub(crate) horizontal: Horizontal,
    /// The logarithm of the number of tiles that are folded in sequence before the tree takes over; [`ANY`]
    /// where order does not matter.
    pub(crate) block: u32,
}

/// Folds a tile into one lane, as if it were a row in memory.
#[derive(Clone, Copy)]
pub(crate) struct Across {
    along: Along,
    merge: Vertical,
    identity: u64,
}

impl Across {
    /// Folds the first `n` lanes of `value`, or of its products with those of `other`, into the first of
    /// `into`.
    pub(crate) fn fold(&self, into: &mut [u64], value: &[u8], other: &[u8], n: usize) {
        let row = |lanes: &[u8]| Rows { base: lanes.as_ptr(), at: &[0] };
        let mut one = [0];
        // SAFETY: a tile has `n` lanes; `other` is empty only if it is not read.
        unsafe { (self.along)(&mut one, row(value), row(other), n, self.identity) };
        (self.merge)(into, &mut [], bytemuck::bytes_of(&one), &[], 1);
    }
}

/// Eight tiles of floats are folded in sequence: rounding errors accumulate linearly, so few.
const BLOCK: u32 = 3;
/// More than the logarithm of any number of tiles.
pub(crate) const ANY: u32 = 63;

/// A fold of two values.
pub(crate) trait Rule<T> {
    fn fold(a: T, b: T) -> T;
}

pub(crate) struct Sum;
pub(crate) struct Product;
pub(crate) struct Max;
pub(crate) struct Min;

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
pub(crate) trait Factor: Copy {
    fn add_product<const FMA: bool>(self, a: Self, b: Self) -> Self;
}

macro_rules! products {
    (float $($f:ty),*; int $($i:ty),*) => {
        $(impl Factor for $f {
            #[inline(always)]
            fn add_product<const FMA: bool>(self, a: $f, b: $f) -> $f {
                if FMA { a.mul_add(b, self) } else { self + a * b }
            }
        })*
        $(impl Factor for $i {
            #[inline(always)]
            fn add_product<const FMA: bool>(self, a: $i, b: $i) -> $i { self.wrapping_add(a.wrapping_mul(b)) }
        })*
    };
}
products!(float f32, f64; int i8, i16, i32, i64, u8, u16, u32, u64);

/// Folds a lane of a tile, or of two tiles, into a lane of an accumulator.
pub(crate) trait Take<T> {
    fn take<const FMA: bool>(into: T, value: T, other: T) -> T;
    /// Whether there is a second tile.
    const TWO: bool;
}

/// Folds by a rule.
pub(crate) struct By<R>(PhantomData<R>);

/// Adds the product of two lanes.
pub(crate) struct Dot;

impl<T, R: Rule<T>> Take<T> for By<R> {
    #[inline(always)]
    fn take<const FMA: bool>(into: T, value: T, _: T) -> T {
        R::fold(into, value)
    }
    const TWO: bool = false;
}

impl<T: Factor> Take<T> for Dot {
    #[inline(always)]
    fn take<const FMA: bool>(into: T, value: T, other: T) -> T {
        into.add_product::<FMA>(value, other)
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
    value: &[u8],
    other: &[u8],
    n: usize,
) {
    let value = &lanes::<T>(value)[..n];
    let other = if R::TWO { &lanes::<T>(other)[..n] } else { value };
    run(VerticalLoop { into: &mut lanes_mut::<T>(into)[..n], value, other, rule: PhantomData::<R> });
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

/// Whether `(a, i)` precedes `(b, j)`: NaN first, then the greater (`MAX`) or the lesser, then the lower
/// index.
#[inline(always)]
#[allow(clippy::eq_op)] // A generic test for NaN.
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
    value: &[u8],
    index: &[u8],
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

fn kernel_of<T: AnyBitPattern + NoUninit + PartialOrd>(fold: Fold, float: bool) -> Kernel
where
    Sum: Rule<T>,
    Product: Rule<T>,
    Max: Rule<T>,
    Min: Rule<T>,
{
    fn by<T: AnyBitPattern + NoUninit, R: Rule<T>>() -> Kernel {
        Kernel { vertical: vertical::<T, By<R>>, across: None, horizontal: horizontal::<T, R>, block: ANY }
    }
    let with_index = |vertical, horizontal| Kernel { vertical, across: None, horizontal, block: ANY };
    let kernel = match fold {
        Fold::Sum => by::<T, Sum>(),
        Fold::Product => by::<T, Product>(),
        Fold::Max => by::<T, Max>(),
        Fold::Min => by::<T, Min>(),
        Fold::ArgMax => with_index(vertical_index::<T, true>, horizontal_index::<T, true>),
        Fold::ArgMin => with_index(vertical_index::<T, false>, horizontal_index::<T, false>),
    };
    let ordered = float && matches!(fold, Fold::Sum | Fold::Product);
    Kernel { block: if ordered { BLOCK } else { ANY }, ..kernel }
}

/// The loops of a sum of products of two values of `dtype`; none for bools.
pub(crate) fn dot(dtype: DType) -> Option<Kernel> {
    let vertical: Vertical = match dtype.register() {
        DType::F32 => vertical::<f32, Dot>,
        DType::F64 => vertical::<f64, Dot>,
        DType::I8 => vertical::<i8, Dot>,
        DType::I16 => vertical::<i16, Dot>,
        DType::I32 => vertical::<i32, Dot>,
        DType::I64 => vertical::<i64, Dot>,
        DType::U8 => vertical::<u8, Dot>,
        DType::U16 => vertical::<u16, Dot>,
        DType::U32 => vertical::<u32, Dot>,
        DType::U64 => vertical::<u64, Dot>,
        DType::Bool | DType::F16 | DType::BF16 => return None,
    };
    let sum = kernel(Fold::Sum, dtype);
    Some(Kernel { across: across(Fold::Sum, dtype, sum.vertical, true), vertical, ..sum })
}

fn across(fold: Fold, dtype: DType, merge: Vertical, dot: bool) -> Option<Across> {
    let dtype = dtype.register();
    let mut identity = [0];
    fill(&mut identity, fold.identity(dtype), 1);
    let along = strided_loops(fold, dtype, dot)?.along;
    Some(Across { along, merge, identity: identity[0] })
}

/// The loops of a fold over values of `dtype`.
pub(crate) fn kernel(fold: Fold, dtype: DType) -> Kernel {
    let kernel = match dtype {
        // For bools Or is Max and And is Min.
        DType::Bool => {
            let fold = match fold {
                Fold::Sum => Fold::Max,
                Fold::Product => Fold::Min,
                other => other,
            };
            kernel_of::<u8>(fold, false)
        }
        DType::I8 => kernel_of::<i8>(fold, false),
        DType::I16 => kernel_of::<i16>(fold, false),
        DType::I32 => kernel_of::<i32>(fold, false),
        DType::I64 => kernel_of::<i64>(fold, false),
        DType::U8 => kernel_of::<u8>(fold, false),
        DType::U16 => kernel_of::<u16>(fold, false),
        DType::U32 => kernel_of::<u32>(fold, false),
        DType::U64 => kernel_of::<u64>(fold, false),
        DType::F16 | DType::BF16 | DType::F32 => kernel_of::<f32>(fold, true),
        DType::F64 => kernel_of::<f64>(fold, true),
    };
    Kernel { across: across(fold, dtype, kernel.vertical, false), ..kernel }
}

/// The order of a long fold: a stack of accumulators, one per level of a binary tree over blocks of tiles.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cascade {
    /// Tiles folded so far.
    count: u64,
}

impl Cascade {
    /// After `count` tiles.
    pub(crate) fn after(count: u64) -> Cascade {
        Cascade { count }
    }

    /// The stack depth that `tiles` tiles need, in blocks of `1 << block`.
    pub(crate) fn depth(tiles: u64, block: u32) -> usize {
        (u64::BITS - (tiles >> block).leading_zeros()) as usize + 2
    }

    fn starts_block(&self, block: u32) -> bool {
        self.count & ((1 << block) - 1) == 0
    }

    /// The stack position for the next tile, and whether it has to start from the identity.
    pub(crate) fn top(&self, block: u32) -> (usize, bool) {
        ((self.count >> block).count_ones() as usize, self.starts_block(block))
    }

    /// Counts a tile; returns how many times the top of the stack is now to be folded into the one below.
    pub(crate) fn pushed(&mut self, block: u32) -> usize {
        self.count += 1;
        if self.starts_block(block) { (self.count >> block).trailing_zeros() as usize } else { 0 }
    }

    /// The accumulators on the stack; at the end all are folded downwards.
    pub(crate) fn height(&self, block: u32) -> usize {
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
