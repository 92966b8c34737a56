//! Warnings about calls that work.

use super::Simulator;
use crate::rehost::Sizes;
use crate::rehost::device::cache::KernelCache;

/// The number of evicted Programs of a method that are planned again before a warning is given.
const PLANNED_AGAIN: u64 = 8;

impl Simulator {
    /// Causes of lost speed or memory, and possible mistakes, in sentences that say what to do; empty if
    /// there are none. The library itself prints nothing.
    ///
    /// It reports kernels that cannot be cached; more signatures than cached Programs; shared variables of
    /// one name that methods do not share; parents that changed and were not synced; and Bundles that were
    /// saved while this Simulator held newer values.
    pub fn warnings(&self) -> Vec<String> {
        // The host device compiles nothing that could be cached.
        let compiles = self.executor.engines().any(|engine| engine.device().properties().id != "host");
        let cache = KernelCache::of_process().trouble().filter(|_| compiles).map(str::to_string);
        let mut warnings: Vec<String> = cache.into_iter().collect();
        self.warn_of_shapes(&mut warnings);
        self.warn_of_names(&mut warnings);
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
