//! Phases that only fold memory: no tiles, no registers, whole rows or groups of rows at a time.
//!
//! Where lanes are inner points, a row of memory is folded to one number, for many grid points in sequence.
//! Where lanes are grid points, an accumulator as wide as a tile takes several rows at once. Either way a row
//! is contiguous.

use super::argreduce::{ArgAlong, arg_loop};
use super::column_reduce;
use super::mapped_reduce::{Test, test_loops};
use super::strided_reduce::{FoldOperands, GROUP, RowAddresses, StridedLoops, strided_loops};
use super::tiles::{ANY, Cascade};
use crate::affine::LanePattern;
use crate::exec::{Frame, ThreadRun, view_mut, words};
use crate::plan::analysis::Touch;
use crate::plan::{AccessPlan, FoldPlan, LaneAxes, TileOperand, ValueLocation};
use crate::tile_io;
use std::ops::Range;
use workalike_kernels::DType;
use workalike_kernels::nest::{Affine, Fold};
use workalike_kernels::ops::lanes;

/// The logarithm of the number of groups of rows that are folded in sequence before the tree takes over. More
/// would break the error bound of sums of few rows.
const BLOCK: u32 = 1;
/// Elements of a row that one chunk folds.
const ROW: u64 = 1 << 16;
/// A chunk of many rows has about this many elements, unless that makes more than [`CHUNKS`] chunks.
const AREA: u64 = 1 << 15;
const CHUNKS: u64 = 16;
/// Rows whose addresses are computed at once.
pub(crate) const BATCH: usize = 64;

/// One fold of such a phase.
pub(crate) struct Stream {
    /// The index of its plan.
    pub(crate) fold: usize,
    pub(crate) how: StreamLoop,
    pub(crate) value: StreamOperand,
    pub(crate) other: Option<StreamOperand>,
    /// The absorbing bool: once it is the result of some elements, the others cannot change it.
    absorbing: Option<bool>,
}

impl Stream {
    /// Whether a few elements often decide the result.
    pub(crate) fn may_decide_early(&self) -> bool {
        self.absorbing.is_some()
    }

    /// Whether no other elements can change the first `n` lanes of `found`.
    pub(crate) fn is_decided(&self, found: &[u64], n: usize) -> bool {
        self.absorbing.is_some_and(|value| {
            lanes::<u8>(found)[..n].iter().fold(true, |all, x| all & (u8::from(value) == *x))
        })
    }
}

/// See [`Stream::absorbing`].
fn absorbing(kind: Fold, dtype: DType) -> Option<bool> {
    let greatest = matches!(kind, Fold::Sum | Fold::Max | Fold::ArgMax);
    (dtype == DType::Bool).then_some(greatest)
}

/// The loop for each row.
pub(crate) enum StreamLoop {
    Fold(StridedLoops),
    /// The index of its first element, and the step to each next one.
    ArgAlong(ArgAlong, (i64, i64)),
}

/// An operand that is read.
pub(crate) struct StreamOperand {
    pub(crate) operand: usize,
    pub(crate) size: usize,
    offset: i64,
    /// From row to row.
    pub(crate) walk: LanePattern,
    /// Each row is one number, which is broadcast.
    pub(crate) broadcast: bool,
}

impl StreamOperand {
    /// Writes the addresses of element `first` of rows `row`, `row + step` and so on.
    fn place(&self, first: u64, (row, step): (u64, u64), at: &mut [i64]) {
        let start = self.offset + if self.broadcast { 0 } else { first as i64 };
        if step == 1 {
            return tile_io::iota(&self.walk, start, row, at.len(), at);
        }
        for (k, at) in at.iter_mut().enumerate() {
            tile_io::iota(&self.walk, start, row + k as u64 * step, 1, std::slice::from_mut(at));
        }
    }
}

/// A fold that may be a stream: its kind, and the load and the test of a fold over tests.
pub(crate) type Known = (Fold, Option<(TileOperand, Test)>);

/// The memory that a phase reads, as rows.
struct RowMemory<'a> {
    accesses: &'a [AccessPlan],
    extents: &'a [u64],
    /// The axes from row to row.
    rows: Range<usize>,
}

impl RowMemory<'_> {
    /// The dtype in memory of a load.
    fn stored(&self, arg: TileOperand) -> Option<DType> {
        let ValueLocation::Load(access) = arg.slot else { return None };
        Some(self.accesses[access as usize].touch.dtype)
    }

    fn source(&self, arg: TileOperand, broadcast: bool) -> Option<StreamOperand> {
        let ValueLocation::Load(access) = arg.slot else { return None };
        let access = &self.accesses[access as usize];
        let Touch { operand, dtype, affine: Affine { offset, coefficients }, dynamic, .. } = &access.touch;
        let lanes = if broadcast { LanePattern::Uniform } else { LanePattern::Line(1) };
        if !dynamic.is_empty() || access.map.lanes != lanes {
            return None;
        }
        let walk = LanePattern::new(self.rows.clone().map(|a| (self.extents[a], coefficients[a])))?;
        Some(StreamOperand { operand: *operand, size: dtype.size(), offset: *offset, walk, broadcast })
    }

    /// The value of a fold and its factor.
    fn sources(
        &self,
        lane_axes: LaneAxes,
        fold: &FoldPlan,
    ) -> Option<(StreamOperand, Option<StreamOperand>)> {
        let first = fold.value?;
        let Some(factor) = fold.factor else { return Some((self.source(first, false)?, None)) };
        let (value, other) = match (self.source(first, false), self.source(factor, false)) {
            (Some(value), Some(other)) => (value, other),
            // The factors of a product may be swapped.
            (Some(value), None) if lane_axes == LaneAxes::Grid => (value, self.source(factor, true)?),
            (None, Some(value)) if lane_axes == LaneAxes::Grid => (value, self.source(first, true)?),
            _ => return None,
        };
        (other.size == value.size).then_some((value, Some(other)))
    }
}

/// The streams of a Reduce phase, if all its folds are over memory. `folds` come with the index of the first
/// one; `grid` is the number of grid axes; `index` has the first index of ArgMax or ArgMin and the step to
/// each next one.
pub(crate) fn streams(
    lane_axes: LaneAxes,
    known: &[Known],
    (first, folds): (usize, &[FoldPlan]),
    accesses: &[AccessPlan],
    (extents, grid): (&[u64], usize),
    index: Option<(i64, i64)>,
) -> Option<Vec<Stream>> {
    let index = index.filter(|_| folds.len() == 1);
    if folds.is_empty() {
        return None;
    }
    let rows = if lane_axes == LaneAxes::Inner { 0..grid } else { grid..extents.len() };
    let memory = RowMemory { accesses, extents, rows };
    let one = |(at, (fold, (kind, test))): (usize, (&FoldPlan, &Known))| {
        let (how, (value, other)) = match test {
            Some((load, test)) => {
                let loops = test_loops(*kind, memory.stored(*load)?, fold.dtype, *test)?;
                (StreamLoop::Fold(loops), (memory.source(*load, false)?, None))
            }
            None => (
                how(lane_axes, *kind, fold, memory.stored(fold.value?)?, index)?,
                memory.sources(lane_axes, fold)?,
            ),
        };
        Some(Stream { fold: first + at, how, value, other, absorbing: absorbing(*kind, fold.dtype) })
    };
    folds.iter().zip(known).enumerate().map(one).collect()
}

/// The loop of a fold over a load of dtype `stored`.
fn how(
    lane_axes: LaneAxes,
    kind: Fold,
    fold: &FoldPlan,
    stored: DType,
    index: Option<(i64, i64)>,
) -> Option<StreamLoop> {
    // The dtype may differ from the stored one if the register is the same, but a load that converts is no
    // stream.
    if (stored != stored.register() && fold.index.is_none()) || stored.size() != fold.dtype.size() {
        return None;
    }
    match (fold.index, lane_axes) {
        (None, _) => strided_loops(kind, fold.dtype, fold.factor.is_some()).map(StreamLoop::Fold),
        (Some(_), LaneAxes::Inner) => Some(StreamLoop::ArgAlong(arg_loop(kind, fold.dtype)?, index?)),
        (Some(_), LaneAxes::Grid) => None,
    }
}

/// The steps of such a phase, and those of a chunk: elements of a row, or rows of `lanes` elements.
pub(crate) fn steps(lane_axes: LaneAxes, inner_points: u64, lanes: u64) -> (u64, u64) {
    if lane_axes == LaneAxes::Inner {
        return (inner_points, ROW);
    }
    let chunks = (inner_points.saturating_mul(lanes) / AREA).clamp(1, CHUNKS);
    let chunk = inner_points.div_ceil(chunks).max(1);
    (inner_points, chunk.next_multiple_of(GROUP as u64))
}

/// Accumulators that a fold of a chunk needs.
pub(crate) fn depth(lane_axes: LaneAxes, fold: &FoldPlan, chunk: u64) -> usize {
    if lane_axes == LaneAxes::Inner { 1 } else { Cascade::depth(chunk.div_ceil(GROUP as u64), block(fold)) }
}

fn block(fold: &FoldPlan) -> u32 {
    // Where order does not matter there is one accumulator.
    if fold.kernel.block == ANY { ANY } else { BLOCK }
}

/// Estimated nanoseconds at `grid` and `inner` points.
pub(crate) fn nanoseconds(lane_axes: LaneAxes, streams: &[Stream], grid: f64, inner: f64, width: f64) -> f64 {
    let one = |stream: &Stream| {
        let bytes = stream.value.size as f64 * if stream.other.is_some() { 1.5 } else { 1.0 };
        let each =
            if lane_axes == LaneAxes::Inner { grid * 8.0 } else { (grid / width).ceil() * inner * 2.0 };
        each + grid * inner * bytes * 0.015
    };
    streams.iter().map(one).sum()
}

impl ThreadRun<'_> {
    /// Elements `first..first + n` of rows of a stream. `rows`: the first row, and the step from row to row.
    /// `at`: memory for the addresses of the rows of both operands.
    pub(super) fn operands<'a>(
        &self,
        stream: &Stream,
        (first, n): (u64, usize),
        rows: (u64, u64),
        at: [&'a mut [i64]; 2],
    ) -> FoldOperands<'a> {
        let place = |source: &StreamOperand, at: &'a mut [i64]| {
            source.place(first, rows, at);
            RowAddresses { base: self.bound.bases[source.operand].cast_const(), at }
        };
        let [at, other_at] = at;
        let value = place(&stream.value, at);
        let other = match &stream.other {
            Some(other) => place(other, other_at),
            None => value,
        };
        FoldOperands { value, other, n }
    }

    /// Folds elements `from..to` of the rows of `count` grid points from `first` on, into lanes from the
    /// start of each fold's result, or of its stack if `partial`.
    #[inline(never)]
    pub(crate) fn along_rows(
        &self,
        frame: &Frame,
        streams: &[Stream],
        (first, count): (u64, usize),
        (from, to): (u64, u64),
        partial: bool,
    ) {
        for stream in streams {
            let fold = &self.plan.folds[stream.fold];
            let (identity, size) = (fold.identity_word(), fold.dtype.register().size());
            let start = if partial { fold.stack } else { fold.out };
            let length = (to - from) as usize;
            let (mut at, mut other_at) = ([0; BATCH], [0; BATCH]);
            for batch in (0..count).step_by(BATCH) {
                let n = BATCH.min(count - batch);
                let at = [&mut at[..n], &mut other_at[..n]];
                let rows = self.operands(stream, (from, length), (first + batch as u64, 1), at);
                // SAFETY: lanes of an accumulator of this frame, which has room for a tile; a batch is whole
                // words. `bind` checked the rows against their operands' regions, and this phase writes to
                // none.
                unsafe {
                    let out = view_mut(frame.at(start + batch * size / 8), words(n, size));
                    match stream.how {
                        StreamLoop::Fold(loops) => (loops.along)(out, rows, identity, loops.test),
                        StreamLoop::ArgAlong(find, (index, step)) => {
                            let indices = view_mut(frame.at(start + fold.value_words + batch).cast(), n);
                            find(out, indices, rows.value, length, (index + from as i64 * step, step));
                        }
                    }
                }
            }
        }
    }

    /// Folds rows `from..to` of `n` grid points from `first` on, into the bottom of each fold's stack.
    #[inline(never)]
    pub(crate) fn down_rows(
        &self,
        frame: &Frame,
        streams: &[Stream],
        (first, n): (u64, usize),
        (from, to): (u64, u64),
    ) {
        for stream in streams {
            match column_reduce::together(stream, n, to - from, self.plan.grid_points) {
                Some(together) => self.narrow_rows(frame, stream, together, (first, n), (from, to)),
                None => self.wide_rows(frame, stream, (first, n), (from, to)),
            }
        }
    }

    /// The same for one fold.
    fn wide_rows(&self, frame: &Frame, stream: &Stream, (first, n): (u64, usize), (from, to): (u64, u64)) {
        // Positions are found along rows only.
        let StreamLoop::Fold(loops) = &stream.how else { return };
        let (mut down, mut size) = (loops.down, GROUP as u64);
        let mut block = block(&self.plan.folds[stream.fold]);
        if stream.other.as_ref().is_some_and(|other| other.broadcast) {
            down = loops.down_broadcast;
            // Rows with a broadcast factor go into an accumulator all at once.
            if block != ANY {
                size <<= block;
                block = 0;
            }
        }
        let (mut at, mut other_at) = ([0; BATCH], [0; BATCH]);
        self.cascade(frame, stream, (from, to), block, n, |into, fresh, row| {
            let end = to.min(row + size);
            let count = (end - row) as usize;
            let at = [&mut at[..count], &mut other_at[..count]];
            let rows = self.operands(stream, (first, n), (row, 1), at);
            // SAFETY: `bind` checked the rows against their operands' regions, and this phase writes to none.
            unsafe { down(into, fresh, rows, loops.test) };
            end
        });
    }

    /// Folds rows `from..to` into the bottom of the fold's stack. `take` folds some of them, from the given
    /// one on, into an accumulator of `n` lanes, or into an identity; it returns the row after them.
    pub(super) fn cascade(
        &self,
        frame: &Frame,
        stream: &Stream,
        (from, to): (u64, u64),
        block: u32,
        n: usize,
        mut take: impl FnMut(&mut [u64], Option<u64>, u64) -> u64,
    ) {
        let fold = &self.plan.folds[stream.fold];
        let mut cascade = Cascade::default();
        let mut row = from;
        while row < to {
            let (top, fresh) = cascade.top(block);
            // SAFETY: an accumulator of this thread's frame; nothing else refers to it while the slice lives.
            let into = unsafe { view_mut(frame.at(fold.stack + top * fold.tile_words), fold.value_words) };
            row = take(into, fresh.then(|| fold.identity_word()), row);
            // Where this may be true, order does not matter, so there is only one accumulator.
            let decided = stream.is_decided(into, n);
            let merges = cascade.pushed(block);
            self.merge(frame, fold, fold.stack, top, merges, n);
            if decided {
                break;
            }
        }
        let height = cascade.height(block).saturating_sub(1);
        self.merge(frame, fold, fold.stack, height, height, n);
    }
}
