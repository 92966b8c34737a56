//! How members take and add at positions together: each does so at its points, and sums are added.

use super::{AdvancedIncSubtensor, AdvancedSubtensor, range_behind};
use crate::error::Result;
use crate::graph::Variable;
use crate::op::{MemberArray, ShardedOutputs, Sharding, Shards};
use crate::ops::creation::arange;
use crate::ops::creation::zeros_like;
use crate::ops::shape::{DimShuffle, ShapeOf};
use crate::ops::sharding::is_extent_of_parts;
use crate::ops::specify_shape::EqualExtents;

pub(super) fn gather(op: AdvancedSubtensor, at: &Shards) -> ShardedOutputs {
    let indices = 1..at.inputs.len();
    let rank = at.inputs.get(1).map_or(0, |index| index.variable.ndim());
    match at.sharding(0) {
        // Of axes that are not indexed.
        Sharding::Sharded(axis) if axis >= indices.len() => {
            at.along(op, false, |axis| Some(axis - indices.len() + rank))
        }
        Sharding::Sharded(0) => {
            let Some(rows) = own_rows(at, 1)? else { return Ok(None) };
            let inputs = std::iter::once(at.part(0, 0)?).chain(rows.indices).collect::<Vec<_>>();
            Ok(Some(vec![MemberArray::sharded(Variable::apply1(op, &inputs)?, rows.axis)]))
        }
        Sharding::Replicated => {
            let Some(axis) = at.first_axis(indices.clone()) else { return Ok(None) };
            let inputs: Vec<Variable> =
                std::iter::once(at.whole(0)?).chain(at.parts_beside(indices, axis, true)?).collect();
            Ok(Some(vec![MemberArray::sharded(Variable::apply1(op, &inputs)?, axis)]))
        }
        _ => at.terms(op, |i| i > 0),
    }
}

/// Index arrays that take something from each row, for the member's rows: `x[arange(n), t]`.
struct OwnRows {
    indices: Vec<Variable>,
    /// The axis of the index arrays along which rows are.
    axis: usize,
}

/// The indices from this input on, for the member's rows of the first input; `None` unless the first of them
/// counts the rows.
fn own_rows(at: &Shards, first: usize) -> Result<Option<OwnRows>> {
    let Some(index) = at.inputs.get(first).filter(|index| index.sharding == Sharding::Replicated) else {
        return Ok(None);
    };
    let Some(axis) = counting_axis(&index.variable) else { return Ok(None) };
    let count = arange(ShapeOf::of(&at.part(0, 0)?, 0)?).checked()?.try_cast(index.variable.dtype())?;
    let order = (0..index.variable.ndim()).map(|a| (a == axis).then_some(0)).collect();
    let count = DimShuffle::of(&count, order)?;
    // With as many points as rows the members' points are in their rows.
    let own = EqualExtents::of("data_parallel", (&count, axis), (&at.part(first, axis)?, axis))?;
    let others = (first + 1..at.inputs.len()).map(|i| at.part(i, axis));
    let indices = std::iter::once(Ok(own)).chain(others).collect::<Result<_>>()?;
    Ok(Some(OwnRows { indices, axis }))
}

/// The only axis along which an index array varies, if it counts up from 0 along it.
fn counting_axis(index: &Variable) -> Option<usize> {
    let mut long = (0..index.ndim()).filter(|&axis| index.ty().shape[axis] != Some(1));
    let (Some(axis), None) = (long.next(), long.next()) else { return None };
    let [start, stop, step] = range_behind(index)?;
    let is = |v: &Variable, n: i128| {
        v.constant_value().and_then(|v| v.to_scalar()).is_some_and(|v| v.to_i128() == n)
    };
    (is(&start, 0) && is(&step, 1) && is_extent_of_parts(&stop)).then_some(axis)
}

pub(super) fn scatter(op: AdvancedIncSubtensor, at: &Shards) -> ShardedOutputs {
    let indices = 2..at.inputs.len();
    let rank = at.inputs.get(2).map_or(0, |index| index.variable.ndim());
    let points = at.first_axis(1..at.inputs.len()).filter(|&axis| axis < rank);
    let behind = match (at.sharding(0), at.sharding(1)) {
        (Sharding::Sharded(axis), _) if axis >= indices.len() => Some(axis),
        (_, Sharding::Sharded(axis)) if axis >= rank => Some(axis - rank + indices.len()),
        _ => None,
    };
    if let Some(axis) = behind {
        // All points, of a part of the axes that are not indexed.
        let first = [at.part(0, axis)?, at.part(1, axis - indices.len() + rank)?];
        let inputs =
            first.into_iter().map(Ok).chain(indices.map(|i| at.whole(i))).collect::<Result<Vec<_>>>()?;
        return Ok(Some(vec![MemberArray::sharded(Variable::apply1(op, &inputs)?, axis)]));
    }
    if at.sharding(0) == Sharding::Sharded(0)
        && let Some(rows) = own_rows(at, 2)?
    {
        let first = [at.part(0, 0)?, at.part(1, rows.axis)?];
        let inputs: Vec<Variable> = first.into_iter().chain(rows.indices).collect();
        return Ok(Some(vec![MemberArray::sharded(Variable::apply1(op, &inputs)?, 0)]));
    }
    let Some(axis) = points.filter(|_| !op.set) else {
        let zero = at.is_zero(0) && !op.set;
        return at.terms(op, |i| i >= 2 || (zero && i == 0));
    };
    let zero = at.is_zero(0);
    let target = if zero { at.whole(0)? } else { zeros_like(&at.whole(0)?).checked()?.clone() };
    let parts = at.parts_beside(1..at.inputs.len(), axis, true)?;
    let inputs: Vec<Variable> = std::iter::once(target).chain(parts).collect();
    let added = MemberArray::term(Variable::apply1(op, &inputs)?);
    if zero {
        return Ok(Some(vec![added]));
    }
    Ok(Some(vec![MemberArray::replicated(at.whole(0)?.try_add(added.gathered(at.group)?)?)]))
}
