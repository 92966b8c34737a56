//! From a call's shapes to a planned Program.

use super::Engine;
use crate::engine::compile::{Compiled, owned_outputs};
use crate::engine::plan::Planned;
use crate::engine::storage::CallInput;
use crate::error::{Error, Result};
use crate::graph::FunctionGraph;
use crate::graph::shapes::Shapes;
use crate::lower::index_bounds::Trusted;
use crate::lower::program::Program;
use crate::value::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, OnceLock};
use workalike_device::{DeviceError, Region, Sizes};
use workalike_kernels::nest::Nest;
use workalike_kernels::verify::{Verified, VerifyError};

/// Programs are evicted when the constants of a method's Programs take more than this fraction (one part in
/// `CONSTANTS_SHARE`) of the device's memory.
const CONSTANTS_SHARE: u64 = 4;

/// Programs kept per method; the least recently used one is evicted first.
fn programs_kept(sizes: Sizes) -> usize {
    match sizes {
        // One that trusts the values of indices, and one that checks them.
        Sizes::Fixed => 2,
        Sizes::Several => 16,
        Sizes::Dynamic => 64,
    }
}

impl Engine {
    /// Makes the Program for these inputs the method's current one: planned, but not necessarily recorded.
    pub(crate) fn plan(&mut self, method: usize, args: &[CallInput]) -> Result<()> {
        let m = &mut self.methods[method];
        // The fast path of most calls: extents alone identify the Program.
        if m.definition.demand.is_static()
            && m.definition.index_sources.is_empty()
            && m.select(&self.context, args, &[], &Trusted::default())
        {
            self.specialise(method);
            return Ok(());
        }
        self.plan_with_bounds(method, args)
    }

    /// Has the current Program's sizes returned, its kernels are compiled for these alone.
    fn specialise(&mut self, method: usize) {
        if let Some(planned) = self.methods[method].plans.current_mut() {
            self.context.specialise(planned);
        }
    }

    /// [`Engine::plan`] where values decide shapes, or bounds of indices may be known.
    fn plan_with_bounds(&mut self, method: usize, args: &[CallInput]) -> Result<()> {
        let values = self.decided(method, args)?;
        let definition = &self.methods[method].definition;
        let together = definition.infer_together(&self.context, args, values.as_ref())?;
        let decided = match &together {
            Some((_, decided)) => decided.clone(),
            None if definition.demand.is_static() => vec![],
            None => definition.decided(&self.context, args, values.as_ref())?,
        };
        let mut bounds = definition.known_bounds(&mut self.context, args);
        loop {
            let trusted = Trusted::new(bounds.iter().map(|(role, _)| role.clone()).collect());
            if self.methods[method].select(&self.context, args, &decided, &trusted) {
                self.specialise(method);
            } else {
                let definition = &self.methods[method].definition;
                let shapes = match &together {
                    Some((shapes, _)) => shapes.clone(),
                    None => definition.infer_knowing(&self.context, args, values.as_ref())?,
                };
                let signature = definition.extents(&self.context.states, args, &decided).copied().collect();
                self.plan_anew(method, signature, trusted, shapes, args)?;
            }
            let current = self.methods[method].plans.current().into_iter();
            let mut assumed = current.flat_map(|planned| &planned.compiled.program.assumed);
            let broken = assumed.find(|assumed| {
                let known = bounds.iter().find(|(role, _)| *role == assumed.source);
                known.is_none_or(|(_, bounds)| !assumed.holds(*bounds))
            });
            match broken.map(|broken| broken.source.clone()) {
                // The call is invalid: the Program that checks on the device finds the position.
                Some(source) => bounds.retain(|(role, _)| *role != source),
                None => return Ok(()),
            }
        }
    }

    /// Plans a Program, which becomes the method's current one.
    fn plan_anew(
        &mut self,
        method: usize,
        signature: Vec<usize>,
        trusted: Trusted,
        shapes: Shapes,
        args: &[CallInput],
    ) -> Result<()> {
        self.methods[method].check_fixed(&self.context, args)?;
        let planned = self.compile(method, signature, trusted, shapes)?;
        let kept = programs_kept(self.context.options.sizes);
        let most = self.device().properties().memory / CONSTANTS_SHARE;
        self.methods[method].plans.insert(planned, kept, most);
        Ok(())
    }

    /// Lowers, fuses and compiles a method for these shapes, and uploads its constants.
    fn compile(
        &mut self,
        method: usize,
        signature: Vec<usize>,
        trusted: Trusted,
        shapes: Shapes,
    ) -> Result<Planned> {
        let definition = self.methods[method].definition.clone();
        definition.first_sizes.get_or_init(|| signature.clone());
        let (program, layout) = definition.draft(&self.context, &shapes, &trusted, &signature)?;
        let refused = |e: VerifyError| DeviceError::driver(&self.device().properties().id, "compile", e);
        let (nests, kernels) = distinct_nests(&program).map_err(refused)?;
        let any_size = definition.expects_other_sizes(self.context.options, &signature);
        let (module, specialised) = self.context.compile(nests, any_size)?;
        let mut constants = Vec::with_capacity(program.constants.len());
        for value in &program.constants {
            let region = match self.methods[method].plans.constant(value) {
                Some(region) => region,
                None => {
                    let uploaded = self.constant(value);
                    uploaded.map_err(|e| self.with_plan(&definition, &program, &layout, e))?
                }
            };
            constants.push(region);
        }
        let mut resized = Vec::new();
        for (&(shared, buffer), &(_, id)) in program.updates.iter().zip(own_updates(&definition.graph).iter())
        {
            let (state, new) = (definition.states[shared], &shapes.shapes[id as usize]);
            if self.context.states[state].shape != *new {
                resized.push((state, new.clone(), buffer));
            }
        }
        let (shapes, owned) = (Arc::new(shapes), owned_outputs(&program));
        let compiled = Compiled {
            definition,
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
            commands: OnceLock::new(),
        };
        Ok(Planned::new(compiled, specialised))
    }

    fn constant(&mut self, value: &Value) -> Result<Region> {
        let whole = value.contiguous()?;
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        let region = self.allocate_anew(bytes.len() as u64)?;
        if !bytes.is_empty() {
            self.device().upload(bytes, &Region { bytes: bytes.len() as u64, ..region.clone() })?;
        }
        Ok(region)
    }

    /// Plans a method for inputs without running it; returns the Program.
    pub(crate) fn prepare(&mut self, method: usize, args: &[CallInput]) -> Result<&Compiled> {
        self.plan(method, args)?;
        let (planned, _) = self.current(method)?;
        Ok(&planned.compiled)
    }

    /// The Program for these inputs, which is not compiled; `None` if values decide shapes: members may have
    /// to exchange arrays for that.
    pub(crate) fn drafted(&self, method: usize, args: &[CallInput]) -> Result<Option<Program>> {
        let definition = &self.methods[method].definition;
        let draft = || definition.drafted(&self.context, args).map(|(program, _)| program);
        definition.demand.is_static().then(draft).transpose()
    }

    /// The Program for which a method was last planned.
    pub(crate) fn compiled(&self, method: usize) -> Result<&Compiled> {
        let current = self.methods[method].plans.current().map(|planned| &planned.compiled);
        current.ok_or_else(|| Error::Internal("a method that was not planned".into()))
    }

    /// Does all that calls of methods with these inputs would do before they run: plans and compiles them,
    /// with the kernels that they would have later, and records them. All are planned first, so that the
    /// arena has its final address when they are recorded.
    pub(crate) fn warm_up<'f>(
        &mut self,
        calls: impl Iterator<Item = (usize, &'f [CallInput])> + Clone,
    ) -> Result<()> {
        for (method, args) in calls.clone() {
            let (planned, context) = self.ready(method, args)?;
            context.specialise_now(planned);
        }
        for (method, args) in calls {
            let (planned, context) = self.ready(method, args)?;
            planned.record(context)?.finish_compiling()?;
        }
        Ok(())
    }

    /// The extents of a method's first call, if it was called.
    pub(crate) fn first_sizes(&self, method: usize) -> Option<&Vec<usize>> {
        self.methods[method].definition.first_sizes.get()
    }

    /// Says that a new method was called with these extents in the Simulator that it was copied from.
    pub(crate) fn set_first_sizes(&self, method: usize, extents: Vec<usize>) {
        let _ = self.methods[method].definition.first_sizes.set(extents);
    }

    /// The Programs of a method; the most recently used one is last.
    pub(crate) fn programs(&self, method: usize) -> impl Iterator<Item = &Compiled> {
        self.methods[method].plans.iter().map(|planned| &planned.compiled)
    }
}

/// The updates that lowering keeps: a variable that is its own update needs none.
fn own_updates(graph: &FunctionGraph) -> Vec<(u32, u32)> {
    let own = |u: &&(u32, u32)| graph.shared[u.0 as usize] != u.1;
    graph.updates.iter().filter(own).copied().collect()
}

/// The distinct Nests, verified, and for each of [`Program::nests`] the position of the one that equals it.
fn distinct_nests(program: &Program) -> Result<(Vec<Verified>, Vec<usize>), VerifyError> {
    let mut seen: HashMap<&Nest, usize> = HashMap::new();
    let mut nests = Vec::new();
    let mut kernels = Vec::with_capacity(program.steps.len());
    for nest in program.nests() {
        kernels.push(match seen.entry(nest) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => {
                nests.push(Verified::new(nest.clone())?);
                *unknown.insert(nests.len() - 1)
            }
        });
    }
    Ok((nests, kernels))
}
