//! A method: a Function in device form, and its Programs.

use super::plan_cache::PlanCache;
use crate::engine::compile::Definition;
use crate::engine::storage::{CallInput, EngineContext};
use crate::error::{Error, Result, shape_text};
use crate::lower::index_bounds::Trusted;
use std::sync::Arc;
use workalike_device::Sizes;

/// A Function in device form, and its Programs.
#[derive(Debug)]
pub(crate) struct EngineMethod {
    pub(crate) definition: Arc<Definition>,
    pub(crate) plans: PlanCache,
}

impl EngineMethod {
    pub(crate) fn new(definition: Definition) -> EngineMethod {
        EngineMethod { definition: Arc::new(definition), plans: PlanCache::default() }
    }

    /// Makes the Program for these inputs the current one; `false` if there is none.
    pub(crate) fn select(
        &mut self,
        context: &EngineContext,
        args: &[CallInput],
        decided: &[usize],
        trusted: &Trusted,
    ) -> bool {
        let definition = self.definition.as_ref();
        self.plans.select(trusted, || definition.extents(&context.states, args, decided))
    }

    /// Refuses a shape that differs from the first call's, where sizes are fixed.
    pub(crate) fn check_fixed(&self, context: &EngineContext, args: &[CallInput]) -> Result<()> {
        let m = &self.definition;
        let (Sizes::Fixed, Some(first)) = (context.options.sizes, self.plans.iter().next()) else {
            return Ok(());
        };
        let inputs = m.graph.inputs.iter().zip(args.iter().map(CallInput::shape));
        let shared = m.graph.shared.iter().zip(m.states.iter().map(|&s| &context.states[s].shape[..]));
        let mut known = &first.compiled.signature[..];
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
}
