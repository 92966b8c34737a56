//! Collectives as library ops, or through main memory; with one member nothing is to be done.

use super::CollectiveOp;
use crate::graph::Node;
use crate::lower::program::{HostNode, Step};
use crate::lower::{Lowered, Lowering, View};
use workalike_device::group::CollectiveKind;

pub(super) fn lower(op: &CollectiveOp, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let x = &inputs[0];
    let dtype = to.program.buffers[x.buffer].dtype;
    let Some(exchange) = op.exchange(dtype, x.shape.iter().product()) else {
        return match op.leaves_nothing() {
            true => Err("its only member gets no array".into()),
            false => Ok(vec![x.clone()]),
        };
    };
    let mut shape = x.shape.clone();
    if matches!(op.kind, CollectiveKind::AllGather | CollectiveKind::ReduceScatter(_)) {
        shape[0] = op.kind.result_elements(shape[0], exchange.group.size()).map_err(|e| e.to_string())?;
    }
    let input = to.whole(x);
    if to.abilities.has(&exchange) {
        let views = to.library(exchange, vec![(input, 0)], &[&shape]);
        return views.ok_or_else(|| "an exchange that the device has was refused".into());
    }
    let why =
        format!("arrays go from member to member through main memory, by {}", exchange.group.transport());
    let output = to.temp(dtype, &shape);
    to.mark_written(&[output]);
    let (op, inputs, outputs) = (node.op.clone(), vec![input], vec![output]);
    let exchange = Some(exchange);
    to.program.steps.push(Step::Host(HostNode { op, node: to.node, why, inputs, outputs, exchange }));
    Ok(vec![View::whole(output, &shape)])
}
