//! Loads and stores of tiles.

use super::super::cache_hints;
use super::super::chain::UNIFORM;
use super::super::plan::{AccessPlan, PhasePlan};
use super::super::tile_io;
use super::{Frame, ThreadRun};

impl ThreadRun<'_> {
    /// The address of the first lane of a contiguous access.
    pub(crate) fn address(&self, frame: &Frame, access: &AccessPlan, start: u64) -> *mut u8 {
        let base = self.bound.bases[access.touch.operand];
        if base.is_null() {
            let (product, first) = self.product;
            return product.cast_mut().wrapping_add((start - first) as usize * access.touch.dtype.size());
        }
        let element = access.map.base(&frame.coordinates) + start as i64;
        base.wrapping_offset(element as isize * access.touch.dtype.size() as isize)
    }

    /// Loads the lanes of an access, or finds them in memory.
    pub(super) fn load(&self, frame: &mut Frame, id: u32, start: u64, n: usize) {
        let access = &self.plan.accesses[id as usize];
        if access.through.as_ref().is_some_and(|through| self.through(frame, access, through, (start, n))) {
            return;
        }
        let base = self.bound.bases[access.touch.operand].cast_const();
        let line = match base.is_null() || !access.dynamic.is_empty() {
            true => None,
            false => access.map.lanes.line(start, n),
        };
        let element = |value: i64| {
            let element = access.map.base(&frame.coordinates) + value;
            base.wrapping_offset(element as isize * access.touch.dtype.size() as isize)
        };
        let few = access.few && matches!(line, Some((_, 0)));
        let n = if few { n.min(UNIFORM) } else { n };
        frame.uniform[id as usize] = few;
        let at = match line {
            Some((value, 1)) if self.bound.direct[id as usize] => {
                let at = element(value);
                if self.bound.hinted[id as usize] && n <= self.plan.width {
                    cache_hints::prefetch_next(at, n * access.touch.dtype.size());
                }
                at
            }
            // SAFETY: `bind` checked the address range against the region, which the recording locks.
            Some((value, 0)) => unsafe { self.load_uniform(frame, access, element(value), n) },
            _ if base.is_null() && self.bound.direct[id as usize] => {
                self.address(frame, access, start).cast_const()
            }
            _ => self.load_tile(frame, access, start, n),
        };
        frame.loads[id as usize] = at;
    }

    /// Runs the stores of a phase at lanes `start..start + n`: those done once per row if `once`, else the
    /// others.
    pub(crate) fn stores(&self, frame: &mut Frame, phase: &PhasePlan, start: u64, n: usize, once: bool) {
        for (position, store) in phase.stores.iter().enumerate() {
            if store.once != once || std::mem::take(&mut frame.stored[position]) {
                continue;
            }
            let access = &self.plan.accesses[store.access as usize];
            if self.bound.hinted[store.access as usize] && store.when.is_none() {
                let (to, bytes) = (self.address(frame, access, start), n * access.touch.dtype.size());
                // SAFETY: the phase's instructions ran at these lanes. `to` are contiguous elements of the
                // operand, whose range `bind` checked; no other access of this Nest touches it.
                unsafe {
                    let from = self.value(frame, store.value, n).as_ptr().cast();
                    cache_hints::copy_nontemporal(from, to, bytes);
                }
                continue;
            }
            if let Some(when) = store.when {
                // Conditional stores are mostly error reports, and there is rarely an error.
                if !self.any(frame, store, when, n) {
                    continue;
                }
                if let Some(report) = &self.bound.reports[store.access as usize] {
                    let base = self.bound.bases[access.touch.operand].cast::<i64>();
                    let word = base.wrapping_offset(access.touch.affine.offset as isize);
                    // SAFETY: `bind` checked its range; this Nest touches it only through `report`.
                    unsafe { tile_io::report(word, report.number, &report.above) };
                    continue;
                }
            }
            // SAFETY: the phase's instructions ran at these lanes, at most a tile. Addresses and value are
            // used up by the update; `bind` checked its address range against the region, and threads share
            // no phase with updates.
            unsafe {
                match store.update {
                    Some(update) => {
                        let at = self.addresses(frame, access, start, n);
                        let value = self.value(frame, store.value, n);
                        update(self.bound.bases[access.touch.operand], at, value, n);
                    }
                    None => self.store_tile(frame, store, start, n),
                }
            }
        }
    }
}
