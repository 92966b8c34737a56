//! Losses, normalization, gradients, optimizers and schedules.

use super::{Made, one};
use crate::arguments::Arguments;
use crate::errors::raised;
use crate::operand::{operand_of, variable_of};
use crate::place::at_caller;
use crate::shared::PySharedVariable;
use crate::variable::PyVariable;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::HashMap;
use workalike::DType;
use workalike::grad::{self, Disconnected, Grad};
use workalike::graph::SharedVariable;
use workalike::{layers, losses, ops, optimizers, schedules};

pub(super) fn call(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    for family in [losses_and_layers, gradients, rates] {
        if let Some(made) = family(name, given)? {
            return Ok(Some(made));
        }
    }
    Ok(None)
}

fn losses_and_layers(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    one(Ok(match name {
        "softmax" | "log_softmax" => {
            let x = given.variable("x")?;
            let Some(axis) = given.axis_or_flat(-1)? else {
                return given.refuse("expected an axis, got None; flatten the array first");
            };
            if name == "softmax" { ops::softmax(x, axis) } else { ops::log_softmax(x, axis) }
        }
        "categorical_crossentropy" => {
            ops::categorical_crossentropy(given.variable("p")?, given.variable("y")?)
        }
        "categorical_crossentropy_with_logits" => {
            losses::categorical_crossentropy_with_logits(given.variable("logits")?, given.variable("y")?)
        }
        "binary_crossentropy" => losses::binary_crossentropy(given.variable("p")?, given.operand("y")?),
        "binary_crossentropy_with_logits" => {
            losses::binary_crossentropy_with_logits(given.variable("logits")?, given.operand("y")?)
        }
        "huber" => losses::huber(given.variable("difference")?, given.operand("delta")?),
        "smooth_labels" => {
            let (y, classes, amount) = (given.variable("y")?, given.get("classes")?, given.get("amount")?);
            losses::smooth_labels(y, classes, amount, given.dtype()?.unwrap_or(DType::F32))
        }
        "layer_norm" => {
            let (x, scale, shift) =
                (given.variable("x")?, given.variable("scale")?, given.variable("shift")?);
            layers::layer_norm(x, scale, shift, given.get_or("epsilon", 1e-5)?)
        }
        _ => return Ok(None),
    }))
}

fn gradients(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let several = |made: workalike::Result<Vec<_>>| Ok(Some(Made::Several(made.map_err(raised)?)));
    match name {
        "grad" => {
            let (cost, wrt) = (given.variable("cost")?, given.variables("wrt")?);
            let constant = match given.option("consider_constant")? {
                Some(list) => crate::arguments::sequence(&list)?
                    .iter()
                    .map(crate::operand::variable_of)
                    .collect::<PyResult<_>>()?,
                None => vec![],
            };
            let disconnected = match given.get_or("disconnected_inputs", "raise".to_string())?.as_str() {
                "raise" => Disconnected::Error,
                "ignore" | "zero" => Disconnected::Zero,
                other => {
                    return Err(PyValueError::new_err(format!(
                        "disconnected_inputs is raise or ignore, not {other}"
                    )));
                }
            };
            several(Grad::of(&cost).consider_constant(constant).disconnected(disconnected).wrt(wrt))
        }
        "jacobian" => several(grad::jacobian(&given.variable("expression")?, given.variables("wrt")?)),
        "hessian" => several(grad::hessian(&given.variable("cost")?, given.variables("wrt")?)),
        "vjp" => {
            let (expression, wrt) = (given.variable("expression")?, given.variables("wrt")?);
            several(grad::vjp(&expression, wrt, &given.variable("cotangent")?))
        }
        "jvp" => {
            let (expression, wrt) = (given.variable("expression")?, given.variables("wrt")?);
            one(grad::jvp(&expression, wrt, given.variables("tangents")?))
        }
        "hvp" => {
            let (cost, wrt) = (given.variable("cost")?, given.variables("wrt")?);
            several(grad::hvp(&cost, wrt, given.variables("tangents")?))
        }
        "clip_norm" => {
            let (gradients, most) = (given.variables("gradients")?, given.operand("most")?);
            several(optimizers::clip_norm(gradients, most))
        }
        "consider_constant" => one(Ok(ops::consider_constant(given.variable("x")?))),
        "zero_grad" => one(Ok(ops::zero_grad(given.variable("x")?))),
        "grad_clip" => {
            let (x, low, high) = (given.variable("x")?, given.get("low")?, given.get("high")?);
            one(Ok(ops::grad_clip(x, low, high)))
        }
        _ => Ok(None),
    }
}

fn rates(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let Some(name) = name.strip_prefix("schedules.") else { return Ok(None) };
    one(Ok(match name {
        "exponential_decay" => {
            let (rate, step) = (given.operand("rate")?, given.operand("step")?);
            schedules::exponential_decay(rate, step, given.get("every")?, given.get("factor")?)
        }
        "linear" => {
            let (first, last, step) =
                (given.operand("first")?, given.operand("last")?, given.operand("step")?);
            schedules::linear(first, last, step, given.get("steps")?)
        }
        "cosine" | "warm_up" => {
            let (rate, step, steps) = (given.operand("rate")?, given.operand("step")?, given.get("steps")?);
            if name == "cosine" {
                schedules::cosine(rate, step, steps)
            } else {
                schedules::warm_up(rate, step, steps)
            }
        }
        "piecewise" => {
            let (first, step) = (given.operand("first")?, given.operand("step")?);
            schedules::piecewise(first, step, given.list::<(i64, f64)>("changes")?.unwrap_or_default())
        }
        _ => return Ok(None),
    }))
}

/// The updates of an optimizer: pairs of a shared variable and its new value.
#[pyfunction]
pub(crate) fn optimize(
    py: Python<'_>,
    name: &str,
    parameters: Vec<PyRef<'_, PySharedVariable>>,
    gradients: Vec<Bound<'_, PyAny>>,
    rate: &Bound<'_, PyAny>,
    options: HashMap<String, f64>,
) -> PyResult<Vec<(Py<PySharedVariable>, Py<PyVariable>)>> {
    let parameters: Vec<SharedVariable> =
        parameters.iter().map(|parameter| parameter.shared.clone()).collect();
    let gradients = gradients.iter().map(variable_of).collect::<PyResult<Vec<_>>>()?;
    let rate = operand_of(rate)?;
    let option = |name: &str| options.get(name).copied().unwrap_or_default();
    let updates = at_caller(py, || match name {
        "sgd" => optimizers::sgd(parameters, gradients, rate),
        "momentum" => optimizers::momentum(parameters, gradients, rate, option("momentum")),
        "nesterov" => optimizers::nesterov(parameters, gradients, rate, option("momentum")),
        "rmsprop" => optimizers::RmsProp { decay: option("decay"), epsilon: option("epsilon") }
            .updates(parameters, gradients, rate),
        _ => optimizers::Adam { beta1: option("beta1"), beta2: option("beta2"), epsilon: option("epsilon") }
            .updates(parameters, gradients, rate),
    })?;
    let pair = |(shared, new)| Ok((PySharedVariable::made(py, shared)?, PyVariable::made(py, new)?));
    updates.map_err(raised)?.into_iter().map(pair).collect()
}
