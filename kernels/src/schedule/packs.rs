//! Packs: a few neighbouring points along the contiguous axis, which one item of a GPU computes together.
//!
//! Neighbouring elements in memory are moved as one vector of up to 16 bytes. A vector has to be aligned to
//! its size: an operand starts at a multiple of 16 bytes (see [`Entry`](crate::print::Entry)), and an address
//! is taken as aligned if every part of it is.

use super::access::{Address, Walk, phase_addresses, varies};
use crate::nest::{Nest, Phase, PhaseKind};

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

/// The stores of a phase, at one point, that are to neighbouring elements and move as one vector: lists of
/// positions in the phase's stores, in the order of their addresses. So are the elements of a stack along a
/// last axis.
pub(crate) fn store_runs(nest: &Nest, phase: &Phase) -> Vec<Vec<usize>> {
    let mut runs = Vec::new();
    for operand in 0..nest.operands.len() {
        let stores = phase.stores.iter().enumerate().filter(|(_, store)| store.operand == operand);
        if stores.clone().count() < 2 || stores.clone().any(|(_, s)| s.add || s.when.is_some()) {
            continue;
        }
        let mut places: Vec<(Address, usize)> =
            stores.map(|(at, store)| (Address::new(nest, operand, &store.index), at)).collect();
        places.sort_by_key(|(address, _)| address.base);
        let (first, rest) = (&places[0].0, places.windows(2));
        let ascend = rest.clone().all(|pair| pair[0].0.base < pair[1].0.base);
        let alike = places.iter().all(|(a, _)| a.steps == first.steps && a.dynamic == first.dynamic);
        if ascend && alike {
            runs.extend(neighbours(&places, nest.operands[operand].dtype.size() as u64));
        }
    }
    runs
}

/// Vectors of neighbouring places, as wide as they are aligned.
fn neighbours(places: &[(Address, usize)], size: u64) -> Vec<Vec<usize>> {
    let mut runs = Vec::new();
    let mut start = 0;
    while let Some((first, _)) = places.get(start) {
        let parts = first.steps.iter().copied().chain(first.dynamic.iter().map(|d| d.1)).chain([first.base]);
        let aligned = parts.filter(|&p| p != 0).map(|p| p.trailing_zeros()).min().unwrap_or(4).min(4);
        let next = |(at, (address, _)): (usize, &(Address, usize))| address.base == first.base + at as i64;
        let beside = places[start..].iter().enumerate().take_while(|&place| next(place)).count();
        let mut width = (VECTOR / size).min(1 << aligned) as usize;
        while width > beside {
            width /= 2;
        }
        if width > 1 {
            runs.push(places[start..start + width].iter().map(|&(_, at)| at).collect());
        }
        start += width.max(1);
    }
    runs
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
