//! Ops that pass their input on and do something besides: check a condition, tell a value.

use crate::dtype::DType;
use crate::kernels::nest::PhaseKind;
use crate::kernels::ops as scalar;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};

impl Lowering<'_> {
    /// Nothing is computed but the report of a condition that fails.
    pub(crate) fn assert(&mut self, inputs: &[View]) -> Lowered {
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
}
