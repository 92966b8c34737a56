//! Other ways to call a Function: for some of its outputs, and many times in one go.

use super::args::{ArgIn, ArgsIn, IntoArgs, bind, state_args};
use super::callable::{Function, with_states};
use super::count::Count;
use super::interruptible::in_blocks;
use super::outputs::{OutputKey, Outputs};
use crate::engine::{CallInput, Engine, IterationLoop, Twins};
use crate::error::{Error, Result};
use crate::list::IntoList;
use std::sync::{Mutex, PoisonError};

/// Number of selections of outputs that are cached per Function; beyond it the oldest is dropped.
const SUBSETS_KEPT: usize = 32;

/// Functions that compute some outputs of another, by the outputs' positions.
pub(super) type Subsets = Mutex<Vec<(Vec<usize>, Function)>>;

impl Function {
    /// Calls the Function for some of its outputs, by name or position, in this order. Only what they and the
    /// updates need is computed; the updates are made as in any call.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = vector::<f64>("x");
    /// let f = function([&x]).output_named("cost", x.sqr().sum(..)).output_named("exp", x.exp()).compile()?;
    /// assert_eq!(f.call_outputs(["cost"], args![vec![1.0, 2.0]])?["cost"].item::<f64>()?, 5.0);
    /// assert_eq!(f.call_outputs([1], args![vec![0.0]])?[0].to_vec::<f64>()?, [1.0]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such output, the arguments do not fit, or an op fails.
    pub fn call_outputs<'a, 'k, Form>(
        &self,
        outputs: impl IntoList<OutputKey<'k>, Form>,
        args: impl IntoArgs<'a>,
    ) -> Result<Outputs> {
        self.subset(self.output_positions(outputs)?)?.call(args)
    }

    /// The positions of these outputs.
    pub(crate) fn output_positions<'k, Form>(
        &self,
        outputs: impl IntoList<OutputKey<'k>, Form>,
    ) -> Result<Vec<usize>> {
        let known = self.output_names();
        let position = |key: OutputKey<'_>| {
            let (found, what) = match key {
                OutputKey::Position(at) => (Some(at).filter(|&at| at < known.len()), at.to_string()),
                OutputKey::Name(name) => {
                    (known.iter().position(|k| k.as_deref() == Some(name)), name.to_string())
                }
            };
            found.ok_or_else(|| {
                let names: Vec<&str> = known.iter().flatten().map(String::as_str).collect();
                let names = if names.is_empty() { "none".into() } else { names.join(", ") };
                let message =
                    format!("has no output {what}; it has {}, with the names: {names}", known.len());
                Error::Call { function: self.name().into(), message }
            })
        };
        outputs.into_list().into_iter().map(position).collect()
    }

    /// The Function that computes only these outputs, over the same shared variables.
    fn subset(&self, positions: Vec<usize>) -> Result<Function> {
        let mut kept = self.subsets().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, function)) = kept.iter().find(|(chosen, _)| *chosen == positions) {
            return Ok(function.clone());
        }
        let function = self.with_outputs(&positions)?;
        if kept.len() >= SUBSETS_KEPT {
            kept.remove(0);
        }
        kept.push((positions, function.clone()));
        Ok(function)
    }

    /// Calls the Function `n` times. The inputs are the same in each iteration, except that an input given as
    /// [`each`](crate::function::each) is one slice per iteration. The outputs are those of the last
    /// iteration (none if `n` is 0).
    ///
    /// If an iteration fails, shared variables have the values after the iteration before it.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (total, x) = (shared("total", 0i64), scalar::<i64>("x"));
    /// let f = function([&x]).output(&total).update(&total, &total + &x).compile()?;
    /// f.run_n(1000, args![2i64])?;
    /// f.run_n(3, args![each(vec![1i64, 2, 3])])?;
    /// assert_eq!(total.get_value()?.item::<i64>()?, 2006);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the arguments do not fit, a sequence does not have `n` slices, or an op fails.
    pub fn run_n<'a>(&self, n: impl Count, args: impl IntoArgs<'a>) -> Result<Outputs> {
        self.run_n_given(n.count()?, args.into_args())
    }

    /// [`Function::run_n`] that can be interrupted: it asks `go_on`, with the number of iterations done, some
    /// twenty times a second, between iterations, and ends where the answer is false. Returns the number of
    /// iterations done, and the outputs of the last.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let total = shared("total", 0i64);
    /// let f = function(()).output(&total).update(&total, &total + 1i64).compile()?;
    /// let (done, _) = f.run_n_while(1_000_000, args![], |_| false)?;
    /// assert_eq!(total.get_value()?.item::<i64>()?, done as i64);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Function::run_n`].
    pub fn run_n_while<'a>(
        &self,
        n: impl Count,
        args: impl IntoArgs<'a>,
        go_on: impl FnMut(u64) -> bool,
    ) -> Result<(u64, Outputs)> {
        in_blocks(self, n.count()?, args.into_args(), go_on, |n, args| self.run_n_given(n, args))
    }

    fn run_n_given(&self, n: u64, args: ArgsIn<'_>) -> Result<Outputs> {
        let mut each = Vec::new();
        let mut constant = Vec::new();
        let (args, states) = state_args(self, args)?;
        for (position, arg) in bind(self, args)?.enumerate() {
            constant.push(CallInput::Host(match arg? {
                ArgIn::Value(value) => value,
                ArgIn::Device(array) => array.to_value()?,
                ArgIn::View(view) => view.to_value()?,
                ArgIn::Borrowed(array) => array.to_value()?,
                ArgIn::Each(sequence) => {
                    let what = || format!("{}: input {}", self.name(), self.input_name(position));
                    let slice = sequence.stand_in(n, what)?;
                    each.push((position, CallInput::Host(sequence.to_value()?)));
                    slice
                }
            }));
        }
        if n == 0 {
            return Ok(self.outputs_of(vec![]));
        }
        let work = |engine: &mut Engine| {
            let twins = Twins { plain: 0, probed: 0 };
            let mut steps = match IterationLoop::new(engine, twins, n, constant, &each, vec![]) {
                Ok(steps) => steps,
                Err(error) => return (Err(error), false),
            };
            let values = steps.run(engine).and_then(|last| match last {
                Some(method) => engine.outputs(method),
                None => Ok(vec![]),
            });
            let changed = steps.done() > 0 || values.as_ref().err().is_none_or(Error::may_change_state);
            (values, changed)
        };
        let values = self.on_engine(|engine| with_states(engine, &states, work))?;
        Ok(self.outputs_of(values))
    }
}
