//! Collectives as library ops; with one member nothing is to be done.

use super::Collective;
use crate::lower::{Lowered, Lowering, View};
use workalike_device::group::CollectiveKind;

pub(super) fn lower(op: &Collective, to: &mut Lowering<'_>, inputs: &[View]) -> Lowered {
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
    let transport = exchange.group.transport().to_string();
    let input = to.whole(x);
    let views = to.library(exchange, vec![(input, 0)], &[&shape]);
    views.ok_or_else(|| format!("arrays go from member to member through main memory, by {transport}"))
}
