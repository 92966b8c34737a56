//! The well-formedness that every reader of a [`Nest`] may assume, and the dtype of each SSA value.
//!
//! [`verify`] is total: any Nest is either accepted or refused with the reason, without a panic. It cannot
//! check two properties, which are up to the builder of the Nest: that an exact computed index stays within
//! its dimension (devices clamp it otherwise: see [`bounds`](crate::bounds)), and that different points of a
//! phase store to different elements, unless they add to them.
//!
//! [`Verified`] is a Nest that was accepted. Devices, printers and commands take only such Nests.

mod problem;

use crate::dtype::DType;
use crate::nest::{FoldOf, Index, IndexMode, Inst, Nest, Phase, PhaseKind, Store, Value};
use crate::ops::OpBody;
pub use problem::{NestProblem, VerifyError};
use std::ops::Deref;
use std::sync::Arc;

/// A Nest that [`verify`] accepted. It cannot be changed; clones share it.
///
/// ```
/// use workalike_kernels::nest::Nest;
/// use workalike_kernels::verify::{NestProblem, Verified};
/// let empty = Nest { name: "empty".into(), axes: vec![], grid: 0, operands: vec![], phases: vec![] };
/// assert_eq!(Verified::new(empty.clone())?.name, "empty");
/// let refused = Verified::new(Nest { grid: 1, ..empty });
/// assert_eq!(refused.map_err(|e| e.problem), Err(NestProblem::Grid { grid: 1, axes: 0 }));
/// # Ok::<(), workalike_kernels::verify::VerifyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Verified(Arc<Nest>);

impl Verified {
    /// Verifies a Nest.
    ///
    /// # Errors
    /// As [`verify`].
    pub fn new(nest: impl Into<Arc<Nest>>) -> Result<Verified, VerifyError> {
        let nest = nest.into();
        verify(&nest)?;
        Ok(Verified(nest))
    }
}

impl Deref for Verified {
    type Target = Nest;

    fn deref(&self) -> &Nest {
        &self.0
    }
}

/// Checks everything that readers of a Nest rely on.
pub fn verify(nest: &Nest) -> Result<(), VerifyError> {
    let fail = |problem| VerifyError { nest: nest.name.clone(), phase: None, problem };
    if nest.grid > nest.axes.len() {
        return Err(fail(NestProblem::Grid { grid: nest.grid, axes: nest.axes.len() }));
    }
    // Empty axes are left out, so that the product of any part of the axes fits too.
    let points =
        nest.axes.iter().filter(|&&e| e > 0).try_fold(1i64, |n, &e| n.checked_mul(e.try_into().ok()?));
    if points.is_none() {
        return Err(fail(NestProblem::TooLarge("the number of points".into())));
    }
    for (at, operand) in nest.operands.iter().enumerate() {
        if operand.dtype.is_complex() {
            return Err(fail(NestProblem::Complex(format!("operand {at}"))));
        }
        if operand.strides.len() != operand.shape.len() || operand.strides.iter().any(|&s| s < 0) {
            return Err(fail(NestProblem::Strides(at)));
        }
        let span: Option<i128> =
            operand.shape.iter().zip(&operand.strides).try_fold(0i128, |sum, (&extent, &stride)| {
                sum.checked_add(i128::from(extent).checked_mul(i128::from(stride))?)
            });
        if span.is_none_or(|s| s > i128::from(i64::MAX) / 8) {
            return Err(fail(NestProblem::TooLarge(format!("the span of operand {at}"))));
        }
    }
    each_phase(nest, nest.phases.len(), |phase, dtypes| check_phase(nest, phase, dtypes)).map(|_| ())
}

/// The dtype of each SSA value of a phase's block. Checks only what it needs for that.
pub fn dtypes(nest: &Nest, phase: usize) -> Result<Vec<DType>, VerifyError> {
    if phase >= nest.phases.len() {
        let problem = NestProblem::NoPhase(nest.phases.len());
        return Err(VerifyError { nest: nest.name.clone(), phase: Some(phase), problem });
    }
    each_phase(nest, phase + 1, |_, _| Ok(()))
}

/// The dtype of each value of each phase.
pub(crate) fn all_dtypes(nest: &Nest) -> Result<Vec<Vec<DType>>, VerifyError> {
    (0..nest.phases.len()).map(|phase| dtypes(nest, phase)).collect()
}

/// Types the first `count` phases in order, and returns the dtypes of the last.
fn each_phase(
    nest: &Nest,
    count: usize,
    check: impl Fn(&Phase, &[DType]) -> Result<(), NestProblem>,
) -> Result<Vec<DType>, VerifyError> {
    let mut folded: Vec<Vec<DType>> = Vec::new();
    let mut last = Vec::new();
    for (at, phase) in nest.phases.iter().enumerate().take(count) {
        let fail = |problem| VerifyError { nest: nest.name.clone(), phase: Some(at), problem };
        last = type_block(nest, phase, &folded).map_err(fail)?;
        check(phase, &last).map_err(fail)?;
        folded
            .push(phase.folds.iter().map(|f| fold_dtype(f, &last)).collect::<Result<_, _>>().map_err(fail)?);
    }
    Ok(last)
}

fn value_dtype(dtypes: &[DType], value: Value) -> Result<DType, NestProblem> {
    dtypes.get(value as usize).copied().ok_or(NestProblem::Undefined(value))
}

fn expect(what: &'static str, expected: DType, given: DType) -> Result<(), NestProblem> {
    if expected == given { Ok(()) } else { Err(NestProblem::Type { what, expected, given }) }
}

/// The dtype of a fold's result.
fn fold_dtype(fold: &FoldOf, dtypes: &[DType]) -> Result<DType, NestProblem> {
    let value = value_dtype(dtypes, fold.value)?;
    Ok(if fold.fold.has_index() { DType::I64 } else { value })
}

fn type_block(nest: &Nest, phase: &Phase, folded: &[Vec<DType>]) -> Result<Vec<DType>, NestProblem> {
    let mut dtypes: Vec<DType> = Vec::with_capacity(phase.block.insts.len());
    for inst in &phase.block.insts {
        let dtype = match inst {
            Inst::Const(scalar) => scalar.dtype(),
            Inst::Axis(_) => DType::I64,
            Inst::Load { operand, .. } => {
                nest.operands.get(*operand).ok_or(NestProblem::Operand(*operand))?.dtype
            }
            Inst::Cast { to, value } => {
                value_dtype(&dtypes, *value)?;
                *to
            }
            Inst::Op { op, args } => {
                let given: Vec<DType> =
                    args.iter().map(|&a| value_dtype(&dtypes, a)).collect::<Result<_, _>>()?;
                if matches!(op.row().body, OpBody::Composition(_)) {
                    return Err(NestProblem::Composition(*op));
                }
                match op.signature(&given) {
                    Some(signature) if signature.args == given => signature.result,
                    _ => return Err(NestProblem::Arguments { op: *op, given }),
                }
            }
            Inst::Call { function, args } => {
                let given: Vec<DType> =
                    args.iter().map(|&a| value_dtype(&dtypes, a)).collect::<Result<_, _>>()?;
                if given.len() != function.params().len() {
                    return Err(NestProblem::Count { expected: function.params().len(), given: given.len() });
                }
                for (expected, given) in function.params().zip(given) {
                    expect("an argument of a function", expected, given)?;
                }
                function.result()
            }
            Inst::Folded { phase, fold } => *folded
                .get(*phase)
                .and_then(|folds| folds.get(*fold))
                .ok_or(NestProblem::Folded { phase: *phase, fold: *fold })?,
            Inst::Position { value, .. } => {
                expect("what names a position", DType::I64, value_dtype(&dtypes, *value)?)?;
                DType::I64
            }
        };
        if dtype.is_complex() {
            return Err(NestProblem::Complex(format!("value {}", dtypes.len())));
        }
        dtypes.push(dtype);
    }
    Ok(dtypes)
}

/// Number of axes that exist in a phase.
fn visible_axes(nest: &Nest, phase: &Phase) -> usize {
    if phase.kind == PhaseKind::Point { nest.grid } else { nest.axes.len() }
}

fn check_phase(nest: &Nest, phase: &Phase, dtypes: &[DType]) -> Result<(), NestProblem> {
    for (at, inst) in phase.block.insts.iter().enumerate() {
        match inst {
            Inst::Axis(axis) if *axis >= visible_axes(nest, phase) => return Err(NestProblem::Axis(*axis)),
            Inst::Load { operand, index } => check_index(nest, phase, *operand, index, &dtypes[..at])?,
            Inst::Position { extent, mode, .. } => check_position(nest, phase, *extent, *mode)?,
            _ => {}
        }
    }
    if !phase.folds.is_empty() && phase.kind != PhaseKind::Reduce {
        return Err(NestProblem::Folds);
    }
    for (at, fold) in phase.folds.iter().enumerate() {
        value_dtype(dtypes, fold.value)?;
        if fold.fold.has_index() != fold.index.is_some() {
            return Err(NestProblem::FoldIndex(at));
        }
        if let Some(index) = fold.index {
            expect("the index of a fold", DType::I64, value_dtype(dtypes, index)?)?;
        }
    }
    for store in &phase.stores {
        check_index(nest, phase, store.operand, &store.index, dtypes)?;
        let operand = &nest.operands[store.operand];
        if !operand.written {
            return Err(NestProblem::NotWritten(store.operand));
        }
        expect("the value stored", operand.dtype, value_dtype(dtypes, store.value)?)?;
        if let Some(when) = store.when {
            expect("the condition of a store", DType::Bool, value_dtype(dtypes, when)?)?;
        }
        if store.add {
            check_added(nest, store.operand)?;
            continue;
        }
        let same = |index: &[Index]| index == store.index && index.iter().all(|i| i.dynamic.is_none());
        let races = phase.block.insts.iter().any(
            |inst| matches!(inst, Inst::Load { operand, index } if *operand == store.operand && !same(index)),
        );
        if races && phase.kind != PhaseKind::Ordered {
            return Err(NestProblem::Race(store.operand));
        }
    }
    Ok(())
}

/// Checks that the extent is at most `i64::MAX / 8`, and that reports go to a status word.
fn check_position(nest: &Nest, phase: &Phase, extent: u64, mode: IndexMode) -> Result<(), NestProblem> {
    if extent > i64::MAX as u64 / 8 {
        return Err(NestProblem::TooLarge(format!("a position among {extent}")));
    }
    let Some(status) = mode.status() else { return Ok(()) };
    let word = nest.operands.get(status).ok_or(NestProblem::Operand(status))?;
    let loads = |inst: &Inst| matches!(inst, Inst::Load { operand, .. } if *operand == status);
    let is_loaded = phase.block.insts.iter().any(loads);
    let fits = word.dtype == DType::I64 && word.shape.is_empty() && word.written && !is_loaded;
    fits.then_some(()).ok_or(NestProblem::Status(status))
}

/// Checks that the Nest accesses an operand in no other way than by adding to it.
fn check_added(nest: &Nest, operand: usize) -> Result<(), NestProblem> {
    let dtype = nest.operands[operand].dtype;
    if !Store::can_add_to(dtype) {
        return Err(NestProblem::Adds { operand, dtype });
    }
    let loads =
        |p: &Phase| p.block.insts.iter().any(|i| matches!(i, Inst::Load { operand: o, .. } if *o == operand));
    let replaces = |p: &Phase| {
        p.stores.iter().any(|s| s.operand == operand && !s.add)
            || p.block.insts.iter().any(|i| i.status() == Some(operand))
    };
    let touched = nest.phases.iter().any(|p| loads(p) || replaces(p));
    (!touched).then_some(()).ok_or(NestProblem::AddedTo(operand))
}

fn check_index(
    nest: &Nest,
    phase: &Phase,
    at: usize,
    index: &[Index],
    dtypes: &[DType],
) -> Result<(), NestProblem> {
    let operand = nest.operands.get(at).ok_or(NestProblem::Operand(at))?;
    if index.len() != operand.shape.len() {
        return Err(NestProblem::Rank { operand: at, rank: operand.shape.len(), given: index.len() });
    }
    let axes = &nest.axes[..visible_axes(nest, phase)];
    let empty = axes.contains(&0);
    let mut reach = 0i128;
    for (dimension, index) in index.iter().enumerate() {
        let sorted = index.terms.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !sorted || index.terms.iter().any(|t| t.1 == 0) {
            return Err(NestProblem::Terms(at));
        }
        let (mut low, mut high) = (i128::from(index.offset), i128::from(index.offset));
        for &(axis, coefficient) in &index.terms {
            let extent = *axes.get(axis).ok_or(NestProblem::Axis(axis))?;
            let far = i128::from(coefficient) * (i128::from(extent) - 1).max(0);
            low += far.min(0);
            high += far.max(0);
        }
        let extent = operand.shape[dimension];
        match index.dynamic {
            Some(value) => {
                expect("a computed index", DType::I64, value_dtype(dtypes, value)?)?;
                if extent == 0 && !empty {
                    return Err(NestProblem::Empty { operand: at, dimension });
                }
            }
            None if !empty && (low < 0 || high >= i128::from(extent)) => {
                return Err(NestProblem::Bounds { operand: at, dimension, low, high, extent });
            }
            None => {}
        }
        // Readers add up the parts of an address in 64 bits, in any order.
        let parts = low.abs().max(high.abs()).max(i128::from(index.offset).abs());
        let dimension_reach = parts.checked_mul(i128::from(operand.strides[dimension]));
        reach = dimension_reach.and_then(|r| r.checked_add(reach)).unwrap_or(i128::MAX);
    }
    if reach > i128::from(i64::MAX) / 8 {
        return Err(NestProblem::TooLarge(format!("an address in operand {at}")));
    }
    Ok(())
}
