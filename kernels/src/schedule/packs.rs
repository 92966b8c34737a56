//! Packs: a few neighbouring points along the contiguous axis, which one item of a GPU computes together.
//!
//! Neighbouring elements in memory are moved as one vector of up to 16 bytes. A vector has to be aligned to
//! its size: an operand starts at a multiple of 16 bytes (see [`Entry`](crate::print::Entry)), and an address
//! is taken as aligned if every part of it is.
//!
//! What a pack loads may begin within a vector, as the neighbours in a stencil do, or lie a few elements
//! apart, as the channels of a pixel do. Then the pack loads all the vectors that hold its elements, and
//! picks these from registers. Loads that share a vector load it once.

use super::access::{Address, Walk, phase_addresses, span, varies};
use crate::nest::{Inst, Nest, Phase, PhaseKind};
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// The largest vector that devices move at once, in bytes.
const VECTOR: u64 = 16;
/// The largest distance of a pack's neighbours that are picked from vectors, in elements.
const APART: u64 = 4;
/// Most bytes of vectors from which one item picks: half of its registers.
const PICKED: u64 = 512;

/// If an address is contiguous along an axis: the number of elements to which it is aligned.
pub(crate) fn aligned_to(address: &Address, axis: usize, varies: &[bool]) -> Option<u64> {
    if address.steps[axis] != 1 {
        return None;
    }
    let base = if address.base == 0 { u64::MAX } else { 1 << address.base.trailing_zeros().min(4) };
    Some(others_aligned_to(address, axis, varies)?.min(base))
}

/// The number of elements to which an address is aligned, but for its base and what moves it along an axis.
/// `None` if a computed part does.
fn others_aligned_to(address: &Address, axis: usize, varies: &[bool]) -> Option<u64> {
    if address.dynamic.iter().any(|&(value, _)| varies[value as usize]) {
        return None;
    }
    let others = address.steps.iter().enumerate().filter(|&(at, _)| at != axis).map(|(_, step)| *step);
    let parts = others.chain(address.dynamic.iter().map(|d| d.1)).filter(|&p| p != 0);
    Some(1 << parts.map(|p| p.trailing_zeros()).min().unwrap_or(4).min(4))
}

/// The elements of one load of a pack, in aligned vectors. Vectors are counted from the address of the pack's
/// first point without its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Picked {
    /// The place of the first point's element, in elements.
    pub(crate) first: i64,
    /// Elements from one point to the next.
    pub(crate) step: i64,
}

impl Picked {
    /// How a pack of `width` points along an axis loads an operand. `None` if it does not by vectors.
    pub(crate) fn of(
        address: &Address,
        axis: usize,
        varies: &[bool],
        (nest, operand): (&Nest, usize),
        width: u64,
    ) -> Option<Picked> {
        let step = address.steps[axis];
        if step == 0 || step.unsigned_abs() > APART || others_aligned_to(address, axis, varies)? < width {
            return None;
        }
        let picked = Picked { first: address.base, step };
        let whole = step == 1 && address.base.rem_euclid(width as i64) == 0;
        (whole || ends_in_operand(address, nest, operand, width)).then_some(picked)
    }

    /// The vectors of `width` elements from the first to the last that hold the elements of that many points.
    pub(crate) fn vectors(self, width: u32) -> RangeInclusive<i64> {
        let (width, last) = (i64::from(width), self.first + self.step * i64::from(width - 1));
        self.first.min(last).div_euclid(width)..=self.first.max(last).div_euclid(width)
    }
}

/// Whether the vector that holds the last element which an address reaches is within the operand.
fn ends_in_operand(address: &Address, nest: &Nest, operand: usize, width: u64) -> bool {
    let elements = i128::from(span(nest, operand));
    let last = if address.dynamic.is_empty() {
        let moved = address.steps.iter().zip(&nest.axes);
        let ends =
            moved.map(|(&step, &extent)| i128::from(step.max(0)) * i128::from(extent.saturating_sub(1)));
        ends.sum::<i128>() + i128::from(address.base)
    } else {
        elements - 1
    };
    let ascending = nest.operands[operand].strides.iter().all(|&stride| stride >= 0);
    ascending && (last.div_euclid(width.into()) + 1) * i128::from(width) <= elements
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
    let phases: Vec<(&Phase, Vec<bool>)> = nest
        .phases
        .iter()
        .filter(|phase| !inner || phase.kind != PhaseKind::Point)
        .map(|phase| (phase, varies(nest, phase, &[last.axis], !inner)))
        .collect();
    let (mut size, mut aligned) = (0, VECTOR);
    for (phase, varies) in &phases {
        for (operand, address, loaded) in accesses(nest, phase) {
            let step = address.steps[last.axis];
            let to = if loaded && step != 0 && step.unsigned_abs() <= APART {
                others_aligned_to(&address, last.axis, varies)
            } else {
                aligned_to(&address, last.axis, varies)
            };
            let moves = address.dynamic.iter().any(|&(value, _)| varies[value as usize]);
            match to {
                Some(to) => {
                    aligned = aligned.min(to);
                    size = size.max(nest.operands[operand].dtype.size() as u64);
                }
                // Neighbouring points are far apart in memory: different items should load them.
                None if !moves && step != 0 => return 1,
                None => {}
            }
        }
    }
    let mut width = VECTOR.checked_div(size).unwrap_or(1).min(aligned);
    let tiles = |width| last.extent.is_multiple_of(width) || rest && along.len() == 1 && last.extent >= width;
    let fits = |width| phases.iter().all(|(phase, varies)| can_pick(nest, phase, varies, last.axis, width));
    while width > 1 && !(tiles(width) && fits(width)) {
        width /= 2;
    }
    width as u32
}

/// Whether packs of a width can pick what a phase loads from few enough vectors.
fn can_pick(nest: &Nest, phase: &Phase, varies: &[bool], axis: usize, width: u64) -> bool {
    let mut vectors = HashSet::new();
    let mut bytes = 0;
    for (operand, address, _) in accesses(nest, phase).filter(|access| access.2) {
        let moves = address.dynamic.iter().any(|&(value, _)| varies[value as usize]);
        if moves || address.steps[axis] == 0 {
            continue;
        }
        let Some(picked) = Picked::of(&address, axis, varies, (nest, operand), width) else { return false };
        if picked.step == 1 && picked.first.rem_euclid(width as i64) == 0 {
            continue;
        }
        for vector in picked.vectors(width as u32) {
            let of = Address { base: 0, ..address.clone() };
            if vectors.insert((operand, of.steps, of.dynamic, vector)) {
                bytes += width * nest.operands[operand].dtype.size() as u64;
            }
        }
    }
    bytes <= PICKED
}

/// The addresses of a phase with their operands, and whether they are loaded from rather than stored to.
fn accesses(nest: &Nest, phase: &Phase) -> impl Iterator<Item = (usize, Address, bool)> {
    let loads = phase.block.insts.iter().filter(|inst| matches!(inst, Inst::Load { .. })).count();
    let all = phase_addresses(nest, phase).into_iter().enumerate();
    all.map(move |(at, (operand, address))| (operand, address, at < loads))
}

#[cfg(test)]
mod tests;
