//! Values of parents to shared variables, of one Simulator or of several at once.

use super::Simulator;
use super::methods::same_bits;
use super::sync::{Keep, StateOf, states_of_all};
use crate::error::{Error, Result};
use crate::graph::CellSet;
use crate::value::Value;

/// [`Simulator::sync_from_parent`] of several Simulators at once.
///
/// # Errors
/// As [`Simulator::sync_from_parent`].
pub(crate) fn sync_all_from_parent(parts: &mut [&mut Simulator], keep: Option<Keep>) -> Result<Vec<String>> {
    let all = states_of_all(parts);
    read_in(parts, &all, keep)
}

/// [`Simulator::reset`] of several Simulators at once.
///
/// # Errors
/// As [`Simulator::reset`].
pub(crate) fn reset_all(parts: &mut [&mut Simulator]) -> Result<Vec<String>> {
    // Calls that nobody waited for are discarded with their errors, which their results still report.
    parts.iter().try_for_each(|simulator| simulator.engine.discard_errors())?;
    let all = states_of_all(parts);
    take_parents(parts, &all)
}

/// The parents' values, where they changed, to states that these Simulators have beyond the `known` first ones
/// of each, and that no call has changed yet: all are then of one moment.
///
/// # Errors
/// If a device fails.
pub(crate) fn adopt_new(parts: &mut [&mut Simulator], known: &[usize]) -> Result<()> {
    let mut new = states_of_all(parts);
    new.retain(|&(part, state)| state >= known[part] && !parts[part].states[state].is_ahead());
    read_in(parts, &new, Some(Keep::Parent)).map(drop)
}

/// A parent's value and version at one moment.
struct Seen {
    value: Value,
    version: u64,
    /// Whether it changed since the last sync.
    moved: bool,
}

/// What becomes of a state.
struct Decided {
    of: StateOf,
    parents: Vec<Seen>,
    value: Value,
    /// Whether the state takes the value; otherwise it has it.
    takes: bool,
}

/// Reads the parents of the states that are `wanted`, at one moment. `wanted` gets a state, and whether a
/// parent of it changed. All are locked before any is read: a concurrent sync is seen entirely or not at all.
fn look(
    parts: &[&mut Simulator],
    states: &[StateOf],
    wanted: impl Fn(StateOf, bool) -> bool,
) -> Result<Vec<(StateOf, Vec<Seen>)>> {
    let cells = |&(part, state): &StateOf| parts[part].states[state].cells.iter();
    let set = CellSet::of(states.iter().flat_map(cells).map(|(cell, _)| &**cell));
    let locked = set.lock()?;
    let (mut found, mut first) = (Vec::new(), 0);
    for of in states {
        let places = first..first + cells(of).len();
        first = places.end;
        let moved: Vec<bool> =
            places.clone().zip(cells(of)).map(|(place, (_, seen))| locked.version(place) != *seen).collect();
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
pub(super) fn read_in(
    parts: &mut [&mut Simulator],
    states: &[StateOf],
    keep: Option<Keep>,
) -> Result<Vec<String>> {
    let mut decided = Vec::new();
    for (of, parents) in look(parts, states, |_, moved| moved)? {
        let Some(first) = parents.iter().find(|p| p.moved).map(|p| p.value.clone()) else { continue };
        let simulator = &parts[of.0];
        let held = simulator.engine.read_state(of.1)?;
        let mut disagree = false;
        for parent in parents.iter().filter(|p| p.moved) {
            disagree |= !same_bits(&parent.value, &first)?;
        }
        let differs = !same_bits(&held, &first)?;
        let conflict = disagree || (differs && simulator.states[of.1].is_ahead());
        if let (true, None) = (conflict, keep) {
            return Err(conflict_of(&simulator.name_of(of.1), disagree));
        }
        let takes = differs && !(conflict && keep == Some(Keep::Simulator));
        decided.push(Decided { of, parents, value: if takes { first } else { held }, takes });
    }
    settle(parts, decided)
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

/// The parents' values to the states, whatever the states have.
pub(super) fn take_parents(parts: &mut [&mut Simulator], states: &[StateOf]) -> Result<Vec<String>> {
    let changed = |(part, state): StateOf, moved| moved || parts[part].states[state].is_ahead();
    let mut decided = Vec::new();
    for (of, parents) in look(parts, states, changed)? {
        let Some(parent) = parents.iter().find(|p| p.moved).or(parents.first()) else { continue };
        let value = parent.value.clone();
        let takes = !same_bits(&parts[of.0].engine.read_state(of.1)?, &value)?;
        decided.push(Decided { of, parents, value, takes });
    }
    settle(parts, decided)
}

/// Writes the decided values to the states, and notes the versions of all parents.
fn settle(parts: &mut [&mut Simulator], decided: Vec<Decided>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for Decided { of: (part, state), parents, value, takes } in decided {
        let simulator = &mut *parts[part];
        if takes {
            simulator.engine.write_state(state, &value)?;
            names.push(simulator.name_of(state));
        }
        let versions: Vec<u64> = parents.iter().map(|p| p.version).collect();
        simulator.in_step(state, &versions);
        // A parent with another value gets this one with the next sync to the parents.
        let mut ahead = false;
        for parent in &parents {
            ahead |= !same_bits(&parent.value, &value)?;
        }
        simulator.states[state].set_ahead(ahead);
    }
    Ok(names)
}
