//! Counts: Poisson, binomial and multinomial draws. They are computed in float64 on all devices, so that they
//! are equal there, but for one in 10^12 or so.

use super::super::elemwise::{cast, elemwise};
use super::super::index_expression::{ELLIPSIS, Ix};
use super::super::loops::Scan;
use super::super::methods::fail;
use super::super::shape::{BroadcastLike, DimShuffle};
use super::continuous::{not_negative, number};
use super::discrete::{known_integer, weights_of};
use super::{IntoSize, RandomStreams, like};
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{IntoOperand, Operand, Variable};
use workalike_kernels::{DType, ops as scalar};

impl RandomStreams {
    /// Poisson draws, as int64: the number of events where `mean` are expected (W. Hoermann, "The transformed
    /// rejection method for generating Poisson random variables", 1993; a search from 0 for means below 10).
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let rates = vector::<f32>("rates");
    /// let spikes = RandomStreams::new(1).poisson(&rates * 0.001, like(&rates));
    /// let f = function([&rates]).output(spikes.sum(..)).compile()?;
    /// let spikes = f.call(args![vec![50f32; 10_000]])?[0].item::<i64>()?;
    /// assert!((400..600).contains(&spikes));
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// (In the result.) If a mean is negative or NaN; of a Variable, that is found in the call.
    #[track_caller]
    pub fn poisson(&self, mean: impl IntoOperand, size: impl IntoSize) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let mean = not_negative("poisson", "mean", mean.into_operand())?;
            let bits = self.draw(size.into_size())?;
            let mean = bits.fit(mean)?;
            cast(&bits.through(scalar::DRAW_POISSON, vec![mean])?, DType::I64)
        };
        build().unwrap_or_else(Variable::poison)
    }

    /// How many of `n` trials succeed, each with probability `p`, as int64 (W. Hoermann, "The generation of
    /// binomial random variates", 1993; a search from 0 where less than 10 are expected). Numbers of trials
    /// are exact to 2^53.
    ///
    /// # Errors
    /// (In the result.) If `n` is no integer or negative, or a probability is not in 0 to 1; of Variables,
    /// that is found in the call.
    #[track_caller]
    pub fn binomial(&self, n: impl IntoOperand, p: impl IntoOperand, size: impl IntoSize) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let n = trials("binomial", n.into_operand())?;
            let p = probability("binomial", p.into_operand())?;
            let bits = self.draw(size.into_size())?;
            let parameters = vec![bits.fit(n)?, bits.fit(p)?];
            cast(&bits.through(scalar::DRAW_BINOMIAL, parameters)?, DType::I64)
        };
        build().unwrap_or_else(Variable::poison)
    }

    /// How often each position along the last axis of `weights` comes up in `n` draws, each with a
    /// probability in proportion to its weight, as int64: counts that add up to `n`, in the shape of
    /// `weights`. `n` broadcasts to the axes before the last. Weights are not negative, and not all 0. Each
    /// position is a binomial draw from what the positions before it left.
    ///
    /// # Errors
    /// (In the result.) If `weights` has no axes, or is no array of floats, or `n` is no integer or negative.
    #[track_caller]
    pub fn multinomial(&self, n: impl IntoOperand, weights: impl Into<Variable>) -> Variable {
        let _scope = source_location::enter();
        let build = || {
            let n = Operand::resolve(vec![trials("multinomial", n.into_operand())?]).swap_remove(0);
            let weights = cast(&weights_of("multinomial", &weights.into())?, DType::F64)?;
            let bits = self.draw(like(&weights))?;
            // A position's probability among those that are not drawn yet.
            let rest = weights.try_flip(-1)?.try_cumsum(-1)?.try_flip(-1)?;
            let share = weights.try_div(&rest)?;
            // The positions without weight at the end share nothing.
            let share = elemwise(
                scalar::WHERE,
                vec![
                    Operand::Variable(rest.try_greater(0i64)?),
                    Operand::Variable(share),
                    Operand::Float(0.0),
                ],
            )?;
            let first = weights.try_index([ELLIPSIS, Ix::from(0)])?;
            let left = BroadcastLike::of(&n, &first)?;
            let order: Vec<_> = (0..weights.ndim()).map(Some).collect();
            let to_front = [&[order[order.len() - 1]][..], &order[..order.len() - 1]].concat();
            let to_back = [&order[1..], &[Some(0)][..]].concat();
            let front = |x: &Variable| DimShuffle::of(x, to_front.clone());
            let (key, place) = (bits.key.clone(), source_location::here());
            let drawn = Scan::new()
                .sequence(front(&bits.counters)?)
                .sequence(front(&share)?)
                .recurrent(left)
                .try_run(|at| {
                    let _scope = source_location::enter_at(place);
                    let inputs = [&key, &at[0], &at[2], &at[1]].map(|v| Operand::Variable(v.clone()));
                    let count = elemwise(scalar::DRAW_BINOMIAL, inputs.to_vec());
                    let count = count.unwrap_or_else(Variable::poison);
                    vec![&at[2] - &count, count]
                })?;
            cast(&DimShuffle::of(&drawn.result(0), to_back)?, DType::I64)
        };
        build().unwrap_or_else(Variable::poison)
    }
}

/// A number of trials, as float64; of a Variable, its sign is checked in each call.
fn trials(draw: &str, n: Operand) -> Result<Operand> {
    if let Some(n) = known_integer(&n).filter(|n| *n < 0) {
        return Err(fail(draw, format!("{n} trials are less than none")));
    }
    let known = known_integer(&n).is_some();
    let n = Operand::resolve_for(draw, vec![n]).swap_remove(0);
    if !n.checked()?.dtype().is_integer() {
        return Err(fail(draw, format!("the number of trials is {}, which is no integer", n.ty())));
    }
    let n = if known || n.dtype().is_unsigned() { n } else { at_least_none(draw, &n)? };
    Ok(Operand::Variable(cast(&n, DType::F64)?))
}

fn at_least_none(draw: &str, n: &Variable) -> Result<Variable> {
    n.try_assert(n.try_greater_equal(0i64)?, &format!("{draw}: a number of trials is negative"))
}

/// A probability; of a Variable, that is checked in each call.
fn probability(draw: &str, p: Operand) -> Result<Operand> {
    match (number(&p), p) {
        (Some(p), _) if !(0.0..=1.0).contains(&p) => {
            Err(fail(draw, format!("probability {p} is not in 0 to 1")))
        }
        (None, Operand::Variable(v)) => {
            let inside = v.try_greater_equal(0i64)?.try_bitwise_and(v.try_less_equal(1i64)?)?;
            v.try_assert(inside, &format!("{draw}: a probability is not in 0 to 1")).map(Operand::Variable)
        }
        (_, known) => Ok(known),
    }
}
