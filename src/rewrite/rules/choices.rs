//! Choices and extrema with a known result.

use super::super::terms::Terms;
use super::Root::Elementwise;
use super::{Found, rules};
use crate::op::Op;
use workalike_kernels::DType;
use workalike_kernels::ops::*;

rules! {
    extremum_itself on Elementwise(&[MAXIMUM, MINIMUM, FMAX, FMIN]) =>
        "the maximum or minimum of x and x is x";
    where_same on Elementwise(&[WHERE]) => "where(c, x, x) is x";
    where_known on Elementwise(&[WHERE]) => "where(true, x, y) is x, and where(false, x, y) is y";
    where_not on Elementwise(&[WHERE]) => "where(not c, x, y) is where(c, y, x)";
}

fn extremum_itself<T: Terms>(_: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    match inputs {
        [a, b] if a == b => Ok(Some(a.clone())),
        _ => Ok(None),
    }
}

fn where_same<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [condition, yes, no] = inputs else { return Ok(None) };
    Ok((yes == no && t.adds_no_extent(yes, condition)).then(|| yes.clone()))
}

fn where_known<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [condition, yes, no] = inputs else { return Ok(None) };
    let Some(number) = t.uniform(condition) else { return Ok(None) };
    let (chosen, other) = if number != 0.0 { (yes, no) } else { (no, yes) };
    let whole = t.adds_no_extent(chosen, other) && t.adds_no_extent(chosen, condition);
    Ok(whole.then(|| chosen.clone()))
}

fn where_not<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [condition, yes, no] = inputs else { return Ok(None) };
    match t.elemwise(condition) {
        Some((NOT | INVERT, args)) if t.ty(&args[0]).dtype == DType::Bool => {
            t.make(WHERE, &[&args[0], no, yes]).map(Some)
        }
        _ => Ok(None),
    }
}
