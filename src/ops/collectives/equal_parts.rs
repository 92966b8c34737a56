//! Members' parts that must have as many rows as each other.

use crate::error::Result;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Batch, BatchedOutputs, Gradient, Known, Op, OpGroup};
use crate::ops::stored_op::StoredOp;
use crate::value::Value;
use std::sync::Arc;

/// Its first input, a member's part of an array along an axis, which must have the extent of the second
/// there: a part of one row would broadcast where the array that it is a part of does not. A third input is
/// that array, if it may be one row that broadcasts. The only member of a group has whole arrays, and nothing
/// is checked. The values of the other inputs are not read.
#[derive(Clone, Debug)]
pub struct EqualParts {
    /// The axis.
    pub axis: usize,
    /// The group.
    pub group: OpGroup,
}

impl EqualParts {
    /// `part`, checked beside another.
    pub(crate) fn of(
        group: &str,
        axis: usize,
        part: &Variable,
        beside: &Variable,
        whole: Option<&Variable>,
    ) -> Result<Variable> {
        let op = EqualParts { axis, group: OpGroup::new(group) };
        let inputs: Vec<Variable> = [part, beside].into_iter().chain(whole).cloned().collect();
        Variable::apply1(op, &inputs)
    }

    /// The op that a file holds.
    pub(crate) fn decode(stored: &StoredOp) -> Result<EqualParts, String> {
        Ok(EqualParts { axis: stored.index("axis")?, group: stored.group()? })
    }

    fn check(&self, extents: &[usize]) -> Result<(), String> {
        let [own, beside, rest @ ..] = extents else { return Err("expected 2 or 3 inputs".into()) };
        if self.group.size() < 2 || own == beside || rest.first() == Some(&1) {
            return Ok(());
        }
        let [own, beside] = [own, beside].map(|part| part.saturating_mul(self.group.size()));
        let axis = self.axis;
        Err(format!(
            "axis {axis} has extent {own}, where {beside} is expected: arrays that members divide do not broadcast"
        ))
    }
}

impl Op for EqualParts {
    fn id(&self) -> &'static str {
        "equal_parts"
    }

    fn attributes(&self) -> Attributes {
        let axis = ("axis".into(), Attr::Int(self.axis as i64));
        std::iter::once(axis).chain(self.group.attributes()).collect()
    }

    fn label(&self) -> String {
        "data_parallel".into()
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        if !(2..=3).contains(&inputs.len()) || inputs.iter().any(|ty| self.axis >= ty.ndim()) {
            let given: Vec<String> = inputs.iter().map(ToString::to_string).collect();
            return Err(format!(
                "expected 2 or 3 arrays with an axis {}, got {}",
                self.axis,
                given.join(", ")
            ));
        }
        Ok(vec![inputs[0].clone()])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let extents: Vec<usize> = inputs.iter().map(|known| known.shape[self.axis]).collect();
        self.check(&extents)?;
        Ok(vec![inputs[0].shape.to_vec()])
    }

    fn takes_complex(&self) -> bool {
        true
    }

    fn group(&self) -> Option<&OpGroup> {
        Some(&self.group)
    }

    fn in_group(&self, group: OpGroup) -> Option<Arc<dyn Op>> {
        Some(Arc::new(EqualParts { group, ..*self }))
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let mut grads = vec![None; at.inputs.len()];
        grads[0].clone_from(&at.output_grads[0]);
        Ok(grads)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let inputs = (0..at.inputs.len()).map(|input| at.repeated(input)).collect::<Result<Vec<_>>>()?;
        crate::ops::batching::only(Variable::apply1(
            EqualParts { axis: self.axis + 1, ..self.clone() },
            &inputs,
        ))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![inputs[0].clone()])
    }

    fn read_inputs(&self, _: usize) -> usize {
        1
    }

    fn is_identity(&self) -> bool {
        true
    }

    fn lower(&self, _: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].clone()])
    }
}
