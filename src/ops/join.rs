//! Concatenation of arrays.

pub(crate) mod lower;

use super::axes::normalize_axis;
use super::batching::only;
use super::complex;
use super::elemwise::cast;
use super::index_expression::{Ix, range};
use super::methods::fail;
use super::shape::{DimShuffle, ShapeOf};
use crate::error::{Error, Result};
use crate::graph::source_location;
use crate::graph::{Node, Operand, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, BatchedOutputs, Gradient, Known, MemberArray, Op, ShardedOutputs, Sharding,
    Shards,
};
use crate::value::Value;
use workalike_kernels::DType;
use workalike_kernels::interval::Interval;

/// Its inputs concatenated along an axis; their other extents and their dtypes are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// The axis.
    pub axis: usize,
}

impl Op for Join {
    fn id(&self) -> &'static str {
        "join"
    }

    fn attributes(&self) -> Attributes {
        vec![("axis".into(), Attr::Int(self.axis as i64))]
    }

    fn label(&self) -> String {
        format!("join[{}]", self.axis)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        let Some(first) = inputs.first() else { return Err("nothing to join".into()) };
        if self.axis >= first.ndim() {
            return Err(format!("axis {} is out of range for {first}", self.axis));
        }
        let mut ty = (*first).clone();
        for (at, other) in inputs.iter().enumerate().skip(1) {
            if other.ndim() != ty.ndim() || other.dtype != ty.dtype {
                return Err(format!("input {at} is {other}, the first {first}"));
            }
            for axis in 0..ty.ndim() {
                let (have, new) = (ty.shape[axis], other.shape[axis]);
                ty.shape[axis] = match (have, new) {
                    (Some(a), Some(b)) if axis == self.axis => {
                        Some(a.checked_add(b).ok_or("more elements than there can be")?)
                    }
                    (..) if axis == self.axis => None,
                    (Some(a), Some(b)) if a != b => {
                        return Err(format!(
                            "input {at} is {other}, and the first {first}: they differ along axis {axis}"
                        ));
                    }
                    (have, new) => have.or(new),
                };
            }
        }
        Ok(vec![ty])
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::by_parts(*self, inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None; at.inputs.len()]) };
        let mut start = Variable::constant(0i64);
        let mut grads = Vec::new();
        for input in at.inputs {
            let stop = start.try_add(ShapeOf::of(input, self.axis)?)?;
            let mut entries: Vec<Ix> = vec![Ix::from(..); self.axis];
            entries.push(range(&start, &stop));
            let mut part = g.try_index(entries)?;
            if part.ty().shape != input.ty().shape {
                part = part.try_specify_shape(input.ty().shape.clone())?;
            }
            grads.push(input.dtype().is_float().then_some(part));
            start = stop;
        }
        Ok(grads)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let inputs: Vec<Variable> =
            (0..at.inputs.len()).map(|input| at.repeated(input)).collect::<Result<_>>()?;
        only(Variable::apply1(Join { axis: self.axis + 1 }, &inputs))
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        let along = |held: &MemberArray| held.sharding == Sharding::Sharded(self.axis);
        match at.terms(*self, |_| false)? {
            None if !at.inputs.iter().any(along) => at.by_rows(*self, false),
            terms => Ok(terms),
        }
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let known: Vec<Known> = inputs.iter().map(Known::of).collect();
        let shapes = self.shapes(&known).map_err(|m| Error::mismatch(self.label(), "shapes that fit", m))?;
        let shape = &shapes[0];
        let dtype = inputs[0].dtype();
        if shape.contains(&0) {
            return Ok(vec![Value::zeros(dtype, shape)?]);
        }
        let inputs: Vec<Value> = inputs.iter().map(Value::contiguous).collect::<Result<_>>()?;
        let inner = shape[self.axis + 1..].iter().product::<usize>() * dtype.size();
        let joined = Value::filled(dtype, shape, |out| {
            let mut rest = out;
            for outer in 0..shape[..self.axis].iter().product() {
                for input in &inputs {
                    let len = input.shape()[self.axis] * inner;
                    let bytes = input.contiguous_bytes().unwrap_or(&[]);
                    let (part, after) = rest.split_at_mut(len);
                    part.copy_from_slice(&bytes[outer * len..(outer + 1) * len]);
                    rest = after;
                }
            }
        })?;
        Ok(vec![joined])
    }

    fn element_bounds(&self, _: usize, _: &[Known], elements: &[Interval], _: &[usize]) -> Option<Interval> {
        elements.iter().copied().reduce(Interval::or)
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }
}

/// Variables of one dtype, to which all are promoted.
fn promoted(op: &str, list: &[Variable]) -> Result<Vec<Variable>> {
    for variable in list {
        variable.checked()?;
    }
    let Some(dtype) = list.iter().map(Variable::dtype).reduce(DType::promote) else {
        return Err(fail(op, "there are no arrays".into()));
    };
    list.iter().map(|v| cast(v, dtype)).collect()
}

/// Arrays concatenated along an axis (negative: from the end); dtypes are promoted (NumPy's `concatenate`).
///
/// # Errors
/// (In the result.) If there are none, or they do not fit.
#[track_caller]
pub fn concatenate(list: impl IntoIterator<Item = impl Into<Variable>>, axis: isize) -> Variable {
    let list: Vec<Variable> = list.into_iter().map(Into::into).collect();
    let _scope = source_location::enter();
    let build = || {
        let list = promoted("concatenate", &list)?;
        let axis = normalize_axis(axis, list[0].ndim()).map_err(|m| fail("concatenate", m))?;
        if let [one] = list.as_slice() {
            return Ok(one.clone());
        }
        Variable::apply1(Join { axis }, &list)
    };
    build().unwrap_or_else(Variable::poison)
}

/// Arrays of one shape along a new axis.
///
/// # Errors
/// (In the result.) As [`concatenate`].
#[track_caller]
pub fn stack(list: impl IntoIterator<Item = impl Into<Variable>>, axis: isize) -> Variable {
    let list: Vec<Variable> = list.into_iter().map(Into::into).collect();
    let _scope = source_location::enter();
    let build = || {
        let list = promoted("stack", &list)?;
        let axis = normalize_axis(axis, list[0].ndim() + 1).map_err(|m| fail("stack", m))?;
        let list: Vec<Variable> =
            list.iter().map(|v| DimShuffle::keep_dims(v, &[axis])).collect::<Result<_>>()?;
        Ok(concatenate(list, axis as isize))
    };
    build().unwrap_or_else(Variable::poison)
}

/// Numbers and 0-d integer Variables as one int64 vector.
pub(crate) fn int_vector(list: Vec<Operand>) -> Result<Variable> {
    let list: Vec<Variable> =
        list.into_iter().map(|n| super::creation::int_scalar("shape", n)).collect::<Result<_>>()?;
    if list.is_empty() {
        return Ok(Variable::constant(Value::zeros(DType::I64, &[0])?));
    }
    stack(list, 0).checked().cloned()
}
