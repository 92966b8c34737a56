//! Memory that is needed and held, and its release.

use super::Engine;
use crate::engine::compile::Definition;
use crate::engine::memory::Layout;
use crate::engine::storage::{CallInput, STATUS_BYTES, State, Status};
use crate::error::{DeviceError, Error, Result};
use crate::lower::program::{Program, Role};
use crate::memory_report::MemoryReport;
use workalike_device::{Region, Sizes};

impl Engine {
    /// [`EngineContext::allocate`](super::EngineContext::allocate). If the device has no memory left,
    /// everything that is not in use is freed first.
    pub(super) fn allocate_anew(&mut self, bytes: u64) -> Result<Region> {
        match self.context.allocate(bytes) {
            Err(Error::Device(DeviceError::OutOfMemory { .. })) if self.trim() > 0 => {
                self.context.allocate(bytes)
            }
            outcome => outcome,
        }
    }

    /// Makes the arena large enough for a method's current Program, and allocates its status words.
    pub(super) fn make_room(&mut self, method: usize) -> Result<()> {
        let m = &self.methods[method];
        let Some(planned) = m.plans.current() else { return Ok(()) };
        let needed = planned.compiled.layout.arena.bytes;
        if planned.compiled.program.status.is_some() && m.definition.status.get().is_none() {
            // First, since the search for memory may drop an arena that is larger than needed.
            self.make_status(method)?;
        }
        let Err(error) = self.grow_arena(needed) else { return Ok(()) };
        // The Program is dropped, so that nothing is held for shapes that cannot run.
        Err(match self.methods[method].plans.remove_current().map(|gone| gone.compiled) {
            Some(gone) => self.with_plan(&gone.definition, &gone.program, &gone.layout, error),
            None => error,
        })
    }

    fn make_status(&mut self, method: usize) -> Result<()> {
        let memory = self.allocate_anew(STATUS_BYTES as u64)?;
        let status = Status::new(self.device(), memory)?;
        self.methods[method].definition.status.get_or_init(|| status);
        Ok(())
    }

    /// Makes the arena at least this large.
    fn grow_arena(&mut self, needed: u64) -> Result<()> {
        let had = self.context.arena.as_ref().map_or(0, |a| a.bytes);
        if had >= needed {
            return Ok(());
        }
        // The old arena is freed first, so that both need not fit; recordings over it become stale.
        self.drop_arena();
        if self.context.options.sizes == Sizes::Dynamic && had > 0 {
            // 25% more than needed, if the device has it.
            let ahead = needed.saturating_add(needed / 4);
            self.context.arena = self.context.allocate(ahead).ok();
        }
        if self.context.arena.is_none() {
            self.context.arena = Some(self.allocate_anew(needed)?);
        }
        Ok(())
    }

    fn drop_arena(&mut self) {
        self.context.arena = None;
        self.context.epoch += 1;
        for planned in self.methods.iter_mut().flat_map(|m| m.plans.iter_mut()) {
            planned.drop_recordings();
        }
    }

    /// Frees memory that is not in use: idle memory of both pools, recordings that hold memory of results,
    /// and the part of the arena that no Program needs. Returns the approximate number of bytes of device
    /// memory freed.
    pub(crate) fn trim(&mut self) -> u64 {
        for planned in self.methods.iter_mut().flat_map(|m| m.plans.iter_mut()) {
            planned.caller_recordings.clear();
        }
        self.context.host_pool.trim();
        let mut freed = self.context.pool.trim();
        let arena = self.context.arena.as_ref().map_or(0, |a| a.bytes);
        let planned = self.methods.iter().flat_map(|m| m.plans.iter());
        let needed = planned.map(|planned| planned.compiled.layout.arena.bytes).max().unwrap_or(0);
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

    /// Plans and records a call with these inputs, and allocates the memory of its results, without running
    /// it.
    pub(crate) fn reserve_for(&mut self, method: usize, args: &[CallInput]) -> Result<()> {
        let (planned, context) = self.ready(method, args)?;
        planned.record(context)?;
        // MemberArray until all are allocated.
        let sizes = planned.compiled.result_sizes();
        let held = sizes.map(|bytes| context.pool.take(bytes)).collect::<Result<Vec<_>, _>>()?;
        drop(held);
        Ok(())
    }

    /// The memory that a call with these inputs needs, and the memory that is held.
    pub(crate) fn memory_report(&self, method: usize, args: &[CallInput]) -> Result<MemoryReport> {
        let definition = &self.methods[method].definition;
        let (program, layout) = definition.drafted(&self.context, args)?;
        Ok(self.report(definition, &program, &layout))
    }

    /// Adds the plan to an out-of-memory error.
    pub(super) fn with_plan(
        &self,
        method: &Definition,
        program: &Program,
        layout: &Layout,
        error: Error,
    ) -> Error {
        match error {
            Error::Device(error @ DeviceError::OutOfMemory { .. }) => {
                Error::OutOfMemory { error, plan: Box::new(self.report(method, program, layout)) }
            }
            other => other,
        }
    }

    fn report(&self, method: &Definition, program: &Program, layout: &Layout) -> MemoryReport {
        let graph = &method.graph;
        let mut report = MemoryReport::of(program, layout, |role| match role {
            Role::Input(i) => graph.inputs.get(*i).map(|&id| graph.describe(id)),
            Role::Shared(i) => graph.shared.get(*i).map(|&id| graph.describe(id)),
            _ => None,
        });
        let context = &self.context;
        report.device = context.device.properties().id.clone();
        report.method = method.name.clone();
        report.device_memory = context.device.properties().memory;
        report.state = context.states.iter().map(State::bytes).sum();
        report.arena_held = context.arena.as_ref().map_or(0, |a| a.bytes);
        report.constants_held = self.methods.iter().map(|m| m.plans.constant_bytes()).sum();
        report.pool = context.pool.report();
        report.host_idle = context.host_pool.idle();
        report
    }
}
