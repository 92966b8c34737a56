//! What runs Programs: state at canonical addresses, one scratch arena for all methods, recorded Segments.
//!
//! - here: the [`Engine`], its shared variables and methods;
//! - `plan`: from a call's shapes to a planned Program;
//! - `record`: a planned Program bound to memory;
//! - `run`: inputs in, Segments replayed, outputs out;
//! - `steps`: many steps without coming back to the host, in `block`s that are recorded as one, with `sequence`s going in and
//!   `tap`s coming out;
//! - `profile`: the same with the time of each step;
//! - `array`: tensors that stay on the device.

mod array;
mod block;
mod plan;
mod profile;
mod record;
mod run;
mod sequence;
mod steps;
mod tap;

pub use array::DeviceArray;
pub(crate) use array::Fed;
pub(crate) use steps::{Loop, Twins};
pub(crate) use tap::{Source, Tap};
pub(crate) use profile::{Kind, Work};

use super::device::{Device, Memory, Region};
use super::shapes::Demand;
use crate::error::{DeviceError, Result};
use crate::graph::{FunctionGraph, TensorType};
use crate::value::Value;
use array::download;
use plan::Planned;
use std::sync::Arc;

/// How a Function is re-hosted.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// An op without a device form is an error rather than a host node.
    pub strict: bool,
    /// Fuse Nests. Results are the same within tolerance; switch it off to compare.
    pub fuse: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { strict: false, fuse: true }
    }
}

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
}

/// A Function in device form.
#[derive(Debug)]
struct Method {
    graph: Arc<FunctionGraph>,
    demand: Demand,
    /// For each shared variable of the graph, its position in [`Engine::states`].
    states: Vec<usize>,
    programs: Vec<Planned>,
    /// Where its Nests report an index out of range: one int64, 0 or a node's number plus one.
    status: Option<Region>,
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
}

impl Engine {
    pub(crate) fn new(device: Arc<dyn Device>, options: Options) -> Engine {
        Engine { device, options, states: vec![], arena: None, epoch: 0, methods: vec![] }
    }

    pub(crate) fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    pub(crate) fn options(&self) -> Options {
        self.options
    }

    /// Adds a shared variable at a place of its own; gives its position.
    pub(crate) fn add_state(&mut self, binding: StateBinding, value: &Value) -> Result<usize> {
        let region = self.upload(value)?.region;
        self.states.push(State { binding, region, shape: value.shape().to_vec() });
        Ok(self.states.len() - 1)
    }

    /// Adds a shared variable that lies in given memory.
    pub(crate) fn add_state_at(&mut self, binding: StateBinding, memory: Arc<dyn Memory>, shape: &[usize]) {
        self.states.push(State { binding, region: Region::whole(memory), shape: shape.to_vec() });
    }

    /// Says where a shared variable lies now; recordings become stale if it moved.
    pub(crate) fn move_state(&mut self, position: usize, memory: Arc<dyn Memory>, shape: &[usize]) {
        let state = &mut self.states[position];
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

    pub(crate) fn write_state(&mut self, position: usize, value: &Value) -> Result<()> {
        let whole = value.contiguous()?;
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        if self.states[position].shape != value.shape() {
            self.states[position].region = self.allocate(bytes.len() as u64)?;
            self.states[position].shape = value.shape().to_vec();
            self.epoch += 1;
        }
        if !bytes.is_empty() {
            let region = Region { bytes: bytes.len() as u64, ..self.states[position].region.clone() };
            self.device.upload(bytes, &region)?;
        }
        Ok(())
    }

    /// Adds a method over states at these positions; gives its position.
    pub(crate) fn add_method(&mut self, graph: Arc<FunctionGraph>, states: Vec<usize>) -> usize {
        let demand = Demand::of(&graph);
        self.methods.push(Method { graph, demand, states, programs: vec![], status: None });
        self.methods.len() - 1
    }

    /// Puts another Function in the place of a method's.
    pub(crate) fn replace_method(&mut self, method: usize, graph: Arc<FunctionGraph>, states: Vec<usize>) {
        let (demand, status) = (Demand::of(&graph), self.methods[method].status.take());
        self.methods[method] = Method { graph, demand, states, programs: vec![], status };
    }

    /// Gives a state's memory back; no method may use it any more.
    pub(crate) fn forget_state(&mut self, position: usize) -> Result<()> {
        self.states[position].region = self.allocate(0)?;
        self.states[position].shape.iter_mut().for_each(|extent| *extent = 0);
        Ok(())
    }

    /// Positions of the states that a method updates.
    pub(crate) fn updated(&self, method: usize) -> impl Iterator<Item = usize> + '_ {
        let method = &self.methods[method];
        method.graph.updates.iter().map(|(shared, _)| method.states[*shared as usize])
    }

    fn allocate(&self, bytes: u64) -> Result<Region> {
        let limit = self.device.properties().largest_allocation;
        if bytes > limit {
            let device = self.device.properties().id.clone();
            let available = format!("the largest single allocation is {limit} bytes");
            return Err(DeviceError::OutOfMemory { device, requested: bytes, available }.into());
        }
        Ok(Region::whole(self.device.allocate(bytes.max(8))?))
    }

    /// A value in device memory of its own.
    pub(crate) fn upload(&self, value: &Value) -> Result<DeviceArray> {
        let whole = value.contiguous()?;
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        let region = self.allocate(bytes.len() as u64)?;
        if !bytes.is_empty() {
            self.device.upload(bytes, &Region { bytes: bytes.len() as u64, ..region.clone() })?;
        }
        Ok(DeviceArray {
            device: self.device.clone(),
            region,
            dtype: value.dtype(),
            shape: value.shape().to_vec(),
        })
    }
}

fn value_bytes(state: &State) -> u64 {
    state.shape.iter().product::<usize>() as u64 * state.binding.ty.dtype.size() as u64
}
