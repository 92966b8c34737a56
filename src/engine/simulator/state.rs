//! The values of a Simulator's shared variables, by name and by handle.

use super::Simulator;
use crate::engine::storage::DeviceArray;
use crate::error::{Error, Result, array_text};
use crate::function::ArgIn;
use crate::graph::{Cell, SharedVariable};
use crate::value::Value;
use std::sync::Arc;

/// A value to be stored.
enum NewState {
    Host(Value),
    Device(DeviceArray),
}

impl NewState {
    fn of(given: ArgIn<'_>) -> Result<NewState> {
        Ok(match given {
            ArgIn::Value(value) => NewState::Host(value),
            ArgIn::Device(array) => NewState::Device(array),
            ArgIn::View(view) => NewState::Device(view.in_order()?),
            ArgIn::Borrowed(array) => NewState::Device(array.array),
            ArgIn::Each(_) => {
                return Err(Error::mismatch("a shared variable", "an array", "a sequence, each(..)"));
            }
        })
    }
}

impl Simulator {
    /// The names of the shared variables.
    pub fn shared_names(&self) -> impl Iterator<Item = &str> {
        self.states.iter().enumerate().filter(|(_, p)| !p.cells.is_empty()).map(|(at, _)| self.name_of(at))
    }

    /// The value of a shared variable on the device.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let layers = [shared("w", 1f32), shared("w", 2f32)];
    /// let f = function([] as [&Variable; 0]).output(&layers[0] + &layers[1]).compile()?;
    /// let mut sim = f.optimize(Host::auto())?;
    /// sim.set(&layers[1], 5f32)?;
    /// assert_eq!(sim.get(&layers[1])?.item::<f32>()?, 5.0);
    /// assert!(sim.get_value("w").is_err()); // which?
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If no method has this shared variable (a fork has other ones than its original), or the device fails.
    pub fn get(&self, shared: &SharedVariable) -> Result<Value> {
        self.executor.read_state(self.state_of(shared)?)
    }

    /// Replaces the value of a shared variable on the device, by a host array or the elements of a
    /// [`DeviceArray`] or a [`DeviceView`](crate::engine::DeviceView). These are copied on the device; from
    /// another device they go through the host where the two cannot copy.
    ///
    /// # Errors
    /// If no method has this shared variable, the value does not fit, or the device fails.
    #[doc(alias("device_put"))]
    pub fn set<'a>(&mut self, shared: &SharedVariable, value: impl Into<ArgIn<'a>>) -> Result<()> {
        self.set_state(self.state_of(shared)?, NewState::of(value.into())?)
    }

    /// [`Simulator::get`], by name.
    ///
    /// # Errors
    /// If no method has a shared variable of this name, several have, or the device fails.
    pub fn get_value(&self, shared: &str) -> Result<Value> {
        self.executor.read_state(self.state_named(shared)?)
    }

    /// [`Simulator::set`], by name.
    ///
    /// # Errors
    /// If no method has a shared variable of this name, several have, the value does not fit, or the device
    /// fails.
    pub fn set_value<'a>(&mut self, shared: &str, value: impl Into<ArgIn<'a>>) -> Result<()> {
        self.set_state(self.state_named(shared)?, NewState::of(value.into())?)
    }

    fn set_state(&mut self, position: usize, new: NewState) -> Result<()> {
        let binding = &self.executor.state(position).binding;
        let (dtype, shape) = match &new {
            NewState::Host(value) => (value.dtype(), value.shape()),
            NewState::Device(array) => (array.dtype(), array.shape()),
        };
        if !binding.ty.admits(dtype, shape) {
            let what = format!("shared variable {}", binding.name);
            return Err(Error::mismatch(what, binding.ty.to_string(), array_text(dtype, shape)));
        }
        match new {
            NewState::Host(value) => self.put_state(position, &value),
            NewState::Device(array) => {
                let written = self.executor.copy_to_state(position, &array);
                self.note_put(position, written)
            }
        }
    }

    /// The value of the shared variable at a position: those of the first method come first, in its order.
    pub(crate) fn state_value(&self, position: usize) -> Result<Value> {
        self.executor.read_state(position)
    }

    /// Replaces the value of the shared variable at a position.
    pub(crate) fn put_state(&mut self, position: usize, value: &Value) -> Result<()> {
        let written = self.executor.write_state(position, value);
        self.note_put(position, written)
    }

    fn note_put(&mut self, position: usize, written: Result<()>) -> Result<()> {
        if written.as_ref().err().is_none_or(Error::may_change_state) {
            self.states[position].set_ahead(true);
        }
        written
    }

    pub(super) fn state_of(&self, shared: &SharedVariable) -> Result<usize> {
        let cell = shared.cell()?;
        self.state_of_cell(cell).ok_or_else(|| {
            Error::Sync(format!(
                "this shared variable {} is in no method; those of the methods are {}, of which some may have its name (a fork \
                 has copies: ask it with Function::shared)",
                cell.name(),
                self.known_names()
            ))
        })
    }

    pub(super) fn state_of_cell(&self, cell: &Arc<Cell>) -> Option<usize> {
        let own = self.states.iter().position(|p| p.cells.iter().any(|(c, _)| Arc::ptr_eq(c, cell)));
        // A Simulator loaded from a file has cells of its own, with the saved ids.
        own.or_else(|| self.by_id.get(&cell.id()).copied())
    }

    pub(super) fn state_named(&self, name: &str) -> Result<usize> {
        // A probe records to a state without parents.
        let states = self.states.iter().enumerate();
        let named = states.filter(|(at, p)| !p.cells.is_empty() && self.name_of(*at) == name);
        match named.map(|(at, _)| at).collect::<Vec<_>>().as_slice() {
            [one] => Ok(*one),
            [] => Err(Error::Sync(format!(
                "there is no shared variable {name}; there are {}",
                self.known_names()
            ))),
            several => Err(Error::Sync(format!(
                "{} shared variables are called {name}: name one by its handle, with get(&{name}) or set(&{name}, ..)",
                several.len()
            ))),
        }
    }

    fn known_names(&self) -> String {
        self.shared_names().collect::<Vec<_>>().join(", ")
    }

    /// Notes the result of a method's call: the states that it updates have changed, unless it failed before
    /// that.
    pub(super) fn called<T>(&mut self, method: usize, outcome: Result<T>) -> Result<T> {
        if outcome.as_ref().err().is_none_or(Error::may_change_state) {
            self.note_updates(method);
        }
        outcome
    }

    /// Notes that the states that a method updates may have changed.
    pub(super) fn note_updates(&mut self, method: usize) {
        for &state in self.executor.updated(method) {
            self.states[state].set_ahead(true);
        }
    }
}
