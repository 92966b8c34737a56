//! A loop on a device: its body as a Program, and the rows of arrays that iterations read and write.

use super::ScanOp;
use super::body::BodyInput;
use crate::graph::Node;
use crate::lower::program::Access;
use crate::lower::{Lowered, Lowering, RowArray, View};

pub(super) fn lower(op: &ScanOp, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let body = &op.body;
    let shapes = to.body_shapes(0)?;
    let rows = |output: usize| to.shape(node.outputs[output]).first().copied().unwrap_or_default();
    let trips = match body.lags.is_empty() {
        true => rows(0),
        false => rows(0).saturating_sub(body.depth(0) as u64),
    };
    let in_place = in_place(op, to);
    let program = to.body(0, &body.closed.in_place(&in_place), shapes)?;
    let changed = |output: usize| in_place.iter().any(|(_, own)| *own == output);
    let results = results(op, to, node, &changed);
    for (recurrence, rows) in results.iter().take(body.lags.len()).enumerate() {
        to.set_rows(rows, &inputs[op.first_initial() + recurrence]);
    }
    if trips > 0 {
        let mut read = Vec::with_capacity(inputs.len());
        for part in body.parts() {
            let view = &inputs[op.source(part)];
            read.push(match part {
                BodyInput::Tap(recurrence, _) if changed(recurrence) => continue,
                BodyInput::Sequence(_) => turned(op, trips, to.read_rows(view)),
                BodyInput::Tap(recurrence, lag) => {
                    results[recurrence].from((body.depth(recurrence) - lag) as u64)
                }
                BodyInput::Constant(_) => to.read_whole(view),
            });
        }
        let first = |at: usize| body.depth(at) as u64;
        let written = results.iter().enumerate().filter(|(at, _)| !changed(*at));
        let stacked = |at: usize| at >= body.lags.len();
        let written = written.map(|(at, rows)| match stacked(at) {
            true => turned(op, trips, rows.from(0)),
            false => rows.from(first(at)),
        });
        let written = written.collect();
        let carried = in_place.iter().map(|(_, own)| results[*own].buffer()).collect();
        to.push_loop(&body.name, program, trips, (read, written), carried);
    }
    Ok(results.iter().map(|rows| rows.view()).collect())
}

/// The rows of the iterations of a loop that goes backwards, if it does.
fn turned(op: &ScanOp, trips: u64, access: Access) -> Access {
    if op.backwards { access.backwards(trips) } else { access }
}

/// Recurrences that are changed in part and whose last value alone is read: pairs of positions among the
/// inputs and the outputs of the body.
fn in_place(op: &ScanOp, to: &mut Lowering<'_>) -> Vec<(usize, usize)> {
    let body = &op.body;
    let mut pairs = Vec::new();
    for (input, part) in body.parts().enumerate() {
        let BodyInput::Tap(recurrence, 1) = part else { continue };
        if body.lags[recurrence] == [1]
            && body.closed.changes_parts(input, recurrence)
            && to.last_rows_read(recurrence).is_some_and(|read| read <= 1)
        {
            pairs.push((input, recurrence));
        }
    }
    pairs
}

/// Memory for the outputs.
fn results(
    op: &ScanOp,
    to: &mut Lowering<'_>,
    node: &Node,
    changed: &dyn Fn(usize) -> bool,
) -> Vec<RowArray> {
    let body = &op.body;
    let mut results = Vec::with_capacity(node.outputs.len());
    for (at, &id) in node.outputs.iter().enumerate() {
        let (dtype, shape) = (to.dtype(id), to.shape(id));
        let whole = shape.first().copied().unwrap_or_default();
        let row = shape.get(1..).unwrap_or_default();
        if changed(at) {
            results.push(to.last_row(dtype, row, whole));
            continue;
        }
        let kept = match body.lags.get(at) {
            // As many as an iteration touches, or as are read afterwards.
            Some(_) => to.last_rows_read(at).map(|read| read.max(body.depth(at) as u64 + 1)),
            // The last rows are those of the first iterations.
            None if op.backwards => None,
            None => to.last_rows_read(at).map(|read| read.max(1)),
        };
        results.push(to.rows(dtype, row, whole, kept.unwrap_or(whole)));
    }
    results
}
