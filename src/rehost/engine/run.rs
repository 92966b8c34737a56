//! Running: inputs in, Segments replayed, outputs out.

use super::super::device::{Device, Region};
use super::super::program::{HostNode, Program, Role};
use super::array::{DeviceArray, Fed, download};
use super::plan::Planned;
use super::record::{Run, region};
use super::{Engine, Method, value_bytes};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::FunctionGraph;
use crate::value::Value;

impl Engine {
    /// Puts the inputs where the Program reads them.
    pub(super) fn feed(&self, method: usize, at: usize, fed: &[Fed], only: Option<usize>) -> Result<()> {
        let planned = &self.methods[method].programs[at];
        let Some(recorded) = &planned.recorded else { return Err(Error::Internal("not recorded".into())) };
        for (buffer, region) in planned.program.buffers.iter().zip(&recorded.regions) {
            let (Role::Input(i), Some(region)) = (&buffer.role, region) else { continue };
            if region.bytes == 0 || only.is_some_and(|only| only != *i) {
                continue;
            }
            match &fed[*i] {
                Fed::Host(value) => {
                    let whole = value.contiguous()?;
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
    pub(super) fn replay(&mut self, method: usize, at: usize) -> Result<()> {
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
    pub(super) fn resize_states(&mut self, method: usize, at: usize) -> Result<()> {
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
    fn check_status(&self, method: usize, at: usize) -> Result<()> {
        let planned = &self.methods[method].programs[at];
        let Some(status) = &self.methods[method].status else { return Ok(()) };
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

    /// Where the outputs of the last run of a Program lie: region, dtype, shape.
    pub(super) fn output_regions(
        &self,
        method: usize,
        at: usize,
    ) -> Result<Vec<(Region, DType, Vec<usize>)>> {
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
    pub(crate) fn outputs(&self, method: usize, at: usize) -> Result<Vec<Value>> {
        self.check_status(method, at)?;
        let regions = self.output_regions(method, at)?;
        regions.iter().map(|(r, d, s)| download(self.device.as_ref(), r, *d, s)).collect()
    }

    /// The outputs of the last run, copied on the device.
    pub(crate) fn device_outputs(&self, method: usize, at: usize) -> Result<Vec<DeviceArray>> {
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

    /// Waits, and reports errors of what ran in any method.
    pub(crate) fn finish(&self) -> Result<()> {
        self.device.synchronize()?;
        // The most recently used Program of a method stands last.
        let mut used = self.methods.iter().enumerate().filter(|(_, m)| !m.programs.is_empty());
        used.try_for_each(|(method, m)| self.check_status(method, m.programs.len() - 1))
    }
}

/// The updates that lowering keeps: a variable that is its own update needs none.
pub(super) fn own_updates(graph: &FunctionGraph) -> Vec<(u32, u32)> {
    let own = |u: &&(u32, u32)| graph.shared[u.0 as usize] != u.1;
    graph.updates.iter().filter(own).copied().collect()
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
