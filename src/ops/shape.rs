//! Views and broadcasts: dimshuffle, reshape, broadcast, and the extents of a tensor as values.

mod broadcast;
mod dimshuffle;
pub(crate) mod lower;

pub use broadcast::{BroadcastLike, BroadcastTo};
pub use dimshuffle::DimShuffle;

use super::batching::only;
use super::collectives::group_size;
use super::complex;
use super::methods::fail;
use crate::error::{Error, Result, shape_text};
use crate::graph::{Node, Operand, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, Batched, BatchedOutputs, Gradient, Known, MemberArray, Op, ShardedOutputs,
    Sharding, Shards, expect_inputs,
};
use crate::value::Value;
use workalike_kernels::DType;

/// An extent given to [`Reshape`] or [`BroadcastTo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Known when the graph is built.
    Fixed(usize),
    /// Inferred from the number of elements; once at most, in a reshape only.
    Infer,
    /// The value of this further input, a 0-d int64.
    Input(usize),
}

impl Extent {
    /// Extents, and the Variables among them, which are further inputs. -1 is inferred.
    pub(crate) fn list(op: &str, shape: Vec<Operand>) -> Result<(Vec<Extent>, Vec<Variable>)> {
        let mut further = Vec::new();
        let extents = shape.into_iter().map(|operand| match operand {
            Operand::Int(-1) => Ok(Extent::Infer),
            Operand::Int(n) if n < 0 => Err(super::methods::fail(op, format!("extent {n} is negative"))),
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

    pub(super) fn code(self) -> i64 {
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

    pub(super) fn types(extents: &[Extent], inputs: &[&TensorType]) -> Result<(), String> {
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
    pub(super) fn values(extents: &[Extent], inputs: &[Known]) -> Result<Vec<Option<usize>>, String> {
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

    /// The extent that is to be inferred, of each of a batch: `x` has the batch axis, `own` are the extents
    /// that are given.
    fn inferred(&self, x: &Variable, own: &[Variable]) -> Result<Variable> {
        let size =
            (1..x.ndim()).try_fold(Variable::constant(1i64), |n, axis| n.try_mul(ShapeOf::of(x, axis)?))?;
        let mut others = Variable::constant(1i64);
        for extent in &self.extents {
            others = match extent {
                Extent::Fixed(n) => others.try_mul(*n as i64)?,
                Extent::Input(i) => {
                    let missing = || fail("reshape", "an extent names an input that is not there".into());
                    others.try_mul(own.get(*i).ok_or_else(missing)?)?
                }
                Extent::Infer => others,
            };
        }
        size.try_floor_divide(others)
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
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::by_parts(self.clone(), inputs)
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
        let Some((mut extents, mut further)) = at.extents(&self.extents) else { return Ok(None) };
        let x = at.repeated(0)?;
        // Of a batch of none, nothing says what is to be inferred.
        if let Some(place) = extents.iter().position(|e| *e == Extent::Infer)
            && x.ty().shape[0].is_none_or(|count| count == 0)
        {
            let inferred = self.inferred(&x, &further)?;
            further.push(inferred);
            extents[place] = Extent::Input(further.len() - 1);
        }
        only(Reshape::of(&x, extents, &further))
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        if at.term(0).is_some() {
            return Ok(at.of_sum(self.clone(), at.terms(self.clone(), |i| i > 0)?));
        }
        let Sharding::Sharded(axis) = at.sharding(0) else { return Ok(None) };
        let x = at.part(0, axis)?;
        // Parts of rows are parts of the elements: those before the axis must be the same.
        let same = |i: usize| {
            let fixed = |extent: &Extent| if let Extent::Fixed(n) = extent { Some(*n) } else { None };
            self.extents.get(i).and_then(fixed).is_some_and(|n| x.ty().shape[i] == Some(n))
        };
        // What is inferred elsewhere would make up for a part that is no whole number of rows.
        let inferred = self.extents.iter().position(|extent| *extent == Extent::Infer);
        let elsewhere = inferred.is_some_and(|at| at != axis);
        if axis >= self.extents.len() || !(0..axis).all(same) || elsewhere || !self.keeps_rows(at, axis) {
            return Ok(None);
        }
        let (extents, further) = at.extents(&self.extents, axis, |extent| at.share(&extent))?;
        Ok(Some(vec![MemberArray::sharded(Reshape::of(&x, extents, &further)?, axis)]))
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
}

impl Reshape {
    /// Whether each row of the first input along an axis becomes one or more rows of the result, as far as
    /// types tell: then parts of as many rows become equal parts.
    fn keeps_rows(&self, at: &Shards, axis: usize) -> bool {
        let before = at.inputs[0].extents.get(axis).copied().flatten();
        let fixed = |extent: &Extent| if let Extent::Fixed(n) = extent { Some(*n) } else { None };
        let len = |extents: Vec<Option<usize>>| extents.into_iter().product::<Option<usize>>();
        match self.extents[axis] {
            Extent::Fixed(now) => before.map_or(now != 1, |before| before == now),
            Extent::Input(_) => true,
            Extent::Infer => {
                let old = len(at.inputs[0].variable.ty().shape[axis + 1..].to_vec());
                let new = len(self.extents[axis + 1..].iter().map(fixed).collect());
                old.zip(new).is_none_or(|(old, new)| new > 0 && old % new == 0)
            }
        }
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
    let known: Vec<Known> = inputs.iter().map(Known::of).collect();
    let shapes =
        op.shapes(&known).map_err(|message| Error::mismatch(op.label(), "extents that fit", message))?;
    shapes.into_iter().next().ok_or_else(|| Error::Internal("an op without output".into()))
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

    fn values_from_shapes(&self, inputs: &[&[usize]]) -> Option<Vec<Value>> {
        inputs.first()?.get(self.axis).map(|&n| vec![Value::from(n as i64)])
    }
    fn takes_complex(&self) -> bool {
        true
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let extent = ShapeOf::of(&at.with_axis(0)?, self.axis + 1)?;
        Ok(Some(vec![Batched::shared(extent)]))
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        let own = ShapeOf::of(&at.inputs[0].variable, self.axis)?;
        let divided = at.sharding(0) == Sharding::Sharded(self.axis);
        let extent = if divided { own.try_mul(group_size(at.group))? } else { own };
        Ok(Some(vec![MemberArray::replicated(extent)]))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![Value::from(inputs[0].shape()[self.axis] as i64)])
    }
}
