//! Folds of tiles: lane by lane, then over the lanes of one tile, in an order that depends on nothing but the
//! Nest.
//!
//! A tile is folded as a row in memory is, by the loops of [`strided_reduce`](super::strided_reduce); only
//! ArgMax and ArgMin have their own. Floats are folded in short blocks whose results are folded in a binary
//! tree ([`Cascade`]), so that the error of a sum grows with the logarithm of its length.

use super::super::tile_io::fill;
use super::strided_reduce::{FoldOperands, RowAddresses, StridedLoops, strided_loops};
use bytemuck::{AnyBitPattern, NoUninit};
use workalike_kernels::DType;
use workalike_kernels::level::{SimdLoop, run};
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::{lanes, lanes_mut};

/// Folds `n` lanes of `value` with indices into those of `into`.
type VerticalIndex = fn(into: &mut [u64], into_index: &mut [u64], value: &[u8], index: &[u8], n: usize);

/// Folds the first `n >= 1` lanes with indices into the first one.
type HorizontalIndex = fn(lanes: &mut [u64], index: &mut [u64], n: usize);

/// The fold of tiles.
#[derive(Clone, Copy)]
pub(crate) struct TileFold {
    loops: Loops,
    /// Bytes of a lane.
    size: usize,
    /// The logarithm of the number of tiles that are folded in sequence before the tree takes over; [`ANY`]
    /// where order does not matter.
    pub(crate) block: u32,
}

#[derive(Clone, Copy)]
enum Loops {
    /// `merge` folds accumulators, `take` folds elements.
    Numbers {
        take: StridedLoops,
        merge: StridedLoops,
        identity: u64,
    },
    WithIndex(VerticalIndex, HorizontalIndex),
}

/// A tile as a row in memory.
fn row(lanes: &[u8]) -> RowAddresses<'_> {
    RowAddresses { base: lanes.as_ptr(), at: &[0] }
}

impl TileFold {
    /// The fold of values of `dtype`, or of products of two if `dot`.
    fn new(fold: Fold, dtype: DType, dot: bool) -> Option<TileFold> {
        let register = dtype.register();
        let mut identity = [0];
        fill(&mut identity, fold.identity(register), 1);
        let loops = match strided_loops(fold, register, false) {
            Some(merge) => {
                let take = if dot { strided_loops(fold, register, true)? } else { merge };
                Loops::Numbers { take, merge, identity: identity[0] }
            }
            None => index_loops(fold, register)?,
        };
        let ordered = dtype.is_float() && matches!(fold, Fold::Sum | Fold::Product);
        Some(TileFold { loops, size: register.size(), block: if ordered { BLOCK } else { ANY } })
    }

    /// Folds `n` lanes of `value` into those of `into`. `other` holds the indices for ArgMax and ArgMin,
    /// which are folded into `into_index`; or the second factor of a product; or nothing.
    pub(crate) fn vertical(
        &self,
        into: &mut [u64],
        into_index: &mut [u64],
        value: &[u8],
        other: &[u8],
        n: usize,
    ) {
        match &self.loops {
            Loops::Numbers { take, .. } => self.down(take, into, value, other, n),
            Loops::WithIndex(vertical, _) => vertical(into, into_index, value, other, n),
        }
    }

    /// Folds `n` lanes of an accumulator, and their indices, into another one.
    pub(crate) fn merge(
        &self,
        into: &mut [u64],
        into_index: &mut [u64],
        from: &[u8],
        index: &[u8],
        n: usize,
    ) {
        match &self.loops {
            Loops::Numbers { merge, .. } => self.down(merge, into, from, &[], n),
            Loops::WithIndex(vertical, _) => vertical(into, into_index, from, index, n),
        }
    }

    fn down(&self, loops: &StridedLoops, into: &mut [u64], value: &[u8], other: &[u8], n: usize) {
        let from = FoldOperands { value: row(&value[..n * self.size]), other: row(other), n };
        // SAFETY: `value` has `n` lanes, aligned as all tiles are; so has `other`, if it is read.
        unsafe { (loops.down)(into, None, from, loops.test) };
    }

    /// Whether tiles are folded to one lane by [`TileFold::across`].
    pub(crate) fn folds_to_one_lane(&self) -> bool {
        matches!(self.loops, Loops::Numbers { .. })
    }

    /// Folds the first `n` lanes of `value`, or of its products with those of `other`, into the first of
    /// `into`.
    pub(crate) fn across(&self, into: &mut [u64], value: &[u8], other: &[u8], n: usize) {
        let Loops::Numbers { take, merge, identity } = &self.loops else { return };
        let from = FoldOperands { value: row(&value[..n * self.size]), other: row(other), n };
        let mut one = [0];
        // SAFETY: `value` has `n` lanes, aligned as all tiles are; so has `other`, if it is read.
        unsafe { (take.along)(&mut one, from, *identity, take.test) };
        self.down(merge, into, bytemuck::bytes_of(&one), &[], 1);
    }

    /// Folds the first `n >= 1` lanes and their indices into the first one.
    pub(crate) fn horizontal(&self, lanes: &mut [u64], index: &mut [u64], n: usize) {
        if let Loops::WithIndex(_, horizontal) = self.loops {
            horizontal(lanes, index, n);
        }
    }

    /// The loops that fold accumulators, unless they have indices.
    pub(crate) fn merge_loops(&self) -> Option<&StridedLoops> {
        match &self.loops {
            Loops::Numbers { merge, .. } => Some(merge),
            Loops::WithIndex(..) => None,
        }
    }
}

/// Eight tiles of floats are folded in sequence: rounding errors accumulate linearly, so few.
const BLOCK: u32 = 3;
/// More than the logarithm of any number of tiles.
pub(crate) const ANY: u32 = 63;

/// Whether `(a, i)` precedes `(b, j)`: NaN first, then the greater (`MAX`) or the lesser, then the lower
/// index.
#[inline(always)]
#[allow(clippy::eq_op)] // A generic test for NaN.
fn beats<T: PartialOrd + Copy, const MAX: bool>(a: T, i: i64, b: T, j: i64) -> bool {
    let (a_nan, b_nan) = (a != a, b != b);
    let ahead = if MAX { a > b } else { a < b };
    ahead | (a_nan & !b_nan) | (((a == b) | (a_nan & b_nan)) & (i < j))
}

struct ArgFoldLoop<'a, T, const MAX: bool> {
    into: &'a mut [T],
    into_index: &'a mut [i64],
    value: &'a [T],
    index: &'a [i64],
}

impl<T: Copy + PartialOrd, const MAX: bool> SimdLoop for ArgFoldLoop<'_, T, MAX> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let ArgFoldLoop { into, into_index, value, index } = self;
        let n = into.len();
        let (into_index, value, index) = (&mut into_index[..n], &value[..n], &index[..n]);
        for k in 0..n {
            let wins = beats::<T, MAX>(value[k], index[k], into[k], into_index[k]);
            into[k] = if wins { value[k] } else { into[k] };
            into_index[k] = if wins { index[k] } else { into_index[k] };
        }
    }
}

fn vertical_index<T: AnyBitPattern + NoUninit + PartialOrd, const MAX: bool>(
    into: &mut [u64],
    into_index: &mut [u64],
    value: &[u8],
    index: &[u8],
    n: usize,
) {
    run(ArgFoldLoop::<T, MAX> {
        into: &mut lanes_mut::<T>(into)[..n],
        into_index: lanes_mut::<i64>(into_index),
        value: lanes::<T>(value),
        index: lanes::<i64>(index),
    });
}

fn horizontal_index<T: AnyBitPattern + NoUninit + PartialOrd, const MAX: bool>(
    words: &mut [u64],
    index: &mut [u64],
    n: usize,
) {
    let (mut all, mut index) = (&mut lanes_mut::<T>(words)[..n], &mut lanes_mut::<i64>(index)[..n]);
    while all.len() > 1 {
        let half = all.len().div_ceil(2);
        let ((into, value), (into_index, from)) = (all.split_at_mut(half), index.split_at_mut(half));
        let into_part = &mut into[..value.len()];
        run(ArgFoldLoop::<T, MAX> { into: into_part, into_index, value, index: from });
        (all, index) = (into, into_index);
    }
}

/// The loops of ArgMax and ArgMin.
fn index_loops(fold: Fold, dtype: DType) -> Option<Loops> {
    fn of<T: AnyBitPattern + NoUninit + PartialOrd>(fold: Fold) -> Option<Loops> {
        match fold {
            Fold::ArgMax => Some(Loops::WithIndex(vertical_index::<T, true>, horizontal_index::<T, true>)),
            Fold::ArgMin => Some(Loops::WithIndex(vertical_index::<T, false>, horizontal_index::<T, false>)),
            _ => None,
        }
    }
    match dtype {
        DType::Bool => of::<u8>(fold),
        number => with_number!(number, T => of::<T>(fold), else None),
    }
}

/// The fold of a sum of products of two values of `dtype`; none for bools.
pub(crate) fn dot(dtype: DType) -> Option<TileFold> {
    TileFold::new(Fold::Sum, dtype, true)
}

/// The fold of values of `dtype`.
pub(crate) fn kernel(fold: Fold, dtype: DType) -> Option<TileFold> {
    TileFold::new(fold, dtype, false)
}

/// The order of a long fold: a stack of accumulators, one per level of a binary tree over blocks of tiles.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cascade {
    /// Tiles folded so far.
    count: u64,
}

impl Cascade {
    /// After `count` tiles.
    pub(crate) fn after(count: u64) -> Cascade {
        Cascade { count }
    }

    /// The stack depth that `tiles` tiles need, in blocks of `1 << block`.
    pub(crate) fn depth(tiles: u64, block: u32) -> usize {
        (u64::BITS - (tiles >> block).leading_zeros()) as usize + 2
    }

    fn starts_block(&self, block: u32) -> bool {
        self.count & ((1 << block) - 1) == 0
    }

    /// The stack position for the next tile, and whether it has to start from the identity.
    pub(crate) fn top(&self, block: u32) -> (usize, bool) {
        ((self.count >> block).count_ones() as usize, self.starts_block(block))
    }

    /// Counts a tile; returns how many times the top of the stack is now to be folded into the one below.
    pub(crate) fn pushed(&mut self, block: u32) -> usize {
        self.count += 1;
        if self.starts_block(block) { (self.count >> block).trailing_zeros() as usize } else { 0 }
    }

    /// The accumulators on the stack; at the end all are folded downwards.
    pub(crate) fn height(&self, block: u32) -> usize {
        (self.count >> block).count_ones() as usize + usize::from(!self.starts_block(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cascade_folds_everything_once_within_its_depth() {
        for block in [0, 1, 3, ANY] {
            for tiles in 0..200u64 {
                let mut cascade = Cascade::default();
                let mut stack = vec![0u64; Cascade::depth(tiles, block)];
                for t in 0..tiles {
                    let (top, fresh) = cascade.top(block);
                    stack[top] = t + 1 + if fresh { 0 } else { stack[top] };
                    let merges = cascade.pushed(block);
                    for m in 0..merges {
                        stack[top - m - 1] += stack[top - m];
                    }
                }
                let height = cascade.height(block);
                assert_eq!(stack[..height].iter().sum::<u64>(), tiles * (tiles + 1) / 2);
            }
        }
    }

    #[test]
    fn across_folds_every_lane() {
        for n in 1..40usize {
            let words: Vec<u64> = (1..=n as u64).collect();
            let mut sum = [0u64];
            kernel(Fold::Sum, DType::U64).unwrap().across(&mut sum, bytemuck::cast_slice(&words), &[], n);
            assert_eq!(sum[0], (n * (n + 1) / 2) as u64);
        }
    }
}
