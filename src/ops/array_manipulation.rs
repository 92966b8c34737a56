//! Shapes as methods: NumPy's functions that move, repeat and cut, composed of views, joins and gathers.

use super::axes::{Axes, normalize_axis};
use super::creation::{arange, arange_between, extent_scalar, full, int_scalar};
use super::elementwise_methods::where_;
use super::elemwise::cast;
use super::index_expression::{Ix, range};
use super::index_routines::CheckIndex;
use super::indexing::number;
use super::join::{concatenate, int_vector};
use super::methods::{fail, methods};
use super::search::Side;
use super::shape::{BroadcastTo, DimShuffle, Extent, Reshape, ShapeOf};
use super::shape_argument::IntoSize;
use super::specify_shape::{EqualExtents, SpecifyShape};
use crate::error::Result;
use crate::graph::{IntoOperand, Operand, Variable, source_location};
use crate::value::Value;
use workalike_kernels::{DType, Scalar};

/// An entry for each axis: `entry` for one of them, everything of the others.
pub(super) fn along(axis: usize, entry: Ix) -> Vec<Ix> {
    let mut entries = vec![Ix::from(..); axis];
    entries.push(entry);
    entries
}

pub(super) fn axis_of(op: &str, axis: isize, x: &Variable) -> Result<usize> {
    normalize_axis(axis, x.ndim()).map_err(|m| fail(op, m))
}

/// The static extent, or the run-time one.
pub(super) fn extent(x: &Variable, axis: usize) -> Result<Variable> {
    ShapeOf::of(x, axis)
}

/// Where the position along `axis1` plus `offset` is the position along `axis2`: compared by `compare`.
fn compared(
    x: &Variable,
    offset: i64,
    compare: impl Fn(&Variable, &Variable) -> Variable,
) -> Result<Variable> {
    let rank = x.ndim();
    let rows = DimShuffle::of(&arange(extent(x, rank - 2)?), vec![Some(0), None])?;
    Ok(compare(&(rows + offset), &arange(extent(x, rank - 1)?)))
}

/// How far below and how far right of the main diagonal this one begins.
fn beside(offset: i64) -> [i64; 2] {
    [offset.saturating_neg().max(0), offset.max(0)]
}

fn zero_of(x: &Variable) -> Variable {
    Variable::constant(Value::scalar(Scalar::from_f64(x.dtype(), 0.0)))
}

fn matrix_only(op: &str, x: &Variable) -> Result<()> {
    if x.ndim() < 2 {
        return Err(fail(op, format!("{} has fewer than two axes", x.ty())));
    }
    Ok(())
}

/// A count as an int64.
fn whole(op: &str, count: usize) -> Result<i64> {
    i64::try_from(count).map_err(|_| fail(op, format!("{count} times")))
}

/// Each element along an axis repeated by its own count: a gather, at the number of counts that end before
/// each position.
fn repeat_each(x: &Variable, counts: &Variable, axis: usize) -> Result<Variable> {
    if counts.ndim() != 1 || !counts.dtype().is_integer() {
        return Err(fail("repeat", format!("the counts are {}, not a vector of integers", counts.ty())));
    }
    let counts = cast(&CheckIndex::of("repeat", counts, &number(i64::MAX))?, DType::I64)?;
    let counts = EqualExtents::of("repeat", (&counts, 0), (x, axis))?;
    let ends = counts.try_cumsum(0isize)?;
    let at = ends.try_searchsorted(arange(counts.try_sum(..)?), Side::Right)?;
    x.try_take(at, axis as isize)
}

methods! {
    /// Axes in another order (NumPy's `transpose`).
    #[doc(alias("permute_dims", "dimshuffle"))]
    transpose / try_transpose(x, axes: impl IntoSize) {
        let axes = axes.into_size().numbers("transpose")?;
        let order: Vec<Option<usize>> =
            axes.into_iter().map(|a| axis_of("transpose", a, x).map(Some)).collect::<Result<_>>()?;
        if order.len() != x.ndim() {
            return Err(fail("transpose", format!("{} axes for {}", order.len(), x.ty())));
        }
        DimShuffle::of(x, order)
    }
    /// One axis moved to another position.
    moveaxis / try_moveaxis(x, from: isize, to: isize) {
        let (from, to) = (axis_of("moveaxis", from, x)?, axis_of("moveaxis", to, x)?);
        let mut order: Vec<Option<usize>> = (0..x.ndim()).filter(|&a| a != from).map(Some).collect();
        order.insert(to, Some(from));
        DimShuffle::of(x, order)
    }
    /// Two axes in each other's place.
    swapaxes / try_swapaxes(x, a: isize, b: isize) {
        let mut order: Vec<Option<usize>> = (0..x.ndim()).map(Some).collect();
        order.swap(axis_of("swapaxes", a, x)?, axis_of("swapaxes", b, x)?);
        DimShuffle::of(x, order)
    }
    /// Without these axes, whose extent is 1; an error if it is not, at run time where it is not known
    /// before.
    squeeze / try_squeeze(x, axes: impl Axes) {
        let axes = axes.axes(x.ndim()).map_err(|m| fail("squeeze", m))?;
        let extents: Vec<Option<usize>> = (0..x.ndim()).map(|a| axes.contains(&a).then_some(1)).collect();
        let known = axes.iter().all(|&a| x.ty().shape[a] == Some(1));
        let x = if known { x.clone() } else { x.try_specify_shape(extents)? };
        DimShuffle::of(&x, (0..x.ndim()).filter(|a| !axes.contains(a)).map(Some).collect())
    }
    /// All elements along one axis, row by row (NumPy's `ravel`).
    #[doc(alias("ravel"))]
    flatten / try_flatten(x) { Reshape::of(x, vec![Extent::Infer], &[]) }
    /// `x`, whose extents are these where one is given; an error at run time where they are not.
    specify_shape / try_specify_shape(x, extents: impl Into<Vec<Option<usize>>>) {
        Variable::apply1(SpecifyShape { extents: extents.into() }, std::slice::from_ref(x))
    }
    /// The extents, as an int64 vector.
    shape / try_shape(x) {
        int_vector((0..x.ndim()).map(|a| extent(x, a).map(Operand::Variable)).collect::<Result<_>>()?)
    }
    /// The array again and again along each axis; more counts than axes put new axes before (NumPy's `tile`).
    tile / try_tile(x, counts: impl IntoSize) {
        let counts = lengths("tile", counts)?;
        let rank = x.ndim().max(counts.len());
        let x = DimShuffle::pad_left(x, rank)?;
        let missing = rank - counts.len();
        let count = |axis: usize| if axis < missing { 1 } else { counts[axis - missing] };
        // Each axis gets one before it, along which it is repeated, and is merged with it.
        let order = (0..rank).flat_map(|a| [None, Some(a)]).collect();
        let split = DimShuffle::of(&x, order)?;
        let extents: Vec<Variable> = (0..rank).map(|a| extent(&x, a)).collect::<Result<_>>()?;
        let list = (0..rank).flat_map(|a| [Extent::Fixed(count(a)), Extent::Input(a)]).collect();
        let repeated = BroadcastTo::of(&split, list, &extents)?;
        let merged: Vec<Variable> = extents
            .iter()
            .enumerate()
            .map(|(a, e)| e.try_mul(whole("tile", count(a))?))
            .collect::<Result<_>>()?;
        Reshape::of(&repeated, (0..rank).map(Extent::Input).collect(), &merged)
    }
    /// Each element repeated along an axis: by a number, a 0-d Variable, or a vector with a count for each
    /// element along it (NumPy's `repeat`).
    ///
    /// # Errors
    /// Besides of type: a count below 0; counts of another length than the axis.
    repeat / try_repeat(x, counts: impl IntoOperand, axis: isize) {
        let axis = axis_of("repeat", axis, x)?;
        let rank = x.ndim();
        let count = match counts.into_operand() {
            Operand::Int(n) => match i64::try_from(n).ok().filter(|n| *n >= 0) {
                Some(n) => Operand::Int(n.into()),
                None => return Err(fail("repeat", format!("each element {n} times"))),
            },
            Operand::Variable(counts) if counts.ty().shape[..] == [Some(1)] => {
                return x.try_repeat(counts.try_squeeze(0isize)?, axis as isize);
            }
            Operand::Variable(counts) if counts.ndim() > 0 => return repeat_each(x, &counts, axis),
            Operand::Variable(count) => {
                let count = int_scalar("repeat", Operand::Variable(count))?;
                Operand::Variable(CheckIndex::of("repeat", &count, &number(i64::MAX))?)
            }
            other => return Err(fail("repeat", format!("each element {other:?} times"))),
        };
        let order = (0..=axis).map(Some).chain([None]).chain((axis + 1..rank).map(Some)).collect();
        let split = DimShuffle::of(x, order)?;
        let extents: Vec<Variable> = (0..rank).map(|a| extent(x, a)).collect::<Result<_>>()?;
        let list = |new: Option<Extent>| -> Vec<Extent> {
            (0..=axis).map(Extent::Input).chain(new).chain((axis + 1..rank).map(Extent::Input)).collect()
        };
        let (new, of_count) = Extent::list("repeat", vec![count.clone()])?;
        let new = new.into_iter().next().map(|e| if e == Extent::Input(0) { Extent::Input(rank) } else { e });
        let given: Vec<Variable> = extents.iter().chain(&of_count).cloned().collect();
        let repeated = BroadcastTo::of(&split, list(new), &given)?;
        let mut merged = extents;
        merged[axis] = merged[axis].try_mul(count)?;
        Reshape::of(&repeated, list(None), &merged)
    }
    /// Elements moved along an axis by a number or 0-d integer Variable, those beyond the end to the front.
    /// Along several axes, `[1, -1]` and `[0, 1]`; one number holds for all of them.
    #[doc(alias("shift"))]
    roll / try_roll(x, shift: impl IntoSize, axis: impl IntoSize) {
        let (shifts, axes) = (shift.into_size().operands()?, axis.into_size().numbers("roll")?);
        if shifts.len() != axes.len() && shifts.len() != 1 {
            return Err(fail("roll", format!("{} shifts for {} axes", shifts.len(), axes.len())));
        }
        let mut along_each = axes.into_iter().zip(shifts.iter().cycle());
        along_each.try_fold(x.clone(), |x, (axis, shift)| rolled(&x, shift, axis_of("roll", axis, &x)?))
    }
    /// The other way round along axes.
    #[doc(alias("reverse"))]
    flip / try_flip(x, axes: impl Axes) {
        let axes = axes.axes(x.ndim()).map_err(|m| fail("flip", m))?;
        let entries: Vec<Ix> =
            (0..x.ndim()).map(|a| Ix::from(..).step(if axes.contains(&a) { -1 } else { 1 })).collect();
        if axes.is_empty() { Ok(x.clone()) } else { x.try_index(entries) }
    }
    /// Differences of neighbours along an axis, so many times.
    diff / try_diff(x, times: usize, axis: isize) {
        let axis = axis_of("diff", axis, x)?;
        let mut x = x.clone();
        for _ in 0..times {
            let [after, before] = [Ix::from(1..), Ix::from(..-1)].map(|part| x.try_index(along(axis, part)));
            x = if x.dtype() == DType::Bool { after?.try_not_equal(before?)? } else { after?.try_sub(before?)? };
        }
        Ok(x)
    }
    /// Zeros above the diagonal that lies `offset` above the main one, of the last two axes.
    tril / try_tril(x, offset: i64) {
        matrix_only("tril", x)?;
        let keep = compared(x, offset, |row, column| row.greater_equal(column))?;
        where_(keep, x, zero_of(x)).checked().cloned()
    }
    /// Zeros below the diagonal that lies `offset` above the main one, of the last two axes.
    triu / try_triu(x, offset: i64) {
        matrix_only("triu", x)?;
        let keep = compared(x, offset, |row, column| row.less_equal(column))?;
        where_(keep, x, zero_of(x)).checked().cloned()
    }
    /// The diagonal `offset` above the main one of two axes, which go; it is the last axis of the result.
    diagonal / try_diagonal(x, offset: i64, axis1: isize, axis2: isize) {
        matrix_only("diagonal", x)?;
        let (a, b) = (axis_of("diagonal", axis1, x)?, axis_of("diagonal", axis2, x)?);
        if a == b {
            return Err(fail("diagonal", format!("axis {a} of {} twice", x.ty())));
        }
        let rest = (0..x.ndim()).filter(|&c| c != a && c != b);
        let moved = DimShuffle::of(x, [a, b].into_iter().chain(rest).map(Some).collect())?;
        let [down, right] = beside(offset);
        let len = (extent(x, a)? - down).minimum(extent(x, b)? - right).maximum(0i64);
        let at = &arange(len);
        let taken = moved.try_index([Ix::from(at + down), Ix::from(at + right)])?;
        taken.try_moveaxis(0, -1)
    }
    /// Of a vector the square matrix with it on the diagonal `offset` above the main one; of a matrix that
    /// diagonal.
    diag / try_diag(x, offset: i64) {
        if x.ndim() != 1 {
            return x.try_diagonal(offset, 0, 1);
        }
        let n = &extent(x, 0)?;
        let [down, right] = beside(offset);
        let size = &(n + down + right);
        let at = [down, right].map(|from| Ix::from(arange_between(from, n + from, 1)));
        full([size, size], zero_of(x)).try_set_index(at, x)
    }
    /// The sum of a diagonal of the first two axes.
    trace / try_trace(x, offset: i64) { x.try_diagonal(offset, 0, 1)?.try_sum(-1) }
    /// `x` with this number on the main diagonal of its last two axes.
    fill_diagonal / try_fill_diagonal(x, value: impl IntoOperand) {
        matrix_only("fill_diagonal", x)?;
        let value = Operand::resolve(vec![Operand::Variable(x.clone()), value.into_operand()]).swap_remove(1);
        let on = compared(x, 0, |row, column| row.equal(column))?;
        where_(on, cast(&value, x.dtype())?, x).checked().cloned()
    }
    /// A new last axis of so many classes, 1 at the class that x names and 0 elsewhere, as this dtype.
    #[doc(alias("to_one_hot"))]
    one_hot / try_one_hot(x, classes: impl IntoOperand, dtype: DType) {
        if !x.dtype().is_integer() {
            return Err(fail("one_hot", format!("{} names no classes", x.ty())));
        }
        let labels = DimShuffle::keep_dims(x, &[x.ndim()])?;
        cast(&labels.equal(arange(classes)), dtype)
    }
}

fn rolled(x: &Variable, shift: &Operand, axis: usize) -> Result<Variable> {
    let n = &extent(x, axis)?;
    // Where the part begins that comes first.
    let cut = &(n - int_scalar("roll", shift.clone())? % n);
    let [back, front] = [range(cut, n), range(0i64, cut)].map(|part| x.try_index(along(axis, part)));
    concatenate([back?, front?], axis as isize).checked().cloned()
}

/// Numbers that are not negative.
fn lengths(op: &str, list: impl IntoSize) -> Result<Vec<usize>> {
    let list = list.into_size().numbers(op)?.into_iter();
    list.map(|n| usize::try_from(n).map_err(|_| fail(op, format!("{n} is negative")))).collect()
}

impl Variable {
    /// Consecutive parts of these lengths along an axis.
    ///
    /// # Errors
    /// If the axis is out of range. Lengths that do not add up to the extent are an error at run time, or
    /// here if it is known.
    #[track_caller]
    pub fn try_split(&self, lens: impl IntoSize, axis: isize) -> Result<Vec<Variable>> {
        let _scope = source_location::enter();
        let lens = lengths("split", lens)?;
        let axis = axis_of("split", axis, self.checked()?)?;
        let total = lens.iter().try_fold(0usize, |total, &len| total.checked_add(len));
        let total = total.ok_or_else(|| fail("split", "more elements than there can be".into()))?;
        let extents: Vec<Option<usize>> = (0..self.ndim()).map(|a| (a == axis).then_some(total)).collect();
        let x = self.try_specify_shape(extents)?;
        let mut start = 0;
        let part = |&len: &usize| {
            start += len as i64;
            x.try_index(along(axis, Ix::from(start - len as i64..start)))
        };
        lens.iter().map(part).collect()
    }

    /// [`Variable::try_split`], with errors in the parts.
    #[track_caller]
    #[must_use]
    pub fn split(&self, lens: impl IntoSize, axis: isize) -> Vec<Variable> {
        let lens = lens.into_size();
        let parts = lens.len();
        self.try_split(lens, axis).unwrap_or_else(|e| vec![Variable::poison(e); parts])
    }
}

/// Ones at and below the diagonal `offset` above the main one, zeros elsewhere. All three are numbers or 0-d
/// integer Variables.
#[track_caller]
pub fn tri(
    rows: impl IntoOperand,
    columns: impl IntoOperand,
    offset: impl IntoOperand,
    dtype: DType,
) -> Variable {
    let _scope = source_location::enter();
    grid(
        "tri",
        [rows.into_operand(), columns.into_operand(), offset.into_operand()],
        dtype,
        Variable::greater_equal,
    )
}

/// Ones on the diagonal `offset` above the main one, zeros elsewhere. All three are numbers or 0-d integer
/// Variables; it depends on none of them smoothly, so there is no gradient.
///
/// ```
/// use workalike::ops::eye;
/// use workalike::prelude::*;
/// let k = scalar::<i64>("k");
/// let f = function([&k]).output(eye(2, 3, &k, DType::F32)).compile()?;
/// assert_eq!(f.call(args![1])?[0].to_vec::<f32>()?, [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
///
/// # Errors
/// (In the result.) If one is no integer, or an extent is negative; at run time for Variables.
#[track_caller]
pub fn eye(
    rows: impl IntoOperand,
    columns: impl IntoOperand,
    offset: impl IntoOperand,
    dtype: DType,
) -> Variable {
    let _scope = source_location::enter();
    grid("eye", [rows.into_operand(), columns.into_operand(), offset.into_operand()], dtype, Variable::equal)
}

/// A bool matrix: a comparison of row number + offset with column number.
fn grid(
    op: &'static str,
    [rows, columns, offset]: [Operand; 3],
    dtype: DType,
    compare: impl Fn(&Variable, Variable) -> Variable,
) -> Variable {
    let build = || {
        let rows = arange(extent_scalar(op, rows)?);
        let rows = DimShuffle::of(rows.checked()?, vec![Some(0), None])? + int_scalar(op, offset)?;
        cast(&compare(&rows, arange(extent_scalar(op, columns)?)), dtype)
    };
    build().unwrap_or_else(Variable::poison)
}

/// Vectors as grids of all their combinations: the first varies along the first axis (NumPy's `meshgrid(..,
/// indexing="ij")`).
#[track_caller]
pub fn meshgrid(list: impl IntoIterator<Item = impl Into<Variable>>) -> Vec<Variable> {
    let list: Vec<Variable> = list.into_iter().map(Into::into).collect();
    let _scope = source_location::enter();
    let rank = list.len();
    let build = |at: usize| -> Result<Variable> {
        let x = list[at].checked()?;
        if x.ndim() != 1 {
            return Err(fail("meshgrid", format!("{} is not a vector", x.ty())));
        }
        let extents: Vec<Variable> = list.iter().map(|v| extent(v.checked()?, 0)).collect::<Result<_>>()?;
        let order = (0..rank).map(|a| (a == at).then_some(0)).collect();
        BroadcastTo::of(&DimShuffle::of(x, order)?, (0..rank).map(Extent::Input).collect(), &extents)
    };
    (0..rank).map(|at| build(at).unwrap_or_else(Variable::poison)).collect()
}
