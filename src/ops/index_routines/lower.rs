//! Integers that are checked against a bound.

use super::CheckIndex;
use crate::graph::Node;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};
use workalike_kernels::nest::PhaseKind;
use workalike_kernels::{DType, ops as scalar};

/// Converts integers to int64, and reports any that reach a bound.
pub(crate) fn lower(_: &CheckIndex, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let shape = to.shape(node.outputs[0]);
    let target = to.temp(DType::I64, &shape);
    let high = to.shapes.fixed[node.inputs[1] as usize].as_ref().and_then(|v| v.to_scalar());
    let fits = |to: &mut Lowering<'_>, high| {
        let given = node.inputs[0];
        to.stays_within(given, 0, high) || to.assumes(given, 0, high)
    };
    let fits = high.is_some_and(|high| fits(to, high.to_i128()));
    let status = (!fits).then(|| to.status());
    let number = to.report();
    let mut nest = NestBuilder::new("check_index", &shape, &[]);
    let mut point = nest.phase(PhaseKind::Point, &to.program);
    let here = At::axes(shape.len());
    let given = point.load(&inputs[0], &here);
    let at = point.signed(given);
    let bound = point.load(&inputs[1], &[]);
    let (zero, one) = (point.number(DType::I64, 0), point.number(DType::I64, 1));
    if let Some(status) = status {
        let below = point.apply(scalar::LT, &[at, zero]);
        let beyond = point.apply(scalar::GE, &[at, bound]);
        let bad = point.apply(scalar::OR, &[below, beyond]);
        let number = point.number(DType::I64, number);
        point.store(status, &[], &[], number, Some(bad));
    }
    let most = point.apply(scalar::SUB, &[bound, one]);
    let at = point.apply(scalar::MINIMUM, &[at, most]);
    let at = point.apply(scalar::MAXIMUM, &[at, zero]);
    point.store(target, &shape, &here, at, None);
    point.finish();
    to.push(nest);
    Ok(vec![View::whole(target, &shape)])
}
