//! Numerically stable forms: they keep digits and do not overflow.

use super::super::terms::Terms;
use super::Root::Elementwise;
use super::{Found, rules};
use crate::error::Result;
use crate::op::Op;
use crate::ops::{DimShuffle, Passes, Reduce, Softmax, WithGradient};
use std::sync::Arc;
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::*;

rules! {
    log_softmax on Elementwise(&[LOG]) => "log(softmax(x)) is log_softmax(x)";
    log_sum_exp on Elementwise(&[LOG]) =>
        "log(sum(exp(x))) is m + log(sum(exp(x - m))), where m is the maximum of x";
    log_exp on Elementwise(&[LOG]) => "log(exp(x)) is x, where exp(x) overflows too";
    log_sigmoid on Elementwise(&[LOG]) => "log(sigmoid(x)) is -softplus(-x)";
    log_one_plus on Elementwise(&[LOG]) => "log(1 + x) is log1p(x), and log(1 + exp(x)) is softplus(x)";
    log_one_minus on Elementwise(&[LOG]) =>
        "log(1 - x) is log1p(-x); log(1 - sigmoid(x)) is -softplus(x), and log(1 - exp(x)) is log1mexp(x)";
    log_negative_expm1 on Elementwise(&[LOG]) => "log(-expm1(x)) is log1mexp(x)";
    log_sqrt on Elementwise(&[LOG]) => "log(sqrt(x)) is log(x) / 2";
    log_erfc on Elementwise(&[LOG]) =>
        "log(erfc(x)) is log(erfcx(x)) - x^2 where x > 1, else log1p(-erf(x)): erfc underflows for large x";
    log1p_exp on Elementwise(&[LOG1P]) => "log1p(exp(x)) is softplus(x)";
    log1p_negative on Elementwise(&[LOG1P]) =>
        "log1p(-sigmoid(x)) is -softplus(x), and log1p(-exp(x)) is log1mexp(x)";
    log1p_expm1 on Elementwise(&[LOG1P]) => "log1p(expm1(x)) is x, where expm1(x) overflows or is -1 too";
    exp_minus_one on Elementwise(&[SUB, ADD]) => "exp(x) - 1 is expm1(x)";
    one_minus on Elementwise(&[SUB]) =>
        "1 - sigmoid(x) is sigmoid(-x), 1 - erf(x) is erfc(x), and 1 - erfc(x) is erf(x)";
    logistic_quotient on Elementwise(&[DIV]) => "exp(x) / (1 + exp(x)) is sigmoid(x), where exp(x) overflows too";
    logistic_reciprocal on Elementwise(&[DIV, RECIPROCAL]) => "1 / (1 + exp(x)) is sigmoid(-x)";
}

/// The argument of `op`, if it made the only input.
fn inner<T: Terms>(t: &T, inputs: &[T::V], op: ScalarOp) -> Option<T::V> {
    t.argument(inputs.first()?, op)
}

/// `-softplus(x)`.
fn negative_softplus<T: Terms>(t: &mut T, x: &T::V) -> Found<T> {
    let y = t.make(SOFTPLUS, &[x])?;
    t.make(NEG, &[&y]).map(Some)
}

/// `-x`, or the argument of the negation that made x.
fn negative<T: Terms>(t: &mut T, x: &T::V) -> Result<T::V> {
    match t.argument(x, NEG) {
        Some(positive) => Ok(positive),
        None => t.make(NEG, &[x]),
    }
}

fn log_softmax<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some((owner, args)) = t.owner(&inputs[0]) else { return Ok(None) };
    match owner.downcast::<Softmax>() {
        Some(softmax) if !softmax.log => t.apply(Arc::new(Softmax { log: true, ..*softmax }), args).map(Some),
        _ => Ok(None),
    }
}

fn log_sum_exp<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some((owner, args)) = t.owner(&inputs[0]) else { return Ok(None) };
    let Some(sum) = owner.downcast::<Reduce>() else { return Ok(None) };
    let Some(x) = t.argument(&args[0], EXP) else { return Ok(None) };
    if sum.fold != Fold::Sum || t.ty(&x).dtype != sum.dtype || is_shifted(t, &x) {
        return Ok(None);
    }
    let rank = t.ty(&x).ndim();
    let shift = finite_maximum(t, sum, &x)?;
    let mut kept = 0;
    let order = (0..rank).map(|axis| {
        (!sum.axes.contains(&axis)).then(|| {
            kept += 1;
            kept - 1
        })
    });
    let along = t.apply(Arc::new(DimShuffle { order: order.collect() }), vec![shift.clone()])?;
    let rest = t.make(SUB, &[&x, &along])?;
    let rest = t.make(EXP, &[&rest])?;
    let total = t.apply(Arc::new(sum.clone()), vec![rest])?;
    let log = t.make(LOG, &[&total])?;
    t.make(ADD, &[&log, &shift]).map(Some)
}

/// The maximum of `x` over the axes of a sum, or 0 where it is infinite: infinities have no difference. It is
/// a constant for differentiation.
fn finite_maximum<T: Terms>(t: &mut T, sum: &Reduce, x: &T::V) -> Result<T::V> {
    // An empty sum is 0, and its logarithm minus infinity: so is the maximum.
    let most = Reduce {
        fold: Fold::Max,
        axes: sum.axes.clone(),
        acc_dtype: sum.acc_dtype,
        dtype: sum.dtype,
        over_nothing: true,
    };
    let most = t.apply(Arc::new(most), vec![x.clone()])?;
    let magnitude = t.make(ABS, &[&most])?;
    let infinite = t.number(&most, f64::INFINITY)?;
    let finite = t.make(LT, &[&magnitude, &infinite])?;
    let zero = t.number(&most, 0.0)?;
    let shift = t.make(WHERE, &[&finite, &most, &zero])?;
    t.apply(Arc::new(WithGradient { passes: Passes::Disconnected }), vec![shift])
}

/// Whether a maximum was subtracted already, whatever its shape.
fn is_shifted<T: Terms>(t: &T, x: &T::V) -> bool {
    let Some((SUB, args)) = t.elemwise(x) else { return false };
    let mut shift = args[1].clone();
    while let Some((op, inputs)) = t.owner(&shift) {
        let op = op.as_ref();
        if op.downcast::<Reduce>().is_some_and(|r| r.fold == Fold::Max) {
            return true;
        }
        // The shift is the second argument of a choice, and the first of an op that only changes its layout.
        let next = match super::scalar_op(op) {
            Some(WHERE) => inputs.get(1),
            Some(_) => None,
            None => inputs.first(),
        };
        let Some(next) = next else { return false };
        shift = next.clone();
    }
    false
}

fn log_exp<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    Ok(inner(t, inputs, EXP))
}

fn log_sigmoid<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(x) = inner(t, inputs, SIGMOID) else { return Ok(None) };
    let x = negative(t, &x)?;
    negative_softplus(t, &x)
}

fn log_one_plus<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some((ADD, both)) = t.elemwise(&inputs[0]) else { return Ok(None) };
    let Some(rest) = t.beside(&both, 1.0) else { return Ok(None) };
    match t.argument(&rest, EXP) {
        Some(y) => t.make(SOFTPLUS, &[&y]).map(Some),
        None => t.make(LOG1P, &[&rest]).map(Some),
    }
}

fn log_one_minus<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some((SUB, both)) = t.elemwise(&inputs[0]) else { return Ok(None) };
    let [one, rest] = &both[..] else { return Ok(None) };
    if !t.is(one, 1.0) || !t.adds_no_extent(rest, one) {
        return Ok(None);
    }
    if let Some(y) = t.argument(rest, SIGMOID) {
        return negative_softplus(t, &y);
    }
    if let Some(y) = t.argument(rest, EXP) {
        return t.make(LOG1MEXP, &[&y]).map(Some);
    }
    let rest = negative(t, rest)?;
    t.make(LOG1P, &[&rest]).map(Some)
}

fn log_negative_expm1<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(y) = inner(t, inputs, NEG) else { return Ok(None) };
    match t.argument(&y, EXPM1) {
        Some(y) => t.make(LOG1MEXP, &[&y]).map(Some),
        None => Ok(None),
    }
}

fn log_sqrt<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(y) = inner(t, inputs, SQRT) else { return Ok(None) };
    let half = t.number(&y, 0.5)?;
    let log = t.make(LOG, &[&y])?;
    t.make(MUL, &[&log, &half]).map(Some)
}

/// Each branch gets an argument in its own range, so that the gradient of the other one is finite there.
fn log_erfc<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(x) = inner(t, inputs, ERFC) else { return Ok(None) };
    let one = t.number(&x, 1.0)?;
    let large = t.make(MAXIMUM, &[&x, &one])?;
    let tail = t.make(ERFCX, &[&large])?;
    let tail = t.make(LOG, &[&tail])?;
    let square = t.make(SQR, &[&large])?;
    let tail = t.make(SUB, &[&tail, &square])?;
    let small = t.make(MINIMUM, &[&x, &one])?;
    let near = t.make(ERF, &[&small])?;
    let near = t.make(NEG, &[&near])?;
    let near = t.make(LOG1P, &[&near])?;
    let is_large = t.make(GT, &[&x, &one])?;
    t.make(WHERE, &[&is_large, &tail, &near]).map(Some)
}

fn log1p_exp<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    match inner(t, inputs, EXP) {
        Some(y) => t.make(SOFTPLUS, &[&y]).map(Some),
        None => Ok(None),
    }
}

fn log1p_negative<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(rest) = inner(t, inputs, NEG) else { return Ok(None) };
    if let Some(y) = t.argument(&rest, SIGMOID) {
        return negative_softplus(t, &y);
    }
    match t.argument(&rest, EXP) {
        Some(y) => t.make(LOG1MEXP, &[&y]).map(Some),
        None => Ok(None),
    }
}

fn log1p_expm1<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    Ok(inner(t, inputs, EXPM1))
}

/// `exp(x) - 1`, or `exp(x) + -1` in either order.
fn exp_minus_one<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [a, b] = inputs else { return Ok(None) };
    let exp = match super::scalar_op(op) {
        Some(SUB) if t.is(b, 1.0) && t.adds_no_extent(a, b) => Some(a.clone()),
        Some(ADD) => t.beside(inputs, -1.0),
        _ => None,
    };
    match exp.and_then(|exp| t.argument(&exp, EXP)) {
        Some(x) => t.make(EXPM1, &[&x]).map(Some),
        None => Ok(None),
    }
}

fn one_minus<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [a, b] = inputs else { return Ok(None) };
    if !t.is(a, 1.0) || !t.adds_no_extent(b, a) {
        return Ok(None);
    }
    for (op, instead, negated) in [(SIGMOID, SIGMOID, true), (ERF, ERFC, false), (ERFC, ERF, false)] {
        if let Some(x) = t.argument(b, op) {
            let x = if negated { negative(t, &x)? } else { x };
            return t.make(instead, &[&x]).map(Some);
        }
    }
    Ok(None)
}

fn logistic_quotient<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [a, b] = inputs else { return Ok(None) };
    let (Some(x), Some((ADD, terms))) = (t.argument(a, EXP), t.elemwise(b)) else { return Ok(None) };
    match t.beside(&terms, 1.0) {
        Some(rest) if rest == *a || t.argument(&rest, EXP).as_ref() == Some(&x) => {
            t.make(SIGMOID, &[&x]).map(Some)
        }
        _ => Ok(None),
    }
}

fn logistic_reciprocal<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let b = match inputs {
        [b] => b,
        [one, b] if t.is(one, 1.0) && t.adds_no_extent(b, one) => b,
        _ => return Ok(None),
    };
    let Some((ADD, terms)) = t.elemwise(b) else { return Ok(None) };
    let Some(rest) = t.beside(&terms, 1.0) else { return Ok(None) };
    let Some(x) = t.argument(&rest, EXP) else { return Ok(None) };
    let x = negative(t, &x)?;
    t.make(SIGMOID, &[&x]).map(Some)
}
