//! Reductions over no axes, of reductions, and of negatives.

use super::super::terms::Terms;
use super::Root::Op as Of;
use super::{Found, rules};
use crate::op::Op;
use crate::ops::Reduce;
use std::sync::Arc;
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::{NEG, SUB};

rules! {
    reduce_no_axes on Of("reduce") => "a reduction over no axes, to the own dtype, is its input";
    sum_sum on Of("reduce") => "a sum of a sum that nothing else reads is one sum over the axes of both, of floats of 32 and 64 bits";
    sum_negative on Of("reduce") => "sum(-x) is 0 - sum(x), so that a sum of 0 stays 0.0";
}

/// The sum that an op computes, and its input, if both have one dtype.
fn plain_sum<'a, T: Terms>(t: &T, op: &'a dyn Op, inputs: &'a [T::V]) -> Option<(&'a Reduce, &'a T::V)> {
    let (sum, x) = (op.downcast::<Reduce>()?, inputs.first()?);
    (sum.fold == Fold::Sum && t.ty(x).dtype == sum.dtype).then_some((sum, x))
}

fn reduce_no_axes<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let (Some(reduce), [x]) = (op.downcast::<Reduce>(), inputs) else { return Ok(None) };
    Ok((reduce.axes.is_empty() && t.ty(x).dtype == reduce.dtype).then(|| x.clone()))
}

fn sum_sum<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some((outer, x)) = plain_sum(t, op, inputs) else { return Ok(None) };
    let Some((op, args)) = t.owner(x) else { return Ok(None) };
    let Some(inner) = op.downcast::<Reduce>() else { return Ok(None) };
    let alike = inner.fold == Fold::Sum && inner.dtype == outer.dtype && inner.acc_dtype == outer.acc_dtype;
    // If the inner sum is kept for other readers, reading it is cheaper than reading its input.
    if !alike || !outer.dtype.is_float() || outer.dtype.is_half() || !t.is_read_once(x) {
        return Ok(None);
    }
    // The axes of the outer sum, as axes of the inner sum's input.
    let rank = t.ty(&args[0]).ndim();
    let kept: Vec<usize> = (0..rank).filter(|a| !inner.axes.contains(a)).collect();
    let mut axes: Vec<usize> =
        inner.axes.iter().copied().chain(outer.axes.iter().map(|&a| kept[a])).collect();
    axes.sort_unstable();
    t.apply(Arc::new(Reduce { axes, ..outer.clone() }), args).map(Some)
}

fn sum_negative<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some((sum, x)) = plain_sum(t, op, inputs) else { return Ok(None) };
    let Some(x) = t.argument(x, NEG) else { return Ok(None) };
    let total = t.apply(Arc::new(sum.clone()), vec![x])?;
    let zero = t.number(&total, 0.0)?;
    t.make(SUB, &[&zero, &total]).map(Some)
}
