//! Copies of a Function: over other shared variables, and without its updates.

use super::callable::{CallOptions, Function};
use super::source::FunctionSource;
use crate::error::{Error, Result};
use crate::graph::prune::prune;
use crate::graph::{Cell, FunctionGraph, SharedVariable};
use std::collections::HashSet;
use std::sync::Arc;

impl Function {
    /// The same Function without its updates: it has the same outputs, and changes no shared variable, not
    /// even the state of a random stream. Inputs that keep a value of their own
    /// ([`In::update`](super::In::update)) are only read.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (state, inc) = (shared("state", 0i64), scalar::<i64>("inc"));
    /// let accumulate = function([&inc]).output(&state + &inc).update(&state, &state + &inc).compile()?;
    /// let peek = accumulate.without_updates()?;
    /// assert_eq!(peek.call(args![10i64])?[0].item::<i64>()?, 10);
    /// assert_eq!(state.get_value()?.item::<i64>()?, 0);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a pass breaks the graph, which would be an error of the library.
    pub fn without_updates(&self) -> Result<Function> {
        let mut graph = FunctionGraph::clone(self.graph());
        graph.updates.clear();
        let graph = prune(&graph)?;
        let source = self.source().map(|s| FunctionSource { updates: vec![], ..s.clone() });
        Ok(self.rebuilt(graph, self.cells().to_vec(), source))
    }

    /// The same Function over other shared variables: in outputs and updates, the first of each pair is
    /// replaced by the second, whose type must be the same.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (state, other, inc) = (shared("state", 0i64), shared("other", 100i64), scalar::<i64>("inc"));
    /// let accumulate = function([&inc]).update(&state, &state + &inc).compile()?;
    /// accumulate.swapped([(&state, &other)])?.call(args![10i64])?;
    /// assert_eq!(state.get_value()?.item::<i64>()?, 0);
    /// assert_eq!(other.get_value()?.item::<i64>()?, 110);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the Function has no such shared variable, types differ, or one shared variable would replace two.
    pub fn swapped(
        &self,
        pairs: impl IntoIterator<Item = (impl Into<SharedVariable>, impl Into<SharedVariable>)>,
    ) -> Result<Function> {
        let mut cells: Vec<Arc<Cell>> = self.cells().to_vec();
        for (from, to) in pairs {
            let (from, to): (SharedVariable, SharedVariable) = (from.into(), to.into());
            let (from, to) = (from.cell()?, to.cell()?);
            let Some(at) = self.cells().iter().position(|cell| cell.id() == from.id()) else {
                let known: Vec<&str> = self.cells().iter().map(|cell| cell.name()).collect();
                return Err(Error::Compile(format!(
                    "swapped: {} has no shared variable {}; it has {}",
                    self.name(),
                    from.name(),
                    known.join(", ")
                )));
            };
            if from.ty() != to.ty() {
                let what = format!("swapped: {} in the place of {}", to.name(), from.name());
                return Err(Error::mismatch(what, from.ty().to_string(), to.ty().to_string()));
            }
            cells[at] = to.clone();
        }
        let mut seen = HashSet::new();
        if let Some(twice) = cells.iter().find(|cell| !seen.insert(cell.id())) {
            return Err(Error::Compile(format!(
                "swapped: {} would stand for two shared variables of {}, which may have different values",
                twice.name(),
                self.name()
            )));
        }
        Ok(self.rebuilt(FunctionGraph::clone(self.graph()), cells, self.source().cloned()))
    }

    /// The same Function over shared variables of the same ids that have no values: what remains of it when
    /// the values are sent apart. [`Function::with_shared`] gives it variables again.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let w = shared("w", vec![1f32; 1000]);
    /// let f = function(()).output(w.sum(..)).compile()?;
    /// let bytes = f.without_values()?.to_bytes()?;
    /// assert!(bytes.len() < 1000);
    /// let there = Function::from_bytes(&bytes)?.with_shared([&w])?;
    /// assert_eq!(there.call(args![])?[0].item::<f32>()?, 1000.0);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no memory.
    pub fn without_values(&self) -> Result<Function> {
        let empty = |cell: &Arc<Cell>| {
            let copy = Cell::absent(cell.id(), cell.name(), cell.ty().clone())?;
            copy.set_context(cell.context().as_deref());
            Ok(Arc::new(copy))
        };
        Ok(self.over(self.cells().iter().map(empty).collect::<Result<_>>()?))
    }

    /// The same Function over these shared variables, in the order of [`Function::cells`].
    ///
    /// # Errors
    /// If there are more or fewer, one is given twice, or a type is another one.
    pub fn with_shared(
        &self,
        variables: impl IntoIterator<Item = impl Into<SharedVariable>>,
    ) -> Result<Function> {
        let given: Vec<SharedVariable> = variables.into_iter().map(Into::into).collect();
        let given = given.iter().map(|variable| variable.cell().cloned()).collect::<Result<Vec<_>>>()?;
        let (expected, count) = (self.cells().len(), given.len());
        if count != expected {
            let expected = format!("{expected} shared variables");
            return Err(Error::mismatch(self.name(), expected, count.to_string()));
        }
        let mut seen = HashSet::new();
        for (own, new) in self.cells().iter().zip(&given) {
            let what = || format!("{}: shared variable {}", self.name(), own.name());
            if own.ty() != new.ty() {
                return Err(Error::mismatch(what(), own.ty().to_string(), new.ty().to_string()));
            }
            if !seen.insert(new.id()) {
                return Err(Error::mismatch(
                    what(),
                    "a variable of its own",
                    format!("{} twice", new.name()),
                ));
            }
        }
        Ok(self.over(given))
    }

    pub(super) fn rebuilt(
        &self,
        graph: FunctionGraph,
        cells: Vec<Arc<Cell>>,
        source: Option<FunctionSource>,
    ) -> Function {
        let (name, inputs, outputs) =
            (self.name().into(), self.inputs().to_vec(), self.output_names().to_vec());
        // Without its update an input that keeps a value of its own is a shared variable that is only read.
        let states = if graph.updates.is_empty() { vec![] } else { self.options().states.clone() };
        let options = CallOptions { states, ..self.options().clone() };
        Function::assemble(name, Arc::new(graph), inputs, outputs, cells, source.map(Arc::new))
            .with_options(options)
    }
}
