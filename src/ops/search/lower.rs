//! Binary search: a library op if the device has it; else log2(length) steps and at most three more, each a
//! load and a choice.

use super::SearchSorted;
use crate::graph::Node;
use crate::lower::{At, Lowered, Lowering, NestBuilder, PhaseBuilder, View};
use workalike_kernels::library::Search;
use workalike_kernels::nest::{PhaseKind, Value};
use workalike_kernels::{DType, ops as scalar};

pub(crate) fn lower(op: &SearchSorted, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    if let Some(places) = to.search_by_library(*op, node, inputs) {
        return Ok(vec![places]);
    }
    let mut sorted = inputs[0].clone();
    if !sorted.takes_dynamic(0) {
        sorted = to.own_copy(&sorted);
    }
    let dtype = to.dtype(node.inputs[0]);
    let shape = to.shape(node.outputs[0]);
    let target = to.temp(DType::I64, &shape);
    let mut nest = NestBuilder::new("searchsorted", &shape, &[]);
    let mut point = nest.phase(PhaseKind::Point, &to.program);
    let here = At::axes(shape.len());
    let mut place = point.number(DType::I64, 0);
    if sorted.shape[0] > 0 {
        let number = point.load(&inputs[1], &here);
        let search = Bisection::new(&mut point, &sorted, dtype, op.right, number);
        place = search.place(&mut point);
    }
    point.store(target, &shape, &here, place, None);
    point.finish();
    to.push(nest);
    Ok(vec![View::whole(target, &shape)])
}

/// The binary search for one number.
struct Bisection<'a> {
    sorted: &'a View,
    right: bool,
    /// The dtype in which elements are compared.
    compared: DType,
    number: Value,
    /// Whether the number is not NaN, and whether it is; floats only.
    nan: Option<[Value; 2]>,
}

impl<'a> Bisection<'a> {
    fn new(
        point: &mut PhaseBuilder,
        sorted: &'a View,
        dtype: DType,
        right: bool,
        number: Value,
    ) -> Bisection<'a> {
        let compared = if dtype == DType::Bool { DType::U8 } else { dtype.register() };
        let number = point.convert(number, compared);
        let nan = dtype.is_float().then(|| {
            [point.apply(scalar::EQ, &[number, number]), point.apply(scalar::NE, &[number, number])]
        });
        Bisection { sorted, right, compared, number, nan }
    }

    /// Whether the element at a position comes before the number, or with `right` not after it. NaN is
    /// greater than all numbers.
    fn is_below(&self, point: &mut PhaseBuilder, at: Value) -> Value {
        let element = point.load(self.sorted, &[At::Value(at)]);
        let element = point.convert(element, self.compared);
        let (first, second) = if self.right { (self.number, element) } else { (element, self.number) };
        let mut before = point.apply(scalar::LT, &[first, second]);
        if let Some([is_number, is_nan]) = self.nan {
            let row = if self.right { scalar::NE } else { scalar::EQ };
            let other = point.apply(row, &[element, element]);
            let last = point.apply(scalar::AND, &[if self.right { is_number } else { is_nan }, other]);
            before = point.apply(scalar::OR, &[before, last]);
        }
        if self.right { point.apply(scalar::NOT, &[before]) } else { before }
    }

    /// The position at which the number belongs, of int64. Steps are halved from a power of two on, so that
    /// the length is one constant, and equal to no other: equal constants become one, and lengths for which
    /// different constants are equal would have a text of their own.
    fn place(&self, point: &mut PhaseBuilder) -> Value {
        let extent = self.sorted.shape[0];
        let steps = steps(extent);
        // Processors have no instruction for the minimum of 64-bit integers. Places stay below 2^(steps + 1).
        let dtype = if steps <= 28 { DType::I32 } else { DType::I64 };
        let (zero, one) = (point.number(dtype, 0), point.number(dtype, 1));
        let negative = point.number(dtype, -i128::from(extent));
        let len = point.apply(scalar::SUB, &[zero, negative]);
        let last = point.apply(scalar::SUB, &[len, one]);
        let mut place = zero;
        for step in (0..steps).rev().map(|bit| 1 << bit) {
            let [step, back] = [step, step - 1].map(|n| point.number(dtype, n));
            let next = point.apply(scalar::ADD, &[place, step]);
            // Beyond the end stands the last element: if it is below, the place is the end.
            let at = point.apply(scalar::ADD, &[place, back]);
            let at = point.apply(scalar::MINIMUM, &[at, last]);
            let at = point.convert(at, DType::I64);
            let taken = self.is_below(point, at);
            place = point.apply(scalar::WHERE, &[taken, next, place]);
        }
        let place = point.apply(scalar::MINIMUM, &[place, len]);
        point.convert(place, DType::I64)
    }
}

/// The number of steps of a search among `extent` elements, a multiple of four: lengths within a factor of 16
/// have one text.
fn steps(extent: u64) -> u32 {
    (u64::BITS - extent.leading_zeros()).next_multiple_of(4)
}

impl Lowering<'_> {
    /// The search as a library op, if the device has it and the sorted vector need not be copied for it.
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
