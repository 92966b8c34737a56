//! Reshape and basic indexing: views wherever possible.

use super::build::{At, NestBuilder};
use super::{Lowered, Lowering};
use crate::dtype::DType;
use crate::graph::{Node, VarId};
use crate::kernels::Scalar;
use crate::kernels::nest::{PhaseKind, Value};
use crate::kernels::ops as scalar;
use crate::ops::{Bound, Slot, Subtensor};
use crate::rehost::lower::build::PhaseBuilder;
use crate::rehost::program::BufferId;
use crate::rehost::view::View;

/// A bound of a slice once shapes are known.
pub(super) enum Start {
    /// A position, already counted from the front.
    Fixed(i64),
    /// In this 0-d int64 buffer, counted from the front and kept in range.
    Dynamic(BufferId),
}

/// What is taken along one axis once shapes are known.
pub(super) struct Part {
    pub(super) start: Start,
    pub(super) step: i64,
    /// `None` for an index.
    pub(super) len: Option<u64>,
}

impl Lowering<'_> {
    pub(super) fn reshape(&mut self, node: &Node, inputs: &[View]) -> Lowered {
        let shape = self.shape(node.outputs[0]);
        if let Some(view) = inputs[0].reshape(&shape) {
            return Ok(vec![view]);
        }
        let copy = self.own_copy(&inputs[0]);
        Ok(vec![View::whole(copy.buffer, &shape)])
    }

    pub(super) fn subtensor(&mut self, op: &Subtensor, node: &Node, inputs: &[View]) -> Lowered {
        let lens: Vec<u64> = self.shape(node.outputs[0]);
        let parts = self.parts(&op.slots, &inputs[0].shape, &lens, &node.inputs[1..], &inputs[1..])?;
        let mut view = inputs[0].clone();
        let mut axis = 0;
        for part in parts {
            let (start, dynamic) = match part.start {
                Start::Fixed(start) => (start, None),
                Start::Dynamic(buffer) => (0, Some(buffer)),
            };
            if dynamic.is_some() && !view.takes_dynamic(axis) {
                view = self.own_copy(&view);
            }
            view = view.slice(axis, start, part.step, part.len, dynamic);
            axis += usize::from(part.len.is_some());
        }
        Ok(vec![view])
    }

    /// What slots take of a shape, with `lens` the extents that shape inference found for the slices (and the axes beyond).
    pub(super) fn parts(
        &mut self,
        slots: &[Slot],
        shape: &[u64],
        lens: &[u64],
        bounds: &[VarId],
        views: &[View],
    ) -> Result<Vec<Part>, String> {
        let mut lens = lens.iter();
        let mut parts = Vec::new();
        for (axis, &extent) in shape.iter().enumerate() {
            let part = match slots.get(axis) {
                None => Part { start: Start::Fixed(0), step: 1, len: lens.next().copied() },
                Some(&Slot::Index(at)) => {
                    let start = self.start(at, extent, 1, 1, true, bounds, views)?;
                    Part { start, step: 0, len: None }
                }
                Some(&Slot::Slice { start, step, .. }) => {
                    let len = *lens.next().ok_or("a slice without a length")?;
                    let start = self.start(start, extent, step, len, false, bounds, views)?;
                    Part { start, step, len: Some(len) }
                }
            };
            parts.push(part);
        }
        Ok(parts)
    }

    /// Where a slice or index starts, counted from the front.
    #[allow(clippy::too_many_arguments)]
    fn start(
        &mut self,
        bound: Bound,
        extent: u64,
        step: i64,
        len: u64,
        is_index: bool,
        bounds: &[VarId],
        views: &[View],
    ) -> Result<Start, String> {
        let n = extent as i64;
        let fixed = match bound {
            Bound::Open => Some(if step < 0 { n - 1 } else { 0 }),
            Bound::At(at) => Some(at),
            Bound::Input(i) => {
                let value =
                    self.shapes.fixed[bounds[i] as usize].as_ref().and_then(crate::value::Value::to_scalar);
                value.map(|s| Scalar::to_i128(s) as i64)
            }
        };
        // Positions at which a part of this length stays inside.
        let reach = step.saturating_mul(len.max(1) as i64 - 1);
        let (low, high) = if step < 0 { (-reach, n - 1) } else { (0, n - 1 - reach) };
        if let Some(at) = fixed {
            let from_front = if at < 0 && bound != Bound::Open { at.saturating_add(n) } else { at };
            if is_index && !(0..n).contains(&from_front) {
                return Err(format!("index {at} is out of bounds for extent {n}"));
            }
            return Ok(Start::Fixed(if len == 0 { 0 } else { from_front.clamp(low, high.max(low)) }));
        }
        let Bound::Input(i) = bound else { return Err("a bound without a value".into()) };
        let status = is_index.then(|| self.check_index_of(bounds[i], &views[i], extent)).flatten();
        let number = self.report();
        let target = self.temp(DType::I64, &[]);
        let mut nest = NestBuilder::new("start", &[], &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let at = point.load(&views[i], &[]);
        let at = from_front(&mut point, at, n);
        if let Some(status) = status {
            report(&mut point, status, at, n, number);
        }
        let at = clamped(&mut point, at, low, high.max(low));
        point.store(target, &[], &[], at, None);
        point.finish();
        self.push(nest);
        Ok(Start::Dynamic(target))
    }
}

/// A position counted from the end if negative.
pub(super) fn from_front(phase: &mut PhaseBuilder, at: Value, extent: i64) -> Value {
    let at = phase.signed(at);
    let (zero, n) = (phase.number(DType::I64, 0), phase.number(DType::I64, extent as i128));
    let negative = phase.apply(scalar::LT, &[at, zero]);
    let moved = phase.apply(scalar::ADD, &[at, n]);
    phase.apply(scalar::WHERE, &[negative, moved, at])
}

/// A position kept within `low..=high`.
pub(super) fn clamped(phase: &mut PhaseBuilder, at: Value, low: i64, high: i64) -> Value {
    let (low, high) = (phase.number(DType::I64, low as i128), phase.number(DType::I64, high as i128));
    let at = phase.apply(scalar::MAXIMUM, &[at, low]);
    phase.apply(scalar::MINIMUM, &[at, high])
}

/// Stores the node's number in the status word if a position is out of range.
pub(super) fn report(phase: &mut PhaseBuilder, status: BufferId, at: Value, extent: i64, number: i128) {
    let (zero, n) = (phase.number(DType::I64, 0), phase.number(DType::I64, extent as i128));
    let below = phase.apply(scalar::LT, &[at, zero]);
    let beyond = phase.apply(scalar::GE, &[at, n]);
    let bad = phase.apply(scalar::OR, &[below, beyond]);
    let number = phase.number(DType::I64, number);
    phase.store(status, &[], &At::axes(0), number, Some(bad));
}
