//! Sync between a Simulator and the Functions it was made from. A value that both sides changed is never
//! overwritten, unless the caller says whose value wins; this settles the conflict. `publish` writes to the
//! parents, `adopt` reads them.
//!
//! The device is read before the parents are locked, and written after: they are locked only while versions
//! are compared and values are copied on the host.

use super::Simulator;
use crate::error::Result;
use crate::graph::{Ahead, Cell, SharedVariable, Watched};
use std::sync::Arc;

/// Which value of a shared variable wins where the Simulator's and a parent's differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The Simulator's.
    Simulator,
    /// The parent's. If several parents changed to different values: the first one's, in the order in which
    /// their Functions became methods.
    Parent,
}

/// The Simulator's record of a shared variable's parents.
#[derive(Debug)]
pub(super) struct Parent {
    /// Cells of one id, and the version of each at the last sync with the Simulator. Empty if the state is
    /// not a user's.
    pub(super) cells: Vec<(Watched, u64)>,
    /// Set if a parent may have another value than the device; the parents know it.
    ahead: Option<Ahead>,
}

impl Parent {
    pub(super) fn of(cell: Arc<Cell>, version: u64) -> Parent {
        Parent { cells: vec![(Watched::new(cell), version)], ahead: None }
    }

    /// For a state without parents.
    pub(super) fn none() -> Parent {
        Parent { cells: vec![], ahead: None }
    }

    /// The same parents for another Simulator that has the same value.
    pub(super) fn copy(&self) -> Parent {
        let mut copy = Parent { cells: self.cells.clone(), ahead: None };
        copy.set_ahead(self.is_ahead());
        copy
    }

    /// Takes the present values of its parents for known.
    fn acknowledge(&mut self) {
        self.set_ahead(false);
        self.cells.iter_mut().for_each(|(cell, seen)| *seen = cell.version());
    }

    pub(super) fn is_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    pub(super) fn set_ahead(&mut self, ahead: bool) {
        match (ahead, self.ahead.is_some()) {
            (true, false) => self.ahead = Some(Ahead::of(self.cells.iter().map(|c| &*c.0))),
            (false, true) => self.ahead = None,
            _ => {}
        }
    }

    /// Whether a parent changed since the last sync.
    pub(super) fn has_moved(&self) -> bool {
        self.cells.iter().any(|(cell, seen)| cell.version() != *seen)
    }

    /// Notes that a version of a cell was seen; a new cell becomes a parent.
    pub(super) fn saw(&mut self, cell: &Arc<Cell>, version: u64) {
        match self.cells.iter_mut().find(|(c, _)| Arc::ptr_eq(c, cell)) {
            Some((_, seen)) => *seen = version,
            None => {
                self.cells.push((Watched::new(cell.clone()), version));
                // All parents are told, including the new one.
                let ahead = self.ahead.take().is_some();
                self.set_ahead(ahead);
            }
        }
    }
}

impl Simulator {
    /// Copies every shared variable that the Simulator changed to its parent Functions, atomically: a
    /// concurrent reader sees all old values or all new ones. Returns the names of the shared variables whose
    /// value in a parent was another one. Values that are equal, bit by bit, are no change and no conflict.
    ///
    /// # Errors
    /// If a parent's value changed since the last sync to another one than the Simulator's: nothing is
    /// written, and the error names it. See [`Simulator::sync_to_parent_keeping`]. If the device fails:
    /// nothing is written.
    pub fn sync_to_parent(&mut self) -> Result<Vec<String>> {
        let all = self.all_states();
        self.publish(&all, None)
    }

    /// [`Simulator::sync_to_parent`]; `keep` says whose value wins if a parent's changed too. This settles
    /// the conflict: afterwards Simulator and parents have one value. [`Keep::Simulator`] also restores the
    /// Simulator's value in parents that changed while it did not; with [`Keep::Parent`] the Simulator takes
    /// the parent's value.
    ///
    /// # Errors
    /// If the device fails.
    pub fn sync_to_parent_keeping(&mut self, keep: Keep) -> Result<Vec<String>> {
        let all = self.all_states();
        self.publish(&all, Some(keep))
    }

    /// [`Simulator::sync_to_parent`] for these shared variables alone.
    ///
    /// # Errors
    /// As [`Simulator::sync_to_parent`], or if no method has one of them.
    pub fn sync_to_parent_only(
        &mut self,
        variables: impl IntoIterator<Item = impl Into<SharedVariable>>,
    ) -> Result<Vec<String>> {
        let states = self.states_of(variables)?;
        self.publish(&states, None)
    }

    /// Copies every shared variable that changed in its parent since the last sync to the device; all are
    /// read at one moment. Returns the names of the shared variables whose value was another one.
    ///
    /// # Errors
    /// If the Simulator changed it too, to another value, or two parents changed to different values: nothing
    /// is written, and the error names it. See [`Simulator::sync_from_parent_keeping`]. If the device fails;
    /// call it again then.
    pub fn sync_from_parent(&mut self) -> Result<Vec<String>> {
        let all = self.all_states();
        self.read_in(&all, None)
    }

    /// [`Simulator::sync_from_parent`]; `keep` says whose value wins if the Simulator's changed too or
    /// parents disagree. This settles the conflict: with [`Keep::Simulator`] the Simulator's value stays, and
    /// parents with another value get it with the next sync to them.
    ///
    /// # Errors
    /// If the device fails; call it again then.
    pub fn sync_from_parent_keeping(&mut self, keep: Keep) -> Result<Vec<String>> {
        let all = self.all_states();
        self.read_in(&all, Some(keep))
    }

    /// [`Simulator::sync_from_parent`] for these shared variables alone.
    ///
    /// # Errors
    /// As [`Simulator::sync_from_parent`], or if no method has one of them.
    pub fn sync_from_parent_only(
        &mut self,
        variables: impl IntoIterator<Item = impl Into<SharedVariable>>,
    ) -> Result<Vec<String>> {
        let states = self.states_of(variables)?;
        self.read_in(&states, None)
    }

    /// Discards what the Simulator changed since the last sync: all shared variables take their parents'
    /// values. Returns the names of the shared variables whose value was another one.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let w = shared("w", 1i64);
    /// let mut sim = function([] as [&Variable; 0]).update(&w, &w * 2i64).compile()?.optimize(Host::auto())?;
    /// sim.run_n(10, args![])?;
    /// assert_eq!(sim.reset()?, ["w"]);
    /// assert_eq!(sim.get(&w)?.item::<i64>()?, 1);
    /// assert!(sim.sync_to_parent()?.is_empty());
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device fails; call it again then.
    pub fn reset(&mut self) -> Result<Vec<String>> {
        // Calls that nobody waited for are discarded with their errors, which their results still report.
        self.executor.discard_errors()?;
        let all = self.all_states();
        self.take_parents(&all)
    }

    /// [`Simulator::reset`] for these shared variables alone.
    ///
    /// # Errors
    /// As [`Simulator::reset`], or if no method has one of them.
    pub fn reset_only(
        &mut self,
        variables: impl IntoIterator<Item = impl Into<SharedVariable>>,
    ) -> Result<Vec<String>> {
        let states = self.states_of(variables)?;
        self.take_parents(&states)
    }

    /// Takes the parents' present values for known, without copying them: another Simulator has published
    /// values that stand for this one's.
    pub(in crate::engine) fn acknowledge_parents(&mut self) {
        for state in &mut self.states {
            state.acknowledge();
        }
    }

    fn all_states(&self) -> Vec<usize> {
        (0..self.states.len()).collect()
    }

    fn states_of(
        &self,
        variables: impl IntoIterator<Item = impl Into<SharedVariable>>,
    ) -> Result<Vec<usize>> {
        let mut states =
            variables.into_iter().map(|v| self.state_of(&v.into())).collect::<Result<Vec<_>>>()?;
        states.sort_unstable();
        states.dedup();
        Ok(states)
    }

    pub(super) fn name_of(&self, state: usize) -> &str {
        &self.executor.state(state).binding.name
    }

    pub(super) fn in_step(&mut self, state: usize, versions: &[u64]) {
        self.states[state].cells.iter_mut().zip(versions).for_each(|((_, seen), version)| *seen = *version);
    }
}
