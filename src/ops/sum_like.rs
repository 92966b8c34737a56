//! The adjoint of a broadcast: sums over the axes along which something was repeated, known when the graph is
//! built or only when it runs.

use super::batching::only;
use super::complex;
use super::reduce::Reduce;
use super::shape::{BroadcastLike, DimShuffle};
use crate::error::{Error, Result};
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Batch, BatchedOutputs, Gradient, MemberArray, Op, ShardedOutputs, Sharding, Shards, expect_inputs,
};
use crate::value::Value;
use workalike_kernels::nest::Fold;

/// Its first input, floats, summed over the axes along which the second has extent 1 and the first has not;
/// these stay, with extent 1. The second input's values are not read. Where extents are equal, as they mostly
/// are, it is the first input itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumLike;

impl SumLike {
    /// The equivalent [`Reduce`] at these extents; `None` if there is no axis to sum over.
    pub(crate) fn sum(value: &[usize], like: &[usize], dtype: workalike_kernels::DType) -> Option<Reduce> {
        let axes: Vec<usize> = (0..value.len()).filter(|&a| like[a] == 1 && value[a] != 1).collect();
        let acc_dtype = dtype.register();
        (!axes.is_empty()).then_some(Reduce { fold: Fold::Sum, axes, acc_dtype, dtype, over_nothing: false })
    }
}

impl Op for SumLike {
    fn id(&self) -> &'static str {
        "sum_like"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 2)?;
        let (value, like) = (inputs[0], inputs[1]);
        let fits =
            |(v, l): (&Option<usize>, &Option<usize>)| *l == Some(1) || l.is_none() || v.is_none() || v == l;
        let all = value.ndim() == like.ndim() && value.shape.iter().zip(&like.shape).all(fits);
        if !all || !value.dtype.is_float() {
            return Err(format!("cannot sum {value} to the shape of {like}"));
        }
        let shape = value.shape.iter().zip(&like.shape).map(|(v, l)| l.or(v.filter(|&v| v == 1)));
        Ok(vec![TensorType::new(value.dtype, shape.collect::<Vec<_>>())])
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::like_parts(*self, inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let grad = at.output_grads[0].as_ref().map(|g| BroadcastLike::of(g, &at.inputs[0]));
        Ok(vec![grad.transpose()?, None])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        only(Variable::apply1(SumLike, &[at.repeated(0)?, at.repeated(1)?]))
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        if let (Some(term), false) = (at.term(0), matches!(at.sharding(1), Sharding::Sharded(_))) {
            let own = Variable::apply1(*self, &[term.clone(), at.inputs[1].variable.clone()])?;
            return Ok(Some(vec![MemberArray::term(own)]));
        }
        let Sharding::Sharded(axis) = at.sharding(0) else { return Ok(None) };
        let (value, like) = (at.part(0, axis)?, &at.inputs[1]);
        if at.sharding(1) == Sharding::Sharded(axis) {
            return at.elementwise(*self);
        }
        // Rows are added to one; if it is not known whether they are, they are gathered.
        let one = like.variable.ty().shape[axis] == Some(1);
        let own = one.then(|| Variable::apply1(*self, &[value, at.whole(1)?])).transpose()?;
        Ok(own.map(|own| vec![MemberArray::term(own)]))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let (value, like) = (&inputs[0], inputs[1].shape());
        match SumLike::sum(value.shape(), like, value.dtype()) {
            None => Ok(vec![value.clone()]),
            Some(sum) => sum.perform(&inputs[..1])?.into_iter().map(|v| v.reshaped(like)).collect(),
        }
    }

    fn read_inputs(&self, _: usize) -> usize {
        1
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(1, axis)]
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        super::reduce::lower::sum_like(self, to, node, inputs)
    }
}

/// `value`, of a shape that `like` broadcasts to, summed to the shape of `like`. Of axes whose extent the
/// type of `like` does not know `may_repeat` says whether `like` may have been repeated along them.
pub(crate) fn sum_to(
    value: &Variable,
    like: &Variable,
    may_repeat: impl Fn(usize) -> bool,
) -> Result<Variable> {
    let (have, want) = (&value.ty().shape, &like.ty().shape);
    let axes: Vec<usize> = (0..want.len()).filter(|&a| want[a] == Some(1) && have[a] != Some(1)).collect();
    let unknown = (0..want.len()).any(|a| want[a].is_none() && have[a] != Some(1) && may_repeat(a));
    let value = if axes.is_empty() {
        value.clone()
    } else {
        DimShuffle::keep_dims(&Reduce::sum_in(value, &axes, value.dtype())?, &axes)?
    };
    if !unknown {
        return Ok(value);
    }
    let sum = Variable::apply(SumLike, &[value, like.clone()])?.pop();
    sum.ok_or_else(|| Error::Internal("sum_like has no output".into()))
}

/// Whether an axis of an elementwise result may be longer than that axis of `x`, one of the arguments.
pub(crate) fn may_repeat(x: &Variable, whole: &Variable, axis: usize) -> bool {
    // Maximum number of steps back, over all branches.
    const STEPS: usize = 32;
    let find = |v: &Variable| origin(v, axis, &mut STEPS.clone());
    find(x) != find(whole)
}

/// A Variable's key and one of its axes.
type Axis = ((usize, usize), usize);

/// The origin of an axis: an axis further back that always has the same extent. Axes with one origin have
/// equal extents.
fn origin(v: &Variable, axis: usize, steps: &mut usize) -> Axis {
    let (mut v, mut axis) = (v.clone(), axis);
    while let Some((apply, _)) = v.owner().filter(|_| *steps > 0) {
        *steps -= 1;
        let inputs = &apply.inputs;
        let mut sources = apply.op.axis_sources(axis, inputs);
        // A user's op may name axes that do not exist.
        sources.retain(|&(input, at)| inputs.get(input).is_some_and(|v| at < v.ndim()));
        let (input, at) = match sources[..] {
            [] => break,
            [only] => only,
            [(first, at), ref rest @ ..] => {
                let found = origin(&inputs[first], at, steps);
                let same = rest.iter().all(|&(i, at)| origin(&inputs[i], at, steps) == found);
                return if same { found } else { (v.key(), axis) };
            }
        };
        (v, axis) = (inputs[input].clone(), at);
    }
    (v.key(), axis)
}
