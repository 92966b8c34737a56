//! Comparisons of signed integers with uint64, which have no common integer dtype: exact, as in NumPy 2.

use super::{cast, elemwise};
use crate::error::Result;
use crate::graph::{Operand, Variable};
use workalike_kernels::DType;
use workalike_kernels::ops::{EQ, GE, GT, LE, LT, NE, ScalarOp};

/// The comparison that says of `b` and `a` what this one says of `a` and `b`; `None` if it is no comparison.
fn mirrored(op: ScalarOp) -> Option<ScalarOp> {
    let pairs = [(EQ, EQ), (NE, NE), (LT, GT), (LE, GE), (GT, LT), (GE, LE)];
    pairs.iter().find(|(from, _)| *from == op).map(|(_, to)| *to)
}

/// The comparison, if it is one of signed integers with uint64.
///
/// # Errors
/// If the shapes do not broadcast.
pub(super) fn signed_with_unsigned(op: ScalarOp, inputs: &[Variable]) -> Result<Option<Variable>> {
    let ([a, b], Some(mirrored)) = (inputs, mirrored(op)) else { return Ok(None) };
    match (a.dtype(), b.dtype()) {
        (signed, DType::U64) if signed.is_signed() => compare(op, a, b).map(Some),
        (DType::U64, signed) if signed.is_signed() => compare(mirrored, b, a).map(Some),
        _ => Ok(None),
    }
}

fn compare(op: ScalarOp, signed: &Variable, unsigned: &Variable) -> Result<Variable> {
    // A negative number is below all others, and its bits are those of another number.
    let bits = cast(signed, DType::U64)?;
    let same = elemwise(op, vec![Operand::Variable(bits), Operand::Variable(unsigned.clone())])?;
    match op {
        EQ | GT | GE => signed.try_greater_equal(0i64)?.try_and(same),
        _ => signed.try_less(0i64)?.try_or(same),
    }
}
