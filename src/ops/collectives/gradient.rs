//! Gradients of collectives: those of the sum of all members' costs, which each member computes for its own
//! input. So the gradient of a collective is a collective, as in JAX (`psum` is its own transpose).

use super::place::group_rank;
use super::{CollectiveKind, CollectiveOp};
use crate::error::Result;
use crate::graph::Variable;
use crate::op::Gradient;
use crate::ops::elementwise_methods::where_;
use workalike_kernels::nest::Fold;

pub(super) fn gradient(op: &CollectiveOp, at: &Gradient) -> Result<Vec<Option<Variable>>> {
    let (x, Some(g)) = (&at.inputs[0], &at.output_grads[0]) else { return Ok(vec![None]) };
    if !x.dtype().is_float() && !x.dtype().is_complex() {
        return Ok(vec![None]);
    }
    let collective = |kind, x: &Variable| CollectiveOp::apply(kind, &op.group.name, x);
    let sum = |x: &Variable| collective(CollectiveKind::AllReduce(Fold::Sum), x);
    let gradient = match &op.kind {
        CollectiveKind::AllReduce(Fold::Sum) => sum(g)?,
        CollectiveKind::AllReduce(_) => of_extreme(x, &at.outputs[0], &sum(g)?, sum)?,
        CollectiveKind::ReduceScatter(fold) => {
            let all = |x: &Variable| collective(CollectiveKind::AllGather, x);
            match fold {
                Fold::Sum => all(g)?,
                _ => of_extreme(x, &all(&at.outputs[0])?, &all(g)?, sum)?,
            }
        }
        CollectiveKind::AllGather => collective(CollectiveKind::ReduceScatter(Fold::Sum), g)?,
        CollectiveKind::Broadcast { root } => {
            let is_root = group_rank(&op.group.name).try_equal(*root as i64)?;
            where_(is_root, sum(g)?, 0.0).checked()?.try_cast(x.dtype())?
        }
        CollectiveKind::Permute(route) => collective(CollectiveKind::Permute(route.reversed()), g)?,
    };
    Ok(vec![Some(gradient)])
}

/// Members whose elements equal the extreme share its gradient, as elements of one array do; a NaN equals
/// none, and leaves none.
fn of_extreme(
    x: &Variable,
    extreme: &Variable,
    g: &Variable,
    sum: impl Fn(&Variable) -> Result<Variable>,
) -> Result<Variable> {
    let equal = x.try_equal(extreme)?;
    let number = sum(&equal.try_cast(x.dtype())?)?;
    let rest = where_(number.try_equal(0i64)?, f64::NAN, 0.0);
    where_(equal, g.try_div(&number)?, rest).checked()?.try_cast(x.dtype())
}
