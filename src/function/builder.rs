//! From expressions to a Function.

use super::callable::{CallOptions, Function, InputSpec, StateInput};
use super::conversion::Conversion;
use super::dtype_origin::dtype_origin;
use super::givens;
use super::inputs::{In, Out, check_inputs, states};
use super::source::FunctionSource;
use crate::engine::Backend;
use crate::error::{Error, Result};
use crate::graph::{
    Cell, FunctionGraph, SharedVariable, TensorType, Variable, ancestors, default_updates, rebuild, verify,
};
use crate::list::IntoList;
use crate::rewrite::Rewrites;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Collects outputs, updates and options; made by [`function`].
#[derive(Clone, Debug, Default)]
pub struct FunctionBuilder {
    name: Option<String>,
    inputs: Vec<In>,
    outputs: Vec<Out>,
    updates: Vec<(SharedVariable, Variable)>,
    givens: Vec<(Variable, Variable)>,
    no_default_updates: bool,
    without_default_updates: Vec<Variable>,
    allow_input_downcast: bool,
    allow_unused: bool,
    rewrites: Arc<Rewrites>,
}

/// Starts a Function of these inputs: `function([&x, &y])`, `function((&x, In::new(&y).default(1.0)))`,
/// `function(())` for none.
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

    /// One more output, under the Variable's name if it has one; or an [`Out`] with options.
    #[must_use]
    pub fn output(mut self, output: impl Into<Out>) -> Self {
        self.outputs.push(output.into());
        self
    }

    /// One more output, under this name.
    #[must_use]
    pub fn output_named(mut self, name: &str, output: impl Into<Variable>) -> Self {
        self.outputs.push(Out::new(output).name(name));
        self
    }

    /// More outputs.
    #[must_use]
    pub fn outputs(mut self, outputs: impl IntoIterator<Item = impl Into<Out>>) -> Self {
        self.outputs.extend(outputs.into_iter().map(Into::into));
        self
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

    /// In all outputs and updates, the first of each pair is replaced by the second. Pairs are followed: with
    /// `x` replaced by `y + 1` and `y` by `z`, `x` is `z + 1`; a cycle is an error.
    #[must_use]
    pub fn givens(
        mut self,
        givens: impl IntoIterator<Item = (impl Into<Variable>, impl Into<Variable>)>,
    ) -> Self {
        self.givens.extend(givens.into_iter().map(|(a, b)| (a.into(), b.into())));
        self
    }

    /// Shared variables are updated by [`FunctionBuilder::update`] only. Random streams do not advance then:
    /// every call draws the same numbers. See [`SharedVariable::with_default_update`].
    #[must_use]
    pub fn no_default_updates(mut self) -> Self {
        self.no_default_updates = true;
        self
    }

    /// [`FunctionBuilder::no_default_updates`] for some shared variables, given by themselves or by
    /// expressions that read them, such as a random draw.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let streams = RandomStreams::new(1);
    /// let (fixed, moving) = (streams.uniform::<f32>([3]), streams.uniform::<f32>([3]));
    /// let f = function(()).outputs([&fixed, &moving]).no_default_updates_for([&fixed]).compile()?;
    /// let (first, second) = (f.call(args![])?, f.call(args![])?);
    /// assert!(first[0] == second[0] && first[1] != second[1]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[must_use]
    pub fn no_default_updates_for(mut self, list: impl IntoIterator<Item = impl Into<Variable>>) -> Self {
        self.without_default_updates.extend(list.into_iter().map(Into::into));
        self
    }

    /// Inputs without a setting of their own accept arguments that lose precision: see
    /// [`In::allow_downcast`].
    #[must_use]
    pub fn allow_input_downcast(mut self) -> Self {
        self.allow_input_downcast = true;
        self
    }

    /// Inputs that nothing depends on are accepted; they are an error by default.
    #[must_use]
    pub fn allow_unused_inputs(mut self) -> Self {
        self.allow_unused = true;
        self
    }

    /// The passes and rules that rewrite the graph (Theano's `mode`); [`Rewrites::default`] unless given.
    #[must_use]
    pub fn rewrites(mut self, rewrites: Rewrites) -> Self {
        self.rewrites = Arc::new(rewrites);
        self
    }

    /// Compiles, and re-hosts on a backend, in one step. The backend may be given by reference.
    ///
    /// # Errors
    /// As [`FunctionBuilder::compile`] and [`Function::optimize`].
    pub fn compile_for<B: Backend>(self, backend: B) -> Result<B::Simulator> {
        backend.optimize(&self.compile()?)
    }

    /// Compiles to a portable Function.
    ///
    /// # Errors
    /// If an expression is ill-typed; an input is missing, unused or given twice; two outputs have one name;
    /// an update changes its variable's type; a rewrite rule or pass of your own fails.
    pub fn compile(mut self) -> Result<Function> {
        if self.allow_input_downcast {
            for input in &mut self.inputs {
                input.conversion.get_or_insert(Conversion::Downcast);
            }
        }
        check_inputs(&self.inputs)?;
        check_output_names(&self.outputs)?;
        let states = states(&self.inputs)?;
        let kept = self.inputs.split_off(self.inputs.len() - states.len());
        let mut givens = self.givens.clone();
        for (input, (shared, _)) in kept.into_iter().zip(&states) {
            givens.push((input.variable, (**shared).clone()));
            self.updates.extend(input.update.map(|update| (shared.clone(), update)));
        }
        let givens = givens::resolved(&givens)?;
        let (roots, updates) = self.replaced(&givens)?;
        let inputs: Vec<Variable> = self.inputs.iter().map(|i| i.variable.clone()).collect();
        if !self.allow_unused {
            let reached: Vec<Variable> =
                roots.iter().cloned().chain(updates.iter().map(|u| u.1.clone())).collect();
            check_used(&inputs, &reached)?;
        }
        let (graph, cells) = FunctionGraph::import(&inputs, &roots, &updates)?;
        let ids = cells.iter().map(|cell| cell.id()).collect();
        let options = self.call_options(states, &cells);
        let mut rewrites = self.rewrites;
        if cells.iter().any(|cell| cell.context().is_some()) {
            // Loops of different contexts run beside each other.
            rewrites = Arc::new(rewrites.as_ref().clone().with_loops_apart());
        }
        let graph = rewrites.run(graph)?;
        let source = FunctionSource { inputs, outputs: roots, updates, givens, cells: ids, rewrites };
        verify(&graph)?;
        let specs = self.inputs.into_iter().map(|i| {
            let ty = i.variable.ty().clone();
            let (conversion, mutable) = (i.conversion.unwrap_or_default(), i.mutable);
            InputSpec { conversion, mutable, ..InputSpec::new(i.name, ty, i.default) }
        });
        let names = self.outputs.into_iter().map(|o| o.name).collect();
        let name = self.name.unwrap_or_else(|| "main".into());
        let (graph, specs) = (Arc::new(graph), specs.collect());
        let function = Function::assemble(name, graph, specs, names, cells, Some(Arc::new(source)));
        Ok(function.with_options(options))
    }

    /// Outputs and updates after givens, default updates included.
    #[expect(clippy::type_complexity, reason = "two lists")]
    fn replaced(
        &self,
        givens: &[(Variable, Variable)],
    ) -> Result<(Vec<Variable>, Vec<(Arc<Cell>, Variable)>)> {
        let count = self.outputs.len();
        let mut roots: Vec<Variable> = self.outputs.iter().map(|o| o.variable.clone()).collect();
        roots.extend(self.updates.iter().map(|u| u.1.clone()));
        for root in &roots {
            root.checked()?;
        }
        if !givens.is_empty() {
            let mut known = givens.iter().map(|(from, to)| (from.key(), to.clone())).collect();
            roots = rebuild(&roots, &mut known, |_, _| Ok(None))?;
        }
        let mut updates: Vec<(Arc<Cell>, Variable)> = Vec::new();
        for ((shared, _), value) in self.updates.iter().zip(roots.drain(count..)) {
            let cell = shared.cell()?;
            if let Some((_, before)) = updates.iter().find(|(c, _)| Arc::ptr_eq(c, cell)) {
                let written = |value: &Variable| match value.owner() {
                    Some((apply, _)) => format!("by what was written at {}", apply.place),
                    None => format!("by {value:?}"),
                };
                let (name, first, second) = (cell.name(), written(before), written(&value));
                let message = format!("shared variable {name} is updated twice, {first} and {second}");
                return Err(Error::Compile(message));
            }
            check_update(cell, &value)?;
            updates.push((cell.clone(), value));
        }
        if !self.no_default_updates {
            add_default_updates(&roots, &mut updates, &self.without_default_updates)?;
        }
        Ok((roots, updates))
    }

    fn call_options(&self, states: Vec<(SharedVariable, StateInput)>, cells: &[Arc<Cell>]) -> CallOptions {
        let at = |shared: &SharedVariable| {
            cells.iter().position(|cell| shared.cell().is_ok_and(|own| Arc::ptr_eq(own, cell)))
        };
        let states = states.into_iter().filter_map(|(shared, state)| {
            // Each is updated, so it is among the cells.
            Some(StateInput { shared: at(&shared)?, ..state })
        });
        let borrowed = self.outputs.iter().enumerate().filter(|(_, o)| o.borrow).map(|(at, _)| at);
        CallOptions { states: states.collect(), borrowed: borrowed.collect(), device: None }
    }
}

/// Refuses two different outputs of one name.
fn check_output_names(outputs: &[Out]) -> Result<()> {
    let mut named: HashMap<&str, &Variable> = HashMap::new();
    for Out { name, variable: output, .. } in outputs {
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

/// Adds the default updates (of random streams, for example) of shared variables that have no explicit update
/// and that `without` does not read. An update may read further shared variables, which are updated too.
fn add_default_updates(
    roots: &[Variable],
    updates: &mut Vec<(Arc<Cell>, Variable)>,
    without: &[Variable],
) -> Result<()> {
    for variable in without {
        variable.checked()?;
    }
    let mut seen: HashSet<(usize, usize)> = ancestors(without, |_| false).iter().map(Variable::key).collect();
    seen.extend(updates.iter().map(|(cell, _)| (Arc::as_ptr(cell) as usize, 0)));
    let reading: Vec<Variable> = roots.iter().cloned().chain(updates.iter().map(|u| u.1.clone())).collect();
    for (cell, next) in default_updates(&reading, &mut seen, |_| false)? {
        check_update(&cell, &next)?;
        updates.push((cell, next));
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
