//! Walking and rebuilding the DAG of Variables, iteratively: graphs of 100,000 nodes are ordinary.

use super::source_location;
use super::variable::{Apply, Variable};
use crate::error::Result;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Everything that `roots` depend on, and the roots, each after its dependences. The walk stops at Variables
/// for which `stop` holds; these are not listed.
pub(crate) fn ancestors(roots: &[Variable], stop: impl Fn(&Variable) -> bool) -> Vec<Variable> {
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    let mut stack: Vec<(Variable, bool)> = roots.iter().rev().map(|v| (v.clone(), false)).collect();
    while let Some((variable, inputs_done)) = stack.pop() {
        if inputs_done {
            order.push(variable);
            continue;
        }
        if stop(&variable) || !seen.insert(variable.key()) {
            continue;
        }
        stack.push((variable.clone(), true));
        if let Some((apply, _)) = variable.owner() {
            stack.extend(apply.inputs.iter().rev().map(|v| (v.clone(), false)));
        }
    }
    order
}

/// Rebuilds the expressions of `roots`, with some Variables replaced: `known` maps Variables to their
/// replacements, and `rule` may return other outputs for a node (given its new inputs). All visited Variables
/// are added to `known`.
pub(crate) fn rebuild(
    roots: &[Variable],
    known: &mut HashMap<(usize, usize), Variable>,
    rule: impl Fn(&Apply, &[Variable]) -> Result<Option<Vec<Variable>>>,
) -> Result<Vec<Variable>> {
    for variable in ancestors(roots, |v| known.contains_key(&v.key())) {
        let Some((apply, _)) = variable.owner() else {
            known.insert(variable.key(), variable);
            continue;
        };
        if known.contains_key(&variable.key()) {
            continue;
        }
        let inputs: Vec<Variable> =
            apply.inputs.iter().map(|v| known.get(&v.key()).unwrap_or(v).clone()).collect();
        // The replacement of a node has the node's source line.
        let _scope = source_location::enter_at(apply.place);
        let outputs = match rule(apply, &inputs)? {
            Some(outputs) => outputs,
            None if inputs.iter().zip(&apply.inputs).all(|(a, b)| a.key() == b.key()) => {
                (0..apply.types.len()).map(|i| Variable::output(apply, i)).collect()
            }
            None => Variable::apply_at(Arc::clone(&apply.op), &inputs, apply.place)?,
        };
        for (index, output) in outputs.into_iter().enumerate() {
            known.insert(Variable::output(apply, index).key(), output);
        }
    }
    Ok(roots.iter().map(|v| known.get(&v.key()).unwrap_or(v).clone()).collect())
}
