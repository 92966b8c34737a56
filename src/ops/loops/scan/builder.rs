//! [`Scan`]: a loop with several taps, results that are not carried, and a number of iterations of its own.

use super::super::closed::{captured, closed};
use super::super::states::States;
use super::body::ScanBody;
use super::checkpoint::checkpointed;
use super::scanned::Scanned;
use super::{ScanInputs, ScanOp, until};
use crate::error::{Error, Result};
use crate::graph::source_location;
use crate::graph::{Apply, IntoOperand, Kind, Operand, TensorType, Variable};
use crate::ops::creation::int_scalar;
use crate::ops::index_expression::{Ix, range};
use crate::ops::methods::fail;
use crate::ops::shape::{DimShuffle, ShapeOf};
use std::sync::Arc;
use workalike_kernels::DType;

/// A loop under construction: Theano's `scan` with all its arguments. For common cases
/// [`scan`](crate::ops::loops::scan), [`map`](crate::ops::loops::map),
/// [`reduce`](crate::ops::loops::reduce) and [`fori`](crate::ops::loops::fori) are shorter.
///
/// The body gets, in this order, a slice of each sequence for each of its taps, then each recurrence's values
/// for each of its taps. It returns the new value of each recurrence, in the order in which they were added,
/// then further results, which are stacked.
///
/// ```
/// use workalike::loops::Scan;
/// use workalike::prelude::*;
/// // Fibonacci numbers: each is the sum of the two before.
/// let first = constant(vec![0i64, 1]);
/// let numbers = Scan::new()
///     .steps(8)
///     .recurrent_taps(&first, [-2, -1])
///     .run(|taps| vec![&taps[0] + &taps[1]]);
/// let f = function([] as [&Variable; 0]).output(numbers.history(0)).compile()?;
/// assert_eq!(f.call(args![])?[0].to_vec::<i64>()?, [1, 2, 3, 5, 8, 13, 21, 34]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Scan {
    name: String,
    steps: Option<Operand>,
    sequences: Vec<(Variable, Vec<isize>)>,
    recurrences: Vec<(Variable, Vec<isize>)>,
    reversed: bool,
    truncated: Option<usize>,
    block: Option<usize>,
    lockstep: bool,
    backwards: bool,
}

impl Default for Scan {
    fn default() -> Scan {
        Scan::new()
    }
}

impl Scan {
    /// A loop over nothing yet.
    pub fn new() -> Scan {
        Scan {
            name: "scan".into(),
            steps: None,
            sequences: vec![],
            recurrences: vec![],
            reversed: false,
            truncated: None,
            block: None,
            lockstep: false,
            backwards: false,
        }
    }

    /// A name for messages and listings.
    pub fn named(mut self, name: &str) -> Scan {
        self.name = name.into();
        self
    }

    /// The number of iterations, a number or a 0-d integer Variable, whose value is read before the call.
    /// Unless it is given, it is the extent of the sequences along their first axis. Sequences may be longer.
    pub fn steps(mut self, steps: impl IntoOperand) -> Scan {
        self.steps = Some(steps.into_operand());
        self
    }

    /// A sequence: each iteration gets the next slice along its first axis.
    pub fn sequence(self, sequence: impl Into<Variable>) -> Scan {
        self.sequence_taps(sequence, [0])
    }

    /// A sequence that gives the body several slices at a time, at these distances from the current
    /// position: `[-1, 0]` gives the slice before and the current one. The first iteration is at the first
    /// position where all of them exist.
    pub fn sequence_taps(
        mut self,
        sequence: impl Into<Variable>,
        taps: impl IntoIterator<Item = isize>,
    ) -> Scan {
        self.sequences.push((sequence.into(), taps.into_iter().collect()));
        self
    }

    /// A carried value with the value before the first iteration. The body gets that of the iteration before,
    /// and returns the new one, of the same dtype and shape.
    #[track_caller]
    pub fn recurrent(self, initial: impl Into<Variable>) -> Scan {
        let _scope = source_location::enter();
        let initial = initial.into();
        let row = initial.checked().and_then(|initial| DimShuffle::keep_dims(initial, &[0]));
        self.recurrent_taps(row.unwrap_or_else(Variable::poison), [-1])
    }

    /// A carried value that gives the body its values of several earlier iterations: `[-2, -1]` gives the
    /// last but one, then the last. `initial` holds the values before the first iteration along its
    /// first axis, oldest first, as many as the farthest tap looks back.
    pub fn recurrent_taps(
        mut self,
        initial: impl Into<Variable>,
        taps: impl IntoIterator<Item = isize>,
    ) -> Scan {
        self.recurrences.push((initial.into(), taps.into_iter().collect()));
        self
    }

    /// Takes the sequences from their last slice to the first. Histories are in the order of iterations, so
    /// the first is that of the last slice.
    pub fn reversed(mut self) -> Scan {
        self.reversed = true;
        self
    }

    /// Lets the gradient flow through the last so many iterations alone (Theano's `truncate_gradient`):
    /// truncated backpropagation through time. What comes before them counts as constant.
    pub fn truncate_gradient(mut self, iterations: usize) -> Scan {
        self.truncated = Some(iterations);
        self
    }

    /// Keeps for the gradient only what is carried from one block of so many iterations to the next; it
    /// computes each block again. With the square root of the iterations it takes some two times that many
    /// values, and one more pass. Histories that are read are kept in any case.
    pub fn checkpoint(mut self, iterations: usize) -> Scan {
        self.block = Some(iterations.max(1));
        self
    }

    /// Says that the sequences are known to be as long as there are iterations.
    pub(super) fn lockstep(mut self) -> Scan {
        self.lockstep = true;
        self
    }

    /// Takes the sequences from their last slice to the first, and puts the results that are not carried in
    /// the same places: see [`ScanOp`]. The number of iterations is the sequences'.
    pub(super) fn backwards(mut self, backwards: bool) -> Scan {
        self.backwards = backwards;
        self
    }

    /// The loop with this body, which is called once, to make expressions. A draw from a random stream that
    /// is written in the body is made anew in each iteration; one that was written before is the same in all.
    #[track_caller]
    pub fn run(self, body: impl FnOnce(&[Variable]) -> Vec<Variable>) -> Scanned {
        let _scope = source_location::enter();
        let recurrences = self.recurrences.len();
        self.try_run(body).unwrap_or_else(|error| Scanned::poisoned(&error, recurrences))
    }

    /// [`Scan::run`], with its error at once.
    ///
    /// # Errors
    /// If there is nothing to iterate over; the body returns too few values; a carried value changes its
    /// dtype or rank, or a known extent; a shape in the body depends on a value that changes.
    #[track_caller]
    pub fn try_run(self, body: impl FnOnce(&[Variable]) -> Vec<Variable>) -> Result<Scanned> {
        let _scope = source_location::enter();
        self.made(|given| (body(given), None))
    }

    /// The loop with this body, up to the iteration after which the second result of the body, a 0-d bool,
    /// holds: Theano's `until`. Histories and results have as many rows as there were iterations,
    /// [`Scanned::iterations`]; if the condition never holds, all.
    ///
    /// Extents depend on the number, so that it is known before the loop runs: a call first runs a loop of
    /// what the condition needs, for which it waits. Where no history is read,
    /// [`while_loop`](crate::ops::loops::while_loop) needs no second loop.
    ///
    /// ```
    /// use workalike::loops::Scan;
    /// use workalike::prelude::*;
    /// // Powers of two, up to the first that exceeds a limit.
    /// let limit = scalar::<f64>("limit");
    /// let powers = Scan::new().steps(1024).recurrent(constant(1f64)).run_until(|x| {
    ///     let next = &x[0] * 2.0;
    ///     (vec![next.clone()], next.greater(&limit))
    /// });
    /// let f = function([&limit]).output(powers.history(0)).output(powers.iterations()).compile()?;
    /// let results = f.call(args![45.0])?;
    /// assert_eq!(results[0].to_vec::<f64>()?, [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    /// assert_eq!(results[1].item::<i64>()?, 6);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[track_caller]
    pub fn run_until(self, body: impl FnOnce(&[Variable]) -> (Vec<Variable>, Variable)) -> Scanned {
        let _scope = source_location::enter();
        let recurrences = self.recurrences.len();
        self.try_run_until(body).unwrap_or_else(|error| Scanned::poisoned(&error, recurrences))
    }

    /// [`Scan::run_until`], with its error at once.
    ///
    /// # Errors
    /// As [`Scan::try_run`]; if the condition is no 0-d bool.
    #[track_caller]
    pub fn try_run_until(
        self,
        body: impl FnOnce(&[Variable]) -> (Vec<Variable>, Variable),
    ) -> Result<Scanned> {
        let _scope = source_location::enter();
        self.made(|given| {
            let (outputs, stop) = body(given);
            (outputs, Some(stop))
        })
    }

    fn made(self, body: impl FnOnce(&[Variable]) -> (Vec<Variable>, Option<Variable>)) -> Result<Scanned> {
        let wrong = |message: String| fail(&self.name, message);
        for (variable, _) in self.sequences.iter().chain(&self.recurrences) {
            if variable.checked()?.ndim() == 0 {
                return Err(wrong(format!("{variable:?} has no axis along which it could be taken apart")));
            }
        }
        let (sequences, steps) = self.slices()?;
        let lags = self.lags()?;
        let initial: Vec<Variable> = self.recurrences.iter().map(|(initial, _)| initial.clone()).collect();
        let taps = initial.iter().zip(&lags).flat_map(|(initial, lags)| lags.iter().map(move |_| initial));
        let inputs: Vec<Variable> = sequences.iter().chain(taps).map(row).collect();
        let then = Apply::now();
        let (mut outputs, stop) = {
            // Expressions of the closure have the closure's own source lines.
            let _own = source_location::leave();
            body(&inputs)
        };
        if outputs.is_empty() || outputs.len() < lags.len() {
            let (given, wanted) = (outputs.len(), lags.len().max(1));
            return Err(wrong(format!("the body returns {given} values, and {wanted} or more are expected")));
        }
        if let Some(stop) = &stop
            && (stop.checked()?.dtype() != DType::Bool || stop.ndim() != 0)
        {
            return Err(wrong(format!("the condition is a 0-d bool, got {}", stop.ty())));
        }
        let stops = stop.is_some();
        outputs.extend(stop);
        for output in &outputs {
            output.checked()?;
        }
        let given = ScanInputs { sequences, initial, constants: vec![], steps };
        self.closed(given, lags, inputs, States::of(outputs, then)?, stops)
    }

    /// The loop with a body of these inputs and outputs. If it `stops`, the last output says when.
    fn closed(
        self,
        mut given: ScanInputs,
        mut lags: Vec<Vec<usize>>,
        inputs: Vec<Variable>,
        (states, mut outputs): (States, Vec<Variable>),
        stops: bool,
    ) -> Result<Scanned> {
        let carried = lags.len();
        outputs.splice(carried..carried, states.next);
        lags.extend(states.shared.iter().map(|_| vec![1]));
        for state in &states.shared {
            given.initial.push(DimShuffle::keep_dims(state, &[0])?);
        }
        let inputs: Vec<Variable> = inputs.into_iter().chain(states.inputs).collect();
        given.constants = captured(&outputs, &inputs);
        let (more, mut outputs) = closed(&outputs, &given.constants)?;
        let inputs: Vec<Variable> = inputs.into_iter().chain(more).collect();
        let op = |outputs: &[Variable], given: &ScanInputs| {
            let (sequences, outputs) = (given.sequences.len(), outputs.to_vec());
            let body = ScanBody::new(&self.name, sequences, lags.clone(), inputs.clone(), outputs)?;
            let steps = given.known_steps();
            let Scan { truncated, lockstep, backwards, .. } = self;
            let (body, states) = (Arc::new(body), vec![]);
            Ok::<_, Error>(ScanOp { body, steps, truncated, lockstep, backwards, states })
        };
        if stops {
            let whole = op(&outputs, &given)?;
            given = until::cut(&whole, given)?;
            outputs.pop();
        }
        let op = ScanOp { states: states.shared, ..op(&outputs, &given)? };
        match self.block {
            None => op.on(given, carried),
            Some(block) => checkpointed(&op, &given, block, carried),
        }
    }

    /// The sequences, one for each tap, and the number of iterations.
    fn slices(&self) -> Result<(Vec<Variable>, Variable)> {
        let mut slices = Vec::new();
        for (sequence, taps) in &self.sequences {
            let (Some(&first), Some(&last)) = (taps.iter().min(), taps.iter().max()) else {
                return Err(fail(&self.name, format!("{sequence:?} has no taps")));
            };
            for &tap in taps {
                let (before, behind) = (tap.abs_diff(first) as i64, last.abs_diff(tap) as i64);
                slices.push(match (before, behind) {
                    (0, 0) => sequence.clone(),
                    (before, 0) => sequence.try_index([Ix::from(before..)])?,
                    (before, behind) => sequence.try_index([Ix::from(before..-behind)])?,
                });
            }
        }
        let steps = match (&self.steps, slices.first()) {
            (Some(steps), _) => {
                let steps = int_scalar(&self.name, steps.clone())?;
                if let Some(number) = steps.constant_value().and_then(|value| value.to_scalar())
                    && number.to_i128() < 0
                {
                    return Err(fail(&self.name, format!("{} iterations are asked", number.to_i128())));
                }
                steps
            }
            (None, Some(first)) => ShapeOf::of(first, 0)?,
            (None, None) => {
                return Err(fail(&self.name, "there are no sequences, and no number of iterations".into()));
            }
        };
        if self.reversed {
            let backwards = || Ix::from(..).step(-1);
            slices = slices.iter().map(|slice| slice.try_index([backwards()])).collect::<Result<_>>()?;
        }
        if self.steps.is_some() {
            let taken = |slice: &Variable| slice.try_index([range(0i64, &steps)]);
            slices = slices.iter().map(taken).collect::<Result<_>>()?;
        }
        Ok((slices, steps))
    }

    fn lags(&self) -> Result<Vec<Vec<usize>>> {
        let lags = |(initial, taps): &(Variable, Vec<isize>)| {
            let wrong = |tap: &&isize| **tap >= 0;
            if let Some(tap) = taps.iter().find(wrong) {
                let message =
                    format!("tap {tap} of {initial:?} is not of an earlier iteration: taps are negative");
                return Err(fail(&self.name, message));
            }
            Ok(taps.iter().map(|tap| tap.unsigned_abs()).collect())
        };
        self.recurrences.iter().map(lags).collect()
    }
}

/// What the body gets of an array at each iteration.
fn row(whole: &Variable) -> Variable {
    let ty = TensorType::new(whole.dtype(), whole.ty().shape[1..].to_vec());
    let name = whole.name().or_else(|| {
        // A carried value is its initial value with a new axis.
        let (apply, _) = whole.owner()?;
        apply.inputs.first()?.name()
    });
    Variable::with_kind(Kind::Input, ty, name.map(Into::into))
}
