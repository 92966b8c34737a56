//! Branches for a whole batch of what they read: branches whose bodies compute a batch.

use super::BranchOp;
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{Variable, rebuild};
use crate::op::{Batch, Batched, BatchedOutputs};
use crate::ops::batching::{batched_by, repeated};
use crate::ops::loops::closed::Closed;
use crate::ops::methods::fail;
use crate::ops::op_from_graph::{pairs, stand_ins};
use std::sync::Arc;

/// The outputs for the whole batch.
pub(super) fn batch(op: &BranchOp, at: &Batch) -> BatchedOutputs {
    let [index, read @ ..] = at.inputs else { return Ok(None) };
    if index.batched {
        // Which branch is taken differs.
        return Ok(None);
    }
    let wrong = |message: String| fail(&op.name, message);
    let mut given: Vec<Variable> = read.iter().map(|input| input.variable.clone()).collect();
    given.push(at.count.clone());
    let instead = stand_ins(&given);
    let arms = op.bodies.iter().map(|body| arm(body, read, &instead)).collect::<Result<Vec<_>>>()?;
    let differs = |output: usize| arms.iter().any(|arm| arm[output].batched);
    let differ: Vec<bool> = (0..op.bodies[0].graph.outputs.len()).map(differs).collect();
    let mut bodies = Vec::with_capacity(arms.len());
    for arm in arms {
        let count = &instead[read.len()];
        let output = |(Batched { variable, batched }, differs): (Batched, &bool)| match *differs && !batched {
            true => repeated(&variable, count),
            false => Ok(variable),
        };
        let outputs = arm.into_iter().zip(&differ).map(output).collect::<Result<Vec<_>>>()?;
        // Each body has inputs of its own.
        let inputs = stand_ins(&instead);
        let outputs = rebuild(&outputs, &mut pairs(&instead, &inputs), |_, _| Ok(None))?;
        bodies.push(Closed::new(inputs, outputs)?.map_err(wrong)?);
    }
    let whole = Arc::new(BranchOp::of(&op.name, bodies).map_err(wrong)?);
    given.insert(0, index.variable.clone());
    let made = Variable::apply_at(whole, &given, source_location::here())?;
    let batched = made.into_iter().zip(differ).map(|(variable, batched)| Batched { variable, batched });
    Ok(Some(batched.collect()))
}

/// What a body gives for a batch; `instead` stands for what it reads, and for the extent of the batch.
fn arm(body: &Closed, read: &[Batched], instead: &[Variable]) -> Result<Vec<Batched>> {
    let (inputs, outputs) = body.variables()?;
    let (read_by, count) = instead.split_at(read.len());
    let stand =
        |(own, variable): (&Batched, &Variable)| Batched { variable: variable.clone(), ..own.clone() };
    let stands = read.iter().zip(read_by).map(stand);
    let stands = inputs.iter().map(Variable::key).zip(stands).collect();
    batched_by(&outputs, stands, &count[0])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::graph::ancestors;
    use crate::ops::loops::branch::if_else;
    use crate::prelude::*;

    #[test]
    fn a_jacobian_has_all_rows_at_once() {
        let (x, y, c) = (vector::<f64>("x"), vector::<f64>("y"), scalar::<bool>("c"));
        let taken = if_else(&c, || &x * &x * &y, || x.sin());
        let rows = jacobian(&taken, [&x, &y]).unwrap();
        let all = ancestors(&rows, |_| false);
        let ops: Vec<&str> = all.iter().filter_map(|v| Some(v.owner()?.0.op.id())).collect();
        assert!(ops.contains(&"branch") && !ops.contains(&"scan"), "{ops:?}");
    }
}
