//! The Function: a portable callable.

use super::args::{ArgIn, ArgsIn, bind};
use super::bundle::Bundle;
use super::outputs::Outputs;
use super::source::Source;
use crate::error::{Error, Result};
use crate::graph::{Cell, CellState, FunctionGraph, TensorType, listing};
use crate::host::Host;
use crate::rehost::{Backend, Engine, Options, StateBinding};
use crate::value::Value;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An input of a Function.
#[derive(Clone, Debug)]
pub struct InputSpec {
    /// The name by which a call may give it.
    pub name: Option<String>,
    /// What it must be.
    pub ty: TensorType,
    /// What it is in calls that do not give it.
    pub default: Option<Value>,
}

/// A compiled Function: portable, CPU-only, callable here and now. Cloning shares graph and shared variables.
#[derive(Clone)]
pub struct Function {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    graph: Arc<FunctionGraph>,
    inputs: Vec<InputSpec>,
    outputs: Arc<[Option<String>]>,
    cells: Vec<Arc<Cell>>,
    /// None if it was loaded.
    source: Option<Arc<Source>>,
    /// The cells' positions in the order of their ids: that in which calls lock them.
    locking: Vec<usize>,
    /// The Function's Program on the embedded host device; made at the first call.
    engine: Mutex<Option<Engine>>,
}

impl Function {
    pub(crate) fn assemble(
        name: String,
        graph: Arc<FunctionGraph>,
        inputs: Vec<InputSpec>,
        outputs: Vec<Option<String>>,
        cells: Vec<Arc<Cell>>,
        source: Option<Arc<Source>>,
    ) -> Function {
        let mut locking: Vec<usize> = (0..cells.len()).collect();
        locking.sort_by_key(|&i| cells[i].id());
        let (outputs, engine) = (outputs.into(), Mutex::new(None));
        Function { inner: Arc::new(Inner { name, graph, inputs, outputs, cells, source, locking, engine }) }
    }

    /// What it was compiled from, unless it was loaded.
    pub(crate) fn source(&self) -> Option<&Source> {
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

    /// The shared variable of this name.
    pub fn shared(&self, name: &str) -> Option<&Arc<Cell>> {
        self.inner.cells.iter().find(|c| c.name() == name)
    }

    /// The shared variables that a call updates.
    pub fn updated(&self) -> impl Iterator<Item = &Arc<Cell>> {
        self.inner.graph.updates.iter().map(|u| &self.inner.cells[u.0 as usize])
    }

    /// What people call the input at a position.
    pub(crate) fn input_name(&self, position: usize) -> String {
        let name = self.inner.inputs.get(position).and_then(|i| i.name.clone());
        name.unwrap_or_else(|| position.to_string())
    }

    pub(crate) fn outputs_of(&self, values: Vec<Value>) -> Outputs {
        Outputs::new(values, self.inner.outputs.clone())
    }

    /// The same Function with some of its outputs, by position, and what only the others need left out.
    pub(crate) fn with_outputs(&self, positions: &[usize]) -> Result<Function> {
        let inner = &self.inner;
        let mut graph = FunctionGraph::clone(&inner.graph);
        graph.outputs = positions.iter().map(|&p| inner.graph.outputs[p]).collect();
        let graph = Arc::new(crate::rewrite::prune(&graph)?);
        let names = positions.iter().map(|&p| inner.outputs[p].clone()).collect();
        let (name, inputs, cells) = (inner.name.clone(), inner.inputs.clone(), inner.cells.clone());
        Ok(Function::assemble(name, graph, inputs, names, cells, None))
    }

    /// The same Function under another name.
    #[must_use]
    pub fn renamed(&self, name: &str) -> Function {
        let inner = &self.inner;
        let (graph, inputs, outputs) = (inner.graph.clone(), inner.inputs.clone(), inner.outputs.to_vec());
        let (cells, source) = (inner.cells.clone(), inner.source.clone());
        Function::assemble(name.into(), graph, inputs, outputs, cells, source)
    }

    /// The same Function over shared variables of its own: copies with new ids.
    ///
    /// # Errors
    /// If there is no memory for the copies.
    pub fn fork(&self) -> Result<Function> {
        let cells = self.inner.cells.iter().map(|cell| {
            let id = crate::graph::fresh_id();
            Ok(Arc::new(Cell::new(id, cell.name(), cell.ty().clone(), &cell.get_value()?, None)?))
        });
        let cells = cells.collect::<Result<_>>()?;
        let inner = &self.inner;
        let (graph, inputs, outputs) = (inner.graph.clone(), inner.inputs.clone(), inner.outputs.to_vec());
        let (name, source) = (inner.name.clone(), inner.source.clone());
        Ok(Function::assemble(name, graph, inputs, outputs, cells, source))
    }

    /// Calls the Function on the embedded host device.
    ///
    /// # Errors
    /// If the arguments do not fit, or an op fails.
    pub fn call(&self, args: ArgsIn<'_>) -> Result<Outputs> {
        let values = values_only(bind(self, args)?)?;
        let fed: Vec<_> = values.into_iter().map(crate::rehost::Fed::Host).collect();
        let mut guard = self.inner.engine.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cells = self.lock_cells();
        let engine = match &mut *guard {
            Some(engine) => engine,
            none => none.insert(self.engine(&cells)?),
        };
        for (position, state) in cells.iter().enumerate() {
            engine.move_state(position, state.memory.clone(), &state.shape);
        }
        let at = engine.run(0, &fed)?;
        let outputs = engine.outputs(0, at);
        let updated: Vec<usize> = engine.updated(0).collect();
        for position in updated {
            let (region, shape) = engine.state_place(position);
            let state = &mut cells[position];
            state.version += 1;
            if state.shape != shape {
                let memory = Arc::new(crate::host::HostMemory::new(region.bytes)?);
                let mut bytes = vec![0; region.bytes as usize];
                engine.device().download(&region, &mut bytes)?;
                memory.write(0, &bytes)?;
                (state.memory, state.shape) = (memory, shape);
            }
        }
        Ok(self.outputs_of(outputs?))
    }

    fn engine(&self, cells: &[MutexGuard<'_, CellState>]) -> Result<Engine> {
        let mut engine = Engine::new(Host::auto().open()?, Options::default());
        for (cell, state) in self.inner.cells.iter().zip(cells) {
            let binding = StateBinding { name: cell.name().into(), ty: cell.ty().clone() };
            engine.add_state_at(binding, state.memory.clone(), &state.shape);
        }
        engine.add_method(self.name(), self.inner.graph.clone(), (0..cells.len()).collect());
        Ok(engine)
    }

    /// Locks all cells, in the order of their ids, so that calls of several Functions cannot block each other for ever.
    fn lock_cells(&self) -> Vec<MutexGuard<'_, CellState>> {
        let order = self.inner.locking.iter();
        let mut guards: Vec<(usize, MutexGuard<'_, CellState>)> =
            order.map(|&i| (i, self.inner.cells[i].lock())).collect();
        guards.sort_by_key(|g| g.0);
        guards.into_iter().map(|g| g.1).collect()
    }

    /// Calls the Function op by op through each op's plain `perform`: the meaning of the Function, slow.
    ///
    /// # Errors
    /// If the arguments do not fit, or an op fails.
    pub fn call_reference(&self, args: ArgsIn<'_>) -> Result<Outputs> {
        let inputs = values_only(bind(self, args)?)?;
        let mut cells = self.lock_cells();
        let shared = self.inner.cells.iter().zip(&cells).map(|(cell, state)| state.read(cell.ty().dtype));
        let shared: Vec<Value> = shared.collect::<Result<_>>()?;
        let values = crate::graph::evaluate(&self.inner.graph, &inputs, &shared)?;
        let value =
            |id: &u32| values.get(id).cloned().ok_or_else(|| Error::Internal("a root has no value".into()));
        self.inner.graph.check_updates(|id| values.get(&id).map_or(&[], Value::shape))?;
        for (position, id) in &self.inner.graph.updates {
            let new = value(id)?.contiguous()?;
            cells[*position as usize].write(new.shape(), new.contiguous_bytes().unwrap_or(&[]))?;
        }
        let outputs = self.inner.graph.outputs.iter().map(value).collect::<Result<_>>()?;
        Ok(self.outputs_of(outputs))
    }

    /// A work-alike of this Function on a backend.
    ///
    /// # Errors
    /// If the device is missing or cannot run the Function; the Function is untouched.
    pub fn optimize<B: Backend>(&self, backend: B) -> Result<B::Simulator> {
        backend.rehost(self)
    }

    /// Saves the Function to a file, as a Bundle of one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Bundle::new().with(self.name(), self).save(path)
    }

    /// Loads a Function from a file that holds one.
    ///
    /// # Errors
    /// If the file cannot be read, is not ours, is damaged, or holds several Functions.
    pub fn load(path: impl AsRef<Path>) -> Result<Function> {
        Bundle::load(path)?.into_single()
    }
}

fn values_only<'a>(args: impl Iterator<Item = Result<ArgIn<'a>>>) -> Result<Vec<Value>> {
    args.map(|arg| match arg? {
        ArgIn::Value(value) => Ok(value),
        ArgIn::Device(array) => array.to_value(),
        ArgIn::Borrowed(array) => array.to_value(),
        ArgIn::Each(_) => Err(Error::mismatch("call", "a value", "a sequence, which only run_n takes")),
    })
    .collect()
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function {}\n{}", self.name(), listing(&self.inner.graph))
    }
}
