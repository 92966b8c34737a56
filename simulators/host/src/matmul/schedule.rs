//! Schedules: the loops, block sizes and division of a product. They depend on the shape, the layout, the
//! processor and the number of threads; the order of summation of an element does not depend on the latter.

use super::kernels::{DOTS, VECTORS};
use std::ops::Range;

/// A product of matrices, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatmulShape {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    /// Strides of the left factor along rows and k.
    pub(super) a: [isize; 2],
    /// Strides of the right factor along k and columns.
    pub(super) b: [isize; 2],
}

/// Parameters of the kernels.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelShape {
    /// Bytes of an element.
    pub(super) size: usize,
    /// Elements in a vector.
    pub(super) lanes: usize,
    /// Most rows of a tile.
    pub(super) rows: usize,
}

/// The loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MatmulLoops {
    /// Tiles that read the right factor in place: it is used a few times only.
    #[default]
    Direct,
    /// Tiles that read a packed copy of a block of the right factor.
    Packed,
    /// Vectors along k. Factors that are not contiguous along k are copied first.
    Dots { copy_a: bool, copy_b: bool },
}

/// How a product is computed; the default is for empty products.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MatmulSchedule {
    pub(super) way: MatmulLoops,
    /// Extent of a block of k.
    pub(super) k_block: usize,
    /// Vectors of columns of a block.
    pub(super) n_block: usize,
    /// The number of ranges of rows and of columns into which the result is divided.
    pub(super) parts: [usize; 2],
    /// The columns of a range are a multiple of this.
    pub(super) unit: usize,
    /// Elements of scratch that a part needs.
    pub(super) scratch: usize,
    /// The last of these, for a block of a result that is not stored.
    pub(super) block: usize,
    /// Elements of an unstored result that are passed on at a time.
    pub(super) handed: usize,
}

/// The longest block of k: a tile's rows of the left factor stay in the L1 cache.
pub(super) const K_BLOCK: usize = 384;
/// Bytes of a block of the right factor: it stays in the L2 cache.
const BLOCK_BYTES: usize = 384 << 10;
/// Tiles of rows from which the right factor is packed.
const PACKED_FROM: usize = 6;
/// Bytes of a right factor that is never packed, and of a cache line.
const FIRST_BYTES: usize = 32 << 10;
const LINE: usize = 64;
/// The most rows or columns of a result that is computed by dot products.
const DOTS_MOST: usize = 32;
/// The most elements of packed copies for dot products.
const DOTS_COPY: usize = 1 << 16;
/// Costs, as multiples of a vector multiply-add: transposing an element, summing the lanes of a vector,
/// packing a vector.
const TRANSPOSE: f64 = 0.4;
const ACROSS: f64 = 8.0;
const PACK: usize = 4;
/// Bytes of the result that are passed to an epilogue at a time: they are still in the L2 cache. Fewer would
/// be in the L1 cache, but alternating between tiles and an epilogue costs more than that saves.
const HANDED: usize = 128 << 10;
/// Multiplications per part from which a thread has several parts, and the most parts per thread.
const PART: u128 = 1 << 22;
const MOST_PARTS: u128 = 4;

/// Piece `i` of `count` pieces of 0..extent, as even as possible.
pub(super) fn piece(extent: usize, count: usize, i: usize) -> Range<usize> {
    let at = |i: usize| i * (extent / count) + i.min(extent % count);
    at(i)..at(i + 1)
}

/// All `count` pieces of a range, as even as possible; each begins at a multiple of `unit` from the start.
pub(super) fn pieces(
    range: &Range<usize>,
    unit: usize,
    count: usize,
) -> impl Iterator<Item = Range<usize>> + use<> {
    let (start, end, units) = (range.start, range.end, range.len().div_ceil(unit));
    (0..count)
        .map(move |i| piece(units, count, i))
        .map(move |piece| start + piece.start * unit..end.min(start + piece.end * unit))
}

impl MatmulShape {
    /// The product of the transposes: the same result if it has one row or one column.
    pub(super) fn swapped(self) -> MatmulShape {
        let MatmulShape { m, n, k, a, b } = self;
        MatmulShape { m: n, n: m, k, a: [b[1], b[0]], b: [a[1], a[0]] }
    }

    /// Whether packing the right factor gains nothing: it is dense, fits in the L1 cache, and no vector
    /// crosses a cache line.
    fn is_packed(&self, kind: KernelShape) -> bool {
        let &MatmulShape { n, k, b, .. } = self;
        let row = n.saturating_mul(kind.size);
        b == [n as isize, 1] && row.is_multiple_of(LINE) && row.saturating_mul(k) <= FIRST_BYTES
    }

    fn way(&self, kind: KernelShape) -> MatmulLoops {
        let &MatmulShape { m, n, k, a, b } = self;
        let (copy_a, copy_b) = (k > 1 && a[1] != 1, k > 1 && b[0] != 1);
        let few = m.min(n) <= DOTS_MOST;
        let copied =
            [(copy_a, m), (copy_b, n)].map(|(copy, extent)| if copy { extent.saturating_mul(k) } else { 0 });
        let copied = copied[0].saturating_add(copied[1]);
        let strided = n > 1 && b[1] != 1;
        let (rows, columns, depth) = (m as f64, n as f64, k as f64);
        let vectors = |extent: usize| extent.div_ceil(kind.lanes) as f64;
        let dots = rows * columns * (vectors(k) + ACROSS) + TRANSPOSE * copied as f64;
        let tiles = vectors(n) * rows * depth + if strided { TRANSPOSE * columns * depth } else { 0.0 };
        if few && copied <= DOTS_COPY && dots < tiles {
            MatmulLoops::Dots { copy_a, copy_b }
        } else if strided || (m.div_ceil(kind.rows) >= PACKED_FROM && !self.is_packed(kind)) {
            MatmulLoops::Packed
        } else {
            MatmulLoops::Direct
        }
    }
}

impl MatmulSchedule {
    /// A schedule for at most this many threads. `kept`: the result is stored; otherwise it is passed on
    /// block by block.
    pub(super) fn new(shape: &MatmulShape, kind: KernelShape, threads: usize, kept: bool) -> MatmulSchedule {
        let &MatmulShape { m, n, k, .. } = shape;
        let way = shape.way(kind);
        let even = |extent: usize, most: usize| extent.div_ceil(extent.div_ceil(most).max(1)).max(1);
        let k_block = even(k, K_BLOCK);
        let vectors = n.div_ceil(kind.lanes);
        let vector_column = k_block * kind.lanes * kind.size;
        let n_block = even(vectors, (BLOCK_BYTES / vector_column).max(3));
        let unit = if matches!(way, MatmulLoops::Dots { .. }) { DOTS } else { kind.lanes };
        let parts = Self::divide(shape, n.div_ceil(unit), way, threads);
        let line = 64 / kind.size;
        let scratch = match way {
            MatmulLoops::Direct => kind.rows * k_block,
            MatmulLoops::Packed => kind.rows * k_block + n_block * kind.lanes * k_block,
            MatmulLoops::Dots { copy_a, copy_b } => {
                let resources =
                    |copy: bool, extent: usize| if copy { (extent * k).next_multiple_of(line) } else { 0 };
                resources(copy_a, m) + resources(copy_b, n)
            }
        };
        let scratch = scratch.next_multiple_of(line);
        let mut schedule = MatmulSchedule {
            way,
            k_block,
            n_block,
            parts,
            unit,
            scratch,
            block: 0,
            handed: HANDED / kind.size,
        };
        if !kept {
            schedule.block = schedule.block(shape, kind).next_multiple_of(line) + line;
            schedule.scratch = scratch.saturating_add(schedule.block);
        }
        schedule
    }

    /// Elements of the largest block that waits to be passed on, with rows aligned to cache lines.
    fn block(&self, shape: &MatmulShape, kind: KernelShape) -> usize {
        let line = 64 / kind.size;
        let rows = shape.m.div_ceil(self.parts[0]);
        let columns = (shape.n.div_ceil(self.unit).div_ceil(self.parts[1]) * self.unit).min(shape.n);
        let block = columns.min(self.n_block * kind.lanes);
        let tile = match self.way {
            MatmulLoops::Packed if shape.k > self.k_block => return rows * block.next_multiple_of(line),
            MatmulLoops::Direct => kind.lanes * rows,
            MatmulLoops::Packed => kind.rows * block,
            MatmulLoops::Dots { .. } => DOTS * rows.min(columns),
        };
        let most = tile.max(self.handed);
        most + rows.min(most) * line
    }

    /// The division whose slowest thread has the least work. Large products have several parts per thread, so
    /// that a slower thread takes fewer.
    fn divide(shape: &MatmulShape, units: usize, way: MatmulLoops, threads: usize) -> [usize; 2] {
        let &MatmulShape { m, n, k, .. } = shape;
        let work = [n, k].iter().fold(m as u128, |all, e| all.saturating_mul(*e as u128));
        let each = (work / (threads as u128 * PART)).clamp(1, MOST_PARTS) as usize;
        let most = if threads > 1 { threads * each } else { 1 };
        let pack = if way == MatmulLoops::Packed { PACK } else { 1 };
        let slowest = |&[rows, columns]: &[usize; 2]| {
            let turns = (rows * columns).div_ceil(threads);
            let across = units.div_ceil(columns);
            // Tiles of fewer vectors read the left factor more often.
            turns as u128
                * (m.div_ceil(rows) + pack) as u128
                * (4 * across + across.div_ceil(VECTORS)) as u128
        };
        (1..=most).rev().map(|columns| [most / columns, columns]).min_by_key(slowest).unwrap_or([1, 1])
    }
}
