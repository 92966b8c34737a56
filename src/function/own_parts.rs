//! Functions whose members are given their parts of inputs, and give their parts of outputs, where each would
//! take its part of a whole, or gather one.

use super::callable::{Function, InputSpec};
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{Def, FunctionGraph, Node, VarId, Variable};
use crate::op::OpGroup;
use crate::ops::specify_shape::SpecifyShape;
use crate::ops::{CollectiveKind, CollectiveOp, OwnPart, with_extents};

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
        let mut values = self.of_own_parts((&inputs, &divided), group)?;
        let outputs = values.iter_mut().take(graph.outputs.len());
        let joined = outputs.map(|output| joined_rows(output, group)).collect();
        let function = self.with_expressions(&inputs, values)?.with_inputs(specs);
        Ok(PartFunction { function, divided, joined })
    }

    /// What outputs and updates are, given parts of the inputs that are divided. What reads a whole one
    /// gathers it.
    fn of_own_parts(
        &self,
        (inputs, divided): (&[Variable], &[Option<usize>]),
        group: &str,
    ) -> Result<Vec<Variable>> {
        let (graph, shared) = (self.graph(), self.shared_leaves());
        let axis_of = |def: &Def| match def {
            Def::Input(at) => divided.get(*at as usize).copied().flatten(),
            _ => None,
        };
        let leaf = |def: &Def| {
            let own = FunctionGraph::leaf(def, inputs, &shared)?;
            let (Some(axis), Def::Input(at)) = (axis_of(def), def) else { return Ok(own) };
            let whole = &self.inputs()[*at as usize].ty.shape;
            with_extents(own.try_all_gather(axis as isize, group)?, whole)
        };
        let roots: Vec<VarId> = graph.roots().collect();
        graph.interpret(&roots, leaf, |node, given| {
            let _scope = node.place.map(source_location::enter_at);
            let made = match own_part(graph, node, group) {
                Some((part, def)) if axis_of(def) == Some(part.axis) => {
                    vec![FunctionGraph::leaf(def, inputs, &shared)?]
                }
                _ => Variable::apply_at(node.op.clone(), given, source_location::here())?,
            };
            Ok(graph.with_names(node, made))
        })
    }
}

/// Whether it is the group, and [`Function::data_parallel`] made the op, not a user.
fn divides(of: &OpGroup, group: &str) -> bool {
    of.divides && of.name == group
}

/// The node's op, if it takes the member's part of an array of the group, and that array.
fn own_part<'g>(graph: &'g FunctionGraph, node: &'g Node, group: &str) -> Option<(&'g OwnPart, &'g Def)> {
    let part =
        node.op.downcast::<OwnPart>().filter(|part| divides(&part.group, group) && !part.unless_one)?;
    Some((part, &graph.var(*node.inputs.first()?).def))
}

/// Takes the member's rows in the place of gathered ones; whether it did.
fn joined_rows(output: &mut Variable, group: &str) -> bool {
    let of_known_extents = output.owner().filter(|(apply, _)| apply.op.downcast::<SpecifyShape>().is_some());
    let gathered = of_known_extents.map_or_else(|| output.clone(), |(apply, _)| apply.inputs[0].clone());
    let rows = gathered.owner().and_then(|(apply, _)| {
        let gather = apply.op.downcast::<CollectiveOp>()?;
        (gather.kind == CollectiveKind::AllGather && divides(&gather.group, group))
            .then(|| apply.inputs[0].clone())
    });
    rows.map(|rows| *output = rows).is_some()
}
