//! Zeros to which parts are added. Gradients of slices and of rows are such; those of slices that make up a
//! whole, as the gates of a recurrent network, are joined, and those of rows of a table that a step of
//! gradient descent subtracts from the table are added to its rows.

use super::Root::{Elementwise, Op as Of};
use super::{Found, rules};
use crate::graph::TensorType;
use crate::op::Op;
use crate::ops::{AdvancedIncSubtensor, Bound, IncSubtensor, Join, Slot};
use crate::rewrite::terms::{Terms, WHOLE};
use std::sync::Arc;
use workalike_kernels::ops::{ADD, MUL, SUB};

rules! {
    add_parts on Elementwise(&[ADD]) => "zeros with parts, added up, are the same zeros with all of these parts";
    join_parts on Of("inc_subtensor") =>
        "zeros to which parts are added that fill an axis, side by side, are these parts, joined";
    subtract_rows on Elementwise(&[SUB, ADD]) =>
        "x - c * g, where g is zeros to which rows are added, is x to which -c times these rows are added";
}

/// Zeros, and what is added to them: an op, with the part and the bounds of it.
struct AddedParts<V> {
    zeros: V,
    added: Vec<(Arc<dyn Op>, Vec<V>)>,
}

impl<V: Clone + PartialEq> AddedParts<V> {
    fn of<T: Terms<V = V>>(t: &T, whole: &V) -> Option<AddedParts<V>> {
        let (mut rest, mut added) = (whole.clone(), Vec::new());
        while let Some((op, args)) = t.owner(&rest)
            && adds(&op)
        {
            let (first, others) = args.split_first()?;
            added.push((op, others.to_vec()));
            rest = first.clone();
        }
        added.reverse();
        (t.is(&rest, 0.0) && !added.is_empty()).then_some(AddedParts { zeros: rest, added })
    }

    /// Whether they have no more elements than a whole of this type, as far as that is known.
    fn are_fewer<T: Terms<V = V>>(&self, t: &T, whole: &TensorType) -> bool {
        let elements =
            |ty: &TensorType| ty.shape.iter().try_fold(1usize, |n, extent| n.checked_mul((*extent)?));
        let Some(all) = elements(whole) else { return true };
        let of =
            |(_, others): &(_, Vec<V>)| others.first().and_then(|part| elements(&t.ty(part))).unwrap_or(0);
        self.added.iter().map(of).fold(0, usize::saturating_add) <= all
    }
}

/// Whether an op adds to a part, or to rows.
fn adds(op: &Arc<dyn Op>) -> bool {
    op.downcast::<IncSubtensor>().is_some_and(|write| !write.set) || adds_rows(op)
}

fn adds_rows(op: &Arc<dyn Op>) -> bool {
    op.downcast::<AdvancedIncSubtensor>().is_some_and(|write| !write.set)
}

fn add_parts<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [a, b] = inputs else { return Ok(None) };
    let (Some(into), Some(from)) = (AddedParts::of(t, a), AddedParts::of(t, b)) else { return Ok(None) };
    let (ty, other) = (t.ty(a), t.ty(b));
    let known = ty == other && ty.shape.iter().all(Option::is_some);
    if into.zeros != from.zeros && !known {
        return Ok(None);
    }
    let mut whole = a.clone();
    for (op, others) in from.added {
        whole = t.apply(op, [vec![whole], others].concat())?;
    }
    Ok(Some(whole))
}

fn join_parts<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(last) = op.downcast::<IncSubtensor>().filter(|write| !write.set) else { return Ok(None) };
    let Some(before) = inputs.first().and_then(|whole| AddedParts::of(t, whole)) else { return Ok(None) };
    if before.added.iter().any(|(op, _)| adds_rows(op)) {
        return Ok(None);
    }
    let ty = t.ty(&before.zeros);
    let mut slots: Vec<&[Slot]> = vec![&last.slots];
    slots.extend(before.added.iter().filter_map(|(op, _)| Some(&op.downcast::<IncSubtensor>()?.slots[..])));
    let parts = inputs[1..2].iter().chain(before.added.iter().filter_map(|(_, others)| others.first()));
    let Some(axis) = slots[0].iter().position(|slot| *slot != WHOLE) else { return Ok(None) };
    let mut ranges = Vec::new();
    for (slots, part) in slots.iter().zip(parts) {
        let Some([start, stop]) = range(slots, axis, &ty) else { return Ok(None) };
        let own = t.ty(part);
        let same = |other: usize| match other == axis {
            true => own.shape[other] == Some(stop - start),
            false => t.equal_extents(&before.zeros, part, other),
        };
        if own.ndim() != ty.ndim() || own.dtype != ty.dtype || !(0..ty.ndim()).all(same) {
            return Ok(None);
        }
        ranges.push((start, stop, part.clone()));
    }
    ranges.sort_by_key(|(start, ..)| *start);
    let fills = ranges.iter().try_fold(0, |end, (start, stop, _)| (*start == end).then_some(*stop));
    if fills != ty.shape[axis] || !ty.dtype.is_float() {
        return Ok(None);
    }
    // A sum with 0.0 is never -0.0.
    let zero = t.number(&before.zeros, 0.0)?;
    let parts = ranges.iter().map(|(.., part)| t.make(ADD, &[part, &zero])).collect::<Result<_, _>>()?;
    t.apply(Arc::new(Join { axis }), parts).map(Some)
}

/// The other rows of the table, such as those of words that a minibatch does not have, are neither read nor
/// written.
fn subtract_rows<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let (Some(op), [x, subtracted]) = (super::scalar_op(op), inputs) else { return Ok(None) };
    let (scale, sum) = multiple(t, subtracted);
    let read_here = t.is_read_once(subtracted) && t.is_read_once(&sum);
    let Some(parts) = AddedParts::of(t, &sum).filter(|parts| parts.added.iter().all(|(op, _)| adds_rows(op)))
    else {
        return Ok(None);
    };
    // What is zero must be zero of the sign that changes no zero.
    let factor = if op == SUB { -scale } else { scale };
    let (ty, of_parts) = (t.ty(x), t.ty(&sum));
    let fits = (0..ty.ndim()).all(|axis| t.equal_extents(x, &parts.zeros, axis));
    let known = ty.dtype == of_parts.dtype && ty.ndim() == of_parts.ndim() && fits && ty.dtype.is_float();
    if !read_here || !known || !factor.is_finite() || factor >= 0.0 || !parts.are_fewer(t, &ty) {
        return Ok(None);
    }
    let mut whole = x.clone();
    for (op, others) in parts.added {
        let Some((rows, at)) = others.split_first() else { return Ok(None) };
        let factor = t.number(rows, factor)?;
        let rows = t.make(MUL, &[rows, &factor])?;
        whole = t.apply(op, [&[whole, rows], at].concat())?;
    }
    Ok(Some(whole))
}

/// A Variable as a multiple of another one: the constant, and the other.
fn multiple<T: Terms>(t: &T, v: &T::V) -> (f64, T::V) {
    if let Some((MUL, args)) = t.elemwise(v)
        && let [a, b] = &args[..]
    {
        for (scale, of) in [(a, b), (b, a)] {
            if let Some(scale) = t.uniform(scale) {
                return (scale, of.clone());
            }
        }
    }
    (1.0, v.clone())
}

/// Where a slice along one axis alone begins and ends, if that is known; it has elements.
fn range(slots: &[Slot], axis: usize, ty: &TensorType) -> Option<[usize; 2]> {
    let others = slots.iter().enumerate().all(|(at, slot)| at == axis || *slot == WHOLE);
    let extent = (*ty.shape.get(axis)?)?;
    let Slot::Slice { start, stop, step: 1 } = slots.get(axis).filter(|_| others)? else { return None };
    let at = |bound: &Bound, open: usize| match *bound {
        Bound::Open => Some(open),
        Bound::At(at) if at < 0 => Some(extent.saturating_sub(usize::try_from(at.unsigned_abs()).ok()?)),
        Bound::At(at) => Some(usize::try_from(at).ok()?.min(extent)),
        Bound::Input(_) => None,
    };
    let (start, stop) = (at(start, 0)?, at(stop, extent)?);
    (start < stop).then_some([start, stop])
}
