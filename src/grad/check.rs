//! Gradients compared with differences.

use super::{Disconnected, Grad};
use crate::error::{Error, Result};
use crate::function::{Args, In, function};
use crate::graph::{TensorType, Variable};
use crate::ops::arange;
use crate::value::Value;
use workalike_kernels::DType;

/// Compares the gradient of an expression with central differences, at a point, in float64, by the ops' plain
/// `perform`.
///
/// The cost is a weighted sum of the expression's elements, with different weights. The differences are taken
/// at three step sizes and extrapolated, so their error is of the sixth order of the step, which is 1e-3
/// times the magnitude of the number. `tolerance` is relative to 1 plus the gradient's magnitude (1e-7 suits
/// most smooth functions). Keep away from kinks.
///
/// ```
/// use workalike::prelude::*;
/// verify_grad(|x| x[0].sin() * &x[1], &[Value::from(vec![0.3, 1.2]), Value::from(vec![2.0, -1.0])], 1e-7)?;
/// # Ok::<(), workalike::Error>(())
/// ```
///
/// # Errors
/// Which element of which input differs most, and by how much; or that the expression cannot be
/// differentiated or evaluated.
pub fn verify_grad(expression: impl Fn(&[Variable]) -> Variable, at: &[Value], tolerance: f64) -> Result<()> {
    let at: Vec<Value> = at.iter().map(|value| value.cast(DType::F64)).collect::<Result<_>>()?;
    let variables: Vec<Variable> = at
        .iter()
        .enumerate()
        .map(|(i, value)| {
            let shape: Vec<Option<usize>> = value.shape().iter().map(|&e| Some(e)).collect();
            Variable::input(&format!("x{i}"), TensorType::new(DType::F64, shape))
        })
        .collect();
    let output = expression(&variables);
    let flat = output.checked()?.try_flatten()?.cast(DType::F64);
    // Weights between 0.5 and 2.5, irregular, so that errors of symmetric elements do not cancel.
    let weights = (arange(flat.extent(0)).cast(DType::F64) * 1.3 + 0.5).cos() + 1.5;
    let cost = (flat * weights).try_sum(..)?;
    let slopes = Grad::of(&cost).disconnected(Disconnected::Zero).wrt(&variables)?;
    let inputs = || variables.iter().enumerate().map(|(i, v)| In::new(v).name(&format!("x{i}")));
    let value_of = function(inputs()).output(&cost).allow_unused_inputs().compile()?;
    let slope_of = function(inputs()).outputs(&slopes).allow_unused_inputs().compile()?;
    let args = |changed: Option<(usize, Value)>| {
        at.iter().enumerate().fold(Args::new(), |args, (i, value)| match &changed {
            Some((which, other)) if *which == i => args.with(other),
            _ => args.with(value),
        })
    };
    let slopes = slope_of.call_reference(args(None))?;
    let mut worst: Option<(f64, String)> = None;
    for (which, value) in at.iter().enumerate() {
        let numbers = value.to_vec::<f64>()?;
        let analytic = slopes[which].to_vec::<f64>()?;
        for element in 0..numbers.len() {
            let moved = |by: f64| -> Result<f64> {
                let mut numbers = numbers.clone();
                numbers[element] += by;
                let changed = Value::from_vec(value.shape(), numbers)?;
                value_of.call_reference(args(Some((which, changed))))?[0].item::<f64>()
            };
            let numeric = extrapolated_difference(moved, 1e-3 * numbers[element].abs().max(0.1))?;
            let off = (analytic[element] - numeric).abs() / (1.0 + numeric.abs());
            let beyond = |bound: f64| off.is_nan() || off > bound;
            if beyond(tolerance) && worst.as_ref().is_none_or(|(most, _)| beyond(*most)) {
                let text = format!(
                    "{} for element {element} of input {which}, where differences give {numeric}",
                    analytic[element]
                );
                worst = Some((off, text));
            }
        }
    }
    match worst {
        None => Ok(()),
        Some((off, text)) => {
            let expected = format!("a gradient within {tolerance:e} of differences");
            Err(Error::mismatch("verify_grad", expected, format!("{text}: off by {off:e}")))
        }
    }
}

/// The derivative at 0 of `moved`: central differences of three steps with two Richardson extrapolations.
fn extrapolated_difference(moved: impl Fn(f64) -> Result<f64>, step: f64) -> Result<f64> {
    let central = |step: f64| -> Result<f64> { Ok((moved(step)? - moved(-step)?) / (2.0 * step)) };
    let (one, half, quarter) = (central(step)?, central(step / 2.0)?, central(step / 4.0)?);
    let (first, second) = ((4.0 * half - one) / 3.0, (4.0 * quarter - half) / 3.0);
    Ok((16.0 * second - first) / 15.0)
}
