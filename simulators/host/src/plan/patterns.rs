//! Patterns among the instructions of a phase: uses, fusible conversions, products, argmax indices.

use super::super::affine::{Affine, Lanes};
use super::super::folds::tiles;
use super::facts::Facts;
use workalike_kernels::DType;
use workalike_kernels::nest::{Fold, Inst, Phase, Value};
use workalike_kernels::ops;

/// A logical op with the conversions of its arguments to bool in its loop.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    /// The conversions.
    pub(crate) insts: Vec<usize>,
    /// The arguments of the loop, by roots.
    pub(crate) args: Vec<usize>,
    pub(crate) tile: ops::TileFn,
}

/// Per instruction, the conversions fused into its loop. `joins` tells which may be, given their other uses.
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

/// A logical op of numbers whose conversions to bool have no other use.
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

/// Of a phase that only finds the position of an element in a load: the index of the first inner point and
/// the step to each next one, if it is constant and indices ascend.
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

/// The factors of a product whose only use is this sum: then the fold multiplies.
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
    phase.stores.iter().for_each(|s| [s.value].iter().chain(&s.when).for_each(&mut count));
    facts.reports.iter().for_each(|r| count(&r.value));
    phase.folds.iter().for_each(|f| [f.value].iter().chain(&f.index).for_each(&mut count));
    facts.stores.iter().flat_map(|t| &t.dynamic).for_each(|d| count(&d.value));
    (uses == 1).then_some(factors)
}

/// The roots of the values that a phase stores, folds, reports, or uses as index or condition, once per use.
pub(crate) fn ends(phase: &Phase, facts: &Facts) -> Vec<usize> {
    let stored = phase.stores.iter().zip(&facts.stores).flat_map(|(s, touch)| {
        [s.value].into_iter().chain(s.when).chain(touch.dynamic.iter().map(|d| d.value))
    });
    let stored = stored.chain(facts.reports.iter().map(|r| r.value));
    let folded = phase.folds.iter().flat_map(|f| match product(phase, facts, f.fold, f.value) {
        Some(factors) => factors.to_vec(),
        None => [f.value].into_iter().chain(f.index).collect(),
    });
    stored.chain(folded).map(|value| facts.roots[value as usize]).collect()
}

/// Calls `then` with the root of every value that instruction `i` uses.
pub(crate) fn each_used(insts: &[Inst], facts: &Facts, i: usize, mut then: impl FnMut(usize)) {
    match &insts[i] {
        Inst::Cast { value, .. } | Inst::Position { value, .. } => then(facts.roots[*value as usize]),
        Inst::Op { args, .. } => args.iter().for_each(|a| then(facts.roots[*a as usize])),
        Inst::Load { .. } => {
            let dynamic = facts.loads[i].iter().flat_map(|t| &t.dynamic);
            dynamic.for_each(|d| then(facts.roots[d.value as usize]));
        }
        Inst::Const(_) | Inst::Axis(_) | Inst::Folded { .. } => {}
    }
}
