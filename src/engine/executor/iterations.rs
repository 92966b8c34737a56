//! Many calls of a method at once, and samples of them.
//!
//! A method on one device runs in the engine's [`IterationLoop`]. Stages are called once for each iteration;
//! the samples of an output stay on the device that computes it.

use super::staged::Wait;
use super::{ExecutionMode, Executor};
use crate::engine::record::{SampleRing, SampledTensor};
use crate::engine::run::{IterationLoop, StepWork, Twins, in_iteration};
use crate::engine::storage::CallInput;
use crate::error::{Error, Result};
use crate::function::slice_of;
use crate::value::Value;
use std::time::{Duration, Instant};

/// A run of many iterations.
pub(crate) struct IterationRequest<'t> {
    pub(crate) methods: Twins,
    /// The maximum number of iterations.
    pub(crate) n: u64,
    /// The value of each input in all iterations; for a sequence, a stand-in of its slices' shape.
    pub(crate) constant: Vec<CallInput>,
    /// Sequences, each with the position of its input.
    pub(crate) each: &'t [(usize, CallInput)],
    pub(crate) rings: Vec<&'t mut PlacedRing>,
    /// The output that ends the run after the first iteration in which it is false.
    pub(crate) condition: Option<usize>,
}

/// A ring in memory of a part's device. The state that it samples is one of that part's engine.
#[derive(Debug)]
pub(crate) struct PlacedRing {
    pub(crate) part: usize,
    pub(crate) ring: SampleRing,
}

impl Executor {
    /// Runs iterations. Returns their number, and the method that ran last, which has the outputs. `done` is
    /// the number of iterations that changed the state, also after an error.
    pub(crate) fn iterate(
        &mut self,
        run: IterationRequest<'_>,
        done: &mut u64,
    ) -> Result<(u64, Option<usize>)> {
        match self.on_one(&run) {
            Some((part, methods)) => self.iterate_on(part, methods, run, done),
            None => self.iterate_calls(run, done),
        }
    }

    /// The part on which everything happens, if it is one, and the method and its twin there.
    fn on_one(&self, run: &IterationRequest<'_>) -> Option<(usize, Twins)> {
        let Twins { plain, probed } = run.methods;
        match (&self.methods[plain].form, &self.methods[probed].form) {
            (&ExecutionMode::Whole { part, at: plain }, &ExecutionMode::Whole { part: same, at: probed })
                if part == same && run.rings.iter().all(|ring| ring.part == part) =>
            {
                Some((part, Twins { plain, probed }))
            }
            _ => None,
        }
    }

    fn iterate_on(
        &mut self,
        part: usize,
        local: Twins,
        run: IterationRequest<'_>,
        done: &mut u64,
    ) -> Result<(u64, Option<usize>)> {
        let IterationRequest { methods, n, constant, each, rings, condition } = run;
        let engine = &mut self.parts[part].engine;
        let rings = rings.into_iter().map(|placed| &mut placed.ring).collect();
        let mut steps = IterationLoop::new(engine, local, n, constant, each, rings)?;
        let ran = match condition {
            Some(flag) => steps.run_while(engine, flag),
            None => steps.run(engine).map(|last| (n, last)),
        };
        *done = steps.done();
        let (count, last) = ran?;
        if local.plain != local.probed && n > 1 {
            // Method and twin may both have found an index out of range.
            engine.finish()?;
        }
        let method = |at| if at == local.plain { methods.plain } else { methods.probed };
        Ok((count, last.map(method)))
    }

    /// Iterations as calls, each of which is waited for.
    fn iterate_calls(&mut self, run: IterationRequest<'_>, done: &mut u64) -> Result<(u64, Option<usize>)> {
        let IterationRequest { methods, n, constant, each, mut rings, condition } = run;
        let mut last = None;
        for step in 0..n {
            let inner = rings.iter().any(|placed| placed.ring.inner && placed.ring.until_due() == 1);
            let method = if inner { methods.probed } else { methods.plain };
            let args = slices(&constant, each, step)?;
            self.run_waiting(method, &args).map_err(|error| in_iteration(error, step, n))?;
            (*done, last) = (step + 1, Some(method));
            for placed in &mut rings {
                self.sample(method, placed)?;
            }
            if let Some(flag) = condition
                && !self.output(method, flag)?.item::<bool>()?
            {
                break;
            }
        }
        Ok((*done, last))
    }

    /// One call with outputs left in place, and its outcome.
    fn run_waiting(&mut self, method: usize, args: &[CallInput]) -> Result<()> {
        match self.methods[method].form {
            ExecutionMode::Whole { part, at } => {
                let engine = &mut self.parts[part].engine;
                engine.run(at, args)?;
                engine.check_status(at)
            }
            ExecutionMode::Stages(_) => self.run_stages_in_place(method, args, Wait::ForOutcome),
        }
    }

    /// Counts an iteration that was run, and keeps its sample if one is due.
    fn sample(&mut self, method: usize, placed: &mut PlacedRing) -> Result<()> {
        let PlacedRing { part, ring } = placed;
        ring.passed(1);
        if ring.phase() > 0 {
            return Ok(());
        }
        let context = self.parts[*part].engine.context();
        match (ring.source, &self.methods[method].form) {
            (SampledTensor::State(at), _) => {
                let state = &self.parts[*part].engine.states()[at];
                ring.put(context, &state.value_region(), state.binding.ty.dtype, &state.shape, 1)
            }
            (source, ExecutionMode::Whole { at, .. }) => {
                let (region, dtype, shape) = self.parts[*part].engine.sampled(*at, source)?;
                ring.put(context, &region, dtype, &shape, 1)
            }
            (SampledTensor::Output(output), ExecutionMode::Stages(_)) => {
                let array = self.output_view(method, output)?;
                ring.put(context, array.region(), array.dtype(), array.shape(), 1)
            }
        }
    }

    /// The part whose device computes an output of a method.
    pub(crate) fn part_of_output(&self, method: usize, output: usize) -> usize {
        let method = &self.methods[method];
        match &method.form {
            ExecutionMode::Whole { part, .. } => *part,
            ExecutionMode::Stages(staged) => {
                let id = method.graph.outputs[output];
                let computes = |stage: &&super::StagedPart| stage.stage.outputs.contains(&id);
                staged.stages.iter().find(computes).map_or(0, super::StagedPart::part)
            }
        }
    }

    /// The samples of a ring.
    pub(crate) fn samples(&self, placed: &PlacedRing) -> Result<Value> {
        placed.ring.read(self.parts[placed.part].engine.context())
    }

    /// Runs `n` calls with every step timed on its device. `each_call` gets the start time of a call, and its
    /// steps. Names of steps of stages begin with the context's.
    pub(crate) fn run_n_timed(
        &mut self,
        method: usize,
        n: u64,
        constant: &[CallInput],
        each: &[(usize, CallInput)],
        mut each_call: impl FnMut(Instant, Vec<(StepWork, Duration)>),
    ) -> Result<()> {
        if let ExecutionMode::Whole { part, at } = self.methods[method].form {
            return self.parts[part].engine.run_n_timed(at, n, constant, each, each_call);
        }
        for step in 0..n {
            let args = slices(constant, each, step)?;
            let (mut began, mut all) = (None, vec![]);
            let ran = self.run_stages_by(method, &args, Wait::ForOutcome, &mut |engine, stage, args| {
                engine.run_n_timed(stage.at, 1, args, &[], |start, steps| {
                    began.get_or_insert(start);
                    all.extend(steps.into_iter().map(|(work, took)| {
                        let name = format!("{}: {}", stage.origin.context, work.name);
                        (StepWork { name, ..work }, took)
                    }));
                })?;
                engine.device_outputs(stage.at)
            });
            ran.map_err(|error| in_iteration(error, step, n))?;
            each_call(began.unwrap_or_else(Instant::now), all);
        }
        Ok(())
    }
}

/// The arguments of one iteration.
fn slices(constant: &[CallInput], each: &[(usize, CallInput)], step: u64) -> Result<Vec<CallInput>> {
    let missing = || Error::Internal("a sequence without a slice for an iteration".into());
    let mut args = constant.to_vec();
    for (input, sequence) in each {
        args[*input] = match sequence {
            CallInput::Device(array) => CallInput::Device(array.slice_at(step).ok_or_else(missing)?),
            CallInput::Host(value) | CallInput::Slices(value, _) => {
                CallInput::Host(slice_of(value, step)?.ok_or_else(missing)?)
            }
        };
    }
    Ok(args)
}
