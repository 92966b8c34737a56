//! The rules of folds: how two values become one, and how an element goes into an accumulator.

use super::mapped_reduce::Test;
use bytemuck::{AnyBitPattern, NoUninit};
use std::marker::PhantomData;

/// A fold of two values.
pub(crate) trait FoldRule<T>: Copy {
    fn fold(a: T, b: T) -> T;
}

#[derive(Clone, Copy)]
pub(crate) struct Sum;
#[derive(Clone, Copy)]
pub(crate) struct Product;
#[derive(Clone, Copy)]
pub(crate) struct Max;
#[derive(Clone, Copy)]
pub(crate) struct Min;

macro_rules! rules {
    (float $($f:ty),*; int $($i:ty),*) => {
        $(
            impl FoldRule<$f> for Sum { #[inline(always)] fn fold(a: $f, b: $f) -> $f { a + b } }
            impl FoldRule<$f> for Product { #[inline(always)] fn fold(a: $f, b: $f) -> $f { a * b } }
            impl FoldRule<$f> for Max {
                #[inline(always)] fn fold(a: $f, b: $f) -> $f { if a > b || a.is_nan() { a } else { b } }
            }
            impl FoldRule<$f> for Min {
                #[inline(always)] fn fold(a: $f, b: $f) -> $f { if a < b || a.is_nan() { a } else { b } }
            }
        )*
        $(
            impl FoldRule<$i> for Sum { #[inline(always)] fn fold(a: $i, b: $i) -> $i { a.wrapping_add(b) } }
            impl FoldRule<$i> for Product { #[inline(always)] fn fold(a: $i, b: $i) -> $i { a.wrapping_mul(b) } }
            impl FoldRule<$i> for Max { #[inline(always)] fn fold(a: $i, b: $i) -> $i { a.max(b) } }
            impl FoldRule<$i> for Min { #[inline(always)] fn fold(a: $i, b: $i) -> $i { a.min(b) } }
        )*
    };
}
rules!(float f32, f64; int i8, i16, i32, i64, u8, u16, u32, u64);

/// Numbers whose products are summed.
pub(crate) trait MulAdd: Copy {
    fn add_product<const FMA: bool>(self, a: Self, b: Self) -> Self;
}

macro_rules! products {
    (float $($f:ty),*; int $($i:ty),*) => {
        $(impl MulAdd for $f {
            #[inline(always)]
            fn add_product<const FMA: bool>(self, a: $f, b: $f) -> $f {
                if FMA { a.mul_add(b, self) } else { self + a * b }
            }
        })*
        $(impl MulAdd for $i {
            #[inline(always)]
            fn add_product<const FMA: bool>(self, a: $i, b: $i) -> $i { self.wrapping_add(a.wrapping_mul(b)) }
        })*
    };
}
products!(float f32, f64; int i8, i16, i32, i64, u8, u16, u32, u64);

/// Folds an element, or the product of two, into an accumulator.
pub(crate) trait Take<T: Copy>: Copy {
    /// An accumulator.
    type Acc: AnyBitPattern + NoUninit;
    /// Whether there is a second element.
    const TWO: bool = false;
    /// `test` is of the elements, if the fold is over a test.
    fn new(test: Test) -> Self;
    fn take<const FMA: bool>(self, into: Self::Acc, value: T, other: T) -> Self::Acc;
    /// Folds a row, element by element unless the rule has a faster way.
    #[inline(always)]
    fn row<const FMA: bool>(self, start: Self::Acc, value: &[T], other: &[T]) -> Self::Acc {
        value.iter().zip(other).fold(start, |all, (x, y)| self.take::<FMA>(all, *x, *y))
    }
}

/// Folds by a rule.
#[derive(Clone, Copy)]
pub(crate) struct By<R>(PhantomData<R>);

/// Adds the product of two elements.
#[derive(Clone, Copy)]
pub(crate) struct DotRule;

impl<T: AnyBitPattern + NoUninit, R: FoldRule<T>> Take<T> for By<R> {
    type Acc = T;
    fn new(_: Test) -> Self {
        By(PhantomData)
    }
    #[inline(always)]
    fn take<const FMA: bool>(self, into: T, value: T, _: T) -> T {
        R::fold(into, value)
    }
}

impl<T: AnyBitPattern + NoUninit + MulAdd> Take<T> for DotRule {
    type Acc = T;
    const TWO: bool = true;
    fn new(_: Test) -> Self {
        DotRule
    }
    #[inline(always)]
    fn take<const FMA: bool>(self, into: T, value: T, other: T) -> T {
        into.add_product::<FMA>(value, other)
    }
}
