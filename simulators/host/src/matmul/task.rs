//! A part of a product: the loops around the kernels.

use super::kernels::{DOTS, MatmulKernels, VECTORS};
use super::microkernel::{Dots, MatmulTile};
use super::pack::PackCopy;
use super::schedule::{MatmulLoops, MatmulSchedule, MatmulShape, piece, pieces};
use super::{BoundMatmul, MatmulResources};
use crate::vector::VectorElement;
use std::ops::Range;

/// The consumer of the blocks of the result, which are then not stored: the epilogue of a product.
pub(super) struct Then<'a> {
    pub(super) product: &'a BoundMatmul,
    pub(super) resources: &'a MatmulResources<'a>,
    /// The number of the calling thread.
    pub(super) worker: usize,
    /// The position in the epilogue of the first element of the result.
    pub(super) first: usize,
}

/// The target of a block of the result.
struct Put<T> {
    /// Its first row and column.
    first: [usize; 2],
    at: *mut T,
    /// Elements from one row to the next.
    row: usize,
}

impl<T> Put<T> {
    fn at(&self, row: usize, column: usize) -> *mut T {
        self.at.wrapping_add((row - self.first[0]) * self.row + (column - self.first[1]))
    }
}

/// A product of matrices in memory; the result is row-major.
pub(super) struct MatmulTask<'a, T: 'static> {
    pub(super) kernels: &'a MatmulKernels<T>,
    pub(super) shape: MatmulShape,
    pub(super) schedule: &'a MatmulSchedule,
    pub(super) a: *const T,
    pub(super) b: *const T,
    pub(super) c: *mut T,
    /// If it is there, `c` is not used.
    pub(super) then: Option<Then<'a>>,
}

/// Rows by columns of a result.
struct OutputBlock {
    rows: Range<usize>,
    columns: Range<usize>,
}

impl<T: VectorElement> MatmulTask<'_, T> {
    /// Computes part `index` of the schedule.
    ///
    /// # Safety
    /// - All elements of the factors must be aligned and readable, and no other thread may write them.
    /// - The part of the result, if it is stored, must be aligned and writable, and overlap no factor. No
    ///   other thread may use it.
    /// - `scratch` must be aligned to 64 bytes and have room for the schedule's number of elements, rounded
    ///   up to a multiple of 8 bytes if there is a [consumer](Job::then). No other thread may use it.
    /// - The kernels must be for this processor. With a consumer, no part may be computed twice, and its
    ///   product must be as [`BoundMatmul::run`] needs it.
    pub(super) unsafe fn part(&self, index: usize, scratch: *mut T) {
        let [down, across] = self.schedule.parts;
        let rows = piece(self.shape.m, down, index / across);
        let columns = pieces(&(0..self.shape.n), self.schedule.unit, across).nth(index % across);
        let Some(columns) = columns.filter(|columns| !columns.is_empty() && !rows.is_empty()) else { return };
        let part = OutputBlock { rows, columns };
        // SAFETY: the caller guarantees what all of them need, for this part.
        unsafe {
            match self.schedule.way {
                MatmulLoops::Direct => self.direct(&part, scratch),
                MatmulLoops::Packed => self.packed(&part, scratch),
                MatmulLoops::Dots { copy_a, copy_b } => self.dots(&part, [copy_a, copy_b], scratch),
            }
        }
    }

    fn a(&self, row: usize, k: usize) -> *const T {
        let [rows, along] = self.shape.a;
        self.a.wrapping_offset(row as isize * rows + k as isize * along)
    }

    fn b(&self, k: usize, column: usize) -> *const T {
        let [along, columns] = self.shape.b;
        self.b.wrapping_offset(k as isize * along + column as isize * columns)
    }

    /// The target of a block: its place in the result, or the scratch for blocks.
    fn put(&self, rows: &Range<usize>, columns: &Range<usize>, scratch: *mut T) -> Put<T> {
        if self.then.is_none() {
            return Put { first: [0, 0], at: self.c, row: self.shape.n };
        }
        let at = scratch.wrapping_add(self.schedule.scratch - self.schedule.block);
        Put { first: [rows.start, columns.start], at, row: self.row(columns.len()) }
    }

    /// Elements from one row of a block to the next: whole rows lie as in the result, others are aligned to a
    /// cache line.
    fn row(&self, columns: usize) -> usize {
        if columns == self.shape.n { columns } else { columns.next_multiple_of(64 / T::SIZE) }
    }

    /// Passes a computed block on to the consumer, if there is one.
    ///
    /// # Safety
    /// Same as [`MatmulTask::part`]. The block must be computed, and passed on once.
    unsafe fn hand_over(&self, rows: &Range<usize>, columns: &Range<usize>, put: &Put<T>) {
        let Some(then) = &self.then else { return };
        let give = |row: usize, count: usize| {
            let at = put.at(row, columns.start).cast_const().cast();
            let first = then.first + row * self.shape.n + columns.start;
            // SAFETY: `put` is in the scratch, where the caller guarantees the block and room behind it, and
            // rows of a block are passed on once. A row that is not a whole one of the result is aligned to a
            // cache line. The caller guarantees what the epilogue needs.
            unsafe { then.product.hand_over(then.resources, then.worker, first, count, at) };
        };
        if columns.len() == self.shape.n {
            give(rows.start, rows.len() * columns.len());
        } else {
            rows.clone().for_each(|row| give(row, columns.len()));
        }
    }

    /// The number of tiles of `unit` rows or columns by `across` that are passed on at a time; all without a
    /// consumer.
    fn tiles_at_once(&self, unit: usize, across: usize) -> usize {
        match self.then {
            None => usize::MAX,
            Some(_) => (self.schedule.handed / (unit * across).max(1)).max(1),
        }
    }

    /// The blocks of k.
    fn stretches(&self) -> impl Iterator<Item = Range<usize>> + use<T> {
        pieces(&(0..self.shape.k), 1, self.shape.k.div_ceil(self.schedule.k_block))
    }

    /// Rows, tile by tile.
    fn tiles(&self, rows: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<T> {
        pieces(rows, 1, rows.len().div_ceil(self.kernels.tiles.len()))
    }

    /// Columns, a few vectors at a time.
    fn panels(&self, columns: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<T> {
        let lanes = self.kernels.lanes;
        pieces(columns, lanes, columns.len().div_ceil(lanes).div_ceil(VECTORS))
    }

    /// # Safety
    /// Same as [`MatmulTask::part`], for the elements of these rows, columns and block of k: `a` and `b` are
    /// their start, in the factors or in packed copies, and `put` is the block that contains the tile. Packed
    /// rows of `b` are padded to whole vectors.
    unsafe fn tile(
        &self,
        rows: &Range<usize>,
        columns: &Range<usize>,
        k: &Range<usize>,
        (a, [a_row, a_k]): (*const T, [isize; 2]),
        (b, b_k): (*const T, isize),
        put: &Put<T>,
    ) {
        let lanes = self.kernels.lanes;
        let vectors = columns.len().div_ceil(lanes);
        let tile = MatmulTile {
            k: k.len(),
            a,
            a_row,
            a_k,
            b,
            b_k,
            c: put.at(rows.start, columns.start),
            c_row: put.row,
            last: columns.len() - (vectors - 1) * lanes,
            add: k.start > 0,
        };
        // SAFETY: the caller guarantees the elements of the tile in both factors and at its target, and
        // kernels for this processor; the mask of the last vector keeps within the columns.
        unsafe { self.kernels.tiles[rows.len() - 1][vectors - 1](&tile) };
    }

    /// # Safety
    /// Same as [`MatmulTask::part`], for this part.
    unsafe fn direct(&self, part: &OutputBlock, scratch: *mut T) {
        let lanes = self.kernels.lanes;
        let vectors = part.columns.len().div_ceil(lanes);
        let count = vectors.div_ceil(self.tiles_at_once(lanes, part.rows.len()));
        for columns in pieces(&part.columns, lanes, count) {
            let put = self.put(&part.rows, &columns, scratch);
            for panel in self.panels(&columns) {
                for k in self.stretches() {
                    let b = (self.b(k.start, panel.start), self.shape.b[0]);
                    for rows in self.tiles(&part.rows) {
                        let a = (self.a(rows.start, k.start), self.shape.a);
                        // SAFETY: the caller guarantees factors and result; these rows and columns are within
                        // the part, and within the block of `put`.
                        unsafe { self.tile(&rows, &panel, &k, a, b, &put) };
                    }
                }
            }
            // SAFETY: all blocks of k went into all tiles of the block; blocks have different columns.
            unsafe { self.hand_over(&part.rows, &columns, &put) };
        }
    }

    /// # Safety
    /// Same as [`MatmulTask::part`], for this part.
    unsafe fn packed(&self, part: &OutputBlock, scratch: *mut T) {
        let (lanes, most) = (self.kernels.lanes, self.kernels.tiles.len());
        let packed_a = scratch.wrapping_add(self.schedule.n_block * lanes * self.schedule.k_block);
        let vectors = part.columns.len().div_ceil(lanes);
        for columns in pieces(&part.columns, lanes, vectors.div_ceil(self.schedule.n_block)) {
            // A block whose left factor is copied has enough columns to repay that.
            let copy_a = self.shape.a[1] != 1 && columns.len() > 2 * VECTORS * lanes;
            // With several blocks of k the whole block waits for the last one.
            let waits = self.shape.k > self.schedule.k_block;
            let tiles = part.rows.len().div_ceil(most);
            let bands = tiles.div_ceil(self.tiles_at_once(most, columns.len()));
            for k in self.stretches() {
                // The copy of a panel: its start, and elements from row to row.
                let copy = |panel: &Range<usize>| {
                    let at = scratch.wrapping_add((panel.start - columns.start) * k.len());
                    (at, panel.len().next_multiple_of(lanes))
                };
                for panel in self.panels(&columns) {
                    let (to, to_row) = copy(&panel);
                    // SAFETY: the caller guarantees the right factor, and scratch for the panels of a block,
                    // each padded to whole vectors; it overlaps no factor.
                    unsafe {
                        self.pack([&k, &panel], self.b(k.start, panel.start), self.shape.b, to, to_row);
                    }
                }
                for band in pieces(&part.rows, 1, bands) {
                    let put = self.put(if waits { &part.rows } else { &band }, &columns, scratch);
                    for rows in self.tiles(&band) {
                        let mut a = (self.a(rows.start, k.start), self.shape.a);
                        if copy_a {
                            let [row, along] = self.shape.a;
                            // SAFETY: the caller guarantees the left factor, and scratch for the largest
                            // tile's rows of it, behind the panels; it overlaps no factor.
                            unsafe { self.pack([&k, &rows], a.0, [along, row], packed_a, most) };
                            a = (packed_a, [1, most as isize]);
                        }
                        for panel in self.panels(&columns) {
                            let (b, b_k) = copy(&panel);
                            let b = (b.cast_const(), b_k as isize);
                            // SAFETY: the caller guarantees factors and result; `b` is a copy of this panel,
                            // and `a` the factor or a copy of these rows, which are within the block of
                            // `put`.
                            unsafe { self.tile(&rows, &panel, &k, a, b, &put) };
                        }
                    }
                    if k.end == self.shape.k {
                        // SAFETY: this was the last block of k; bands have different rows, and blocks
                        // different columns.
                        unsafe { self.hand_over(&band, &columns, &put) };
                    }
                }
            }
        }
    }

    /// Copies rows and columns of a factor, from its element at `from` on. Rows become contiguous.
    ///
    /// # Safety
    /// Same as [`pack_columns`](crate::matmul::pack::pack_columns).
    unsafe fn pack(
        &self,
        [rows, columns]: [&Range<usize>; 2],
        from: *const T,
        [row, column]: [isize; 2],
        to: *mut T,
        to_row: usize,
    ) {
        let copy = PackCopy { rows: rows.len(), columns: columns.len(), from, row, column, to, to_row };
        let pack = if column == 1 { self.kernels.rows } else { self.kernels.columns };
        // SAFETY: the caller guarantees the elements on both sides; the kernels are for this processor.
        unsafe { pack(&copy) };
    }

    /// # Safety
    /// Same as [`MatmulTask::part`], for this part.
    unsafe fn dots(&self, OutputBlock { rows, columns }: &OutputBlock, copies: [bool; 2], scratch: *mut T) {
        let k = self.shape.k;
        let ([a_row, a_k], [b_k, b_column]) = (self.shape.a, self.shape.b);
        // Lines along k: the start of the first one, and the step from one to the next.
        let mut a = (self.a(rows.start, 0), a_row);
        let mut b = (self.b(0, columns.start), b_column);
        let mut free = scratch;
        for (lines, factor, along, copied) in
            [(rows, &mut a, a_k, copies[0]), (columns, &mut b, b_k, copies[1])]
        {
            if copied {
                // SAFETY: the caller guarantees the factor, and scratch for the part's rows and columns of
                // the copied factors; it overlaps no factor.
                unsafe { self.pack([lines, &(0..k)], factor.0, [factor.1, along], free, k) };
                *factor = (free.cast_const(), k as isize);
                free = free.wrapping_add((lines.len() * k).next_multiple_of(64 / T::SIZE));
            }
        }
        let one = |r: &Range<usize>, n: &Range<usize>, put: &Put<T>| {
            let dots = Dots {
                k,
                a: a.0.wrapping_offset((r.start - rows.start) as isize * a.1),
                a_row: a.1,
                b: b.0.wrapping_offset((n.start - columns.start) as isize * b.1),
                b_column: b.1,
                c: put.at(r.start, n.start),
                c_row: put.row,
            };
            // SAFETY: the caller guarantees the elements of these rows and columns, in the factors or in the
            // copies just made, and kernels for this processor; `put` has room for their block.
            unsafe { self.kernels.dots[r.len() - 1][n.len() - 1](&dots) };
        };
        let few = |range: &Range<usize>, most: usize| pieces(range, 1, range.len().div_ceil(most));
        // The factor with fewer rows or columns is the inner loop, so that it stays in a cache.
        let most = self.kernels.dots.len();
        let by_columns = rows.len() <= columns.len();
        let (unit, along, across) = if by_columns { (DOTS, columns, rows) } else { (most, rows, columns) };
        let count = along.len().div_ceil(unit).div_ceil(self.tiles_at_once(unit, across.len()));
        for block in pieces(along, unit, count) {
            let (r, n) = if by_columns { (rows, &block) } else { (&block, columns) };
            let put = self.put(r, n, scratch);
            if by_columns {
                few(n, DOTS).for_each(|n| few(r, most).for_each(|r| one(&r, &n, &put)));
            } else {
                few(r, most).for_each(|r| few(n, DOTS).for_each(|n| one(&r, &n, &put)));
            }
            // SAFETY: all rows and columns of the block were computed, along all of k; blocks have different
            // rows or columns.
            unsafe { self.hand_over(r, n, &put) };
        }
    }
}
