//! Shared variables, each on one of the devices.

use super::staged::peer_copy;
use super::{Executor, StatePlace};
use crate::engine::storage::{CallInput, DeviceArray, State, StateBinding};
use crate::error::Result;
use crate::value::Value;

impl Executor {
    /// The number of shared variables.
    pub(crate) fn state_count(&self) -> usize {
        self.states.len()
    }

    /// The shared variable at a position.
    pub(crate) fn state(&self, position: usize) -> &State {
        let StatePlace { part, at } = self.states[position];
        &self.parts[part].engine.states()[at]
    }

    /// The part where a shared variable lives.
    pub(crate) fn part_of(&self, position: usize) -> usize {
        self.states[position].part
    }

    /// The part where a shared variable lives, and its position among the states of the engine there.
    pub(crate) fn place_of(&self, position: usize) -> (usize, usize) {
        let StatePlace { part, at } = self.states[position];
        (part, at)
    }

    /// Adds a shared variable on a part's device; returns its position.
    pub(crate) fn add_state(&mut self, part: usize, binding: StateBinding, value: &Value) -> Result<usize> {
        let at = self.parts[part].engine.add_state(binding, value)?;
        Ok(self.push_state(part, at))
    }

    /// Adds a shared variable with the value of one of another executor over the same devices.
    pub(crate) fn add_state_like(&mut self, part: usize, other: &State) -> Result<usize> {
        let at = self.parts[part].engine.add_state_like(other)?;
        Ok(self.push_state(part, at))
    }

    fn push_state(&mut self, part: usize, at: usize) -> usize {
        self.states.push(StatePlace { part, at });
        self.states.len() - 1
    }

    pub(crate) fn read_state(&self, position: usize) -> Result<Value> {
        let StatePlace { part, at } = self.states[position];
        self.parts[part].engine.read_state(at)
    }

    pub(crate) fn write_state(&mut self, position: usize, value: &Value) -> Result<()> {
        let StatePlace { part, at } = self.states[position];
        self.parts[part].engine.write_state(at, value)
    }

    /// Gives a shared variable the elements of a device array, by way of the host only where the devices
    /// cannot copy them.
    pub(crate) fn copy_to_state(&mut self, position: usize, array: &DeviceArray) -> Result<()> {
        array.check()?;
        let StatePlace { part, at } = self.states[position];
        let engine = &mut self.parts[part].engine;
        match peer_copy(engine, array.clone())? {
            CallInput::Device(array) => engine.copy_to_state(at, &array),
            CallInput::Host(value) | CallInput::Slices(value, _) => engine.write_state(at, &value),
        }
    }

    /// Frees a state's memory; no method may use the state any more.
    pub(crate) fn forget_state(&mut self, position: usize) -> Result<()> {
        let StatePlace { part, at } = self.states[position];
        self.parts[part].engine.forget_state(at)
    }
}
