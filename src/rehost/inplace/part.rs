//! Updates of a part that read other parts of the old value. If what is written is computed first, nothing is
//! read after it was changed, and no copy of the whole is needed.

use crate::lower::program::{BufferId, Program, Role, Step};
use crate::lower::tidy::tidy;
use workalike_kernels::nest::{Index, Inst, Nest, Operand, PhaseKind, Store};

/// Cuts the step at this position, which writes a part of `new`, into one that computes what is written and
/// one that writes it, and that does not read `old`. Returns whether it did.
pub(super) fn compute_first(program: &mut Program, position: usize, [old, new]: [BufferId; 2]) -> bool {
    let Step::Nest { nest, buffers } = &program.steps[position] else { return false };
    let Some(store) = only_store(nest) else { return false };
    if buffers[store.operand] != new {
        return false;
    }
    let (nest, buffers, store) = (nest.clone(), buffers.clone(), store.clone());
    let (dtype, axes) = (nest.operands[store.operand].dtype, nest.axes.clone());
    let here = || (0..axes.len()).map(Index::axis).collect::<Vec<_>>();
    let kept = program.buffers.len();
    let with = |written: bool| {
        let (mut nest, mut buffers) = (nest.clone(), buffers.clone());
        nest.operands.push(Operand::contiguous(dtype, &axes, written));
        buffers.push(kept);
        (nest, buffers)
    };
    let (mut first, mut first_buffers) = with(true);
    let part = first.operands.len() - 1;
    let computed = Store { operand: part, index: here(), value: store.value, when: None, add: false };
    first.phases[0].stores = vec![computed];
    tidy(&mut first, &mut first_buffers);
    let (mut last, mut last_buffers) = with(false);
    let insts = &mut last.phases[0].block.insts;
    insts.push(Inst::Load { operand: part, index: here() });
    let value = (insts.len() - 1) as u32;
    last.phases[0].stores = vec![Store { value, ..store }];
    tidy(&mut last, &mut last_buffers);
    last.name = "set_part".into();
    if last_buffers.contains(&old) {
        return false;
    }
    program.buffer(dtype, &axes, Role::Temp);
    program.steps[position] = Step::Nest { nest: first, buffers: first_buffers };
    program.steps.insert(position + 1, Step::Nest { nest: last, buffers: last_buffers });
    true
}

/// The only store of a map that reports nothing.
fn only_store(nest: &Nest) -> Option<&Store> {
    let [phase] = &nest.phases[..] else { return None };
    let [store] = &phase.stores[..] else { return None };
    let plain = phase.kind == PhaseKind::Point && nest.grid == nest.axes.len() && !phase.reports();
    (plain && !store.add).then_some(store)
}
