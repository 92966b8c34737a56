//! From hints to a device for each node and shared variable.

use crate::error::{Error, Result};
use crate::function::Function;
use crate::graph::{Def, FunctionGraph, VarId};
use crate::ops::{Transfer, downcast};

/// Devices, as positions in the list of contexts.
#[derive(Debug)]
pub(super) struct Placement {
    pub(super) nodes: Vec<usize>,
    pub(super) shared: Vec<usize>,
}

/// Places a Function. A node runs where it is transferred to, or where its first operand lives that lives
/// somewhere. A node whose operands live nowhere runs where its first reader does, or in the first context.
///
/// # Errors
/// If a hint names a context that is not among `names`.
pub(super) fn place(function: &Function, names: &[&str]) -> Result<Placement> {
    let graph = function.graph();
    let find = |name: &str, of: String| match names.iter().position(|known| *known == name) {
        Some(at) => Ok(at),
        None => {
            Err(Error::mismatch(of, format!("one of the contexts {}", names.join(", ")), name.to_string()))
        }
    };
    let shared = function.cells().iter().map(|cell| match cell.context() {
        None => Ok(0),
        Some(name) => find(&name, format!("the context of shared variable {}", cell.name())),
    });
    let shared = shared.collect::<Result<Vec<usize>>>()?;
    let mut nodes: Vec<Option<usize>> = Vec::with_capacity(graph.nodes.len());
    for (position, node) in graph.nodes.iter().enumerate() {
        nodes.push(match downcast::<Transfer>(node.op.as_ref()) {
            Some(transfer) => {
                let of = format!("the context of a transfer (node #{position}){}", node.written_at());
                Some(find(&transfer.to, of)?)
            }
            None => node.inputs.iter().find_map(|&id| home(graph, id, &nodes, &shared)),
        });
    }
    // The first reader is the last one to say.
    for (position, node) in graph.nodes.iter().enumerate().rev() {
        let Some(device) = nodes[position] else { continue };
        for &id in &node.inputs {
            if let Def::Output { node: from, .. } = graph.var(id).def {
                let from = &mut nodes[from as usize];
                *from = from.or(Some(device));
            }
        }
    }
    Ok(Placement { nodes: nodes.into_iter().map(|device| device.unwrap_or(0)).collect(), shared })
}

/// Where a Var lives, if it lives somewhere.
fn home(graph: &FunctionGraph, id: VarId, nodes: &[Option<usize>], shared: &[usize]) -> Option<usize> {
    match graph.var(id).def {
        Def::Shared(at) => shared.get(at as usize).copied(),
        Def::Output { node, .. } => nodes[node as usize],
        Def::Input(_) | Def::Constant(_) => None,
    }
}
