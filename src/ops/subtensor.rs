//! Basic indexing: integers and slices, with bounds known when the graph is built or only when it runs.

pub(crate) mod lower;
mod slots;
mod write;

pub use slots::{Bound, Slot};

use super::batching::only;
use super::complex;
use super::creation::zeros_like;
use crate::error::{Error, Result, shape_text};
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, AxisRead, Batch, BatchedOutputs, Gradient, Known, MemberArray, Op, ShardedOutputs,
    Sharding, Shards,
};
use crate::value::Value;
use slots::{SlotRange, known_bound, single_indices, taken_shape};
use workalike_kernels::interval::Interval;
use workalike_kernels::{DType, Scalar};

/// `x[slots]`; axes beyond the slots are taken whole. Further inputs are the bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subtensor {
    /// One slot per leading axis.
    pub slots: Vec<Slot>,
}

/// `x` with `x[slots]` set to, or increased by, a second input that broadcasts to it. Further inputs are the
/// bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncSubtensor {
    /// One slot per leading axis.
    pub slots: Vec<Slot>,
    /// Set rather than increase.
    pub set: bool,
}

/// The view of `x` that slots take.
fn taken_view(x: &Value, taken: &[SlotRange]) -> Result<Value> {
    let mut offset = x.offset() as isize;
    let (mut shape, mut strides) = (Vec::new(), Vec::new());
    for (t, &stride) in taken.iter().zip(x.strides()) {
        offset += t.start as isize * stride;
        if let Some(len) = t.len {
            shape.push(len);
            // Without a second position the step may be any number.
            strides.push(if len > 1 { stride * t.step as isize } else { stride });
        }
    }
    if shape.contains(&0) {
        return Value::zeros(x.dtype(), &shape);
    }
    x.view_as(&shape, &strides, offset.max(0) as usize)
}

fn values_known(inputs: &[Value]) -> Vec<Known<'_>> {
    inputs.iter().map(Known::of).collect()
}

/// The same slots, after one that selects the whole batch axis.
fn behind_batch(slots: &[Slot]) -> Vec<Slot> {
    let whole = Slot::Slice { start: Bound::Open, stop: Bound::Open, step: 1 };
    std::iter::once(whole).chain(slots.iter().copied()).collect()
}

impl Op for Subtensor {
    fn id(&self) -> &'static str {
        "subtensor"
    }

    fn attributes(&self) -> Attributes {
        vec![("slots".into(), Slot::encode(&self.slots))]
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        Slot::check(&self.slots, inputs, 1)?;
        Ok(vec![Slot::taken_type(&self.slots, inputs[0])?])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        Ok(vec![taken_shape(&self.slots, inputs[0].shape, known_bound(inputs, 1))?])
    }

    fn shape_values(&self) -> Vec<usize> {
        Slot::inputs(&self.slots, true).into_iter().map(|i| i + 1).collect()
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::by_parts(self.clone(), inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let mut grads = vec![None; at.inputs.len()];
        if let Some(g) = &at.output_grads[0] {
            let zeros = zeros_like(&at.inputs[0]);
            let inputs: Vec<Variable> =
                [zeros, g.clone()].into_iter().chain(at.inputs[1..].iter().cloned()).collect();
            let op = IncSubtensor { slots: self.slots.clone(), set: false };
            grads[0] = Some(Variable::apply1(op, &inputs)?);
        }
        Ok(grads)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let Some(bounds) = at.same(1) else { return Ok(None) };
        let inputs: Vec<Variable> = std::iter::once(at.with_axis(0)?).chain(bounds).collect();
        only(Variable::apply1(Subtensor { slots: behind_batch(&self.slots) }, &inputs))
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        at.along(self.clone(), true, |axis| Slot::kept_axis(&self.slots, axis))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let known = values_known(inputs);
        let taken = Slot::take(&self.slots, inputs[0].shape(), known_bound(&known, 1));
        let taken = taken.map_err(|message| Error::mismatch("subtensor", "indices in bounds", message))?;
        Ok(vec![taken_view(&inputs[0], &taken)?])
    }

    fn index_inputs(&self, count: usize) -> Vec<usize> {
        single_indices(&self.slots, 1, count)
    }

    fn axis_read(&self, input: usize, axis: usize, inputs: &[Known]) -> AxisRead {
        let taken = || {
            let (slot, extent) = (*self.slots.get(axis)?, *inputs.first()?.shape.get(axis)?);
            Slot::take(&[slot], &[extent], known_bound(inputs, 1)).ok()?.pop()
        };
        match taken() {
            Some(SlotRange { start, step, len }) if input == 0 => {
                AxisRead::Slice { start, step, count: len.unwrap_or(1) }
            }
            _ => AxisRead::All,
        }
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::subtensor(self, to, node, inputs)
    }
}

impl Op for IncSubtensor {
    fn id(&self) -> &'static str {
        "inc_subtensor"
    }

    fn attributes(&self) -> Attributes {
        vec![("slots".into(), Slot::encode(&self.slots)), ("set".into(), Attr::Int(i64::from(self.set)))]
    }

    fn label(&self) -> String {
        if self.set { "set_subtensor".into() } else { "inc_subtensor".into() }
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        if inputs.len() < 2 {
            return Err("expected at least 2 inputs".into());
        }
        Slot::check(&self.slots, inputs, 2)?;
        let taken = Slot::taken_type(&self.slots, inputs[0])?;
        let fits = inputs[1].ndim() == taken.ndim()
            && inputs[1]
                .shape
                .iter()
                .zip(&taken.shape)
                .all(|(y, t)| *y == Some(1) || y.is_none() || t.is_none() || y == t);
        if !fits || inputs[1].dtype != inputs[0].dtype {
            return Err(format!("{} does not fit the part {taken}", inputs[1]));
        }
        Ok(vec![inputs[0].clone()])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let (x, y) = (inputs[0].shape, inputs[1].shape);
        let part = taken_shape(&self.slots, inputs[0].shape, known_bound(inputs, 2))?;
        if y.len() != part.len() || y.iter().zip(&part).any(|(y, p)| y != p && *y != 1) {
            return Err(format!("{} does not broadcast to the part {}", shape_text(y), shape_text(&part)));
        }
        Ok(vec![x.to_vec()])
    }

    fn changes_part(&self) -> bool {
        true
    }

    fn written_part(&self, inputs: &[Known]) -> Result<Option<Vec<usize>>, String> {
        taken_shape(&self.slots, inputs[0].shape, known_bound(inputs, 2)).map(Some)
    }

    fn shape_values(&self) -> Vec<usize> {
        Slot::inputs(&self.slots, true).into_iter().map(|i| i + 2).collect()
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::by_parts(self.clone(), inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let mut grads = vec![None; at.inputs.len()];
        if let Some(g) = &at.output_grads[0] {
            let bounds = &at.inputs[2..];
            let with = |first: Vec<Variable>| -> Vec<Variable> {
                first.into_iter().chain(bounds.iter().cloned()).collect()
            };
            let part = Variable::apply1(Subtensor { slots: self.slots.clone() }, &with(vec![g.clone()]))?;
            grads[1] = Some(super::sum_like::sum_to(&part, &at.inputs[1], |_| true)?);
            grads[0] = Some(if self.set {
                let zero = Variable::constant(Value::scalar(Scalar::from_f64(g.dtype(), 0.0)));
                let zero = super::DimShuffle::pad_left(&zero, part.ndim())?;
                Variable::apply1(
                    IncSubtensor { slots: self.slots.clone(), set: true },
                    &with(vec![g.clone(), zero]),
                )?
            } else {
                g.clone()
            });
        }
        Ok(grads)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let Some(bounds) = at.same(2) else { return Ok(None) };
        let inputs: Vec<Variable> = [at.repeated(0)?, at.with_axis(1)?].into_iter().chain(bounds).collect();
        let op = IncSubtensor { slots: behind_batch(&self.slots), set: self.set };
        only(Variable::apply1(op, &inputs))
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        let own = |axis: usize| {
            let Some(kept) = Slot::kept_axis(&self.slots, axis) else { return Ok(None) };
            let first = [at.part(0, axis)?, at.part(1, kept)?];
            let bounds = (2..at.inputs.len()).map(|i| at.whole(i));
            let inputs = first.into_iter().map(Ok).chain(bounds).collect::<Result<Vec<_>>>()?;
            Ok(Some(vec![MemberArray::sharded(Variable::apply1(self.clone(), &inputs)?, axis)]))
        };
        match (at.sharding(0), at.sharding(1)) {
            (Sharding::Sharded(axis), _) => own(axis),
            (_, Sharding::Sharded(kept)) => {
                let axes = 0..at.inputs[0].variable.ndim();
                let axis = axes.into_iter().find(|&axis| Slot::kept_axis(&self.slots, axis) == Some(kept));
                axis.map_or(Ok(None), own)
            }
            _ if at.is_zero(0) => at.terms(self.clone(), |i| i != 1),
            _ => at.terms(self.clone(), |i| i >= 2),
        }
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let known = values_known(inputs);
        let taken = Slot::take(&self.slots, inputs[0].shape(), known_bound(&known, 2));
        let taken = taken.map_err(|message| Error::mismatch(self.label(), "indices in bounds", message))?;
        let x = inputs[0].contiguous()?;
        // Positions of the part within x, found by taking the part of an array of positions.
        let positions = Value::from_vec(x.shape(), (0..x.len() as u64).collect())?;
        let part = taken_view(&positions, &taken)?;
        let y = inputs[1].broadcast_to(part.shape())?;
        let (dtype, size) = (x.dtype(), x.dtype().size());
        let places = part.to_vec::<u64>()?;
        let result = Value::filled(dtype, x.shape(), |bytes| {
            bytes.copy_from_slice(x.contiguous_bytes().unwrap_or(&[]));
            for (&at, y) in places.iter().zip(y.scalars()) {
                change_at(bytes, dtype, at as usize * size, |old| put(old, y, self.set));
            }
        })?;
        Ok(vec![result])
    }

    fn index_inputs(&self, count: usize) -> Vec<usize> {
        single_indices(&self.slots, 2, count)
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis)]
    }

    fn element_bounds(&self, _: usize, _: &[Known], elements: &[Interval], _: &[usize]) -> Option<Interval> {
        let [x, part, ..] = elements else { return None };
        self.set.then(|| x.or(*part))
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        write::inc_subtensor(self, to, node, inputs)
    }
}

/// The element after it is set to another, or increased by it.
pub(super) fn put(old: Scalar, y: Scalar, set: bool) -> Scalar {
    match old.dtype() {
        _ if set => y,
        d if d.is_float() => Scalar::from_f64(d, old.to_f64() + y.to_f64()),
        d => Scalar::from_i128(d, old.to_i128() + y.to_i128()),
    }
}

/// Changes the element stored at a byte position.
pub(super) fn change_at(bytes: &mut [u8], dtype: DType, at: usize, change: impl FnOnce(Scalar) -> Scalar) {
    let place = &mut bytes[at..at + dtype.size()];
    if let Some(old) = Scalar::from_le_bytes(dtype, place) {
        place.copy_from_slice(&change(old).to_le_bytes()[..dtype.size()]);
    }
}
