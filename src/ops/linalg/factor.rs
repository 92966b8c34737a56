//! Dense factorizations and triangular solves on slices of row-major matrices. All use of `faer` is here.
//!
//! Every function runs on the calling thread. Nothing here knows of Values or graphs.

mod cofactors;

pub(crate) use cofactors::CofactorWorkspace;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor as llt;
use faer::linalg::lu::partial_pivoting::factor as lu;
use faer::linalg::triangular_solve as triangular;
use faer::reborrow::ReborrowMut;
use faer::traits::RealField;
use faer::{MatMut, MatRef, Par};

/// An element type of matrices: f32 or f64.
pub(crate) trait MatrixElement: RealField + Copy + Default + Send + Into<f64> {}
impl MatrixElement for f32 {}
impl MatrixElement for f64 {}

/// The number of bytes of an allocation that the system refused.
pub(crate) type Refused = usize;

/// Cholesky factorization of symmetric positive definite matrices of one order. Its memory is reused.
pub(crate) struct Llt {
    order: usize,
    scratch: MemBuffer,
}

impl Llt {
    /// Scratch memory for matrices of this order, which is at least 1.
    pub(crate) fn new<T: MatrixElement>(order: usize) -> Result<Llt, Refused> {
        let request = llt::cholesky_in_place_scratch::<T>(order, Par::Seq, Default::default());
        let scratch = MemBuffer::try_new(request).map_err(|_| request.size_bytes())?;
        Ok(Llt { order, scratch })
    }

    /// Replaces the row-major matrix `a` by its lower factor, for which only the lower triangle is read, or
    /// by its upper factor, for which only the upper triangle is read. The other triangle becomes 0.
    ///
    /// # Errors
    /// The order of the first leading minor that is not positive; `a` then holds arbitrary numbers.
    pub(crate) fn factor<T: MatrixElement>(&mut self, a: &mut [T], upper: bool) -> Result<(), usize> {
        let n = self.order;
        // Factored as the lower triangle of a column-major matrix, for which there are vectorized kernels.
        if !upper {
            below_diagonal(n).for_each(|(i, j)| a[j * n + i] = a[i * n + j]);
        }
        let matrix = MatMut::from_column_major_slice_mut(&mut *a, n, n);
        let stack = MemStack::new(&mut self.scratch);
        llt::cholesky_in_place(matrix, Default::default(), Par::Seq, stack, Default::default()).map_err(
            |error| match error {
                llt::LltError::NonPositivePivot { index } => index + 1,
            },
        )?;
        for (i, j) in below_diagonal(n) {
            if upper {
                a[i * n + j] = T::default();
            } else {
                a[i * n + j] = a[j * n + i];
                a[j * n + i] = T::default();
            }
        }
        Ok(())
    }
}

/// Row and column of each element below the diagonal of a square matrix.
fn below_diagonal(order: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..order).flat_map(|i| (0..i).map(move |j| (i, j)))
}

/// LU factorization with partial pivoting of square matrices of one order. Its memory is reused.
pub(crate) struct Lu<T> {
    order: usize,
    /// The unit lower and the upper factor, column-major.
    factors: Vec<T>,
    /// Row `i` of the product of the factors is row `rows[i]` of the matrix.
    rows: Vec<usize>,
    /// The inverse permutation.
    places: Vec<usize>,
    scratch: MemBuffer,
    /// Whether the permutation of the rows is odd.
    odd: bool,
    /// Whether the matrix has an element that is NaN.
    has_nan: bool,
}

impl<T: MatrixElement> Lu<T> {
    /// Memory for the factors of matrices of this order, which is at least 1.
    pub(crate) fn new(order: usize) -> Result<Lu<T>, Refused> {
        let count = order.checked_mul(order).ok_or(usize::MAX)?;
        let request = lu::lu_in_place_scratch::<usize, T>(order, order, Par::Seq, Default::default());
        Ok(Lu {
            order,
            factors: filled(T::default(), count)?,
            rows: filled(0, order)?,
            places: filled(0, order)?,
            scratch: MemBuffer::try_new(request).map_err(|_| request.size_bytes())?,
            odd: false,
            has_nan: false,
        })
    }

    /// Factors the row-major matrix `a`.
    pub(crate) fn factor(&mut self, a: &[T]) {
        let n = self.order;
        self.has_nan = false;
        for (at, &element) in a.iter().enumerate() {
            self.has_nan |= widened(element).is_nan();
            self.factors[at % n * n + at / n] = element;
        }
        let matrix = MatMut::from_column_major_slice_mut(self.factors.as_mut_slice(), n, n);
        let (rows, places) = (self.rows.as_mut_slice(), self.places.as_mut_slice());
        let stack = MemStack::new(&mut self.scratch);
        let (info, _) = lu::lu_in_place(matrix, rows, places, Par::Seq, stack, Default::default());
        self.odd = info.transposition_count % 2 == 1;
    }

    /// The diagonal of the upper factor.
    pub(crate) fn diagonal(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.order).map(|i| self.factors[i * (self.order + 1)])
    }

    /// The same in float64.
    pub(crate) fn pivots(&self) -> impl Iterator<Item = f64> + '_ {
        self.diagonal().map(widened)
    }

    /// Whether the determinant is the negative product of the pivots.
    pub(crate) fn is_odd(&self) -> bool {
        self.odd
    }

    /// Whether the matrix has a NaN. Then it is not singular, and all results are NaN.
    pub(crate) fn has_nan(&self) -> bool {
        self.has_nan
    }

    /// The position of the first pivot that is 0, if the matrix is singular.
    pub(crate) fn zero_pivot(&self) -> Option<usize> {
        // Pivots after a pivot of 0 are NaN.
        let first = self.pivots().enumerate().find(|(_, pivot)| *pivot == 0.0 || pivot.is_nan());
        first.filter(|(_, pivot)| *pivot == 0.0 && !self.has_nan).map(|(at, _)| at)
    }

    /// Solves the factored system for the row-major right-hand sides `b`, of at least one column, into `x`.
    pub(crate) fn solve(&self, b: &[T], x: &mut [T]) {
        if self.has_nan {
            x.fill(nan());
            return;
        }
        let n = self.order;
        let columns = x.len() / n;
        for (row, &from) in x.chunks_exact_mut(columns).zip(&self.rows) {
            row.copy_from_slice(&b[from * columns..(from + 1) * columns]);
        }
        let factors = MatRef::from_column_major_slice(self.factors.as_slice(), n, n);
        let mut x = MatMut::from_row_major_slice_mut(x, n, columns);
        triangular::solve_unit_lower_triangular_in_place(factors, x.rb_mut(), Par::Seq);
        triangular::solve_upper_triangular_in_place(factors, x, Par::Seq);
    }

    /// The same for contiguous right-hand sides and solutions: the columns of a column-major matrix.
    pub(crate) fn solve_columns(&self, b: &[T], x: &mut [T]) {
        if self.has_nan {
            x.fill(nan());
            return;
        }
        let n = self.order;
        let columns = x.len() / n;
        for (x, b) in x.chunks_exact_mut(n).zip(b.chunks_exact(n)) {
            x.iter_mut().zip(&self.rows).for_each(|(x, &from)| *x = b[from]);
        }
        let factors = MatRef::from_column_major_slice(self.factors.as_slice(), n, n);
        let mut x = MatMut::from_column_major_slice_mut(x, n, columns);
        triangular::solve_unit_lower_triangular_in_place(factors, x.rb_mut(), Par::Seq);
        triangular::solve_upper_triangular_in_place(factors, x, Par::Seq);
    }
}

/// Which triangle of a matrix is a system's.
#[derive(Clone, Copy)]
pub(crate) struct Triangle {
    /// The lower one; else the upper one.
    pub(crate) lower: bool,
    /// The system is its transpose.
    pub(crate) transposed: bool,
    /// Its diagonal is not read, and taken to be 1.
    pub(crate) unit_diagonal: bool,
    /// Right-hand sides are contiguous; otherwise they are the columns of a row-major matrix.
    pub(crate) sides_are_rows: bool,
}

/// Solves a triangular system of this order, at least 1. `a` is row-major. `x` holds the right-hand sides, at
/// least one, and then the solutions.
///
/// # Errors
/// The position of the first element of the diagonal that is 0; `x` is then unchanged.
pub(crate) fn solve_triangular<T: MatrixElement>(
    order: usize,
    a: &[T],
    x: &mut [T],
    triangle: Triangle,
) -> Result<(), usize> {
    let Triangle { lower, transposed, unit_diagonal, sides_are_rows } = triangle;
    let zero = (0..order).find(|i| a[i * (order + 1)] == T::default());
    if let Some(at) = zero.filter(|_| !unit_diagonal) {
        return Err(at);
    }
    let columns = x.len() / order;
    let x = if sides_are_rows {
        MatMut::from_column_major_slice_mut(x, order, columns)
    } else {
        MatMut::from_row_major_slice_mut(x, order, columns)
    };
    let a = MatRef::from_row_major_slice(a, order, order);
    let a = if transposed { a.transpose() } else { a };
    match (lower != transposed, unit_diagonal) {
        (true, false) => triangular::solve_lower_triangular_in_place(a, x, Par::Seq),
        (true, true) => triangular::solve_unit_lower_triangular_in_place(a, x, Par::Seq),
        (false, false) => triangular::solve_upper_triangular_in_place(a, x, Par::Seq),
        (false, true) => triangular::solve_unit_upper_triangular_in_place(a, x, Par::Seq),
    }
    Ok(())
}

/// NaN.
pub(crate) fn nan<T: MatrixElement>() -> T {
    T::nan_impl()
}

fn widened<T: MatrixElement>(element: T) -> f64 {
    element.into()
}

pub(crate) fn filled<E: Clone>(element: E, count: usize) -> Result<Vec<E>, Refused> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| count.saturating_mul(size_of::<E>()))?;
    list.resize(count, element);
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    /// A matrix without a pattern, with a dominant diagonal.
    fn matrix(order: usize) -> Vec<f64> {
        let element = |at: usize| {
            let diagonal = if at / order == at % order { order as f64 } else { 0.0 };
            (at as f64 * 1.7 + 0.3).sin() + diagonal
        };
        (0..order * order).map(element).collect()
    }

    fn product(a: &[f64], b: &[f64], order: usize) -> Vec<f64> {
        let columns = b.len() / order;
        let element = |at: usize| {
            let (i, j) = (at / columns, at % columns);
            (0..order).map(|k| a[i * order + k] * b[k * columns + j]).sum()
        };
        (0..b.len()).map(element).collect()
    }

    fn transposed(a: &[f64], order: usize) -> Vec<f64> {
        (0..a.len()).map(|at| a[at % order * order + at / order]).collect()
    }

    fn assert_near(a: &[f64], b: &[f64], what: &str) {
        assert_eq!(a.len(), b.len(), "{what}");
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= 1e-11 * (1.0 + b.abs()), "{what}: {a} {b}");
        }
    }

    #[test]
    fn factors_multiply_to_the_matrix() {
        for n in [1, 2, 3, 17, 70, 150] {
            let m = matrix(n);
            let a = product(&m, &transposed(&m, n), n);
            let mut llt = Llt::new::<f64>(n).unwrap();
            for upper in [false, true] {
                // The other triangle is not read.
                let mut factor = a.clone();
                below_diagonal(n).for_each(|(i, j)| {
                    factor[if upper { i * n + j } else { j * n + i }] = f64::NAN;
                });
                llt.factor(&mut factor, upper).unwrap();
                let other = transposed(&factor, n);
                let (l, u) = if upper { (other, factor) } else { (factor, other) };
                assert!(below_diagonal(n).all(|(i, j)| l[j * n + i] == 0.0), "{n}");
                assert_near(&product(&l, &u, n), &a, "cholesky");
            }
        }
    }

    #[test]
    fn systems_are_solved() {
        for n in [1, 2, 5, 17, 70, 150] {
            for columns in [1, 3, 80] {
                let a = matrix(n);
                let x: Vec<f64> = (0..n * columns).map(|i| (i as f64 * 0.7).cos()).collect();
                let mut lu = Lu::new(n).unwrap();
                // The dominant diagonal is not at the diagonal, so rows change places.
                let rolled: Vec<f64> = a[n..].iter().chain(&a[..n]).copied().collect();
                lu.factor(&rolled);
                assert_eq!(lu.zero_pivot(), None);
                let mut solved = vec![0.0; n * columns];
                lu.solve(&product(&rolled, &x, n), &mut solved);
                assert_near(&solved, &x, "lu");
                let sides_of = |b: &[f64]| -> Vec<f64> {
                    (0..columns).flat_map(|j| b[j..].iter().step_by(columns).copied()).collect()
                };
                lu.solve_columns(&sides_of(&product(&rolled, &x, n)), &mut solved);
                assert_near(&solved, &sides_of(&x), "lu, by sides");
                for bits in 0..8u32 {
                    let bit = |bit: u32| bits & bit != 0;
                    let triangle = Triangle {
                        lower: bit(1),
                        transposed: bit(2),
                        unit_diagonal: bit(4),
                        sides_are_rows: false,
                    };
                    let part = |at: usize| {
                        let (i, j) = (at / n, at % n);
                        let side = if triangle.lower { i.cmp(&j) } else { j.cmp(&i) };
                        match side {
                            Ordering::Equal if triangle.unit_diagonal => 1.0,
                            Ordering::Equal => a[at],
                            // Small enough for a unit diagonal.
                            Ordering::Greater => a[at] / n as f64,
                            Ordering::Less => 0.0,
                        }
                    };
                    let t: Vec<f64> = (0..n * n).map(part).collect();
                    let system = if triangle.transposed { transposed(&t, n) } else { t.clone() };
                    let mut solved = product(&system, &x, n);
                    solve_triangular(n, &t, &mut solved, triangle).unwrap();
                    assert_near(&solved, &x, "triangular");
                    let mut sides = sides_of(&product(&system, &x, n));
                    let triangle = Triangle { sides_are_rows: true, ..triangle };
                    solve_triangular(n, &t, &mut sides, triangle).unwrap();
                    assert_near(&sides, &sides_of(&x), "triangular, by sides");
                }
            }
        }
    }

    #[test]
    fn what_is_singular_is_found() {
        let mut llt = Llt::new::<f32>(3).unwrap();
        let mut a = [4f32, 0., 0., 0., 1., 2., 0., 2., 1.];
        assert_eq!(llt.factor(&mut a, false), Err(3));
        assert_eq!(llt.factor(&mut [f32::NAN; 9], false), Err(1));
        let mut lu = Lu::new(2).unwrap();
        lu.factor(&[1f64, 2., 2., 4.]);
        assert_eq!(lu.zero_pivot(), Some(1));
        lu.factor(&[0f64, 1., f64::NAN, 1.]);
        assert_eq!(lu.zero_pivot(), None);
        let mut x = [0.0; 2];
        lu.solve(&[1.0, 1.0], &mut x);
        assert!(x.iter().all(|x| x.is_nan()));
        lu.factor(&[0f64, 1., 1., 0.]);
        assert!(lu.is_odd() && lu.pivots().product::<f64>() == 1.0);
        let upper = Triangle { lower: false, transposed: false, unit_diagonal: false, sides_are_rows: false };
        assert_eq!(solve_triangular(2, &[1f64, 2., 0., 0.], &mut x, upper), Err(1));
        let unit = Triangle { unit_diagonal: true, ..upper };
        x = [5.0, 2.0];
        solve_triangular(2, &[0f64, 2., 0., 0.], &mut x, unit).unwrap();
        assert_eq!(x, [1.0, 2.0]);
    }
}
