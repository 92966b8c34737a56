//! Checkpoints: a loop over blocks of iterations. Its gradient keeps what is carried from block to block, and
//! computes each block again (Griewank and Walther, 2000): for blocks of the square root of the iterations,
//! the memory grows as that root, and the time by one more pass.

use super::builder::Scan;
use super::scanned::Scanned;
use super::{ScanInputs, ScanOp};
use crate::error::Result;
use crate::graph::{Operand, Variable};
use crate::ops::index_expression::{Ix, range};
use crate::ops::join::concatenate;

/// The loop `op` in blocks of so many iterations, then the rest; of its recurrences the first `carried` are
/// of interest.
pub(super) fn checkpointed(op: &ScanOp, given: &ScanInputs, block: usize, carried: usize) -> Result<Scanned> {
    let all = op.body.lags.len();
    let depths: Vec<usize> = (0..all).map(|recurrence| op.body.depth(recurrence)).collect();
    let size = i128::from(block as i64);
    let blocks = given.steps.try_floor_divide(block as i64)?;
    let whole = blocks.try_mul(block as i64)?;
    let cut = |sequence: &Variable| {
        let front = sequence.try_index([range(0i64, &whole)])?;
        split(&front, vec![Operand::Variable(blocks.clone()), Operand::Int(size)])
    };
    let mut outer = Scan::new().named(&op.body.name);
    for sequence in &given.sequences {
        outer = outer.sequence(cut(sequence)?);
    }
    if given.sequences.is_empty() {
        outer = outer.steps(&blocks);
    }
    for initial in &given.initial {
        outer = outer.recurrent(initial);
    }
    let count = given.sequences.len();
    let steps = Variable::constant(block as i64);
    let of_block = ScanOp { steps: Some(block), states: vec![], ..op.clone() };
    let mut failed = None;
    let scanned = outer.try_run(|values| {
        let (slices, before) = values.split_at(count);
        let (sequences, initial) = (slices.to_vec(), before.to_vec());
        let inner =
            of_block.on(ScanInputs { sequences, initial, constants: given.constants.clone(), steps }, all);
        let after = inner.and_then(|inner| {
            let last = |(trace, depth): (&Variable, &usize)| trace.try_index([Ix::from(-(*depth as i64)..)]);
            let carried: Vec<Variable> = inner.traces.iter().zip(&depths).map(last).collect::<Result<_>>()?;
            Ok([carried, inner.clone().histories(), inner.stacked].concat())
        });
        after.unwrap_or_else(|error| {
            failed = Some(error.clone());
            vec![Variable::poison(error)]
        })
    });
    let scanned = failed.map_or(scanned, Err)?;
    let behind = |sequence: &Variable| sequence.try_index([range(&whole, &given.steps)]);
    let sequences = given.sequences.iter().map(behind).collect::<Result<_>>()?;
    let last = scanned.clone().last();
    let left = given.steps.try_sub(&whole)?;
    let op = ScanOp { steps: None, ..op.clone() };
    let behind = ScanInputs { sequences, initial: last, constants: given.constants.clone(), steps: left };
    let rest = op.on(behind, all)?;
    let parts = rest.clone().histories().into_iter().chain(rest.stacked.iter().cloned());
    let mut joined = Vec::new();
    for (front, rest) in scanned.stacked.iter().zip(parts) {
        let front = joined_blocks(front, &whole)?;
        joined.push(concatenate([front, rest], 0));
    }
    let stacked = joined.split_off(all);
    let trace = |(initial, history): (&Variable, &Variable)| concatenate([initial, history], 0);
    let traces = given.initial.iter().zip(&joined).take(carried).map(trace).collect();
    let ends = rest.last().into_iter().take(carried).collect();
    Ok(Scanned::new(traces, depths[..carried].to_vec(), stacked, given.steps.clone()).ending(ends))
}

/// The first axis cut into axes of these extents.
fn split(x: &Variable, mut extents: Vec<Operand>) -> Result<Variable> {
    for axis in 1..x.ndim() {
        extents.push(Operand::Variable(x.try_extent(axis as isize)?));
    }
    x.try_reshape(extents)
}

/// The first two axes as one, of this extent.
fn joined_blocks(x: &Variable, extent: &Variable) -> Result<Variable> {
    let mut extents = vec![Operand::Variable(extent.clone())];
    for axis in 2..x.ndim() {
        extents.push(Operand::Variable(x.try_extent(axis as isize)?));
    }
    x.try_reshape(extents)
}
