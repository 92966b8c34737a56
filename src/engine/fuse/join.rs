//! Joins two Nests over the same points, phase by phase.
//!
//! A phase of the later Nest goes where the earlier one visits the same points: into a phase of its own kind
//! as soon as its inputs are known, otherwise after the last phase. Results of the earlier Nest that the
//! later one reads at the point that stored them are taken from the values of that phase, or recomputed from
//! them. So an epilogue joins a reduction, sums over the same rows join each other, a softmax written in
//! elementary ops becomes one Nest, and the update of a simulation joins the reduction that reads it.

use super::edit::adopt;
use super::limits::{FusionLimits, MAX_OPERANDS};
use super::size;
use crate::lower::dead_code::tidy;
use crate::lower::program::BufferId;
use std::collections::HashSet;
use workalike_kernels::nest::{BlockWriter, FoldOf, Index, Inst, Nest, Phase, PhaseKind, Store, Value};

/// A Nest and the buffers of its operands.
pub(super) type Bound<'a> = (&'a Nest, &'a [BufferId]);

/// The points that both visit: grid axes, then inner axes.
#[derive(Clone, Debug, PartialEq)]
struct IterationSpace {
    axes: Vec<u64>,
    grid: usize,
}

impl IterationSpace {
    fn of(nest: &Nest) -> IterationSpace {
        IterationSpace { axes: nest.axes.clone(), grid: nest.grid }
    }

    /// The frame of a pair: that of the Nest with inner axes.
    fn of_both(a: &Nest, b: &Nest) -> Option<IterationSpace> {
        let has_inner = |n: &Nest| n.grid < n.axes.len();
        match (has_inner(a), has_inner(b)) {
            (true, true) => (IterationSpace::of(a) == IterationSpace::of(b)).then(|| IterationSpace::of(a)),
            (true, false) => Some(IterationSpace::of(a)),
            _ => Some(IterationSpace::of(b)),
        }
    }

    /// A Nest with these axes; a map over all of them visits the inner points.
    fn fit(&self, nest: &Nest) -> Option<Nest> {
        if IterationSpace::of(nest) == *self {
            return Some(nest.clone());
        }
        if !nest.is_map() {
            return None;
        }
        let mut fitted = Nest { axes: self.axes.clone(), grid: self.grid, ..nest.clone() };
        if nest.axes == self.axes {
            fitted.phases[0].kind = PhaseKind::Map;
            return Some(fitted);
        }
        (nest.axes == self.axes[..self.grid]).then_some(fitted)
    }
}

/// Whether a phase visits the inner points.
pub(super) fn is_inner(phase: &Phase) -> bool {
    matches!(phase.kind, PhaseKind::Map | PhaseKind::Reduce)
}

/// Whether one Nest adds to a buffer to which the other stores too: no single Nest has that order.
fn adds_meet(adder: Bound, other: Bound) -> bool {
    let stores = |n: Bound, adding: bool| -> Vec<BufferId> {
        let all = n.0.phases.iter().flat_map(|p| &p.stores);
        all.filter(|s| s.add || !adding).map(|s| n.1[s.operand]).collect()
    };
    let others = stores(other, false);
    stores(adder, true).iter().any(|added| others.contains(added))
}

/// Both Nests as one, if possible and not too large. Buffers that are `private` are accessed by nothing else:
/// one that is read from a register is not stored.
pub(super) fn join(
    earlier: Bound,
    later: Bound,
    private: &dyn Fn(BufferId) -> bool,
    limits: FusionLimits,
) -> Option<(Nest, Vec<BufferId>)> {
    // Only private operands may disappear.
    let mut remaining: Vec<BufferId> =
        earlier.1.iter().chain(later.1).copied().filter(|&id| !private(id)).collect();
    remaining.sort_unstable();
    remaining.dedup();
    if remaining.len() > MAX_OPERANDS || limits.too_large(earlier.0, later.0) {
        return None;
    }
    let (mut nest, buffers) = joined(earlier, later, private)?;
    limits.fits(&mut nest, size(earlier.0) + size(later.0)).then_some((nest, buffers))
}

/// The same, however large the result is.
fn joined(earlier: Bound, later: Bound, private: &dyn Fn(BufferId) -> bool) -> Option<(Nest, Vec<BufferId>)> {
    if adds_meet(earlier, later) || adds_meet(later, earlier) {
        return None;
    }
    let frame = IterationSpace::of_both(earlier.0, later.0)?;
    let mut nest = frame.fit(earlier.0)?;
    let second = frame.fit(later.0)?;
    let ordered = |n: &Nest| n.phases.iter().any(|p| p.kind == PhaseKind::Ordered);
    if ordered(&nest) || ordered(&second) {
        return None;
    }
    let mut buffers = earlier.1.to_vec();
    let first = nest.clone();
    let adopted = adopt(&mut nest, &mut buffers, &second, later.1);
    let mut joining = Joining {
        first: &first,
        first_buffers: earlier.1,
        second: &second,
        second_buffers: later.1,
        same: (0..nest.operands.len()).collect(),
        adopted,
        slots: vec![],
        phases: std::mem::take(&mut nest.phases),
    };
    for phase in &second.phases {
        joining.add(phase)?;
    }
    nest.phases = joining.phases;
    drop_private_stores(&mut nest, &buffers, private);
    tidy(&mut nest, &mut buffers);
    add_name(&mut nest, &second.name);
    Some((nest, buffers))
}

/// Adds the name of a later Nest.
pub(super) fn add_name(nest: &mut Nest, later: &str) {
    if !nest.name.contains(later) && nest.name.len() < 48 {
        nest.name = format!("{}_{later}", nest.name);
    }
}

/// Drops stores to private buffers from which nothing is loaded.
fn drop_private_stores(nest: &mut Nest, buffers: &[BufferId], private: &dyn Fn(BufferId) -> bool) {
    let mut loaded = vec![false; nest.operands.len()];
    for inst in nest.phases.iter().flat_map(|phase| &phase.block.insts) {
        if let Inst::Load { operand, .. } = inst {
            loaded[*operand] = true;
        }
    }
    let loaded: HashSet<BufferId> =
        buffers.iter().zip(loaded).filter_map(|(&b, is)| is.then_some(b)).collect();
    let keeps = |store: &Store| {
        let buffer = buffers[store.operand];
        loaded.contains(&buffer) || !private(buffer)
    };
    nest.phases.iter_mut().for_each(|phase| phase.stores.retain(keeps));
}

struct Joining<'a> {
    first: &'a Nest,
    first_buffers: &'a [BufferId],
    second: &'a Nest,
    second_buffers: &'a [BufferId],
    /// The operands of the earlier Nest, which keep their positions.
    same: Vec<usize>,
    /// The positions of the later Nest's operands.
    adopted: Vec<usize>,
    /// For each phase of the later Nest that was placed: its phase, and the number of folds that were there
    /// before.
    slots: Vec<(usize, usize)>,
    phases: Vec<Phase>,
}

impl Joining<'_> {
    /// The phase of the earlier Nest that stored what a load reads, and the value. `Some(None)`: it does not
    /// store to this buffer.
    fn stored(&self, operand: usize, index: &[Index]) -> Option<Option<(usize, Value)>> {
        let buffer = self.second_buffers[operand];
        let phases = self.first.phases.iter().enumerate();
        let stores = phases.flat_map(|(at, p)| p.stores.iter().map(move |s| (at, s)));
        let mut stores = stores.filter(|(_, s)| self.first_buffers[s.operand] == buffer);
        let Some((at, store)) = stores.next() else { return Some(None) };
        let seen = &self.second.operands[operand];
        let same = self.first.operands[store.operand].shape == seen.shape && store.index == index;
        let known = store.index.iter().all(|i| i.dynamic.is_none()) && store.when.is_none() && !store.add;
        (stores.next().is_none() && same && known).then_some(Some((at, store.value)))
    }

    /// The first phase that a phase of the later Nest can join.
    fn slot(&self, phase: &Phase) -> Option<usize> {
        let mut least = 0;
        for inst in &phase.block.insts {
            match inst {
                Inst::Folded { phase, .. } => least = least.max(self.slots[*phase].0 + 1),
                Inst::Load { operand, index } => {
                    if let Some((at, _)) = self.stored(*operand, index)? {
                        let alike = is_inner(&self.first.phases[at]) == is_inner(phase);
                        least = least.max(if alike { at } else { at + 1 });
                    }
                }
                _ => {}
            }
        }
        let there = (least..self.phases.len()).find(|&at| is_inner(&self.phases[at]) == is_inner(phase));
        Some(there.unwrap_or(self.phases.len()))
    }

    fn add(&mut self, phase: &Phase) -> Option<()> {
        let slot = self.slot(phase)?;
        if slot == self.phases.len() {
            let empty = Phase { kind: phase.kind, block: Default::default(), folds: vec![], stores: vec![] };
            self.phases.push(empty);
        }
        let empty = Phase { kind: phase.kind, block: Default::default(), folds: vec![], stores: vec![] };
        let there = std::mem::replace(&mut self.phases[slot], empty);
        // The values of the existing phase keep their numbers.
        let mut writer = BlockWriter::on(there.block, phase.kind);
        let mut again: Vec<Option<Vec<Value>>> = vec![None; self.first.phases.len()];
        let mut values: Vec<Value> = Vec::with_capacity(phase.block.insts.len());
        for inst in &phase.block.insts {
            let value = match inst {
                Inst::Folded { phase, fold } => {
                    let (at, before) = self.slots[*phase];
                    writer.push(Inst::Folded { phase: at, fold: before + fold })
                }
                Inst::Load { operand, index } => match self.stored(*operand, index)? {
                    Some((at, value)) if at == slot => value,
                    Some((at, value)) => {
                        let block = &self.first.phases[at].block.insts;
                        let known = again[at].get_or_insert_with(|| {
                            let mut known: Vec<Value> = Vec::with_capacity(block.len());
                            for inst in block {
                                // Only the original computation reports.
                                let mut inst = inst.clone();
                                inst.silence();
                                known.push(writer.copy(&inst, None, &self.same, &known));
                            }
                            known
                        });
                        known[value as usize]
                    }
                    None => writer.copy(inst, None, &self.adopted, &values),
                },
                _ => writer.copy(inst, None, &self.adopted, &values),
            };
            values.push(value);
        }
        let mut stores: Vec<Store> = there.stores;
        for store in &phase.stores {
            stores.push(writer.store(store, None, &self.adopted, &values));
        }
        self.slots.push((slot, there.folds.len()));
        let mut folds: Vec<FoldOf> = there.folds;
        let added = folds.len();
        folds.extend_from_slice(&phase.folds);
        folds[added..].iter_mut().for_each(|fold| fold.map_values(|value| values[value as usize]));
        let kind = match (is_inner(phase), folds.is_empty()) {
            (false, _) => PhaseKind::Point,
            (true, true) => PhaseKind::Map,
            (true, false) => PhaseKind::Reduce,
        };
        self.phases[slot] = Phase { kind, block: writer.finish(), folds, stores };
        Some(())
    }
}
