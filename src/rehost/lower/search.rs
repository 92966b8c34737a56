//! Binary search: as many steps as the vector's length has digits, each a load and a choice.

use super::build::{At, NestBuilder, PhaseBuilder};
use super::{Lowered, Lowering};
use crate::dtype::DType;
use crate::graph::Node;
use crate::kernels::nest::{PhaseKind, Value};
use crate::kernels::ops as scalar;
use crate::ops::SearchSorted;
use crate::rehost::view::View;

/// Whether `a` comes before `b`: NaN after all numbers.
fn before(phase: &mut PhaseBuilder, a: Value, b: Value, float: bool) -> Value {
    let less = phase.apply(scalar::LT, &[a, b]);
    if !float {
        return less;
    }
    let [a_is, b_is_not] = [(scalar::EQ, a), (scalar::NE, b)].map(|(row, v)| phase.apply(row, &[v, v]));
    let last = phase.apply(scalar::AND, &[a_is, b_is_not]);
    phase.apply(scalar::OR, &[less, last])
}

impl Lowering<'_> {
    pub(super) fn search_sorted(&mut self, op: SearchSorted, node: &Node, inputs: &[View]) -> Lowered {
        let mut sorted = inputs[0].clone();
        if !sorted.takes_dynamic(0) {
            sorted = self.own_copy(&sorted);
        }
        let dtype = self.dtype(node.inputs[0]);
        let len = sorted.shape[0] as i64;
        let shape = self.shape(node.outputs[0]);
        let target = self.temp(DType::I64, &shape);
        let mut nest = NestBuilder::new("searchsorted", &shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let here = At::axes(shape.len());
        let mut place = point.number(DType::I64, 0);
        if len > 0 {
            let wide = |phase: &mut PhaseBuilder, v: Value| {
                let to = if dtype == DType::Bool { DType::U8 } else { dtype.register() };
                phase.convert(v, to)
            };
            let given = point.load(&inputs[1], &here);
            let given = wide(&mut point, given);
            let end = point.number(DType::I64, len.into());
            for bit in (0..=len.ilog2()).rev() {
                let step = point.number(DType::I64, 1i128 << bit);
                let one = point.number(DType::I64, 1);
                let next = point.apply(scalar::ADD, &[place, step]);
                let inside = point.apply(scalar::LE, &[next, end]);
                let at = point.apply(scalar::MINIMUM, &[next, end]);
                let at = point.apply(scalar::SUB, &[at, one]);
                let element = point.load(&sorted, &[At::Value(at)]);
                let element = wide(&mut point, element);
                let below = if op.right {
                    let above = before(&mut point, given, element, dtype.is_float());
                    point.apply(scalar::NOT, &[above])
                } else {
                    before(&mut point, element, given, dtype.is_float())
                };
                let taken = point.apply(scalar::AND, &[inside, below]);
                place = point.apply(scalar::WHERE, &[taken, next, place]);
            }
        }
        point.store(target, &shape, &here, place, None);
        point.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &shape)])
    }
}
