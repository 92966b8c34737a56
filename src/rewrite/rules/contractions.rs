//! Sums of products: of multiples, and of factors that broadcast to an outer product, which become matrix
//! products. Products with zeros.
//!
//! A sum of products of two vectors is kept: a product of vectors is lowered to the same Nest, and a plain
//! sum is more accurate.

use super::Root::Op as Of;
use super::{Found, rules};
use crate::op::Op;
use crate::ops::{BroadcastTo, DimShuffle, Dot, Extent, Reduce, ShapeOf};
use crate::rewrite::terms::Terms;
use std::sync::Arc;
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::MUL;

rules! {
    sum_multiple on Of("reduce") =>
        "sum(c * x) is c * sum(x), for a number that cannot make finite sums overflow nor turn a sum of 0 to \
         -0.0: of floats, one from 1 on; single products no longer overflow";
    sum_outer_product on Of("reduce") =>
        "sum(x * y), where each factor has axes that the other broadcasts along, is a product of matrices";
    dot_zeros on Of("dot") =>
        "a product with zeros is zeros, of infinities and NaN too; extents that are summed over must be known";
}

/// A sum of products of two factors, in one dtype: halves are rounded in between, and dtypes other than the
/// result's wrap or are wider.
fn sum_of_products<'o, T: Terms>(t: &T, op: &'o dyn Op, inputs: &[T::V]) -> Option<(&'o Reduce, [T::V; 2])> {
    let sum = op.downcast::<Reduce>()?;
    let dtype = t.ty(&inputs[0]).dtype;
    let plain = sum.fold == Fold::Sum && dtype == sum.dtype && sum.acc_dtype == sum.dtype;
    if !plain || dtype.is_half() {
        return None;
    }
    let (MUL, factors) = t.elemwise(&inputs[0])? else { return None };
    Some((sum, <[T::V; 2]>::try_from(factors).ok()?))
}

fn sum_multiple<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some((sum, [a, b])) = sum_of_products(t, op, inputs) else { return Ok(None) };
    for (number, x) in [(&a, &b), (&b, &a)] {
        let Some(c) = t.uniform(number) else { continue };
        let is_float = t.ty(x).dtype.is_float();
        let exact = if is_float { (1.0..f64::INFINITY).contains(&c) } else { c.abs() < 2f64.powi(53) };
        if !exact || !t.adds_no_extent(x, number) || t.uniform(x).is_some() {
            continue;
        }
        let total = t.apply(Arc::new(sum.clone()), vec![x.clone()])?;
        let c = t.number(&total, c)?;
        return t.make(MUL, &[&total, &c]).map(Some);
    }
    Ok(None)
}

fn sum_outer_product<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    match sum_of_products(t, op, inputs) {
        Some((sum, [a, b])) if sum.dtype.is_float() => matrix_product(t, sum, &a, &b),
        _ => Ok(None),
    }
}

/// Where the extents that are summed over may differ, the product is kept with its error.
fn dot_zeros<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let (Some(dot), [a, b]) = (op.downcast::<Dot>(), inputs) else { return Ok(None) };
    if dot.batch != 0 || !(t.is(a, 0.0) || t.is(b, 0.0)) {
        return Ok(None);
    }
    let (left, right) = (t.ty(a), t.ty(b));
    let Some(own) = left.ndim().checked_sub(dot.contracted) else { return Ok(None) };
    let mut summed = left.shape[own..].iter().zip(&right.shape);
    if !summed.all(|(l, r)| l.is_some() && l == r) {
        return Ok(None);
    }
    let axes = (0..own).map(|axis| (a, axis)).chain((dot.contracted..right.ndim()).map(|axis| (b, axis)));
    let axes: Vec<(&T::V, usize)> = axes.collect();
    let mut given = vec![t.number_of_rank(left.dtype, axes.len(), 0.0)?];
    let mut extents = vec![];
    for (of, axis) in axes {
        extents.push(match t.ty(of).shape[axis] {
            Some(extent) => Extent::Fixed(extent),
            None => {
                given.push(t.apply(Arc::new(ShapeOf { axis }), vec![of.clone()])?);
                Extent::Input(given.len() - 2)
            }
        });
    }
    t.apply(Arc::new(BroadcastTo { extents }), given).map(Some)
}

/// `sum(a * b)` where each factor has axes that the other broadcasts along: their product as matrices.
fn matrix_product<T: Terms>(t: &mut T, sum: &Reduce, a: &T::V, b: &T::V) -> Found<T> {
    let (left, right) = (t.ty(a), t.ty(b));
    let (mut rows, mut columns, mut summed) = (vec![], vec![], vec![]);
    // The axes of the result: rows, columns, or new axes.
    let mut kept = vec![];
    for axis in 0..left.ndim() {
        let is_one = [&left, &right].map(|ty| ty.shape[axis] == Some(1));
        match (is_one, sum.axes.contains(&axis)) {
            // A product of matrices does not broadcast where one extent turns out to be 1.
            ([false, false], true) if t.equal_extents(a, b, axis) => summed.push(axis),
            ([true, true], true) => {}
            ([true, true], false) => kept.push(None),
            ([false, true], false) => {
                kept.push(Some((0, rows.len())));
                rows.push(axis);
            }
            ([true, false], false) => {
                kept.push(Some((1, columns.len())));
                columns.push(axis);
            }
            // An axis of both that is kept, an axis of one that is summed over, or an axis along which one
            // may broadcast.
            _ => return Ok(None),
        }
    }
    if rows.is_empty() || columns.is_empty() || summed.is_empty() {
        return Ok(None);
    }
    let arranged = |t: &mut T, v: &T::V, axes: &[usize], more: &[usize]| {
        let order = axes.iter().chain(more).map(|&axis| Some(axis)).collect();
        t.apply(Arc::new(DimShuffle { order }), vec![v.clone()])
    };
    let a = arranged(t, a, &rows, &summed)?;
    let b = arranged(t, b, &summed, &columns)?;
    let product = t.apply(Arc::new(Dot { batch: 0, contracted: summed.len() }), vec![a, b])?;
    let place = |(side, at): (usize, usize)| if side == 0 { at } else { rows.len() + at };
    let order: Vec<Option<usize>> = kept.into_iter().map(|axis| axis.map(place)).collect();
    if order.iter().enumerate().all(|(at, axis)| *axis == Some(at)) {
        return Ok(Some(product));
    }
    t.apply(Arc::new(DimShuffle { order }), vec![product]).map(Some)
}
