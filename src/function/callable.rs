//! The Function: a portable callable.

mod call;
mod device;

pub(super) use call::with_states;

use super::bundle::Bundle;
use super::conversion::Conversion;
use super::iterations::Subsets;
use super::outputs::Outputs;
use super::source::FunctionSource;
use crate::engine::{Backend, Engine};
use crate::error::{Error, Result};
use crate::graph::{Cell, CellSet, FunctionGraph, Lock, SharedVariable, TensorType, listing};
use crate::value::Value;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// An input of a Function.
#[derive(Clone, Debug)]
pub struct InputSpec {
    /// The name by which a call may give it.
    pub name: Option<String>,
    /// Its type.
    pub ty: TensorType,
    /// Its value in calls without an argument for it.
    pub default: Option<Value>,
    /// The dtypes that it accepts besides its own.
    pub conversion: Conversion,
    /// A call may use the memory of a device array that is its argument: see
    /// [`In::mutable`](super::In::mutable).
    pub mutable: bool,
}

impl InputSpec {
    /// An input without options.
    pub fn new(name: Option<String>, ty: TensorType, default: Option<Value>) -> InputSpec {
        InputSpec { name, ty, default, conversion: Conversion::default(), mutable: false }
    }
}

/// An input that keeps a value of its own between calls: see [`In::update`](super::In::update).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateInput {
    /// The name by which a call may give it.
    pub name: Option<String>,
    /// The position of its shared variable in [`Function::cells`].
    pub shared: usize,
    /// The dtypes that it accepts besides its own.
    pub conversion: Conversion,
}

/// What a Function has besides its graph and inputs.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallOptions {
    pub(crate) states: Vec<StateInput>,
    /// Positions of the outputs marked with [`Out::borrow`](super::Out::borrow), in order.
    pub(crate) borrowed: Vec<usize>,
    /// Where calls run instead of the embedded host device: see [`Function::on_device`].
    pub(crate) device: Option<device::CallDevice>,
}

/// A compiled Function: portable, CPU-only, callable here and now. Cloning shares graph and shared variables.
///
/// Any number of threads may call one Function, or Functions over the same shared variables. A call holds the
/// Function's shared variables from its start to its end: it sees all or none of the updates of another call
/// or a sync, and its own updates appear together. So calls over common shared variables wait for each other,
/// and so do calls of one Function without shared variables. Clones are one Function in this sense,
/// [`renamed`](Function::renamed) copies are several. To compute in several threads at once, give each thread
/// its own Simulator ([`Function::optimize`]).
///
/// A user's op may call other Functions. Such a nested call is an error if it uses a shared variable that the
/// outer call holds, or is of the Function that the outer call runs.
#[doc(alias("jit"))]
#[derive(Clone)]
pub struct Function {
    inner: Arc<FunctionData>,
}

struct FunctionData {
    name: String,
    graph: Arc<FunctionGraph>,
    inputs: Vec<InputSpec>,
    outputs: Arc<[Option<String>]>,
    options: CallOptions,
    cells: Vec<Arc<Cell>>,
    /// None if it was loaded.
    source: Option<Arc<FunctionSource>>,
    /// The cells, to be locked.
    state: CellSet,
    /// The Function's Program on the embedded host device, or the one that calls run on; made at the first
    /// call. Locked after the cells.
    engine: Lock<Option<Engine>>,
    /// The Functions that compute only some of the outputs; made on first use.
    subsets: Subsets,
}

impl Function {
    /// Bytes that a Function takes besides its lists and texts.
    pub(crate) const BYTES: usize = size_of::<FunctionData>() + size_of::<Function>() + 64;

    pub(crate) fn assemble(
        name: String,
        graph: Arc<FunctionGraph>,
        inputs: Vec<InputSpec>,
        outputs: Vec<Option<String>>,
        cells: Vec<Arc<Cell>>,
        source: Option<Arc<FunctionSource>>,
    ) -> Function {
        let state = CellSet::of(&cells);
        let (outputs, engine, subsets) = (outputs.into(), Lock::new(None), Subsets::default());
        let options = CallOptions::default();
        let inner =
            FunctionData { name, graph, inputs, outputs, options, cells, source, state, engine, subsets };
        Function { inner: Arc::new(inner) }
    }

    /// The same Function with other options.
    #[must_use]
    pub(crate) fn with_options(&self, options: CallOptions) -> Function {
        let inner = &self.inner;
        let (graph, inputs, outputs) = (inner.graph.clone(), inner.inputs.clone(), inner.outputs.to_vec());
        let (name, cells, source) = (inner.name.clone(), inner.cells.clone(), inner.source.clone());
        let mut made = Function::assemble(name, graph, inputs, outputs, cells, source);
        if let Some(inner) = Arc::get_mut(&mut made.inner) {
            inner.options = options;
        }
        made
    }

    /// The same Function with other inputs.
    #[must_use]
    pub(crate) fn with_inputs(&self, inputs: Vec<InputSpec>) -> Function {
        let inner = &self.inner;
        let (name, graph, outputs) = (inner.name.clone(), inner.graph.clone(), inner.outputs.to_vec());
        Function::assemble(name, graph, inputs, outputs, inner.cells.clone(), inner.source.clone())
            .with_options(inner.options.clone())
    }

    /// The inputs and options of a new Function, to be set; `None` if the Function is shared.
    pub(crate) fn inputs_and_options_mut(&mut self) -> Option<(&mut [InputSpec], &mut CallOptions)> {
        Arc::get_mut(&mut self.inner).map(|inner| (inner.inputs.as_mut_slice(), &mut inner.options))
    }

    #[cfg(test)]
    pub(crate) fn without_options(&self) -> Function {
        let mut plain = self.with_options(CallOptions::default());
        if let Some((inputs, _)) = plain.inputs_and_options_mut() {
            let without =
                |i: &mut InputSpec| *i = InputSpec::new(i.name.clone(), i.ty.clone(), i.default.clone());
            inputs.iter_mut().for_each(without);
        }
        plain
    }

    pub(crate) fn options(&self) -> &CallOptions {
        &self.inner.options
    }

    /// The inputs that keep a value of their own between calls; a call may give them after the others, or by
    /// name.
    pub fn state_inputs(&self) -> &[StateInput] {
        &self.inner.options.states
    }

    /// The positions of the outputs that were marked with [`Out::borrow`](super::Out::borrow).
    pub fn borrowed_outputs(&self) -> &[usize] {
        &self.inner.options.borrowed
    }

    /// What it was compiled from, unless it was loaded.
    pub(crate) fn source(&self) -> Option<&FunctionSource> {
        self.inner.source.as_deref()
    }

    /// Its name; `main` unless it was given one.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Its optimized graph.
    pub fn graph(&self) -> &Arc<FunctionGraph> {
        &self.inner.graph
    }

    /// Its inputs, in order.
    pub fn inputs(&self) -> &[InputSpec] {
        &self.inner.inputs
    }

    /// The names of its outputs, in order.
    pub fn output_names(&self) -> &[Option<String>] {
        &self.inner.outputs
    }

    /// Its shared variables.
    pub fn cells(&self) -> &[Arc<Cell>] {
        &self.inner.cells
    }

    /// The shared variable of this name: to read, to write, and to write expressions with.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let w = shared("w", 1f32);
    /// let f = function(()).output(&w).compile()?;
    /// let bytes = Bundle::new().with("f", &f).to_bytes()?;
    /// let loaded = Bundle::from_bytes(&bytes)?;
    /// let w = loaded["f"].shared("w")?;
    /// w.set_value(3f32)?;
    /// let doubled = function([] as [&Variable; 0]).output(&w * 2.0).compile()?;
    /// assert_eq!(doubled.call(args![])?[0].item::<f32>()?, 6.0);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is none, or there are several: [`Function::cells`] has all.
    pub fn shared(&self, name: &str) -> Result<SharedVariable> {
        named(&format!("function {}", self.name()), name, self.cells().iter())
    }

    /// The shared variables that a call updates.
    pub fn updated(&self) -> impl Iterator<Item = &Arc<Cell>> {
        self.inner.graph.updates.iter().map(|u| &self.inner.cells[u.0 as usize])
    }

    /// The name of the input at a position, for messages.
    pub(crate) fn input_name(&self, position: usize) -> String {
        let name = self.inner.inputs.get(position).and_then(|i| i.name.clone());
        name.unwrap_or_else(|| position.to_string())
    }

    pub(crate) fn outputs_of(&self, values: Vec<Value>) -> Outputs {
        Outputs::new(values, self.inner.outputs.clone())
    }

    /// Values of some of the outputs, by position.
    pub(crate) fn chosen_outputs(&self, positions: &[usize], values: Vec<Value>) -> Outputs {
        Outputs::new(values, positions.iter().map(|&at| self.inner.outputs[at].clone()).collect())
    }

    pub(super) fn subsets(&self) -> &Subsets {
        &self.inner.subsets
    }

    /// The same Function with some of its outputs, by position, without nodes that only the other outputs
    /// need.
    pub(crate) fn with_outputs(&self, positions: &[usize]) -> Result<Function> {
        let inner = &self.inner;
        let mut graph = FunctionGraph::clone(&inner.graph);
        graph.outputs = positions.iter().map(|&p| inner.graph.outputs[p]).collect();
        let graph = Arc::new(crate::rewrite::prune(&graph)?);
        let names = positions.iter().map(|&p| inner.outputs[p].clone()).collect();
        let (name, inputs, cells) = (inner.name.clone(), inner.inputs.clone(), inner.cells.clone());
        let borrowed = positions.iter().enumerate().filter(|(_, p)| inner.options.borrowed.contains(p));
        let options = CallOptions { borrowed: borrowed.map(|(at, _)| at).collect(), ..inner.options.clone() };
        Ok(Function::assemble(name, graph, inputs, names, cells, None).with_options(options))
    }

    /// The same Function under another name.
    #[must_use]
    pub fn renamed(&self, name: &str) -> Function {
        let inner = &self.inner;
        let (graph, inputs, outputs) = (inner.graph.clone(), inner.inputs.clone(), inner.outputs.to_vec());
        let (cells, source) = (inner.cells.clone(), inner.source.clone());
        Function::assemble(name.into(), graph, inputs, outputs, cells, source)
            .with_options(inner.options.clone())
    }

    /// The same Function over other cells, of the same types in the same order.
    pub(crate) fn over(&self, cells: Vec<Arc<Cell>>) -> Function {
        let inner = &self.inner;
        let (graph, inputs, outputs) = (inner.graph.clone(), inner.inputs.clone(), inner.outputs.to_vec());
        Function::assemble(inner.name.clone(), graph, inputs, outputs, cells, inner.source.clone())
            .with_options(inner.options.clone())
    }

    /// The same Function over shared variables of its own: copies with new ids, and a consistent snapshot of
    /// the values.
    ///
    /// # Errors
    /// If there is no memory for the copies.
    pub fn fork(&self) -> Result<Function> {
        let values = self.inner.state.snapshot()?;
        let cells = self.inner.cells.iter().zip(values).map(|(cell, (value, _))| {
            let id = crate::graph::fresh_id();
            let copy = Cell::new(id, cell.name(), cell.ty().clone(), &value, None)?;
            copy.set_context(cell.context().as_deref());
            copy.set_transient(cell.is_transient());
            Ok(Arc::new(copy))
        });
        Ok(self.over(cells.collect::<Result<_>>()?))
    }

    /// A work-alike of this Function on a backend.
    ///
    /// # Errors
    /// If the device is missing or cannot run the Function; the Function is untouched.
    pub fn optimize<B: Backend>(&self, backend: B) -> Result<B::Simulator> {
        backend.optimize(self)
    }

    /// Saves the Function to a file, as a Bundle of one.
    ///
    /// # Errors
    /// As [`Bundle::save`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Bundle::new().with(self.name(), self).save(path)
    }

    /// Loads a Function from a file that holds one.
    ///
    /// # Errors
    /// If the file cannot be read, is not a workalike file, is damaged, or holds several Functions.
    pub fn load(path: impl AsRef<Path>) -> Result<Function> {
        Bundle::load(path)?.into_single()
    }

    /// The bytes of the file that [`Function::save`] writes, to send to where the Function shall run.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = vector::<f32>("x");
    /// let bytes = function([&x]).output(&x * 2.0).compile()?.to_bytes()?;
    /// let there = Function::from_bytes(&bytes)?;
    /// assert_eq!(there.call(args![vec![1f32]])?[0].to_vec::<f32>()?, [2.0]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Bundle::to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Bundle::new().with(self.name(), self).to_bytes()
    }

    /// A Function from the bytes of a file that holds one.
    ///
    /// # Errors
    /// As [`Bundle::from_bytes`], or if they hold several Functions.
    pub fn from_bytes(bytes: &[u8]) -> Result<Function> {
        Bundle::from_bytes(bytes)?.into_single()
    }
}

/// The shared variable with this name among `cells`, which may contain it more than once.
pub(super) fn named<'c>(
    whose: &str,
    name: &str,
    cells: impl Iterator<Item = &'c Arc<Cell>> + Clone,
) -> Result<SharedVariable> {
    let mut found = cells.clone().filter(|cell| cell.name() == name);
    let Some(cell) = found.next() else {
        let mut known: Vec<&str> = cells.map(|cell| cell.name()).collect();
        known.dedup();
        return Err(Error::Sync(format!(
            "{whose} has no shared variable {name}; it has {}",
            known.join(", ")
        )));
    };
    if found.any(|other| !Arc::ptr_eq(other, cell)) {
        return Err(Error::Sync(format!(
            "{whose} has several shared variables {name}; choose one of Function::cells()"
        )));
    }
    Ok(SharedVariable::of(cell.clone()))
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function {}\n{}", self.name(), listing(&self.inner.graph))
    }
}
