//! A Nest within a box of its points.

use super::{Interior, Range, length, pieces};
use crate::dtype::DType;
use crate::nest::{Affine, BlockWriter, Index, Inst, Nest, Phase, Store, Value};
use crate::ops::{ADD, AND, GE, GT, LE, LT, MAXIMUM, MINIMUM, MUL, NOT, OR, REMAINDER, SUB, ScalarOp, WHERE};
use crate::scalar::Scalar;
use std::collections::BTreeSet;

/// An axis with more cuts than this is not cut.
const CUTS: usize = 8;

/// A Nest rewritten for a box, and where comparisons change their outcome within it.
pub(super) struct Inside<'a> {
    nest: &'a Nest,
    /// By axis.
    pub(super) within: Vec<Range>,
    phases: Vec<Phase>,
    /// By axis: positions before which a comparison has another outcome.
    cuts: Vec<BTreeSet<i64>>,
    /// Indices that were computed and are sums over axes here.
    gained: usize,
}

/// A phase being rewritten.
struct Rewriting<'i, 'a> {
    inside: &'i mut Inside<'a>,
    writer: BlockWriter,
    /// Integers that are sums over axes, by value, with their dtype.
    sums: Vec<Option<(Affine, DType)>>,
    /// The new number of each old value.
    numbers: Vec<Value>,
}

impl<'a> Inside<'a> {
    pub(super) fn of(nest: &'a Nest, within: Vec<Range>) -> Inside<'a> {
        let cuts = vec![BTreeSet::new(); nest.axes.len()];
        let mut inside = Inside { nest, within, phases: vec![], cuts, gained: 0 };
        for phase in &nest.phases {
            let phase = Rewriting::phase(&mut inside, phase);
            inside.phases.push(phase);
        }
        inside
    }

    /// The positions along an axis at which it has to be cut; empty if there are more than [`CUTS`].
    pub(super) fn cuts(&self, axis: usize) -> Vec<i64> {
        let cuts = &self.cuts[axis];
        if cuts.len() > CUTS { vec![] } else { cuts.iter().copied().collect() }
    }

    /// The largest piece of an axis, if that has cuts and the piece is most of it.
    pub(super) fn most_of(&self, axis: usize) -> Option<Range> {
        let (all, cuts) = (self.within[axis], self.cuts(axis));
        let largest = pieces(all, &cuts).into_iter().max_by_key(|&piece| length(piece))?;
        (!cuts.is_empty() && 2 * length(largest) >= length(all)).then_some(largest)
    }

    /// Whether an index is no longer computed.
    pub(super) fn gains(&self) -> bool {
        self.gained > 0
    }

    pub(super) fn finish(self) -> Interior {
        let mut nest = Nest { phases: self.phases, ..self.nest.clone() };
        nest.phases.iter_mut().for_each(Phase::drop_unused_values);
        Interior { within: self.within, nest }
    }

    /// Least and greatest value of a sum over axes.
    fn range(&self, offset: i64, terms: impl Iterator<Item = (usize, i64)>) -> (i128, i128) {
        let (mut low, mut high) = (i128::from(offset), i128::from(offset));
        for (axis, coefficient) in terms {
            let (from, to) = self.within[axis];
            let ends = [from, to].map(|end| i128::from(end).saturating_mul(coefficient.into()));
            low = low.saturating_add(ends[0].min(ends[1]));
            high = high.saturating_add(ends[0].max(ends[1]));
        }
        (low, high)
    }

    fn range_of(&self, sum: &Affine) -> (i128, i128) {
        self.range(sum.offset, sum.coefficients.iter().copied().enumerate())
    }

    /// Notes where a sum changes from below a bound to at least the bound, if it moves along one grid axis
    /// alone: where it may be either because of inner axes, the piece has edges on both sides.
    fn cut(&mut self, sum: &Affine, bound: i64) {
        let grid = &sum.coefficients[..self.nest.grid];
        let mut moving = grid.iter().enumerate().filter(|(_, coefficient)| **coefficient != 0);
        let (Some((axis, &step)), None) = (moving.next(), moving.next()) else { return };
        let inner = sum.coefficients.iter().copied().enumerate().skip(self.nest.grid);
        let (low, high) = self.range(sum.offset, inner);
        let (step, bound) = (i128::from(step), i128::from(bound));
        // The first position at which `step * position + part >= bound`, or the first at which not.
        let turns = |part: i128| match step > 0 {
            true => -(part - bound).div_euclid(step),
            false => (part - bound).div_euclid(-step) + 1,
        };
        for cut in [turns(low), turns(high)] {
            if let Ok(cut) = i64::try_from(cut)
                && (self.within[axis].0 + 1..=self.within[axis].1).contains(&cut)
            {
                self.cuts[axis].insert(cut);
            }
        }
    }
}

impl Rewriting<'_, '_> {
    fn phase(inside: &mut Inside<'_>, phase: &Phase) -> Phase {
        let writer = BlockWriter::new(phase.kind);
        let mut new = Rewriting { inside, writer, sums: vec![], numbers: vec![] };
        for inst in &phase.block.insts {
            let number = new.rewritten(inst);
            new.numbers.push(number);
        }
        let mut phase = phase.clone();
        phase.rename(&new.numbers);
        phase.stores.retain_mut(|store| new.is_stored(store));
        phase.block = new.writer.finish();
        phase
    }

    /// Gives a store its index here; `false` if its condition never holds.
    fn is_stored(&mut self, store: &mut Store) -> bool {
        store.index = self.indices(store.operand, &store.index);
        match store.when.map(|when| self.truth(when)) {
            Some(Some(false)) => return false,
            Some(Some(true)) => store.when = None,
            _ => {}
        }
        true
    }

    fn push(&mut self, inst: Inst) -> Value {
        let sum = self.sum(&inst);
        let value = self.writer.push(inst);
        if value as usize == self.sums.len() {
            self.sums.push(sum);
        }
        value
    }

    /// The new number of an instruction.
    fn rewritten(&mut self, inst: &Inst) -> Value {
        let mut inst = inst.clone();
        inst.map_values(|value| self.numbers[value as usize]);
        match &mut inst {
            Inst::Load { operand, index } => *index = self.indices(*operand, index),
            Inst::Op { op, args } => {
                if let Some(value) = self.known(*op, args) {
                    return value;
                }
            }
            _ => {}
        }
        self.push(inst)
    }

    /// The value of an op whose outcome the box decides.
    fn known(&mut self, op: ScalarOp, args: &[Value]) -> Option<Value> {
        match (op, args) {
            (GE | LT | LE | GT, &[a, b]) => {
                let bound = i64::from(op == LE || op == GT);
                let reaches = self.reaches(a, b, bound)?;
                Some(self.bool(reaches == (op == GE || op == GT)))
            }
            (MAXIMUM | MINIMUM, &[a, b]) => {
                let first = self.reaches(a, b, 0)? == (op == MAXIMUM);
                Some(if first { a } else { b })
            }
            (WHERE, &[test, yes, no]) => self.truth(test).map(|test| if test { yes } else { no }),
            (AND | OR, &[a, b]) => match (self.truth(a), self.truth(b)) {
                (Some(known), _) => Some(if known == (op == AND) { b } else { a }),
                (_, Some(known)) => Some(if known == (op == AND) { a } else { b }),
                _ => None,
            },
            (NOT, &[a]) => self.truth(a).map(|known| self.bool(!known)),
            (REMAINDER, &[a, by]) => self.remainder(a, by),
            _ => None,
        }
    }

    fn bool(&mut self, value: bool) -> Value {
        self.push(Inst::Const(Scalar::from_i128(DType::Bool, value.into())))
    }

    /// The value of a bool, if it is constant.
    fn truth(&self, value: Value) -> Option<bool> {
        match self.writer.insts()[value as usize] {
            Inst::Const(scalar) if scalar.dtype() == DType::Bool => Some(scalar.bits() != 0),
            _ => None,
        }
    }

    /// Whether `a - b` is at least `bound`, if the box decides it; notes a cut if not.
    fn reaches(&mut self, a: Value, b: Value, bound: i64) -> Option<bool> {
        let [(a, _), (b, _)] = [self.sums[a as usize].as_ref()?, self.sums[b as usize].as_ref()?];
        let difference = combined(a, b, -1)?;
        let (low, high) = self.inside.range_of(&difference);
        if low >= bound.into() || high < bound.into() {
            return Some(low >= bound.into());
        }
        self.inside.cut(&difference, bound);
        None
    }

    /// A remainder by a positive constant as a difference.
    fn remainder(&mut self, a: Value, by: Value) -> Option<Value> {
        let [(sum, dtype), (by, _)] = [self.sums[a as usize].clone()?, self.sums[by as usize].clone()?];
        let positive = by.offset > 0 && by.coefficients.iter().all(|&c| c == 0);
        let by = positive.then_some(by.offset)?;
        let (low, high) = self.inside.range_of(&sum);
        let [first, last] = [low, high].map(|end| end.div_euclid(by.into()));
        if first == last {
            if first == 0 {
                return Some(a);
            }
            let below = self.push(Inst::Const(Scalar::from_i128(dtype, first.checked_mul(by.into())?)));
            return Some(self.push(Inst::Op { op: SUB, args: vec![a, below] }));
        }
        if last - first <= CUTS as i128 {
            for multiple in first + 1..=last {
                self.inside.cut(&sum, i64::try_from(multiple.checked_mul(by.into())?).ok()?);
            }
        }
        None
    }

    /// The sum over axes that an instruction is.
    fn sum(&self, inst: &Inst) -> Option<(Affine, DType)> {
        let of = |value: Value| self.sums[value as usize].as_ref();
        let zero = || Affine::zero(self.inside.within.len());
        let (sum, dtype) = match inst {
            Inst::Const(scalar) if matches!(scalar.dtype(), DType::I64 | DType::U32) => {
                (Affine { offset: i64::try_from(scalar.to_i128()).ok()?, ..zero() }, scalar.dtype())
            }
            Inst::Axis(axis) => {
                let mut sum = zero();
                sum.coefficients[*axis] = 1;
                (sum, DType::I64)
            }
            Inst::Cast { to: to @ (DType::I64 | DType::U32), value } => (of(*value)?.0.clone(), *to),
            Inst::Op { op, args } => {
                let &[a, b] = &args[..] else { return None };
                let (a, b) = (of(a)?, of(b)?);
                let sum = match *op {
                    ADD => combined(&a.0, &b.0, 1)?,
                    SUB => combined(&a.0, &b.0, -1)?,
                    MUL if b.0.coefficients.iter().all(|&c| c == 0) => combined(&zero(), &a.0, b.0.offset)?,
                    MUL if a.0.coefficients.iter().all(|&c| c == 0) => combined(&zero(), &b.0, a.0.offset)?,
                    _ => return None,
                };
                (sum, a.1)
            }
            _ => return None,
        };
        // It is no sum where it wraps.
        let (low, high) = self.inside.range_of(&sum);
        let fits = match dtype {
            DType::U32 => low >= 0 && high <= i128::from(u32::MAX),
            _ => low >= i128::from(i64::MIN) && high <= i128::from(i64::MAX),
        };
        fits.then_some((sum, dtype))
    }

    /// The indices of an access, with computed parts as sums over axes where these stay within the operand.
    fn indices(&mut self, operand: usize, indices: &[Index]) -> Vec<Index> {
        let extents = &self.inside.nest.operands[operand].shape;
        let mut gained = 0;
        let each = indices.iter().zip(extents).map(|(index, &extent)| {
            let Some(value) = index.dynamic else { return index.clone() };
            let Some((sum, DType::I64)) = &self.sums[value as usize] else { return index.clone() };
            let sum = added(index, sum).filter(|sum| {
                let (low, high) = self.inside.range(sum.offset, sum.terms.iter().copied());
                low >= 0 && high < extent.into()
            });
            gained += usize::from(sum.is_some());
            sum.unwrap_or_else(|| index.clone())
        });
        let indices = each.collect();
        self.inside.gained += gained;
        indices
    }
}

/// The static part of an index, and a sum over axes.
fn added(index: &Index, sum: &Affine) -> Option<Index> {
    let mut all = Index { offset: index.offset.checked_add(sum.offset)?, terms: vec![], dynamic: None };
    let mut coefficients = sum.coefficients.clone();
    for &(axis, coefficient) in &index.terms {
        coefficients[axis] = coefficients[axis].checked_add(coefficient)?;
    }
    all.terms = coefficients.into_iter().enumerate().filter(|(_, coefficient)| *coefficient != 0).collect();
    Some(all)
}

/// `a + times * b`.
fn combined(a: &Affine, b: &Affine, times: i64) -> Option<Affine> {
    let add = |a: i64, b: i64| a.checked_add(b.checked_mul(times)?);
    let coefficients = a.coefficients.iter().zip(&b.coefficients).map(|(&a, &b)| add(a, b));
    Some(Affine { offset: add(a.offset, b.offset)?, coefficients: coefficients.collect::<Option<_>>()? })
}
