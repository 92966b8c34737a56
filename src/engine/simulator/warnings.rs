//! Warnings about calls that work.

use super::Simulator;
use crate::graph::source_location::Place;
use crate::graph::{Def, VarId};
use workalike_device::Sizes;
use workalike_device::cache::KernelCache;
use workalike_kernels::DType;

/// The number of evicted Programs of a method that are planned again before a warning is given.
const PLANNED_AGAIN: u64 = 8;

impl Simulator {
    /// Causes of lost speed or memory, and possible mistakes, in sentences that say what to do; empty if
    /// there are none. The library itself prints nothing.
    ///
    /// It reports kernels that cannot be cached; more signatures than cached Programs; shared variables of
    /// one name that methods do not share; floats that integers made float64; parents that changed and were
    /// not synced; and Bundles that were saved while this Simulator held newer values.
    pub fn warnings(&self) -> Vec<String> {
        // The host device compiles nothing that could be cached.
        let compiles = self.executor.engines().any(|engine| engine.device().properties().id != "host");
        let cache = KernelCache::of_process().trouble().filter(|_| compiles).map(str::to_string);
        let mut warnings: Vec<String> = cache.into_iter().collect();
        self.warn_of_shapes(&mut warnings);
        self.warn_of_names(&mut warnings);
        self.warn_of_promotions(&mut warnings);
        self.warn_of_parents(&mut warnings);
        warnings
    }

    fn warn_of_shapes(&self, warnings: &mut Vec<String>) {
        for (at, method) in self.methods.iter().enumerate() {
            let again = self.executor.planned_again(at);
            if again < PLANNED_AGAIN {
                continue;
            }
            let advice = match self.executor.engine(0).options().sizes {
                Sizes::Dynamic => "pad inputs to a few sizes",
                _ => "use a backend with .dynamic(), which keeps 64, or pad inputs to a few sizes",
            };
            warnings.push(format!(
                "method {}: shapes vary more than compiled Programs are kept, and {again} of them were compiled again: {advice}",
                method.name
            ));
        }
    }

    fn warn_of_names(&self, warnings: &mut Vec<String>) {
        let named = |state: usize| (!self.states[state].cells.is_empty()).then(|| self.name_of(state));
        let visible: Vec<usize> =
            (0..self.methods.len()).filter(|&m| self.methods[m].hidden.is_none()).collect();
        for later in 1..self.states.len() {
            let Some(name) = named(later) else { continue };
            let Some(earlier) = (0..later).find(|&s| named(s) == Some(name)) else { continue };
            let uses = |method: usize, state: usize| self.executor.states_of(method).contains(&state);
            // A Function with both was written with two variables of one name.
            if visible.iter().any(|&m| uses(m, earlier) && uses(m, later)) {
                continue;
            }
            let first =
                |state| visible.iter().find(|&&m| uses(m, state)).map_or("", |&m| &self.methods[m].name);
            warnings.push(format!(
                "methods {} and {} each have a shared variable {name} of their own: what one updates the other does not see; \
                 compile both Functions over one shared variable if they are to share it",
                first(earlier),
                first(later)
            ));
        }
    }

    /// Where an array of integers made floats of 32 bits or less float64 ones.
    fn warn_of_promotions(&self, warnings: &mut Vec<String>) {
        for method in &self.methods {
            let graph = method.function.graph();
            let converted = |&id: &VarId| {
                let Def::Output { node, .. } = graph.var(id).def else { return None };
                let cast = &graph.nodes[node as usize];
                let from = &graph.var(*cast.inputs.first()?).ty;
                let casts = graph.var(id).ty.dtype == DType::F64 && cast.op.id() == "cast";
                (casts && from.ndim() > 0).then_some((from.dtype, cast.place))
            };
            for node in &graph.nodes {
                let inputs: Vec<_> = node.inputs.iter().filter_map(converted).collect();
                // What a program casts by itself it writes on another line, or alone.
                let here = |&(_, place): &(DType, Option<Place>)| place.is_some() && place == node.place;
                let integers = inputs.iter().filter(|i| here(i)).find(|(dtype, _)| dtype.is_integer());
                let narrow = inputs.iter().filter(|i| here(i)).find(|(dtype, _)| dtype.is_float());
                if let (Some((whole, _)), Some((float, _))) = (integers, narrow) {
                    warnings.push(format!(
                        "method {}: {} of {float} and {whole} computes in float64, as NumPy does{}; cast the integers to {float} \
                         if that is not meant",
                        method.name,
                        node.op.label(),
                        node.written_at()
                    ));
                }
            }
        }
    }

    fn warn_of_parents(&self, warnings: &mut Vec<String>) {
        for (state, parent) in self.states.iter().enumerate() {
            let name = || self.name_of(state);
            if parent.has_moved() {
                warnings.push(format!(
                    "shared variable {} changed in its parent Function, and this Simulator computes with the older value: call \
                     sync_from_parent()",
                    name()
                ));
            }
            if parent.is_ahead() && parent.cells.iter().any(|(cell, _)| cell.was_saved_behind()) {
                warnings.push(format!(
                    "shared variable {} was saved with its parent Function's value, and this Simulator holds a newer one: call \
                     sync_to_parent() before you save, or save the Simulator",
                    name()
                ));
            }
        }
    }
}
