//! Extents that a user asserts.

use super::complex;
use super::creation::arange;
use crate::error::{Error, Result, shape_text};
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, Batched, BatchedOutputs, Gradient, MemberArray, Op, ShardedOutputs, Sharding,
    Shards, expect_inputs,
};
use crate::value::Value;

/// Its input, whose extents are the given ones; another extent is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecifyShape {
    /// One for each axis.
    pub extents: Vec<Option<usize>>,
}

impl SpecifyShape {
    fn check(&self, shape: &[usize]) -> Result<(), String> {
        let fits = shape.len() == self.extents.len()
            && shape.iter().zip(&self.extents).all(|(have, want)| want.is_none_or(|w| w == *have));
        if fits {
            Ok(())
        } else {
            Err(format!("expected a shape of ({}), got {}", self.text(), shape_text(shape)))
        }
    }

    fn text(&self) -> String {
        let extents: Vec<String> =
            self.extents.iter().map(|e| e.map_or("?".into(), |e| e.to_string())).collect();
        extents.join(", ")
    }
}

impl Op for SpecifyShape {
    fn id(&self) -> &'static str {
        "specify_shape"
    }

    fn attributes(&self) -> Attributes {
        let extents = self.extents.iter().map(|e| e.map_or(-1, |e| e as i64)).collect();
        vec![("extents".into(), Attr::Ints(extents))]
    }

    fn label(&self) -> String {
        format!("specify_shape[{}]", self.text())
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        let mut ty = inputs[0].clone();
        if ty.ndim() != self.extents.len() {
            return Err(format!("{} extents for {ty}", self.extents.len()));
        }
        for (have, want) in ty.shape.iter_mut().zip(&self.extents) {
            if let (Some(a), Some(b)) = (*have, *want)
                && a != b
            {
                return Err(format!("expected a shape of ({}), got {}", self.text(), inputs[0]));
            }
            *have = have.or(*want);
        }
        Ok(vec![ty])
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::by_parts(self.clone(), inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![at.output_grads[0].clone()])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(SpecifyShape { extents: std::iter::once(None).chain(self.extents.clone()).collect() })
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        let mut own = self.clone();
        let extent = match at.sharding(0) {
            Sharding::Sharded(axis) => own.extents.get_mut(axis).and_then(Option::take).map(|n| (axis, n)),
            _ => None,
        };
        let mut outputs = at.along(own, true, Some)?;
        if let (Some(list), Some((axis, n))) = (&mut outputs, extent) {
            let rows = arange(at.share(&Variable::constant(n as i64))?);
            for output in list {
                output.variable = EqualExtents::of("data_parallel", (&output.variable, axis), (&rows, 0))?;
            }
        }
        Ok(outputs)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        self.check(inputs[0].shape()).map_err(|m| Error::mismatch(self.label(), "that shape", m))?;
        Ok(vec![inputs[0].clone()])
    }

    fn is_identity(&self) -> bool {
        true
    }

    fn lower(&self, _: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].clone()])
    }
}

/// The callers that require equal extents.
pub(super) const CALLERS: [&str; 7] =
    ["einsum", "categorical_crossentropy", "bincount", "segments", "repeat", "scan", "data_parallel"];

/// Its first input, an axis of which must have the extent of an axis of the second: it does not broadcast.
/// The second input's values are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EqualExtents {
    /// The caller that an error names.
    pub(super) caller: &'static str,
    /// The axis of the first input.
    pub axis: usize,
    /// The axis of the second.
    pub other: usize,
}

impl EqualExtents {
    pub(super) fn decode(caller: &str, axis: usize, other: usize) -> Result<EqualExtents, String> {
        let known = CALLERS.iter().find(|c| **c == caller);
        let caller = known.ok_or_else(|| format!("unknown caller {caller}"))?;
        Ok(EqualExtents { caller, axis, other })
    }

    /// `x`, checked; itself if the types know that it fits.
    pub(crate) fn of(
        caller: &'static str,
        (x, axis): (&Variable, usize),
        (like, other): (&Variable, usize),
    ) -> Result<Variable> {
        let (have, want) = (x.ty().shape.get(axis), like.ty().shape.get(other));
        if matches!((have, want), (Some(Some(a)), Some(Some(b))) if a == b) {
            return Ok(x.clone());
        }
        Variable::apply1(EqualExtents { caller, axis, other }, &[x.clone(), like.clone()])
    }

    fn refuse(&self, have: usize, want: usize) -> String {
        format!("axis {} has extent {have}, where {want} is expected and nothing broadcasts", self.axis)
    }
}

impl Op for EqualExtents {
    fn id(&self) -> &'static str {
        "equal_extents"
    }

    fn attributes(&self) -> Attributes {
        vec![
            ("caller".into(), Attr::Text(self.caller.into())),
            ("axis".into(), Attr::Int(self.axis as i64)),
            ("other".into(), Attr::Int(self.other as i64)),
        ]
    }

    fn label(&self) -> String {
        self.caller.into()
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 2)?;
        let (x, like) = (inputs[0], inputs[1]);
        let (Some(&have), Some(&want)) = (x.shape.get(self.axis), like.shape.get(self.other)) else {
            return Err(format!("{x} and {like} have no axes {} and {}", self.axis, self.other));
        };
        let mut ty = x.clone();
        ty.shape[self.axis] = match (have, want) {
            (Some(have), Some(want)) if have != want => return Err(self.refuse(have, want)),
            (have, want) => have.or(want),
        };
        Ok(vec![ty])
    }
    fn takes_complex(&self) -> bool {
        true
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![at.output_grads[0].clone(), None])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let [x, like] = at.inputs else { return Ok(None) };
        let (axis, other) = (self.axis + usize::from(x.batched), self.other + usize::from(like.batched));
        let op = EqualExtents { axis, other, ..*self };
        let variable = Variable::apply1(op, &[x.variable.clone(), like.variable.clone()])?;
        Ok(Some(vec![Batched { variable, batched: x.batched }]))
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        // Extents are equal if the members' are, which both are divided or neither.
        match (at.sharding(0), at.sharding(1)) {
            (own, other)
                if (own == Sharding::Sharded(self.axis)) != (other == Sharding::Sharded(self.other)) =>
            {
                Ok(None)
            }
            (sharding, _) => {
                let inputs = [at.inputs[0].variable.clone(), at.inputs[1].variable.clone()];
                let own = Variable::apply1(*self, &inputs)?;
                Ok(Some(vec![MemberArray::new(own, sharding)]))
            }
        }
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![inputs[0].clone()])
    }

    fn read_inputs(&self, _: usize) -> usize {
        1
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![if axis == self.axis { (1, self.other) } else { (0, axis) }]
    }

    fn is_identity(&self) -> bool {
        true
    }

    fn lower(&self, _: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].clone()])
    }
}
