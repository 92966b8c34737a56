//! Elementary functions that compilers can vectorise: they have no branches and no table lookups.
//!
//! Each is written once, for one number; in a loop that [`crate::level::run`] runs, LLVM vectorises it. The
//! functions need a fused multiply-add, both for speed and for their error bounds: without one, loops use the
//! functions of `std`. Arguments are reduced with constants split in parts; the result is a near-minimax
//! polynomial; special values are selected at the end. Tests check that the errors stay below the `ulp` of
//! the op's row.

/// Implements [`Vector`] with the functions of the modules of the float type.
macro_rules! vector {
    ($t:ty, far $far:literal) => {
        vector! {
            $t, far $far;
            one {
                exponential: exp exp2 expm1, logarithm: log log1p log2 log10,
                trigonometric: sin cos tan asin acos atan, hyperbolic: sinh cosh tanh asinh acosh atanh,
                power: cbrt, error: erf erfc
            }
            two { trigonometric: atan2, power: pow hypot }
            quick { exponential: quick_exp2, logarithm: quick_log quick_log2 quick_log10, power: quick_cbrt }
            quick_two { power: quick_pow }
        }
    };
    (
        $t:ty, far $far:literal;
        one { $($one:ident: $($f:ident)+),+ }
        two { $($two:ident: $($g:ident)+),+ }
        quick { $($quick:ident: $($q:ident)+),+ }
        quick_two { $($quick_two:ident: $($p:ident)+),+ }
    ) => {
        impl super::Vector for $t {
            const FAR: $t = $far;
            $($(#[inline(always)]
            fn $f(self) -> $t {
                $one::$f(self)
            })+)+
            $($(#[inline(always)]
            fn $g(self, other: $t) -> $t {
                $two::$g(self, other)
            })+)+
            $($(#[inline(always)]
            fn $q(self) -> ($t, bool) {
                $quick::$q(self)
            })+)+
            $($(#[inline(always)]
            fn $p(self, other: $t) -> ($t, bool) {
                $quick_two::$p(self, other)
            })+)+
        }
    };
}
use vector;

/// Selects one of two numbers, both computed. With a branch, LLVM might duplicate the code that follows.
#[inline(always)]
fn choose<T>(condition: bool, yes: T, no: T) -> T {
    std::hint::select_unpredictable(condition, yes, no)
}

pub(crate) mod double;
pub(super) mod gamma;
pub(crate) mod single;
#[cfg(test)]
mod tests;

/// The functions, for f32 and f64.
pub trait Vector: Copy {
    /// `sin`, `cos` and `tan` are valid up to this magnitude; use `std` beyond it.
    const FAR: Self;
    /// e to the power of it.
    fn exp(self) -> Self;
    /// 2 to the power of it.
    fn exp2(self) -> Self;
    /// `exp(self) - 1`, exact near 0.
    fn expm1(self) -> Self;
    /// Natural logarithm.
    fn log(self) -> Self;
    /// `log(1 + self)`, exact near 0.
    fn log1p(self) -> Self;
    /// Logarithm to base 2.
    fn log2(self) -> Self;
    /// Logarithm to base 10.
    fn log10(self) -> Self;
    /// Sine, for magnitudes up to [`Vector::FAR`].
    fn sin(self) -> Self;
    /// Cosine, for magnitudes up to [`Vector::FAR`].
    fn cos(self) -> Self;
    /// Tangent, for magnitudes up to [`Vector::FAR`].
    fn tan(self) -> Self;
    /// Inverse sine.
    fn asin(self) -> Self;
    /// Inverse cosine.
    fn acos(self) -> Self;
    /// Inverse tangent.
    fn atan(self) -> Self;
    /// The angle from the x axis to the point (`x`, `self`), with IEEE 754's special cases.
    fn atan2(self, x: Self) -> Self;
    /// Hyperbolic sine.
    fn sinh(self) -> Self;
    /// Hyperbolic cosine.
    fn cosh(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Inverse hyperbolic sine.
    fn asinh(self) -> Self;
    /// Inverse hyperbolic cosine.
    fn acosh(self) -> Self;
    /// Inverse hyperbolic tangent.
    fn atanh(self) -> Self;
    /// Cube root.
    fn cbrt(self) -> Self;
    /// `self` to the power `y`, with IEEE 754's special cases.
    fn pow(self, y: Self) -> Self;
    /// `sqrt(self^2 + y^2)`, without intermediate overflow; infinite if one argument is, even beside NaN.
    fn hypot(self, y: Self) -> Self;
    /// [`Vector::exp2`], cheaper, and whether it is valid: for arguments whose result is neither subnormal
    /// nor infinite.
    fn quick_exp2(self) -> (Self, bool);
    /// [`Vector::log`], likewise: for positive, normal and finite arguments.
    fn quick_log(self) -> (Self, bool);
    /// [`Vector::log2`], likewise.
    fn quick_log2(self) -> (Self, bool);
    /// [`Vector::log10`], likewise.
    fn quick_log10(self) -> (Self, bool);
    /// [`Vector::cbrt`], likewise: for normal and finite arguments.
    fn quick_cbrt(self) -> (Self, bool);
    /// [`Vector::pow`], likewise: for a positive normal base, and a result far from overflow and underflow.
    fn quick_pow(self, y: Self) -> (Self, bool);
    /// The error function.
    fn erf(self) -> Self;
    /// `1 - erf(self)`, exact far from 0 as well.
    fn erfc(self) -> Self;
}
