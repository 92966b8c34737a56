//! What range the elements of each Var lie in, for all values of inputs and shared variables.

use super::Lowering;
use super::index_bounds::Bounds;
use crate::graph::{Def, Node, VarId};
use crate::op::Known;
use crate::value::Value;
use workalike_kernels::interval::Interval;

/// Maximum number of elements of a constant array that are looked at.
pub(super) const MAX_CHECKED: usize = 1 << 16;

impl Lowering<'_> {
    /// Whether all elements of a Var are in `low..high`, for all values of the inputs.
    pub(crate) fn stays_within(&self, id: VarId, low: i128, high: i128) -> bool {
        if self.shapes.shapes[id as usize].contains(&0) {
            return true;
        }
        // Exact to the last integer, which an interval need not be.
        if let Some(value) = self.fixed_value(id).filter(|value| value.len() <= MAX_CHECKED) {
            return Bounds::of(value).is_some_and(|bounds| bounds.within(low, high));
        }
        self.interval(id).is_within(low, high)
    }

    /// A range that all elements of a Var are in.
    pub(super) fn interval(&self, id: VarId) -> Interval {
        self.intervals()[id as usize]
    }

    /// The value that constants and extents give a Var.
    pub(super) fn fixed_value(&self, id: VarId) -> Option<&Value> {
        let constant = || match &self.graph.var(id).def {
            Def::Constant(value) => Some(value),
            _ => None,
        };
        self.shapes.fixed[id as usize].as_ref().or_else(constant)
    }

    /// A range for each Var; computed on first use.
    fn intervals(&self) -> &[Interval] {
        self.intervals.get_or_init(|| {
            let vars = 0..self.graph.vars.len() as VarId;
            let mut found: Vec<Interval> = vars.map(|id| self.given_interval(id)).collect();
            for node in &self.graph.nodes {
                let inputs = self.known_inputs(node);
                let elements: Vec<Interval> = node.inputs.iter().map(|&id| found[id as usize]).collect();
                for (at, &output) in node.outputs.iter().enumerate() {
                    if self.fixed_value(output).is_none() {
                        found[output as usize] = self.interval_of(node, at, &inputs, &elements);
                    }
                }
            }
            found
        })
    }

    /// The range of the elements that are known, else all values of the dtype.
    fn given_interval(&self, id: VarId) -> Interval {
        let dtype = self.graph.var(id).ty.dtype;
        let value = self.fixed_value(id).filter(|value| (1..=MAX_CHECKED).contains(&value.len()));
        match value {
            Some(value) if dtype.is_integer() => {
                Bounds::of(value).map_or(Interval::of_dtype(dtype), |bounds| {
                    let (min, max) = bounds.ends();
                    Interval::new(dtype, min as f64, max as f64)
                })
            }
            Some(value) => value.to_scalar().map_or(Interval::of_dtype(dtype), Interval::of),
            None => Interval::of_dtype(dtype),
        }
    }

    fn interval_of(&self, node: &Node, at: usize, inputs: &[Known], elements: &[Interval]) -> Interval {
        let id = node.outputs[at] as usize;
        let dtype = self.dtype(node.outputs[at]);
        let known = node.op.element_bounds(at, inputs, elements, &self.shapes.shapes[id]);
        // An op of another crate may answer in another dtype.
        known.filter(|known| known.dtype == dtype).unwrap_or(Interval::of_dtype(dtype))
    }
}
