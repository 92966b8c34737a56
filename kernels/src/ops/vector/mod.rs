//! Elementary functions that compilers can vectorise: they have no branches and no table lookups.
//!
//! Each is written once, for one number; in a loop that [`crate::level::run`] runs, LLVM vectorises it. The
//! functions need a fused multiply-add, both for speed and for their error bounds: without one, loops use the
//! functions of `std`. Arguments are reduced with constants split in parts; the result is a near-minimax
//! polynomial; special values are selected at the end. Tests check that the errors stay below the `ulp` of
//! the op's row.
//!
//! The functions are generic over f32 and f64. Each file has a trait with what differs between the types:
//! constants, and methods where the algorithms differ. The compiler decides on `IS_F64`, which is no branch.

mod error;
mod exponential;
mod float;
pub(super) mod gamma;
mod hyperbolic;
mod logarithm;
mod power;
#[cfg(test)]
mod tests;
mod trigonometric;

pub(crate) use {hyperbolic::Hyperbolic, logarithm::Logarithm};

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

/// Methods that call functions of modules.
macro_rules! methods {
    ($t:ty; $($module:ident: $($f:ident($($y:ident)?) -> $result:ty),+;)+) => {
        $($(#[inline(always)]
        fn $f(self $(, $y: $t)?) -> $result {
            $module::$f(self $(, $y)?)
        })+)+
    };
}

/// Implements [`Vector`].
macro_rules! vector {
    ($t:ty, far $far:literal) => {
        impl Vector for $t {
            const FAR: $t = $far;
            methods! {
                $t;
                exponential: exp() -> $t, exp2() -> $t, expm1() -> $t, quick_exp2() -> ($t, bool);
                logarithm: log() -> $t, log1p() -> $t, log2() -> $t, log10() -> $t,
                    quick_log() -> ($t, bool), quick_log2() -> ($t, bool), quick_log10() -> ($t, bool);
                trigonometric: sin() -> $t, cos() -> $t, tan() -> $t,
                    asin() -> $t, acos() -> $t, atan() -> $t, atan2(x) -> $t;
                hyperbolic: sinh() -> $t, cosh() -> $t, tanh() -> $t,
                    asinh() -> $t, acosh() -> $t, atanh() -> $t;
                power: pow(y) -> $t, hypot(y) -> $t, cbrt() -> $t,
                    quick_pow(y) -> ($t, bool), quick_cbrt() -> ($t, bool);
                error: erf() -> $t, erfc() -> $t;
            }
        }
    };
}
vector!(f32, far 48_000.0);
vector!(f64, far 1e9);
