//! Editing Nests: loads replaced, operands shared, stores dropped.

use super::is_nothing;
use crate::engine::dependences::Dependences;
pub(super) use crate::lower::dead_code::tidy;
use crate::lower::program::{BufferId, Program, Role, Step};
use workalike_kernels::nest::{BlockWriter, Index, Inst, Nest, Operand, Phase, Value};

/// A phase with each load replaced by the value that `replace` computes, unless that is `None`; an outer
/// `None` if one cannot be replaced. `replace` is given the writer, the operand and index of the load, and
/// the new number of each old value.
pub(super) fn replace_loads(
    phase: &Phase,
    operands: usize,
    mut replace: impl FnMut(&mut BlockWriter, usize, &[Index], &[Value]) -> Option<Option<Value>>,
) -> Option<Phase> {
    let same: Vec<usize> = (0..operands).collect();
    let mut writer = BlockWriter::new(phase.kind);
    let mut values: Vec<Value> = Vec::with_capacity(phase.block.insts.len());
    for inst in &phase.block.insts {
        let replaced = match inst {
            Inst::Load { operand, index } => replace(&mut writer, *operand, index, &values)?,
            _ => None,
        };
        values.push(replaced.unwrap_or_else(|| writer.copy(inst, None, &same, &values)));
    }
    let (kind, folds, stores) = (phase.kind, phase.folds.clone(), phase.stores.clone());
    let mut replaced = Phase { kind, block: writer.finish(), folds, stores };
    replaced.rename(&values);
    Some(replaced)
}

/// Adds the operands of one Nest to another; an operand of equal buffer and layout is shared. Returns their
/// new positions.
pub(super) fn adopt(
    nest: &mut Nest,
    buffers: &mut Vec<BufferId>,
    from: &Nest,
    from_buffers: &[BufferId],
) -> Vec<usize> {
    let adopted = from.operands.iter().zip(from_buffers).map(|(operand, &buffer)| {
        let same = |(o, b): (&Operand, &BufferId)| {
            *b == buffer && o.shape == operand.shape && o.strides == operand.strides
        };
        let at = nest.operands.iter().zip(buffers.iter()).position(same);
        let at = at.unwrap_or_else(|| {
            nest.operands.push(Operand { written: false, ..operand.clone() });
            buffers.push(buffer);
            buffers.len() - 1
        });
        nest.operands[at].written |= operand.written;
        at
    });
    adopted.collect()
}

/// Makes operands of equal buffer and layout one.
pub(super) fn share_operands(nest: &mut Nest, buffers: &mut Vec<BufferId>) {
    let all = Nest { operands: std::mem::take(&mut nest.operands), ..nest.clone() };
    let given = std::mem::take(buffers);
    let position = adopt(nest, buffers, &all, &given);
    for phase in &mut nest.phases {
        phase.block.insts.iter_mut().for_each(|inst| inst.renumber_operands(&position));
        phase.stores.iter_mut().for_each(|store| store.operand = position[store.operand]);
    }
}

/// Drops stores to scratch that is never read, Nests without stores or reports, and steps that were fused
/// away.
pub(super) fn drop_unread_stores(program: &mut Program) {
    let mut uses = Dependences::of(program);
    for position in (0..program.steps.len()).rev() {
        let Step::Nest { nest, buffers } = &program.steps[position] else { continue };
        let dead = |b: BufferId| {
            program.buffers[b].role == Role::Temp
                && !uses.roots[b]
                && uses.readers[b].iter().all(|&r| r == position)
                && !program.buffers[b].mutable
        };
        if !buffers.iter().zip(&nest.operands).any(|(&b, o)| o.written && dead(b)) {
            continue;
        }
        let (mut nest, mut buffers) = (nest.clone(), buffers.clone());
        for phase in &mut nest.phases {
            phase.stores.retain(|s| !dead(buffers[s.operand]));
        }
        if nest.phases.iter().all(|p| p.stores.is_empty() && !p.reports()) {
            nest.phases.clear();
        }
        tidy(&mut nest, &mut buffers);
        uses.replace(program, position, Step::Nest { nest, buffers });
    }
    program.steps.retain(|step| !is_nothing(step));
}
