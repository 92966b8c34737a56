//! Views and broadcasts: dimshuffle, reshape, broadcast, and the extents of a tensor as values.

pub(crate) mod lower;

use super::batching::{Batch, Batched, BatchedOutputs, only};
use super::sum_like::{may_repeat, sum_to};
use super::{Attr, Attributes, AxisRead, Gradient, Known, Op, expect_inputs};
use crate::dtype::DType;
use crate::error::{Error, Result, shape_text};
use crate::graph::Node;
use crate::graph::{Operand, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::value::Value;
use std::any::Any;

/// Permutes axes, inserts axes of extent 1 (`None`), and drops axes of static extent 1 (those not named).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DimShuffle {
    /// For each axis of the result, the axis of the input it is, or `None` for a new one.
    pub order: Vec<Option<usize>>,
}

impl DimShuffle {
    /// Applies, unless it would change nothing.
    pub(crate) fn of(x: &Variable, order: Vec<Option<usize>>) -> Result<Variable> {
        if order.len() == x.ndim() && order.iter().enumerate().all(|(i, o)| *o == Some(i)) {
            return Ok(x.clone());
        }
        Variable::apply1(DimShuffle { order }, std::slice::from_ref(x))
    }

    /// New axes on the left up to `rank`.
    pub(crate) fn pad_left(x: &Variable, rank: usize) -> Result<Variable> {
        let new = rank.saturating_sub(x.ndim());
        DimShuffle::of(x, (0..new).map(|_| None).chain((0..x.ndim()).map(Some)).collect())
    }

    /// Puts back reduced axes, with extent 1.
    pub(crate) fn keep_dims(x: &Variable, axes: &[usize]) -> Result<Variable> {
        let mut kept = 0;
        let order = (0..x.ndim() + axes.len()).map(|axis| {
            if axes.contains(&axis) {
                return None;
            }
            kept += 1;
            Some(kept - 1)
        });
        let order = order.collect();
        DimShuffle::of(x, order)
    }

    fn apply_to<T: Clone>(&self, list: &[T], new: T) -> Vec<T> {
        self.order.iter().map(|o| o.map_or(new.clone(), |axis| list[axis].clone())).collect()
    }

    fn dropped(&self, rank: usize) -> impl Iterator<Item = usize> + '_ {
        (0..rank).filter(|axis| !self.order.contains(&Some(*axis)))
    }
}

impl Op for DimShuffle {
    fn id(&self) -> &'static str {
        "dimshuffle"
    }

    fn attributes(&self) -> Attributes {
        let order = self.order.iter().map(|o| o.map_or(-1, |axis| axis as i64)).collect();
        vec![("order".into(), Attr::Ints(order))]
    }

    fn label(&self) -> String {
        let names: Vec<String> = self.order.iter().map(|o| o.map_or("x".into(), |a| a.to_string())).collect();
        format!("dimshuffle[{}]", names.join(","))
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        let rank = inputs[0].ndim();
        let mut named: Vec<usize> = self.order.iter().flatten().copied().collect();
        named.sort_unstable();
        if named.windows(2).any(|w| w[0] == w[1]) || named.last().is_some_and(|&a| a >= rank) {
            return Err(format!("order {:?} does not fit {}", self.order, inputs[0]));
        }
        if let Some(axis) = self.dropped(rank).find(|&a| inputs[0].shape[a] != Some(1)) {
            return Err(format!("axis {axis} of {} is dropped but is not of static extent 1", inputs[0]));
        }
        Ok(vec![TensorType::new(inputs[0].dtype, self.apply_to(&inputs[0].shape, Some(1)))])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        Ok(vec![self.apply_to(inputs[0].shape, 1)])
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None]) };
        let back =
            (0..at.inputs[0].ndim()).map(|axis| self.order.iter().position(|o| *o == Some(axis))).collect();
        Ok(vec![Some(DimShuffle::of(g, back)?)])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let order = std::iter::once(Some(0)).chain(self.order.iter().map(|o| o.map(|axis| axis + 1)));
        only(DimShuffle::of(&at.with_axis(0)?, order.collect()))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let x = &inputs[0];
        let (shape, strides) = (self.apply_to(x.shape(), 1), self.apply_to(x.strides(), 0));
        Ok(vec![x.view_as(&shape, &strides, x.offset())?])
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        self.order[axis].map(|from| (0, from)).into_iter().collect()
    }

    fn axis_read(&self, _: usize, axis: usize, _: &[Known]) -> AxisRead {
        let to = self.order.iter().position(|from| *from == Some(axis));
        to.map_or(AxisRead::All, AxisRead::Passed)
    }

    fn lower(&self, _: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].dimshuffle(&self.order)])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// An extent given to [`Reshape`] or [`BroadcastTo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Known when the graph is built.
    Fixed(usize),
    /// Whatever is left; once at most, in a reshape only.
    Infer,
    /// The value of this further input, a 0-d int64.
    Input(usize),
}

impl Extent {
    /// Numbers as they are (-1: what is left), Variables as inputs; and those.
    pub(crate) fn list(op: &str, shape: Vec<Operand>) -> Result<(Vec<Extent>, Vec<Variable>)> {
        let mut further = Vec::new();
        let extents = shape.into_iter().map(|operand| match operand {
            Operand::Int(-1) => Ok(Extent::Infer),
            Operand::Int(n) => i64::try_from(n)
                .ok()
                .and_then(|n| usize::try_from(n).ok())
                .map(Extent::Fixed)
                .ok_or_else(|| super::methods::fail(op, format!("{n} is no extent"))),
            other => {
                further.push(super::creation::int_scalar(op, other)?);
                Ok(Extent::Input(further.len() - 1))
            }
        });
        Ok((extents.collect::<Result<_>>()?, further))
    }

    /// Extents as a shape in NumPy's notation; `?` is known at run time only.
    fn text(extents: &[Extent]) -> String {
        let list: Vec<String> = extents
            .iter()
            .map(|extent| match extent {
                Extent::Fixed(n) => n.to_string(),
                Extent::Infer => "-1".into(),
                Extent::Input(_) => "?".into(),
            })
            .collect();
        let comma = if list.len() == 1 { "," } else { "" };
        format!("({}{comma})", list.join(", "))
    }

    fn code(self) -> i64 {
        match self {
            Extent::Fixed(n) => n as i64,
            Extent::Infer => -1,
            Extent::Input(i) => -2 - i as i64,
        }
    }

    fn from_code(code: i64) -> Extent {
        match code {
            -1 => Extent::Infer,
            n if n >= 0 => Extent::Fixed(n as usize),
            n => Extent::Input((-2 - n) as usize),
        }
    }

    pub(super) fn decode(codes: &[i64]) -> Vec<Extent> {
        codes.iter().map(|&c| Extent::from_code(c)).collect()
    }

    fn types(extents: &[Extent], inputs: &[&TensorType]) -> Result<(), String> {
        let further = extents.iter().filter(|e| matches!(e, Extent::Input(_))).count();
        expect_inputs(inputs.len(), 1 + further)?;
        if extents.iter().filter(|e| **e == Extent::Infer).count() > 1 {
            return Err("more than one extent is to be inferred".into());
        }
        if extents.iter().any(|e| matches!(e, Extent::Input(i) if *i >= further)) {
            return Err("an extent names an input that is not there".into());
        }
        match inputs[1..].iter().find(|t| t.dtype != DType::I64 || t.ndim() != 0) {
            Some(other) => Err(format!("extents must be int64(), got {other}")),
            None => Ok(()),
        }
    }

    /// Concrete extents; `Infer` stays `None`.
    fn values(extents: &[Extent], inputs: &[Known]) -> Result<Vec<Option<usize>>, String> {
        extents
            .iter()
            .map(|extent| match extent {
                Extent::Fixed(n) => Ok(Some(*n)),
                Extent::Infer => Ok(None),
                Extent::Input(i) => {
                    let value = inputs[i + 1].value.and_then(Value::to_scalar);
                    let n = value.ok_or("an extent is not known on the host")?.to_i128();
                    match usize::try_from(n) {
                        Ok(n) => Ok(Some(n)),
                        Err(_) if n == -1 => Ok(None),
                        Err(_) => Err(format!("extent {n} is negative")),
                    }
                }
            })
            .collect()
    }
}

/// The same elements, row-major, under another shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reshape {
    /// The new extents.
    pub extents: Vec<Extent>,
}

impl Reshape {
    /// Applies with fixed extents; -1 is inferred.
    pub(crate) fn of(x: &Variable, extents: Vec<Extent>, further: &[Variable]) -> Result<Variable> {
        let inputs: Vec<Variable> = std::iter::once(x).chain(further).cloned().collect();
        Variable::apply1(Reshape { extents }, &inputs)
    }

    fn solve(shape: &[usize], extents: &[Option<usize>]) -> Result<Vec<usize>, String> {
        let size = shape.iter().try_fold(1usize, |n, &e| n.checked_mul(e));
        let size = size.ok_or("more elements than there can be")?;
        let known =
            extents.iter().flatten().try_fold(1usize, |n, &e| n.checked_mul(e)).ok_or("extents overflow")?;
        let missing = extents.iter().filter(|e| e.is_none()).count();
        let fits = match missing {
            0 => known == size,
            1 => known != 0 && size.is_multiple_of(known),
            _ => false,
        };
        if !fits {
            let to: Vec<String> = extents.iter().map(|e| e.map_or("-1".into(), |e| e.to_string())).collect();
            return Err(format!("cannot reshape {} to ({})", shape_text(shape), to.join(", ")));
        }
        Ok(extents.iter().map(|e| e.unwrap_or_else(|| size / known)).collect())
    }
}

impl Op for Reshape {
    fn id(&self) -> &'static str {
        "reshape"
    }

    fn attributes(&self) -> Attributes {
        vec![("extents".into(), Attr::Ints(self.extents.iter().map(|e| e.code()).collect()))]
    }

    fn label(&self) -> String {
        format!("reshape{:?}", self.extents.iter().map(|e| e.code()).collect::<Vec<_>>())
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        Extent::types(&self.extents, inputs)?;
        let fixed: Vec<Option<usize>> = self
            .extents
            .iter()
            .map(|e| match e {
                Extent::Fixed(n) => Some(*n),
                _ => None,
            })
            .collect();
        let static_shape: Option<Vec<usize>> = inputs[0].shape.iter().copied().collect();
        let solvable = self.extents.iter().all(|e| !matches!(e, Extent::Input(_)));
        let shape = match static_shape {
            Some(shape) if solvable => Reshape::solve(&shape, &fixed)?.into_iter().map(Some).collect(),
            _ => fixed,
        };
        Ok(vec![TensorType::new(inputs[0].dtype, shape)])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        Ok(vec![Reshape::solve(inputs[0].shape, &Extent::values(&self.extents, inputs)?)?])
    }

    fn shape_values(&self) -> Vec<usize> {
        let further = self.extents.iter().filter(|e| matches!(e, Extent::Input(_))).count();
        (1..=further).collect()
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let mut grads = vec![None; at.inputs.len()];
        if let Some(g) = &at.output_grads[0] {
            let (extents, further) = extents_of(&at.inputs[0])?;
            grads[0] = Some(Reshape::of(g, extents, &further)?);
        }
        Ok(grads)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let Some((extents, further)) = at.extents(&self.extents) else { return Ok(None) };
        only(Reshape::of(&at.repeated(0)?, extents, &further))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let shape = concrete(self, inputs)?;
        Ok(vec![inputs[0].reshaped(&shape)?])
    }

    fn read_inputs(&self, _: usize) -> usize {
        1
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::reshape(self, to, node, inputs)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The extents of `x` for a reshape or broadcast: fixed where its type knows them, inputs where not.
fn extents_of(x: &Variable) -> Result<(Vec<Extent>, Vec<Variable>)> {
    let mut further = Vec::new();
    let mut extents = Vec::new();
    for (axis, extent) in x.ty().shape.iter().enumerate() {
        extents.push(match extent {
            Some(n) => Extent::Fixed(*n),
            None => {
                further.push(ShapeOf::of(x, axis)?);
                Extent::Input(further.len() - 1)
            }
        });
    }
    Ok((extents, further))
}

/// The output shape of an op whose further inputs are extents, from the inputs' values.
fn concrete(op: &dyn Op, inputs: &[Value]) -> Result<Vec<usize>> {
    let known: Vec<Known> = inputs.iter().map(|v| Known { shape: v.shape(), value: Some(v) }).collect();
    let shapes =
        op.shapes(&known).map_err(|message| Error::mismatch(op.label(), "extents that fit", message))?;
    shapes.into_iter().next().ok_or_else(|| Error::Internal("an op without output".into()))
}

/// Repeats axes of extent 1 to the given extents (NumPy's `broadcast_to`, at equal rank).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroadcastTo {
    /// The extents of the result; none inferred.
    pub extents: Vec<Extent>,
}

impl BroadcastTo {
    /// `x`, padded on the left, with these extents.
    pub(crate) fn of(x: &Variable, extents: Vec<Extent>, further: &[Variable]) -> Result<Variable> {
        let x = DimShuffle::pad_left(x, extents.len())?;
        let inputs: Vec<Variable> = std::iter::once(&x).chain(further).cloned().collect();
        Variable::apply1(BroadcastTo { extents }, &inputs)
    }
}

fn check_broadcast(from: &[usize], to: &[usize]) -> Result<(), String> {
    if from.len() == to.len() && from.iter().zip(to).all(|(&a, &b)| a == b || a == 1) {
        return Ok(());
    }
    Err(format!("cannot broadcast {} to {}", shape_text(from), shape_text(to)))
}

impl Op for BroadcastTo {
    fn id(&self) -> &'static str {
        "broadcast_to"
    }

    fn attributes(&self) -> Attributes {
        vec![("extents".into(), Attr::Ints(self.extents.iter().map(|e| e.code()).collect()))]
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        Extent::types(&self.extents, inputs)?;
        if self.extents.contains(&Extent::Infer) || self.extents.len() != inputs[0].ndim() {
            return Err(format!("extents {} do not fit {}", Extent::text(&self.extents), inputs[0]));
        }
        let shape = self.extents.iter().zip(&inputs[0].shape).map(|(extent, &from)| match (extent, from) {
            (Extent::Fixed(n), Some(m)) if m != 1 && m != *n => {
                Err(format!("cannot broadcast {} to {}", inputs[0], Extent::text(&self.extents)))
            }
            (Extent::Fixed(n), _) => Ok(Some(*n)),
            (_, Some(1)) => Ok(None),
            (_, from) => Ok(from),
        });
        Ok(vec![TensorType::new(inputs[0].dtype, shape.collect::<Result<Vec<_>, String>>()?)])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let values = Extent::values(&self.extents, inputs)?;
        let shape: Option<Vec<usize>> = values.into_iter().collect();
        let shape = shape.ok_or("an extent is negative")?;
        check_broadcast(inputs[0].shape, &shape)?;
        Ok(vec![shape])
    }

    fn shape_values(&self) -> Vec<usize> {
        let further = self.extents.iter().filter(|e| matches!(e, Extent::Input(_))).count();
        (1..=further).collect()
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let mut grads = vec![None; at.inputs.len()];
        if let Some(g) = &at.output_grads[0] {
            let repeated = |axis: usize| self.extents[axis] != Extent::Fixed(1);
            grads[0] = Some(sum_to(g, &at.inputs[0], repeated)?);
        }
        Ok(grads)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let Some((extents, further)) = at.extents(&self.extents) else { return Ok(None) };
        only(BroadcastTo::of(&at.with_axis(0)?, extents, &further))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let shape = concrete(self, inputs)?;
        Ok(vec![inputs[0].broadcast_to(&shape)?])
    }

    fn read_inputs(&self, _: usize) -> usize {
        1
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].broadcast(&to.shape(node.outputs[0]))])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Repeats axes of extent 1 of the first input to the extents of the second, whose values are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BroadcastLike;

impl BroadcastLike {
    /// `x`, padded on the left, with the extents of `like`; `x` itself if its static type already says so.
    pub(crate) fn of(x: &Variable, like: &Variable) -> Result<Variable> {
        let x = DimShuffle::pad_left(x, like.ndim())?;
        if x.ty().shape == like.ty().shape && x.ty().shape.iter().all(Option::is_some) {
            return Ok(x);
        }
        Variable::apply1(BroadcastLike, &[x, like.clone()])
    }
}

impl Op for BroadcastLike {
    fn id(&self) -> &'static str {
        "broadcast_like"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 2)?;
        let fits =
            |(a, b): (&Option<usize>, &Option<usize>)| *a == Some(1) || a.is_none() || b.is_none() || a == b;
        if inputs[0].ndim() != inputs[1].ndim() || !inputs[0].shape.iter().zip(&inputs[1].shape).all(fits) {
            return Err(format!("cannot broadcast {} to the shape of {}", inputs[0], inputs[1]));
        }
        let shape = inputs[0].shape.iter().zip(&inputs[1].shape);
        let shape: Vec<_> = shape.map(|(a, b)| b.or(a.filter(|&a| a != 1))).collect();
        Ok(vec![TensorType::new(inputs[0].dtype, shape)])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        check_broadcast(inputs[0].shape, inputs[1].shape)?;
        Ok(vec![inputs[1].shape.to_vec()])
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let repeated = |axis: usize| may_repeat(&at.inputs[0], &at.inputs[1], axis);
        let grad = at.output_grads[0].as_ref().map(|g| sum_to(g, &at.inputs[0], repeated));
        Ok(vec![grad.transpose()?, None])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        only(BroadcastLike::of(&at.with_axis(0)?, &at.repeated(1)?))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![inputs[0].broadcast_to(inputs[1].shape())?])
    }

    fn read_inputs(&self, _: usize) -> usize {
        1
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(1, axis)]
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].broadcast(&to.shape(node.outputs[0]))])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The extent of one axis, as a 0-d int64. Its value is known wherever shapes are: on the host, before
/// anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeOf {
    /// The axis.
    pub axis: usize,
}

impl ShapeOf {
    /// A constant where the type knows the extent.
    pub(crate) fn of(x: &Variable, axis: usize) -> Result<Variable> {
        match x.checked()?.ty().shape.get(axis) {
            Some(Some(n)) => Ok(Variable::constant(*n as i64)),
            _ => Variable::apply1(ShapeOf { axis }, std::slice::from_ref(x)),
        }
    }
}

impl Op for ShapeOf {
    fn id(&self) -> &'static str {
        "shape_of"
    }

    fn attributes(&self) -> Attributes {
        vec![("axis".into(), Attr::Int(self.axis as i64))]
    }

    fn label(&self) -> String {
        format!("shape[{}]", self.axis)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        if self.axis >= inputs[0].ndim() {
            return Err(format!("axis {} is out of range for {}", self.axis, inputs[0]));
        }
        Ok(vec![TensorType::of_rank(DType::I64, 0)])
    }

    fn shapes(&self, _: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        Ok(vec![vec![]])
    }

    fn values_from_shapes(&self, inputs: &[&[usize]]) -> Option<Vec<Value>> {
        inputs.first()?.get(self.axis).map(|&n| vec![Value::from(n as i64)])
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let extent = ShapeOf::of(&at.with_axis(0)?, self.axis + 1)?;
        Ok(Some(vec![Batched::shared(extent)]))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![Value::from(inputs[0].shape()[self.axis] as i64)])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
