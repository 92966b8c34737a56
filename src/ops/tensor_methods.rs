//! NumPy-like methods of Variables that are not elementwise.

use super::elemwise::cast;
use super::index_expression::Ix;
use super::indexing::{self, Combine};
use super::methods::{fail, methods};
use super::shape::{BroadcastTo, DimShuffle, Reshape, ShapeOf};
use super::shape_argument::IntoSize;
use crate::graph::{IntoOperand, Operand, Variable};
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;

methods! {
    /// Converted to another dtype.
    #[doc(alias("astype"))]
    cast / try_cast(x, dtype: DType) { Ok(cast(x, dtype)?.with_weakness(false)) }
    /// NumPy's `dot`: over the last axis, and the one before the last of `other`, which may have one axis
    /// only; numbers multiply.
    #[doc(alias("matmul"))]
    dot / try_dot(x, other: impl Into<Variable>) { super::dot::dot(x, &other.into()) }
    /// Axes permuted; `None` is a new axis, axes of static extent 1 may be left out.
    #[doc(alias("newaxis", "permute_dims"))]
    dimshuffle / try_dimshuffle(x, order: impl Into<Vec<Option<usize>>>) { DimShuffle::of(x, order.into()) }
    /// Axes in reverse order.
    t / try_t(x) { DimShuffle::of(x, (0..x.ndim()).rev().map(Some).collect()) }
    /// A new axis of extent 1 before this position (negative: from the end).
    expand_dims / try_expand_dims(x, axis: isize) {
        let at = super::axes::normalize_axis(axis, x.ndim() + 1).map_err(|m| fail("expand_dims", m))?;
        DimShuffle::keep_dims(x, &[at])
    }
    /// The same elements under a shape of numbers and 0-d integer Variables, of which one may be -1.
    #[doc(alias("view"))]
    reshape / try_reshape(x, shape: impl IntoSize) {
        let (extents, further) = shape.into_size().extents_or_inferred("reshape")?;
        Reshape::of(x, extents, &further)
    }
    /// Repeated to a shape of numbers and 0-d integer Variables (NumPy's `broadcast_to`); axes of extent 1
    /// repeat.
    broadcast_to / try_broadcast_to(x, shape: impl IntoSize) {
        let (extents, further) = shape.into_size().extents("broadcast_to")?;
        BroadcastTo::of(x, extents, &further)
    }
    /// The extent of an axis, as a 0-d int64. It is weak, as a number is: `&x / x.extent(0)` of float32 is
    /// float32 (see [`Variable`]).
    #[doc(alias("shape", "size"))]
    extent / try_extent(x, axis: isize) {
        let axis = super::axes::normalize_axis(axis, x.ndim()).map_err(|m| fail("extent", m))?;
        Ok(ShapeOf::of(x, axis)?.with_weakness(true))
    }
    /// `x[..]` with the entries of [`crate::idx!`], by NumPy's rules: numbers, slices, 0-d integer Variables,
    /// [`NEWAXIS`](super::NEWAXIS), [`ELLIPSIS`](super::ELLIPSIS), integer arrays and boolean arrays, in any
    /// mix. Arrays broadcast together; their axes stand where the arrays stood if these are neighbours, else
    /// in front.
    ///
    /// A boolean array makes a result whose extent depends on values: they are worked out on the host before
    /// each call.
    #[doc(alias("getitem", "subtensor", "gather"))]
    index / try_index(x, entries: impl AsRef<[Ix]>) { indexing::read(x, entries.as_ref()) }
    /// The elements at integer positions along an axis, which is replaced by the axes of `indices`; negative
    /// ones count from the end.
    #[doc(alias("gather", "embedding"))]
    take / try_take(x, indices: impl IntoOperand, axis: isize) {
        let axis = super::axes::normalize_axis(axis, x.ndim()).map_err(|m| fail("take", m))?;
        let indices = Operand::resolve(vec![indices.into_operand()]).swap_remove(0);
        let new = indices.checked()?.ndim();
        let front: Vec<Option<usize>> = std::iter::once(axis).chain((0..x.ndim()).filter(|&a| a != axis)).map(Some).collect();
        let taken = DimShuffle::of(x, front)?.try_index([Ix::from(indices)])?;
        // The new axes stand in front.
        let order = (new..new + axis).chain(0..new).chain(new + axis..taken.ndim()).map(Some);
        DimShuffle::of(&taken, order.collect())
    }
    /// `x` with `x[entries]` replaced by `y`, which broadcasts to it. Where indices repeat, the last in
    /// row-major order holds.
    #[doc(alias("set_subtensor", "scatter"))]
    set_index / try_set_index(x, entries: impl AsRef<[Ix]>, y: impl IntoOperand) {
        indexing::write(x, entries.as_ref(), y.into_operand(), Combine::Set)
    }
    /// `x` with `y` added to `x[entries]`; increments of repeated indices add up (NumPy's `add.at`).
    #[doc(alias("inc_subtensor", "add_at", "scatter_add", "index_add"))]
    inc_index / try_inc_index(x, entries: impl AsRef<[Ix]>, y: impl IntoOperand) {
        indexing::write(x, entries.as_ref(), y.into_operand(), Combine::Add)
    }
    /// `x` with `x[entries]` multiplied by `y`, once for each time an index is repeated (NumPy's
    /// `multiply.at`).
    mul_index / try_mul_index(x, entries: impl AsRef<[Ix]>, y: impl IntoOperand) {
        indexing::write(x, entries.as_ref(), y.into_operand(), Combine::Fold(Fold::Product))
    }
    /// `x` with the larger of `x[entries]` and `y`; the largest of all values where an index repeats (NumPy's
    /// `maximum.at`).
    max_index / try_max_index(x, entries: impl AsRef<[Ix]>, y: impl IntoOperand) {
        indexing::write(x, entries.as_ref(), y.into_operand(), Combine::Fold(Fold::Max))
    }
    /// `x` with the smaller of `x[entries]` and `y`; the smallest of all values where an index repeats
    /// (NumPy's `minimum.at`).
    min_index / try_min_index(x, entries: impl AsRef<[Ix]>, y: impl IntoOperand) {
        indexing::write(x, entries.as_ref(), y.into_operand(), Combine::Fold(Fold::Min))
    }
}

/// Collects index entries: `x.index(idx![0, 1..5, .., &i, range(&a, &b), NEWAXIS, ELLIPSIS, [2, 0, 5],
/// &mask])`.
#[macro_export]
macro_rules! idx {
    ($($entry:expr),* $(,)?) => { [$($crate::ops::Ix::from($entry)),*] };
}
