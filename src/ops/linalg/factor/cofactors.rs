//! Cofactors of square matrices, by an LU factorization with complete pivoting.

use super::{MatrixElement, Refused, filled, nan, widened};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::full_pivoting::factor as lu;
use faer::linalg::triangular_solve as triangular;
use faer::{MatMut, MatRef, Par};

/// The cofactors of square matrices of one order: the gradient of the determinant. Its memory is reused.
///
/// Of `P a Q = L U` with complete pivoting only the last pivot `d` is 0 if the rank is one less than the
/// order, and another one is 0 only if all cofactors are. With `p` the product of the pivots before `d`, `V`
/// the rows and columns before it, and `u` the column above it, the adjugate of `U` is `[[d p V^-1, -p V^-1
/// u], [0, p]]`, so that no pivot is divided by which may be 0. All is computed in float64.
pub(crate) struct CofactorWorkspace {
    order: usize,
    /// The unit lower and the upper factor, column-major.
    factors: Vec<f64>,
    /// The adjugate of the upper factor, row-major; then the cofactors of the product of the factors,
    /// transposed.
    adjugate: Vec<f64>,
    /// Row `i` and column `j` of the product of the factors are row `rows[i]` and column `columns[j]`.
    rows: Vec<usize>,
    columns: Vec<usize>,
    inverses: [Vec<usize>; 2],
    scratch: MemBuffer,
}

impl CofactorWorkspace {
    /// Memory for matrices of this order, which is at least 1.
    pub(crate) fn new(order: usize) -> Result<CofactorWorkspace, Refused> {
        let count = order.checked_mul(order).ok_or(usize::MAX)?;
        let request = lu::lu_in_place_scratch::<usize, f64>(order, order, Par::Seq, Default::default());
        Ok(CofactorWorkspace {
            order,
            factors: filled(0.0, count)?,
            adjugate: filled(0.0, count)?,
            rows: filled(0, order)?,
            columns: filled(0, order)?,
            inverses: [filled(0, order)?, filled(0, order)?],
            scratch: MemBuffer::try_new(request).map_err(|_| request.size_bytes())?,
        })
    }

    /// Replaces the row-major matrix `a` by its cofactors: all NaN if it has a NaN.
    pub(crate) fn replace<T: MatrixElement>(&mut self, a: &mut [T]) {
        let n = self.order;
        for (at, &element) in a.iter().enumerate() {
            self.factors[at % n * n + at / n] = widened(element);
        }
        if self.factors.iter().any(|element| element.is_nan()) {
            a.fill(nan());
            return;
        }
        let sign = self.factor();
        let pivots = (0..n - 1).map(|i| self.factors[i * (n + 1)]);
        // A pivot of 0 before the last, or what it leaves behind it.
        if pivots.clone().any(|pivot| pivot == 0.0 || pivot.is_nan()) {
            a.fill(T::default());
            return;
        }
        self.adjugate_of_upper(super::super::determinants::product(pivots, sign < 0.0));
        self.divide_by_lower();
        for (i, &row) in self.rows.iter().enumerate() {
            for (j, &column) in self.columns.iter().enumerate() {
                a[row * n + column] = T::from_f64_impl(self.adjugate[j * n + i]);
            }
        }
    }

    /// Factors the matrix; returns the sign of the permutations.
    fn factor(&mut self) -> f64 {
        let n = self.order;
        let matrix = MatMut::from_column_major_slice_mut(self.factors.as_mut_slice(), n, n);
        let [row_places, column_places] = &mut self.inverses;
        let stack = MemStack::new(&mut self.scratch);
        let (info, _, _) = lu::lu_in_place(
            matrix,
            &mut self.rows,
            row_places,
            &mut self.columns,
            column_places,
            Par::Seq,
            stack,
            Default::default(),
        );
        if info.transposition_count % 2 == 1 { -1.0 } else { 1.0 }
    }

    /// The adjugate of the upper factor, where `p` is the product of the pivots before the last.
    fn adjugate_of_upper(&mut self, p: f64) {
        let n = self.order;
        let last = self.factors[n * n - 1];
        self.adjugate.fill(0.0);
        for i in 0..n - 1 {
            self.adjugate[i * n + i] = last * p;
            self.adjugate[i * n + n - 1] = -p * self.factors[(n - 1) * n + i];
        }
        self.adjugate[n * n - 1] = p;
        let factors = MatRef::from_column_major_slice(self.factors.as_slice(), n, n);
        let adjugate = MatMut::from_row_major_slice_mut(self.adjugate.as_mut_slice(), n, n);
        let (before, sides) = (factors.submatrix(0, 0, n - 1, n - 1), adjugate.submatrix_mut(0, 0, n - 1, n));
        triangular::solve_upper_triangular_in_place(before, sides, Par::Seq);
    }

    /// Multiplies the adjugate of the upper factor by that of the lower factor, which is its inverse.
    fn divide_by_lower(&mut self) {
        let n = self.order;
        let factors = MatRef::from_column_major_slice(self.factors.as_slice(), n, n);
        let adjugate = MatMut::from_row_major_slice_mut(self.adjugate.as_mut_slice(), n, n);
        // x l = w, as l^T x^T = w^T.
        triangular::solve_unit_upper_triangular_in_place(
            factors.transpose(),
            adjugate.transpose_mut(),
            Par::Seq,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The determinant by expansion along the first row.
    fn determinant(a: &[f64], n: usize) -> f64 {
        if n == 0 {
            return 1.0;
        }
        (0..n)
            .map(|j| if j % 2 == 0 { 1.0 } else { -1.0 } * a[j] * determinant(&minor(a, n, 0, j), n - 1))
            .sum()
    }

    /// The matrix without a row and a column.
    fn minor(a: &[f64], n: usize, row: usize, column: usize) -> Vec<f64> {
        let stays = |at: &usize| at / n != row && at % n != column;
        (0..n * n).filter(stays).map(|at| a[at]).collect()
    }

    /// A matrix of integers of this rank, without a pattern.
    fn matrix(n: usize, rank: usize) -> Vec<f64> {
        let factor =
            |i: usize, j: usize, seed: usize| ((i * 31 + j * 17 + seed * 7) * 7919 % 13) as f64 - 6.0;
        let element = |at: usize| (0..rank).map(|k| factor(at / n, k, 1) * factor(k, at % n, 2)).sum();
        (0..n * n).map(element).collect()
    }

    #[test]
    fn cofactors_are_determinants_of_minors_at_any_rank() {
        for n in 1..7 {
            let mut cofactors = CofactorWorkspace::new(n).unwrap();
            for rank in 0..=n {
                let a = matrix(n, rank);
                let mut got = a.clone();
                cofactors.replace(&mut got);
                let scale = a.iter().fold(1.0, |most: f64, e| most.max(e.abs())).powi(n as i32 - 1);
                for (at, got) in got.iter().enumerate() {
                    let (i, j) = (at / n, at % n);
                    let sign = if (i + j) % 2 == 0 { 1.0 } else { -1.0 };
                    let want = sign * determinant(&minor(&a, n, i, j), n - 1);
                    assert!((got - want).abs() <= 1e-12 * scale, "{n}, {rank}: {got}, not {want}");
                }
            }
        }
    }

    #[test]
    fn large_elements_and_nan() {
        let mut cofactors = CofactorWorkspace::new(3).unwrap();
        let mut a: [f64; 9] = [1e140, 0., 0., 0., 1e140, 0., 0., 0., 1e-160];
        cofactors.replace(&mut a);
        assert!((a[0] / 1e-20 - 1.0).abs() < 1e-12 && (a[8] / 1e280 - 1.0).abs() < 1e-12, "{a:?}");
        let mut nan = [1f32, f32::NAN, 2., 3.];
        CofactorWorkspace::new(2).unwrap().replace(&mut nan);
        assert!(nan.iter().all(|e| e.is_nan()));
    }
}
