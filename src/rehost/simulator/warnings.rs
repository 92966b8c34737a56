//! What a person should know although everything works.

use super::Simulator;
use crate::rehost::cache::KernelCache;

impl Simulator {
    /// What makes this slower or less than it could be, in sentences for people, each saying what to do; empty if nothing does.
    /// The library itself prints nothing.
    pub fn warnings(&self) -> Vec<String> {
        // The host compiles nothing that could be kept.
        let compiles = self.engine.device().properties().id != "host";
        KernelCache::of_process().trouble().filter(|_| compiles).map(str::to_string).into_iter().collect()
    }
}
