//! Sums of products: of multiples, and of what broadcasts to an outer product, which is a matrix product.
//!
//! A sum of products of two vectors stays: a product of vectors is lowered to the same Nest, and a plain sum is the more exact.

use super::super::terms::Terms;
use super::Found;
use crate::kernels::nest::Fold;
use crate::kernels::ops::MUL;
use crate::ops::{DimShuffle, Dot, Op, Reduce, downcast};
use std::sync::Arc;

pub(in super::super) fn rule<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let Some(sum) = downcast::<Reduce>(op) else { return Ok(None) };
    let ty = t.ty(&inputs[0]);
    // Halves are rounded between, and others than the result's dtype wrap or are wider.
    let plain = sum.fold == Fold::Sum && ty.dtype == sum.dtype && sum.acc_dtype == sum.dtype;
    if !plain || ty.dtype.is_half() {
        return Ok(None);
    }
    let Some((MUL, factors)) = t.elemwise(&inputs[0]) else { return Ok(None) };
    let [a, b] = &factors[..] else { return Ok(None) };
    for (number, other) in [(a, b), (b, a)] {
        if let Some(multiple) = of_multiples(t, sum, number, other)? {
            return Ok(Some(multiple));
        }
    }
    if ty.dtype.is_float() { matrix_product(t, sum, a, b) } else { Ok(None) }
}

/// `sum(c * x)` as `c * sum(x)`, for a number that cannot make finite sums overflow nor turn a sum of 0 to -0.0: of floats, one
/// from 1 on. (Single products that overflow do so no longer where their sum is in range.)
fn of_multiples<T: Terms>(t: &mut T, sum: &Reduce, number: &T::V, x: &T::V) -> Found<T> {
    let Some(c) = t.uniform(number) else { return Ok(None) };
    let ty = t.ty(x);
    let exact = if ty.dtype.is_float() { (1.0..f64::INFINITY).contains(&c) } else { c.abs() < 2f64.powi(53) };
    if !exact || !t.has_type_of_both(x, number) || t.uniform(x).is_some() {
        return Ok(None);
    }
    let total = t.apply(Arc::new(sum.clone()), vec![x.clone()])?;
    let c = t.number(&total, c)?;
    t.make(MUL, &[&total, &c]).map(Some)
}

/// `sum(a * b)` where each factor has axes that the other broadcasts along: their product as matrices.
fn matrix_product<T: Terms>(t: &mut T, sum: &Reduce, a: &T::V, b: &T::V) -> Found<T> {
    let (left, right) = (t.ty(a), t.ty(b));
    let (mut rows, mut columns, mut summed) = (vec![], vec![], vec![]);
    // The axes of the result: of the rows, of the columns, or new.
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
            // An axis of both that stays, of one that is summed over, or along which one may broadcast.
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
