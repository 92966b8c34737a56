//! Values from arrays, slices and numbers, and back.

use super::elements::Element;
use super::{Value, row_major};
use crate::error::{Error, Result};
use half::{bf16, f16};
use ndarray::{ArrayBase, Data, Dimension};
use num_complex::{Complex32, Complex64};
use std::sync::Arc;

impl<T: Element, S: Data<Elem = T>, D: Dimension> From<ArrayBase<S, D>> for Value {
    /// An array that owns its elements, in row-major order, is not copied.
    fn from(array: ArrayBase<S, D>) -> Value {
        let shape = array.shape().to_vec();
        let strides = row_major(&shape);
        let len = array.len();
        let elements: Vec<T> = if array.is_standard_layout() {
            match array.into_owned().into_raw_vec_and_offset() {
                (elements, None | Some(0)) if elements.len() == len => elements,
                // A part of a larger array.
                (elements, first) => elements.into_iter().skip(first.unwrap_or(0)).take(len).collect(),
            }
        } else {
            array.iter().copied().collect()
        };
        Value { dtype: T::DTYPE, shape, strides, offset: 0, buffer: Arc::new(elements) }
    }
}

impl<T: Element, S: Data<Elem = T>, D: Dimension> From<&ArrayBase<S, D>> for Value {
    fn from(array: &ArrayBase<S, D>) -> Value {
        Value::from(array.view())
    }
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Value {
        value.clone()
    }
}

impl<T: Element> From<Vec<T>> for Value {
    fn from(elements: Vec<T>) -> Value {
        let shape = vec![elements.len()];
        Value { dtype: T::DTYPE, shape, strides: vec![1], offset: 0, buffer: Arc::new(elements) }
    }
}

impl<T: Element> From<&[T]> for Value {
    fn from(elements: &[T]) -> Value {
        Value::from(elements.to_vec())
    }
}

impl<T: Element> From<&Vec<T>> for Value {
    fn from(elements: &Vec<T>) -> Value {
        Value::from(elements.clone())
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Value {
    fn from(elements: [T; N]) -> Value {
        Value::from(elements.to_vec())
    }
}

impl<T: Element, const N: usize> From<&[T; N]> for Value {
    fn from(elements: &[T; N]) -> Value {
        Value::from(elements.to_vec())
    }
}

/// A matrix, row by row.
impl<T: Element, const M: usize, const N: usize> From<[[T; N]; M]> for Value {
    fn from(rows: [[T; N]; M]) -> Value {
        let shape = vec![M, N];
        let buffer = Arc::new(rows.concat());
        Value { dtype: T::DTYPE, strides: row_major(&shape), shape, offset: 0, buffer }
    }
}

/// All elements, row-major, as [`Value::to_vec`].
impl<T: Element> TryFrom<&Value> for Vec<T> {
    type Error = Error;

    fn try_from(value: &Value) -> Result<Vec<T>> {
        value.to_vec()
    }
}

/// All elements, row-major, as [`Value::to_vec`].
impl<T: Element> TryFrom<Value> for Vec<T> {
    type Error = Error;

    fn try_from(value: Value) -> Result<Vec<T>> {
        value.to_vec()
    }
}

macro_rules! from_scalars {
    ($($t:ty),*) => { $(impl From<$t> for Value {
        fn from(element: $t) -> Value {
            Value { dtype: <$t>::DTYPE, shape: vec![], strides: vec![], offset: 0, buffer: Arc::new(vec![element]) }
        }
    }
    /// The only element, as [`Value::item`].
    impl TryFrom<&Value> for $t {
        type Error = Error;

        fn try_from(value: &Value) -> Result<$t> {
            value.item()
        }
    })* };
}
from_scalars!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex32, Complex64);
