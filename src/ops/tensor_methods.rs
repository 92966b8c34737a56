//! NumPy-like methods of Variables that are not elementwise.

use super::advanced::{AdvancedIncSubtensor, AdvancedSubtensor};
use super::elemwise::cast;
use super::index_expression::{Ix, slots_of};
use super::methods::{fail, methods};
use super::shape::{BroadcastTo, DimShuffle, Extent, Reshape, ShapeOf};
use super::subtensor::{IncSubtensor, Subtensor};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{IntoOperand, Operand, Variable};

methods! {
    /// Converted to another dtype.
    cast / try_cast(x, dtype: DType) { cast(x, dtype) }
    /// NumPy's `dot` for one and two axes.
    dot / try_dot(x, other: impl Into<Variable>) { super::product::dot(x, &other.into()) }
    /// Axes permuted; `None` is a new axis, axes of static extent 1 may be left out.
    dimshuffle / try_dimshuffle(x, order: impl Into<Vec<Option<usize>>>) { DimShuffle::of(x, order.into()) }
    /// Axes in reverse order.
    t / try_t(x) { DimShuffle::of(x, (0..x.ndim()).rev().map(Some).collect()) }
    /// A new axis of extent 1 before this position (negative: from the end).
    expand_dims / try_expand_dims(x, axis: isize) {
        let at = super::normalize_axis(axis, x.ndim() + 1).map_err(|m| fail("expand_dims", m))?;
        DimShuffle::keep_dims(x, &[at])
    }
    /// The same elements under another shape; one extent may be -1.
    reshape / try_reshape(x, shape: impl AsRef<[isize]>) {
        let extents = shape.as_ref().iter().map(|&e| match e {
            -1 => Ok(Extent::Infer),
            e => usize::try_from(e).map(Extent::Fixed).map_err(|_| fail("reshape", format!("extent {e} is negative"))),
        });
        Reshape::of(x, extents.collect::<Result<_>>()?, &[])
    }
    /// The same elements under a shape of numbers and 0-d integer Variables.
    reshape_to / try_reshape_to(x, shape: Vec<Operand>) {
        let (extents, further) = Extent::list("reshape", shape)?;
        Reshape::of(x, extents, &further)
    }
    /// Repeated to another shape (NumPy's `broadcast_to`); axes of static extent 1 repeat.
    broadcast_to / try_broadcast_to(x, shape: impl AsRef<[usize]>) {
        BroadcastTo::of(x, shape.as_ref().iter().map(|&e| Extent::Fixed(e)).collect(), &[])
    }
    /// The extent of an axis, as a 0-d int64.
    extent / try_extent(x, axis: isize) {
        let axis = super::normalize_axis(axis, x.ndim()).map_err(|m| fail("extent", m))?;
        ShapeOf::of(x, axis)
    }
    /// `x[..]` with the entries of [`crate::idx!`]: numbers, slices, integer Variables; integer arrays on all leading axes.
    index / try_index(x, entries: impl AsRef<[Ix]>) {
        let entries = entries.as_ref();
        if let Some(arrays) = arrays_of(x, entries)? {
            let inputs: Vec<Variable> = std::iter::once(x.clone()).chain(arrays).collect();
            return Variable::apply1(AdvancedSubtensor, &inputs);
        }
        let (slots, bounds) = slots_of(entries)?;
        let inputs: Vec<Variable> = std::iter::once(x.clone()).chain(bounds).collect();
        Variable::apply1(Subtensor { slots }, &inputs)
    }
    /// The elements at integer positions along an axis, whose place the axes of `indices` take; negative ones count from the end.
    take / try_take(x, indices: impl IntoOperand, axis: isize) {
        let axis = super::normalize_axis(axis, x.ndim()).map_err(|m| fail("take", m))?;
        let indices = Operand::resolve(vec![indices.into_operand()]).swap_remove(0);
        let new = indices.checked()?.ndim();
        let front: Vec<Option<usize>> = std::iter::once(axis).chain((0..x.ndim()).filter(|&a| a != axis)).map(Some).collect();
        let taken = DimShuffle::of(x, front)?.try_index([Ix::from(indices)])?;
        // The new axes stand in front.
        let order = (new..new + axis).chain(0..new).chain(new + axis..taken.ndim()).map(Some);
        DimShuffle::of(&taken, order.collect())
    }
    /// `x` with `x[entries]` replaced by `y`.
    set_index / try_set_index(x, entries: impl AsRef<[Ix]>, y: impl IntoOperand) { with_part(x, entries.as_ref(), y, true) }
    /// `x` with `y` added to `x[entries]`; increments of repeated indices add up.
    inc_index / try_inc_index(x, entries: impl AsRef<[Ix]>, y: impl IntoOperand) { with_part(x, entries.as_ref(), y, false) }
}

/// The index arrays, if there is an array among the entries.
#[track_caller]
fn arrays_of(x: &Variable, entries: &[Ix]) -> Result<Option<Vec<Variable>>> {
    let is_array = |entry: &Ix| matches!(entry, Ix::At(v) if v.ndim() > 0);
    if !entries.iter().any(is_array) {
        return Ok(None);
    }
    let trailing =
        entries.iter().rev().take_while(|e| matches!(e, Ix::Slice { start: None, stop: None, step: 1 }));
    let leading = &entries[..entries.len() - trailing.count()];
    let arrays: Option<Vec<&Variable>> =
        leading.iter().map(|e| if let Ix::At(v) = e { Some(v) } else { None }).collect();
    let Some(arrays) = arrays else {
        let message = format!("{}: integer arrays must come first, before any slice", x.ty());
        return Err(fail("index", message));
    };
    let rank = arrays.iter().map(|v| v.ndim()).max().unwrap_or(0);
    arrays.into_iter().map(|v| DimShuffle::pad_left(v.checked()?, rank)).collect::<Result<_>>().map(Some)
}

#[track_caller]
fn with_part(x: &Variable, entries: &[Ix], y: impl IntoOperand, set: bool) -> Result<Variable> {
    let y = Operand::resolve(vec![Operand::Variable(x.clone()), y.into_operand()]).swap_remove(1);
    let y = cast(y.checked()?, x.dtype())?;
    if let Some(arrays) = arrays_of(x, entries)? {
        let rank = arrays[0].ndim() + x.ndim().saturating_sub(arrays.len());
        let first = [x.clone(), DimShuffle::pad_left(&y, rank)?];
        let inputs: Vec<Variable> = first.into_iter().chain(arrays).collect();
        return Variable::apply1(AdvancedIncSubtensor { set }, &inputs);
    }
    let (slots, bounds) = slots_of(entries)?;
    let indices = slots.iter().filter(|s| matches!(s, super::Slot::Index(_))).count();
    let first = [x.clone(), DimShuffle::pad_left(&y, x.ndim().saturating_sub(indices))?];
    let inputs: Vec<Variable> = first.into_iter().chain(bounds).collect();
    Variable::apply1(IncSubtensor { slots, set }, &inputs)
}

/// Collects index entries: `x.index(idx![0, 1..5, .., &i, range(&a, &b)])`.
#[macro_export]
macro_rules! idx {
    ($($entry:expr),* $(,)?) => { [$($crate::ops::Ix::from($entry)),*] };
}
