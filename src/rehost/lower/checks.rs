//! Index checks: how an index out of range is found.
//!
//! - An index that cannot be out of range (a constant, `arange`, `argmax`) needs no check.
//! - One that comes from an input or shared variable whose elements the host knows is an assumption of the Program
//!   ([`crate::rehost::index_check`]), tested before each call.
//! - In a Program without updates, the Nest that uses an index reports it.
//! - In a Program with updates, a Nest of its own reports it, so that it can run before the first update is stored
//!   ([`crate::rehost::commit`]).

use super::build::{At, NestBuilder};
use super::views::{from_front, report};
use super::{Lowered, Lowering};
use crate::dtype::DType;
use crate::graph::{Def, Node, VarId};
use crate::kernels::nest::PhaseKind;
use crate::kernels::ops as scalar;
use crate::ops::{ARange, ArgReduce, downcast};
use crate::rehost::index_check::{Bounds, IndexBound, origin, source};
use crate::rehost::program::{BufferId, Role, STATUS_WORDS};
use crate::rehost::view::View;

/// Elements of a constant index array that are looked at while lowering.
const LOOKED_AT: usize = 1 << 16;

impl Lowering<'_> {
    /// Sees to it that an index out of range along an axis of this extent is found. Gives the status word if the Nest that uses
    /// the index has to report it.
    pub(super) fn check_index_of(&mut self, id: VarId, view: &View, extent: u64) -> Option<BufferId> {
        let n = i128::from(extent);
        if self.never_leaves(id, n) || self.assumes(id, -n, n) {
            return None;
        }
        if !self.transactional {
            return Some(self.status());
        }
        if !self.checked.contains(&(id, extent)) {
            self.checked.push((id, extent));
            self.push_check(view, extent);
        }
        None
    }

    /// A Nest that does nothing but report indices out of range.
    pub(super) fn push_check(&mut self, view: &View, extent: u64) {
        let (status, number) = (self.status(), self.report());
        let mut nest = NestBuilder::new("check", &view.shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let given = point.load(view, &At::axes(view.shape.len()));
        let at = from_front(&mut point, given, extent as i64);
        report(&mut point, status, at, extent as i64, number);
        point.finish();
        self.push(nest);
    }

    /// [`Lowering::check_index_of`] for index arrays, each along its axis.
    pub(super) fn check_indices(
        &mut self,
        ids: &[VarId],
        views: &[View],
        shape: &[u64],
    ) -> Vec<Option<BufferId>> {
        let indices = ids.iter().zip(views).zip(shape);
        indices.map(|((&id, view), &extent)| self.check_index_of(id, view, extent)).collect()
    }

    /// Whether the Program may assume that all elements of a Var are in `low..high`; if so, it does from now on.
    fn assumes(&mut self, id: VarId, low: i128, high: i128) -> bool {
        let Some(source) = source(self.graph, id).filter(|role| self.trusted.contains(role)) else {
            return false;
        };
        let bound = IndexBound { source, low, high };
        if !self.program.assumed.contains(&bound) {
            self.program.assumed.push(bound);
        }
        true
    }

    /// Whether the elements of a Var are in `-extent..extent` whatever the values of inputs are.
    fn never_leaves(&self, id: VarId, extent: i128) -> bool {
        for id in [id, origin(self.graph, id)] {
            let fixed = self.shapes.fixed[id as usize].as_ref();
            if let Some(value) = fixed.filter(|value| value.len() <= LOOKED_AT) {
                return Bounds::of(value).is_some_and(|bounds| bounds.within(-extent, extent));
            }
        }
        let Def::Output { node, .. } = self.graph.var(origin(self.graph, id)).def else { return false };
        let node = &self.graph.nodes[node as usize];
        if let Some(op) = downcast::<ArgReduce>(node.op.as_ref()) {
            let shape = &self.shapes.shapes[node.inputs[0] as usize];
            let count = op.axes.iter().try_fold(1i128, |n, &axis| n.checked_mul(shape[axis] as i128));
            return count.is_some_and(|count| count <= extent);
        }
        downcast::<ARange>(node.op.as_ref()).is_some() && self.arange_ends_below(node, extent)
    }

    /// Whether a range of this node starts at 0 or above and ends below `extent`.
    fn arange_ends_below(&self, node: &Node, extent: i128) -> bool {
        let fixed = |at: usize| self.shapes.fixed[node.inputs[at] as usize].as_ref()?.to_scalar();
        let (Some(start), Some(step)) = (fixed(0), fixed(2)) else { return false };
        let (start, step) = (start.to_i128(), step.to_i128());
        let count = self.shapes.shapes[node.outputs[0] as usize].first().map_or(0, |&n| n as i128);
        let last = step.checked_mul(count - 1).and_then(|reach| start.checked_add(reach));
        count == 0 || (start >= 0 && step > 0 && last.is_some_and(|last| last < extent))
    }

    /// Integers as int64, kept below a bound; those that are not are reported.
    pub(super) fn check_index(&mut self, node: &Node, inputs: &[View]) -> Lowered {
        let shape = self.shape(node.outputs[0]);
        let target = self.temp(DType::I64, &shape);
        let high = self.shapes.fixed[node.inputs[1] as usize].as_ref().and_then(|v| v.to_scalar());
        let assumed = high.is_some_and(|high| self.assumes(node.inputs[0], 0, high.to_i128()));
        let status = (!assumed).then(|| self.status());
        let number = self.report();
        let mut nest = NestBuilder::new("check_index", &shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
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
        self.push(nest);
        Ok(vec![View::whole(target, &shape)])
    }

    /// The buffer in which Nests report what they find wrong: an index out of range, a condition that fails.
    pub(super) fn status(&mut self) -> BufferId {
        if let Some(status) = self.program.status {
            return status;
        }
        let status = self.program.buffer(DType::I64, &[STATUS_WORDS], Role::Status);
        self.program.buffers[status].mutable = true;
        self.program.status = Some(status);
        status
    }
}
