//! Loops that end when a condition fails: blocks of iterations are run speculatively, and rolled back where
//! they went too far.

use super::Engine;
use super::iteration_loop::IterationLoop;
use crate::engine::compile::Definition;
use crate::engine::record::SampledTensor;
use crate::engine::storage::EngineContext;
use crate::error::Result;
use workalike_device::Region;

/// Regions that an iteration changes, and a backup of each.
#[derive(Debug)]
pub(super) struct Backup(Vec<(Region, Region)>);

impl Backup {
    /// A backup of all regions that an iteration of a method changes.
    fn of(method: &Definition, context: &EngineContext) -> Result<Backup> {
        let states = method.updated().map(|position| context.states[position].value_region());
        let status = method.status.get().map(|status| status.region.clone());
        let regions = states.chain(status).filter(|r| r.bytes > 0);
        let with_copy = |r: Region| {
            let copy = Region { bytes: r.bytes, ..context.allocate(r.bytes)? };
            Ok((r, copy))
        };
        Ok(Backup(regions.map(with_copy).collect::<Result<_>>()?))
    }

    fn save(&self, context: &EngineContext) -> Result<()> {
        for (region, backup) in &self.0 {
            context.device.copy(region, backup)?;
        }
        Ok(())
    }

    fn restore(&self, context: &EngineContext) -> Result<()> {
        for (region, backup) in &self.0 {
            context.device.copy(backup, region)?;
        }
        Ok(())
    }
}

/// The outcome of a speculative block.
enum SpeculationResult {
    /// There is no such block.
    None,
    /// All its conditions held.
    MemberArray,
    /// State is restored, and the loop ends with this iteration.
    EndsWith(u64),
}

impl IterationLoop<'_> {
    /// Runs until after the first iteration whose output `flag` is false, or all iterations. Returns the
    /// number of iterations run, and the method that ran last.
    ///
    /// At first the flag is copied to the host after each iteration. Once the loop has run for a while,
    /// iterations are run in speculative blocks: the state is backed up, a block is run, and its flags are
    /// copied to the host together. If one is false, the state is restored and the block's iterations are run
    /// again, up to that one.
    pub(crate) fn run_while(&mut self, engine: &mut Engine, flag: usize) -> Result<(u64, Option<usize>)> {
        let ran = self.run_while_true(engine, flag);
        self.finished(engine, ran)?;
        Ok((self.step, self.current))
    }

    fn run_while_true(&mut self, engine: &mut Engine, flag: usize) -> Result<()> {
        let mut backup = None;
        while self.step < self.n {
            match self.try_block(engine, flag, &mut backup)? {
                SpeculationResult::MemberArray => continue,
                SpeculationResult::EndsWith(last) => {
                    self.run_to(engine, last)?;
                    break;
                }
                SpeculationResult::None => {}
            }
            self.run_to(engine, self.step + 1)?;
            self.check(engine)?;
            let Some(method) = self.current else { break };
            let mut word = [0u8];
            let (region, ..) = engine.last_results(method)?.sampled(SampledTensor::Output(flag))?;
            engine.device().download(&region, &mut word)?;
            if word == [0] {
                break;
            }
        }
        Ok(())
    }

    /// Runs a block of at most as many iterations as were run before, after a backup of the state.
    fn try_block(
        &mut self,
        engine: &mut Engine,
        flag: usize,
        backup: &mut Option<Backup>,
    ) -> Result<SpeculationResult> {
        let end = self.n.min(self.step.saturating_mul(2));
        let sampled = !self.rings.is_empty();
        if end - self.step < 2 || (sampled && (!self.samples_are_close() || self.rings[0].phase() > 0)) {
            return Ok(SpeculationResult::None);
        }
        let method = if sampled { self.methods.probed } else { self.methods.plain };
        let (bound, context) = self.ready(engine, method)?;
        let compiled = bound.compiled;
        let definition = &compiled.definition;
        let mut kind = self.kind(compiled, sampled);
        kind.rings.push((SampledTensor::Output(flag), 1, 0));
        let left = end - self.step;
        let Some(mut unrolled) = bound.unrolled(context, &kind, self.most(end), left)? else {
            return Ok(SpeculationResult::None);
        };
        // The flags are sampled last.
        let Some((stage, count)) = unrolled.block.samples.last().cloned() else {
            return Ok(SpeculationResult::None);
        };
        let backup = match backup {
            Some(backup) => backup,
            None => backup.insert(Backup::of(definition, context)?),
        };
        backup.save(context)?;
        let counted = definition.counted();
        self.replay(context, &mut unrolled)?;
        let mut flags = vec![0u8; count as usize];
        context.device.download(&Region { bytes: count, ..stage }, &mut flags)?;
        let first = flags.iter().position(|f| *f == 0).map(|first| self.step + first as u64);
        let trouble = definition.take_trouble(context)?;
        // Iterations after the end of the loop may report errors; they change nothing.
        let failed = trouble.as_ref().map(|t| self.iteration(t.good).unwrap_or(self.step));
        match (first, trouble) {
            (Some(last), _) if failed.is_none_or(|failed| last < failed) => {
                backup.restore(context)?;
                definition.recount(counted);
                return Ok(SpeculationResult::EndsWith(last + 1));
            }
            (_, Some(trouble)) => return Err(self.located(trouble)),
            _ => {}
        }
        self.keep(context, &unrolled)?;
        self.pass(&mut unrolled);
        Ok(SpeculationResult::MemberArray)
    }
}
