//! Reverse-mode differentiation, over the ops' own rules.

use crate::error::{Error, Result};
use crate::graph::{Apply, Operand, Variable, ancestors, rebuild};
use crate::kernels::ops as scalar;
use crate::ops::Gradient;
use crate::ops::elemwise::elemwise;
use crate::rewrite::stabilize;
use crate::value::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The gradient of `cost`, a 0-d float, with respect to each of `wrt`; each has the type of its Variable.
///
/// The cost is stabilized first (a `log(softmax(x))` in it is differentiated as `log_softmax(x)`), as `compile` will.
///
/// ```
/// use workalike::prelude::*;
/// let x = vector::<f64>("x");
/// let g = grad(&x.sqr().sum(..), [&x])?;
/// let f = function([&x]).output(&g[0]).compile()?;
/// assert_eq!(f.call(args![vec![1.0, 2.0]])?[0].to_vec::<f64>()?, [2.0, 4.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
///
/// # Errors
/// If an expression is ill-typed, the cost is not a 0-d float, or does not depend on one of `wrt` in a differentiable way.
pub fn grad(cost: &Variable, wrt: impl IntoIterator<Item = impl Into<Variable>>) -> Result<Vec<Variable>> {
    let wrt: Vec<Variable> = wrt.into_iter().map(Into::into).collect();
    for variable in std::iter::once(cost).chain(&wrt) {
        variable.checked()?;
    }
    if cost.ndim() != 0 || !cost.dtype().is_float() {
        return Err(Error::mismatch("grad", "a cost that is a 0-d float", cost.ty().to_string()));
    }
    // What is asked for must stay in the graph, so its nodes are not rewritten.
    let mut known: HashMap<_, _> = wrt.iter().map(|v| (v.key(), v.clone())).collect();
    let roots = [cost.clone()];
    let cost = if known.contains_key(&cost.key()) {
        cost.clone()
    } else {
        rebuild(&roots, &mut known, stabilize::variables)?.swap_remove(0)
    };
    let one = Variable::constant(Value::from(1.0f64).cast(cost.dtype())?);
    let grads = backpropagate(&cost, one, &wrt)?;
    wrt.iter()
        .map(|variable| {
            grads.get(&variable.key()).cloned().ok_or_else(|| {
                let what = variable.name().map_or_else(|| format!("{variable:?}"), Into::into);
                Error::mismatch(
                    "grad",
                    format!("a cost that depends smoothly on {what}"),
                    "one that does not",
                )
            })
        })
        .collect()
}

/// Gradients of everything between `wrt` and `root`, by key, given the gradient of `root`.
fn backpropagate(
    root: &Variable,
    seed: Variable,
    wrt: &[Variable],
) -> Result<HashMap<(usize, usize), Variable>> {
    let order = ancestors(std::slice::from_ref(root), |_| false);
    let mut reaches: HashSet<(usize, usize)> = wrt.iter().map(Variable::key).collect();
    for variable in &order {
        let depends = variable
            .owner()
            .is_some_and(|(apply, _)| apply.inputs.iter().any(|i| reaches.contains(&i.key())));
        if depends {
            reaches.insert(variable.key());
        }
    }
    let mut grads: HashMap<(usize, usize), Variable> = HashMap::from([(root.key(), seed)]);
    let mut done: HashSet<*const Apply> = HashSet::new();
    for variable in order.iter().rev() {
        let Some((apply, _)) = variable.owner() else { continue };
        // The first output met in reverse order comes after every user of any of the outputs.
        if !reaches.contains(&variable.key()) || !done.insert(Arc::as_ptr(apply)) {
            continue;
        }
        let outputs: Vec<Variable> = (0..apply.types.len()).map(|i| Variable::output(apply, i)).collect();
        let output_grads: Vec<Option<Variable>> =
            outputs.iter().map(|o| grads.get(&o.key()).cloned()).collect();
        if output_grads.iter().all(Option::is_none) {
            continue;
        }
        let at = Gradient { inputs: &apply.inputs, outputs: &outputs, output_grads: &output_grads };
        for (input, contribution) in apply.inputs.iter().zip(apply.op.grad(&at)?) {
            let Some(contribution) = contribution.filter(|_| reaches.contains(&input.key())) else {
                continue;
            };
            contribution.checked()?;
            let total = match grads.remove(&input.key()) {
                Some(before) => {
                    elemwise(scalar::ADD, vec![Operand::Variable(before), Operand::Variable(contribution)])?
                }
                None => contribution,
            };
            grads.insert(input.key(), total);
        }
    }
    Ok(grads)
}
