//! Folding tiles: lane by lane, then the lanes of one tile, in an order that depends on nothing but the Nest.
//!
//! Floats are folded in short blocks whose results meet in a binary tree ([`Cascade`]), which keeps the error of a sum
//! proportional to the logarithm of its length.

use crate::dtype::DType;
use crate::kernels::nest::Fold;
use crate::kernels::ops::{lanes, lanes_mut};
use bytemuck::{AnyBitPattern, NoUninit};

/// Folds `n` lanes of `value` into those of `into`; `indices` likewise, for ArgMax and ArgMin only (else both empty).
pub(super) type Vertical =
    fn(into: &mut [u64], into_index: &mut [u64], value: &[u64], index: &[u64], n: usize);

/// Folds the first `n >= 1` lanes into the first one.
pub(super) type Horizontal = fn(lanes: &mut [u64], index: &mut [u64], n: usize);

/// How one fold is done on tiles.
#[derive(Clone, Copy)]
pub(super) struct Kernel {
    pub(super) vertical: Vertical,
    pub(super) horizontal: Horizontal,
    /// How many tiles are folded one after the other before the tree takes over; `u64::MAX` where order cannot matter.
    pub(super) block: u64,
}

/// Tiles of floats folded in sequence: their errors add up, so few.
const BLOCK: u64 = 8;

trait Rule<T> {
    fn fold(a: T, b: T) -> T;
}

struct Sum;
struct Product;
struct Max;
struct Min;

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

fn vertical<T: AnyBitPattern + NoUninit, R: Rule<T>>(
    into: &mut [u64],
    _: &mut [u64],
    value: &[u64],
    _: &[u64],
    n: usize,
) {
    let pairs = lanes_mut::<T>(into)[..n].iter_mut().zip(&lanes::<T>(value)[..n]);
    pairs.for_each(|(a, b)| *a = R::fold(*a, *b));
}

fn horizontal<T: AnyBitPattern + NoUninit, R: Rule<T>>(words: &mut [u64], _: &mut [u64], n: usize) {
    let mut all = &mut lanes_mut::<T>(words)[..n];
    while all.len() > 1 {
        let (low, high) = all.split_at_mut(all.len().div_ceil(2));
        low.iter_mut().zip(&*high).for_each(|(a, b)| *a = R::fold(*a, *b));
        all = low;
    }
}

/// Whether `(a, i)` goes before `(b, j)`: NaN first, then the greater (`MAX`) or the less, then the lower index.
#[inline(always)]
#[allow(clippy::eq_op)] // `a != a` is how a generic type asks for NaN.
fn beats<T: PartialOrd + Copy, const MAX: bool>(a: T, i: i64, b: T, j: i64) -> bool {
    let (a_nan, b_nan) = (a != a, b != b);
    let ahead = if MAX { a > b } else { a < b };
    ahead || (a_nan && !b_nan) || ((a == b || (a_nan && b_nan)) && i < j)
}

fn vertical_index<T: AnyBitPattern + NoUninit + PartialOrd, const MAX: bool>(
    into: &mut [u64],
    into_index: &mut [u64],
    value: &[u64],
    index: &[u64],
    n: usize,
) {
    let (into, into_index) = (&mut lanes_mut::<T>(into)[..n], &mut lanes_mut::<i64>(into_index)[..n]);
    let (value, index) = (&lanes::<T>(value)[..n], &lanes::<i64>(index)[..n]);
    for k in 0..n {
        let wins = beats::<T, MAX>(value[k], index[k], into[k], into_index[k]);
        into[k] = if wins { value[k] } else { into[k] };
        into_index[k] = if wins { index[k] } else { into_index[k] };
    }
}

fn horizontal_index<T: AnyBitPattern + NoUninit + PartialOrd, const MAX: bool>(
    words: &mut [u64],
    index: &mut [u64],
    n: usize,
) {
    let (all, index) = (&mut lanes_mut::<T>(words)[..n], &mut lanes_mut::<i64>(index)[..n]);
    for k in 1..n {
        if beats::<T, MAX>(all[k], index[k], all[0], index[0]) {
            (all[0], index[0]) = (all[k], index[k]);
        }
    }
}

fn kernel_of<T: AnyBitPattern + NoUninit + PartialOrd>(fold: Fold, float: bool) -> Kernel
where
    Sum: Rule<T>,
    Product: Rule<T>,
    Max: Rule<T>,
    Min: Rule<T>,
{
    let (vertical, horizontal): (Vertical, Horizontal) = match fold {
        Fold::Sum => (vertical::<T, Sum>, horizontal::<T, Sum>),
        Fold::Product => (vertical::<T, Product>, horizontal::<T, Product>),
        Fold::Max => (vertical::<T, Max>, horizontal::<T, Max>),
        Fold::Min => (vertical::<T, Min>, horizontal::<T, Min>),
        Fold::ArgMax => (vertical_index::<T, true>, horizontal_index::<T, true>),
        Fold::ArgMin => (vertical_index::<T, false>, horizontal_index::<T, false>),
    };
    let block = if float && matches!(fold, Fold::Sum | Fold::Product) { BLOCK } else { u64::MAX };
    Kernel { vertical, horizontal, block }
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

    /// Room that `tiles` tiles need on the stack.
    pub(super) fn depth(tiles: u64, block: u64) -> usize {
        (u64::BITS - tiles.div_ceil(block).leading_zeros()) as usize + 1
    }

    /// The stack position that takes the next tile, and whether it has to start from the identity.
    pub(super) fn top(&self, block: u64) -> (usize, bool) {
        ((self.count / block).count_ones() as usize, self.count.is_multiple_of(block))
    }

    /// Counts the tile, and says how many times the top of the stack is now to be folded into the one below.
    pub(super) fn pushed(&mut self, block: u64) -> usize {
        self.count += 1;
        if self.count.is_multiple_of(block) { (self.count / block).trailing_zeros() as usize } else { 0 }
    }

    /// How many accumulators the stack holds; at the end all are folded downwards.
    pub(super) fn height(&self, block: u64) -> usize {
        (self.count / block).count_ones() as usize + usize::from(!self.count.is_multiple_of(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cascade_folds_everything_once_within_its_depth() {
        for block in [1, 3, 8] {
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
