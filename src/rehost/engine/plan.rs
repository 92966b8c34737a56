//! From a call's shapes to a planned Program: one per signature, kept in a bounded list.

use super::super::commit;
use super::super::fuse::fuse;
use super::super::inplace::update_in_place;
use super::super::memory::{Layout, plan};
use super::array::Fed;
use super::record::Recorded;
use super::status::report_base;
use super::variants::{Variants, owned_outputs};
use super::{Engine, Method, value_bytes};
use crate::error::{Error, Result, shape_text};
use crate::graph::FunctionGraph;
use crate::graph::shapes::{Given, Shapes, decided_extents, infer};
use crate::kernels::nest::Nest;
use crate::lower::index_check::{Bounds, Trusted};
use crate::lower::program::{BufferId, Program, Role, Step};
use crate::lower::{Abilities, lower};
use crate::rehost::device::{Module, Numerics, Region};
use crate::rehost::{Options, Sizes};
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Constants of a method's Programs may take one byte in so many of the device's memory before Programs are dropped for them.
const CONSTANTS_SHARE: u64 = 4;

/// Programs kept per method; beyond that the least recently used one goes.
fn programs_kept(sizes: Sizes) -> usize {
    match sizes {
        // That which takes the values of indices on trust, and that which checks them.
        Sizes::Fixed => 2,
        Sizes::Several => 16,
        Sizes::Dynamic => 64,
    }
}

/// A Program planned for one signature, and recorded for the current addresses.
#[derive(Debug)]
pub(super) struct Planned {
    /// Extents of inputs and shared variables, and those that values decided, one after the other: ranks are fixed.
    pub(super) signature: Vec<usize>,
    /// Whose values it makes assumptions about.
    trusted: Trusted,
    pub(super) shapes: Arc<Shapes>,
    pub(super) program: Program,
    pub(super) layout: Layout,
    pub(super) module: Arc<dyn Module>,
    /// For each Nest step in order, its position in the module.
    pub(super) kernels: Vec<usize>,
    pub(super) constants: Vec<Region>,
    /// Shared variables that have another shape after a call: their state, the new shape, the buffer of the new value.
    pub(super) resized: Vec<(usize, Vec<usize>, BufferId)>,
    /// The outputs that can be written where they stay, and their sizes.
    pub(super) owned: Vec<(BufferId, u64)>,
    pub(super) recorded: Option<Recorded>,
    pub(super) variants: Variants,
}

impl Engine {
    /// The Program for these inputs, planned but perhaps not recorded: its position in the method's list.
    pub(super) fn planned(&mut self, method: usize, fed: &[Fed]) -> Result<usize> {
        let m = &self.methods[method];
        if m.demand.is_static() && m.index_sources.is_empty() {
            // The short way of most calls: only extents tell Programs apart.
            if let Some(at) = self.find(method, fed, &[], &Trusted::default()) {
                return Ok(at);
            }
        }
        self.planned_with_bounds(method, fed)
    }

    /// [`Engine::planned`] where values decide shapes, or bounds of indices may be known.
    fn planned_with_bounds(&mut self, method: usize, fed: &[Fed]) -> Result<usize> {
        let m = &self.methods[method];
        let mut shapes = None;
        let mut decided = Vec::new();
        if !m.demand.is_static() {
            let found = self.infer(method, fed)?;
            decided = decided_extents(&m.graph, &m.demand, &found);
            shapes = Some(found);
        }
        let mut bounds = self.known_bounds(method, fed);
        loop {
            let trusted = Trusted::new(bounds.iter().map(|(role, _)| role.clone()).collect());
            let at = match self.find(method, fed, &decided, &trusted) {
                Some(at) => at,
                None => {
                    let shapes = match shapes.take() {
                        Some(shapes) => shapes,
                        None => self.infer(method, fed)?,
                    };
                    let signature = self.extents(&self.methods[method], fed, &decided).copied().collect();
                    self.plan_anew(method, signature, trusted, shapes, fed)?
                }
            };
            let assumed = &self.methods[method].programs[at].program.assumed;
            let broken = assumed.iter().find(|assumed| {
                let known = bounds.iter().find(|(role, _)| *role == assumed.source);
                known.is_none_or(|(_, bounds)| !assumed.holds(*bounds))
            });
            match broken.map(|broken| broken.source.clone()) {
                // The call is wrong: the Program that checks on the device finds out where.
                Some(source) => bounds.retain(|(role, _)| *role != source),
                None => return Ok(at),
            }
        }
    }

    /// The position of the Program for these extents and assumptions.
    fn find(&mut self, method: usize, fed: &[Fed], decided: &[usize], trusted: &Trusted) -> Option<usize> {
        let m = &self.methods[method];
        // The most recently used Program stands last.
        let fits =
            |p: &Planned| p.trusted == *trusted && self.extents(m, fed, decided).eq(p.signature.iter());
        let at = m.programs.iter().rposition(fits)?;
        let programs = &mut self.methods[method].programs;
        let last = programs.len() - 1;
        if at != last {
            programs[at..].rotate_left(1);
        }
        Some(last)
    }

    /// Plans a Program; gives its position.
    fn plan_anew(
        &mut self,
        method: usize,
        signature: Vec<usize>,
        trusted: Trusted,
        shapes: Shapes,
        fed: &[Fed],
    ) -> Result<usize> {
        self.check_fixed(&self.methods[method], fed)?;
        let planned = self.plan(method, signature, trusted, shapes)?;
        let kept = programs_kept(self.options.sizes);
        let most = self.device.properties().memory / CONSTANTS_SHARE;
        let Method { programs, dropped, .. } = &mut self.methods[method];
        dropped.planned(&planned.signature);
        programs.push(planned);
        while programs.len() > 1 && (programs.len() > kept || constant_bytes(programs) > most) {
            dropped.note(&programs.remove(0).signature);
        }
        Ok(programs.len() - 1)
    }

    /// The bounds of what a method uses as indices, where the host knows them.
    fn known_bounds(&mut self, method: usize, fed: &[Fed]) -> Vec<(Role, Bounds)> {
        let waits = fed.iter().any(|fed| matches!(fed, Fed::Device(_)));
        let sources = self.methods[method].index_sources.clone();
        let known = sources.into_iter().filter_map(|role| {
            let bounds = match role {
                Role::Input(i) => fed.get(i)?.bounds(),
                Role::Shared(i) => self.state_bounds(self.methods[method].states[i], waits),
                _ => None,
            };
            Some((role, bounds?))
        });
        known.collect()
    }

    /// The bounds of a shared variable. Memory that the host can read is looked at, but not while others may be waited for.
    fn state_bounds(&mut self, position: usize, waits: bool) -> Option<Bounds> {
        if self.states[position].bounds.is_none() && !waits {
            let value = self.lent_state(position);
            self.states[position].bounds = value.as_ref().and_then(Bounds::of);
        }
        self.states[position].bounds
    }

    /// Whether a Program's assumptions hold for these bounds of inputs, and what is known of shared variables.
    pub(super) fn assumptions_hold(
        &self,
        method: usize,
        at: usize,
        input: impl Fn(usize) -> Option<Bounds>,
    ) -> bool {
        let m = &self.methods[method];
        m.programs[at].program.assumed.iter().all(|assumed| {
            let bounds = match assumed.source {
                Role::Input(i) => input(i),
                Role::Shared(i) => self.states[m.states[i]].bounds,
                _ => None,
            };
            bounds.is_some_and(|bounds| assumed.holds(bounds))
        })
    }

    /// Everything that a Program's signature is made of.
    fn extents<'e>(
        &'e self,
        m: &'e Method,
        fed: &'e [Fed],
        decided: &'e [usize],
    ) -> impl Iterator<Item = &'e usize> {
        let shared = m.states.iter().flat_map(|&s| &self.states[s].shape);
        fed.iter().flat_map(Fed::shape).chain(shared).chain(decided)
    }

    /// Refuses a shape that is not the first call's, where sizes are fixed.
    fn check_fixed(&self, m: &Method, fed: &[Fed]) -> Result<()> {
        let (Sizes::Fixed, Some(first)) = (self.options.sizes, m.programs.first()) else { return Ok(()) };
        let inputs = m.graph.inputs.iter().zip(fed.iter().map(Fed::shape));
        let shared = m.graph.shared.iter().zip(m.states.iter().map(|&s| &self.states[s].shape[..]));
        let mut known = &first.signature[..];
        for (&id, shape) in inputs.chain(shared) {
            let (before, rest) = known.split_at(shape.len().min(known.len()));
            known = rest;
            if before != shape {
                let (name, before, shape) = (m.graph.describe(id), shape_text(before), shape_text(shape));
                let message = format!(
                    "{name} has shape {shape}, and had {before} in the first call; this Simulator was made with fixed_size(): \
                     give {before}, or leave fixed_size() out"
                );
                return Err(Error::Call { function: m.name.clone(), message });
            }
        }
        let message = "a value leads to other shapes than in the first call; this Simulator was made with fixed_size(): leave \
                       it out";
        Err(Error::Call { function: m.name.clone(), message: message.into() })
    }

    fn infer(&self, method: usize, fed: &[Fed]) -> Result<Shapes> {
        let m = &self.methods[method];
        let inputs: Vec<Vec<usize>> = fed.iter().map(|f| f.shape().to_vec()).collect();
        let shared: Vec<Vec<usize>> = m.states.iter().map(|&s| self.states[s].shape.clone()).collect();
        let (inputs, shared) = (&inputs[..], &shared[..]);
        let input_values = |i: usize| fed.get(i).and_then(Fed::value);
        // While memory is lent, nobody must wait for other memory, whose holder may wait for this.
        let waits = m.demand.inputs.iter().any(|&i| matches!(fed.get(i), Some(Fed::Device(_))));
        let lends = |i: usize| m.demand.lent == Some(i) && !waits;
        let lent = |i: usize| if lends(i) { self.lent_state(m.states[i]) } else { None };
        let shared_values = |i: usize| lent(i).or_else(|| self.read_state(m.states[i]).ok());
        let given = Given { inputs, shared, input_values: &input_values, shared_values: &shared_values };
        infer(&m.graph, &m.demand, &given)
    }

    /// The Program for these shapes and its place in the arena; nothing is compiled or allocated for it.
    fn draft(&self, method: usize, shapes: &Shapes, trusted: &Trusted) -> Result<(Program, Layout)> {
        let device = self.device.as_ref();
        let graph = &self.methods[method].graph;
        let Options { fast_math: fast, deterministic, .. } = self.options;
        let abilities = Abilities { device, fast, deterministic };
        let mut program = lower(graph, shapes, &abilities, trusted, report_base(method))?;
        if self.options.strict
            // One without results is no substitute for device work: it only looks on.
            && let Some(node) = program.host_nodes().find(|node| !node.outputs.is_empty())
        {
            let what = format!("{} (node #{}) has no device form: {}", node.op.label(), node.node, node.why);
            return Err(Error::Strict(what));
        }
        if self.options.fuse {
            program = fuse(program, device.properties(), &abilities);
        }
        let state_bytes: Vec<u64> =
            self.methods[method].states.iter().map(|&s| value_bytes(&self.states[s])).collect();
        commit::order(&mut program);
        let mut program = update_in_place(program, &state_bytes);
        commit::guard(&mut program, &state_bytes);
        let layout = plan(&program, device.properties().alignment);
        Ok((program, layout))
    }

    /// The draft for these inputs, whether it has run or not.
    pub(super) fn drafted(&self, method: usize, fed: &[Fed]) -> Result<(Program, Layout)> {
        let m = &self.methods[method];
        let known = |role: &Role| match role {
            Role::Input(i) => fed.get(*i).is_some_and(|fed| fed.bounds().is_some()),
            Role::Shared(i) => self.states[m.states[*i]].bounds.is_some(),
            _ => false,
        };
        let trusted = Trusted::new(m.index_sources.iter().filter(|role| known(role)).cloned().collect());
        self.draft(method, &self.infer(method, fed)?, &trusted)
    }

    fn plan(
        &mut self,
        method: usize,
        signature: Vec<usize>,
        trusted: Trusted,
        shapes: Shapes,
    ) -> Result<Planned> {
        let (program, layout) = self.draft(method, &shapes, &trusted)?;
        let device = self.device.clone();
        let (nests, kernels) = distinct_nests(&program);
        if cfg!(debug_assertions) {
            let epilogues = program.steps.iter().filter_map(|step| match step {
                Step::Library(library) => library.epilogue.as_ref().map(|epilogue| &epilogue.nest),
                _ => None,
            });
            for nest in nests.iter().chain(epilogues) {
                let verified = crate::kernels::verify::verify(nest);
                verified.map_err(|e| Error::Internal(format!("nest {}: {e}\n{nest:#?}", nest.name)))?;
            }
        }
        let module = device.compile(&nests, Numerics { fast: self.options.fast_math })?;
        let mut constants = Vec::with_capacity(program.constants.len());
        for value in &program.constants {
            let region = match self.known_constant(method, value) {
                Some(region) => region,
                None => {
                    let uploaded = self.constant(value);
                    uploaded.map_err(|e| self.with_plan(method, &program, &layout, e))?
                }
            };
            constants.push(region);
        }
        let m = &self.methods[method];
        let mut resized = Vec::new();
        for (&(shared, buffer), &(_, id)) in program.updates.iter().zip(own_updates(&m.graph).iter()) {
            let new = &shapes.shapes[id as usize];
            if self.states[m.states[shared]].shape != *new {
                resized.push((m.states[shared], new.clone(), buffer));
            }
        }
        let (variants, shapes) = (Variants::default(), Arc::new(shapes));
        let (recorded, owned) = (None, owned_outputs(&program));
        Ok(Planned {
            signature,
            trusted,
            shapes,
            program,
            layout,
            module,
            kernels,
            constants,
            resized,
            owned,
            recorded,
            variants,
        })
    }

    fn constant(&mut self, value: &Value) -> Result<Region> {
        let whole = value.contiguous()?;
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        let region = self.allocate_anew(bytes.len() as u64)?;
        if !bytes.is_empty() {
            self.device.upload(bytes, &Region { bytes: bytes.len() as u64, ..region.clone() })?;
        }
        Ok(region)
    }

    /// Where another Program of the method has this constant.
    fn known_constant(&self, method: usize, value: &Value) -> Option<Region> {
        let programs = self.methods[method].programs.iter().rev();
        let mut known = programs.flat_map(|p| p.program.constants.iter().zip(&p.constants));
        known.find(|(k, _)| k.is_same(value)).map(|(_, region)| region.clone())
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

/// Bytes of the distinct constants of Programs.
pub(super) fn constant_bytes(programs: &[Planned]) -> u64 {
    let all = programs.iter().flat_map(|p| &p.constants);
    let distinct: HashMap<_, u64> = all.map(|r| (Arc::as_ptr(&r.memory).cast::<()>(), r.bytes)).collect();
    distinct.values().sum()
}

/// The updates that lowering keeps: a variable that is its own update needs none.
fn own_updates(graph: &FunctionGraph) -> Vec<(u32, u32)> {
    let own = |u: &&(u32, u32)| graph.shared[u.0 as usize] != u.1;
    graph.updates.iter().filter(own).copied().collect()
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
