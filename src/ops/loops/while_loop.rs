//! Loops that go on while a condition holds (Theano's `scan` with `until`, JAX's `while_loop`).

use super::closed::{Closed, broken, captured, closed};
use super::pack::Pack;
use super::states::States;
use super::while_op::WhileOp;
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{Apply, Kind, Variable};
use crate::ops::methods::fail;
use std::sync::Arc;
use workalike_kernels::DType;

/// Iterations of a loop without a limit of its own.
const MOST: i64 = 1 << 20;

/// The carried values when the condition no longer holds: JAX's `while_loop`.
///
/// `condition(x)` gives a 0-d bool, `body(x)` the next values. If the condition does not hold at first, the
/// result is `initial`. On a device, the values stay there; a condition that holds after 2^20 iterations is
/// an error of the call: see [`While::at_most`]. There is no gradient through it, since the values on the way
/// are not kept: use [`scan`](super::scan) for that.
///
/// ```
/// use workalike::loops::while_loop;
/// use workalike::prelude::*;
/// // Newton's square root.
/// let a = scalar::<f64>("a");
/// let root = while_loop(&a, |x| (x * x - &a).abs().greater(1e-12 * &a), |x| (&x + &a / &x) * 0.5);
/// let f = function([&a]).output(&root).compile()?;
/// assert!((f.call(args![2.0])?[0].item::<f64>()? - 2f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), workalike::Error>(())
/// ```
#[track_caller]
#[must_use]
pub fn while_loop<C: Pack, R: Pack>(
    initial: C,
    condition: impl Fn(&C::Variables) -> Variable,
    body: impl FnOnce(C::Variables) -> R,
) -> C::Variables {
    let _scope = source_location::enter();
    While::new().run(initial, condition, body).0
}

/// A loop with a condition, under construction.
#[derive(Clone, Debug)]
#[must_use]
pub struct While {
    name: String,
    most: i64,
}

impl Default for While {
    fn default() -> While {
        While::new()
    }
}

impl While {
    /// A loop of at most 2^20 iterations.
    pub fn new() -> While {
        While { name: "while_loop".into(), most: MOST }
    }

    /// A name for messages and listings.
    pub fn named(mut self, name: &str) -> While {
        self.name = name.into();
        self
    }

    /// The most iterations. If the condition still holds after them, it is an error of the call.
    pub fn at_most(mut self, iterations: u32) -> While {
        self.most = iterations.into();
        self
    }

    /// The carried values when the condition no longer holds, and the number of iterations, an int64: see
    /// [`while_loop`]. Both closures are called to make expressions, the condition twice.
    #[track_caller]
    pub fn run<C: Pack, R: Pack>(
        self,
        initial: C,
        condition: impl Fn(&C::Variables) -> Variable,
        body: impl FnOnce(C::Variables) -> R,
    ) -> (C::Variables, Variable) {
        let _scope = source_location::enter();
        let initial = initial.into_list();
        let count = initial.len();
        let made = self.made::<C, R>(initial, condition, body);
        let (values, steps) = made.unwrap_or_else(|error| {
            let poison = Variable::poison(error);
            (vec![poison.clone(); count], poison)
        });
        (C::unpack_poisoned(values), steps)
    }

    /// The number of iterations of a loop over a list, whose `body` may fail.
    pub(super) fn counted(
        self,
        initial: Vec<Variable>,
        condition: impl Fn(&Vec<Variable>) -> Variable,
        body: impl FnOnce(Vec<Variable>) -> Result<Vec<Variable>>,
    ) -> Result<Variable> {
        let poisoned = |error| vec![Variable::poison(error)];
        let body = |given| body(given).unwrap_or_else(poisoned);
        Ok(self.made::<Vec<Variable>, Vec<Variable>>(initial, condition, body)?.1)
    }

    fn made<C: Pack, R: Pack>(
        self,
        initial: Vec<Variable>,
        condition: impl Fn(&C::Variables) -> Variable,
        body: impl FnOnce(C::Variables) -> R,
    ) -> Result<(Vec<Variable>, Variable)> {
        let wrong = |message: String| fail(&self.name, message);
        initial.iter().try_for_each(|variable| variable.checked().map(drop))?;
        let form = |list: &[Variable]| {
            C::unpack(list.to_vec())
                .ok_or_else(|| wrong("the carried values are not as many as were given".into()))
        };
        let holds = |list: &[Variable]| {
            let given = form(list)?;
            let holds = {
                let _own = source_location::leave();
                condition(&given)
            };
            match holds.checked()? {
                holds if holds.dtype() == DType::Bool && holds.ndim() == 0 => Ok(holds.clone()),
                other => Err(wrong(format!("the condition is a 0-d bool, got {}", other.ty()))),
            }
        };
        let count = initial.len();
        let values: Vec<Variable> = initial.iter().map(stand_in).collect();
        let then = Apply::now();
        let next = {
            let given = form(&values)?;
            let _own = source_location::leave();
            body(given).into_list()
        };
        next.iter().try_for_each(|variable| variable.checked().map(drop))?;
        if next.len() != count {
            return Err(wrong(format!("the body returns {} values for {count} carried ones", next.len())));
        }
        // The loop carries whether the condition holds, and how many iterations there were.
        let (held, steps) = (holds(&initial)?, stand_in(&Variable::constant(0i64)));
        let (holds, more) = (holds(&next)?, steps.try_add(1i64)?);
        let goes_on = |holds: &Variable, steps: &Variable| holds.try_bitwise_and(steps.try_less(self.most)?);
        let outputs: Vec<Variable> = [vec![goes_on(&holds, &more)?, holds, more], next].concat();
        let (states, mut outputs) = States::of(outputs, then)?;
        outputs.extend(states.next);
        let inputs: Vec<Variable> = [vec![stand_in(&held), steps], values, states.inputs].concat();
        let carried = inputs.len();
        let constants = captured(&outputs, &inputs);
        let (more, outputs) = closed(&outputs, &constants)?;
        let body = Closed::new([inputs, more].concat(), outputs)?;
        let op = body
            .and_then(|body| WhileOp::of(&self.name, [carried, self.most as usize], body))
            .map_err(wrong)?;
        let op = op.with_states(states.shared.clone());
        let zero = Variable::constant(0i64);
        let first = goes_on(&held, &zero)?;
        let given: Vec<Variable> = [vec![first, held, zero], initial, states.shared, constants].concat();
        let results = Variable::apply_at(Arc::new(op), &given, source_location::here())?;
        let steps = results.get(1).ok_or_else(|| broken("number of iterations"))?.clone();
        Ok((results[2..2 + count].to_vec(), steps))
    }
}

/// What the body gets in place of a value.
fn stand_in(of: &Variable) -> Variable {
    Variable::with_kind(Kind::Input, of.ty().clone(), of.name().map(Into::into))
}
