//! Elementwise ops, conversions and ranges: one Point phase over the output's elements.

use super::{Cast, Elemwise};
use crate::graph::Node;
use crate::lower::{At, Lowered, Lowering, NestBuilder, PhaseBuilder, View};
use workalike_kernels::nest::{PhaseKind, Value};

pub(crate) fn elemwise(op: &Elemwise, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    to.map(op.op.row().name, node, |point, shape| {
        let values: Vec<_> = inputs.iter().map(|v| point.load(v, &aligned(v, shape))).collect();
        point.apply(op.op, &values)
    })
}

pub(crate) fn cast(_: &Cast, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    // The store converts to the output's dtype.
    to.map("cast", node, |point, shape| point.load(&inputs[0], &aligned(&inputs[0], shape)))
}

impl Lowering<'_> {
    /// Appends a Nest over the elements of the node's first output, which gives `body` a Point phase and the
    /// extents, and stores the value that it returns.
    ///
    /// # Errors
    /// If the node has no output.
    pub fn map(
        &mut self,
        name: &str,
        node: &Node,
        body: impl FnOnce(&mut PhaseBuilder, &[u64]) -> Value,
    ) -> Lowered {
        let &output = node.outputs.first().ok_or("the node has no output")?;
        let (shape, dtype) = (self.shape(output), self.dtype(output));
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
