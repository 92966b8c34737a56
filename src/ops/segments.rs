//! Counts and folds by number: `bincount`, and sums, means, products and extremes of segments.

use super::creation::{full, int_scalar};
use super::elemwise::cast;
use super::index_expression::Ix;
use super::index_routines::CheckIndex;
use super::indexing::{Combine, number, write};
use super::join::concatenate;
use super::methods::{fail, methods};
use super::shape::{DimShuffle, ShapeOf};
use super::specify_shape::EqualExtents;
use crate::error::Result;
use crate::graph::{IntoOperand, Operand, Variable};
use crate::value::Value;
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;

/// The length of the result of [`Variable::bincount`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bins {
    /// One more than the largest number, and at least this length (NumPy's `minlength`). It depends on
    /// values: the host computes it before each call.
    AtLeast(usize),
    /// This length; a number that does not fit is an error.
    Exactly(usize),
}

fn numbers(op: &str, x: &Variable) -> Result<()> {
    if x.ndim() == 1 && x.dtype().is_integer() {
        return Ok(());
    }
    Err(fail(op, format!("expected a vector of integers, got {}", x.ty())))
}

/// `x` folded into this number of segments, by the numbers of its rows.
fn folded(op: &str, x: &Variable, ids: &Variable, count: &Variable, how: Combine) -> Result<Variable> {
    numbers(op, ids.checked()?)?;
    if x.ndim() == 0 {
        return Err(fail(op, format!("{} has no rows", x.ty())));
    }
    let start = match how {
        Combine::Fold(fold) => fold.identity(x.dtype()),
        _ => Fold::Sum.identity(x.dtype()),
    };
    let start = Variable::constant(Value::scalar(start));
    let rest = (1..x.ndim()).map(|axis| ShapeOf::of(x, axis));
    let shape = std::iter::once(Ok(count.clone())).chain(rest).collect::<Result<Vec<_>>>()?;
    let x = EqualExtents::of("segments", (x, 0), (ids, 0))?;
    let ids = CheckIndex::of("segments", ids, count)?;
    write(full(&shape, start).checked()?, &[Ix::from(ids)], Operand::Variable(x), how)
}

methods! {
    /// How often each number from 0 on stands in a vector of integers, as int64; or, with `weights`, what
    /// these add up to for each number, in their dtype if it is a float, else in float64 (NumPy's
    /// `bincount`). A negative number is an error.
    bincount / try_bincount(x, weights: Option<&Variable>, bins: Bins) {
        numbers("bincount", x)?;
        let len = match bins {
            Bins::Exactly(len) => number(len as i64),
            Bins::AtLeast(least) => {
                // With a -1 appended, so that an empty vector has a maximum.
                let all = concatenate([cast(x, DType::I64)?, Variable::constant(vec![-1i64])], 0);
                (all.try_max(0)? + 1i64).try_maximum(least as i64)?
            }
        };
        let ids = CheckIndex::of("bincount", x, &len)?;
        let weights = match weights {
            None => number(1),
            Some(w) if w.checked()?.ndim() != 1 => {
                return Err(fail("bincount", format!("weights are a vector, not {}", w.ty())));
            }
            Some(w) => {
                let w = EqualExtents::of("bincount", (w, 0), (x, 0))?;
                if w.dtype().is_float() { w } else { cast(&w, DType::F64)? }
            }
        };
        let zero = Variable::constant(Value::scalar(Fold::Sum.identity(weights.dtype())));
        write(full([&len], zero).checked()?, &[Ix::from(ids)], Operand::Variable(weights), Combine::Add)
    }
    /// The sum of the rows of each number: `ids` has one for each row, from 0 to below `segments`. 0 where
    /// there is none.
    segment_sum / try_segment_sum(x, ids: impl Into<Variable>, segments: impl IntoOperand) {
        folded("segment_sum", x, &ids.into(), &int_scalar("segment_sum", segments)?, Combine::Add)
    }
    /// The product of the rows of each number; 1 where there is none.
    segment_prod / try_segment_prod(x, ids: impl Into<Variable>, segments: impl IntoOperand) {
        folded("segment_prod", x, &ids.into(), &int_scalar("segment_prod", segments)?, Combine::Fold(Fold::Product))
    }
    /// The largest of the rows of each number; the least value of the dtype where there is none.
    segment_max / try_segment_max(x, ids: impl Into<Variable>, segments: impl IntoOperand) {
        folded("segment_max", x, &ids.into(), &int_scalar("segment_max", segments)?, Combine::Fold(Fold::Max))
    }
    /// The smallest of the rows of each number; the greatest value of the dtype where there is none.
    segment_min / try_segment_min(x, ids: impl Into<Variable>, segments: impl IntoOperand) {
        folded("segment_min", x, &ids.into(), &int_scalar("segment_min", segments)?, Combine::Fold(Fold::Min))
    }
    /// The mean of the rows of each number, of integers as float64; NaN where there is none, as a mean of
    /// nothing is.
    segment_mean / try_segment_mean(x, ids: impl Into<Variable>, segments: impl IntoOperand) {
        let (ids, count) = (ids.into(), int_scalar("segment_mean", segments)?);
        let x = if x.dtype().is_float() { x.clone() } else { cast(x, DType::F64)? };
        let sum = folded("segment_mean", &x, &ids, &count, Combine::Add)?;
        let ones = full([ShapeOf::of(ids.checked()?, 0)?], 1i64);
        let rows = folded("segment_mean", ones.checked()?, &ids, &count, Combine::Add)?;
        let order = (0..sum.ndim()).map(|a| (a == 0).then_some(0)).collect();
        sum.try_div(DimShuffle::of(&cast(&rows, x.dtype())?, order)?)
    }
}
