//! Ops that pass their input on and do something besides: check a condition, tell a value.

use super::build::{At, NestBuilder};
use super::{Lowered, Lowering};
use crate::dtype::DType;
use crate::graph::Node;
use crate::kernels::nest::PhaseKind;
use crate::kernels::ops as scalar;
use crate::rehost::program::{HostNode, Step};
use crate::rehost::view::View;

impl Lowering<'_> {
    /// Nothing is computed but the report of a condition that fails.
    pub(super) fn assert(&mut self, inputs: &[View]) -> Lowered {
        let condition = &inputs[1];
        if condition.shape.contains(&0) {
            return Ok(vec![inputs[0].clone()]);
        }
        let status = self.status();
        let number = self.report();
        let mut nest = NestBuilder::new("assert", &condition.shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let holds = point.load(condition, &At::axes(condition.shape.len()));
        let fails = point.apply(scalar::NOT, &[holds]);
        let number = point.number(DType::I64, number);
        point.store(status, &[], &[], number, Some(fails));
        point.finish();
        self.push(nest);
        Ok(vec![inputs[0].clone()])
    }

    /// A host node without a result, beside which the value passes.
    pub(super) fn print(&mut self, node: &Node, inputs: &[View]) -> Lowered {
        let given = self.whole(&inputs[0]);
        let why = "a value is told where the host can see it".into();
        let told =
            HostNode { op: node.op.clone(), node: self.node, why, inputs: vec![given], outputs: vec![] };
        self.program.steps.push(Step::Host(told));
        Ok(vec![inputs[0].clone()])
    }
}
