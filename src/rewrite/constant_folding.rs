//! Constant folding: a node that depends on constants alone is computed once, by the reference.

use super::transform;
use crate::error::Result;
use crate::graph::{Def, FunctionGraph, TensorType, VarId};
use crate::op::Known;
use crate::value::Value;

/// A folded result may have this many bytes, or as many as its inputs: files must not grow by a
/// `broadcast_to`.
const SMALL_BYTES: usize = 4096;

/// Replaces nodes whose inputs are constants, and extents that types know, by constants.
///
/// # Errors
/// Never: a node that cannot be performed is kept, and fails when it runs.
pub fn fold_constants(graph: &FunctionGraph) -> Result<FunctionGraph> {
    transform(graph, |new, node, inputs| {
        // A loop may take long, and is run where the Function is; members are known there too.
        if node.op.has_effect() || !node.op.bodies().is_empty() || node.op.group().is_some() {
            return Ok(None);
        }
        let constant = inputs.iter().all(|&i| new.constant(i).is_some());
        let known = |&i: &VarId| new.var(i).ty.shape.iter().all(Option::is_some);
        if !constant && !inputs.iter().all(known) {
            return Ok(None);
        }
        let static_shapes: Option<Vec<Vec<usize>>> =
            inputs.iter().map(|&i| new.var(i).ty.shape.iter().copied().collect()).collect();
        let shapes_decide = static_shapes.and_then(|shapes| {
            let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
            node.op.values_from_shapes(&shapes)
        });
        let constants: Option<Vec<Value>> = inputs.iter().map(|&i| new.constant(i).cloned()).collect();
        let values = match (shapes_decide, constants) {
            (Some(values), _) => values,
            (None, Some(values)) => match folded(node.op.as_ref(), &values) {
                Some(values) => values,
                None => return Ok(None),
            },
            (None, None) => return Ok(None),
        };
        let declared = node.outputs.iter().map(|&o| &graph.var(o).ty);
        if values.len() != node.outputs.len()
            || values.iter().zip(declared).any(|(v, ty)| !ty.admits(v.dtype(), v.shape()))
        {
            return Ok(None);
        }
        let constant = |value: Value| {
            let ty = TensorType::fixed(value.dtype(), value.shape());
            new.add_var(ty, None, Def::Constant(value))
        };
        Ok(Some(values.into_iter().map(constant).collect()))
    })
}

fn folded(op: &dyn crate::ops::Op, inputs: &[Value]) -> Option<Vec<Value>> {
    let known: Vec<Known> = inputs.iter().map(Known::of).collect();
    let given: usize = inputs.iter().map(Value::byte_len).sum();
    let sizes = op.shapes(&known).ok()?;
    // Folding an empty result saves nothing, and may take long.
    if sizes.iter().all(|shape| shape.contains(&0)) {
        return None;
    }
    // No dtype takes more than eight bytes per element.
    let made = sizes
        .iter()
        .chain(&op.written_part(&known).ok().flatten())
        .map(|s| s.iter().try_fold(8usize, |n, &e| n.checked_mul(e)))
        .collect::<Option<Vec<_>>>()?;
    if made.iter().any(|&bytes| bytes > SMALL_BYTES.max(given)) {
        return None;
    }
    op.perform(inputs).ok()?.into_iter().map(|v| v.contiguous().ok()).collect()
}
