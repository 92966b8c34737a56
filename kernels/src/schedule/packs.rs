//! Packs: a few neighbouring points along the contiguous axis, which one item of a GPU computes together.
//!
//! Neighbouring elements in memory are moved as one vector of up to 16 bytes. A vector has to be aligned to
//! its size: an operand starts at a multiple of 16 bytes (see [`Entry`](crate::print::Entry)), and an address
//! is taken as aligned if every part of it is.

use super::access::{Address, Walk, phase_addresses, varies};
use crate::nest::{Nest, PhaseKind};

/// The largest vector that devices move at once, in bytes.
const VECTOR: u64 = 16;

/// If an address is contiguous along an axis: the number of elements to which it is aligned.
pub(crate) fn aligned_to(address: &Address, axis: usize, varies: &[bool]) -> Option<u64> {
    if address.steps[axis] != 1 || address.dynamic.iter().any(|&(value, _)| varies[value as usize]) {
        return None;
    }
    let others = address.steps.iter().enumerate().filter(|&(at, _)| at != axis).map(|(_, step)| *step);
    let parts = others.chain([address.base]).chain(address.dynamic.iter().map(|d| d.1));
    Some(1 << parts.filter(|&p| p != 0).map(|p| p.trailing_zeros()).min().unwrap_or(4).min(4))
}

/// Points in a pack along the last of `along` (the grid's or the inner walks): the widest operand fills a
/// vector; 1 if there are no vectors. The width divides the walk's extent, unless `rest` is true and there is
/// only one walk.
pub(crate) fn width(nest: &Nest, along: &[Walk], inner: bool, rest: bool) -> u32 {
    let Some(last) = along.last() else { return 1 };
    let (mut size, mut aligned) = (0, VECTOR);
    for phase in nest.phases.iter().filter(|p| !inner || p.kind != PhaseKind::Point) {
        let varies = varies(nest, phase, &[last.axis], !inner);
        for (operand, address) in phase_addresses(nest, phase) {
            let moves = address.dynamic.iter().any(|&(value, _)| varies[value as usize]);
            match aligned_to(&address, last.axis, &varies) {
                Some(to) => {
                    aligned = aligned.min(to);
                    size = size.max(nest.operands[operand].dtype.size() as u64);
                }
                // Neighbouring points are far apart in memory: different items should load them.
                None if !moves && address.steps[last.axis] != 0 => return 1,
                None => {}
            }
        }
    }
    let mut width = VECTOR.checked_div(size).unwrap_or(1).min(aligned);
    let tiles = |width| last.extent.is_multiple_of(width) || rest && along.len() == 1 && last.extent >= width;
    while !tiles(width) {
        width /= 2;
    }
    width as u32
}
