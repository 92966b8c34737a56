//! Binary search.

use super::{Check, LibraryError, LibraryOp, read, written};
use crate::dtype::DType;
use crate::nest::Operand;

/// How many elements of a sorted vector come before each number, or not after it. NaN come after all numbers,
/// zeros of either sign are equal. Two operands are read: the vector, and the numbers whose places are looked
/// for. The places are written, as int64.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Search {
    /// Of both inputs.
    pub dtype: DType,
    /// Elements of the vector.
    pub len: u64,
    /// Numbers whose places are looked for.
    pub asked: u64,
    /// Whether equal elements count.
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
        let check = Check { op: self };
        check.size("len", self.dtype, &[self.len])?;
        check.size("asked", self.dtype, &[self.asked])?;
        check.size("asked", DType::I64, &[self.asked])
    }

    fn flops(&self) -> f64 {
        (self.len.max(2) as f64).log2() * self.asked as f64
    }
}
