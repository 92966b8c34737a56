//! Binary search: a library op, where the device has it; else as many steps as the vector's length has
//! digits, each a load and a choice.

use crate::dtype::DType;
use crate::graph::Node;
use crate::kernels::library::Search;
use crate::kernels::nest::{PhaseKind, Value};
use crate::kernels::ops as scalar;
use crate::lower::{At, Lowered, Lowering, NestBuilder, PhaseBuilder, View};
use crate::ops::SearchSorted;

pub(crate) fn lower(op: &SearchSorted, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    if let Some(places) = to.search_by_library(*op, node, inputs) {
        return Ok(vec![places]);
    }
    let mut sorted = inputs[0].clone();
    if !sorted.takes_dynamic(0) {
        sorted = to.own_copy(&sorted);
    }
    let dtype = to.dtype(node.inputs[0]);
    let len = sorted.shape[0] as i64;
    let shape = to.shape(node.outputs[0]);
    let target = to.temp(DType::I64, &shape);
    let mut nest = NestBuilder::new("searchsorted", &shape, &[]);
    let mut point = nest.phase(PhaseKind::Point, &to.program);
    let here = At::axes(shape.len());
    let mut place = point.number(DType::I64, 0);
    if len > 0 {
        let wide = |phase: &mut PhaseBuilder, v: Value| {
            let to = if dtype == DType::Bool { DType::U8 } else { dtype.register() };
            phase.convert(v, to)
        };
        let given = point.load(&inputs[1], &here);
        let given = wide(&mut point, given);
        let float = dtype.is_float();
        // NaN come after all numbers.
        let is_number = float.then(|| point.apply(scalar::EQ, &[given, given]));
        let is_nan = float.then(|| point.apply(scalar::NE, &[given, given]));
        // Whether the element at this place comes before the given one, or with `right` not after it.
        let below = |point: &mut PhaseBuilder, at: Value| {
            let element = point.load(&sorted, &[At::Value(at)]);
            let element = wide(point, element);
            let (first, second) = if op.right { (given, element) } else { (element, given) };
            let mut before = point.apply(scalar::LT, &[first, second]);
            if let (Some(is_number), Some(is_nan)) = (is_number, is_nan) {
                let row = if op.right { scalar::NE } else { scalar::EQ };
                let other = point.apply(row, &[element, element]);
                let last = point.apply(scalar::AND, &[if op.right { is_number } else { is_nan }, other]);
                before = point.apply(scalar::OR, &[before, last]);
            }
            if op.right { point.apply(scalar::NOT, &[before]) } else { before }
        };
        // The place is among `left` from `place` on, and the one behind them.
        let mut left = len;
        while left > 1 {
            let half = left / 2;
            let step = point.number(DType::I64, half.into());
            let next = point.apply(scalar::ADD, &[place, step]);
            let at = if half == 1 {
                place
            } else {
                let back = point.number(DType::I64, (half - 1).into());
                point.apply(scalar::ADD, &[place, back])
            };
            let taken = below(&mut point, at);
            place = point.apply(scalar::WHERE, &[taken, next, place]);
            left -= half;
        }
        let taken = below(&mut point, place);
        let taken = point.convert(taken, DType::I64);
        place = point.apply(scalar::ADD, &[place, taken]);
    }
    point.store(target, &shape, &here, place, None);
    point.finish();
    to.push(nest);
    Ok(vec![View::whole(target, &shape)])
}

impl Lowering<'_> {
    /// By a library op, if the device has it, and the sorted vector does not have to be copied for it.
    fn search_by_library(&mut self, op: SearchSorted, node: &Node, inputs: &[View]) -> Option<View> {
        let [sorted, asked] = inputs else { return None };
        let (dtype, shape) = (self.dtype(node.inputs[0]), self.shape(node.outputs[0]));
        let (len, count) = (sorted.shape[0], shape.iter().product());
        let search = Search { dtype, len, asked: count, right: op.right };
        if len == 0 || count == 0 || !sorted.is_whole() {
            return None;
        }
        if !self.abilities.has(&search) {
            return None;
        }
        let asked = self.whole(asked);
        self.library(search, vec![(sorted.buffer, 0), (asked, 0)], &[&shape])?.pop()
    }
}
