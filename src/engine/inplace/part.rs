//! Updates of a part that read other parts of the old value. If the new part is computed before it is stored,
//! nothing is read after it was changed, and no copy of the whole is needed.

use crate::lower::dead_code::tidy;
use crate::lower::program::{BufferId, Program, Role, Step};
use workalike_kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store, Value};
use workalike_kernels::verify::dtypes;

/// More values than this are not computed first.
const MOST_VALUES: usize = 2;

/// Cuts the step at this position, which changes a part of `new`, into one that computes what follows from
/// `old`, and one that changes the part and does not read `old`. Returns whether it did.
pub(super) fn compute_first(program: &mut Program, position: usize, [old, new]: [BufferId; 2]) -> bool {
    let Some(cut) = PrecomputedStep::of(program, position, [old, new]) else { return false };
    let steps = cut.steps(program, [old, new]);
    let Some([first, last]) = steps else { return false };
    program.steps[position] = first;
    program.steps.insert(position + 1, last);
    true
}

/// A step that visits points one by one, and the values that are computed first.
struct PrecomputedStep {
    nest: Nest,
    buffers: Vec<BufferId>,
    values: Vec<Value>,
}

impl PrecomputedStep {
    fn of(program: &Program, position: usize, [old, new]: [BufferId; 2]) -> Option<PrecomputedStep> {
        let Step::Nest { nest, buffers } = &program.steps[position] else { return None };
        let ([phase], true) = (&nest.phases[..], nest.operands.len() == buffers.len()) else { return None };
        let by_points = match phase.kind {
            PhaseKind::Point => nest.grid == nest.axes.len(),
            PhaseKind::Ordered => true,
            _ => false,
        };
        let [store] = &phase.stores[..] else { return None };
        let values =
            known_before(phase, |operand| buffers[operand] == old, |operand| buffers[operand] == new);
        // To copy all of a small array is less work than to store a value for each of many points.
        let points = nest.axes.iter().fold(values.len() as u64, |n, &extent| n.saturating_mul(extent));
        let pays = points <= program.buffers[new].len().saturating_mul(2);
        let some = (1..=MOST_VALUES).contains(&values.len());
        (by_points && some && pays && buffers[store.operand] == new).then(|| PrecomputedStep {
            nest: nest.clone(),
            buffers: buffers.clone(),
            values,
        })
    }

    /// The two steps; `None` if the values do not suffice to tell them apart.
    fn steps(mut self, program: &mut Program, [old, new]: [BufferId; 2]) -> Option<[Step; 2]> {
        let axes = self.nest.axes.clone();
        let here: Vec<Index> = (0..axes.len()).map(Index::axis).collect();
        let types = dtypes(&self.nest, 0).ok()?;
        let kept = program.buffers.len();
        let mut stores = Vec::new();
        for (at, &value) in self.values.iter().enumerate() {
            let operand = self.nest.operands.len();
            self.nest.operands.push(Operand::contiguous(types[value as usize], &axes, true));
            self.buffers.push(kept + at);
            stores.push(Store { operand, index: here.clone(), value, when: None, add: false });
        }
        let mut last = self.nest.clone();
        let mut last_buffers = self.buffers.clone();
        for store in &stores {
            let load = Inst::Load { operand: store.operand, index: here.clone() };
            last.phases[0].block.insts[store.value as usize] = load;
        }
        // The first one reports.
        last.phases[0].block.insts.iter_mut().for_each(Inst::silence);
        last.name = "set_part".into();
        tidy(&mut last, &mut last_buffers);
        let (mut first, mut first_buffers) = (self.nest, self.buffers);
        first.grid = axes.len();
        let block = Block { insts: std::mem::take(&mut first.phases[0].block.insts) };
        first.phases = vec![Phase { kind: PhaseKind::Point, block, folds: vec![], stores }];
        tidy(&mut first, &mut first_buffers);
        if first_buffers.contains(&new) || last_buffers.contains(&old) {
            return None;
        }
        for value in self.values {
            program.buffer(types[value as usize], &axes, Role::Temp);
        }
        let step = |nest, buffers| Step::Nest { nest, buffers };
        Some([step(first, first_buffers), step(last, last_buffers)])
    }
}

/// The values that follow from loads of the old array and from none of the new one, and that anything else
/// uses than such values.
fn known_before(phase: &Phase, is_old: impl Fn(usize) -> bool, is_new: impl Fn(usize) -> bool) -> Vec<Value> {
    let insts = &phase.block.insts;
    let (mut follows, mut waits) = (vec![false; insts.len()], vec![false; insts.len()]);
    for (at, inst) in insts.iter().enumerate() {
        let (mut loads_old, mut loads_new) = (false, false);
        if let Inst::Load { operand, .. } = inst {
            (loads_old, loads_new) = (is_old(*operand), is_new(*operand));
        }
        follows[at] = loads_old || inst.uses_any(|value| follows[value as usize]);
        waits[at] = loads_new || inst.uses_any(|value| waits[value as usize]);
    }
    let mut used: Vec<Value> = phase.results().collect();
    insts.iter().zip(&waits).filter(|(_, waits)| **waits).for_each(|(inst, _)| {
        inst.for_each_value(|value| used.push(value));
    });
    used.retain(|&value| follows[value as usize] && !waits[value as usize]);
    used.sort_unstable();
    used.dedup();
    used
}
