//! Calls of a Function: on the embedded host device, or the device of its choice, and by the reference.

use super::super::args::{ArgIn, IntoArgs, bind, state_args};
use super::super::outputs::Outputs;
use super::Function;
use crate::engine::{Engine, StateBinding};
use crate::error::{Error, Result};
use crate::graph::{Endless, LockedCells, NewValue};
use crate::selector::default_device;
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;
use workalike_device::{HostMemory, Options};

impl Function {
    /// Calls the Function on the embedded host device, or on its own: see [`Function::on_device`].
    ///
    /// # Errors
    /// If the arguments do not fit, an op fails, or the call is nested in one that holds this Function or a
    /// shared variable of it.
    pub fn call<'a>(&self, args: impl IntoArgs<'a>) -> Result<Outputs> {
        let (args, states) = state_args(self, args.into_args())?;
        let values = values_only(bind(self, args)?)?;
        let inputs: Vec<_> = values.into_iter().map(crate::engine::CallInput::Host).collect();
        let values = self.on_engine(|engine| {
            with_states(engine, &states, |engine| {
                let values = engine.call(0, &inputs);
                let changed = values.as_ref().err().is_none_or(Error::may_change_state);
                (values, changed)
            })
        })?;
        Ok(self.outputs_of(values))
    }

    /// Runs on the Function's engine, over its shared variables, which are locked. `work` also returns
    /// whether it may have changed them.
    pub(in crate::function) fn on_engine<T>(
        &self,
        work: impl FnOnce(&mut Engine) -> (Result<T>, bool),
    ) -> Result<T> {
        let mut cells = self.inner.state.lock()?;
        cells.check()?;
        let mut guard = self.inner.engine.lock().map_err(|why| self.nested(why))?;
        if let Some(device) = &self.inner.options.device {
            return self.on_own_device(device, &mut guard, &mut cells, work);
        }
        let engine = match &mut *guard {
            Some(engine) => engine,
            none => none.insert(self.engine(&cells)?),
        };
        for position in 0..self.inner.cells.len() {
            let state = cells.state(position);
            engine.move_state(position, state.memory.clone(), &state.shape, cells.version(position));
        }
        let before = watched_values(engine, &cells)?;
        let (outcome, changed) = work(engine);
        if changed {
            note_updates(engine, &mut cells, &before)?;
        }
        outcome
    }

    fn engine(&self, cells: &LockedCells<'_>) -> Result<Engine> {
        let mut engine = Engine::new(default_device()?, Options::default());
        for (position, cell) in self.inner.cells.iter().enumerate() {
            let binding = StateBinding { name: cell.name().into(), ty: cell.ty().clone() };
            let state = cells.state(position);
            engine.add_state_at(binding, state.memory.clone(), &state.shape);
        }
        let states = (0..self.inner.cells.len()).collect();
        engine.add_method(self.name(), self.inner.graph.clone(), states);
        Ok(engine)
    }

    fn nested(&self, why: Endless) -> Error {
        let message = match why {
            Endless::Own => {
                "is called by an op that its own call performs; an op must not call the Function it is part of"
            }
            Endless::Cycle => {
                "is being called in another thread, which waits for a lock of this thread's call"
            }
        };
        Error::Call { function: self.name().into(), message: message.into() }
    }

    /// Calls the Function op by op through each op's `perform`. This is slow; it is the reference that
    /// defines the Function.
    ///
    /// The ops are those that rewriting left. Rewrites keep a Function's values but at edges: `x / x` is 1
    /// and `x - x` is 0 at 0, infinity and NaN too, and `a * b + a * c` becomes `a * (b + c)`. For the
    /// expressions as they were written, compile with [`Rewrites::none`](crate::rewrite::Rewrites::none):
    ///
    /// ```
    /// use workalike::prelude::*;
    /// use workalike::rewrite::Rewrites;
    /// let x = scalar::<f64>("x");
    /// let build = || function([&x]).output(&x / &x);
    /// let (rewritten, written) = (build().compile()?, build().rewrites(Rewrites::none()).compile()?);
    /// assert_eq!(rewritten.call_reference(args![0.0])?[0].item::<f64>()?, 1.0);
    /// assert!(written.call_reference(args![0.0])?[0].item::<f64>()?.is_nan());
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the arguments do not fit, an op fails, or the call is nested in one that holds a shared variable of
    /// this Function.
    pub fn call_reference<'a>(&self, args: impl IntoArgs<'a>) -> Result<Outputs> {
        let (args, states) = state_args(self, args.into_args())?;
        let inputs = values_only(bind(self, args)?)?;
        let mut cells = self.inner.state.lock()?;
        let mut shared = (0..self.inner.cells.len()).map(|at| cells.read(at)).collect::<Result<Vec<_>>>()?;
        for (at, value) in states {
            shared[at] = value;
        }
        let values = crate::graph::evaluate(&self.inner.graph, &inputs, &shared)?;
        let value =
            |id: &u32| values.get(id).cloned().ok_or_else(|| Error::Internal("a root has no value".into()));
        self.inner.graph.check_updates(|id| values.get(&id).map_or(&[], Value::shape))?;
        let updates = self.inner.graph.updates.iter();
        let new = updates.map(|(position, id)| Ok((*position as usize, NewValue::of(&value(id)?)?)));
        cells.publish(new.collect::<Result<_>>()?)?;
        let outputs = self.inner.graph.outputs.iter().map(value).collect::<Result<_>>()?;
        Ok(self.outputs_of(outputs))
    }
}

/// Runs with other values for some states; restores them if nothing ran.
pub(in crate::function) fn with_states<T>(
    engine: &mut Engine,
    given: &[(usize, Value)],
    work: impl FnOnce(&mut Engine) -> (Result<T>, bool),
) -> (Result<T>, bool) {
    let mut before = Vec::new();
    for (at, value) in given {
        let put = engine.read_state(*at).and_then(|old| {
            before.push((*at, old));
            engine.write_state(*at, value)
        });
        if let Err(error) = put {
            return (restored(engine, before).and(Err(error)), false);
        }
    }
    let (outcome, changed) = work(engine);
    if outcome.is_ok() || changed || before.is_empty() {
        return (outcome, changed);
    }
    (restored(engine, before).and(outcome), changed)
}

fn restored(engine: &mut Engine, before: Vec<(usize, Value)>) -> Result<()> {
    before.into_iter().try_for_each(|(at, value)| engine.write_state(at, &value))
}

/// Copies, by position, of the values that a call updates and whose versions a Simulator compares. A call
/// that leaves such a value as it was is no change, and costs one more pass over it.
fn watched_values(engine: &Engine, cells: &LockedCells<'_>) -> Result<HashMap<usize, Value>> {
    let watched = engine.updated(0).filter(|&position| cells.is_watched(position));
    watched.map(|position| Ok((position, cells.read(position)?))).collect()
}

/// Notes in the cells what a call wrote into their memory. A value of another shape is in new memory.
/// `before` has values from before the call.
fn note_updates(engine: &Engine, cells: &mut LockedCells<'_>, before: &HashMap<usize, Value>) -> Result<()> {
    for position in engine.updated(0) {
        let (region, shape) = engine.state_place(position);
        let state = cells.state(position);
        // After several iterations the value may have moved and have its old shape again.
        let stayed = std::ptr::addr_eq(Arc::as_ptr(&state.memory), Arc::as_ptr(&region.memory));
        if !(stayed && state.shape == shape) {
            let memory = HostMemory::of(region.memory.as_ref());
            let memory = memory.ok_or_else(|| Error::Internal("state without host memory".into()))?;
            cells.moved(position, Arc::new(memory), shape);
        }
        let is_as_before = before.get(&position).map(|value| cells.holds(position, value)).transpose()?;
        if is_as_before != Some(true) {
            cells.changed(position);
        }
    }
    Ok(())
}

fn values_only<'a>(args: impl Iterator<Item = Result<ArgIn<'a>>>) -> Result<Vec<Value>> {
    args.map(|arg| match arg? {
        ArgIn::Value(value) => Ok(value),
        ArgIn::Device(array) => array.to_value(),
        ArgIn::View(view) => view.to_value(),
        ArgIn::Borrowed(array) => array.to_value(),
        ArgIn::Each(_) => Err(Error::mismatch("call", "a value", "a sequence, which only run_n takes")),
    })
    .collect()
}
