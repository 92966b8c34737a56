//! Permutes axes, inserts axes and drops axes of extent 1.

use crate::error::Result;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, AxisRead, Batch, BatchedOutputs, Gradient, Holds, Known, Op, ShardedOutputs, Shards,
    expect_inputs,
};
use crate::ops::batching::only;
use crate::ops::complex;
use crate::value::Value;
use workalike_kernels::interval::Interval;

/// Permutes axes, inserts axes of extent 1 (`None`), and drops the axes that are not named, of static extent
/// 1.
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
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::by_parts(self.clone(), inputs)
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

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        let moved = |axis| self.order.iter().position(|from| *from == Some(axis));
        Ok(at.of_sum(self.clone(), at.along(self.clone(), true, moved)?))
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

    fn distinct_along(&self, _: usize, axis: usize) -> Holds {
        self.order[axis].map_or(Holds::Unknown, |axis| Holds::As { input: 0, axis })
    }

    fn ascends_along(&self, output: usize, axis: usize, _: &[Known], _: &[Interval]) -> Holds {
        self.distinct_along(output, axis)
    }

    fn lower(&self, _: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].dimshuffle(&self.order)])
    }
}
