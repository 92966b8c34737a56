//! Expressions of which all elements have one known value.

use super::elemwise::Cast;
use super::shape::{BroadcastLike, BroadcastTo, DimShuffle};
use crate::graph::Variable;
use crate::op::Op;
use crate::value::Value;
use std::sync::Arc;
use workalike_kernels::{DType, Scalar};

/// The value of all elements of `v`, if it is known: through broadcasts, new axes and conversions to floats.
pub fn uniform(v: &Variable) -> Option<f64> {
    let owner = |v: &Variable| {
        let (apply, _) = v.owner()?;
        (apply.types.len() == 1).then(|| (apply.op.clone(), apply.inputs.clone()))
    };
    uniform_by(v.clone(), |v| v.constant_value().cloned(), owner)
}

/// The same for an expression of any kind, given the value of a constant and the op that made an expression.
pub(crate) fn uniform_by<V: Clone>(
    mut v: V,
    value: impl Fn(&V) -> Option<Value>,
    owner: impl Fn(&V) -> Option<(Arc<dyn Op>, Vec<V>)>,
) -> Option<f64> {
    let mut casts = vec![];
    loop {
        if let Some(value) = value(&v) {
            let number = value.reshaped(&[]).ok()?.to_scalar()?.to_f64();
            let rounded = |x: f64, dtype: &DType| Scalar::from_f64(*dtype, x).to_f64();
            return Some(casts.iter().rev().fold(number, rounded));
        }
        let (op, inputs) = owner(&v)?;
        if let Some(cast) = op.downcast::<Cast>().filter(|cast| cast.dtype.is_float()) {
            casts.push(cast.dtype);
        } else if !is_view_of_all(op.as_ref()) {
            return None;
        }
        v = inputs.first()?.clone();
    }
}

/// Whether the elements of an op's output are all those of its first input, moved or repeated.
fn is_view_of_all(op: &dyn Op) -> bool {
    op.downcast::<DimShuffle>().is_some()
        || op.downcast::<BroadcastTo>().is_some()
        || op.downcast::<BroadcastLike>().is_some()
}
