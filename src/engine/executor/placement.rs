//! From hints to a device for each node and shared variable.

use crate::error::{Error, Result};
use crate::graph::{Cell, Def, FunctionGraph, VarId};
use crate::ops::Transfer;
use std::sync::Arc;

/// Devices, as positions in the list of contexts.
#[derive(Debug)]
pub(super) struct Placement {
    pub(super) nodes: Vec<usize>,
    pub(super) shared: Vec<usize>,
}

impl Placement {
    /// Everything on the first device.
    pub(super) fn on_one(graph: &FunctionGraph) -> Placement {
        Placement { nodes: vec![0; graph.nodes.len()], shared: vec![0; graph.shared.len()] }
    }

    /// The device, if all nodes and shared variables are on one.
    pub(super) fn only(&self) -> Option<usize> {
        let mut devices = self.nodes.iter().chain(&self.shared);
        let first = devices.next().copied().unwrap_or(0);
        devices.all(|device| *device == first).then_some(first)
    }
}

/// Where shared variables live: where they are `known` to, else where their hint says, else in the first
/// context.
///
/// # Errors
/// If a hint names a context that is not among `names`, or another one than where a variable lives.
pub(super) fn homes(cells: &[Arc<Cell>], names: &[&str], known: &[Option<usize>]) -> Result<Vec<usize>> {
    let home = |(cell, known): (&Arc<Cell>, &Option<usize>)| {
        let of = || format!("the context of shared variable {}", cell.name());
        let hint = cell.context().map(|name| find(names, &name, of())).transpose()?;
        match (hint, *known) {
            (Some(hint), Some(lives)) if hint != lives => {
                let expected = format!("{}, where another method has it", names[lives]);
                Err(Error::mismatch(of(), expected, names[hint]))
            }
            (_, Some(lives)) => Ok(lives),
            (hint, None) => Ok(hint.unwrap_or(0)),
        }
    };
    cells.iter().zip(known).map(home).collect()
}

/// Places a graph. A node runs where it is transferred to, or where its first operand lives that lives
/// somewhere. A node whose operands live nowhere runs where its first reader does, or in the first context.
/// A shared variable whose place is `None` lives where its new value is computed; no node reads it.
///
/// # Errors
/// If a transfer names a context that is not among `names`.
pub(super) fn place(graph: &FunctionGraph, names: &[&str], shared: &[Option<usize>]) -> Result<Placement> {
    let mut nodes: Vec<Option<usize>> = Vec::with_capacity(graph.nodes.len());
    for (position, node) in graph.nodes.iter().enumerate() {
        nodes.push(match node.op.downcast::<Transfer>() {
            Some(transfer) => {
                let of = format!("the context of a transfer (node #{position}){}", node.written_at());
                Some(find(names, &transfer.to, of)?)
            }
            None => node.inputs.iter().find_map(|&id| home(graph, id, &nodes, shared)),
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
    let computed = |at: usize| {
        let update = graph.updates.iter().find(|(updated, _)| *updated as usize == at);
        update.and_then(|(_, id)| home(graph, *id, &nodes, shared))
    };
    let shared = shared.iter().enumerate().map(|(at, known)| known.or_else(|| computed(at)).unwrap_or(0));
    let shared = shared.collect();
    Ok(Placement { nodes: nodes.into_iter().map(|device| device.unwrap_or(0)).collect(), shared })
}

/// The position of a context. `of` says what names it.
fn find(names: &[&str], name: &str, of: String) -> Result<usize> {
    let unknown =
        || Error::mismatch(of, format!("one of the contexts {}", names.join(", ")), name.to_string());
    names.iter().position(|known| *known == name).ok_or_else(unknown)
}

/// Where a Var lives, if it lives somewhere.
fn home(
    graph: &FunctionGraph,
    id: VarId,
    nodes: &[Option<usize>],
    shared: &[Option<usize>],
) -> Option<usize> {
    match graph.var(id).def {
        Def::Shared(at) => shared.get(at as usize).copied().flatten(),
        Def::Output { node, .. } => nodes[node as usize],
        Def::Input(_) | Def::Constant(_) => None,
    }
}
