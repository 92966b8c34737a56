//! Nests over the same grid become one Nest with several outputs.

use super::edit::{Writer, adopt, tidy};
use super::{MAX_INSTS, MAX_OPERANDS, Uses, nothing, size, touches_mutable};
use crate::kernels::nest::{Inst, Nest, PhaseKind, Store, Value};
use crate::rehost::program::{BufferId, Program, Role, Step};

/// Tries every map as the later of a pair, against the steps that write or read what it reads.
pub(super) fn run(program: &mut Program) {
    let mut uses = Uses::of(program);
    for later in 0..program.steps.len() {
        // A merge may open the way to another with the same step, which then stands at `later` still.
        while let Some((earlier, at, step)) = find(program, &uses, later) {
            let gone = if at == later { earlier } else { later };
            uses.replace(program, gone, nothing());
            uses.replace(program, at, step);
            if gone == later {
                break;
            }
        }
    }
}

/// A step that can take in `later`, where the merged step goes, and the merged step.
fn find(program: &Program, uses: &Uses, later: usize) -> Option<(usize, usize, Step)> {
    let Step::Nest { nest, buffers } = &program.steps[later] else { return None };
    if !nest.is_map() || touches_mutable(program, &program.steps[later]) {
        return None;
    }
    let mut candidates: Vec<usize> = Vec::new();
    for read in program.steps[later].reads() {
        if program.buffers[read].role == Role::Status {
            continue;
        }
        candidates.extend(uses.writers[read].iter().chain(&uses.readers[read]).filter(|&&s| s < later));
    }
    candidates.sort_unstable_by(|a, b| b.cmp(a));
    candidates.dedup();
    candidates.truncate(16);
    candidates.into_iter().find_map(|earlier| {
        let Step::Nest { nest: first, buffers: first_buffers } = &program.steps[earlier] else { return None };
        let at = place(program, uses, earlier, later)?;
        let merged = merge(
            (first, first_buffers),
            (nest, buffers),
            touches_mutable(program, &program.steps[earlier]),
        )?;
        Some((earlier, at, merged))
    })
}

/// Where the merged step can stand: at the later place if nothing in between reads what the earlier one writes, at the
/// earlier if nothing in between writes what the later one reads.
fn place(program: &Program, uses: &Uses, earlier: usize, later: usize) -> Option<usize> {
    let between = |s: &usize| *s > earlier && *s < later;
    let writes = program.steps[earlier].writes();
    let scratch = |b: &&BufferId| program.buffers[**b].role != Role::Status;
    let read_between = writes.iter().filter(scratch).any(|&b| uses.readers[b].iter().any(between));
    if !read_between {
        return Some(later);
    }
    let written_between = program.steps[later].reads().iter().any(|&b| uses.writers[b].iter().any(between));
    (!written_between).then_some(earlier)
}

/// The two Nests as one, if they have one grid and the later reads the earlier's results only at the point that stored them.
fn merge(first: (&Nest, &Vec<BufferId>), second: (&Nest, &Vec<BufferId>), blocked: bool) -> Option<Step> {
    let (a, a_buffers) = first;
    let (b, b_buffers) = second;
    let last = a.phases.last()?;
    if blocked || a.axes[..a.grid] != b.axes[..] || last.kind != PhaseKind::Point {
        return None;
    }
    // What is read at each load of the earlier Nest's results: the value that was stored there.
    let stored = |operand: usize, index: &[crate::kernels::nest::Index]| -> Option<Option<Value>> {
        let buffer = b_buffers[operand];
        let mut writes = a.phases.iter().flat_map(|p| &p.stores).filter(|s| a_buffers[s.operand] == buffer);
        let Some(store) = writes.next() else { return Some(None) };
        let only = writes.next().is_none() && last.stores.contains(store);
        let same = a.operands[store.operand].shape == b.operands[operand].shape && store.index == index;
        let known = store.index.iter().all(|i| i.dynamic.is_none()) && store.when.is_none();
        (only && same && known).then_some(Some(store.value))
    };
    let (mut nest, mut buffers) = (a.clone(), a_buffers.clone());
    let adopted = adopt(&mut nest, &mut buffers, b, b_buffers);
    let point = nest.phases.pop()?;
    let mut writer = Writer::on(point.block, PhaseKind::Point);
    let mut values: Vec<Value> = Vec::with_capacity(b.phases[0].block.insts.len());
    for inst in &b.phases[0].block.insts {
        let known = match inst {
            Inst::Load { operand, index } => stored(*operand, index)?,
            _ => None,
        };
        values.push(match known {
            Some(value) => value,
            None => writer.copy(inst, None, &adopted, &values),
        });
    }
    let mut stores: Vec<Store> = point.stores.clone();
    for store in &b.phases[0].stores {
        stores.push(writer.store(store, None, &adopted, &values));
    }
    nest.phases.push(crate::kernels::nest::Phase { block: writer.block, stores, ..point });
    tidy(&mut nest, &mut buffers);
    if size(&nest) > MAX_INSTS || nest.operands.len() > MAX_OPERANDS {
        return None;
    }
    if !nest.name.contains(&b.name) && nest.name.len() < 48 {
        nest.name = format!("{}_{}", nest.name, b.name);
    }
    Some(Step::Nest { nest, buffers })
}
