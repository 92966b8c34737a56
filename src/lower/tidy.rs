//! Removes unused operands and values from Nests.

use super::program::BufferId;
use crate::kernels::nest::{Block, Inst, Nest, Phase, Value};

/// Drops unused operands and values, and sets `written` of the remaining operands.
pub(crate) fn tidy(nest: &mut Nest, buffers: &mut Vec<BufferId>) {
    for phase in &mut nest.phases {
        drop_unused_values(phase);
    }
    let mut used = vec![false; nest.operands.len()];
    let mut written = vec![false; nest.operands.len()];
    for phase in &nest.phases {
        for inst in &phase.block.insts {
            if let Inst::Load { operand, .. } = inst {
                used[*operand] = true;
            }
            if let Some(status) = inst.status() {
                (used[status], written[status]) = (true, true);
            }
        }
        for store in &phase.stores {
            (used[store.operand], written[store.operand]) = (true, true);
        }
    }
    let mut position = vec![0; used.len()];
    let mut next = 0;
    for (at, &used) in used.iter().enumerate() {
        position[at] = next;
        next += usize::from(used);
    }
    let mut keep = used.iter();
    nest.operands.retain(|_| *keep.next().unwrap_or(&false));
    let mut keep = used.iter();
    buffers.retain(|_| *keep.next().unwrap_or(&false));
    for phase in &mut nest.phases {
        for inst in &mut phase.block.insts {
            match inst {
                Inst::Load { operand, .. } => *operand = position[*operand],
                Inst::Position { mode, .. } => *mode = mode.renumbered(&position),
                _ => {}
            }
        }
        phase.stores.iter_mut().for_each(|s| s.operand = position[s.operand]);
    }
    for (at, (&used, &written)) in used.iter().zip(&written).enumerate() {
        if used {
            nest.operands[position[at]].written = written;
        }
    }
}

fn drop_unused_values(phase: &mut Phase) {
    let count = phase.block.insts.len();
    let mut used: Vec<bool> = phase.block.insts.iter().map(|inst| inst.status().is_some()).collect();
    phase.results().for_each(|value| used[value as usize] = true);
    for at in (0..count).rev() {
        if used[at] {
            phase.block.insts[at].uses(|value| used[value as usize] = true);
        }
    }
    if used.iter().all(|&used| used) {
        return;
    }
    let mut values: Vec<Value> = vec![0; count];
    let mut block = Block::default();
    for (at, mut inst) in std::mem::take(&mut phase.block.insts).into_iter().enumerate() {
        if !used[at] {
            continue;
        }
        rename(&mut inst, &values);
        block.insts.push(inst);
        values[at] = block.insts.len() as Value - 1;
    }
    phase.block = block;
    for store in &mut phase.stores {
        store.value = values[store.value as usize];
        store.when = store.when.map(|v| values[v as usize]);
        store.index.iter_mut().for_each(|i| i.dynamic = i.dynamic.map(|v| values[v as usize]));
    }
    for fold in &mut phase.folds {
        fold.value = values[fold.value as usize];
        fold.index = fold.index.map(|v| values[v as usize]);
    }
}

/// Renames the values that an instruction uses.
pub(crate) fn rename(inst: &mut Inst, values: &[Value]) {
    let change = |value: &mut Value| *value = values[*value as usize];
    match inst {
        Inst::Load { index, .. } => index.iter_mut().filter_map(|i| i.dynamic.as_mut()).for_each(change),
        Inst::Cast { value, .. } | Inst::Position { value, .. } => change(value),
        Inst::Op { args, .. } | Inst::Call { args, .. } => args.iter_mut().for_each(change),
        Inst::Const(_) | Inst::Axis(_) | Inst::Folded { .. } => {}
    }
}
