//! Normal forms of sums, products and powers, and ops that change nothing. Numbers keep their value but for what a sum's
//! order leaves.

use super::super::terms::Terms;
use super::Found;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::nest::Fold;
use crate::kernels::ops::*;
use crate::ops::{BroadcastLike, Cast, Elemwise, Op, Reduce, downcast};
use std::sync::Arc;

pub(in super::super) fn rule<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    if let Some(cast) = downcast::<Cast>(op) {
        return of_cast(t, cast.dtype, &inputs[0]);
    }
    if let Some(reduce) = downcast::<Reduce>(op) {
        return of_sum(t, reduce, &inputs[0]);
    }
    let Some(op) = downcast::<Elemwise>(op) else { return Ok(None) };
    match (op.op, inputs) {
        (NEG, [x]) => Ok(t.argument(x, NEG)),
        (ABS, [x]) => match t.elemwise(x) {
            Some((ABS, _)) => Ok(Some(x.clone())),
            Some((NEG, args)) => t.make(ABS, &[&args[0]]).map(Some),
            _ => Ok(None),
        },
        (SQR, [x]) => match t.elemwise(x) {
            Some((ABS | NEG, args)) => t.make(SQR, &[&args[0]]).map(Some),
            _ => Ok(None),
        },
        (SQRT, [x]) => match t.argument(x, SQR) {
            Some(y) if t.ty(&y).dtype.is_float() => t.make(ABS, &[&y]).map(Some),
            _ => Ok(None),
        },
        (ADD, [a, b]) => {
            // Of floats it makes a positive zero of a negative one.
            if !t.ty(a).dtype.is_float()
                && let Some(rest) = t.beside(inputs, 0.0)
            {
                return Ok(Some(rest));
            }
            for (kept, other) in [(a, b), (b, a)] {
                if let Some(y) = t.argument(other, NEG) {
                    return t.make(SUB, &[kept, &y]).map(Some);
                }
            }
            Ok(None)
        }
        (SUB, [a, b]) => {
            // Less a negative zero, a negative zero is a positive one.
            if t.uniform(b).is_some_and(|zero| zero.to_bits() == 0) && t.has_type_of_both(a, b) {
                return Ok(Some(a.clone()));
            }
            match t.argument(b, NEG) {
                Some(y) => t.make(ADD, &[a, &y]).map(Some),
                None => Ok(None),
            }
        }
        (MUL | DIV, [a, b]) => {
            if t.is(b, 1.0) && t.has_type_of_both(a, b) {
                return Ok(Some(a.clone()));
            }
            if op.op == MUL && t.is(a, 1.0) && t.has_type_of_both(b, a) {
                return Ok(Some(b.clone()));
            }
            if let (Some(x), Some(y)) = (t.argument(a, NEG), t.argument(b, NEG)) {
                return t.make(op.op, &[&x, &y]).map(Some);
            }
            let squares = op.op == MUL && a == b && t.ty(a).dtype != DType::Bool;
            if squares { t.make(SQR, &[a]).map(Some) } else { Ok(None) }
        }
        (POW, [x, power]) => match t.uniform(power) {
            Some(power_number) if t.has_type_of_both(x, power) => of_power(t, x, power_number),
            _ => Ok(None),
        },
        (MAXIMUM | MINIMUM, [a, b]) if a == b => Ok(Some(a.clone())),
        (WHERE, [condition, yes, no]) => {
            if yes == no && t.has_type_of_both(yes, condition) {
                return Ok(Some(yes.clone()));
            }
            let chosen = t.uniform(condition).map(|c| if c != 0.0 { (yes, no) } else { (no, yes) });
            match chosen {
                Some((chosen, other))
                    if t.has_type_of_both(chosen, other) && t.has_type_of_both(chosen, condition) =>
                {
                    Ok(Some(chosen.clone()))
                }
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

fn of_power<T: Terms>(t: &mut T, x: &T::V, power: f64) -> Found<T> {
    let float = t.ty(x).dtype.is_float();
    let square = |t: &mut T| t.make(SQR, &[x]);
    let result = match power {
        0.0 => {
            let one = t.number(x, 1.0)?;
            t.apply(Arc::new(BroadcastLike), vec![one, x.clone()])?
        }
        1.0 => x.clone(),
        2.0 => square(t)?,
        3.0 => {
            let square = square(t)?;
            t.make(MUL, &[&square, x])?
        }
        4.0 => {
            let square = square(t)?;
            t.make(SQR, &[&square])?
        }
        -1.0 if float => t.make(RECIPROCAL, &[x])?,
        // The square of x may overflow where that of its reciprocal is a number.
        -2.0 if float => {
            let inverse = t.make(RECIPROCAL, &[x])?;
            t.make(SQR, &[&inverse])?
        }
        0.5 if float => root(t, x)?,
        -0.5 if float => {
            let root = root(t, x)?;
            t.make(RECIPROCAL, &[&root])?
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

/// `x` to a half: its root, but 0 of a negative zero and infinity of minus infinity.
fn root<T: Terms>(t: &mut T, x: &T::V) -> Result<T::V> {
    let (zero, infinite) = (t.number(x, 0.0)?, t.number(x, f64::INFINITY)?);
    let least = t.number(x, f64::NEG_INFINITY)?;
    let root = t.make(SQRT, &[x])?;
    let root = t.make(ADD, &[&root, &zero])?;
    let at_least = t.make(EQ, &[x, &least])?;
    t.make(WHERE, &[&at_least, &infinite, &root])
}

/// Conversions one after the other, the first of which keeps every number.
fn of_cast<T: Terms>(t: &mut T, to: DType, x: &T::V) -> Found<T> {
    let from = t.ty(x).dtype;
    if from == to {
        return Ok(Some(x.clone()));
    }
    let Some((op, args)) = t.owner(x) else { return Ok(None) };
    let Some(_) = downcast::<Cast>(op.as_ref()) else { return Ok(None) };
    let first = t.ty(&args[0]).dtype;
    // From a float to an integer out of range is the nearest, from an integer it wraps.
    let changes_how = !first.is_float() && first != DType::Bool && from.is_float();
    let alike = !changes_how || to.is_float() || keeps_all(first, to);
    if !keeps_all(first, from) || !alike {
        return Ok(None);
    }
    if first == to {
        Ok(Some(args[0].clone()))
    } else {
        t.apply(Arc::new(Cast { dtype: to }), args).map(Some)
    }
}

/// Whether every number of a dtype is one of another.
fn keeps_all(from: DType, to: DType) -> bool {
    let digits = |d: DType| match d {
        DType::BF16 => 8,
        DType::F16 => 11,
        DType::F32 => 24,
        _ => 53,
    };
    match (from.is_float(), to.is_float()) {
        _ if from == to || from == DType::Bool => true,
        (true, true) => digits(from) < digits(to) && !(from == DType::BF16 && to == DType::F16),
        (true, false) => false,
        (false, true) => 8 * from.size() < digits(to) && to != DType::F16,
        (false, false) => {
            to != DType::Bool
                && from.size() <= to.size()
                && (from.is_signed() == to.is_signed() || (to.is_signed() && from.size() < to.size()))
        }
    }
}

/// A sum of sums, or over nothing.
fn of_sum<T: Terms>(t: &mut T, sum: &Reduce, x: &T::V) -> Found<T> {
    let ty = t.ty(x);
    if sum.axes.is_empty() && ty.dtype == sum.dtype {
        return Ok(Some(x.clone()));
    }
    if sum.fold != Fold::Sum || !ty.dtype.is_float() || ty.dtype != sum.dtype {
        return Ok(None);
    }
    let Some((op, args)) = t.owner(x) else { return Ok(None) };
    if let Some(inner) = downcast::<Reduce>(op.as_ref())
        && inner.fold == Fold::Sum
        && inner.dtype == ty.dtype
        && inner.acc_dtype == sum.acc_dtype
        && !ty.dtype.is_half()
    {
        // The axes of the outer sum, counted as the inner one's input has them.
        let rank = t.ty(&args[0]).ndim();
        let kept: Vec<usize> = (0..rank).filter(|a| !inner.axes.contains(a)).collect();
        let mut axes: Vec<usize> =
            inner.axes.iter().copied().chain(sum.axes.iter().map(|&a| kept[a])).collect();
        axes.sort_unstable();
        return t.apply(Arc::new(Reduce { axes, ..sum.clone() }), args).map(Some);
    }
    Ok(None)
}
