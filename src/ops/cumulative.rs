//! Cumulative folds: each element becomes the fold of all up to it, along an axis.

pub(crate) mod lower;

use super::advanced_indexing::AdvancedIncSubtensor;
use super::axes::Axes;
use super::complex;
use super::creation::{arange, zeros_like};
use super::elementwise_methods::where_;
use super::elemwise::cast;
use super::methods::{fail, methods};
use super::reduce::{Reduce, fold_name};
use super::shape::{DimShuffle, ShapeOf};
use crate::error::Result;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, BatchedOutputs, Gradient, Holds, Known, Op, ShardedOutputs, Shards,
    expect_inputs,
};
use crate::value::Value;
use workalike_kernels::interval::Interval;
use workalike_kernels::nest::Fold;
use workalike_kernels::{DType, Scalar};

/// The running sum, product, maximum or minimum along an axis, in the dtype of what is folded; halves
/// accumulate in float32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CumOp {
    /// Which fold; not ArgMax or ArgMin. Of bools only the extremes.
    pub fold: Fold,
    /// Along which axis.
    pub axis: usize,
    /// From the end of the axis.
    pub reverse: bool,
}

/// An array's extents about an axis: the product of those before it, its own, and the product of those after
/// it.
pub(crate) fn about(shape: &[usize], axis: usize) -> [usize; 3] {
    [shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product()]
}

/// The position along an axis of `x`, as int64 with the rank of `x`; its other axes have extent 1.
pub(super) fn positions(x: &Variable, axis: usize) -> Result<Variable> {
    let order = (0..x.ndim()).map(|a| (a == axis).then_some(0)).collect();
    DimShuffle::of(&arange(ShapeOf::of(x, axis)?), order)
}

/// A running fold of scalars: float sums are compensated, as the reference of a whole sum is.
struct Running {
    fold: Fold,
    dtype: DType,
    started: bool,
    best: Scalar,
    whole: i128,
    float: f64,
    lost: f64,
}

impl Running {
    fn new(fold: Fold, dtype: DType) -> Running {
        let best = fold.identity(dtype);
        let one = i128::from(fold == Fold::Product);
        Running { fold, dtype, started: false, best, whole: one, float: one as f64, lost: 0.0 }
    }

    fn next(&mut self, x: Scalar) -> Scalar {
        let extreme = matches!(self.fold, Fold::Max | Fold::Min);
        if !self.dtype.is_float() && !extreme {
            let (a, b) = (self.whole, x.to_i128());
            let next = if self.fold == Fold::Sum { a.wrapping_add(b) } else { a.wrapping_mul(b) };
            let next = Scalar::from_i128(self.dtype, next);
            self.whole = next.to_i128();
            return next;
        }
        let v = x.to_f64();
        match self.fold {
            Fold::Sum => {
                let next = self.float + v;
                let (large, small) =
                    if self.float.abs() >= v.abs() { (self.float, v) } else { (v, self.float) };
                self.lost += (large - next) + small;
                self.float = next;
            }
            Fold::Product => {
                let next = self.float * v;
                self.lost = self.lost * v + self.float.mul_add(v, -next);
                self.float = next;
            }
            _ => {
                let (old, max) = (self.best, self.fold == Fold::Max);
                let (above, below) = if self.dtype.is_float() {
                    (v > old.to_f64(), v < old.to_f64())
                } else {
                    (x.to_i128() > old.to_i128(), x.to_i128() < old.to_i128())
                };
                let better = !old.to_f64().is_nan() && (v.is_nan() || if max { above } else { below });
                if better || !self.started {
                    self.best = x;
                }
                self.started = true;
                return self.best;
            }
        }
        let exact = self.float + self.lost;
        Scalar::from_f64(self.dtype, if exact.is_finite() { exact } else { self.float })
    }
}

impl CumOp {
    fn of(x: &Variable, fold: Fold, axis: usize, reverse: bool) -> Result<Variable> {
        Variable::apply1(CumOp { fold, axis, reverse }, std::slice::from_ref(x))
    }

    /// Whether a position is the first along the axis, as bools like `x`.
    fn is_first(&self, x: &Variable) -> Result<Variable> {
        let at = positions(x, self.axis)?;
        Ok(if self.reverse {
            let last = ShapeOf::of(x, self.axis)?.cast(DType::I64) - 1i64;
            at.equal(last)
        } else {
            at.equal(0i64)
        })
    }

    /// All later results have the element as a factor; the first 0 is taken out of them.
    fn product_grad(&self, x: &Variable, y: &Variable, g: &Variable) -> Result<Variable> {
        let back = |of: &Variable| CumOp::of(of, Fold::Sum, self.axis, !self.reverse);
        let zero = &x.equal(0i64);
        let zeros = CumOp::of(&cast(zero, DType::I64)?, Fold::Sum, self.axis, self.reverse)?;
        let first = &(zero & &zeros.equal(1i64));
        let rest = CumOp::of(&where_(first, 1i64, x), Fold::Product, self.axis, self.reverse)?;
        let at_zeros = where_(first, back(&g.try_mul(&rest)?)?, 0i64);
        Ok(where_(zero, at_zeros, back(&g.try_mul(y)?)?.try_div(where_(zero, 1i64, x))?))
    }

    /// A result's gradient goes to the element that it equals: the first of equals.
    fn extreme_grad(&self, x: &Variable, y: &Variable, g: &Variable) -> Result<Variable> {
        let before = y.try_roll(if self.reverse { -1 } else { 1 }, self.axis as isize)?;
        let new = &(y.not_equal(before) | self.is_first(x)?);
        let at = positions(x, self.axis)?;
        let (unknown, latest) = if self.reverse { (i64::MAX, Fold::Min) } else { (0, Fold::Max) };
        let taken = CumOp::of(&where_(new, at, unknown), latest, self.axis, self.reverse)?;
        let mut inputs = vec![zeros_like(x), g.clone()];
        for axis in 0..x.ndim() {
            inputs.push(if axis == self.axis { taken.clone() } else { positions(x, axis)? });
        }
        Variable::apply1(AdvancedIncSubtensor { set: false }, &inputs)
    }
}

impl Op for CumOp {
    fn id(&self) -> &'static str {
        "cumulative"
    }

    fn attributes(&self) -> Attributes {
        vec![
            ("fold".into(), Attr::Text(fold_name(self.fold).into())),
            ("axis".into(), Attr::Int(self.axis as i64)),
            ("reverse".into(), Attr::Int(i64::from(self.reverse))),
        ]
    }

    fn label(&self) -> String {
        let back = if self.reverse { ", reverse" } else { "" };
        format!("cum{}[{}{back}]", fold_name(self.fold), self.axis)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        let extreme = matches!(self.fold, Fold::Max | Fold::Min);
        let fits = self.axis < inputs[0].ndim() && (extreme || inputs[0].dtype != DType::Bool);
        if self.fold.has_index() || !fits {
            return Err(format!("{} does not fit {}", self.label(), inputs[0]));
        }
        Ok(vec![inputs[0].clone()])
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        match self.fold {
            Fold::Sum => complex::by_parts(*self, inputs),
            _ => Ok(None),
        }
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let (x, y, Some(g)) = (&at.inputs[0], &at.outputs[0], &at.output_grads[0]) else {
            return Ok(vec![None]);
        };
        if !x.dtype().is_float() {
            return Ok(vec![None]);
        }
        Ok(vec![Some(match self.fold {
            Fold::Sum => CumOp::of(g, Fold::Sum, self.axis, !self.reverse)?,
            Fold::Product => self.product_grad(x, y, g)?,
            _ => self.extreme_grad(x, y, g)?,
        })])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(CumOp { axis: self.axis + 1, ..*self })
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        at.along(*self, self.fold == Fold::Sum, |axis| (axis != self.axis).then_some(axis))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let (dtype, shape) = (inputs[0].dtype(), inputs[0].shape());
        if shape.contains(&0) {
            return Ok(vec![inputs[0].clone()]);
        }
        let [outer, n, inner] = about(shape, self.axis);
        let x = inputs[0].try_map(|element| element)?;
        let size = dtype.size();
        let result = Value::filled(dtype, shape, |bytes| {
            for first in (0..outer).flat_map(|o| (0..inner).map(move |i| o * n * inner + i)) {
                let mut running = Running::new(self.fold, dtype);
                for step in 0..n {
                    let step = if self.reverse { n - 1 - step } else { step };
                    let at = first + step * inner;
                    let y = running.next(x[at]).to_le_bytes();
                    bytes[at * size..(at + 1) * size].copy_from_slice(&y[..size]);
                }
            }
        })?;
        Ok(vec![result])
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis)]
    }

    fn element_bounds(
        &self,
        _: usize,
        _: &[Known],
        elements: &[Interval],
        shape: &[usize],
    ) -> Option<Interval> {
        let (count, each) = (*shape.get(self.axis)? as f64, elements.first()?);
        match self.fold {
            Fold::Sum => Some(each.sum(count)),
            Fold::Max | Fold::Min => Some(*each),
            _ => None,
        }
    }

    fn ascends_along(&self, _: usize, axis: usize, inputs: &[Known], elements: &[Interval]) -> Holds {
        let ([x], [each]) = (inputs, elements) else { return Holds::Unknown };
        let sum = each.sum(x.shape.get(self.axis).map_or(0.0, |&extent| extent as f64));
        let ascends = match self.fold {
            // A sum that may wrap may be anything in its dtype.
            Fold::Sum => each.low >= 0.0 && sum != Interval::of_dtype(each.dtype),
            Fold::Max => true,
            _ => false,
        };
        if ascends && !self.reverse && axis == self.axis { Holds::Always } else { Holds::Unknown }
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }
}

/// Along one axis, or over all elements in row-major order; a result of another dtype and an accumulator as
/// in sums.
fn cumulative(op: &str, fold: Fold, x: &Variable, axes: &impl Axes) -> Result<Variable> {
    let choices = axes.choices();
    let list = axes.axes(x.ndim()).map_err(|m| fail(op, m))?;
    let flat;
    let (x, axis) = match list[..] {
        [axis] => (x, axis),
        _ if list.len() == x.ndim() => {
            flat = x.try_flatten()?;
            (&flat, 0)
        }
        _ => return Err(fail(op, format!("one axis or all, not {list:?} of {}", x.ty()))),
    };
    if matches!(fold, Fold::Max | Fold::Min) {
        return CumOp::of(x, fold, axis, false);
    }
    let dtype = choices.dtype.unwrap_or_else(|| Reduce::total_dtype(x.dtype()));
    let acc_dtype = choices.acc_dtype.unwrap_or(dtype);
    if acc_dtype == DType::Bool || (acc_dtype.is_integer() && x.dtype().real().is_float()) {
        return Err(fail(op, format!("{} cannot be accumulated in {acc_dtype}", x.ty())));
    }
    cast(&CumOp::of(&cast(x, acc_dtype)?, fold, axis, false)?, dtype)
}

methods! {
    /// Running sum along an axis, or over all elements in row-major order (`..`). Bool and integers sum to
    /// int64 or uint64, as in NumPy; halves accumulate in float32.
    cumsum / try_cumsum(x, axis: impl Axes) { cumulative("cumsum", Fold::Sum, x, &axis) }
    /// Running product, with the dtypes of [`Variable::cumsum`].
    cumprod / try_cumprod(x, axis: impl Axes) { cumulative("cumprod", Fold::Product, x, &axis) }
    /// Running maximum: NumPy's `maximum.accumulate`. After a NaN all are NaN.
    cummax / try_cummax(x, axis: impl Axes) { cumulative("cummax", Fold::Max, x, &axis) }
    /// Running minimum: NumPy's `minimum.accumulate`. After a NaN all are NaN.
    cummin / try_cummin(x, axis: impl Axes) { cumulative("cummin", Fold::Min, x, &axis) }
}
