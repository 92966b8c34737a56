//! What stays in registers from one phase to the next: a row that is read once, and what was already made of
//! it.
//!
//! A softmax reads its row for the maximum, again for the sum and again for the result, and computes each
//! exponential twice. Where an item walks few enough points of a row, each value that a later phase would
//! load or compute again is kept in an array with one element for each of the points; loops over such arrays
//! are unrolled, so that they are registers.

use super::access::Walks;
use super::block::{roots, uses};
use super::cpu_lanes::varies;
use crate::dtype::DType;
use crate::nest::{Index, Inst, Nest, PhaseKind, Value};
use std::collections::{BTreeMap, HashMap};

/// An op of so many flops is worth a register.
const WORTH: u32 = 4;

/// Values that are kept. Of each phase: instruction to array.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// The dtype of each array.
    pub(super) arrays: Vec<DType>,
    /// Values that are there already.
    pub(super) reads: Vec<BTreeMap<usize, usize>>,
    /// Values that are to be put there.
    pub(super) writes: Vec<BTreeMap<usize, usize>>,
    /// 4-byte registers for each point, where most are in use.
    pub(super) words: u64,
}

impl Kept {
    /// Nothing.
    pub(super) fn none(nest: &Nest) -> Kept {
        let empty = vec![BTreeMap::new(); nest.phases.len()];
        Kept { arrays: vec![], reads: empty.clone(), writes: empty, words: 0 }
    }

    /// All that is worth it: where a phase comes upon a value that an earlier one had, it goes no further.
    pub(super) fn plan(nest: &Nest, walks: &Walks, dtypes: &[Vec<DType>]) -> Kept {
        let mut kept = Kept::none(nest);
        let axes: Vec<usize> = walks.inner.iter().map(|w| w.axis).collect();
        let mut known = Expressions::default();
        // Where each expression was computed first, and its array if it has one.
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
                if let Some((p, i)) = before.filter(|_| varies[inst] && known.worth[id]) {
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
                uses(&phase.block.insts[inst], |v| needed[v as usize] = true);
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

/// Expressions by number: equal ones, in whatever phase, have the same.
#[derive(Default)]
struct Expressions {
    numbers: HashMap<Inst, usize>,
    /// Whether an expression reads memory or costs something.
    worth: Vec<bool>,
}

impl Expressions {
    /// The number of each value of a block. What is read from an operand that the Nest writes is never the
    /// same twice.
    fn number(&mut self, nest: &Nest, insts: &[Inst]) -> Vec<usize> {
        let mut ids: Vec<usize> = Vec::with_capacity(insts.len());
        for inst in insts {
            let of = |v: Value| ids[v as usize] as Value;
            let key = match inst {
                Inst::Const(_) | Inst::Axis(_) | Inst::Folded { .. } => inst.clone(),
                Inst::Load { operand, index } => {
                    let index =
                        index.iter().map(|i| Index { dynamic: i.dynamic.map(of), ..i.clone() }).collect();
                    Inst::Load { operand: *operand, index }
                }
                Inst::Cast { to, value } => Inst::Cast { to: *to, value: of(*value) },
                Inst::Position { value, extent, mode } => {
                    Inst::Position { value: of(*value), extent: *extent, mode: *mode }
                }
                Inst::Op { op, args } => Inst::Op { op: *op, args: args.iter().map(|&a| of(a)).collect() },
            };
            let mut worth = match inst {
                Inst::Load { .. } => true,
                Inst::Op { op, .. } => op.row().flops >= WORTH,
                _ => false,
            };
            uses(inst, |v| worth |= self.worth[ids[v as usize]]);
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
