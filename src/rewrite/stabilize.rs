//! Stabilization: forms that lose digits or overflow become forms that do not.
//!
//! The rules are written once, for the DAG that `grad` differentiates and for the graph that `compile` rewrites.

use super::transform;
use crate::error::Result;
use crate::graph::{Apply, Def, FunctionGraph, Variable};
use crate::kernels::ops::LOG;
use crate::ops::{Elemwise, Op, Softmax, downcast};
use std::sync::Arc;

/// `log(softmax(x))` is `log_softmax(x)`: what takes the place of `op` at inputs whose owners are known.
fn log_of_softmax(op: &dyn Op, owner: Option<&dyn Op>) -> Option<Softmax> {
    let is_log = downcast::<Elemwise>(op).is_some_and(|e| e.op == LOG);
    let softmax = downcast::<Softmax>(owner?)?;
    (is_log && !softmax.log).then_some(Softmax { log: true, ..*softmax })
}

/// The pass.
///
/// # Errors
/// Never.
pub fn stabilize(graph: &FunctionGraph) -> Result<FunctionGraph> {
    transform(graph, |new, node, inputs| {
        let &[input] = inputs else { return Ok(None) };
        let Def::Output { node: owner, .. } = new.var(input).def else { return Ok(None) };
        let owner = &new.nodes[owner as usize];
        let Some(op) = log_of_softmax(node.op.as_ref(), Some(owner.op.as_ref())) else { return Ok(None) };
        let (inputs, ty) = (owner.inputs.clone(), new.var(input).ty.clone());
        Ok(Some(new.add_node(Arc::new(op), inputs, vec![ty])))
    })
}

/// The same rules on Variables, for [`crate::grad::grad`].
pub(crate) fn variables(apply: &Apply, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
    let [input] = inputs else { return Ok(None) };
    let Some((owner, _)) = input.owner() else { return Ok(None) };
    match log_of_softmax(apply.op.as_ref(), Some(owner.op.as_ref())) {
        Some(op) => Variable::apply_at(Arc::new(op), &owner.inputs, apply.place).map(Some),
        None => Ok(None),
    }
}
