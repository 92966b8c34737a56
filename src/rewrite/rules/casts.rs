//! Conversions between dtypes.

use super::super::terms::Terms;
use super::Root::Op as Of;
use super::{Found, rules};
use crate::op::Op;
use crate::ops::elemwise::Cast;
use std::sync::Arc;
use workalike_kernels::DType;

rules! {
    cast_itself on Of("cast") => "a conversion to the own dtype is its input";
    cast_cast on Of("cast") => "of two conversions, the first of which keeps every number, the first goes";
}

fn cast_itself<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let (Some(cast), [x]) = (op.downcast::<Cast>(), inputs) else { return Ok(None) };
    Ok((t.ty(x).dtype == cast.dtype).then(|| x.clone()))
}

fn cast_cast<T: Terms>(t: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    let (Some(outer), [x]) = (op.downcast::<Cast>(), inputs) else { return Ok(None) };
    let (to, from) = (outer.dtype, t.ty(x).dtype);
    let Some((op, args)) = t.owner(x) else { return Ok(None) };
    let Some(_) = op.downcast::<Cast>() else { return Ok(None) };
    let first = t.ty(&args[0]).dtype;
    // A conversion to an integer that is out of range takes the nearest from a float, and wraps from an
    // integer.
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

/// Digits of a float in base 2.
pub(super) fn digits(dtype: DType) -> i32 {
    match dtype {
        DType::BF16 => 8,
        DType::F16 => 11,
        DType::F32 => 24,
        _ => 53,
    }
}

/// Whether one dtype has every number of another.
fn keeps_all(from: DType, to: DType) -> bool {
    match (from.is_float(), to.is_float()) {
        _ if from == to || from == DType::Bool => true,
        (true, true) => digits(from) < digits(to) && !(from == DType::BF16 && to == DType::F16),
        (true, false) => false,
        (false, true) => 8 * from.size() < digits(to) as usize && to != DType::F16,
        (false, false) => {
            to != DType::Bool
                && from.size() <= to.size()
                && (from.is_signed() == to.is_signed() || (to.is_signed() && from.size() < to.size()))
        }
    }
}
