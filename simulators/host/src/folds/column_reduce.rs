//! Column reductions of narrow matrices: several contiguous rows are folded as one wide row, lane by lane,
//! and its parts at the end. A narrow row is too short for its own vector loop.

use super::super::affine::Lanes;
use super::super::exec::{Frame, Run};
use super::super::plan::FoldPlan;
use super::super::tile_io;
use super::argreduce::ArgDown;
use super::stream::{BATCH, How, Source, Stream};
use super::strided_reduce::{Down, GROUP, Rows};
use super::tiles::{ANY, Cascade};
use workalike_kernels::ops::{lanes, lanes_mut};

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
    let behind = |source: &Source| !source.broadcast && source.walk == Lanes::Line(n as i64);
    let most = (TOGETHER / n.max(1)).min(MOST);
    let all = behind(&stream.value) && stream.other.as_ref().is_none_or(behind);
    let all = all && (stream.merge.is_some() || matches!(stream.how, How::ArgDown(..)));
    (n <= FEW && n as u64 == columns && most >= 4 && all && rows >= 2 * most as u64).then_some(most)
}

impl Run<'_> {
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
        let Some(merge) = stream.merge else { return };
        // Where order does not matter there is one accumulator.
        let block = if fold.kernel.block == ANY { ANY } else { 0 };
        let mut cascade = Cascade::default();
        let (rows, wide_lanes) = (together as u64, together * n);
        let mut local = [0u64; TOGETHER];
        let most = SEQUENCE as u64 * GROUP as u64;
        let mut row = from;
        while row < to {
            let (top, fresh) = cascade.top(block);
            let word = fold.stack + top * fold.tile_words;
            // SAFETY: an accumulator of this thread's frame; nothing else refers to it while the slice lives.
            let into =
                unsafe { std::slice::from_raw_parts_mut(frame.base().wrapping_add(word), fold.value_words) };
            let mut fresh = fresh.then(|| fold.identity_word());
            let wide = ((to - row) / rows).min(most);
            if wide == 0 {
                // The last rows, which do not fill a wide row, in sequences of the same length.
                let end = to.min(row + most);
                while row < end {
                    let count = (end - row).min(GROUP as u64);
                    self.take(stream, into, fresh.take(), (first, row), (1, count), n);
                    row += count;
                }
            } else {
                let mut empty = Some(fold.identity_word());
                for at in (0..wide).step_by(GROUP) {
                    let count = (wide - at).min(GROUP as u64);
                    let start = row + at * rows;
                    self.take(stream, &mut local, empty.take(), (first, start), (rows, count), wide_lanes);
                }
                fold_parts(merge, fold, into, fresh, &local, (together, n));
                row += wide * rows;
            }
            let merges = cascade.pushed(block);
            self.merge(frame, fold, fold.stack, top, merges, n);
            // SAFETY: an accumulator of this thread's frame; nothing writes it while the slice lives.
            let found =
                unsafe { std::slice::from_raw_parts(frame.base().wrapping_add(word), fold.value_words) };
            if stream.is_decided(found, n) {
                break;
            }
        }
        let height = cascade.height(block).saturating_sub(1);
        self.merge(frame, fold, fold.stack, height, height, n);
    }

    /// Folds `count` wide rows of `n` lanes, `rows` rows of memory each, from `row` on.
    fn take(
        &self,
        stream: &Stream,
        into: &mut [u64],
        fresh: Option<u64>,
        (first, row): (u64, u64),
        (rows, count): (u64, u64),
        n: usize,
    ) {
        let (mut at, mut other_at) = ([0i64; GROUP], [0i64; GROUP]);
        let count = count as usize;
        let place = |source: &Source, at: &mut [i64]| {
            for (k, at) in at[..count].iter_mut().enumerate() {
                *at = source.row(first, row + k as u64 * rows);
            }
            self.bound.bases[source.operand].cast_const()
        };
        let value = place(&stream.value, &mut at);
        let other = stream.other.as_ref().map_or(value, |o| place(o, &mut other_at));
        let value = Rows { base: value, at: &at[..count] };
        let other = Rows { base: other, at: &other_at[..count] };
        // SAFETY: `bind` checked the rows against their operands' regions, and this phase writes to none;
        // there are that many lanes.
        unsafe {
            match &stream.how {
                How::Fold(loops) => (loops.down)(into, fresh, value, other, n),
                How::Mapped(mapped) => mapped.down(into, fresh, value, n),
                How::ArgAlong(..) | How::ArgDown(..) => (),
            }
        }
    }

    /// Finds extremes in rows `from..to` of `n` columns, `together` at a time, into the bottom of the fold's
    /// stack; returns the first of the remaining rows.
    pub(crate) fn narrow_first(
        &self,
        (values, indices): (&mut [u64], &mut [i64]),
        stream: &Stream,
        (down, together): (ArgDown, usize),
        (first, n): (u64, usize),
        (from, to): (u64, u64),
        (index, step): (i64, i64),
    ) -> u64 {
        let fold = &self.plan.folds[stream.fold];
        let source = &stream.value;
        let base = self.bound.bases[source.operand].cast_const();
        let (wide, wide_lanes) = ((to - from) / together as u64, together * n);
        let (mut local, mut found) = ([0u64; TOGETHER], [0i64; TOGETHER]);
        let mut at = [0i64; BATCH];
        for batch in (0..wide).step_by(BATCH) {
            let count = (wide - batch).min(BATCH as u64) as usize;
            let start = source.row(first, from + batch * together as u64);
            tile_io::iota(&Lanes::Line(wide_lanes as i64), start, 0, count, &mut at);
            // SAFETY: `bind` checked the rows against their operand's region, and this phase writes to none;
            // there are that many lanes.
            unsafe {
                let rows = Rows { base, at: &at[..count] };
                down(&mut local, &mut found[..wide_lanes], rows, wide_lanes, (batch as i64, 1), batch == 0);
            }
        }
        let size = fold.dtype.register().size();
        let (mut part, mut part_index) = ([0u64; FEW], [0u64; FEW]);
        for r in 0..together {
            let bytes = &lanes::<u8>(&local)[r * n * size..(r + 1) * n * size];
            lanes_mut::<u8>(&mut part)[..n * size].copy_from_slice(bytes);
            for (to, row) in part_index[..n].iter_mut().zip(&found[r * n..]) {
                *to = (index + (row * together as i64 + r as i64) * step) as u64;
            }
            if r == 0 {
                let words = (n * size).div_ceil(8);
                values[..words].copy_from_slice(&part[..words]);
                indices.iter_mut().zip(&part_index[..n]).for_each(|(to, from)| *to = *from as i64);
            } else {
                (fold.merge)(
                    values,
                    bytemuck::cast_slice_mut(indices),
                    bytemuck::cast_slice(&part),
                    bytemuck::cast_slice(&part_index),
                    n,
                );
            }
        }
        from + wide * together as u64
    }
}

/// Folds the consecutive parts of `n` lanes in `local`: groups of eight, then their results.
fn fold_parts(
    merge: Down,
    fold: &FoldPlan,
    into: &mut [u64],
    fresh: Option<u64>,
    local: &[u64; TOGETHER],
    (parts, n): (usize, usize),
) {
    let mut eights = [[0u64; FEW]; MOST / GROUP];
    let base = local.as_ptr().cast();
    let count = parts.div_ceil(GROUP);
    for (eight, sums) in eights[..count].iter_mut().enumerate() {
        let first = eight * GROUP;
        let at: [i64; GROUP] = std::array::from_fn(|k| ((first + k) * n) as i64);
        let rows = Rows { base, at: &at[..GROUP.min(parts - first)] };
        // SAFETY: `local` holds all parts.
        unsafe { merge(sums, Some(fold.identity_word()), rows, rows, n) };
    }
    let (base, row) = (eights.as_ptr().cast(), FEW * 8 / fold.dtype.register().size());
    let at: [i64; GROUP] = std::array::from_fn(|k| (k * row) as i64);
    let rows = Rows { base, at: &at[..count] };
    // SAFETY: each group's result holds `n` lanes.
    unsafe { merge(into, fresh, rows, rows, n) };
}
