//! The invariants of a FunctionGraph: every pass keeps them, and every reader may rely on them.

use super::function_graph::{Def, FunctionGraph, Node, VarId};
use super::variable::no_complex;
use crate::error::{Error, Result};
use crate::fallible;
use crate::op::UnknownOp;
use crate::value::MAX_RANK;

/// Checks a graph, e.g. one that was read from a file or came out of a pass.
///
/// Ids are in range; each Var's definition points back at it; a node uses only Vars defined before it; each
/// node's op accepts its inputs' types and its outputs have the types it gives; updates keep their shared
/// variable's type.
///
/// # Errors
/// What is wrong, and where.
pub fn verify(graph: &FunctionGraph) -> Result<()> {
    check_vars(graph)?;
    check_nodes(graph)?;
    check_updates(graph)
}

fn bad(message: String) -> Result<()> {
    Err(Error::Format { what: "graph".into(), message })
}

/// Whether a Var of this id exists.
fn known(graph: &FunctionGraph, id: VarId) -> bool {
    (id as usize) < graph.vars.len()
}

/// Checks the ids of inputs, shared variables and outputs, and each Var's definition.
fn check_vars(graph: &FunctionGraph) -> Result<()> {
    for (list, ids) in [("inputs", &graph.inputs), ("shared", &graph.shared), ("outputs", &graph.outputs)] {
        if let Some(id) = ids.iter().find(|&&id| !known(graph, id)) {
            return bad(format!("{list} name Var {id} of {}", graph.vars.len()));
        }
    }
    for (id, var) in graph.vars.iter().enumerate() {
        // Lowering counts the parts of complex numbers as an axis.
        let most = MAX_RANK - usize::from(var.ty.dtype.is_complex());
        if var.ty.ndim() > most {
            let name = var.name.as_deref().unwrap_or("a variable");
            return bad(format!("{name} has {} axes; there may be at most {most}", var.ty.ndim()));
        }
        let points_back = match &var.def {
            Def::Input(i) => graph.inputs.get(*i as usize).copied() == Some(id as VarId),
            Def::Shared(i) => graph.shared.get(*i as usize).copied() == Some(id as VarId),
            Def::Output { node, index } => {
                let node = graph.nodes.get(*node as usize);
                node.and_then(|n| n.outputs.get(*index as usize)).copied() == Some(id as VarId)
            }
            Def::Constant(value) => var.ty.admits(value.dtype(), value.shape()),
        };
        if !points_back {
            return bad(format!("Var {id} is not where its definition says"));
        }
    }
    Ok(())
}

/// Checks that each Var is defined once and before its uses, and that ops accept their inputs.
fn check_nodes(graph: &FunctionGraph) -> Result<()> {
    let mut defined = fallible::with_capacity(graph.vars.len())?;
    defined.extend(graph.vars.iter().map(|v| !matches!(v.def, Def::Output { .. })));
    for (position, node) in graph.nodes.iter().enumerate() {
        // The label's length is decided by the file, so it is made only for an error.
        let label = || node.op.label();
        if node.inputs.iter().chain(&node.outputs).any(|&id| !known(graph, id)) {
            return bad(format!("node {position} ({}) names a Var that does not exist", label()));
        }
        if let Some(early) = node.inputs.iter().find(|&&id| !defined[id as usize]) {
            return bad(format!("node {position} ({}) uses Var {early} before it is defined", label()));
        }
        if UnknownOp::of(node.op.as_ref()).is_none()
            && let Err(message) = check_types(graph, node)
        {
            return bad(format!("node {position} ({}): {message}", label()));
        }
        for &id in &node.outputs {
            if std::mem::replace(&mut defined[id as usize], true) {
                return bad(format!("Var {id} is defined twice"));
            }
        }
    }
    if let Some(id) = graph.roots().find(|&id| !known(graph, id) || !defined[id as usize]) {
        return bad(format!("output or update Var {id} is never defined"));
    }
    Ok(())
}

/// Checks that a shared variable has at most one update, of its type.
fn check_updates(graph: &FunctionGraph) -> Result<()> {
    let mut updated = vec![false; graph.shared.len()];
    for &(position, id) in &graph.updates {
        let Some(&target) = graph.shared.get(position as usize) else {
            return bad(format!("an update names shared variable {position} of {}", graph.shared.len()));
        };
        if std::mem::replace(&mut updated[position as usize], true) {
            return bad(format!("shared variable {position} is updated twice"));
        }
        if !update_fits(graph, target, id) {
            return bad(format!(
                "the update of {} changes its type from {} to {}",
                graph.describe(target),
                graph.var(target).ty,
                graph.var(id).ty
            ));
        }
    }
    Ok(())
}

/// Whether a node's op accepts its inputs and its outputs have the types that the op gives.
fn check_types(graph: &FunctionGraph, node: &Node) -> Result<(), String> {
    let mut given = fallible::with_capacity(node.inputs.len()).map_err(|e| e.to_string())?;
    given.extend(node.inputs.iter().map(|&id| &graph.var(id).ty));
    let types = node.op.types(&given)?;
    if let Some(ty) = given.iter().copied().chain(&types).find(|ty| ty.dtype.is_complex())
        && !node.op.takes_complex()
    {
        return Err(no_complex(ty));
    }
    if types.len() != node.outputs.len() {
        return Err(format!("it gives {} outputs, declared are {}", types.len(), node.outputs.len()));
    }
    let declared = node.outputs.iter().map(|&id| &graph.var(id).ty);
    match types.iter().zip(declared).find(|(given, declared)| !declared.includes(given)) {
        Some((given, declared)) => Err(format!("it gives {given}, declared is {declared}")),
        None => Ok(()),
    }
}

/// Whether an update may give this Var to that shared variable: equal dtype and rank, and no static extent
/// that contradicts.
fn update_fits(graph: &FunctionGraph, target: VarId, id: VarId) -> bool {
    let (to, from) = (&graph.var(target).ty, &graph.var(id).ty);
    to.dtype == from.dtype
        && to.ndim() == from.ndim()
        && to.shape.iter().zip(&from.shape).all(|(a, b)| a.is_none() || b.is_none() || a == b)
}
