//! Index checks: how an index out of range is found.
//!
//! - An index that cannot be out of range (a constant, `arange`, `argmax`, `i % n`) needs no check: the range
//!   of elements follows from op to op ([`crate::lower::intervals`]).
//! - One that is promised to be in range ([`Op::promises_bounds`](crate::op::Op::promises_bounds), or all by
//!   an option) is not checked.
//! - One that comes from an input or shared variable whose elements the host knows is an assumption of the
//!   Program ([`crate::lower::index_bounds`]), tested before each call.
//! - In a Program without updates, the Nest that uses an index reports it
//!   ([`IndexMode::Report`](workalike_kernels::nest::IndexMode::Report)).
//! - In a Program with updates, a Nest of its own reports it, so that it can run before the first update is
//!   stored ([`crate::engine::commit`]).

use super::Lowering;
use super::build::{At, NestBuilder};
use super::index_bounds::{IndexBound, source};
use super::program::BufferId;
use super::view::View;
use crate::graph::VarId;
use workalike_kernels::nest::PhaseKind;

impl Lowering<'_> {
    /// Ensures that an index out of range along an axis of this extent is found. `id` is the input of the
    /// node that holds the index, `view` its View. Returns the status word if the Nest that uses the index
    /// must report it: see [`PhaseBuilder::position`](super::PhaseBuilder::position).
    pub fn check_index_of(&mut self, id: VarId, view: &View, extent: u64) -> Option<BufferId> {
        if id as usize >= self.graph.vars.len() {
            self.refuse(format!("the graph has no Var {id}"));
            return None;
        }
        let n = i128::from(extent);
        let promised = self.abilities.promised.holds_of(self.graph, id);
        if promised || self.stays_within(id, -n, n) || self.assumes(id, -n, n) {
            return None;
        }
        if self.checked.contains(&(id, extent)) {
            return None;
        }
        self.checked.push((id, extent));
        if !self.transactional {
            return Some(self.status());
        }
        self.push_check(view, extent);
        None
    }

    /// A Nest that only reports indices out of range.
    pub(crate) fn push_check(&mut self, view: &View, extent: u64) {
        let (status, number) = (self.status(), self.report());
        let mut nest = NestBuilder::new("check", &view.shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let given = point.load(view, &At::axes(view.shape.len()));
        point.position(given, extent, Some((status, number)));
        point.finish();
        self.push(nest);
    }

    /// [`Lowering::check_index_of`] for index arrays, each along its axis.
    pub(crate) fn check_indices(
        &mut self,
        ids: &[VarId],
        views: &[View],
        shape: &[u64],
    ) -> Vec<Option<BufferId>> {
        let indices = ids.iter().zip(views).zip(shape);
        indices.map(|((&id, view), &extent)| self.check_index_of(id, view, extent)).collect()
    }

    /// Whether the Program may assume that all elements of a Var are in `low..high`; if so, the assumption is
    /// recorded.
    pub(crate) fn assumes(&mut self, id: VarId, low: i128, high: i128) -> bool {
        let Some(source) = source(self.graph, id).filter(|role| self.trusted.contains(role)) else {
            return false;
        };
        let bound = IndexBound { source, low, high };
        if !self.program.assumed.contains(&bound) {
            self.program.assumed.push(bound);
        }
        true
    }

    /// The status word: the buffer in which Nests report an index out of range or a condition that fails. A
    /// Nest stores [`Lowering::report`] there, under extents `[]`, and nothing else.
    pub fn status(&mut self) -> BufferId {
        self.program.status_words()
    }
}
