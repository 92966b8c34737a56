//! Positions as numbers: checked, wrapped or clipped; flat ones as one for each axis and back; choices among
//! arrays.

pub(crate) mod lower;

use super::axes::normalize_axis;
use super::creation::extent_scalar;
use super::elementwise_methods::where_;
use super::elemwise::cast;
use super::index_expression::Ix;
use super::indexing::{missing, number};
use super::methods::{fail, methods};
use crate::error::{Error, Result};
use crate::fallible;
use crate::graph::{IntoOperand, Node, Operand, TensorType, Variable, source_location};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Gradient, Known, Op, ShardedOutputs, Shards, expect_inputs};
use crate::value::Value;
use workalike_kernels::DType;
use workalike_kernels::interval::Interval;

/// The treatment of a position that is out of range: NumPy's modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// An error. A negative position is one too, unless documented otherwise.
    #[default]
    Raise,
    /// It wraps around.
    Wrap,
    /// The nearest one.
    Clip,
}

/// The callers that have positions checked, and their names for a position.
pub(super) const CALLERS: [(&str, &str); 10] = [
    ("unravel_index", "an index is out of bounds for the shape"),
    ("ravel_multi_index", "an invalid entry in the coordinates"),
    ("choose", "an invalid entry in the choices"),
    ("eye", "an extent is negative"),
    ("tri", "an extent is negative"),
    ("draw", "an extent is negative"),
    ("pad", "an empty axis has no element to extend it by"),
    ("repeat", "a count is negative"),
    ("bincount", "a number is negative, or too large for the length asked for"),
    ("segments", "a segment's number is negative, or not below the number of segments"),
];

/// Its first input, integers, as int64. An element below 0, or not below the second input, a 0-d int64, is an
/// error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckIndex {
    /// The caller that an error names, and its name for a position.
    pub(super) caller: (&'static str, &'static str),
}

impl CheckIndex {
    pub(super) fn decode(name: &str) -> Result<CheckIndex, String> {
        let caller = CALLERS.iter().find(|c| c.0 == name);
        Ok(CheckIndex { caller: *caller.ok_or_else(|| format!("unknown caller {name}"))? })
    }

    /// `x`, checked to be below `extent` for this caller.
    pub(super) fn of(caller: &str, x: &Variable, extent: &Variable) -> Result<Variable> {
        let op = CheckIndex::decode(caller).map_err(Error::Internal)?;
        let bound = extent.constant_value().and_then(Value::to_scalar).map(|s| s.to_i128());
        if let (Some(value), Some(bound)) = (x.constant_value(), bound)
            && let Some(at) = value.scalars().map(|s| s.to_i128()).find(|at| !(0..bound).contains(at))
        {
            return Err(fail(
                caller,
                format!("{}: {at}, where numbers from 0 to {} are expected", op.caller.1, bound - 1),
            ));
        }
        Variable::apply1(op, &[x.clone(), extent.clone()])
    }
}

impl Op for CheckIndex {
    fn id(&self) -> &'static str {
        "check_index"
    }

    fn attributes(&self) -> Attributes {
        vec![("caller".into(), Attr::Text(self.caller.0.into()))]
    }

    fn label(&self) -> String {
        self.caller.0.into()
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 2)?;
        if !inputs[0].dtype.is_integer() || inputs[1].dtype != DType::I64 || inputs[1].ndim() != 0 {
            return Err(format!("expected integers and an int64(), got {} and {}", inputs[0], inputs[1]));
        }
        Ok(vec![inputs[0].with_dtype(DType::I64)])
    }

    fn trouble(&self) -> String {
        self.caller.1.into()
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None; at.inputs.len()])
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        at.along(*self, false, Some)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let bound = inputs[1].to_scalar().map_or(0, |s| s.to_i128());
        let mut positions = fallible::with_capacity(inputs[0].len())?;
        for at in inputs[0].scalars().map(|s| s.to_i128()) {
            if !(0..bound).contains(&at) {
                let message = format!("{at}: {}", self.caller.1);
                return Err(Error::mismatch(
                    self.caller.0,
                    format!("numbers from 0 to {}", bound - 1),
                    message,
                ));
            }
            positions.push(at as i64);
        }
        Ok(vec![Value::from_vec(inputs[0].shape(), positions)?])
    }

    fn index_inputs(&self, _: usize) -> Vec<usize> {
        vec![0]
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis)]
    }

    fn element_bounds(&self, _: usize, inputs: &[Known], _: &[Interval], _: &[usize]) -> Option<Interval> {
        let extent = inputs.get(1)?.value?.to_scalar()?.to_f64();
        Some(Interval::new(DType::I64, 0.0, extent - 1.0))
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }
}

/// Positions as int64, made to lie within `0..extent`.
fn within(caller: &str, x: &Variable, extent: &Variable, mode: Mode) -> Result<Variable> {
    if !x.checked()?.dtype().is_integer() {
        return Err(fail(caller, format!("positions are integers, got {}", x.ty())));
    }
    match mode {
        Mode::Raise => CheckIndex::of(caller, x, extent),
        Mode::Wrap => cast(x, DType::I64)?.try_remainder(extent),
        Mode::Clip => cast(x, DType::I64)?.try_maximum(0i64)?.try_minimum(extent - 1i64),
    }
}

/// Flat positions along each of the axes of these extents.
pub(super) fn unravel(flat: &Variable, extents: &[Variable]) -> Result<Vec<Variable>> {
    let mut rest = flat.clone();
    let mut list = Vec::with_capacity(extents.len());
    for (axis, extent) in extents.iter().enumerate().rev() {
        if axis == 0 {
            list.push(rest.clone());
        } else {
            list.push(rest.try_remainder(extent)?);
            rest = rest.try_floor_divide(extent)?;
        }
    }
    list.reverse();
    Ok(list)
}

fn extents_of(op: &'static str, shape: Vec<Operand>) -> Result<Vec<Variable>> {
    shape.into_iter().map(|extent| extent_scalar(op, extent)).collect()
}

fn product(extents: &[Variable]) -> Result<Variable> {
    let constant = |v: &Variable| v.constant_value().and_then(Value::to_scalar).map(|s| s.to_i128() as i64);
    if let Some(all) = extents.iter().map(constant).collect::<Option<Vec<i64>>>() {
        let product = all.iter().try_fold(1i64, |product, &extent| product.checked_mul(extent));
        let product =
            product.ok_or_else(|| fail("unravel_index", format!("the shape {all:?} is too large")))?;
        return Ok(number(product));
    }
    extents.iter().try_fold(number(1), |product, extent| product.try_mul(extent))
}

/// Positions in the row-major order of a shape, as one array for each axis (NumPy's `unravel_index`).
#[track_caller]
#[must_use]
pub fn unravel_index(x: &Variable, shape: impl IntoIterator<Item = impl IntoOperand>) -> Vec<Variable> {
    let shape: Vec<Operand> = shape.into_iter().map(IntoOperand::into_operand).collect();
    let _scope = source_location::enter();
    let extents = extents_of("unravel_index", shape);
    let build = |extents: &[Variable]| {
        unravel(&within("unravel_index", x, &product(extents)?, Mode::Raise)?, extents)
    };
    match extents {
        Ok(extents) => build(&extents).unwrap_or_else(|e| vec![Variable::poison(e); extents.len()]),
        Err(error) => vec![Variable::poison(error)],
    }
}

/// One array of positions for each axis of a shape, as positions in its row-major order (NumPy's
/// `ravel_multi_index`).
#[track_caller]
#[must_use]
pub fn ravel_multi_index(
    list: impl IntoIterator<Item = impl Into<Variable>>,
    shape: impl IntoIterator<Item = impl IntoOperand>,
    mode: Mode,
) -> Variable {
    let list: Vec<Variable> = list.into_iter().map(Into::into).collect();
    let shape: Vec<Operand> = shape.into_iter().map(IntoOperand::into_operand).collect();
    let _scope = source_location::enter();
    let build = || {
        let extents = extents_of("ravel_multi_index", shape)?;
        if list.len() != extents.len() || list.is_empty() {
            let message = format!("{} arrays of positions for {} axes", list.len(), extents.len());
            return Err(fail("ravel_multi_index", message));
        }
        let mut flat: Option<Variable> = None;
        for (positions, extent) in list.iter().zip(&extents) {
            let at = within("ravel_multi_index", positions, extent, mode)?;
            flat = Some(match flat {
                None => at,
                Some(flat) => flat.try_mul(extent)?.try_add(&at)?,
            });
        }
        flat.ok_or_else(|| missing("ravel_multi_index"))
    };
    build().unwrap_or_else(Variable::poison)
}

methods! {
    /// At each position the element of one of the `choices`: the array whose number is in `x`. All broadcast
    /// together (NumPy's `choose`).
    choose / try_choose(x, choices: impl AsRef<[Variable]>, mode: Mode) {
        let choices = choices.as_ref();
        let Some((last, others)) = choices.split_last() else { return Err(fail("choose", "nothing to choose from".into())) };
        let which = within("choose", x, &number(choices.len() as i64), mode)?;
        // The dtype and the shape of all, whatever is chosen.
        let chosen = others.iter().enumerate().rev().fold(last.clone(), |rest, (at, choice)| {
            where_(which.equal(at as i64), choice, rest)
        });
        if others.is_empty() { where_(which.equal(0i64), last, last).checked().cloned() } else { chosen.checked().cloned() }
    }
    /// [`Variable::take`] where positions out of range are wrapped or clipped (NumPy's `take` with a mode).
    take_mode / try_take_mode(x, indices: impl IntoOperand, axis: isize, mode: Mode) {
        let axis = normalize_axis(axis, x.ndim()).map_err(|m| fail("take", m))?;
        let indices = Operand::resolve(vec![indices.into_operand()]).swap_remove(0);
        let indices = match mode {
            // Negative ones count from the end, as in an index.
            Mode::Raise => indices,
            mode => within("take", indices.checked()?, &x.try_extent(axis as isize)?, mode)?,
        };
        x.try_take(indices, axis as isize)
    }
    /// The positions at which elements are not 0 in the array as one row, in order, as an int64 vector
    /// (NumPy's `flatnonzero`). Their number is worked out on the host before each call; see
    /// [`NonZero`](super::NonZero).
    flatnonzero / try_flatnonzero(x) { if x.ndim() == 0 { x.try_reshape([1])?.try_flatnonzero() } else { super::NonZero::of(x) } }
    /// The positions of elements that are not 0, one in each row (NumPy's `argwhere`).
    argwhere / try_argwhere(x) {
        let flat = super::NonZero::of(x)?;
        super::stack(super::NonZero::unraveled(&flat, x)?, 1).checked().cloned()
    }
    /// The parts at which a vector is not 0, along an axis; what the vector lacks at its end is not taken
    /// (NumPy's `compress`).
    compress / try_compress(x, condition: impl Into<Variable>, axis: isize) {
        let condition = condition.into();
        if condition.checked()?.ndim() != 1 {
            return Err(fail("compress", format!("the condition is a vector, not {}", condition.ty())));
        }
        x.try_take(super::NonZero::of(&condition)?, axis)
    }
    /// The elements at which `condition` is not 0, in one axis (NumPy's `extract`).
    extract / try_extract(x, condition: impl Into<Variable>) {
        let condition = condition.into();
        let mask = condition.checked()?.try_not_equal(0i64)?;
        x.try_index([Ix::from(mask)])
    }
}

impl Variable {
    /// [`Variable::nonzero`], with its error at once.
    ///
    /// # Errors
    /// If it has no axes.
    #[track_caller]
    pub fn try_nonzero(&self) -> Result<Vec<Variable>> {
        let _scope = source_location::enter();
        let flat = super::NonZero::of(self.checked()?)?;
        super::NonZero::unraveled(&flat, self)
    }

    /// The positions of the elements that are not 0, in row-major order: an int64 vector for each axis
    /// (NumPy's `nonzero`). Their number is worked out on the host before each call; see
    /// [`NonZero`](super::NonZero).
    #[track_caller]
    #[must_use]
    pub fn nonzero(&self) -> Vec<Variable> {
        self.try_nonzero().unwrap_or_else(|e| vec![Variable::poison(e); self.ndim().max(1)])
    }
}
