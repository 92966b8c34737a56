//! Executes a Simulator's methods: on one device, or on several, each of which has a name as a context.
//!
//! An [`Executor`] has an [`Engine`] for each device. A method whose nodes and shared variables are all on
//! one device is a method of that engine, and a call of it costs one branch more. Any other method is cut
//! into stages, each a method of one engine, and its calls run the stages one after another.
//!
//! - here: the devices and the methods; `state`: shared variables, each on one device;
//! - `placement`: from hints to a device for each node; `stages`: the cut;
//! - `calls`: calls and their results; `staged`: a call of stages;
//! - `iterations`: many calls at once, and their samples; `planning`: what a call would run.

mod calls;
mod iterations;
mod placement;
mod planning;
mod staged;
mod stages;
mod state;

pub(crate) use iterations::{IterationRequest, PlacedRing};
pub(crate) use planning::MethodPart;
pub(crate) use stages::StageInput;

use super::run::Engine;
use super::storage::{CallInput, DeviceArray, StageOrigin};
use crate::error::{Error, Result};
use crate::graph::{Cell, FunctionGraph};
use crate::value::Value;
use placement::{Placement, homes, place};
use staged::{Staged, StagedPart, Wait};
use stages::{Stage, StagePartition, cut};
use std::sync::Arc;
use workalike_device::{Device, Options};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Executor {
    parts: Vec<ContextEngine>,
    methods: Vec<ExecutorMethod>,
    states: Vec<StatePlace>,
}

/// An opened device, and its name if it is one of several contexts.
#[derive(Clone, Debug)]
pub(crate) struct OpenContext {
    pub(crate) name: Option<String>,
    pub(crate) device: Arc<dyn Device>,
    pub(crate) options: Options,
}

/// A device and its engine.
#[derive(Debug)]
struct ContextEngine {
    name: Option<String>,
    engine: Engine,
    /// Positions of the engine's methods that are no longer in use.
    unused: Vec<usize>,
}

/// Where a shared variable lives.
#[derive(Clone, Copy, Debug)]
struct StatePlace {
    part: usize,
    /// Its position among the engine's states.
    at: usize,
}

#[derive(Debug)]
struct ExecutorMethod {
    name: String,
    graph: Arc<FunctionGraph>,
    /// For each shared variable of the graph, its position among all states.
    states: Vec<usize>,
    /// The states that it updates.
    updated: Vec<usize>,
    form: ExecutionMode,
}

/// How a method runs.
#[derive(Debug)]
enum ExecutionMode {
    /// As this method of a part's engine.
    Whole {
        part: usize,
        at: usize,
    },
    Stages(Box<Staged>),
}

/// A method that is placed and not yet added: see [`Executor::draft`].
#[derive(Debug)]
pub(crate) struct PlacedMethod {
    /// The part of each shared variable.
    pub(crate) shared: Vec<usize>,
    form: DraftForm,
}

#[derive(Debug)]
enum DraftForm {
    Whole(usize),
    Stages(StagePartition),
}

impl Executor {
    /// An executor without methods. There is at least one device; several have names, which differ.
    pub(crate) fn new(contexts: Vec<OpenContext>) -> Executor {
        let part = |OpenContext { name, device, options }| ContextEngine {
            name,
            engine: Engine::new(device, options),
            unused: vec![],
        };
        Executor { parts: contexts.into_iter().map(part).collect(), methods: vec![], states: vec![] }
    }

    /// One call with outputs on the host.
    pub(crate) fn call(&mut self, method: usize, args: &[CallInput]) -> Result<Vec<Value>> {
        if let ExecutionMode::Whole { part, at } = self.methods[method].form {
            return self.parts[part].engine.call(at, args);
        }
        let arrays = self.run_stages(method, args, Wait::ForOutcome)?;
        arrays.iter().map(DeviceArray::to_value).collect()
    }

    /// The devices, for another executor.
    pub(crate) fn contexts(&self) -> Vec<OpenContext> {
        let context = |part: &ContextEngine| OpenContext {
            name: part.name.clone(),
            device: part.engine.device().clone(),
            options: part.engine.options(),
        };
        self.parts.iter().map(context).collect()
    }

    /// The names of the contexts; empty if there is one device without a name.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.parts.iter().filter_map(|part| part.name.as_deref()).collect()
    }

    /// The engine of each device.
    pub(crate) fn engines(&self) -> impl Iterator<Item = &Engine> {
        self.parts.iter().map(|part| &part.engine)
    }

    /// The engine of a device.
    pub(crate) fn engine(&self, part: usize) -> &Engine {
        &self.parts[part].engine
    }

    /// Where the shared variables of a Function live that becomes a method; `known` are those that other
    /// methods have.
    ///
    /// # Errors
    /// If a hint names an unknown context, or another one than where a variable lives.
    pub(crate) fn homes(&self, cells: &[Arc<Cell>], known: &[Option<usize>]) -> Result<Vec<usize>> {
        match self.is_named() {
            true => homes(cells, &self.names(), known),
            false => Ok(vec![0; cells.len()]),
        }
    }

    /// Places a method's graph over shared variables on these parts, and cuts it. `None`: the shared variable
    /// lives where its new value is computed. Nothing is changed.
    ///
    /// # Errors
    /// If a transfer names an unknown context.
    pub(crate) fn draft(
        &self,
        name: &str,
        graph: &FunctionGraph,
        shared: &[Option<usize>],
    ) -> Result<PlacedMethod> {
        let placement = match self.is_named() {
            true => place(graph, &self.names(), shared)?,
            false => Placement::on_one(graph),
        };
        let form = match placement.only() {
            Some(part) => DraftForm::Whole(part),
            None => DraftForm::Stages(cut(name, graph, &placement)),
        };
        Ok(PlacedMethod { shared: placement.shared, form })
    }

    fn is_named(&self) -> bool {
        self.parts.iter().any(|part| part.name.is_some())
    }

    /// Adds a method over states at these positions; returns its position.
    pub(crate) fn add_method(
        &mut self,
        name: &str,
        graph: Arc<FunctionGraph>,
        states: Vec<usize>,
        draft: PlacedMethod,
    ) -> usize {
        let method = self.method(name, graph, states, draft, None);
        self.methods.push(method);
        self.methods.len() - 1
    }

    /// Adds a twin of a method, or replaces the one at `slot`; returns its position. If both run whole on one
    /// device, an error of either stops the other too.
    pub(crate) fn put_twin(
        &mut self,
        slot: Option<usize>,
        of: usize,
        name: &str,
        (graph, states): (Arc<FunctionGraph>, Vec<usize>),
        draft: PlacedMethod,
    ) -> usize {
        if let Some(slot) = slot {
            self.retire(slot);
        }
        let method = self.method(name, graph, states, draft, Some(of));
        let at = slot.unwrap_or(self.methods.len());
        match self.methods.get_mut(at) {
            Some(place) => *place = method,
            None => self.methods.push(method),
        }
        at
    }

    /// Drops the Programs of a method that is about to be replaced.
    fn retire(&mut self, method: usize) {
        let pieces: Vec<(usize, usize)> = self.pieces(method).iter().map(|p| (p.part, p.at)).collect();
        for (part, at) in pieces {
            let ContextEngine { engine, unused, .. } = &mut self.parts[part];
            engine.put_method(Some(at), None, "", Arc::default(), vec![]);
            unused.push(at);
        }
    }

    fn method(
        &mut self,
        name: &str,
        graph: Arc<FunctionGraph>,
        states: Vec<usize>,
        draft: PlacedMethod,
        of: Option<usize>,
    ) -> ExecutorMethod {
        let updated = graph.updates.iter().map(|(shared, _)| states[*shared as usize]).collect();
        let form = match draft.form {
            DraftForm::Whole(part) => {
                let twin = of.and_then(|of| match self.methods[of].form {
                    ExecutionMode::Whole { part: known, at } if known == part => Some(at),
                    _ => None,
                });
                let own = states.iter().map(|&state| self.states[state].at).collect();
                ExecutionMode::Whole { part, at: self.install(part, twin, name, graph.clone(), own) }
            }
            DraftForm::Stages(StagePartition { stages, commits }) => {
                let stages = stages.into_iter().map(|stage| self.stage(stage, &states)).collect();
                let commits = commits.into_iter().map(|stage| self.stage(stage, &states)).collect();
                ExecutionMode::Stages(Box::new(Staged { stages, commits, last: None }))
            }
        };
        ExecutorMethod { name: name.into(), graph, states, updated, form }
    }

    /// Adds a stage of a method over these states to its device's engine.
    fn stage(&mut self, stage: Stage, states: &[usize]) -> StagedPart {
        let own = stage.shared.iter().map(|&shared| self.states[states[shared]].at).collect();
        let at = self.install(stage.device, None, &stage.name, stage.graph.clone(), own);
        let ContextEngine { name, engine, .. } = &self.parts[stage.device];
        let same = Arc::ptr_eq(engine.graph_of(at), &stage.graph);
        let nodes = if same { stage.nodes.clone() } else { vec![] };
        let origin = Arc::new(StageOrigin { context: name.clone().unwrap_or_default(), nodes });
        StagedPart { stage, at, origin }
    }

    /// Adds a method to a part's engine.
    fn install(
        &mut self,
        part: usize,
        of: Option<usize>,
        name: &str,
        graph: Arc<FunctionGraph>,
        states: Vec<usize>,
    ) -> usize {
        let ContextEngine { engine, unused, .. } = &mut self.parts[part];
        engine.put_method(unused.pop(), of, name, graph, states)
    }

    /// Positions of the states of a method.
    pub(crate) fn states_of(&self, method: usize) -> &[usize] {
        &self.methods[method].states
    }

    /// Positions of the states that a method updates.
    pub(crate) fn updated(&self, method: usize) -> &[usize] {
        &self.methods[method].updated
    }

    /// Whether a method updates shared variables.
    pub(crate) fn changes_state(&self, method: usize) -> bool {
        !self.methods[method].updated.is_empty()
    }

    /// Number of a method's outputs.
    pub(crate) fn output_count(&self, method: usize) -> usize {
        self.methods[method].graph.outputs.len()
    }

    /// The position of a context.
    ///
    /// # Errors
    /// If there is none of this name.
    pub(crate) fn context(&self, name: &str) -> Result<usize> {
        let found = self.parts.iter().position(|part| part.name.as_deref() == Some(name));
        found.ok_or_else(|| {
            let names = self.names();
            let expected = match names.is_empty() {
                true => "no name: the Simulator was made with one device, without contexts".into(),
                false => format!("one of {}", names.join(", ")),
            };
            Error::mismatch("contexts", expected, name)
        })
    }

    /// The name of a part's context.
    pub(crate) fn context_name(&self, part: usize) -> Option<&str> {
        self.parts[part].name.as_deref()
    }
}
