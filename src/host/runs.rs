//! Loads at computed indices that are the same in each run of lanes: whole rows are copied.

use super::exec::{Frame, Run};
use super::moves;
use super::plan::Access;
use crate::kernels::ops::lanes;

/// The most computed indices of such a load.
pub(super) const MAX_RUN_INDICES: usize = 4;

impl Run<'_> {
    /// Loads where computed indices are the same in each run of lanes.
    #[inline(never)]
    pub(super) fn load_runs(&self, frame: &Frame, access: &Access, out: *mut u64, start: u64, n: usize) {
        let size = access.touch.dtype.size();
        let from = self.bound.bases[access.touch.operand].cast_const();
        let mut rows = [(&[][..], 0, 0, 0); MAX_RUN_INDICES];
        for (row, d) in rows.iter_mut().zip(&access.dynamic) {
            let values = &lanes::<i64>(self.value(frame, d.value, n))[..n];
            *row = (values, d.map.base(&frame.coordinates), d.extent - 1, d.stride);
        }
        let rows = &rows[..access.dynamic.len()];
        access.map.lanes.runs(access.map.base(&frame.coordinates), start, n, |lane, first, count, step| {
            let at = rows.iter().fold(first, |at, &(values, position, last, stride)| {
                at + values[lane].wrapping_add(position).min(last).max(0) * stride
            });
            // SAFETY: the address ranges were checked against the region; the register is a tile of this frame.
            unsafe {
                let from = from.offset(at as isize * size as isize);
                moves::copy_lanes(from, out.cast::<u8>().add(lane * size), size, count, step as isize);
            }
        });
    }
}
