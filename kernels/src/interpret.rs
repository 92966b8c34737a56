//! The executable definition of a Nest: point by point, in the order that [`crate::nest`] gives.
//!
//! Nothing here is fast. Every value is a [`Scalar`] of its nominal dtype, so each op on a half rounds to the
//! half. Folds take all values of a grid point together: pairwise, halves in f32 with one rounding at the
//! end.

use crate::dtype::DType;
use crate::nest::{Fold, FoldOf, Index, IndexMode, Inst, Nest, PhaseKind, Value};
use crate::ops::{self, ScalarOp};
use crate::scalar::Scalar;
use crate::verify::{NestProblem, Verified, VerifyError, verify};

/// Runs a Nest over its operands, given as the little-endian bytes of their stored elements. A buffer must
/// reach at least to the end of the operand's last element.
///
/// # Errors
/// As [`verify`] and [`interpret_verified`].
pub fn interpret(nest: &Nest, operands: &mut [Vec<u8>]) -> Result<(), VerifyError> {
    verify(nest)?;
    run(nest, operands)
}

/// [`interpret`] without verifying the Nest again.
///
/// # Errors
/// If the buffers do not fit the operands, or a computed index leaves its dimension.
pub fn interpret_verified(nest: &Verified, operands: &mut [Vec<u8>]) -> Result<(), VerifyError> {
    run(nest, operands)
}

fn run(nest: &Nest, operands: &mut [Vec<u8>]) -> Result<(), VerifyError> {
    check_buffers(nest, operands).map_err(|problem| VerifyError {
        nest: nest.name.clone(),
        phase: None,
        problem,
    })?;
    let (grid, inner) = nest.axes.split_at(nest.grid);
    let mut at = vec![0; nest.axes.len()];
    for_each_point(grid, |outer| {
        at[..nest.grid].copy_from_slice(outer);
        let mut folded: Vec<Vec<Scalar>> = Vec::new();
        for (number, phase) in nest.phases.iter().enumerate() {
            let fail = |problem| VerifyError { nest: nest.name.clone(), phase: Some(number), problem };
            let mut gathered: Vec<Vec<(Scalar, i64)>> = vec![Vec::new(); phase.folds.len()];
            let axes = if phase.kind == PhaseKind::Point { &[] } else { inner };
            for_each_point(axes, |point| {
                at[nest.grid..nest.grid + point.len()].copy_from_slice(point);
                let mut state = Point { nest, operands, at: &at, folded: &folded, values: Vec::new() };
                state.block(&phase.block.insts)?;
                for (fold, gathered) in phase.folds.iter().zip(&mut gathered) {
                    let index = fold.index.map_or(0, |i| state.integer(i));
                    gathered.push((state.values[fold.value as usize], index));
                }
                for store in &phase.stores {
                    if store.when.is_none_or(|w| state.values[w as usize].bits() != 0) {
                        let mut value = state.values[store.value as usize];
                        let bytes = state.element(store.operand, &store.index)?;
                        if store.add {
                            value = apply(ops::ADD, &[state.stored(store.operand, bytes.clone()), value])?;
                        }
                        state.operands[store.operand][bytes]
                            .copy_from_slice(&value.to_le_bytes()[..value.dtype().size()]);
                    }
                }
                Ok(())
            })
            .map_err(fail)?;
            let dtypes = crate::verify::dtypes(nest, number)?;
            let results = phase.folds.iter().zip(gathered);
            let results = results.map(|(f, all)| fold(f, dtypes[f.value as usize], all));
            folded.push(results.collect::<Result<_, _>>().map_err(fail)?);
        }
        Ok(())
    })
}

/// Calls `visit` at each point in row-major order: never if an extent is 0, once if there are no axes.
fn for_each_point<E>(extents: &[u64], mut visit: impl FnMut(&[u64]) -> Result<(), E>) -> Result<(), E> {
    let mut at = vec![0; extents.len()];
    if extents.contains(&0) {
        return Ok(());
    }
    loop {
        visit(&at)?;
        let Some(axis) = (0..extents.len()).rev().find(|&a| at[a] + 1 < extents[a]) else { return Ok(()) };
        at[axis] += 1;
        at[axis + 1..].fill(0);
    }
}

fn check_buffers(nest: &Nest, operands: &[Vec<u8>]) -> Result<(), NestProblem> {
    if operands.len() != nest.operands.len() {
        let text = format!("{} buffers for {} operands", operands.len(), nest.operands.len());
        return Err(NestProblem::Buffers(text));
    }
    for (at, (operand, bytes)) in nest.operands.iter().zip(operands).enumerate() {
        if operand.shape.contains(&0) {
            continue;
        }
        let last: u64 = operand.shape.iter().zip(&operand.strides).map(|(&e, &s)| (e - 1) * s as u64).sum();
        let needed = (last + 1).saturating_mul(operand.dtype.size() as u64);
        if (bytes.len() as u64) < needed {
            let text = format!("operand {at} needs {needed} bytes, and got {}", bytes.len());
            return Err(NestProblem::Buffers(text));
        }
    }
    Ok(())
}

/// One point of one phase.
struct Point<'a> {
    nest: &'a Nest,
    operands: &'a mut [Vec<u8>],
    at: &'a [u64],
    folded: &'a [Vec<Scalar>],
    values: Vec<Scalar>,
}

impl Point<'_> {
    fn block(&mut self, insts: &[Inst]) -> Result<(), NestProblem> {
        for inst in insts {
            let value = match inst {
                Inst::Const(scalar) => *scalar,
                Inst::Axis(axis) => Scalar::from_i128(DType::I64, self.at[*axis].into()),
                Inst::Load { operand, index } => {
                    let bytes = self.element(*operand, index)?;
                    self.stored(*operand, bytes)
                }
                Inst::Cast { to, value } => self.values[*value as usize].cast(*to),
                Inst::Op { op, args } => {
                    let args: Vec<Scalar> = args.iter().map(|&a| self.values[a as usize]).collect();
                    apply(*op, &args)?
                }
                Inst::Call { .. } => return Err(NestProblem::Function),
                Inst::Folded { phase, fold } => self.folded[*phase][*fold],
                Inst::Position { value, extent, mode } => {
                    let given = self.integer(*value);
                    if let IndexMode::Report { status, node } = *mode
                        && IndexMode::is_outside(given, *extent)
                    {
                        let word = self.element(status, &[])?;
                        self.operands[status][word].copy_from_slice(&node.to_le_bytes());
                    }
                    Scalar::from_i128(DType::I64, mode.position(given, *extent).into())
                }
            };
            self.values.push(value);
        }
        Ok(())
    }

    /// The element of an operand at a range of bytes.
    fn stored(&self, operand: usize, bytes: std::ops::Range<usize>) -> Scalar {
        let dtype = self.nest.operands[operand].dtype;
        let stored = Scalar::from_le_bytes(dtype, &self.operands[operand][bytes]);
        // The range is as long as the dtype is wide.
        stored.unwrap_or(Scalar::from_i128(dtype, 0))
    }

    fn integer(&self, value: Value) -> i64 {
        self.values[value as usize].bits() as i64
    }

    /// The bytes of an element.
    fn element(&self, operand: usize, index: &[Index]) -> Result<std::ops::Range<usize>, NestProblem> {
        let described = &self.nest.operands[operand];
        let mut linear = 0;
        for (dimension, index) in index.iter().enumerate() {
            let mut along = i128::from(index.offset);
            along += index.terms.iter().map(|&(a, c)| i128::from(self.at[a]) * i128::from(c)).sum::<i128>();
            along += index.dynamic.map_or(0, |value| i128::from(self.integer(value)));
            let extent = described.shape[dimension];
            if along < 0 || along >= i128::from(extent) {
                return Err(NestProblem::Dynamic { operand, dimension, index: along, extent });
            }
            linear += along as usize * described.strides[dimension] as usize;
        }
        let size = described.dtype.size();
        Ok(linear * size..(linear + 1) * size)
    }
}

/// An op on single values, through its host loop.
fn apply(op: ScalarOp, args: &[Scalar]) -> Result<Scalar, NestProblem> {
    let given: Vec<DType> = args.iter().map(|a| a.dtype()).collect();
    let refused = || NestProblem::Arguments { op, given: given.clone() };
    let signature = op.signature(&given).ok_or_else(refused)?;
    let tile = op.tiles(&signature).ok_or_else(refused)?.plain;
    let words: Vec<[u64; 1]> = args.iter().map(|a| [a.cast(a.dtype().register()).bits()]).collect();
    let words: Vec<&[u8]> = words.iter().map(bytemuck::bytes_of).collect();
    let mut out = [0u64];
    tile(&words, bytemuck::bytes_of_mut(&mut out), 1);
    let register = signature.result.register();
    let result = Scalar::from_le_bytes(register, &out[0].to_le_bytes()[..register.size()]);
    Ok(result.ok_or_else(refused)?.cast(signature.result))
}

/// All values of a grid point, folded.
fn fold(fold: &FoldOf, dtype: DType, values: Vec<(Scalar, i64)>) -> Result<Scalar, NestProblem> {
    if fold.fold.has_index() {
        let first =
            values.into_iter().reduce(|best, new| if wins(fold.fold, new, best) { new } else { best });
        return Ok(Scalar::from_i128(DType::I64, first.map_or(i64::MAX, |(_, index)| index).into()));
    }
    let op = fold.fold.combine();
    let mut level: Vec<Scalar> = values.iter().map(|(value, _)| value.cast(dtype.register())).collect();
    while level.len() > 1 {
        let pair = |pair: &[Scalar]| if pair.len() == 2 { apply(op, pair) } else { Ok(pair[0]) };
        level = level.chunks(2).map(pair).collect::<Result<_, _>>()?;
    }
    Ok(level.first().map_or(fold.fold.identity(dtype), |value| value.cast(dtype)))
}

/// Whether `new` replaces `best`: NaN before numbers, then the extreme, then the least index.
fn wins(fold: Fold, new: (Scalar, i64), best: (Scalar, i64)) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = if new.0.dtype().is_float() {
        let (a, b) = (new.0.to_f64(), best.0.to_f64());
        match (a.is_nan(), b.is_nan()) {
            (true, true) => Equal,
            (true, false) => return true,
            (false, true) => return false,
            (false, false) => a.partial_cmp(&b).unwrap_or(Equal),
        }
    } else {
        new.0.to_i128().cmp(&best.0.to_i128())
    };
    let wanted = if fold == Fold::ArgMax { Greater } else { Less };
    order == wanted || order == Equal && new.1 < best.1
}
