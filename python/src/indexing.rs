//! Index expressions: `x[1:5, ..., None, mask]`, and elements that are replaced.

use super::errors::raised;
use super::operand::operand_of;
use super::place::at_caller;
use super::variable::PyVariable;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PySlice, PyTuple};
use workalike::graph::{Operand, Variable};
use workalike::ops::Ix;

/// The entries of an index expression.
pub(crate) fn entries_of(key: &Bound<'_, PyAny>) -> PyResult<Vec<Ix>> {
    match key.cast::<PyTuple>() {
        Ok(entries) => entries.iter().map(|entry| entry_of(&entry)).collect(),
        Err(_) => Ok(vec![entry_of(key)?]),
    }
}

fn entry_of(entry: &Bound<'_, PyAny>) -> PyResult<Ix> {
    if entry.is_none() {
        return Ok(Ix::NewAxis);
    }
    if entry.cast::<PyEllipsis>().is_ok() {
        return Ok(Ix::Ellipsis);
    }
    if let Ok(slice) = entry.cast::<PySlice>() {
        let bound = |name: &str| -> PyResult<Option<Variable>> {
            let given = slice.getattr(name)?;
            if given.is_none() { Ok(None) } else { position(&given).map(Some) }
        };
        let step = slice.getattr("step")?;
        let step: i64 = if step.is_none() { 1 } else { step.extract()? };
        return Ok(Ix::Slice { start: bound("start")?, stop: bound("stop")?, step });
    }
    position(entry).map(Ix::At)
}

/// A position, or an array of positions or truth values.
fn position(given: &Bound<'_, PyAny>) -> PyResult<Variable> {
    match operand_of(given)? {
        Operand::Variable(variable) => Ok(variable),
        Operand::Int(n) => match i64::try_from(n) {
            Ok(n) => Ok(Variable::constant(n)),
            Err(_) => Err(PyTypeError::new_err(format!("the position {n} is out of range for int64"))),
        },
        Operand::Bool(b) => Ok(Variable::constant(b)),
        other => Err(PyTypeError::new_err(format!(
            "expected an integer, a slice, None, ... or an array of integers or bools as an index, got {other}"
        ))),
    }
}

/// `x.at`: see `Variable.at`.
#[pyclass(frozen, module = "workalike")]
pub(crate) struct At {
    pub(crate) variable: Variable,
}

#[pymethods]
impl At {
    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Elements> {
        Ok(Elements { variable: self.variable.clone(), entries: entries_of(key)? })
    }
}

/// Elements of a Variable: `x.at[1:5]`.
#[pyclass(frozen, module = "workalike")]
pub(crate) struct Elements {
    variable: Variable,
    entries: Vec<Ix>,
}

/// A way to combine new elements with old ones.
type Write = fn(&Variable, &[Ix], Operand) -> workalike::Result<Variable>;

impl Elements {
    fn written(&self, y: &Bound<'_, PyAny>, write: Write) -> PyResult<Py<PyVariable>> {
        let (py, operand) = (y.py(), operand_of(y)?);
        let made = at_caller(py, || write(&self.variable, &self.entries, operand))?;
        PyVariable::made(py, made.map_err(raised)?)
    }
}

#[pymethods]
impl Elements {
    /// A copy of `x` with these elements replaced by `y`, which broadcasts to them.
    fn set(&self, y: &Bound<'_, PyAny>) -> PyResult<Py<PyVariable>> {
        self.written(y, |x, entries, y| x.try_set_index(entries, y))
    }
    /// A copy of `x` with `y` added to these elements; where indices repeat, all are added.
    fn add(&self, y: &Bound<'_, PyAny>) -> PyResult<Py<PyVariable>> {
        self.written(y, |x, entries, y| x.try_inc_index(entries, y))
    }
    /// A copy of `x` with these elements multiplied by `y`.
    #[pyo3(name = "multiply")]
    fn mul(&self, y: &Bound<'_, PyAny>) -> PyResult<Py<PyVariable>> {
        self.written(y, |x, entries, y| x.try_mul_index(entries, y))
    }
    /// A copy of `x` with the smaller of these elements and `y`.
    fn min(&self, y: &Bound<'_, PyAny>) -> PyResult<Py<PyVariable>> {
        self.written(y, |x, entries, y| x.try_min_index(entries, y))
    }
    /// A copy of `x` with the larger of these elements and `y`.
    fn max(&self, y: &Bound<'_, PyAny>) -> PyResult<Py<PyVariable>> {
        self.written(y, |x, entries, y| x.try_max_index(entries, y))
    }
    /// These elements of `x`.
    fn get(&self, py: Python<'_>) -> PyResult<Py<PyVariable>> {
        let made = at_caller(py, || self.variable.try_index(&self.entries))?;
        PyVariable::made(py, made.map_err(raised)?)
    }
}
