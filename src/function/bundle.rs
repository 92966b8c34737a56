//! Bundles: several named Functions over common shared variables; what a file holds.

use super::callable::{Function, named};
use crate::atomic_file;
use crate::error::{Error, Result};
use crate::format;
use crate::graph::SharedVariable;
use crate::rehost::{Open, Simulator};
use std::ops::Index;
use std::path::Path;

/// Named Functions. Those that are saved together come back over the same shared variables.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    functions: Vec<(String, Function)>,
}

impl Bundle {
    /// An empty Bundle.
    pub fn new() -> Bundle {
        Bundle::default()
    }

    /// With one more Function; one of the same name is replaced.
    #[must_use]
    pub fn with(mut self, name: &str, function: &Function) -> Bundle {
        let function = if function.name() == name { function.clone() } else { function.renamed(name) };
        match self.functions.iter_mut().find(|f| f.0 == name) {
            Some(place) => place.1 = function,
            None => self.functions.push((name.into(), function)),
        }
        self
    }

    /// The Function of this name.
    pub fn get(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.0 == name).map(|f| &f.1)
    }

    /// Names and Functions, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Function)> {
        self.functions.iter().map(|(name, function)| (name.as_str(), function))
    }

    /// The shared variable of this name, of whichever Functions.
    ///
    /// # Errors
    /// If there is none, or there are several.
    pub fn shared(&self, name: &str) -> Result<SharedVariable> {
        named("the bundle", name, self.functions.iter().flat_map(|(_, f)| f.cells()))
    }

    /// What may be a mistake in saving this now, in sentences for people; empty if nothing is. It tells of shared variables of
    /// which a Simulator holds newer values.
    pub fn warnings(&self) -> Vec<String> {
        let behind = self.functions.iter().flat_map(|(_, f)| f.cells()).filter(|cell| cell.is_behind());
        let mut names: Vec<&str> = behind.map(|cell| cell.name()).collect();
        names.sort_unstable();
        names.dedup();
        let warning = |name| {
            format!(
                "a Simulator holds a newer value of shared variable {name}, which is not saved: call its sync_to_parent() \
                 first, or save the Simulator"
            )
        };
        names.into_iter().map(warning).collect()
    }

    /// Number of Functions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Saves to a file; a reader sees the old file or the new one, never a part.
    ///
    /// # Errors
    /// If the file cannot be written, or two Functions hold different values of one shared variable.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let bytes = self.to_bytes()?;
        atomic_file::write(path.as_ref(), &bytes)
    }

    /// Loads from a file, on any host: no device, no driver.
    ///
    /// # Errors
    /// If the file cannot be read, is not ours, is of a newer format, or is damaged.
    pub fn load(path: impl AsRef<Path>) -> Result<Bundle> {
        let path = path.as_ref();
        format::decode(&format::read_file(path)?, &path.display().to_string())
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// If two Functions hold different values of one shared variable.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        format::encode(self)
    }

    /// From the bytes of a file.
    ///
    /// # Errors
    /// If they are not ours, are of a newer format, or are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Bundle> {
        format::decode(bytes, "bytes")
    }

    /// One Simulator with all Functions as methods over their common shared variables. The first is the one that
    /// [`Simulator::call`] calls.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (n, inc) = (shared("n", 0i64), scalar::<i64>("inc"));
    /// let add = function([&inc]).update(&n, &n + &inc).compile()?;
    /// let get = function(()).output(&n).compile()?;
    /// let mut sim = Bundle::new().with("add", &add).with("get", &get).optimize(Host::auto())?;
    /// sim.call(args![3i64])?;
    /// assert_eq!(sim.call_method("get", args![])?[0].item::<i64>()?, 3);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the Bundle is empty, the device is missing or cannot run a Function, or two Functions hold different values of one
    /// shared variable.
    pub fn optimize(&self, backend: impl Open) -> Result<Simulator> {
        let Some(((_, first), others)) = self.functions.split_first() else {
            return Err(Error::mismatch("optimize", "a Bundle with at least one Function", "an empty one"));
        };
        let mut simulator = Simulator::new(first, backend.open()?, backend.options())?;
        for (name, function) in others {
            simulator.add_method(name, function)?;
        }
        Ok(simulator)
    }

    /// The only Function.
    pub(crate) fn into_single(mut self) -> Result<Function> {
        match self.functions.len() {
            1 => Ok(self.functions.swap_remove(0).1),
            _ => {
                let names: Vec<&str> = self.functions.iter().map(|f| f.0.as_str()).collect();
                Err(Error::mismatch(
                    "load",
                    "a file with one Function",
                    format!("one with {}", names.join(", ")),
                ))
            }
        }
    }
}

impl Index<&str> for Bundle {
    type Output = Function;

    /// # Panics
    /// If there is no Function of this name; [`Bundle::get`] asks first.
    fn index(&self, name: &str) -> &Function {
        let known: Vec<&str> = self.iter().map(|f| f.0).collect();
        // Indexing is documented to panic, as of any map.
        self.get(name)
            .unwrap_or_else(|| panic!("the bundle has no function {name}; it has {}", known.join(", ")))
    }
}
