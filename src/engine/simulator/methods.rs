//! Methods: several Functions over common shared variables.

use super::sync::{Keep, Parent};
use super::{Simulator, SimulatorMethod};
use crate::engine::members::agree;
use crate::engine::storage::StateBinding;
use crate::error::{Error, Result};
use crate::function::Function;
use crate::graph::{Cell, CellSet};
use crate::value::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// A shared variable of a Function that becomes a method.
struct Incoming {
    cell: Arc<Cell>,
    value: Value,
    version: u64,
    /// The existing state for it.
    known: Option<usize>,
    /// Whether that state has another value.
    differs: bool,
}

impl Simulator {
    /// Adds a Function as a method. Shared variables whose id a method already has are the same state. Others
    /// are new states, even if their name is in use: [`Simulator::warnings`] reports it.
    ///
    /// # Errors
    /// If the name is taken, a shared variable's value differs from the Simulator's (see
    /// [`Simulator::add_method_keeping`]), or a hint or transfer names a context that the Simulator does not
    /// have.
    pub fn add_method(&mut self, name: &str, function: &Function) -> Result<()> {
        self.add(name, function, None)
    }

    /// [`Simulator::add_method`]; `keep` says which value wins if a shared variable of the Function, which
    /// becomes a parent, has another value than the Simulator.
    ///
    /// # Errors
    /// If the name is taken, types differ, a context is unknown, or the device fails.
    pub fn add_method_keeping(&mut self, name: &str, function: &Function, keep: Keep) -> Result<()> {
        self.add(name, function, Some(keep))
    }

    pub(super) fn add(&mut self, name: &str, function: &Function, keep: Option<Keep>) -> Result<()> {
        let parent = function.clone();
        let function = &self.membership.seats.own_parts(function)?;
        agree(function, &self.membership.seats)?;
        let function = &function.seated(&self.membership.seats)?;
        // All checks come before any change.
        let incoming = self.incoming_of(name, function, keep)?;
        let known = incoming.iter().map(|cell| cell.known.map(|state| self.executor.part_of(state)));
        let known: Vec<Option<usize>> = known.collect();
        let homes = self.executor.homes(function.cells(), &known)?;
        let placed: Vec<Option<usize>> = homes.iter().copied().map(Some).collect();
        let draft = self.executor.draft(name, function.graph(), &placed)?;
        let joined = incoming.into_iter().zip(homes).map(|(cell, part)| self.join(cell, part, keep));
        let positions = joined.collect::<Result<_>>()?;
        self.executor.add_method(name, function.graph().clone(), positions, draft);
        let function = function.clone();
        self.methods.push(SimulatorMethod { name: name.into(), function, parent, hidden: None });
        Ok(())
    }

    /// The shared variables of a Function that becomes a method, checked.
    fn incoming_of(&self, name: &str, function: &Function, keep: Option<Keep>) -> Result<Vec<Incoming>> {
        if self.methods().any(|known| known == name) {
            return Err(Error::Sync(format!("the Simulator already has a method {name}")));
        }
        let values = CellSet::of(function.cells()).snapshot()?;
        let incoming = function.cells().iter().zip(values);
        let incoming = incoming.map(|(cell, (value, version))| self.incoming(cell, value, version, keep));
        let incoming = incoming.collect::<Result<Vec<_>>>()?;
        // A variable and its loaded copy have one id: both would become the same state.
        let mut taken = HashSet::new();
        if let Some(twice) = incoming.iter().find(|i| i.known.is_some_and(|state| !taken.insert(state))) {
            return Err(Error::Sync(format!(
                "two shared variables {} of {} have one id, since one was loaded from a file that the other was saved to: the \
                 Simulator cannot say which of them its own is; make the Function the Simulator's first, or take a fork() of it",
                twice.cell.name(),
                function.name()
            )));
        }
        Ok(incoming)
    }

    fn incoming(&self, cell: &Arc<Cell>, value: Value, version: u64, keep: Option<Keep>) -> Result<Incoming> {
        let known = self.state_of_cell(cell);
        let mut differs = false;
        if let Some(position) = known {
            let ty = &self.executor.state(position).binding.ty;
            if ty != cell.ty() {
                let what = format!("shared variable {}", cell.name());
                return Err(Error::mismatch(what, ty.to_string(), cell.ty().to_string()));
            }
            let in_step =
                self.states[position].cells.iter().any(|(c, v)| Arc::ptr_eq(c, cell) && *v == version);
            // The Simulator may be ahead of a parent that it knows.
            if keep.is_some() || !in_step {
                differs = !same_bits(&self.executor.read_state(position)?, &value)?;
            }
        }
        if differs && keep.is_none() {
            return Err(Error::Sync(format!(
                "shared variable {} has another value in the Simulator than in the Function; say which holds with \
                 add_method_keeping(.., Keep::Simulator) or Keep::Parent",
                cell.name()
            )));
        }
        Ok(Incoming { cell: cell.clone(), value, version, known, differs })
    }

    /// Makes a shared variable part of the Simulator's state, on this part's device if it is new; returns its
    /// position.
    fn join(&mut self, incoming: Incoming, part: usize, keep: Option<Keep>) -> Result<usize> {
        let Incoming { cell, value, version, known, differs } = incoming;
        let Some(position) = known else {
            let (id, name, ty) = (cell.id(), cell.name().to_string(), cell.ty().clone());
            let position = self.executor.add_state(part, StateBinding { name, ty }, &value)?;
            self.by_id.insert(id, position);
            self.states.push(Parent::of(cell, version));
            return Ok(position);
        };
        let takes = differs && keep == Some(Keep::Parent);
        if takes {
            self.executor.write_state(position, &value)?;
        }
        let parent = &mut self.states[position];
        let ahead = parent.is_ahead();
        parent.saw(&cell, version);
        // A parent whose value is not the one that is kept gets that one with the next sync.
        parent.set_ahead(match differs {
            true => !takes || parent.cells.len() > 1,
            false => ahead,
        });
        Ok(position)
    }
}

/// Whether dtype, shape and bits of every element are equal.
pub(super) fn same_bits(a: &Value, b: &Value) -> Result<bool> {
    let same_type = a.dtype() == b.dtype() && a.shape() == b.shape();
    Ok(same_type && a.contiguous()?.contiguous_bytes() == b.contiguous()?.contiguous_bytes())
}
