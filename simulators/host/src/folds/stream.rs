//! Phases that only fold memory: no tiles, no registers, whole rows or groups of rows at a time.
//!
//! Where lanes are inner points, a row of memory is folded to one number, for many grid points in sequence.
//! Where lanes are grid points, an accumulator as wide as a tile takes several rows at once. Either way a row
//! is contiguous.

use super::super::affine::{Affine, Lanes};
use super::super::exec::{Frame, Run};
use super::super::plan::facts::Touch;
use super::super::plan::{Access, Arg, FoldPlan, Side, Slot};
use super::super::tile_io;
use super::argreduce::{ArgAlong, ArgDown, arg_loops};
use super::column_reduce;
use super::mapped_loops::{MappedLoops, mapped_loops};
use super::mapped_reduce::ElementMap;
use super::strided_reduce::{Down, GROUP, Rows, StridedLoops, strided_loops};
use super::tiles::{ANY, Cascade};
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;
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
    pub(crate) how: How,
    pub(crate) value: Source,
    pub(crate) other: Option<Source>,
    /// The absorbing bool: once it is the result of some elements, the others cannot change it.
    absorbing: Option<bool>,
    /// Folds the results of several rows, lane by lane.
    pub(crate) merge: Option<Down>,
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
pub(crate) enum How {
    Fold(StridedLoops),
    /// The index of its first element, and the step to each next one.
    ArgAlong(ArgAlong, (i64, i64)),
    /// Likewise, down columns.
    ArgDown(ArgDown, (i64, i64)),
    Mapped(MappedLoops),
}

/// An operand that is read.
pub(crate) struct Source {
    pub(crate) operand: usize,
    pub(crate) size: usize,
    pub(crate) offset: i64,
    /// From row to row.
    pub(crate) walk: Lanes,
    /// Each row is one number, which is broadcast.
    pub(crate) broadcast: bool,
}

impl Source {
    fn new(
        access: &Access,
        broadcast: bool,
        extents: &[u64],
        rows: std::ops::Range<usize>,
    ) -> Option<Source> {
        let Touch { operand, dtype, affine: Affine { offset, coefficients }, dynamic, .. } = &access.touch;
        let lanes = if broadcast { Lanes::Uniform } else { Lanes::Line(1) };
        if !dynamic.is_empty() || access.map.lanes != lanes {
            return None;
        }
        let walk = Lanes::new(rows.map(|a| (extents[a], coefficients[a])))?;
        Some(Source { operand: *operand, size: dtype.size(), offset: *offset, walk, broadcast })
    }

    /// The address of element `first` of a row.
    pub(crate) fn row(&self, first: u64, row: u64) -> i64 {
        let mut at = [0];
        tile_io::iota(&self.walk, self.offset + first as i64, row, 1, &mut at);
        at[0]
    }
}

/// A fold that may be a stream: its kind, and the map and its load unless it folds a load itself.
pub(crate) type Known = (Fold, Option<(Arg, ElementMap)>);

/// The streams of a Reduce phase, if all its folds are over memory. `folds` come with the index of the first
/// one; `grid` is the number of grid axes.
pub(crate) fn streams(
    side: Side,
    known: &[Known],
    (first, folds): (usize, &[FoldPlan]),
    accesses: &[Access],
    (extents, grid): (&[u64], usize),
    index: Option<(i64, i64)>,
) -> Option<Vec<Stream>> {
    let found = index.filter(|_| folds.len() == 1);
    if folds.is_empty() {
        return None;
    }
    let rows = if side == Side::Inner { 0..grid } else { grid..extents.len() };
    let source = |arg: Arg, broadcast: bool| match arg.slot {
        Slot::Load(access) => Source::new(&accesses[access as usize], broadcast, extents, rows.clone()),
        _ => None,
    };
    let one = |(at, (fold, (kind, element_map))): (usize, (&FoldPlan, &Known))| {
        let absorbing = absorbing(*kind, fold.dtype);
        let merge = strided_loops(*kind, fold.dtype.register(), false).map(|loops| loops.down);
        let first = first + at;
        if let Some((load, element_map)) = element_map {
            let Slot::Load(access) = load.slot else { return None };
            let stored = accesses[access as usize].touch.dtype;
            let how = mapped_loops(*element_map, *kind, stored, fold.dtype)?;
            // Wider sums down columns go through tiles.
            let how = How::Mapped(Some(how).filter(|how| side == Side::Inner || how.goes_down())?);
            return Some(Stream {
                fold: first,
                how,
                value: source(*load, false)?,
                other: None,
                absorbing,
                merge,
            });
        }
        let Slot::Load(access) = fold.value.slot else { return None };
        // The dtype may differ from the stored one if the register is the same, but a load that converts is
        // no stream.
        let stored = accesses[access as usize].touch.dtype;
        if (stored != stored.register() && fold.index.is_none()) || stored.size() != fold.dtype.size() {
            return None;
        }
        if fold.index.is_some() {
            let (along, down) = arg_loops(*kind, fold.dtype)?;
            let how = match side {
                Side::Inner => How::ArgAlong(along, found?),
                Side::Grid => How::ArgDown(down?, found?),
            };
            return Some(Stream {
                fold: first,
                how,
                value: source(fold.value, false)?,
                other: None,
                absorbing,
                // Values and indices are merged elsewhere.
                merge: None,
            });
        }
        let how = How::Fold(strided_loops(*kind, fold.dtype, fold.factor.is_some())?);
        let (value, other) = match fold.factor {
            None => (source(fold.value, false)?, None),
            Some(factor) => match (source(fold.value, false), source(factor, false)) {
                (Some(value), Some(other)) => (value, Some(other)),
                // The factors of a product may be swapped.
                (Some(value), None) if side == Side::Grid => (value, Some(source(factor, true)?)),
                (None, Some(value)) if side == Side::Grid => (value, Some(source(fold.value, true)?)),
                _ => return None,
            },
        };
        let same = other.as_ref().is_none_or(|o| o.size == value.size);
        same.then_some(Stream { fold: first, how, value, other, absorbing, merge })
    };
    folds.iter().zip(known).enumerate().map(one).collect()
}

/// The steps of such a phase, and those of a chunk: elements of a row, or rows of `lanes` elements.
pub(crate) fn steps(side: Side, inner_points: u64, lanes: u64) -> (u64, u64) {
    if side == Side::Inner {
        return (inner_points, ROW);
    }
    let chunks = (inner_points.saturating_mul(lanes) / AREA).clamp(1, CHUNKS);
    let chunk = inner_points.div_ceil(chunks).max(1);
    (inner_points, chunk.next_multiple_of(GROUP as u64))
}

/// Accumulators that a fold of a chunk needs.
pub(crate) fn depth(side: Side, fold: &FoldPlan, chunk: u64) -> usize {
    if side == Side::Inner { 1 } else { Cascade::depth(chunk.div_ceil(GROUP as u64), block(fold)) }
}

fn block(fold: &FoldPlan) -> u32 {
    // Where order does not matter there is one accumulator.
    if fold.kernel.block == ANY { ANY } else { BLOCK }
}

/// Estimated nanoseconds at `grid` and `inner` points.
pub(crate) fn nanoseconds(side: Side, streams: &[Stream], grid: f64, inner: f64, width: f64) -> f64 {
    let one = |stream: &Stream| {
        let bytes = stream.value.size as f64 * if stream.other.is_some() { 1.5 } else { 1.0 };
        let bytes = bytes + if matches!(stream.how, How::ArgDown(..)) { 8.0 } else { 0.0 };
        let each = if side == Side::Inner { grid * 8.0 } else { (grid / width).ceil() * inner * 2.0 };
        each + grid * inner * bytes * 0.015
    };
    streams.iter().map(one).sum()
}

impl Run<'_> {
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
            let identity = fold.identity_word();
            let (mut at, mut other_at) = ([0i64; BATCH], [0i64; BATCH]);
            for batch in (0..count).step_by(BATCH) {
                let n = BATCH.min(count - batch);
                let rows = |source: &Source, at: &mut [i64]| {
                    tile_io::iota(&source.walk, source.offset + from as i64, first + batch as u64, n, at);
                    self.bound.bases[source.operand].cast_const()
                };
                let value = rows(&stream.value, &mut at);
                let other = stream.other.as_ref().map_or(value, |o| rows(o, &mut other_at));
                let start = if partial { fold.stack } else { fold.out };
                let words = (n * fold.dtype.register().size()).div_ceil(8);
                // SAFETY: lanes of an accumulator of this frame, which has room for a tile; a batch is whole
                // words. `bind` checked the rows against their operands' regions, and this phase writes to
                // none.
                unsafe {
                    let word = start + batch * fold.dtype.register().size() / 8;
                    let out = std::slice::from_raw_parts_mut(frame.base().wrapping_add(word), words);
                    let rows = (Rows { base: value, at: &at[..n] }, Rows { base: other, at: &other_at[..n] });
                    let length = (to - from) as usize;
                    match stream.how {
                        How::Fold(loops) => (loops.along)(out, rows.0, rows.1, length, identity),
                        How::Mapped(mapped) => mapped.along(out, rows.0, length, identity),
                        How::ArgAlong(find, (index, step)) => {
                            let indices = frame.base().wrapping_add(start + fold.value_words + batch).cast();
                            let indices = std::slice::from_raw_parts_mut(indices, n);
                            find(out, indices, rows.0, length, index + from as i64 * step, step);
                        }
                        // Its rows are folded by `first_down`.
                        How::ArgDown(..) => (),
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
            let fold = &self.plan.folds[stream.fold];
            let block = block(fold);
            if let How::ArgDown(down, (index, step)) = &stream.how {
                let at = (index + from as i64 * step, *step);
                self.first_down(frame, stream, *down, (first, n), (from, to), at);
                continue;
            }
            if let Some(together) = column_reduce::together(stream, n, to - from, self.plan.grid_points) {
                self.narrow_rows(frame, stream, together, (first, n), (from, to));
                continue;
            }
            let mut groups = Cascade::default();
            // Rows with a broadcast factor go into an accumulator all at once.
            let (mut size, mut block) = (GROUP, block);
            if stream.other.as_ref().is_some_and(|other| other.broadcast) && block != ANY {
                size = GROUP << block;
                block = 0;
            }
            let (mut at, mut other_at) = ([0i64; BATCH], [0i64; BATCH]);
            for group in (from..to).step_by(size) {
                let count = (to - group).min(size as u64) as usize;
                let rows = |source: &Source, at: &mut [i64]| {
                    let start = if source.broadcast { 0 } else { first as i64 };
                    tile_io::iota(&source.walk, source.offset + start, group, count, at);
                    self.bound.bases[source.operand].cast_const()
                };
                let value = rows(&stream.value, &mut at);
                let other = stream.other.as_ref().map_or(value, |o| rows(o, &mut other_at));
                let (top, fresh) = groups.top(block);
                let word = fold.stack + top * fold.tile_words;
                // SAFETY: an accumulator of this frame. `bind` checked the rows against their operands'
                // regions, and this phase writes to none.
                unsafe {
                    let into =
                        std::slice::from_raw_parts_mut(frame.base().wrapping_add(word), fold.value_words);
                    let value = Rows { base: value, at: &at[..count] };
                    let other = Rows { base: other, at: &other_at[..count] };
                    let fresh = fresh.then(|| fold.identity_word());
                    match (&stream.how, &stream.other) {
                        (How::Fold(loops), Some(other_is)) if other_is.broadcast => {
                            (loops.down_broadcast)(into, fresh, value, other, n);
                        }
                        (How::Fold(loops), _) => (loops.down)(into, fresh, value, other, n),
                        (How::Mapped(mapped), _) => mapped.down(into, fresh, value, n),
                        // Along rows only, or already done.
                        (How::ArgAlong(..) | How::ArgDown(..), _) => (),
                    }
                }
                let merges = groups.pushed(block);
                self.merge(frame, fold, fold.stack, top, merges, n);
                // SAFETY: an accumulator of this thread's frame, which nothing writes while the slice lives.
                // Where order does not matter there is only one.
                let found =
                    unsafe { std::slice::from_raw_parts(frame.base().wrapping_add(word), fold.value_words) };
                if stream.is_decided(found, n) {
                    break;
                }
            }
            let height = groups.height(block).saturating_sub(1);
            self.merge(frame, fold, fold.stack, height, height, n);
        }
    }

    /// Finds extremes lane by lane in rows `from..to` of `n` grid points from `first` on, into the bottom of
    /// the fold's stack. `at`: the index of the first row, and the step to each next one.
    fn first_down(
        &self,
        frame: &Frame,
        stream: &Stream,
        down: ArgDown,
        (first, n): (u64, usize),
        (from, to): (u64, u64),
        (index, step): (i64, i64),
    ) {
        let fold = &self.plan.folds[stream.fold];
        let mut at = [0i64; BATCH];
        let mut done = from;
        if let Some(together) = column_reduce::together(stream, n, to - from, self.plan.grid_points) {
            let word = frame.base().wrapping_add(fold.stack);
            // SAFETY: an accumulator of this frame; the indices follow the values.
            let found = unsafe {
                let indices = word.wrapping_add(fold.value_words).cast::<i64>();
                (
                    std::slice::from_raw_parts_mut(word, fold.value_words),
                    std::slice::from_raw_parts_mut(indices, n),
                )
            };
            let how = (down, together);
            done = self.narrow_first(found, stream, how, (first, n), (from, to), (index, step));
        }
        for batch in (done..to).step_by(BATCH) {
            let count = (to - batch).min(BATCH as u64) as usize;
            let source = &stream.value;
            tile_io::iota(&source.walk, source.offset + first as i64, batch, count, &mut at);
            let base = self.bound.bases[source.operand].cast_const();
            // SAFETY: an accumulator of this frame; the indices follow the values. `bind` checked the rows
            // against their operands' regions, and this phase writes to none.
            unsafe {
                let word = frame.base().wrapping_add(fold.stack);
                let values = std::slice::from_raw_parts_mut(word, fold.value_words);
                let indices =
                    std::slice::from_raw_parts_mut(word.wrapping_add(fold.value_words).cast::<i64>(), n);
                let index = index + (batch - from) as i64 * step;
                down(values, indices, Rows { base, at: &at[..count] }, n, (index, step), batch == from);
            }
        }
    }
}
