//! Where a reduction finds its result: argmax and argmin.

use super::{
    axis_left, behind_batch, check_not_empty, each_output, fold_name, folded, kept_axis, lower, reduced_type,
    without,
};
use crate::error::Result;
use crate::fallible;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, BatchedOutputs, Gradient, Known, Op, ShardedOutputs, Shards, expect_inputs, ints,
};
use crate::value::{Value, checked_len};
use workalike_kernels::interval::Interval;
use workalike_kernels::nest::Fold;
use workalike_kernels::{DType, Scalar};

/// The index of the maximum or minimum over axes, row-major over them in order, as int64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgReduce {
    /// ArgMax or ArgMin.
    pub fold: Fold,
    /// Sorted, each once.
    pub axes: Vec<usize>,
}

impl Op for ArgReduce {
    fn id(&self) -> &'static str {
        "argreduce"
    }

    fn attributes(&self) -> Attributes {
        vec![("fold".into(), Attr::Text(fold_name(self.fold).into())), ("axes".into(), ints(&self.axes))]
    }

    fn label(&self) -> String {
        format!("{}{:?}", fold_name(self.fold), self.axes)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        if !self.fold.has_index() {
            return Err(format!("{} gives no index", fold_name(self.fold)));
        }
        check_not_empty(self.fold, inputs[0], &self.axes)?;
        Ok(vec![reduced_type(inputs[0], &self.axes, DType::I64)?])
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(ArgReduce { axes: behind_batch(&self.axes), ..self.clone() })
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        at.along(self.clone(), false, |axis| axis_left(&self.axes, axis))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let shape = without(inputs[0].shape(), &self.axes);
        let float = inputs[0].dtype().is_float();
        let mut indices: Vec<i64> = fallible::with_capacity(checked_len(&shape, DType::I64)?)?;
        each_output(&inputs[0], &self.axes, |elements| {
            let mut best: Option<(i64, Scalar)> = None;
            for (i, s) in elements.enumerate() {
                let better = best.is_none_or(|(_, b)| {
                    let less = if float { s.to_f64() < b.to_f64() } else { s.to_i128() < b.to_i128() };
                    let more = if float { s.to_f64() > b.to_f64() } else { s.to_i128() > b.to_i128() };
                    let nan = s.to_f64().is_nan();
                    !b.to_f64().is_nan() && (nan || if self.fold == Fold::ArgMax { more } else { less })
                });
                if better {
                    best = Some((i as i64, s));
                }
            }
            indices.push(best.map_or(0, |b| b.0));
        })?;
        Ok(vec![Value::from_vec(&shape, indices)?])
    }

    fn axis_sources(&self, axis: usize, inputs: &[Variable]) -> Vec<(usize, usize)> {
        kept_axis(&self.axes, axis, &inputs[0])
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::arg_reduce(self, to, node, inputs)
    }

    fn element_bounds(&self, _: usize, inputs: &[Known], _: &[Interval], _: &[usize]) -> Option<Interval> {
        Some(Interval::new(DType::I64, 0.0, folded(inputs.first()?.shape, &self.axes)? - 1.0))
    }
}
