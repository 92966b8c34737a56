//! Rows of lanes: what is the same in all of a row is done once, rows that are found by computed indices are copied as a whole, and what is
//! only moved goes from memory to memory.

use super::affine::Lanes;
use super::exec::{Frame, Run, view_mut, words};
use super::halves;
use super::plan::levels::Through;
use super::plan::{Access, Arg, Dynamic, PhasePlan, Plan, Side, StorePlan, Work};
use super::strided_copy::Rectangles;
use super::tile_io::{self, Where};
use workalike_kernels::ops::{lanes, lanes_mut};

/// The most computed indices of a load whose lanes hold the same ones in each run.
pub(super) const MAX_RUN_INDICES: usize = 4;

/// In which runs of lanes the computed indices of a load are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// None are known.
    Not,
    /// In those of its map: each index is there for every lane.
    Lanes,
    /// In rows of so many lanes: each index is there for every row.
    Rows(u64),
}

/// The rows of some lanes: the first one, and how many.
fn rows_of(lanes: u64, start: u64, n: usize) -> (u64, usize) {
    let first = start / lanes;
    (first, ((start + n as u64 - 1) / lanes - first) as usize + 1)
}

impl Run<'_> {
    /// A Point phase at lanes `start..start + n`.
    pub(super) fn point(&self, frame: &mut Frame, phase: &PhasePlan, start: u64, n: usize) {
        if let Some(rows) = &phase.rows {
            let (first, rows) = rows_of(rows.lanes, start, n);
            self.work(frame, phase, &phase.before, first, rows);
            self.stores(frame, phase, first, rows, true);
        }
        self.work(frame, phase, &phase.body, start, n);
        self.stores(frame, phase, start, n, false);
    }

    /// Copies the value of each row to its lanes.
    pub(super) fn repeat(&self, frame: &Frame, row: u64, (arg, out): (Arg, u32), start: u64, n: usize) {
        let (first, rows) = rows_of(row, start, n);
        let values = self.value(frame, arg, rows);
        let size = arg.size as usize;
        // SAFETY: the register is a tile of this frame, and not that of the argument.
        let out = unsafe { view_mut(frame.at(self.plan.regs[out as usize]), words(n, size)) };
        each_row(row, first, start, n, |row, from, to| tile_io::spread_to(values, row, out, size, from..to));
    }

    /// Where the elements of each row begin, counted from where the map says, by the computed indices.
    fn row_offsets<'a>(&'a self, frame: &Frame, access: &Access, first: u64, rows: usize) -> &'a [i64] {
        // SAFETY: addresses are used up by one access before they are computed for the next.
        let (offsets, positions) = unsafe { self.scratch(frame, rows) };
        for (at, d) in access.dynamic.iter().enumerate() {
            let from = (at == 0).then_some((&Lanes::Uniform, 0));
            self.add_index(frame, d, (offsets, positions), from, first);
        }
        offsets
    }

    /// Adds an index to addresses, or starts them with it, on top of what a map of their lanes gives.
    fn add_index(
        &self,
        frame: &Frame,
        d: &Dynamic,
        (addresses, positions): (&mut [i64], &mut [i64]),
        from: Option<(&Lanes, i64)>,
        start: u64,
    ) {
        let n = addresses.len();
        let index = tile_io::Indices {
            values: &lanes::<i64>(self.value(frame, d.value, n))[..n],
            wraps: d.wraps,
            last: d.extent - 1,
            stride: d.stride,
        };
        let position = d.map.base(&frame.coordinates);
        match (&d.map.lanes, from) {
            (Lanes::Uniform, Some((map, base))) => map.runs(base, start, n, |lane, from, count, step| {
                let index = tile_io::Indices { values: &index.values[lane..lane + count], ..index };
                index.start(&mut addresses[lane..lane + count], position, (from, step));
            }),
            (lanes, from) => {
                if let Some((map, base)) = from {
                    tile_io::iota(map, base, start, n, addresses);
                }
                tile_io::iota(lanes, position, start, n, positions);
                index.add(addresses, positions);
            }
        }
    }

    /// Tiles of this frame for addresses and positions.
    ///
    /// # Safety
    /// What was there must be used up.
    #[allow(clippy::mut_from_ref)] // That is what the contract is about.
    unsafe fn scratch<'a>(&'a self, frame: &Frame, n: usize) -> (&'a mut [i64], &'a mut [i64]) {
        // SAFETY: two tiles of this frame that nothing else uses, by the caller's promise.
        unsafe {
            let addresses = view_mut(frame.at(self.plan.addresses), n);
            let positions = view_mut(frame.at(self.plan.positions), n);
            (bytemuck::cast_slice_mut(addresses), bytemuck::cast_slice_mut(positions))
        }
    }

    /// Loads where computed indices are the same in each run of lanes.
    #[inline(never)]
    pub(super) fn load_runs(&self, frame: &Frame, access: &Access, out: *mut u64, start: u64, n: usize) {
        let dtype = access.touch.dtype;
        if !dtype.is_half() {
            return self.copy_runs(frame, access, out.cast(), start, n);
        }
        let staging = frame.at(self.plan.staging);
        self.copy_runs(frame, access, staging.cast(), start, n);
        // SAFETY: register and staging are different tiles of this frame; nothing else refers to either.
        let (from, to) = unsafe { (view_mut(staging, words(n, 2)), view_mut(out, words(n, 4))) };
        halves::widen(dtype, &lanes::<u16>(from)[..n], &mut lanes_mut::<f32>(to)[..n]);
    }

    /// Copies them as they are stored.
    fn copy_runs(&self, frame: &Frame, access: &Access, out: *mut u8, start: u64, n: usize) {
        let size = access.touch.dtype.size();
        let from = self.bound.bases[access.touch.operand].cast_const();
        let (map, base) = (&access.map.lanes, access.map.base(&frame.coordinates));
        let copy = |lane: usize, at: i64, count: usize, step: i64| {
            // SAFETY: the address ranges were checked against the region; there is room for `n` lanes.
            unsafe {
                let from = from.offset(at as isize * size as isize);
                tile_io::copy_lanes(from, out.add(lane * size), size, count, step as isize);
            }
        };
        if let Runs::Rows(row) = access.runs {
            let (first, rows) = rows_of(row, start, n);
            let offsets = self.row_offsets(frame, access, first, rows);
            return each_row(row, first, start, n, |at, from, to| {
                let run = |lane, first, count, step| copy(from + lane, first + offsets[at], count, step);
                map.runs(base, start + from as u64, to - from, run);
            });
        }
        let mut rows = [(&[][..], 0); MAX_RUN_INDICES];
        for (row, d) in rows.iter_mut().zip(&access.dynamic) {
            *row = (&lanes::<i64>(self.value(frame, d.value, n))[..n], d.map.base(&frame.coordinates));
        }
        map.runs(base, start, n, |lane, first, count, step| {
            let at = rows.iter().zip(&access.dynamic).fold(first, |at, ((values, position), d)| {
                let index = tile_io::wrapped(values[lane], d.wraps).wrapping_add(*position);
                at + index.min(d.extent - 1).max(0) * d.stride
            });
            copy(lane, at, count, step);
        });
    }

    /// Moves the lanes of a load to where a store wants them, if nothing else of the Nest touches that memory.
    pub(super) fn through(
        &self,
        frame: &mut Frame,
        access: &Access,
        through: &Through,
        start: u64,
        n: usize,
    ) -> bool {
        let phase = &self.plan.phases[access.phase];
        let id = phase.stores[through.store as usize].access as usize;
        let store = &self.plan.accesses[id];
        let (from, to) = (self.bound.bases[access.touch.operand], self.bound.bases[store.touch.operand]);
        if !self.bound.direct[id] || from.is_null() || to.is_null() {
            return false;
        }
        let size = access.touch.dtype.size();
        let Some(pair) = &through.pair else {
            // An index that is there once a row has no lanes.
            let by_row = matches!(access.runs, Runs::Rows(_));
            if by_row || store.map.lanes != Lanes::Line(1) || self.bound.far[id] {
                return false;
            }
            let at = self.lanes_of(frame, access, start, n);
            let to = self.address(frame, store, start);
            frame.stored[through.store as usize] = true;
            // SAFETY: the address ranges were checked against the regions, which do not overlap.
            unsafe { tile_io::gather_bits(from, at, to, size, n) };
            return true;
        };
        frame.stored[through.store as usize] = true;
        let (base_from, base_to) = (access.map.base(&frame.coordinates), store.map.base(&frame.coordinates));
        let (row, offsets) = match access.runs {
            Runs::Rows(row) => {
                let (first, rows) = rows_of(row, start, n);
                (row, self.row_offsets(frame, access, first, rows))
            }
            _ => (u64::MAX, &[0][..]),
        };
        let [step, by_row] = pair.steps();
        let memory = Rectangles { size, step, by_row, past: self.bound.far[id] };
        pair.rectangles(start, n, |r| {
            let at = match row {
                u64::MAX => 0,
                row => ((start + r.lane as u64) / row - start / row) as usize,
            };
            // Where a row is more than an axis, a rectangle lies in one row.
            let each = if row < u64::MAX && pair.plain { &offsets[at..at + r.rows] } else { &[][..] };
            let first = if each.is_empty() { offsets[at] } else { 0 };
            // SAFETY: the address ranges were checked against the regions, which do not overlap.
            unsafe {
                let from = from.offset((base_from + r.at.0 + first) as isize * size as isize).cast_const();
                let to = to.offset((base_to + r.at.1) as isize * size as isize);
                memory.copy(from, to, (r.rows, r.columns), each);
            }
        });
        true
    }

    /// Whether a store is made in any lane.
    pub(super) fn any(&self, frame: &Frame, store: &StorePlan, when: Arg, n: usize) -> bool {
        let when = self.value(frame, when, n);
        match store.outside {
            Some(extent) => tile_io::any_outside(&lanes::<i64>(when)[..n], extent),
            None => when[..n].iter().fold(0, |any, one| any | one) != 0,
        }
    }

    /// Bools that say in which lanes a store is made.
    pub(super) fn condition<'a>(&'a self, frame: &Frame, store: &StorePlan, when: Arg, n: usize) -> &'a [u8] {
        let given = self.value(frame, when, n);
        let Some(extent) = store.outside else { return given };
        // SAFETY: positions are used up as soon as there are addresses, which lie elsewhere.
        let bools = unsafe { view_mut(frame.at(self.plan.positions).cast::<u8>(), n) };
        let found = bools.iter_mut().zip(&lanes::<i64>(given)[..n]);
        found.for_each(|(found, value)| *found = tile_io::is_outside(*value, extent).into());
        bools
    }

    /// The lanes that an access touches; computed addresses are clamped into their dimension.
    pub(super) fn lanes_of<'a>(
        &'a self,
        frame: &Frame,
        access: &'a Access,
        start: u64,
        n: usize,
    ) -> Where<'a> {
        let base = access.map.base(&frame.coordinates);
        if access.dynamic.is_empty() {
            return Where::Map { map: &access.map.lanes, base, start };
        }
        // SAFETY: addresses are used up by one access before they are computed for the next.
        let (addresses, positions) = unsafe { self.scratch(frame, n) };
        let mut from = Some((&access.map.lanes, base));
        for d in &access.dynamic {
            self.add_index(frame, d, (addresses, positions), from.take(), start);
        }
        Where::Each(addresses)
    }
}

/// Calls `then(row, from, to)` for the lanes of each row, counted from `start`; rows from `first` on.
fn each_row(row: u64, first: u64, start: u64, n: usize, mut then: impl FnMut(usize, usize, usize)) {
    let (mut at, mut from) = (0, 0);
    let mut left = ((first + 1).saturating_mul(row) - start).min(n as u64) as usize;
    while from < n {
        then(at, from, from + left);
        (at, from) = (at + 1, from + left);
        left = row.min((n - from) as u64) as usize;
    }
}

/// Whether a Nest may be run without registers: all that its body does is to move memory to memory.
pub(super) fn only_moves(plan: &Plan, direct: &[bool], bases: &[*mut u8]) -> Option<u64> {
    let [phase] = &plan.phases[..] else { return None };
    let moved = |work: &Work| {
        let Work::Load { access } = work else { return false };
        let load = &plan.accesses[*access as usize];
        let Some(Through { store, pair: Some(_) }) = &load.through else { return false };
        let id = phase.stores[*store as usize].access as usize;
        direct[id]
            && !bases[load.touch.operand].is_null()
            && !bases[plan.accesses[id].touch.operand].is_null()
    };
    let stored = phase.body.len() == phase.stores.iter().filter(|s| !s.once).count();
    // Of a row's first and last lanes, and of those between, each row has a lane of its own in what is worked out once.
    let rows = plan.width as u64 - 2;
    let most = phase.rows.as_ref().map_or(u64::MAX, |r| r.lanes.saturating_mul(rows));
    (stored && plan.side == Side::Grid && phase.body.iter().all(moved)).then_some(most)
}
