//! Systems of linear equations.

use super::factor::{self, Lu, MatrixElement, Triangle};
use super::{elements, matrix_in, own_position, square_floats, transposed, which};
use crate::error::{Error, Result};
use crate::fallible;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Batch, BatchedOutputs, Gradient, Known, Op, expect_inputs};
use crate::ops::elemwise::broadcast_types;
use crate::ops::methods::unary;
use crate::ops::sum_like::sum_to;
use crate::value::{Element, Value};
use workalike_kernels::{DType, ops as scalar};

/// `x` with `a x = b`, from square matrices `a` and matrices `b` of equal dtype and rank. Batch axes of
/// extent 1 broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solve;

/// `x` with `t x = b`, from square matrices, of which `t` is a triangle, and matrices `b` of equal dtype and
/// rank. The other triangle is not read. Batch axes of extent 1 broadcast.
///
/// ```
/// use workalike::ops::SolveTriangular;
/// use workalike::prelude::*;
/// let l = constant(array![[2.0, 0.0], [1.0, 4.0]]);
/// let b = constant(vec![2.0, 9.0]);
/// let x = linalg::solve_triangular(&l, &b, SolveTriangular::LOWER);
/// let y = linalg::solve_triangular(&l, &b, SolveTriangular::LOWER.transposed());
/// let outputs = function(()).outputs([&x, &y]).compile()?.call(args![])?;
/// assert_eq!(outputs[0].to_vec::<f64>()?, [1.0, 2.0]);
/// assert_eq!(outputs[1].to_vec::<f64>()?, [-0.125, 2.25]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SolveTriangular {
    /// The lower triangle; else the upper one.
    pub lower: bool,
    /// `t` is the transpose of that triangle.
    pub transposed: bool,
    /// The diagonal is not read, and taken to be 1.
    pub unit_diagonal: bool,
}

impl SolveTriangular {
    /// The lower triangle.
    pub const LOWER: SolveTriangular =
        SolveTriangular { lower: true, transposed: false, unit_diagonal: false };

    /// The upper triangle: what SciPy's `solve_triangular` takes unless told otherwise.
    pub const UPPER: SolveTriangular =
        SolveTriangular { lower: false, transposed: false, unit_diagonal: false };

    /// The system with the transposed triangle (SciPy's `trans=1`).
    #[must_use]
    pub fn transposed(self) -> SolveTriangular {
        SolveTriangular { transposed: !self.transposed, ..self }
    }

    /// The system whose diagonal is taken to be 1 (SciPy's `unit_diagonal=True`).
    #[must_use]
    pub fn unit_diagonal(self) -> SolveTriangular {
        SolveTriangular { unit_diagonal: true, ..self }
    }

    fn solutions<T: MatrixElement + Element>(&self, a: &Value, b: &Value, shape: &[usize]) -> Result<Value> {
        let (batch, [n, columns]) = split(shape);
        let own = &a.shape()[..batch.len()];
        let (a, mut x) = (elements::<T>(a, batch)?, b.broadcast_to(shape)?.to_vec::<T>()?);
        let SolveTriangular { lower, transposed, unit_diagonal } = *self;
        let triangle = Triangle { lower, transposed, unit_diagonal, sides_are_rows: false };
        let systems = a.chunks_exact(n * n).cycle().zip(x.chunks_exact_mut(n * columns));
        for (at, (a, x)) in systems.enumerate() {
            factor::solve_triangular(n, a, x, triangle)
                .map_err(|zero| singular(zero, own, own_position(own, batch, at)))?;
        }
        Value::from_vec(shape, x)
    }
}

impl Solve {
    fn solutions<T: MatrixElement + Element>(a: &Value, b: &Value, shape: &[usize]) -> Result<Value> {
        let (batch, [n, columns]) = split(shape);
        let own = &a.shape()[..batch.len()];
        let (a, b) = (elements::<T>(a, batch)?, b.broadcast_to(shape)?.to_vec::<T>()?);
        let mut x = fallible::filled(T::default(), b.len())?;
        let mut lu = Lu::<T>::new(n).map_err(fallible::refused)?;
        let shared = a.len() == n * n;
        let right = b.chunks_exact(n * columns).zip(x.chunks_exact_mut(n * columns));
        for (at, (a, (b, x))) in a.chunks_exact(n * n).cycle().zip(right).enumerate() {
            if at == 0 || !shared {
                lu.factor(a);
            }
            if let Some(zero) = lu.zero_pivot() {
                return Err(singular(zero, own, own_position(own, batch, at)));
            }
            lu.solve(b, x);
        }
        Value::from_vec(shape, x)
    }
}

/// The shape of a batch, and that of its matrices.
fn split(shape: &[usize]) -> (&[usize], [usize; 2]) {
    match shape {
        [batch @ .., rows, columns] => (batch, [*rows, *columns]),
        _ => (shape, [0, 0]),
    }
}

fn singular(pivot: usize, batch: &[usize], at: usize) -> Error {
    let given = format!("0 at diagonal {pivot}{}", which(batch, at));
    Error::mismatch("singular matrix", "pivots other than 0", given)
}

/// The type of the solutions of systems.
fn solution_type(inputs: &[&TensorType]) -> Result<TensorType, String> {
    expect_inputs(inputs.len(), 2)?;
    let (a, b) = (inputs[0], inputs[1]);
    let refuse = || format!("cannot solve systems with {a} for {b}");
    let n = square_floats(a)?;
    let rank = a.ndim();
    if b.ndim() != rank || a.dtype != b.dtype {
        return Err(refuse());
    }
    let [x, y] = [a, b].map(|ty| TensorType::new(ty.dtype, ty.shape[..rank - 2].to_vec()));
    let mut shape = broadcast_types(&[&x, &y]).map_err(|_| refuse())?;
    match (n, b.shape[rank - 2]) {
        (Some(n), Some(rows)) if n != rows => return Err(refuse()),
        (n, rows) => shape.push(n.or(rows)),
    }
    shape.push(b.shape[rank - 1]);
    Ok(TensorType::new(a.dtype, shape))
}

/// The solutions, by the solver for their dtype, unless they have no elements.
fn solutions(
    op: &dyn Op,
    [a, b]: [&Value; 2],
    solver: impl FnOnce(DType, &[usize]) -> Result<Value>,
) -> Result<Vec<Value>> {
    let refuse = |message| Error::mismatch(op.label(), "systems that fit", message);
    let shape = op.shapes(&[Known::of(a), Known::of(b)]).map_err(refuse)?.swap_remove(0);
    let none = shape.contains(&0);
    Ok(vec![if none { Value::zeros(a.dtype(), &shape)? } else { solver(a.dtype(), &shape)? }])
}

/// Gradients of a matrix and of right-hand sides, summed over the batch axes along which these were repeated.
fn unrepeated(at: &Gradient, [a, b]: [Variable; 2]) -> Result<Vec<Option<Variable>>> {
    let [x, y] = [&at.inputs[0], &at.inputs[1]];
    let batch = x.ndim() - 2;
    // Extents that are not known may be 1 as well.
    let may_repeat = |other: &Variable| {
        let shape = other.ty().shape.clone();
        move |axis: usize| axis < batch && shape[axis] != Some(1)
    };
    Ok(vec![Some(sum_to(&a, x, may_repeat(y))?), Some(sum_to(&b, y, may_repeat(x))?)])
}

/// `-a b^T`.
fn minus_outer(a: &Variable, b: &Variable) -> Result<Variable> {
    unary(scalar::NEG, &a.try_matmul(transposed(b)?)?)
}

/// Axes of the inputs that have the extent of this one of the solutions.
fn solution_axis(axis: usize, inputs: &[Variable]) -> Vec<(usize, usize)> {
    if axis + 2 >= inputs[1].ndim() {
        return vec![(1, axis)];
    }
    let wide = (0..2).filter(|&i| inputs[i].ty().shape[axis] != Some(1));
    wide.map(|input| (input, axis)).collect()
}

impl Op for Solve {
    fn id(&self) -> &'static str {
        "solve"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        Ok(vec![solution_type(inputs)?])
    }

    fn results_are_new(&self) -> bool {
        true
    }

    /// As in Giles, "An extended collection of matrix derivative results for forward and reverse mode AD"
    /// (2008): the gradient of `b` is `a^-T g`, and that of `a` is `-a^-T g x^T`.
    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None, None]) };
        let b = Variable::apply1(Solve, &[transposed(&at.inputs[0])?, g.clone()])?;
        let a = minus_outer(&b, &at.outputs[0])?;
        unrepeated(at, [a, b])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(*self)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let (a, b) = (&inputs[0], &inputs[1]);
        solutions(self, [a, b], |dtype, shape| match dtype {
            DType::F32 => Solve::solutions::<f32>(a, b, shape),
            _ => Solve::solutions::<f64>(a, b, shape),
        })
    }

    fn trouble(&self) -> String {
        "singular matrix".into()
    }

    fn trouble_part(&self, part: usize, inputs: &[&[usize]]) -> Option<String> {
        matrix_in(inputs, part)
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        to.solve(node, inputs)
    }

    fn axis_sources(&self, axis: usize, inputs: &[Variable]) -> Vec<(usize, usize)> {
        solution_axis(axis, inputs)
    }
}

impl Op for SolveTriangular {
    fn id(&self) -> &'static str {
        "solve_triangular"
    }

    fn attributes(&self) -> Attributes {
        let flag = |name: &str, value: bool| (name.into(), Attr::Int(i64::from(value)));
        vec![
            flag("lower", self.lower),
            flag("transposed", self.transposed),
            flag("unit_diagonal", self.unit_diagonal),
        ]
    }

    fn label(&self) -> String {
        let triangle = if self.lower { "lower" } else { "upper" };
        let transposed = if self.transposed { ",transposed" } else { "" };
        let unit = if self.unit_diagonal { ",unit_diagonal" } else { "" };
        format!("solve_triangular[{triangle}{transposed}{unit}]")
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        Ok(vec![solution_type(inputs)?])
    }

    fn results_are_new(&self) -> bool {
        true
    }

    /// As that of [`Solve`], with respect to the elements that are read.
    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None, None]) };
        let x = &at.outputs[0];
        let b = Variable::apply1(self.transposed(), &[at.inputs[0].clone(), g.clone()])?;
        let a = if self.transposed { minus_outer(x, &b)? } else { minus_outer(&b, x)? };
        let beside = i64::from(self.unit_diagonal);
        let a = if self.lower { a.try_tril(-beside)? } else { a.try_triu(beside)? };
        unrepeated(at, [a, b])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(*self)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let (a, b) = (&inputs[0], &inputs[1]);
        solutions(self, [a, b], |dtype, shape| match dtype {
            DType::F32 => self.solutions::<f32>(a, b, shape),
            _ => self.solutions::<f64>(a, b, shape),
        })
    }

    fn trouble(&self) -> String {
        "singular matrix".into()
    }

    fn trouble_part(&self, part: usize, inputs: &[&[usize]]) -> Option<String> {
        matrix_in(inputs, part)
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        to.solve_triangular(self, node, inputs)
    }

    fn axis_sources(&self, axis: usize, inputs: &[Variable]) -> Vec<(usize, usize)> {
        solution_axis(axis, inputs)
    }
}
