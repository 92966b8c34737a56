//! Indexing by integer arrays on the leading axes: `x[i, j]`, gathers and scatters.

pub(crate) mod lower;
mod scatter;
mod scatter_in_order;
mod sharding;

use super::batching::{first_behind, only};
use super::complex;
use super::creation::{ARange, arange, full, zeros_like};
use super::elementwise_methods::where_;
use super::elemwise::{broadcast_shapes, broadcast_types};
use super::shape::{DimShuffle, Extent, Reshape, ShapeOf};
use super::subtensor::{change_at, put};
use super::sum_like::sum_to;
use crate::error::{Error, Result};
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Batch, BatchedOutputs, Gradient, Known, Op, ShardedOutputs, Shards};
use crate::value::{Value, checked_len};
use workalike_kernels::interval::Interval;
use workalike_kernels::{DType, Scalar};

/// `x[i0, i1, ..]`: integer arrays of equal rank, broadcast together, index the leading axes of `x`. The
/// result has their shape, then the remaining axes of `x`. Negative indices count from the end; out of range
/// is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvancedSubtensor;

/// `x` with `x[i0, i1, ..]` set to, or increased by, a second input of that shape. Where indices repeat,
/// increments add up, and of values that are set the last in row-major order holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvancedIncSubtensor {
    /// Set rather than increase.
    pub set: bool,
}

pub(super) fn check(x: &TensorType, indices: &[&TensorType]) -> Result<TensorType, String> {
    if indices.is_empty() || indices.len() > x.ndim() {
        return Err(format!("{} index arrays for {x}", indices.len()));
    }
    if let Some(other) = indices.iter().find(|t| !t.dtype.is_integer()) {
        return Err(format!("indices must be integers, got {other}"));
    }
    let shape = broadcast_types(indices)?.into_iter().chain(x.shape[indices.len()..].iter().copied());
    Ok(TensorType::new(x.dtype, shape.collect::<Vec<_>>()))
}

/// The shape of the elements gathered from `x` at indices of these shapes.
pub(super) fn gathered_shape<'s>(
    x: &[usize],
    indices: impl Iterator<Item = &'s [usize]>,
) -> Result<Vec<usize>, String> {
    let indices: Vec<&[usize]> = indices.collect();
    let mut shape = broadcast_shapes(&indices)?;
    shape.extend(
        x.get(indices.len()..).ok_or_else(|| format!("{} indices of {} axes", indices.len(), x.len()))?,
    );
    Ok(shape)
}

/// Checks that `y` can be written into a part of `x`.
pub(super) fn fits_part(x: &TensorType, y: &TensorType, part: &TensorType) -> Result<(), String> {
    let along =
        |(y, p): (&Option<usize>, &Option<usize>)| *y == Some(1) || y.is_none() || p.is_none() || y == p;
    if y.dtype == x.dtype && y.ndim() == part.ndim() && y.shape.iter().zip(&part.shape).all(along) {
        return Ok(());
    }
    Err(format!("{y} does not fit the part {part}"))
}

/// For each index point in row-major order, the position of the first element taken from `x`.
pub(super) fn places(x: &[usize], indices: &[Value]) -> Result<Vec<usize>> {
    let fail = |message: String| Error::mismatch("advanced index", "indices in bounds", message);
    let shapes: Vec<&[usize]> = indices.iter().map(Value::shape).collect();
    let shape = broadcast_shapes(&shapes).map_err(fail)?;
    let count = checked_len(&shape, DType::U64)?;
    let mut places = Vec::new();
    let room = places.try_reserve_exact(count);
    room.map_err(|_| fail(format!("{count} points are more than the memory holds")))?;
    places.resize(count, 0usize);
    for (axis, index) in indices.iter().enumerate() {
        let step: usize = x[axis + 1..].iter().product();
        for (place, at) in places.iter_mut().zip(index.broadcast_to(&shape)?.scalars()) {
            let (given, extent) = (at.to_i128(), x[axis] as i128);
            let at = if given < 0 { given + extent } else { given };
            if !(0..extent).contains(&at) {
                return Err(fail(format!(
                    "index {given} is out of bounds for axis {axis} with extent {extent}"
                )));
            }
            *place += at as usize * step;
        }
    }
    Ok(places)
}

/// Checks positions where the result has no elements: array by array, without broadcasting them.
pub(super) fn check_bounds(x: &[usize], indices: &[Value]) -> Result<()> {
    indices
        .iter()
        .zip(x)
        .try_for_each(|(index, &extent)| places(&[extent], std::slice::from_ref(index)).map(drop))
}

/// The extents of the part written at positions: [`Op::written_part`] of ops whose further inputs are
/// positions.
pub(super) fn written_part(inputs: &[Known]) -> Result<Option<Vec<usize>>, String> {
    let positions = inputs.iter().skip(2).map(|known| known.shape);
    inputs.first().map(|x| gathered_shape(x.shape, positions)).transpose()
}

/// If an index array varies along this axis alone and counts up along it from 0 or above: its extent, where
/// it is known.
fn counts(index: &Variable, axis: usize) -> Option<Option<usize>> {
    if !index.ty().shape.iter().enumerate().all(|(a, extent)| a == axis || *extent == Some(1)) {
        return None;
    }
    let [start, stop, step] = range_behind(index)?;
    let number = |v: &Variable| v.constant_value()?.to_scalar().map(Scalar::to_i128);
    let (start, step) = (number(&start)?, number(&step)?);
    let extent = |stop: i128| usize::try_from((stop - start + step - 1).max(0) / step).ok();
    (start >= 0 && step > 0).then(|| number(&stop).and_then(extent))
}

/// Start, stop and step of the range that an index is, with its axis at some place.
fn range_behind(index: &Variable) -> Option<[Variable; 3]> {
    let mut from = index.clone();
    while let Some((apply, _)) = from.clone().owner() {
        if apply.op.downcast::<DimShuffle>().is_none() {
            // Narrower elements may wrap.
            apply.op.downcast::<ARange>().filter(|range| range.dtype == DType::I64)?;
            return apply.inputs.clone().try_into().ok();
        }
        from = apply.inputs[0].clone();
    }
    None
}

/// Whether the positions of an index are distinct: along every axis some array counts over its whole extent.
fn are_distinct(indices: &[Variable]) -> bool {
    let types: Vec<&TensorType> = indices.iter().map(Variable::ty).collect();
    let Ok(shape) = broadcast_types(&types) else { return false };
    shape.iter().enumerate().all(|(axis, extent)| {
        let mut wide = indices.iter().filter(|i| i.ty().shape[axis] != Some(1));
        *extent == Some(1)
            || indices.iter().any(|i| extent.is_some() && counts(i, axis) == Some(*extent))
            || wide.all(|i| counts(i, axis).is_some())
    })
}

/// At each point of an index, whether it is the last one at its position, whose value holds. With axes for
/// the `rest` of `x`.
fn holds(x: &Variable, indices: &[Variable]) -> Result<Variable> {
    // Only the extents of the points are read.
    let mut points = indices[0].clone();
    for index in &indices[1..] {
        points = points.try_add(index)?;
    }
    let mut count = Variable::constant(1i64);
    let mut extents = Vec::new();
    for axis in 0..points.ndim() {
        extents.push(ShapeOf::of(&points, axis)?);
        count = count.try_mul(&extents[axis])?;
    }
    let order = Reshape::of(&arange(&count), (0..extents.len()).map(Extent::Input).collect(), &extents)?;
    let own: Vec<Variable> = (0..indices.len()).map(|axis| ShapeOf::of(x, axis)).collect::<Result<_>>()?;
    let with = |first: Vec<Variable>| first.into_iter().chain(indices.iter().cloned()).collect::<Vec<_>>();
    let nobody = full(&own, -1i64);
    let last = Variable::apply1(AdvancedIncSubtensor { set: true }, &with(vec![nobody, order.clone()]))?;
    let last = Variable::apply1(AdvancedSubtensor, &with(vec![last]))?.try_equal(&order)?;
    let rank = last.ndim();
    DimShuffle::keep_dims(&last, &(rank..rank + x.ndim() - indices.len()).collect::<Vec<_>>())
}

/// The number of axes of index arrays.
fn rank_of(indices: &[Variable]) -> usize {
    indices.iter().map(Variable::ndim).max().unwrap_or(0)
}

impl Op for AdvancedSubtensor {
    fn id(&self) -> &'static str {
        "advanced_subtensor"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        let (x, indices) = inputs.split_first().ok_or("expected at least 2 inputs")?;
        Ok(vec![check(x, indices)?])
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::by_parts(*self, inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let mut grads = vec![None; at.inputs.len()];
        if let Some(g) = &at.output_grads[0] {
            let first = [zeros_like(&at.inputs[0]), g.clone()];
            let inputs: Vec<Variable> = first.into_iter().chain(at.inputs[1..].iter().cloned()).collect();
            grads[0] = Some(Variable::apply1(AdvancedIncSubtensor { set: false }, &inputs)?);
        }
        Ok(grads)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let Some(indices) = at.same(1) else { return Ok(None) };
        let (count, rank) = (indices.len(), rank_of(&indices));
        let x = first_behind(&at.with_axis(0)?, count)?;
        let inputs: Vec<Variable> = std::iter::once(x).chain(indices).collect();
        only(Variable::apply1(AdvancedSubtensor, &inputs)?.try_moveaxis(rank as isize, 0))
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        sharding::gather(*self, at)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let x = inputs[0].contiguous()?;
        let indices = &inputs[1..];
        let shape = gathered_shape(x.shape(), indices.iter().map(Value::shape))
            .map_err(|m| Error::mismatch(self.label(), "shapes that fit", m))?;
        if shape.contains(&0) {
            check_bounds(x.shape(), indices)?;
            return Ok(vec![Value::zeros(x.dtype(), &shape)?]);
        }
        let places = places(x.shape(), indices)?;
        let size = x.dtype().size();
        let run = x.shape()[indices.len()..].iter().product::<usize>() * size;
        let source = x.contiguous_bytes().unwrap_or(&[]);
        let result = Value::filled(x.dtype(), &shape, |bytes| {
            for (target, place) in bytes.chunks_exact_mut(run.max(1)).zip(places) {
                target.copy_from_slice(&source[place * size..place * size + run]);
            }
        })?;
        Ok(vec![result])
    }

    fn results_are_new(&self) -> bool {
        true
    }

    fn index_inputs(&self, count: usize) -> Vec<usize> {
        (1..count).collect()
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::gather(to, node.outputs[0], &inputs[0], &node.inputs[1..], &inputs[1..])
    }
}

impl Op for AdvancedIncSubtensor {
    fn id(&self) -> &'static str {
        "advanced_inc_subtensor"
    }

    fn attributes(&self) -> Attributes {
        vec![("set".into(), Attr::Int(i64::from(self.set)))]
    }

    fn label(&self) -> String {
        if self.set { "advanced_set_subtensor".into() } else { "advanced_inc_subtensor".into() }
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        let [x, y, indices @ ..] = inputs else { return Err("expected at least 3 inputs".into()) };
        let part = check(x, indices)?;
        fits_part(x, y, &part)?;
        Ok(vec![(*x).clone()])
    }

    fn changes_part(&self) -> bool {
        true
    }

    fn written_part(&self, inputs: &[Known]) -> Result<Option<Vec<usize>>, String> {
        written_part(inputs)
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::by_parts(*self, inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let mut grads = vec![None; at.inputs.len()];
        if let Some(g) = &at.output_grads[0] {
            let with = |first: Vec<Variable>| -> Vec<Variable> {
                first.into_iter().chain(at.inputs[2..].iter().cloned()).collect()
            };
            let part = Variable::apply1(AdvancedSubtensor, &with(vec![g.clone()]))?;
            let own = if self.set && !are_distinct(&at.inputs[2..]) {
                where_(holds(&at.inputs[0], &at.inputs[2..])?, &part, 0i64).checked()?.clone()
            } else {
                part.clone()
            };
            grads[1] = Some(sum_to(&own, &at.inputs[1], |_| true)?);
            grads[0] = Some(if self.set {
                Variable::apply1(*self, &with(vec![g.clone(), zeros_like(&part)]))?
            } else {
                g.clone()
            });
        }
        Ok(grads)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let Some(indices) = at.same(2) else { return Ok(None) };
        let (count, rank) = (indices.len(), rank_of(&indices));
        let first = [first_behind(&at.repeated(0)?, count)?, first_behind(&at.with_axis(1)?, rank)?];
        let inputs: Vec<Variable> = first.into_iter().chain(indices).collect();
        only(Variable::apply1(*self, &inputs)?.try_moveaxis(count as isize, 0))
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        sharding::scatter(*self, at)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        written(self, inputs, |old, y| put(old, y, self.set))
    }

    fn index_inputs(&self, count: usize) -> Vec<usize> {
        (2..count).collect()
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis)]
    }

    fn element_bounds(&self, _: usize, _: &[Known], elements: &[Interval], _: &[usize]) -> Option<Interval> {
        let [x, part, ..] = elements else { return None };
        self.set.then(|| x.or(*part))
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        to.scatter((!self.set).then_some(workalike_kernels::ops::ADD), node, inputs)
    }
}

/// The reference of the scatters: the elements of `x` at the indices are combined with those of `y`, in
/// row-major order. The inputs are `x, y, indices`.
pub(super) fn written(
    op: &dyn Op,
    inputs: &[Value],
    combine: impl Fn(Scalar, Scalar) -> Scalar,
) -> Result<Vec<Value>> {
    let x = inputs[0].contiguous()?;
    let indices = &inputs[2..];
    let shape = gathered_shape(x.shape(), indices.iter().map(Value::shape))
        .map_err(|m| Error::mismatch(op.label(), "shapes that fit", m))?;
    if shape.contains(&0) {
        check_bounds(x.shape(), indices)?;
        return Ok(vec![x]);
    }
    let y = inputs[1].broadcast_to(&shape)?;
    let places = places(x.shape(), indices)?;
    let (dtype, size) = (x.dtype(), x.dtype().size());
    let run: usize = x.shape()[indices.len()..].iter().product();
    let elements = y.try_map(|element| element)?;
    let result = Value::filled(dtype, x.shape(), |bytes| {
        bytes.copy_from_slice(x.contiguous_bytes().unwrap_or(&[]));
        for (place, part) in places.iter().zip(elements.chunks_exact(run.max(1))) {
            for (i, &y) in part.iter().enumerate() {
                change_at(bytes, dtype, (place + i) * size, |old| combine(old, y));
            }
        }
    })?;
    Ok(vec![result])
}
