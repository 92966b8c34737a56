//! Draws of bits and integers, and what is chosen by them.

use super::super::elemwise::cast;
use super::super::index_expression::{ELLIPSIS, Ix};
use super::super::methods::fail;
use super::super::search::Side;
use super::super::shape::DimShuffle;
use super::continuous::{number, unit};
use super::{IntoSize, RandomStreams, Size, like};
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{IntoOperand, Operand, Variable};
use crate::value::Value;
use workalike_kernels::{DType, Scalar};

impl RandomStreams {
    /// Raw random bits, as uint64.
    #[track_caller]
    pub fn bits(&self, size: impl IntoSize) -> Variable {
        let _scope = source_location::enter();
        let build = || self.draw(size.into_size())?.lane(0);
        build().unwrap_or_else(Variable::poison)
    }

    /// Integers from `low` to below `high`, as int64 (NumPy's `Generator.integers`). Equal on all devices. Of
    /// `n` integers none is more likely than another by more than `n / 2^64`.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let dice = RandomStreams::new(7).integers(1, 7, [2, 500]);
    /// let f = function([] as [&Variable; 0]).output(dice.min(..)).output(dice.max(..)).compile()?;
    /// let out = f.call(args![])?;
    /// assert_eq!((out[0].item::<i64>()?, out[1].item::<i64>()?), (1, 6));
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// (In the result.) If a bound is no integer, or there is no integer between them; of Variables, that is
    /// found in the call.
    #[doc(alias("randint", "random_integers"))]
    #[track_caller]
    pub fn integers(&self, low: impl IntoOperand, high: impl IntoOperand, size: impl IntoSize) -> Variable {
        let _scope = source_location::enter();
        let build = || self.try_integers(low.into_operand(), high.into_operand(), size.into_size());
        build().unwrap_or_else(Variable::poison)
    }

    fn try_integers(&self, low: Operand, high: Operand, size: Size) -> Result<Variable> {
        let known = known_integer(&low).zip(known_integer(&high));
        if let Some((low, high)) = known
            && low >= high
        {
            return Err(fail("integers", format!("there is none from {low} to below {high}")));
        }
        let whole = |bound: Operand| -> Result<Variable> {
            if let Some(n) = known_integer(&bound).filter(|n| i64::try_from(*n).is_err()) {
                return Err(fail("integers", format!("{n} is out of range for int64")));
            }
            let bound = Operand::resolve_for("integers", vec![bound]).swap_remove(0);
            match bound.checked()?.dtype() {
                dtype if dtype.is_integer() => cast(&bound, DType::I64),
                other => Err(fail("integers", format!("a bound is {other}, which is no integer"))),
            }
        };
        let (low, mut high) = (whole(low)?, whole(high)?);
        if known.is_none() {
            high = high.try_assert(high.try_greater(&low)?, "integers: there is none below the bound")?;
        }
        let bits = self.draw(size)?;
        // In 64 bits without a sign no difference is too large.
        let low = cast(&low, DType::U64)?;
        let span = cast(&high, DType::U64)?.try_sub(&low)?;
        let offset = bits.lane(0)?.try_remainder(bits.fit(Operand::Variable(span))?)?;
        cast(&offset.try_add(bits.fit(Operand::Variable(low))?)?, DType::I64)
    }

    /// Bools that are true with probability `p`, in multiples of 2^-24, or of 2^-53 if `p` is a float64
    /// Variable. Equal on all devices. Of a Variable, what is above 1 counts as 1, and what is below 0, or
    /// NaN, as 0: a check would cost each step of a sampler.
    ///
    /// # Errors
    /// (In the result.) If `p` is a number beyond 0 to 1.
    #[track_caller]
    pub fn bernoulli(&self, p: impl IntoOperand, size: impl IntoSize) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let p = p.into_operand();
            if let Some(beyond) = number(&p).filter(|p| !(0.0..=1.0).contains(p)) {
                return Err(fail("bernoulli", format!("probability {beyond} is not in 0 to 1")));
            }
            let wide = matches!(&p, Operand::Variable(v) if v.dtype() == DType::F64);
            let dtype = if wide { DType::F64 } else { DType::F32 };
            let bits = self.draw(size.into_size())?;
            unit(&bits.lane(0)?, dtype)?.try_less(bits.fit(p)?)
        };
        build().unwrap_or_else(Variable::poison)
    }

    /// The integers from 0 to `n - 1` in random order, as int64: `x.take(streams.permutation(x.extent(0)),
    /// 0)` has the rows of `x` in random order. Equal on all devices. All orders are equally likely, but for
    /// random numbers of 64 bits that are equal.
    ///
    /// # Errors
    /// (In the result.) If `n` is no integer, or negative.
    #[doc(alias("shuffle", "randperm"))]
    #[track_caller]
    pub fn permutation(&self, n: impl IntoOperand) -> Variable {
        let _scope = source_location::enter();
        let build = || self.draw([n].into_size())?.lane(0)?.try_argsort(0);
        build().unwrap_or_else(Variable::poison)
    }

    /// Integers from 0 to `n - 1`, as int64, in this size: `x.take(streams.choice(x.extent(0), [64]), 0)` are
    /// 64 rows of `x`, of which some may be the same (NumPy's `choice` with replacement).
    ///
    /// # Errors
    /// (In the result.) If `n` is no integer, or is below 1; of a Variable, that is found in the call.
    #[track_caller]
    pub fn choice(&self, n: impl IntoOperand, size: impl IntoSize) -> Variable {
        self.integers(0, n, size)
    }

    /// `count` different integers from 0 to `n - 1`, as an int64 vector in random order (NumPy's `choice`
    /// without replacement).
    ///
    /// # Errors
    /// (In the result.) If one is no integer or negative, or there are more than `n`: at run time
    /// for Variables.
    #[track_caller]
    pub fn choice_without_replacement(&self, n: impl IntoOperand, count: impl IntoOperand) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let (n, count) = (n.into_operand(), count.into_operand());
            if let (Some(n), Some(count)) = (known_integer(&n), known_integer(&count))
                && count > n
            {
                return Err(fail("choice", format!("{count} different ones of {n}")));
            }
            let all = self.draw([n].into_size())?.lane(0)?.try_argsort(0)?;
            let first = super::arange_between(0, count, 1);
            all.try_take(first, 0)
        };
        build().unwrap_or_else(Variable::poison)
    }

    /// Positions in a vector of weights, each with a probability in proportion to its weight, as int64, in
    /// this size (NumPy's `choice` with `p`). Weights are not negative, and not all 0.
    ///
    /// # Errors
    /// (In the result.) If `weights` is no vector of floats.
    #[track_caller]
    pub fn choice_by_weight(&self, weights: impl Into<Variable>, size: impl IntoSize) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let (weights, size) = (weights.into(), size.into_size());
            let weights = weights_of("choice", &weights)?;
            if weights.ndim() != 1 {
                return Err(fail("choice", format!("expected a vector of weights, got {}", weights.ty())));
            }
            let sums = weights.try_cumsum(0)?;
            let total = sums.try_index([Ix::from(-1)])?;
            let at = unit(&self.draw(size)?.lane(0)?, weights.dtype())?.try_mul(total)?;
            // Rounding may bring a draw up to the total.
            let last = weights.try_extent(0)?.try_sub(1i64)?;
            sums.try_searchsorted(at, Side::Right)?.try_minimum(last)
        };
        build().unwrap_or_else(Variable::poison)
    }

    /// Positions along the last axis of `weights`, each with a probability in proportion to its weight, as
    /// int64. The axes of `weights` before the last are those of the result, one draw each. Weights are not
    /// negative, and not all 0.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let weights = constant(ndarray::array![[0f32, 1., 0.], [0., 0., 2.]]);
    /// let f = function([] as [&Variable; 0]).output(RandomStreams::new(1).categorical(weights)).compile()?;
    /// assert_eq!(f.call(args![])?[0].to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// (In the result.) If `weights` has no axes, or is no array of floats.
    #[track_caller]
    pub fn categorical(&self, weights: impl Into<Variable>) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let weights = weights_of("categorical", &weights.into())?;
            let rank = weights.ndim();
            let sums = weights.try_cumsum(-1)?;
            let total = sums.try_index([ELLIPSIS, Ix::from(-1)])?;
            let u = unit(&self.draw(like(&total))?.lane(0)?, weights.dtype())?;
            let at = u.try_mul(&total)?;
            let order = (0..rank - 1).map(Some).chain([None]).collect();
            let below = sums.try_less_equal(DimShuffle::of(&at, order)?)?;
            // Rounding may bring the draw up to the total.
            let last = weights.try_extent(-1)?.try_sub(1i64)?;
            cast(&below.try_sum(-1)?.try_minimum(last)?, DType::I64)
        };
        build().unwrap_or_else(Variable::poison)
    }
}

/// An integer that is known when it is written.
pub(super) fn known_integer(operand: &Operand) -> Option<i128> {
    match operand {
        Operand::Int(n) => Some(*n),
        Operand::Variable(v) => {
            let scalar = v.constant_value().and_then(Value::to_scalar);
            scalar.filter(|s| s.dtype().is_integer()).map(Scalar::to_i128)
        }
        Operand::Float(_) | Operand::Bool(_) | Operand::Complex(_) => None,
    }
}

/// Weights along an axis, in float32 or wider.
pub(super) fn weights_of(draw: &str, weights: &Variable) -> Result<Variable> {
    let weights = weights.checked()?;
    if weights.ndim() == 0 || !weights.dtype().is_float() {
        return Err(fail(draw, format!("expected weights along an axis, got {}", weights.ty())));
    }
    cast(weights, weights.dtype().promote(DType::F32))
}
