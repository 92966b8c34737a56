//! The reference of a loop: its body, evaluated op by op, for one iteration after the other.

use super::super::closed::broken;
use super::ScanOp;
use super::body::BodyInput;
use crate::error::{Error, Result};
use crate::graph::evaluate;
use crate::value::Value;
use workalike_kernels::DType;

/// The outputs for these inputs.
pub(super) fn perform(op: &ScanOp, inputs: &[Value]) -> Result<Vec<Value>> {
    let body = &op.body;
    let (steps, shapes) = op.shapes_of(inputs)?;
    let outputs = body.closed.graph.outputs.len();
    // The rows of each output; a recurrence begins with its initial values.
    let mut rows: Vec<Vec<Value>> = vec![vec![]; outputs];
    for (recurrence, rows) in rows.iter_mut().take(body.lags.len()).enumerate() {
        let initial = &inputs[op.first_initial() + recurrence];
        *rows = (0..body.depth(recurrence)).map(|at| row(initial, at)).collect::<Result<_>>()?;
    }
    for step in 0..steps {
        let slice = if op.backwards { steps - 1 - step } else { step };
        let part = |part: BodyInput| match part {
            BodyInput::Sequence(at) => row(&inputs[at], slice),
            BodyInput::Tap(recurrence, lag) => {
                let at = body.depth(recurrence) + step - lag;
                rows[recurrence].get(at).cloned().ok_or_else(|| broken("value so far back"))
            }
            BodyInput::Constant(_) => Ok(inputs[op.source(part)].clone()),
        };
        let given = body.parts().map(part).collect::<Result<Vec<_>>>()?;
        let values =
            evaluate(&body.closed.graph, &given, &[]).map_err(|error| in_iteration(error, step, steps))?;
        for (rows, id) in rows.iter_mut().zip(&body.closed.graph.outputs) {
            rows.push(values.get(id).ok_or_else(|| broken("such output"))?.clone());
        }
    }
    if op.backwards {
        rows[body.lags.len()..].iter_mut().for_each(|rows| rows.reverse());
    }
    let dtype = |at: usize| body.closed.output_type(at).dtype;
    rows.iter().zip(&shapes).enumerate().map(|(at, (rows, shape))| stack(dtype(at), shape, rows)).collect()
}

/// The error of an iteration, with its number.
pub(super) fn in_iteration(error: Error, step: usize, steps: usize) -> Error {
    match error {
        Error::Run { op, node, message } => {
            let message = format!("{message}; in iteration {step} of a loop of {steps}, counted from 0");
            Error::Run { op, node, message }
        }
        error => error,
    }
}

/// The slice at a position of the first axis.
fn row(whole: &Value, at: usize) -> Result<Value> {
    let (Some(_), Some(&stride)) = (whole.shape().first(), whole.strides().first()) else {
        return Err(broken("axis of iterations"));
    };
    let offset = (whole.offset() as isize).wrapping_add(stride.wrapping_mul(at as isize));
    whole.view_as(&whole.shape()[1..], &whole.strides()[1..], offset as usize)
}

/// The rows along a new first axis.
fn stack(dtype: DType, shape: &[usize], rows: &[Value]) -> Result<Value> {
    Value::try_filled(dtype, shape, |bytes| {
        let size = bytes.len() / rows.len().max(1);
        if size == 0 {
            return Ok(());
        }
        for (to, row) in bytes.chunks_exact_mut(size).zip(rows) {
            let row = row.contiguous()?;
            let from = row.contiguous_bytes().filter(|from| from.len() == size);
            to.copy_from_slice(from.ok_or_else(|| broken("row of this size"))?);
        }
        Ok(())
    })
}
