//! Arrays made from nothing: ranges and constants.

pub(crate) mod lower;

use super::elemwise::cast;
use super::index_routines::CheckIndex;
use super::indexing::number;
use super::methods::fail;
use super::shape::{BroadcastLike, BroadcastTo, DimShuffle};
use super::shape_argument::IntoSize;
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{IntoOperand, Node, Operand, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Gradient, Known, Op, expect_inputs};
use crate::value::Value;
use workalike_kernels::interval::Interval;
use workalike_kernels::{DType, Scalar};

/// `arange(start, stop, step)` over three 0-d int64 inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ARange {
    /// The dtype of the result, an integer type.
    pub dtype: DType,
}

impl ARange {
    fn len(inputs: &[Known]) -> Result<usize, String> {
        let number = |k: &Known| k.value.and_then(Value::to_scalar).map(Scalar::to_i128);
        let numbers: Option<Vec<i128>> = inputs.iter().map(number).collect();
        match numbers.as_deref() {
            Some(&[start, stop, step]) if step != 0 => {
                let span = if step > 0 { stop - start } else { start - stop };
                let len = if span <= 0 { 0 } else { (span + step.abs() - 1) / step.abs() };
                usize::try_from(len).map_err(|_| format!("{len} elements are too many"))
            }
            Some(_) => Err("the step is 0".into()),
            None => Err("its bounds are not known on the host".into()),
        }
    }
}

impl Op for ARange {
    fn id(&self) -> &'static str {
        "arange"
    }

    fn attributes(&self) -> Attributes {
        vec![("dtype".into(), Attr::Type(self.dtype))]
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 3)?;
        match inputs.iter().find(|t| t.dtype != DType::I64 || t.ndim() != 0) {
            Some(other) => Err(format!("bounds must be int64(), got {other}")),
            None if !self.dtype.is_integer() => Err(format!("{} is not an integer type", self.dtype)),
            None => Ok(vec![TensorType::of_rank(self.dtype, 1)]),
        }
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        Ok(vec![vec![ARange::len(inputs)?]])
    }

    fn shape_values(&self) -> Vec<usize> {
        vec![0, 1, 2]
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None, None, None])
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let known: Vec<Known> = inputs.iter().map(Known::of).collect();
        let fail = |message: String| crate::Error::mismatch("arange", "bounds", message);
        let len = ARange::len(&known).map_err(fail)?;
        let number = |v: &Value| v.to_scalar().map_or(0, Scalar::to_i128);
        let (start, step) = (number(&inputs[0]), number(&inputs[2]));
        let size = self.dtype.size();
        let fill = |bytes: &mut [u8]| {
            for (i, element) in bytes.chunks_exact_mut(size).enumerate() {
                let scalar = Scalar::from_i128(self.dtype, start + step * i as i128);
                element.copy_from_slice(&scalar.to_le_bytes()[..size]);
            }
        };
        Ok(vec![Value::filled(self.dtype, &[len], fill)?])
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }

    fn range(&self, inputs: &[Known]) -> Option<[i128; 2]> {
        // Narrower elements may wrap.
        if self.dtype != DType::I64 {
            return None;
        }
        let known = |at: usize| {
            let scalar = inputs.get(at)?.value?.to_scalar()?;
            scalar.dtype().is_integer().then(|| scalar.to_i128())
        };
        Some([known(0)?, known(2)?])
    }

    fn element_bounds(
        &self,
        _: usize,
        inputs: &[Known],
        _: &[Interval],
        shape: &[usize],
    ) -> Option<Interval> {
        let [start, step] = self.range(inputs)?.map(|number| number as f64);
        let last = start + step * (*shape.first()? as f64 - 1.0);
        Some(Interval::new(self.dtype, start.min(last), start.max(last)))
    }
}

/// A 0-d int64 Variable from a whole number or a 0-d integer Variable.
pub(crate) fn int_scalar(op: &str, operand: impl IntoOperand) -> Result<Variable> {
    let whole = |n: i128| match i64::try_from(n) {
        Ok(n) => Ok(Variable::constant(n)),
        Err(_) => Err(fail(op, format!("{n} is out of range for int64"))),
    };
    match operand.into_operand() {
        Operand::Int(n) => whole(n),
        Operand::Variable(v) if v.checked()?.ndim() == 0 && v.dtype().is_integer() => {
            match v.constant_value().and_then(Value::to_scalar) {
                Some(n) => whole(n.to_i128()),
                None => cast(&v, DType::I64),
            }
        }
        other => Err(fail(op, format!("expected a whole number or a 0-d integer, got {other}"))),
    }
}

/// An extent: as [`int_scalar`], and not negative; for a Variable that is checked at each call.
pub(crate) fn extent_scalar(op: &'static str, operand: impl IntoOperand) -> Result<Variable> {
    let extent = int_scalar(op, operand)?;
    match extent.constant_value().and_then(Value::to_scalar).map(|n| n.to_i128()) {
        Some(n) if n < 0 => Err(fail(op, format!("extent {n} is negative"))),
        Some(_) => Ok(extent),
        None => CheckIndex::of(op, &extent, &number(i64::MAX)),
    }
}

/// `0, 1, .. stop - 1`; see [`arange_between`].
#[track_caller]
pub fn arange(stop: impl IntoOperand) -> Variable {
    arange_between(0, stop, 1)
}

/// `start, start + step, ..` below `stop` (above, if `step` is negative), given as numbers or 0-d Variables
/// (NumPy's `arange`).
///
/// Integers give int64. If one of the arguments is a float, all are computed as floats: `ceil((stop - start)
/// / step)` elements `start + i * step`, so by rounding the last one may reach `stop`; [`linspace`] takes a
/// count instead.
///
/// ```
/// use workalike::prelude::*;
/// let f = function([] as [&Variable; 0]).output(arange(2.7)).output(arange_between(5, 0, -2)).compile()?;
/// let outputs = f.call(args![])?;
/// assert_eq!(outputs[0].to_vec::<f64>()?, [0.0, 1.0, 2.0]);
/// assert_eq!(outputs[1].to_vec::<i64>()?, [5, 3, 1]);
/// # Ok::<(), workalike::Error>(())
/// ```
///
/// # Errors
/// (In the result.) If one is a bool or has axes, or the step is 0; at run time for Variables.
#[track_caller]
pub fn arange_between(start: impl IntoOperand, stop: impl IntoOperand, step: impl IntoOperand) -> Variable {
    let bounds = [start.into_operand(), stop.into_operand(), step.into_operand()];
    let _scope = source_location::enter();
    let build = || {
        if bounds.iter().any(|b| b.default_dtype().is_float()) {
            return float_range(&bounds);
        }
        let bounds: Vec<Variable> =
            bounds.iter().map(|b| int_scalar("arange", b.clone())).collect::<Result<_>>()?;
        Variable::apply1(ARange { dtype: DType::I64 }, &bounds)
    };
    build().unwrap_or_else(Variable::poison)
}

/// [`arange_between`] of floats: its length is computed in float64.
fn float_range(bounds: &[Operand; 3]) -> Result<Variable> {
    let whole = |b: &Operand| match b {
        // The others are computed in the dtype of the floats.
        Operand::Variable(v) => v.dtype() == DType::Bool || v.ndim() > 0,
        Operand::Bool(_) => true,
        _ => false,
    };
    if let Some(other) = bounds.iter().find(|b| whole(b)) {
        return Err(fail("arange", format!("expected a number or a 0-d Variable of numbers, got {other}")));
    }
    let resolved = Operand::resolve_for("arange", bounds.to_vec());
    let dtype = resolved.iter().map(Variable::dtype).reduce(DType::promote).unwrap_or(DType::F64);
    let wide: Vec<Variable> =
        resolved.iter().map(|b| cast(b.checked()?, DType::F64)).collect::<Result<_>>()?;
    let known = |v: &Variable| v.constant_value().and_then(Value::to_scalar).map(Scalar::to_f64);
    if known(&resolved[2]) == Some(0.0) {
        return Err(fail("arange", "the step is 0".into()));
    }
    let len = match [known(&resolved[0]), known(&resolved[1]), known(&resolved[2])] {
        [Some(start), Some(stop), Some(step)] => {
            let len = ((stop - start) / step).ceil();
            if !len.is_finite() || len >= 2f64.powi(53) {
                return Err(fail("arange", format!("{len} elements from {start} to {stop} by {step}")));
            }
            number(len.max(0.0) as i64)
        }
        _ => cast(&wide[1].try_sub(&wide[0])?.try_div(&wide[2])?.try_ceil()?.try_maximum(0.0)?, DType::I64)?,
    };
    let at = Variable::apply1(ARange { dtype: DType::I64 }, &[number(0), len, number(1)])?;
    let range = cast(&at, DType::F64)?.try_mul(&wide[2])?.try_add(&wide[0])?;
    cast(&range, dtype)
}

/// Zeros of the type and shape of `x`.
#[track_caller]
pub fn zeros_like(x: impl Into<Variable>) -> Variable {
    let _scope = source_location::enter();
    let x = x.into();
    let zero = Variable::constant(Value::scalar(Scalar::from_f64(x.dtype(), 0.0)));
    let build = || BroadcastLike::of(&zero, x.checked()?);
    build().unwrap_or_else(Variable::poison)
}

/// Ones of the type and shape of `x`.
#[track_caller]
pub fn ones_like(x: impl Into<Variable>) -> Variable {
    full_like(x, 1i64)
}

/// `value` in the type and shape of `x`.
#[track_caller]
pub fn full_like(x: impl Into<Variable>, value: impl IntoOperand) -> Variable {
    let _scope = source_location::enter();
    let x = x.into();
    let build = || {
        let value = Operand::resolve(vec![Operand::Variable(x.checked()?.clone()), value.into_operand()])
            .swap_remove(1);
        BroadcastLike::of(&cast(&value, x.dtype())?, &x)
    };
    build().unwrap_or_else(Variable::poison)
}

/// `value` in a shape of numbers and 0-d integer Variables (Theano's `alloc`). Of `0.0` it is a weak float64,
/// of `0.0f32` a float32: see [`Variable`].
#[track_caller]
pub fn full(shape: impl IntoSize, value: impl IntoOperand) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let (extents, further) = shape.into_size().extents("full")?;
        let value = value.into_operand();
        let weak = value.is_weak();
        let value = Operand::resolve(vec![value]).swap_remove(0);
        let value = DimShuffle::pad_left(value.checked()?, extents.len())?;
        Ok(BroadcastTo::of(&value, extents, &further)?.with_weakness(weak))
    };
    build().unwrap_or_else(Variable::poison)
}

/// `count` numbers from `start` to `stop` in equal steps, both included, as float64.
#[track_caller]
pub fn linspace(start: impl IntoOperand, stop: impl IntoOperand, count: usize) -> Variable {
    let _scope = source_location::enter();
    let build = || {
        let ends = vec![start.into_operand(), stop.into_operand()];
        let ends: Vec<Variable> = ends
            .into_iter()
            .map(|e| cast(&Operand::resolve(vec![e]).swap_remove(0), DType::F64))
            .collect::<Result<_>>()?;
        let (start, stop) = (&ends[0], &ends[1]);
        let at = &arange(count as i64);
        let step = (stop - start) / count.saturating_sub(1).max(1) as f64;
        // The last is `stop` itself, without the rounding errors of the steps.
        let last = at.equal(count as i64 - 1) & at.greater(0i64);
        super::where_(last, stop, at.cast(DType::F64) * step + start).checked().cloned()
    };
    build().unwrap_or_else(Variable::poison)
}
