//! The devices of a Simulator that has several, by the names of their contexts.

use super::Simulator;
use crate::error::{Error, Result};
use std::sync::Arc;
use workalike_device::Device;

impl Simulator {
    /// The names of the contexts, in the order in which [`contexts`](crate::engine::contexts) got them; none
    /// if the Simulator was made with one device.
    pub fn contexts(&self) -> impl Iterator<Item = &str> {
        self.executor.names().into_iter()
    }

    /// The device of a context.
    ///
    /// # Errors
    /// If there is no context of this name.
    pub fn context_device(&self, context: &str) -> Result<&Arc<dyn Device>> {
        Ok(self.executor.engine(self.executor.context(context)?).device())
    }

    /// The context of a shared variable, by name.
    ///
    /// # Errors
    /// If no method has a shared variable of this name, several have, or there are no contexts.
    pub fn context_of(&self, shared: &str) -> Result<&str> {
        let part = self.executor.part_of(self.state_named(shared)?);
        let none = || Error::Sync("the Simulator was made with one device, without contexts".into());
        self.executor.context_name(part).ok_or_else(none)
    }
}
