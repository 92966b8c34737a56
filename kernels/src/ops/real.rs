//! Formulas that are generic over machine floats and symbolic expressions.
//!
//! A function generic over [`Real`] is both the host's loop (monomorphised for f32 and f64, and vectorised by
//! the compiler) and the text of a device function (over [`Term`](super::term::Term), which records the
//! operations). So it has no branch: it computes every alternative and selects one. Numbers in operators are
//! f64, converted to the precision of the formula.

use super::vector::Vector;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

/// A real number in a formula.
pub(super) trait Real:
    Copy
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// The result of comparisons.
    type Is: Copy + BitAnd<Output = Self::Is> + BitOr<Output = Self::Is> + Not<Output = Self::Is>;

    /// A constant of the same kind.
    fn of(self, value: f64) -> Self;
    /// Whether it has the 24 bits of an f32: fewer terms of a series suffice.
    fn is_single(self) -> bool;
    /// `self < other`.
    fn less(self, other: Self) -> Self::Is;
    /// `self == other`.
    fn same(self, other: Self) -> Self::Is;
    /// `yes` if `is`, else `no`.
    fn pick(is: Self::Is, yes: Self, no: Self) -> Self;
    /// The magnitude.
    fn abs(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// The nearest integer, ties to even.
    fn rint(self) -> Self;
    /// e to the power of it.
    fn exp(self) -> Self;
    /// `exp(self) - 1`, exact near 0.
    fn expm1(self) -> Self;
    /// Natural logarithm.
    fn log(self) -> Self;
    /// `log(1 + self)`, exact near 0.
    fn log1p(self) -> Self;
    /// Sine.
    fn sin(self) -> Self;
    /// Cosine.
    fn cos(self) -> Self;

    /// `self < value`.
    #[inline(always)]
    fn below(self, value: f64) -> Self::Is {
        self.less(self.of(value))
    }
    /// `self > value`.
    #[inline(always)]
    fn above(self, value: f64) -> Self::Is {
        self.of(value).less(self)
    }
    /// `self == value`.
    #[inline(always)]
    fn is(self, value: f64) -> Self::Is {
        self.same(self.of(value))
    }
    /// The larger of it and `value`; `value` if it is NaN.
    #[inline(always)]
    fn at_least(self, value: f64) -> Self {
        Self::pick(self.above(value), self, self.of(value))
    }
    /// The number clamped to a range; `low` if it is NaN.
    #[inline(always)]
    fn within(self, low: f64, high: f64) -> Self {
        let x = self.at_least(low);
        Self::pick(x.below(high), x, self.of(high))
    }
    /// `c[0] + x * (c[1] + x * (..))`.
    #[inline(always)]
    fn polynomial(self, c: &[f64]) -> Self {
        let Some((last, rest)) = c.split_last() else { return self.of(0.0) };
        rest.iter().rev().fold(self.of(*last), |sum, &c| sum * self + c)
    }
    /// `c[0] / 2 + c[1] T1(x) + c[2] T2(x) + ..`, for x in [-1, 1], by Clenshaw's recurrence.
    #[inline(always)]
    fn chebyshev(self, c: &[f64]) -> Self {
        let twice = self + self;
        let (mut next, mut after) = (self.of(0.0), self.of(0.0));
        for &c in c.iter().skip(1).rev() {
            (next, after) = (twice * next - after + c, next);
        }
        self * next - after + c.first().copied().unwrap_or(0.0) * 0.5
    }
}

/// A machine float with the functions of [`Vector`]: sine and cosine up to [`Vector::FAR`] only.
#[derive(Clone, Copy)]
pub(super) struct Fast<T>(pub(super) T);

/// An f64 with the functions of `std` and `libm`: the reference.
#[derive(Clone, Copy)]
pub(super) struct ReferenceF64(pub(super) f64);

/// The operators and functions of a machine float; `$functions` are the methods that differ between types.
macro_rules! number {
    ($name:ty, $t:ty, $single:expr, {$($functions:tt)*}) => {
        number!(@operator $name, $t, Add, add, +);
        number!(@operator $name, $t, Sub, sub, -);
        number!(@operator $name, $t, Mul, mul, *);
        number!(@operator $name, $t, Div, div, /);
        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }
        impl Real for $name {
            type Is = bool;
            #[inline(always)]
            fn of(self, value: f64) -> Self {
                Self(value as $t)
            }
            #[inline(always)]
            fn is_single(self) -> bool {
                $single
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self.0 < other.0
            }
            #[inline(always)]
            fn same(self, other: Self) -> bool {
                self.0 == other.0
            }
            #[inline(always)]
            fn pick(is: bool, yes: Self, no: Self) -> Self {
                if is { yes } else { no }
            }
            $($functions)*
        }
    };
    (@operator $name:ty, $t:ty, $trait:ident, $method:ident, $sign:tt) => {
        impl $trait for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(self.0 $sign other.0)
            }
        }
        impl $trait<f64> for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: f64) -> Self {
                Self(self.0 $sign other as $t)
            }
        }
    };
}

/// `abs = f32::abs` and so on, as methods.
macro_rules! calls {
    ($($name:ident = $function:path),*) => {
        $(
            #[inline(always)]
            fn $name(self) -> Self {
                Self($function(self.0))
            }
        )*
    };
}

/// Polynomials with a fused multiply-add in each step.
macro_rules! fused {
    () => {
        #[inline(always)]
        fn polynomial(self, c: &[f64]) -> Self {
            let Some((last, rest)) = c.split_last() else { return self.of(0.0) };
            let sum = rest.iter().rev().fold(self.of(*last).0, |sum, &c| sum.mul_add(self.0, self.of(c).0));
            Self(sum)
        }
        #[inline(always)]
        fn chebyshev(self, c: &[f64]) -> Self {
            let twice = self.0 + self.0;
            let (mut next, mut after) = (self.of(0.0).0, self.of(0.0).0);
            for &c in c.iter().skip(1).rev() {
                // Only the multiply-add depends on the step before.
                (next, after) = (twice.mul_add(next, self.of(c).0 - after), next);
            }
            let first = self.of(c.first().copied().unwrap_or(0.0) * 0.5).0;
            Self(self.0.mul_add(next, first - after))
        }
    };
}

number!(Fast<f32>, f32, true, {
    calls!(
        abs = f32::abs,
        sqrt = f32::sqrt,
        rint = f32::round_ties_even,
        exp = Vector::exp,
        expm1 = Vector::expm1,
        log = Vector::log,
        log1p = Vector::log1p,
        sin = Vector::sin,
        cos = Vector::cos
    );
    fused!();
});
number!(Fast<f64>, f64, false, {
    calls!(
        abs = f64::abs,
        sqrt = f64::sqrt,
        rint = f64::round_ties_even,
        exp = Vector::exp,
        expm1 = Vector::expm1,
        log = Vector::log,
        log1p = Vector::log1p,
        sin = Vector::sin,
        cos = Vector::cos
    );
    fused!();
});
number!(ReferenceF64, f64, false, {
    calls!(
        abs = f64::abs,
        sqrt = f64::sqrt,
        rint = f64::round_ties_even,
        exp = f64::exp,
        expm1 = f64::exp_m1,
        log = f64::ln,
        log1p = f64::ln_1p,
        sin = f64::sin,
        cos = f64::cos
    );
});
