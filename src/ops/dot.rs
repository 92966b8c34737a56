//! Products that sum over axes of both factors: one op for matrices, vectors, batches and tensors.

mod cost;
pub(crate) mod factors;
pub(crate) mod lower;

use super::batching::{first_behind, only};
use super::complex;
use super::contract::{Label, contract, without};
use super::elemwise::{broadcast_shapes, broadcast_types, cast, elemwise};
use super::methods::fail;
use super::shape::DimShuffle;
use super::sum_like::sum_to;
use crate::error::{Error, Result, shape_text};
use crate::fallible;
use crate::graph::{Node, Operand, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, BatchedOutputs, Gradient, MemberArray, Op, ShardedOutputs, Sharding, Shards,
    expect_inputs,
};
use crate::value::Value;
use workalike_kernels::{DType, Scalar, ops as scalar};

/// `(batch.., left.., contracted..) @ (batch.., contracted.., right..) -> (batch.., left.., right..)`, both
/// of one dtype. Batch axes of extent 1 broadcast. Halves accumulate in f32 and round once; of bools it is
/// whether any pair is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dot {
    /// The number of axes along which the factors are multiplied one by one.
    pub batch: usize,
    /// The number of axes that are summed over; at least one.
    pub contracted: usize,
}

impl Dot {
    /// `(left.., k) @ (k, right..)`: of matrices and vectors.
    pub const PLAIN: Dot = Dot { batch: 0, contracted: 1 };

    pub(crate) fn of(self, a: &Variable, b: &Variable) -> Result<Variable> {
        Variable::apply1(self, &[a.clone(), b.clone()])
    }

    /// How many axes of the left factor are its own, if factors have enough of them.
    fn left(&self, a: usize, b: usize) -> Option<usize> {
        let both = self.batch.checked_add(self.contracted)?;
        (self.contracted > 0 && b >= both).then_some(a.checked_sub(both)?)
    }

    /// Names for the axes of the factors and of the result.
    pub(crate) fn labels(&self, a: usize, b: usize) -> [Vec<Label>; 3] {
        let Dot { batch, contracted } = *self;
        let left = a - batch - contracted;
        let of = |ranges: &[std::ops::Range<usize>]| {
            ranges.iter().cloned().flatten().map(|l| l as Label).collect()
        };
        // The batch, what the left factor has, and what only the right one has.
        let right = a..a + b - batch - contracted;
        let [left, sums] = [batch..batch + left, batch + left..a];
        [
            (0..a).map(|l| l as Label).collect(),
            of(&[0..batch, sums, right.clone()]),
            of(&[0..batch, left, right]),
        ]
    }

    /// Extents of the result, and of what is summed over.
    fn result(&self, a: &[usize], b: &[usize]) -> Result<(Vec<usize>, usize), String> {
        let refuse = || format!("cannot multiply shapes {} and {}", shape_text(a), shape_text(b));
        let left = self.left(a.len(), b.len()).ok_or_else(refuse)?;
        let own = self.batch + left;
        let sums = &a[own..];
        if *sums != b[self.batch..self.batch + self.contracted] {
            return Err(refuse());
        }
        let batches = [a, b].map(|shape| &shape[..self.batch]);
        let mut shape = broadcast_shapes(&batches).map_err(|_| refuse())?;
        shape.extend(&a[self.batch..own]);
        shape.extend(&b[self.batch + self.contracted..]);
        Ok((shape, sums.iter().product()))
    }
}

impl Op for Dot {
    fn id(&self) -> &'static str {
        "dot"
    }

    /// The first version had no attributes, and factors of two axes.
    fn version(&self) -> u32 {
        2
    }

    fn attributes(&self) -> Attributes {
        let count = |n: usize| Attr::Int(n as i64);
        vec![("batch".into(), count(self.batch)), ("contracted".into(), count(self.contracted))]
    }

    fn label(&self) -> String {
        match *self {
            Dot::PLAIN => "dot".into(),
            Dot { batch, contracted } => format!("dot[batch {batch}, contracted {contracted}]"),
        }
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 2)?;
        let (a, b) = (inputs[0], inputs[1]);
        let refuse = || format!("cannot multiply {a} by {b}");
        let left = self.left(a.ndim(), b.ndim()).ok_or_else(refuse)?;
        let own = self.batch + left;
        let (sums, right) = b.shape[self.batch..].split_at(self.contracted);
        let contracts = a.shape[own..].iter().zip(sums).all(|(a, b)| a.is_none() || b.is_none() || a == b);
        if !contracts || a.dtype != b.dtype {
            return Err(refuse());
        }
        let [x, y] = [a, b].map(|ty| TensorType::new(ty.dtype, ty.shape[..self.batch].to_vec()));
        let mut shape = broadcast_types(&[&x, &y]).map_err(|_| refuse())?;
        shape.extend(&a.shape[self.batch..own]);
        shape.extend(right);
        Ok(vec![TensorType::new(a.dtype, shape)])
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::bilinear(*self, inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = at.output_grads[0].as_ref().filter(|_| at.inputs[0].dtype().is_float()) else {
            return Ok(vec![None, None]);
        };
        let (a, b) = (&at.inputs[0], &at.inputs[1]);
        let [left, right, result] = self.labels(a.ndim(), b.ndim());
        let repeated = |x: &Variable| -> Vec<usize> {
            (0..self.batch).filter(|&i| x.ty().shape[i] == Some(1) && g.ty().shape[i] != Some(1)).collect()
        };
        // Along axes that a factor was repeated its gradient is summed: they are contracted like any other.
        let (repeated_a, repeated_b) = (repeated(a), repeated(b));
        let (a, left) = without(a, &left, &repeated_a)?;
        let (b, right) = without(b, &right, &repeated_b)?;
        let da = contract((g, &result), (&b, &right), &left)?;
        let db = contract((&a, &left), (g, &result), &right)?;
        let [da, db] = [DimShuffle::keep_dims(&da, &repeated_a)?, DimShuffle::keep_dims(&db, &repeated_b)?];
        // Extents of the batch that are not known may be 1 as well.
        let may = |other: &Variable| {
            let shape = other.ty().shape.clone();
            move |axis: usize| axis < self.batch && shape[axis] != Some(1)
        };
        let [x, y] = [&at.inputs[0], &at.inputs[1]];
        Ok(vec![Some(sum_to(&da, x, may(y))?), Some(sum_to(&db, y, may(x))?)])
    }

    /// The batch axis is one of the left factor's own, or of the right one's, where only that one has it;
    /// else one more that both have.
    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let [a, b] = at.inputs else { return Ok(None) };
        only(match (a.batched, b.batched) {
            (true, false) if self.batch == 0 => self.of(&a.variable, &b.variable),
            (false, true) if self.batch == 0 => {
                let left = a.variable.ndim() - self.contracted;
                let product = self.of(&a.variable, &first_behind(&b.variable, self.contracted)?)?;
                product.try_moveaxis(left as isize, 0)
            }
            _ => Dot { batch: self.batch + 1, ..*self }.of(&at.with_axis(0)?, &at.with_axis(1)?),
        })
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        let [a, b] = at.inputs else { return Ok(None) };
        let terms = match (a.sharding, b.sharding) {
            (_, Sharding::Replicated) => at.terms(*self, |i| i == 1)?,
            (Sharding::Replicated, _) => at.terms(*self, |i| i == 0)?,
            _ => None,
        };
        if terms.is_some() || a.variable.dtype() == DType::Bool {
            return Ok(terms);
        }
        let [left, right, result] = self.labels(a.variable.ndim(), b.variable.ndim());
        let sharded =
            [(a, &left), (b, &right)].into_iter().find_map(|(factor, labels)| match factor.sharding {
                Sharding::Sharded(axis) => labels.get(axis).copied(),
                _ => None,
            });
        let Some(label) = sharded else { return Ok(None) };
        let (lead, is_batch) = (at.lead().map_or(0, |(first, _)| first), (label as usize) < self.batch);
        let factor = |i: usize, labels: &[Label]| match labels.iter().position(|l| *l == label) {
            Some(_) if i == lead => Ok(at.inputs[i].variable.clone()),
            Some(axis) if is_batch => at.part_beside(i, axis, &at.inputs[lead].variable, true),
            // What is summed is not repeated, which the product itself checks.
            Some(axis) => at.inputs[i].divided(axis, at.group),
            None => at.whole(i),
        };
        let own = self.of(&factor(0, &left)?, &factor(1, &right)?)?;
        Ok(Some(vec![match result.iter().position(|l| *l == label) {
            Some(axis) => MemberArray::sharded(own, axis),
            None => MemberArray::term(own),
        }]))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let (a, b) = (&inputs[0], &inputs[1]);
        let dtype = a.dtype();
        let (shape, k) = self
            .result(a.shape(), b.shape())
            .map_err(|message| Error::mismatch(self.label(), "factors that fit", message))?;
        if shape.contains(&0) {
            return Ok(vec![Value::zeros(dtype, &shape)?]);
        }
        let own = a.ndim() - self.contracted;
        let batches: usize = shape[..self.batch].iter().product();
        let (m, n): (usize, usize) = (shape[self.batch..own].iter().product(), shape[own..].iter().product());
        let whole = |x: &Value| -> Result<Value> {
            let repeated = [&shape[..self.batch], &x.shape()[self.batch..]].concat();
            x.broadcast_to(&repeated)
        };
        let (a, b) = (whole(a)?, whole(b)?);
        if dtype.is_float() {
            let (a, b) = (a.try_map(Scalar::to_f64)?, b.try_map(Scalar::to_f64)?);
            let mut product: Vec<f64> = fallible::with_capacity(batches * m * n)?;
            for at in 0..batches {
                product.resize((at + 1) * m * n, 0.0);
                let mut to = ndarray::ArrayViewMut2::from_shape((m, n), &mut product[at * m * n..])
                    .map_err(|e| Error::Internal(e.to_string()))?;
                let (a, b) = (matrix(m, k, &a[at * m * k..])?, matrix(k, n, &b[at * k * n..])?);
                ndarray::linalg::general_mat_mul(1.0, &a, &b, 0.0, &mut to);
            }
            return Ok(vec![Value::from_vec(&shape, product)?.cast(dtype)?]);
        }
        let (a, b) = (a.try_map(Scalar::to_i128)?, b.try_map(Scalar::to_i128)?);
        let fill = |bytes: &mut [u8]| {
            for (at, element) in bytes.chunks_exact_mut(dtype.size()).enumerate() {
                let (row, j) = (at / n, at % n);
                let right = row / m * k * n + j;
                let sum =
                    (0..k).fold(0i128, |s, p| s.wrapping_add(a[row * k + p].wrapping_mul(b[right + p * n])));
                element.copy_from_slice(&Scalar::from_i128(dtype, sum).to_le_bytes()[..dtype.size()]);
            }
        };
        Ok(vec![Value::filled(dtype, &shape, fill)?])
    }

    fn axis_sources(&self, axis: usize, inputs: &[Variable]) -> Vec<(usize, usize)> {
        let left = inputs[0].ndim() - self.contracted;
        match axis {
            axis if axis < self.batch => vec![],
            axis if axis < left => vec![(0, axis)],
            axis => vec![(1, axis - left + self.batch + self.contracted)],
        }
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }
}

fn matrix(rows: usize, columns: usize, elements: &[f64]) -> Result<ndarray::ArrayView2<'_, f64>> {
    ndarray::ArrayView2::from_shape((rows, columns), &elements[..rows * columns])
        .map_err(|e| Error::Internal(e.to_string()))
}

/// Two factors in the dtype they promote to.
pub(super) fn promoted(a: &Variable, b: &Variable) -> Result<[Variable; 2]> {
    let (a, b) = (a.checked()?, b.checked()?);
    let dtype: DType = a.dtype().promote(b.dtype());
    Ok([cast(a, dtype)?, cast(b, dtype)?])
}

pub(super) fn times(a: &Variable, b: &Variable) -> Result<Variable> {
    elemwise(scalar::MUL, vec![Operand::Variable(a.clone()), Operand::Variable(b.clone())])
}

/// NumPy's `dot`: over the last axis of `a` and the one before the last of `b`, which may have one axis only;
/// numbers multiply.
pub(crate) fn dot(a: &Variable, b: &Variable) -> Result<Variable> {
    let [a, b] = promoted(a, b)?;
    let rank = b.ndim();
    if a.ndim() == 0 || rank == 0 {
        return times(&a, &b);
    }
    if rank <= 2 {
        return Dot::PLAIN.of(&a, &b);
    }
    let order = [rank - 2].into_iter().chain((0..rank).filter(|&axis| axis != rank - 2));
    Dot::PLAIN.of(&a, &DimShuffle::of(&b, order.map(Some).collect())?)
}

/// NumPy's `matmul`: matrices in the last two axes, all axes before them broadcast.
pub(crate) fn matmul(a: &Variable, b: &Variable) -> Result<Variable> {
    let [a, b] = promoted(a, b)?;
    let ranks = [a.ndim(), b.ndim()];
    match ranks {
        [0, _] | [_, 0] => {
            let message =
                format!("factors must have axes, got {} and {}; multiply numbers by *", a.ty(), b.ty());
            Err(fail("matmul", message))
        }
        [_, 1 | 2] => Dot::PLAIN.of(&a, &b),
        [1, rank] => {
            let labels: Vec<Label> = (0..rank as Label).collect();
            let (sum, last) = (labels[rank - 2], labels[rank - 1]);
            contract((&a, &[sum]), (&b, &labels), &[&labels[..rank - 2], &[last]].concat())
        }
        [a_rank, b_rank] => {
            let rank = a_rank.max(b_rank);
            let (a, b) = (DimShuffle::pad_left(&a, rank)?, DimShuffle::pad_left(&b, rank)?);
            Dot { batch: rank - 2, contracted: 1 }.of(&a, &b)
        }
    }
}
