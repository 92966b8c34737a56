//! What runs Programs: state at canonical addresses, one scratch arena for all methods, recorded Segments.
//!
//! - here: the [`Engine`], its shared variables and methods;
//! - `plan`: from a call's shapes to a planned Program;
//! - `record`: a planned Program bound to memory;
//! - `run`: inputs in, Segments replayed, outputs out;
//! - `status`: what calls found wrong on the device;
//! - `variants`: recordings over memory that the caller owns;
//! - `steps`: many steps without coming back to the host, in `block`s that are recorded as one, with `sequence`s going in and
//!   `tap`s coming out;
//! - `profile`: the same with the time of each step;
//! - `array`: tensors that stay on the device;
//! - `pool`, `host_pool`: memory for results, on the device and on the host;
//! - `limits`: what memory is needed and held;
//! - `thrash`: Programs that are planned again and again.

mod array;
mod block;
mod host_pool;
mod limits;
mod plan;
mod pool;
mod profile;
mod record;
mod run;
mod sequence;
mod status;
mod steps;
mod tap;
mod thrash;
mod variants;

pub use array::DeviceArray;
pub(crate) use array::Fed;
pub use pool::PoolReport;
pub(crate) use profile::{Kind, Work};
pub(crate) use status::Ticket;
pub(crate) use steps::{Loop, Twins};
pub(crate) use tap::{Source, Tap};

use super::device::{Device, Memory, Region};
use crate::error::{DeviceError, Error, Result};
use crate::graph::shapes::Demand;
use crate::graph::{FunctionGraph, TensorType};
use crate::lower::index_check::{self, Bounds};
use crate::lower::program::Role;
use crate::rehost::Options;
use crate::value::Value;
use array::download;
use host_pool::HostPool;
use plan::Planned;
use pool::{Pool, within};
use status::Status;
use std::sync::{Arc, OnceLock};
use thrash::Dropped;

/// A shared variable as an engine needs it.
#[derive(Clone, Debug)]
pub(crate) struct StateBinding {
    pub(crate) name: String,
    pub(crate) ty: TensorType,
}

/// A shared variable's canonical place.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) binding: StateBinding,
    pub(crate) region: Region,
    pub(crate) shape: Vec<usize>,
    /// Bounds of the value, if it is an integer array that the host has seen and no call has changed since.
    bounds: Option<Bounds>,
    /// Which value of a Function's shared variable it is: see [`Engine::move_state`].
    version: Option<u64>,
}

/// A Function in device form.
#[derive(Debug)]
struct Method {
    name: String,
    graph: Arc<FunctionGraph>,
    demand: Demand,
    /// For each shared variable of the graph, its position in [`Engine::states`].
    states: Vec<usize>,
    programs: Vec<Planned>,
    dropped: Dropped,
    /// Inputs and shared variables that it uses as indices and does not change.
    index_sources: Vec<Role>,
    /// Where its Nests report what they find wrong; made by the first Program that needs it.
    status: Option<Status>,
    /// The method whose status words it uses: its own, or those of the method whose twin it is.
    status_of: usize,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Engine {
    device: Arc<dyn Device>,
    options: Options,
    pub(crate) states: Vec<State>,
    arena: Option<Region>,
    /// Counts changes of addresses: arena, state.
    epoch: u64,
    methods: Vec<Method>,
    /// Memory of results that stay on the device.
    pool: Arc<Pool>,
    /// Memory of results on the host.
    host_pool: Arc<HostPool>,
    /// Status words that are all 0: see [`Engine::zero`].
    zero: OnceLock<Region>,
}

impl Method {
    fn new(name: &str, graph: Arc<FunctionGraph>, states: Vec<usize>, status_of: usize) -> Method {
        let demand = Demand::of(&graph);
        let mut index_sources = index_check::sources(&graph);
        // What a step changes may be out of range in the next.
        let changes = |role: &Role| graph.updates.iter().any(|u| *role == Role::Shared(u.0 as usize));
        index_sources.retain(|role| !changes(role));
        let (name, programs, dropped) = (name.to_string(), vec![], Dropped::default());
        let status = None;
        Method { name, graph, demand, states, programs, dropped, index_sources, status, status_of }
    }
}

impl Engine {
    pub(crate) fn new(device: Arc<dyn Device>, options: Options) -> Engine {
        let (pool, host_pool) = (Pool::new(device.clone()), HostPool::new(device.clone()));
        Engine {
            device,
            options,
            states: vec![],
            arena: None,
            epoch: 0,
            methods: vec![],
            pool,
            host_pool,
            zero: OnceLock::new(),
        }
    }

    pub(crate) fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    pub(crate) fn options(&self) -> Options {
        self.options
    }

    /// Adds a shared variable at a place of its own; gives its position.
    pub(crate) fn add_state(&mut self, binding: StateBinding, value: &Value) -> Result<usize> {
        let whole = value.contiguous()?;
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        let region = self.allocate_anew(bytes.len() as u64)?;
        if !bytes.is_empty() {
            self.device.upload(bytes, &Region { bytes: bytes.len() as u64, ..region.clone() })?;
        }
        let (shape, bounds) = (value.shape().to_vec(), Bounds::of(value));
        self.states.push(State { binding, region, shape, bounds, version: None });
        Ok(self.states.len() - 1)
    }

    /// Adds a shared variable with the value of one of another engine on the same stream of work.
    pub(crate) fn add_state_like(&mut self, other: &State) -> Result<usize> {
        let bytes = value_bytes(other);
        let region = self.allocate_anew(bytes)?;
        if bytes > 0 {
            self.device
                .copy(&Region { bytes, ..other.region.clone() }, &Region { bytes, ..region.clone() })?;
        }
        let (binding, shape) = (other.binding.clone(), other.shape.clone());
        self.states.push(State { binding, region, shape, bounds: other.bounds, version: None });
        Ok(self.states.len() - 1)
    }

    /// Adds a shared variable that lies in given memory.
    pub(crate) fn add_state_at(&mut self, binding: StateBinding, memory: Arc<dyn Memory>, shape: &[usize]) {
        let (region, shape) = (Region::whole(memory), shape.to_vec());
        self.states.push(State { binding, region, shape, bounds: None, version: None });
    }

    /// Says where a shared variable lies now, and which version of its value; recordings become stale if it moved.
    pub(crate) fn move_state(
        &mut self,
        position: usize,
        memory: Arc<dyn Memory>,
        shape: &[usize],
        version: u64,
    ) {
        let state = &mut self.states[position];
        if state.version.replace(version) != Some(version) {
            state.bounds = None;
        }
        if !Arc::ptr_eq(&state.region.memory, &memory) {
            state.region = Region::whole(memory);
            self.epoch += 1;
        }
        if state.shape != shape {
            state.shape = shape.to_vec();
        }
    }

    /// Where a shared variable lies, and its extents.
    pub(crate) fn state_place(&self, position: usize) -> (Region, Vec<usize>) {
        let state = &self.states[position];
        (Region { bytes: value_bytes(state), ..state.region.clone() }, state.shape.clone())
    }

    pub(crate) fn read_state(&self, position: usize) -> Result<Value> {
        let state = &self.states[position];
        download(self.device.as_ref(), &state.region, state.binding.ty.dtype, &state.shape)
    }

    /// A state's value where it lies, if the host can read it there: nothing that writes it can run while the Value lives.
    fn lent_state(&self, position: usize) -> Option<Value> {
        let state = &self.states[position];
        let bytes = self.device.lend(&Region { bytes: value_bytes(state), ..state.region.clone() })?;
        // What was stored there was made 0 or 1, if it is a bool, when it came in or was computed.
        Some(Value::over(state.binding.ty.dtype, &state.shape, bytes))
    }

    pub(crate) fn write_state(&mut self, position: usize, value: &Value) -> Result<()> {
        let whole = value.contiguous()?;
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        let moves = self.states[position].shape != value.shape();
        let region = match moves {
            true => self.allocate_anew(bytes.len() as u64)?,
            false => self.states[position].region.clone(),
        };
        if !bytes.is_empty() {
            self.device.upload(bytes, &Region { bytes: bytes.len() as u64, ..region.clone() })?;
        }
        if moves {
            let state = &mut self.states[position];
            (state.region, state.shape) = (region, value.shape().to_vec());
            self.epoch += 1;
        }
        self.states[position].bounds = Bounds::of(value);
        Ok(())
    }

    /// Adds a method over states at these positions; gives its position.
    pub(crate) fn add_method(&mut self, name: &str, graph: Arc<FunctionGraph>, states: Vec<usize>) -> usize {
        let position = self.methods.len();
        self.methods.push(Method::new(name, graph, states, position));
        position
    }

    /// Lets a method use another's status words: what either finds wrong stops the other too.
    pub(crate) fn share_status(&mut self, method: usize, with: usize) {
        self.methods[method].status_of = self.methods[with].status_of;
    }

    /// Puts another Function in the place of a method's.
    pub(crate) fn replace_method(
        &mut self,
        method: usize,
        name: &str,
        graph: Arc<FunctionGraph>,
        states: Vec<usize>,
    ) {
        let old = &mut self.methods[method];
        let (status, status_of) = (old.status.take(), old.status_of);
        *old = Method { status, ..Method::new(name, graph, states, status_of) };
    }

    /// Gives a state's memory back; no method may use it any more.
    pub(crate) fn forget_state(&mut self, position: usize) -> Result<()> {
        self.states[position].region = self.allocate(0)?;
        self.states[position].shape.iter_mut().for_each(|extent| *extent = 0);
        Ok(())
    }

    /// Positions of the states of a method.
    pub(crate) fn states_of(&self, method: usize) -> &[usize] {
        &self.methods[method].states
    }

    /// Whether the value of the shared variable at a position decides shapes in a method.
    pub(crate) fn value_decides_shapes(&self, method: usize, shared: usize) -> bool {
        self.methods[method].demand.shared.contains(&shared)
    }

    /// How often a Program of a method that was dropped for others was planned again.
    pub(crate) fn planned_again(&self, method: usize) -> u64 {
        self.methods[method].dropped.again()
    }

    /// Positions of the states that a method updates.
    pub(crate) fn updated(&self, method: usize) -> impl Iterator<Item = usize> + '_ {
        let method = &self.methods[method];
        method.graph.updates.iter().map(|(shared, _)| method.states[*shared as usize])
    }

    /// Whether a method updates shared variables.
    pub(crate) fn changes_state(&self, method: usize) -> bool {
        !self.methods[method].graph.updates.is_empty()
    }

    /// Memory outside the pool. Idle memory of the pool is freed before an allocation is given up.
    fn allocate(&self, bytes: u64) -> Result<Region> {
        let bytes = bytes.max(8);
        within(self.device.as_ref(), bytes)?;
        let memory = match self.device.allocate(bytes) {
            Err(DeviceError::OutOfMemory { .. }) if self.pool.trim() > 0 => self.device.allocate(bytes),
            outcome => outcome,
        };
        Ok(Region::whole(memory?))
    }

    /// [`Engine::allocate`], before whose failure everything that is not in use is freed.
    fn allocate_anew(&mut self, bytes: u64) -> Result<Region> {
        match self.allocate(bytes) {
            Err(Error::Device(DeviceError::OutOfMemory { .. })) if self.trim() > 0 => self.allocate(bytes),
            outcome => outcome,
        }
    }

    /// A value in device memory of the pool.
    pub(crate) fn upload(&self, value: &Value) -> Result<DeviceArray> {
        let whole = value.contiguous()?;
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        let lease = self.pool.take(bytes.len() as u64)?;
        let mut array = DeviceArray::lent(&self.device, lease, value.dtype(), value.shape());
        array.bounds = Bounds::of(value).map(Box::new);
        if !bytes.is_empty() {
            self.device.upload(bytes, &array.region)?;
        }
        Ok(array)
    }
}

fn value_bytes(state: &State) -> u64 {
    state.shape.iter().product::<usize>() as u64 * state.binding.ty.dtype.size() as u64
}
