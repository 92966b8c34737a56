//! Takes products out of loops, where one large product takes less time than a small one in each iteration
//! (Theano's `scan_pushout`).
//!
//! - `before`: products of slices of sequences become slices of one product before the loop;
//! - `after`: results that are products of what the loop keeps become one product after it;
//! - `sums`: sums of products over the iterations become one product after it. The gradient of a weight is
//!   such a sum;
//! - `outside`: the part of an iteration that can be computed outside, for all iterations at once.

mod after;
mod before;
mod outside;
mod sums;

use super::mirror::Mirror;
use super::transform;
use crate::error::{Error, Result};
use crate::graph::source_location;
use crate::graph::{FunctionGraph, Node, VarId, Variable};
use crate::ops::loops::{LoopParts, Recurrence, ScanOp};
use crate::ops::{Bound, Slot, Subtensor};

/// The pass.
///
/// # Errors
/// If the new graph is ill-formed, which is a bug.
pub fn hoist(graph: &FunctionGraph) -> Result<FunctionGraph> {
    let mut mirror = Mirror::default();
    transform(graph, |new, node, inputs| {
        let Some(scan) = node.op.downcast::<ScanOp>() else { return Ok(None) };
        let _scope = node.place.map(source_location::enter_at);
        let whole = LoopParts::of(scan, &mirror.variables(new, inputs)?)?;
        let rows: Vec<RowsRead> = node.outputs.iter().map(|&output| RowsRead::read(graph, output)).collect();
        let Some(outputs) = hoisted(whole, &rows)? else { return Ok(None) };
        outputs.iter().map(|output| mirror.adopt(new, output)).collect::<Result<_>>().map(Some)
    })
}

/// Which rows of an output are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RowsRead {
    /// None but the last.
    Last,
    /// Several of the last, or single ones.
    Few,
    All,
}

impl RowsRead {
    fn read(graph: &FunctionGraph, output: VarId) -> RowsRead {
        if graph.roots().any(|root| root == output) {
            return RowsRead::All;
        }
        let readers = graph.nodes.iter().filter(|reader| reader.inputs.contains(&output));
        let rows = readers.map(|reader: &Node| {
            let read = reader.op.downcast::<Subtensor>().and_then(|read| read.slots.first());
            match read {
                Some(Slot::Index(Bound::At(-1)) | Slot::Slice { start: Bound::At(-1), step: 1, .. }) => {
                    RowsRead::Last
                }
                Some(Slot::Index(_) | Slot::Slice { start: Bound::At(..0), step: 1, .. }) => RowsRead::Few,
                _ => RowsRead::All,
            }
        });
        rows.max().unwrap_or(RowsRead::Last)
    }
}

/// The outputs of a loop with products moved out of it, given which rows are read; `None` if nothing changes.
fn hoisted(whole: LoopParts, rows: &[RowsRead]) -> Result<Option<Vec<Variable>>> {
    if whole.recurrences.is_empty() {
        // Iterations that do not depend on each other are there to save memory.
        return Ok(None);
    }
    let mut left = Left::of(&whole, rows);
    let sums = sums::take(&mut left);
    let moved = after::take(&mut left);
    let less = before::taken(&left.parts)?;
    if sums.is_empty() && moved.is_empty() && less.is_none() {
        return Ok(None);
    }
    let mut traces = less.as_ref().unwrap_or(&left.parts).outputs()?;
    let results = traces.split_off(left.parts.recurrences.len());
    left.completed([traces, results], &whole, &sums, &moved).map(Some)
}

/// A loop without what was taken out of it.
struct Left<'a> {
    parts: LoopParts,
    /// For each recurrence of the whole loop, its position in `parts`.
    recurrences: Vec<Option<usize>>,
    /// For each result of the whole loop, its position in `parts`.
    results: Vec<Option<usize>>,
    rows: &'a [RowsRead],
}

impl<'a> Left<'a> {
    fn of(whole: &LoopParts, rows: &'a [RowsRead]) -> Left<'a> {
        Left {
            recurrences: (0..whole.recurrences.len()).map(Some).collect(),
            results: (0..whole.results.len()).map(Some).collect(),
            parts: whole.clone(),
            rows,
        }
    }

    /// The recurrences that are left of which all values are kept.
    fn kept(&self) -> impl Iterator<Item = &Recurrence> {
        let kept = self.recurrences.iter().zip(self.rows).filter(|(_, rows)| **rows == RowsRead::All);
        kept.filter_map(|(place, _)| self.parts.recurrences.get((*place)?))
    }

    /// Whether the last value of a recurrence alone is read.
    fn reads_last(&self, recurrence: usize) -> bool {
        self.rows.get(recurrence) == Some(&RowsRead::Last)
    }

    /// Whether all rows of a result of the whole loop are kept, or of one that was added.
    fn keeps_result(&self, result: usize) -> bool {
        self.rows.get(self.recurrences.len() + result).is_none_or(|rows| *rows == RowsRead::All)
    }

    /// All outputs of the whole loop, given those of this one.
    fn completed(
        &self,
        [traces, results]: [Vec<Variable>; 2],
        whole: &LoopParts,
        sums: &[(usize, Variable)],
        moved: &[(usize, Variable)],
    ) -> Result<Vec<Variable>> {
        let iterations = self.iterations(whole, &traces, &results)?;
        let mut outputs = Vec::new();
        for (at, left) in self.recurrences.iter().enumerate() {
            let sum = sums.iter().find(|(own, _)| *own == at);
            outputs.push(match (left, sum) {
                (Some(left), _) => traces[*left].clone(),
                (None, Some((_, term))) => iterations.total(&whole.recurrences[at], term)?,
                (None, None) => return Err(lost("recurrence")),
            });
        }
        for (at, left) in self.results.iter().enumerate() {
            let result = moved.iter().find(|(own, _)| *own == at);
            outputs.push(match (left, result) {
                (Some(left), _) => results[*left].clone(),
                (None, Some((_, result))) => iterations.rows(result)?,
                (None, None) => return Err(lost("result")),
            });
        }
        Ok(outputs)
    }
}

fn lost(what: &str) -> Error {
    Error::Internal(format!("a loop lost a {what}"))
}
