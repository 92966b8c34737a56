//! Elementary functions made for vectors: no branch, no table, nothing but what compilers turn into vector
//! instructions.
//!
//! Each is written once, for one number; in a loop that [`crate::level::run`] runs, LLVM makes vectors of it.
//! They need a fused multiply-add, both for speed and for their error bounds: without one, loops use the
//! functions of `std`. Ranges are reduced with constants split in parts, then a polynomial close to the best
//! one follows; special values are chosen at the end. The errors stay below the `ulp` of the op's row, of
//! which the tests make sure.

/// Implements [`Vector`] with the functions of the modules beside it.
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

/// One of two numbers, both computed: a branch here would be lifted over what follows, which would then be
/// there twice.
#[inline(always)]
fn choose<T>(condition: bool, yes: T, no: T) -> T {
    std::hint::select_unpredictable(condition, yes, no)
}

pub(crate) mod double;
pub(super) mod gamma;
pub(super) mod halves;
pub(crate) mod single;
#[cfg(test)]
mod tests;

/// The functions, for f32 and f64.
pub trait Vector: Copy {
    /// `sin`, `cos` and `tan` hold up to this magnitude; beyond it, ask `std`.
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
    /// The angle from the x axis to the point (`x`, `self`), with IEEE 754's cases of zeros and infinities.
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
    /// It to the power `y`, with IEEE 754's cases.
    fn pow(self, y: Self) -> Self;
    /// `sqrt(self^2 + y^2)`, without overflow in between; an infinity beats NaN.
    fn hypot(self, y: Self) -> Self;
    /// [`Vector::exp2`] of usual arguments, and whether this is one: what lies between is cheaper where no
    /// result is subnormal or infinite.
    fn quick_exp2(self) -> (Self, bool);
    /// [`Vector::log`], likewise: of what is positive, normal and finite.
    fn quick_log(self) -> (Self, bool);
    /// [`Vector::log2`], likewise.
    fn quick_log2(self) -> (Self, bool);
    /// [`Vector::log10`], likewise.
    fn quick_log10(self) -> (Self, bool);
    /// [`Vector::cbrt`], likewise: of what is normal and finite.
    fn quick_cbrt(self) -> (Self, bool);
    /// [`Vector::pow`], likewise: of a positive normal base, where the result is far from both ends.
    fn quick_pow(self, y: Self) -> (Self, bool);
    /// The error function.
    fn erf(self) -> Self;
    /// `1 - erf(self)`, exact far from 0 as well.
    fn erfc(self) -> Self;
}
