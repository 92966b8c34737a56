//! Piecewise loads: an array that maps assemble part by part is not stored, if its readers can take each
//! element from the part that it lies in.
//!
//! Joins, pads, rolls, updates of slices and the gradients of slices assemble arrays. A load of such an array
//! becomes the value of the part that its position lies in: of one part alone if all positions that the load
//! visits lie there, else a choice by comparisons of the position. Parts that compute the same from one
//! array, as those of a roll do, become one computation of a load at a chosen position. A part may read what
//! the parts before it left, as the sum of a slice's gradient does.
//!
//! An array that has to be stored is then stored by one step, if that is cheaper than a step for each part.
//!
//! In Halide such an array is a function with a pure definition and updates of parts (Ragan-Kelley et
//! al., PLDI 2013).

mod assembly;
mod load;

use super::edit::replace_loads;
use super::limits::{FusionLimits, MAX_NARROW_INSTS};
use super::{CostModel, evaluation, evaluations, nothing};
use crate::engine::dependences::Dependences;
use crate::engine::inplace::is_legal;
use crate::lower::dead_code::tidy;
use crate::lower::program::{BufferId, Program, Role, Step};
use assembly::Assembly;
use load::PartChoice;
use workalike_kernels::nest::{Index, Inst, Nest, Operand, Phase, PhaseKind};

/// Instructions of all loads of an array by parts, counted before equal ones become one: more are not tried.
const MOST_INSTS: usize = 4 * MAX_NARROW_INSTS;

/// Tries every array that is assembled, in the order in which they are complete. Returns whether it changed
/// anything.
pub(super) fn run(program: &mut Program, cost: &CostModel, limits: FusionLimits) -> bool {
    if !program.buffers.iter().any(|b| b.mutable && b.role == Role::Temp) {
        return false;
    }
    let mut uses = Dependences::of(program);
    let assembled = |&b: &BufferId| program.buffers[b].mutable && program.buffers[b].role == Role::Temp;
    let mut arrays: Vec<BufferId> = (0..program.buffers.len()).filter(assembled).collect();
    arrays.sort_by_key(|&b| uses.writers[b].last().copied());
    let mut changed = false;
    for buffer in arrays {
        let steps = loads_by_parts(program, &uses, buffer, (cost, limits));
        let steps = steps.or_else(|| stored_at_once(program, &uses, buffer, (cost, limits)));
        let Some(steps) = steps else { continue };
        program.buffers[buffer].mutable = false;
        for (at, step) in steps {
            uses.replace(program, at, step);
        }
        changed = true;
    }
    program.steps.retain(|step| !super::is_nothing(step));
    changed
}

/// The steps without the array: its readers with piecewise loads, and nothing in place of its writers. `None`
/// if some reader needs the array itself, or if reading it is cheaper.
fn loads_by_parts(
    program: &Program,
    uses: &Dependences,
    buffer: BufferId,
    (cost, limits): (&CostModel, FusionLimits),
) -> Option<Vec<(usize, Step)>> {
    let writers = &uses.writers[buffer];
    let readers: Vec<usize> = uses.readers[buffer].difference(writers).copied().collect();
    if uses.roots[buffer] || readers.is_empty() || writers.last() >= readers.first() {
        return None;
    }
    let assembly = Assembly::of(program, uses, buffer)?;
    let (mut by_parts, mut whole, mut insts) = (0.0, assembly.stored(cost), 0usize);
    for &reader in &readers {
        let Step::Nest { nest, buffers } = &program.steps[reader] else { return None };
        for (phase, operand, index) in loads_of(nest, buffers, buffer) {
            let axes = points_of(nest, phase);
            let choice = PartChoice::of(&assembly, assembly.reads(&nest.operands[operand], index)?, axes)?;
            let times = evaluations(nest, phase.kind);
            by_parts += times * choice.cost(&assembly, cost);
            insts = insts.saturating_add(choice.size(&assembly));
            whole += times * assembly.dtype.size() as f64;
        }
    }
    if by_parts > whole || insts > MOST_INSTS {
        return None;
    }
    let mut steps: Vec<(usize, Step)> = writers.iter().map(|&at| (at, nothing())).collect();
    for &reader in &readers {
        let Step::Nest { nest, buffers } = &program.steps[reader] else { return None };
        steps.push((reader, substituted(&assembly, nest.clone(), buffers.clone(), limits)?));
    }
    Some(steps)
}

/// One step that stores the array, in place of the last of its writers.
fn stored_at_once(
    program: &Program,
    uses: &Dependences,
    buffer: BufferId,
    (cost, limits): (&CostModel, FusionLimits),
) -> Option<Vec<(usize, Step)>> {
    let writers = &uses.writers[buffer];
    let last = *writers.last()?;
    let mut readers = uses.readers[buffer].difference(writers);
    if writers.len() < 2
        || is_update_in_place(program, uses, buffer)
        || readers.next().is_some_and(|first| *first < last)
    {
        return None;
    }
    let assembly = Assembly::of(program, uses, buffer)?;
    let index: Vec<Index> = (0..assembly.shape.len()).map(Index::axis).collect();
    let choice = PartChoice::of(&assembly, &index, &assembly.shape)?;
    let points = assembly.points() as f64;
    let at_once = points * (choice.cost(&assembly, cost) + assembly.dtype.size() as f64) + cost.launch;
    if at_once > assembly.stored(cost) {
        return None;
    }
    let copy = Nest { name: assembly.name().into(), ..Nest::copy(assembly.dtype, &assembly.shape) };
    let step = substituted(&assembly, copy, vec![buffer, buffer], limits)?;
    let mut steps: Vec<(usize, Step)> = writers.iter().map(|&at| (at, nothing())).collect();
    steps.push((last, step));
    Some(steps)
}

/// Whether a buffer is the new value of a shared variable and may overwrite parts of the old one.
pub(super) fn is_update_in_place(program: &Program, uses: &Dependences, buffer: BufferId) -> bool {
    let homes = program.homes();
    program.updates.iter().any(|&(shared, new)| {
        new == buffer && homes.get(&shared).is_some_and(|&old| is_legal(program, uses, Some(old), new))
    })
}

/// The loads of a buffer: the phase, the operand and the index of each.
fn loads_of<'n>(
    nest: &'n Nest,
    buffers: &'n [BufferId],
    buffer: BufferId,
) -> impl Iterator<Item = (&'n Phase, usize, &'n [Index])> {
    nest.phases.iter().flat_map(move |phase| {
        phase.block.insts.iter().filter_map(move |inst| match inst {
            Inst::Load { operand, index } if buffers[*operand] == buffer => {
                Some((phase, *operand, index.as_slice()))
            }
            _ => None,
        })
    })
}

/// The axes that a phase visits.
fn points_of<'n>(nest: &'n Nest, phase: &Phase) -> &'n [u64] {
    if phase.kind == PhaseKind::Point { &nest.axes[..nest.grid] } else { &nest.axes }
}

/// A reader with all loads of the array replaced.
fn substituted(
    assembly: &Assembly<'_>,
    mut nest: Nest,
    mut buffers: Vec<BufferId>,
    limits: FusionLimits,
) -> Option<Step> {
    let operands = assembly.adopt(&mut nest, &mut buffers);
    for at in 0..nest.phases.len() {
        let phase = &nest.phases[at];
        let axes = points_of(&nest, phase);
        nest.phases[at] = replace_loads(phase, nest.operands.len(), |writer, operand, index, values| {
            if buffers[operand] != assembly.buffer {
                return Some(None);
            }
            let index = assembly.reads(&nest.operands[operand], index)?;
            let index = writer.indices(index, None, values);
            PartChoice::of(assembly, &index, axes)?.compute(assembly, writer, &operands).map(Some)
        })?;
    }
    tidy(&mut nest, &mut buffers);
    limits.fits(&mut nest, usize::MAX).then_some(Step::Nest { nest, buffers })
}
