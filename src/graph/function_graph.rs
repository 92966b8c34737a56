//! The flat form of a computation: arenas of Vars and Nodes, in topological order.

use super::cell::Cell;
use super::rebuild::ancestors;
use super::source_location::Place;
use super::tensor_type::TensorType;
use super::variable::{Kind, Variable};
use crate::error::{Error, Result, array_text, shape_text};
use crate::op::Op;
use crate::printable::printable;
use crate::value::{MAX_RANK, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Position of a Var in [`FunctionGraph::vars`].
pub type VarId = u32;
/// Position of a Node in [`FunctionGraph::nodes`].
pub type NodeId = u32;

/// A computation: inputs and shared variables to outputs and updates. Every op in it is public; it is
/// independent of devices.
#[derive(Clone, Debug, Default)]
pub struct FunctionGraph {
    /// All Vars.
    pub vars: Vec<Var>,
    /// All Nodes, each after those it depends on.
    pub nodes: Vec<Node>,
    /// The inputs, in the order of the call.
    pub inputs: Vec<VarId>,
    /// The shared variables.
    pub shared: Vec<VarId>,
    /// The outputs, in order.
    pub outputs: Vec<VarId>,
    /// New values of shared variables: position in `shared`, and the Var. All read the old values.
    pub updates: Vec<(u32, VarId)>,
    /// The source line of nodes that are added next.
    pub(crate) place: Option<Place>,
}

/// A tensor of a [`FunctionGraph`].
#[derive(Clone, Debug)]
pub struct Var {
    /// Its type.
    pub ty: TensorType,
    /// Its name, for people.
    pub name: Option<String>,
    /// Where it comes from.
    pub def: Def,
}

/// Where a [`Var`] comes from.
#[derive(Clone, Debug)]
pub enum Def {
    /// The input at this position.
    Input(u32),
    /// The shared variable at this position.
    Shared(u32),
    /// A constant.
    Constant(Value),
    /// Output `index` of a node.
    Output {
        /// The node.
        node: NodeId,
        /// Which output.
        index: u32,
    },
}

/// An op applied to Vars.
#[derive(Clone, Debug)]
pub struct Node {
    /// The op.
    pub op: Arc<dyn Op>,
    /// Its inputs.
    pub inputs: Vec<VarId>,
    /// Its outputs.
    pub outputs: Vec<VarId>,
    /// Where it was written; unknown in a loaded graph, since files hold no source lines.
    pub place: Option<Place>,
}

impl Node {
    /// ` (written at FILE:LINE:COLUMN)`, for the end of an error message; empty if the place is not known.
    pub(crate) fn written_at(&self) -> String {
        self.place.map_or(String::new(), |place| format!(" (written at {place})"))
    }

    /// An error of the node at this position of its graph.
    pub(crate) fn failed(&self, position: usize, message: &str) -> Error {
        let message = format!("{message}{}", self.written_at());
        Error::Run { op: self.op.label(), node: format!("#{position}"), message }
    }
}

impl FunctionGraph {
    /// An error of a node whose inputs do not fit each other: says which shape is that of which named input.
    pub(crate) fn misfit<'s>(
        &self,
        position: usize,
        shapes: impl Iterator<Item = &'s [usize]>,
        message: &str,
    ) -> Error {
        let node = &self.nodes[position];
        let named = node.inputs.iter().zip(shapes).filter_map(|(&input, shape)| {
            let name = self.name_before_casts(input)?;
            Some(format!("{name} is {}", shape_text(shape)))
        });
        let named: Vec<String> = named.collect();
        match named.is_empty() {
            true => node.failed(position, message),
            false => node.failed(position, &format!("{message}; {}", named.join(", "))),
        }
    }

    /// The name of a Var, or of the one that it is a conversion of.
    fn name_before_casts(&self, var: VarId) -> Option<&str> {
        let var = self.var(var);
        match (&var.name, &var.def) {
            (Some(name), _) => Some(name),
            (None, Def::Output { node, .. }) if self.nodes[*node as usize].op.id() == "cast" => {
                self.name_before_casts(*self.nodes[*node as usize].inputs.first()?)
            }
            _ => None,
        }
    }

    /// Makes this a copy of another graph as seen from outside: inputs, shared variables, outputs and updates
    /// are those of the other, for whose Vars `map` has the Vars here.
    pub(crate) fn take_roots(&mut self, old: &FunctionGraph, map: &[VarId]) {
        let find = |id: &VarId| map[*id as usize];
        self.inputs = old.inputs.iter().map(find).collect();
        self.shared = old.shared.iter().map(find).collect();
        self.outputs = old.outputs.iter().map(find).collect();
        self.updates = old.updates.iter().map(|(shared, value)| (*shared, find(value))).collect();
    }

    /// Imports what `outputs` and `updates` reach. `inputs` become the graph's inputs, in order.
    ///
    /// Returns the graph and the cells of its shared variables: variables with updates first, then variables
    /// that are only read.
    ///
    /// # Errors
    /// If an expression is poisoned, has more than [`MAX_RANK`] axes, or reaches an input that is not among
    /// `inputs`.
    pub fn import(
        inputs: &[Variable],
        outputs: &[Variable],
        updates: &[(Arc<Cell>, Variable)],
    ) -> Result<(FunctionGraph, Vec<Arc<Cell>>)> {
        let mut graph = FunctionGraph::default();
        let mut cells = Vec::new();
        let mut ids: HashMap<(usize, usize), VarId> = HashMap::new();
        for (position, input) in inputs.iter().enumerate() {
            let id = graph.add_var(input.ty().clone(), input.name(), Def::Input(position as u32));
            graph.inputs.push(id);
            ids.insert(input.key(), id);
        }
        for (cell, _) in updates {
            let variable = super::SharedVariable::of(cell.clone());
            graph.import_leaf(&variable, &mut ids, &mut cells)?;
        }
        let roots: Vec<Variable> =
            outputs.iter().cloned().chain(updates.iter().map(|u| u.1.clone())).collect();
        for variable in ancestors(&roots, |v| ids.contains_key(&v.key())) {
            let Some((apply, _)) = variable.owner() else {
                graph.import_leaf(&variable, &mut ids, &mut cells)?;
                continue;
            };
            if ids.contains_key(&variable.key()) {
                continue;
            }
            let node_inputs = apply.inputs.iter().map(|v| ids.get(&v.key()).copied());
            let node_inputs: Option<Vec<VarId>> = node_inputs.collect();
            let node_inputs =
                node_inputs.ok_or_else(|| Error::Internal("an ancestor came after its user".into()))?;
            graph.place = Some(apply.place);
            let outputs = match apply.op.expansion() {
                Some(body) => graph.insert(body, &node_inputs)?,
                None => graph.add_node(apply.op.clone(), node_inputs, apply.types.clone()),
            };
            for (index, id) in outputs.into_iter().enumerate() {
                ids.insert(Variable::output(apply, index).key(), id);
            }
            if let (Some(name), Some(&id)) = (variable.name(), ids.get(&variable.key())) {
                graph.vars[id as usize].name = Some(name.into());
            }
        }
        let find = |v: &Variable| {
            ids.get(&v.key()).copied().ok_or_else(|| Error::Internal("a root was not imported".into()))
        };
        graph.outputs = outputs.iter().map(find).collect::<Result<_>>()?;
        for (position, (_, variable)) in updates.iter().enumerate() {
            graph.updates.push((position as u32, find(variable)?));
        }
        if let Some(var) = graph.vars.iter().find(|var| var.ty.ndim() > MAX_RANK) {
            let (name, axes) = (var.name.as_deref().unwrap_or("an expression"), var.ty.ndim());
            return Err(Error::Compile(format!("{name} has {axes} axes; there may be at most {MAX_RANK}")));
        }
        Ok((graph, cells))
    }

    /// Adds the nodes of a graph without shared variables, applied to `inputs`; returns its outputs.
    pub(crate) fn insert(&mut self, body: &FunctionGraph, inputs: &[VarId]) -> Result<Vec<VarId>> {
        let missing = || Error::Internal("a sub-graph reads what is not there".into());
        let mut map: Vec<Option<VarId>> = Vec::with_capacity(body.vars.len());
        for var in &body.vars {
            map.push(match &var.def {
                Def::Input(i) => Some(*inputs.get(*i as usize).ok_or_else(missing)?),
                Def::Constant(_) => Some(self.add_var(var.ty.clone(), var.name.as_deref(), var.def.clone())),
                Def::Shared(_) => return Err(missing()),
                Def::Output { .. } => None,
            });
        }
        let find = |map: &[Option<VarId>], ids: &[VarId]| -> Result<Vec<VarId>> {
            ids.iter().map(|&id| map[id as usize].ok_or_else(missing)).collect()
        };
        for node in &body.nodes {
            let types = node.outputs.iter().map(|&o| body.var(o).ty.clone()).collect();
            let made = self.add_node(node.op.clone(), find(&map, &node.inputs)?, types);
            for (&old, new) in node.outputs.iter().zip(made) {
                self.vars[new as usize].name.clone_from(&body.var(old).name);
                map[old as usize] = Some(new);
            }
        }
        find(&map, &body.outputs)
    }

    fn import_leaf(
        &mut self,
        variable: &Variable,
        ids: &mut HashMap<(usize, usize), VarId>,
        cells: &mut Vec<Arc<Cell>>,
    ) -> Result<()> {
        if ids.contains_key(&variable.key()) {
            return Ok(());
        }
        let def = match variable.kind() {
            Kind::Constant(c) => Def::Constant(c.0.clone()),
            Kind::Shared(cell) => {
                cells.push(cell.clone());
                Def::Shared(cells.len() as u32 - 1)
            }
            Kind::Poison(error) => return Err(error.clone()),
            Kind::Input => {
                let name = variable.name().unwrap_or("an unnamed input");
                let message = format!("{name} ({}) is used but is not among the inputs", variable.ty());
                return Err(Error::Compile(message));
            }
            Kind::Output { .. } => return Err(Error::Internal("an output is no leaf".into())),
        };
        let is_shared = matches!(def, Def::Shared(_));
        let id = self.add_var(variable.ty().clone(), variable.name(), def);
        if is_shared {
            self.shared.push(id);
        }
        ids.insert(variable.key(), id);
        Ok(())
    }

    /// Adds a Var.
    pub fn add_var(&mut self, ty: TensorType, name: Option<&str>, def: Def) -> VarId {
        self.vars.push(Var { ty, name: name.map(Into::into), def });
        (self.vars.len() - 1) as VarId
    }

    /// Adds a Node, with new Vars of these types as its outputs.
    pub fn add_node(&mut self, op: Arc<dyn Op>, inputs: Vec<VarId>, types: Vec<TensorType>) -> Vec<VarId> {
        let node = self.nodes.len() as NodeId;
        let outputs: Vec<VarId> = types
            .into_iter()
            .enumerate()
            .map(|(index, ty)| self.add_var(ty, None, Def::Output { node, index: index as u32 }))
            .collect();
        self.nodes.push(Node { op, inputs, outputs: outputs.clone(), place: self.place });
        outputs
    }

    /// The name of a Var; empty if it has none.
    pub(crate) fn name(&self, id: VarId) -> &str {
        self.var(id).name.as_deref().unwrap_or("")
    }

    /// A Var.
    pub fn var(&self, id: VarId) -> &Var {
        &self.vars[id as usize]
    }

    /// The value of a Var that is a constant.
    pub fn constant(&self, id: VarId) -> Option<&Value> {
        match &self.var(id).def {
            Def::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// How messages name a Var: its name without characters that control a terminal, or the op that computes
    /// it.
    pub fn describe(&self, id: VarId) -> String {
        let var = self.var(id);
        match (&var.name, &var.def) {
            (Some(name), _) => printable(name),
            (None, Def::Output { node, .. }) => {
                format!("{}#{node}", printable(&self.nodes[*node as usize].op.label()))
            }
            (None, Def::Input(i)) => format!("input {i}"),
            (None, Def::Shared(i)) => format!("shared {i}"),
            (None, Def::Constant(v)) => format!("{v:?}"),
        }
    }

    /// Checks that the shape of each new value fits its shared variable.
    pub(crate) fn check_updates<'s>(&self, shape: impl Fn(VarId) -> &'s [usize]) -> Result<()> {
        for &(shared, id) in &self.updates {
            let old = self.shared[shared as usize];
            let (ty, new) = (&self.var(old).ty, shape(id));
            if !ty.admits_shape(new) {
                let what = format!("the update of shared variable {}", self.describe(old));
                return Err(Error::mismatch(what, ty.to_string(), array_text(ty.dtype, new)));
            }
        }
        Ok(())
    }

    /// The number of uses of each Var, including those as outputs and updates.
    pub(crate) fn uses(&self) -> Vec<u32> {
        let mut uses = vec![0u32; self.vars.len()];
        for id in self.roots().chain(self.nodes.iter().flat_map(|n| n.inputs.iter().copied())) {
            uses[id as usize] += 1;
        }
        uses
    }

    /// Every Var that is read from outside: outputs and updates.
    pub fn roots(&self) -> impl Iterator<Item = VarId> + '_ {
        self.outputs.iter().copied().chain(self.updates.iter().map(|u| u.1))
    }
}
