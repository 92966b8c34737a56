//! Learning rates that follow a schedule: 0-d float32 Variables, made of a 0-d integer that counts the steps
//! from 0 on. They are an optimizer's `rate`.
//!
//! ```
//! use workalike::prelude::*;
//! use workalike::schedules::{cosine, warm_up};
//! let step = shared("step", 0i64);
//! let rate = warm_up(cosine(1e-3, &step, 10_000), &step, 500);
//! let w = shared("w", [1f32, 2.0]);
//! let cost = w.sqr().sum(..);
//! let updates = adam([&w], grad(&cost, [&w])?, &rate)?;
//! let train = function(()).output(&rate).updates(updates).update(&step, &step + 1).compile()?;
//! assert_eq!(train.call(args![])?[0].item::<f32>()?, 0.0);
//! assert!(train.call(args![])?[0].item::<f32>()? > 0.0);
//! # Ok::<(), workalike::Error>(())
//! ```

use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{IntoOperand, Operand, Variable};
use crate::ops::methods::fail;
use crate::ops::where_;
use workalike_kernels::DType;

/// A rate or a number of steps as a 0-d float32.
fn number(schedule: &str, operand: impl IntoOperand) -> Result<Variable> {
    let number = Operand::resolve(vec![operand.into_operand()]).swap_remove(0);
    if number.checked()?.ndim() != 0 {
        return Err(fail(schedule, format!("expected a number, got {}", number.ty())));
    }
    number.try_cast(DType::F32)
}

/// The part of `steps` that is done, in 0 to 1. Of no steps, all.
fn done(schedule: &str, step: impl IntoOperand, steps: u64) -> Result<Variable> {
    number(schedule, step)?.try_div(steps.max(1) as f64)?.try_clip(0.0, 1.0)
}

/// `rate` to the power law `rate * factor^(step / every)`.
#[track_caller]
pub fn exponential_decay(
    rate: impl IntoOperand,
    step: impl IntoOperand,
    every: u64,
    factor: f64,
) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let times = number("exponential_decay", step)?.try_div(every.max(1) as f64)?;
        number("exponential_decay", rate)?.try_mul(times.try_mul(factor.ln())?.try_exp()?)
    };
    build().unwrap_or_else(Variable::poison)
}

/// From `first` to `last` in equal steps; `last` from then on.
#[track_caller]
pub fn linear(
    first: impl IntoOperand,
    last: impl IntoOperand,
    step: impl IntoOperand,
    steps: u64,
) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let (first, last) = (number("linear", first)?, number("linear", last)?);
        first.try_add(last.try_sub(&first)?.try_mul(done("linear", step, steps)?)?)
    };
    build().unwrap_or_else(Variable::poison)
}

/// From `rate` to 0 along half a cosine: `rate (1 + cos(pi step / steps)) / 2`; 0 from then on (I. Loshchilov
/// and F. Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017, without restarts).
#[track_caller]
pub fn cosine(rate: impl IntoOperand, step: impl IntoOperand, steps: u64) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let angle = done("cosine", step, steps)?.try_mul(std::f64::consts::PI)?;
        number("cosine", rate)?.try_mul(angle.try_cos()?.try_add(1.0)?.try_mul(0.5)?)
    };
    build().unwrap_or_else(Variable::poison)
}

/// `rate`, multiplied by `step / steps` in the first steps: from 0 to all of it.
#[track_caller]
pub fn warm_up(rate: impl IntoOperand, step: impl IntoOperand, steps: u64) -> Variable {
    let _scope = source_location::enter();
    let build = || number("warm_up", rate)?.try_mul(done("warm_up", step, steps)?);
    build().unwrap_or_else(Variable::poison)
}

/// `first`, and from each of these steps on another rate; the steps ascend.
#[track_caller]
pub fn piecewise(
    first: impl IntoOperand,
    step: impl IntoOperand,
    from: impl IntoIterator<Item = (i64, f64)>,
) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let step = Operand::resolve(vec![step.into_operand()]).swap_remove(0);
        let mut rate = number("piecewise", first)?;
        for (at, next) in from {
            rate = where_(step.try_greater_equal(at)?, number("piecewise", next)?, rate);
        }
        number("piecewise", rate)
    };
    build().unwrap_or_else(Variable::poison)
}
