//! The library ops of linear algebra in main memory, by [`factor`](super::factor).

use super::factor::{self, CofactorWorkspace, Llt, Lu, MatrixElement, Refused, Triangle, filled, nan};
use bytemuck::Pod;
use std::slice::{ChunksExact, ChunksExactMut};
use std::sync::{Mutex, PoisonError};
use workalike_kernels::DType;
use workalike_kernels::library::{Definition, DefinitionError, LibraryOp, LinalgProblem, LinearAlgebra};

/// For [`InMemory`](workalike_kernels::library::InMemory).
///
/// # Errors
/// If the system refuses memory for a matrix and its factors.
pub(super) fn define(call: &LinearAlgebra) -> Result<Definition, DefinitionError> {
    match call.dtype {
        DType::F32 => define_in::<f32>(call),
        _ => define_in::<f64>(call),
    }
}

fn define_in<T: MatrixElement + Pod>(call: &LinearAlgebra) -> Result<Definition, DefinitionError> {
    if call.operands().iter().any(|operand| operand.shape.contains(&0)) {
        return Ok(Box::new(|_: &[&[u8]], written: &mut [&mut [u8]]| {
            written.iter_mut().for_each(|bytes| bytes.fill(0));
            Ok(())
        }));
    }
    let refused = |bytes: Refused| DefinitionError::OutOfMemory { bytes: bytes as u64 };
    let workspace = Mutex::new(MatrixWorkspace::<T>::new(call).map_err(refused)?);
    Ok(Box::new(move |read: &[&[u8]], written: &mut [&mut [u8]]| {
        // Every call writes what it then reads, so what a panic left does not matter.
        workspace.lock().unwrap_or_else(PoisonError::into_inner).run(read, written)
    }))
}

/// A matrix, and what its problem takes besides. No extent of the call is 0.
struct MatrixWorkspace<T> {
    /// Matrices of the call.
    count: usize,
    /// Rows and columns of each.
    n: usize,
    matrix: Vec<T>,
    work: SolverWork<T>,
}

/// The workspace of each [`LinalgProblem`]; `sides` are the right-hand sides of a matrix.
enum SolverWork<T> {
    Cholesky { llt: Llt, upper: bool },
    Lu(Lu<T>),
    LuSolve { lu: Lu<T>, sides: Vec<T>, solved: Vec<T> },
    TriangularSolve { triangle: Triangle, sides: Vec<T> },
    Cofactors(CofactorWorkspace),
}

impl<T: MatrixElement + Pod> MatrixWorkspace<T> {
    fn new(call: &LinearAlgebra) -> Result<MatrixWorkspace<T>, Refused> {
        // Extents that do not fit have no memory either.
        let extent = |extent: u64| usize::try_from(extent).map_err(|_| usize::MAX);
        let (count, n, columns) = (extent(call.batch)?, extent(call.n)?, extent(call.columns())?);
        let matrix = filled(T::default(), n.saturating_mul(n))?;
        let sides = || filled(T::default(), columns.saturating_mul(n));
        let work = match call.problem {
            LinalgProblem::Cholesky { upper } => SolverWork::Cholesky { llt: Llt::new::<T>(n)?, upper },
            LinalgProblem::Lu => SolverWork::Lu(Lu::new(n)?),
            LinalgProblem::Cofactors => SolverWork::Cofactors(CofactorWorkspace::new(n)?),
            LinalgProblem::LuSolve { .. } => {
                SolverWork::LuSolve { lu: Lu::new(n)?, sides: sides()?, solved: sides()? }
            }
            LinalgProblem::TriangularSolve { lower, transposed, unit_diagonal, .. } => {
                let triangle = Triangle { lower, transposed, unit_diagonal, sides_are_rows: true };
                SolverWork::TriangularSolve { triangle, sides: sides()? }
            }
        };
        Ok(MatrixWorkspace { count, n, matrix, work })
    }

    /// `read` and `written` are the operands of the call.
    ///
    /// # Errors
    /// If there are other slices than the problem has operands.
    fn run(&mut self, read: &[&[u8]], written: &mut [&mut [u8]]) -> Result<(), DefinitionError> {
        let (given, results) = (read.len(), written.len());
        match (&mut self.work, read, written) {
            (SolverWork::Cholesky { llt, upper }, [a], [factors, info]) => {
                let matrices = self.matrix.len();
                let each = parts::<T>(a, matrices).zip(parts_mut::<T>(factors, matrices)).zip(numbers(info));
                for ((a, factor), info) in each.take(self.count) {
                    load(&mut self.matrix, a);
                    put(info, llt.factor(&mut self.matrix, *upper).err().unwrap_or(0));
                    store(factor, &self.matrix);
                }
            }
            (SolverWork::Lu(lu), [a], [factors, rows, info]) => {
                let matrices = self.matrix.len();
                let factors = parts::<T>(a, matrices).zip(parts_mut::<T>(factors, matrices));
                let each = factors.zip(rows.chunks_exact_mut(4 * self.n).zip(numbers(info)));
                each.take(self.count).for_each(|((a, factor), (rows, info))| {
                    load(&mut self.matrix, a);
                    lu.factor(&self.matrix);
                    store_lu(lu, self.n, factor, rows, info);
                });
            }
            (SolverWork::Cofactors(of), [a], [results]) => store_cofactors(of, &mut self.matrix, a, results),
            (SolverWork::LuSolve { lu, sides, solved }, [a, b], [x, info]) => {
                let systems = parts::<T>(a, self.matrix.len()).zip(parts::<T>(b, sides.len()));
                let each = systems.zip(parts_mut::<T>(x, solved.len()).zip(numbers(info)));
                for ((a, b), (x, info)) in each.take(self.count) {
                    load(&mut self.matrix, a);
                    load(sides, b);
                    lu.factor(&self.matrix);
                    let zero = lu.zero_pivot();
                    put(info, zero.map_or(0, |at| at + 1));
                    match zero {
                        None => lu.solve_columns(sides, solved),
                        Some(_) => solved.fill(nan()),
                    }
                    store(x, solved);
                }
            }
            (SolverWork::TriangularSolve { triangle, sides }, [a, b], [x]) => {
                let systems = parts::<T>(a, self.matrix.len()).zip(parts::<T>(b, sides.len()));
                for ((a, b), x) in systems.zip(parts_mut::<T>(x, sides.len())).take(self.count) {
                    load(&mut self.matrix, a);
                    load(sides, b);
                    if factor::solve_triangular(self.n, &self.matrix, sides, *triangle).is_err() {
                        sides.fill(nan());
                    }
                    store(x, sides);
                }
            }
            (work, ..) => {
                let (read, written) = work.operands();
                let slices =
                    |read, written| format!("{read} slices that are read and {written} that are written");
                let (expected, found) = (slices(read, written), slices(given, results));
                return Err(DefinitionError::Operands { expected, found });
            }
        }
        Ok(())
    }
}

impl<T> SolverWork<T> {
    /// The numbers of operands read and written.
    fn operands(&self) -> (usize, usize) {
        match self {
            SolverWork::Cholesky { .. } => (1, 2),
            SolverWork::Lu(_) => (1, 3),
            SolverWork::Cofactors(_) => (1, 1),
            SolverWork::LuSolve { .. } => (2, 2),
            SolverWork::TriangularSolve { .. } => (2, 1),
        }
    }
}

/// Stores the cofactors of matrices that are loaded one after another into `matrix`.
fn store_cofactors<T: MatrixElement + Pod>(
    of: &mut CofactorWorkspace,
    matrix: &mut [T],
    a: &[u8],
    results: &mut [u8],
) {
    for (a, result) in parts::<T>(a, matrix.len()).zip(parts_mut::<T>(results, matrix.len())) {
        load(matrix, a);
        of.replace(matrix);
        store(result, matrix);
    }
}

/// Stores the pivots on the diagonal of `factor`, and `rows` that say whether the permutation is odd.
fn store_lu<T: MatrixElement + Pod>(
    lu: &Lu<T>,
    n: usize,
    factor: &mut [u8],
    rows: &mut [u8],
    info: &mut [u8],
) {
    put(info, lu.zero_pivot().map_or(0, |at| at + 1));
    let diagonal = factor.chunks_exact_mut(size_of::<T>()).step_by(n + 1);
    lu.diagonal().zip(diagonal).for_each(|(pivot, place)| store(place, &[pivot]));
    // Only the number of exchanges counts; a permutation of one row is even.
    rows.chunks_exact_mut(4).enumerate().for_each(|(at, row)| put(row, at + 1));
    if lu.is_odd()
        && let Some(first) = rows.get_mut(..4)
    {
        put(first, 2);
    }
}

/// Chunks of `elements` (at least one) elements of type `T`.
fn parts<T>(bytes: &[u8], elements: usize) -> ChunksExact<'_, u8> {
    bytes.chunks_exact(elements * size_of::<T>())
}

fn parts_mut<T>(bytes: &mut [u8], elements: usize) -> ChunksExactMut<'_, u8> {
    bytes.chunks_exact_mut(elements * size_of::<T>())
}

/// The places of int32s.
fn numbers(bytes: &mut [u8]) -> ChunksExactMut<'_, u8> {
    bytes.chunks_exact_mut(size_of::<i32>())
}

fn load<T: Pod>(elements: &mut [T], bytes: &[u8]) {
    bytemuck::cast_slice_mut::<T, u8>(elements).copy_from_slice(bytes);
}

fn store<T: Pod>(bytes: &mut [u8], elements: &[T]) {
    bytes.copy_from_slice(bytemuck::cast_slice::<T, u8>(elements));
}

/// Stores an int32.
fn put(bytes: &mut [u8], number: usize) {
    bytes.copy_from_slice(&i32::try_from(number).unwrap_or(i32::MAX).to_ne_bytes());
}
