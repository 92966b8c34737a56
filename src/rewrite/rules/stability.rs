//! Forms that keep digits and do not overflow.

use super::super::terms::Terms;
use super::Found;
use crate::error::Result;
use crate::kernels::nest::Fold;
use crate::kernels::ops::*;
use crate::ops::{DimShuffle, Elemwise, Op, Passes, Reduce, Softmax, WithGradient, downcast};
use std::sync::Arc;

pub(in super::super) fn rule<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(op) = downcast::<Elemwise>(op) else { return Ok(None) };
    match (op.op, inputs) {
        (LOG, [x]) => log(t, x),
        (LOG1P, [x]) => log1p(t, x),
        (SUB, [a, b]) => minus(t, a, b),
        (ADD, [a, b]) => {
            // exp(x) + -1
            let Some(rest) = t.beside(&[a.clone(), b.clone()], -1.0) else { return Ok(None) };
            match t.argument(&rest, EXP) {
                Some(x) => t.make(EXPM1, &[&x]).map(Some),
                None => Ok(None),
            }
        }
        (DIV, [a, b]) => quotient(t, a, b),
        (RECIPROCAL, [b]) => inverse(t, b),
        _ => Ok(None),
    }
}

/// `f(x)` of what is given, negated inside or out.
fn softplus<T: Terms>(t: &mut T, x: &T::V, negated: bool) -> Found<T> {
    let x = if negated { negative(t, x)? } else { x.clone() };
    let y = t.make(SOFTPLUS, &[&x])?;
    t.make(NEG, &[&y]).map(Some)
}

/// `-x`, or what x is the negative of.
fn negative<T: Terms>(t: &mut T, x: &T::V) -> Result<T::V> {
    match t.argument(x, NEG) {
        Some(positive) => Ok(positive),
        None => t.make(NEG, &[x]),
    }
}

fn log<T: Terms>(t: &mut T, x: &T::V) -> Found<T> {
    let Some((owner, args)) = t.owner(x) else { return Ok(None) };
    if let Some(softmax) = downcast::<Softmax>(owner.as_ref())
        && !softmax.log
    {
        return t.apply(Arc::new(Softmax { log: true, ..*softmax }), args).map(Some);
    }
    if let Some(sum) = downcast::<Reduce>(owner.as_ref()) {
        return log_of_sum(t, sum, &args[0]);
    }
    let Some(owner) = downcast::<Elemwise>(owner.as_ref()) else { return Ok(None) };
    match (owner.op, args.as_slice()) {
        (EXP, [y]) => Ok(Some(y.clone())),
        (SIGMOID, [y]) => softplus(t, &y.clone(), true),
        (ADD, both) => match t.beside(both, 1.0) {
            Some(rest) => match t.argument(&rest, EXP) {
                Some(y) => t.make(SOFTPLUS, &[&y]).map(Some),
                None => t.make(LOG1P, &[&rest]).map(Some),
            },
            None => Ok(None),
        },
        (SUB, [one, rest]) if t.is(one, 1.0) && t.has_type_of_both(rest, one) => {
            if let Some(y) = t.argument(rest, SIGMOID) {
                return softplus(t, &y, false);
            }
            if let Some(y) = t.argument(rest, EXP) {
                return t.make(LOG1MEXP, &[&y]).map(Some);
            }
            let rest = negative(t, rest)?;
            t.make(LOG1P, &[&rest]).map(Some)
        }
        (NEG, [y]) => match t.argument(y, EXPM1) {
            Some(y) => t.make(LOG1MEXP, &[&y]).map(Some),
            None => Ok(None),
        },
        (SQRT, [y]) => {
            let half = t.number(y, 0.5)?;
            let log = t.make(LOG, &[y])?;
            t.make(MUL, &[&log, &half]).map(Some)
        }
        _ => Ok(None),
    }
}

/// `log(sum(exp(x)))` less the maximum inside, and with it outside.
fn log_of_sum<T: Terms>(t: &mut T, sum: &Reduce, summed: &T::V) -> Found<T> {
    let Some(x) = t.argument(summed, EXP) else { return Ok(None) };
    if sum.fold != Fold::Sum || t.ty(&x).dtype != sum.dtype || is_shifted(t, &x) {
        return Ok(None);
    }
    let ty = t.ty(&x);
    // Over nothing the sum is 0, and its logarithm minus infinity: so is the maximum.
    let most = Reduce {
        fold: Fold::Max,
        axes: sum.axes.clone(),
        acc_dtype: sum.acc_dtype,
        dtype: sum.dtype,
        over_nothing: true,
    };
    let most = t.apply(Arc::new(most), vec![x.clone()])?;
    // Infinities have no difference.
    let magnitude = t.make(ABS, &[&most])?;
    let infinite = t.number(&most, f64::INFINITY)?;
    let finite = t.make(LT, &[&magnitude, &infinite])?;
    let zero = t.number(&most, 0.0)?;
    let shift = t.make(WHERE, &[&finite, &most, &zero])?;
    let shift = t.apply(Arc::new(WithGradient { passes: Passes::Disconnected }), vec![shift])?;
    let mut kept = 0;
    let order = (0..ty.ndim()).map(|axis| {
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

/// Whether something was taken off already: a maximum, whatever its shape.
fn is_shifted<T: Terms>(t: &T, x: &T::V) -> bool {
    let Some((SUB, args)) = t.elemwise(x) else { return false };
    let mut shift = args[1].clone();
    while let Some((op, inputs)) = t.owner(&shift) {
        let op = op.as_ref();
        if downcast::<Reduce>(op).is_some_and(|r| r.fold == Fold::Max) {
            return true;
        }
        // The shift is the second argument of a choice, and the only one of what moves it.
        let next = match downcast::<Elemwise>(op) {
            Some(e) if e.op == WHERE => inputs.get(1),
            Some(_) => None,
            None => inputs.first(),
        };
        let Some(next) = next else { return false };
        shift = next.clone();
    }
    false
}

fn log1p<T: Terms>(t: &mut T, x: &T::V) -> Found<T> {
    if let Some(y) = t.argument(x, EXP) {
        return t.make(SOFTPLUS, &[&y]).map(Some);
    }
    let Some(rest) = t.argument(x, NEG) else { return Ok(None) };
    if let Some(y) = t.argument(&rest, SIGMOID) {
        return softplus(t, &y, false);
    }
    match t.argument(&rest, EXP) {
        Some(y) => t.make(LOG1MEXP, &[&y]).map(Some),
        None => Ok(None),
    }
}

fn minus<T: Terms>(t: &mut T, a: &T::V, b: &T::V) -> Found<T> {
    if t.is(b, 1.0)
        && t.has_type_of_both(a, b)
        && let Some(x) = t.argument(a, EXP)
    {
        return t.make(EXPM1, &[&x]).map(Some);
    }
    if !t.is(a, 1.0) || !t.has_type_of_both(b, a) {
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

fn quotient<T: Terms>(t: &mut T, a: &T::V, b: &T::V) -> Found<T> {
    if t.is(a, 1.0) && t.has_type_of_both(b, a) {
        return inverse(t, b);
    }
    // exp(x) / (1 + exp(x))
    let (Some(x), Some((ADD, terms))) = (t.argument(a, EXP), t.elemwise(b)) else { return Ok(None) };
    match t.beside(&terms, 1.0) {
        Some(rest) if rest == *a || t.argument(&rest, EXP).as_ref() == Some(&x) => {
            t.make(SIGMOID, &[&x]).map(Some)
        }
        _ => Ok(None),
    }
}

/// `1 / (1 + exp(x))`.
fn inverse<T: Terms>(t: &mut T, b: &T::V) -> Found<T> {
    let Some((ADD, terms)) = t.elemwise(b) else { return Ok(None) };
    let Some(rest) = t.beside(&terms, 1.0) else { return Ok(None) };
    let Some(x) = t.argument(&rest, EXP) else { return Ok(None) };
    let x = negative(t, &x)?;
    t.make(SIGMOID, &[&x]).map(Some)
}
