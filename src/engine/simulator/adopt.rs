//! Values of parents to shared variables, those of all devices at once.

use super::Simulator;
use super::methods::same_bits;
use super::sync::Keep;
use crate::error::{Error, Result};
use crate::graph::CellSet;
use crate::value::Value;

/// A parent's value and version at one moment.
struct Seen {
    value: Value,
    version: u64,
    /// Whether it changed since the last sync.
    moved: bool,
}

/// What becomes of a state.
struct AdoptedState {
    of: usize,
    parents: Vec<Seen>,
    value: Value,
    /// Whether the state takes the value; otherwise it has it.
    takes: bool,
}

impl Simulator {
    /// Reads the parents of the states that are `wanted`, at one moment. `wanted` gets a state, and whether a
    /// parent of it changed. All are locked before any is read: a concurrent sync is seen entirely or not at
    /// all.
    fn look(
        &self,
        states: &[usize],
        wanted: impl Fn(usize, bool) -> bool,
    ) -> Result<Vec<(usize, Vec<Seen>)>> {
        let cells = |&state: &usize| self.states[state].cells.iter();
        let set = CellSet::of(states.iter().flat_map(cells).map(|(cell, _)| &**cell));
        let locked = set.lock()?;
        let (mut found, mut first) = (Vec::new(), 0);
        for of in states {
            let places = first..first + cells(of).len();
            first = places.end;
            let moved: Vec<bool> = places
                .clone()
                .zip(cells(of))
                .map(|(place, (_, seen))| locked.version(place) != *seen)
                .collect();
            if !wanted(*of, moved.contains(&true)) {
                continue;
            }
            let seen = places.zip(moved).map(|(place, moved)| {
                Ok(Seen { value: locked.read(place)?, version: locked.version(place), moved })
            });
            found.push((*of, seen.collect::<Result<Vec<_>>>()?));
        }
        Ok(found)
    }

    /// The parents' values, where they changed, to the states. Nothing is written if there is a conflict that
    /// `keep` does not settle.
    pub(super) fn read_in(&mut self, states: &[usize], keep: Option<Keep>) -> Result<Vec<String>> {
        let mut decided = Vec::new();
        for (of, parents) in self.look(states, |_, moved| moved)? {
            let Some(first) = parents.iter().find(|p| p.moved).map(|p| p.value.clone()) else { continue };
            let held = self.executor.read_state(of)?;
            let mut disagree = false;
            for parent in parents.iter().filter(|p| p.moved) {
                disagree |= !same_bits(&parent.value, &first)?;
            }
            let differs = !same_bits(&held, &first)?;
            let conflict = disagree || (differs && self.states[of].is_ahead());
            if let (true, None) = (conflict, keep) {
                return Err(conflict_of(self.name_of(of), disagree));
            }
            let takes = differs && !(conflict && keep == Some(Keep::Simulator));
            decided.push(AdoptedState { of, parents, value: if takes { first } else { held }, takes });
        }
        self.write_states(decided)
    }

    /// The parents' values to the states, whatever the states have.
    pub(super) fn take_parents(&mut self, states: &[usize]) -> Result<Vec<String>> {
        let mut decided = Vec::new();
        for (of, parents) in self.look(states, |state, moved| moved || self.states[state].is_ahead())? {
            let Some(parent) = parents.iter().find(|p| p.moved).or(parents.first()) else { continue };
            let value = parent.value.clone();
            let takes = !same_bits(&self.executor.read_state(of)?, &value)?;
            decided.push(AdoptedState { of, parents, value, takes });
        }
        self.write_states(decided)
    }

    /// Writes the decided values to the states, and notes the versions of all parents.
    fn write_states(&mut self, decided: Vec<AdoptedState>) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for AdoptedState { of: state, parents, value, takes } in decided {
            if takes {
                self.executor.write_state(state, &value)?;
                names.push(self.name_of(state).to_string());
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

fn conflict_of(name: &str, disagree: bool) -> Error {
    Error::Sync(match disagree {
        true => format!(
            "shared variable {name} changed to different values in two parent Functions; say which value holds with \
             sync_from_parent_keeping(Keep::Parent), that of the first of them, or Keep::Simulator"
        ),
        false => format!(
            "shared variable {name} changed both in the parent Function and in the Simulator; say which value holds with \
             sync_from_parent_keeping(Keep::Simulator) or Keep::Parent; reset() drops what the Simulator changed"
        ),
    })
}
