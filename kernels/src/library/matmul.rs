//! Matrix products.

use super::{LibraryError, LibraryOp, ParameterCheck, written};
use crate::dtype::DType;
use crate::nest::Operand;

/// A batched matrix product `(batch, m, k) @ (batch, k, n) -> (batch, m, n)`. Halves accumulate in float32
/// and round once. Two operands are read, the left and the right factor; the result is written, contiguous.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Matmul {
    /// The dtype of both factors and of the result.
    pub dtype: DType,
    /// Number of products; 1 if there is no batch.
    pub batch: u64,
    /// Rows of the result.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// The contracted extent.
    pub k: u64,
    /// Layout of the left factor: strides along batch, m, k, in elements. One of the last two is 1 (or its
    /// extent is).
    pub a: [i64; 3],
    /// Layout of the right factor: strides along batch, k, n, in elements, likewise.
    pub b: [i64; 3],
    /// Results may be less exact, for speed: float32 factors may be rounded to TF32. They are not otherwise.
    pub fast: bool,
}

impl LibraryOp for Matmul {
    fn name(&self) -> String {
        "matmul".into()
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    /// Batch, rows, columns, contracted extent.
    fn extents(&self) -> Vec<u64> {
        vec![self.batch, self.m, self.n, self.k]
    }

    fn operands(&self) -> Vec<Operand> {
        let factor = |shape: [u64; 3], strides: [i64; 3]| Operand {
            dtype: self.dtype,
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            written: false,
        };
        vec![
            factor([self.batch, self.m, self.k], self.a),
            factor([self.batch, self.k, self.n], self.b),
            written(self.dtype, &[self.batch, self.m, self.n]),
        ]
    }

    /// Factors may be parts of larger arrays.
    fn starts_anywhere(&self) -> bool {
        true
    }

    fn verify(&self) -> Result<(), LibraryError> {
        let Matmul { dtype, batch, m, n, .. } = *self;
        let mut extents = [batch, m, n, dtype.size() as u64].into_iter().filter(|extent| *extent > 0);
        let bytes = extents.try_fold(1i64, |all, extent| all.checked_mul(i64::try_from(extent).ok()?));
        let texts = || ("less than 2^63 bytes".into(), format!("{batch} x {m} x {n} elements of {dtype}"));
        ParameterCheck { op: self }.require(bytes.is_some(), "result", texts)
    }

    fn flops(&self) -> f64 {
        2.0 * self.batch as f64 * self.m as f64 * self.n as f64 * self.k as f64
    }
}

/// The product of int8 factors whose sums are int32, which wrap. Its [`Matmul::dtype`] is I8; the elements of
/// both factors along the sum are neighbours. Devices load vectors of them, so the factors start at the
/// device's alignment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ByteMatmul(pub Matmul);

impl LibraryOp for ByteMatmul {
    fn name(&self) -> String {
        self.0.name()
    }

    fn dtype(&self) -> DType {
        DType::I8
    }

    fn extents(&self) -> Vec<u64> {
        self.0.extents()
    }

    fn operands(&self) -> Vec<Operand> {
        let Matmul { batch, m, n, .. } = self.0;
        let mut operands = self.0.operands();
        operands.truncate(2);
        operands.push(written(DType::I32, &[batch, m, n]));
        operands
    }

    fn verify(&self) -> Result<(), LibraryError> {
        let Matmul { dtype, a, b, .. } = self.0;
        let check = ParameterCheck { op: self };
        check.require(dtype == DType::I8, "dtype", || ("int8".into(), dtype))?;
        let neighbours = a[2] == 1 && b[1] == 1;
        check.require(neighbours, "strides", || ("1 along the sum".into(), format!("{a:?} and {b:?}")))?;
        Matmul { dtype: DType::I32, ..self.0.clone() }.verify()
    }

    fn flops(&self) -> f64 {
        self.0.flops()
    }
}
