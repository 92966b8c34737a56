//! Phases that do nothing but fold what they read in place: no tiles, no registers, whole rows or groups of
//! rows at a time.
//!
//! Where lanes are inner points, a row of memory becomes one number, for many grid points one after the
//! other. Where they are grid points, an accumulator as wide as a tile takes several rows at once. Either way
//! a row is contiguous.

use super::super::affine::{Affine, Lanes};
use super::super::exec::{Frame, Run};
use super::super::plan::facts::Touch;
use super::super::plan::{Access, Arg, FoldPlan, Side, Slot};
use super::super::tile_io;
use super::argreduce::{First, FirstDown, first_of};
use super::column_reduce;
use super::mapped_loops::{Seen, seen};
use super::mapped_reduce::Sight;
use super::strided_reduce::{Down, GROUP, Rows, Sweep, sweep_of};
use super::tiles::{ANY, Cascade};
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::lanes;

/// The logarithm of how many groups of rows are folded one after the other before the tree takes over: with
/// more, sums of few rows would not keep their bound.
const BLOCK: u32 = 1;
/// Elements of a row that one chunk folds.
const ROW: u64 = 1 << 16;
/// A chunk of many rows has about this many elements, unless there were more than [`CHUNKS`] then.
const AREA: u64 = 1 << 15;
const CHUNKS: u64 = 16;
/// Rows whose addresses are worked out at once.
pub(crate) const BATCH: usize = 64;

/// One fold of such a phase.
pub(crate) struct Stream {
    /// The position of its plan.
    pub(crate) fold: usize,
    pub(crate) how: How,
    pub(crate) value: Source,
    pub(crate) other: Option<Source>,
    /// The bool that all elements come to if some do.
    settles: Option<bool>,
    /// What folds the results of several rows, lane by lane.
    pub(crate) merge: Option<Down>,
}

impl Stream {
    /// Whether a few elements may settle what all come to, and often do.
    pub(crate) fn may_settle(&self) -> bool {
        self.settles.is_some()
    }

    /// Whether no other elements can change what some came to: the first `n` lanes of `found`.
    pub(crate) fn settled(&self, found: &[u64], n: usize) -> bool {
        self.settles.is_some_and(|value| {
            lanes::<u8>(found)[..n].iter().fold(true, |all, x| all & (u8::from(value) == *x))
        })
    }
}

/// See [`Stream::settles`].
fn settles(kind: Fold, dtype: DType) -> Option<bool> {
    let greatest = matches!(kind, Fold::Sum | Fold::Max | Fold::ArgMax);
    (dtype == DType::Bool).then_some(greatest)
}

/// What is done with each row.
pub(crate) enum How {
    Fold(Sweep),
    /// The index of its first element, and the step from each to the next.
    First(First, (i64, i64)),
    /// Likewise, of rows one after the other.
    FirstDown(FirstDown, (i64, i64)),
    Seen(Seen),
}

/// What is read.
pub(crate) struct Source {
    pub(crate) operand: usize,
    pub(crate) size: usize,
    pub(crate) offset: i64,
    /// From row to row.
    pub(crate) walk: Lanes,
    /// A row is one number.
    pub(crate) spread: bool,
}

impl Source {
    fn new(access: &Access, spread: bool, extents: &[u64], rows: std::ops::Range<usize>) -> Option<Source> {
        let Touch { operand, dtype, affine: Affine { offset, coefficients }, dynamic, .. } = &access.touch;
        let lanes = if spread { Lanes::Uniform } else { Lanes::Line(1) };
        if !dynamic.is_empty() || access.map.lanes != lanes {
            return None;
        }
        let walk = Lanes::new(rows.map(|a| (extents[a], coefficients[a])))?;
        Some(Source { operand: *operand, size: dtype.size(), offset: *offset, walk, spread })
    }

    /// Where the elements from lane `first` on of a row are.
    pub(crate) fn row(&self, first: u64, row: u64) -> i64 {
        let mut at = [0];
        tile_io::iota(&self.walk, self.offset + first as i64, row, 1, &mut at);
        at[0]
    }
}

/// What is known of a fold that is to be a stream: its kind, and what it makes of a load if it does not fold
/// that itself.
pub(crate) type Known = (Fold, Option<(Arg, Sight)>);

/// The folds of a Reduce phase, if each only folds what lies in memory, or what it sees there. `folds` come
/// with the position of the first one; `grid` is the number of grid axes.
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
    let source = |arg: Arg, spread: bool| match arg.slot {
        Slot::Load(access) => Source::new(&accesses[access as usize], spread, extents, rows.clone()),
        _ => None,
    };
    let one = |(at, (fold, (kind, sight))): (usize, (&FoldPlan, &Known))| {
        let settles = settles(*kind, fold.dtype);
        let merge = sweep_of(*kind, fold.dtype.register(), false).map(|sweep| sweep.down);
        let first = first + at;
        if let Some((load, sight)) = sight {
            let Slot::Load(access) = load.slot else { return None };
            let stored = accesses[access as usize].touch.dtype;
            let how = seen(*sight, *kind, stored, fold.dtype)?;
            // Wider sums of rows beside each other go through tiles.
            let how = How::Seen(Some(how).filter(|how| side == Side::Inner || how.goes_down())?);
            return Some(Stream {
                fold: first,
                how,
                value: source(*load, false)?,
                other: None,
                settles,
                merge,
            });
        }
        let Slot::Load(access) = fold.value.slot else { return None };
        // The value's dtype may be another of the same register, but not what is converted as it is loaded.
        let stored = accesses[access as usize].touch.dtype;
        if (stored != stored.register() && fold.index.is_none()) || stored.size() != fold.dtype.size() {
            return None;
        }
        if fold.index.is_some() {
            let (along, down) = first_of(*kind, fold.dtype)?;
            let how = match side {
                Side::Inner => How::First(along, found?),
                Side::Grid => How::FirstDown(down?, found?),
            };
            return Some(Stream {
                fold: first,
                how,
                value: source(fold.value, false)?,
                other: None,
                settles,
                // Values and indices meet otherwise.
                merge: None,
            });
        }
        let how = How::Fold(sweep_of(*kind, fold.dtype, fold.factor.is_some())?);
        let (value, other) = match fold.factor {
            None => (source(fold.value, false)?, None),
            Some(factor) => match (source(fold.value, false), source(factor, false)) {
                (Some(value), Some(other)) => (value, Some(other)),
                // A product's factors may change places.
                (Some(value), None) if side == Side::Grid => (value, Some(source(factor, true)?)),
                (None, Some(value)) if side == Side::Grid => (value, Some(source(fold.value, true)?)),
                _ => return None,
            },
        };
        let same = other.as_ref().is_none_or(|o| o.size == value.size);
        same.then_some(Stream { fold: first, how, value, other, settles, merge })
    };
    folds.iter().zip(known).enumerate().map(one).collect()
}

/// Steps of such a phase, and how many are a chunk: elements of a row, or rows of `lanes` elements.
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
    // Where order cannot matter, it does not here.
    if fold.kernel.block == ANY { ANY } else { BLOCK }
}

/// Rough nanoseconds at `grid` and `inner` points.
pub(crate) fn nanoseconds(side: Side, streams: &[Stream], grid: f64, inner: f64, width: f64) -> f64 {
    let one = |stream: &Stream| {
        let bytes = stream.value.size as f64 * if stream.other.is_some() { 1.5 } else { 1.0 };
        let bytes = bytes + if matches!(stream.how, How::FirstDown(..)) { 8.0 } else { 0.0 };
        let each = if side == Side::Inner { grid * 8.0 } else { (grid / width).ceil() * inner * 2.0 };
        each + grid * inner * bytes * 0.015
    };
    streams.iter().map(one).sum()
}

impl Run<'_> {
    /// Folds elements `from..to` of the rows of `count` grid points from `first` on. Results are lanes from
    /// the start of each fold's result, or of its stack if `partial`.
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
                // words. The rows were checked against their operands' regions, and this phase writes to
                // none.
                unsafe {
                    let word = start + batch * fold.dtype.register().size() / 8;
                    let out = std::slice::from_raw_parts_mut(frame.base().wrapping_add(word), words);
                    let rows = (Rows { base: value, at: &at[..n] }, Rows { base: other, at: &other_at[..n] });
                    let length = (to - from) as usize;
                    match stream.how {
                        How::Fold(sweep) => (sweep.along)(out, rows.0, rows.1, length, identity),
                        How::Seen(seen) => seen.along(out, rows.0, length, identity),
                        How::First(find, (index, step)) => {
                            let indices = frame.base().wrapping_add(start + fold.value_words + batch).cast();
                            let indices = std::slice::from_raw_parts_mut(indices, n);
                            find(out, indices, rows.0, length, index + from as i64 * step, step);
                        }
                        // Its rows are taken one after the other.
                        How::FirstDown(..) => (),
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
            if let How::FirstDown(down, (index, step)) = &stream.how {
                let at = (index + from as i64 * step, *step);
                self.first_down(frame, stream, *down, (first, n), (from, to), at);
                continue;
            }
            if let Some(together) = column_reduce::together(stream, n, to - from, self.plan.grid_points) {
                self.narrow_rows(frame, stream, together, (first, n), (from, to));
                continue;
            }
            let mut groups = Cascade::default();
            // Of rows that each have their own factor an accumulator takes all at once.
            let (mut size, mut block) = (GROUP, block);
            if stream.other.as_ref().is_some_and(|other| other.spread) && block != ANY {
                size = GROUP << block;
                block = 0;
            }
            let (mut at, mut other_at) = ([0i64; BATCH], [0i64; BATCH]);
            for group in (from..to).step_by(size) {
                let count = (to - group).min(size as u64) as usize;
                let rows = |source: &Source, at: &mut [i64]| {
                    let start = if source.spread { 0 } else { first as i64 };
                    tile_io::iota(&source.walk, source.offset + start, group, count, at);
                    self.bound.bases[source.operand].cast_const()
                };
                let value = rows(&stream.value, &mut at);
                let other = stream.other.as_ref().map_or(value, |o| rows(o, &mut other_at));
                let (top, fresh) = groups.top(block);
                let word = fold.stack + top * fold.tile_words;
                // SAFETY: an accumulator of this frame. The rows were checked against their operands'
                // regions, and this phase writes to none.
                unsafe {
                    let into =
                        std::slice::from_raw_parts_mut(frame.base().wrapping_add(word), fold.value_words);
                    let value = Rows { base: value, at: &at[..count] };
                    let other = Rows { base: other, at: &other_at[..count] };
                    let fresh = fresh.then(|| fold.identity_word());
                    match (&stream.how, &stream.other) {
                        (How::Fold(sweep), Some(other_is)) if other_is.spread => {
                            (sweep.down_spread)(into, fresh, value, other, n);
                        }
                        (How::Fold(sweep), _) => (sweep.down)(into, fresh, value, other, n),
                        (How::Seen(seen), _) => seen.down(into, fresh, value, n),
                        // Along rows only, or done.
                        (How::First(..) | How::FirstDown(..), _) => (),
                    }
                }
                let merges = groups.pushed(block);
                self.merge(frame, fold, fold.stack, top, merges, n);
                // SAFETY: an accumulator of this thread's frame, which nothing writes while the slice lives.
                // Where order cannot matter there is but one accumulator.
                let found =
                    unsafe { std::slice::from_raw_parts(frame.base().wrapping_add(word), fold.value_words) };
                if stream.settled(found, n) {
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
        down: FirstDown,
        (first, n): (u64, usize),
        (from, to): (u64, u64),
        (index, step): (i64, i64),
    ) {
        let fold = &self.plan.folds[stream.fold];
        let mut at = [0i64; BATCH];
        let mut done = from;
        if let Some(together) = column_reduce::together(stream, n, to - from, self.plan.grid_points) {
            let word = frame.base().wrapping_add(fold.stack);
            // SAFETY: an accumulator of this frame, value and index behind each other.
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
            // SAFETY: an accumulator of this frame, value and index behind each other. The rows were checked
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
