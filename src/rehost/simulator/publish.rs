//! Values of shared variables to their parents, of one Simulator or of several at once.

use super::Simulator;
use super::sync::{Keep, StateOf, states_of_all};
use crate::error::{Error, Result};
use crate::graph::{CellSet, LockedCells, NewValue};
use crate::value::Value;

/// [`Simulator::sync_to_parent`] of several Simulators at once.
///
/// # Errors
/// As [`Simulator::sync_to_parent`].
pub(crate) fn sync_all_to_parent(parts: &mut [&mut Simulator], keep: Option<Keep>) -> Result<Vec<String>> {
    let all = states_of_all(parts);
    publish(parts, &all, keep)
}

/// What a sync to the parents writes.
struct Decided {
    /// Places of the locked set, and their new values.
    published: Vec<(usize, NewValue)>,
    /// States that take their parent's value.
    taken: Vec<(StateOf, Value)>,
}

/// Compares the states' values with those of their locked parents.
fn decided(
    parts: &[&mut Simulator],
    states: &[StateOf],
    values: &[Value],
    new: Vec<Vec<NewValue>>,
    locked: &LockedCells<'_>,
    keep: Option<Keep>,
) -> Result<Decided> {
    let (mut published, mut taken, mut first) = (vec![], vec![], 0);
    for ((&(part, state), value), new) in states.iter().zip(values).zip(new) {
        let places = first..first + new.len();
        first = places.end;
        let mut conflict = None;
        for (place, (_, seen)) in places.clone().zip(&parts[part].states[state].cells) {
            if conflict.is_none() && locked.version(place) != *seen && !locked.holds(place, value)? {
                conflict = Some(place);
            }
        }
        match (conflict, keep) {
            (Some(_), None) => {
                return Err(Error::Sync(format!(
                    "shared variable {} changed in the parent Function since the last sync; say which value holds with \
                     sync_to_parent_keeping(Keep::Simulator) or Keep::Parent; reset() drops what the Simulator changed",
                    parts[part].name_of(state)
                )));
            }
            (Some(place), Some(Keep::Parent)) => {
                let value = locked.read(place)?;
                for place in places.clone() {
                    published.push((place, NewValue::of(&value)?));
                }
                taken.push(((part, state), value));
            }
            _ => published.extend(places.clone().zip(new)),
        }
    }
    Ok(Decided { published, taken })
}

/// Copies the states, each a part and a position, that changed to their parents.
pub(super) fn publish(
    parts: &mut [&mut Simulator],
    states: &[StateOf],
    keep: Option<Keep>,
) -> Result<Vec<String>> {
    let wanted = |&&(part, state): &&StateOf| {
        let parent = &parts[part].states[state];
        parent.is_ahead() || (keep == Some(Keep::Simulator) && parent.has_moved())
    };
    let states: Vec<(usize, usize)> = states.iter().filter(wanted).copied().collect();
    let read = |&(part, state): &(usize, usize)| parts[part].engine.read_state(state);
    let values = states.iter().map(read).collect::<Result<Vec<Value>>>()?;
    // A copy of each value for each of its parents, made before they are locked.
    let copies = |(&(part, state), value): (&StateOf, &Value)| {
        let parents = parts[part].states[state].cells.len();
        (0..parents).map(|_| NewValue::of(value)).collect::<Result<Vec<_>>>()
    };
    let new = states.iter().zip(&values).map(copies).collect::<Result<Vec<_>>>()?;
    let set =
        CellSet::of(states.iter().flat_map(|&(part, s)| parts[part].states[s].cells.iter().map(|c| &*c.0)));
    let mut locked = set.lock()?;
    // The parents stay locked: the values that are compared are the values that are overwritten.
    let decided = decided(parts, &states, &values, new, &locked, keep)?;
    let versions_of = states.iter().map(|&(part, state)| parts[part].states[state].cells.len());
    let count: usize = versions_of.sum();
    let written = locked.publish(decided.published)?;
    let versions: Vec<u64> = (0..count).map(|place| locked.version(place)).collect();
    drop(locked);
    let mut names = Vec::new();
    let mut first = 0;
    for &(part, state) in &states {
        let simulator = &mut *parts[part];
        let places = first..first + simulator.states[state].cells.len();
        first = places.end;
        if written.iter().any(|place| places.contains(place)) {
            names.push(simulator.name_of(state));
        }
        if let Some((_, value)) = decided.taken.iter().find(|(of, _)| *of == (part, state)) {
            simulator.engine.write_state(state, value)?;
        }
        simulator.in_step(state, &versions[places]);
        simulator.states[state].set_ahead(false);
    }
    Ok(names)
}
