//! Calls of a Simulator: host arrays or device arrays in, host arrays or device arrays out.

use super::{Hidden, Simulator, SimulatorMethod};
use crate::engine::executor::PlacedMethod;
use crate::engine::storage::{CallInput, DeviceArray};
use crate::error::{Error, Result};
use crate::function::{ArgIn, Args, ArgsIn, EachArg, IntoArgs, OutputKey, Outputs, bind};
use crate::graph::FunctionGraph;
use crate::list::IntoList;
use crate::value::Value;

/// Inputs (positions) that take one slice per iteration, with their sequences.
type Sequences = Vec<(usize, CallInput)>;

/// Selections of outputs cached per Simulator; the oldest is dropped first.
const SUBSETS_KEPT: usize = 32;

impl Simulator {
    /// Returns the method that ran: the method's twin, if it has probes.
    pub(super) fn run(&mut self, method: usize, args: ArgsIn<'_>) -> Result<usize> {
        self.with_states(method, args, |simulator, args| simulator.run_bound(method, args))
    }

    pub(super) fn run_bound(&mut self, method: usize, args: ArgsIn<'_>) -> Result<usize> {
        if self.is_probed(method) {
            let (_, ran) = self.steps(method, None, args, &mut [], None)?;
            return Ok(ran.unwrap_or(method));
        }
        let inputs = self.call_inputs(method, args, None)?.0;
        let ran = self.executor.run(method, &inputs);
        self.called(method, ran)?;
        Ok(method)
    }

    /// Calls the first method for some of its outputs, by name or position, in this order. Only these outputs
    /// and the updates are computed; the updates are made as in any call.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = vector::<f64>("x");
    /// let f = function([&x]).output_named("cost", x.sqr().sum(..)).output_named("exp", x.exp()).compile()?;
    /// let mut sim = f.optimize(Host::auto())?;
    /// let outputs = sim.call_outputs(["cost"], args![vec![1.0, 2.0]])?;
    /// assert_eq!((outputs.len(), outputs["cost"].item::<f64>()?), (1, 5.0));
    /// assert_eq!(sim.call_outputs([1], args![vec![0.0]])?[0].to_vec::<f64>()?, [1.0]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such output, the arguments do not fit, or the device fails.
    pub fn call_outputs<'a, 'k, Form>(
        &mut self,
        outputs: impl IntoList<OutputKey<'k>, Form>,
        args: impl IntoArgs<'a>,
    ) -> Result<Outputs> {
        self.call_outputs_at(0, outputs, args.into_args())
    }

    pub(super) fn call_outputs_at<'k, Form>(
        &mut self,
        method: usize,
        outputs: impl IntoList<OutputKey<'k>, Form>,
        args: ArgsIn<'_>,
    ) -> Result<Outputs> {
        let chosen = self.methods[method].function.output_positions(outputs)?;
        self.call_subset(method, chosen, args)
    }

    fn call_subset(&mut self, method: usize, chosen: Vec<usize>, args: ArgsIn<'_>) -> Result<Outputs> {
        if !self.is_probed(method) {
            let subset = self.subset(method, chosen)?;
            return self.call_at(subset, args);
        }
        // It counts as an iteration: probes record it.
        let run = self.run(method, args)?;
        let values = chosen.iter().map(|&output| self.executor.output(run, output)).collect::<Result<_>>()?;
        Ok(self.methods[method].function.with_outputs(&chosen)?.outputs_of(values))
    }

    /// Places a graph over states that exist.
    pub(super) fn draft_over(
        &self,
        name: &str,
        graph: &FunctionGraph,
        states: &[usize],
    ) -> Result<PlacedMethod> {
        let homes: Vec<Option<usize>> =
            states.iter().map(|&state| Some(self.executor.part_of(state))).collect();
        self.executor.draft(name, graph, &homes)
    }

    /// The hidden method that computes only these outputs of a method.
    fn subset(&mut self, of: usize, outputs: Vec<usize>) -> Result<usize> {
        let is_it = |m: &SimulatorMethod| match &m.hidden {
            Some(Hidden::Part { of: known, outputs: chosen, .. }) => (*known, chosen) == (of, &outputs),
            _ => false,
        };
        if let Some(at) = self.methods.iter().position(is_it) {
            return Ok(at);
        }
        let function = self.methods[of].function.with_outputs(&outputs)?;
        let name = format!("{}, outputs {outputs:?} alone", self.methods[of].name);
        let (graph, states) = (function.graph().clone(), self.executor.states_of(of).to_vec());
        let draft = self.draft_over(&name, &graph, &states)?;
        let parts = self.methods.iter().enumerate().filter_map(|(at, m)| match m.hidden {
            Some(Hidden::Part { made, .. }) => Some((made, at)),
            _ => None,
        });
        let parts: Vec<(u64, usize)> = parts.collect();
        let oldest = parts.iter().min().filter(|_| parts.len() >= SUBSETS_KEPT).map(|(_, at)| *at);
        let made = parts.iter().max().map_or(0, |(made, _)| made + 1);
        let at = self.executor.put_twin(oldest, of, &name, (graph, states), draft);
        let (parent, hidden) = (function.clone(), Some(Hidden::Part { of, outputs, made }));
        let method = SimulatorMethod { name, function, parent, hidden };
        match self.methods.get_mut(at) {
            Some(place) => *place = method,
            None => self.methods.push(method),
        }
        Ok(at)
    }

    /// Calls the first method with inputs in order, of the dtypes and shapes of its last call: nothing is
    /// bound by name, converted or defaulted, and the shapes are not compared. This call has the least
    /// overhead, for loops over small work.
    ///
    /// Values of another dtype or shape are a mistake of the caller: if they have the same number of bytes,
    /// these are read with the dtype and shape of the last call; otherwise it is an error. No memory outside
    /// the inputs is accessed. The first call, and a call after something else changed, is an ordinary
    /// [`Simulator::call`] with all checks.
    ///
    /// # Errors
    /// If an input is not as large as in the last call, or the device fails.
    pub fn call_trusted(&mut self, values: &[Value]) -> Result<Outputs> {
        self.call_trusted_at(0, values)
    }

    pub(super) fn call_trusted_at(&mut self, method: usize, values: &[Value]) -> Result<Outputs> {
        if !self.is_probed(method) {
            let outputs = self.executor.call_again(method, values);
            if !matches!(outputs, Ok(None)) {
                let outputs = self.called(method, outputs)?.unwrap_or_default();
                return Ok(self.methods[method].function.outputs_of(outputs));
            }
        }
        self.call_at(method, values.iter().fold(Args::new(), Args::with))
    }

    /// Calls the first method and leaves the outputs on the device, in memory that the caller owns and that
    /// is reused when all handles are dropped. Device arrays may also be passed as arguments. The call does
    /// not wait: an index out of range is reported by the method's next [`Simulator::call`] or by
    /// [`Simulator::synchronize`]. In several [`contexts`](crate::engine::contexts), each output stays where
    /// it is computed, and a method with updates waits for its stages before it stores new values.
    ///
    /// # Errors
    /// If the arguments do not fit, or the device fails.
    pub fn call_device<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<Vec<DeviceArray>> {
        self.call_device_at(0, args.into_args())
    }

    pub(super) fn call_device_at(&mut self, method: usize, args: ArgsIn<'_>) -> Result<Vec<DeviceArray>> {
        Ok(self.run_owned(method, args)?.1)
    }

    /// One call whose outputs the caller owns; also returns the method that ran, as [`Simulator::run`] does.
    pub(super) fn run_owned(&mut self, method: usize, args: ArgsIn<'_>) -> Result<(usize, Vec<DeviceArray>)> {
        self.with_states(method, args, |simulator, args| simulator.run_owned_bound(method, args))
    }

    fn run_owned_bound(&mut self, method: usize, args: ArgsIn<'_>) -> Result<(usize, Vec<DeviceArray>)> {
        if self.is_probed(method) {
            let run = self.run(method, args)?;
            return Ok((run, self.executor.device_outputs(run)?));
        }
        let inputs = self.call_inputs_as(method, args, None, !self.executor.changes_state(method))?.0;
        let ran = self.executor.run_owned(method, &inputs);
        Ok((method, self.called(method, ran)?))
    }

    /// A value in device memory, to be passed to calls. Of several contexts, the first one's device has it; a
    /// call copies it where it is needed.
    ///
    /// # Errors
    /// If the device has no memory for it.
    pub fn upload(&self, value: impl Into<Value>) -> Result<DeviceArray> {
        self.executor.upload(&value.into())
    }

    /// Waits until everything that was enqueued has run.
    ///
    /// # Errors
    /// If the device failed.
    pub fn synchronize(&self) -> Result<()> {
        self.executor.finish()
    }

    /// Arguments in input order, and the sequences among them. Results of calls that failed on the device are
    /// refused.
    pub(super) fn call_inputs(
        &self,
        method: usize,
        args: ArgsIn<'_>,
        steps: Option<u64>,
    ) -> Result<(Vec<CallInput>, Sequences)> {
        self.call_inputs_as(method, args, steps, false)
    }

    /// [`Simulator::call_inputs`]. If results stay on the device and no state changes, the call need not wait
    /// for the outcome of the calls that computed its arguments: its results share that outcome.
    fn call_inputs_as(
        &self,
        method: usize,
        args: ArgsIn<'_>,
        steps: Option<u64>,
        unchecked: bool,
    ) -> Result<(Vec<CallInput>, Sequences)> {
        let function = &self.methods[method].function;
        let mut each = Vec::new();
        let feed = |(position, arg): (usize, Result<ArgIn<'_>>)| {
            let what = || format!("{}: input {}", function.name(), function.input_name(position));
            match (arg?, steps) {
                (ArgIn::Value(value), _) => Ok(CallInput::Host(value)),
                (ArgIn::Device(array), _) if function.inputs()[position].mutable => {
                    self.executor.array_input(method, array.donate(), unchecked)
                }
                (ArgIn::Device(array), _) => self.executor.array_input(method, array, unchecked),
                (ArgIn::View(view), _) => self.executor.array_input(method, view.in_order()?, unchecked),
                // MemberArray only for the duration of the call.
                (ArgIn::Borrowed(array), _) => self.executor.array_input(method, array.array, unchecked),
                (ArgIn::Each(_), None) => {
                    Err(Error::mismatch(what(), "a value", "a sequence, which only run_n takes"))
                }
                (ArgIn::Each(sequence), Some(n)) => {
                    let slice = sequence.stand_in(n, what)?;
                    let sequence = match sequence {
                        EachArg::Host(value) => CallInput::Host(value),
                        EachArg::Device(view) => {
                            self.executor.array_input(method, view.in_order()?, false)?
                        }
                    };
                    each.push((position, sequence));
                    Ok(CallInput::Host(slice))
                }
            }
        };
        let constant = bind(function, args)?.enumerate().map(feed).collect::<Result<_>>()?;
        Ok((constant, each))
    }
}
