//! Verification: a Function on a device against its reference, iteration by iteration, state included; on a
//! mismatch, the first node that differs.
//!
//! Each iteration starts from the reference's state, so that rounding errors do not accumulate. A mismatch is
//! located by cutting the graph: the values that the first `n` nodes leave to the rest are computed on the
//! device and by the reference, and `n` is bisected.

mod compare;
mod cut;

use super::executor::OpenContext;
use super::simulator::Simulator;
use crate::error::{Error, Result, array_text};
use crate::function::{Arg, Args, Function, bind, state_args};
use crate::value::Value;
pub use compare::Difference;
use compare::compare;
use std::fmt;
use std::sync::Arc;
use workalike_device::{Device, Options};

/// How to verify.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// How the Function is re-hosted.
    pub options: Options,
    /// The number of iterations that are run and compared.
    pub steps: u64,
    /// A factor for the tolerances. At 1, a float may differ by 1,024 eps (a half by 16) of the larger of its
    /// own and the array's root mean square; everything else must be equal.
    pub slack: f64,
}

impl Default for Check {
    fn default() -> Check {
        Check { options: Options::default(), steps: 1, slack: 1.0 }
    }
}

/// The result of a verification. It prints as text.
#[derive(Clone, Debug)]
#[must_use]
pub struct Verification {
    /// Iterations that were run.
    pub steps: u64,
    /// Arrays that were compared.
    pub compared: usize,
    /// The largest difference that passed, as a fraction of the tolerance.
    pub worst: f64,
    /// The first mismatch, if there is one.
    pub mismatch: Option<Mismatch>,
}

/// A result that differs from the reference's by more than the tolerance.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The iteration, counted from 0.
    pub step: u64,
    /// Which output or shared variable.
    pub what: String,
    /// Where, and by how much.
    pub difference: Difference,
    /// Where it originates.
    pub origin: Origin,
}

/// Where a mismatch originates.
#[derive(Clone, Debug)]
pub enum Origin {
    /// At a node, the first in topological order of the nodes that were found to differ.
    Node {
        /// Its position in the graph.
        node: usize,
        /// Its op.
        op: String,
        /// The name of its output, if it has one.
        name: Option<String>,
        /// dtype and shape of each input.
        inputs: Vec<String>,
        /// dtype and shape of the output that differs.
        output: String,
        /// Where it differs, and by how much.
        difference: Difference,
    },
    /// At no node: with the values of all nodes as outputs the device agrees. Possible causes are the writes
    /// of new values to their shared variables, and a fusion that only the whole graph allows.
    Updates,
    /// It could not be traced.
    Unknown(
        /// Why.
        String,
    ),
}

impl Verification {
    /// Whether everything agreed.
    pub fn passed(&self) -> bool {
        self.mismatch.is_none()
    }
}

/// Runs a Function on a device and by its reference, on copies of its shared variables; the Function is
/// untouched. A sequence (see [`each`](crate::function::each)) among `args` gives each iteration its slice.
///
/// # Errors
/// If the arguments do not fit, a sequence has too few slices, or device or reference fail.
pub fn verify(
    function: &Function,
    device: &Arc<dyn Device>,
    args: Args,
    check: Check,
) -> Result<Verification> {
    verify_in(
        function,
        vec![OpenContext { name: None, device: device.clone(), options: check.options }],
        args,
        check,
    )
}

/// [`verify`] in contexts, which have the options.
pub(super) fn verify_in(
    function: &Function,
    contexts: Vec<OpenContext>,
    args: Args,
    check: Check,
) -> Result<Verification> {
    let (reference, tried) = (function.fork()?, function.fork()?);
    let (args, given) = state_args(function, args)?;
    for (cells, (at, value)) in given.iter().flat_map(|g| [(reference.cells(), g), (tried.cells(), g)]) {
        let cell = cells.get(*at).ok_or_else(|| Error::Internal("an input without its state".into()))?;
        cell.set_value(value.clone())?;
    }
    let mut simulator = Simulator::over(contexts.clone(), &tried)?;
    let given: Vec<Arg> = bind(function, args)?.collect::<Result<_>>()?;
    let mut done = Verification { steps: 0, compared: 0, worst: 0.0, mismatch: None };
    for step in 0..check.steps {
        let inputs = at_step(function, &given, step)?;
        let before: Vec<Value> = reference.cells().iter().map(|c| c.get_value()).collect::<Result<_>>()?;
        if step > 0 {
            for (position, value) in before.iter().enumerate() {
                simulator.put_state(position, value)?;
            }
        }
        let want = reference.call_reference(as_args(&inputs))?;
        let got = simulator.call(as_args(&inputs))?;
        let mut pairs = Vec::new();
        for (position, ((name, want), (_, got))) in want.iter().zip(got.iter()).enumerate() {
            let name = name.map_or(String::new(), |n| format!(" ({n})"));
            pairs.push((format!("output {position}{name}"), want.clone(), got.clone()));
        }
        for (position, cell) in reference.cells().iter().enumerate() {
            let what = format!("shared variable {}", cell.name());
            pairs.push((what, cell.get_value()?, simulator.state_value(position)?));
        }
        done.steps += 1;
        for (what, want, got) in pairs {
            done.compared += 1;
            match compare(&want, &got, check.slack) {
                Ok(worst) => done.worst = done.worst.max(worst),
                Err(difference) => {
                    let start = cut::IterationStart { function, inputs: &inputs, shared: &before };
                    let origin = match cut::trace(&start, &contexts, check) {
                        Ok(Some(origin)) => origin,
                        Ok(None) => Origin::Updates,
                        Err(error) => Origin::Unknown(error.to_string()),
                    };
                    done.mismatch = Some(Mismatch { step, what, difference, origin });
                    return Ok(done);
                }
            }
        }
    }
    Ok(done)
}

/// The arguments of one iteration, as host values.
fn at_step(function: &Function, given: &[Arg], step: u64) -> Result<Vec<Value>> {
    given.iter().enumerate().map(|(position, arg)| slice_at(function, position, arg, step)).collect()
}

/// An argument of one iteration.
fn slice_at(function: &Function, position: usize, arg: &Arg, step: u64) -> Result<Value> {
    match arg {
        Arg::Value(value) => Ok(value.clone()),
        Arg::Device(array) => array.to_value(),
        Arg::View(view) => view.to_value(),
        Arg::Borrowed(array) => array.to_value(),
        Arg::Each(sequence) => sequence.slice_at(step)?.ok_or_else(|| {
            let what = format!("{}: input {}", function.name(), function.input_name(position));
            Error::mismatch(what, "a slice for each step", format!("{} slices", sequence.len()))
        }),
    }
}

fn as_args(values: &[Value]) -> Args {
    values.iter().fold(Args::new(), |args, value| args.with(value.clone()))
}

fn type_text(value: &Value) -> String {
    array_text(value.dtype(), value.shape())
}

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.mismatch {
            None => write!(
                f,
                "{} steps agree with the reference: {} arrays, the largest difference {:.2} of what is allowed",
                self.steps, self.compared, self.worst
            ),
            Some(mismatch) => fmt::Display::fmt(mismatch, f),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "step {}: {} differs from the reference: {}\n{}",
            self.step, self.what, self.difference, self.origin
        )
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Node { node, op, name, inputs, output, difference } => {
                let name = name.as_ref().map_or(String::new(), |n| format!(" '{n}'"));
                write!(f, "it begins at node #{node}, {op}({}) -> {output}{name}: {difference}", inputs.join(", "))
            }
            Origin::Updates => f.write_str(
                "with every node's value as an output the device agrees: look at updates in place, their copies, and fusion",
            ),
            Origin::Unknown(why) => write!(f, "it could not be traced to a node: {why}"),
        }
    }
}
