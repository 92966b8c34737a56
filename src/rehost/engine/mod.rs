//! What runs Programs: state at canonical addresses, one scratch arena for all methods, recorded Segments.
//!
//! Who owns what: an [`Engine`] its `Context` and its `Method`s; a `Method` a `Definition` and a `PlanCache`;
//! that the `Planned` Programs; a `Planned` what is `Compiled` and its recordings: `Recorded` at the planned
//! addresses, `Variants` over memory of the caller, and in a `Recorded` the `Segment`s and the `Blocks` of
//! many steps. What one of them does takes the `Context`.
//!
//! A warm call, in order (`Simulator::call` comes here):
//! - `Engine::call`, `Engine::ready`, `Engine::plan`, `Method::select`, `PlanCache::select`: the Program of
//!   this signature;
//! - `Engine::make_room`: the arena is large enough;
//! - `Planned::record`: it is recorded already;
//! - `Bound::feed`, `Bound::replay`, `Segment::replay`: inputs go in, and Segments run;
//! - `Ran::outputs`, `Definition::check_status`, `HostPool::download_to`: outputs come out.
//!
//! A first call does more:
//! - after `PlanCache::select`: `Engine::plan_with_bounds`, `Definition::infer`, `Engine::plan_anew`,
//!   `Engine::compile`, `Definition::draft` (lowering, fusion, updates in place, memory plan),
//!   `Device::compile`, `PlanCache::insert`;
//! - in `Engine::make_room`: `Engine::make_status`, `Engine::grow_arena`;
//! - in `Planned::record`: `Recorded::bind`, `Regions::of`, `Compiled::parts`, `DeviceStep::command`,
//!   `Segment::record`.
//!
//! - here: the [`Engine`] and its methods;
//! - `context`: what methods have in common; `state`: shared variables;
//! - `method`, `plan_cache`, `planned`, `plan`: from a call's shapes to a planned Program;
//! - `recorded`, `segment`, `regions`: a planned Program bound to memory;
//! - `run`, `ran`: inputs in, Segments replayed, outputs out;
//! - `status`: what calls found wrong on the device;
//! - `variants`: recordings over memory that the caller owns;
//! - `steps`: many steps without coming back to the host, in `block`s that are recorded as one, with
//!   `sequence`s going in and `tap`s coming out; `trial`: until a condition fails;
//! - `profile`: the same with the time of each step;
//! - `array`: tensors that stay on the device;
//! - `pool`, `host_pool`: memory for results, on the device and on the host;
//! - `limits`: what memory is needed and held;
//! - `thrash`: Programs that are planned again and again.

mod array;
mod block;
mod context;
mod host_pool;
mod limits;
mod method;
mod plan;
mod plan_cache;
mod planned;
mod pool;
mod profile;
mod ran;
mod recorded;
mod regions;
mod run;
mod segment;
mod sequence;
mod state;
mod status;
mod steps;
mod tap;
mod thrash;
mod trial;
mod variants;

pub use array::DeviceArray;
pub(crate) use array::Fed;
pub(crate) use context::Context;
pub(crate) use planned::Compiled;
pub use pool::PoolReport;
pub(crate) use profile::{Kind, Work};
pub(crate) use state::StateBinding;
pub(crate) use status::Ticket;
pub(crate) use steps::{Loop, Twins};
pub(crate) use tap::{Source, Tap};

use super::device::Device;
use crate::error::Result;
use crate::graph::FunctionGraph;
use crate::rehost::Options;
use crate::value::Value;
use method::{Definition, Method};
use status::Status;
use std::sync::{Arc, OnceLock};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Engine {
    context: Context,
    methods: Vec<Method>,
}

impl Engine {
    pub(crate) fn new(device: Arc<dyn Device>, options: Options) -> Engine {
        Engine { context: Context::new(device, options), methods: vec![] }
    }

    /// What all methods have in common.
    pub(crate) fn context(&self) -> &Context {
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

    /// Adds a method over states at these positions; gives its position.
    pub(crate) fn add_method(&mut self, name: &str, graph: Arc<FunctionGraph>, states: Vec<usize>) -> usize {
        self.push_method(name, graph, states, Arc::default())
    }

    /// Adds a method that uses another's status words: what either finds wrong stops the other too.
    pub(crate) fn add_twin(
        &mut self,
        of: usize,
        name: &str,
        graph: Arc<FunctionGraph>,
        states: Vec<usize>,
    ) -> usize {
        let status = self.methods[of].definition.status.clone();
        self.push_method(name, graph, states, status)
    }

    fn push_method(
        &mut self,
        name: &str,
        graph: Arc<FunctionGraph>,
        states: Vec<usize>,
        status: Arc<OnceLock<Status>>,
    ) -> usize {
        let number = self.methods.len();
        self.methods.push(Method::new(Definition::new(name, graph, states, number, status)));
        number
    }

    /// Puts another twin of a method in the place of one.
    pub(crate) fn replace_twin(
        &mut self,
        twin: usize,
        of: usize,
        name: &str,
        graph: Arc<FunctionGraph>,
        states: Vec<usize>,
    ) {
        let status = self.methods[of].definition.status.clone();
        self.methods[twin] = Method::new(Definition::new(name, graph, states, twin, status));
    }

    /// Positions of the states of a method.
    pub(crate) fn states_of(&self, method: usize) -> &[usize] {
        &self.methods[method].definition.states
    }

    /// Whether the value of the shared variable at a position decides shapes in a method.
    pub(crate) fn value_decides_shapes(&self, method: usize, shared: usize) -> bool {
        self.methods[method].definition.demand.shared.contains(&shared)
    }

    /// How often a Program of a method that was dropped for others was planned again.
    pub(crate) fn planned_again(&self, method: usize) -> u64 {
        self.methods[method].plans.planned_again()
    }

    /// Positions of the states that a method updates.
    pub(crate) fn updated(&self, method: usize) -> impl Iterator<Item = usize> + '_ {
        self.methods[method].definition.updated()
    }

    /// Whether a method updates shared variables.
    pub(crate) fn changes_state(&self, method: usize) -> bool {
        !self.methods[method].definition.graph.updates.is_empty()
    }

    /// Number of a method's outputs.
    pub(crate) fn output_count(&self, method: usize) -> usize {
        self.methods[method].definition.graph.outputs.len()
    }
}
