//! Factorizations of square matrices, and systems of linear equations.

use super::{Definition, DefinitionError, InMemory, LibraryError, LibraryOp, ParameterCheck, read, written};
use crate::dtype::DType;
use crate::nest::Operand;

/// The computation for each matrix of a batch. See [`LinearAlgebra`] for the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinalgProblem {
    /// Reads `a`; writes `factor` and `info`. The lower factor `l` of `l l^T`, from the lower triangle of
    /// `a`, or the upper factor `u` of `u^T u`, from the upper triangle. `info` is the order of the first
    /// leading minor that is not positive. If the matrix has NaN or infinities, `info` may be 0, and then the
    /// factor's diagonal has NaN or infinities. The other triangle of the factor is not specified.
    Cholesky {
        /// The upper factor.
        upper: bool,
    },
    /// Reads `a`; writes `factors`, `rows` (int32, one per row) and `info`. The diagonal of `factors` is that
    /// of the upper factor of an LU factorization with partial pivoting, of the matrix or of its transpose.
    /// The number of `rows` that differ from their position, counted from 1, is odd if the permutation is.
    /// `info` is the position of the first pivot that is 0, counted from 1; it is not specified for a matrix
    /// with NaN.
    Lu,
    /// Reads `a` and `b`; writes `x` and `info`. If `info` is 0, `x` has the solutions of `a x = b`, by an LU
    /// factorization. Neither is specified for a matrix with NaN.
    LuSolve {
        /// Number of right-hand sides of each matrix.
        columns: u64,
    },
    /// Reads `a`; writes its cofactors. Those of a matrix with NaN are NaN.
    Cofactors,
    /// Reads `a` and `b`; writes `x`. The solutions of `t x = b`, where `t` is a triangle of `a`.
    TriangularSolve {
        /// Right-hand sides of each matrix.
        columns: u64,
        /// The lower triangle; else the upper one.
        lower: bool,
        /// `t` is the transpose of that triangle.
        transposed: bool,
        /// The diagonal is not read, and taken to be 1.
        unit_diagonal: bool,
    },
}

/// Linear algebra on a batch of square matrices of float32 or float64, row-major. `info` is an int32 for each
/// matrix, 0 on success. Each right-hand side and each solution is contiguous: `(batch, columns, n)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinearAlgebra {
    /// The dtype of matrices, right-hand sides and results.
    pub dtype: DType,
    /// Number of matrices.
    pub batch: u64,
    /// Rows and columns of each.
    pub n: u64,
    /// The computation.
    pub problem: LinalgProblem,
    /// The implementation in main memory.
    pub in_memory: InMemory<LinearAlgebra>,
}

impl LinearAlgebra {
    /// Right-hand sides of each matrix; 0 if there are none.
    pub fn columns(&self) -> u64 {
        match self.problem {
            LinalgProblem::Cholesky { .. } | LinalgProblem::Lu | LinalgProblem::Cofactors => 0,
            LinalgProblem::LuSolve { columns } | LinalgProblem::TriangularSolve { columns, .. } => columns,
        }
    }
}

impl LibraryOp for LinearAlgebra {
    fn name(&self) -> String {
        match self.problem {
            LinalgProblem::Cholesky { .. } => "cholesky".into(),
            LinalgProblem::Lu => "lu".into(),
            LinalgProblem::Cofactors => "cofactors".into(),
            LinalgProblem::LuSolve { .. } => "lu_solve".into(),
            LinalgProblem::TriangularSolve { .. } => "triangular_solve".into(),
        }
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    /// Batch, order, and right-hand sides if there are any.
    fn extents(&self) -> Vec<u64> {
        match self.problem {
            LinalgProblem::Cholesky { .. } | LinalgProblem::Lu | LinalgProblem::Cofactors => {
                vec![self.batch, self.n]
            }
            _ => vec![self.batch, self.n, self.columns()],
        }
    }

    fn operands(&self) -> Vec<Operand> {
        let (matrices, sides) = ([self.batch, self.n, self.n], [self.batch, self.columns(), self.n]);
        let a = read(self.dtype, &matrices);
        let factors = written(self.dtype, &matrices);
        let info = written(DType::I32, &[self.batch]);
        let [b, x] = [read(self.dtype, &sides), written(self.dtype, &sides)];
        match self.problem {
            LinalgProblem::Cholesky { .. } => vec![a, factors, info],
            LinalgProblem::Lu => vec![a, factors, written(DType::I32, &[self.batch, self.n]), info],
            LinalgProblem::Cofactors => vec![a, factors],
            LinalgProblem::LuSolve { .. } => vec![a, b, x, info],
            LinalgProblem::TriangularSolve { .. } => vec![a, b, x],
        }
    }

    fn verify(&self) -> Result<(), LibraryError> {
        let check = ParameterCheck { op: self };
        let known = matches!(self.dtype, DType::F32 | DType::F64);
        check.require(known, "dtype", || ("float32 or float64".into(), self.dtype))?;
        check.size("n", self.dtype, &[self.batch, self.n, self.n])?;
        check.size("columns", self.dtype, &[self.batch, self.columns(), self.n])?;
        check.size("batch", DType::I32, &[self.batch, self.n])
    }

    fn flops(&self) -> f64 {
        let (n, columns) = (self.n as f64, self.columns() as f64);
        let each = match self.problem {
            LinalgProblem::Cholesky { .. } => n * n * n / 3.0,
            LinalgProblem::Lu | LinalgProblem::LuSolve { .. } => 2.0 * n * n * (n / 3.0 + columns),
            LinalgProblem::Cofactors => 2.0 * n * n * n * (1.0 / 3.0 + 1.0),
            LinalgProblem::TriangularSolve { .. } => n * n * columns,
        };
        self.batch as f64 * each
    }

    fn definition(&self) -> Option<Result<Definition, DefinitionError>> {
        self.in_memory.0.map(|define| define(self))
    }

    fn has_definition(&self) -> bool {
        self.in_memory.0.is_some()
    }
}
