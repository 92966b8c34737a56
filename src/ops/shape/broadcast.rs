//! Broadcasts to extents, and to the extents of another tensor.

use super::dimshuffle::DimShuffle;
use super::{Extent, concrete};
use crate::error::{Result, shape_text};
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, BatchedOutputs, Gradient, Known, MemberArray, Op, ShardedOutputs, Sharding,
    Shards, expect_inputs,
};
use crate::ops::batching::only;
use crate::ops::collectives::EqualParts;
use crate::ops::complex;
use crate::ops::sum_like::{may_repeat, sum_to};
use crate::value::Value;

/// Repeats axes of extent 1 to the given extents (NumPy's `broadcast_to`, at equal rank).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroadcastTo {
    /// The extents of the result; none inferred.
    pub extents: Vec<Extent>,
}

impl BroadcastTo {
    /// `x`, padded on the left, with these extents.
    pub(crate) fn of(x: &Variable, extents: Vec<Extent>, further: &[Variable]) -> Result<Variable> {
        let x = DimShuffle::pad_left(x, extents.len())?;
        let inputs: Vec<Variable> = std::iter::once(&x).chain(further).cloned().collect();
        Variable::apply1(BroadcastTo { extents }, &inputs)
    }
}

fn check_broadcast(from: &[usize], to: &[usize]) -> Result<(), String> {
    if from.len() == to.len() && from.iter().zip(to).all(|(&a, &b)| a == b || a == 1) {
        return Ok(());
    }
    Err(format!("cannot broadcast {} to {}", shape_text(from), shape_text(to)))
}

impl Op for BroadcastTo {
    fn id(&self) -> &'static str {
        "broadcast_to"
    }

    fn attributes(&self) -> Attributes {
        vec![("extents".into(), Attr::Ints(self.extents.iter().map(|e| e.code()).collect()))]
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        Extent::types(&self.extents, inputs)?;
        if self.extents.contains(&Extent::Infer) || self.extents.len() != inputs[0].ndim() {
            return Err(format!("extents {} do not fit {}", Extent::text(&self.extents), inputs[0]));
        }
        let shape = self.extents.iter().zip(&inputs[0].shape).map(|(extent, &from)| match (extent, from) {
            (Extent::Fixed(n), Some(m)) if m != 1 && m != *n => {
                Err(format!("cannot broadcast {} to {}", inputs[0], Extent::text(&self.extents)))
            }
            (Extent::Fixed(n), _) => Ok(Some(*n)),
            (_, Some(1)) => Ok(None),
            (_, from) => Ok(from),
        });
        Ok(vec![TensorType::new(inputs[0].dtype, shape.collect::<Result<Vec<_>, String>>()?)])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let values = Extent::values(&self.extents, inputs)?;
        let shape: Option<Vec<usize>> = values.into_iter().collect();
        let shape = shape.ok_or("an extent is negative")?;
        check_broadcast(inputs[0].shape, &shape)?;
        Ok(vec![shape])
    }

    fn shape_values(&self) -> Vec<usize> {
        let further = self.extents.iter().filter(|e| matches!(e, Extent::Input(_))).count();
        (1..=further).collect()
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::by_parts(self.clone(), inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let mut grads = vec![None; at.inputs.len()];
        if let Some(g) = &at.output_grads[0] {
            let repeated = |axis: usize| self.extents[axis] != Extent::Fixed(1);
            grads[0] = Some(sum_to(g, &at.inputs[0], repeated)?);
        }
        Ok(grads)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let Some((extents, further)) = at.extents(&self.extents) else { return Ok(None) };
        only(BroadcastTo::of(&at.with_axis(0)?, extents, &further))
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        let Sharding::Sharded(axis) = at.sharding(0) else { return Ok(None) };
        let x = at.part(0, axis)?;
        let (extents, further) = at.extents(&self.extents, axis, |extent| at.share(&extent))?;
        let to = |x: &Variable| BroadcastTo::of(x, extents.clone(), &further);
        // A part of one row would be repeated where all of the array is not.
        let x = EqualParts::of(at.group, axis, &x, &to(&x)?, None)?;
        Ok(Some(vec![MemberArray::sharded(to(&x)?, axis)]))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let shape = concrete(self, inputs)?;
        Ok(vec![inputs[0].broadcast_to(&shape)?])
    }

    fn read_inputs(&self, _: usize) -> usize {
        1
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].broadcast(&to.shape(node.outputs[0]))])
    }
}

/// Repeats axes of extent 1 of the first input to the extents of the second, whose values are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BroadcastLike;

impl BroadcastLike {
    /// `x`, padded on the left, with the extents of `like`; `x` itself if its static type already says so.
    pub(crate) fn of(x: &Variable, like: &Variable) -> Result<Variable> {
        let x = DimShuffle::pad_left(x, like.ndim())?;
        if x.ty().shape == like.ty().shape && x.ty().shape.iter().all(Option::is_some) {
            return Ok(x);
        }
        Variable::apply1(BroadcastLike, &[x, like.clone()])
    }
}

impl Op for BroadcastLike {
    fn id(&self) -> &'static str {
        "broadcast_like"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 2)?;
        let fits =
            |(a, b): (&Option<usize>, &Option<usize>)| *a == Some(1) || a.is_none() || b.is_none() || a == b;
        if inputs[0].ndim() != inputs[1].ndim() || !inputs[0].shape.iter().zip(&inputs[1].shape).all(fits) {
            return Err(format!("cannot broadcast {} to the shape of {}", inputs[0], inputs[1]));
        }
        let shape = inputs[0].shape.iter().zip(&inputs[1].shape);
        let shape: Vec<_> = shape.map(|(a, b)| b.or(a.filter(|&a| a != 1))).collect();
        Ok(vec![TensorType::new(inputs[0].dtype, shape)])
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::like_parts(*self, inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let repeated = |axis: usize| may_repeat(&at.inputs[0], &at.inputs[1], axis);
        let grad = at.output_grads[0].as_ref().map(|g| sum_to(g, &at.inputs[0], repeated));
        Ok(vec![grad.transpose()?, None])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        only(BroadcastLike::of(&at.with_axis(0)?, &at.repeated(1)?))
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        if let (Some(term), false) = (at.term(0), matches!(at.sharding(1), Sharding::Sharded(_))) {
            let own = Variable::apply1(*self, &[term.clone(), at.inputs[1].variable.clone()])?;
            return Ok(Some(vec![MemberArray::term(own)]));
        }
        at.elementwise(*self)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![inputs[0].broadcast_to(inputs[1].shape())?])
    }

    fn read_inputs(&self, _: usize) -> usize {
        1
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(1, axis)]
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].broadcast(&to.shape(node.outputs[0]))])
    }
}
