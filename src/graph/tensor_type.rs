//! dtype and static shape.

use std::fmt;
use workalike_kernels::DType;

/// The type of a Variable: element type and, per axis, the extent where it is known when the graph is built.
///
/// An axis of extent 1 broadcasts, whether the type knows the extent or it is known at run time only;
/// gradients are summed accordingly. Operations that need the extent when the graph is built (dropping an
/// axis) use the type's.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The element type.
    pub dtype: DType,
    /// One entry per axis.
    pub shape: Vec<Option<usize>>,
}

impl TensorType {
    /// A type with these axes.
    pub fn new(dtype: DType, shape: impl Into<Vec<Option<usize>>>) -> TensorType {
        TensorType { dtype, shape: shape.into() }
    }

    /// A type whose extents are all known.
    pub fn fixed(dtype: DType, shape: &[usize]) -> TensorType {
        TensorType { dtype, shape: shape.iter().map(|&e| Some(e)).collect() }
    }

    /// A type whose extents are all unknown.
    pub fn of_rank(dtype: DType, ndim: usize) -> TensorType {
        TensorType { dtype, shape: vec![None; ndim] }
    }

    /// Number of axes.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The same axes with another dtype.
    pub fn with_dtype(&self, dtype: DType) -> TensorType {
        TensorType { dtype, shape: self.shape.clone() }
    }

    /// Whether a value of this concrete shape has this type.
    pub fn admits(&self, dtype: DType, shape: &[usize]) -> bool {
        dtype == self.dtype && self.admits_shape(shape)
    }

    /// Whether a concrete shape fits the static one.
    pub fn admits_shape(&self, shape: &[usize]) -> bool {
        shape.len() == self.ndim() && self.shape.iter().zip(shape).all(|(s, &e)| s.is_none_or(|s| s == e))
    }

    /// Whether every value of `other` has this type.
    pub fn includes(&self, other: &TensorType) -> bool {
        self.dtype == other.dtype
            && self.ndim() == other.ndim()
            && self.shape.iter().zip(&other.shape).all(|(a, b)| a.is_none() || a == b)
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents: Vec<String> =
            self.shape.iter().map(|e| e.map_or("?".into(), |e| e.to_string())).collect();
        let comma = if extents.len() == 1 { "," } else { "" };
        write!(f, "{}({}{comma})", self.dtype, extents.join(", "))
    }
}

impl fmt::Debug for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
