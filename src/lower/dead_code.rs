//! Removes unused operands and values from Nests.

use super::program::BufferId;
use workalike_kernels::nest::{Inst, Nest};

/// Drops unused operands and values, and sets `written` of the remaining operands.
pub(crate) fn tidy(nest: &mut Nest, buffers: &mut Vec<BufferId>) {
    for phase in &mut nest.phases {
        phase.drop_unused_values();
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
        phase.block.insts.iter_mut().for_each(|inst| inst.renumber_operands(&position));
        phase.stores.iter_mut().for_each(|s| s.operand = position[s.operand]);
    }
    for (at, (&used, &written)) in used.iter().zip(&written).enumerate() {
        if used {
            nest.operands[position[at]].written = written;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workalike_kernels::DType;
    use workalike_kernels::nest::{Block, IndexMode, Operand, Phase, PhaseKind};

    #[test]
    fn what_reports_is_kept() {
        let words = [false, true].map(|written| Operand::contiguous(DType::I64, &[], written));
        let insts = vec![
            Inst::Load { operand: 0, index: vec![] },
            Inst::Position { value: 0, extent: 4, mode: IndexMode::FromEnd },
            Inst::Position { value: 0, extent: 4, mode: IndexMode::Report { status: 2, node: 3 } },
        ];
        let block = Block { insts };
        let phases = vec![Phase { kind: PhaseKind::Point, block, folds: vec![], stores: vec![] }];
        let operands = vec![words[0].clone(), words[0].clone(), words[1].clone()];
        let mut nest = Nest { name: "check".into(), axes: vec![], grid: 0, operands, phases };
        let mut buffers = vec![5, 6, 7];
        tidy(&mut nest, &mut buffers);
        assert_eq!((buffers, nest.operands), (vec![5, 7], words.to_vec()));
        let report = Inst::Position { value: 0, extent: 4, mode: IndexMode::Report { status: 1, node: 3 } };
        assert_eq!(nest.phases[0].block.insts[1..], [report]);
    }
}
