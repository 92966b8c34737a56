//! Loops that end when a condition fails: blocks of steps are tried, and taken back where they went too far.

use super::super::device::Region;
use super::Engine;
use super::context::Context;
use super::method::Definition;
use super::steps::Loop;
use super::tap::Source;
use crate::error::Result;

/// Places that a step changes, and memory to set their contents aside in.
#[derive(Debug)]
pub(super) struct Aside(Vec<(Region, Region)>);

impl Aside {
    /// For all that a step of a method changes.
    fn of(method: &Definition, context: &Context) -> Result<Aside> {
        let states = method.updated().map(|position| context.states[position].value_region());
        let status = method.status.get().map(|status| status.region.clone());
        let places = states.chain(status).filter(|r| r.bytes > 0);
        let with_room = |r: Region| {
            let room = Region { bytes: r.bytes, ..context.allocate(r.bytes)? };
            Ok((r, room))
        };
        Ok(Aside(places.map(with_room).collect::<Result<_>>()?))
    }

    fn set(&self, context: &Context) -> Result<()> {
        for (place, aside) in &self.0 {
            context.device.copy(place, aside)?;
        }
        Ok(())
    }

    fn put_back(&self, context: &Context) -> Result<()> {
        for (place, aside) in &self.0 {
            context.device.copy(aside, place)?;
        }
        Ok(())
    }
}

/// How a block that was tried went.
enum Tried {
    /// There is no such block.
    None,
    /// All its conditions held.
    Held,
    /// State is as before, and the loop ends with this step.
    EndsWith(u64),
}

impl Loop<'_> {
    /// Runs until after the first step whose output `flag` is false, or all steps. Gives the number of steps
    /// run, and the method that ran last.
    ///
    /// The flag comes to the host after each step at first. When the loop has gone on for a while, steps are
    /// tried a block at a time: state is copied aside, a block is run, and its flags come to the host
    /// together. If one is false, state is put back and the block's steps are run again, up to that one.
    pub(crate) fn run_while(&mut self, engine: &mut Engine, flag: usize) -> Result<(u64, Option<usize>)> {
        let mut aside = None;
        while self.step < self.n {
            match self.try_block(engine, flag, &mut aside)? {
                Tried::Held => continue,
                Tried::EndsWith(last) => {
                    self.run_to(engine, last)?;
                    break;
                }
                Tried::None => {}
            }
            self.run_to(engine, self.step + 1)?;
            self.check(engine)?;
            let Some(method) = self.current else { break };
            let mut word = [0u8];
            let (region, ..) = engine.ran(method)?.sampled(Source::Output(flag))?;
            engine.device().download(&region, &mut word)?;
            if word == [0] {
                break;
            }
        }
        Ok((self.step, self.current))
    }

    /// Tries a block of no more steps than were done, with state set aside.
    fn try_block(&mut self, engine: &mut Engine, flag: usize, aside: &mut Option<Aside>) -> Result<Tried> {
        let end = self.n.min(self.step.saturating_mul(2));
        let sampled = !self.taps.is_empty();
        if end - self.step < 2 || (sampled && (!self.samples_are_close() || self.taps[0].phase() > 0)) {
            return Ok(Tried::None);
        }
        let method = if sampled { self.methods.probed } else { self.methods.plain };
        let (bound, context) = self.ready(engine, method)?;
        let compiled = bound.compiled;
        let definition = &compiled.definition;
        let mut kind = self.kind(compiled, sampled);
        kind.taps.push((Source::Output(flag), 1, 0));
        let left = end - self.step;
        let Some(mut unrolled) = bound.unrolled(context, &kind, self.most(end), left)? else {
            return Ok(Tried::None);
        };
        // The flags are sampled last.
        let Some((stage, count)) = unrolled.block.samples.last().cloned() else { return Ok(Tried::None) };
        let aside = match aside {
            Some(aside) => aside,
            None => aside.insert(Aside::of(definition, context)?),
        };
        aside.set(context)?;
        let counted = definition.counted();
        self.replay(context, &mut unrolled)?;
        let mut flags = vec![0u8; count as usize];
        context.device.download(&Region { bytes: count, ..stage }, &mut flags)?;
        let first = flags.iter().position(|f| *f == 0).map(|first| self.step + first as u64);
        let trouble = definition.take_trouble(context)?;
        // Iterations that the loop does not come to may find something wrong, and change nothing.
        let failed = trouble.as_ref().map(|t| self.iteration(t.good).unwrap_or(self.step));
        match (first, trouble) {
            (Some(last), _) if failed.is_none_or(|failed| last < failed) => {
                aside.put_back(context)?;
                definition.recount(counted);
                return Ok(Tried::EndsWith(last + 1));
            }
            (_, Some(trouble)) => return Err(self.located(trouble)),
            _ => {}
        }
        self.keep(context, &unrolled)?;
        self.pass(&mut unrolled);
        Ok(Tried::Held)
    }
}
