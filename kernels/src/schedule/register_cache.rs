//! Values that stay in registers from one phase to the next: a row that is read once, and results computed
//! from it.
//!
//! A softmax reads its row for the maximum, again for the sum and again for the result, and computes each
//! exponential twice. If an item walks few enough points of a row, each value that a later phase would load
//! or compute again is kept in an array with one element for each of the points; loops over such arrays are
//! unrolled, so that the compiler puts the arrays into registers.

use super::access::{Walks, roots, varies};
use crate::dtype::DType;
use crate::nest::{Inst, Nest, PhaseKind, Value};
use std::collections::{BTreeMap, HashMap};

/// Minimum flops of an op whose result is kept.
const WORTH: u32 = 4;

/// The kept values: for each phase, maps from instruction to array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegisterCache {
    /// The dtype of each array.
    pub(crate) arrays: Vec<DType>,
    /// Values that an earlier phase kept.
    pub(crate) reads: Vec<BTreeMap<usize, usize>>,
    /// Values to keep.
    pub(crate) writes: Vec<BTreeMap<usize, usize>>,
    /// Maximum number of 4-byte registers in use for each point.
    pub(crate) words: u64,
}

impl RegisterCache {
    /// No kept values.
    pub(crate) fn none(nest: &Nest) -> RegisterCache {
        let empty = vec![BTreeMap::new(); nest.phases.len()];
        RegisterCache { arrays: vec![], reads: empty.clone(), writes: empty, words: 0 }
    }

    /// What may be kept, that which saves most first: of the values that a phase shares with an earlier one
    /// those nearest to its stores and folds; only what it reads, from which it computes them again.
    pub(crate) fn plans(nest: &Nest, walks: &Walks, dtypes: &[Vec<DType>]) -> [RegisterCache; 2] {
        let is_load = |inst: &Inst| matches!(inst, Inst::Load { .. });
        [
            RegisterCache::plan(nest, walks, dtypes, &|_| true),
            RegisterCache::plan(nest, walks, dtypes, &is_load),
        ]
    }

    /// The shared values worth keeping in registers; `may` selects the instructions that can be kept.
    fn plan(nest: &Nest, walks: &Walks, dtypes: &[Vec<DType>], may: &dyn Fn(&Inst) -> bool) -> RegisterCache {
        let mut kept = RegisterCache::none(nest);
        let axes: Vec<usize> = walks.inner.iter().map(|w| w.axis).collect();
        let mut known = Expressions::default();
        // The phase and instruction that first computed each expression, and its array if it has one.
        let mut first: HashMap<usize, (usize, usize)> = HashMap::new();
        let mut array_of: HashMap<usize, usize> = HashMap::new();
        let mut span: Vec<(usize, usize)> = Vec::new();
        for (at, phase) in nest.phases.iter().enumerate() {
            let ids: Vec<usize> = known.number(nest, &phase.block.insts);
            if phase.kind == PhaseKind::Point {
                continue;
            }
            let varies = varies(nest, phase, &axes, false);
            let mut needed = roots(phase);
            for inst in (0..ids.len()).rev() {
                if !needed[inst] {
                    continue;
                }
                let id = ids[inst];
                let before = first.get(&id).copied().filter(|&(p, _)| p < at);
                let is_kept = varies[inst] && known.worth[id] && may(&phase.block.insts[inst]);
                if let Some((p, i)) = before.filter(|_| is_kept) {
                    let array = *array_of.entry(id).or_insert_with(|| {
                        kept.arrays.push(dtypes[at][inst].register());
                        kept.writes[p].insert(i, kept.arrays.len() - 1);
                        span.push((p, at));
                        kept.arrays.len() - 1
                    });
                    span[array].1 = at;
                    kept.reads[at].insert(inst, array);
                    continue;
                }
                first.entry(id).or_insert((at, inst));
                phase.block.insts[inst].for_each_value(|v| needed[v as usize] = true);
            }
        }
        let words = |phase: usize| -> u64 {
            let alive = span.iter().zip(&kept.arrays).filter(|((from, to), _)| (*from..*to).contains(&phase));
            alive.map(|(_, dtype)| dtype.size().div_ceil(4) as u64).sum()
        };
        kept.words = (0..nest.phases.len()).map(words).max().unwrap_or(0);
        kept
    }
}

/// Value numbering: equal expressions of any phases have the same number.
#[derive(Default)]
struct Expressions {
    numbers: HashMap<Inst, usize>,
    /// Whether an expression is worth keeping: it reads memory or has an expensive op.
    worth: Vec<bool>,
}

impl Expressions {
    /// The number of each value of a block. Loads from an operand that the Nest writes never have the same
    /// number.
    fn number(&mut self, nest: &Nest, insts: &[Inst]) -> Vec<usize> {
        let mut ids: Vec<usize> = Vec::with_capacity(insts.len());
        for inst in insts {
            let mut key = inst.clone();
            key.map_values(|value| ids[value as usize] as Value);
            let mut worth = matches!(inst, Inst::Load { .. }) || inst.flops() >= WORTH;
            inst.for_each_value(|v| worth |= self.worth[ids[v as usize]]);
            let next = self.worth.len();
            let changes = matches!(inst, Inst::Load { operand, .. } if nest.operands[*operand].written);
            let id = if changes { next } else { *self.numbers.entry(key).or_insert(next) };
            if id == next {
                self.worth.push(worth);
            }
            ids.push(id);
        }
        ids
    }
}
