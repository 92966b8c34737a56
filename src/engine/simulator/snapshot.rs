//! Simulators saved to a file and restored from it, and forked.

use super::{Simulator, SimulatorMethod};
use crate::engine::Backend;
use crate::engine::executor::OpenContext;
use crate::error::{DeviceError, Error, Result};
use crate::format;
use crate::format::SimulatorSettings;
use crate::function::{Bundle, Function, LoadOptions, function};
use crate::graph::Cell;
use crate::ops::Registry;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;
use workalike_device::atomic_file;

impl Simulator {
    /// Saves the Simulator to a file: its methods' Functions, the values that shared variables have on the
    /// device (the states of random streams among them), and the backend's options. [`Simulator::load`]
    /// continues from there, with equal bits on the same device. [`Bundle::load`] reads it as a file of
    /// Functions, on any host.
    ///
    /// Nothing is synced: parents and Simulator stay as they are. Probes are not saved.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let w = shared("w", 1.5f64);
    /// let f = function([] as [&Variable; 0]).name("step").update(&w, &w * 0.99).compile()?;
    /// let mut sim = f.optimize(Host::auto())?;
    /// sim.run_n(100, args![])?;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("checkpoint.walk");
    /// sim.save(&path)?;
    /// let mut resumed = Simulator::load(&path, Host::auto())?;
    /// resumed.run_n(100, args![])?;
    /// sim.run_n(100, args![])?;
    /// assert_eq!(resumed.get(&w)?, sim.get(&w)?);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be written, an op is not this library's ([`Simulator::save_with`] saves it), or the
    /// device or an earlier call failed.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_with(path, &Registry::default())
    }

    /// [`Simulator::save`] with ops of the program's own.
    ///
    /// # Errors
    /// As [`Simulator::save`], if an op is not in the Registry or does not come back equal from its id,
    /// version and attributes.
    pub fn save_with(&self, path: impl AsRef<Path>, registry: &Registry) -> Result<()> {
        let path = path.as_ref();
        atomic_file::write(path, &self.to_bytes_with(registry)?).map_err(Error::of_file(path))
    }

    /// The bytes of the file that [`Simulator::save`] writes.
    ///
    /// # Errors
    /// As [`Simulator::save`], the file aside.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.to_bytes_with(&Registry::default())
    }

    /// [`Simulator::to_bytes`] with ops of the program's own.
    ///
    /// # Errors
    /// As [`Simulator::save_with`], the file aside.
    pub fn to_bytes_with(&self, registry: &Registry) -> Result<Vec<u8>> {
        self.executor.finish()?;
        let options = self.executor.contexts().into_iter().map(|context| (context.name, context.options));
        // A Simulator is used by one thread, so values that are read in sequence are of one moment.
        let mut copies: HashMap<usize, Arc<Cell>> = HashMap::new();
        let mut bundle = Bundle::new();
        let mut settings = SimulatorSettings::of(options);
        for (at, method) in self.methods.iter().enumerate().filter(|(_, m)| m.hidden.is_none()) {
            let mut own = Vec::new();
            for (&state, parent) in self.executor.states_of(at).iter().zip(method.function.cells()) {
                own.push(match copies.entry(state) {
                    Entry::Occupied(copy) => copy.get().clone(),
                    Entry::Vacant(place) => {
                        let (value, ty) = (self.executor.read_state(state)?, parent.ty().clone());
                        let copy = Cell::new(parent.id(), parent.name(), ty, &value, None)?;
                        copy.set_context(self.saved_context(state, parent).as_deref());
                        copy.set_transient(parent.is_transient());
                        place.insert(Arc::new(copy)).clone()
                    }
                });
            }
            // The parent may have them in another order.
            let copies: HashMap<u128, Arc<Cell>> = own.into_iter().map(|cell| (cell.id(), cell)).collect();
            let own = method.parent.cells().iter().map(|cell| copies.get(&cell.id()).unwrap_or(cell).clone());
            bundle = bundle.with(&method.name, &method.parent.over(own.collect()));
            settings.first_sizes.push(self.executor.first_sizes(at).cloned());
        }
        format::encode_simulator(&bundle, &settings, registry)
    }

    /// The hint that a file has for a shared variable: the parent's, unless it came after the variable was
    /// placed.
    fn saved_context(&self, state: usize, parent: &Cell) -> Option<Arc<str>> {
        let (hint, part) = (parent.context(), self.executor.part_of(state));
        let lives = self.executor.context_name(part);
        match lives {
            Some(name) if hint.as_deref().is_some_and(|hint| hint != name) => Some(name.into()),
            Some(name) if hint.is_none() && part > 0 => Some(name.into()),
            _ => hint,
        }
    }

    /// Restores a Simulator from a file that [`Simulator::save`] wrote, on a device of the same kind or
    /// another, or in [`contexts`](crate::engine::contexts), with the saved methods and options. The file
    /// holds the hints of the Functions: in contexts, the options are those of the context of the same name.
    /// The parents are new Functions ([`Simulator::function`]) with the values of the file.
    ///
    /// # Errors
    /// If the device is missing ([`Bundle::load`] then still reads the Functions and values), the file cannot
    /// be read, is not ours, is damaged, holds Functions without a Simulator, or an op is not this library's
    /// ([`Simulator::load_with`] knows it).
    pub fn load(path: impl AsRef<Path>, backend: impl Backend<Simulator = Simulator>) -> Result<Simulator> {
        Simulator::load_with(path, backend, LoadOptions::new())
    }

    /// [`Simulator::load`] with [`LoadOptions`], or with a [`Registry`] of the program's own ops.
    ///
    /// # Errors
    /// As [`Simulator::load`].
    pub fn load_with(
        path: impl AsRef<Path>,
        backend: impl Backend<Simulator = Simulator>,
        options: impl Into<LoadOptions>,
    ) -> Result<Simulator> {
        let path = path.as_ref();
        let bytes = format::read_file(path)?;
        Simulator::restore(&bytes, &path.display().to_string(), &backend, options.into())
    }

    /// [`Simulator::load`], from the bytes of a file.
    ///
    /// # Errors
    /// As [`Simulator::load`].
    pub fn from_bytes(bytes: &[u8], backend: impl Backend<Simulator = Simulator>) -> Result<Simulator> {
        Simulator::from_bytes_with(bytes, backend, LoadOptions::new())
    }

    /// [`Simulator::from_bytes`] with [`LoadOptions`], or with a [`Registry`] of the program's own ops.
    ///
    /// # Errors
    /// As [`Simulator::load`].
    pub fn from_bytes_with(
        bytes: &[u8],
        backend: impl Backend<Simulator = Simulator>,
        options: impl Into<LoadOptions>,
    ) -> Result<Simulator> {
        Simulator::restore(bytes, "bytes", &backend, options.into())
    }

    fn restore(
        bytes: &[u8],
        what: &str,
        backend: &impl Backend<Simulator = Simulator>,
        options: LoadOptions,
    ) -> Result<Simulator> {
        let (bundle, settings) = format::decode_simulator(bytes, what, &options.into_registry())?;
        // A Function without anything opens the devices. The options are those of the file.
        let opened = backend.optimize(&function(()).compile()?).map_err(|error| match error {
            Error::Device(DeviceError::Missing { device, why, help }) => {
                let help =
                    format!("{help}; Bundle::load reads the Functions and values of {what} without it");
                DeviceError::Missing { device, why, help }.into()
            }
            other => other,
        })?;
        let with_options = |context: OpenContext| {
            let options = settings.options_of(context.name.as_deref());
            OpenContext { options, ..context }
        };
        let contexts = opened.executor.contexts().into_iter().map(with_options).collect();
        let mut functions = bundle.iter();
        let none =
            || Error::Format { what: what.into(), message: "it holds a Simulator without methods".into() };
        let (_, first) = functions.next().ok_or_else(none)?;
        let mut simulator = Simulator::empty(contexts);
        simulator.membership = opened.membership;
        simulator.add_method(first.name(), first)?;
        functions.try_for_each(|(name, function)| simulator.add_method(name, function))?;
        for (method, first) in settings.first_sizes.into_iter().take(simulator.methods.len()).enumerate() {
            first.into_iter().for_each(|extents| simulator.executor.set_first_sizes(method, extents));
        }
        Ok(simulator)
    }

    /// A second Simulator on the same device, or in the same contexts: the same methods, options and parents,
    /// and the current values. The two are then independent; if both sync to one parent, the conflict is
    /// reported to the second. Probes are not copied.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (w, by) = (shared("w", 1f64), scalar::<f64>("by"));
    /// let mut sim = function([&by]).update(&w, &w * &by).compile()?.optimize(Host::auto())?;
    /// sim.call(args![3.0])?;
    /// let mut other = sim.fork()?;
    /// other.call(args![5.0])?;
    /// assert_eq!((sim.get(&w)?.item::<f64>()?, other.get(&w)?.item::<f64>()?), (3.0, 15.0));
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device has no memory for the copies, or fails.
    pub fn fork(&self) -> Result<Simulator> {
        let mut fork = Simulator::empty(self.executor.contexts());
        fork.membership = self.membership.clone();
        let mut positions: HashMap<usize, usize> = HashMap::new();
        for (at, method) in self.methods.iter().enumerate().filter(|(_, m)| m.hidden.is_none()) {
            let mut states = Vec::new();
            for &state in self.executor.states_of(at) {
                states.push(match positions.entry(state) {
                    Entry::Occupied(position) => *position.get(),
                    Entry::Vacant(place) => {
                        fork.states.push(self.states[state].copy());
                        let part = self.executor.part_of(state);
                        *place.insert(fork.executor.add_state_like(part, self.executor.state(state))?)
                    }
                });
            }
            let (name, function) = (method.name.clone(), method.function.clone());
            let parent = method.parent.clone();
            let draft = fork.draft_over(&name, function.graph(), &states)?;
            let added = fork.executor.add_method(&name, function.graph().clone(), states, draft);
            self.executor
                .first_sizes(at)
                .into_iter()
                .for_each(|s| fork.executor.set_first_sizes(added, s.clone()));
            fork.methods.push(SimulatorMethod { name, function, parent, hidden: None });
        }
        fork.by_id = self.by_id.iter().filter_map(|(id, s)| Some((*id, *positions.get(s)?))).collect();
        Ok(fork)
    }

    /// The parent Function of a method.
    ///
    /// # Errors
    /// If there is no such method.
    pub fn function(&self, method: &str) -> Result<&Function> {
        Ok(&self.methods[self.find(method)?].parent)
    }

    /// The parent Functions of all methods, by the methods' names. They have the values of the last
    /// [`Simulator::sync_to_parent`]; to save the values on the device, see [`Simulator::save`].
    pub fn bundle(&self) -> Bundle {
        let methods = self.methods.iter().filter(|m| m.hidden.is_none());
        methods.fold(Bundle::new(), |bundle, method| bundle.with(&method.name, &method.parent))
    }
}
