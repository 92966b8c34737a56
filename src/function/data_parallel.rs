//! Data parallel Functions: the members of a group compute one Function together, each from its parts of some
//! inputs.

use super::callable::{CallOptions, Function, StateInput};
use crate::error::{Error, Result};
use crate::graph::source_location;
use crate::graph::{Cell, Def, FunctionGraph, Node, SharedVariable, Variable, verify};
use crate::op::{MemberArray, Shards};
use crate::ops::{divided_input, sharded};
use crate::rewrite::Rewrites;
use std::sync::Arc;

impl Function {
    /// The same Function, computed by the members of a group together: each takes its part of these inputs
    /// along axis 0, and exchanges with the others what does not follow from that part. It is called like the
    /// Function, with whole inputs, on every member; outputs and new values of shared variables are those of
    /// one device, to rounding, and the same bits on all members.
    ///
    /// Each node computes with parts as far as its op allows: elementwise, by rows, summing over rows (then
    /// each member has a term of the sum). So a cost that is a mean over the batch gives the mean gradient,
    /// one that is a sum gives the sum. Terms are added where something needs the sum, such as an update.
    /// Where an op needs whole rows of others, such as a sort along the batch, they are gathered.
    ///
    /// The extents of axis 0 must be multiples of the number of members. Outside of a group it is the
    /// Function.
    ///
    /// ```
    /// use workalike::engine::group;
    /// use workalike::prelude::*;
    /// let (x, t) = (matrix::<f32>("x"), vector::<f32>("t"));
    /// let w = shared("w", vec![0f32, 0.0]);
    /// let cost = (x.dot(&w) - &t).sqr().mean(..);
    /// let step = &*w - 0.1 * &grad(&cost, [&w])?[0];
    /// let train = function([&x, &t]).output(&cost).update(&w, step).compile()?;
    ///
    /// let parallel = train.data_parallel("workers", ["x", "t"])?;
    /// let mut sim = parallel.optimize(group("workers", [Host::threads(1), Host::threads(1)]))?;
    /// let (x, t) = (array![[1f32, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], vec![1f32, 2.0, 3.0, 4.0]);
    /// let together = sim.call(args![&x, &t])?;
    /// assert_eq!(together[0], train.call(args![&x, &t])?[0]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such input, or it has no axis.
    pub fn data_parallel<'n>(
        &self,
        group: &str,
        inputs: impl IntoIterator<Item = &'n str>,
    ) -> Result<Function> {
        let divided =
            inputs.into_iter().map(|name| self.input_to_divide(name)).collect::<Result<Vec<_>>>()?;
        if group.is_empty() {
            return Err(Error::Compile(format!("data_parallel: {} needs the name of a group", self.name())));
        }
        let graph = self.graph();
        if let Some(node) = graph.nodes.iter().position(|node| names_group(node, group)) {
            let why = format!(
                "it has a collective of the group {group} already: divide its inputs at once, or in another group"
            );
            return Err(graph.nodes[node].failed(node, &why));
        }
        let roots = divide(graph, self.cells(), &divided, group)?;
        let (outputs, values) = roots.values.split_at(graph.outputs.len());
        let cells = graph.updates.iter().filter_map(|(at, _)| self.cells().get(*at as usize));
        let updates: Vec<(Arc<Cell>, Variable)> = cells.cloned().zip(values.iter().cloned()).collect();
        self.with_expressions(&roots.inputs, outputs, &updates)
    }

    /// The position of an input whose rows are divided among members.
    fn input_to_divide(&self, name: &str) -> Result<usize> {
        let found = self.inputs().iter().position(|spec| spec.name.as_deref() == Some(name));
        let position = found.ok_or_else(|| {
            let known: Vec<String> = (0..self.inputs().len()).map(|at| self.input_name(at)).collect();
            let known = known.join(", ");
            Error::Compile(format!(
                "data_parallel: {} has no input {name}; its inputs are {known}",
                self.name()
            ))
        })?;
        if self.inputs()[position].default.is_some() {
            return Err(Error::Compile(format!(
                "data_parallel: input {name} has a default, which cannot be divided"
            )));
        }
        match self.inputs()[position].ty.ndim() {
            0 => Err(Error::Compile(format!(
                "data_parallel: input {name} has no axis to divide among members"
            ))),
            _ => Ok(position),
        }
    }

    /// The same Function, computed by other expressions over the same shared variables.
    pub(super) fn with_expressions(
        &self,
        inputs: &[Variable],
        outputs: &[Variable],
        updates: &[(Arc<Cell>, Variable)],
    ) -> Result<Function> {
        let (graph, cells) = FunctionGraph::import(inputs, outputs, updates)?;
        let graph = Rewrites::default().run(graph)?;
        verify(&graph)?;
        let place = |shared: usize| cells.iter().position(|cell| cell.id() == self.cells()[shared].id());
        let moved = |state: &StateInput| Some(StateInput { shared: place(state.shared)?, ..state.clone() });
        let states: Vec<StateInput> = self.state_inputs().iter().filter_map(moved).collect();
        let options = CallOptions { states, ..self.options().clone() };
        Ok(self.rebuilt(graph, cells, None).with_options(options))
    }
}

/// Whether a node, or one in its bodies, names the group.
fn names_group(node: &Node, group: &str) -> bool {
    let within = |body: &Arc<FunctionGraph>| body.nodes.iter().any(|node| names_group(node, group));
    node.op.group() == Some(group) || node.op.bodies().into_iter().any(within)
}

/// Expressions of a member.
struct Divided {
    inputs: Vec<Variable>,
    /// What outputs are, then new values of shared variables.
    values: Vec<Variable>,
}

/// The expressions of a graph's outputs and updates, with parts of these inputs.
fn divide(graph: &FunctionGraph, cells: &[Arc<Cell>], parts: &[usize], group: &str) -> Result<Divided> {
    let missing = || Error::Internal("a graph reads what is not there".into());
    let inputs: Vec<Variable> =
        graph.inputs.iter().map(|&id| Variable::input(graph.name(id), graph.var(id).ty.clone())).collect();
    let mut held: Vec<Option<MemberArray>> = Vec::with_capacity(graph.vars.len());
    for var in &graph.vars {
        held.push(match &var.def {
            Def::Input(at) if parts.contains(&(*at as usize)) => {
                Some(divided_input(&inputs[*at as usize], 0, group)?)
            }
            Def::Input(at) => Some(MemberArray::replicated(inputs[*at as usize].clone())),
            Def::Shared(at) => {
                let cell = cells.get(*at as usize).ok_or_else(missing)?;
                Some(MemberArray::replicated((*SharedVariable::from(cell)).clone()))
            }
            Def::Constant(value) => Some(MemberArray::replicated(Variable::constant(value))),
            Def::Output { .. } => None,
        });
    }
    for node in &graph.nodes {
        let given: Option<Vec<MemberArray>> =
            node.inputs.iter().map(|&id| held[id as usize].clone()).collect();
        let outputs = shard(node, &given.ok_or_else(missing)?, group)?;
        for (&id, mut output) in node.outputs.iter().zip(outputs) {
            if let Some(name) = &graph.var(id).name {
                output.variable = output.variable.named(name);
            }
            held[id as usize] = Some(output);
        }
    }
    let whole = |id| held[id as usize].as_ref().ok_or_else(missing)?.gathered(group);
    Ok(Divided { values: graph.roots().map(whole).collect::<Result<_>>()?, inputs })
}

/// What a member has of a node's outputs.
fn shard(node: &Node, inputs: &[MemberArray], group: &str) -> Result<Vec<MemberArray>> {
    let _scope = node.place.map(source_location::enter_at);
    let at = Shards { inputs, group };
    sharded(&node.op, &at)
}
