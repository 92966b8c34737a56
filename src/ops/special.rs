//! Special functions of several arguments, as functions whose arguments are Variables or numbers, in SciPy's
//! order.
//!
//! They take floats (halves are computed in float32, integers become floats as NumPy's functions make them)
//! and broadcast. Outside a function's domain the result is NaN. Only the host computes them: other devices
//! leave them to host nodes.

use super::elemwise::elemwise;
use crate::graph::{IntoOperand, Variable};
use workalike_kernels::ops as scalar;

macro_rules! functions {
    ($($(#[doc = $doc:literal])* $name:ident($($arg:ident),+) = $op:ident;)*) => { $(
        $(#[doc = $doc])*
        #[must_use]
        #[track_caller]
        pub fn $name($($arg: impl IntoOperand),+) -> Variable {
            elemwise(scalar::$op, vec![$($arg.into_operand()),+]).unwrap_or_else(Variable::poison)
        }
    )* };
}

functions! {
    /// The regularized lower incomplete gamma function, `1 / gamma(a)` times the integral of `t^(a-1)
    /// exp(-t)` over t from 0 to `x`: for `a` and `x` not below 0. Its gradient is known with respect to `x`.
    gammainc(a, x) = GAMMAINC;
    /// The regularized upper incomplete gamma function, `1 - gammainc(a, x)`, accurate for small results. Its
    /// gradient is known with respect to `x`.
    gammaincc(a, x) = GAMMAINCC;
    /// The regularized incomplete beta function, `1 / beta(a, b)` times the integral of `t^(a-1) (1-t)^(b-1)`
    /// over t from 0 to `x`: for `a` and `b` not below 0 and `x` from 0 to 1. Its gradient is known with
    /// respect to `x`.
    betainc(a, b, x) = BETAINC;
    /// The derivative of order `n` of [`Variable::digamma`] at `x`, for integers `n` from 0. At 0 and the
    /// integers below it, its poles, it is an infinity with the sign of `(-1)^(n+1)`, as in SciPy. Its
    /// gradient is known with respect to `x`.
    polygamma(n, x) = POLYGAMMA;
    /// The Bessel function of the first kind of real order, `J`; of `x` below 0 for integer orders. Its
    /// gradient is known with respect to `x`.
    jv(order, x) = JV;
    /// The modified Bessel function of the first kind of real order, `I`; of `x` below 0 for integer orders.
    /// Its gradient is known with respect to `x`.
    iv(order, x) = IV;
    /// `exp(-|x|) * iv(order, x)`, which does not overflow. Its gradient is known with respect to `x`.
    ive(order, x) = IVE;
    /// `exp(x)` times the modified Bessel function of the second kind of real order, `K`, for `x` from 0. Its
    /// gradient is known with respect to `x`.
    kve(order, x) = KVE;
    /// Owen's T function: `1 / (2 pi)` times the integral of `exp(-h^2 (1 + t^2) / 2) / (1 + t^2)` over t
    /// from 0 to `a`.
    owens_t(h, a) = OWENS_T;
    /// Gauss' hypergeometric function, the sum of `(a)_n (b)_n / (c)_n z^n / n!`, where `(q)_n = q
    /// (q+1)..(q+n-1)`, continued to all `z` below 1. Beyond, it is infinite but where it is a polynomial or
    /// one times a real power, about as in SciPy. NaN where the sum would lose all its digits, which
    /// parameters of size 20 and more may do. Its gradient is known with respect to `z`.
    hyp2f1(a, b, c, z) = HYP2F1;
}
