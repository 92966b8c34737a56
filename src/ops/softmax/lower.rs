//! Softmax: folds along a row, then a map over it.

use super::Softmax;
use crate::graph::Node;
use crate::lower::{Lowered, Lowering, NestBuilder, View};
use crate::ops::reduce::lower::Split;
use workalike_kernels::nest::{Fold, PhaseKind};
use workalike_kernels::ops as scalar;

/// Three phases over each row: its maximum; the sum of `exp(x - max)`; the results.
pub(crate) fn lower(op: &Softmax, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let x = &inputs[0];
    let split = Split::of(x, &[op.axis]);
    let dtype = to.dtype(node.outputs[0]);
    let acc = dtype.register();
    let target = to.temp(dtype, &x.shape);
    let mut nest =
        NestBuilder::new(if op.log { "log_softmax" } else { "softmax" }, &split.grid, &split.inner);

    let mut phase = nest.phase(PhaseKind::Reduce, &to.program);
    let value = phase.load(x, &split.at);
    let value = phase.convert(value, acc);
    phase.fold(Fold::Max, value, None);
    phase.finish();

    let mut phase = nest.phase(PhaseKind::Reduce, &to.program);
    let value = phase.load(x, &split.at);
    let value = phase.convert(value, acc);
    let max = phase.folded(0, 0, acc);
    let shifted = phase.apply(scalar::SUB, &[value, max]);
    let exp = phase.apply(scalar::EXP, &[shifted]);
    phase.fold(Fold::Sum, exp, None);
    phase.finish();

    let mut phase = nest.phase(PhaseKind::Map, &to.program);
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
    to.push(nest);
    Ok(vec![View::whole(target, &x.shape)])
}
