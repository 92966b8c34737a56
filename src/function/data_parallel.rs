//! Data parallel Functions: the members of a group compute one Function together, each from its parts of some
//! inputs.

use super::callable::{CallOptions, Function, StateInput};
use super::seats::with_groups;
use crate::error::{Error, Result};
use crate::graph::source_location;
use crate::graph::{Cell, Def, FunctionGraph, Node, SharedVariable, VarId, Variable, verify};
use crate::op::{MemberArray, OpGroup, Shards};
use crate::ops::{divided_input, sharded};
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
    /// If there is no such input, or it has no axis, or an extent of 1 there by its type.
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
        let inputs = graph.inputs.iter().map(|&id| (graph.name(id), graph.var(id).ty.clone()));
        let inputs: Vec<Variable> = inputs.map(|(name, ty)| Variable::input(name, ty)).collect();
        let shared = self.shared_leaves();
        let leaf = |def: &Def| match def {
            Def::Input(at) if divided.contains(&(*at as usize)) => {
                divided_input(&FunctionGraph::leaf(def, &inputs, &shared)?, 0, group)
            }
            _ => FunctionGraph::leaf(def, &inputs, &shared).map(MemberArray::replicated),
        };
        let roots: Vec<VarId> = graph.roots().collect();
        let held = graph.interpret(&roots, leaf, |node, inputs| {
            let _scope = node.place.map(source_location::enter_at);
            let outputs = sharded(&node.op, &Shards { inputs, group })?;
            let whole = node.outputs.iter().map(|&id| &graph.var(id).ty);
            Ok(outputs.into_iter().zip(whole).map(|(output, whole)| output.of_type(whole)).collect())
        })?;
        let values = held.iter().map(|held| held.gathered(group)).collect::<Result<Vec<_>>>()?;
        let divided = self.with_expressions(&inputs, values)?;
        // Before, no op named the group.
        let divides = |of: &OpGroup, _| Ok(OpGroup { divides: of.name == group, ..of.clone() });
        let graph = with_groups(divided.graph(), &divides)?;
        Ok(divided.rebuilt(graph, divided.cells().to_vec(), divided.source().cloned()))
    }

    /// Whether members of the group do no more than to divide its work: then one of them alone, given whole
    /// inputs, computes the same.
    pub(crate) fn only_divides(&self, group: &str) -> bool {
        fn all(graph: &FunctionGraph, group: &str) -> bool {
            graph.nodes.iter().all(|node| {
                node.op.group().is_none_or(|own| own.divides && own.name == group)
                    && node.op.bodies().into_iter().all(|body| all(body, group))
            })
        }
        let graph = self.graph();
        graph.nodes.iter().any(|node| names_group(node, group)) && all(graph, group)
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
        match self.inputs()[position].ty.shape.first() {
            None => Err(Error::Compile(format!(
                "data_parallel: input {name} has no axis to divide among members"
            ))),
            Some(Some(1)) => Err(Error::Compile(format!(
                "data_parallel: input {name} always has one row, which members cannot divide"
            ))),
            Some(_) => Ok(position),
        }
    }

    /// The Variables of its shared variables, in the order of its graph.
    pub(super) fn shared_leaves(&self) -> Vec<Variable> {
        self.cells().iter().map(|cell| (*SharedVariable::from(cell)).clone()).collect()
    }

    /// The same Function, computed by other expressions over the same shared variables: `values` are the
    /// outputs, then the new values of the shared variables that it updates.
    pub(super) fn with_expressions(&self, inputs: &[Variable], values: Vec<Variable>) -> Result<Function> {
        let own = self.graph();
        let (outputs, news) = values.split_at(own.outputs.len().min(values.len()));
        let cells = own.updates.iter().filter_map(|(at, _)| self.cells().get(*at as usize));
        let updates: Vec<(Arc<Cell>, Variable)> = cells.cloned().zip(news.iter().cloned()).collect();
        let (graph, cells) = FunctionGraph::import(inputs, outputs, &updates)?;
        let rewrites = self.source().map_or_else(Arc::default, |source| source.rewrites.clone());
        let graph = rewrites.run(graph)?;
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
    node.op.group().is_some_and(|own| own.name == group) || node.op.bodies().into_iter().any(within)
}
