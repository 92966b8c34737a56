//! Folds over a mapped element: counts of elements that pass a test, any and all of tests, integer sums in a
//! wider dtype, sums and extremes that ignore NaNs. They need no tiles: rows are read in place, as by any
//! other [stream](super::stream), in the loops of [`mapped_loops`](super::mapped_loops).

use super::super::plan::facts::Facts;
use super::mapped_loops::totals;
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{Fold, FoldOf, Inst, Phase, Value};
use workalike_kernels::ops::{self, ScalarOp};

/// The map that a fold applies to each element that it reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ElementMap {
    /// Whether it passes a test.
    Test(Test),
    /// The integer itself, in another dtype.
    Wide,
    /// The number itself; a NaN is replaced by the identity of the fold.
    Number,
}

/// Whether an element lies in a range, or outside of it; NaN is outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Test {
    /// The bits of the lower end.
    pub(crate) low: u64,
    /// The bits of the upper end of a range of floats; for integers, its distance from the lower end.
    pub(crate) high: u64,
    pub(crate) inside: bool,
}

/// The map of a phase's fold, if it is one of these over a single load.
pub(crate) fn element_map(phase: &Phase, facts: &Facts, fold: &FoldOf) -> Option<(Value, ElementMap)> {
    let insts = &phase.block.insts;
    let dtype = facts.dtypes[fold.value as usize];
    let root = facts.roots[fold.value as usize];
    if fold.index.is_some() || dtype != dtype.register() || plain_load(insts, facts, root).is_some() {
        return None;
    }
    if dtype == DType::Bool {
        return test(insts, facts, root).map(|(load, test)| (load, ElementMap::Test(test)));
    }
    match (&insts[root], fold.fold) {
        (Inst::Cast { value, .. }, Fold::Sum) => {
            let from = facts.roots[*value as usize];
            if facts.dtypes[*value as usize] == DType::Bool {
                return test(insts, facts, from).map(|(load, test)| (load, ElementMap::Test(test)));
            }
            let (load, stored) = plain_load(insts, facts, from)?;
            totals(stored)?;
            Some((load, ElementMap::Wide))
        }
        (Inst::Op { op: ops::WHERE, args }, Fold::Max | Fold::Min | Fold::Sum) if dtype.is_float() => {
            let [when, yes, no] = [0, 1, 2].map(|k| facts.roots[args[k] as usize]);
            let (load, is_nan) = nan_test(insts, facts, when)?;
            let (number, instead) = if is_nan { (no, yes) } else { (yes, no) };
            let Inst::Const(instead) = insts[instead] else { return None };
            let nothing = instead == fold.fold.identity(dtype);
            (nothing && number == load as usize).then_some((load, ElementMap::Number))
        }
        _ => None,
    }
}

/// A load of elements that memory holds in their register form, and their dtype.
fn plain_load(insts: &[Inst], facts: &Facts, root: usize) -> Option<(Value, DType)> {
    let Inst::Load { .. } = &insts[root] else { return None };
    let dtype = facts.loads[root].as_ref()?.dtype;
    (dtype == dtype.register() && dtype == facts.dtypes[root]).then_some((root as Value, dtype))
}

/// Whether a value tests a loaded one for NaN (`true`) or for not being NaN (`false`).
fn nan_test(insts: &[Inst], facts: &Facts, root: usize) -> Option<(Value, bool)> {
    let Inst::Op { op, args } = &insts[root] else { return None };
    match *op {
        ops::NOT => nan_test(insts, facts, facts.roots[args[0] as usize]).map(|(load, is)| (load, !is)),
        ops::NE | ops::EQ => {
            let [a, b] = [0, 1].map(|k| facts.roots[args[k] as usize]);
            let (load, dtype) = plain_load(insts, facts, a)?;
            (a == b && dtype.is_float()).then_some((load, *op == ops::NE))
        }
        _ => None,
    }
}

/// The test of a loaded element that a bool is.
fn test(insts: &[Inst], facts: &Facts, root: usize) -> Option<(Value, Test)> {
    if let Some((load, is_nan)) = nan_test(insts, facts, root) {
        let dtype = facts.dtypes[load as usize];
        let [low, high] = [f64::NEG_INFINITY, f64::INFINITY].map(|x| Scalar::from_f64(dtype, x).bits());
        return Some((load, Test { low, high, inside: !is_nan }));
    }
    let zero = |dtype| Scalar::from_i128(dtype, 0);
    match &insts[root] {
        Inst::Load { .. } => {
            let (load, dtype) = plain_load(insts, facts, root)?;
            Some((load, range(ops::NE, zero(dtype))?))
        }
        Inst::Cast { to: DType::Bool, value } => {
            let (load, dtype) = plain_load(insts, facts, facts.roots[*value as usize])?;
            Some((load, range(ops::NE, zero(dtype))?))
        }
        Inst::Op { op: ops::NOT, args } => {
            let (load, test) = test(insts, facts, facts.roots[args[0] as usize])?;
            Some((load, Test { inside: !test.inside, ..test }))
        }
        Inst::Op { op, args } if args.len() == 2 => {
            let [a, b] = [0, 1].map(|k| facts.roots[args[k] as usize]);
            let (load, op, other) = match (plain_load(insts, facts, a), plain_load(insts, facts, b)) {
                (Some((load, _)), None) => (load, *op, b),
                (None, Some((load, _))) => (load, swapped(*op)?, a),
                _ => return None,
            };
            let Inst::Const(constant) = insts[other] else { return None };
            (constant.dtype() == facts.dtypes[load as usize]).then_some((load, range(op, constant)?))
        }
        _ => None,
    }
}

/// The comparison with its arguments swapped.
fn swapped(op: ScalarOp) -> Option<ScalarOp> {
    Some(match op {
        ops::EQ | ops::NE => op,
        ops::LT => ops::GT,
        ops::LE => ops::GE,
        ops::GT => ops::LT,
        ops::GE => ops::LE,
        _ => return None,
    })
}

/// The range of numbers that pass a comparison with a constant.
fn range(op: ScalarOp, constant: Scalar) -> Option<Test> {
    let dtype = constant.dtype();
    let (op, inside) = if op == ops::NE { (ops::EQ, false) } else { (op, true) };
    let ends = |low: Scalar, high: u64| Some(Test { low: low.bits(), high, inside });
    if dtype.is_float() {
        let c = constant.to_f64();
        let (next, before) = match dtype {
            DType::F32 => (f64::from((c as f32).next_up()), f64::from((c as f32).next_down())),
            _ => (c.next_up(), c.next_down()),
        };
        let (low, high) = match op {
            _ if c.is_nan() => (1.0, 0.0),
            ops::EQ => (c, c),
            ops::LT if c > f64::NEG_INFINITY => (f64::NEG_INFINITY, before),
            ops::LE => (f64::NEG_INFINITY, c),
            ops::GT if c < f64::INFINITY => (next, f64::INFINITY),
            ops::GE => (c, f64::INFINITY),
            ops::LT | ops::GT => (1.0, 0.0),
            _ => return None,
        };
        return ends(Scalar::from_f64(dtype, low), Scalar::from_f64(dtype, high).bits());
    }
    // Bools are 0 and 1.
    let (least, most) = match dtype {
        DType::Bool => (0, 1),
        _ => (Fold::Max.identity(dtype).to_i128(), Fold::Min.identity(dtype).to_i128()),
    };
    let c = constant.to_i128();
    let (low, high) = match op {
        ops::EQ => (c, c),
        ops::LT => (least, c - 1),
        ops::LE => (least, c),
        ops::GT => (c + 1, most),
        ops::GE => (c, most),
        _ => return None,
    };
    if low > high {
        // An empty range is the complement of all.
        let all = Scalar::from_i128(dtype, least);
        return Some(Test { low: all.bits(), high: (most - least) as u64, inside: !inside });
    }
    ends(Scalar::from_i128(dtype, low), (high - low) as u64)
}
