//! The Simulator: a Function re-hosted on a device, called like the Function.
//!
//! Here: methods and calls. `steps`: many calls in one go. `probe`: what is
//! recorded of them. `sync`: values to and from the parents. `explain`, `plan`: what runs
//! where, in words and in numbers. `profile`: what it takes. `verify`: a check against the reference. `tuned`: backends with
//! options.

mod explain;
mod plan;
mod probe;
mod profile;
mod steps;
mod sync;
mod tuned;
mod verify;
mod warnings;

pub use plan::{BufferPlan, OperandPlan, Plan, StepPlan};
pub use probe::{Probe, Probed};
pub use profile::{KernelTime, Profile};
pub use tuned::Tuned;

use super::device::Device;
use super::engine::{DeviceArray, Engine, Fed, Options, StateBinding};
use crate::error::{Error, Result};
use crate::function::{Arg, Args, Function, Outputs, bind};
use crate::graph::Cell;
use crate::value::Value;
use probe::Probes;
use std::collections::HashMap;
use std::sync::Arc;

/// Inputs (positions) that take a slice a step, with their sequences.
type Sequences = Vec<(usize, Value)>;

/// Which value holds where two differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The Simulator's.
    Simulator,
    /// The incoming Function's, or the parent's.
    Incoming,
}

/// A Function on a device.
///
/// Shared variables live on the device: they are copied there when the Simulator is made and come back by
/// [`Simulator::sync_to_parent`]. Several Functions over the same shared variables can be methods of one Simulator.
///
/// ```
/// use workalike::prelude::*;
/// let inc = scalar::<i64>("inc");
/// let state = shared("state", 0i64);
/// let f = function([&inc]).output(&state).update(&state, &state + &inc).compile()?;
/// let mut sim = f.optimize(Host::auto())?;
/// sim.run_n(300, args![1i64])?;
/// assert_eq!(state.get_value()?.item::<i64>()?, 0); // the parent is untouched
/// sim.sync_to_parent()?;
/// assert_eq!(state.get_value()?.item::<i64>()?, 300);
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Debug)]
pub struct Simulator {
    engine: Engine,
    states: Vec<Parent>,
    by_id: HashMap<u128, usize>,
    methods: Vec<Method>,
    probes: Probes,
}

/// What the Simulator remembers of a shared variable's parents.
#[derive(Debug)]
struct Parent {
    /// Cells of this id, and the version of each when it was last in step with the Simulator.
    cells: Vec<(Arc<Cell>, u64)>,
    /// Some method may have changed the device's value since then.
    changed: bool,
}

#[derive(Debug)]
struct Method {
    name: String,
    function: Function,
    /// A twin of another method, for its probes.
    hidden: bool,
}

impl Simulator {
    pub(crate) fn new(function: &Function, device: Arc<dyn Device>, options: Options) -> Result<Simulator> {
        let engine = Engine::new(device, options);
        let mut simulator = Simulator {
            engine,
            states: vec![],
            by_id: HashMap::new(),
            methods: vec![],
            probes: Probes::default(),
        };
        simulator.add(function.name(), function, None)?;
        Ok(simulator)
    }

    /// Adds a Function as a method. Shared variables of an id that is already here are the same state.
    ///
    /// # Errors
    /// If the name is taken, or a shared variable's value differs from the Simulator's (see [`Simulator::add_method_keeping`]).
    pub fn add_method(&mut self, name: &str, function: &Function) -> Result<()> {
        self.add(name, function, None)
    }

    /// [`Simulator::add_method`], where differing values of shared variables are settled one way.
    ///
    /// # Errors
    /// If the name is taken, or types differ.
    pub fn add_method_keeping(&mut self, name: &str, function: &Function, keep: Keep) -> Result<()> {
        self.add(name, function, Some(keep))
    }

    fn add(&mut self, name: &str, function: &Function, keep: Option<Keep>) -> Result<()> {
        if self.methods().any(|known| known == name) {
            return Err(Error::Sync(format!("the Simulator already has a method {name}")));
        }
        // Everything that can fail comes before anything is changed.
        let mut incoming = Vec::new();
        for cell in function.cells() {
            let (value, version) = cell.snapshot()?;
            let known = self.by_id.get(&cell.id()).copied();
            if let Some(position) = known {
                self.check_incoming(position, cell, &value, keep)?;
            }
            let differs = match (known, keep) {
                (Some(position), Some(_)) => self.engine.read_state(position)? != value,
                _ => false,
            };
            incoming.push((cell.clone(), value, version, known, differs));
        }
        let mut positions = Vec::new();
        for (cell, value, version, known, differs) in incoming {
            let position = match known {
                Some(position) => {
                    if differs && keep == Some(Keep::Incoming) {
                        self.engine.write_state(position, &value)?;
                    }
                    let parent = &mut self.states[position];
                    match parent.cells.iter_mut().find(|(c, _)| Arc::ptr_eq(c, &cell)) {
                        Some((_, seen)) if keep.is_some() => *seen = version,
                        Some(_) => {}
                        None => parent.cells.push((cell, version)),
                    }
                    if differs {
                        // Whichever value holds, a parent that has the other gets it with the next sync.
                        parent.changed = keep == Some(Keep::Simulator) || parent.cells.len() > 1;
                    }
                    position
                }
                None => {
                    let (id, name, ty) = (cell.id(), cell.name().to_string(), cell.ty().clone());
                    let position = self.engine.add_state(StateBinding { name, ty }, &value)?;
                    self.by_id.insert(id, position);
                    self.states.push(Parent { cells: vec![(cell, version)], changed: false });
                    position
                }
            };
            positions.push(position);
        }
        self.engine.add_method(function.graph().clone(), positions);
        self.methods.push(Method { name: name.into(), function: function.clone(), hidden: false });
        Ok(())
    }

    fn check_incoming(
        &self,
        position: usize,
        cell: &Arc<Cell>,
        value: &Value,
        keep: Option<Keep>,
    ) -> Result<()> {
        let state = &self.engine.states[position];
        if state.binding.ty != *cell.ty() {
            let what = format!("shared variable {}", cell.name());
            return Err(Error::mismatch(what, state.binding.ty.to_string(), cell.ty().to_string()));
        }
        let own =
            self.states[position].cells.iter().any(|(c, v)| Arc::ptr_eq(c, cell) && *v == cell.version());
        if keep.is_some() || own {
            return Ok(());
        }
        if self.engine.read_state(position)? != *value {
            return Err(Error::Sync(format!(
                "shared variable {} has another value in the Simulator than in the Function; say which holds with \
                 add_method_keeping(.., Keep::Simulator) or Keep::Incoming",
                cell.name()
            )));
        }
        Ok(())
    }

    /// The names of the methods; the first is the one that [`Simulator::call`] calls.
    pub fn methods(&self) -> impl Iterator<Item = &str> {
        self.methods.iter().filter(|m| !m.hidden).map(|m| m.name.as_str())
    }

    /// The device.
    pub fn device(&self) -> &Arc<dyn Device> {
        self.engine.device()
    }

    fn find(&self, name: &str) -> Result<usize> {
        self.methods.iter().position(|m| !m.hidden && m.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.methods().collect();
            Error::Sync(format!("the Simulator has no method {name}; it has {}", known.join(", ")))
        })
    }

    /// Calls the first method: inputs from the host, outputs to the host.
    ///
    /// # Errors
    /// If the arguments do not fit, or the device fails.
    pub fn call(&mut self, args: Args) -> Result<Outputs> {
        self.call_at(0, args)
    }

    /// Calls a method by name.
    ///
    /// # Errors
    /// If there is no such method, the arguments do not fit, or the device fails.
    pub fn call_method(&mut self, name: &str, args: Args) -> Result<Outputs> {
        self.call_at(self.find(name)?, args)
    }

    fn call_at(&mut self, method: usize, args: Args) -> Result<Outputs> {
        let (run, at) = self.run(method, args)?;
        let values = self.engine.outputs(run, at)?;
        Ok(self.methods[method].function.outputs_of(values))
    }

    /// Gives the method that ran, which is the method's twin if it has probes, and its Program.
    fn run(&mut self, method: usize, args: Args) -> Result<(usize, usize)> {
        if self.is_probed(method) {
            let ran = self.steps(method, None, args, &mut [], |engine, steps| steps.run(engine))?;
            return ran.ok_or_else(|| Error::Internal("a call without a step".into()));
        }
        let fed = self.fed(method, args, None)?.0;
        self.note_updates(method);
        Ok((method, self.engine.run(method, &fed)?))
    }

    fn note_updates(&mut self, method: usize) {
        let updated: Vec<usize> = self.engine.updated(method).collect();
        updated.into_iter().for_each(|state| self.states[state].changed = true);
    }

    /// Calls the first method and leaves the outputs on the device. Device arrays may also be given as arguments. Nothing is
    /// waited for: an index out of range is reported by the method's next [`Simulator::call`] or by
    /// [`Simulator::synchronize`].
    ///
    /// # Errors
    /// If the arguments do not fit, or the device fails.
    pub fn call_device(&mut self, args: Args) -> Result<Vec<DeviceArray>> {
        self.call_method_device_at(0, args)
    }

    /// [`Simulator::call_device`] for a method by name.
    ///
    /// # Errors
    /// If there is no such method, the arguments do not fit, or the device fails.
    pub fn call_method_device(&mut self, name: &str, args: Args) -> Result<Vec<DeviceArray>> {
        self.call_method_device_at(self.find(name)?, args)
    }

    fn call_method_device_at(&mut self, method: usize, args: Args) -> Result<Vec<DeviceArray>> {
        let (run, at) = self.run(method, args)?;
        self.engine.device_outputs(run, at)
    }

    /// A value in device memory, to be given to calls.
    ///
    /// # Errors
    /// If the device has no memory for it.
    pub fn upload(&self, value: impl Into<Value>) -> Result<DeviceArray> {
        self.engine.upload(&value.into())
    }

    /// Arguments in input order, and the sequences among them.
    fn fed(&self, method: usize, args: Args, steps: Option<u64>) -> Result<(Vec<Fed>, Sequences)> {
        let function = &self.methods[method].function;
        let mut constant = Vec::new();
        let mut each = Vec::new();
        for (position, arg) in bind(function, args)?.into_iter().enumerate() {
            let what = || format!("{}: input {}", function.name(), function.input_name(position));
            match (arg, steps) {
                (Arg::Value(value), _) => constant.push(Fed::Host(value)),
                (Arg::Device(array), _) if array.is_on(self.engine.device()) => {
                    constant.push(Fed::Device(array))
                }
                (Arg::Device(array), _) => constant.push(Fed::Host(array.to_value()?)),
                (Arg::Each(_), None) => {
                    return Err(Error::mismatch(what(), "a value", "a sequence, which only run_n takes"));
                }
                (Arg::Each(sequence), Some(n)) => {
                    let len = sequence.shape().first().copied().unwrap_or(0) as u64;
                    if len != n {
                        return Err(Error::mismatch(
                            what(),
                            format!("a sequence of {n} slices"),
                            len.to_string(),
                        ));
                    }
                    // Until the first slice is there, zeros of its shape stand for it.
                    constant.push(Fed::Host(
                        Value::zeros(sequence.dtype(), &[])?.broadcast_to(&sequence.shape()[1..])?,
                    ));
                    each.push((position, sequence));
                }
            }
        }
        Ok((constant, each))
    }

    /// The names of the shared variables.
    pub fn shared_names(&self) -> impl Iterator<Item = &str> {
        let states = self.engine.states.iter().zip(&self.states).filter(|(_, p)| !p.cells.is_empty());
        states.map(|(s, _)| s.binding.name.as_str())
    }

    /// The value of a shared variable on the device.
    ///
    /// # Errors
    /// If no method has a shared variable of this name, or the device fails.
    pub fn get_value(&self, shared: &str) -> Result<Value> {
        self.engine.read_state(self.state_named(shared)?)
    }

    /// Replaces the value of a shared variable on the device.
    ///
    /// # Errors
    /// If no method has a shared variable of this name, or the value does not fit.
    pub fn set_value(&mut self, shared: &str, value: impl Into<Value>) -> Result<()> {
        let (position, value) = (self.state_named(shared)?, value.into());
        let ty = &self.engine.states[position].binding.ty;
        if !ty.admits(value.dtype(), value.shape()) {
            let given = crate::error::array_text(value.dtype(), value.shape());
            return Err(Error::mismatch(format!("shared variable {shared}"), ty.to_string(), given));
        }
        self.states[position].changed = true;
        self.engine.write_state(position, &value)
    }

    fn state_named(&self, name: &str) -> Result<usize> {
        // What a probe records lies in a state without parents.
        let mut states = self.engine.states.iter().zip(&self.states);
        states.position(|(s, p)| s.binding.name == name && !p.cells.is_empty()).ok_or_else(|| {
            let known: Vec<&str> = self.shared_names().collect();
            Error::Sync(format!("there is no shared variable {name}; there are {}", known.join(", ")))
        })
    }

    /// Waits until everything that was enqueued has run.
    ///
    /// # Errors
    /// If the device failed.
    pub fn synchronize(&self) -> Result<()> {
        self.engine.finish()
    }

    /// Works out and compiles what a call with these arguments needs, without running it.
    ///
    /// # Errors
    /// If the arguments do not fit, or the device cannot compile it.
    pub fn prepare(&mut self, name: &str, args: Args) -> Result<()> {
        let method = self.find(name)?;
        let fed = self.fed(method, args, None)?.0;
        self.engine.prepare(method, &fed)
    }
}
