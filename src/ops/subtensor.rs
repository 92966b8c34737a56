//! Basic indexing: integers and slices, with bounds known when the graph is built or only when it runs.

pub(crate) mod lower;
mod write;

use super::batching::{Batch, BatchedOutputs, only};
use super::{Attr, Attributes, AxisRead, Gradient, Known, Op, zeros_like};
use crate::dtype::DType;
use crate::error::{Error, Result, shape_text};
use crate::graph::Node;
use crate::graph::{TensorType, Variable};
use crate::kernels::Scalar;
use crate::lower::{Lowered, Lowering, View};
use crate::value::Value;
use std::any::Any;

/// A bound of a slice, or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// Left out.
    Open,
    /// Known when the graph is built; negative counts from the end.
    At(i64),
    /// The value of this further input, a 0-d int64.
    Input(usize),
}

/// What is taken along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// One position; the axis disappears.
    Index(Bound),
    /// Every `step`-th from `start` to before `stop`, with Python's rules.
    Slice {
        /// Where it starts.
        start: Bound,
        /// Where it stops.
        stop: Bound,
        /// Not 0.
        step: i64,
    },
}

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

/// What a slot takes from an axis, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) start: i64,
    pub(crate) step: i64,
    /// `None` for an index.
    pub(crate) len: Option<usize>,
}

/// Python's slice arithmetic on one axis.
pub(crate) fn slice_indices(start: Option<i64>, stop: Option<i64>, step: i64, extent: usize) -> (i64, usize) {
    let n = extent as i64;
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let clamp = |bound: Option<i64>, open: i64| match bound {
        None => open,
        Some(b) => (if b < 0 { b.saturating_add(n) } else { b }).clamp(low, high),
    };
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    let (start, stop) = (clamp(start, first), clamp(stop, last));
    let span = if step > 0 { stop - start } else { start - stop };
    let len = if span <= 0 { 0 } else { (span - 1) / step.saturating_abs() + 1 };
    (start, len as usize)
}

impl Slot {
    /// What is taken of each axis; `bound` gives the bounds' values.
    pub(crate) fn take(
        slots: &[Slot],
        shape: &[usize],
        bound: impl Fn(Bound) -> Result<Option<i64>, String>,
    ) -> Result<Vec<Taken>, String> {
        if slots.len() > shape.len() {
            return Err(format!("{} indices for shape {}", slots.len(), shape_text(shape)));
        }
        let whole = Slot::Slice { start: Bound::Open, stop: Bound::Open, step: 1 };
        (0..shape.len())
            .map(|axis| match *slots.get(axis).unwrap_or(&whole) {
                Slot::Index(at) => {
                    let given = bound(at)?.ok_or("an index is left out")?;
                    let start = if given < 0 { given + shape[axis] as i64 } else { given };
                    if !(0..shape[axis] as i64).contains(&start) {
                        let extent = shape[axis];
                        return Err(format!(
                            "index {given} is out of bounds for axis {axis} with extent {extent}"
                        ));
                    }
                    Ok(Taken { start, step: 0, len: None })
                }
                Slot::Slice { step: 0, .. } => Err("the step of a slice is 0".into()),
                Slot::Slice { start, stop, step } => {
                    let (start, len) = slice_indices(bound(start)?, bound(stop)?, step, shape[axis]);
                    Ok(Taken { start, step, len: Some(len) })
                }
            })
            .collect()
    }

    fn bounds(&self) -> [Bound; 2] {
        match *self {
            Slot::Index(at) => [at, Bound::Open],
            Slot::Slice { start, stop, .. } => [start, stop],
        }
    }

    /// Positions (among the further inputs) of the bounds that are inputs; with `slices_only`, only those
    /// that decide extents.
    fn inputs(slots: &[Slot], slices_only: bool) -> Vec<usize> {
        let chosen = slots.iter().filter(|s| !slices_only || matches!(s, Slot::Slice { .. }));
        let bounds = chosen.flat_map(Slot::bounds);
        bounds.filter_map(|b| if let Bound::Input(i) = b { Some(i) } else { None }).collect()
    }

    pub(super) fn encode(slots: &[Slot]) -> Attr {
        let mut codes = Vec::new();
        let bound = |codes: &mut Vec<i64>, b: Bound| match b {
            Bound::Open => codes.extend([0, 0]),
            Bound::At(n) => codes.extend([1, n]),
            Bound::Input(i) => codes.extend([2, i as i64]),
        };
        for slot in slots {
            match *slot {
                Slot::Index(at) => {
                    codes.extend([0, 0]);
                    bound(&mut codes, at);
                    bound(&mut codes, Bound::Open);
                }
                Slot::Slice { start, stop, step } => {
                    codes.extend([1, step]);
                    bound(&mut codes, start);
                    bound(&mut codes, stop);
                }
            }
        }
        Attr::Ints(codes)
    }

    pub(super) fn decode(codes: &[i64]) -> Result<Vec<Slot>, String> {
        let bound = |kind: i64, n: i64| match kind {
            0 => Ok(Bound::Open),
            1 => Ok(Bound::At(n)),
            2 if n >= 0 => Ok(Bound::Input(n as usize)),
            _ => Err(format!("unknown bound {kind}")),
        };
        if !codes.len().is_multiple_of(6) {
            return Err("slots are not in sixes".into());
        }
        codes
            .chunks_exact(6)
            .map(|c| match c[0] {
                0 => Ok(Slot::Index(bound(c[2], c[3])?)),
                1 => Ok(Slot::Slice { start: bound(c[2], c[3])?, stop: bound(c[4], c[5])?, step: c[1] }),
                kind => Err(format!("unknown slot {kind}")),
            })
            .collect()
    }

    /// Checks the bounds' types; `first` further inputs come before them.
    fn check(slots: &[Slot], inputs: &[&TensorType], first: usize) -> Result<(), String> {
        let used = Slot::inputs(slots, false);
        if inputs.len() < first || used.iter().any(|&i| first + i >= inputs.len()) {
            return Err("a bound names an input that is not there".into());
        }
        if let Some(other) = inputs[first..].iter().find(|t| t.dtype != DType::I64 || t.ndim() != 0) {
            return Err(format!("bounds must be int64(), got {other}"));
        }
        if slots.len() > inputs[0].ndim() {
            return Err(format!("{} indices for {}", slots.len(), inputs[0]));
        }
        if slots.iter().any(|s| matches!(s, Slot::Slice { step: 0, .. } | Slot::Index(Bound::Open))) {
            return Err("a step of 0, or an index left out".into());
        }
        Ok(())
    }

    /// The static type of `x[slots]`.
    fn taken_type(slots: &[Slot], x: &TensorType) -> Result<TensorType, String> {
        let mut shape = Vec::new();
        for (axis, &extent) in x.shape.iter().enumerate() {
            match slots.get(axis) {
                None => shape.push(extent),
                Some(slot @ Slot::Index(_)) => {
                    if let (Slot::Index(Bound::At(_)), Some(extent)) = (slot, extent) {
                        Slot::take(&[*slot], &[extent], fixed_bound)
                            .map_err(|e| format!("{e} (axis {axis} of {x})"))?;
                    }
                }
                Some(slot @ Slot::Slice { .. }) => {
                    let fixed = Slot::inputs(&[*slot], false).is_empty();
                    let open = *slot == Slot::Slice { start: Bound::Open, stop: Bound::Open, step: 1 };
                    shape.push(match extent {
                        Some(extent) if fixed => Slot::take(&[*slot], &[extent], fixed_bound)?[0].len,
                        _ if open => extent,
                        _ => None,
                    });
                }
            }
        }
        Ok(TensorType::new(x.dtype, shape))
    }
}

fn fixed_bound(bound: Bound) -> Result<Option<i64>, String> {
    match bound {
        Bound::Open => Ok(None),
        Bound::At(n) => Ok(Some(n)),
        Bound::Input(_) => Err("a bound is not known".into()),
    }
}

/// A bound's value from the inputs; `first` is the position of the first bound among them.
fn known_bound<'a>(
    inputs: &'a [Known<'a>],
    first: usize,
) -> impl Fn(Bound) -> Result<Option<i64>, String> + 'a {
    move |bound| match bound {
        Bound::Input(i) => {
            let scalar = inputs.get(first + i).and_then(|k| k.value).and_then(Value::to_scalar);
            Ok(Some(scalar.ok_or("a bound is not known on the host")?.to_i128() as i64))
        }
        fixed => fixed_bound(fixed),
    }
}

/// The shape that slots take of another. An index does not decide it, and its value may be known only on the
/// device.
fn taken_shape(
    slots: &[Slot],
    shape: &[usize],
    known: impl Fn(Bound) -> Result<Option<i64>, String>,
) -> Result<Vec<usize>, String> {
    let whole = Slot::Slice { start: Bound::Open, stop: Bound::Open, step: 1 };
    let mut taken = Vec::new();
    for (axis, &extent) in shape.iter().enumerate() {
        let slot = *slots.get(axis).unwrap_or(&whole);
        if let Slot::Slice { .. } = slot {
            taken.extend(Slot::take(&[slot], &[extent], &known)?[0].len);
        } else if extent == 0 {
            return Err(format!("an index into axis {axis}, which is empty"));
        }
    }
    Ok(taken)
}

/// The view of `x` that slots take.
fn taken_view(x: &Value, taken: &[Taken]) -> Result<Value> {
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
    inputs.iter().map(|v| Known { shape: v.shape(), value: Some(v) }).collect()
}

/// The positions of inputs that are single indices, where the inputs of slots stand from `first` on.
fn single_indices(slots: &[Slot], first: usize, count: usize) -> Vec<usize> {
    let inputs = slots.iter().filter_map(|slot| match slot {
        Slot::Index(Bound::Input(input)) => Some(first + input),
        _ => None,
    });
    inputs.filter(|&input| input < count).collect()
}

/// The same slots, behind one that takes all of the batch axis.
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
            Some(Taken { start, step, len }) if input == 0 => {
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

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl IncSubtensor {
    /// The shape of the part that is written.
    pub(crate) fn part(&self, inputs: &[Known]) -> Result<Vec<usize>, String> {
        taken_shape(&self.slots, inputs[0].shape, known_bound(inputs, 2))
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
        let part = self.part(inputs)?;
        if y.len() != part.len() || y.iter().zip(&part).any(|(y, p)| y != p && *y != 1) {
            return Err(format!("{} does not broadcast to the part {}", shape_text(y), shape_text(&part)));
        }
        Ok(vec![x.to_vec()])
    }

    fn shape_values(&self) -> Vec<usize> {
        Slot::inputs(&self.slots, true).into_iter().map(|i| i + 2).collect()
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

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        write::inc_subtensor(self, to, node, inputs)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What an element becomes that is set to another, or increased by it.
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

#[cfg(test)]
mod tests {
    use super::slice_indices;

    #[test]
    fn slices_follow_python() {
        // list(range(5))[start:stop:step] -> first index and length, from CPython's slice.indices
        for (start, stop, step, want) in [
            (None, None, 1, (0, 5)),
            (None, None, -1, (4, 5)),
            (Some(-3), None, 1, (2, 3)),
            (Some(1), Some(100), 2, (1, 2)),
            (Some(4), Some(1), 1, (4, 0)),
            (Some(10), Some(-10), -2, (4, 3)),
            (Some(-100), Some(3), 1, (0, 3)),
        ] {
            assert_eq!(slice_indices(start, stop, step, 5), want, "{start:?} {stop:?} {step}");
        }
        assert_eq!(slice_indices(None, None, 1, 0).1, 0);
        assert_eq!(slice_indices(None, None, -1, 0).1, 0);
    }
}
