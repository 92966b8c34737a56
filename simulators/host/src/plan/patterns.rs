//! Uses of the values of a phase, products that a fold multiplies, indices of extremes.

use super::super::affine::LanePattern;
use super::super::folds::tiles;
use super::analysis::Facts;
use workalike_kernels::DType;
use workalike_kernels::nest::{Affine, Fold, FoldOf, Inst, Phase, Value};
use workalike_kernels::ops;

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
    match LanePattern::new(inner.iter().map(|&a| (extents[a], index.coefficients[a])))? {
        LanePattern::Uniform if inner.iter().all(|&a| extents[a] == 1) => Some((index.offset, 1)),
        LanePattern::Line(step) if step > 0 => Some((index.offset, step)),
        _ => None,
    }
}

/// A value as an affine function of the axes, if it is one.
fn affine(phase: &Phase, value: Value, axes: usize) -> Option<Affine> {
    let of = |value: Value| affine(phase, value, axes);
    let plus = |a: Affine, b: Affine, times: i64| {
        let sum = |a: i64, b: i64| a.checked_add(b.checked_mul(times)?);
        let pairs = a.coefficients.iter().zip(&b.coefficients);
        let coefficients = pairs.map(|(a, b)| sum(*a, *b)).collect::<Option<_>>()?;
        Some(Affine { offset: sum(a.offset, b.offset)?, coefficients })
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
        Inst::Op { op: ops::ADD, args } => plus(of(args[0])?, of(args[1])?, 1),
        Inst::Op { op: ops::MUL, args } => {
            let is_constant = |a: &Affine| a.coefficients.iter().all(|c| *c == 0);
            let (a, b) = (of(args[0])?, of(args[1])?);
            let (a, b) = if is_constant(&a) { (b, a) } else { (a, b) };
            if is_constant(&b) { plus(Affine::zero(axes), a, b.offset) } else { None }
        }
        _ => None,
    }
}

/// The factors of a product whose only use is this sum: then the fold multiplies.
pub(crate) fn product(phase: &Phase, facts: &Facts, fold: &FoldOf) -> Option<[Value; 2]> {
    let root = facts.roots[fold.value as usize];
    let factors = match &phase.block.insts[root] {
        Inst::Op { op: ops::MUL, args } => [args[0], args[1]],
        Inst::Op { op: ops::SQR, args } => [args[0], args[0]],
        _ => return None,
    };
    tiles::dot(facts.dtypes[fold.value as usize]).filter(|_| fold.fold == Fold::Sum)?;
    (uses(phase, facts, root) == 1).then_some(factors)
}

/// The number of uses of a value, by its root.
pub(crate) fn uses(phase: &Phase, facts: &Facts, root: usize) -> usize {
    let insts = &phase.block.insts;
    let mut count = results(phase, facts).filter(|result| *result == root).count();
    for i in (0..insts.len()).filter(|i| facts.roots[*i] == *i) {
        each_used(insts, facts, i, |used| count += usize::from(used == root));
    }
    count
}

/// The roots of the values that a phase stores, folds, reports, or uses as index or condition, once per use.
fn results(phase: &Phase, facts: &Facts) -> impl Iterator<Item = usize> {
    let stored = phase.stores.iter().zip(&facts.stores).flat_map(|(s, touch)| {
        [s.value].into_iter().chain(s.when).chain(touch.dynamic.iter().map(|d| d.value))
    });
    let reported = facts.reports.iter().map(|r| r.value);
    let folded = phase.folds.iter().flat_map(|f| [f.value].into_iter().chain(f.index));
    stored.chain(reported).chain(folded).map(move |value| facts.roots[value as usize])
}

/// These roots, with the factors of a product in its place if a fold multiplies them.
pub(crate) fn ends(phase: &Phase, facts: &Facts) -> Vec<usize> {
    let root = |value: Value| facts.roots[value as usize];
    let factors = |f: &FoldOf| Some((root(f.value), product(phase, facts, f)?.map(root)));
    let products: Vec<(usize, [usize; 2])> = phase.folds.iter().filter_map(factors).collect();
    let ends = results(phase, facts).flat_map(|result| {
        let found = products.iter().find(|(product, _)| *product == result);
        found.map_or(vec![result], |(_, factors)| factors.to_vec())
    });
    ends.collect()
}

/// Calls `then` with the root of every value that instruction `i` uses.
pub(crate) fn each_used(insts: &[Inst], facts: &Facts, i: usize, mut then: impl FnMut(usize)) {
    if let Inst::Load { .. } = insts[i] {
        // Addresses do not depend on all of its values: a dimension may have one position.
        let dynamic = facts.loads[i].iter().flat_map(|touch| &touch.dynamic);
        dynamic.for_each(|d| then(facts.roots[d.value as usize]));
    } else {
        insts[i].for_each_value(|value| then(facts.roots[value as usize]));
    }
}
