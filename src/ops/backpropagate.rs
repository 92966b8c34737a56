//! Reverse accumulation over the ops' own rules, for [`Grad`](crate::grad::Grad) and for ops with graphs of
//! their own.

use super::complex::accumulated;
use super::elemwise::elemwise;
use super::methods::fail;
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{Apply, Operand, Variable, ancestors};
use crate::op::Gradient;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use workalike_kernels::ops as scalar;

/// A gradient or a replacement for each Variable, by the Variable's key.
pub(crate) type ByKey = HashMap<(usize, usize), Variable>;

/// The gradient with respect to each of `wrt`, given expressions with their gradients; `None` where there is
/// no smooth dependence.
///
/// # Errors
/// If an expression is ill-typed, or a gradient has not the type of its expression.
pub(crate) fn slopes<'v>(
    known: impl IntoIterator<Item = (&'v Variable, &'v Variable)>,
    wrt: &[Variable],
) -> Result<Vec<Option<Variable>>> {
    let seeds = known.into_iter().map(|(expression, gradient)| (expression.clone(), gradient.clone()));
    let grads = backpropagate(seeds.collect(), wrt, &[])?;
    Ok(wrt.iter().map(|variable| grads.get(&variable.key()).cloned()).collect())
}

/// Gradients of everything between `wrt` and the seeds, by key, given the gradients of the seeds. Nothing is
/// propagated through what is `constant`.
///
/// # Errors
/// If an expression is ill-typed, or the gradient of a seed has not its type.
pub(crate) fn backpropagate(
    seeds: Vec<(Variable, Variable)>,
    wrt: &[Variable],
    constant: &[Variable],
) -> Result<ByKey> {
    check_seeds(&seeds)?;
    let roots: Vec<Variable> = seeds.iter().map(|s| s.0.clone()).collect();
    let order = ancestors(&roots, |_| false);
    let constant: HashSet<(usize, usize)> = constant.iter().map(Variable::key).collect();
    let mut reaches: HashSet<(usize, usize)> = wrt.iter().map(Variable::key).collect();
    for variable in order.iter().filter(|v| !constant.contains(&v.key())) {
        let depends = variable
            .owner()
            .is_some_and(|(apply, _)| apply.inputs.iter().any(|i| reaches.contains(&i.key())));
        if depends {
            reaches.insert(variable.key());
        }
    }
    reaches.retain(|key| !constant.contains(key));
    let mut grads = ByKey::new();
    for (variable, gradient) in seeds {
        add(&mut grads, &variable, gradient)?;
    }
    // In reverse order every output comes after its users, so at the last of a node's outputs all its
    // gradients are complete.
    let mut outputs_left: HashMap<*const Apply, usize> = HashMap::new();
    for (apply, _) in order.iter().filter_map(Variable::owner) {
        *outputs_left.entry(Arc::as_ptr(apply)).or_default() += 1;
    }
    for variable in order.iter().rev() {
        let Some((apply, _)) = variable.owner() else { continue };
        let left = outputs_left.entry(Arc::as_ptr(apply)).or_default();
        *left = left.saturating_sub(1);
        if *left > 0 {
            continue;
        }
        let outputs: Vec<Variable> = (0..apply.types.len()).map(|i| Variable::output(apply, i)).collect();
        let through = outputs.iter().map(|o| grads.get(&o.key()).filter(|_| reaches.contains(&o.key())));
        let output_grads: Vec<Option<Variable>> = through.map(|g| g.cloned()).collect();
        if output_grads.iter().all(Option::is_none) {
            continue;
        }
        // A gradient is attributed to the line of the node that it differentiates.
        let _scope = source_location::enter_at(apply.place);
        let at = Gradient { inputs: &apply.inputs, outputs: &outputs, output_grads: &output_grads };
        for (input, contribution) in apply.inputs.iter().zip(apply.op.grad(&at)?) {
            if let Some(contribution) = contribution.filter(|_| reaches.contains(&input.key())) {
                contribution.checked()?;
                add(&mut grads, input, contribution)?;
            }
        }
    }
    Ok(grads)
}

/// Checks that each gradient has the type of its expression.
fn check_seeds(seeds: &[(Variable, Variable)]) -> Result<()> {
    for (expression, gradient) in seeds {
        expression.checked()?;
        gradient.checked()?;
        let fits = expression.dtype() == gradient.dtype() && expression.ndim() == gradient.ndim();
        if !fits || !expression.dtype().real().is_float() {
            let (want, got) = (expression.ty(), gradient.ty());
            return Err(fail(
                "grad",
                format!("expected a gradient of the type of its expression, {want}, got {got}"),
            ));
        }
    }
    Ok(())
}

/// Adds to the gradient of a Variable.
fn add(grads: &mut ByKey, variable: &Variable, contribution: Variable) -> Result<()> {
    let total = match grads.remove(&variable.key()) {
        Some(before) if before.dtype().is_complex() => accumulated(&before, &contribution)?,
        Some(before) => {
            elemwise(scalar::ADD, vec![Operand::Variable(before), Operand::Variable(contribution)])?
        }
        None => contribution,
    };
    grads.insert(variable.key(), total);
    Ok(())
}
