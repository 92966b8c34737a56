//! Parts of assembled arrays, as buffers of their own while steps are joined.
//!
//! Joins, rolls and updates of slices write an array part by part, in steps whose order matters as long as
//! they write one buffer. [`split`] gives each part a buffer, so that the passes between it and [`unite`] see
//! maps and reductions like any others: a stack of nine directions becomes one launch, and each row of an
//! unrolled recurrence is stored where it belongs. [`AssemblyOp`], a library op that no device is asked for,
//! stands for the array meanwhile: it keeps readers of the whole behind the writers of its parts.

use super::edit::share_operands;
use super::piecewise::is_update_in_place;
use crate::engine::dependences::Dependences;
use crate::lower::dead_code::tidy;
use crate::lower::program::{BufferId, LibraryStep, Program, Role, Step};
use std::collections::HashMap;
use std::sync::Arc;
use workalike_kernels::DType;
use workalike_kernels::library::{LibraryError, LibraryOp};
use workalike_kernels::nest::{Index, Inst, Nest, Operand, PhaseKind, Store};

/// An array with more parts than this is left alone: they are compared with each other.
const MAX_PARTS: usize = 256;

/// Parts that have buffers of their own.
#[must_use]
pub(super) struct PartBuffers {
    places: HashMap<BufferId, PartPosition>,
}

/// Where a part lies in its array.
#[derive(Clone)]
struct PartPosition {
    whole: BufferId,
    /// The extents of the array as its writers see it.
    shape: Vec<u64>,
    /// The element of the array, by the part's own dimensions in place of axes.
    index: Vec<Index>,
}

/// An array that is made of the parts that it reads.
#[derive(Debug)]
struct AssemblyOp {
    dtype: DType,
    parts: Vec<Vec<u64>>,
    whole: Vec<u64>,
}

impl LibraryOp for AssemblyOp {
    fn name(&self) -> String {
        "assembly".into()
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn extents(&self) -> Vec<u64> {
        self.whole.clone()
    }

    fn operands(&self) -> Vec<Operand> {
        let part = |shape: &Vec<u64>| Operand::contiguous(self.dtype, shape, false);
        let whole = Operand::contiguous(self.dtype, &self.whole, true);
        self.parts.iter().map(part).chain([whole]).collect()
    }

    fn verify(&self) -> Result<(), LibraryError> {
        Ok(())
    }

    fn flops(&self) -> f64 {
        0.0
    }

    /// Nothing: the parts lie where they belong.
    fn touched(&self, _: &Operand) -> u64 {
        0
    }
}

/// Gives a buffer to each part of the arrays that steps assemble from disjoint parts.
pub(super) fn split(program: &mut Program) -> PartBuffers {
    let mut parts = PartBuffers { places: HashMap::new() };
    let assembled = |&b: &BufferId| program.buffers[b].mutable && program.buffers[b].role == Role::Temp;
    let arrays: Vec<BufferId> = (0..program.buffers.len()).filter(assembled).collect();
    if arrays.is_empty() {
        return parts;
    }
    let uses = Dependences::of(program);
    // Assemblies, by the position of the step that completes them.
    let mut complete: HashMap<usize, Vec<Step>> = HashMap::new();
    for whole in arrays {
        let Some(places) = places_of(program, &uses, whole) else { continue };
        let Some(&last) = uses.writers[whole].last() else { continue };
        let made: Vec<BufferId> =
            places.into_iter().map(|(at, place)| parts.take(program, at, place)).collect();
        complete.entry(last).or_default().push(assembly(program, whole, &made));
    }
    if !complete.is_empty() {
        let steps = std::mem::take(&mut program.steps);
        for (at, step) in steps.into_iter().enumerate() {
            program.steps.push(step);
            program.steps.extend(complete.remove(&at).into_iter().flatten());
        }
    }
    parts
}

/// The step that stands for an array.
fn assembly(program: &Program, whole: BufferId, parts: &[BufferId]) -> Step {
    let shape = |&id: &BufferId| program.buffers[id].shape.clone();
    let op = AssemblyOp {
        dtype: program.buffers[whole].dtype,
        parts: parts.iter().map(shape).collect(),
        whole: shape(&whole),
    };
    Step::Library(LibraryStep {
        op: Arc::new(op),
        inputs: parts.iter().map(|&part| (part, 0)).collect(),
        outputs: vec![whole],
        scratch: None,
        epilogue: None,
    })
}

/// The places of the parts of an array, each with the step that stores it first. `None` if the array is not
/// made of disjoint parts, or is read before it is complete.
fn places_of(program: &Program, uses: &Dependences, whole: BufferId) -> Option<Vec<(usize, PartPosition)>> {
    let writers = &uses.writers[whole];
    let is_read = uses.readers[whole].iter().any(|reader| Some(reader) <= writers.last());
    if writers.len() > MAX_PARTS || is_read || is_update_in_place(program, uses, whole) {
        return None;
    }
    let mut places: Vec<(usize, PartPosition)> = Vec::new();
    let mut boxes: Vec<Vec<(i128, i128)>> = Vec::new();
    for &at in writers {
        let Step::Nest { nest, buffers } = &program.steps[at] else { return None };
        for phase in &nest.phases {
            for store in phase.stores.iter().filter(|s| buffers[s.operand] == whole) {
                let visible = if phase.kind == PhaseKind::Point { nest.grid } else { nest.axes.len() };
                let place = PartPosition::of(program, (nest, whole), store, visible)?;
                boxes.push(store.index.iter().map(|index| index.range(&nest.axes)).collect());
                places.push((at, place));
            }
        }
    }
    let alike = places.windows(2).all(|pair| pair[0].1.shape == pair[1].1.shape);
    let beside = |a: &(i128, i128), b: &(i128, i128)| a.1 < b.0 || b.1 < a.0;
    let apart = |a: &[(i128, i128)], b: &[(i128, i128)]| a.iter().zip(b).any(|(a, b)| beside(a, b));
    let disjoint = boxes.iter().enumerate().all(|(at, a)| boxes[..at].iter().all(|b| apart(a, b)));
    (places.len() > 1 && places.len() <= MAX_PARTS && alike && disjoint).then_some(places)
}

impl PartPosition {
    /// Where a store puts its part, which has a dimension for each of the first `visible` axes along which it
    /// lies.
    fn of(
        program: &Program,
        (nest, whole): (&Nest, BufferId),
        store: &Store,
        visible: usize,
    ) -> Option<PartPosition> {
        let seen = &nest.operands[store.operand];
        let buffer = &program.buffers[whole];
        let is_whole = *seen == Operand::contiguous(buffer.dtype, &seen.shape, true)
            && seen.shape.iter().product::<u64>() == buffer.len();
        let is_plain = store.when.is_none() && !store.add && store.index.iter().all(|i| i.dynamic.is_none());
        let along = axes_along(store);
        // Axes along which it does not lie would store one element many times.
        let lies = (0..visible).all(|axis| along.contains(&axis) || nest.axes[axis] == 1);
        if !is_whole || !is_plain || !lies || nest.axes.contains(&0) {
            return None;
        }
        let dimension = |axis: usize| along.iter().position(|&a| a == axis).unwrap_or(0);
        let of_part = |index: &Index| Index {
            terms: index.terms.iter().map(|&(axis, step)| (dimension(axis), step)).collect(),
            ..index.clone()
        };
        let index = store.index.iter().map(of_part).collect();
        Some(PartPosition { whole, shape: seen.shape.clone(), index })
    }

    /// The index in the array of an element of the part.
    fn index(&self, of_part: &[Index]) -> Vec<Index> {
        let moved = |index: &Index| {
            let mut terms: Vec<(usize, i64)> = Vec::new();
            let (mut offset, mut dynamic) = (index.offset, None);
            for &(dimension, step) in &index.terms {
                let own = &of_part[dimension];
                offset += own.offset * step;
                terms.extend(own.terms.iter().map(|&(axis, each)| (axis, each * step)));
                dynamic = dynamic.or(own.dynamic);
            }
            Index { offset, terms: sum_by_axis(terms), dynamic }
        };
        self.index.iter().map(moved).collect()
    }
}

/// The terms in the order of their axes, those of one axis as one.
fn sum_by_axis(mut terms: Vec<(usize, i64)>) -> Vec<(usize, i64)> {
    terms.sort_unstable();
    let mut sums: Vec<(usize, i64)> = Vec::with_capacity(terms.len());
    for (axis, step) in terms {
        match sums.last_mut() {
            Some(last) if last.0 == axis => last.1 += step,
            _ => sums.push((axis, step)),
        }
    }
    sums.retain(|term| term.1 != 0);
    sums
}

/// The axes along which a store lies, ascending.
fn axes_along(store: &Store) -> Vec<usize> {
    let mut along: Vec<usize> = store.index.iter().flat_map(|i| &i.terms).map(|&(axis, _)| axis).collect();
    along.sort_unstable();
    along.dedup();
    along
}

impl PartBuffers {
    /// Makes a buffer of the first part of an array that a step still stores there.
    fn take(&mut self, program: &mut Program, at: usize, place: PartPosition) -> BufferId {
        let (dtype, part) = (program.buffers[place.whole].dtype, program.buffers.len());
        let mut shape = Vec::new();
        if let Step::Nest { nest, buffers } = &mut program.steps[at] {
            let stores = nest.phases.iter_mut().flat_map(|p| &mut p.stores);
            let mut left = stores.filter(|s| buffers[s.operand] == place.whole);
            if let Some(store) = left.next() {
                let along = axes_along(store);
                shape = along.iter().map(|&axis| nest.axes[axis]).collect();
                store.operand = nest.operands.len();
                store.index = along.iter().map(|&axis| Index::axis(axis)).collect();
            }
            nest.operands.push(Operand::contiguous(dtype, &shape, true));
            buffers.push(part);
            tidy(nest, buffers);
        }
        let part = program.buffer(dtype, &shape, Role::Temp);
        program.buffers[part].node = program.buffers[place.whole].node;
        self.places.insert(part, place);
        part
    }

    /// Puts the parts back into their arrays.
    pub(super) fn unite(self, program: &mut Program) {
        if self.places.is_empty() {
            return;
        }
        program.steps.retain(|step| !matches!(step, Step::Library(library) if is_assembly(library)));
        let mut writers: HashMap<BufferId, usize> = HashMap::new();
        for step in &mut program.steps {
            let Step::Nest { nest, buffers } = step else { continue };
            if !buffers.iter().any(|id| self.places.contains_key(id)) {
                continue;
            }
            self.put_back(nest, buffers);
            let mut written: Vec<BufferId> = buffers.clone();
            written.sort_unstable();
            written.dedup();
            written.into_iter().for_each(|id| *writers.entry(id).or_default() += 1);
        }
        for place in self.places.values() {
            program.buffers[place.whole].mutable = writers.get(&place.whole).is_none_or(|&n| n > 1);
        }
    }

    /// Makes the accesses of a Nest to parts accesses to their arrays.
    fn put_back(&self, nest: &mut Nest, buffers: &mut Vec<BufferId>) {
        let places: Vec<Option<&PartPosition>> = buffers.iter().map(|id| self.places.get(id)).collect();
        let moved = |operand: usize, index: &mut Vec<Index>| {
            if let Some(place) = places[operand] {
                *index = place.index(index);
            }
        };
        for phase in &mut nest.phases {
            for inst in &mut phase.block.insts {
                if let Inst::Load { operand, index } = inst {
                    moved(*operand, index);
                }
            }
            phase.stores.iter_mut().for_each(|store| moved(store.operand, &mut store.index));
        }
        for (at, place) in places.into_iter().enumerate() {
            if let Some(place) = place {
                let operand = &mut nest.operands[at];
                *operand = Operand::contiguous(operand.dtype, &place.shape, operand.written);
                buffers[at] = place.whole;
            }
        }
        share_operands(nest, buffers);
    }
}

fn is_assembly(library: &LibraryStep) -> bool {
    library.op.downcast::<AssemblyOp>().is_some()
}

#[cfg(test)]
mod tests;
