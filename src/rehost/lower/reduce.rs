//! Reductions and softmax: folds over inner axes.

use super::build::{At, NestBuilder};
use super::{Lowered, Lowering};
use crate::dtype::DType;
use crate::graph::Node;
use crate::kernels::nest::{Fold, PhaseKind};
use crate::kernels::ops as scalar;
use crate::ops::{ArgReduce, Reduce, Softmax, SumLike};
use crate::rehost::view::View;

/// The axes of a view as a Nest sees them: kept ones first, then the reduced ones.
struct Split {
    grid: Vec<u64>,
    inner: Vec<u64>,
    /// For each axis of the view, the axis of the Nest.
    at: Vec<At>,
}

impl Split {
    fn of(view: &View, reduced: &[usize]) -> Split {
        let rank = view.shape.len();
        let order: Vec<usize> =
            (0..rank).filter(|a| !reduced.contains(a)).chain(reduced.iter().copied()).collect();
        let extents: Vec<u64> = order.iter().map(|&a| view.shape[a]).collect();
        let (grid, inner) = extents.split_at(rank - reduced.len());
        let position = |axis: usize| order.iter().position(|&o| o == axis).map_or(At::First, At::Axis);
        Split { grid: grid.to_vec(), inner: inner.to_vec(), at: (0..rank).map(position).collect() }
    }
}

impl Lowering<'_> {
    pub(super) fn reduce(&mut self, op: &Reduce, node: &Node, inputs: &[View]) -> Lowered {
        let split = Split::of(&inputs[0], &op.axes);
        let target = self.temp(op.dtype, &split.grid);
        let mut nest = NestBuilder::new(&format!("{:?}", op.fold).to_lowercase(), &split.grid, &split.inner);
        let mut reduce = nest.phase(PhaseKind::Reduce, &self.program);
        let value = reduce.load(&inputs[0], &split.at);
        let value = reduce.convert(value, op.acc_dtype);
        let fold = reduce.fold(op.fold, value, None);
        let phase = reduce.finish();
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let value = point.folded(phase, fold, op.acc_dtype);
        point.store(target, &split.grid, &At::axes(split.grid.len()), value, None);
        point.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &self.shape(node.outputs[0]))])
    }

    /// Extents are numbers here: what was not repeated is a view.
    pub(super) fn sum_like(&mut self, node: &Node, inputs: &[View]) -> Lowered {
        let shapes = [node.inputs[0], node.inputs[1]].map(|id| self.shapes.shapes[id as usize].as_slice());
        match SumLike::sum(shapes[0], shapes[1], self.dtype(node.outputs[0])) {
            None => Ok(vec![inputs[0].clone()]),
            Some(sum) => self.reduce(&sum, node, inputs),
        }
    }

    pub(super) fn arg_reduce(&mut self, op: &ArgReduce, node: &Node, inputs: &[View]) -> Lowered {
        let split = Split::of(&inputs[0], &op.axes);
        let target = self.temp(DType::I64, &split.grid);
        let mut nest = NestBuilder::new(&format!("{:?}", op.fold).to_lowercase(), &split.grid, &split.inner);
        let mut reduce = nest.phase(PhaseKind::Reduce, &self.program);
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
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let value = point.folded(phase, fold, DType::I64);
        point.store(target, &split.grid, &At::axes(split.grid.len()), value, None);
        point.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &self.shape(node.outputs[0]))])
    }

    /// Three phases over each row: its maximum; the sum of `exp(x - max)`; the results.
    pub(super) fn softmax(&mut self, op: &Softmax, node: &Node, inputs: &[View]) -> Lowered {
        let x = &inputs[0];
        let split = Split::of(x, &[op.axis]);
        let dtype = self.dtype(node.outputs[0]);
        let acc = dtype.register();
        let target = self.temp(dtype, &x.shape);
        let mut nest =
            NestBuilder::new(if op.log { "log_softmax" } else { "softmax" }, &split.grid, &split.inner);

        let mut phase = nest.phase(PhaseKind::Reduce, &self.program);
        let value = phase.load(x, &split.at);
        let value = phase.convert(value, acc);
        phase.fold(Fold::Max, value, None);
        phase.finish();

        let mut phase = nest.phase(PhaseKind::Reduce, &self.program);
        let value = phase.load(x, &split.at);
        let value = phase.convert(value, acc);
        let max = phase.folded(0, 0, acc);
        let shifted = phase.apply(scalar::SUB, &[value, max]);
        let exp = phase.apply(scalar::EXP, &[shifted]);
        phase.fold(Fold::Sum, exp, None);
        phase.finish();

        let mut phase = nest.phase(PhaseKind::Map, &self.program);
        let value = phase.load(x, &split.at);
        let value = phase.convert(value, acc);
        let max = phase.folded(0, 0, acc);
        let shifted = phase.apply(scalar::SUB, &[value, max]);
        let sum = phase.folded(1, 0, acc);
        let result = if op.log {
            let log = phase.apply(scalar::LOG, &[sum]);
            phase.apply(scalar::SUB, &[shifted, log])
        } else {
            let exp = phase.apply(scalar::EXP, &[shifted]);
            phase.apply(scalar::DIV, &[exp, sum])
        };
        phase.store(target, &x.shape, &split.at, result, None);
        phase.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &x.shape)])
    }
}
