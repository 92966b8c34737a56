//! Elementwise ops, conversions and ranges: one Point phase over the output's elements.

use crate::dtype::DType;
use crate::graph::Node;
use crate::kernels::nest::PhaseKind;
use crate::lower::{At, Lowered, Lowering, NestBuilder, PhaseBuilder, View};
use crate::ops::{Cast, Elemwise};

impl Lowering<'_> {
    pub(crate) fn elemwise(&mut self, op: &Elemwise, node: &Node, inputs: &[View]) -> Lowered {
        self.map(op.op.row().name, node, |point, shape| {
            let values: Vec<_> = inputs.iter().map(|v| point.load(v, &aligned(v, shape))).collect();
            point.apply(op.op, &values)
        })
    }

    pub(crate) fn cast(&mut self, _: &Cast, node: &Node, inputs: &[View]) -> Lowered {
        // The store converts to the output's dtype.
        self.map("cast", node, |point, shape| point.load(&inputs[0], &aligned(&inputs[0], shape)))
    }

    /// A Nest over the elements of the node's output.
    pub(crate) fn map(
        &mut self,
        name: &str,
        node: &Node,
        body: impl FnOnce(&mut PhaseBuilder, &[u64]) -> crate::kernels::nest::Value,
    ) -> Lowered {
        let shape = self.shape(node.outputs[0]);
        let dtype: DType = self.dtype(node.outputs[0]);
        let target = self.temp(dtype, &shape);
        let mut nest = NestBuilder::new(name, &shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let value = body(&mut point, &shape);
        point.store(target, &shape, &At::axes(shape.len()), value, None);
        point.finish();
        self.push(nest);
        Ok(vec![View::whole(target, &shape)])
    }
}

/// Positions along a view's axes when it broadcasts to `shape`.
pub(crate) fn aligned(view: &View, shape: &[u64]) -> Vec<At> {
    let at = |axis: usize| if view.shape[axis] == 1 && shape[axis] != 1 { At::First } else { At::Axis(axis) };
    (0..view.shape.len()).map(at).collect()
}
