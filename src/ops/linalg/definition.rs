//! The library ops of linear algebra in main memory, by [`factor`](super::factor).

use super::factor::{self, Llt, Lu, Real, Refused, Triangle, filled, nan};
use crate::dtype::DType;
use crate::kernels::library::{Definition, LibraryOp, LinearAlgebra, Problem};
use bytemuck::Pod;

/// What `info` is for every matrix if memory is refused.
const REFUSED: i32 = -1;

/// For [`InMemory`](crate::kernels::library::InMemory).
pub(super) fn define(call: &LinearAlgebra) -> Definition {
    match call.dtype {
        DType::F32 => define_in::<f32>(*call),
        _ => define_in::<f64>(*call),
    }
}

fn define_in<T: Real + Pod>(call: LinearAlgebra) -> Definition {
    Box::new(move |read: &[&[u8]], written: &mut [&mut [u8]]| {
        if call.operands().iter().any(|operand| operand.shape.contains(&0)) {
            written.iter_mut().for_each(|bytes| bytes.fill(0));
            return;
        }
        let matrices = Matrices::<T>::new(&call);
        let done = match (call.problem, read, &mut *written) {
            (Problem::Cholesky { upper }, [a], [factors, info]) => matrices.cholesky(upper, a, factors, info),
            (Problem::Lu, [a], [factors, rows, info]) => matrices.lu(a, factors, rows, info),
            (Problem::LuSolve { .. }, [a, b], [x, info]) => matrices.solve(a, b, x, info),
            (Problem::TriangularSolve { lower, transposed, unit_diagonal, .. }, [a, b], [x]) => {
                let triangle = Triangle { lower, transposed, unit_diagonal, sides_are_rows: true };
                matrices.solve_triangular(triangle, a, b, x)
            }
            // Devices pass the operands of the op.
            _ => Ok(()),
        };
        if done.is_err() {
            matrices.refuse(written);
        }
    })
}

/// The sizes of a call, none of which is 0.
struct Matrices<T> {
    count: usize,
    n: usize,
    columns: usize,
    has_info: bool,
    zero: T,
}

impl<T: Real + Pod> Matrices<T> {
    fn new(call: &LinearAlgebra) -> Matrices<T> {
        // What does not fit has no memory either.
        let [count, n, columns] =
            [call.batch, call.n, call.columns()].map(|extent| usize::try_from(extent).unwrap_or(0));
        let has_info = !matches!(call.problem, Problem::TriangularSolve { .. });
        Matrices { count, n, columns, has_info, zero: T::default() }
    }

    /// Bytes of so many elements.
    fn bytes(&self, elements: usize) -> usize {
        elements.saturating_mul(size_of::<T>())
    }

    fn cholesky(&self, upper: bool, a: &[u8], factors: &mut [u8], info: &mut [u8]) -> Result<(), Refused> {
        let mut matrix = filled(self.zero, self.n * self.n)?;
        let mut llt = Llt::new::<T>(self.n)?;
        let size = self.bytes(matrix.len());
        let factors = a.chunks_exact(size).zip(factors.chunks_exact_mut(size));
        for ((a, factor), info) in factors.zip(info.chunks_exact_mut(4)).take(self.count) {
            load(&mut matrix, a);
            put(info, llt.factor(&mut matrix, upper).err().unwrap_or(0));
            store(factor, &matrix);
        }
        Ok(())
    }

    fn lu(&self, a: &[u8], factors: &mut [u8], rows: &mut [u8], info: &mut [u8]) -> Result<(), Refused> {
        let mut matrix = filled(self.zero, self.n * self.n)?;
        let mut lu = Lu::<T>::new(self.n)?;
        let size = self.bytes(matrix.len());
        let factors = a.chunks_exact(size).zip(factors.chunks_exact_mut(size));
        let results = rows.chunks_exact_mut(4 * self.n).zip(info.chunks_exact_mut(4));
        for ((a, factor), (rows, info)) in factors.zip(results).take(self.count) {
            load(&mut matrix, a);
            lu.factor(&matrix);
            put(info, lu.zero_pivot().map_or(0, |at| at + 1));
            let diagonal = factor.chunks_exact_mut(size_of::<T>()).step_by(self.n + 1);
            lu.diagonal().zip(diagonal).for_each(|(pivot, place)| store(place, &[pivot]));
            // Only the number of exchanges counts; a permutation of one row is even.
            rows.chunks_exact_mut(4).enumerate().for_each(|(at, row)| put(row, at + 1));
            if lu.is_odd()
                && let Some(first) = rows.get_mut(..4)
            {
                put(first, 2);
            }
        }
        Ok(())
    }

    fn solve(&self, a: &[u8], b: &[u8], x: &mut [u8], info: &mut [u8]) -> Result<(), Refused> {
        let mut matrix = filled(self.zero, self.n * self.n)?;
        let mut sides = filled(self.zero, self.columns * self.n)?;
        let mut solved = filled(self.zero, sides.len())?;
        let mut lu = Lu::<T>::new(self.n)?;
        let (size, wide) = (self.bytes(matrix.len()), self.bytes(sides.len()));
        let systems = a.chunks_exact(size).zip(b.chunks_exact(wide));
        let results = x.chunks_exact_mut(wide).zip(info.chunks_exact_mut(4));
        for ((a, b), (x, info)) in systems.zip(results).take(self.count) {
            load(&mut matrix, a);
            load(&mut sides, b);
            lu.factor(&matrix);
            let zero = lu.zero_pivot();
            put(info, zero.map_or(0, |at| at + 1));
            match zero {
                None => lu.solve_columns(&sides, &mut solved),
                Some(_) => solved.fill(nan()),
            }
            store(x, &solved);
        }
        Ok(())
    }

    fn solve_triangular(&self, triangle: Triangle, a: &[u8], b: &[u8], x: &mut [u8]) -> Result<(), Refused> {
        let mut matrix = filled(self.zero, self.n * self.n)?;
        let mut sides = filled(self.zero, self.columns * self.n)?;
        let (size, wide) = (self.bytes(matrix.len()), self.bytes(sides.len()));
        let systems = a.chunks_exact(size).zip(b.chunks_exact(wide));
        for ((a, b), x) in systems.zip(x.chunks_exact_mut(wide)).take(self.count) {
            load(&mut matrix, a);
            load(&mut sides, b);
            if factor::solve_triangular(self.n, &matrix, &mut sides, triangle).is_err() {
                sides.fill(nan());
            }
            store(x, &sides);
        }
        Ok(())
    }

    /// Results that say that there was no memory: an `info` of [`REFUSED`], and NaN.
    fn refuse(&self, written: &mut [&mut [u8]]) {
        let results = written.len().saturating_sub(usize::from(self.has_info));
        let (results, info) = written.split_at_mut(results);
        for bytes in info {
            bytes.chunks_exact_mut(4).for_each(|info| info.copy_from_slice(&REFUSED.to_ne_bytes()));
        }
        if let Some(bytes) = results.first_mut() {
            bytes.chunks_exact_mut(size_of::<T>()).for_each(|place| store(place, &[nan::<T>()]));
        }
    }
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
