//! The Programs of a method: one per signature, in a bounded list.

use super::evicted::EvictedSignatures;
use super::planned::Planned;
use crate::lower::index_bounds::Trusted;
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;
use workalike_device::Region;

/// The planned Programs of a method. The most recently used one is last, and is called the current one.
#[derive(Debug, Default)]
pub(crate) struct PlanCache {
    list: Vec<Planned>,
    dropped: EvictedSignatures,
}

impl PlanCache {
    /// Makes the Program for these extents and assumptions the current one; `false` if there is none.
    pub(crate) fn select<'e, E>(&mut self, trusted: &Trusted, extents: impl Fn() -> E) -> bool
    where
        E: Iterator<Item = &'e usize>,
    {
        let fits = |p: &Planned| p.compiled.trusted == *trusted && extents().eq(p.compiled.signature.iter());
        let Some(at) = self.list.iter().rposition(fits) else { return false };
        if at + 1 != self.list.len() {
            self.list[at..].rotate_left(1);
        }
        true
    }

    /// Adds a Program, which becomes the current one. The least recently used ones are evicted while there
    /// are more than `kept`, or all constants take more than `constants` bytes.
    pub(crate) fn insert(&mut self, planned: Planned, kept: usize, constants: u64) {
        self.dropped.planned(&planned.compiled.signature);
        self.list.push(planned);
        while self.list.len() > 1 && (self.list.len() > kept || self.constant_bytes() > constants) {
            self.dropped.note(&self.list.remove(0).compiled.signature);
        }
    }

    /// Removes the current Program and returns it.
    pub(crate) fn remove_current(&mut self) -> Option<Planned> {
        self.list.pop()
    }

    pub(crate) fn current(&self) -> Option<&Planned> {
        self.list.last()
    }

    pub(crate) fn current_mut(&mut self) -> Option<&mut Planned> {
        self.list.last_mut()
    }

    /// All Programs, the current one last.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Planned> {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Planned> {
        self.list.iter_mut()
    }

    /// How often a Program was planned again after it was evicted.
    pub(crate) fn planned_again(&self) -> u64 {
        self.dropped.again()
    }

    /// The region of a constant, if a Program has it.
    pub(crate) fn constant(&self, value: &Value) -> Option<Region> {
        let compiled = self.list.iter().rev().map(|p| &p.compiled);
        let mut known = compiled.flat_map(|c| c.program.constants.iter().zip(&c.constants));
        known.find(|(known, _)| known.is_same(value)).map(|(_, region)| region.clone())
    }

    /// Bytes of the distinct constants.
    pub(crate) fn constant_bytes(&self) -> u64 {
        let all = self.list.iter().flat_map(|p| &p.compiled.constants);
        let distinct: HashMap<_, u64> = all.map(|r| (Arc::as_ptr(&r.memory).cast::<()>(), r.bytes)).collect();
        distinct.values().sum()
    }
}
