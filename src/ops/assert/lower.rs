//! Ops that return their input and have an effect: they check a condition, or print a value.

use super::Assert;
use crate::graph::Node;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};
use workalike_kernels::nest::PhaseKind;
use workalike_kernels::{DType, ops as scalar};

/// A Nest that reports a failed condition and does nothing else; no Nest if the condition is known to hold.
pub(crate) fn lower(_: &Assert, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let condition = &inputs[1];
    // Shapes may decide it.
    let known = to.fixed(node.inputs[1]).is_some_and(|value| value.scalars().all(|s| s.to_i128() != 0));
    if known || condition.shape.contains(&0) {
        return Ok(vec![inputs[0].clone()]);
    }
    let status = to.status();
    let number = to.report();
    let mut nest = NestBuilder::new("assert", &condition.shape, &[]);
    let mut point = nest.phase(PhaseKind::Point, &to.program);
    let holds = point.load(condition, &At::axes(condition.shape.len()));
    let fails = point.apply(scalar::NOT, &[holds]);
    let number = point.number(DType::I64, number);
    point.store(status, &[], &[], number, Some(fails));
    point.finish();
    to.push(nest);
    Ok(vec![inputs[0].clone()])
}
