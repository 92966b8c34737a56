//! Kernels for one size, compiled while a Program runs with kernels for any size.
//!
//! The first call with new sizes gets kernels [for any size](ForSizes::Any), which other sizes have compiled
//! already. When the sizes return, a thread compiles kernels for them alone; the first call after that uses
//! these.

use super::planned::Planned;
use crate::engine::compile::Definition;
use crate::engine::storage::{CompileOutcome, EngineContext};
use crate::error::Result;
use crate::graph::VarId;
use crate::graph::shapes::Shapes;
use std::sync::Arc;
use workalike_device::{DeviceModule, Numerics, Options, Sizes};
use workalike_kernels::print::ForSizes;
use workalike_kernels::verify::Verified;

/// What is known of a Program's kernels for its sizes alone.
#[derive(Debug)]
pub(crate) enum KernelSpecialization {
    /// The Program has them, or will never have them.
    Final,
    /// The Program's kernels are for any size; these Nests have to be compiled if its sizes return.
    AnySize(Vec<Verified>),
    /// A thread compiles them.
    Underway(CompileOutcome),
}

impl EngineContext {
    /// The exactness of the kernels of this engine.
    pub(crate) fn numerics(&self) -> Numerics {
        Numerics { fast: self.options.fast_math }
    }

    /// Compiles the Nests of a Program, for any size if that is asked and the device has such kernels.
    pub(crate) fn compile(
        &self,
        nests: Vec<Verified>,
        any_size: bool,
    ) -> Result<(Arc<dyn DeviceModule>, KernelSpecialization)> {
        let (device, numerics) = (&self.device, self.numerics());
        if any_size
            && !nests.is_empty()
            && let Ok(Some(module)) = device.compile_for(ForSizes::Any, &nests, numerics)
        {
            return Ok((module, KernelSpecialization::AnySize(nests)));
        }
        Ok((device.compile(&nests, numerics)?, KernelSpecialization::Final))
    }

    /// Goes on with the kernels for a Program's sizes alone: has them compiled, or replaces the others.
    pub(crate) fn specialise(&mut self, planned: &mut Planned) {
        planned.kernels = match std::mem::replace(&mut planned.kernels, KernelSpecialization::Final) {
            KernelSpecialization::Final => KernelSpecialization::Final,
            KernelSpecialization::AnySize(nests) => {
                let outcome = self.specialist.compile(&self.device, self.for_returned_size(), nests);
                outcome.map_or(KernelSpecialization::Final, KernelSpecialization::Underway)
            }
            KernelSpecialization::Underway(outcome) => match outcome.get() {
                None => KernelSpecialization::Underway(outcome),
                Some(module) => {
                    if let Some(module) = module {
                        planned.replace_module(module.clone());
                    }
                    KernelSpecialization::Final
                }
            },
        };
    }
}

impl EngineContext {
    /// Gives a Program the kernels that its next calls would have, waiting for the compiler.
    pub(crate) fn specialise_now(&self, planned: &mut Planned) {
        let module = match std::mem::replace(&mut planned.kernels, KernelSpecialization::Final) {
            KernelSpecialization::Final => None,
            KernelSpecialization::AnySize(nests) => {
                let (sizes, numerics) = self.for_returned_size();
                self.device.compile_for(sizes, &nests, numerics).ok().flatten()
            }
            KernelSpecialization::Underway(outcome) => outcome.wait().clone(),
        };
        // A failure costs speed at most.
        if let Some(module) = module {
            planned.replace_module(module);
        }
    }

    /// What the kernels are for that a size gets when it returns.
    fn for_returned_size(&self) -> (ForSizes, Numerics) {
        let exact = self.options.deterministic;
        (if exact { ForSizes::OneOfAny } else { ForSizes::One }, self.numerics())
    }
}

impl Definition {
    /// Whether a Program for these extents gets kernels for any size: others came before, or will come.
    pub(crate) fn expects_other_sizes(&self, options: Options, signature: &[usize]) -> bool {
        let others = match options.sizes {
            Sizes::Fixed => false,
            Sizes::Several => self.first_sizes.get().is_some_and(|first| first != signature),
            Sizes::Dynamic => true,
        };
        others && options.any_size
    }

    /// The extents of inputs that may differ in the next call, if it gets the same kernels for any size. A
    /// loop over such an extent keeps its form where it is short.
    pub(crate) fn varying_extents(
        &self,
        context: &EngineContext,
        shapes: &Shapes,
        signature: &[usize],
    ) -> Vec<u64> {
        let compiles = !context.device.properties().interprets;
        if !compiles || !self.expects_other_sizes(context.options, signature) {
            return vec![];
        }
        let graph = &self.graph;
        let of_input = |id: &VarId| {
            let known = graph.var(*id).ty.shape.iter();
            let extents = shapes.shapes[*id as usize].iter();
            known.zip(extents).filter(|(known, _)| known.is_none()).map(|(_, extent)| *extent as u64)
        };
        graph.inputs.iter().flat_map(of_input).collect()
    }
}
