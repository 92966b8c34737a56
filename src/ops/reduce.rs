//! Reductions over any axes.

mod arg_reduce;
pub(crate) mod lower;

pub use arg_reduce::ArgReduce;

use super::shape::{BroadcastLike, DimShuffle};
use super::{complex, elemwise};
use crate::error::{Error, Result};
use crate::fallible;
use crate::graph::{Node, Operand, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, BatchedOutputs, Gradient, Known, MemberArray, Op, ShardedOutputs, Sharding,
    Shards, expect_inputs, ints,
};
use crate::value::{Value, checked_len};
use workalike_kernels::interval::Interval;
use workalike_kernels::nest::Fold;
use workalike_kernels::{DType, Scalar, ops as scalar};

/// Sum, product, maximum or minimum over axes, which disappear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduce {
    /// The fold; not ArgMax or ArgMin.
    pub fold: Fold,
    /// Sorted, each once.
    pub axes: Vec<usize>,
    /// The dtype in which the fold is accumulated.
    pub acc_dtype: DType,
    /// The dtype of the result.
    pub dtype: DType,
    /// A maximum or minimum over nothing is the least or greatest value of the dtype; else it is an error.
    pub over_nothing: bool,
}

/// The number of elements that are folded into one.
fn folded(shape: &[usize], axes: &[usize]) -> Option<f64> {
    axes.iter().try_fold(1.0, |n, &axis| Some(n * *shape.get(axis)? as f64))
}

fn without(shape: &[usize], axes: &[usize]) -> Vec<usize> {
    (0..shape.len()).filter(|a| !axes.contains(a)).map(|a| shape[a]).collect()
}

/// Refuses a fold without a result of nothing over an axis that is known to be empty.
fn check_not_empty(fold: Fold, input: &TensorType, axes: &[usize]) -> Result<(), String> {
    match axes.iter().any(|&axis| input.shape.get(axis) == Some(&Some(0))) {
        true => Err(format!("{} over an empty axis of {input}", fold_name(fold))),
        false => Ok(()),
    }
}

fn reduced_type(input: &TensorType, axes: &[usize], dtype: DType) -> Result<TensorType, String> {
    if !axes.windows(2).all(|w| w[0] < w[1]) || axes.last().is_some_and(|&a| a >= input.ndim()) {
        return Err(format!("axes {axes:?} do not fit {input}"));
    }
    let shape: Vec<_> = (0..input.ndim()).filter(|a| !axes.contains(a)).map(|a| input.shape[a]).collect();
    Ok(TensorType::new(dtype, shape))
}

/// Which axis of the result an axis of the input is, if it is not reduced.
fn axis_left(reduced: &[usize], axis: usize) -> Option<usize> {
    (!reduced.contains(&axis)).then(|| axis - reduced.iter().filter(|&&a| a < axis).count())
}

/// The name of a fold in files and for people.
pub(super) fn fold_name(fold: Fold) -> &'static str {
    match fold {
        Fold::Sum => "sum",
        Fold::Product => "prod",
        Fold::Max => "max",
        Fold::Min => "min",
        Fold::ArgMax => "argmax",
        Fold::ArgMin => "argmin",
    }
}

/// The inverse of [`fold_name`].
pub(super) fn fold_named(name: &str) -> Option<Fold> {
    use Fold::*;
    [Sum, Product, Max, Min, ArgMax, ArgMin].into_iter().find(|&f| fold_name(f) == name)
}

/// Calls `visit` with the elements of each output element, in row-major order of outputs.
fn each_output(
    input: &Value,
    axes: &[usize],
    mut visit: impl FnMut(&mut dyn Iterator<Item = Scalar>),
) -> Result<()> {
    let kept: Vec<usize> = (0..input.ndim()).filter(|a| !axes.contains(a)).collect();
    let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
    let shape: Vec<usize> = order.iter().map(|&a| input.shape()[a]).collect();
    let strides: Vec<isize> = order.iter().map(|&a| input.strides()[a]).collect();
    let moved = input.view_as(&shape, &strides, input.offset())?.contiguous()?;
    let inner: usize = axes.iter().map(|&a| input.shape()[a]).product();
    let outer: usize = kept.iter().map(|&a| input.shape()[a]).product();
    let bytes = moved.contiguous_bytes().unwrap_or(&[]);
    let size = input.dtype().size();
    for row in 0..outer {
        let part = &bytes[row * inner * size..(row + 1) * inner * size];
        visit(&mut part.chunks_exact(size).filter_map(|b| Scalar::from_le_bytes(input.dtype(), b)));
    }
    Ok(())
}

impl Reduce {
    /// The dtype of NumPy's sum and product of a dtype: bool and signed integers give int64, unsigned ones
    /// uint64.
    pub(crate) fn total_dtype(dtype: DType) -> DType {
        match dtype {
            d if d.is_float() || d.is_complex() => d,
            d if d.is_unsigned() => DType::U64,
            _ => DType::I64,
        }
    }

    /// `x` summed over axes, with this result dtype.
    pub(crate) fn sum_in(x: &Variable, axes: &[usize], dtype: DType) -> Result<Variable> {
        let op = Reduce {
            fold: Fold::Sum,
            axes: axes.to_vec(),
            acc_dtype: dtype.register(),
            dtype,
            over_nothing: false,
        };
        Variable::apply1(op, std::slice::from_ref(x))
    }

    /// Each element's gradient is the product of the others. `g` has the reduced axes.
    fn product_grad(&self, x: &Variable, g: &Variable) -> Result<Variable> {
        let zero = &x.equal(0i64);
        let keep = |reduced: Variable| DimShuffle::keep_dims(&reduced, &self.axes);
        let zeros = keep(Reduce::sum_in(zero, &self.axes, DType::I64)?)?;
        let op = Reduce { acc_dtype: self.acc_dtype, dtype: x.dtype(), ..self.clone() };
        let rest = keep(Variable::apply1(op, &[super::where_(zero, 1i64, x)])?)?;
        let nothing = keep(Reduce::sum_in(&super::where_(zero, x, 0i64), &self.axes, x.dtype())?)?;
        g.try_mul(others(x, zero, &zeros, &rest, &nothing))
    }

    /// Whether a fold of no elements is an error.
    fn has_no_identity(&self) -> bool {
        matches!(self.fold, Fold::Max | Fold::Min) && !self.over_nothing
    }

    fn fold_scalars(&self, elements: &mut dyn Iterator<Item = Scalar>) -> Result<Scalar> {
        let elements = elements.map(|s| s.cast(self.acc_dtype));
        let nan_first = |a: Scalar, b: Scalar, less: bool| {
            let (x, y) = (a.to_f64(), b.to_f64());
            let greater = if self.acc_dtype.is_float() { y > x } else { b.to_i128() > a.to_i128() };
            let lower = if self.acc_dtype.is_float() { y < x } else { b.to_i128() < a.to_i128() };
            if x.is_nan() || !(y.is_nan() || if less { lower } else { greater }) { a } else { b }
        };
        let identity = self.fold.identity(self.acc_dtype);
        let folded = match self.fold {
            // Neumaier's compensated sum: more accurate than any order of plain additions.
            Fold::Sum if self.acc_dtype.is_float() => {
                let (mut sum, mut lost) = (0f64, 0f64);
                for x in elements.map(Scalar::to_f64) {
                    let next = sum + x;
                    lost += if sum.abs() >= x.abs() { (sum - next) + x } else { (x - next) + sum };
                    sum = next;
                }
                let total = if sum.is_finite() { sum + lost } else { sum };
                return Ok(Scalar::from_f64(self.dtype, total));
            }
            Fold::Sum => {
                let total = elements.fold(0i128, |n, s| n.wrapping_add(s.to_i128()));
                Scalar::from_i128(self.acc_dtype, total)
            }
            Fold::Product if self.acc_dtype.is_float() => {
                // In f64; for f64 the rounding error of the product is carried along.
                let (mut product, mut lost) = (1f64, 0f64);
                for x in elements.map(Scalar::to_f64) {
                    let next = product * x;
                    lost = lost * x + product.mul_add(x, -next);
                    product = next;
                }
                let total = if (product + lost).is_finite() { product + lost } else { product };
                return Ok(Scalar::from_f64(self.dtype, total));
            }
            Fold::Product => {
                let total = elements.fold(1i128, |n, s| {
                    Scalar::from_i128(self.acc_dtype, n.wrapping_mul(s.to_i128())).to_i128()
                });
                Scalar::from_i128(self.acc_dtype, total)
            }
            Fold::Max => elements.fold(identity, |a, b| nan_first(a, b, false)),
            Fold::Min => elements.fold(identity, |a, b| nan_first(a, b, true)),
            other => return Err(Error::Internal(format!("{} is not a plain reduction", fold_name(other)))),
        };
        Ok(folded.cast(self.dtype))
    }
}

/// For each element of `x` the product of all others, in a form that can be differentiated twice: given which
/// elements are 0, their number, the product of the nonzero elements and the sum of the zero ones (which is
/// 0, but depends on them).
pub(super) fn others(
    x: &Variable,
    zero: &Variable,
    zeros: &Variable,
    rest: &Variable,
    nothing: &Variable,
) -> Variable {
    let without = &(rest / super::where_(zero, 1i64, x));
    let other_zeros = &(zeros - zero.cast(zeros.dtype()));
    let other = nothing - super::where_(zero, x, 0i64);
    // An infinite product times 0 would be NaN.
    let one = other_zeros.equal(1i64) & without.isfinite();
    super::where_(other_zeros.equal(0i64), without, super::where_(one, without * other, 0i64))
}

/// The input axis of an axis of the result, without the axes that were folded.
fn kept_axis(folded: &[usize], axis: usize, input: &Variable) -> Vec<(usize, usize)> {
    let kept = (0..input.ndim()).filter(|from| !folded.contains(from)).nth(axis);
    kept.map(|from| (0, from)).into_iter().collect()
}

/// Axes that have one more before them.
fn behind_batch(axes: &[usize]) -> Vec<usize> {
    axes.iter().map(|axis| axis + 1).collect()
}

impl Reduce {
    /// Whether the result is an integer of floats: the sum of members' terms would be another.
    fn truncates(&self, at: &Shards) -> bool {
        at.inputs.iter().any(|held| held.variable.dtype().is_float()) && !self.dtype.is_float()
    }
}

impl Op for Reduce {
    fn id(&self) -> &'static str {
        "reduce"
    }

    fn attributes(&self) -> Attributes {
        let mut list = vec![
            ("fold".into(), Attr::Text(fold_name(self.fold).into())),
            ("axes".into(), ints(&self.axes)),
            ("acc_dtype".into(), Attr::Type(self.acc_dtype)),
            ("dtype".into(), Attr::Type(self.dtype)),
        ];
        if self.over_nothing {
            list.push(("over_nothing".into(), Attr::Int(1)));
        }
        list
    }

    fn label(&self) -> String {
        format!("{}{:?}", fold_name(self.fold), self.axes)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        if self.fold.has_index() {
            return Err(format!("{} is not a plain reduction", fold_name(self.fold)));
        }
        if self.acc_dtype.is_half() {
            return Err(format!("cannot accumulate in {}", self.acc_dtype));
        }
        if self.has_no_identity() {
            check_not_empty(self.fold, inputs[0], &self.axes)?;
        }
        Ok(vec![reduced_type(inputs[0], &self.axes, self.dtype)?])
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        match self.fold {
            Fold::Sum => {
                let (acc_dtype, dtype) = (self.acc_dtype.real(), self.dtype.real());
                complex::by_parts(Reduce { acc_dtype, dtype, ..self.clone() }, inputs)
            }
            _ => Ok(None),
        }
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let (x, Some(g)) = (&at.inputs[0], &at.output_grads[0]) else { return Ok(vec![None]) };
        if !x.dtype().is_float() || !self.dtype.is_float() {
            return Ok(vec![None]);
        }
        let g = elemwise::cast(&DimShuffle::keep_dims(g, &self.axes)?, x.dtype())?;
        if self.fold == Fold::Sum {
            return Ok(vec![Some(BroadcastLike::of(&g, x)?)]);
        }
        if self.fold == Fold::Product {
            return Ok(vec![Some(self.product_grad(x, &g)?)]);
        }
        // Elements that equal the extreme share its gradient; a NaN equals none, and leaves none.
        let y = elemwise::cast(&DimShuffle::keep_dims(&at.outputs[0], &self.axes)?, x.dtype())?;
        let equal = elemwise::elemwise(scalar::EQ, vec![Operand::Variable(x.clone()), Operand::Variable(y)])?;
        let number = DimShuffle::keep_dims(&Reduce::sum_in(&equal, &self.axes, x.dtype())?, &self.axes)?;
        let rest = super::where_(number.equal(0i64), f64::NAN, 0.0);
        Ok(vec![Some(super::where_(&equal, g.try_div(&number)?, rest).checked()?.clone())])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(Reduce { axes: behind_batch(&self.axes), ..self.clone() })
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        match at.sharding(0) {
            Sharding::Sharded(axis) if self.axes.contains(&axis) => {
                let adds = self.fold == Fold::Sum && self.dtype != DType::Bool && !self.truncates(at);
                if !adds && !matches!(self.fold, Fold::Max | Fold::Min) {
                    return Ok(None);
                }
                let own = Variable::apply1(self.clone(), &[at.part(0, axis)?])?;
                Ok(Some(vec![MemberArray::partial(own, self.fold)]))
            }
            _ => {
                // Terms of bools are or-ed, and those of narrow integers wrap: sums of more are others.
                let dtype = at.inputs[0].variable.dtype();
                let exact = dtype.is_float() || (dtype == self.dtype && dtype != DType::Bool);
                let linear = self.fold == Fold::Sum && exact && !self.truncates(at);
                at.along(self.clone(), linear, |axis| axis_left(&self.axes, axis))
            }
        }
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let shape = without(inputs[0].shape(), &self.axes);
        let size = self.dtype.size();
        let mut bytes = fallible::with_capacity(checked_len(&shape, self.dtype)? * size)?;
        let mut outcome = Ok(());
        each_output(&inputs[0], &self.axes, |elements| match self.fold_scalars(elements) {
            Ok(scalar) => bytes.extend_from_slice(&scalar.to_le_bytes()[..size]),
            Err(error) => outcome = Err(error),
        })?;
        outcome?;
        Ok(vec![Value::from_bytes(self.dtype, &shape, &bytes)?])
    }

    fn axis_sources(&self, axis: usize, inputs: &[Variable]) -> Vec<(usize, usize)> {
        kept_axis(&self.axes, axis, &inputs[0])
    }

    fn element_bounds(
        &self,
        _: usize,
        inputs: &[Known],
        elements: &[Interval],
        _: &[usize],
    ) -> Option<Interval> {
        let (count, each) = (folded(inputs.first()?.shape, &self.axes)?, elements.first()?);
        match self.fold {
            Fold::Sum => Some(each.cast(self.acc_dtype).sum(count).cast(self.dtype)),
            Fold::Max | Fold::Min if count > 0.0 => Some(each.cast(self.acc_dtype).cast(self.dtype)),
            _ => None,
        }
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::reduce(self, to, node, inputs)
    }
}
