//! From hints to a device for each node and shared variable.

use crate::error::{Error, Result};
use crate::function::Function;
use crate::graph::{Def, FunctionGraph, VarId};
use crate::ops::{Transfer, downcast};
use std::collections::HashMap;

/// Devices, as positions in the list of contexts.
#[derive(Debug)]
pub(super) struct Placement {
    pub(super) nodes: Vec<usize>,
    pub(super) shared: Vec<usize>,
}

/// Places a Function. A node runs where it is transferred to, or where its first operand lives that lives
/// somewhere. A node whose operands live nowhere runs where its first reader does, or in the first context.
///
/// `known`: where the shared variables of other methods live, by id.
///
/// # Errors
/// If a hint names a context that is not among `names`, or another one than where a variable lives.
pub(super) fn place(function: &Function, names: &[&str], known: &HashMap<u128, usize>) -> Result<Placement> {
    let graph = function.graph();
    let find = |name: &str, of: String| match names.iter().position(|known| *known == name) {
        Some(at) => Ok(at),
        None => {
            Err(Error::mismatch(of, format!("one of the contexts {}", names.join(", ")), name.to_string()))
        }
    };
    let shared = function.cells().iter().map(|cell| {
        let of = || format!("the context of shared variable {}", cell.name());
        let hint = cell.context().map(|name| find(&name, of())).transpose()?;
        match (hint, known.get(&cell.id())) {
            (Some(hint), Some(&lives)) if hint != lives => {
                let expected = format!("{}, where another method has it", names[lives]);
                Err(Error::mismatch(of(), expected, names[hint]))
            }
            (_, Some(&lives)) => Ok(lives),
            (hint, None) => Ok(hint.unwrap_or(0)),
        }
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
    let open: Vec<bool> = nodes.iter().map(Option::is_none).collect();
    // Readers come in reverse order, so that the first one has the last word.
    for (position, node) in graph.nodes.iter().enumerate().rev() {
        let Some(device) = nodes[position] else { continue };
        for &id in &node.inputs {
            if let Def::Output { node: from, .. } = graph.var(id).def
                && open[from as usize]
            {
                nodes[from as usize] = Some(device);
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
