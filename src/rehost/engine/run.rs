//! Running: inputs in, Segments replayed, outputs out.

use super::super::device::{Device, Region};
use super::array::{DeviceArray, Fed, download};
use super::host_pool::Room;
use super::record::{Recorded, Run, region};
use super::status::Outcome;
use super::{Engine, Method, value_bytes};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::shapes::Shapes;
use crate::graph::{FunctionGraph, VarId, check_results};
use crate::lower::index_check::Bounds;
use crate::lower::program::{BufferId, HostNode, Program, Role};
use crate::value::Value;
use std::sync::Arc;

impl Engine {
    /// Puts the inputs where the Program reads them.
    pub(super) fn feed(&self, method: usize, at: usize, fed: &[Fed], only: Option<usize>) -> Result<()> {
        let recorded = self.methods[method].programs[at].recorded.as_ref();
        self.feed_to(recorded.ok_or_else(not_recorded)?, fed, only)
    }

    pub(super) fn feed_to(&self, recorded: &Recorded, fed: &[Fed], only: Option<usize>) -> Result<()> {
        for (i, region) in recorded.inputs.iter().filter(|(i, _)| only.is_none_or(|only| only == *i)) {
            match &fed[*i] {
                Fed::Host(value) => match value.contiguous_bytes() {
                    Some(bytes) => self.device.upload(bytes, region)?,
                    None => {
                        self.device.upload(value.contiguous()?.contiguous_bytes().unwrap_or(&[]), region)?
                    }
                },
                Fed::Device(array) => {
                    self.device.copy(&Region { bytes: region.bytes, ..array.region.clone() }, region)?
                }
                // Each step brings its slice.
                Fed::Slices(..) => {}
            }
        }
        Ok(())
    }

    /// Runs a recorded Program once. Gives what tells whether that went well, if it may go wrong.
    pub(super) fn replay(&mut self, method: usize, at: usize) -> Result<Option<Outcome>> {
        self.replay_recorded(method, at, None)
    }

    /// Runs a variant of a recorded Program once.
    pub(super) fn replay_variant(
        &mut self,
        method: usize,
        at: usize,
        variant: usize,
    ) -> Result<Option<Outcome>> {
        self.replay_recorded(method, at, Some(variant))
    }

    fn replay_recorded(
        &mut self,
        method: usize,
        at: usize,
        variant: Option<usize>,
    ) -> Result<Option<Outcome>> {
        let replay = |engine: &mut Engine| {
            let Method { graph, programs, .. } = &mut engine.methods[method];
            let planned = &mut programs[at];
            let recorded = match variant {
                Some(variant) => planned.variants.recorded_mut(variant),
                None => planned.recorded.as_mut(),
            };
            let recorded = recorded.ok_or_else(not_recorded)?;
            replay_once(engine.device.as_ref(), graph, &planned.program, &planned.shapes, recorded)
        };
        Ok(self.transact(method, at, variant, replay)?.1)
    }

    /// Runs a recorded Program once by `run`, and moves what it resizes.
    pub(super) fn transact<T>(
        &mut self,
        method: usize,
        at: usize,
        variant: Option<usize>,
        run: impl FnOnce(&mut Engine) -> Result<T>,
    ) -> Result<(T, Option<Outcome>)> {
        let resizes = !self.methods[method].programs[at].resized.is_empty();
        // There is memory for what the call resizes before it changes anything.
        let room = if resizes { self.room_for_resized(method, at)? } else { vec![] };
        let outcome = self.note_calls(method, at, 1);
        let done = run(self)?;
        if resizes {
            self.check_status(method)?;
            self.resize_states(method, at, variant, room)?;
        }
        self.forget_bounds(method);
        Ok((done, outcome))
    }

    /// Bounds of shared variables that a method updates do not hold any more.
    pub(super) fn forget_bounds(&mut self, method: usize) {
        let Engine { methods, states, .. } = self;
        let m = &methods[method];
        m.graph.updates.iter().for_each(|u| states[m.states[u.0 as usize]].bounds = None);
    }

    /// New memory for each shared variable that a call gives another size, in the order of [`super::plan::Planned::resized`].
    fn room_for_resized(&self, method: usize, at: usize) -> Result<Vec<Option<Region>>> {
        let resized = self.methods[method].programs[at].resized.iter().map(|(state, shape, _)| {
            let bytes = super::tap::size(self.states[*state].binding.ty.dtype, shape);
            let moves = bytes != value_bytes(&self.states[*state]);
            moves.then(|| self.allocate(bytes)).transpose()
        });
        resized.collect()
    }

    /// Moves updated shared variables of a new shape to their new memory.
    fn resize_states(
        &mut self,
        method: usize,
        at: usize,
        variant: Option<usize>,
        room: Vec<Option<Region>>,
    ) -> Result<()> {
        let planned = &self.methods[method].programs[at];
        let recorded = match variant {
            Some(variant) => planned.variants.recorded(variant),
            None => planned.recorded.as_ref(),
        };
        let resized = planned.resized.iter().zip(room).map(|((state, shape, buffer), region)| {
            (*state, shape.clone(), region, recorded.and_then(|r| r.regions[*buffer].clone()))
        });
        for (state, shape, region, source) in resized.collect::<Vec<_>>() {
            if let Some(region) = region {
                let bytes = super::tap::size(self.states[state].binding.ty.dtype, &shape);
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

    /// One call with outputs on the host. Their memory is there before anything runs, so that no update is made by a call that fails
    /// for want of it.
    pub(crate) fn call(&mut self, method: usize, fed: &[Fed]) -> Result<Vec<Value>> {
        let at = self.planned(method, fed)?;
        let sizes = self.results(method, at).map(|(_, dtype, shape)| super::tap::size(dtype, shape));
        let rooms = self.host_pool.rooms(sizes)?;
        self.run_planned(method, at, fed)?;
        self.outputs_in(method, at, rooms)
    }

    /// One call with outputs left where they lie. Gives what [`Engine::outputs`] needs.
    pub(crate) fn run(&mut self, method: usize, fed: &[Fed]) -> Result<usize> {
        let at = self.planned(method, fed)?;
        self.run_planned(method, at, fed)?;
        Ok(at)
    }

    pub(super) fn run_planned(&mut self, method: usize, at: usize, fed: &[Fed]) -> Result<Option<Outcome>> {
        self.record(method, at)?;
        self.feed(method, at, fed, None)?;
        self.replay(method, at)
    }

    /// Where an output of the last run of a Program lies, given where the run's buffers lay.
    pub(super) fn output_region<'r>(
        &'r self,
        method: usize,
        at: usize,
        recorded: Option<&'r Recorded>,
        buffer: BufferId,
    ) -> Result<&'r Region> {
        let m = &self.methods[method];
        match m.programs[at].program.buffers[buffer].role {
            // It may have moved at the end of the run.
            Role::Shared(shared) => Ok(&self.states[m.states[shared]].region),
            _ => recorded
                .and_then(|r| r.regions[buffer].as_ref())
                .ok_or_else(|| Error::Internal("an output without memory".into())),
        }
    }

    /// The outputs of a Program: buffer, dtype, shape.
    pub(super) fn results(
        &self,
        method: usize,
        at: usize,
    ) -> impl ExactSizeIterator<Item = (BufferId, DType, &[usize])> {
        let m = &self.methods[method];
        let planned = &m.programs[at];
        planned
            .program
            .outputs
            .iter()
            .zip(&m.graph.outputs)
            .map(|(&buffer, &id)| (buffer, m.graph.var(id).ty.dtype, &planned.shapes.shapes[id as usize][..]))
    }

    /// What the outputs of a call would be, which is planned and not run: dtypes and extents.
    pub(crate) fn output_types(&mut self, method: usize, fed: &[Fed]) -> Result<Vec<(DType, Vec<usize>)>> {
        let at = self.planned(method, fed)?;
        Ok(self.results(method, at).map(|(_, dtype, shape)| (dtype, shape.to_vec())).collect())
    }

    /// Number of a method's outputs.
    pub(crate) fn output_count(&self, method: usize) -> usize {
        self.methods[method].graph.outputs.len()
    }

    /// An output of the last run where it lies: whoever has it must see to it that nothing runs meanwhile.
    pub(crate) fn output_view(&self, method: usize, at: usize, position: usize) -> Result<DeviceArray> {
        let recorded = self.methods[method].programs[at].recorded.as_ref();
        let none = || Error::Internal(format!("there is no output {position}"));
        let (buffer, dtype, shape) = self.results(method, at).nth(position).ok_or_else(none)?;
        let region = self.output_region(method, at, recorded, buffer)?;
        let array = DeviceArray::of(&self.device, region.clone(), dtype, shape);
        Ok(DeviceArray { outcomes: self.outcome(method).map(|outcome| Arc::new(vec![outcome])), ..array })
    }

    /// An output of the last run, on the host.
    pub(crate) fn output(&self, method: usize, at: usize, position: usize) -> Result<Value> {
        self.check_status(method)?;
        let view = self.output_view(method, at, position)?;
        self.host_pool.download(&view.region, view.dtype, &view.shape)
    }

    /// A call whose inputs are as large as the last call's, without a look at what they are. `None`: something else changed.
    pub(crate) fn run_again(&mut self, method: usize, values: &[Value]) -> Result<Option<usize>> {
        let m = &self.methods[method];
        let Some(at) = m.programs.len().checked_sub(1) else { return Ok(None) };
        if !m.demand.is_static() || values.len() != m.graph.inputs.len() || !self.is_recorded(method, at) {
            return Ok(None);
        }
        if !self.assumptions_hold(method, at, |i| Bounds::of(&values[i])) {
            return Ok(None);
        }
        let recorded = m.programs[at].recorded.as_ref().ok_or_else(not_recorded)?;
        for (i, region) in &recorded.inputs {
            let whole;
            let bytes = match values[*i].contiguous_bytes() {
                Some(bytes) => bytes,
                None => {
                    whole = values[*i].contiguous()?;
                    whole.contiguous_bytes().unwrap_or(&[])
                }
            };
            if bytes.len() as u64 != region.bytes {
                let what = format!("{}: input {}", m.name, m.graph.describe(m.graph.inputs[*i]));
                let given = format!("{} bytes", bytes.len());
                return Err(Error::mismatch(
                    what,
                    format!("{} bytes, as in the last call", region.bytes),
                    given,
                ));
            }
            self.device.upload(bytes, region)?;
        }
        self.replay(method, at)?;
        Ok(Some(at))
    }

    /// The outputs of the last run, on the host.
    pub(crate) fn outputs(&self, method: usize, at: usize) -> Result<Vec<Value>> {
        self.outputs_in(method, at, vec![])
    }

    fn outputs_in(&self, method: usize, at: usize, rooms: Vec<Room>) -> Result<Vec<Value>> {
        self.check_status(method)?;
        let mut rooms = rooms.into_iter();
        let recorded = self.methods[method].programs[at].recorded.as_ref();
        let mut values = Vec::with_capacity(self.methods[method].graph.outputs.len());
        for (buffer, dtype, shape) in self.results(method, at) {
            let region = self.output_region(method, at, recorded, buffer)?;
            values.push(self.host_pool.download_to(region, dtype, shape, &mut rooms)?);
        }
        Ok(values)
    }

    /// The outputs of the last run, copied on the device.
    pub(crate) fn device_outputs(&self, method: usize, at: usize) -> Result<Vec<DeviceArray>> {
        let recorded = self.methods[method].programs[at].recorded.as_ref();
        let copied = self.results(method, at).map(|(buffer, dtype, shape)| {
            self.copy_of(self.output_region(method, at, recorded, buffer)?, dtype, shape)
        });
        copied.collect()
    }

    /// A copy on the device, in memory of the pool.
    pub(super) fn copy_of(&self, source: &Region, dtype: DType, shape: &[usize]) -> Result<DeviceArray> {
        let bytes = shape.iter().product::<usize>() as u64 * dtype.size() as u64;
        let array = DeviceArray::lent(&self.device, self.pool.take(bytes)?, dtype, shape);
        if bytes > 0 {
            self.device.copy(&Region { bytes, ..source.clone() }, &array.region)?;
        }
        Ok(array)
    }

    /// Waits, and reports errors of what ran in any method.
    pub(crate) fn finish(&self) -> Result<()> {
        self.device.synchronize()?;
        (0..self.methods.len()).try_for_each(|method| self.check_status(method))
    }
}

fn not_recorded() -> Error {
    Error::Internal("not recorded".into())
}

fn replay_once(
    device: &dyn Device,
    graph: &FunctionGraph,
    program: &Program,
    shapes: &Shapes,
    recorded: &mut Recorded,
) -> Result<()> {
    for run in &mut recorded.runs {
        match run {
            Run::Segment(recording) => recording.replay()?,
            Run::Host(node) => perform_on_host(device, graph, program, shapes, &recorded.regions, node)?,
        }
    }
    Ok(())
}

/// Performs a host node on copies of its inputs.
pub(super) fn perform_on_host(
    device: &dyn Device,
    graph: &FunctionGraph,
    program: &Program,
    shapes: &Shapes,
    regions: &[Option<Region>],
    node: &HostNode,
) -> Result<()> {
    let written = &graph.nodes[node.node];
    // A buffer may have been reshaped: the graph knows the shape that the op was written to.
    let shape_of = |&id: &VarId| shapes.shapes[id as usize].as_slice();
    let inputs = node
        .inputs
        .iter()
        .zip(written.inputs.iter().map(shape_of))
        .map(|(&b, shape)| download(device, &region(regions, b)?, program.buffers[b].dtype, shape));
    let inputs: Vec<Value> = inputs.collect::<Result<_>>()?;
    let fail = |e: Error| Error::Run {
        op: node.op.label(),
        node: format!("#{}", node.node),
        message: e.to_string(),
    };
    let results = node.op.perform(&inputs).map_err(fail)?;
    check_results(graph, written, written.outputs.iter().map(shape_of), &results).map_err(fail)?;
    for (&buffer, value) in node.outputs.iter().zip(results) {
        let whole = value.contiguous()?;
        if let (Some(region), true) = (&regions[buffer], program.buffers[buffer].bytes() > 0) {
            device.upload(whole.contiguous_bytes().unwrap_or(&[]), region)?;
        }
    }
    Ok(())
}
