//! Gathers: reads at computed indices.

use crate::graph::VarId;
use crate::lower::program::BufferId;
use crate::lower::{At, Lowered, Lowering, NestBuilder, PhaseBuilder, View};
use workalike_kernels::nest::{PhaseKind, Value};

/// `x` at index arrays, given as Vars and views, is `output`.
pub(crate) fn gather(
    to: &mut Lowering<'_>,
    output: VarId,
    x: &View,
    ids: &[VarId],
    indices: &[View],
) -> Lowered {
    let (mut x, shape) = (x.clone(), to.shape(output));
    has_positions(&x, indices)?;
    if !(0..indices.len()).all(|axis| x.takes_dynamic(axis)) {
        x = to.own_copy(&x);
    }
    let rank = shape.len() + indices.len() - x.shape.len();
    let reports = to.check_indices(ids, indices, &x.shape);
    let number = to.report();
    let target = {
        let dtype = to.dtype(output);
        to.temp(dtype, &shape)
    };
    if shape.contains(&0) {
        // There are no points, and a load might have no element to name. An index out of range is an error in
        // any case.
        let asked = indices.iter().zip(&x.shape).zip(&reports).filter(|(_, report)| report.is_some());
        asked.for_each(|((index, &extent), _)| to.push_check(index, extent));
        return Ok(vec![View::whole(target, &shape)]);
    }
    let mut nest = NestBuilder::new("gather", &shape, &[]);
    let mut point = nest.phase(PhaseKind::Point, &to.program);
    let index_at = At::axes(rank);
    let mut at = positions(&mut point, indices, &x.shape, &shape[..rank], &index_at, &reports, number);
    at.extend((rank..shape.len()).map(At::Axis));
    let value = point.load(&x, &at);
    point.store(target, &shape, &At::axes(shape.len()), value, None);
    point.finish();
    to.push(nest);
    Ok(vec![View::whole(target, &shape)])
}

/// Refuses an index into an empty axis: it has no position to clamp to.
pub(crate) fn has_positions(x: &View, indices: &[View]) -> Result<(), String> {
    let some = indices.iter().all(|v| !v.shape.contains(&0));
    if some && x.shape[..indices.len()].contains(&0) {
        return Err(format!("an index into an empty axis of shape {:?}", x.shape));
    }
    Ok(())
}

/// Positions along the indexed axes of `x`, in range, at one point of the index arrays. An index with a
/// status word in `reports` is reported there if it is out of range.
pub(crate) fn positions(
    phase: &mut PhaseBuilder,
    indices: &[View],
    shape: &[u64],
    points: &[u64],
    index_at: &[At],
    reports: &[Option<BufferId>],
    number: i128,
) -> Vec<At> {
    let one = |phase: &mut PhaseBuilder, index: &View, extent: u64, status: Option<BufferId>| -> Value {
        let at: Vec<At> = (0..index_at.len())
            .map(|a| if index.shape[a] == 1 && points[a] != 1 { At::First } else { index_at[a] })
            .collect();
        let given = phase.load(index, &at);
        phase.position(given, extent, status.map(|status| (status, number)))
    };
    let all = indices.iter().zip(shape).zip(reports);
    all.map(|((index, &extent), &status)| At::Value(one(phase, index, extent, status))).collect()
}
