//! Updates in place: a new value is written over the old one where nothing reads the old one later.

use super::program::{BufferId, Program, Role, Step};
use crate::kernels::nest::{Inst, Nest, Operand, PhaseKind};

/// Renames the scratch buffer of an update to the shared variable's own, wherever that keeps old-value semantics. `state_bytes` is
/// the size of each shared variable before the call.
pub(crate) fn update_in_place(mut program: Program, state_bytes: &[u64]) -> Program {
    for position in 0..program.updates.len() {
        let (shared, new) = program.updates[position];
        if program.buffers[new].role != Role::Temp {
            continue;
        }
        let old = program.buffers.iter().position(|b| b.role == Role::Shared(shared));
        let same_size = state_bytes.get(shared) == Some(&program.buffers[new].bytes());
        if !same_size || !is_legal(&program, old, new) {
            continue;
        }
        let target = old.unwrap_or_else(|| {
            let buffer = program.buffers[new].clone();
            program.buffer(buffer.dtype, &buffer.shape, Role::Shared(shared))
        });
        rename(&mut program, new, target);
    }
    program
}

/// Whether `new` may be written over `old`: all reads of `old` come before the first step that writes `new`, or in it at the very
/// element that is about to be written; and no host node can fail once it is written.
pub(crate) fn is_legal(program: &Program, old: Option<BufferId>, new: BufferId) -> bool {
    let writers: Vec<usize> =
        (0..program.steps.len()).filter(|&s| program.steps[s].writes().contains(&new)).collect();
    let (&[first, ..], &[.., last]) = (writers.as_slice(), writers.as_slice()) else { return false };
    if program.steps[first..].iter().any(|s| matches!(s, Step::Host(_))) {
        return false;
    }
    let Some(old) = old else { return true };
    let reads = |step: usize| program.steps[step].reads().contains(&old);
    if (first + 1..program.steps.len()).any(reads) {
        return false;
    }
    if !reads(first) {
        return true;
    }
    match &program.steps[first] {
        Step::Nest { nest, buffers } => first == last && overwrites_what_it_read(nest, buffers, old, new),
        _ => false,
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
    // One worker does a Point phase of a single grid point, after all have met, and it loads before it stores.
    let alone = nest.grid_points() == 1 && nest.phases[phase].kind == PhaseKind::Point;
    if alone && to_new.iter().all(|(p, _)| *p == phase) {
        return true;
    }
    if to_new.len() > 1 || nest.phases[phase].kind == PhaseKind::Ordered {
        return false;
    }
    // Each point overwrites what it read itself, and nothing else reads that.
    (0..=phase).all(|p| {
        loads(p).all(|(operand, index)| {
            let same = same_layout(&nest.operands[operand], &nest.operands[store.operand]);
            *index == store.index && index.iter().all(|i| i.dynamic.is_none()) && same
        })
    })
}

/// Whether the same index means the same bytes in both.
fn same_layout(a: &Operand, b: &Operand) -> bool {
    let mut axes = a.shape.iter().zip(a.strides.iter().zip(&b.strides));
    a.dtype.size() == b.dtype.size()
        && a.shape == b.shape
        && axes.all(|(extent, (a, b))| *extent <= 1 || a == b)
}

fn rename(program: &mut Program, from: BufferId, to: BufferId) {
    let change = |id: &mut BufferId| {
        if *id == from {
            *id = to;
        }
    };
    for step in &mut program.steps {
        match step {
            Step::Nest { buffers, .. } => buffers.iter_mut().for_each(change),
            Step::Matmul { a, b, c, .. } => [&mut a.0, &mut b.0, c].into_iter().for_each(change),
            Step::Host(node) => node.inputs.iter_mut().chain(&mut node.outputs).for_each(change),
        }
    }
    program.outputs.iter_mut().for_each(change);
    program.updates.iter_mut().for_each(|u| change(&mut u.1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::kernels::nest::{Block, Index, Phase, Store};

    /// `to[i, j] = from[i, j]`, from an input of these strides to a float32 matrix.
    fn copied(dtype: DType, strides: [i64; 2]) -> (Program, BufferId, BufferId) {
        let mut program = Program::default();
        let from = program.buffer(dtype, &[8, 8], Role::Input(0));
        let to = program.buffer(DType::F32, &[8, 8], Role::Temp);
        let index = || vec![Index::axis(0), Index::axis(1)];
        let block = Block { insts: vec![Inst::Load { operand: 0, index: index() }] };
        let stores = vec![Store { operand: 1, index: index(), value: 0, when: None }];
        let phases = vec![Phase { kind: PhaseKind::Point, block, folds: vec![], stores }];
        let read = Operand { strides: strides.to_vec(), ..Operand::contiguous(dtype, &[8, 8], false) };
        let operands = vec![read, Operand::contiguous(DType::F32, &[8, 8], true)];
        let nest = Nest { name: "copy".into(), axes: vec![8, 8], grid: 2, operands, phases };
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
            assert_eq!(is_legal(&program, Some(from), to), legal, "{dtype} {strides:?}");
        }
    }
}
