//! Complex numbers as pairs of reals, and back.

use super::{Value, row_major};
use crate::error::{Error, Result, array_text};
use workalike_kernels::DType;

impl Value {
    /// Complex numbers as pairs of reals along a further, last axis, without a copy. Itself if it is real.
    pub(crate) fn as_reals(&self) -> Value {
        if !self.dtype.is_complex() {
            return self.clone();
        }
        Value {
            dtype: self.dtype.real(),
            shape: self.shape.iter().copied().chain([2]).collect(),
            strides: self.strides.iter().map(|stride| stride * 2).chain([1]).collect(),
            offset: self.offset * 2,
            buffer: self.buffer.clone(),
        }
    }

    /// Pairs of reals along the last axis as complex numbers.
    ///
    /// # Errors
    /// If the last axis has another extent than 2, or the numbers are not float32 or float64.
    pub(crate) fn as_complex(&self) -> Result<Value> {
        let pairs = self.contiguous()?;
        match (pairs.dtype, pairs.shape.split_last()) {
            (DType::F32 | DType::F64, Some((2, shape))) if pairs.offset.is_multiple_of(2) => Ok(Value {
                dtype: pairs.dtype.complex(),
                shape: shape.to_vec(),
                strides: row_major(shape),
                offset: pairs.offset / 2,
                buffer: pairs.buffer.clone(),
            }),
            (DType::F32 | DType::F64, Some((2, shape))) => {
                Value::from_bytes(pairs.dtype.complex(), shape, pairs.contiguous_bytes().unwrap_or(&[]))
            }
            _ => Err(Error::mismatch("complex numbers", "pairs of reals along the last axis", {
                array_text(self.dtype, &self.shape)
            })),
        }
    }
}
