//! Values of shared variables to their parents, those of all devices at once.

use super::Simulator;
use super::sync::Keep;
use crate::error::{Error, Result};
use crate::graph::{CellSet, LockedCells, NewValue};
use crate::value::Value;

/// What a sync to the parents writes.
struct ParentWrites {
    /// Places of the locked set, and their new values.
    published: Vec<(usize, NewValue)>,
    /// States that take their parent's value.
    taken: Vec<(usize, Value)>,
}

impl Simulator {
    /// Compares the states' values with those of their locked parents.
    fn decided(
        &self,
        states: &[usize],
        values: &[Value],
        new: Vec<Vec<NewValue>>,
        locked: &LockedCells<'_>,
        keep: Option<Keep>,
    ) -> Result<ParentWrites> {
        let (mut published, mut taken, mut first) = (vec![], vec![], 0);
        for ((&state, value), new) in states.iter().zip(values).zip(new) {
            let places = first..first + new.len();
            first = places.end;
            let mut conflict = None;
            for (place, (_, seen)) in places.clone().zip(&self.states[state].cells) {
                if conflict.is_none() && locked.version(place) != *seen && !locked.holds(place, value)? {
                    conflict = Some(place);
                }
            }
            match (conflict, keep) {
                (Some(_), None) => {
                    return Err(Error::Sync(format!(
                        "shared variable {} changed in the parent Function since the last sync; say which value holds with \
                         sync_to_parent_keeping(Keep::Simulator) or Keep::Parent; reset() drops what the Simulator changed",
                        self.name_of(state)
                    )));
                }
                (Some(place), Some(Keep::Parent)) => {
                    let value = locked.read(place)?;
                    for place in places.clone() {
                        published.push((place, NewValue::of(&value)?));
                    }
                    taken.push((state, value));
                }
                _ => published.extend(places.clone().zip(new)),
            }
        }
        Ok(ParentWrites { published, taken })
    }

    /// Copies the states that changed to their parents.
    pub(super) fn publish(&mut self, states: &[usize], keep: Option<Keep>) -> Result<Vec<String>> {
        let wanted = |state: &&usize| {
            let parent = &self.states[**state];
            parent.is_ahead() || (keep == Some(Keep::Simulator) && parent.has_moved())
        };
        let states: Vec<usize> = states.iter().filter(wanted).copied().collect();
        let read = |&state: &usize| self.executor.read_state(state);
        let values = states.iter().map(read).collect::<Result<Vec<Value>>>()?;
        // A copy of each value for each of its parents, made before they are locked.
        let copies = |(&state, value): (&usize, &Value)| {
            let parents = self.states[state].cells.len();
            (0..parents).map(|_| NewValue::of(value)).collect::<Result<Vec<_>>>()
        };
        let new = states.iter().zip(&values).map(copies).collect::<Result<Vec<_>>>()?;
        let set = CellSet::of(states.iter().flat_map(|&s| self.states[s].cells.iter().map(|c| &*c.0)));
        let mut locked = set.lock()?;
        // The parents stay locked: the values that are compared are the values that are overwritten.
        let decided = self.decided(&states, &values, new, &locked, keep)?;
        let count: usize = states.iter().map(|&state| self.states[state].cells.len()).sum();
        let written = locked.publish(decided.published)?;
        let versions: Vec<u64> = (0..count).map(|place| locked.version(place)).collect();
        drop(locked);
        let mut names = Vec::new();
        let mut first = 0;
        for &state in &states {
            let places = first..first + self.states[state].cells.len();
            first = places.end;
            if written.iter().any(|place| places.contains(place)) {
                names.push(self.name_of(state).to_string());
            }
            if let Some((_, value)) = decided.taken.iter().find(|(of, _)| *of == state) {
                self.executor.write_state(state, value)?;
            }
            self.in_step(state, &versions[places]);
            self.states[state].set_ahead(false);
        }
        Ok(names)
    }
}
