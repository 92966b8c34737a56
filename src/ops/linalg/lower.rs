//! Linear algebra by library ops, where the device has them. Nests around them prepare the right-hand sides,
//! finish the results, and report matrices that are singular or not positive definite.

use super::decompositions::Cholesky;
use super::definition::define;
use super::solvers::SolveTriangular;
use crate::graph::Node;
use crate::lower::{At, Lowered, Lowering, NestBuilder, PhaseBuilder, Refusal, View};
use workalike_kernels::library::{InMemory, LinalgProblem, LinearAlgebra};
use workalike_kernels::nest::{Fold, PhaseKind, Value};
use workalike_kernels::{DType, ops as scalar};

/// Sums of magnitudes of logarithms up to which no product of some of the pivots leaves the range of float64,
/// whatever the order: `exp(700)` is 1e304.
const LARGEST_LOGARITHM: f64 = 700.0;

/// Systems of equations as a library op takes them.
struct Systems {
    a: View,
    /// `(batch, columns, n)`.
    b: View,
    batch: u64,
    n: u64,
    columns: u64,
}

impl Lowering<'_> {
    /// The factors, with zeros in the other triangle.
    pub(crate) fn cholesky(&mut self, op: &Cholesky, node: &Node, inputs: &[View]) -> Lowered {
        let (dtype, shape) = (self.dtype(node.outputs[0]), self.shape(node.outputs[0]));
        if shape.contains(&0) {
            return Ok(vec![self.nothing(dtype, &shape)]);
        }
        let (a, batch, n) = self.matrices(&inputs[0]);
        let call = linear_algebra(dtype, [batch, n], LinalgProblem::Cholesky { upper: op.upper });
        let [factors, info] = self.linear_algebra(call, &[&a], &[&[batch, n, n], &[batch]])?;
        if !op.nan {
            self.report_indefinite(&factors, &info);
        }
        let target = self.temp(dtype, &shape);
        let mut nest = NestBuilder::new("triangle", &[batch, n, n], &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let value = point.load(&factors, &At::axes(3));
        let (row, column) = (point.axis(1), point.axis(2));
        let (first, last) = if op.upper { (row, column) } else { (column, row) };
        let inside = point.apply(scalar::LE, &[first, last]);
        let zero = float(&mut point, value, 0.0);
        let value = point.apply(scalar::WHERE, &[inside, value, zero]);
        let value = if op.nan { or_nan(&mut point, value, [&factors, &info]) } else { value };
        point.store(target, &[batch, n, n], &At::axes(3), value, None);
        point.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &shape)])
    }

    /// The cofactors.
    pub(crate) fn cofactors(&mut self, node: &Node, matrices: &View) -> Lowered {
        let (dtype, shape) = (self.dtype(node.outputs[0]), self.shape(node.outputs[0]));
        if shape.contains(&0) {
            return Ok(vec![self.nothing(dtype, &shape)]);
        }
        let (a, batch, n) = self.matrices(matrices);
        let call = linear_algebra(dtype, [batch, n], LinalgProblem::Cofactors);
        let [cofactors] = self.linear_algebra(call, &[&a], &[&[batch, n, n]])?;
        Ok(vec![View::whole(cofactors.buffer, &shape)])
    }

    /// Reports the first factor whose diagonal is not finite and positive, or that the library calls
    /// indefinite.
    fn report_indefinite(&mut self, factors: &View, info: &View) {
        self.report_first("definite", &factors.shape[..2], |point| {
            let pivot = point.load(factors, &[At::Axis(0), At::Axis(1), At::Axis(1)]);
            let zero = float(point, pivot, 0.0);
            let positive = point.apply(scalar::GT, &[pivot, zero]);
            let finite = point.apply(scalar::ISFINITE, &[pivot]);
            let good = point.apply(scalar::AND, &[positive, finite]);
            let bad = point.apply(scalar::NOT, &[good]);
            let found = found(point, info);
            point.apply(scalar::OR, &[bad, found])
        });
    }

    /// Solutions by an LU factorization. A matrix with NaN is not singular, and all of its solutions are NaN.
    pub(crate) fn solve(&mut self, node: &Node, inputs: &[View]) -> Lowered {
        let (dtype, shape) = (self.dtype(node.outputs[0]), self.shape(node.outputs[0]));
        if shape.contains(&0) {
            return Ok(vec![self.nothing(dtype, &shape)]);
        }
        let Systems { a, b, batch, n, columns } = self.systems(&shape, inputs);
        let call = linear_algebra(dtype, [batch, n], LinalgProblem::LuSolve { columns });
        let [x, info] = self.linear_algebra(call, &[&a, &b], &[&[batch, columns, n], &[batch]])?;
        let nan = self.with_nan(&a);
        self.report_first("singular", &[batch], |point| {
            let found = found(point, &info);
            let is_nan = point.load(&nan, &[At::Axis(0)]);
            let numbers = point.apply(scalar::NOT, &[is_nan]);
            point.apply(scalar::AND, &[found, numbers])
        });
        let target = self.temp(dtype, &[batch, columns, n]);
        let mut nest = NestBuilder::new("solutions", &[batch, columns, n], &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let value = point.load(&x, &At::axes(3));
        let is_nan = point.load(&nan, &[At::Axis(0)]);
        let other = float(&mut point, value, f64::NAN);
        let value = point.apply(scalar::WHERE, &[is_nan, other, value]);
        point.store(target, &[batch, columns, n], &At::axes(3), value, None);
        point.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &flipped(&shape)).dimshuffle(&flip(shape.len()))])
    }

    /// Solutions by substitution.
    pub(crate) fn solve_triangular(&mut self, op: &SolveTriangular, node: &Node, inputs: &[View]) -> Lowered {
        let (dtype, shape) = (self.dtype(node.outputs[0]), self.shape(node.outputs[0]));
        if shape.contains(&0) {
            return Ok(vec![self.nothing(dtype, &shape)]);
        }
        let Systems { a, b, batch, n, columns } = self.systems(&shape, inputs);
        let SolveTriangular { lower, transposed, unit_diagonal } = *op;
        let problem = LinalgProblem::TriangularSolve { columns, lower, transposed, unit_diagonal };
        let call = linear_algebra(dtype, [batch, n], problem);
        let [x] = self.linear_algebra(call, &[&a, &b], &[&[batch, columns, n]])?;
        if !unit_diagonal {
            self.report_first("singular", &[batch, n], |point| {
                let pivot = point.load(&a, &[At::Axis(0), At::Axis(1), At::Axis(1)]);
                let zero = float(point, pivot, 0.0);
                point.apply(scalar::EQ, &[pivot, zero])
            });
        }
        Ok(vec![View::whole(x.buffer, &flipped(&shape)).dimshuffle(&flip(shape.len()))])
    }

    /// The determinant of each matrix, or its sign and the logarithm of its magnitude.
    pub(crate) fn determinant(&mut self, node: &Node, matrices: &View, logarithm: bool) -> Lowered {
        let (dtype, shape) = (self.dtype(node.outputs[0]), self.shape(node.outputs[0]));
        let results = if logarithm { 2 } else { 1 };
        if shape.contains(&0) {
            return Ok((0..results).map(|_| self.nothing(dtype, &shape)).collect());
        }
        if matrices.shape.last() == Some(&0) {
            let numbers: &[f64] = if logarithm { &[1.0, 0.0] } else { &[1.0] };
            return Ok(numbers.iter().map(|&number| self.filled(dtype, &shape, number)).collect());
        }
        let (a, batch, n) = self.matrices(matrices);
        let call = linear_algebra(dtype, [batch, n], LinalgProblem::Lu);
        let extents: [&[u64]; 3] = [&[batch, n, n], &[batch, n], &[batch]];
        let [factors, rows, info] = self.linear_algebra(call, &[&a], &extents)?;
        let nan = self.with_nan(&a);
        let mut nest = NestBuilder::new("determinant", &[batch], &[n]);
        let folds = self.fold_pivots(&mut nest, &factors, &rows);
        let targets: Vec<usize> = (0..results).map(|_| self.temp(dtype, &shape)).collect();
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let found = found(&mut point, &info);
        let is_nan = point.load(&nan, &[At::Axis(0)]);
        let numbers = folds.numbers(&mut point, logarithm);
        for (&target, (value, if_singular)) in targets.iter().zip(numbers) {
            let [singular, other] = [if_singular, f64::NAN].map(|number| float(&mut point, value, number));
            let value = point.apply(scalar::WHERE, &[found, singular, value]);
            let value = point.apply(scalar::WHERE, &[is_nan, other, value]);
            point.store(target, &[batch], &[At::Axis(0)], value, None);
        }
        point.finish();
        self.push(nest);
        Ok(targets.into_iter().map(|target| View::whole(target, &shape)).collect())
    }

    /// A phase that folds the pivots of each matrix, in float64.
    fn fold_pivots(&self, nest: &mut NestBuilder, factors: &View, rows: &View) -> Folds {
        let mut reduce = nest.phase(PhaseKind::Reduce, &self.program);
        let pivot = reduce.load(factors, &[At::Axis(0), At::Axis(1), At::Axis(1)]);
        let pivot = reduce.convert(pivot, DType::F64);
        let product = reduce.fold(Fold::Product, pivot, None);
        let sign = reduce.apply(scalar::SIGN, &[pivot]);
        let sign = reduce.fold(Fold::Product, sign, None);
        let magnitude = reduce.apply(scalar::ABS, &[pivot]);
        let logarithm = reduce.apply(scalar::LOG, &[magnitude]);
        let size = reduce.apply(scalar::ABS, &[logarithm]);
        let logarithm = reduce.fold(Fold::Sum, logarithm, None);
        let size = reduce.fold(Fold::Sum, size, None);
        let row = reduce.load(rows, &At::axes(2));
        let row = reduce.convert(row, DType::I64);
        let (own, one) = (reduce.axis(1), reduce.number(DType::I64, 1));
        let own = reduce.apply(scalar::ADD, &[own, one]);
        let exchanged = reduce.apply(scalar::NE, &[row, own]);
        let exchanged = reduce.convert(exchanged, DType::F64);
        let exchanges = reduce.fold(Fold::Sum, exchanged, None);
        let phase = reduce.finish();
        Folds { phase, product, sign, logarithm, size, exchanges }
    }

    /// For each matrix, whether it has a NaN: a bool, of extents `(batch)`.
    fn with_nan(&mut self, matrices: &View) -> View {
        let (batch, inner) = (matrices.shape[0], &matrices.shape[1..]);
        let target = self.temp(DType::Bool, &[batch]);
        let mut nest = NestBuilder::new("any_nan", &[batch], inner);
        let mut reduce = nest.phase(PhaseKind::Reduce, &self.program);
        let value = reduce.load(matrices, &At::axes(3));
        let is_nan = reduce.apply(scalar::NE, &[value, value]);
        let fold = reduce.fold(Fold::Sum, is_nan, None);
        let phase = reduce.finish();
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let any = point.folded(phase, fold, DType::Bool);
        point.store(target, &[batch], &[At::Axis(0)], any, None);
        point.finish();
        self.push(nest);
        View::whole(target, &[batch])
    }

    /// A batch of square matrices in a buffer of their own, with their number and their order.
    fn matrices(&mut self, view: &View) -> (View, u64, u64) {
        let (batch, n) = (leading(&view.shape), view.shape.last().copied().unwrap_or(0));
        let buffer = self.whole(view);
        (View::whole(buffer, &[batch, n, n]), batch, n)
    }

    /// Matrices and right-hand sides, repeated for solutions of this shape. Where one matrix is for the whole
    /// batch, all right-hand sides are its own.
    fn systems(&mut self, shape: &[u64], inputs: &[View]) -> Systems {
        let rank = shape.len();
        let (batch, n, columns) = (leading(shape), shape[rank - 2], shape[rank - 1]);
        let b = inputs[1].broadcast(shape).dimshuffle(&flip(rank));
        let b = self.whole(&b);
        let shared = leading(&inputs[0].shape) == 1;
        let a = if shared {
            inputs[0].clone()
        } else {
            inputs[0].broadcast(&[&shape[..rank - 2], &[n, n][..]].concat())
        };
        let (batch, columns) = if shared { (1, batch * columns) } else { (batch, columns) };
        let a = View::whole(self.whole(&a), &[batch, n, n]);
        Systems { a, b: View::whole(b, &[batch, columns, n]), batch, n, columns }
    }

    /// Appends a library op on whole buffers; its results have these extents.
    fn linear_algebra<const RESULTS: usize>(
        &mut self,
        call: LinearAlgebra,
        inputs: &[&View],
        shapes: &[&[u64]],
    ) -> Result<[View; RESULTS], Refusal> {
        let inputs = inputs.iter().map(|view| (view.buffer, 0)).collect();
        let results = self.library(call, inputs, shapes).and_then(|results| results.try_into().ok());
        results.ok_or_else(|| "the device has no library for linear algebra".into())
    }

    /// A result without elements.
    fn nothing(&mut self, dtype: DType, shape: &[u64]) -> View {
        View::whole(self.temp(dtype, shape), shape)
    }

    /// The same number everywhere.
    fn filled(&mut self, dtype: DType, shape: &[u64], number: f64) -> View {
        let target = self.temp(dtype, shape);
        let mut nest = NestBuilder::new("fill", shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let zero = point.number(dtype, 0);
        let value = float(&mut point, zero, number);
        point.store(target, shape, &At::axes(shape.len()), value, None);
        point.finish();
        self.push(nest);
        View::whole(target, shape)
    }
}

/// Where the folds of pivots are: their phase, and their positions in it.
struct Folds {
    phase: usize,
    product: usize,
    sign: usize,
    logarithm: usize,
    /// The sum of the magnitudes of the logarithms.
    size: usize,
    /// The number of row exchanges.
    exchanges: usize,
}

impl Folds {
    /// The determinant, or its sign and the logarithm of its magnitude; each with its value for a singular
    /// matrix.
    fn numbers(&self, point: &mut PhaseBuilder<'_>, logarithm: bool) -> Vec<(Value, f64)> {
        let exchanges = point.folded(self.phase, self.exchanges, DType::F64);
        let exchanges = point.convert(exchanges, DType::I64);
        let one = point.number(DType::I64, 1);
        let odd = point.apply(scalar::BITWISE_AND, &[exchanges, one]);
        let odd = point.apply(scalar::EQ, &[odd, one]);
        let sign = point.folded(self.phase, self.sign, DType::F64);
        let [minus, plus] = [-1.0, 1.0].map(|number| float(point, sign, number));
        let permutation = point.apply(scalar::WHERE, &[odd, minus, plus]);
        let sign = point.apply(scalar::MUL, &[sign, permutation]);
        let sum = point.folded(self.phase, self.logarithm, DType::F64);
        if logarithm {
            return vec![(sign, 0.0), (sum, f64::NEG_INFINITY)];
        }
        let product = point.folded(self.phase, self.product, DType::F64);
        let product = point.apply(scalar::MUL, &[product, permutation]);
        // A product that overflows on the way may be an ordinary number in the end.
        let size = point.folded(self.phase, self.size, DType::F64);
        let most = float(point, size, LARGEST_LOGARITHM);
        let in_range = point.apply(scalar::LT, &[size, most]);
        let magnitude = point.apply(scalar::EXP, &[sum]);
        let by_logarithm = point.apply(scalar::MUL, &[sign, magnitude]);
        vec![(point.apply(scalar::WHERE, &[in_range, product, by_logarithm]), 0.0)]
    }
}

/// An op that the host computes by its definition.
fn linear_algebra(dtype: DType, [batch, n]: [u64; 2], problem: LinalgProblem) -> LinearAlgebra {
    LinearAlgebra { dtype, batch, n, problem, in_memory: InMemory(Some(define)) }
}

/// Whether the library found something wrong with the matrix at the position along the first axis.
fn found(point: &mut PhaseBuilder<'_>, info: &View) -> Value {
    let info = point.load(info, &[At::Axis(0)]);
    let zero = point.number(DType::I32, 0);
    point.apply(scalar::NE, &[info, zero])
}

/// An element of a Cholesky factor, or NaN where the matrix is not positive definite. Libraries need not say
/// so of a matrix with NaN; a NaN among the pivots reaches the last one.
fn or_nan(point: &mut PhaseBuilder<'_>, value: Value, [factors, info]: [&View; 2]) -> Value {
    let last = factors.shape[1].saturating_sub(1);
    let last = i64::try_from(last).unwrap_or(i64::MAX);
    let pivot = factors.slice(1, last, 1, Some(1), None).slice(2, last, 1, Some(1), None);
    let pivot = point.load(&pivot, &[At::Axis(0), At::First, At::First]);
    let (zero, nan) = (float(point, pivot, 0.0), float(point, pivot, f64::NAN));
    let positive = point.apply(scalar::GT, &[pivot, zero]);
    let found = found(point, info);
    let value = point.apply(scalar::WHERE, &[positive, value, nan]);
    point.apply(scalar::WHERE, &[found, nan, value])
}

/// A constant of the dtype of `like`.
fn float(phase: &mut PhaseBuilder<'_>, like: Value, number: f64) -> Value {
    phase.float_like(like, number)
}

/// The number of matrices of this shape.
fn leading(shape: &[u64]) -> u64 {
    shape[..shape.len().saturating_sub(2)].iter().product()
}

/// The last two axes exchanged, of so many.
fn flip(rank: usize) -> Vec<Option<usize>> {
    (0..rank - 2).chain([rank - 1, rank - 2]).map(Some).collect()
}

/// A shape with its last two extents exchanged.
fn flipped(shape: &[u64]) -> Vec<u64> {
    let mut shape = shape.to_vec();
    let rank = shape.len();
    shape.swap(rank - 2, rank - 1);
    shape
}
