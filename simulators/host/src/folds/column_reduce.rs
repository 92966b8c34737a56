//! Column reductions of narrow matrices: several contiguous rows are folded as one wide row, lane by lane,
//! and its parts at the end. A narrow row is too short for its own vector loop.

use super::super::affine::LanePattern;
use super::super::exec::{Frame, ThreadRun};
use super::super::plan::FoldPlan;
use super::memory_reduce::{BATCH, Stream, StreamLoop, StreamOperand};
use super::strided_reduce::{FoldOperands, GROUP, RowAddresses, StridedLoops};
use super::tiles::ANY;

/// Columns of a narrow matrix, at most.
const FEW: usize = 64;
/// Lanes of a wide row, at most, and the most rows in it.
const TOGETHER: usize = 512;
const MOST: usize = 64;
/// Groups of wide rows that a lane folds in sequence.
const SEQUENCE: usize = 2;

/// The number of rows of `n` elements that are folded as one. `None` if they are not contiguous, too long or
/// too few, or only part of all `columns`: that part depends on the number of threads, and results must not.
pub(crate) fn together(stream: &Stream, n: usize, rows: u64, columns: u64) -> Option<usize> {
    let behind = |source: &StreamOperand| !source.broadcast && source.walk == LanePattern::Line(n as i64);
    let most = (TOGETHER / n.max(1)).min(MOST);
    let all = behind(&stream.value) && stream.other.as_ref().is_none_or(behind);
    (n <= FEW && n as u64 == columns && most >= 4 && all && rows >= 2 * most as u64).then_some(most)
}

impl ThreadRun<'_> {
    /// Folds rows `from..to`, `together` at a time, into the bottom of the fold's stack.
    pub(crate) fn narrow_rows(
        &self,
        frame: &Frame,
        stream: &Stream,
        together: usize,
        (first, n): (u64, usize),
        (from, to): (u64, u64),
    ) {
        let fold = &self.plan.folds[stream.fold];
        let (StreamLoop::Fold(loops), Some(merge)) = (&stream.how, fold.kernel.merge_loops()) else { return };
        // Where order does not matter there is one accumulator.
        let block = if fold.kernel.block == ANY { ANY } else { 0 };
        let most = (SEQUENCE * GROUP) as u64;
        let (mut at, mut other_at) = ([0; BATCH], [0; BATCH]);
        let mut take = |into: &mut [u64], fresh, rows: (u64, u64), count: u64, lanes: usize| {
            let at = [&mut at[..count as usize], &mut other_at[..count as usize]];
            let rows = self.operands(stream, (first, lanes), rows, at);
            // SAFETY: `bind` checked the rows against their operands' regions, and this phase writes to none;
            // there are that many lanes.
            unsafe { (loops.down)(into, fresh, rows, loops.test) };
        };
        let mut local = [0u64; TOGETHER];
        self.cascade(frame, stream, (from, to), block, n, |into, fresh, row| {
            let wide = ((to - row) / together as u64).min(most);
            if wide == 0 {
                // The last rows, which do not fill a wide row, in sequences of the same length.
                let end = to.min(row + most);
                take(into, fresh, (row, 1), end - row, n);
                return end;
            }
            let identity = Some(fold.identity_word());
            take(&mut local, identity, (row, together as u64), wide, together * n);
            fold_parts(merge, fold, into, fresh, &local, (together, n));
            row + wide * together as u64
        });
    }
}

/// Folds the consecutive parts of `n` lanes in `local`: groups of eight, then their results.
fn fold_parts(
    merge: &StridedLoops,
    fold: &FoldPlan,
    into: &mut [u64],
    fresh: Option<u64>,
    local: &[u64; TOGETHER],
    (parts, n): (usize, usize),
) {
    let mut eights = [[0u64; FEW]; MOST / GROUP];
    let fold_rows = |into: &mut [u64], fresh, base: *const u8, at: &[i64]| {
        let rows = RowAddresses { base, at };
        // SAFETY: the callers below have `n` lanes at each address.
        unsafe { (merge.down)(into, fresh, FoldOperands { value: rows, other: rows, n }, merge.test) };
    };
    let count = parts.div_ceil(GROUP);
    for (eight, result) in eights[..count].iter_mut().enumerate() {
        let first = eight * GROUP;
        let at: [i64; GROUP] = std::array::from_fn(|k| ((first + k) * n) as i64);
        let at = &at[..GROUP.min(parts - first)];
        fold_rows(result, Some(fold.identity_word()), local.as_ptr().cast(), at);
    }
    let lanes = FEW * 8 / fold.dtype.register().size();
    let at: [i64; GROUP] = std::array::from_fn(|k| (k * lanes) as i64);
    fold_rows(into, fresh, eights.as_ptr().cast(), &at[..count]);
}
