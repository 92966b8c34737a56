//! Computed indices that stay within their dimension, whatever the data.
//!
//! A Nest's builder clamps what it computes an index from, so that it is within its dimension. Generated kernels must not rely
//! on that: a Nest may come from anywhere, and what it loads an index from may hold anything. [`clamp_computed_indices`] clamps
//! each computed index for which that is needed. Ranges of integers show most of them to be clamped already; those Nests are
//! left as they are.

use crate::dtype::DType;
use crate::nest::{Block, Index, Inst, Nest, Phase, PhaseKind, Value};
use crate::ops::{ADD, MAXIMUM, MINIMUM, MUL, WHERE};
use crate::scalar::Scalar;
use std::borrow::Cow;

/// Least and greatest value of an integer; all of int64 where nothing is known.
type Range = (i64, i64);

const ANY: Range = (i64::MIN, i64::MAX);

/// What is known of a value.
#[derive(Clone, Copy)]
struct Known {
    range: Range,
    /// It is an int64 for sure, so that sums and products wrap beyond 64 bits only.
    long: bool,
}

const UNKNOWN: Known = Known { range: ANY, long: false };

/// The Nest, with computed indices clamped where they are not known to be in range. The Nest must be one that
/// [`verify`](crate::verify::verify) accepts.
pub fn clamp_computed_indices(nest: &Nest) -> Cow<'_, Nest> {
    let computed = |indices: &[Index]| indices.iter().any(|index| index.dynamic.is_some());
    let has_computed = |phase: &Phase| {
        let loads =
            phase.block.insts.iter().any(|i| matches!(i, Inst::Load { index, .. } if computed(index)));
        loads || phase.stores.iter().any(|store| computed(&store.index))
    };
    if !nest.phases.iter().any(has_computed) {
        return Cow::Borrowed(nest);
    }
    let phases: Vec<Option<Phase>> = nest.phases.iter().map(|phase| Clamping::of(nest, phase)).collect();
    if phases.iter().all(Option::is_none) {
        return Cow::Borrowed(nest);
    }
    let mut clamped = nest.clone();
    for (phase, new) in clamped.phases.iter_mut().zip(phases) {
        if let Some(new) = new {
            *phase = new;
        }
    }
    Cow::Owned(clamped)
}

/// A phase that is written anew.
struct Clamping<'a> {
    nest: &'a Nest,
    axes: &'a [u64],
    block: Block,
    /// Of each value of the new block.
    known: Vec<Known>,
    /// The new number of each old value.
    numbers: Vec<Value>,
    changed: bool,
}

impl Clamping<'_> {
    /// The phase with its indices clamped; `None` if none had to be.
    fn of(nest: &Nest, phase: &Phase) -> Option<Phase> {
        let axes = if phase.kind == PhaseKind::Point { &nest.axes[..nest.grid] } else { &nest.axes[..] };
        let (block, known, numbers) = (Block::default(), vec![], vec![]);
        let mut new = Clamping { nest, axes, block, known, numbers, changed: false };
        for inst in &phase.block.insts {
            let inst = match inst {
                Inst::Load { operand, index } => {
                    Inst::Load { operand: *operand, index: new.indices(*operand, index) }
                }
                Inst::Cast { to, value } => Inst::Cast { to: *to, value: new.number(*value) },
                Inst::Op { op, args } => {
                    Inst::Op { op: *op, args: args.iter().map(|&arg| new.number(arg)).collect() }
                }
                Inst::Const(_) | Inst::Axis(_) | Inst::Folded { .. } => inst.clone(),
            };
            let number = new.push(inst);
            new.numbers.push(number);
        }
        let mut phase = phase.clone();
        for store in &mut phase.stores {
            store.index = new.indices(store.operand, &store.index);
            store.value = new.number(store.value);
            store.when = store.when.map(|when| new.number(when));
        }
        for fold in &mut phase.folds {
            fold.value = new.number(fold.value);
            fold.index = fold.index.map(|index| new.number(index));
        }
        phase.block = new.block;
        new.changed.then_some(phase)
    }

    fn number(&self, old: Value) -> Value {
        self.numbers[old as usize]
    }

    fn push(&mut self, inst: Inst) -> Value {
        self.known.push(self.know(&inst));
        self.block.insts.push(inst);
        (self.block.insts.len() - 1) as Value
    }

    fn constant(&mut self, number: i64) -> Value {
        self.push(Inst::Const(Scalar::from_i128(DType::I64, i128::from(number))))
    }

    fn know(&self, inst: &Inst) -> Known {
        let of = |value: &Value| self.known[*value as usize];
        let both = |args: &[Value], join: fn(Range, Range) -> Option<Range>| {
            let [.., a, b] = args else { return UNKNOWN };
            let (a, b) = (of(a), of(b));
            Known { range: join(a.range, b.range).unwrap_or(ANY), long: a.long && b.long }
        };
        let wraps_late = |args: &[Value]| args.iter().all(|arg| of(arg).long);
        match inst {
            Inst::Const(scalar) if scalar.dtype() == DType::I64 => {
                Known { range: (scalar.bits() as i64, scalar.bits() as i64), long: true }
            }
            Inst::Axis(axis) => Known { range: (0, self.axes[*axis].saturating_sub(1) as i64), long: true },
            Inst::Load { operand, .. } => {
                let dtype = self.nest.operands[*operand].dtype;
                Known { range: of_dtype(dtype), long: dtype == DType::I64 }
            }
            // An integer of fewer bits is the same number as an int64; of other dtypes nothing is known.
            Inst::Cast { to: DType::I64, value } => Known { range: of(value).range, long: true },
            Inst::Op { op: MINIMUM, args } => both(args, |a, b| Some((a.0.min(b.0), a.1.min(b.1)))),
            Inst::Op { op: MAXIMUM, args } => both(args, |a, b| Some((a.0.max(b.0), a.1.max(b.1)))),
            Inst::Op { op: WHERE, args } => both(args, |a, b| Some((a.0.min(b.0), a.1.max(b.1)))),
            Inst::Op { op: ADD, args } if wraps_late(args) => {
                both(args, |a, b| Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?)))
            }
            Inst::Op { op: MUL, args } if wraps_late(args) => both(args, |a, b| {
                let ends = [a.0.checked_mul(b.0)?, a.0.checked_mul(b.1)?];
                let ends = [ends, [a.1.checked_mul(b.0)?, a.1.checked_mul(b.1)?]].concat();
                Some((*ends.iter().min()?, *ends.iter().max()?))
            }),
            _ => UNKNOWN,
        }
    }

    /// The indices of an access, in range.
    fn indices(&mut self, operand: usize, indices: &[Index]) -> Vec<Index> {
        let extents = &self.nest.operands[operand].shape;
        indices.iter().zip(extents).map(|(index, &extent)| self.index(index, extent)).collect()
    }

    fn index(&mut self, index: &Index, extent: u64) -> Index {
        let Some(value) = index.dynamic else { return index.clone() };
        let value = self.number(value);
        let last = i128::from(extent) - 1;
        let (mut low, mut high) = (i128::from(index.offset), i128::from(index.offset));
        for &(axis, coefficient) in &index.terms {
            let far = i128::from(coefficient) * i128::from(self.axes[axis].saturating_sub(1));
            low += far.min(0);
            high += far.max(0);
        }
        // What the computed part may be, so that the sum is in range at every point.
        let (least, greatest) = (-low, last - high);
        let (from, to) = self.known[value as usize].range;
        if least <= i128::from(from) && i128::from(to) <= greatest {
            return Index { dynamic: Some(value), ..index.clone() };
        }
        self.changed = true;
        let within = |bound: i128| i64::try_from(bound).ok();
        if let (true, Some(least), Some(greatest)) = (least <= greatest, within(least), within(greatest)) {
            let dynamic = Some(self.clamp(value, least, greatest));
            return Index { dynamic, ..index.clone() };
        }
        // No single value of the computed part suits all points: the sum is computed, and clamped.
        let mut sum = self.constant(index.offset);
        for &(axis, coefficient) in &index.terms {
            let (at, coefficient) = (self.push(Inst::Axis(axis)), self.constant(coefficient));
            let term = self.push(Inst::Op { op: MUL, args: vec![at, coefficient] });
            sum = self.push(Inst::Op { op: ADD, args: vec![sum, term] });
        }
        sum = self.push(Inst::Op { op: ADD, args: vec![sum, value] });
        Index { dynamic: Some(self.clamp(sum, 0, last.max(0) as i64)), ..Index::default() }
    }

    fn clamp(&mut self, value: Value, least: i64, greatest: i64) -> Value {
        let (low, high) = (self.constant(least), self.constant(greatest));
        let above = self.push(Inst::Op { op: MAXIMUM, args: vec![value, low] });
        self.push(Inst::Op { op: MINIMUM, args: vec![above, high] })
    }
}

/// What an integer of a dtype may be.
fn of_dtype(dtype: DType) -> Range {
    match dtype {
        DType::Bool => (0, 1),
        DType::U8 | DType::U16 | DType::U32 => (0, (1 << (8 * dtype.size())) - 1),
        DType::I8 | DType::I16 | DType::I32 => {
            let half = 1i64 << (8 * dtype.size() - 1);
            (-half, half - 1)
        }
        _ => ANY,
    }
}

#[cfg(test)]
mod tests;
