//! Padding: more elements before and after, along each axis, in NumPy's modes. It is composed of joins, and
//! of gathers where the extent is known at run time only.

use super::array_manipulation::{along, extent};
use super::creation::{arange, arange_between};
use super::elementwise_methods::where_;
use super::elemwise::cast;
use super::index_expression::Ix;
use super::index_routines::CheckIndex;
use super::indexing::number;
use super::join::concatenate;
use super::methods::{fail, methods};
use super::shape::{BroadcastTo, DimShuffle, Extent};
use crate::error::Result;
use crate::graph::{Operand, Variable};
use workalike_kernels::DType;

/// What is put around an array by [`Variable::pad`]: NumPy's modes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pad {
    /// This number.
    Constant(f64),
    /// The element at the edge.
    Edge,
    /// Numbers on the line from the edge to this one.
    LinearRamp(f64),
    /// The largest element along the axis.
    Maximum,
    /// The mean along the axis.
    Mean,
    /// The median along the axis.
    Median,
    /// The least element along the axis.
    Minimum,
    /// The array mirrored at its edge, which is not repeated.
    Reflect,
    /// The array mirrored beyond its edge, which is repeated.
    Symmetric,
    /// The array repeated.
    Wrap,
}

/// The parts of `x` that go before and after it along an axis, if its extent is known and no part is longer;
/// for [`Pad::Edge`] the edges.
fn parts(x: &Variable, axis: usize, [before, after]: [usize; 2], mode: Pad) -> Result<Option<[Variable; 2]>> {
    let Some(n) = x.ty().shape[axis] else { return Ok(None) };
    let part = |from: usize, to: usize| x.try_index(along(axis, Ix::from(from..to)));
    let flipped = |from: usize, to: usize| part(from, to)?.try_flip(axis as isize);
    let longest = before.max(after);
    Ok(match mode {
        Pad::Edge if n > 0 => Some([part(0, 1)?, part(n - 1, n)?]),
        Pad::Wrap if longest <= n => Some([part(n - before, n)?, part(0, after)?]),
        Pad::Reflect if longest < n => Some([flipped(1, before + 1)?, flipped(n - 1 - after, n - 1)?]),
        Pad::Symmetric if longest <= n => Some([flipped(0, before)?, flipped(n - after, n)?]),
        _ => None,
    })
}

/// `value`, of extent 1 along an axis, repeated to the shape of `x` with extent `len` along that axis.
fn repeated(value: &Variable, x: &Variable, axis: usize, len: usize) -> Result<Variable> {
    let extent_of = |a: usize| {
        if a == axis { Ok(Operand::Int(len as i128)) } else { extent(x, a).map(Operand::Variable) }
    };
    let shape: Vec<Operand> = (0..x.ndim()).map(extent_of).collect::<Result<_>>()?;
    let (extents, further) = Extent::list("pad", shape)?;
    BroadcastTo::of(value, extents, &further)
}

/// The mean of `x` along an axis of extent `n`, or the median, with extent 1 along it.
fn center(x: &Variable, axis: usize, n: &Variable, median: bool) -> Result<Variable> {
    let reduced = |value: Variable| DimShuffle::keep_dims(&value, &[axis]);
    let center = reduced(if median { x.try_median(axis as isize)? } else { x.try_mean(axis as isize)? })?;
    // An empty axis has none, which is an error of the call.
    let first = CheckIndex::of("pad", &number(0), n)?;
    let center = reduced(center.try_index(along(axis, Ix::from(first)))?)?;
    // As NumPy: to the nearest integer, half to even.
    Ok(if x.dtype().is_integer() { center.rint() } else { center })
}

/// `len` numbers on the line from the element at an edge (index 0 or -1) of an axis to `end`, in the order in
/// which they go before or after `x`.
fn ramp(x: &Variable, axis: usize, edge: i64, end: f64, len: i64) -> Result<Variable> {
    let from = DimShuffle::keep_dims(&x.try_index(along(axis, Ix::from(edge)))?, &[axis])?;
    let steps = arange(len).cast(DType::F64);
    let order = (0..x.ndim()).map(|a| (a == axis).then_some(0)).collect();
    let steps = DimShuffle::of(&if edge == 0 { steps } else { steps.try_flip(0isize)? }, order)?;
    let from = cast(&from, DType::F64)?;
    let value = (from - end) / len.max(1) as f64 * steps + end;
    cast(&if x.dtype().is_integer() { value.floor() } else { value }, x.dtype())
}

/// `x` with one axis padded.
fn pad_axis(x: &Variable, axis: usize, [before, after]: [usize; 2], mode: Pad) -> Result<Variable> {
    let n = &extent(x, axis)?;
    let [Ok(first), Ok(last)] = [before, after].map(i64::try_from) else {
        return Err(fail("pad", format!("{} elements along axis {axis}", before.max(after))));
    };
    if x.ty().shape[axis] == Some(0) && !matches!(mode, Pad::Constant(_)) {
        return Err(fail(
            "pad",
            format!("axis {axis} of {} is empty: only a constant can extend it", x.ty()),
        ));
    }
    let same = |value: &Variable, len: usize| repeated(value, x, axis, len);
    let reduced = |value: Variable| DimShuffle::keep_dims(&value, &[axis]);
    let around = |value: &Variable| -> Result<Variable> {
        let value = &cast(value, x.dtype())?;
        concatenate([same(value, before)?, x.clone(), same(value, after)?], axis as isize).checked().cloned()
    };
    let gathered = |index: &dyn Fn(&Variable) -> Variable| -> Result<Variable> {
        let position = arange_between(-first, n + last, 1);
        x.try_take(index(&position), axis as isize)
    };
    // If the extent is known, parts of the array are copied as a whole.
    if let Some([first, last]) = parts(x, axis, [before, after], mode)? {
        let of_len = |part: Variable, len: usize| if mode == Pad::Edge { same(&part, len) } else { Ok(part) };
        let parts = [of_len(first, before)?, x.clone(), of_len(last, after)?];
        return concatenate(parts, axis as isize).checked().cloned();
    }
    match mode {
        Pad::Constant(number) => {
            let number =
                Operand::resolve(vec![Operand::Variable(x.clone()), Operand::Float(number)]).swap_remove(1);
            around(&DimShuffle::pad_left(&number, x.ndim())?)
        }
        Pad::Maximum => around(&reduced(x.try_max(axis as isize)?)?),
        Pad::Minimum => around(&reduced(x.try_min(axis as isize)?)?),
        Pad::Mean | Pad::Median => around(&center(x, axis, n, mode == Pad::Median)?),
        Pad::LinearRamp(end) => {
            let (first, last) = (ramp(x, axis, 0, end, first)?, ramp(x, axis, -1, end, last)?);
            concatenate([first, x.clone(), last], axis as isize).checked().cloned()
        }
        Pad::Edge => gathered(&|i| i.maximum(0i64).minimum(n - 1i64)),
        Pad::Wrap => gathered(&|i| i % n),
        Pad::Reflect => gathered(&|i| {
            let period = &((n - 1i64) * 2i64);
            let at = &(i % period);
            where_(at.less(n), at, period - at)
        }),
        Pad::Symmetric => gathered(&|i| {
            let period = &(n * 2i64);
            let at = &(i % period);
            where_(at.less(n), at, period - 1i64 - at)
        }),
    }
}

methods! {
    /// More elements before and after, along each axis: `x.pad([[1, 2], [0, 0]], Pad::Edge)`.
    pad / try_pad(x, widths: impl AsRef<[[usize; 2]]>, mode: Pad) {
        let widths = widths.as_ref();
        if widths.len() != x.ndim() {
            return Err(fail("pad", format!("{} pairs of widths for {}", widths.len(), x.ty())));
        }
        let mut x = x.clone();
        for (axis, &width) in widths.iter().enumerate().filter(|(_, w)| **w != [0, 0]) {
            x = pad_axis(&x, axis, width, mode)?;
        }
        Ok(x)
    }
}
