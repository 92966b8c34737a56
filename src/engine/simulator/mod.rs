//! The Simulator: a Function re-hosted on a device, or on several, called like the Function.
//!
//! `methods`: Functions over common shared variables; `handle`: one of them by name. `state`: the values of
//! shared variables; `contexts`: their devices. `sync`, `publish`, `adopt`: values to and from the parents.
//! `calls`, `borrowed`, `pending`, `typed`: calls. `warm_up`: calls compiled ahead. `steps`: many iterations
//! at once. `probe`: recordings of Variables. `explain`, `plan`: what runs where, as text and as data.
//! `memory`: memory needed and held. `profile`: timings. `verify`: a check against the reference. `snapshot`:
//! save, restore, fork. `warnings`: advice for users.

mod adopt;
mod borrowed;
mod calls;
mod contexts;
mod explain;
mod handle;
mod members;
mod memory;
mod methods;
mod pending;
mod plan;
mod probe;
mod profile;
mod publish;
mod snapshot;
mod state;
mod steps;
mod sync;
mod typed;
mod verify;
mod warm_up;
mod warnings;

pub use borrowed::{Borrowed, BorrowedArray};
pub use handle::MethodHandle;
pub use pending::Pending;
pub use plan::{BodyPlan, BufferPlan, OperandPlan, Plan, StepPlan};
pub use probe::{Probe, Probed};
pub use profile::{KernelTime, Profile};
pub use sync::Keep;

pub use typed::{Typed, TypedArray, TypedTuple};

use super::executor::{Executor, OpenContext};
use super::storage::CallInput;
use crate::error::{Error, Result};
use crate::function::{ArgsIn, Function, IntoArgs, Outputs, state_args};
use crate::value::Value;
use members::Membership;
use probe::Probes;
use std::collections::HashMap;
use std::sync::Arc;
use sync::Parent;
use workalike_device::{Device, Options, Properties};

/// A Function on a device, or on several: [`contexts`](crate::engine::contexts).
///
/// Shared variables live on the device: they are copied there when the Simulator is made and come back by
/// [`Simulator::sync_to_parent`]. Several Functions over the same shared variables can be methods of one
/// Simulator.
///
/// A Simulator is used by one thread at a time; any number of Simulators, of one Function or of several, run
/// concurrently. They share only the shared variables of their parents, and a sync reads or writes these
/// atomically: when a thread publishes its values ([`Simulator::sync_to_parent`]), no Simulator
/// ([`Simulator::sync_from_parent`]), call of a Function, or saved Bundle sees only a part of them. If two
/// Simulators publish to one parent, the conflict is reported to the second.
///
/// ```
/// use workalike::prelude::*;
/// let inc = scalar::<i64>("inc");
/// let state = shared("state", 0i64);
/// let f = function([&inc]).output(&state).update(&state, &state + &inc).compile()?;
/// let mut sim = f.optimize(Host::auto())?;
/// sim.run_n(300, args![1i64])?;
/// assert_eq!(state.get_value()?.item::<i64>()?, 0); // the parent is untouched
/// sim.sync_to_parent()?;
/// assert_eq!(state.get_value()?.item::<i64>()?, 300);
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Debug)]
pub struct Simulator {
    executor: Executor,
    states: Vec<Parent>,
    by_id: HashMap<u128, usize>,
    methods: Vec<SimulatorMethod>,
    probes: Probes,
    membership: Membership,
}

#[derive(Debug)]
struct SimulatorMethod {
    name: String,
    /// What it runs: with seats in groups.
    function: Function,
    /// What it was made of.
    parent: Function,
    /// Its kind, if the Simulator made it for its own use.
    hidden: Option<Hidden>,
}

/// A method that users do not see.
#[derive(Debug)]
enum Hidden {
    /// The twin of another method, for its probes.
    Twin,
    /// Some outputs, by position, of another method.
    Part { of: usize, outputs: Vec<usize>, made: u64 },
    /// All of what is a member's part of another method.
    Repeated,
}

impl Simulator {
    pub(crate) fn new(function: &Function, device: Arc<dyn Device>, options: Options) -> Result<Simulator> {
        Simulator::over(vec![OpenContext { name: None, device, options }], function)
    }

    /// A Simulator over these devices.
    pub(crate) fn over(contexts: Vec<OpenContext>, function: &Function) -> Result<Simulator> {
        let mut simulator = Simulator::empty(contexts);
        simulator.add(function.name(), function, None)?;
        Ok(simulator)
    }

    /// A Simulator without methods.
    fn empty(contexts: Vec<OpenContext>) -> Simulator {
        Simulator {
            executor: Executor::new(contexts),
            states: vec![],
            by_id: HashMap::new(),
            methods: vec![],
            probes: Probes::default(),
            membership: Membership::default(),
        }
    }

    /// The names of the methods; the first is the one that [`Simulator::call`] calls.
    pub fn methods(&self) -> impl Iterator<Item = &str> {
        self.methods.iter().filter(|m| m.hidden.is_none()).map(|m| m.name.as_str())
    }

    /// The device; of several contexts, that of the first.
    pub fn device(&self) -> &Arc<dyn Device> {
        self.executor.engine(0).device()
    }

    /// The properties of that device.
    pub(in crate::engine) fn properties(&self) -> &Properties {
        self.executor.engine(0).device().properties()
    }

    /// Calls the first method: inputs from the host, outputs to the host. A call that fails changes no shared
    /// variable, unless a device fails while new values are stored.
    ///
    /// # Errors
    /// If the arguments do not fit, or the device fails.
    pub fn call<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<Outputs> {
        self.call_at(0, args.into_args())
    }

    fn call_at(&mut self, method: usize, args: ArgsIn<'_>) -> Result<Outputs> {
        let values = self.with_states_in(method, args, |simulator, args| {
            let changes = |error: &Error| error.may_change_state();
            if simulator.is_probed(method) {
                return match simulator.run_bound(method, args) {
                    // The updates are made, even if the outputs cannot be read.
                    Ok(run) => (simulator.executor.outputs(run), true),
                    Err(error) => {
                        let changed = changes(&error);
                        (Err(error), changed)
                    }
                };
            }
            let called = simulator
                .call_inputs(method, args, None)
                .and_then(|(inputs, ..)| simulator.call_with(method, &inputs));
            let changed = called.as_ref().err().is_none_or(changes);
            (called, changed)
        })?;
        self.compare_after(1)?;
        Ok(self.methods[method].function.outputs_of(values))
    }

    /// [`Simulator::with_states_in`] for one call.
    fn with_states<T>(
        &mut self,
        method: usize,
        args: ArgsIn<'_>,
        work: impl FnOnce(&mut Simulator, ArgsIn<'_>) -> Result<T>,
    ) -> Result<T> {
        if self.methods[method].function.state_inputs().is_empty() {
            return work(self, args);
        }
        self.with_states_in(method, args, |simulator, args| {
            let outcome = work(simulator, args);
            let changed = outcome.as_ref().err().is_none_or(Error::may_change_state);
            (outcome, changed)
        })
    }

    /// Takes the values for inputs with an update out of `args`, stores them as state, and runs `work` with
    /// the remaining arguments. `work` also returns whether the state may have changed; if it failed and
    /// nothing changed, the old values are restored. A call with such values waits for the device, because
    /// they could not be restored later.
    fn with_states_in<T>(
        &mut self,
        method: usize,
        args: ArgsIn<'_>,
        work: impl FnOnce(&mut Simulator, ArgsIn<'_>) -> (Result<T>, bool),
    ) -> Result<T> {
        let (args, given) = state_args(&self.methods[method].function, args)?;
        if given.is_empty() {
            return work(self, args).0;
        }
        // Errors of earlier calls are not this call's.
        self.executor.check_status(method)?;
        let states: Vec<usize> = given.iter().map(|(at, _)| self.executor.states_of(method)[*at]).collect();
        let mut before = Vec::new();
        let mut put = Ok(());
        for (state, (_, value)) in states.into_iter().zip(given) {
            put = self.executor.read_state(state).and_then(|old| {
                before.push((state, old, self.states[state].is_ahead()));
                self.put_state(state, &value)
            });
            if put.is_err() {
                break;
            }
        }
        let (outcome, changed) = match put {
            Err(error) => (Err(error), false),
            Ok(()) => match work(self, args) {
                (Ok(done), _) => {
                    let checked = self.executor.check_status(method);
                    let changed = checked.as_ref().err().is_none_or(Error::may_change_state);
                    (checked.map(|()| done), changed)
                }
                failed => failed,
            },
        };
        if outcome.is_err() && !changed {
            for (state, old, was_ahead) in before {
                self.put_state(state, &old)?;
                // A failed call marks nothing as changed.
                self.states[state].set_ahead(was_ahead);
            }
        }
        outcome
    }

    /// One call of a method without probes.
    fn call_with(&mut self, method: usize, inputs: &[CallInput]) -> Result<Vec<Value>> {
        let called = self.executor.call(method, inputs);
        self.called(method, called)
    }

    pub(in crate::engine) fn find(&self, name: &str) -> Result<usize> {
        self.methods.iter().position(|m| m.hidden.is_none() && m.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.methods().collect();
            Error::Sync(format!("the Simulator has no method {name}; it has {}", known.join(", ")))
        })
    }
}
