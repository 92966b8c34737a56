//! The methods of a Simulator, or of a group, by name.

use super::errors::exception;
use pyo3::PyResult;
use std::sync::{Mutex, MutexGuard, PoisonError};
use workalike::function::Function;
use workalike::graph::SharedVariable;

/// A call's method by name; `None`: the first.
pub(crate) type MethodName = Option<String>;

/// The methods, the first one first. They are known without waiting for a call that runs.
pub(crate) struct Methods(Mutex<Vec<(String, Function)>>);

impl Methods {
    pub(crate) fn of<'f>(named: impl IntoIterator<Item = (&'f str, &'f Function)>) -> Methods {
        let owned = named.into_iter().map(|(name, function)| (name.to_string(), function.clone()));
        Methods(Mutex::new(owned.collect()))
    }

    fn known(&self) -> MutexGuard<'_, Vec<(String, Function)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, name: &str, function: &Function) {
        self.known().push((name.into(), function.clone()));
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.known().iter().map(|(name, _)| name.clone()).collect()
    }

    /// A method's name and Function.
    pub(crate) fn find(&self, name: &MethodName) -> PyResult<(String, Function)> {
        let known = self.known();
        let found = match name {
            None => known.first(),
            Some(name) => known.iter().find(|(known, _)| known == name),
        };
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
            let name = name.as_deref().unwrap_or_default();
            exception("ArgumentError", format!("there is no method {name}; there are {}", names.join(", ")))
        })
    }

    /// The shared variable of a name, if a method has it.
    pub(crate) fn shared(&self, name: &str) -> Option<SharedVariable> {
        self.known().iter().find_map(|(_, function)| function.shared(name).ok())
    }

    /// The names of the shared variables of all methods.
    pub(crate) fn shared_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (_, function) in self.known().iter() {
            let new = function.cells().iter().map(|cell| cell.name());
            for name in new {
                if !names.iter().any(|known| known == name) {
                    names.push(name.into());
                }
            }
        }
        names
    }

    /// # Errors
    /// If a method calls Python, which no device does.
    pub(crate) fn refuse_callbacks(&self) -> PyResult<()> {
        super::callback::refuse(self.known().iter().map(|(_, function)| &**function.graph()))
    }
}
