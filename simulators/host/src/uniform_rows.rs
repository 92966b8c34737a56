//! Rows of lanes: values that are uniform in a row are computed once per row, rows at computed indices are
//! copied as a whole, and loads that are only stored are copied from memory to memory.

use crate::affine::{LanePattern, Strides};
use crate::exec::{Frame, ThreadRun, view_mut};
use crate::plan::lane_rows::Through;
use crate::plan::{AccessPlan, Dynamic, PhasePlan, TileOperand};
use crate::strided_copy::StridedCopy;
use crate::tile_io;
use workalike_kernels::ops::lanes;

/// Rows of lanes in which the computed indices of a load are uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// None are known.
    Not,
    /// Rows of this many lanes. Each index has a value per lane.
    Lanes(u64),
    /// Rows of this many lanes. Each index has a value per row.
    Rows(u64),
}

/// The rows of some lanes: the first one, and the count.
fn rows_of(row: u64, start: u64, n: usize) -> (u64, usize) {
    let first = start / row;
    (first, ((start + n as u64).div_ceil(row) - first) as usize)
}

impl ThreadRun<'_> {
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
    pub(super) fn repeat(
        &self,
        frame: &Frame,
        phase: &PhasePlan,
        (arg, out): (TileOperand, u32),
        start: u64,
        n: usize,
    ) {
        let Some(rows) = &phase.rows else { return };
        let (first, count) = rows_of(rows.lanes, start, n);
        let size = arg.size as usize;
        let copy = StridedCopy { strides: &rows.broadcast, size, offsets: None, nontemporal: false };
        let out = frame.at(self.plan.regs[out as usize]).cast::<u8>();
        // SAFETY: the plan orders instructions, so the argument's ran before, with a lane per row. The
        // register is a tile of this thread's frame, and liveness gave the argument another. The strides
        // count rows and lanes from point 0.
        unsafe {
            let from = self.value(frame, arg, count).as_ptr().wrapping_sub(first as usize * size);
            copy.run(from, out.wrapping_sub(start as usize * size), start, n);
        }
    }

    /// Per row, the offset that the computed indices add to the map's address.
    ///
    /// # Safety
    /// The indices must have been computed, for these lanes or their rows. The slice may live until the next
    /// use of the frame's addresses.
    unsafe fn row_offsets<'a>(
        &'a self,
        frame: &Frame,
        access: &AccessPlan,
        row: u64,
        start: u64,
        n: usize,
    ) -> &'a [i64] {
        let (first, rows) = rows_of(row, start, n);
        // SAFETY: the caller guarantees that nothing uses the addresses while the slices live.
        let (offsets, positions) = unsafe { self.scratch(frame, rows) };
        offsets.fill(0);
        for d in &access.dynamic {
            if let Runs::Rows(_) = access.runs {
                // SAFETY: the caller guarantees that the indices were computed for these rows.
                unsafe { self.add_index(frame, d, (offsets, positions), first) };
                continue;
            }
            // SAFETY: the caller guarantees that the indices were computed for these lanes; positions, which
            // are written, overlap no value.
            let values = lanes::<i64>(unsafe { self.value(frame, d.value, n) });
            for (at, value) in positions.iter_mut().enumerate() {
                *value = values[((first + at as u64) * row).saturating_sub(start) as usize];
            }
            d.add_to(offsets, positions, (d.wraps, d.map.base(&frame.coordinates)));
        }
        offsets
    }

    /// Adds the addresses of an index to those of as many lanes from `start` on. Overwrites `positions`.
    ///
    /// # Safety
    /// The index must have been computed for these lanes.
    unsafe fn add_index(
        &self,
        frame: &Frame,
        d: &Dynamic,
        (addresses, positions): (&mut [i64], &mut [i64]),
        start: u64,
    ) {
        let n = addresses.len();
        // SAFETY: the caller guarantees that the value was computed; addresses and positions, which are
        // written, overlap no value.
        let values = &lanes::<i64>(unsafe { self.value(frame, d.value, n) })[..n];
        let position = d.map.base(&frame.coordinates);
        if d.map.lanes == LanePattern::Uniform {
            return d.add_to(addresses, values, (d.wraps, position));
        }
        tile_io::iota(&d.map.lanes, position, start, n, positions);
        for (position, value) in positions.iter_mut().zip(values) {
            *position = position.wrapping_add(tile_io::wrapped(*value, d.wraps));
        }
        d.add_to(addresses, positions, (0, 0));
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

    /// The addresses of an access; computed indices are clamped into their dimension.
    ///
    /// # Safety
    /// The indices must have been computed at these lanes, at most a tile. Nothing may use the frame's
    /// addresses while the slice lives.
    pub(super) unsafe fn addresses<'a>(
        &'a self,
        frame: &Frame,
        access: &AccessPlan,
        start: u64,
        n: usize,
    ) -> &'a [i64] {
        // SAFETY: the caller guarantees that nothing uses the addresses; positions are unused once there are
        // addresses.
        let (addresses, positions) = unsafe { self.scratch(frame, n) };
        tile_io::iota(&access.map.lanes, access.map.base(&frame.coordinates), start, n, addresses);
        for d in &access.dynamic {
            // SAFETY: the caller guarantees that the indices were computed.
            unsafe { self.add_index(frame, d, (addresses, positions), start) };
        }
        addresses
    }

    /// Copies the elements of a load, in their stored form, to where the second of `strides` says, from `to`
    /// on.
    ///
    /// # Safety
    /// The indices of the load must have been computed and be uniform in its rows. The elements at the target
    /// must be aligned, writable and outside of the load's operand and the frame's addresses; no other thread
    /// may use them.
    pub(super) unsafe fn copy_load(
        &self,
        frame: &Frame,
        access: &AccessPlan,
        (strides, to): (&Strides, *mut u8),
        nontemporal: bool,
        (start, n): (u64, usize),
    ) {
        let size = access.touch.dtype.size();
        let base = access.map.base(&frame.coordinates) as isize * size as isize;
        let from = self.bound.bases[access.touch.operand].cast_const().wrapping_offset(base);
        let offsets = match access.runs {
            Runs::Not => None,
            Runs::Lanes(row) | Runs::Rows(row) => {
                // SAFETY: the caller guarantees the indices; the offsets are used up below.
                Some((row, unsafe { self.row_offsets(frame, access, row, start, n) }))
            }
        };
        // SAFETY: `bind` checked the address range of the load against its region, and indices are clamped.
        // The caller guarantees the target. The plan keeps rows apart in the strides of a load with rows.
        unsafe { StridedCopy { strides, size, offsets, nontemporal }.run(from, to, start, n) };
    }

    /// Copies the lanes of a load to the target of a store, if no other access of the Nest touches that
    /// memory.
    pub(super) fn through(
        &self,
        frame: &mut Frame,
        access: &AccessPlan,
        through: &Through,
        (start, n): (u64, usize),
    ) -> bool {
        let id = self.plan.phases[access.phase].stores[through.store as usize].access as usize;
        let store = &self.plan.accesses[id];
        let (from, to) = (self.bound.bases[access.touch.operand], self.bound.bases[store.touch.operand]);
        if !self.bound.direct[id] || from.is_null() || to.is_null() {
            return false;
        }
        frame.stored[through.store as usize] = true;
        let base = store.map.base(&frame.coordinates) as isize * store.touch.dtype.size() as isize;
        let target = (&through.strides, to.wrapping_offset(base));
        // SAFETY: the plan orders instructions, so indices were computed. `bind` checked the address range of
        // the store against its region; it is direct, so no other access touches that memory.
        unsafe { self.copy_load(frame, access, target, self.bound.hinted[id], (start, n)) };
        true
    }
}
