//! Functions whose members are given their parts of inputs, and give their parts of outputs, where each would
//! take its part of a whole, or gather one.

use super::callable::{Function, InputSpec};
use crate::error::{Error, Result};
use crate::graph::source_location;
use crate::graph::{Cell, Def, FunctionGraph, Node, SharedVariable, Variable};
use crate::ops::{CollectiveKind, CollectiveOp, OwnPart};
use std::sync::Arc;

/// A Function of parts.
#[derive(Debug)]
pub(crate) struct PartFunction {
    pub(crate) function: Function,
    /// For each input the axis of which a member is given a part, if it is.
    pub(crate) divided: Vec<Option<usize>>,
    /// For each output, whether each member gives its rows of it.
    pub(crate) joined: Vec<bool>,
}

impl Function {
    /// The same Function in terms of the members' parts in a group.
    ///
    /// # Errors
    /// If a pass breaks the graph, which would be an error of the library.
    pub(crate) fn of_parts(&self, group: &str) -> Result<PartFunction> {
        let graph = self.graph();
        let mut divided = vec![None; graph.inputs.len()];
        for node in &graph.nodes {
            if let Some((part, Def::Input(at))) = own_part(graph, node, group) {
                divided[*at as usize].get_or_insert(part.axis);
            }
        }
        let mut specs = self.inputs().to_vec();
        for (spec, axis) in specs.iter_mut().zip(&divided) {
            let Some(axis) = *axis else { continue };
            // A default is a whole array.
            let InputSpec { ty, default, .. } = spec;
            (ty.shape[axis], *default) = (None, None);
        }
        let inputs = specs.iter().zip(&graph.inputs);
        let inputs = inputs.map(|(spec, &id)| Variable::input(graph.name(id), spec.ty.clone()));
        let inputs: Vec<Variable> = inputs.collect();
        let mut values = of_own_parts(graph, self.cells(), (&inputs, &divided), group)?;
        let news = values.split_off(graph.outputs.len());
        let joined = values.iter_mut().map(|output| joined_rows(output, group)).collect();
        let cells = graph.updates.iter().filter_map(|(at, _)| self.cells().get(*at as usize));
        let updates: Vec<(Arc<Cell>, Variable)> = cells.cloned().zip(news).collect();
        let function = self.with_expressions(&inputs, &values, &updates)?.with_inputs(specs);
        Ok(PartFunction { function, divided, joined })
    }
}

/// The node's op, if it takes the member's part of an array of the group, and that array.
fn own_part<'g>(graph: &'g FunctionGraph, node: &'g Node, group: &str) -> Option<(&'g OwnPart, &'g Def)> {
    let part = node.op.downcast::<OwnPart>().filter(|part| part.group == group && !part.unless_one)?;
    Some((part, &graph.var(*node.inputs.first()?).def))
}

/// What outputs and updates are, given parts of the inputs that are divided. What reads a whole one gathers
/// it.
fn of_own_parts(
    graph: &FunctionGraph,
    cells: &[Arc<Cell>],
    (inputs, divided): (&[Variable], &[Option<usize>]),
    group: &str,
) -> Result<Vec<Variable>> {
    let missing = || Error::Internal("a graph reads what is not there".into());
    let mut known: Vec<Option<Variable>> = Vec::with_capacity(graph.vars.len());
    for var in &graph.vars {
        known.push(match &var.def {
            Def::Input(at) => Some(match divided[*at as usize] {
                Some(axis) => inputs[*at as usize].try_all_gather(axis as isize, group)?,
                None => inputs[*at as usize].clone(),
            }),
            Def::Shared(at) => {
                Some((*SharedVariable::from(cells.get(*at as usize).ok_or_else(missing)?)).clone())
            }
            Def::Constant(value) => Some(Variable::constant(value)),
            Def::Output { .. } => None,
        });
    }
    for node in &graph.nodes {
        let _scope = node.place.map(source_location::enter_at);
        let made = match own_part(graph, node, group) {
            Some((part, Def::Input(at))) if divided[*at as usize] == Some(part.axis) => {
                vec![inputs[*at as usize].clone()]
            }
            _ => {
                let given = node.inputs.iter().map(|&id| known[id as usize].clone());
                let given: Vec<Variable> = given.collect::<Option<_>>().ok_or_else(missing)?;
                Variable::apply_at(node.op.clone(), &given, source_location::here())?
            }
        };
        for (&id, variable) in node.outputs.iter().zip(made) {
            known[id as usize] = Some(match &graph.var(id).name {
                Some(name) => variable.named(name),
                None => variable,
            });
        }
    }
    graph.roots().map(|id| known[id as usize].clone().ok_or_else(missing)).collect()
}

/// Takes the member's rows in the place of gathered ones; whether it did.
fn joined_rows(output: &mut Variable, group: &str) -> bool {
    let rows = output.owner().and_then(|(apply, _)| {
        let gather = apply.op.downcast::<CollectiveOp>()?;
        (gather.kind == CollectiveKind::AllGather && gather.group == group).then(|| apply.inputs[0].clone())
    });
    rows.map(|rows| *output = rows).is_some()
}
