//! Merge: equal ops on equal inputs are computed once; equal constants are kept once.

use super::{transform, types};
use crate::error::Result;
use crate::graph::{Def, FunctionGraph, VarId};
use crate::op::Attributes;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use workalike_kernels::DType;

/// Constants larger than this are not compared.
const COMPARED_BYTES: usize = 1024;

/// Common-subexpression elimination.
///
/// # Errors
/// Never.
pub fn merge(graph: &FunctionGraph) -> Result<FunctionGraph> {
    let first = first_equal_constants(graph);
    // Ops by their content, so that nodes are compared by two numbers and the inputs.
    let mut kinds: HashMap<(&'static str, u32, Attributes), u32> = HashMap::new();
    let mut seen: HashMap<(u32, Vec<VarId>), Vec<VarId>> = HashMap::with_capacity(graph.nodes.len());
    transform(graph, |new, node, inputs| {
        // Leaves keep their order, so a constant's id in the new graph identifies it.
        let inputs: Vec<VarId> = inputs.iter().map(|id| first.get(id).copied().unwrap_or(*id)).collect();
        let next = kinds.len() as u32;
        let kind = *kinds.entry((node.op.id(), node.op.version(), node.op.attributes())).or_insert(next);
        Ok(Some(match seen.entry((kind, inputs)) {
            Entry::Occupied(before) => {
                // Equal nodes may have been written when less or more was known about their inputs.
                for (&kept, &output) in before.get().iter().zip(&node.outputs) {
                    let (ty, other) = (&mut new.vars[kept as usize].ty, &graph.var(output).ty);
                    ty.shape.iter_mut().zip(&other.shape).for_each(|(e, other)| *e = e.or(*other));
                }
                before.get().clone()
            }
            Entry::Vacant(none) => {
                let declared = |at: usize| graph.var(node.outputs[at]).ty.clone();
                let types = types(new, node, none.key().1.as_slice(), declared);
                let outputs = new.add_node(node.op.clone(), none.key().1.clone(), types);
                none.insert(outputs).clone()
            }
        }))
    })
}

/// For each constant that equals an earlier one, the earlier one; both as ids in a transformed graph.
fn first_equal_constants(graph: &FunctionGraph) -> HashMap<VarId, VarId> {
    let mut seen: HashMap<(DType, &[usize], &[u8]), VarId> = HashMap::new();
    let mut first = HashMap::new();
    let leaves = graph.vars.iter().filter(|v| !matches!(v.def, Def::Output { .. }));
    for (id, var) in leaves.enumerate() {
        let Def::Constant(value) = &var.def else { continue };
        let Some(bytes) = value.contiguous_bytes().filter(|b| b.len() <= COMPARED_BYTES) else { continue };
        let earliest = *seen.entry((value.dtype(), value.shape(), bytes)).or_insert(id as VarId);
        if earliest != id as VarId {
            first.insert(id as VarId, earliest);
        }
    }
    first
}
