//! Executes Programs: state at canonical addresses, one scratch arena for all methods, recorded Segments.
//!
//! Ownership: an [`Engine`] owns its `EngineContext` and its `EngineMethod`s; an `EngineMethod` a
//! `Definition` and a `PlanCache`; a `PlanCache` the `Planned` Programs; a `Planned` its `Compiled` and the
//! recordings: a `Recorded` at the planned addresses, and `CallerRecordings` over memory of the caller. A
//! `Recorded` owns the `Segment`s, and the `BlockCache` of many iterations. Their functions take the
//! `EngineContext` as an argument.
//!
//! A warm call, in order (`Simulator::call` comes here):
//! - `Engine::call`, `Engine::ready`, `Engine::plan`, `EngineMethod::select`, `PlanCache::select`: the
//!   Program of this signature;
//! - `Engine::make_room`: the arena is large enough;
//! - `Planned::record`: it is recorded already;
//! - `BoundProgram::upload_inputs`, `BoundProgram::replay`, `Segment::replay`: inputs are copied in, and
//!   Segments run;
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
//! - here: the [`Engine`] and its calls; `results`: what they leave; `memory`: its arena, what is held and
//!   released; `states`: its shared variables;
//! - `planning`: from a call's shapes to a planned Program; `shape_methods`: values that decide shapes;
//! - `owned_calls`: calls whose results belong to the caller;
//! - `iteration_loop`: many calls without returning to the host; `speculation`: until a condition fails;
//!   `profile`: with each step timed.

mod iteration_loop;
mod memory;
mod owned_calls;
mod planning;
mod profile;
mod results;
mod shape_methods;
mod speculation;
mod states;

pub(crate) use iteration_loop::{IterationLoop, Twins, in_iteration};
pub(crate) use profile::StepWork;

use super::compile::Definition;
use super::plan::{EngineMethod, Planned};
use super::storage::{CallInput, DeviceArray, EngineContext};
use crate::error::{Error, Result};
use crate::graph::FunctionGraph;
use crate::lower::index_bounds::Bounds;
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

    /// One call with outputs on the host. Their memory is allocated before anything runs, so that a call that
    /// fails for lack of memory makes no update.
    pub(crate) fn call(&mut self, method: usize, args: &[CallInput]) -> Result<Vec<Value>> {
        let (planned, context) = self.ready(method, args)?;
        let blocks = context.host_pool.result_blocks(planned.compiled.result_sizes())?;
        let mut bound = planned.bind(context, args)?;
        bound.upload_inputs(context, args, None)?;
        bound.replay(context)?;
        bound.results(context).outputs(blocks)
    }

    /// One call with outputs left in place, for [`Engine::outputs`].
    pub(crate) fn run(&mut self, method: usize, args: &[CallInput]) -> Result<()> {
        let (planned, context) = self.ready(method, args)?;
        let mut bound = planned.bind(context, args)?;
        bound.upload_inputs(context, args, None)?;
        bound.replay(context).map(drop)
    }

    /// A call whose inputs have the sizes of the last call's; their dtypes and shapes are not checked. `None`
    /// if something else changed. As in [`Engine::call`], memory for the outputs is allocated first.
    pub(crate) fn call_again(&mut self, method: usize, values: &[Value]) -> Result<Option<Vec<Value>>> {
        let Engine { context, methods, .. } = self;
        let m = &mut methods[method];
        if !m.definition.demand.is_static() || values.len() != m.definition.graph.inputs.len() {
            return Ok(None);
        }
        let Some(mut bound) = m.plans.current_mut().and_then(|planned| planned.bound(context)) else {
            return Ok(None);
        };
        if !bound.compiled.assumptions_hold(context, |i| Bounds::of(&values[i])) {
            return Ok(None);
        }
        let blocks = context.host_pool.result_blocks(bound.compiled.result_sizes())?;
        bound.upload_again(context, values)?;
        bound.replay(context)?;
        bound.results(context).outputs(blocks).map(Some)
    }

    /// The Program for these inputs, in an arena that is large enough.
    pub(crate) fn ready(
        &mut self,
        method: usize,
        args: &[CallInput],
    ) -> Result<(&mut Planned, &mut EngineContext)> {
        self.plan(method, args)?;
        self.make_room(method)?;
        self.current(method)
    }

    /// The Program for which a method was last planned.
    pub(crate) fn current(&mut self, method: usize) -> Result<(&mut Planned, &mut EngineContext)> {
        let Engine { context, methods, .. } = self;
        let m = &mut methods[method];
        let planned = m.plans.current_mut().ok_or_else(|| not_run(&m.definition.name))?;
        Ok((planned, context))
    }
}

fn not_run(method: &str) -> Error {
    let message = "it has not run yet: call it before its results are read".into();
    Error::Call { function: method.into(), message }
}
