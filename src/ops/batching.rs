//! Batching rules: an op on a whole batch of values of some of its inputs (JAX's `vmap`).
//!
//! [`jacobian`](crate::grad::jacobian) differentiates all rows at once. What differs from row to row has one
//! more axis then, in front: the batch axis. [`Op::batch`] says how an op computes with it.

use super::methods::fail;
use super::shape::{BroadcastTo, DimShuffle, Extent, ShapeOf};
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{Apply, Operand, Variable, ancestors};
use crate::op::{Batch, Batched, BatchedOutputs, Op};
use crate::value::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl Batch<'_> {
    fn input(&self, at: usize) -> Result<&Batched> {
        let count = self.inputs.len();
        self.inputs
            .get(at)
            .ok_or_else(|| fail("batch", format!("expected an input {at}, got {count} inputs")))
    }

    /// An input with the batch axis in front, of extent 1 if the input is the same for all.
    ///
    /// # Errors
    /// If there is no such input.
    pub fn with_axis(&self, at: usize) -> Result<Variable> {
        let Batched { variable, batched } = self.input(at)?;
        if *batched { Ok(variable.clone()) } else { DimShuffle::keep_dims(variable, &[0]) }
    }

    /// An input with the batch axis in front, repeated along it if the input is the same for all.
    ///
    /// # Errors
    /// If there is no such input.
    pub fn repeated(&self, at: usize) -> Result<Variable> {
        let Batched { variable, batched } = self.input(at)?;
        if *batched { Ok(variable.clone()) } else { repeated(variable, self.count) }
    }

    /// The inputs from this one on, if they are the same for all.
    pub fn same(&self, from: usize) -> Option<Vec<Variable>> {
        let rest = self.inputs.get(from..)?;
        rest.iter().map(|input| (!input.batched).then(|| input.variable.clone())).collect()
    }

    /// `op` on all inputs with the batch axis, of extent 1 where an input is the same for all: the rule of an
    /// op that broadcasts along leading axes, or has one input. All outputs must have the batch axis.
    ///
    /// # Errors
    /// If the inputs with one more axis do not fit the op.
    #[track_caller]
    pub fn broadcast(&self, op: impl Op) -> BatchedOutputs {
        let inputs: Vec<Variable> =
            (0..self.inputs.len()).map(|at| self.with_axis(at)).collect::<Result<_>>()?;
        Ok(Some(Variable::apply(op, &inputs)?.into_iter().map(Batched::each).collect()))
    }

    /// The extents of a result whose further inputs are extents, with the batch's in front, and the Variables
    /// among them. None if these are not the same for all.
    pub(super) fn extents(&self, extents: &[Extent]) -> Option<(Vec<Extent>, Vec<Variable>)> {
        let mut further = self.same(1)?;
        let first = match known(self.count) {
            Some(count) => Extent::Fixed(count),
            None => {
                further.push(self.count.clone());
                Extent::Input(further.len() - 1)
            }
        };
        Some((std::iter::once(first).chain(extents.iter().copied()).collect(), further))
    }
}

/// An only output, which has the batch axis.
pub(super) fn only(output: Result<Variable>) -> BatchedOutputs {
    output.map(|variable| Some(vec![Batched::each(variable)]))
}

/// The first axis moved behind so many others.
pub(super) fn first_behind(x: &Variable, others: usize) -> Result<Variable> {
    x.try_moveaxis(0, others as isize)
}

/// The value of an extent, where it is a constant.
fn known(extent: &Variable) -> Option<usize> {
    let number = extent.constant_value().and_then(Value::to_scalar)?;
    usize::try_from(number.to_i128()).ok()
}

/// `x` again and again, along a new first axis of extent `count`.
pub(crate) fn repeated(x: &Variable, count: &Variable) -> Result<Variable> {
    let mut shape = vec![count.clone()];
    for axis in 0..x.ndim() {
        shape.push(ShapeOf::of(x, axis)?);
    }
    let number = |extent: Variable| match known(&extent) {
        Some(n) => Operand::Int(n as i128),
        None => Operand::Variable(extent),
    };
    let (extents, further) = Extent::list("jacobian", shape.into_iter().map(number).collect())?;
    BroadcastTo::of(x, extents, &further)
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
        let _scope = source_location::enter_at(apply.place);
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
