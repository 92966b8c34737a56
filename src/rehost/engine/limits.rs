//! What memory is needed and held, and giving it back.

use super::super::memory::{Layout, MemoryReport};
use super::array::Fed;
use super::plan::constant_bytes;
use super::{Engine, value_bytes};
use crate::error::{DeviceError, Error, Result};
use crate::lower::program::{Program, Role};

impl Engine {
    /// Frees what is not in use: idle memory of both pools, recordings that hold memory of results, and the arena as far as no
    /// Program needs it. Gives the bytes of device memory that were freed, roughly.
    pub(crate) fn trim(&mut self) -> u64 {
        for planned in self.methods.iter_mut().flat_map(|m| &mut m.programs) {
            planned.variants.clear();
        }
        self.host_pool.trim();
        let mut freed = self.pool.trim();
        let arena = self.arena.as_ref().map_or(0, |a| a.bytes);
        let needed = self.methods.iter().flat_map(|m| &m.programs).map(|p| p.layout.bytes).max().unwrap_or(0);
        if arena > needed.max(8) {
            self.drop_arena();
            freed += arena;
        }
        freed
    }

    /// Makes the arena at least this large.
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<()> {
        self.grow_arena(bytes)
    }

    /// Plans and records a call with these inputs, and makes sure of the memory of its results, without running it.
    pub(crate) fn reserve_for(&mut self, method: usize, fed: &[Fed]) -> Result<()> {
        let at = self.planned(method, fed)?;
        self.record(method, at)?;
        let sizes = self
            .results(method, at)
            .map(|(_, dtype, shape)| shape.iter().product::<usize>() as u64 * dtype.size() as u64);
        // Held until all are there.
        let held = sizes.map(|bytes| self.pool.take(bytes)).collect::<Result<Vec<_>, _>>()?;
        drop(held);
        Ok(())
    }

    /// What a call with these inputs needs, and what is held.
    pub(crate) fn memory_report(&self, method: usize, fed: &[Fed]) -> Result<MemoryReport> {
        let (program, layout) = self.drafted(method, fed)?;
        Ok(self.report(method, &program, &layout))
    }

    /// Adds the plan to an out-of-memory error.
    pub(super) fn with_plan(&self, method: usize, program: &Program, layout: &Layout, error: Error) -> Error {
        match error {
            Error::Device(error @ DeviceError::OutOfMemory { .. }) => {
                Error::OutOfMemory { error, plan: Box::new(self.report(method, program, layout)) }
            }
            other => other,
        }
    }

    fn report(&self, method: usize, program: &Program, layout: &Layout) -> MemoryReport {
        let m = &self.methods[method];
        let mut report = MemoryReport::of(program, layout, |role| match role {
            Role::Input(i) => m.graph.inputs.get(*i).map(|&id| m.graph.describe(id)),
            Role::Shared(i) => m.graph.shared.get(*i).map(|&id| m.graph.describe(id)),
            _ => None,
        });
        report.device = self.device.properties().id.clone();
        report.method = m.name.clone();
        report.device_memory = self.device.properties().memory;
        report.state = self.states.iter().map(value_bytes).sum();
        report.arena_held = self.arena.as_ref().map_or(0, |a| a.bytes);
        report.constants_held = self.methods.iter().map(|m| constant_bytes(&m.programs)).sum();
        report.pool = self.pool.report();
        report.host_idle = self.host_pool.idle();
        report
    }
}
