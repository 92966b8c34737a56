//! Reductions: folds over inner axes.

use super::{ArgReduce, Reduce};
use crate::graph::Node;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};
use crate::ops::sum_like::SumLike;
use workalike_kernels::nest::PhaseKind;
use workalike_kernels::{DType, ops as scalar};

/// The axes of a view as a Nest sees them: kept ones first, then the reduced ones.
pub(crate) struct Split {
    pub(crate) grid: Vec<u64>,
    pub(crate) inner: Vec<u64>,
    /// For each axis of the view, the axis of the Nest.
    pub(crate) at: Vec<At>,
}

impl Split {
    pub(crate) fn of(view: &View, reduced: &[usize]) -> Split {
        let rank = view.shape.len();
        let order: Vec<usize> =
            (0..rank).filter(|a| !reduced.contains(a)).chain(reduced.iter().copied()).collect();
        let extents: Vec<u64> = order.iter().map(|&a| view.shape[a]).collect();
        let (grid, inner) = extents.split_at(rank - reduced.len());
        let position = |axis: usize| order.iter().position(|&o| o == axis).map_or(At::First, At::Axis);
        Split { grid: grid.to_vec(), inner: inner.to_vec(), at: (0..rank).map(position).collect() }
    }
}

pub(crate) fn reduce(op: &Reduce, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let split = Split::of(&inputs[0], &op.axes);
    let target = to.temp(op.dtype, &split.grid);
    let mut nest = NestBuilder::new(&format!("{:?}", op.fold).to_lowercase(), &split.grid, &split.inner);
    let mut reduce = nest.phase(PhaseKind::Reduce, &to.program);
    let value = reduce.load(&inputs[0], &split.at);
    let value = reduce.convert(value, op.acc_dtype);
    let fold = reduce.fold(op.fold, value, None);
    let phase = reduce.finish();
    let mut point = nest.phase(PhaseKind::Point, &to.program);
    let value = point.folded(phase, fold, op.acc_dtype);
    point.store(target, &split.grid, &At::axes(split.grid.len()), value, None);
    point.finish();
    to.push(nest);
    Ok(vec![View::whole(target, &to.shape(node.outputs[0]))])
}

/// Extents are known here: an input that was not repeated is a view.
pub(crate) fn sum_like(_: &SumLike, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let shapes = [node.inputs[0], node.inputs[1]].map(|id| to.shapes.shapes[id as usize].as_slice());
    match SumLike::sum(shapes[0], shapes[1], to.dtype(node.outputs[0])) {
        None => Ok(vec![inputs[0].clone()]),
        Some(sum) => reduce(&sum, to, node, inputs),
    }
}

pub(crate) fn arg_reduce(op: &ArgReduce, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let split = Split::of(&inputs[0], &op.axes);
    let target = to.temp(DType::I64, &split.grid);
    let mut nest = NestBuilder::new(&format!("{:?}", op.fold).to_lowercase(), &split.grid, &split.inner);
    let mut reduce = nest.phase(PhaseKind::Reduce, &to.program);
    let value = reduce.load(&inputs[0], &split.at);
    // The index is the row-major position over the inner axes.
    let mut position = reduce.number(DType::I64, 0);
    for (i, &extent) in split.inner.iter().enumerate() {
        let extent = reduce.number(DType::I64, extent as i128);
        let axis = reduce.axis(split.grid.len() + i);
        if i > 0 {
            position = reduce.apply(scalar::MUL, &[position, extent]);
            position = reduce.apply(scalar::ADD, &[position, axis]);
        } else {
            position = axis;
        }
    }
    let fold = reduce.fold(op.fold, value, Some(position));
    let phase = reduce.finish();
    let mut point = nest.phase(PhaseKind::Point, &to.program);
    let value = point.folded(phase, fold, DType::I64);
    point.store(target, &split.grid, &At::axes(split.grid.len()), value, None);
    point.finish();
    to.push(nest);
    Ok(vec![View::whole(target, &to.shape(node.outputs[0]))])
}
