//! Binary search.

use super::{LibraryError, LibraryOp, ParameterCheck, read, written};
use crate::dtype::DType;
use crate::nest::Operand;

/// Binary search: the number of elements of a sorted vector that are less than each key, or not greater. NaN
/// are greater than all numbers, zeros of either sign are equal. Two operands are read: the vector and the
/// keys. The insertion points are written, as int64.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Search {
    /// The dtype of both inputs.
    pub dtype: DType,
    /// Number of elements of the vector.
    pub len: u64,
    /// Number of keys.
    pub asked: u64,
    /// Whether elements equal to the key count too (NumPy's `side="right"`).
    pub right: bool,
}

impl LibraryOp for Search {
    fn name(&self) -> String {
        "searchsorted".into()
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn extents(&self) -> Vec<u64> {
        vec![1, self.asked, 1]
    }

    fn operands(&self) -> Vec<Operand> {
        vec![
            read(self.dtype, &[self.len]),
            read(self.dtype, &[self.asked]),
            written(DType::I64, &[self.asked]),
        ]
    }

    fn verify(&self) -> Result<(), LibraryError> {
        let check = ParameterCheck { op: self };
        check.size("len", self.dtype, &[self.len])?;
        check.size("asked", self.dtype, &[self.asked])?;
        check.size("asked", DType::I64, &[self.asked])
    }

    fn flops(&self) -> f64 {
        (self.len.max(2) as f64).log2() * self.asked as f64
    }
}
