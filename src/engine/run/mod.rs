//! Executes Programs: state at canonical addresses, one scratch arena for all methods, recorded Segments.
//!
//! Ownership: an [`Engine`] owns its `EngineContext` and its `EngineMethod`s; an `EngineMethod` a
//! `Definition` and a `PlanCache`; a `PlanCache` the `Planned` Programs; a `Planned` its `Compiled` and the
//! recordings: a `Recorded` at the planned addresses, and `CallerRecordings` over memory of the caller. A
//! `Recorded` owns the `Segment`s, and the `BlockCache` of many iterations. Their functions take the
//! `EngineContext` as an argument.
//!
//! A warm call, in order (`Simulator::call` comes here):
//! - `Engine::call`, `Engine::ready`, `Engine::plan`, `EngineMethod::select`, `PlanCache::select`: the Program
//!   of this signature;
//! - `Engine::make_room`: the arena is large enough;
//! - `Planned::record`: it is recorded already;
//! - `BoundProgram::upload_inputs`, `BoundProgram::replay`, `Segment::replay`: inputs are copied in, and Segments run;
//! - `RunResults::outputs`, `Definition::check_status`, `HostPool::download_to`: outputs are copied out.
//!
//! A first call does more:
//! - after `PlanCache::select`: `Engine::plan_with_bounds`, `Definition::infer`, `Engine::plan_anew`,
//!   `Engine::compile`, `Definition::draft` (lowering, fusion, updates in place, memory plan),
//!   `Device::compile`, `PlanCache::insert`;
//! - in `Engine::make_room`: `Engine::make_status`, `Engine::grow_arena`;
//! - in `Planned::record`: `Recorded::bind`, `Regions::of`, `Compiled::parts`, `DeviceStep::command`,
//!   `Segment::record`.
//!
//! - here: the [`Engine`]; `memory`: its arena, what is held and released; `states`: its shared variables;
//! - `planning`: from a call's shapes to a planned Program; `shape_methods`: values that decide shapes;
//! - `call`, `owned_calls`: inputs copied in, Segments replayed, outputs copied out or left to the caller;
//! - `iteration_loop`: many calls without returning to the host; `speculation`: until a condition fails;
//!   `profile`: with each step timed.

mod call;
mod iteration_loop;
mod memory;
mod owned_calls;
mod planning;
mod profile;
mod shape_methods;
mod speculation;
mod states;

pub(crate) use iteration_loop::{IterationLoop, Twins, in_iteration};
pub(crate) use profile::StepWork;

use super::compile::Definition;
use super::plan::EngineMethod;
use super::storage::{DeviceArray, EngineContext};
use crate::error::Result;
use crate::graph::FunctionGraph;
use crate::value::Value;
use std::sync::Arc;
use workalike_device::{Device, Options};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Engine {
    /// Declared before the context, whose thread then has nothing left to begin when it is dropped.
    methods: Vec<EngineMethod>,
    context: EngineContext,
    /// Positions of methods that compute nothing any more: see `shape_methods`.
    spare: Vec<usize>,
}

impl Engine {
    pub(crate) fn new(device: Arc<dyn Device>, options: Options) -> Engine {
        Engine {
            context: EngineContext::new(device, options.with_environment()),
            methods: vec![],
            spare: vec![],
        }
    }

    /// The state common to all methods.
    pub(crate) fn context(&self) -> &EngineContext {
        &self.context
    }

    pub(crate) fn device(&self) -> &Arc<dyn Device> {
        &self.context.device
    }

    pub(crate) fn options(&self) -> Options {
        self.context.options
    }

    /// A value in device memory of the pool.
    pub(crate) fn upload(&self, value: &Value) -> Result<DeviceArray> {
        self.context.upload(value)
    }

    /// Adds a method over states at these positions; returns its position.
    pub(crate) fn add_method(&mut self, name: &str, graph: Arc<FunctionGraph>, states: Vec<usize>) -> usize {
        self.put_method(None, None, name, graph, states)
    }

    /// Adds a method, or replaces the one at `slot`; returns its position. A twin `of` a method shares that
    /// method's status words: an error of either stops the other too.
    pub(crate) fn put_method(
        &mut self,
        slot: Option<usize>,
        of: Option<usize>,
        name: &str,
        graph: Arc<FunctionGraph>,
        states: Vec<usize>,
    ) -> usize {
        let status = of.map_or_else(Arc::default, |of| self.methods[of].definition.status.clone());
        let graph = self.context.replaced(graph);
        let number = slot.unwrap_or(self.methods.len());
        let promised = self.context.abilities().promised;
        let method = EngineMethod::new(Definition::new(name, graph, states, number, status, promised));
        let mut beside = None;
        match self.methods.get_mut(number) {
            Some(place) => {
                let before = std::mem::replace(place, method);
                beside = before.definition.deciding.get().map(|own| own.method);
            }
            None => self.methods.push(method),
        }
        self.put_deciding(number, beside);
        number
    }

    /// The graph of a method: the one that was given, unless the device needs ops of it replaced.
    pub(crate) fn graph_of(&self, method: usize) -> &Arc<FunctionGraph> {
        &self.methods[method].definition.graph
    }

    /// Positions of the inputs whose values decide shapes in a method.
    pub(crate) fn deciding_inputs(&self, method: usize) -> &[usize] {
        &self.methods[method].definition.demand.inputs
    }

    /// Whether shapes in a method depend on the value of the shared variable at this position.
    pub(crate) fn value_decides_shapes(&self, method: usize, shared: usize) -> bool {
        self.methods[method].definition.demand.shared.contains(&shared)
    }

    /// How often a Program of a method was planned again after it was evicted.
    pub(crate) fn planned_again(&self, method: usize) -> u64 {
        self.methods[method].plans.planned_again()
    }

    /// Positions of the states that a method updates.
    pub(crate) fn updated(&self, method: usize) -> impl Iterator<Item = usize> + '_ {
        self.methods[method].definition.updated()
    }
}
