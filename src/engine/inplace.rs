//! Updates in place: a new value overwrites the old one where the old one is not read later.

mod part;

use super::commit::Checks;
use super::dependences::Dependences;
use crate::lower::program::{BufferId, Epilogue, LibraryStep, Program, Role, Step};
use std::collections::HashMap;
use workalike_kernels::nest::{Inst, Nest, Operand, PhaseKind};

/// Replaces the scratch buffer of an update by the shared variable's own, where the semantics of old values
/// are kept. `state_bytes` is the size of each shared variable before the call.
pub(crate) fn update_in_place(program: Program, state_bytes: &[u64]) -> Program {
    let dependences = Dependences::of(&program);
    let checks = Checks::of(&program, &dependences);
    in_place(program, dependences, checks.as_ref(), state_bytes)
}

/// The same for what a loop carries: it is scratch memory of the Program around the loop, so that an
/// iteration that fails may leave anything there.
pub(crate) fn carry_in_place(program: Program, carried_bytes: &[u64]) -> Program {
    let dependences = Dependences::of(&program);
    in_place(program, dependences, None, carried_bytes)
}

fn in_place(
    mut program: Program,
    mut dependences: Dependences,
    checks: Option<&Checks>,
    state_bytes: &[u64],
) -> Program {
    let homes = program.homes();
    let mut renamed: HashMap<BufferId, BufferId> = HashMap::new();
    for position in 0..program.updates.len() {
        let (shared, new) = program.updates[position];
        // A buffer that updates two variables has been given to the first of them.
        let new = renamed.get(&new).copied().unwrap_or(new);
        program.updates[position].1 = new;
        if program.buffers[new].role != Role::Temp {
            continue;
        }
        let old = homes.get(&shared).copied();
        let same_size = state_bytes.get(shared) == Some(&program.buffers[new].bytes());
        let conditional = checks.is_none_or(|c| c.allow(&program, &dependences.writers[new]));
        if !same_size || !conditional {
            continue;
        }
        if !is_legal(&program, &dependences, old, new) {
            // Checks come before the steps that are cut, so they keep their positions.
            let Some(cut) = old.and_then(|old| legal_part(&program, &dependences, [old, new])) else {
                continue;
            };
            program = cut;
            dependences = Dependences::of(&program);
        }
        let target = old.unwrap_or_else(|| {
            let buffer = program.buffers[new].clone();
            program.buffer(buffer.dtype, &buffer.shape, Role::Shared(shared))
        });
        dependences.rename(&mut program, new, target);
        renamed.insert(new, target);
    }
    let current = |id: &mut BufferId| *id = renamed.get(id).copied().unwrap_or(*id);
    program.outputs.iter_mut().for_each(current);
    program.updates.iter_mut().for_each(|update| current(&mut update.1));
    if !renamed.is_empty() {
        program.steps.retain(|step| !is_idle(step));
    }
    program
}

/// The Program in which `new` may overwrite `old`, since what changes a part of it is computed before.
fn legal_part(program: &Program, dependences: &Dependences, [old, new]: [BufferId; 2]) -> Option<Program> {
    let begins = |at: usize| copies_whole(&program.steps[at], |from, to| (from, to) == (old, new));
    let writers = &dependences.writers[new];
    let first = writers.iter().copied().find(|&at| !begins(at))?;
    if !writers.iter().any(|&at| begins(at)) {
        return None;
    }
    let mut cut = program.clone();
    let dependences = part::compute_first(&mut cut, first, [old, new]).then(|| Dependences::of(&cut))?;
    is_legal(&cut, &dependences, Some(old), new).then_some(cut)
}

/// Whether a step only copies a buffer to itself: the start of a partial update that is now made in place.
fn is_idle(step: &Step) -> bool {
    copies_whole(step, |from, to| from == to)
}

/// Whether a step only copies one buffer to another, each element to the same place.
fn copies_whole(step: &Step, are: impl Fn(BufferId, BufferId) -> bool) -> bool {
    let Step::Nest { nest, buffers } = step else { return false };
    let [phase] = nest.phases.as_slice() else { return false };
    let [store] = phase.stores.as_slice() else { return false };
    let Some(Inst::Load { operand, index }) = phase.block.insts.get(store.value as usize) else {
        return false;
    };
    let (from, to) = (&nest.operands[*operand], &nest.operands[store.operand]);
    phase.kind == PhaseKind::Point
        && store.when.is_none()
        && !store.add
        && !phase.reports()
        && are(buffers[*operand], buffers[store.operand])
        && *index == store.index
        && index.iter().all(|i| i.dynamic.is_none())
        && from.dtype == to.dtype
        && same_layout(from, to)
}

/// Whether `new` may overwrite `old`: all reads of `old` come before the first step that writes `new`, or in
/// that step at the element that is about to be written; and no host node can fail after that step. A copy of
/// the old value to the same places, with which a partial update begins, does not count.
pub(crate) fn is_legal(
    program: &Program,
    dependences: &Dependences,
    old: Option<BufferId>,
    new: BufferId,
) -> bool {
    let begins = |at: &&usize| {
        old.is_some_and(|old| copies_whole(&program.steps[**at], |from, to| (from, to) == (old, new)))
    };
    let writers: Vec<usize> = dependences.writers[new].iter().filter(|at| !begins(at)).copied().collect();
    if writers.is_empty() {
        return !dependences.writers[new].is_empty();
    }
    let (Some(&first), Some(&last)) = (writers.first(), writers.last()) else { return false };
    if dependences.writers[new].iter().any(|at| begins(&at) && *at > first) {
        return false;
    }
    if dependences.last_fallible().is_some_and(|step| step >= first) {
        return false;
    }
    let Some(old) = old else { return true };
    match dependences.readers[old].iter().rfind(|at| !begins(at)) {
        Some(&read) if read > first => false,
        Some(&read) if read == first => match &program.steps[first] {
            // Later steps change what this one has written; none reads the old value.
            Step::Nest { nest, buffers } => overwrites_what_it_read(nest, buffers, old, new),
            // A library op reads an input for many results, so its inputs may not be overwritten meanwhile.
            Step::Library(LibraryStep { inputs, epilogue: Some(Epilogue { nest, buffers }), .. }) => {
                let kept = inputs.iter().all(|input| input.0 != old);
                kept && first == last && overwrites_what_it_read(nest, buffers, old, new)
            }
            _ => false,
        },
        _ => true,
    }
}

fn overwrites_what_it_read(nest: &Nest, buffers: &[BufferId], old: BufferId, new: BufferId) -> bool {
    let stores =
        nest.phases.iter().enumerate().flat_map(|(p, phase)| phase.stores.iter().map(move |s| (p, s)));
    let to_new: Vec<_> = stores.filter(|(_, s)| buffers[s.operand] == new).collect();
    let loads = |phase: usize| {
        let insts = nest.phases[phase].block.insts.iter();
        insts.filter_map(|inst| match inst {
            Inst::Load { operand, index } if buffers[*operand] == old => Some((*operand, index)),
            _ => None,
        })
    };
    let Some(&(phase, store)) = to_new.first() else { return false };
    if (phase + 1..nest.phases.len()).any(|p| loads(p).next().is_some()) {
        return false;
    }
    // A store that adds needs the old content of `new`.
    if to_new.iter().any(|(_, s)| s.add) {
        return false;
    }
    // One worker runs a Point phase of a single grid point, after all workers have finished the phases
    // before, and it loads before it stores.
    let alone = nest.grid_points() == 1 && nest.phases[phase].kind == PhaseKind::Point;
    if alone && to_new.iter().all(|(p, _)| *p == phase) {
        return true;
    }
    if to_new.len() > 1 || nest.phases[phase].kind == PhaseKind::Ordered {
        return false;
    }
    // Each point overwrites the element that it read itself, and no other point reads it.
    (0..=phase).all(|p| {
        loads(p).all(|(operand, index)| {
            let same = same_layout(&nest.operands[operand], &nest.operands[store.operand]);
            *index == store.index && index.iter().all(|i| i.dynamic.is_none()) && same
        })
    })
}

/// Whether equal indices address the same bytes in both.
fn same_layout(a: &Operand, b: &Operand) -> bool {
    let mut axes = a.shape.iter().zip(a.strides.iter().zip(&b.strides));
    a.dtype.size() == b.dtype.size()
        && a.shape == b.shape
        && axes.all(|(extent, (a, b))| *extent <= 1 || a == b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workalike_kernels::DType;

    /// `to[i, j] = from[i, j]`, from an input of these strides to a float32 matrix.
    fn copied(dtype: DType, strides: [i64; 2]) -> (Program, BufferId, BufferId) {
        let mut program = Program::default();
        let from = program.buffer(dtype, &[8, 8], Role::Input(0));
        let to = program.buffer(DType::F32, &[8, 8], Role::Temp);
        let mut nest = Nest::copy(DType::F32, &[8, 8]);
        (nest.operands[0].dtype, nest.operands[0].strides) = (dtype, strides.to_vec());
        program.steps = vec![Step::Nest { nest, buffers: vec![from, to] }];
        (program, from, to)
    }

    #[test]
    fn a_point_may_write_over_the_very_bytes_that_it_read() {
        for (dtype, strides, legal) in [
            (DType::F32, [8, 1], true),
            (DType::I32, [8, 1], true),
            // Another element's bytes: it may not have been read yet.
            (DType::F32, [1, 8], false),
            (DType::F64, [8, 1], false),
            (DType::F16, [8, 1], false),
        ] {
            let (program, from, to) = copied(dtype, strides);
            assert_eq!(
                is_legal(&program, &Dependences::of(&program), Some(from), to),
                legal,
                "{dtype} {strides:?}"
            );
        }
    }

    #[test]
    fn what_is_added_to_is_no_result_of_the_step() {
        let (mut program, from, to) = copied(DType::F32, [8, 1]);
        let reads = |program: &Program| program.steps[0].reads();
        assert_eq!(reads(&program), [from]);
        let Step::Nest { nest, .. } = &mut program.steps[0] else { panic!("a Nest") };
        nest.phases[0].stores[0].add = true;
        assert_eq!(reads(&program), [from, to], "adding reads as well");
        assert!(
            !is_legal(&program, &Dependences::of(&program), Some(from), to),
            "what it adds to is not what it overwrites"
        );
    }
}
