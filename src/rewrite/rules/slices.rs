//! Slices of slices, reads of a part that was just written or that a mask keeps, assertions known to hold. No
//! rule loses the error of an index that is out of range.

use super::super::terms::{Terms, WHOLE};
use super::Root::Op as Of;
use super::{Found, rules};
use crate::graph::TensorType;
use crate::op::Op;
use crate::ops::{Assert, Bound, BroadcastTo, Compress, Extent, IncSubtensor, NonZero, Slot, Subtensor};
use std::sync::Arc;
use workalike_kernels::DType;
use workalike_kernels::ops::ADD;

rules! {
    read_whole on Of("subtensor") => "x[..] is x";
    read_read on Of("subtensor") => "x[i][j] is one slice of x, where its bounds are known";
    read_set on Of("subtensor") =>
        "a read of the part that was just set to y is y, where no index can be out of range";
    read_increment on Of("subtensor") => "a read of the part that was just increased by y is x[i] + y";
    set_read on Of("inc_subtensor") => "x with a part set to what the part is, is x";
    take_by_mask on Of("advanced_subtensor") =>
        "x[mask] of vectors is a compress op, which may do without the positions of the mask";
    assert_known on Of("assert") => "an assertion of what is known to be true is its input";
}

fn read_whole<T: Terms>(_: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(read) = op.downcast::<Subtensor>() else { return Ok(None) };
    Ok(read.slots.iter().all(|slot| *slot == WHOLE).then(|| inputs[0].clone()))
}

fn read_read<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(read) = op.downcast::<Subtensor>() else { return Ok(None) };
    let Some((op, args)) = t.owner(&inputs[0]) else { return Ok(None) };
    let Some(inner) = op.downcast::<Subtensor>() else { return Ok(None) };
    let known = args.len() - 1;
    let Some(slots) = merged(&inner.slots, &read.slots, &t.ty(&args[0]), known) else { return Ok(None) };
    let list = args.iter().chain(&inputs[1..]).cloned().collect();
    t.apply(Arc::new(Subtensor { slots }), list).map(Some)
}

/// If a part is read that was just set (`set`) or increased: the written value, and the array before.
fn just_written<T: Terms>(t: &T, read: &Subtensor, inputs: &[T::V], set: bool) -> Option<[T::V; 2]> {
    let (op, args) = t.owner(&inputs[0])?;
    let write = op.downcast::<IncSubtensor>()?;
    let same = write.set == set && write.slots == read.slots && args[2..] == inputs[1..];
    same.then(|| [args[1].clone(), args[0].clone()])
}

fn read_set<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(read) = op.downcast::<Subtensor>() else { return Ok(None) };
    let Some([written, x]) = just_written(t, read, inputs, true) else { return Ok(None) };
    let (from, whole) = (t.ty(&written), t.ty(&x));
    let Some(to) = part_type(t, read, &x, &inputs[1..]) else { return Ok(None) };
    let Some(to) = to.shape.iter().copied().collect::<Option<Vec<usize>>>() else { return Ok(None) };
    if !is_in_range(&read.slots, &whole) || from.ndim() != to.len() || from.dtype != whole.dtype {
        return Ok(None);
    }
    if from.shape.iter().zip(&to).all(|(have, want)| *have == Some(*want)) {
        return Ok(Some(written));
    }
    if from.shape.iter().zip(&to).all(|(have, want)| *have == Some(*want) || *have == Some(1)) {
        let extents = to.into_iter().map(Extent::Fixed).collect();
        return t.apply(Arc::new(BroadcastTo { extents }), vec![written]).map(Some);
    }
    Ok(None)
}

/// The read is kept, and with it the error of an index that is out of range. The increment must broadcast to
/// the part, and not the reverse.
fn read_increment<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(read) = op.downcast::<Subtensor>() else { return Ok(None) };
    let Some([added, x]) = just_written(t, read, inputs, false) else { return Ok(None) };
    let from = t.ty(&added);
    let Some(to) = part_type(t, read, &x, &inputs[1..]) else { return Ok(None) };
    let fits =
        |(have, want): (&Option<usize>, &Option<usize>)| *have == Some(1) || (have.is_some() && have == want);
    if from.ndim() != to.ndim() || !from.shape.iter().zip(&to.shape).all(fits) {
        return Ok(None);
    }
    let list = std::iter::once(&x).chain(&inputs[1..]).cloned().collect();
    let part = t.apply(Arc::new(read.clone()), list)?;
    t.make(ADD, &[&part, &added]).map(Some)
}

fn set_read<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(write) = op.downcast::<IncSubtensor>() else { return Ok(None) };
    let Some((op, args)) = t.owner(&inputs[1]) else { return Ok(None) };
    let Some(read) = op.downcast::<Subtensor>() else { return Ok(None) };
    let same = write.set && read.slots == write.slots && args[0] == inputs[0] && args[1..] == inputs[2..];
    Ok((same && is_in_range(&write.slots, &t.ty(&inputs[0]))).then(|| inputs[0].clone()))
}

fn take_by_mask<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [x, positions] = inputs else { return Ok(None) };
    let Some((op, args)) = t.owner(positions) else { return Ok(None) };
    let mask = t.ty(&args[0]);
    let masks = op.downcast::<NonZero>().is_some() && mask.dtype == DType::Bool && mask.ndim() == 1;
    if !masks || t.ty(x).ndim() != 1 {
        return Ok(None);
    }
    t.apply(Arc::new(Compress), vec![x.clone(), args[0].clone(), positions.clone()]).map(Some)
}

fn assert_known<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let (Some(_), [x, condition]) = (op.downcast::<Assert>(), inputs) else { return Ok(None) };
    let holds = t.value(condition).is_some_and(|v| v.scalars().all(|s| s.to_i128() != 0));
    Ok(holds.then(|| x.clone()))
}

/// The type of the part that is read.
fn part_type<T: Terms>(t: &T, read: &Subtensor, x: &T::V, bounds: &[T::V]) -> Option<TensorType> {
    let types: Vec<TensorType> = std::iter::once(x).chain(bounds).map(|v| t.ty(v)).collect();
    read.types(&types.iter().collect::<Vec<_>>()).ok()?.pop()
}

/// Whether no index can be out of range: a slice never is, and an index into a known extent was checked when
/// the graph was built.
fn is_in_range(slots: &[Slot], x: &TensorType) -> bool {
    let safe = |(axis, slot): (usize, &Slot)| match slot {
        Slot::Slice { .. } => true,
        Slot::Index(Bound::At(_)) => x.shape.get(axis).is_some_and(Option::is_some),
        Slot::Index(_) => false,
    };
    slots.iter().enumerate().all(safe)
}

/// The slots of `x[inner][outer]` as one; the bounds of the outer ones stand after `known` others.
fn merged(inner: &[Slot], outer: &[Slot], x: &TensorType, known: usize) -> Option<Vec<Slot>> {
    let mut rest = outer.iter();
    let mut slots = Vec::with_capacity(x.ndim());
    for (axis, extent) in x.shape.iter().enumerate() {
        slots.push(match (inner.get(axis).copied().unwrap_or(WHOLE), extent) {
            (index @ Slot::Index(_), _) => index,
            (slice, extent) => match rest.next() {
                Some(&slot) => within(slice, moved(slot, known), *extent)?,
                None => slice,
            },
        });
    }
    while slots.last() == Some(&WHOLE) {
        slots.pop();
    }
    Some(slots)
}

fn moved(slot: Slot, by: usize) -> Slot {
    let bound = |b: Bound| if let Bound::Input(i) = b { Bound::Input(i + by) } else { b };
    match slot {
        Slot::Index(at) => Slot::Index(bound(at)),
        Slot::Slice { start, stop, step } => Slot::Slice { start: bound(start), stop: bound(stop), step },
    }
}

/// A slot applied to the result of a slice, as one slot.
fn within(slice: Slot, slot: Slot, extent: Option<usize>) -> Option<Slot> {
    if slice == WHOLE {
        return Some(slot);
    }
    if slot == WHOLE {
        return Some(slice);
    }
    match extent {
        Some(extent) => of_known(slice, slot, extent),
        None => of_unknown(slice, slot),
    }
}

/// Composes the two along an axis of known extent, where all bounds are numbers.
fn of_known(slice: Slot, slot: Slot, extent: usize) -> Option<Slot> {
    let number = |bound: Bound| match bound {
        Bound::Open => Ok(None),
        Bound::At(n) => Ok(Some(n)),
        Bound::Input(_) => Err(String::new()),
    };
    let first = Slot::take(&[slice], &[extent], number).ok()?.pop()?;
    let then = Slot::take(&[slot], &[first.len?], number).ok()?.pop()?;
    let start = first.start.checked_add(then.start.checked_mul(first.step)?)?;
    let Some(len) = then.len else { return Some(Slot::Index(Bound::At(start))) };
    if len == 0 {
        return Some(Slot::Slice { start: Bound::At(0), stop: Bound::At(0), step: 1 });
    }
    let step = first.step.checked_mul(then.step)?;
    let last = start.checked_add(step.checked_mul(len as i64 - 1)?)?;
    let stop = if step > 0 { Bound::At(last + 1) } else { last.checked_sub(1).map_or(Bound::Open, before) };
    Some(Slot::Slice { start: Bound::At(start), stop, step })
}

/// A stop below the first element is left open: -1 would mean the last element.
fn before(stop: i64) -> Bound {
    if stop < 0 { Bound::Open } else { Bound::At(stop) }
}

/// Composes two forward slices from the front along an axis of unknown extent: positions `a, a + k, ...`
/// below the minimum of `b` and the extent.
fn of_unknown(slice: Slot, slot: Slot) -> Option<Slot> {
    let number = |bound: Bound, open: i64| match bound {
        Bound::Open => Some(open),
        Bound::At(n) if n >= 0 => Some(n),
        _ => None,
    };
    let Slot::Slice { start, stop, step } = slice else { return None };
    let (a, b) = (number(start, 0)?, number(stop, i64::MAX)?);
    if step < 1 {
        return None;
    }
    let at = |position: i64| position.checked_mul(step)?.checked_add(a);
    match slot {
        // An index past the end of the slice is out of range whatever the extent: the slice is kept, with its
        // error.
        Slot::Index(index) => {
            let Bound::At(index) = index else { return None };
            let position = if index < 0 { return None } else { at(index)? };
            (position < b).then_some(Slot::Index(Bound::At(position)))
        }
        Slot::Slice { start, stop, step: further } => {
            if further < 1 {
                return None;
            }
            let first = at(number(start, 0)?)?;
            let last = match number(stop, i64::MAX)? {
                i64::MAX => b,
                stop => b.min(at(stop)?),
            };
            let stop = if last == i64::MAX { Bound::Open } else { Bound::At(last) };
            Some(Slot::Slice { start: Bound::At(first), stop, step: step.checked_mul(further)? })
        }
    }
}
