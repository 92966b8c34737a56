//! Running: inputs in, Segments replayed, outputs out.

use super::super::device::{Device, Region};
use super::super::program::{BufferId, HostNode, Program, Role};
use super::super::shapes::Shapes;
use super::array::{DeviceArray, Fed, download};
use super::host_pool::HostPool;
use super::record::{Recorded, Run, region};
use super::{Engine, Method, value_bytes};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::FunctionGraph;
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
            }
        }
        Ok(())
    }

    /// Runs a recorded Program once.
    pub(super) fn replay(&mut self, method: usize, at: usize) -> Result<()> {
        let Method { graph, programs, .. } = &mut self.methods[method];
        let planned = &mut programs[at];
        let recorded = planned.recorded.as_mut().ok_or_else(not_recorded)?;
        replay_once(self.device.as_ref(), graph, &planned.program, &planned.shapes, recorded)?;
        self.resize_states(method, at, None)
    }

    /// Runs a variant of a recorded Program once.
    pub(super) fn replay_variant(&mut self, method: usize, at: usize, variant: usize) -> Result<()> {
        let Method { graph, programs, .. } = &mut self.methods[method];
        let planned = &mut programs[at];
        let recorded = planned.variants.recorded_mut(variant).ok_or_else(not_recorded)?;
        replay_once(self.device.as_ref(), graph, &planned.program, &planned.shapes, recorded)?;
        self.resize_states(method, at, Some(variant))
    }

    /// Gives updated shared variables of a new shape new memory.
    pub(super) fn resize_states(&mut self, method: usize, at: usize, variant: Option<usize>) -> Result<()> {
        let planned = &self.methods[method].programs[at];
        if planned.resized.is_empty() {
            return Ok(());
        }
        let recorded = match variant {
            Some(variant) => planned.variants.recorded(variant),
            None => planned.recorded.as_ref(),
        };
        let resized = planned.resized.iter().map(|(state, shape, buffer)| {
            (*state, shape.clone(), recorded.and_then(|r| r.regions[*buffer].clone()))
        });
        for (state, shape, source) in resized.collect::<Vec<_>>() {
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

    /// Reports what nodes found wrong (an index out of range, a condition that fails) in what ran since the last check.
    fn check_status(&self, method: usize, at: usize) -> Result<()> {
        let Some(status) = &self.methods[method].status else { return Ok(()) };
        let mut word = [0u8; 8];
        self.device.download(status, &mut word)?;
        let number = i64::from_le_bytes(word);
        if number == 0 {
            return Ok(());
        }
        self.device.upload(&0i64.to_le_bytes(), status)?;
        let m = &self.methods[method];
        Err(reported(&m.graph, &m.programs[at].shapes, number))
    }

    /// What it takes to wait for the call of a method that was enqueued last. Its status word is taken along, so that a later call
    /// does not report this one's errors.
    pub(crate) fn ticket(&self, method: usize) -> Result<Ticket> {
        let m = &self.methods[method];
        let (Some(status), Some(planned)) = (&m.status, m.programs.last()) else {
            return Ok(Ticket { host_pool: self.host_pool.clone(), status: None });
        };
        let word = self.copy_of(status, DType::I64, &[])?;
        self.device.copy(&self.zero()?, status)?;
        let status = Some((word, m.graph.clone(), planned.shapes.clone()));
        Ok(Ticket { host_pool: self.host_pool.clone(), status })
    }

    /// One int64 that is 0: to clear a status word with, in order and without waiting.
    fn zero(&self) -> Result<Region> {
        if let Some(zero) = self.zero.get() {
            return Ok(zero.clone());
        }
        let zero = self.allocate(8)?;
        self.device.upload(&0i64.to_le_bytes(), &zero)?;
        Ok(self.zero.get_or_init(|| zero).clone())
    }

    /// One call with outputs left where they lie. Gives what [`Engine::outputs`] needs.
    pub(crate) fn run(&mut self, method: usize, fed: &[Fed]) -> Result<usize> {
        let at = self.planned(method, fed)?;
        self.run_planned(method, at, fed)?;
        Ok(at)
    }

    pub(super) fn run_planned(&mut self, method: usize, at: usize, fed: &[Fed]) -> Result<()> {
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
        Ok(DeviceArray::of(&self.device, region.clone(), dtype, shape))
    }

    /// An output of the last run, on the host.
    pub(crate) fn output(&self, method: usize, at: usize, position: usize) -> Result<Value> {
        self.check_status(method, at)?;
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
        self.check_status(method, at)?;
        let recorded = self.methods[method].programs[at].recorded.as_ref();
        let mut values = Vec::with_capacity(self.methods[method].graph.outputs.len());
        for (buffer, dtype, shape) in self.results(method, at) {
            let region = self.output_region(method, at, recorded, buffer)?;
            values.push(self.host_pool.download(region, dtype, shape)?);
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
        // The most recently used Program of a method stands last.
        let mut used = self.methods.iter().enumerate().filter(|(_, m)| !m.programs.is_empty());
        used.try_for_each(|(method, m)| self.check_status(method, m.programs.len() - 1))
    }
}

/// What it takes to wait for a call: see [`Engine::ticket`].
#[derive(Debug)]
pub(crate) struct Ticket {
    host_pool: Arc<HostPool>,
    /// The status word after the call, and what its numbers mean.
    status: Option<(DeviceArray, Arc<FunctionGraph>, Arc<Shapes>)>,
}

impl Ticket {
    /// Reports what nodes found wrong in the call; waits for it.
    pub(crate) fn check(&self) -> Result<()> {
        let Some((word, graph, shapes)) = &self.status else { return Ok(()) };
        match self.download(word)?.item::<i64>()? {
            0 => Ok(()),
            number => Err(reported(graph, shapes, number)),
        }
    }

    /// One of the call's results on the host.
    pub(crate) fn download(&self, array: &DeviceArray) -> Result<Value> {
        self.host_pool.download(&array.region, array.dtype, &array.shape)
    }
}

/// The error that a status word means.
fn reported(graph: &FunctionGraph, shapes: &Shapes, number: i64) -> Error {
    let at = (number - 1) as usize;
    let node = graph.nodes.get(at);
    let op = node.map_or("index".into(), |n| n.op.label());
    let shapes: Vec<String> = node.map_or(vec![], |n| {
        n.inputs.iter().map(|&i| crate::error::shape_text(&shapes.shapes[i as usize])).collect()
    });
    let trouble = node.map_or("an index is out of range".into(), |n| n.op.trouble());
    let message = format!("{trouble} (inputs of shapes {}); updates that were made stand", shapes.join(", "));
    Error::Run { op, node: format!("#{at}"), message }
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
            Run::Host(node) => {
                let shapes = graph.nodes[node.node].inputs.iter().map(|&i| &shapes.shapes[i as usize][..]);
                perform_on_host(device, program, shapes, &recorded.regions, node)?
            }
        }
    }
    Ok(())
}

/// Performs a host node on copies of its inputs, which have these shapes (a buffer may have been reshaped).
pub(super) fn perform_on_host<'s>(
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
        let whole = value.contiguous()?;
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
