//! The number of iterations until a condition holds: a loop of its own, which carries no more than the
//! condition needs. Extents depend on it, so it runs before the call, as all that extents depend on.

use super::super::while_loop::While;
use super::body::BodyInput;
use super::prune_outputs;
use super::{ScanInputs, ScanOp};
use crate::error::Result;
use crate::graph::{TensorType, Variable, rebuild};
use crate::ops::index_expression::{Ix, range};
use crate::ops::join::concatenate;
use crate::ops::op_from_graph::pairs;

/// What a loop is given that runs until after the iteration in which the last output of `op` holds.
pub(super) fn cut(op: &ScanOp, given: ScanInputs) -> Result<ScanInputs> {
    let steps = iterations(op, &given)?;
    let first = |sequence: &Variable| sequence.try_index([range(0i64, &steps)]);
    let sequences = given.sequences.iter().map(first).collect::<Result<_>>()?;
    Ok(ScanInputs { sequences, steps, ..given })
}

/// The number of iterations after which the last output of `op` holds; all of them, if it never does.
fn iterations(op: &ScanOp, given: &ScanInputs) -> Result<Variable> {
    let inputs = given.list();
    let types: Vec<&TensorType> = inputs.iter().map(Variable::ty).collect();
    let outputs = op.body.closed.graph.outputs.len();
    let last: Vec<bool> = (0..outputs).map(|output| output + 1 == outputs).collect();
    let (op, inputs) = match prune_outputs::less(op, &last, &types) {
        Some(less) => (less.op, less.inputs.iter().map(|&at| inputs[at].clone()).collect()),
        None => (op.clone(), inputs),
    };
    let body = &op.body;
    let (parts, outputs) = body.closed.variables()?;
    let recurrences = body.lags.len();
    let windows = (0..recurrences).map(|recurrence| inputs[op.first_initial() + recurrence].clone());
    let before = [Variable::constant(false), Variable::constant(0i64)];
    let carried: Vec<Variable> = before.into_iter().chain(windows).collect();
    let goes_on = |carried: &Vec<Variable>| {
        let goes = !&carried[0];
        goes.bitwise_and(carried[1].less(&given.steps))
    };
    let next = |carried: &[Variable]| {
        let (count, windows) = (&carried[1], &carried[2..]);
        let value = |part: BodyInput| match part {
            BodyInput::Sequence(_) => inputs[op.source(part)].try_index([Ix::from(count)]),
            BodyInput::Tap(recurrence, lag) => {
                windows[recurrence].try_index([Ix::from((body.depth(recurrence) - lag) as i64)])
            }
            BodyInput::Constant(_) => Ok(inputs[op.source(part)].clone()),
        };
        let values = body.parts().map(value).collect::<Result<Vec<_>>>()?;
        let outputs = rebuild(&outputs, &mut pairs(&parts, &values), |_, _| Ok(None))?;
        let mut next = vec![outputs[recurrences].clone(), count.try_add(1i64)?];
        for (window, new) in windows.iter().zip(&outputs) {
            next.push(concatenate([window.try_index([Ix::from(1i64..)])?, new.try_expand_dims(0)?], 0));
        }
        Ok(next)
    };
    let name = format!("until of {}", body.name);
    let most = given.known_steps().and_then(|steps| u32::try_from(steps).ok());
    let counting = While::new().named(&name).at_most(most.unwrap_or(u32::MAX));
    counting.counted(carried, goes_on, |carried| next(&carried))
}
