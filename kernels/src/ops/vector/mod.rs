//! Elementary functions made for vectors: no branch, no table, nothing but what compilers turn into vector instructions.
//!
//! Each is written once, for one number; in a loop that [`crate::level::run`] runs, LLVM makes vectors of it. They need a
//! fused multiply-add, both for speed and for their error bounds: without one, loops use the functions of `std`. Ranges are
//! reduced with constants split in parts, then a polynomial close to the best one follows; special values are chosen at the
//! end. The errors stay below the `ulp` of the op's row, of which the tests make sure.

pub(crate) mod double;
pub(crate) mod single;
#[cfg(test)]
mod tests;

/// The functions, for f32 and f64.
pub trait Vector: Copy {
    /// `sin` and `cos` hold up to this magnitude; beyond it, ask `std`.
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
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Sine, for magnitudes up to [`Vector::FAR`].
    fn sin(self) -> Self;
    /// Cosine, for magnitudes up to [`Vector::FAR`].
    fn cos(self) -> Self;
}
