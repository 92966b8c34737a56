//! Rewriting: the values and operands that instructions, stores and folds use, visited and replaced.
//!
//! Passes that copy, move or drop instructions are written with these, so that a new [`Inst`] is told here
//! once what it uses.

use super::{Block, FoldOf, Inst, Phase, Store, Value};

impl Inst {
    /// Calls `then` with each value that it uses.
    pub fn for_each_value(&self, mut then: impl FnMut(Value)) {
        match self {
            Inst::Load { index, .. } => index.iter().filter_map(|i| i.dynamic).for_each(then),
            Inst::Cast { value, .. } | Inst::Position { value, .. } => then(*value),
            Inst::Op { args, .. } | Inst::Call { args, .. } => args.iter().for_each(|&a| then(a)),
            Inst::Const(_) | Inst::Axis(_) | Inst::Folded { .. } => {}
        }
    }

    /// Whether one of the values that it uses is such.
    pub fn uses_any(&self, is: impl Fn(Value) -> bool) -> bool {
        let mut any = false;
        self.for_each_value(|value| any |= is(value));
        any
    }

    /// Replaces each value that it uses.
    pub fn map_values(&mut self, mut to: impl FnMut(Value) -> Value) {
        let mut change = |value: &mut Value| *value = to(*value);
        match self {
            Inst::Load { index, .. } => index.iter_mut().filter_map(|i| i.dynamic.as_mut()).for_each(change),
            Inst::Cast { value, .. } | Inst::Position { value, .. } => change(value),
            Inst::Op { args, .. } | Inst::Call { args, .. } => args.iter_mut().for_each(change),
            Inst::Const(_) | Inst::Axis(_) | Inst::Folded { .. } => {}
        }
    }

    /// Renumbers the operand that it loads from, or reports to: `operands` gives the new number of each.
    pub fn renumber_operands(&mut self, operands: &[usize]) {
        match self {
            Inst::Load { operand, .. } => *operand = operands[*operand],
            Inst::Position { mode, .. } => *mode = mode.renumbered(operands),
            _ => {}
        }
    }
}

impl Store {
    /// Replaces each value that it uses.
    pub fn map_values(&mut self, mut to: impl FnMut(Value) -> Value) {
        let change = |value: &mut Value| *value = to(*value);
        let index = self.index.iter_mut().filter_map(|i| i.dynamic.as_mut());
        index.chain(&mut self.when).chain([&mut self.value]).for_each(change);
    }
}

impl FoldOf {
    /// Replaces each value that it uses.
    pub fn map_values(&mut self, mut to: impl FnMut(Value) -> Value) {
        self.index.iter_mut().chain([&mut self.value]).for_each(|value| *value = to(*value));
    }
}

impl Phase {
    /// The values that stores, folds and the addresses of stores use directly.
    pub fn results(&self) -> impl Iterator<Item = Value> {
        let stored = self.stores.iter().flat_map(|store| {
            let index = store.index.iter().filter_map(|i| i.dynamic);
            index.chain(store.when).chain([store.value])
        });
        stored.chain(self.folds.iter().flat_map(|fold| fold.index.into_iter().chain([fold.value])))
    }

    /// Drops unused values. One that reports counts as used.
    pub fn drop_unused_values(&mut self) {
        let count = self.block.insts.len();
        let mut used: Vec<bool> = self.block.insts.iter().map(|inst| inst.status().is_some()).collect();
        self.results().for_each(|value| used[value as usize] = true);
        for at in (0..count).rev() {
            if used[at] {
                self.block.insts[at].for_each_value(|value| used[value as usize] = true);
            }
        }
        if used.iter().all(|&used| used) {
            return;
        }
        let mut values: Vec<Value> = vec![0; count];
        let mut block = Block::default();
        for (at, mut inst) in std::mem::take(&mut self.block.insts).into_iter().enumerate() {
            if !used[at] {
                continue;
            }
            inst.map_values(|value| values[value as usize]);
            block.insts.push(inst);
            values[at] = block.insts.len() as Value - 1;
        }
        self.block = block;
        self.rename(&values);
    }

    /// Renames the values that stores and folds use, as after a change of the block: `values` gives the new
    /// number of each.
    pub fn rename(&mut self, values: &[Value]) {
        let new = |old: Value| values[old as usize];
        self.stores.iter_mut().for_each(|store| store.map_values(new));
        self.folds.iter_mut().for_each(|fold| fold.map_values(new));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::nest::{Fold, Index, IndexMode, PhaseKind};
    use crate::ops::ADD;

    /// An index that is computed.
    fn at(value: Value) -> Index {
        Index { dynamic: Some(value), ..Index::axis(0) }
    }

    #[test]
    fn what_is_visited_is_what_is_replaced() {
        let mode = IndexMode::Report { status: 1, node: 7 };
        for (mut inst, used) in [
            (Inst::Axis(3), vec![]),
            (Inst::Folded { phase: 1, fold: 2 }, vec![]),
            (Inst::Load { operand: 1, index: vec![at(4), Index::axis(1), at(5)] }, vec![4, 5]),
            (Inst::Cast { to: DType::F32, value: 6 }, vec![6]),
            (Inst::Op { op: ADD, args: vec![2, 2] }, vec![2, 2]),
            (Inst::Position { value: 1, extent: 9, mode }, vec![1]),
        ] {
            let values = |inst: &Inst| {
                let mut values = vec![];
                inst.for_each_value(|value| values.push(value));
                values
            };
            assert_eq!(values(&inst), used);
            assert_eq!(inst.uses_any(|value| value == 6), used.contains(&6));
            inst.map_values(|value| value + 10);
            assert_eq!(values(&inst), used.iter().map(|value| value + 10).collect::<Vec<_>>());
        }
        let mut position = Inst::Position { value: 1, extent: 9, mode };
        position.renumber_operands(&[5, 6]);
        assert_eq!(position.status(), Some(6));
    }

    #[test]
    fn results_are_renamed() {
        let store = Store { operand: 0, index: vec![at(0)], value: 1, when: Some(2), add: false };
        let fold = FoldOf { fold: Fold::ArgMax, value: 3, index: Some(4) };
        let (block, kind) = (Block::default(), PhaseKind::Reduce);
        let mut phase = Phase { kind, block, folds: vec![fold], stores: vec![store] };
        assert_eq!(phase.results().collect::<Vec<_>>(), [0, 2, 1, 4, 3]);
        phase.rename(&[9, 8, 7, 6, 5]);
        assert_eq!(phase.results().collect::<Vec<_>>(), [9, 7, 8, 5, 6]);
    }
}
