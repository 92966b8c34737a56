//! Sync between a Simulator and the Functions it was made from. A value that both sides changed is never
//! overwritten, unless the caller says whose value wins; this settles the conflict.
//!
//! The device is read before the parents are locked, and written after: they are locked only while versions
//! are compared and values are copied on the host.

use super::Simulator;
use super::methods::same_bits;
use super::publish::publish;
use crate::error::{Error, Result};
use crate::graph::{Ahead, Cell, CellSet, SharedVariable};
use crate::value::Value;
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
    pub(super) cells: Vec<(Arc<Cell>, u64)>,
    /// Set if a parent may have another value than the device; the parents know it.
    ahead: Option<Ahead>,
}

impl Parent {
    pub(super) fn of(cell: Arc<Cell>, version: u64) -> Parent {
        Parent { cells: vec![(cell, version)], ahead: None }
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

    pub(super) fn is_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    pub(super) fn set_ahead(&mut self, ahead: bool) {
        match (ahead, self.ahead.is_some()) {
            (true, false) => self.ahead = Some(Ahead::of(self.cells.iter().map(|c| &c.0))),
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
                self.cells.push((cell.clone(), version));
                // All parents are told, including the new one.
                let ahead = self.ahead.take().is_some();
                self.set_ahead(ahead);
            }
        }
    }
}

/// A parent's value and version at one moment.
struct Seen {
    value: Value,
    version: u64,
    /// Whether it changed since the last sync.
    moved: bool,
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
        self.write_back(&self.all_states(), None)
    }

    /// [`Simulator::sync_to_parent`]; `keep` says whose value wins if a parent's changed too. This settles
    /// the conflict: afterwards Simulator and parents have one value. [`Keep::Simulator`] also restores the
    /// Simulator's value in parents that changed while it did not; with [`Keep::Parent`] the Simulator takes
    /// the parent's value.
    ///
    /// # Errors
    /// If the device fails.
    pub fn sync_to_parent_keeping(&mut self, keep: Keep) -> Result<Vec<String>> {
        self.write_back(&self.all_states(), Some(keep))
    }

    /// [`Simulator::sync_to_parent`] for these shared variables alone.
    ///
    /// # Errors
    /// As [`Simulator::sync_to_parent`], or if no method has one of them.
    pub fn sync_to_parent_only<'s>(
        &mut self,
        variables: impl IntoIterator<Item = &'s SharedVariable>,
    ) -> Result<Vec<String>> {
        self.write_back(&self.states_of(variables)?, None)
    }

    /// Copies every shared variable that changed in its parent since the last sync to the device; all are
    /// read at one moment. Returns the names of the shared variables whose value was another one.
    ///
    /// # Errors
    /// If the Simulator changed it too, to another value, or two parents changed to different values: nothing
    /// is written, and the error names it. See [`Simulator::sync_from_parent_keeping`]. If the device fails;
    /// call it again then.
    pub fn sync_from_parent(&mut self) -> Result<Vec<String>> {
        self.read_in(&self.all_states(), None)
    }

    /// [`Simulator::sync_from_parent`]; `keep` says whose value wins if the Simulator's changed too or
    /// parents disagree. This settles the conflict: with [`Keep::Simulator`] the Simulator's value stays, and
    /// parents with another value get it with the next sync to them.
    ///
    /// # Errors
    /// If the device fails; call it again then.
    pub fn sync_from_parent_keeping(&mut self, keep: Keep) -> Result<Vec<String>> {
        self.read_in(&self.all_states(), Some(keep))
    }

    /// [`Simulator::sync_from_parent`] for these shared variables alone.
    ///
    /// # Errors
    /// As [`Simulator::sync_from_parent`], or if no method has one of them.
    pub fn sync_from_parent_only<'s>(
        &mut self,
        variables: impl IntoIterator<Item = &'s SharedVariable>,
    ) -> Result<Vec<String>> {
        self.read_in(&self.states_of(variables)?, None)
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
        self.take_parents(&self.all_states())
    }

    /// [`Simulator::reset`] for these shared variables alone.
    ///
    /// # Errors
    /// As [`Simulator::reset`], or if no method has one of them.
    pub fn reset_only<'s>(
        &mut self,
        variables: impl IntoIterator<Item = &'s SharedVariable>,
    ) -> Result<Vec<String>> {
        self.take_parents(&self.states_of(variables)?)
    }

    fn all_states(&self) -> Vec<usize> {
        (0..self.states.len()).collect()
    }

    fn states_of<'s>(&self, variables: impl IntoIterator<Item = &'s SharedVariable>) -> Result<Vec<usize>> {
        let mut states = variables.into_iter().map(|v| self.state_of(v)).collect::<Result<Vec<_>>>()?;
        states.sort_unstable();
        states.dedup();
        Ok(states)
    }

    pub(super) fn name_of(&self, state: usize) -> String {
        self.engine.states()[state].binding.name.clone()
    }

    fn cells_of<'s>(&'s self, states: &'s [usize]) -> impl Iterator<Item = &'s Arc<Cell>> {
        states.iter().flat_map(|&state| self.states[state].cells.iter().map(|c| &c.0))
    }

    fn write_back(&mut self, states: &[usize], keep: Option<Keep>) -> Result<Vec<String>> {
        let states: Vec<(usize, usize)> = states.iter().map(|&state| (0, state)).collect();
        publish(&mut [self], &states, keep)
    }

    pub(super) fn in_step(&mut self, state: usize, versions: &[u64]) {
        self.states[state].cells.iter_mut().zip(versions).for_each(|((_, seen), version)| *seen = *version);
    }

    /// Reads the parents of the states that are `wanted`, at one moment. `wanted` gets a state, and whether a
    /// parent of it changed. All are locked before any is read: a concurrent sync is seen entirely or not at
    /// all.
    fn look(
        &self,
        states: &[usize],
        wanted: impl Fn(usize, bool) -> bool,
    ) -> Result<Vec<(usize, Vec<Seen>)>> {
        let set = CellSet::of(self.cells_of(states));
        let locked = set.lock()?;
        let (mut found, mut first) = (Vec::new(), 0);
        for &state in states {
            let cells = &self.states[state].cells;
            let places = first..first + cells.len();
            first = places.end;
            let moved: Vec<bool> =
                places.clone().zip(cells).map(|(place, (_, seen))| locked.version(place) != *seen).collect();
            if !wanted(state, moved.contains(&true)) {
                continue;
            }
            let seen = places.zip(moved).map(|(place, moved)| {
                Ok(Seen { value: locked.read(place)?, version: locked.version(place), moved })
            });
            found.push((state, seen.collect::<Result<Vec<_>>>()?));
        }
        Ok(found)
    }

    fn read_in(&mut self, states: &[usize], keep: Option<Keep>) -> Result<Vec<String>> {
        let mut decided = Vec::new();
        for (state, parents) in self.look(states, |_, moved| moved)? {
            let Some(first) = parents.iter().find(|p| p.moved).map(|p| p.value.clone()) else { continue };
            let held = self.engine.read_state(state)?;
            let mut disagree = false;
            for parent in parents.iter().filter(|p| p.moved) {
                disagree |= !same_bits(&parent.value, &first)?;
            }
            let differs = !same_bits(&held, &first)?;
            let conflict = disagree || (differs && self.states[state].is_ahead());
            if let (true, None) = (conflict, keep) {
                return Err(self.conflict(state, disagree));
            }
            let takes = differs && !(conflict && keep == Some(Keep::Simulator));
            decided.push((state, parents, if takes { first } else { held }, takes));
        }
        self.settle(decided)
    }

    fn conflict(&self, state: usize, disagree: bool) -> Error {
        let name = self.name_of(state);
        Error::Sync(match disagree {
            true => format!(
                "shared variable {name} changed to different values in two parent Functions; say which value holds with \
                 sync_from_parent_keeping(Keep::Parent), that of the first of them, or Keep::Simulator"
            ),
            false => format!(
                "shared variable {name} changed both in the parent Function and in the Simulator; say which value holds with \
                 sync_from_parent_keeping(Keep::Simulator) or Keep::Parent"
            ),
        })
    }

    fn take_parents(&mut self, states: &[usize]) -> Result<Vec<String>> {
        let mut decided = Vec::new();
        for (state, parents) in self.look(states, |state, moved| moved || self.states[state].is_ahead())? {
            let Some(parent) = parents.iter().find(|p| p.moved).or(parents.first()) else { continue };
            let value = parent.value.clone();
            let takes = !same_bits(&self.engine.read_state(state)?, &value)?;
            decided.push((state, parents, value, takes));
        }
        self.settle(decided)
    }

    /// Writes the decided values to the states for which `takes` is true, and notes the versions of all
    /// parents.
    fn settle(&mut self, decided: Vec<(usize, Vec<Seen>, Value, bool)>) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for (state, parents, value, takes) in decided {
            if takes {
                self.engine.write_state(state, &value)?;
                names.push(self.name_of(state));
            }
            let versions: Vec<u64> = parents.iter().map(|p| p.version).collect();
            self.in_step(state, &versions);
            // A parent with another value gets this one with the next sync to the parents.
            let mut ahead = false;
            for parent in &parents {
                ahead |= !same_bits(&parent.value, &value)?;
            }
            self.states[state].set_ahead(ahead);
        }
        Ok(names)
    }
}
