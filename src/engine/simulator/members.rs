//! A Simulator as a member of groups: its seats, and the comparison of the members' shared variables.

use super::{Hidden, Simulator, SimulatorMethod};
use crate::error::{Error, Result};
use crate::function::{ArgsIn, Function, Seats};
use crate::graph::Cell;
use crate::lower::program::Program;
use crate::value::Value;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use workalike_device::group::gather;

/// The groups of which a Simulator is a member.
#[derive(Clone, Debug, Default)]
pub(super) struct Membership {
    pub(super) seats: Seats,
    /// The steps from one comparison of shared variables to the next.
    every: Option<u64>,
    /// The steps since the last one.
    since: u64,
}

impl Simulator {
    /// Makes it a member of these groups: Functions that become methods later get seats there. Shared
    /// variables are compared after so many steps.
    pub(in crate::engine) fn join_groups(&mut self, seats: Seats, every: Option<u64>) {
        self.membership = Membership { seats, every, since: 0 };
    }

    /// Adds a method that computes all of each call, where the method of this name computes a member's part;
    /// returns its position. No member waits for another in it.
    ///
    /// # Errors
    /// If the Simulator does not have the Function's shared variables.
    pub(in crate::engine) fn add_repeated(&mut self, name: &str, function: &Function) -> Result<usize> {
        let known = function.cells().iter().map(|cell| self.known_state(cell));
        let (states, graph) = (known.collect::<Result<Vec<_>>>()?, function.graph().clone());
        let draft = self.draft_over(name, &graph, &states)?;
        self.executor.add_method(name, graph, states, draft);
        let (function, parent) = (function.clone(), function.clone());
        let hidden = Some(Hidden::Repeated);
        self.methods.push(SimulatorMethod { name: name.into(), function, parent, hidden });
        Ok(self.methods.len() - 1)
    }

    /// The values of these shared variables.
    pub(in crate::engine) fn values_of(&self, cells: &[Arc<Cell>]) -> Result<Vec<Value>> {
        cells.iter().map(|cell| self.executor.read_state(self.known_state(cell)?)).collect()
    }

    /// Sets the values of these shared variables.
    pub(in crate::engine) fn put_values(&mut self, cells: &[Arc<Cell>], values: &[Value]) -> Result<()> {
        for (cell, value) in cells.iter().zip(values) {
            self.put_state(self.known_state(cell)?, value)?;
        }
        Ok(())
    }

    fn known_state(&self, cell: &Arc<Cell>) -> Result<usize> {
        let missing = || Error::Internal(format!("no member has the shared variable {}", cell.name()));
        self.state_of_cell(cell).ok_or_else(missing)
    }

    /// The Program of a method for a call with these arguments, which is neither compiled nor run; `None` if
    /// values decide shapes.
    ///
    /// # Errors
    /// If the arguments do not fit.
    pub(in crate::engine) fn drafted(&self, method: usize, args: ArgsIn<'_>) -> Result<Option<Program>> {
        self.executor.drafted(method, &self.planned_for(method, args)?)
    }

    /// Compares the bits of all shared variables with those of the other members of its groups, which call it
    /// too. They are downloaded for it.
    ///
    /// # Errors
    /// The first variable that differs, and the member whose bits differ.
    pub fn compare_members(&self) -> Result<()> {
        let mut digests = Vec::with_capacity(self.states.len());
        for state in 0..self.states.len() {
            let value = self.executor.read_state(state)?.contiguous()?;
            digests.push(<[u8; 32]>::from(Sha256::digest(value.contiguous_bytes().unwrap_or(&[]))));
        }
        for (name, group) in self.membership.seats.groups() {
            let own = digests.concat();
            let all = gather(group, &own).map_err(|error| {
                Error::Sync(format!("shared variables cannot be compared in the group {name}: {error}"))
            })?;
            // All members find the same one.
            let first = &all[..own.len()];
            for (rank, theirs) in all.chunks_exact(own.len().max(1)).enumerate() {
                let differs = theirs.chunks_exact(32).zip(first.chunks_exact(32)).position(|(a, b)| a != b);
                if let Some(state) = differs {
                    return Err(Error::Sync(format!(
                        "shared variable {} has other bits at member {rank} of the group {name} than at member 0: \
                         one of them began with another value, or made other calls",
                        self.executor.state(state).binding.name
                    )));
                }
            }
        }
        Ok(())
    }

    /// Compares if it is time, after so many further steps.
    pub(super) fn compare_after(&mut self, steps: u64) -> Result<()> {
        let Some(every) = self.membership.every else { return Ok(()) };
        self.membership.since = self.membership.since.saturating_add(steps);
        if self.membership.since < every.max(1) {
            return Ok(());
        }
        self.membership.since = 0;
        self.compare_members()
    }
}
