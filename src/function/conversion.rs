//! The dtypes that an input accepts besides its own.

use crate::error::Result;
use crate::value::Value;
use workalike_kernels::DType;

/// The dtypes that an input accepts besides its own. Arrays on a device are never converted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conversion {
    /// None.
    Strict,
    /// Dtypes that promote to the input's dtype, as in NumPy (including 64-bit integers for float64, which
    /// rounds large ones). Of numbers also a 0-d float for a narrower float, which rounds it, and a 0-d
    /// integer for any dtype that holds its value.
    #[default]
    Lossless,
    /// Any dtype of the same kind, and integers for floats. Floats are rounded; an integer that the dtype
    /// cannot hold is refused.
    Downcast,
}

impl Conversion {
    /// Whether arrays of a dtype are accepted for another dtype, for all values.
    pub(super) fn takes(self, from: DType, dtype: DType) -> bool {
        match self {
            Conversion::Strict => from == dtype,
            Conversion::Lossless => from.promote(dtype) == dtype,
            Conversion::Downcast => {
                from.promote(dtype) == dtype || dtype.is_complex() || (dtype.is_float() && !from.is_complex())
            }
        }
    }

    /// `value` as `dtype`, unless that is refused. If `rank` is 0, its elements are numbers, each given by
    /// itself.
    pub(super) fn convert(self, value: &Value, dtype: DType, rank: usize) -> Result<Option<Value>> {
        let from = value.dtype();
        if from == dtype {
            return Ok(Some(value.clone()));
        }
        let accepted = self != Conversion::Strict && value.converts_to(dtype, rank);
        if accepted || self != Conversion::Downcast {
            return accepted.then(|| value.cast(dtype)).transpose();
        }
        if from.is_complex() || dtype.is_complex() {
            return dtype.is_complex().then(|| value.cast(dtype)).transpose();
        }
        let float = from.is_float();
        if dtype.is_float() || (!float && dtype != DType::Bool) {
            let cast = value.cast(dtype)?;
            let held = dtype.is_float() || cast.cast(from)? == *value;
            return Ok(held.then_some(cast));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(by: Conversion, value: impl Into<Value>, dtype: DType) -> bool {
        let value = value.into();
        by.convert(&value, dtype, value.ndim()).unwrap().is_some_and(|v| v.dtype() == dtype)
    }

    #[test]
    fn numbers_keep_their_value_and_arrays_their_precision() {
        use Conversion::{Downcast, Lossless, Strict};
        use DType::{Bool, F32, F64, I8, I32, U8};
        assert!(converted(Strict, 1f32, F32) && !converted(Strict, 1f32, F64));
        for (value, dtype, accepted) in [
            (Value::from(3i64), F32, true),
            (Value::from(3i64), I8, true),
            (Value::from(300i64), I8, false),
            (Value::from(-1i32), U8, false),
            (Value::from((1i64 << 24) + 1), F32, false),
            (Value::from(0.1f64), F32, true),
            (Value::from(3.0f64), I32, false),
            (Value::from(1i64), Bool, false),
            (Value::from(vec![1i32]), F64, true),
            (Value::from(vec![1i64]), F32, false),
            (Value::from(vec![1f64]), F32, false),
        ] {
            assert_eq!(converted(Lossless, value.clone(), dtype), accepted, "{value:?} for {dtype}");
        }
        for (value, dtype, accepted) in [
            (Value::from(vec![0.1f64]), F32, true),
            (Value::from(vec![1i64, -2]), I32, true),
            (Value::from(vec![1i64 << 31]), I32, false),
            (Value::from(vec![1i64]), F32, true),
            (Value::from(vec![1f64]), I32, false),
        ] {
            assert_eq!(converted(Downcast, value.clone(), dtype), accepted, "{value:?} for {dtype}");
        }
    }
}
