//! A part of a product: the loops around the kernels.

use super::kernels::{DOTS, Kernels, VECTORS};
use super::pack::Rows;
use super::schedule::{Schedule, Shape, Way, piece};
use super::tile::{Dots, Tile};
use super::vector::Element;
use std::ops::Range;

/// A product of matrices in memory; the result is row-major.
pub(super) struct Job<'a, T: 'static> {
    pub(super) kernels: &'a Kernels<T>,
    pub(super) shape: Shape,
    pub(super) schedule: &'a Schedule,
    pub(super) a: *const T,
    pub(super) b: *const T,
    pub(super) c: *mut T,
}

/// Rows by columns of a result.
struct Part {
    rows: Range<usize>,
    columns: Range<usize>,
}

impl<T: Element> Job<'_, T> {
    /// Computes part `index` of the schedule's.
    ///
    /// # Safety
    /// All elements of the factors and the result must be valid, the part of the result and the scratch nobody else's.
    pub(super) unsafe fn part(&self, index: usize, scratch: *mut T) {
        let [down, across] = self.schedule.parts;
        let unit = self.schedule.unit;
        let units = piece(self.shape.n.div_ceil(unit), across, index % across);
        let columns = units.start * unit..self.shape.n.min(units.end * unit);
        let part = Part { rows: piece(self.shape.m, down, index / across), columns };
        if part.rows.is_empty() || part.columns.is_empty() {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe {
            match self.schedule.way {
                Way::Direct => self.direct(&part),
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

    fn c(&self, row: usize, column: usize) -> *mut T {
        self.c.wrapping_add(row * self.shape.n + column)
    }

    /// Stretches of k, one after the other.
    fn stretches(&self) -> impl Iterator<Item = Range<usize>> {
        let (k, count) = (self.shape.k, self.shape.k.div_ceil(self.schedule.k_block));
        (0..count).map(move |i| piece(k, count, i))
    }

    /// Rows of a part, tile by tile.
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

    /// # Safety
    /// As [`Job::part`].
    unsafe fn tile(
        &self,
        rows: &Range<usize>,
        columns: &Range<usize>,
        k: &Range<usize>,
        (a, [a_row, a_k]): (*const T, [isize; 2]),
        (b, b_k): (*const T, isize),
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
            c: self.c(rows.start, columns.start),
            c_row: self.shape.n,
            last: columns.len() - (vectors - 1) * lanes,
            add: k.start > 0,
        };
        // SAFETY: the caller's promise; the kernels are for this processor.
        unsafe { self.kernels.tiles[rows.len() - 1][vectors - 1](&tile) };
    }

    /// # Safety
    /// As [`Job::part`].
    unsafe fn direct(&self, part: &Part) {
        for panel in self.panels(&part.columns) {
            for k in self.stretches() {
                let b = (self.b(k.start, panel.start), self.shape.b[0]);
                for rows in self.tiles(&part.rows) {
                    let a = (self.a(rows.start, k.start), self.shape.a);
                    // SAFETY: the caller's promise.
                    unsafe { self.tile(&rows, &panel, &k, a, b) };
                }
            }
        }
    }

    /// # Safety
    /// As [`Job::part`].
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
                    // SAFETY: the caller's promise; the scratch holds a block of these extents.
                    unsafe { pack(&rows) };
                }
                for rows in self.tiles(&part.rows) {
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
                        // SAFETY: the caller's promise; the scratch holds a tile's rows of a stretch.
                        unsafe { pack(&copy) };
                        a = (packed_a, [1, most as isize]);
                    }
                    for panel in panels.clone() {
                        // SAFETY: the caller's promise.
                        unsafe { self.tile(&rows, &panel, &k, a, (place(&panel), width(&panel) as isize)) };
                    }
                }
            }
        }
    }

    /// # Safety
    /// As [`Job::part`].
    unsafe fn dots(&self, part: &Part, copy_a: bool, copy_b: bool, scratch: *mut T) {
        let (k, kernels) = (self.shape.k, self.kernels);
        let (rows, columns) = (part.rows.clone(), part.columns.clone());
        // Where a factor begins, and its step along rows or columns.
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
                // SAFETY: the caller's promise; the scratch holds both factors if need be.
                unsafe { (kernels.columns)(&copy) };
                *factor = (free, k as isize);
                free = free.wrapping_add((extent * k).next_multiple_of(64 / T::SIZE));
            }
        }
        let few = |extent: usize, most: usize| {
            let count = extent.div_ceil(most);
            (0..count).map(move |i| piece(extent, count, i))
        };
        let one = |r: &Range<usize>, n: &Range<usize>| {
            let dots = Dots {
                k,
                a: a.0.wrapping_offset(r.start as isize * a.1),
                a_row: a.1,
                b: b.0.wrapping_offset(n.start as isize * b.1),
                b_column: b.1,
                c: self.c(rows.start + r.start, columns.start + n.start),
                c_row: self.shape.n,
            };
            // SAFETY: the caller's promise; the kernels are for this processor.
            unsafe { kernels.dots[r.len() - 1][n.len() - 1](&dots) };
        };
        // What has fewer rows or columns is walked again and again, and should stay in a cache.
        let most = kernels.dots.len();
        if rows.len() <= columns.len() {
            few(columns.len(), DOTS).for_each(|n| few(rows.len(), most).for_each(|r| one(&r, &n)));
        } else {
            few(rows.len(), most).for_each(|r| few(columns.len(), DOTS).for_each(|n| one(&r, &n)));
        }
    }
}
