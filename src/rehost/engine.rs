//! What runs Programs: state at canonical addresses, one scratch arena for all methods, recorded Segments.

use super::device::{Command, Device, Memory, Module, Recording, Region};
use super::fuse::fuse;
use super::inplace::update_in_place;
use super::lower::lower;
use super::memory::{Layout, plan};
use super::program::{BufferId, HostNode, Program, Role, Step};
use super::shapes::{Demand, Given, Shapes, decided_extents, infer};
use crate::dtype::DType;
use crate::error::{DeviceError, Error, Result};
use crate::graph::{FunctionGraph, TensorType};
use crate::kernels::nest::Nest;
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Programs kept per method; beyond that the least recently used one goes.
const PROGRAMS_KEPT: usize = 16;

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
}

/// A Program planned for one signature, and recorded for the current addresses.
#[derive(Debug)]
struct Planned {
    signature: Vec<Vec<usize>>,
    shapes: Shapes,
    program: Program,
    layout: Layout,
    module: Arc<dyn Module>,
    /// For each Nest step in order, its position in the module.
    kernels: Vec<usize>,
    constants: Vec<Region>,
    recorded: Option<Recorded>,
}

/// Recordings, valid while the epoch lasts.
#[derive(Debug)]
struct Recorded {
    epoch: u64,
    regions: Vec<Option<Region>>,
    runs: Vec<Run>,
}

/// A recorded Segment, or what the host does between two.
#[derive(Debug)]
enum Run {
    Segment(Box<dyn Recording>),
    Host(HostNode),
}

/// A tensor that stays on its device.
#[derive(Clone, Debug)]
pub struct DeviceArray {
    device: Arc<dyn Device>,
    region: Region,
    dtype: DType,
    shape: Vec<usize>,
}

impl DeviceArray {
    /// Its dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// A copy on the host; waits for the device.
    ///
    /// # Errors
    /// If the device fails.
    pub fn to_value(&self) -> Result<Value> {
        download(self.device.as_ref(), &self.region, self.dtype, &self.shape)
    }

    pub(crate) fn is_on(&self, device: &Arc<dyn Device>) -> bool {
        self.device.properties().id == device.properties().id
    }
}

/// What a call gives for one input.
#[derive(Clone, Debug)]
pub(crate) enum Fed {
    Host(Value),
    Device(DeviceArray),
}

impl Fed {
    fn shape(&self) -> &[usize] {
        match self {
            Fed::Host(value) => value.shape(),
            Fed::Device(array) => array.shape(),
        }
    }

    fn value(&self) -> Option<Value> {
        match self {
            Fed::Host(value) => Some(value.clone()),
            Fed::Device(array) => array.to_value().ok(),
        }
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Engine {
    device: Arc<dyn Device>,
    options: Options,
    pub(crate) states: Vec<State>,
    arena: Option<Region>,
    status: Option<Region>,
    /// Counts changes of addresses: arena, state.
    epoch: u64,
    methods: Vec<Method>,
}

fn download(device: &dyn Device, region: &Region, dtype: DType, shape: &[usize]) -> Result<Value> {
    Value::try_filled(dtype, shape, |bytes| {
        if bytes.is_empty() {
            return Ok(());
        }
        let exact = Region { bytes: bytes.len() as u64, ..region.clone() };
        Ok(device.download(&exact, bytes)?)
    })
}

fn bytes_of(value: &Value) -> Result<Value> {
    value.contiguous()
}

impl Engine {
    pub(crate) fn new(device: Arc<dyn Device>, options: Options) -> Engine {
        Engine { device, options, states: vec![], arena: None, status: None, epoch: 0, methods: vec![] }
    }

    pub(crate) fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Adds a shared variable at a place of its own; gives its position.
    pub(crate) fn add_state(&mut self, binding: StateBinding, value: &Value) -> Result<usize> {
        let region = self.allocate(value.byte_len() as u64)?;
        self.states.push(State { binding, region, shape: value.shape().to_vec() });
        let position = self.states.len() - 1;
        self.write_state(position, value)?;
        Ok(position)
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
        let whole = bytes_of(value)?;
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
        self.methods.push(Method { graph, demand, states, programs: vec![] });
        self.methods.len() - 1
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

    /// The Program for these inputs, planned but perhaps not recorded: its position in the method's list.
    fn planned(&mut self, method: usize, fed: &[Fed]) -> Result<usize> {
        let m = &self.methods[method];
        let inputs: Vec<Vec<usize>> = fed.iter().map(|f| f.shape().to_vec()).collect();
        let shared: Vec<Vec<usize>> = m.states.iter().map(|&s| self.states[s].shape.clone()).collect();
        let mut signature: Vec<Vec<usize>> = inputs.iter().chain(&shared).cloned().collect();
        let mut shapes = None;
        if !m.demand.is_static() {
            let found = self.infer(method, fed, &inputs, &shared)?;
            signature.push(decided_extents(&m.graph, &m.demand, &found));
            shapes = Some(found);
        }
        if let Some(at) = self.methods[method].programs.iter().position(|p| p.signature == signature) {
            let last = self.methods[method].programs.len() - 1;
            // The most recently used Program stands last.
            self.methods[method].programs[at..=last].rotate_left(1);
            return Ok(last);
        }
        let shapes = match shapes {
            Some(shapes) => shapes,
            None => self.infer(method, fed, &inputs, &shared)?,
        };
        let planned = self.plan(method, signature, shapes)?;
        let programs = &mut self.methods[method].programs;
        if programs.len() >= PROGRAMS_KEPT {
            programs.remove(0);
        }
        programs.push(planned);
        Ok(programs.len() - 1)
    }

    fn infer(
        &self,
        method: usize,
        fed: &[Fed],
        inputs: &[Vec<usize>],
        shared: &[Vec<usize>],
    ) -> Result<Shapes> {
        let m = &self.methods[method];
        let input_values = |i: usize| fed.get(i).and_then(Fed::value);
        let shared_values = |i: usize| self.read_state(m.states[i]).ok();
        let given = Given { inputs, shared, input_values: &input_values, shared_values: &shared_values };
        infer(&m.graph, &m.demand, &given)
    }

    fn plan(&self, method: usize, signature: Vec<Vec<usize>>, shapes: Shapes) -> Result<Planned> {
        let device = self.device.as_ref();
        let graph = &self.methods[method].graph;
        let mut program = lower(graph, &shapes, &device)?;
        if self.options.strict
            && let Some(node) = program.host_nodes().next()
        {
            let what = format!("{} (node #{}) has no device form: {}", node.op.label(), node.node, node.why);
            return Err(Error::Strict(what));
        }
        if self.options.fuse {
            program = fuse(program, device.properties());
        }
        let state_bytes: Vec<u64> =
            self.methods[method].states.iter().map(|&s| value_bytes(&self.states[s])).collect();
        let program = update_in_place(program, &state_bytes);
        let layout = plan(&program, device.properties().alignment);
        let (nests, kernels) = distinct_nests(&program);
        if cfg!(debug_assertions) {
            for nest in &nests {
                let verified = crate::kernels::verify::verify(nest);
                verified.map_err(|e| Error::Internal(format!("nest {}: {e}\n{nest:#?}", nest.name)))?;
            }
        }
        let module = device.compile(&nests)?;
        let constants = program.constants.iter().map(|value| {
            let whole = bytes_of(value)?;
            let bytes = whole.contiguous_bytes().unwrap_or(&[]);
            let region = self.allocate(bytes.len() as u64)?;
            if !bytes.is_empty() {
                device.upload(bytes, &Region { bytes: bytes.len() as u64, ..region.clone() })?;
            }
            Ok(region)
        });
        let constants = constants.collect::<Result<_>>()?;
        Ok(Planned { signature, shapes, program, layout, module, kernels, constants, recorded: None })
    }

    /// Records the Program for the current addresses, unless it is.
    fn record(&mut self, method: usize, at: usize) -> Result<()> {
        let needed = self.methods[method].programs[at].layout.bytes;
        if self.arena.as_ref().map_or(0, |a| a.bytes) < needed {
            // The old arena goes first, so that both need not fit; recordings over it are stale.
            self.arena = None;
            self.epoch += 1;
            self.methods.iter_mut().flat_map(|m| &mut m.programs).for_each(|p| p.recorded = None);
            self.arena = Some(self.allocate(needed)?);
        }
        if self.status.is_none() && self.methods[method].programs[at].program.status.is_some() {
            let status = self.allocate(8)?;
            self.device.upload(&0i64.to_le_bytes(), &status)?;
            self.status = Some(status);
        }
        let planned = &self.methods[method].programs[at];
        if planned.recorded.as_ref().is_some_and(|r| r.epoch == self.epoch) {
            return Ok(());
        }
        let regions = self.regions(method, at);
        let planned = &self.methods[method].programs[at];
        let mut runs = Vec::new();
        let mut commands = Vec::new();
        let mut kernels = planned.kernels.iter();
        let flush = |commands: &mut Vec<Command>, runs: &mut Vec<Run>| -> Result<()> {
            if !commands.is_empty() {
                runs.push(Run::Segment(self.device.record(&planned.module, commands)?));
                commands.clear();
            }
            Ok(())
        };
        for step in &planned.program.steps {
            match step {
                Step::Nest { buffers, .. } => {
                    let nest =
                        *kernels.next().ok_or_else(|| Error::Internal("a Nest without a kernel".into()))?;
                    let args = buffers.iter().map(|&b| region(&regions, b)).collect::<Result<_>>()?;
                    commands.push(Command::Launch { nest, args });
                }
                Step::Matmul { product, a, b, c } => {
                    let size = product.dtype.size() as u64;
                    let at = |(buffer, first): (BufferId, u64)| -> Result<Region> {
                        let r = region(&regions, buffer)?;
                        Ok(Region { offset: r.offset + first * size, bytes: r.bytes - first * size, ..r })
                    };
                    let (a, b, c) = (at(*a)?, at(*b)?, region(&regions, *c)?);
                    commands.push(Command::Matmul { product: product.clone(), a, b, c });
                }
                Step::Host(node) => {
                    flush(&mut commands, &mut runs)?;
                    runs.push(Run::Host(node.clone()));
                }
            }
        }
        for &(shared, buffer) in &planned.program.updates {
            let state = &self.states[self.methods[method].states[shared]];
            let new = &planned.program.buffers[buffer];
            let in_place = new.role == Role::Shared(shared);
            // A new shape needs new memory, which the call makes when it ends.
            if !in_place && new.bytes() > 0 && new.bytes() == value_bytes(state) {
                let source = region(&regions, buffer)?;
                let target = Region { bytes: source.bytes, ..state.region.clone() };
                commands.push(Command::Copy { source, target });
            }
        }
        flush(&mut commands, &mut runs)?;
        let epoch = self.epoch;
        self.methods[method].programs[at].recorded = Some(Recorded { epoch, regions, runs });
        Ok(())
    }

    /// Where each buffer of a Program lies.
    fn regions(&self, method: usize, at: usize) -> Vec<Option<Region>> {
        let m = &self.methods[method];
        let planned = &m.programs[at];
        let buffers = planned.program.buffers.iter().enumerate();
        buffers
            .map(|(id, buffer)| {
                let whole = match buffer.role {
                    Role::Shared(shared) => Some(self.states[m.states[shared]].region.clone()),
                    Role::Constant(constant) => Some(planned.constants[constant].clone()),
                    Role::Status => self.status.clone(),
                    Role::Input(_) | Role::Temp => planned.layout.offsets[id].and_then(|offset| {
                        self.arena.as_ref().map(|a| Region { offset: a.offset + offset, ..a.clone() })
                    }),
                };
                whole.map(|r| Region { bytes: buffer.bytes(), ..r })
            })
            .collect()
    }

    /// Puts the inputs where the Program reads them.
    fn feed(&self, method: usize, at: usize, fed: &[Fed], only: Option<usize>) -> Result<()> {
        let planned = &self.methods[method].programs[at];
        let Some(recorded) = &planned.recorded else { return Err(Error::Internal("not recorded".into())) };
        for (buffer, region) in planned.program.buffers.iter().zip(&recorded.regions) {
            let (Role::Input(i), Some(region)) = (&buffer.role, region) else { continue };
            if region.bytes == 0 || only.is_some_and(|only| only != *i) {
                continue;
            }
            match &fed[*i] {
                Fed::Host(value) => {
                    let whole = bytes_of(value)?;
                    self.device.upload(whole.contiguous_bytes().unwrap_or(&[]), region)?;
                }
                Fed::Device(array) => {
                    self.device.copy(&Region { bytes: region.bytes, ..array.region.clone() }, region)?
                }
            }
        }
        Ok(())
    }

    /// Runs a recorded Program once.
    fn replay(&mut self, method: usize, at: usize) -> Result<()> {
        let device = self.device.clone();
        let Method { graph, programs, .. } = &mut self.methods[method];
        let Planned { program, shapes, recorded, .. } = &mut programs[at];
        let Some(recorded) = recorded else {
            return Err(Error::Internal("not recorded".into()));
        };
        for run in &mut recorded.runs {
            match run {
                Run::Segment(recording) => recording.replay()?,
                Run::Host(node) => {
                    let shapes =
                        graph.nodes[node.node].inputs.iter().map(|&i| &shapes.shapes[i as usize][..]);
                    perform_on_host(device.as_ref(), program, shapes, &recorded.regions, node)?
                }
            }
        }
        self.resize_states(method, at)
    }

    /// Gives updated shared variables of a new shape new memory.
    fn resize_states(&mut self, method: usize, at: usize) -> Result<()> {
        let m = &self.methods[method];
        let planned = &m.programs[at];
        let mut resized = Vec::new();
        for (&(shared, buffer), &(_, id)) in planned.program.updates.iter().zip(own_updates(&m.graph).iter())
        {
            let new = &planned.shapes.shapes[id as usize];
            if self.states[m.states[shared]].shape != *new {
                let source = planned.recorded.as_ref().and_then(|r| r.regions[buffer].clone());
                resized.push((m.states[shared], new.clone(), source));
            }
        }
        for (state, shape, source) in resized {
            let bytes =
                shape.iter().product::<usize>() as u64 * self.states[state].binding.ty.dtype.size() as u64;
            if bytes != value_bytes(&self.states[state]) {
                let region = self.allocate(bytes)?;
                if let (Some(source), true) = (source, bytes > 0) {
                    self.device.copy(&source, &Region { bytes, ..region.clone() })?;
                }
                self.states[state].region = region;
            }
            self.states[state].shape = shape;
            // Even at the same address: another shape is another Program.
            self.epoch += 1;
        }
        Ok(())
    }

    /// Reports an index that was out of range in what ran since the last check.
    fn check_status(&mut self, method: usize, at: usize) -> Result<()> {
        let planned = &self.methods[method].programs[at];
        let (Some(_), Some(status)) = (planned.program.status, &self.status) else { return Ok(()) };
        let mut word = [0u8; 8];
        self.device.download(status, &mut word)?;
        let number = i64::from_le_bytes(word);
        if number == 0 {
            return Ok(());
        }
        self.device.upload(&0i64.to_le_bytes(), status)?;
        let node = (number - 1) as usize;
        let op = self.methods[method].graph.nodes.get(node).map_or("index".into(), |n| n.op.label());
        let shapes: Vec<String> = self.methods[method].graph.nodes.get(node).map_or(vec![], |n| {
            n.inputs.iter().map(|&i| crate::error::shape_text(&planned.shapes.shapes[i as usize])).collect()
        });
        let message = format!(
            "an index is out of range (inputs of shapes {}); it was clamped, and updates made with it stand",
            shapes.join(", ")
        );
        Err(Error::Run { op, node: format!("#{node}"), message })
    }

    /// One call with outputs left where they lie. Gives what [`Engine::outputs`] needs.
    pub(crate) fn run(&mut self, method: usize, fed: &[Fed]) -> Result<usize> {
        let at = self.planned(method, fed)?;
        self.record(method, at)?;
        self.feed(method, at, fed, None)?;
        self.replay(method, at)?;
        Ok(at)
    }

    /// `n` calls; inputs with a sequence get its slice of the step, the others stay. `each_step` sees the Program after every step.
    pub(crate) fn run_n(
        &mut self,
        method: usize,
        n: u64,
        constant: &[Fed],
        each: &[(usize, Fed)],
        mut each_step: impl FnMut(&mut Engine, usize, u64) -> Result<()>,
    ) -> Result<Option<usize>> {
        let mut sequences = Vec::new();
        for (input, sequence) in each {
            let array = self.on_device(sequence)?;
            let shape: Vec<usize> = array.shape[1..].to_vec();
            let bytes = shape.iter().product::<usize>() as u64 * array.dtype.size() as u64;
            sequences.push((*input, array, shape, bytes));
        }
        let mut current = None;
        for step in 0..n {
            let mut fed = constant.to_vec();
            for (input, array, shape, bytes) in &sequences {
                let region = Region {
                    offset: array.region.offset + step * bytes,
                    bytes: *bytes,
                    ..array.region.clone()
                };
                fed[*input] = Fed::Device(DeviceArray { region, shape: shape.clone(), ..array.clone() });
            }
            let dynamic = !self.methods[method].demand.is_static();
            let at = match current {
                Some(at) if !dynamic && self.is_recorded(method, at) => at,
                _ => {
                    let at = self.planned(method, &fed)?;
                    self.record(method, at)?;
                    self.feed(method, at, &fed, None)?;
                    at
                }
            };
            if current == Some(at) && !dynamic {
                for (input, ..) in &sequences {
                    self.feed(method, at, &fed, Some(*input))?;
                }
            }
            self.replay(method, at)?;
            each_step(self, at, step)?;
            current = Some(at);
        }
        Ok(current)
    }

    fn is_recorded(&self, method: usize, at: usize) -> bool {
        self.methods[method].programs[at].recorded.as_ref().is_some_and(|r| r.epoch == self.epoch)
    }

    fn on_device(&self, fed: &Fed) -> Result<DeviceArray> {
        match fed {
            Fed::Device(array) => Ok(array.clone()),
            Fed::Host(value) => self.upload(value),
        }
    }

    /// A value in device memory of its own.
    pub(crate) fn upload(&self, value: &Value) -> Result<DeviceArray> {
        let whole = bytes_of(value)?;
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

    /// Where the outputs of the last run of a Program lie: region, dtype, shape.
    fn output_regions(&self, method: usize, at: usize) -> Result<Vec<(Region, DType, Vec<usize>)>> {
        let m = &self.methods[method];
        let planned = &m.programs[at];
        let outputs = planned.program.outputs.iter().zip(&m.graph.outputs);
        outputs
            .map(|(&buffer, &id)| {
                let regions = planned.recorded.as_ref().map(|r| &r.regions);
                let region = match planned.program.buffers[buffer].role {
                    Role::Shared(shared) => self.states[m.states[shared]].region.clone(),
                    _ => regions
                        .and_then(|r| r[buffer].clone())
                        .ok_or_else(|| Error::Internal("an output without memory".into()))?,
                };
                Ok((region, m.graph.var(id).ty.dtype, planned.shapes.shapes[id as usize].clone()))
            })
            .collect()
    }

    /// The outputs of the last run, on the host.
    pub(crate) fn outputs(&mut self, method: usize, at: usize) -> Result<Vec<Value>> {
        self.check_status(method, at)?;
        let regions = self.output_regions(method, at)?;
        regions.iter().map(|(r, d, s)| download(self.device.as_ref(), r, *d, s)).collect()
    }

    /// The outputs of the last run, copied on the device.
    pub(crate) fn device_outputs(&mut self, method: usize, at: usize) -> Result<Vec<DeviceArray>> {
        self.output_regions(method, at)?
            .into_iter()
            .map(|(source, dtype, shape)| {
                let bytes = shape.iter().product::<usize>() as u64 * dtype.size() as u64;
                let region = self.allocate(bytes)?;
                if bytes > 0 {
                    let target = Region { bytes, ..region.clone() };
                    self.device.copy(&Region { bytes, ..source }, &target)?;
                }
                Ok(DeviceArray { device: self.device.clone(), region, dtype, shape })
            })
            .collect()
    }

    /// Waits, and reports errors of what ran.
    pub(crate) fn finish(&mut self, method: usize, at: usize) -> Result<()> {
        self.device.synchronize()?;
        self.check_status(method, at)
    }

    /// The Programs of a method.
    pub(crate) fn programs(
        &self,
        method: usize,
    ) -> impl Iterator<Item = (&Program, &Layout, &Arc<dyn Module>)> {
        self.methods[method].programs.iter().map(|p| (&p.program, &p.layout, &p.module))
    }

    /// Plans a method for inputs without running it.
    pub(crate) fn prepare(&mut self, method: usize, fed: &[Fed]) -> Result<()> {
        self.planned(method, fed).map(|_| ())
    }
}

/// The updates that lowering keeps: a variable that is its own update needs none.
fn own_updates(graph: &FunctionGraph) -> Vec<(u32, u32)> {
    let own = |u: &&(u32, u32)| graph.shared[u.0 as usize] != u.1;
    graph.updates.iter().filter(own).copied().collect()
}

fn value_bytes(state: &State) -> u64 {
    state.shape.iter().product::<usize>() as u64 * state.binding.ty.dtype.size() as u64
}

fn region(regions: &[Option<Region>], buffer: BufferId) -> Result<Region> {
    regions[buffer].clone().ok_or_else(|| Error::Internal(format!("buffer {buffer} has no memory")))
}

/// Each distinct Nest once, and for each Nest step which one it is.
fn distinct_nests(program: &Program) -> (Vec<Arc<Nest>>, Vec<usize>) {
    let mut seen: HashMap<&Nest, usize> = HashMap::new();
    let mut nests = Vec::new();
    let mut kernels = Vec::new();
    for step in &program.steps {
        let Step::Nest { nest, .. } = step else { continue };
        let at = *seen.entry(nest).or_insert_with(|| {
            nests.push(Arc::new(nest.clone()));
            nests.len() - 1
        });
        kernels.push(at);
    }
    (nests, kernels)
}

/// Performs a host node on copies of its inputs, which have these shapes (a buffer may have been reshaped).
fn perform_on_host<'s>(
    device: &dyn Device,
    program: &Program,
    shapes: impl Iterator<Item = &'s [usize]>,
    regions: &[Option<Region>],
    node: &HostNode,
) -> Result<()> {
    let inputs = node
        .inputs
        .iter()
        .zip(shapes)
        .map(|(&b, shape)| download(device, &region(regions, b)?, program.buffers[b].dtype, shape));
    let inputs: Vec<Value> = inputs.collect::<Result<_>>()?;
    let fail = |e: Error| Error::Run {
        op: node.op.label(),
        node: format!("#{}", node.node),
        message: e.to_string(),
    };
    for (&buffer, value) in node.outputs.iter().zip(node.op.perform(&inputs).map_err(fail)?) {
        let whole = bytes_of(&value)?;
        let target = &program.buffers[buffer];
        if value.dtype() != target.dtype || value.byte_len() as u64 != target.bytes() {
            return Err(fail(Error::mismatch("result", format!("{}", target.dtype), format!("{value:?}"))));
        }
        if let (Some(region), true) = (&regions[buffer], target.bytes() > 0) {
            device.upload(whole.contiguous_bytes().unwrap_or(&[]), region)?;
        }
    }
    Ok(())
}
