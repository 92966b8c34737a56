//! A part of a product: the loops around the kernels.

use super::super::vector::Element;
use super::kernels::{DOTS, Kernels, TileKernel, VECTORS};
use super::pack::Rows;
use super::schedule::{Schedule, Shape, Way, piece};
use super::tile::{Dots, Tile};
use std::ops::Range;

/// The consumer of the blocks of the result, which are then not stored.
#[derive(Clone, Copy)]
pub(super) struct Then<'a> {
    run: &'a dyn Fn(usize, usize, *const u8),
}

impl<'a> Then<'a> {
    /// `run` takes elements of the result: the row-major position of the first, the count, and their address.
    /// It may rely on the contract of [`Then::give`], its only caller.
    pub(super) fn new(run: &'a dyn Fn(usize, usize, *const u8)) -> Then<'a> {
        Then { run }
    }

    /// Passes `count` elements of the result from position `first` on.
    ///
    /// # Safety
    /// `at` must point to these elements, aligned and readable up to the next multiple of 8 bytes. No element
    /// may be passed twice.
    unsafe fn give(&self, first: usize, count: usize, at: *const u8) {
        (self.run)(first, count, at);
    }
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
pub(super) struct Job<'a, T: 'static> {
    pub(super) kernels: &'a Kernels<T>,
    pub(super) shape: Shape,
    pub(super) schedule: &'a Schedule,
    pub(super) a: *const T,
    pub(super) b: *const T,
    pub(super) c: *mut T,
    /// If it is there, `c` is not used.
    pub(super) then: Option<Then<'a>>,
}

/// Rows by columns of a result.
struct Part {
    rows: Range<usize>,
    columns: Range<usize>,
}

impl<T: Element> Job<'_, T> {
    /// Computes part `index` of the schedule.
    ///
    /// # Safety
    /// - All elements of the factors must be aligned and readable, and no other thread may write them.
    /// - The part of the result, if it is stored, must be aligned and writable, and overlap no factor. No
    ///   other thread may use it.
    /// - `scratch` must be aligned to 64 bytes and have room for the schedule's number of elements, rounded
    ///   up to a multiple of 8 bytes if there is a [consumer](Job::then). No other thread may use it.
    /// - The kernels must be for this processor. With a consumer, no part may be computed twice.
    pub(super) unsafe fn part(&self, index: usize, scratch: *mut T) {
        let [down, across] = self.schedule.parts;
        let unit = self.schedule.unit;
        let units = piece(self.shape.n.div_ceil(unit), across, index % across);
        let columns = units.start * unit..self.shape.n.min(units.end * unit);
        let part = Part { rows: piece(self.shape.m, down, index / across), columns };
        if part.rows.is_empty() || part.columns.is_empty() {
            return;
        }
        // SAFETY: the caller guarantees what all of them need, for this part.
        unsafe {
            match self.schedule.way {
                Way::Direct => self.direct(&part, scratch),
                Way::Packed => self.packed(&part, scratch),
                Way::Dots { copy_a, copy_b } => self.dots(&part, copy_a, copy_b, scratch),
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
    /// Same as [`Job::part`]. The block must be computed, and passed on once.
    unsafe fn hand_over(&self, rows: &Range<usize>, columns: &Range<usize>, put: &Put<T>) {
        let Some(then) = &self.then else { return };
        let give = |row: usize, count: usize| {
            let at = put.at(row, columns.start).cast_const().cast();
            // SAFETY: `put` is in the scratch, where the caller guarantees the block and room behind it, and
            // rows of a block are passed on once. A row that is not a whole one of the result is aligned to a
            // cache line.
            unsafe { then.give(row * self.shape.n + columns.start, count, at) };
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
    fn stretches(&self) -> impl Iterator<Item = Range<usize>> {
        let (k, count) = (self.shape.k, self.shape.k.div_ceil(self.schedule.k_block));
        (0..count).map(move |i| piece(k, count, i))
    }

    /// The rows of a part, tile by tile.
    fn tiles(&self, rows: &Range<usize>) -> impl Iterator<Item = Range<usize>> + Clone + use<T> {
        let (first, extent) = (rows.start, rows.len());
        let count = extent.div_ceil(self.kernels.tiles.len());
        (0..count).map(move |i| piece(extent, count, i)).map(move |r| first + r.start..first + r.end)
    }

    /// Columns, a few vectors at a time.
    fn panels(&self, columns: &Range<usize>) -> impl Iterator<Item = Range<usize>> + Clone + use<T> {
        let (first, end, lanes) = (columns.start, columns.end, self.kernels.lanes);
        let vectors = columns.len().div_ceil(lanes);
        let count = vectors.div_ceil(VECTORS);
        (0..count)
            .map(move |i| piece(vectors, count, i))
            .map(move |v| first + v.start * lanes..end.min(first + v.end * lanes))
    }

    /// The whole product as one tile, if it is no more than that and is stored.
    pub(super) fn as_tile(&self) -> Option<(TileKernel<T>, Tile<T>)> {
        let Shape { m, n, k, a: [a_row, a_k], b: [b_k, _] } = self.shape;
        let Schedule { way, k_block, parts, .. } = *self.schedule;
        let lanes = self.kernels.lanes;
        let vectors = n.div_ceil(lanes);
        if self.then.is_some() || way != Way::Direct || parts != [1, 1] || vectors > VECTORS || k > k_block {
            return None;
        }
        let kernel = self.kernels.tiles.get(m.wrapping_sub(1))?.get(vectors.wrapping_sub(1))?;
        let last = n - (vectors - 1) * lanes;
        let Job { a, b, c, .. } = *self;
        Some((*kernel, Tile { k, a, a_row, a_k, b, b_k, c, c_row: n, last, add: false }))
    }

    /// # Safety
    /// Same as [`Job::part`], for the elements of these rows, columns and block of k: `a` and `b` are their
    /// start, in the factors or in packed copies, and `put` is the block that contains the tile. Packed rows
    /// of `b` are padded to whole vectors.
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
        let tile = Tile {
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
    /// Same as [`Job::part`], for this part.
    unsafe fn direct(&self, part: &Part, scratch: *mut T) {
        let lanes = self.kernels.lanes;
        let vectors = part.columns.len().div_ceil(lanes);
        let count = vectors.div_ceil(self.tiles_at_once(lanes, part.rows.len()));
        for block in (0..count).map(|i| piece(vectors, count, i)) {
            let first = part.columns.start + block.start * lanes;
            let columns = first..part.columns.end.min(part.columns.start + block.end * lanes);
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
    /// Same as [`Job::part`], for this part.
    unsafe fn packed(&self, part: &Part, scratch: *mut T) {
        let kernels = self.kernels;
        let (lanes, most) = (kernels.lanes, kernels.tiles.len());
        let vectors = part.columns.len().div_ceil(lanes);
        let count = vectors.div_ceil(self.schedule.n_block);
        let packed_b = scratch;
        let packed_a = scratch.wrapping_add(self.schedule.n_block * lanes * self.schedule.k_block);
        for block in (0..count).map(|i| piece(vectors, count, i)) {
            let first = part.columns.start + block.start * lanes;
            let columns = first..part.columns.end.min(part.columns.start + block.end * lanes);
            let panels = self.panels(&columns);
            // With several blocks of k the whole block waits for the last one.
            let waits = self.shape.k > self.schedule.k_block;
            for k in self.stretches() {
                let place = |panel: &Range<usize>| packed_b.wrapping_add((panel.start - first) * k.len());
                let width = |panel: &Range<usize>| panel.len().next_multiple_of(lanes);
                for panel in panels.clone() {
                    let [row, column] = self.shape.b;
                    let rows = Rows {
                        rows: k.len(),
                        columns: panel.len(),
                        from: self.b(k.start, panel.start),
                        row,
                        column,
                        to: place(&panel),
                        to_row: width(&panel),
                    };
                    let pack = if column == 1 { kernels.rows } else { kernels.columns };
                    // SAFETY: the caller guarantees the right factor, and scratch for the panels of a block,
                    // each padded to whole vectors; it overlaps no factor.
                    unsafe { pack(&rows) };
                }
                let last = k.end == self.shape.k;
                let all = part.rows.len().div_ceil(most);
                let count = all.div_ceil(self.tiles_at_once(most, columns.len()));
                for band in (0..count).map(|i| piece(all, count, i)) {
                    // Tiles divide all rows evenly, and so do those of a band.
                    let tile = |i: usize| piece(part.rows.len(), all, i);
                    let band_rows =
                        part.rows.start + tile(band.start).start..part.rows.start + tile(band.end - 1).end;
                    let put = self.put(if waits { &part.rows } else { &band_rows }, &columns, scratch);
                    for rows in band.map(|i| part.rows.start + tile(i).start..part.rows.start + tile(i).end) {
                        let mut a = (self.a(rows.start, k.start), self.shape.a);
                        if self.shape.a[1] != 1 && columns.len() > 2 * VECTORS * lanes {
                            let [row, along] = self.shape.a;
                            let copy = Rows {
                                rows: k.len(),
                                columns: rows.len(),
                                from: a.0,
                                row: along,
                                column: row,
                                to: packed_a,
                                to_row: most,
                            };
                            let pack = if row == 1 { kernels.rows } else { kernels.columns };
                            // SAFETY: the caller guarantees the left factor, and scratch for the largest
                            // tile's rows of it, behind the panels; it overlaps no factor.
                            unsafe { pack(&copy) };
                            a = (packed_a, [1, most as isize]);
                        }
                        for panel in panels.clone() {
                            let b = (place(&panel).cast_const(), width(&panel) as isize);
                            // SAFETY: the caller guarantees factors and result; `b` is a copy of this panel,
                            // and `a` the factor or a copy of these rows, which are within the block of
                            // `put`.
                            unsafe { self.tile(&rows, &panel, &k, a, b, &put) };
                        }
                    }
                    if last {
                        // SAFETY: this was the last block of k; bands have different rows, and blocks
                        // different columns.
                        unsafe { self.hand_over(&band_rows, &columns, &put) };
                    }
                }
            }
        }
    }

    /// # Safety
    /// Same as [`Job::part`], for this part.
    unsafe fn dots(&self, part: &Part, copy_a: bool, copy_b: bool, scratch: *mut T) {
        let (k, kernels) = (self.shape.k, self.kernels);
        let (rows, columns) = (part.rows.clone(), part.columns.clone());
        // The start of each factor, and its stride along rows or columns.
        let [a_row, a_k] = self.shape.a;
        let [b_k, b_column] = self.shape.b;
        let mut a = (self.a(rows.start, 0), a_row);
        let mut b = (self.b(0, columns.start), b_column);
        let mut free = scratch;
        for (factor, copied, along, extent) in
            [(&mut a, copy_a, a_k, rows.len()), (&mut b, copy_b, b_k, columns.len())]
        {
            if copied {
                let copy = Rows {
                    rows: extent,
                    columns: k,
                    from: factor.0,
                    row: factor.1,
                    column: along,
                    to: free,
                    to_row: k,
                };
                // SAFETY: the caller guarantees the factor, and scratch for the part's rows and columns of
                // the copied factors; it overlaps no factor.
                unsafe { (kernels.columns)(&copy) };
                *factor = (free, k as isize);
                free = free.wrapping_add((extent * k).next_multiple_of(64 / T::SIZE));
            }
        }
        let few = |extent: usize, most: usize| {
            let count = extent.div_ceil(most);
            (0..count).map(move |i| piece(extent, count, i))
        };
        let one = |r: &Range<usize>, n: &Range<usize>, put: &Put<T>| {
            let dots = Dots {
                k,
                a: a.0.wrapping_offset(r.start as isize * a.1),
                a_row: a.1,
                b: b.0.wrapping_offset(n.start as isize * b.1),
                b_column: b.1,
                c: put.at(rows.start + r.start, columns.start + n.start),
                c_row: put.row,
            };
            // SAFETY: the caller guarantees the elements of these rows and columns, in the factors or in the
            // copies just made, and kernels for this processor; `put` has room for their block.
            unsafe { kernels.dots[r.len() - 1][n.len() - 1](&dots) };
        };
        // The factor with fewer rows or columns is the inner loop, so that it stays in a cache.
        let most = kernels.dots.len();
        let by_columns = rows.len() <= columns.len();
        let (unit, along, across) =
            if by_columns { (DOTS, columns.len(), rows.len()) } else { (most, rows.len(), columns.len()) };
        let tiles = along.div_ceil(unit);
        let count = tiles.div_ceil(self.tiles_at_once(unit, across));
        for block in (0..count).map(|i| piece(tiles, count, i)) {
            let block = block.start * unit..along.min(block.end * unit);
            let (r, n) = if by_columns { (0..rows.len(), block) } else { (block, 0..columns.len()) };
            let block_rows = rows.start + r.start..rows.start + r.end;
            let block_columns = columns.start + n.start..columns.start + n.end;
            let put = self.put(&block_rows, &block_columns, scratch);
            let few_rows = || few(r.len(), most).map(|i| r.start + i.start..r.start + i.end);
            let few_columns = || few(n.len(), DOTS).map(|i| n.start + i.start..n.start + i.end);
            if by_columns {
                few_columns().for_each(|n| few_rows().for_each(|r| one(&r, &n, &put)));
            } else {
                few_rows().for_each(|r| few_columns().for_each(|n| one(&r, &n, &put)));
            }
            // SAFETY: all rows and columns of the block were computed, along all of k; blocks have different
            // rows or columns.
            unsafe { self.hand_over(&block_rows, &block_columns, &put) };
        }
    }
}
