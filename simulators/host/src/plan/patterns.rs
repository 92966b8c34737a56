//! What the instructions of a phase are to each other: who uses what, what may be done in one loop, what is a product or a position.

use super::super::affine::{Affine, Lanes};
use super::super::folds::tiles;
use super::facts::Facts;
use workalike_kernels::DType;
use workalike_kernels::nest::{Fold, Inst, Phase, Value};
use workalike_kernels::ops;

/// A logical op whose arguments are converted to bool in its loop.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    /// The conversions.
    pub(crate) insts: Vec<usize>,
    /// What the loop takes, by roots.
    pub(crate) args: Vec<usize>,
    pub(crate) tile: ops::TileFn,
}

/// Of each instruction, what is done in its loop. `joins` says which may be, by what else uses them.
pub(crate) fn joined(
    insts: &[Inst],
    facts: &Facts,
    joins: impl Fn(usize, usize) -> bool,
) -> Vec<Option<Joined>> {
    let of = |(j, inst): (usize, &Inst)| match inst {
        Inst::Op { op, args } => truth(insts, facts, (*op, j), args, &joins),
        _ => None,
    };
    insts.iter().enumerate().map(of).collect()
}

/// A logical op of numbers, which are converted to bool for nothing else.
fn truth(
    insts: &[Inst],
    facts: &Facts,
    (op, j): (ops::ScalarOp, usize),
    args: &[Value],
    joins: &impl Fn(usize, usize) -> bool,
) -> Option<Joined> {
    let casts: Vec<usize> = args.iter().map(|a| facts.roots[*a as usize]).collect();
    let of = |&i: &usize| match &insts[i] {
        Inst::Cast { to: DType::Bool, value } if joins(i, j) => Some(facts.roots[*value as usize]),
        _ => None,
    };
    let numbers: Vec<usize> = casts.iter().map(of).collect::<Option<_>>()?;
    let dtype = facts.dtypes[*numbers.first()?].register();
    let alike = numbers.iter().all(|n| facts.dtypes[*n].register() == dtype);
    let tile = ops::truth(op, dtype).filter(|_| alike)?;
    Some(Joined { insts: casts, args: numbers, tile })
}

/// Of a phase that does nothing but find where an element stands that it loads: the index of the first inner point and the step to each next
/// one, if that is the same everywhere and indices ascend.
pub(crate) fn counted(phase: &Phase, facts: &Facts, extents: &[u64], inner: &[usize]) -> Option<(i64, i64)> {
    let [fold] = &phase.folds[..] else { return None };
    let value = facts.loads[facts.roots[fold.value as usize]].as_ref()?;
    let index = affine(phase, fold.index?, extents.len())
        .filter(|_| value.dynamic.is_empty() && phase.stores.is_empty())?;
    if index.coefficients.iter().enumerate().any(|(a, c)| *c != 0 && extents[a] > 1 && !inner.contains(&a)) {
        return None;
    }
    match Lanes::new(inner.iter().map(|&a| (extents[a], index.coefficients[a])))? {
        Lanes::Uniform if inner.iter().all(|&a| extents[a] == 1) => Some((index.offset, 1)),
        Lanes::Line(step) if step > 0 => Some((index.offset, step)),
        _ => None,
    }
}

/// A value as an affine function of the axes, if it is one.
pub(crate) fn affine(phase: &Phase, value: Value, axes: usize) -> Option<Affine> {
    let of = |value: Value| affine(phase, value, axes);
    let times = |a: &Affine, by: i64| {
        let coefficients = a.coefficients.iter().map(|c| c.checked_mul(by)).collect::<Option<_>>()?;
        Some(Affine { offset: a.offset.checked_mul(by)?, coefficients })
    };
    match &phase.block.insts[value as usize] {
        Inst::Const(scalar) if scalar.dtype() == DType::I64 => {
            Some(Affine { offset: scalar.bits() as i64, ..Affine::zero(axes) })
        }
        Inst::Axis(axis) => {
            let mut one = Affine::zero(axes);
            one.coefficients[*axis] = 1;
            Some(one)
        }
        Inst::Op { op: ops::ADD, args } => {
            let (a, b) = (of(args[0])?, of(args[1])?);
            let sums = a.coefficients.iter().zip(&b.coefficients).map(|(a, b)| a.checked_add(*b));
            Some(Affine {
                offset: a.offset.checked_add(b.offset)?,
                coefficients: sums.collect::<Option<_>>()?,
            })
        }
        Inst::Op { op: ops::MUL, args } => {
            let (a, b) = (of(args[0])?, of(args[1])?);
            let constant = |a: &Affine| a.coefficients.iter().all(|c| *c == 0);
            if constant(&b) {
                times(&a, b.offset)
            } else if constant(&a) {
                times(&b, a.offset)
            } else {
                None
            }
        }
        _ => None,
    }
}

/// The factors of a value that is a product and of no use but to be summed: then the fold multiplies.
pub(crate) fn product(phase: &Phase, facts: &Facts, fold: Fold, value: Value) -> Option<[Value; 2]> {
    let root = facts.roots[value as usize];
    let factors = match &phase.block.insts[root] {
        Inst::Op { op: ops::MUL, args } => [args[0], args[1]],
        Inst::Op { op: ops::SQR, args } => [args[0], args[0]],
        _ => return None,
    };
    tiles::dot(facts.dtypes[value as usize]).filter(|_| fold == Fold::Sum)?;
    let mut uses = 0;
    let mut count = |value: &Value| uses += usize::from(facts.roots[*value as usize] == root);
    for (i, _) in phase.block.insts.iter().enumerate().filter(|(i, _)| facts.roots[*i] == *i) {
        each_used(&phase.block.insts, facts, i, |used| count(&(used as Value)));
    }
    phase.stores.iter().for_each(|s| count(&s.value));
    phase.stores.iter().enumerate().for_each(|(at, s)| facts.when(at, s).iter().for_each(&mut count));
    phase.folds.iter().for_each(|f| [f.value].iter().chain(&f.index).for_each(&mut count));
    facts.stores.iter().flat_map(|t| &t.dynamic).for_each(|d| count(&d.value));
    (uses == 1).then_some(factors)
}

/// An op of two arguments.
fn of_two(insts: &[Inst], value: Value, op: ops::ScalarOp) -> Option<(Value, Value)> {
    match insts.get(value as usize)? {
        Inst::Op { op: found, args } if *found == op && args.len() == 2 => Some((args[0], args[1])),
        _ => None,
    }
}

/// An int64 constant.
fn number(insts: &[Inst], value: Value) -> Option<i64> {
    match insts.get(value as usize)? {
        Inst::Const(scalar) if scalar.dtype() == DType::I64 => Some(scalar.bits() as i64),
        _ => None,
    }
}

/// The value of which this is the index that counts from the front, and how many elements there are: what is negative counts from the end.
fn from_front(insts: &[Inst], value: Value) -> Option<(Value, i64)> {
    let Inst::Op { op: ops::WHERE, args } = insts.get(value as usize)? else { return None };
    let [negative, moved, given] = args[..] else { return None };
    let (tested, zero) = of_two(insts, negative, ops::LT)?;
    let (start, extent) = of_two(insts, moved, ops::ADD)?;
    let extent = number(insts, extent).filter(|n| *n > 0)?;
    (tested == given && start == given && number(insts, zero) == Some(0)).then_some((given, extent))
}

/// An index into a dimension without its last steps, which whoever uses it does in the same loop: to count what is negative from the
/// end, and to keep it in range.
pub(crate) fn position(insts: &[Inst], value: Value, extent: i64) -> (Value, i64) {
    let kept = || {
        let (above, high) = of_two(insts, value, ops::MINIMUM)?;
        let (at, low) = of_two(insts, above, ops::MAXIMUM)?;
        (number(insts, low)? <= 0 && number(insts, high)? >= extent - 1).then_some(at)
    };
    let Some(at) = kept() else { return (value, 0) };
    from_front(insts, at).unwrap_or((at, 0))
}

/// The value of which this says that it is no index of so many elements, counted from either end.
pub(crate) fn outside(insts: &[Inst], value: Value) -> Option<(Value, i64)> {
    let (below, beyond) = of_two(insts, value, ops::OR)?;
    let (at, zero) = of_two(insts, below, ops::LT)?;
    let (same, extent) = of_two(insts, beyond, ops::GE)?;
    let (given, wraps) = from_front(insts, at)?;
    let fits =
        number(insts, zero) == Some(0) && number(insts, extent) == Some(wraps) && wraps <= i64::MAX / 2;
    (same == at && fits).then_some((given, wraps))
}

/// The roots of the values that a phase stores, folds, or stores by; each as often as it is used.
pub(crate) fn ends(phase: &Phase, facts: &Facts) -> Vec<usize> {
    let stored = phase.stores.iter().zip(&facts.stores).enumerate().flat_map(|(at, (s, touch))| {
        [s.value].into_iter().chain(facts.when(at, s)).chain(touch.dynamic.iter().map(|d| d.value))
    });
    let folded = phase.folds.iter().flat_map(|f| match product(phase, facts, f.fold, f.value) {
        Some(factors) => factors.to_vec(),
        None => [f.value].into_iter().chain(f.index).collect(),
    });
    stored.chain(folded).map(|value| facts.roots[value as usize]).collect()
}

/// Calls `then` with the root of every value that instruction `i` uses.
pub(crate) fn each_used(insts: &[Inst], facts: &Facts, i: usize, mut then: impl FnMut(usize)) {
    match &insts[i] {
        Inst::Cast { value, .. } => then(facts.roots[*value as usize]),
        Inst::Op { args, .. } => args.iter().for_each(|a| then(facts.roots[*a as usize])),
        Inst::Load { .. } => {
            let dynamic = facts.loads[i].iter().flat_map(|t| &t.dynamic);
            dynamic.for_each(|d| then(facts.roots[d.value as usize]));
        }
        Inst::Const(_) | Inst::Axis(_) | Inst::Folded { .. } => {}
    }
}
