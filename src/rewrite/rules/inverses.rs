//! A function applied to its inverse. Where the inner function has no value, neither has the outer one: the
//! result is NaN there.

use super::super::terms::Terms;
use super::Root::Elementwise;
use super::{Found, rules};
use crate::op::Op;
use workalike_kernels::ops::*;

rules! {
    exp_log on Elementwise(&[EXP]) => "exp(log(x)) is |x| where x >= 0, else NaN; of -0.0 it is 0.0";
    exp_log1p on Elementwise(&[EXP]) => "exp(log1p(x)) is 1 + x where x >= -1, else NaN";
    exp_log1mexp on Elementwise(&[EXP]) => "exp(log1mexp(x)) is |expm1(x)| where x <= 0, else NaN";
    exp_softplus on Elementwise(&[EXP]) => "exp(softplus(x)) is 1 + exp(x)";
    expm1_log on Elementwise(&[EXPM1]) => "expm1(log(x)) is x - 1 where x >= 0, else NaN";
    expm1_log1p on Elementwise(&[EXPM1]) => "expm1(log1p(x)) is x where x >= -1, else NaN";
    expm1_log1mexp on Elementwise(&[EXPM1]) => "expm1(log1mexp(x)) is -exp(x) where x <= 0, else NaN";
    expm1_softplus on Elementwise(&[EXPM1]) => "expm1(softplus(x)) is exp(x)";
    sqrt_sqr on Elementwise(&[SQRT]) => "sqrt(sqr(x)) is |x|, where sqr(x) overflows too";
    sqr_sqrt on Elementwise(&[SQR]) => "sqr(sqrt(x)) is |x| where x >= 0, else NaN";
}

/// `value` where `x` compares true with a bound, else NaN.
fn chosen<T: Terms>(t: &mut T, compare: ScalarOp, x: &T::V, bound: f64, value: &T::V) -> Found<T> {
    let bound = t.number(x, bound)?;
    let holds = t.make(compare, &[x, &bound])?;
    let nan = t.number(x, f64::NAN)?;
    t.make(WHERE, &[&holds, value, &nan]).map(Some)
}

fn exp_log<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(x) = t.argument(&inputs[0], LOG) else { return Ok(None) };
    let magnitude = t.make(ABS, &[&x])?;
    chosen(t, GE, &x, 0.0, &magnitude)
}

fn exp_log1p<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(x) = t.argument(&inputs[0], LOG1P) else { return Ok(None) };
    let one = t.number(&x, 1.0)?;
    let sum = t.make(ADD, &[&x, &one])?;
    chosen(t, GE, &x, -1.0, &sum)
}

fn exp_log1mexp<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(x) = t.argument(&inputs[0], LOG1MEXP) else { return Ok(None) };
    let rest = t.make(EXPM1, &[&x])?;
    let magnitude = t.make(ABS, &[&rest])?;
    chosen(t, LE, &x, 0.0, &magnitude)
}

fn exp_softplus<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(x) = t.argument(&inputs[0], SOFTPLUS) else { return Ok(None) };
    let exp = t.make(EXP, &[&x])?;
    let one = t.number(&x, 1.0)?;
    t.make(ADD, &[&exp, &one]).map(Some)
}

fn expm1_log<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(x) = t.argument(&inputs[0], LOG) else { return Ok(None) };
    let one = t.number(&x, 1.0)?;
    let rest = t.make(SUB, &[&x, &one])?;
    chosen(t, GE, &x, 0.0, &rest)
}

fn expm1_log1p<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(x) = t.argument(&inputs[0], LOG1P) else { return Ok(None) };
    chosen(t, GE, &x, -1.0, &x)
}

fn expm1_log1mexp<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(x) = t.argument(&inputs[0], LOG1MEXP) else { return Ok(None) };
    let exp = t.make(EXP, &[&x])?;
    let negative = t.make(NEG, &[&exp])?;
    chosen(t, LE, &x, 0.0, &negative)
}

fn expm1_softplus<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    match t.argument(&inputs[0], SOFTPLUS) {
        Some(x) => t.make(EXP, &[&x]).map(Some),
        None => Ok(None),
    }
}

fn sqrt_sqr<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    match t.argument(&inputs[0], SQR) {
        Some(x) => t.make(ABS, &[&x]).map(Some),
        None => Ok(None),
    }
}

fn sqr_sqrt<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(x) = t.argument(&inputs[0], SQRT) else { return Ok(None) };
    let magnitude = t.make(ABS, &[&x])?;
    chosen(t, GE, &x, 0.0, &magnitude)
}
