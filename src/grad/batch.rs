//! Many cotangents at once: an expression that depends on a Variable, for a whole batch of that Variable's
//! values.
//!
//! The op of each node that depends on the batch computes with one more axis in front, by [`Op::batch`].
//! Other nodes are left as they are.
//!
//! [`Op::batch`]: crate::ops::Op::batch

use crate::error::Result;
use crate::graph::{Apply, Variable, ancestors, place};
use crate::ops::batching::{Batch, Batched, repeated};
use crate::ops::methods::fail;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// `roots` for each of the values of `input` in `batch`, which has one more axis, in front, of extent
/// `count`; so have the results.
///
/// # Errors
/// If an op between has no rule: names it.
pub(super) fn batched(
    roots: &[Variable],
    input: &Variable,
    batch: &Variable,
    count: &Variable,
) -> Result<Vec<Variable>> {
    let stands = HashMap::from([(input.key(), Batched::each(batch.clone()))]);
    let whole = |root: Batched| match root {
        Batched { variable, batched: true } => Ok(variable),
        Batched { variable, .. } => repeated(&variable, count),
    };
    batched_by(roots, stands, count)?.into_iter().map(whole).collect()
}

/// `roots` for a whole batch of `count` values of some Variables, whose batches are in `stands`, by key. A
/// result has the batch axis if it depends on one of these.
///
/// # Errors
/// If an op between has no rule: names it.
pub(crate) fn batched_by(
    roots: &[Variable],
    mut stands: HashMap<(usize, usize), Batched>,
    count: &Variable,
) -> Result<Vec<Batched>> {
    let given: HashSet<(usize, usize)> = stands.keys().copied().collect();
    for variable in ancestors(roots, |v| given.contains(&v.key())) {
        let Some((apply, _)) = variable.owner() else { continue };
        let depends = apply.inputs.iter().any(|i| stands.contains_key(&i.key()));
        if !depends || stands.contains_key(&variable.key()) {
            continue;
        }
        let _scope = place::enter_at(apply.place);
        let inputs: Vec<Batched> = apply
            .inputs
            .iter()
            .map(|i| stands.get(&i.key()).cloned().unwrap_or_else(|| Batched::shared(i.clone())))
            .collect();
        for (index, stand) in outputs(apply, &Batch { inputs: &inputs, count })?.into_iter().enumerate() {
            stands.insert(Variable::output(apply, index).key(), stand);
        }
    }
    let stand =
        |root: &Variable| stands.get(&root.key()).cloned().unwrap_or_else(|| Batched::shared(root.clone()));
    Ok(roots.iter().map(stand).collect())
}

/// The outputs of a node for the whole batch.
fn outputs(apply: &Apply, at: &Batch) -> Result<Vec<Batched>> {
    if let Some(inputs) = at.same(0) {
        // It depends on extents only, which are the same for all.
        let outputs = Variable::apply_at(Arc::clone(&apply.op), &inputs, apply.place)?;
        return Ok(outputs.into_iter().map(Batched::shared).collect());
    }
    let outputs = apply.op.batch(at)?.filter(|outputs| outputs.len() == apply.types.len());
    outputs.ok_or_else(|| {
        let op = apply.op.label();
        fail(
            "jacobian",
            format!("{op} has no rule for many rows at once; specify_shape says an unknown length"),
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[test]
    fn what_a_given_value_was_made_of_is_not_computed() {
        let (x, at) = (vector::<f64>("x"), vector::<i64>("at"));
        let picked = x.index(idx![&at]);
        let given = picked.exp();
        let batch = |variable: &Variable| {
            let all = Variable::input("all", variable.ty().clone()).expand_dims(0);
            (variable.key(), Batched::each(all))
        };
        let count = constant(1i64);
        let known = |list: &[&Variable]| list.iter().map(|v| batch(v)).collect::<HashMap<_, _>>();
        let root = [&given * 2.0];
        assert!(batched_by(&root, known(&[&x, &at]), &count).is_err(), "an index that differs has a rule");
        assert!(batched_by(&root, known(&[&x, &at, &given]), &count).unwrap()[0].batched);
    }
}
