//! Iterations: a method run many times without returning to the host.
//!
//! A Program that is one Segment of fixed shapes is run in blocks (see `block`). Other Programs, and
//! iterations that do not fill a block, are run one by one. Both compute the same.

use super::Engine;
use crate::engine::compile::{Compiled, Definition};
use crate::engine::record::{BlockKey, BoundProgram, RecordedBlock, SampleRing, Sequence, Unrolled, lcm};
use crate::engine::storage::{CallInput, DeviceArray, EngineContext, KnownBounds, Trouble};
use crate::error::{Error, Result};
use workalike_device::Region;

/// If samples are at most this many iterations apart, blocks include them; otherwise a block ends before a
/// sample.
const CLOSE: u64 = 16;

/// A method, and its twin, which also computes what inner rings sample; the method itself if there are none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twins {
    pub(crate) plain: usize,
    pub(crate) probed: usize,
}

/// A run of many iterations.
pub(crate) struct IterationLoop<'t> {
    pub(crate) methods: Twins,
    /// The value of each input in all iterations; for a sequence, a stand-in of its slices' shape.
    constant: Vec<CallInput>,
    sequences: Vec<Sequence>,
    pub(crate) rings: Vec<&'t mut SampleRing>,
    /// Maximum number of iterations.
    pub(crate) n: u64,
    pub(crate) step: u64,
    /// The method that ran last.
    pub(crate) current: Option<usize>,
    /// Pairs of a count of calls on the device and the iteration it stands for; a new pair where their
    /// difference changes.
    marks: Vec<(u64, u64)>,
}

impl<'t> IterationLoop<'t> {
    /// A run of up to `n` iterations. `each` holds sequences of at least `n` slices for some of the inputs.
    pub(crate) fn new(
        engine: &Engine,
        methods: Twins,
        n: u64,
        mut constant: Vec<CallInput>,
        each: &[(usize, CallInput)],
        rings: Vec<&'t mut SampleRing>,
    ) -> Result<IterationLoop<'t>> {
        let sequences = each.iter().map(|(input, value)| Sequence::new(engine.context(), *input, value));
        let sequences = sequences.collect::<Result<Vec<_>>>()?;
        for (input, value) in each {
            if let CallInput::Host(zeros) = &constant[*input] {
                constant[*input] = CallInput::Slices(zeros.clone(), value.bounds());
            }
        }
        if methods.plain != methods.probed && n > 1 {
            // Method and twin alternate, and each overwrites the other's inputs.
            for (input, args) in constant.iter_mut().enumerate() {
                if let (CallInput::Host(value), false) = (&*args, each.iter().any(|e| e.0 == input)) {
                    *args = CallInput::Device(engine.upload(value)?);
                }
            }
        }
        Ok(IterationLoop { methods, constant, sequences, rings, n, step: 0, current: None, marks: vec![] })
    }

    /// Runs all iterations. Returns the method that ran last, which has the outputs.
    pub(crate) fn run(&mut self, engine: &mut Engine) -> Result<Option<usize>> {
        let ran = self.run_to(engine, self.n);
        self.finished(engine, ran)?;
        Ok(self.current)
    }

    /// The outcome of iterations that were enqueued, as far as `ran` says. What the device reported is read
    /// and cleared, whatever failed. An earlier iteration may have failed on the device; its error has
    /// priority.
    pub(crate) fn finished<T>(&mut self, engine: &Engine, ran: Result<T>) -> Result<T> {
        match ran {
            Err(error) if error.may_change_state() => {
                let definition = &engine.methods[self.methods.plain].definition;
                Err(definition.aborted_call_error(engine.context(), error))
            }
            ran => self.check(engine).and(ran),
        }
    }

    /// The number of iterations that were run or enqueued; after an error, of the successful ones.
    pub(crate) fn done(&self) -> u64 {
        self.step
    }

    /// Reports the error that an iteration found on the device; waits if there may be one.
    pub(crate) fn check(&mut self, engine: &Engine) -> Result<()> {
        let definition = &engine.methods[self.methods.plain].definition;
        match definition.take_trouble(engine.context())? {
            Some(trouble) => Err(self.located(trouble)),
            None => Ok(()),
        }
    }

    /// The error, with the iteration in which it was found. The iterations enqueued behind it changed
    /// nothing.
    pub(crate) fn located(&mut self, trouble: Trouble) -> Error {
        let iteration = self.iteration(trouble.good);
        self.step = iteration.unwrap_or(0);
        match iteration {
            Some(iteration) => in_iteration(trouble.error, iteration, self.n),
            None => trouble.error,
        }
    }

    /// [`Definition::aborted_call_error`] for an error of the iteration that is running.
    fn settled(&mut self, definition: &Definition, context: &EngineContext, error: Error) -> Error {
        match definition.take_aborted(context, &error) {
            Some(trouble) => self.located(trouble),
            None => in_iteration(error, self.step, self.n),
        }
    }

    /// The iteration that began after `counted` counted calls; `None` if that was before the loop.
    pub(crate) fn iteration(&self, counted: u64) -> Option<u64> {
        let mark = self.marks.iter().rfind(|(count, _)| *count <= counted)?;
        Some(mark.1 + (counted - mark.0))
    }

    /// Notes which iteration comes next, and the number of counted calls before it.
    fn mark(&mut self, compiled: &Compiled) {
        if compiled.program.status.is_none() {
            return;
        }
        let counted = compiled.definition.counted();
        let goes_on = |&(count, step): &(u64, u64)| counted.checked_sub(count) == Some(self.step - step);
        if !self.marks.last().is_some_and(goes_on) {
            self.marks.push((counted, self.step));
        }
    }

    pub(super) fn run_to(&mut self, engine: &mut Engine, end: u64) -> Result<()> {
        while self.step < end {
            let due = self.rings.iter().map(|t| t.until_due()).min();
            let Some(due) = due else {
                let method = self.methods.plain;
                if !self.block(engine, method, end, false)? {
                    self.single(engine, method)?;
                }
                continue;
            };
            // Blocks start after a sample of the first ring, so that they are of few kinds.
            if self.samples_are_close() {
                let method = self.methods.probed;
                if self.rings[0].phase() > 0 || !self.block(engine, method, end, true)? {
                    self.single(engine, method)?;
                }
                continue;
            }
            let inner = self.rings.iter().any(|t| t.inner && t.until_due() == 1);
            let method = if inner { self.methods.probed } else { self.methods.plain };
            let before = end.min(self.step.saturating_add(due - 1));
            if due == 1 || !self.block(engine, method, before, false)? {
                self.single(engine, method)?;
            }
        }
        Ok(())
    }

    pub(super) fn samples_are_close(&self) -> bool {
        !self.rings.is_empty() && self.rings.iter().fold(1, |all, t| lcm(all, t.every)) <= CLOSE
    }

    /// The Program of a method for the next iteration, recorded, with its inputs copied, except slices.
    pub(crate) fn ready<'e>(
        &mut self,
        engine: &'e mut Engine,
        method: usize,
    ) -> Result<(BoundProgram<'e>, &'e mut EngineContext)> {
        let m = &engine.methods[method];
        let dynamic = !m.definition.demand.is_static();
        let recorded = m.plans.current().is_some_and(|planned| planned.is_recorded(engine.context()));
        if dynamic || !recorded || self.current != Some(method) {
            self.prepare(engine, method, dynamic)?;
        }
        let (planned, context) = engine.current(method)?;
        let bound = planned.rebind(context)?;
        Ok((bound, context))
    }

    /// Plans and records a method for the next iteration, and copies its inputs, except slices.
    fn prepare(&mut self, engine: &mut Engine, method: usize, dynamic: bool) -> Result<()> {
        let mut args = self.constant.clone();
        if dynamic {
            // Slices may decide shapes.
            for sequence in &mut self.sequences {
                let bounds = args[sequence.input].bounds().map(KnownBounds::new);
                let slice = sequence.slice(engine.context(), self.step)?;
                args[sequence.input] = CallInput::Device(DeviceArray { bounds, ..slice });
            }
        }
        if method == self.methods.probed {
            let Engine { context, methods, .. } = &mut *engine;
            self.fit_taps(context, &methods[method].definition, &args)?;
        }
        let (planned, context) = engine.ready(method, &args)?;
        let bound = planned.bind(context, &args)?;
        for input in (0..args.len()).filter(|i| !self.sequences.iter().any(|s| s.input == *i)) {
            bound.upload_inputs(context, &args, Some(input))?;
        }
        self.current = Some(method);
        Ok(())
    }

    /// Gives the states that inner rings sample the extents of this call's values.
    fn fit_taps(&self, context: &mut EngineContext, method: &Definition, args: &[CallInput]) -> Result<()> {
        let inner: Vec<usize> = self.rings.iter().filter(|t| t.inner).filter_map(|t| t.position()).collect();
        let open = |p: &usize| context.states[*p].binding.ty.shape.contains(&None);
        if !inner.iter().any(open) {
            return Ok(());
        }
        let shapes = method.infer_lending(context, args, false)?;
        for &(shared, id) in &method.graph.updates {
            let position = method.states[shared as usize];
            if inner.contains(&position) {
                context.reshape_state(position, &shapes.shapes[id as usize])?;
            }
        }
        Ok(())
    }

    /// Runs one iteration.
    pub(crate) fn single(&mut self, engine: &mut Engine, method: usize) -> Result<()> {
        let ready = self.ready(engine, method);
        let (mut bound, context) = ready.map_err(|error| in_iteration(error, self.step, self.n))?;
        if !self.sequences.is_empty() {
            let mut args = self.constant.clone();
            for sequence in &mut self.sequences {
                args[sequence.input] = CallInput::Device(sequence.slice(context, self.step)?);
            }
            for sequence in &self.sequences {
                bound.upload_inputs(context, &args, Some(sequence.input))?;
            }
        }
        self.mark(bound.compiled);
        if let Err(error) = bound.replay_in_loop(context) {
            return Err(self.settled(&bound.compiled.definition, context, error));
        }
        self.step += 1;
        if bound.recorded.is_current(context) {
            bound.recorded.blocks.done += 1;
        }
        for ring in &mut self.rings {
            ring.passed(1);
            if ring.phase() == 0 {
                let (region, dtype, shape) = bound.results(context).sampled(ring.source)?;
                ring.put(context, &region, dtype, &shape, 1)?;
            }
        }
        Ok(())
    }

    /// The kind of this loop's blocks.
    pub(crate) fn kind(&self, compiled: &Compiled, sampled: bool) -> BlockKey {
        let sequences = self.sequences.iter().filter(|s| compiled.reads_input(s.input) && s.bytes > 0);
        let sequences = sequences.map(|s| (s.input, s.bytes, s.stride)).collect();
        let rings = self.rings.iter().filter(|_| sampled).map(|t| (t.source, t.every, t.phase())).collect();
        BlockKey { sequences, rings }
    }

    /// Runs a block that ends at iteration `end` or before. False if there is none.
    fn block(&mut self, engine: &mut Engine, method: usize, end: u64, sampled: bool) -> Result<bool> {
        if end.saturating_sub(self.step) < 2 {
            return Ok(false);
        }
        let (bound, context) = self.ready(engine, method)?;
        let kind = self.kind(bound.compiled, sampled);
        let left = self.n - self.step;
        let Some(mut unrolled) = bound.unrolled(context, &kind, self.most(end), left)? else {
            return Ok(false);
        };
        self.replay(context, &mut unrolled)?;
        if sampled {
            self.keep(context, &unrolled)?;
        }
        self.pass(&mut unrolled);
        Ok(true)
    }

    /// Maximum number of iterations of a block that ends at iteration `end` or before.
    pub(crate) fn most(&self, end: u64) -> u64 {
        self.sequences.iter().fold(end - self.step, |most, s| most.min(s.most()))
    }

    /// Copies a block's slices, and runs it.
    pub(crate) fn replay(&mut self, context: &mut EngineContext, unrolled: &mut Unrolled<'_>) -> Result<()> {
        let compiled = unrolled.compiled;
        let RecordedBlock { kind, steps, segment, stages, .. } = &mut *unrolled.block;
        let takes = |input: usize| kind.sequences.iter().any(|s| s.0 == input);
        let staged = self.sequences.iter_mut().filter(|s| takes(s.input));
        for (sequence, stage) in staged.zip(stages.iter()) {
            let slices = sequence.slices(context, self.step, *steps)?;
            context.device.copy(&slices, &Region { bytes: slices.bytes, ..stage.clone() })?;
        }
        self.mark(compiled);
        compiled.note_calls(*steps);
        segment.replay()?;
        compiled.definition.forget_bounds(context);
        Ok(())
    }

    /// Keeps the samples of a block that ran.
    pub(crate) fn keep(&mut self, context: &EngineContext, unrolled: &Unrolled<'_>) -> Result<()> {
        for (ring, (stage, count)) in self.rings.iter_mut().zip(&unrolled.block.samples) {
            let (_, dtype, shape) = unrolled.results(context).sampled(ring.source)?;
            ring.put(context, stage, dtype, &shape, *count)?;
        }
        Ok(())
    }

    /// Counts the iterations of a block that ran.
    pub(crate) fn pass(&mut self, unrolled: &mut Unrolled<'_>) {
        let steps = unrolled.block.steps;
        *unrolled.done += steps;
        self.step += steps;
        self.rings.iter_mut().for_each(|t| t.passed(steps));
    }
}

/// An error in one of `n` iterations, all but the first of which changed the state.
pub(crate) fn in_iteration(error: Error, iteration: u64, n: u64) -> Error {
    match error {
        Error::Run { op, node, message } if n > 1 => {
            let last = match iteration {
                0 => "the state is that before the first".to_string(),
                _ => format!("the state is that after iteration {}", iteration - 1),
            };
            let message = format!("{message}; in iteration {iteration} of {n}, counted from 0: {last}");
            Error::Run { op, node, message }
        }
        error => error,
    }
}
