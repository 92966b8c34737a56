//! How a product is computed: which loops, how far they are blocked, what threads share. It follows from the
//! shape, the layout and the processor alone; the order in which an element is summed does not even depend on
//! the number of threads.

use super::kernels::{DOTS, VECTORS};

/// A product of matrices, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    /// Steps of the left factor along rows and k.
    pub(super) a: [isize; 2],
    /// Steps of the right factor along k and columns.
    pub(super) b: [isize; 2],
}

/// What the kernels are made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    /// Bytes of an element.
    pub(super) size: usize,
    /// Elements in a vector.
    pub(super) lanes: usize,
    /// Most rows of a tile.
    pub(super) rows: usize,
}

/// The loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Tiles that read the right factor where it lies: it is used a few times only.
    Direct,
    /// Tiles that read a copy of a block of the right factor, laid out in the order in which they read it.
    Packed,
    /// Vectors along k. Factors along whose k elements do not lie beside each other are copied first.
    Dots { copy_a: bool, copy_b: bool },
}

/// How a product is computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    pub(super) way: Way,
    /// Extent of k that is worked on at a time.
    pub(super) k_block: usize,
    /// Vectors of columns that are worked on at a time.
    pub(super) n_block: usize,
    /// Into how many ranges of rows and of columns threads divide the result.
    pub(super) parts: [usize; 2],
    /// Columns that a range holds a multiple of.
    pub(super) unit: usize,
    /// Elements of scratch that a part needs.
    pub(super) scratch: usize,
    /// How many of those, the last, are for a block of the result, where it is not stored.
    pub(super) block: usize,
    /// Elements of the result that are handed over at a time, then.
    pub(super) handed: usize,
}

/// Longest stretch of k between two visits of the result: a tile's rows of the left factor stay in the
/// first-level cache.
pub(super) const K_BLOCK: usize = 384;
/// Bytes of a block of the right factor: it stays in the second-level cache.
const BLOCK_BYTES: usize = 384 << 10;
/// From so many tiles of rows on, the right factor is copied first.
const PACKED_FROM: usize = 6;
/// Bytes of a right factor that is read where it lies however often, and of a line of the cache.
const FIRST_BYTES: usize = 32 << 10;
const LINE: usize = 64;
/// Dot products are for results with at most so many rows or columns, ...
const DOTS_MOST: usize = 32;
/// ... and for copies of at most so many elements.
const DOTS_COPY: usize = 1 << 16;
/// Costs, as multiples of a vector multiply-add: moving an element to where its neighbours are others,
/// summing the lanes of a vector, packing a vector.
const TRANSPOSE: f64 = 0.4;
const ACROSS: f64 = 8.0;
const PACK: usize = 4;
/// Bytes of the result that are handed over at a time: they are still in the second-level cache then. Fewer
/// would be in the first, but going back and forth between tiles and an epilogue takes longer than that
/// saves.
const HANDED: usize = 128 << 10;
/// Multiplications of a part from which on a thread may have several, and how many.
const PART: u128 = 1 << 22;
const MOST_PARTS: u128 = 4;

/// Piece `i` of `count` pieces of 0..extent, as even as can be.
pub(super) fn piece(extent: usize, count: usize, i: usize) -> std::ops::Range<usize> {
    let at = |i: usize| i * (extent / count) + i.min(extent % count);
    at(i)..at(i + 1)
}

impl Shape {
    /// The product of the transposes: the same elements in the same places, where the result has one row or
    /// one column.
    pub(super) fn swapped(self) -> Shape {
        let Shape { m, n, k, a, b } = self;
        Shape { m: n, n: m, k, a: [b[1], b[0]], b: [a[1], a[0]] }
    }

    /// Whether the right factor lies as a copy would, as far as caches are concerned: dense, in the first
    /// level, no vector on two lines.
    fn is_packed(&self, kind: Kind) -> bool {
        let &Shape { n, k, b, .. } = self;
        let row = n.saturating_mul(kind.size);
        b == [n as isize, 1] && row.is_multiple_of(LINE) && row.saturating_mul(k) <= FIRST_BYTES
    }

    fn way(&self, kind: Kind) -> Way {
        let &Shape { m, n, k, a, b } = self;
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
            Way::Dots { copy_a, copy_b }
        } else if strided || (m.div_ceil(kind.rows) >= PACKED_FROM && !self.is_packed(kind)) {
            Way::Packed
        } else {
            Way::Direct
        }
    }
}

impl Schedule {
    /// Where there is nothing to do.
    pub(super) fn none() -> Schedule {
        Schedule {
            way: Way::Direct,
            k_block: 1,
            n_block: 1,
            parts: [1, 1],
            unit: 1,
            scratch: 0,
            block: 0,
            handed: 0,
        }
    }

    /// For at most so many threads. `kept`: whether the result is stored; otherwise it is handed over block
    /// by block.
    pub(super) fn new(shape: &Shape, kind: Kind, threads: usize, kept: bool) -> Schedule {
        let &Shape { m, n, k, .. } = shape;
        let way = shape.way(kind);
        let even = |extent: usize, most: usize| extent.div_ceil(extent.div_ceil(most).max(1)).max(1);
        let k_block = even(k, K_BLOCK);
        let vectors = n.div_ceil(kind.lanes);
        let vector_column = k_block * kind.lanes * kind.size;
        let n_block = even(vectors, (BLOCK_BYTES / vector_column).max(3));
        let unit = if matches!(way, Way::Dots { .. }) { DOTS } else { kind.lanes };
        let parts = Self::divide(shape, n.div_ceil(unit), way, threads);
        let line = 64 / kind.size;
        let scratch = match way {
            Way::Direct => kind.rows * k_block,
            Way::Packed => kind.rows * k_block + n_block * kind.lanes * k_block,
            Way::Dots { copy_a, copy_b } => {
                let room =
                    |copy: bool, extent: usize| if copy { (extent * k).next_multiple_of(line) } else { 0 };
                room(copy_a, m) + room(copy_b, n)
            }
        };
        let scratch = scratch.next_multiple_of(line);
        let mut schedule =
            Schedule { way, k_block, n_block, parts, unit, scratch, block: 0, handed: HANDED / kind.size };
        if !kept {
            schedule.block = schedule.block(shape, kind).next_multiple_of(line) + line;
            schedule.scratch = scratch.saturating_add(schedule.block);
        }
        schedule
    }

    /// Elements of the largest block that is handed over, or waits to be, rows begun with a line each.
    fn block(&self, shape: &Shape, kind: Kind) -> usize {
        let line = 64 / kind.size;
        let rows = shape.m.div_ceil(self.parts[0]);
        let columns = (shape.n.div_ceil(self.unit).div_ceil(self.parts[1]) * self.unit).min(shape.n);
        let block = columns.min(self.n_block * kind.lanes);
        let tile = match self.way {
            Way::Packed if shape.k > self.k_block => return rows * block.next_multiple_of(line),
            Way::Direct => kind.lanes * rows,
            Way::Packed => kind.rows * block,
            Way::Dots { .. } => DOTS * rows.min(columns),
        };
        let most = tile.max(self.handed);
        most + rows.min(most) * line
    }

    /// The division whose slowest thread has the least work. Large products have some parts for each thread,
    /// so that one that is slower, or has other things to do, takes fewer.
    fn divide(shape: &Shape, units: usize, way: Way, threads: usize) -> [usize; 2] {
        let &Shape { m, n, k, .. } = shape;
        let work = [n, k].iter().fold(m as u128, |all, e| all.saturating_mul(*e as u128));
        let each = (work / (threads as u128 * PART)).clamp(1, MOST_PARTS) as usize;
        let most = if threads > 1 { threads * each } else { 1 };
        let pack = if way == Way::Packed { PACK } else { 1 };
        let slowest = |&[rows, columns]: &[usize; 2]| {
            let turns = (rows * columns).div_ceil(threads);
            let across = units.div_ceil(columns);
            // Few vectors in a tile read the left factor more often.
            turns as u128
                * (m.div_ceil(rows) + pack) as u128
                * (4 * across + across.div_ceil(VECTORS)) as u128
        };
        (1..=most).rev().map(|columns| [most / columns, columns]).min_by_key(slowest).unwrap_or([1, 1])
    }
}
