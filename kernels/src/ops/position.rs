//! Host loops of index modes.

use super::host_loops::{TileFn, lanes, lanes_mut, tile};
use crate::nest::IndexMode;

/// The loop that gives [`IndexMode::position`] of each lane. It takes the integers and the extents, both i64.
pub fn position(mode: IndexMode) -> TileFn {
    let tiles = match mode {
        IndexMode::Clamp => tile!(i64 => i64; |at, extent| at.min(extent - 1).max(0)),
        IndexMode::Wrap => tile!(i64 => i64; |at, extent| at.checked_rem_euclid(extent).unwrap_or(0)),
        IndexMode::FromEnd | IndexMode::Report { .. } => {
            tile!(i64 => i64; |at, extent| (at + ((at >> 63) & extent)).min(extent - 1).max(0))
        }
    };
    tiles.fast
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_agree_with_the_definition() {
        let integers = [i64::MIN, -7, -6, -5, -1, 0, 1, 4, 5, 6, i64::MAX];
        for extent in [0u64, 1, 5, 6] {
            for mode in [
                IndexMode::Clamp,
                IndexMode::Wrap,
                IndexMode::FromEnd,
                IndexMode::Report { status: 0, node: 1 },
            ] {
                let extents = [extent as i64; 11];
                let mut out = [0i64; 11];
                let args: [&[u8]; 2] = [bytemuck::cast_slice(&integers), bytemuck::cast_slice(&extents)];
                position(mode)(&args, bytemuck::cast_slice_mut(&mut out), integers.len());
                assert_eq!(out, integers.map(|at| mode.position(at, extent)), "{mode:?} of {extent}");
            }
        }
    }
}
