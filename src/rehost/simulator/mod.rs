//! The Simulator: a Function re-hosted on a device, called like the Function.
//!
//! Here: methods. `calls`, `borrowed`, `pending`, `typed`: calls. `steps`: many calls in one go. `probe`: what is recorded of
//! them. `sync`: values to and from the parents. `explain`, `plan`: what runs where, in words and in numbers. `memory`: what is
//! needed and held. `profile`: what it takes. `verify`: a check against the reference. `tuned`: backends with options.

mod borrowed;
mod calls;
mod explain;
mod memory;
mod pending;
mod plan;
mod probe;
mod profile;
mod steps;
mod sync;
mod tuned;
mod typed;
mod verify;
mod warnings;

pub use borrowed::{Borrowed, BorrowedArray};
pub use pending::Pending;
pub use plan::{BufferPlan, OperandPlan, Plan, StepPlan};
pub use probe::{Probe, Probed};
pub use profile::{KernelTime, Profile};
pub use tuned::Tuned;
pub use typed::{Typed, TypedArray, TypedTuple};

use super::device::Device;
use super::engine::{Engine, Options, StateBinding};
use crate::error::{Error, Result};
use crate::function::Function;
use crate::graph::Cell;
use crate::value::Value;
use probe::Probes;
use std::collections::HashMap;
use std::sync::Arc;

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
    /// What it is, if the Simulator made it by itself.
    hidden: Option<Hidden>,
}

/// A method that users do not see.
#[derive(Debug)]
enum Hidden {
    /// The twin of another method, for its probes.
    Twin,
    /// Some outputs, by position, of another method.
    Part { of: usize, outputs: Vec<usize>, made: u64 },
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
        self.engine.add_method(name, function.graph().clone(), positions);
        self.methods.push(Method { name: name.into(), function: function.clone(), hidden: None });
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
        self.methods.iter().filter(|m| m.hidden.is_none()).map(|m| m.name.as_str())
    }

    /// The device.
    pub fn device(&self) -> &Arc<dyn Device> {
        self.engine.device()
    }

    fn find(&self, name: &str) -> Result<usize> {
        self.methods.iter().position(|m| m.hidden.is_none() && m.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.methods().collect();
            Error::Sync(format!("the Simulator has no method {name}; it has {}", known.join(", ")))
        })
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
}
