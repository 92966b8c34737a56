//! Computed indices that stay within their dimension for any data; for kernels that are printed.
//!
//! The [`IndexMode`] of an index decides what happens out of range. [`explicit_bounds`] expands each
//! [`Inst::Position`] into arithmetic, and its report into a conditional store, so that printers need not
//! handle modes.
//!
//! An index without a mode was proved to be in range by the Nest's builder. Generated kernels must not rely
//! on that: a Nest may come from an untrusted file, and the operand that it loads an index from may hold any
//! number. So each computed index is clamped, unless a range analysis of integers shows it to be in range.

use crate::dtype::DType;
use crate::nest::{BlockWriter, Index, IndexMode, Inst, Nest, Phase, PhaseKind, Store, Value};
use crate::ops::{ADD, GE, LT, MAXIMUM, MINIMUM, MUL, OR, REMAINDER, ScalarOp, TRUNC_DIVIDE, WHERE};
use crate::scalar::Scalar;
use std::borrow::Cow;

/// Least and greatest value of an integer; the range of int64 if nothing is known.
type Range = (i64, i64);

const ANY: Range = (i64::MIN, i64::MAX);

/// Facts about a value.
#[derive(Clone, Copy)]
struct ValueFacts {
    range: Range,
    /// It is certainly an int64, so sums and products wrap only beyond 64 bits.
    long: bool,
}

const UNKNOWN: ValueFacts = ValueFacts { range: ANY, long: false };

/// The Nest without [`Inst::Position`], and with computed indices clamped where they are not known to be in
/// range. The Nest must be one that [`verify`](crate::verify::verify) accepts.
pub fn explicit_bounds(nest: &Nest) -> Cow<'_, Nest> {
    let computed = |indices: &[Index]| indices.iter().any(|index| index.dynamic.is_some());
    let concerns = |inst: &Inst| match inst {
        Inst::Load { index, .. } => computed(index),
        Inst::Position { .. } => true,
        _ => false,
    };
    let has_computed = |phase: &Phase| {
        phase.block.insts.iter().any(concerns) || phase.stores.iter().any(|store| computed(&store.index))
    };
    if !nest.phases.iter().any(has_computed) {
        return Cow::Borrowed(nest);
    }
    let phases: Vec<Option<Phase>> = nest.phases.iter().map(|phase| Bounding::of(nest, phase)).collect();
    if phases.iter().all(Option::is_none) {
        return Cow::Borrowed(nest);
    }
    let mut bounded = nest.clone();
    for (phase, new) in bounded.phases.iter_mut().zip(phases) {
        if let Some(new) = new {
            *phase = new;
        }
    }
    Cow::Owned(bounded)
}

/// A phase being rewritten.
struct Bounding<'a> {
    nest: &'a Nest,
    axes: &'a [u64],
    writer: BlockWriter,
    /// Facts about each of its values.
    known: Vec<ValueFacts>,
    /// The new number of each old value.
    numbers: Vec<Value>,
    /// A report for each integer that may be out of range.
    reports: Vec<Store>,
    changed: bool,
}

impl Bounding<'_> {
    /// The phase with explicit bounds; `None` if it needs no change.
    fn of(nest: &Nest, phase: &Phase) -> Option<Phase> {
        let axes = if phase.kind == PhaseKind::Point { &nest.axes[..nest.grid] } else { &nest.axes[..] };
        let (writer, known, numbers) = (BlockWriter::new(phase.kind), vec![], vec![]);
        let mut new = Bounding { nest, axes, writer, known, numbers, reports: vec![], changed: false };
        for inst in &phase.block.insts {
            let number = new.rewritten(inst);
            new.numbers.push(number);
        }
        let mut phase = phase.clone();
        for store in &mut phase.stores {
            let index = new.indices(store.operand, &store.index);
            store.map_values(|value| new.number(value));
            store.index = index;
        }
        phase.folds.iter_mut().for_each(|fold| fold.map_values(|value| new.number(value)));
        phase.stores.splice(0..0, new.reports);
        phase.block = new.writer.finish();
        new.changed.then_some(phase)
    }

    fn number(&self, old: Value) -> Value {
        self.numbers[old as usize]
    }

    /// The new number of an instruction.
    fn rewritten(&mut self, inst: &Inst) -> Value {
        if let Inst::Load { operand, index } = inst {
            let index = self.indices(*operand, index);
            return self.push(Inst::Load { operand: *operand, index });
        }
        let mut inst = inst.clone();
        inst.map_values(|value| self.number(value));
        if let Inst::Position { value, extent, mode } = inst {
            return self.position(value, extent, mode);
        }
        if let Inst::Op { op, args } = &inst
            && let Some(quotient) = self.short_division(*op, args)
        {
            return quotient;
        }
        self.push(inst)
    }

    fn push(&mut self, inst: Inst) -> Value {
        let known = self.know(&inst);
        let value = self.writer.push(inst);
        if value as usize == self.known.len() {
            self.known.push(known);
        }
        value
    }

    fn constant(&mut self, number: i64) -> Value {
        self.push(Inst::Const(Scalar::from_i128(DType::I64, i128::from(number))))
    }

    fn op(&mut self, op: ScalarOp, args: &[Value]) -> Value {
        self.push(Inst::Op { op, args: args.to_vec() })
    }

    /// [`IndexMode::position`] and the report as other instructions.
    fn position(&mut self, value: Value, extent: u64, mode: IndexMode) -> Value {
        self.changed = true;
        // `verify` bounds extents.
        let extent = i64::try_from(extent).unwrap_or(i64::MAX);
        let at = match mode {
            IndexMode::Wrap => {
                let extent = self.constant(extent.max(1));
                return self.op(REMAINDER, &[value, extent]);
            }
            IndexMode::Clamp => value,
            IndexMode::FromEnd | IndexMode::Report { .. } => {
                let (zero, n) = (self.constant(0), self.constant(extent));
                let negative = self.op(LT, &[value, zero]);
                let moved = self.op(ADD, &[value, n]);
                self.op(WHERE, &[negative, moved, value])
            }
        };
        if let IndexMode::Report { status, node } = mode {
            self.report(at, extent, (status, node));
        }
        let (low, high) = (self.constant(0), self.constant((extent - 1).max(0)));
        let above = self.op(MAXIMUM, &[at, low]);
        self.op(MINIMUM, &[above, high])
    }

    /// Stores a node's number where an index that counts from the front is out of range.
    fn report(&mut self, at: Value, extent: i64, (status, node): (usize, i64)) {
        let (zero, n) = (self.constant(0), self.constant(extent));
        let (below, beyond) = (self.op(LT, &[at, zero]), self.op(GE, &[at, n]));
        let outside = self.op(OR, &[below, beyond]);
        let value = self.constant(node);
        let when = Some(outside);
        self.reports.push(Store { operand: status, index: vec![], value, when, add: false });
    }

    /// A quotient or remainder of numbers that fit in 32 bits, which devices divide several times faster.
    fn short_division(&mut self, op: ScalarOp, args: &[Value]) -> Option<Value> {
        let &[a, b] = args else { return None };
        let [known, by] = [a, b].map(|value| self.known[value as usize]);
        let short = |range: Range| range.0 >= 0 && u32::try_from(range.1).is_ok();
        let fits = known.long && by.long && short(known.range) && short(by.range) && by.range.0 > 0;
        if !fits || ![TRUNC_DIVIDE, REMAINDER].contains(&op) {
            return None;
        }
        let result = self.know(&Inst::Op { op, args: args.to_vec() });
        let [a, b] = [a, b].map(|value| self.push(Inst::Cast { to: DType::U32, value }));
        let short = self.op(op, &[a, b]);
        let wide = self.push(Inst::Cast { to: DType::I64, value: short });
        self.known[wide as usize] = result;
        self.changed = true;
        Some(wide)
    }

    fn know(&self, inst: &Inst) -> ValueFacts {
        let of = |value: &Value| self.known[*value as usize];
        let both = |args: &[Value], join: fn(Range, Range) -> Option<Range>| {
            let [.., a, b] = args else { return UNKNOWN };
            let (a, b) = (of(a), of(b));
            ValueFacts { range: join(a.range, b.range).unwrap_or(ANY), long: a.long && b.long }
        };
        let wraps_late = |args: &[Value]| args.iter().all(|arg| of(arg).long);
        match inst {
            Inst::Const(scalar) if scalar.dtype() == DType::I64 => {
                ValueFacts { range: (scalar.bits() as i64, scalar.bits() as i64), long: true }
            }
            Inst::Axis(axis) => {
                ValueFacts { range: (0, self.axes[*axis].saturating_sub(1) as i64), long: true }
            }
            Inst::Load { operand, .. } => {
                let dtype = self.nest.operands[*operand].dtype;
                ValueFacts { range: of_dtype(dtype), long: dtype == DType::I64 }
            }
            // A narrower integer is the same number as an int64; nothing is known of other dtypes.
            Inst::Cast { to: DType::I64, value } => ValueFacts { range: of(value).range, long: true },
            Inst::Op { op: MINIMUM, args } => both(args, |a, b| Some((a.0.min(b.0), a.1.min(b.1)))),
            Inst::Op { op: MAXIMUM, args } => both(args, |a, b| Some((a.0.max(b.0), a.1.max(b.1)))),
            Inst::Op { op: WHERE, args } => self.know_choice(args),
            Inst::Op { op: ADD, args } if wraps_late(args) => {
                both(args, |a, b| Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?)))
            }
            Inst::Op { op: MUL, args } if wraps_late(args) => both(args, |a, b| {
                let ends = [a.0.checked_mul(b.0)?, a.0.checked_mul(b.1)?];
                let ends = [ends, [a.1.checked_mul(b.0)?, a.1.checked_mul(b.1)?]].concat();
                Some((*ends.iter().min()?, *ends.iter().max()?))
            }),
            Inst::Op { op: REMAINDER, args } => {
                // The remainder has the sign of the divisor, here a positive constant.
                let [a, b] = args[..] else { return UNKNOWN };
                let (a, by) = (of(&a), of(&b).range);
                match by.0 == by.1 && by.0 > 0 && a.long {
                    true => ValueFacts { range: (0, by.0 - 1), long: true },
                    false => UNKNOWN,
                }
            }
            Inst::Op { op: TRUNC_DIVIDE, args } => both(args, |a, b| {
                let known = a.0 >= 0 && b.0 == b.1 && b.0 > 0;
                known.then(|| (a.0 / b.0, a.1 / b.0))
            }),
            _ => UNKNOWN,
        }
    }

    /// Facts about a choice. If it compares an integer with a constant, the integer is on the right side of
    /// it in each alternative.
    fn know_choice(&self, args: &[Value]) -> ValueFacts {
        let &[test, yes, no] = args else { return UNKNOWN };
        let of = |value: Value| self.known[value as usize];
        let long = of(yes).long && of(no).long;
        let (mut if_yes, mut if_no) = (of(yes).range, of(no).range);
        if let Inst::Op { op: op @ (GE | LT), args } = &self.writer.insts()[test as usize]
            && let [at, bound] = args[..]
            && of(at).long
            && of(bound).long
        {
            let (range, bound) = (of(at).range, of(bound).range);
            let from = (range.0.max(bound.0), range.1.max(bound.0));
            let below = (range.0.min(bound.1.saturating_sub(1)), range.1.min(bound.1.saturating_sub(1)));
            let (there, else_there) = if *op == GE { (from, below) } else { (below, from) };
            if_yes = self.range_assuming(yes, at, there);
            if_no = self.range_assuming(no, at, else_there);
        }
        ValueFacts { range: (if_yes.0.min(if_no.0), if_yes.1.max(if_no.1)), long }
    }

    /// The range of a value if another one is in this range.
    fn range_assuming(&self, value: Value, other: Value, range: Range) -> Range {
        let known = self.known[value as usize].range;
        let shifted = match &self.writer.insts()[value as usize] {
            _ if value == other => Some(range),
            Inst::Op { op: ADD, args } if args[0] == other && self.known[args[1] as usize].long => {
                let by = self.known[args[1] as usize].range;
                range.0.checked_add(by.0).zip(range.1.checked_add(by.1))
            }
            _ => None,
        };
        shifted.map_or(known, |(low, high)| (low.max(known.0), high.min(known.1)))
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
        let (low, high) = index.range(self.axes);
        // The range of the computed part for which the sum is in range at every point.
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
        // There is no such range: the sum itself is computed and clamped.
        let mut sum = self.constant(index.offset);
        for &(axis, coefficient) in &index.terms {
            let (at, coefficient) = (self.push(Inst::Axis(axis)), self.constant(coefficient));
            let term = self.op(MUL, &[at, coefficient]);
            sum = self.op(ADD, &[sum, term]);
        }
        sum = self.op(ADD, &[sum, value]);
        Index { dynamic: Some(self.clamp(sum, 0, last.max(0) as i64)), ..Index::default() }
    }

    fn clamp(&mut self, value: Value, least: i64, greatest: i64) -> Value {
        let (low, high) = (self.constant(least), self.constant(greatest));
        let above = self.op(MAXIMUM, &[value, low]);
        self.op(MINIMUM, &[above, high])
    }
}

/// The range of an integer dtype.
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
