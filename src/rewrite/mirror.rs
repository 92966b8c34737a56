//! A graph under construction as Variables, for rules on Variables; their replacements become nodes of the
//! graph.

use crate::error::{Error, Result};
use crate::graph::source_location;
use crate::graph::{Apply, Def, FunctionGraph, Kind, VarId, Variable, ancestors};
use std::collections::HashMap;
use std::slice;
use std::sync::Arc;

/// See the [module](self). It grows with the graph: all Variables of a pass take time proportional to the
/// graph's nodes.
#[derive(Default)]
pub(super) struct Mirror {
    /// The Variable of each Var.
    variables: Vec<Variable>,
    /// The Var of each Variable, by its key.
    ids: HashMap<(usize, usize), VarId>,
    /// Replacements. They keep their Variables alive: the key of a dropped Variable may be reused.
    kept: Vec<Variable>,
}

impl Mirror {
    /// The Variables of some Vars.
    pub(super) fn variables(&mut self, graph: &FunctionGraph, ids: &[VarId]) -> Result<Vec<Variable>> {
        for id in self.variables.len()..graph.vars.len() {
            let variable = self.variable(graph, id as VarId)?;
            self.ids.insert(variable.key(), id as VarId);
            self.variables.push(variable);
        }
        ids.iter().map(|&id| self.known(id).cloned()).collect()
    }

    fn known(&self, id: VarId) -> Result<&Variable> {
        let missing = || Error::Internal(format!("Var {id} is read before it is defined"));
        self.variables.get(id as usize).ok_or_else(missing)
    }

    /// The Variable of the next Var: all earlier Vars have theirs.
    fn variable(&self, graph: &FunctionGraph, id: VarId) -> Result<Variable> {
        let var = graph.var(id);
        let (node, index) = match &var.def {
            Def::Constant(value) => return Ok(Variable::constant(value.clone())),
            Def::Input(_) | Def::Shared(_) => {
                return Ok(Variable::input(var.name.as_deref().unwrap_or_default(), var.ty.clone()));
            }
            Def::Output { node, index } => (&graph.nodes[*node as usize], *index as usize),
        };
        // The outputs of a node are consecutive: the previous one has its Apply.
        let before = || Some(self.known(id.checked_sub(1)?).ok()?.owner()?.0.clone());
        let apply = match before().filter(|_| index > 0) {
            Some(apply) => apply,
            None => {
                let inputs = node.inputs.iter().map(|&i| self.known(i).cloned()).collect::<Result<_>>()?;
                let types = node.outputs.iter().map(|&o| graph.var(o).ty.clone()).collect();
                let place = node.place.unwrap_or_else(source_location::here);
                Arc::new(Apply::new(node.op.clone(), inputs, types, place))
            }
        };
        Ok(Variable::output(&apply, index))
    }

    /// The Var of a Variable that a rule made: its nodes are added to the graph.
    ///
    /// # Errors
    /// If it is ill-typed, or reads a Variable that the graph does not have.
    pub(super) fn adopt(&mut self, graph: &mut FunctionGraph, made: &Variable) -> Result<VarId> {
        made.checked()?;
        self.kept.push(made.clone());
        let foreign = |v: &Variable| {
            Error::mismatch("the replacement", "Variables that the inputs depend on", format!("{v:?}"))
        };
        for variable in ancestors(slice::from_ref(made), |v| self.ids.contains_key(&v.key())) {
            let id = match variable.kind() {
                // Another output of a node that was added already.
                _ if self.ids.contains_key(&variable.key()) => continue,
                Kind::Constant(_) | Kind::Input | Kind::Shared(_) => {
                    let value = variable.constant_value().ok_or_else(|| foreign(&variable))?;
                    graph.add_var(variable.ty().clone(), variable.name(), Def::Constant(value.clone()))
                }
                Kind::Poison(error) => return Err(error.clone()),
                Kind::Output { apply, .. } => {
                    self.adopt_node(graph, apply)?;
                    continue;
                }
            };
            self.ids.insert(variable.key(), id);
        }
        self.ids.get(&made.key()).copied().ok_or_else(|| foreign(made))
    }

    fn adopt_node(&mut self, graph: &mut FunctionGraph, apply: &Arc<Apply>) -> Result<()> {
        let find = |v: &Variable| {
            let missing = || Error::Internal("an ancestor came after its user".into());
            self.ids.get(&v.key()).copied().ok_or_else(missing)
        };
        let inputs: Vec<VarId> = apply.inputs.iter().map(find).collect::<Result<_>>()?;
        let outputs = match apply.op.expansion() {
            Some(body) => graph.insert(body, &inputs)?,
            None => graph.add_node(apply.op.clone(), inputs, apply.types.clone()),
        };
        for (index, id) in outputs.into_iter().enumerate() {
            self.ids.insert(Variable::output(apply, index).key(), id);
        }
        Ok(())
    }
}
