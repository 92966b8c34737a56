//! Rows of lanes: values that are uniform in a row are computed once, rows at computed indices are copied as
//! a whole, and loads that are only stored are copied from memory to memory.

use super::affine::Lanes;
use super::exec::{Frame, Run, view_mut, words};
use super::halves;
use super::plan::levels::Through;
use super::plan::{Access, Arg, Dynamic, PhasePlan, Plan, Side, StorePlan, Work};
use super::strided_copy::Rectangles;
use super::tile_io::{self, Where};
use workalike_kernels::ops::{lanes, lanes_mut};

/// The most computed indices of a load that is copied in runs.
pub(super) const MAX_RUN_INDICES: usize = 4;

/// Runs of lanes in which the computed indices of a load are uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// None are known.
    Not,
    /// The runs of its map. Each index has a value per lane.
    Lanes,
    /// Rows of this many lanes. Each index has a value per row.
    Rows(u64),
}

/// The rows of some lanes: the first one, and the count.
fn rows_of(lanes: u64, start: u64, n: usize) -> (u64, usize) {
    let first = start / lanes;
    (first, ((start + n as u64 - 1) / lanes - first) as usize + 1)
}

impl Run<'_> {
    /// Runs a Point phase at lanes `start..start + n`.
    pub(super) fn point(&self, frame: &mut Frame, phase: &PhasePlan, start: u64, n: usize) {
        if let Some(rows) = &phase.rows {
            let (first, rows) = rows_of(rows.lanes, start, n);
            self.work(frame, phase, &phase.before, first, rows);
            self.stores(frame, phase, first, rows, true);
        }
        self.work(frame, phase, &phase.body, start, n);
        self.stores(frame, phase, start, n, false);
    }

    /// Broadcasts the value of each row to its lanes.
    pub(super) fn repeat(&self, frame: &Frame, row: u64, (arg, out): (Arg, u32), start: u64, n: usize) {
        let (first, rows) = rows_of(row, start, n);
        let size = arg.size as usize;
        // SAFETY: the plan orders instructions, so the argument's ran before, with a lane per row. The
        // register is a tile of this thread's frame, and liveness gave the argument another.
        let (values, out) = unsafe {
            let out = view_mut(frame.at(self.plan.regs[out as usize]), words(n, size));
            (self.value(frame, arg, rows), out)
        };
        each_row(row, first, start, n, |row, from, to| {
            tile_io::broadcast_to(values, row, out, size, from..to)
        });
    }

    /// Per row, the offset that the computed indices add to the map's address.
    ///
    /// # Safety
    /// The indices must have been computed for these rows. The slice may live until the next use of the
    /// frame's addresses.
    unsafe fn row_offsets<'a>(
        &'a self,
        frame: &Frame,
        access: &Access,
        first: u64,
        rows: usize,
    ) -> &'a [i64] {
        // SAFETY: the caller guarantees that nothing uses the addresses while the slices live.
        let (offsets, positions) = unsafe { self.scratch(frame, rows) };
        for (at, d) in access.dynamic.iter().enumerate() {
            let from = (at == 0).then_some((&Lanes::Uniform, 0));
            // SAFETY: the caller guarantees that the indices were computed.
            unsafe { self.add_index(frame, d, (offsets, positions), from, first) };
        }
        offsets
    }

    /// Adds an index to addresses, or writes them from it and a map of their lanes.
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
        // written, overlap no value.
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
    /// Nothing may use the previous content, or refer to these tiles while the slices live.
    #[allow(clippy::mut_from_ref)] // The caller guarantees exclusive use.
    unsafe fn scratch<'a>(&'a self, frame: &Frame, n: usize) -> (&'a mut [i64], &'a mut [i64]) {
        // SAFETY: two different tiles of this thread's frame, with room for a tile; the caller guarantees
        // that nothing else uses them.
        unsafe {
            let addresses = view_mut(frame.at(self.plan.addresses), n);
            let positions = view_mut(frame.at(self.plan.positions), n);
            (bytemuck::cast_slice_mut(addresses), bytemuck::cast_slice_mut(positions))
        }
    }

    /// Loads elements whose computed indices are uniform in each run of lanes.
    ///
    /// # Safety
    /// The indices must have been computed at these lanes. `out` must be writable for `n` lanes of the
    /// register dtype, in whole words, outside of the frame's staging. No other thread may use it.
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
            // SAFETY: the caller guarantees indices and room; memory holds this dtype in its register form.
            return unsafe { self.copy_runs(frame, access, out.cast(), start, n) };
        }
        let staging = frame.at(self.plan.staging);
        // SAFETY: the caller guarantees the indices; staging has room for a tile of halves, and nothing else
        // refers to it. The caller guarantees `out`, which is not in staging.
        let (from, to) = unsafe {
            self.copy_runs(frame, access, staging.cast(), start, n);
            (view_mut(staging, words(n, 2)), view_mut(out, words(n, 4)))
        };
        halves::widen(dtype, &lanes::<u16>(from)[..n], &mut lanes_mut::<f32>(to)[..n]);
    }

    /// Copies such elements in their stored form.
    ///
    /// # Safety
    /// The indices must have been computed at these lanes. `out` must be aligned and writable for `n` stored
    /// elements, and no other thread may use it.
    unsafe fn copy_runs(&self, frame: &Frame, access: &Access, out: *mut u8, start: u64, n: usize) {
        let size = access.touch.dtype.size();
        let from = self.bound.bases[access.touch.operand].cast_const();
        let (map, base) = (&access.map.lanes, access.map.base(&frame.coordinates));
        let copy = |lane: usize, at: i64, count: usize, step: i64| {
            // SAFETY: `bind` checked the address ranges against the region; the caller guarantees room for
            // `n` lanes.
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
            // SAFETY: the caller guarantees the indices; `out`, which is written, overlaps no value.
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

    /// Copies the lanes of a load to the target of a store, if no other access of the Nest touches that
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
            // An index with a value per row has none per lane.
            let by_row = matches!(access.runs, Runs::Rows(_));
            if by_row || store.map.lanes != Lanes::Line(1) || self.bound.hinted[id] {
                return false;
            }
            let to = self.address(frame, store, start);
            frame.stored[through.store as usize] = true;
            // SAFETY: the plan orders instructions, so indices were computed; the addresses are used up here.
            // `bind` checked the address ranges against the regions, which do not overlap: the store is
            // direct.
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
        let memory = Rectangles { size, step, by_row, nontemporal: self.bound.hinted[id] };
        pair.rectangles(start, n, |r| {
            let at = match row {
                u64::MAX => 0,
                row => ((start + r.lane as u64) / row - start / row) as usize,
            };
            // If a row has several axes, a rectangle lies within one row.
            let each = if row < u64::MAX && pair.plain { &offsets[at..at + r.rows] } else { &[][..] };
            let first = if each.is_empty() { offsets[at] } else { 0 };
            // SAFETY: `bind` checked the address ranges against the regions, which do not overlap: the store
            // is direct. There is an offset per row, or none.
            unsafe {
                let from = from.offset((base_from + r.at.0 + first) as isize * size as isize).cast_const();
                let to = to.offset((base_to + r.at.1) as isize * size as isize);
                memory.copy(from, to, (r.rows, r.columns), each);
            }
        });
        true
    }

    /// Whether a conditional store writes any lane.
    pub(super) fn any(&self, frame: &Frame, store: &StorePlan, when: Arg, n: usize) -> bool {
        // SAFETY: stores come after the phase's instructions, so the condition was computed; nothing is
        // written while the slice lives.
        let when = unsafe { self.value(frame, when, n) };
        match store.outside {
            Some(extent) => tile_io::any_outside(&lanes::<i64>(when)[..n], extent),
            None => when[..n].iter().fold(0, |any, one| any | one) != 0,
        }
    }

    /// Bools: the lanes that a conditional store writes.
    ///
    /// # Safety
    /// Same as [`Run::value`]; and nothing may use the frame's positions while the slice lives.
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
        // SAFETY: a tile of this thread's frame that holds no value; the caller guarantees that nothing else
        // uses it.
        let bools = unsafe { view_mut(frame.at(self.plan.positions).cast::<u8>(), n) };
        let found = bools.iter_mut().zip(&lanes::<i64>(given)[..n]);
        found.for_each(|(found, value)| *found = tile_io::is_outside(*value, extent).into());
        bools
    }

    /// The lanes that an access touches; computed addresses are clamped into their dimension.
    ///
    /// # Safety
    /// The indices must have been computed at these lanes. Nothing may use the frame's addresses while the
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
        // SAFETY: the caller guarantees that nothing uses the addresses; positions are unused once there are
        // addresses.
        let (addresses, positions) = unsafe { self.scratch(frame, n) };
        let mut from = Some((&access.map.lanes, base));
        for d in &access.dynamic {
            // SAFETY: the caller guarantees that the indices were computed.
            unsafe { self.add_index(frame, d, (addresses, positions), from.take(), start) };
        }
        Where::Each(addresses)
    }
}

/// Calls `then(row, from, to)` for the lanes of each row, counted from `start`; rows are counted from
/// `first`.
fn each_row(row: u64, first: u64, start: u64, n: usize, mut then: impl FnMut(usize, usize, usize)) {
    let (mut at, mut from) = (0, 0);
    let mut left = ((first + 1).saturating_mul(row) - start).min(n as u64) as usize;
    while from < n {
        then(at, from, from + left);
        (at, from) = (at + 1, from + left);
        left = row.min((n - from) as u64) as usize;
    }
}

/// The most lanes of a run of a Nest that only copies memory to memory; `None` for other Nests.
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
    // The values computed once per row have a lane for each row of a tile, which may begin and end within a
    // row.
    let rows = plan.width as u64 - 2;
    let most = phase.rows.as_ref().map_or(u64::MAX, |r| r.lanes.saturating_mul(rows));
    (stored && plan.side == Side::Grid && phase.body.iter().all(moved)).then_some(most)
}
