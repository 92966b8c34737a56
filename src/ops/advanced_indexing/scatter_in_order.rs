//! Scatters that replace rows at positions in order: of the points with the same position, which are
//! neighbours, the last one stores.

use crate::graph::Node;
use crate::lower::{At, Lowered, Lowering, NestBuilder, PhaseBuilder, View};
use workalike_kernels::nest::{PhaseKind, Value as NestValue};
use workalike_kernels::{DType, ops as scalar};

impl Lowering<'_> {
    /// Whether the positions of a scatter ascend along the only axis of its index. A first run of -1, which
    /// counts from the end and means the last row, is allowed.
    pub(super) fn is_in_order(&self, node: &Node, points: &[u64]) -> bool {
        let (&[_, _, index], [_]) = (&node.inputs[..], points) else { return false };
        self.ascends_along(index, 0) && self.stays_within(index, -1, i64::MAX.into())
    }

    /// The scatter as a Nest over the points and the axes of `x` that are not indexed.
    pub(super) fn scatter_in_order(&mut self, node: &Node, inputs: &[View], points: u64) -> Lowered {
        let (x, y, index) = (&inputs[0], &inputs[1], &inputs[2]);
        let rows = x.shape[0];
        let status = self.check_index_of(node.inputs[2], index, rows);
        let target = self.writable_copy(x);
        let report = status.map(|status| (status, self.report()));
        let from_end = !self.stays_within(node.inputs[2], 0, i64::MAX.into());

        let rest = &x.shape[1..];
        let mut nest = NestBuilder::new("scatter", &[&[points], rest].concat(), &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let along = |at: At| if points == 1 { At::First } else { at };
        let given = point.load(index, &[along(At::Axis(0))]);
        let row = point.position(given, rows, report);
        let (here, last) = (point.axis(0), point.number(DType::I64, i128::from(points) - 1));
        let one = point.number(DType::I64, 1);
        let next = point.apply(scalar::ADD, &[here, one]);
        let next = point.apply(scalar::MINIMUM, &[next, last]);
        let differs = |point: &mut PhaseBuilder, other: NestValue| {
            let given = point.load(index, &[along(At::Value(other))]);
            let other = point.position(given, rows, None);
            point.apply(scalar::NE, &[row, other])
        };
        let mut ends = differs(&mut point, next);
        if from_end {
            let from_last = differs(&mut point, last);
            ends = point.apply(scalar::AND, &[ends, from_last]);
        }
        let is_last = point.apply(scalar::EQ, &[here, last]);
        let ends = point.apply(scalar::OR, &[is_last, ends]);

        let full: Vec<u64> = [points].iter().chain(rest).copied().collect();
        let of_y = |(axis, (&own, &full))| if own == 1 && full != 1 { At::First } else { At::Axis(axis) };
        let y_at: Vec<At> = y.shape.iter().zip(&full).enumerate().map(of_y).collect();
        let value = point.load(y, &y_at);
        let at: Vec<At> = [At::Value(row)].into_iter().chain((1..full.len()).map(At::Axis)).collect();
        point.store(target, &x.shape, &at, value, Some(ends));
        point.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &x.shape)])
    }
}
