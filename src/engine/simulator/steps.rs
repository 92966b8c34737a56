//! Many iterations at once.

use super::Simulator;
use crate::engine::executor::{IterationRequest, PlacedRing};
use crate::engine::record::SampleRing;
use crate::error::{Error, Result};
use crate::function::{ArgsIn, Count, IntoArgs, Outputs, in_blocks, state_args};
use crate::value::Value;
use std::ops::ControlFlow;
use workalike_kernels::DType;

impl Simulator {
    /// Runs the first method `n` times without returning to the host. Inputs are the same in all iterations,
    /// but those given as [`each`](crate::function::each) take one slice per iteration. Outputs are those of
    /// the last iteration (none if `n` is 0). In several [`contexts`](crate::engine::contexts) an iteration
    /// is a call.
    ///
    /// # Errors
    /// If the arguments do not fit, a sequence does not have `n` slices, or the device fails.
    pub fn run_n<'a>(&mut self, n: impl Count, args: impl IntoArgs<'a>) -> Result<Outputs> {
        self.run_n_at(0, n.count()?, args.into_args(), false)
    }

    /// [`Simulator::run_n`], with the outputs of all iterations stacked along a new first axis, of extent 0
    /// if `n` is 0.
    ///
    /// # Errors
    /// As [`Simulator::run_n`], or if an output changes its shape between iterations.
    pub fn run_n_collect<'a>(&mut self, n: impl Count, args: impl IntoArgs<'a>) -> Result<Outputs> {
        self.run_n_at(0, n.count()?, args.into_args(), true)
    }

    /// [`Simulator::run_n`], with a look at the Simulator after every `every` iterations and after the
    /// last: `watch` gets it with the number of iterations done, to read probes and shared variables, save,
    /// or show progress, and may stop. Returns the number of iterations done, and the outputs of the last.
    /// Blocks of some hundred iterations cost nothing measurable.
    ///
    /// ```
    /// use std::ops::ControlFlow::{Break, Continue};
    /// use workalike::prelude::*;
    /// let x = shared("x", 1f64);
    /// let step = function(()).update(&x, &x * 0.5).compile()?;
    /// let mut sim = step.optimize(Host::auto())?;
    /// let (done, _) = sim.run_n_watched(1000, 10, args![], |sim, done| {
    ///     println!("{done} steps");
    ///     match sim.get(&x).and_then(|x| x.item::<f64>()) {
    ///         Ok(x) if x > 1e-6 => Continue(()),
    ///         _ => Break(()),
    ///     }
    /// })?;
    /// assert_eq!(done, 20);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Simulator::run_n`], or if `every` is 0.
    pub fn run_n_watched<'a>(
        &mut self,
        n: impl Count,
        every: impl Count,
        args: impl IntoArgs<'a>,
        watch: impl FnMut(&mut Simulator, u64) -> ControlFlow<()>,
    ) -> Result<(u64, Outputs)> {
        self.run_n_watched_at(0, [n.count()?, every.count()?], args.into_args(), watch)
    }

    /// [`Simulator::run_n`] that can be interrupted: it asks `go_on`, with the number of iterations done,
    /// some twenty times a second, between iterations, and ends where the answer is false. Returns the number
    /// of iterations done, and the outputs of the last.
    ///
    /// # Errors
    /// As [`Simulator::run_n`].
    pub fn run_n_while<'a>(
        &mut self,
        n: impl Count,
        args: impl IntoArgs<'a>,
        go_on: impl FnMut(u64) -> bool,
    ) -> Result<(u64, Outputs)> {
        self.run_n_while_at(0, n.count()?, args.into_args(), go_on)
    }

    pub(super) fn run_n_while_at(
        &mut self,
        method: usize,
        n: u64,
        args: ArgsIn<'_>,
        go_on: impl FnMut(u64) -> bool,
    ) -> Result<(u64, Outputs)> {
        let function = self.methods[method].function.clone();
        in_blocks(&function, n, args, go_on, |n, args| self.run_n_at(method, n, args, false))
    }

    pub(super) fn run_n_watched_at(
        &mut self,
        method: usize,
        [n, every]: [u64; 2],
        args: ArgsIn<'_>,
        mut watch: impl FnMut(&mut Simulator, u64) -> ControlFlow<()>,
    ) -> Result<(u64, Outputs)> {
        if every == 0 {
            return Err(Error::mismatch("run_n_watched", "a look every so many iterations", "0"));
        }
        // One block, also where a sequence has another length: it is refused there.
        if n <= every || !args.sequences().all(|len| len == n) {
            let outputs = self.run_n_at(method, n, args, false)?;
            let _ = watch(self, n);
            return Ok((n, outputs));
        }
        // Inputs that keep a value of their own are set once.
        let rest = state_args(&self.methods[method].function, args.clone())?.0;
        let mut outputs = self.run_n_at(method, every, args.part(0..every)?, false)?;
        let mut done = every;
        while watch(self, done).is_continue() && done < n {
            let end = n.min(done.saturating_add(every));
            outputs = self.run_n_at(method, end - done, rest.part(done..end)?, false)?;
            done = end;
        }
        Ok((done, outputs))
    }

    /// Runs the first method until after the first iteration whose output `condition`, a 0-d bool, is false,
    /// at most `max` times. Returns the number of iterations run, and the outputs of the last (none if `max`
    /// is 0). Sequences have `max` slices.
    ///
    /// Cost: at first the condition is copied to the host after each iteration, which waits for the device.
    /// Once the loop has run for a while, iterations are run in speculative blocks: the values that the
    /// method updates are backed up, a block is run, and its conditions are copied to the host together; if
    /// one is false, the values are restored and the iterations up to that one are run again. So a long loop
    /// waits rarely, runs at most about twice its iterations, and needs memory for a copy of what it updates.
    /// Iterations with host nodes, with shapes that values decide, or on several devices are always run one
    /// by one.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = shared("x", 1i64);
    /// let doubled = 2i64 * &x;
    /// let f = function(()).output_named("go_on", doubled.less(1_000)).update(&x, &doubled).compile()?;
    /// let mut sim = f.optimize(Host::auto())?;
    /// let (steps, _) = sim.run_while("go_on", 1_000_000, args![])?;
    /// assert_eq!((steps, sim.get_value("x")?.item::<i64>()?), (10, 1024));
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such output, it is not a 0-d bool, the arguments do not fit, or the device fails.
    pub fn run_while<'a>(
        &mut self,
        condition: &str,
        max: impl Count,
        args: impl IntoArgs<'a>,
    ) -> Result<(u64, Outputs)> {
        self.run_while_at(0, condition, max.count()?, args.into_args())
    }

    pub(super) fn run_while_at(
        &mut self,
        method: usize,
        condition: &str,
        max: u64,
        args: ArgsIn<'_>,
    ) -> Result<(u64, Outputs)> {
        let function = &self.methods[method].function;
        let names = function.output_names();
        let Some(flag) = names.iter().position(|n| n.as_deref() == Some(condition)) else {
            let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
            let message = format!(
                "run_while: there is no output {condition}; outputs with names are: {}. Name one with output_named",
                known.join(", ")
            );
            return Err(Error::Call { function: function.name().into(), message });
        };
        let ty = &function.graph().var(function.graph().outputs[flag]).ty;
        if ty.dtype != DType::Bool || ty.ndim() > 0 {
            let what = format!("{}: the condition of run_while, output {condition}", function.name());
            return Err(Error::mismatch(what, "a 0-d bool", ty.to_string()));
        }
        let (count, last) = self.steps(method, Some(max), args, &mut [], Some(flag))?;
        Ok((count, self.outputs_of_last(method, last)?))
    }

    /// The outputs of a loop's last iteration.
    fn outputs_of_last(&self, method: usize, last: Option<usize>) -> Result<Outputs> {
        let values = match last {
            None => vec![],
            Some(ran) => self.executor.outputs(ran)?,
        };
        Ok(self.methods[method].function.outputs_of(values))
    }

    pub(super) fn run_n_at(
        &mut self,
        method: usize,
        n: u64,
        args: ArgsIn<'_>,
        collect: bool,
    ) -> Result<Outputs> {
        if collect && n == 0 {
            return self.empty_stacks(method, args);
        }
        let outputs = self.methods[method].function.output_names().len();
        let mut collected: Vec<PlacedRing> = vec![];
        if collect {
            let ring = |output| PlacedRing {
                part: self.executor.part_of_output(method, output),
                ring: SampleRing::collecting(output, n),
            };
            collected.extend((0..outputs).map(ring));
        }
        let (_, last) = self.steps(method, Some(n), args, &mut collected, None)?;
        self.compare_after(n)?;
        if !collect || last.is_none() {
            return self.outputs_of_last(method, last);
        }
        self.executor.finish()?;
        let values = collected.iter().map(|ring| self.executor.samples(ring));
        Ok(self.methods[method].function.outputs_of(values.collect::<Result<_>>()?))
    }

    /// The stacked outputs of no iteration: a first axis of extent 0.
    fn empty_stacks(&mut self, method: usize, args: ArgsIn<'_>) -> Result<Outputs> {
        let inputs =
            self.call_inputs(method, state_args(&self.methods[method].function, args)?.0, Some(0))?.0;
        let types = self.executor.output_types(method, &inputs)?;
        let empty = |(dtype, shape): (DType, Vec<usize>)| {
            Value::zeros(dtype, &std::iter::once(0).chain(shape).collect::<Vec<_>>())
        };
        let values = types.into_iter().map(empty).collect::<Result<_>>()?;
        Ok(self.methods[method].function.outputs_of(values))
    }

    /// Runs iterations of a method, or the one iteration of a call, until the output `condition` is false.
    /// Returns the number of iterations, and the method that ran last: the method's twin, if it has probes.
    pub(super) fn steps(
        &mut self,
        method: usize,
        n: Option<u64>,
        args: ArgsIn<'_>,
        further: &mut [PlacedRing],
        condition: Option<usize>,
    ) -> Result<(u64, Option<usize>)> {
        self.with_states_in(method, args, |simulator, args| {
            let mut done = 0;
            let outcome = simulator.steps_bound(method, n, args, further, condition, &mut done);
            let changed = done > 0 || outcome.as_ref().err().is_some_and(Error::may_change_state);
            if changed {
                simulator.note_updates(method);
            }
            (outcome, changed)
        })
    }

    fn steps_bound(
        &mut self,
        method: usize,
        n: Option<u64>,
        args: ArgsIn<'_>,
        further: &mut [PlacedRing],
        condition: Option<usize>,
        done: &mut u64,
    ) -> Result<(u64, Option<usize>)> {
        let (constant, each) = self.call_inputs(method, args, n)?;
        let methods = self.twins(method);
        let rings = self.probes.rings(method).chain(further).collect();
        let run = IterationRequest { methods, n: n.unwrap_or(1), constant, each: &each, rings, condition };
        self.executor.iterate(run, done)
    }
}
