//! A loop on a device: its body as a Program, and the rows of arrays that iterations read and write.

use super::ScanOp;
use super::body::Part;
use crate::graph::Node;
use crate::lower::{Lowered, Lowering, View};

pub(super) fn lower(op: &ScanOp, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let body = &op.body;
    let shapes = to.body_shapes(0)?;
    let rows = |output: usize| to.shape(node.outputs[output]).first().copied().unwrap_or_default();
    let trips = match body.lags.is_empty() {
        true => rows(0),
        false => rows(0).saturating_sub(body.depth(0) as u64),
    };
    let program = to.body(0, &body.closed.graph, shapes)?;
    let mut results = Vec::with_capacity(node.outputs.len());
    for (at, &id) in node.outputs.iter().enumerate() {
        let (dtype, shape) = (to.dtype(id), to.shape(id));
        let kept = match body.lags.get(at) {
            // As many as an iteration touches, or as are read afterwards.
            Some(_) => to.last_rows_read(at).map(|read| read.max(body.depth(at) as u64 + 1)),
            None => to.last_rows_read(at).map(|read| read.max(1)),
        };
        let whole = shape.first().copied().unwrap_or_default();
        results.push(to.rows(dtype, shape.get(1..).unwrap_or_default(), whole, kept.unwrap_or(whole)));
    }
    for (recurrence, rows) in results.iter().take(body.lags.len()).enumerate() {
        to.set_rows(rows, &inputs[op.first_initial() + recurrence]);
    }
    if trips > 0 {
        let mut read = Vec::with_capacity(inputs.len());
        for part in body.parts() {
            let view = &inputs[op.source(part)];
            read.push(match part {
                Part::Sequence(_) => to.read_rows(view),
                Part::Tap(recurrence, lag) => results[recurrence].from((body.depth(recurrence) - lag) as u64),
                Part::Constant(_) => to.read_whole(view),
            });
        }
        let first = |at: usize| body.lags.get(at).map_or(0, |_| body.depth(at) as u64);
        let written = results.iter().enumerate().map(|(at, rows)| rows.from(first(at))).collect();
        to.push_loop(&body.name, program, trips, read, written);
    }
    Ok(results.iter().map(|rows| rows.view()).collect())
}
