//! Sharding rules: how the members of a group compute an op together, each with what it holds of the inputs.
//!
//! [`Function::data_parallel`](crate::function::Function::data_parallel) goes through a graph with them.
//! [`Op::shard`] says how an op computes with its inputs' parts; an op without a rule gets whole inputs.

use super::collectives::{CollectiveOp, EqualParts, GroupPlace, own_part, own_part_or_one};
use super::creation::arange;
use super::methods::fail;
use super::shape::{BroadcastLike, BroadcastTo, DimShuffle, Extent, ShapeOf};
use super::specify_shape::SpecifyShape;
use super::sum_like::may_repeat;
use crate::error::Result;
use crate::graph::{Variable, ancestors, source_location};
use crate::op::{MemberArray, Op, ShardedOutputs, Sharding, Shards, TermOp};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use workalike_device::group::CollectiveKind;
use workalike_kernels::nest::Fold;

/// So many ops that scale a term, or give it other axes, are applied to the sum instead. It bounds a
/// recursion.
const MOST_SCALES: usize = 16;

/// What members have of `roots`, given what they have of the Variables that these depend on, by their keys;
/// of all others they have all.
///
/// # Errors
/// If an expression is ill-typed.
pub(crate) fn sharded_by(
    roots: &[Variable],
    mut stands: HashMap<(usize, usize), MemberArray>,
    group: &str,
) -> Result<Vec<MemberArray>> {
    let given: HashSet<(usize, usize)> = stands.keys().copied().collect();
    for variable in ancestors(roots, |v| given.contains(&v.key())) {
        let Some((apply, _)) = variable.owner() else { continue };
        let depends = apply.inputs.iter().any(|input| stands.contains_key(&input.key()));
        if !depends || stands.contains_key(&variable.key()) {
            continue;
        }
        let _scope = source_location::enter_at(apply.place);
        let inputs: Vec<MemberArray> = apply.inputs.iter().map(|input| held(&stands, input)).collect();
        let outputs = sharded(&apply.op, &Shards { inputs: &inputs, group })?;
        for (index, output) in outputs.into_iter().enumerate() {
            let whole = Variable::output(apply, index);
            stands.insert(whole.key(), output.of_type(whole.ty()));
        }
    }
    Ok(roots.iter().map(|root| held(&stands, root)).collect())
}

fn held(stands: &HashMap<(usize, usize), MemberArray>, variable: &Variable) -> MemberArray {
    stands.get(&variable.key()).cloned().unwrap_or_else(|| MemberArray::replicated(variable.clone()))
}

/// What a member has of an op's outputs: by its rule, or else all of them.
///
/// # Errors
/// If an expression is ill-typed.
pub(crate) fn sharded(op: &Arc<dyn Op>, at: &Shards) -> Result<Vec<MemberArray>> {
    let ruled = if at.is_replicated() { None } else { op.shard(at)? };
    ruled.map_or_else(|| at.replicated(op.clone()), Ok)
}

impl MemberArray {
    /// All of the array, on each member.
    pub(crate) fn gathered(&self, group: &str) -> Result<Variable> {
        if let Some(whole) = &self.whole {
            return Ok(whole.clone());
        }
        // The sum of scaled terms is the scaled sum: what scales it is then part of what reads it.
        if let Some(TermOp { op, inputs, .. }) = self.made_by.as_deref() {
            let whole = inputs.iter().map(|input| input.gathered(group)).collect::<Result<Vec<_>>>()?;
            let applied = Variable::apply_at(op.clone(), &whole, source_location::here())?;
            let none = || fail("shard", "an op without an output".into());
            return with_extents(applied.into_iter().next().ok_or_else(none)?, &self.extents);
        }
        let whole = match self.sharding {
            Sharding::Replicated => self.variable.clone(),
            Sharding::Sharded(axis) => self.variable.try_all_gather(axis as isize, group)?,
            Sharding::Partial(fold) => {
                CollectiveOp::apply(CollectiveKind::AllReduce(fold), group, &self.variable)?
            }
        };
        with_extents(whole, &self.extents)
    }

    /// The member's part along an axis.
    pub(crate) fn divided(&self, axis: usize, group: &str) -> Result<Variable> {
        match self.sharding {
            Sharding::Sharded(own) if own == axis => Ok(self.variable.clone()),
            Sharding::Partial(fold) => {
                let front = self.variable.try_moveaxis(axis as isize, 0)?;
                CollectiveOp::apply(CollectiveKind::ReduceScatter(fold), group, &front)?
                    .try_moveaxis(0, axis as isize)
            }
            Sharding::Replicated | Sharding::Sharded(_) => own_part(&self.gathered(group)?, axis, group),
        }
    }

    /// Whether the array is known to have extent 1 along an axis, where it broadcasts.
    fn broadcasts(&self, axis: usize) -> bool {
        self.sharding != Sharding::Sharded(axis) && self.variable.ty().shape.get(axis) == Some(&Some(1))
    }
}

/// An array that was gathered, with the extents that its type knew before it was divided.
pub(crate) fn with_extents(gathered: Variable, known: &[Option<usize>]) -> Result<Variable> {
    let mut extents = gathered.ty().shape.iter().zip(known);
    match extents.any(|(now, before)| now.is_none() && before.is_some()) {
        true => Variable::apply1(SpecifyShape { extents: known.to_vec() }, &[gathered]),
        false => Ok(gathered),
    }
}

/// Whether an op only repeats the elements of its first input, or gives them other axes.
fn repeats(op: &dyn Op) -> bool {
    op.downcast::<BroadcastLike>().is_some()
        || op.downcast::<BroadcastTo>().is_some()
        || op.downcast::<DimShuffle>().is_some()
}

/// Whether a number is the extent of a divided axis: that of a part, times the number of members.
pub(super) fn is_extent_of_parts(number: &Variable) -> bool {
    number.owner().is_some_and(|(apply, _)| {
        let is = |at: usize, what: fn(&dyn Op) -> bool| {
            apply.inputs.get(at).and_then(Variable::owner).is_some_and(|(apply, _)| what(apply.op.as_ref()))
        };
        is(0, |op| op.downcast::<ShapeOf>().is_some()) && is(1, |op| op.downcast::<GroupPlace>().is_some())
    })
}

impl Shards<'_> {
    fn input(&self, at: usize) -> Result<&MemberArray> {
        let count = self.inputs.len();
        self.inputs
            .get(at)
            .ok_or_else(|| fail("shard", format!("expected an input {at}, got {count} inputs")))
    }

    /// Whether each member has all of all inputs.
    pub(crate) fn is_replicated(&self) -> bool {
        self.inputs.iter().all(|held| held.sharding == Sharding::Replicated)
    }

    /// How the members hold an input.
    pub fn sharding(&self, at: usize) -> Sharding {
        self.inputs.get(at).map_or(Sharding::Replicated, |held| held.sharding)
    }

    /// All of an input.
    ///
    /// # Errors
    /// If there is no such input.
    pub fn whole(&self, at: usize) -> Result<Variable> {
        self.input(at)?.gathered(self.group)
    }

    /// The member's part of an input along an axis; of an input that is repeated along it, all.
    ///
    /// # Errors
    /// If there is no such input.
    pub fn part(&self, at: usize, axis: usize) -> Result<Variable> {
        let held = self.input(at)?;
        match held.sharding {
            _ if held.broadcasts(axis) => held.gathered(self.group),
            // Whether it is repeated may show only when it runs.
            Sharding::Replicated => own_part_or_one(&held.gathered(self.group)?, axis, self.group),
            _ => held.divided(axis, self.group),
        }
    }

    /// The member's part of an input beside that of another along an axis: it has as many rows, which is
    /// checked where types do not tell, or the input is one row that is repeated, if the op `broadcasts`.
    ///
    /// # Errors
    /// If there is no such input.
    pub(super) fn part_beside(
        &self,
        at: usize,
        axis: usize,
        lead: &Variable,
        broadcasts: bool,
    ) -> Result<Variable> {
        let held = self.input(at)?;
        let (part, whole) = match held.sharding {
            _ if broadcasts && held.broadcasts(axis) => return held.gathered(self.group),
            // Whether it is repeated may show only when it runs.
            Sharding::Replicated if broadcasts && held.variable.ty().shape[axis].is_none() => {
                (own_part_or_one(&held.variable, axis, self.group)?, Some(&held.variable))
            }
            _ => (held.divided(axis, self.group)?, None),
        };
        match may_repeat(&part, lead, axis) {
            true => EqualParts::of(self.group, axis, &part, lead, whole),
            false => Ok(part),
        }
    }

    /// The member's parts of these inputs along an axis, beside the first of them that is sharded along it.
    ///
    /// # Errors
    /// If there are no such inputs.
    pub(super) fn parts_beside(
        &self,
        inputs: std::ops::Range<usize>,
        axis: usize,
        broadcasts: bool,
    ) -> Result<Vec<Variable>> {
        let first = inputs.clone().find(|&at| self.sharding(at) == Sharding::Sharded(axis));
        let lead = first.map(|first| self.input(first)).transpose()?.map(|held| &held.variable);
        let part = |at: usize| match lead {
            Some(lead) if first != Some(at) => self.part_beside(at, axis, lead, broadcasts),
            Some(lead) => Ok(lead.clone()),
            None => self.part(at, axis),
        };
        inputs.map(part).collect()
    }

    /// The first of the inputs that is sharded, with its axis.
    pub(super) fn lead(&self) -> Option<(usize, usize)> {
        self.inputs.iter().enumerate().find_map(|(at, held)| match held.sharding {
            Sharding::Sharded(axis) => Some((at, axis)),
            _ => None,
        })
    }

    /// The axis along which the first of these inputs is sharded that is.
    pub(super) fn first_axis(&self, inputs: std::ops::Range<usize>) -> Option<usize> {
        self.inputs.get(inputs)?.iter().find_map(|held| match held.sharding {
            Sharding::Sharded(axis) => Some(axis),
            _ => None,
        })
    }

    /// Whether an input is known to be zeros.
    pub(crate) fn is_zero(&self, at: usize) -> bool {
        let mut variable = self.inputs.get(at).map(|held| held.variable.clone());
        while let Some(v) = variable {
            if let Some(value) = v.constant_value() {
                return value.scalars().all(|scalar| scalar.to_f64() == 0.0);
            }
            variable = v
                .owner()
                .filter(|(apply, _)| repeats(apply.op.as_ref()))
                .map(|(apply, _)| apply.inputs[0].clone());
        }
        false
    }

    /// What the member has of an input, if it is a term of a sum.
    pub fn term(&self, at: usize) -> Option<&Variable> {
        let held = self.inputs.get(at)?;
        (held.sharding == Sharding::Partial(Fold::Sum)).then_some(&held.variable)
    }

    /// All of the inputs from this one on.
    fn rest(&self, from: usize) -> Result<Vec<Variable>> {
        (from..self.inputs.len()).map(|at| self.whole(at)).collect()
    }

    /// The rule of an op without one: each member computes all of it.
    ///
    /// # Errors
    /// If the expression is ill-typed.
    pub fn replicated(&self, op: Arc<dyn Op>) -> Result<Vec<MemberArray>> {
        let outputs = Variable::apply_at(op, &self.rest(0)?, source_location::here())?;
        Ok(outputs.into_iter().map(MemberArray::replicated).collect())
    }

    /// `op` on parts of all inputs along one axis, that of the first input that is sharded: the rule of an op
    /// that broadcasts inputs of equal rank, element by element.
    ///
    /// # Errors
    /// If the expression is ill-typed.
    pub fn elementwise(&self, op: impl Op) -> ShardedOutputs {
        self.by_rows(op, true)
    }

    /// [`Shards::elementwise`], of an op that perhaps `broadcasts`.
    pub(super) fn by_rows(&self, op: impl Op, broadcasts: bool) -> ShardedOutputs {
        let Some((_, axis)) = self.lead() else { return Ok(None) };
        let inputs = self.parts_beside(0..self.inputs.len(), axis, broadcasts)?;
        let outputs = Variable::apply(op, &inputs)?;
        Ok(Some(outputs.into_iter().map(|output| MemberArray::sharded(output, axis)).collect()))
    }

    /// `op` on the member's part of the first input, and all of the others: the rule of an op whose results
    /// at a position of the input's axis depend on the elements there alone. `to` says which axis of the
    /// result an axis of the input is, if that holds for it. A `linear` op computes terms of sums, too.
    ///
    /// # Errors
    /// If the expression is ill-typed.
    pub fn along(&self, op: impl Op, linear: bool, to: impl Fn(usize) -> Option<usize>) -> ShardedOutputs {
        let sharding = match self.sharding(0) {
            Sharding::Sharded(axis) => to(axis).map(Sharding::Sharded),
            Sharding::Partial(Fold::Sum) if linear => Some(Sharding::Partial(Fold::Sum)),
            _ => None,
        };
        let Some(sharding) = sharding else { return Ok(None) };
        let first = self.input(0)?.variable.clone();
        let inputs: Vec<Variable> =
            std::iter::once(Ok(first)).chain(self.rest(1)?.into_iter().map(Ok)).collect::<Result<_>>()?;
        let outputs = Variable::apply(op, &inputs)?;
        let held = |variable| MemberArray::new(variable, sharding);
        Ok(Some(outputs.into_iter().map(held).collect()))
    }

    /// `op` on terms of sums, for an op that is linear in its inputs. `constant` says which inputs it is not
    /// linear in; they are gathered. `None` unless all others are terms.
    ///
    /// # Errors
    /// If the expression is ill-typed.
    pub fn terms(&self, op: impl Op, constant: impl Fn(usize) -> bool) -> ShardedOutputs {
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for at in 0..self.inputs.len() {
            inputs.push(match (constant(at), self.term(at)) {
                (true, _) => self.whole(at)?,
                (false, Some(term)) => term.clone(),
                (false, None) => return Ok(None),
            });
        }
        let outputs = Variable::apply(op, &inputs)?;
        Ok(Some(outputs.into_iter().map(MemberArray::term).collect()))
    }

    /// The same output of `op`, as one that may as well be made of the sum.
    pub(super) fn of_sum(&self, op: impl Op, outputs: Option<Vec<MemberArray>>) -> Option<Vec<MemberArray>> {
        let mut outputs = outputs?;
        let before = self.inputs.iter().filter_map(|input| input.made_by.as_ref());
        let depth = 1 + before.map(|op| op.depth).max().unwrap_or(0);
        if let ([MemberArray { sharding: Sharding::Partial(Fold::Sum), made_by, .. }], true) =
            (&mut outputs[..], depth <= MOST_SCALES)
        {
            *made_by = Some(Arc::new(TermOp { op: Arc::new(op), inputs: self.inputs.to_vec(), depth }));
        }
        Some(outputs)
    }

    /// The extents of a result, of which this member has a part along `axis`: that extent is `own`.
    pub(super) fn extents(
        &self,
        extents: &[Extent],
        axis: usize,
        own: impl FnOnce(Variable) -> Result<Variable>,
    ) -> Result<(Vec<Extent>, Vec<Variable>)> {
        let (mut extents, mut further) = (extents.to_vec(), self.rest(1)?);
        match extents.get(axis) {
            Some(Extent::Fixed(n)) => {
                further.push(own(Variable::constant(*n as i64))?);
                extents[axis] = Extent::Input(further.len() - 1);
            }
            Some(Extent::Input(at)) => {
                let missing = || fail("shard", format!("an extent names an input {at} that is not there"));
                let extent = further.get_mut(*at).ok_or_else(missing)?;
                *extent = own(extent.clone())?;
            }
            Some(Extent::Infer) | None => {}
        }
        Ok((extents, further))
    }

    /// The member's share of an extent, which must be a multiple of the number of members.
    pub(super) fn share(&self, extent: &Variable) -> Result<Variable> {
        ShapeOf::of(&own_part(&arange(extent), 0, self.group)?, 0)
    }
}

#[cfg(test)]
mod tests;
