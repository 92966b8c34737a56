//! Loops and branches, whose bodies are functions of Python that build expressions once.

use super::errors::raised;
use super::operand::{operand_of, variable_of};
use super::place::at_caller;
use super::variable::PyVariable;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use workalike::graph::Variable;
use workalike::ops::loops::{self, Scan, Scanned};

/// A body of Python: what it raises is kept, and ends the loop's construction.
struct Body<'py> {
    function: Bound<'py, PyAny>,
    raised: Option<PyErr>,
}

impl<'py> Body<'py> {
    fn new(function: &Bound<'py, PyAny>) -> Body<'py> {
        Body { function: function.clone(), raised: None }
    }

    fn call(&mut self, given: &[Variable]) -> Vec<Variable> {
        self.try_call(given).unwrap_or_else(|error| {
            self.raised.get_or_insert(error);
            vec![]
        })
    }

    fn try_call(&self, given: &[Variable]) -> PyResult<Vec<Variable>> {
        let py = self.function.py();
        let given = given.iter().map(|variable| PyVariable::made(py, variable.clone()));
        let given = PyTuple::new(py, given.collect::<PyResult<Vec<_>>>()?)?;
        listed(&self.function.call1(given)?)
    }

    /// The result, unless the body raised something.
    fn finish<T>(self, made: workalike::Result<T>) -> PyResult<T> {
        match self.raised {
            Some(error) => Err(error),
            None => made.map_err(raised),
        }
    }
}

/// One Variable, or a list of them.
fn listed(given: &Bound<'_, PyAny>) -> PyResult<Vec<Variable>> {
    if given.cast::<PyTuple>().is_ok() || given.cast::<PyList>().is_ok() {
        return given.try_iter()?.map(|item| variable_of(&item?)).collect();
    }
    Ok(vec![variable_of(given)?])
}

fn wrapped(py: Python<'_>, list: Vec<Variable>) -> PyResult<Vec<Py<PyVariable>>> {
    list.into_iter().map(|variable| PyVariable::made(py, variable)).collect()
}

/// Arrays and the positions that the body gets of them.
type Taps<'py> = Vec<(Bound<'py, PyAny>, Vec<isize>)>;

/// A scan: what each recurrence was after each iteration, the further results, stacked, and what each
/// recurrence was at the end.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python has names for them")]
pub(crate) fn scan(
    py: Python<'_>,
    body: &Bound<'_, PyAny>,
    name: &str,
    sequences: Taps<'_>,
    recurrences: Taps<'_>,
    steps: Option<&Bound<'_, PyAny>>,
    reversed: bool,
    truncated: Option<usize>,
) -> PyResult<[Vec<Py<PyVariable>>; 3]> {
    let mut builder = Scan::new().named(name);
    if let Some(steps) = steps {
        builder = builder.steps(operand_of(steps)?);
    }
    for (sequence, taps) in sequences {
        builder = builder.sequence_taps(variable_of(&sequence)?, taps);
    }
    let carried = recurrences.len();
    for (initial, taps) in recurrences {
        let initial = variable_of(&initial)?;
        builder = match taps.as_slice() {
            [-1] => builder.recurrent(initial),
            _ => builder.recurrent_taps(initial, taps),
        };
    }
    if reversed {
        builder = builder.reversed();
    }
    if let Some(iterations) = truncated {
        builder = builder.truncate_gradient(iterations);
    }
    let (mut calls, mut returned) = (Body::new(body), 0);
    let made: workalike::Result<Scanned> = at_caller(py, || {
        builder.try_run(|given| {
            let results = calls.call(given);
            returned = results.len();
            results
        })
    })?;
    let scanned = calls.finish(made)?;
    let histories = (0..carried).map(|at| scanned.history(at)).collect();
    let further = (0..returned.saturating_sub(carried)).map(|at| scanned.result(at)).collect();
    let last = (0..carried).map(|at| scanned.last_of(at)).collect();
    Ok([wrapped(py, histories)?, wrapped(py, further)?, wrapped(py, last)?])
}

/// The results of a body for each slice of arrays along their first axis, computed at once.
#[pyfunction]
pub(crate) fn vmap(
    py: Python<'_>,
    body: &Bound<'_, PyAny>,
    arrays: Vec<Bound<'_, PyAny>>,
) -> PyResult<Vec<Py<PyVariable>>> {
    let arrays = arrays.iter().map(variable_of).collect::<PyResult<Vec<_>>>()?;
    let mut calls = Body::new(body);
    let made = at_caller(py, || loops::vmap(arrays, |slices: Vec<Variable>| calls.call(&slices)))?;
    let checked = made.iter().map(|one| one.checked().cloned()).collect::<workalike::Result<Vec<_>>>();
    wrapped(py, calls.finish(checked)?)
}

/// The carried values when the condition is false for the first time.
#[pyfunction]
pub(crate) fn while_loop(
    py: Python<'_>,
    condition: &Bound<'_, PyAny>,
    body: &Bound<'_, PyAny>,
    initial: Vec<Bound<'_, PyAny>>,
) -> PyResult<Vec<Py<PyVariable>>> {
    let initial = initial.iter().map(variable_of).collect::<PyResult<Vec<_>>>()?;
    let (asks, mut calls) = (std::cell::RefCell::new(Body::new(condition)), Body::new(body));
    let made = at_caller(py, || {
        let ask = |carried: &Vec<Variable>| match asks.borrow_mut().call(carried).pop() {
            Some(flag) => flag,
            None => Variable::constant(false),
        };
        loops::while_loop(initial, ask, |carried| calls.call(&carried))
    })?;
    let checked =
        made.iter().map(|variable| variable.checked().cloned()).collect::<workalike::Result<Vec<_>>>();
    asks.into_inner().finish(Ok(()))?;
    wrapped(py, calls.finish(checked)?)
}

/// The results of one of several bodies without arguments, by an index.
#[pyfunction]
pub(crate) fn switch(
    py: Python<'_>,
    index: &Bound<'_, PyAny>,
    branches: Vec<Bound<'_, PyAny>>,
) -> PyResult<Vec<Py<PyVariable>>> {
    let index = variable_of(index)?;
    let calls: Vec<_> = branches.iter().map(|branch| std::cell::RefCell::new(Body::new(branch))).collect();
    let made =
        at_caller(py, || loops::switch(index, calls.iter().map(|body| || body.borrow_mut().call(&[]))))?;
    for body in calls {
        body.into_inner().finish(Ok(()))?;
    }
    let checked =
        made.iter().map(|variable| variable.checked().cloned()).collect::<workalike::Result<Vec<_>>>();
    wrapped(py, checked.map_err(raised)?)
}
