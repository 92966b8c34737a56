//! The reference evaluation of a graph: op by op, in order, each through its `perform`.

use super::function_graph::{Def, FunctionGraph, Node, VarId};
use crate::error::{Error, Result, array_text};
use crate::op::Op;
use crate::value::Value;
use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Performs a node by the reference of its op, `work`, and checks the results. The op may be a user's: a
/// panic is an error like any other, so that the caller can finish what the call began.
///
/// `shapes` are the shapes of the results, as the op said before.
///
/// # Errors
/// If the op fails or panics, or its results are not as expected: names op, node, and where it was written.
pub(crate) fn perform<'s>(
    graph: &FunctionGraph,
    position: usize,
    shapes: impl ExactSizeIterator<Item = &'s [usize]>,
    work: impl FnOnce(&dyn Op) -> Result<Vec<Value>>,
) -> Result<Vec<Value>> {
    let node = &graph.nodes[position];
    // The values that the op reads are not changed; what an op shares with others, it must guard by itself.
    let performed = catch_unwind(AssertUnwindSafe(|| work(node.op.as_ref())));
    let results = match performed {
        Ok(results) => results.map_err(|error| error.to_string()),
        Err(panic) => Err(format!("the op panicked: {}", message_of(panic.as_ref()))),
    };
    let checked = results.and_then(|results| match check_results(graph, node, shapes, &results) {
        Ok(()) => Ok(results),
        Err(error) => Err(error.to_string()),
    });
    checked.map_err(|message| node.failed(position, &message))
}

/// The text of a panic.
fn message_of(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text,
        (None, None) => "without a message",
    }
}

/// Checks the results of a node's op: their number, their dtypes, and that they have the shapes that the op
/// said.
///
/// # Errors
/// Which result differs, what was expected and what was given.
fn check_results<'s>(
    graph: &FunctionGraph,
    node: &Node,
    shapes: impl ExactSizeIterator<Item = &'s [usize]>,
    results: &[Value],
) -> Result<()> {
    let count = node.outputs.len();
    for (what, given) in [("shapes", shapes.len()), ("results", results.len())] {
        if given != count {
            return Err(Error::mismatch(format!("the op's {what}"), count.to_string(), given.to_string()));
        }
    }
    for (position, ((&output, shape), value)) in node.outputs.iter().zip(shapes).zip(results).enumerate() {
        let dtype = graph.var(output).ty.dtype;
        if value.dtype() != dtype || value.shape() != shape {
            let given = array_text(value.dtype(), value.shape());
            return Err(Error::mismatch(
                format!("result {position} of the op"),
                array_text(dtype, shape),
                given,
            ));
        }
    }
    Ok(())
}

/// Values of everything that outputs and updates read, given inputs and shared values. Each is dropped after
/// its last use.
///
/// # Errors
/// If an op fails: names op and node.
pub(crate) fn evaluate(
    graph: &FunctionGraph,
    inputs: &[Value],
    shared: &[Value],
) -> Result<HashMap<VarId, Value>> {
    let mut last_use = vec![0usize; graph.vars.len()];
    for (position, node) in graph.nodes.iter().enumerate() {
        node.inputs.iter().for_each(|&i| last_use[i as usize] = position);
    }
    graph.roots().for_each(|id| last_use[id as usize] = usize::MAX);
    let mut values: HashMap<VarId, Value> = HashMap::new();
    for (id, var) in graph.vars.iter().enumerate() {
        let value = match &var.def {
            Def::Input(i) => inputs.get(*i as usize),
            Def::Shared(i) => shared.get(*i as usize),
            Def::Constant(value) => Some(value),
            Def::Output { .. } => None,
        };
        if let Some(value) = value {
            values.insert(id as VarId, value.clone());
        }
    }
    for (position, node) in graph.nodes.iter().enumerate() {
        let given = node.inputs.iter().map(|i| values.get(i).cloned());
        let given: Option<Vec<Value>> = given.collect();
        let given = given
            .ok_or_else(|| Error::Internal(format!("node #{position} reads a value that is not there")))?;
        let known: Vec<_> = given.iter().map(crate::op::Known::of).collect();
        let expected = node.op.shapes(&known);
        let expected =
            expected.map_err(|message| graph.misfit(position, given.iter().map(Value::shape), &message))?;
        let shapes = expected.iter().map(Vec::as_slice);
        let results = perform(graph, position, shapes, |op| op.perform(&given))?;
        values.extend(node.outputs.iter().copied().zip(results));
        for input in &node.inputs {
            if last_use[*input as usize] == position {
                values.remove(input);
            }
        }
    }
    Ok(values)
}
