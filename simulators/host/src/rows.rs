//! Rows of lanes: what is the same in all of a row is done once, rows that are found by computed indices are
//! copied as a whole, and what is only moved goes from memory to memory.

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
        let size = arg.size as usize;
        // SAFETY: the plan orders instructions, so the argument's ran before, a lane for each row. The
        // register is a tile of this thread's frame, and liveness gave the argument another.
        let (values, out) = unsafe {
            let out = view_mut(frame.at(self.plan.regs[out as usize]), words(n, size));
            (self.value(frame, arg, rows), out)
        };
        each_row(row, first, start, n, |row, from, to| tile_io::spread_to(values, row, out, size, from..to));
    }

    /// Where the elements of each row begin, counted from where the map says, by the computed indices.
    ///
    /// # Safety
    /// The indices must have been computed for these rows. The slice may live until the frame's addresses are
    /// used next.
    unsafe fn row_offsets<'a>(
        &'a self,
        frame: &Frame,
        access: &Access,
        first: u64,
        rows: usize,
    ) -> &'a [i64] {
        // SAFETY: the caller guarantees that nobody uses the addresses while the slices live.
        let (offsets, positions) = unsafe { self.scratch(frame, rows) };
        for (at, d) in access.dynamic.iter().enumerate() {
            let from = (at == 0).then_some((&Lanes::Uniform, 0));
            // SAFETY: the caller guarantees that the indices were computed.
            unsafe { self.add_index(frame, d, (offsets, positions), from, first) };
        }
        offsets
    }

    /// Adds an index to addresses, or starts them with it, on top of what a map of their lanes gives.
    ///
    /// # Safety
    /// The index must have been computed for as many lanes as there are addresses.
    unsafe fn add_index(
        &self,
        frame: &Frame,
        d: &Dynamic,
        (addresses, positions): (&mut [i64], &mut [i64]),
        from: Option<(&Lanes, i64)>,
        start: u64,
    ) {
        let n = addresses.len();
        // SAFETY: the caller guarantees that the value was computed; addresses and positions, which are
        // written, are no values.
        let values = unsafe { self.value(frame, d.value, n) };
        let index = tile_io::Indices {
            values: &lanes::<i64>(values)[..n],
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
    /// Nobody may use what was there, nor the tiles otherwise while the slices live.
    #[allow(clippy::mut_from_ref)] // That is what the contract is about.
    unsafe fn scratch<'a>(&'a self, frame: &Frame, n: usize) -> (&'a mut [i64], &'a mut [i64]) {
        // SAFETY: two different tiles of this thread's frame, with room for a tile; the caller guarantees
        // that nothing else uses them.
        unsafe {
            let addresses = view_mut(frame.at(self.plan.addresses), n);
            let positions = view_mut(frame.at(self.plan.positions), n);
            (bytemuck::cast_slice_mut(addresses), bytemuck::cast_slice_mut(positions))
        }
    }

    /// Loads where computed indices are the same in each run of lanes.
    ///
    /// # Safety
    /// The indices must have been computed at these lanes. `out` must be writable for `n` lanes of the
    /// register dtype, in whole words, which are none of the frame's staging and which nobody else uses
    /// meanwhile.
    #[inline(never)]
    pub(super) unsafe fn load_runs(
        &self,
        frame: &Frame,
        access: &Access,
        out: *mut u64,
        start: u64,
        n: usize,
    ) {
        let dtype = access.touch.dtype;
        if !dtype.is_half() {
            // SAFETY: the caller guarantees indices and room; the register dtype of these is their own.
            return unsafe { self.copy_runs(frame, access, out.cast(), start, n) };
        }
        let staging = frame.at(self.plan.staging);
        // SAFETY: the caller guarantees the indices; staging has room for a tile of halves, and nothing else
        // refers to it. The caller guarantees `out`, which is elsewhere.
        let (from, to) = unsafe {
            self.copy_runs(frame, access, staging.cast(), start, n);
            (view_mut(staging, words(n, 2)), view_mut(out, words(n, 4)))
        };
        halves::widen(dtype, &lanes::<u16>(from)[..n], &mut lanes_mut::<f32>(to)[..n]);
    }

    /// Copies them as they are stored.
    ///
    /// # Safety
    /// The indices must have been computed at these lanes. `out` must be aligned and writable for `n` stored
    /// elements, which nobody else uses meanwhile.
    unsafe fn copy_runs(&self, frame: &Frame, access: &Access, out: *mut u8, start: u64, n: usize) {
        let size = access.touch.dtype.size();
        let from = self.bound.bases[access.touch.operand].cast_const();
        let (map, base) = (&access.map.lanes, access.map.base(&frame.coordinates));
        let copy = |lane: usize, at: i64, count: usize, step: i64| {
            // SAFETY: the address ranges were checked against the region; the caller guarantees room for `n`
            // lanes.
            unsafe {
                let from = from.offset(at as isize * size as isize);
                tile_io::copy_lanes(from, out.add(lane * size), size, count, step as isize);
            }
        };
        if let Runs::Rows(row) = access.runs {
            let (first, rows) = rows_of(row, start, n);
            // SAFETY: the caller guarantees the indices; the offsets are used up here.
            let offsets = unsafe { self.row_offsets(frame, access, first, rows) };
            return each_row(row, first, start, n, |at, from, to| {
                let run = |lane, first, count, step| copy(from + lane, first + offsets[at], count, step);
                map.runs(base, start + from as u64, to - from, run);
            });
        }
        let mut rows = [(&[][..], 0); MAX_RUN_INDICES];
        for (row, d) in rows.iter_mut().zip(&access.dynamic) {
            // SAFETY: the caller guarantees the indices; `out`, which is written, is nobody else's.
            let values = unsafe { self.value(frame, d.value, n) };
            *row = (&lanes::<i64>(values)[..n], d.map.base(&frame.coordinates));
        }
        map.runs(base, start, n, |lane, first, count, step| {
            let at = rows.iter().zip(&access.dynamic).fold(first, |at, ((values, position), d)| {
                let index = tile_io::wrapped(values[lane], d.wraps).wrapping_add(*position);
                at + index.min(d.extent - 1).max(0) * d.stride
            });
            copy(lane, at, count, step);
        });
    }

    /// Moves the lanes of a load to where a store wants them, if nothing else of the Nest touches that
    /// memory.
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
            let to = self.address(frame, store, start);
            frame.stored[through.store as usize] = true;
            // SAFETY: the plan orders instructions, so indices were computed; addresses are used up here. The
            // address ranges were checked against the regions, which do not overlap: the store is direct.
            unsafe { tile_io::gather_bits(from, self.lanes_of(frame, access, start, n), to, size, n) };
            return true;
        };
        frame.stored[through.store as usize] = true;
        let (base_from, base_to) = (access.map.base(&frame.coordinates), store.map.base(&frame.coordinates));
        let (row, offsets) = match access.runs {
            Runs::Rows(row) => {
                let (first, rows) = rows_of(row, start, n);
                // SAFETY: the plan orders instructions, so indices were computed; the offsets are used up
                // below.
                (row, unsafe { self.row_offsets(frame, access, first, rows) })
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
            // SAFETY: the address ranges were checked against the regions, which do not overlap: the store is
            // direct. There is an offset for each row, or none.
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
        // SAFETY: stores come after the phase's instructions, so the condition was computed; nothing is
        // written here.
        let when = unsafe { self.value(frame, when, n) };
        match store.outside {
            Some(extent) => tile_io::any_outside(&lanes::<i64>(when)[..n], extent),
            None => when[..n].iter().fold(0, |any, one| any | one) != 0,
        }
    }

    /// Bools that say in which lanes a store is made.
    ///
    /// # Safety
    /// As of [`Run::value`]; and nobody may use the frame's positions while the slice lives.
    pub(super) unsafe fn condition<'a>(
        &'a self,
        frame: &Frame,
        store: &StorePlan,
        when: Arg,
        n: usize,
    ) -> &'a [u8] {
        // SAFETY: the caller guarantees that the condition was computed, and is not written while the slice
        // lives.
        let given = unsafe { self.value(frame, when, n) };
        let Some(extent) = store.outside else { return given };
        // SAFETY: a tile of this thread's frame, no value's; the caller guarantees that nobody else uses it.
        let bools = unsafe { view_mut(frame.at(self.plan.positions).cast::<u8>(), n) };
        let found = bools.iter_mut().zip(&lanes::<i64>(given)[..n]);
        found.for_each(|(found, value)| *found = tile_io::is_outside(*value, extent).into());
        bools
    }

    /// The lanes that an access touches; computed addresses are clamped into their dimension.
    ///
    /// # Safety
    /// The indices must have been computed at these lanes. Nobody may use the frame's addresses while the
    /// result lives.
    pub(super) unsafe fn lanes_of<'a>(
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
        // SAFETY: the caller guarantees that nobody uses the addresses; positions are used up as soon as
        // there are addresses.
        let (addresses, positions) = unsafe { self.scratch(frame, n) };
        let mut from = Some((&access.map.lanes, base));
        for d in &access.dynamic {
            // SAFETY: the caller guarantees that the indices were computed.
            unsafe { self.add_index(frame, d, (addresses, positions), from.take(), start) };
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
    // Of a row's first and last lanes, and of those between, each row has a lane of its own in what is worked
    // out once.
    let rows = plan.width as u64 - 2;
    let most = phase.rows.as_ref().map_or(u64::MAX, |r| r.lanes.saturating_mul(rows));
    (stored && plan.side == Side::Grid && phase.body.iter().all(moved)).then_some(most)
}
