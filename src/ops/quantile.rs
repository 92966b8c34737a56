//! Quantiles: numbers between the elements of sorted rows.

use super::axes::Axes;
use super::creation::full;
use super::cumulative::positions;
use super::elementwise_methods::where_;
use super::elemwise::cast;
use super::join::concatenate;
use super::methods::fail;
use super::reduce::Reduce;
use super::shape::{DimShuffle, Extent, Reshape, ShapeOf};
use super::sort::{Sort, Sorted};
use crate::error::Result;
use crate::graph::Variable;
use workalike_kernels::DType;

/// The chosen axes as one, at the end; the other axes in front.
fn axes_last(x: &Variable, axes: &[usize]) -> Result<Variable> {
    let kept: Vec<usize> = (0..x.ndim()).filter(|a| !axes.contains(a)).collect();
    let order: Vec<Option<usize>> = kept.iter().chain(axes).map(|&a| Some(a)).collect();
    let moved = if order.iter().enumerate().all(|(i, o)| *o == Some(i)) {
        x.clone()
    } else {
        DimShuffle::of(x, order)?
    };
    if axes.len() == 1 {
        return Ok(moved);
    }
    let extents: Result<Vec<_>> =
        kept.iter().map(|&a| ShapeOf::of(x, a).map(crate::graph::Operand::Variable)).collect();
    let (mut extents, further) = Extent::list("quantile", extents?)?;
    extents.push(Extent::Infer);
    Reshape::of(&moved, extents, &further)
}

/// Rows of `n` elements along the last axis; rows of one NaN, or of one 0 in integers, if they have none.
fn or_one_element(rows: &Variable, n: &Variable) -> Result<Variable> {
    let axis = rows.ndim() - 1;
    if rows.ty().shape[axis].is_some_and(|n| n > 0) {
        return Ok(rows.clone());
    }
    let kept = (0..axis).map(|axis| ShapeOf::of(rows, axis)).collect::<Result<Vec<_>>>()?;
    let shape = kept.into_iter().chain([n.equal(0i64).cast(DType::I64)]);
    let none = if rows.dtype().is_float() { f64::NAN } else { 0.0 };
    let one = full(shape.collect::<Vec<_>>(), none).cast(rows.dtype());
    concatenate([rows, &one], axis as isize).checked().cloned()
}

/// Quantiles over axes by linear interpolation; without NaN, or NaN where there is one.
pub(super) fn quantile(op: &str, x: &Variable, q: f64, axes: &impl Axes, skip_nan: bool) -> Result<Variable> {
    if !(0.0..=1.0).contains(&q) {
        return Err(fail(op, format!("a quantile is within 0 and 1, not {q}")));
    }
    let list = axes.axes(x.ndim()).map_err(|m| fail(op, m))?;
    let dtype = if x.dtype().is_float() { x.dtype() } else { DType::F64 };
    let row = axes_last(x, &list)?;
    let axis = row.ndim() - 1;
    let row =
        &Variable::apply1(Sort { axis, descending: false, first: None, gives: Sorted::Values }, &[row])?;
    let wide = dtype.register();
    let n = ShapeOf::of(row, axis)?;
    let row = &or_one_element(row, &n)?;
    let result = if !dtype.is_float() || !skip_nan || !x.dtype().is_float() {
        let place = n.cast(DType::F64).try_sub(1.0)?.try_mul(q)?;
        let low = place.floor();
        let part = cast(&place.try_sub(&low)?, wide)?;
        let at = |position: Variable| cast(&row.try_take(position.cast(DType::I64), axis as isize)?, wide);
        let (a, b) = (&at(low.clone())?, &at(low.try_add(1.0)?.try_minimum(n.cast(DType::F64) - 1.0)?)?);
        let between = between(a, b, &part)?;
        let numbers = if x.dtype().is_float() {
            let last = at(n.cast(DType::F64) - 1.0)?;
            where_(last.isnan(), f64::NAN, between)
        } else {
            between
        };
        where_(n.equal(0i64), f64::NAN, numbers)
    } else {
        // NaN are at the end; how many numbers stand before them differs from row to row, so both are found
        // by their position.
        let number = row.isnan().equal(false);
        let count = Reduce::sum_in(&cast(&number, DType::F64)?, &[axis], DType::F64)?;
        let place = count.try_sub(1.0)?.try_maximum(0.0)?.try_mul(q)?;
        let low = place.floor();
        let part = cast(&place.try_sub(&low)?, wide)?;
        let along = positions(row, axis)?.cast(DType::F64);
        let at = |position: &Variable| -> Result<Variable> {
            let here = along.equal(DimShuffle::keep_dims(position, &[axis])?) & &number;
            Reduce::sum_in(&cast(&where_(here, row, 0.0), wide)?, &[axis], wide)
        };
        let high = low.try_add(1.0)?.try_minimum(count.try_sub(1.0)?.try_maximum(0.0)?)?;
        where_(count.equal(0.0), f64::NAN, between(&at(&low)?, &at(&high)?, &part)?)
    };
    let result = cast(&result, axes.choices().dtype.unwrap_or(dtype))?;
    if axes.choices().keepdims { DimShuffle::keep_dims(&result, &list) } else { Ok(result) }
}

/// The number at `part` of the way from `a` to `b`, from the nearer one, as NumPy has it.
fn between(a: &Variable, b: &Variable, part: &Variable) -> Result<Variable> {
    let step = b.try_sub(a)?;
    let near_a = a.try_add(step.try_mul(part)?)?;
    let near_b = b.try_sub(step.try_mul(1.0 - part)?)?;
    let near = where_(part.less(0.5), near_a, near_b);
    // A step that is infinite has no part.
    let apart = a.try_mul(1.0 - part)?.try_add(b.try_mul(part)?)?;
    // Equal infinities have no step. Equal numbers have: each has its part of the slope.
    let ended = a.equal(b) & a.isinf();
    Ok(where_(ended | part.equal(0.0), a, where_(step.isinf(), apart, near)))
}
