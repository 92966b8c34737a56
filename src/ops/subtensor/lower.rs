//! Reshape and basic indexing: views wherever possible.

use super::Subtensor;
use super::slots::{Bound, Slot};
use crate::graph::{Node, VarId};
use crate::lower::program::BufferId;
use crate::lower::{Lowered, Lowering, NestBuilder, View};
use workalike_kernels::nest::PhaseKind;
use workalike_kernels::{DType, Scalar, ops as scalar};

/// A bound of a slice once shapes are known.
pub(crate) enum SliceStart {
    /// A position, already counted from the front.
    Fixed(i64),
    /// In this 0-d int64 buffer, counted from the front and kept in range.
    Dynamic(BufferId),
}

/// The selection along one axis once shapes are known.
pub(crate) struct LoweredSlot {
    pub(crate) start: SliceStart,
    pub(crate) step: i64,
    /// `None` for an index.
    pub(crate) len: Option<u64>,
}

pub(crate) fn subtensor(op: &Subtensor, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let lens: Vec<u64> = to.shape(node.outputs[0]);
    let parts = to.parts(&op.slots, &inputs[0].shape, &lens, &node.inputs[1..], &inputs[1..])?;
    let mut view = inputs[0].clone();
    let mut axis = 0;
    for part in parts {
        let (start, dynamic) = match part.start {
            SliceStart::Fixed(start) => (start, None),
            SliceStart::Dynamic(buffer) => (0, Some(buffer)),
        };
        if dynamic.is_some() && !view.takes_dynamic(axis) {
            view = to.own_copy(&view);
        }
        view = view.slice(axis, start, part.step, part.len, dynamic);
        axis += usize::from(part.len.is_some());
    }
    Ok(vec![view])
}

impl Lowering<'_> {
    /// What slots take of a shape, with `lens` the extents that shape inference found for the slices (and the
    /// axes beyond).
    pub(crate) fn parts(
        &mut self,
        slots: &[Slot],
        shape: &[u64],
        lens: &[u64],
        bounds: &[VarId],
        views: &[View],
    ) -> Result<Vec<LoweredSlot>, String> {
        let mut lens = lens.iter();
        let mut parts = Vec::new();
        for (axis, &extent) in shape.iter().enumerate() {
            let part = match slots.get(axis) {
                None => LoweredSlot { start: SliceStart::Fixed(0), step: 1, len: lens.next().copied() },
                Some(&Slot::Index(at)) => {
                    let start = self.start(at, extent, 1, 1, true, bounds, views)?;
                    LoweredSlot { start, step: 0, len: None }
                }
                Some(&Slot::Slice { start, step, .. }) => {
                    let len = *lens.next().ok_or("a slice without a length")?;
                    let start = self.start(start, extent, step, len, false, bounds, views)?;
                    LoweredSlot { start, step, len: Some(len) }
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
    ) -> Result<SliceStart, String> {
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
            return Ok(SliceStart::Fixed(if len == 0 { 0 } else { from_front.clamp(low, high.max(low)) }));
        }
        let Bound::Input(i) = bound else { return Err("a bound without a value".into()) };
        let status = is_index.then(|| self.check_index_of(bounds[i], &views[i], extent)).flatten();
        let number = self.report();
        let target = self.temp(DType::I64, &[]);
        let mut nest = NestBuilder::new("start", &[], &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let at = point.load(&views[i], &[]);
        let mut at = point.position(at, extent, status.map(|status| (status, number)));
        // A slice starts where all of it is inside.
        for (op, bound, inside) in
            [(scalar::MAXIMUM, low, low == 0), (scalar::MINIMUM, high.max(low), high == n - 1)]
        {
            if !inside {
                let bound = point.number(DType::I64, bound.into());
                at = point.apply(op, &[at, bound]);
            }
        }
        point.store(target, &[], &[], at, None);
        point.finish();
        self.push(nest);
        Ok(SliceStart::Dynamic(target))
    }
}
