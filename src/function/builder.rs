//! From expressions to a Function.

use super::callable::{Function, InputSpec};
use super::inputs::{In, IntoList, check_inputs};
use super::source::Source;
use crate::error::{Error, Result};
use crate::graph::{
    Cell, FunctionGraph, Kind, SharedVariable, TensorType, Variable, ancestors, dtype_origin, rebuild, verify,
};
use crate::rehost::Backend;
use crate::rewrite::rewrite;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Collects outputs, updates and options; made by [`function`].
#[derive(Clone, Debug, Default)]
pub struct FunctionBuilder {
    name: Option<String>,
    inputs: Vec<In>,
    outputs: Vec<(Option<String>, Variable)>,
    updates: Vec<(SharedVariable, Variable)>,
    givens: Vec<(Variable, Variable)>,
    no_default_updates: bool,
    allow_unused: bool,
}

/// Starts a Function of these inputs: `function([&x, &y])`, `function((&x, In::new(&y).default(1.0)))`, `function(())` for none.
///
/// ```
/// use workalike::prelude::*;
/// let (x, y) = (scalar::<f64>("x"), scalar::<f64>("y"));
/// let f = function([In::new(&x), In::new(&y).default(1.0)]).output(&x + &y).compile()?;
/// assert_eq!(f.call(args![33.0])?[0].item::<f64>()?, 34.0);
/// assert_eq!(f.call(args![33.0; y = 2.0])?[0].item::<f64>()?, 35.0);
/// # Ok::<(), workalike::Error>(())
/// ```
pub fn function<Form>(inputs: impl IntoList<In, Form>) -> FunctionBuilder {
    FunctionBuilder { inputs: inputs.into_list(), ..FunctionBuilder::default() }
}

impl FunctionBuilder {
    /// A name for people and files.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// One more output, under the Variable's name if it has one.
    #[must_use]
    pub fn output(mut self, output: impl Into<Variable>) -> Self {
        let output = output.into();
        self.outputs.push((output.name().map(Into::into), output));
        self
    }

    /// One more output, under this name.
    #[must_use]
    pub fn output_named(mut self, name: &str, output: impl Into<Variable>) -> Self {
        self.outputs.push((Some(name.into()), output.into()));
        self
    }

    /// More outputs.
    #[must_use]
    pub fn outputs(self, outputs: impl IntoIterator<Item = impl Into<Variable>>) -> Self {
        outputs.into_iter().fold(self, FunctionBuilder::output)
    }

    /// After each call the shared variable holds this value, computed from the values before the call.
    #[must_use]
    pub fn update(mut self, shared: impl Into<SharedVariable>, value: impl Into<Variable>) -> Self {
        self.updates.push((shared.into(), value.into()));
        self
    }

    /// More updates: pairs of a shared variable and its new value, by reference or not.
    #[must_use]
    pub fn updates(
        mut self,
        updates: impl IntoIterator<Item = (impl Into<SharedVariable>, impl Into<Variable>)>,
    ) -> Self {
        self.updates.extend(updates.into_iter().map(|(shared, value)| (shared.into(), value.into())));
        self
    }

    /// In all outputs and updates, the first of each pair is replaced by the second.
    #[must_use]
    pub fn givens(
        mut self,
        givens: impl IntoIterator<Item = (impl Into<Variable>, impl Into<Variable>)>,
    ) -> Self {
        self.givens.extend(givens.into_iter().map(|(a, b)| (a.into(), b.into())));
        self
    }

    /// Random streams do not move on at each call: every call draws the same.
    #[must_use]
    pub fn no_default_updates(mut self) -> Self {
        self.no_default_updates = true;
        self
    }

    /// Inputs that nothing depends on are accepted; otherwise they are taken for a mistake.
    #[must_use]
    pub fn allow_unused_inputs(mut self) -> Self {
        self.allow_unused = true;
        self
    }

    /// Compiles, and re-hosts on a backend, in one step. The backend may be given by reference.
    ///
    /// # Errors
    /// As [`FunctionBuilder::compile`] and [`Function::optimize`].
    pub fn compile_for<B: Backend>(self, backend: B) -> Result<B::Simulator> {
        backend.rehost(&self.compile()?)
    }

    /// Compiles to a portable Function.
    ///
    /// # Errors
    /// If an expression is ill-typed; an input is missing, unused or given twice; two outputs have one name; an update changes
    /// its variable's type.
    pub fn compile(self) -> Result<Function> {
        let mut known: HashMap<(usize, usize), Variable> = HashMap::new();
        for (from, to) in &self.givens {
            let (from, to) = (from.checked()?, to.checked()?);
            if from.dtype() != to.dtype() || from.ndim() != to.ndim() {
                return Err(Error::mismatch("givens", from.ty().to_string(), to.ty().to_string()));
            }
            known.insert(from.key(), to.clone());
        }
        let inputs: Vec<Variable> = self.inputs.iter().map(|i| i.variable.clone()).collect();
        check_inputs(&self.inputs)?;
        check_output_names(&self.outputs)?;
        let count = self.outputs.len();
        let mut roots: Vec<Variable> = self.outputs.iter().map(|o| o.1.clone()).collect();
        roots.extend(self.updates.iter().map(|u| u.1.clone()));
        for root in &roots {
            root.checked()?;
        }
        if !known.is_empty() {
            roots = rebuild(&roots, &mut known, |_, _| Ok(None))?;
        }
        let mut updates: Vec<(Arc<Cell>, Variable)> = Vec::new();
        for ((shared, _), value) in self.updates.iter().zip(roots.drain(count..)) {
            let cell = shared.cell()?;
            if updates.iter().any(|(c, _)| Arc::ptr_eq(c, cell)) {
                return Err(Error::Compile(format!("shared variable {} is updated twice", cell.name())));
            }
            check_update(cell, &value)?;
            updates.push((cell.clone(), value));
        }
        if !self.no_default_updates {
            add_default_updates(&roots, &mut updates)?;
        }
        let reached: Vec<Variable> =
            roots.iter().cloned().chain(updates.iter().map(|u| u.1.clone())).collect();
        if !self.allow_unused {
            check_used(&inputs, &reached)?;
        }
        let (graph, cells) = FunctionGraph::import(&inputs, &roots, &updates)?;
        let ids = cells.iter().map(|cell| cell.id()).collect();
        let source = Source { inputs, outputs: roots, updates, givens: self.givens, cells: ids };
        let graph = rewrite(graph)?;
        verify(&graph)?;
        let specs = self.inputs.into_iter().map(|i| InputSpec {
            name: i.name,
            ty: i.variable.ty().clone(),
            default: i.default,
        });
        let names = self.outputs.into_iter().map(|o| o.0).collect();
        let name = self.name.unwrap_or_else(|| "main".into());
        let specs = specs.collect();
        Ok(Function::assemble(name, Arc::new(graph), specs, names, cells, Some(Arc::new(source))))
    }
}

/// Names of outputs say which is which, so two different outputs must not share one.
fn check_output_names(outputs: &[(Option<String>, Variable)]) -> Result<()> {
    let mut named: HashMap<&str, &Variable> = HashMap::new();
    for (name, output) in outputs {
        let Some(name) = name else { continue };
        if let Some(other) = named.insert(name, output)
            && other.key() != output.key()
        {
            return Err(Error::Compile(format!(
                "two outputs are called {name}; name one of them with output_named(\"..\", ..)"
            )));
        }
    }
    Ok(())
}

fn check_update(cell: &Cell, value: &Variable) -> Result<()> {
    let (to, from): (&TensorType, &TensorType) = (cell.ty(), value.ty());
    let contradicts =
        |(a, b): (&Option<usize>, &Option<usize>)| matches!((a, b), (Some(a), Some(b)) if a != b);
    if to.dtype != from.dtype || to.ndim() != from.ndim() || to.shape.iter().zip(&from.shape).any(contradicts)
    {
        let mut written =
            value.owner().map_or(String::new(), |(apply, _)| format!(" (written at {})", apply.place));
        if to.dtype != from.dtype {
            written += &dtype_origin(value);
        }
        return Err(Error::Compile(format!(
            "the update of shared variable {} changes its type from {to} to {from}{written}",
            cell.name()
        )));
    }
    Ok(())
}

/// Random streams and the like advance, unless an explicit update says how.
fn add_default_updates(roots: &[Variable], updates: &mut Vec<(Arc<Cell>, Variable)>) -> Result<()> {
    let all: Vec<Variable> = roots.iter().cloned().chain(updates.iter().map(|u| u.1.clone())).collect();
    for variable in ancestors(&all, |_| false) {
        let Kind::Shared(cell) = variable.kind() else { continue };
        let Some(advance) = cell.default_update() else { continue };
        if !updates.iter().any(|(c, _)| Arc::ptr_eq(c, cell)) {
            let next = advance(&variable);
            check_update(cell, next.checked()?)?;
            updates.push((cell.clone(), next));
        }
    }
    Ok(())
}

fn check_used(inputs: &[Variable], reached: &[Variable]) -> Result<()> {
    let used: HashSet<(usize, usize)> = ancestors(reached, |_| false).iter().map(Variable::key).collect();
    match inputs.iter().find(|i| !used.contains(&i.key())) {
        Some(unused) => Err(Error::Compile(format!(
            "input {} is not used by any output or update; drop it, or say allow_unused_inputs()",
            unused.name().unwrap_or("without a name")
        ))),
        None => Ok(()),
    }
}
