//! Runs a Function's stages on its devices.

use super::placement::{Placement, place};
use super::stages::{Cut, Source, Stage, cut};
use crate::error::{Error, Result};
use crate::function::{Arg, ArgIn, Args, ArgsIn, Function, Outputs, bind, slice_stand_in};
use crate::graph::VarId;
use crate::rehost::device::{Device, Options};
use crate::rehost::engine::{DeviceArray, in_iteration};
use crate::rehost::simulator::{
    Keep, Simulator, adopt_new, reset_all, sync_all_from_parent, sync_all_to_parent,
};
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// A Function on several devices: made by `f.optimize(contexts([..]))`.
///
/// It is called like a [`Simulator`], and has one for each device. Values go from device to device where a
/// node needs them elsewhere. A call that fails changes no shared variable, unless a device fails while new
/// values are stored.
#[derive(Debug)]
pub struct ContextSimulator {
    contexts: Vec<Context>,
    methods: Vec<Method>,
}

/// A device, and its Simulator once it has a method.
#[derive(Debug)]
struct Context {
    name: String,
    device: Arc<dyn Device>,
    options: Options,
    simulator: Option<Simulator>,
}

#[derive(Debug)]
struct Method {
    name: String,
    function: Function,
    placement: Placement,
    how: How,
}

/// How a method runs.
#[derive(Debug)]
enum How {
    /// On one device, as a method of its Simulator.
    Whole(usize),
    Stages(Cut),
}

/// Whether a call waits for the outcome of its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// Its results go to the host.
    ForOutcome,
    /// Its results stay on their devices: only if it stores new values.
    IfNeeded,
}

/// A method of a [`ContextSimulator`], by name.
#[derive(Debug)]
pub struct ContextMethod<'s> {
    simulator: &'s mut ContextSimulator,
    method: usize,
}

impl Context {
    fn state_count(&self) -> usize {
        self.simulator.as_ref().map_or(0, Simulator::state_count)
    }
}

impl ContextSimulator {
    pub(super) fn new(devices: Vec<(String, Arc<dyn Device>, Options)>) -> ContextSimulator {
        let context = |(name, device, options)| Context { name, device, options, simulator: None };
        ContextSimulator { contexts: devices.into_iter().map(context).collect(), methods: vec![] }
    }

    /// The names of the contexts.
    pub fn contexts(&self) -> impl Iterator<Item = &str> {
        self.contexts.iter().map(|context| context.name.as_str())
    }

    /// The names of the methods; the first is the one that [`ContextSimulator::call`] calls.
    pub fn methods(&self) -> impl Iterator<Item = &str> {
        self.methods.iter().map(|method| method.name.as_str())
    }

    /// The Simulator of a context, for example to profile its stages; `None` if no method runs there.
    ///
    /// # Errors
    /// If there is no such context.
    pub fn simulator(&self, context: &str) -> Result<Option<&Simulator>> {
        let found = self.contexts.iter().find(|known| known.name == context);
        found.map(|context| context.simulator.as_ref()).ok_or_else(|| self.unknown(context))
    }

    fn unknown(&self, context: &str) -> Error {
        let names: Vec<&str> = self.contexts().collect();
        Error::mismatch("contexts", format!("one of {}", names.join(", ")), context)
    }

    /// Adds a Function as a method over the same shared variables.
    ///
    /// # Errors
    /// As [`Simulator::add_method`]; or if the Function names a context that is not among these, or has an
    /// input with a value of its own.
    pub fn add_method(&mut self, name: &str, function: &Function) -> Result<()> {
        self.add(name, function, None)
    }

    /// [`Simulator::add_method_keeping`], over devices.
    ///
    /// # Errors
    /// As [`Simulator::add_method_keeping`] and [`ContextSimulator::add_method`].
    pub fn add_method_keeping(&mut self, name: &str, function: &Function, keep: Keep) -> Result<()> {
        self.add(name, function, Some(keep))
    }

    fn add(&mut self, name: &str, function: &Function, keep: Option<Keep>) -> Result<()> {
        if self.methods().any(|known| known == name) {
            return Err(Error::Sync(format!("the Simulator already has a method {name}")));
        }
        if !function.state_inputs().is_empty() {
            let message = "an input with an update (In::update) is not supported with contexts: make it a shared variable";
            return Err(Error::Call { function: name.into(), message: message.into() });
        }
        let names: Vec<&str> = self.contexts().collect();
        let function = if function.name() == name { function.clone() } else { function.renamed(name) };
        let cells = self.methods.iter().flat_map(|m| m.function.cells().iter().zip(&m.placement.shared));
        let known = cells.map(|(cell, device)| (cell.id(), *device)).collect();
        let placement = place(&function, &names, &known)?;
        let mut devices = placement.nodes.iter().chain(&placement.shared);
        let first = devices.next().copied().unwrap_or(0);
        let before: Vec<usize> = self.contexts.iter().map(Context::state_count).collect();
        let how = match devices.all(|device| *device == first) {
            true => {
                self.add_to(first, name, &function, keep)?;
                How::Whole(first)
            }
            false => {
                let cut = cut(&function, &placement)?;
                let stages = || cut.stages.iter().chain(&cut.commits);
                // All checks come before any change.
                for Stage { device, function, .. } in stages() {
                    if let Some(simulator) = &self.contexts[*device].simulator {
                        simulator.check_method(function.name(), function, keep)?;
                    }
                }
                for Stage { device, function, .. } in stages() {
                    self.add_to(*device, function.name(), function, keep)?;
                }
                How::Stages(cut)
            }
        };
        self.methods.push(Method { name: name.into(), function, placement, how });
        // Each device has read its variables by itself.
        let parts = self.contexts.iter_mut().zip(before);
        let (mut parts, known): (Vec<_>, Vec<_>) =
            parts.filter_map(|(context, known)| Some((context.simulator.as_mut()?, known))).unzip();
        adopt_new(&mut parts, &known)
    }

    fn add_to(&mut self, device: usize, name: &str, function: &Function, keep: Option<Keep>) -> Result<()> {
        let context = &mut self.contexts[device];
        match &mut context.simulator {
            Some(simulator) => simulator.add(name, function, keep),
            none => {
                *none = Some(Simulator::new(function, context.device.clone(), context.options)?);
                Ok(())
            }
        }
    }

    /// A method by name.
    ///
    /// # Errors
    /// If there is none.
    pub fn method(&mut self, name: &str) -> Result<ContextMethod<'_>> {
        match self.methods.iter().position(|method| method.name == name) {
            Some(method) => Ok(ContextMethod { simulator: self, method }),
            None => {
                let known: Vec<&str> = self.methods().collect();
                let message = format!("the Simulator has no method {name}; it has {}", known.join(", "));
                Err(Error::Sync(message))
            }
        }
    }

    /// Calls the first method.
    ///
    /// # Errors
    /// If the arguments do not fit, or a device fails.
    pub fn call<'a>(&mut self, args: impl Into<ArgsIn<'a>>) -> Result<Outputs> {
        self.call_at(0, args.into())
    }

    /// [`ContextSimulator::call`], with the results on their devices.
    ///
    /// # Errors
    /// As [`ContextSimulator::call`].
    pub fn call_device<'a>(&mut self, args: impl Into<ArgsIn<'a>>) -> Result<Vec<DeviceArray>> {
        self.run_at(0, args.into())
    }

    /// Runs the first method `n` times; outputs are those of the last iteration, none if `n` is 0. Inputs
    /// given as [`each`](crate::function::each) take one slice per iteration.
    ///
    /// # Errors
    /// As [`Simulator::run_n`]; iterations before one that fails are made.
    pub fn run_n<'a>(&mut self, n: u64, args: impl Into<ArgsIn<'a>>) -> Result<Outputs> {
        self.run_n_at(0, n, args.into())
    }

    fn call_at(&mut self, method: usize, args: ArgsIn<'_>) -> Result<Outputs> {
        if let How::Whole(device) = self.methods[method].how {
            let name = self.methods[method].name.clone();
            return self.on(device)?.method(&name)?.call(args);
        }
        let given = self.bound(method, args)?;
        let arrays = self.run_stages(method, &given, Wait::ForOutcome)?;
        let values = arrays.iter().map(DeviceArray::to_value).collect::<Result<_>>()?;
        Ok(self.methods[method].function.outputs_of(values))
    }

    fn run_n_at(&mut self, method: usize, n: u64, args: ArgsIn<'_>) -> Result<Outputs> {
        if let How::Whole(device) = self.methods[method].how {
            let name = self.methods[method].name.clone();
            return self.on(device)?.method(&name)?.run_n(n, args);
        }
        let given = self.bound(method, args)?;
        for (position, arg) in given.iter().enumerate() {
            if let Arg::Each(sequence) = arg {
                let function = &self.methods[method].function;
                let what = || format!("{}: input {}", function.name(), function.input_name(position));
                slice_stand_in(sequence, n, what)?;
            }
        }
        let mut last = None;
        for step in 0..n {
            let function = &self.methods[method].function;
            let slices = crate::rehost::verify::slices_at(function, &given, step)?;
            let ran = self.run_stages(method, &slices, Wait::ForOutcome);
            last = Some(ran.map_err(|error| in_iteration(error, step, n))?);
        }
        let arrays = last.unwrap_or_default();
        let values = arrays.iter().map(DeviceArray::to_value).collect::<Result<_>>()?;
        Ok(self.methods[method].function.outputs_of(values))
    }

    /// The argument of each input.
    fn bound(&self, method: usize, args: ArgsIn<'_>) -> Result<Vec<Arg>> {
        let owned = |arg: Result<ArgIn<'_>>| match arg? {
            ArgIn::Value(value) => Ok(Arg::Value(value)),
            ArgIn::Device(array) => Ok(Arg::Device(array)),
            ArgIn::Each(sequence) => Ok(Arg::Each(sequence)),
            ArgIn::Borrowed(array) => array.to_value().map(Arg::Value),
        };
        bind(&self.methods[method].function, args)?.map(owned).collect()
    }

    fn on(&mut self, device: usize) -> Result<&mut Simulator> {
        let missing = || Error::Internal("a stage on a device without a Simulator".into());
        self.contexts[device].simulator.as_mut().ok_or_else(missing)
    }

    fn run_at(&mut self, method: usize, args: ArgsIn<'_>) -> Result<Vec<DeviceArray>> {
        if let How::Whole(device) = self.methods[method].how {
            let name = self.methods[method].name.clone();
            return self.on(device)?.method(&name)?.call_device(args);
        }
        let given = self.bound(method, args)?;
        self.run_stages(method, &given, Wait::IfNeeded)
    }

    /// Runs all stages, then stores the new values. Nothing is stored if a stage fails. Afterwards no device
    /// has an error of this call to report, unless nothing had to wait for its outcome.
    fn run_stages(&mut self, method: usize, given: &[Arg], wait: Wait) -> Result<Vec<DeviceArray>> {
        let ContextSimulator { contexts, methods, .. } = self;
        let Method { function, how: How::Stages(cut), .. } = &methods[method] else {
            return Err(Error::Internal("a method without stages".into()));
        };
        let mut values: HashMap<VarId, DeviceArray> = HashMap::new();
        let ran = cut.stages.iter().try_for_each(|stage| {
            let arrays = stage.run(contexts, given, &values)?;
            values.extend(stage.outputs.iter().copied().zip(arrays));
            Ok(())
        });
        if ran.is_err() || wait == Wait::ForOutcome || !cut.commits.is_empty() {
            settle(&cut.stages, contexts, ran)?;
        }
        // All that may fail comes before the first store: transfers, and compiling.
        let mut local = Vec::with_capacity(cut.commits.len());
        for stage in &cut.commits {
            local.push(stage.moved(contexts, &values)?);
        }
        for (stage, values) in cut.commits.iter().zip(&local) {
            stage.run(contexts, given, values)?;
        }
        let graph = function.graph();
        let missing = || Error::Internal("an output that no stage computes".into());
        graph.outputs.iter().map(|id| values.get(id).cloned().ok_or_else(missing)).collect()
    }

    /// The context of a shared variable.
    ///
    /// # Errors
    /// If no method has it.
    pub fn context_of(&self, shared: &str) -> Result<&str> {
        Ok(&self.contexts[self.device_of(shared)?].name)
    }

    fn device_of(&self, shared: &str) -> Result<usize> {
        let cells = self.methods.iter().flat_map(|m| m.function.cells().iter().zip(&m.placement.shared));
        let found = cells.filter(|(cell, _)| cell.name() == shared).map(|(_, device)| *device).next();
        found.ok_or_else(|| {
            let cells = self.methods.iter().flat_map(|method| method.function.cells());
            let names: Vec<&str> = cells.map(|cell| cell.name()).collect();
            let message = format!("there is no shared variable {shared}; there are: {}", names.join(", "));
            Error::Sync(message)
        })
    }

    /// The value of a shared variable, by name.
    ///
    /// # Errors
    /// As [`Simulator::get_value`].
    pub fn get_value(&mut self, shared: &str) -> Result<Value> {
        let device = self.device_of(shared)?;
        self.on(device)?.get_value(shared)
    }

    /// Replaces the value of a shared variable, by name.
    ///
    /// # Errors
    /// As [`Simulator::set_value`].
    pub fn set_value(&mut self, shared: &str, value: impl Into<Value>) -> Result<()> {
        let device = self.device_of(shared)?;
        self.on(device)?.set_value(shared, value)
    }

    /// Copies every shared variable that changed to its parent Functions, those of all devices at once: see
    /// [`Simulator::sync_to_parent`].
    ///
    /// # Errors
    /// As [`Simulator::sync_to_parent`].
    pub fn sync_to_parent(&mut self) -> Result<Vec<String>> {
        sync_all_to_parent(&mut self.parts().collect::<Vec<_>>(), None)
    }

    /// [`Simulator::sync_to_parent_keeping`], for those of all devices at once.
    ///
    /// # Errors
    /// As [`Simulator::sync_to_parent_keeping`].
    pub fn sync_to_parent_keeping(&mut self, keep: Keep) -> Result<Vec<String>> {
        sync_all_to_parent(&mut self.parts().collect::<Vec<_>>(), Some(keep))
    }

    /// Copies every shared variable that changed in its parent to its device: see
    /// Copies every shared variable that changed in its parent to its device; those of all devices are read at
    /// one moment: see [`Simulator::sync_from_parent`].
    ///
    /// # Errors
    /// As [`Simulator::sync_from_parent`].
    pub fn sync_from_parent(&mut self) -> Result<Vec<String>> {
        sync_all_from_parent(&mut self.parts().collect::<Vec<_>>(), None)
    }

    /// [`Simulator::sync_from_parent_keeping`], for those of all devices at once.
    ///
    /// # Errors
    /// As [`Simulator::sync_from_parent_keeping`].
    pub fn sync_from_parent_keeping(&mut self, keep: Keep) -> Result<Vec<String>> {
        sync_all_from_parent(&mut self.parts().collect::<Vec<_>>(), Some(keep))
    }

    /// [`Simulator::reset`], for the shared variables of all devices at once.
    ///
    /// # Errors
    /// As [`Simulator::reset`].
    pub fn reset(&mut self) -> Result<Vec<String>> {
        reset_all(&mut self.parts().collect::<Vec<_>>())
    }

    /// The Simulators of all devices.
    fn parts(&mut self) -> impl Iterator<Item = &mut Simulator> {
        self.contexts.iter_mut().filter_map(|context| context.simulator.as_mut())
    }

    /// A description as text: for each method its stages, and the description of each device's Simulator.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        for method in &self.methods {
            text += &format!("method {}\n", method.name);
            let cut = match &method.how {
                How::Whole(device) => {
                    text += &format!("  all on {}\n", self.contexts[*device].name);
                    continue;
                }
                How::Stages(cut) => cut,
            };
            for stage in cut.stages.iter().chain(&cut.commits) {
                let taken = stage.inputs.iter().filter(|source| matches!(source, Source::Value(_))).count();
                let (name, context) = (stage.function.name(), &self.contexts[stage.device].name);
                let (nodes, given) = (stage.function.graph().nodes.len(), stage.outputs.len());
                text +=
                    &format!("  {name} on {context}: {nodes} nodes, takes {taken} values, gives {given}\n");
            }
        }
        for context in &self.contexts {
            let of = context.simulator.as_ref().map_or("nothing runs here\n".into(), Simulator::explain);
            text += &format!("context {}\n{of}", context.name);
        }
        text
    }
}

/// The outcome of a call whose stages were enqueued, as far as `ran` says. Every stage is waited for, and what
/// its device reported is cleared, whichever of them failed. The error is that of the first stage that has one.
fn settle(stages: &[Stage], contexts: &mut [Context], ran: Result<()>) -> Result<()> {
    let mut outcome = Ok(());
    for stage in stages {
        let Context { name, simulator, .. } = &mut contexts[stage.device];
        let Some(simulator) = simulator else { continue };
        let checked = simulator.check_outcome(stage.function.name()).map_err(|error| on_context(error, name));
        outcome = outcome.and(checked);
    }
    // A stage that failed on the host comes after those that it reads.
    outcome.and(ran)
}

/// The error of a stage, with the context where it ran.
fn on_context(error: Error, context: &str) -> Error {
    match error {
        Error::Run { op, node, message } => {
            Error::Run { op, node, message: format!("{message} (on {context})") }
        }
        other => other,
    }
}

impl Stage {
    /// The values that it takes, on its device, where it is then ready to run.
    fn moved(
        &self,
        contexts: &mut [Context],
        values: &HashMap<VarId, DeviceArray>,
    ) -> Result<HashMap<VarId, DeviceArray>> {
        let missing = || Error::Internal("a stage reads what no stage computes".into());
        let simulator = contexts[self.device].simulator.as_mut().ok_or_else(missing)?;
        let (mut local, mut args) = (HashMap::new(), Args::new());
        for source in &self.inputs {
            let Source::Value(id) = source else { return Err(missing()) };
            let array = simulator.local(values.get(id).ok_or_else(missing)?)?;
            args = args.with(&array);
            local.insert(*id, array);
        }
        simulator.compile_call(self.function.name(), args)?;
        Ok(local)
    }

    fn run(
        &self,
        contexts: &mut [Context],
        given: &[Arg],
        values: &HashMap<VarId, DeviceArray>,
    ) -> Result<Vec<DeviceArray>> {
        let missing = || Error::Internal("a stage reads what no stage computes".into());
        let mut args = Args::new();
        for source in &self.inputs {
            args = match source {
                Source::Input(at) => args.with(given.get(*at).ok_or_else(missing)?.clone()),
                Source::Value(id) => args.with(values.get(id).ok_or_else(missing)?),
            };
        }
        let context = &mut contexts[self.device];
        let simulator = context.simulator.as_mut().ok_or_else(missing)?;
        let run = simulator.method(self.function.name()).and_then(|mut method| method.call_device(args));
        run.map_err(|error| on_context(error, &context.name))
    }
}

impl ContextMethod<'_> {
    /// Calls it.
    ///
    /// # Errors
    /// As [`ContextSimulator::call`].
    pub fn call<'a>(&mut self, args: impl Into<ArgsIn<'a>>) -> Result<Outputs> {
        self.simulator.call_at(self.method, args.into())
    }

    /// [`ContextSimulator::call_device`] of this method.
    ///
    /// # Errors
    /// As [`ContextSimulator::call`].
    pub fn call_device<'a>(&mut self, args: impl Into<ArgsIn<'a>>) -> Result<Vec<DeviceArray>> {
        self.simulator.run_at(self.method, args.into())
    }

    /// [`ContextSimulator::run_n`] of this method.
    ///
    /// # Errors
    /// As [`ContextSimulator::run_n`].
    pub fn run_n<'a>(&mut self, n: u64, args: impl Into<ArgsIn<'a>>) -> Result<Outputs> {
        self.simulator.run_n_at(self.method, n, args.into())
    }
}
