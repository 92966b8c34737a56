//! Probes: the value of a Variable every few iterations, recorded on the device and copied to the host in
//! groups.

mod twin;

use super::Simulator;
use crate::engine::executor::PlacedRing;
use crate::engine::record::{SampleRing, SampledTensor};
use crate::engine::run::Twins;
use crate::error::{Error, Result};
use crate::function::Count;
use crate::graph::{Cell, Def, FunctionGraph, Kind, SharedVariable, TensorType, Variable};
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// A probe of a Simulator; made by [`Simulator::probe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Probe(usize);

/// What a probe records: a Variable, by handle or by name.
#[derive(Clone, Debug)]
pub enum Probed {
    /// By handle.
    Variable(Variable),
    /// By name.
    Name(String),
}

impl From<&Variable> for Probed {
    fn from(variable: &Variable) -> Probed {
        Probed::Variable(variable.clone())
    }
}

impl From<&SharedVariable> for Probed {
    fn from(shared: &SharedVariable) -> Probed {
        Probed::Variable((**shared).clone())
    }
}

impl From<&str> for Probed {
    fn from(name: &str) -> Probed {
        Probed::Name(name.into())
    }
}

/// All probes of a Simulator.
#[derive(Debug, Default)]
pub(super) struct Probes {
    all: Vec<Option<ProbeEntry>>,
    /// For a method with inner probes, the method that also computes what they record.
    twins: HashMap<usize, usize>,
}

#[derive(Debug)]
struct ProbeEntry {
    method: usize,
    placed: PlacedRing,
    inner: Option<InnerProbe>,
}

/// A probe of a Variable that is neither output nor state: the method's twin writes it to a state of its own.
#[derive(Clone, Debug)]
struct InnerProbe {
    what: Probed,
    cell: Arc<Cell>,
    position: usize,
}

/// The source of what a probe records.
enum ProbeSource {
    State(usize),
    Output(usize, TensorType),
    Inner(Probed, TensorType),
}

impl Simulator {
    /// Records a Variable of the first method after every `every` iterations, in a ring of `capacity` samples
    /// on the device.
    ///
    /// A full ring is copied to the host as a whole, so that no sample is lost however long a run is, and a
    /// larger ring means fewer interruptions. A shared variable is recorded as an iteration leaves it, any
    /// other Variable as the iteration computes it. Calls are iterations too. A name is looked up among
    /// shared variables, then outputs, then all other Variables. The ring is on the device that computes the
    /// Variable.
    ///
    /// A Variable that is neither output nor shared variable may have been rewritten away: the Function is
    /// then compiled again with it, which needs the original expressions. A Function that was loaded from a
    /// file has only its graph: its named Variables can be probed.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (x, v) = (scalar::<f32>("x"), shared("v", 0f32));
    /// let doubled = 2.0 * &v;
    /// let f = function([&x]).update(&v, &doubled + &x).compile()?;
    /// let mut sim = f.optimize(Host::auto())?;
    /// let (state, inner) = (sim.probe(&v, 2, 100)?, sim.probe(&doubled, 1, 100)?);
    /// sim.run_n(4, args![1f32])?;
    /// assert_eq!(sim.read_probe(state)?.to_vec::<f32>()?, [3.0, 15.0]);
    /// assert_eq!(sim.read_probe(inner)?.to_vec::<f32>()?, [0.0, 2.0, 6.0, 14.0]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the method has no such Variable, or it can no longer be computed.
    pub fn probe(
        &mut self,
        what: impl Into<Probed>,
        every: impl Count,
        capacity: impl Count,
    ) -> Result<Probe> {
        self.probe_at(0, what.into(), every.count()?, capacity.count()?)
    }

    pub(super) fn probe_at(
        &mut self,
        method: usize,
        what: Probed,
        every: u64,
        capacity: u64,
    ) -> Result<Probe> {
        if every == 0 || capacity == 0 {
            let message = format!("a probe needs steps and a capacity above 0, got {every} and {capacity}");
            return Err(self.refuse(method, message));
        }
        let text = match &what {
            Probed::Variable(variable) => format!("{variable:?}"),
            Probed::Name(name) => name.clone(),
        };
        let (part, source, ty, inner) = match self.look_up(method, what)? {
            ProbeSource::State(position) => {
                let (part, at) = self.executor.place_of(position);
                (part, SampledTensor::State(at), self.executor.state(position).binding.ty.clone(), None)
            }
            ProbeSource::Output(output, ty) => {
                (self.executor.part_of_output(method, output), SampledTensor::Output(output), ty, None)
            }
            ProbeSource::Inner(what, ty) => {
                let inner = self.inner_probe(method, what, &text, &ty)?;
                let (part, at) = self.executor.place_of(inner.position);
                (part, SampledTensor::State(at), ty, Some(inner))
            }
        };
        let shape = ty.shape.iter().map(|e| e.unwrap_or(0)).collect();
        let ring = SampleRing::new(text, source, every, capacity, inner.is_some(), (ty.dtype, shape));
        self.probes.all.push(Some(ProbeEntry { method, placed: PlacedRing { part, ring }, inner }));
        Ok(Probe(self.probes.all.len() - 1))
    }

    /// The samples since the probe was made or last taken, along a new first axis, in order. Waits for the
    /// device.
    ///
    /// # Errors
    /// If the probe was removed or is another Simulator's, or the device fails.
    pub fn read_probe(&self, probe: Probe) -> Result<Value> {
        let entry = self.probes.all.get(probe.0).and_then(Option::as_ref).ok_or_else(gone)?;
        self.executor.samples(&entry.placed)
    }

    /// [`Simulator::read_probe`]; the probe then drops its samples, and goes on.
    ///
    /// # Errors
    /// As [`Simulator::read_probe`].
    pub fn take_probe(&mut self, probe: Probe) -> Result<Value> {
        let samples = self.read_probe(probe)?;
        let entry = self.probes.all.get_mut(probe.0).and_then(Option::as_mut).ok_or_else(gone)?;
        entry.placed.ring.clear();
        Ok(samples)
    }

    /// Ends a probe and drops its samples.
    ///
    /// # Errors
    /// If it was removed or is another Simulator's.
    pub fn remove_probe(&mut self, probe: Probe) -> Result<()> {
        let entry = self.probes.all.get_mut(probe.0).and_then(Option::take).ok_or_else(gone)?;
        if let Some(inner) = entry.inner {
            self.executor.forget_state(inner.position)?;
            let left = self.inner_probes(entry.method);
            let (graph, positions) = self.twin(entry.method, &left)?;
            let draft = self.draft_over(&self.methods[entry.method].name, &graph, &positions)?;
            self.set_twin(entry.method, (graph, positions), draft);
            if left.is_empty() {
                self.probes.twins.remove(&entry.method);
            }
        }
        Ok(())
    }

    /// Whether iterations of a method are recorded.
    pub(super) fn is_probed(&self, method: usize) -> bool {
        self.probes.all.iter().flatten().any(|e| e.method == method)
    }

    /// A method, and the twin that computes what its probes record.
    pub(super) fn twins(&self, method: usize) -> Twins {
        Twins { plain: method, probed: self.probes.twins.get(&method).copied().unwrap_or(method) }
    }

    fn refuse(&self, method: usize, message: String) -> Error {
        Error::Call { function: self.methods[method].name.clone(), message }
    }

    fn look_up(&self, method: usize, what: Probed) -> Result<ProbeSource> {
        let function = &self.methods[method].function;
        let variable = match what {
            Probed::Name(name) => return self.look_up_name(method, &name),
            Probed::Variable(variable) => variable,
        };
        if let Kind::Shared(cell) = variable.checked()?.kind() {
            let position = self.position_of(method, cell);
            let message = || format!("there is no shared variable {} to probe in any method", cell.name());
            return position.map(ProbeSource::State).ok_or_else(|| self.refuse(method, message()));
        }
        let Some(source) = function.source() else {
            return match variable.name() {
                Some(name) => self.look_up_name(method, name),
                None => Err(self.refuse(
                    method,
                    format!(
                        "{variable:?} cannot be found in a Function that was loaded from a file: probe it by name, or make it \
                         an output before you save"
                    ),
                )),
            };
        };
        Ok(match source.outputs.iter().position(|o| o.key() == variable.key()) {
            Some(output) => ProbeSource::Output(output, self.output_type(method, output)),
            None => {
                let ty = variable.ty().clone();
                ProbeSource::Inner(Probed::Variable(variable), ty)
            }
        })
    }

    fn look_up_name(&self, method: usize, name: &str) -> Result<ProbeSource> {
        let function = &self.methods[method].function;
        let several =
            || self.refuse(method, format!("there are several Variables {name}: probe it by handle"));
        let cells: Vec<_> = function.cells().iter().filter(|c| c.name() == name).collect();
        match cells.as_slice() {
            [] => {}
            [cell] => {
                let position = self.by_id.get(&cell.id()).copied();
                return position.map(ProbeSource::State).ok_or_else(several);
            }
            _ => return Err(several()),
        }
        if let Some(output) = function.output_names().iter().position(|n| n.as_deref() == Some(name)) {
            return Ok(ProbeSource::Output(output, self.output_type(method, output)));
        }
        let graph = function.graph();
        match named(graph, name).as_slice() {
            [] => {}
            [id] => {
                return Ok(ProbeSource::Inner(Probed::Name(name.into()), graph.var(*id as u32).ty.clone()));
            }
            _ => return Err(several()),
        }
        let written = function.source().map_or(vec![], |source| source.named(name));
        match written.as_slice() {
            [] => {}
            [variable] => {
                return Ok(ProbeSource::Inner(Probed::Variable(variable.clone()), variable.ty().clone()));
            }
            _ => return Err(several()),
        }
        let mut known: Vec<&str> = graph.vars.iter().filter_map(|v| v.name.as_deref()).collect();
        known.extend(function.output_names().iter().flatten().map(String::as_str));
        known.sort_unstable();
        known.dedup();
        Err(self.refuse(
            method,
            format!(
                "there is no Variable {name} to probe; those with names are: {}. What was rewritten away can be probed by its \
                 handle before the Function is saved, or made an output",
                known.join(", ")
            ),
        ))
    }

    fn output_type(&self, method: usize, output: usize) -> TensorType {
        let graph = self.methods[method].function.graph();
        graph.var(graph.outputs[output]).ty.clone()
    }

    /// The position of the state of a shared variable of a method's original expressions: a fork has other
    /// shared variables than its original.
    fn position_of(&self, method: usize, cell: &Cell) -> Option<usize> {
        let function = &self.methods[method].function;
        let place = function.source().and_then(|s| s.cells.iter().position(|id| *id == cell.id()));
        let id = place.and_then(|place| function.cells().get(place)).map_or(cell.id(), |own| own.id());
        self.by_id.get(&id).copied()
    }
}

impl Probes {
    /// The rings of a method.
    pub(super) fn rings(&mut self, method: usize) -> impl Iterator<Item = &mut PlacedRing> {
        self.all.iter_mut().flatten().filter(move |e| e.method == method).map(|e| &mut e.placed)
    }
}

/// Positions of the Vars of this name that are not shared variables.
fn named(graph: &FunctionGraph, name: &str) -> Vec<usize> {
    let is = |id: &usize| {
        let var = &graph.vars[*id];
        var.name.as_deref() == Some(name) && !matches!(var.def, Def::Shared(_))
    };
    (0..graph.vars.len()).filter(is).collect()
}

fn gone() -> Error {
    Error::Sync("there is no such probe in this Simulator; was it removed?".into())
}
