//! Bundles: several named Functions over common shared variables; what a file holds.

use super::callable::{Function, named};
use super::load_options::LoadOptions;
use crate::engine::{Backend, Simulator};
use crate::error::{Error, Result};
use crate::graph::{Cell, SharedVariable};
use crate::op::UnknownOp;
use crate::ops::Registry;
use crate::{fallible, format};
use std::collections::{HashMap, HashSet};
use std::ops::Index;
use std::path::Path;
use std::sync::Arc;

/// Named Functions. Functions that are saved together share their variables again when they are loaded.
///
/// A file may hold Functions with ops that this program does not know ([`Registry`]). The other Functions
/// load; [`Bundle::unreadable`] lists the unknown ones, which are saved again unchanged.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    /// In the order they were added.
    functions: Vec<BundleEntry>,
    by_name: HashMap<String, usize>,
}

#[derive(Clone, Debug)]
struct BundleEntry {
    function: Function,
    /// Whether all its ops are known.
    readable: bool,
}

impl Bundle {
    /// Upper bound for the bytes that a Function takes here besides its lists and texts: its own, its entry
    /// and its name's.
    pub(crate) const PER_FUNCTION: usize = Function::BYTES + size_of::<BundleEntry>() + 160;

    /// An empty Bundle.
    pub fn new() -> Bundle {
        Bundle::default()
    }

    /// An empty Bundle with room for some Functions.
    pub(crate) fn with_capacity(count: usize) -> Result<Bundle> {
        let mut by_name = HashMap::new();
        by_name.try_reserve(count).map_err(|_| fallible::refused(count))?;
        Ok(Bundle { functions: fallible::with_capacity(count)?, by_name })
    }

    /// With one more Function; one of the same name is replaced.
    #[must_use]
    pub fn with(mut self, name: &str, function: &Function) -> Bundle {
        let function = if function.name() == name { function.clone() } else { function.renamed(name) };
        if let Err(function) = self.push(function, true)
            && let Some(&at) = self.by_name.get(name)
        {
            self.functions[at] = BundleEntry { function, readable: true };
        }
        self
    }

    /// Adds a Function under its own name; gives it back if the name is taken.
    pub(crate) fn push(&mut self, function: Function, readable: bool) -> Result<(), Function> {
        match self.by_name.entry(function.name().into()) {
            std::collections::hash_map::Entry::Occupied(_) => Err(function),
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(self.functions.len());
                self.functions.push(BundleEntry { function, readable });
                Ok(())
            }
        }
    }

    /// The Function of this name; `None` also if it is [unreadable](Bundle::unreadable).
    pub fn get(&self, name: &str) -> Option<&Function> {
        self.by_name.get(name).map(|&at| &self.functions[at]).filter(|e| e.readable).map(|e| &e.function)
    }

    /// The Function of this name.
    ///
    /// # Errors
    /// If there is none, or it has an op that this program does not know: the error names the op.
    pub fn function(&self, name: &str) -> Result<&Function> {
        let missing = || {
            let known: Vec<&str> = self.iter().map(|f| f.0).collect();
            let message = format!("the bundle has no function {name}; it has {}", known.join(", "));
            Error::Format { what: "bundle".into(), message }
        };
        let entry = &self.functions[*self.by_name.get(name).ok_or_else(missing)?];
        match entry.readable {
            true => Ok(&entry.function),
            false => Err(why_unreadable(&entry.function)),
        }
    }

    /// Names and Functions, in the order they were added, without the [unreadable](Bundle::unreadable) ones.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Function)> {
        self.functions.iter().filter(|e| e.readable).map(|e| (e.function.name(), &e.function))
    }

    /// The shared variable of this name, of any Function.
    ///
    /// # Errors
    /// If there is none, or there are several.
    pub fn shared(&self, name: &str) -> Result<SharedVariable> {
        named("the bundle", name, self.all().flat_map(Function::cells))
    }

    /// Warnings about saving the Bundle now, in sentences for people: shared variables of which a Simulator
    /// holds newer values.
    pub fn warnings(&self) -> Vec<String> {
        let behind = self.all().flat_map(Function::cells).filter(|cell| cell.is_behind());
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

    /// The Functions of the file with ops that this program does not know, by name, and the error that names
    /// the op. [`Bundle::load_with`] and a [`Registry`] that has the ops load them. Saving keeps them.
    pub fn unreadable(&self) -> impl Iterator<Item = (&str, Error)> {
        let unreadable = self.functions.iter().filter(|e| !e.readable);
        unreadable.map(|e| (e.function.name(), why_unreadable(&e.function)))
    }

    /// The Function of this name, whether its ops are known or not.
    pub(crate) fn any_mut(&mut self, name: &str) -> Option<&mut Function> {
        self.by_name.get(name).map(|&at| &mut self.functions[at].function)
    }

    /// All Functions, whether their ops are known or not.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Function> + Clone {
        self.functions.iter().map(|e| &e.function)
    }

    /// The shared variables of all Functions, each once; also those of unreadable Functions.
    pub fn cells(&self) -> impl Iterator<Item = &Arc<Cell>> {
        let mut seen = HashSet::new();
        self.all().flat_map(Function::cells).filter(move |cell| seen.insert(Arc::as_ptr(cell)))
    }

    /// Number of Functions that [`Bundle::iter`] gives.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Saves to a file; a reader sees the old file or the new one, never a part. Symbolic links are followed,
    /// and a file that is there keeps its permissions.
    ///
    /// # Errors
    /// If the file cannot be written, is read-only or is no regular file; or if an op is not this library's
    /// ([`Bundle::save_with`] saves it).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_with(path, &Registry::default())
    }

    /// [`Bundle::save`] with ops of the program's own.
    ///
    /// # Errors
    /// As [`Bundle::save`], if an op is not in the Registry or does not come back equal from its id, version
    /// and attributes.
    pub fn save_with(&self, path: impl AsRef<Path>, registry: &Registry) -> Result<()> {
        format::save(self, path.as_ref(), registry)
    }

    /// Loads from a file, on any host: no device, no driver.
    ///
    /// Takes at most four times the file's size plus 16 MiB of memory.
    ///
    /// # Errors
    /// If the file cannot be read, is not a workalike file, is of a newer format, or is damaged. Unknown ops
    /// are no error here: see [`Bundle::unreadable`].
    pub fn load(path: impl AsRef<Path>) -> Result<Bundle> {
        Bundle::load_with(path, LoadOptions::new())
    }

    /// [`Bundle::load`] with [`LoadOptions`], or with a [`Registry`] of the program's own ops.
    ///
    /// # Errors
    /// As [`Bundle::load`].
    pub fn load_with(path: impl AsRef<Path>, options: impl Into<LoadOptions>) -> Result<Bundle> {
        format::load(path.as_ref(), &options.into().into_registry())
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// If an op is not this library's ([`Bundle::to_bytes_with`]), or there is no memory.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.to_bytes_with(&Registry::default())
    }

    /// [`Bundle::to_bytes`] with ops of the program's own.
    ///
    /// # Errors
    /// As [`Bundle::save_with`].
    pub fn to_bytes_with(&self, registry: &Registry) -> Result<Vec<u8>> {
        format::encode(self, registry)
    }

    /// From the bytes of a file.
    ///
    /// # Errors
    /// If they are not those of a workalike file, are of a newer format, or are damaged. Unknown ops are no
    /// error here: see [`Bundle::unreadable`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Bundle> {
        Bundle::from_bytes_with(bytes, LoadOptions::new())
    }

    /// [`Bundle::from_bytes`] with [`LoadOptions`], or with a [`Registry`] of the program's own ops.
    ///
    /// # Errors
    /// As [`Bundle::from_bytes`].
    pub fn from_bytes_with(bytes: &[u8], options: impl Into<LoadOptions>) -> Result<Bundle> {
        format::decode(bytes, "bytes", &options.into().into_registry())
    }

    /// One Simulator with all Functions as methods over their common shared variables. The first is the one
    /// that [`Simulator::call`] calls.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (n, inc) = (shared("n", 0i64), scalar::<i64>("inc"));
    /// let add = function([&inc]).update(&n, &n + &inc).compile()?;
    /// let get = function(()).output(&n).compile()?;
    /// let mut sim = Bundle::new().with("add", &add).with("get", &get).optimize(Host::auto())?;
    /// sim.call(args![3i64])?;
    /// assert_eq!(sim.method("get")?.call(args![])?[0].item::<i64>()?, 3);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the Bundle is empty or has a Function with unknown ops, the device is missing or cannot run a
    /// Function, or two Functions hold different values of one shared variable.
    pub fn optimize(&self, backend: impl Backend<Simulator = Simulator>) -> Result<Simulator> {
        if let Some(entry) = self.functions.iter().find(|entry| !entry.readable) {
            return Err(why_unreadable(&entry.function));
        }
        let Some((first, others)) = self.functions.split_first() else {
            return Err(Error::mismatch("optimize", "a Bundle with at least one Function", "an empty one"));
        };
        let mut simulator = backend.optimize(&first.function)?;
        for BundleEntry { function, .. } in others {
            simulator.add_method(function.name(), function)?;
        }
        Ok(simulator)
    }

    /// The only Function.
    pub(crate) fn into_single(self) -> Result<Function> {
        match self.functions.as_slice() {
            [BundleEntry { function, readable: true }] => Ok(function.clone()),
            [BundleEntry { function, .. }] => Err(why_unreadable(function)),
            _ => {
                let names: Vec<&str> = self.all().map(Function::name).collect();
                Err(Error::mismatch(
                    "load",
                    "a file with one Function",
                    format!("one with {}", names.join(", ")),
                ))
            }
        }
    }
}

/// The error for a Function with an op that is not known.
fn why_unreadable(function: &Function) -> Error {
    let why = UnknownOp::first_of(function.graph()).map_or("", |op| &op.why);
    Error::Format { what: format!("function {}", function.name()), message: why.into() }
}

impl Index<&str> for Bundle {
    type Output = Function;

    /// # Panics
    /// If there is no Function of this name; or it is unreadable; [`Bundle::function`] gives an error
    /// instead.
    fn index(&self, name: &str) -> &Function {
        // Indexing is documented to panic, as of any map.
        self.function(name).unwrap_or_else(|error| panic!("{error}"))
    }
}
