//! From a call's shapes to a planned Program: one per signature, kept in a bounded list.

use super::super::fuse::fuse;
use super::super::inplace::update_in_place;
use super::super::lower::lower;
use super::super::memory::{Layout, plan};
use super::super::program::{Program, Step};
use super::super::shapes::{Given, Shapes, decided_extents, infer};
use super::array::Fed;
use super::record::Recorded;
use super::{Engine, value_bytes};
use crate::error::{Error, Result};
use crate::kernels::nest::Nest;
use crate::rehost::device::{Module, Region};
use std::collections::HashMap;
use std::sync::Arc;

/// Programs kept per method; beyond that the least recently used one goes.
const PROGRAMS_KEPT: usize = 16;

/// A Program planned for one signature, and recorded for the current addresses.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) signature: Vec<Vec<usize>>,
    pub(super) shapes: Shapes,
    pub(super) program: Program,
    pub(super) layout: Layout,
    pub(super) module: Arc<dyn Module>,
    /// For each Nest step in order, its position in the module.
    pub(super) kernels: Vec<usize>,
    pub(super) constants: Vec<Region>,
    pub(super) recorded: Option<Recorded>,
}

impl Engine {
    /// The Program for these inputs, planned but perhaps not recorded: its position in the method's list.
    pub(super) fn planned(&mut self, method: usize, fed: &[Fed]) -> Result<usize> {
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
            let whole = value.contiguous()?;
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

    /// Plans a method for inputs without running it.
    pub(crate) fn prepare(&mut self, method: usize, fed: &[Fed]) -> Result<()> {
        self.planned(method, fed).map(|_| ())
    }

    /// The Programs of a method.
    pub(crate) fn programs(
        &self,
        method: usize,
    ) -> impl Iterator<Item = (&Program, &Layout, &Arc<dyn Module>)> {
        self.methods[method].programs.iter().map(|p| (&p.program, &p.layout, &p.module))
    }
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
