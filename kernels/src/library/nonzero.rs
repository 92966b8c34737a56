//! Positions of nonzero elements.

use super::{LibraryError, LibraryOp, ParameterCheck, read, written};
use crate::dtype::DType;
use crate::nest::Operand;

/// Row-major positions of nonzero elements, ascending, as int64; then their number, as one int64. With
/// `taken`, a second operand is read, and its elements at the positions are written instead of the positions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LibraryNonZero {
    /// The dtype of the elements.
    pub dtype: DType,
    /// Number of elements.
    pub len: u64,
    /// Maximum number of positions. If there are fewer, the rest of the output is unspecified; if there are
    /// more, only the first are written.
    pub kept: u64,
    /// The dtype of a second operand of `len` elements; its elements at the positions are written instead of
    /// the positions.
    pub taken: Option<DType>,
}

impl LibraryOp for LibraryNonZero {
    fn name(&self) -> String {
        if self.taken.is_some() { "compress".into() } else { "nonzero".into() }
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn extents(&self) -> Vec<u64> {
        vec![1, self.len, 1]
    }

    fn operands(&self) -> Vec<Operand> {
        let taken = self.taken.map(|dtype| read(dtype, &[self.len]));
        let results = [written(self.taken.unwrap_or(DType::I64), &[self.kept]), written(DType::I64, &[1])];
        [read(self.dtype, &[self.len])].into_iter().chain(taken).chain(results).collect()
    }

    fn verify(&self) -> Result<(), LibraryError> {
        let check = ParameterCheck { op: self };
        check.size("len", self.dtype, &[self.len])?;
        check.size("taken", self.taken.unwrap_or(self.dtype), &[self.len])?;
        check.size("kept", DType::I64, &[self.kept])
    }

    fn flops(&self) -> f64 {
        self.len as f64
    }
}
