//! What is known of the elements of Vars along an axis, for all values of inputs and shared variables:
//! whether they are distinct, and whether they are in order.

use super::Lowering;
use super::intervals::MAX_CHECKED;
use crate::graph::{Def, Node, VarId};
use crate::op::Holds;
use crate::value::Value;
use workalike_kernels::interval::Interval;

impl Lowering<'_> {
    /// Whether elements of a Var that differ in their position along this axis alone are distinct.
    pub(crate) fn is_distinct_along(&self, id: VarId, axis: usize) -> bool {
        let says = |node: &Node, output| match node.op.range(&self.known_inputs(node)) {
            Some([_, step]) if step != 0 => Holds::Always,
            _ => node.op.distinct_along(output, axis),
        };
        self.holds(id, &says, &|of, axis| self.is_distinct_along(of, axis))
    }

    /// Whether no element of a Var of integers is less than the one before it along this axis.
    pub(crate) fn ascends_along(&self, id: VarId, axis: usize) -> bool {
        if !self.dtype(id).is_integer() {
            return false;
        }
        if let Some(value) = self.fixed_value(id) {
            return value.len() <= MAX_CHECKED && ascends(value, axis);
        }
        let says = |node: &Node, output| {
            let inputs = self.known_inputs(node);
            let elements: Vec<Interval> = node.inputs.iter().map(|&of| self.interval(of)).collect();
            match node.op.range(&inputs) {
                Some([_, step]) if step >= 0 => Holds::Always,
                _ => node.op.ascends_along(output, axis, &inputs, &elements),
            }
        };
        self.holds(id, &says, &|of, axis| self.ascends_along(of, axis))
    }

    /// Whether a property holds of a Var, where its op `says` how it does, and `of_input` whether it holds of
    /// one of its inputs.
    fn holds(
        &self,
        id: VarId,
        says: &dyn Fn(&Node, usize) -> Holds,
        of_input: &dyn Fn(VarId, usize) -> bool,
    ) -> bool {
        let Def::Output { node, index } = self.graph.var(id).def else { return false };
        let node = &self.graph.nodes[node as usize];
        match says(node, index as usize) {
            Holds::Unknown => false,
            Holds::Always => true,
            Holds::As { input, axis } => {
                node.inputs.get(input).is_some_and(|&of| self.converts_exactly(of, id) && of_input(of, axis))
            }
        }
    }

    /// Whether all elements of a Var are in the dtype of another too, so that a conversion keeps them apart.
    fn converts_exactly(&self, from: VarId, to: VarId) -> bool {
        let (dtype, converted) = (self.dtype(from), self.dtype(to));
        let range = Interval::of_dtype(converted);
        let integers = dtype.is_integer() && converted.is_integer();
        dtype == converted || integers && self.stays_within(from, range.low as i128, range.high as i128)
    }
}

/// Whether the elements of an array are in order along an axis.
fn ascends(value: &Value, axis: usize) -> bool {
    let step: usize = value.shape()[axis + 1..].iter().product();
    let row = value.shape()[axis] * step;
    let elements: Vec<i128> = value.scalars().map(|scalar| scalar.to_i128()).collect();
    (step..elements.len()).all(|at| at % row < step || elements[at - step] <= elements[at])
}
