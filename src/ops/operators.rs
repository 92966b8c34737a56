//! Operators and NumPy-like methods of Variables. Each method has a `try_` form that returns the error at once.

use super::advanced::{AdvancedIncSubtensor, AdvancedSubtensor};
use super::creation::int_scalar;
use super::elemwise::{cast, elemwise, elemwise_at};
use super::index_expression::{Ix, slots_of};
use super::reduce::{self, ArgReduce, Axes, Reduce};
use super::shape::{BroadcastTo, DimShuffle, Extent, Reshape, ShapeOf};
use super::subtensor::{IncSubtensor, Subtensor};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{IntoOperand, Operand, SharedVariable, Variable};
use crate::kernels::nest::Fold;
use crate::kernels::ops::{self as scalar, ScalarOp};
use std::panic::Location;

/// Declares a method and its `try_` form from one definition.
macro_rules! methods {
    ($($(#[doc = $doc:literal])* $name:ident / $try_name:ident ($self_:ident $(, $arg:ident : $ty:ty)*) $body:block)*) => {
        impl Variable {
            $(
                $(#[doc = $doc])*
                #[must_use]
                #[track_caller]
                pub fn $name(&self $(, $arg: $ty)*) -> Variable {
                    self.$try_name($($arg),*).unwrap_or_else(Variable::poison)
                }

                #[doc = concat!("[`Variable::", stringify!($name), "`], with its error at once.\n\n# Errors\nIf the types do not fit.")]
                #[track_caller]
                pub fn $try_name(&self $(, $arg: $ty)*) -> Result<Variable> {
                    let $self_ = self.checked()?;
                    $body
                }
            )*
        }
    };
}

#[track_caller]
fn unary(op: ScalarOp, x: &Variable) -> Result<Variable> {
    elemwise(op, vec![Operand::Variable(x.clone())])
}

#[track_caller]
fn binary(op: ScalarOp, x: &Variable, y: impl IntoOperand) -> Result<Variable> {
    elemwise(op, vec![Operand::Variable(x.clone()), y.into_operand()])
}

#[track_caller]
fn fail(op: &str, message: String) -> Error {
    Error::Expression { op: op.into(), message, place: Location::caller() }
}

#[track_caller]
fn extreme(fold: Fold, x: &Variable, axes: impl Axes) -> Result<Variable> {
    let axes = axes.axes(x.ndim()).map_err(|m| fail("max/min", m))?;
    let acc_dtype = x.dtype().register();
    Variable::apply1(Reduce { fold, axes, acc_dtype, dtype: x.dtype() }, std::slice::from_ref(x))
}

#[track_caller]
fn extreme_index(fold: Fold, x: &Variable, axes: impl Axes) -> Result<Variable> {
    let axes = axes.axes(x.ndim()).map_err(|m| fail("argmax/argmin", m))?;
    Variable::apply1(ArgReduce { fold, axes }, std::slice::from_ref(x))
}

methods! {
    /// `e` to the power of each element.
    exp / try_exp(x) { unary(scalar::EXP, x) }
    /// Natural logarithm.
    log / try_log(x) { unary(scalar::LOG, x) }
    /// `log(1 + x)`, exact near 0.
    log1p / try_log1p(x) { unary(scalar::LOG1P, x) }
    /// `exp(x) - 1`, exact near 0.
    expm1 / try_expm1(x) { unary(scalar::EXPM1, x) }
    /// Hyperbolic tangent.
    tanh / try_tanh(x) { unary(scalar::TANH, x) }
    /// `1 / (1 + exp(-x))`.
    sigmoid / try_sigmoid(x) { unary(scalar::SIGMOID, x) }
    /// `x * x`.
    sqr / try_sqr(x) { unary(scalar::SQR, x) }
    /// Square root.
    sqrt / try_sqrt(x) { unary(scalar::SQRT, x) }
    /// Sine.
    sin / try_sin(x) { unary(scalar::SIN, x) }
    /// Cosine.
    cos / try_cos(x) { unary(scalar::COS, x) }
    /// Logical not.
    not / try_not(x) { unary(scalar::NOT, x) }
    /// The larger of two, NaN if either is.
    maximum / try_maximum(x, other: impl IntoOperand) { binary(scalar::MAXIMUM, x, other) }
    /// The smaller of two, NaN if either is.
    minimum / try_minimum(x, other: impl IntoOperand) { binary(scalar::MINIMUM, x, other) }
    /// `x == other`, elementwise.
    equal / try_equal(x, other: impl IntoOperand) { binary(scalar::EQ, x, other) }
    /// `x != other`, elementwise.
    not_equal / try_not_equal(x, other: impl IntoOperand) { binary(scalar::NE, x, other) }
    /// `x < other`, elementwise.
    less / try_less(x, other: impl IntoOperand) { binary(scalar::LT, x, other) }
    /// `x <= other`, elementwise.
    less_equal / try_less_equal(x, other: impl IntoOperand) { binary(scalar::LE, x, other) }
    /// `x > other`, elementwise.
    greater / try_greater(x, other: impl IntoOperand) { binary(scalar::GT, x, other) }
    /// `x >= other`, elementwise.
    greater_equal / try_greater_equal(x, other: impl IntoOperand) { binary(scalar::GE, x, other) }
    /// Both are true.
    and / try_and(x, other: impl IntoOperand) { binary(scalar::AND, x, other) }
    /// Either is true.
    or / try_or(x, other: impl IntoOperand) { binary(scalar::OR, x, other) }
    /// `x + other`.
    plus / try_add(x, other: impl IntoOperand) { binary(scalar::ADD, x, other) }
    /// `x - other`.
    minus / try_sub(x, other: impl IntoOperand) { binary(scalar::SUB, x, other) }
    /// `x * other`.
    times / try_mul(x, other: impl IntoOperand) { binary(scalar::MUL, x, other) }
    /// `x / other` in floats.
    over / try_div(x, other: impl IntoOperand) { binary(scalar::DIV, x, other) }
    /// Any elementwise op of one argument, by its row.
    elementwise / try_elementwise(x, op: ScalarOp) { unary(op, x) }
    /// Converted to another dtype.
    cast / try_cast(x, dtype: DType) { cast(x, dtype) }
    /// Sum over axes (`..`, `-1`, `[0, 2]`). Bool and integers sum to int64 or uint64, as in NumPy; halves accumulate in float32.
    sum / try_sum(x, axes: impl Axes) {
        let axes = axes.axes(x.ndim()).map_err(|m| fail("sum", m))?;
        Variable::apply1(Reduce::sum(x.dtype(), axes), std::slice::from_ref(x))
    }
    /// Mean over all elements.
    mean / try_mean(x) { reduce::mean(x, (0..x.ndim()).collect()) }
    /// Mean over axes.
    mean_axes / try_mean_axes(x, axes: impl Axes) {
        let axes = axes.axes(x.ndim()).map_err(|m| fail("mean", m))?;
        reduce::mean(x, axes)
    }
    /// Maximum over axes; NaN if there is one.
    max / try_max(x, axes: impl Axes) { extreme(Fold::Max, x, axes) }
    /// Minimum over axes; NaN if there is one.
    min / try_min(x, axes: impl Axes) { extreme(Fold::Min, x, axes) }
    /// Index of the maximum over axes, as int64; the first among equals.
    argmax / try_argmax(x, axes: impl Axes) { extreme_index(Fold::ArgMax, x, axes) }
    /// Index of the minimum over axes, as int64; the first among equals.
    argmin / try_argmin(x, axes: impl Axes) { extreme_index(Fold::ArgMin, x, axes) }
    /// NumPy's `dot` for one and two axes.
    dot / try_dot(x, other: impl Into<Variable>) { super::product::dot(x, &other.into()) }
    /// Axes permuted; `None` is a new axis, axes of static extent 1 may be left out.
    dimshuffle / try_dimshuffle(x, order: impl Into<Vec<Option<usize>>>) { DimShuffle::of(x, order.into()) }
    /// Axes in reverse order.
    t / try_t(x) { DimShuffle::of(x, (0..x.ndim()).rev().map(Some).collect()) }
    /// A new axis of extent 1 before this position (negative: from the end).
    expand_dims / try_expand_dims(x, axis: isize) {
        let at = super::normalize_axis(axis, x.ndim() + 1).map_err(|m| fail("expand_dims", m))?;
        DimShuffle::keep_dims(x, &[at])
    }
    /// The same elements under another shape; one extent may be -1.
    reshape / try_reshape(x, shape: impl AsRef<[isize]>) {
        let extents = shape.as_ref().iter().map(|&e| match e {
            -1 => Ok(Extent::Infer),
            e => usize::try_from(e).map(Extent::Fixed).map_err(|_| fail("reshape", format!("extent {e} is negative"))),
        });
        Reshape::of(x, extents.collect::<Result<_>>()?, &[])
    }
    /// The same elements under a shape of numbers and 0-d integer Variables.
    reshape_to / try_reshape_to(x, shape: Vec<Operand>) {
        let (extents, further) = extents_from(shape)?;
        Reshape::of(x, extents, &further)
    }
    /// Repeated to another shape (NumPy's `broadcast_to`); axes of static extent 1 repeat.
    broadcast_to / try_broadcast_to(x, shape: impl AsRef<[usize]>) {
        BroadcastTo::of(x, shape.as_ref().iter().map(|&e| Extent::Fixed(e)).collect(), &[])
    }
    /// The extent of an axis, as a 0-d int64.
    extent / try_extent(x, axis: isize) {
        let axis = super::normalize_axis(axis, x.ndim()).map_err(|m| fail("extent", m))?;
        ShapeOf::of(x, axis)
    }
    /// `x[..]` with the entries of [`crate::idx!`]: numbers, slices, integer Variables; integer arrays on all leading axes.
    index / try_index(x, entries: impl AsRef<[Ix]>) {
        let entries = entries.as_ref();
        if let Some(arrays) = arrays_of(x, entries)? {
            let inputs: Vec<Variable> = std::iter::once(x.clone()).chain(arrays).collect();
            return Variable::apply1(AdvancedSubtensor, &inputs);
        }
        let (slots, bounds) = slots_of(entries)?;
        let inputs: Vec<Variable> = std::iter::once(x.clone()).chain(bounds).collect();
        Variable::apply1(Subtensor { slots }, &inputs)
    }
    /// `x` with `x[entries]` replaced by `y`.
    set_index / try_set_index(x, entries: impl AsRef<[Ix]>, y: impl IntoOperand) { with_part(x, entries.as_ref(), y, true) }
    /// `x` with `y` added to `x[entries]`; increments of repeated indices add up.
    inc_index / try_inc_index(x, entries: impl AsRef<[Ix]>, y: impl IntoOperand) { with_part(x, entries.as_ref(), y, false) }
}

#[track_caller]
fn extents_from(shape: Vec<Operand>) -> Result<(Vec<Extent>, Vec<Variable>)> {
    let mut further = Vec::new();
    let extents = shape.into_iter().map(|operand| match operand {
        Operand::Int(-1) => Ok(Extent::Infer),
        Operand::Int(n) => usize::try_from(n)
            .map(Extent::Fixed)
            .map_err(|_| fail("reshape", format!("extent {n} is negative"))),
        other => {
            further.push(int_scalar(other)?);
            Ok(Extent::Input(further.len() - 1))
        }
    });
    Ok((extents.collect::<Result<_>>()?, further))
}

/// The index arrays, if there is an array among the entries.
#[track_caller]
fn arrays_of(x: &Variable, entries: &[Ix]) -> Result<Option<Vec<Variable>>> {
    let is_array = |entry: &Ix| matches!(entry, Ix::At(v) if v.ndim() > 0);
    if !entries.iter().any(is_array) {
        return Ok(None);
    }
    let trailing =
        entries.iter().rev().take_while(|e| matches!(e, Ix::Slice { start: None, stop: None, step: 1 }));
    let leading = &entries[..entries.len() - trailing.count()];
    let arrays: Option<Vec<&Variable>> =
        leading.iter().map(|e| if let Ix::At(v) = e { Some(v) } else { None }).collect();
    let Some(arrays) = arrays else {
        let message = format!("{}: integer arrays must come first, before any slice", x.ty());
        return Err(fail("index", message));
    };
    let rank = arrays.iter().map(|v| v.ndim()).max().unwrap_or(0);
    arrays.into_iter().map(|v| DimShuffle::pad_left(v.checked()?, rank)).collect::<Result<_>>().map(Some)
}

#[track_caller]
fn with_part(x: &Variable, entries: &[Ix], y: impl IntoOperand, set: bool) -> Result<Variable> {
    let y = Operand::resolve(vec![Operand::Variable(x.clone()), y.into_operand()]).swap_remove(1);
    let y = cast(y.checked()?, x.dtype())?;
    if let Some(arrays) = arrays_of(x, entries)? {
        let rank = arrays[0].ndim() + x.ndim().saturating_sub(arrays.len());
        let first = [x.clone(), DimShuffle::pad_left(&y, rank)?];
        let inputs: Vec<Variable> = first.into_iter().chain(arrays).collect();
        return Variable::apply1(AdvancedIncSubtensor { set }, &inputs);
    }
    let (slots, bounds) = slots_of(entries)?;
    let indices = slots.iter().filter(|s| matches!(s, super::Slot::Index(_))).count();
    let first = [x.clone(), DimShuffle::pad_left(&y, x.ndim().saturating_sub(indices))?];
    let inputs: Vec<Variable> = first.into_iter().chain(bounds).collect();
    Variable::apply1(IncSubtensor { slots, set }, &inputs)
}

/// `yes` where `condition`, else `no` (NumPy's `where`).
#[track_caller]
pub fn where_(condition: impl IntoOperand, yes: impl IntoOperand, no: impl IntoOperand) -> Variable {
    let operands = vec![condition.into_operand(), yes.into_operand(), no.into_operand()];
    elemwise_at(scalar::WHERE, operands, Location::caller()).unwrap_or_else(Variable::poison)
}

/// Collects index entries: `x.index(idx![0, 1..5, .., &i, range(&a, &b)])`.
#[macro_export]
macro_rules! idx {
    ($($entry:expr),* $(,)?) => { [$($crate::ops::Ix::from($entry)),*] };
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident),*) => { $(
        operators!(@sides $trait $method $op; Variable, &Variable, SharedVariable, &SharedVariable);
        // One float and one integer type on the left, so that the type of a literal there is never in doubt.
        operators!(@numbers $trait $method $op; f64, i64);
    )* };
    (@sides $trait:ident $method:ident $op:ident; $($left:ty),*) => { $(
        impl<R: IntoOperand> std::ops::$trait<R> for $left {
            type Output = Variable;

            #[track_caller]
            fn $method(self, other: R) -> Variable {
                elemwise_at(scalar::$op, vec![self.into_operand(), other.into_operand()], Location::caller())
                    .unwrap_or_else(Variable::poison)
            }
        }
    )* };
    (@numbers $trait:ident $method:ident $op:ident; $($left:ty),*) => { $(
        operators!(@right $trait $method $op $left; Variable, &Variable, SharedVariable, &SharedVariable);
    )* };
    (@right $trait:ident $method:ident $op:ident $left:ty; $($right:ty),*) => { $(
        impl std::ops::$trait<$right> for $left {
            type Output = Variable;

            #[track_caller]
            fn $method(self, other: $right) -> Variable {
                elemwise_at(scalar::$op, vec![self.into_operand(), other.into_operand()], Location::caller())
                    .unwrap_or_else(Variable::poison)
            }
        }
    )* };
}
operators!(Add add ADD, Sub sub SUB, Mul mul MUL, Div div DIV);

macro_rules! negation {
    ($($t:ty),*) => { $(
        impl std::ops::Neg for $t {
            type Output = Variable;

            #[track_caller]
            fn neg(self) -> Variable {
                elemwise_at(scalar::NEG, vec![self.into_operand()], Location::caller()).unwrap_or_else(Variable::poison)
            }
        }
    )* };
}
negation!(Variable, &Variable, SharedVariable, &SharedVariable);
