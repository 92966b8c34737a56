//! Contractions of two tensors whose axes have names: `einsum`, `tensordot` and the gradients of products are
//! composed of them.

use super::dot::{Dot, times};
use super::reduce::Reduce;
use super::shape::DimShuffle;
use crate::error::Result;
use crate::graph::Variable;

/// The name of an axis.
pub(crate) type Label = u32;

/// A tensor and the names of its axes.
pub(crate) type Named<'a> = (&'a Variable, &'a [Label]);

/// The position of this axis.
pub(super) fn find(labels: &[Label], label: Label) -> Option<usize> {
    labels.iter().position(|&l| l == label)
}

/// Drops these axes, of static extent 1.
pub(super) fn without(x: &Variable, labels: &[Label], axes: &[usize]) -> Result<(Variable, Vec<Label>)> {
    let kept: Vec<usize> = (0..x.ndim()).filter(|a| !axes.contains(a)).collect();
    let names = kept.iter().map(|&a| labels[a]).collect();
    Ok((DimShuffle::of(x, kept.into_iter().map(Some).collect())?, names))
}

/// Summed over the axes of which this is true, in the dtype it has.
pub(super) fn summed(
    x: &Variable,
    labels: &[Label],
    over: impl Fn(Label) -> bool,
) -> Result<(Variable, Vec<Label>)> {
    let axes: Vec<usize> = (0..x.ndim()).filter(|&a| over(labels[a])).collect();
    let names = labels.iter().copied().filter(|&l| !over(l)).collect();
    if axes.is_empty() {
        return Ok((x.clone(), names));
    }
    Ok((Reduce::sum_in(x, &axes, x.dtype())?, names))
}

/// The tensor with its axes in this order; axes that it does not have are inserted.
pub(super) fn arranged(x: &Variable, labels: &[Label], order: &[Label]) -> Result<Variable> {
    DimShuffle::of(x, order.iter().map(|&l| find(labels, l)).collect())
}

/// The product of two tensors, of one dtype, summed over every axis that `out` does not name. No tensor names
/// an axis twice, and each axis of `out` is one of theirs. Axes of both that `out` names broadcast if one has
/// static extent 1.
pub(crate) fn contract((a, la): Named, (b, lb): Named, out: &[Label]) -> Result<Variable> {
    let (a, la) = summed(a, la, |l| !lb.contains(&l) && !out.contains(&l))?;
    let (b, lb) = summed(b, lb, |l| !la.contains(&l) && !out.contains(&l))?;
    let sums: Vec<Label> = la.iter().copied().filter(|l| lb.contains(l) && !out.contains(l)).collect();
    if sums.is_empty() {
        return times(&arranged(&a, &la, out)?, &arranged(&b, &lb, out)?);
    }
    let of = |in_a: bool, in_b: bool| -> Vec<Label> {
        out.iter().copied().filter(|l| la.contains(l) == in_a && lb.contains(l) == in_b).collect()
    };
    let (batch, left, right) = (of(true, true), of(true, false), of(false, true));
    // Either factor may be the left one. An order that moves no axis of the result is preferred.
    let natural = [&batch[..], &left, &right].concat() == *out;
    let swapped = !natural && [&batch[..], &right, &left].concat() == *out;
    let op = Dot { batch: batch.len(), contracted: sums.len() };
    let order = |own: &[Label], first: bool| -> Vec<Label> {
        if first { [&batch[..], own, &sums].concat() } else { [&batch[..], &sums, own].concat() }
    };
    let a = arranged(&a, &la, &order(&left, !swapped))?;
    let b = arranged(&b, &lb, &order(&right, swapped))?;
    let (product, names) = if swapped {
        (op.of(&b, &a)?, [batch, right, left].concat())
    } else {
        (op.of(&a, &b)?, [batch, left, right].concat())
    };
    arranged(&product, &names, out)
}
