//! Diagonals, which a trace sums: of products, of elementwise results, of transposes. A diagonal is a gather
//! at pairs of equal positions, from the first on. No rule loses the error of a position that is out of
//! range.

use super::super::terms::Terms;
use super::Root::Op as Of;
use super::{Found, rules};
use crate::error::Result;
use crate::op::{Known, Op};
use crate::ops::elemwise::{Cast, Elemwise};
use crate::ops::{AdvancedSubtensor, DimShuffle, Dot, Reduce};
use crate::value::Value;
use std::sync::Arc;
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::MUL;

rules! {
    gather_all on Of("advanced_subtensor") => "x[[0, 1, .. n - 1]] is x, where its first axis has n elements";
    gather_transposed on Of("advanced_subtensor") => "x.T[i, j] is x[j, i]";
    diagonal_of_product on Of("advanced_subtensor") =>
        "the diagonal of dot(a, b) is the sums of the rows of a * b.T, in float32 and float64, where neither \
         factor broadcasts; so trace(dot(a, b)) is sum(a * b.T)";
    diagonal_of_elementwise on Of("advanced_subtensor") =>
        "the diagonal of f(x, y) is f of the diagonals, where nothing else reads f(x, y)";
}

/// Whether a vector of integers is 0, 1, 2 and so on.
fn counts<T: Terms>(t: &T, i: &T::V) -> bool {
    if t.ty(i).ndim() != 1 {
        return false;
    }
    if let Some(value) = t.value(i) {
        return value.scalars().enumerate().all(|(at, number)| number.to_i128() == at as i128);
    }
    let Some((op, args)) = t.owner(i) else { return false };
    if args.iter().any(|arg| t.ty(arg).ndim() != 0) {
        return false;
    }
    let values: Vec<Option<Value>> = args.iter().map(|arg| t.value(arg)).collect();
    let known = args.iter().zip(&values);
    let known = known.map(|(arg, value)| Known { dtype: t.ty(arg).dtype, shape: &[], value: value.as_ref() });
    let known: Vec<Known> = known.collect();
    op.range(&known) == Some([0, 1])
}

/// A matrix and the positions along both of its axes, if its diagonal is taken from the first element on.
fn diagonal<'v, T: Terms>(t: &T, inputs: &'v [T::V]) -> Option<(&'v T::V, &'v T::V)> {
    let [x, i, j] = inputs else { return None };
    (i == j && t.ty(x).ndim() == 2 && counts(t, i)).then_some((x, i))
}

/// Whether these positions are all along the first axis of `x`, in order.
fn is_all<T: Terms>(t: &T, x: &T::V, i: &T::V) -> bool {
    let Some(count) = t.value(i).map(|value| value.len()) else { return false };
    t.ty(x).shape.first() == Some(&Some(count)) && counts(t, i)
}

/// `x[i]`.
fn gathered<T: Terms>(t: &mut T, x: T::V, i: &T::V) -> Result<T::V> {
    if is_all(t, &x, i) { Ok(x) } else { t.apply(Arc::new(AdvancedSubtensor), vec![x, i.clone()]) }
}

/// The matrix that this is the transpose of.
fn untransposed<T: Terms>(t: &T, x: &T::V) -> Option<T::V> {
    let (op, args) = t.owner(x)?;
    let turned = op.downcast::<DimShuffle>()?.order == [Some(1), Some(0)];
    args.into_iter().next().filter(|x| turned && t.ty(x).ndim() == 2)
}

fn gather_all<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [x, i] = inputs else { return Ok(None) };
    Ok(is_all(t, x, i).then(|| x.clone()))
}

fn gather_transposed<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let [x, i, j] = inputs else { return Ok(None) };
    match untransposed(t, x) {
        Some(x) => t.apply(Arc::new(AdvancedSubtensor), vec![x, j.clone(), i.clone()]).map(Some),
        None => Ok(None),
    }
}

/// Where something else reads the product, the diagonal adds no more than one part in as many as the product
/// has rows or columns: extents that are not known are read of the product itself.
fn diagonal_of_product<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some((x, i)) = diagonal(t, inputs) else { return Ok(None) };
    let Some((op, factors)) = t.owner(x) else { return Ok(None) };
    let (Some(&Dot::PLAIN), [a, b]) = (op.downcast::<Dot>(), &factors[..]) else { return Ok(None) };
    let (left, right) = (t.ty(a), t.ty(b));
    let (&[_, summed], &[same, _]) = (&left.shape[..], &right.shape[..]) else { return Ok(None) };
    let dtype = left.dtype;
    if !dtype.is_float() || dtype.is_half() {
        return Ok(None);
    }
    // A product of matrices does not broadcast where one extent turns out to be 1.
    let columns = match untransposed(t, b) {
        Some(columns) if t.equal_extents(a, &columns, 1) => columns,
        None if summed.is_some() && summed == same => {
            t.apply(Arc::new(DimShuffle { order: vec![Some(1), Some(0)] }), vec![b.clone()])?
        }
        _ => return Ok(None),
    };
    let (a, b) = (gathered(t, a.clone(), i)?, gathered(t, columns, i)?);
    let products = t.make(MUL, &[&a, &b])?;
    let sum = Reduce { fold: Fold::Sum, axes: vec![1], acc_dtype: dtype, dtype, over_nothing: false };
    t.apply(Arc::new(sum), vec![products]).map(Some)
}

fn diagonal_of_elementwise<T: Terms>(t: &mut T, _: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some((x, i)) = diagonal(t, inputs) else { return Ok(None) };
    let Some((op, args)) = t.owner(x) else { return Ok(None) };
    let by_element = op.downcast::<Elemwise>().is_some() || op.downcast::<Cast>().is_some();
    if !by_element || !t.is_read_once(x) {
        return Ok(None);
    }
    let is_one = |t: &T, arg: &T::V| t.ty(arg).shape.iter().all(|extent| *extent == Some(1));
    // The index stays with one that has both extents; numbers broadcast as before.
    let Some(matrix) = args.iter().find(|arg| !is_one(t, arg)) else { return Ok(None) };
    let fits = |arg: &T::V| is_one(t, arg) || (0..2).all(|axis| t.equal_extents(matrix, arg, axis));
    if !args.iter().all(fits) {
        return Ok(None);
    }
    let mut parts = Vec::with_capacity(args.len());
    for arg in &args {
        parts.push(if is_one(t, arg) {
            t.apply(Arc::new(DimShuffle { order: vec![Some(0)] }), vec![arg.clone()])?
        } else {
            t.apply(Arc::new(AdvancedSubtensor), vec![arg.clone(), i.clone(), i.clone()])?
        });
    }
    t.apply(op, parts).map(Some)
}
