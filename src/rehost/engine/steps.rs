//! Steps: a method run many times without coming back to the host.
//!
//! A Program that is one Segment of fixed shapes is run in blocks (see `block`); any other, and what is left over of a block's
//! steps, step by step. Either way the same is computed.

use super::super::device::Region;
use super::array::DeviceArray;
use super::block::{Kind, lcm};
use super::sequence::Sequence;
use super::status::Trouble;
use super::tap::{Source, Tap, size};
use super::{Engine, Fed, value_bytes};
use crate::error::{Error, Result};
use crate::graph::shapes::{Given, infer};
use crate::lower::index_check::Bounds;
use crate::value::Value;

/// With samples at most so many steps apart, blocks take them; else blocks go from one sample to the next.
const CLOSE: u64 = 16;

/// A method, and its twin that computes what inner taps sample as well; the method itself where there are none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twins {
    pub(crate) plain: usize,
    pub(crate) probed: usize,
}

/// A run of many steps.
pub(crate) struct Loop<'t> {
    methods: Twins,
    /// What each input is in all steps; for one with a sequence, a stand-in of its slices' shape.
    constant: Vec<Fed>,
    sequences: Vec<Sequence>,
    taps: Vec<&'t mut Tap>,
    /// Steps that there may be in all.
    n: u64,
    step: u64,
    /// The Program that ran last: method, and position in it.
    current: Option<(usize, usize)>,
    /// Pairs of a count of calls on the device and the iteration that it stands for; one wherever they part.
    marks: Vec<(u64, u64)>,
}

impl<'t> Loop<'t> {
    /// A run of up to `n` steps. `each` holds sequences of at least `n` slices for some of the inputs.
    pub(crate) fn new(
        engine: &Engine,
        methods: Twins,
        n: u64,
        mut constant: Vec<Fed>,
        each: &[(usize, Value)],
        taps: Vec<&'t mut Tap>,
    ) -> Result<Loop<'t>> {
        let sequences = each.iter().map(|(input, value)| Sequence::new(engine, *input, value));
        let sequences = sequences.collect::<Result<Vec<_>>>()?;
        for (input, value) in each {
            if let Fed::Host(zeros) = &constant[*input] {
                constant[*input] = Fed::Slices(zeros.clone(), Bounds::of(value));
            }
        }
        if methods.plain != methods.probed && n > 1 {
            // The two take turns, and each finds its inputs overwritten.
            for (input, fed) in constant.iter_mut().enumerate() {
                if let (Fed::Host(value), false) = (&*fed, each.iter().any(|e| e.0 == input)) {
                    *fed = Fed::Device(engine.upload(value)?);
                }
            }
        }
        Ok(Loop { methods, constant, sequences, taps, n, step: 0, current: None, marks: vec![] })
    }

    /// Runs all steps. Gives the Program that ran last, for its outputs.
    pub(crate) fn run(&mut self, engine: &mut Engine) -> Result<Option<(usize, usize)>> {
        let ran = self.run_to(engine, self.n);
        if !ran.as_ref().is_err_and(Error::may_change_state) {
            // An earlier iteration may have found something wrong on the device, which comes first.
            self.check(engine)?;
        }
        ran.map(|()| self.current)
    }

    /// The number of iterations that were run or enqueued; after an error, of those that succeeded.
    pub(crate) fn done(&self) -> u64 {
        self.step
    }

    /// Reports what an iteration found wrong on the device; waits if one may have.
    fn check(&mut self, engine: &Engine) -> Result<()> {
        match engine.take_trouble(self.methods.plain)? {
            Some(trouble) => Err(self.located(trouble)),
            None => Ok(()),
        }
    }

    /// The error, with the iteration in which it was found. The iterations enqueued behind it changed
    /// nothing.
    fn located(&mut self, trouble: Trouble) -> Error {
        let iteration = self.iteration(trouble.good);
        self.step = iteration.unwrap_or(0);
        match iteration {
            Some(iteration) => self.in_iteration(iteration, trouble.error),
            None => trouble.error,
        }
    }

    /// The iteration that began after so many counted calls; `None` if that was before the loop.
    fn iteration(&self, counted: u64) -> Option<u64> {
        let mark = self.marks.iter().rfind(|(count, _)| *count <= counted)?;
        Some(mark.1 + (counted - mark.0))
    }

    /// An error in one of many iterations.
    fn in_iteration(&self, iteration: u64, error: Error) -> Error {
        match error {
            Error::Run { op, node, message } if self.n > 1 => {
                let last = match iteration {
                    0 => "the state is that before the first".to_string(),
                    _ => format!("the state is that after iteration {}", iteration - 1),
                };
                let message =
                    format!("{message}; in iteration {iteration} of {}, counted from 0: {last}", self.n);
                Error::Run { op, node, message }
            }
            error => error,
        }
    }

    /// Notes which iteration comes next after how many counted calls.
    fn mark(&mut self, engine: &Engine, method: usize, at: usize) {
        if engine.methods[method].programs[at].program.status.is_none() {
            return;
        }
        let counted = engine.counted(method);
        let goes_on = |&(count, step): &(u64, u64)| counted.checked_sub(count) == Some(self.step - step);
        if !self.marks.last().is_some_and(goes_on) {
            self.marks.push((counted, self.step));
        }
    }

    /// Runs until after the first step whose output `flag` is false, or all steps. Gives the number of steps run, and the Program.
    ///
    /// The flag comes to the host after each step at first. When the loop has gone on for a while, steps are tried a block at a
    /// time: state is copied aside, a block is run, and its flags come to the host together. If one is false, state is put back
    /// and the block's steps are run again, up to that one.
    pub(crate) fn run_while(
        &mut self,
        engine: &mut Engine,
        flag: usize,
    ) -> Result<(u64, Option<(usize, usize)>)> {
        let mut aside = None;
        while self.step < self.n {
            if let Some(last) = self.try_block(engine, flag, &mut aside)? {
                if let Some(last) = last {
                    self.run_to(engine, last)?;
                    break;
                }
                continue;
            }
            self.run_to(engine, self.step + 1)?;
            self.check(engine)?;
            let Some((method, at)) = self.current else { break };
            let mut word = [0u8];
            engine.device.download(&engine.sampled(method, at, Source::Output(flag))?.0, &mut word)?;
            if word == [0] {
                break;
            }
        }
        Ok((self.step, self.current))
    }

    fn run_to(&mut self, engine: &mut Engine, end: u64) -> Result<()> {
        while self.step < end {
            let due = self.taps.iter().map(|t| t.until_due()).min();
            let Some(due) = due else {
                let method = self.methods.plain;
                if !self.block(engine, method, end, false)? {
                    self.single(engine, method)?;
                }
                continue;
            };
            // What blocks of samples differ in is kept low by starting them where the first tap was just served.
            if self.samples_are_close() {
                let method = self.methods.probed;
                if self.taps[0].phase() > 0 || !self.block(engine, method, end, true)? {
                    self.single(engine, method)?;
                }
                continue;
            }
            let inner = self.taps.iter().any(|t| t.inner && t.until_due() == 1);
            let method = if inner { self.methods.probed } else { self.methods.plain };
            let before = end.min(self.step.saturating_add(due - 1));
            if due == 1 || !self.block(engine, method, before, false)? {
                self.single(engine, method)?;
            }
        }
        Ok(())
    }

    fn samples_are_close(&self) -> bool {
        !self.taps.is_empty() && self.taps.iter().fold(1, |all, t| lcm(all, t.every)) <= CLOSE
    }

    /// The Program of a method for the next step, recorded, with its inputs in place but for slices.
    fn ready(&mut self, engine: &mut Engine, method: usize) -> Result<usize> {
        let dynamic = !engine.methods[method].demand.is_static();
        if let Some((last, at)) = self.current
            && last == method
            && !dynamic
            && engine.is_recorded(method, at)
        {
            return Ok(at);
        }
        let mut fed = self.constant.clone();
        if dynamic {
            // Slices may decide shapes.
            for sequence in &mut self.sequences {
                let bounds = fed[sequence.input].bounds().map(Box::new);
                let slice = sequence.slice(engine, self.step)?;
                fed[sequence.input] = Fed::Device(DeviceArray { bounds, ..slice });
            }
        }
        if method == self.methods.probed {
            self.fit_taps(engine, method, &fed)?;
        }
        let at = engine.planned(method, &fed)?;
        engine.record(method, at)?;
        for input in (0..fed.len()).filter(|i| !self.sequences.iter().any(|s| s.input == *i)) {
            engine.feed(method, at, &fed, Some(input))?;
        }
        self.current = Some((method, at));
        Ok(at)
    }

    /// Gives the states that inner taps sample the extents that this call will give them.
    fn fit_taps(&self, engine: &mut Engine, method: usize, fed: &[Fed]) -> Result<()> {
        let inner: Vec<usize> = self.taps.iter().filter(|t| t.inner).filter_map(|t| t.position()).collect();
        let open = |p: &usize| engine.states[*p].binding.ty.shape.contains(&None);
        if !inner.iter().any(open) {
            return Ok(());
        }
        let m = &engine.methods[method];
        let inputs: Vec<Vec<usize>> = fed.iter().map(|f| f.shape().to_vec()).collect();
        let shared: Vec<Vec<usize>> = m.states.iter().map(|&s| engine.states[s].shape.clone()).collect();
        let input_values = |i: usize| fed.get(i).and_then(Fed::value);
        let shared_values = |i: usize| engine.read_state(m.states[i]).ok();
        let (inputs, shared) = (inputs.as_slice(), shared.as_slice());
        let given = Given { inputs, shared, input_values: &input_values, shared_values: &shared_values };
        let shapes = infer(&m.graph, &m.demand, &given)?;
        let wanted = m.graph.updates.iter().map(|&(s, id)| (m.states[s as usize], id));
        let wanted = wanted.filter(|(p, _)| inner.contains(p));
        let wanted: Vec<_> = wanted.map(|(p, id)| (p, shapes.shapes[id as usize].clone())).collect();
        for (position, shape) in wanted {
            engine.reshape_state(position, &shape)?;
        }
        Ok(())
    }

    /// One step.
    fn single(&mut self, engine: &mut Engine, method: usize) -> Result<()> {
        let ready = self.ready(engine, method);
        let at = ready.map_err(|error| self.in_iteration(self.step, error))?;
        if !self.sequences.is_empty() {
            let mut fed = self.constant.clone();
            for sequence in &mut self.sequences {
                fed[sequence.input] = Fed::Device(sequence.slice(engine, self.step)?);
            }
            for sequence in &self.sequences {
                engine.feed(method, at, &fed, Some(sequence.input))?;
            }
        }
        self.mark(engine, method, at);
        engine.replay(method, at).map_err(|error| self.in_iteration(self.step, error))?;
        self.step += 1;
        if engine.is_recorded(method, at) {
            engine.blocks(method, at)?.done += 1;
        }
        for tap in &mut self.taps {
            tap.passed(1);
            if tap.phase() == 0 {
                let (region, dtype, shape) = engine.sampled(method, at, tap.source)?;
                tap.put(engine, &region, dtype, &shape, 1)?;
            }
        }
        Ok(())
    }

    /// What blocks of this loop are like.
    fn kind(&self, engine: &Engine, method: usize, at: usize, sampled: bool) -> Kind {
        use crate::lower::program::Role;
        let planned = &engine.methods[method].programs[at];
        let read = |input: usize| planned.program.buffers.iter().any(|b| b.role == Role::Input(input));
        let sequences = self.sequences.iter().filter(|s| read(s.input) && s.bytes > 0);
        let sequences = sequences.map(|s| (s.input, s.bytes, s.stride)).collect();
        let taps = self.taps.iter().filter(|_| sampled).map(|t| (t.source, t.every, t.phase())).collect();
        Kind { sequences, taps }
    }

    /// Runs a block that ends at step `end` at the latest, if there is one.
    fn block(&mut self, engine: &mut Engine, method: usize, end: u64, sampled: bool) -> Result<bool> {
        if end.saturating_sub(self.step) < 2 {
            return Ok(false);
        }
        let at = self.ready(engine, method)?;
        if !engine.unrolls(method, at) {
            return Ok(false);
        }
        let kind = self.kind(engine, method, at, sampled);
        let left = self.n - self.step;
        let Some(block) = engine.block(method, at, &kind, self.most(end), left)? else { return Ok(false) };
        self.replay(engine, method, at, block)?;
        if sampled {
            self.keep(engine, method, at, block)?;
        }
        self.pass(engine, method, at, block)?;
        Ok(true)
    }

    /// The most steps that a block may have which ends at step `end` at the latest.
    fn most(&self, end: u64) -> u64 {
        self.sequences.iter().fold(end - self.step, |most, s| most.min(s.most()))
    }

    fn replay(&mut self, engine: &mut Engine, method: usize, at: usize, block: usize) -> Result<()> {
        let found = engine.block_at(method, at, block)?;
        let (steps, stages) = (found.steps, found.stages.clone());
        let inputs = self.kind(engine, method, at, false).sequences;
        let staged = self.sequences.iter_mut().filter(|s| inputs.iter().any(|i| i.0 == s.input));
        for (sequence, stage) in staged.zip(stages) {
            let slices = sequence.slices(engine, self.step, steps)?;
            engine.device.copy(&slices, &Region { bytes: slices.bytes, ..stage })?;
        }
        self.mark(engine, method, at);
        engine.note_calls(method, at, steps);
        engine.block_at(method, at, block)?.recording.replay()?;
        engine.forget_bounds(method);
        Ok(())
    }

    /// Keeps the samples of a block that ran.
    fn keep(&mut self, engine: &mut Engine, method: usize, at: usize, block: usize) -> Result<()> {
        let samples = engine.block_at(method, at, block)?.samples.clone();
        for (tap, (stage, count)) in self.taps.iter_mut().zip(samples) {
            let (_, dtype, shape) = engine.sampled(method, at, tap.source)?;
            tap.put(engine, &stage, dtype, &shape, count)?;
        }
        Ok(())
    }

    /// Counts the steps of a block that ran.
    fn pass(&mut self, engine: &mut Engine, method: usize, at: usize, block: usize) -> Result<()> {
        let steps = engine.block_at(method, at, block)?.steps;
        engine.blocks(method, at)?.done += steps;
        self.step += steps;
        self.taps.iter_mut().for_each(|t| t.passed(steps));
        Ok(())
    }

    /// Tries a block of no more steps than were done, with state set aside. `None` if there is no such block; `Some(None)` if all its
    /// flags were true; otherwise state is as before, and the loop ends with the step given.
    fn try_block(
        &mut self,
        engine: &mut Engine,
        flag: usize,
        aside: &mut Option<Vec<(Region, Region)>>,
    ) -> Result<Option<Option<u64>>> {
        let end = self.n.min(self.step.saturating_mul(2));
        let sampled = !self.taps.is_empty();
        if end - self.step < 2 || (sampled && (!self.samples_are_close() || self.taps[0].phase() > 0)) {
            return Ok(None);
        }
        let method = if sampled { self.methods.probed } else { self.methods.plain };
        let at = self.ready(engine, method)?;
        if !engine.unrolls(method, at) {
            return Ok(None);
        }
        let mut kind = self.kind(engine, method, at, sampled);
        kind.taps.push((Source::Output(flag), 1, 0));
        let left = end - self.step;
        let Some(block) = engine.block(method, at, &kind, self.most(end), left)? else { return Ok(None) };
        let places = match aside {
            Some(places) => places,
            None => aside.insert(engine.places_aside(method)?),
        };
        for (place, aside) in places.iter() {
            engine.device.copy(place, aside)?;
        }
        let counted = engine.counted(method);
        self.replay(engine, method, at, block)?;
        let stage = engine.block_at(method, at, block)?.samples.last().cloned();
        let Some((stage, count)) = stage else { return Err(Error::Internal("a block without flags".into())) };
        let mut flags = vec![0u8; count as usize];
        engine.device.download(&Region { bytes: count, ..stage }, &mut flags)?;
        let first = flags.iter().position(|f| *f == 0).map(|first| self.step + first as u64);
        let trouble = engine.take_trouble(method)?;
        // Iterations that the loop does not come to may find something wrong, and change nothing.
        let failed = trouble.as_ref().map(|t| self.iteration(t.good).unwrap_or(self.step));
        match (first, trouble) {
            (Some(last), _) if failed.is_none_or(|failed| last < failed) => {
                for (place, aside) in places.iter() {
                    engine.device.copy(aside, place)?;
                }
                engine.recount(method, counted);
                return Ok(Some(Some(last + 1)));
            }
            (_, Some(trouble)) => return Err(self.located(trouble)),
            _ => {}
        }
        self.keep(engine, method, at, block)?;
        self.pass(engine, method, at, block)?;
        Ok(Some(None))
    }
}

impl Engine {
    /// All that a step of a method changes, and as much memory to set it aside.
    fn places_aside(&self, method: usize) -> Result<Vec<(Region, Region)>> {
        let states = self.updated(method).map(|position| {
            let state = &self.states[position];
            Region { bytes: value_bytes(state), ..state.region.clone() }
        });
        let status = self.status(method).map(|status| status.region.clone());
        let places = states.chain(status).filter(|r| r.bytes > 0);
        places.map(|r| Ok((r.clone(), Region { bytes: r.bytes, ..self.allocate(r.bytes)? }))).collect()
    }

    /// Makes room for a value of this shape at a state's place, whose value is lost if the shape differs.
    fn reshape_state(&mut self, position: usize, shape: &[usize]) -> Result<()> {
        let state = &self.states[position];
        if state.shape == shape {
            return Ok(());
        }
        let bytes = size(state.binding.ty.dtype, shape);
        let region = self.allocate(bytes)?;
        let state = &mut self.states[position];
        (state.region, state.shape) = (region, shape.to_vec());
        self.epoch += 1;
        Ok(())
    }
}
