//! Local rules, applied: to the DAG that `grad` differentiates, and to the graph that `compile` rewrites.

use super::rules;
use super::terms::{Dag, Same, Terms};
use super::transform;
use crate::error::Result;
use crate::graph::{Apply, FunctionGraph, Variable};
use std::collections::HashSet;

/// The pass: one walk in topological order, in which each node's replacement is looked at again.
///
/// # Errors
/// If a rule breaks the graph, which would be our mistake.
pub fn simplify(graph: &FunctionGraph) -> Result<FunctionGraph> {
    transform(graph, |new, node, inputs| {
        let [output] = node.outputs[..] else { return Ok(None) };
        let Some(mut found) = rules::first(new, node.op.as_ref(), inputs)? else { return Ok(None) };
        // What a rule makes may be what another takes. Each makes something smaller or of a later form, so this ends; the bound is for
        // rules that are wrong.
        for _ in 0..8 {
            let Some((op, inputs)) = new.owner(&found) else { break };
            let Some(next) = rules::first(new, op.as_ref(), &inputs)? else { break };
            found = next;
        }
        let (want, got) = (&graph.var(output).ty, &new.var(found).ty);
        let fits = want.dtype == got.dtype
            && want.ndim() == got.ndim()
            // An extent that was not known may be now; but not as 1, which another argument may have broadcast.
            && want.shape.iter().zip(&got.shape).all(|(w, g)| w == g || (w.is_none() && *g != Some(1)));
        Ok(fits.then(|| vec![found]))
    })
}

/// The rules of stability on Variables, for [`crate::grad::grad`]; they look into none whose key is among `closed`.
pub(crate) fn variables(
    apply: &Apply,
    inputs: &[Variable],
    closed: &HashSet<(usize, usize)>,
) -> Result<Option<Vec<Variable>>> {
    if apply.types.len() != 1 {
        return Ok(None);
    }
    let inputs: Vec<Same> = inputs.iter().cloned().map(Same).collect();
    let found = rules::stability::rule(&mut Dag { closed }, apply.op.as_ref(), &inputs)?;
    Ok(found.filter(|v| v.0.ty() == &apply.types[0]).map(|v| vec![v.0]))
}
