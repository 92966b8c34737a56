//! Which Vars hold distinct elements along an axis, for all values of inputs and shared variables.

use super::Lowering;
use crate::graph::{Def, VarId};
use crate::op::Distinct;
use workalike_kernels::interval::Interval;

impl Lowering<'_> {
    /// Whether elements of a Var that differ in their position along this axis alone are distinct.
    pub(crate) fn is_distinct_along(&self, id: VarId, axis: usize) -> bool {
        let Def::Output { node, index } = self.graph.var(id).def else { return false };
        let node = &self.graph.nodes[node as usize];
        match node.op.distinct_along(index as usize, axis) {
            Distinct::Unknown => false,
            Distinct::Always => true,
            Distinct::As { input, axis } => node
                .inputs
                .get(input)
                .is_some_and(|&of| self.converts_exactly(of, id) && self.is_distinct_along(of, axis)),
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
