//! A range: its start and a multiple of its step at each place.

use super::ARange;
use crate::graph::Node;
use crate::lower::{Lowered, Lowering, View};
use workalike_kernels::ops as scalar;

pub(crate) fn lower(_: &ARange, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    to.map("arange", node, |point, _| {
        let (start, step) = (point.load(&inputs[0], &[]), point.load(&inputs[2], &[]));
        let position = point.axis(0);
        let offset = point.apply(scalar::MUL, &[position, step]);
        point.apply(scalar::ADD, &[start, offset])
    })
}
