//! Shared variables: state that functions keep between calls.

use super::arrays::{array_of, kept_value};
use super::dtypes;
use super::errors::raised;
use super::variable::{PyVariable, cast};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyWeakrefReference};
use std::sync::Arc;
use workalike::graph::{SharedVariable, Variable};

/// A Variable with a value that functions read and update. Theano's shared variable.
#[pyclass(name = "SharedVariable", module = "workalike", extends = PyVariable, frozen, weakref)]
pub(crate) struct PySharedVariable {
    pub(crate) shared: SharedVariable,
}

impl PySharedVariable {
    /// The object of a shared variable. Each has one at a time, so that pickles and copies of several
    /// functions know what they have in common.
    pub(crate) fn made(py: Python<'_>, shared: SharedVariable) -> PyResult<Py<PySharedVariable>> {
        static KNOWN: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
        let known = KNOWN.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
        // The object keeps the cell, so that its address is no other's while the object lives.
        let address = Arc::as_ptr(shared.cell().map_err(raised)?) as usize;
        let object = PySharedVariable::new_object(py, shared)?;
        let new = PyWeakrefReference::new(object.bind(py))?;
        loop {
            // No code of Python runs from here on, so that two threads get the same object.
            let first = known.call_method1("setdefault", (address, &new))?;
            match first.call0()?.cast_into::<PySharedVariable>() {
                Ok(object) => return Ok(object.unbind()),
                // That one is gone; the new one comes next.
                Err(_) => known.del_item(address)?,
            }
        }
    }

    fn new_object(py: Python<'_>, shared: SharedVariable) -> PyResult<Py<PySharedVariable>> {
        let variable: Variable = (*shared).clone();
        let class = PyClassInitializer::from(PyVariable { variable });
        Py::new(py, class.add_subclass(PySharedVariable { shared }))
    }
}

#[pymethods]
impl PySharedVariable {
    /// A copy of the value, as an array of NumPy.
    fn get_value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = py.detach(|| self.shared.get_value()).map_err(raised)?;
        array_of(py, value)
    }

    /// Replaces the value by an array of the same dtype and shape.
    fn set_value(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let own = self.shared.dtype();
        let value = super::arrays::value_from(value, Some(own))?;
        // A number of Python takes the variable's dtype.
        let value = if value.ndim() == 0 { super::arrays::exact(value, own)? } else { value };
        py.detach(|| self.shared.set_value(value)).map_err(raised)
    }

    /// Which axes may change their extent.
    #[getter]
    fn dynamic_axes(&self) -> Vec<usize> {
        let shape = &self.shared.ty().shape;
        (0..shape.len()).filter(|&axis| shape[axis].is_none()).collect()
    }

    fn __repr__(&self) -> String {
        format!("SharedVariable({}: {})", self.shared.name().unwrap_or_default(), self.shared.ty())
    }

    /// With protocol 5 the value is a buffer of its own, which may travel out of band.
    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: u32) -> PyResult<Bound<'py, PyTuple>> {
        let cell = self.shared.cell().map_err(raised)?;
        let module = py.import("workalike._workalike")?;
        let value = self.get_value(py)?;
        let shape: Vec<usize> = value.getattr("shape")?.extract()?;
        let value = if protocol >= 5 && self.shared.ndim() > 0 && value.getattr("nbytes")?.is_truthy()? {
            let bytes = value.call_method1("view", ("uint8",));
            match bytes {
                // A pickle buffer holds bytes: dtype and shape stand beside it.
                Ok(bytes) => py.import("pickle")?.getattr("PickleBuffer")?.call1((bytes,))?,
                Err(_) => value.call_method0("tobytes")?,
            }
        } else {
            value.call_method0("tobytes")?
        };
        let state = (
            cell.id(),
            cell.name().to_string(),
            (self.shared.dtype().name(), shape, value),
            self.dynamic_axes(),
            (cell.is_transient(), cell.context().map(|context| context.to_string())),
        );
        (module.getattr("rebuilt_shared")?, state).into_pyobject(py)
    }

    /// A copy with a value of its own; two functions that are copied together keep their common state.
    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Py<PySharedVariable>> {
        let name = self.shared.name().unwrap_or_default();
        let value = py.detach(|| self.shared.get_value()).map_err(raised)?;
        let copy = workalike::graph::shared_dynamic(name, value, &self.dynamic_axes());
        let cell = self.shared.cell().map_err(raised)?;
        PySharedVariable::made(py, with_options(copy, cell.is_transient(), cell.context().as_deref()))
    }
}

/// A shared variable with this initial value, which is copied.
#[pyfunction]
#[pyo3(signature = (value, name="", *, dtype=None, dynamic_axes=None, transient=false, context=None))]
pub(crate) fn shared(
    py: Python<'_>,
    value: &Bound<'_, PyAny>,
    name: &str,
    dtype: Option<&Bound<'_, PyAny>>,
    dynamic_axes: Option<&Bound<'_, PyAny>>,
    transient: bool,
    context: Option<&str>,
) -> PyResult<Py<PySharedVariable>> {
    if value.cast::<PyVariable>().is_ok() {
        return Err(PyTypeError::new_err("shared: expected an array or a number, got a Variable"));
    }
    let value = cast(kept_value(value)?, dtype.map(dtypes::parse).transpose()?)?;
    let axes: Vec<usize> = dynamic_axes.map_or(Ok(vec![]), super::arguments::list)?;
    let shared = workalike::graph::shared_dynamic(name, value, &axes);
    PySharedVariable::made(py, with_options(shared, transient, context))
}

fn with_options(shared: SharedVariable, transient: bool, context: Option<&str>) -> SharedVariable {
    let shared = if transient { shared.transient() } else { shared };
    match context {
        Some(context) => shared.on(context),
        None => shared,
    }
}

/// What a pickle makes a shared variable from.
#[pyfunction]
pub(crate) fn rebuilt_shared(
    py: Python<'_>,
    id: u128,
    name: &str,
    array: (String, Vec<usize>, Bound<'_, PyAny>),
    dynamic_axes: Vec<usize>,
    options: (bool, Option<String>),
) -> PyResult<Py<PySharedVariable>> {
    let (dtype, shape, bytes) = array;
    let Some(dtype) = workalike::DType::parse(&dtype) else {
        return Err(super::errors::exception(
            "FormatError",
            format!("a pickle of a newer version: dtype {dtype}"),
        ));
    };
    let bytes = py.get_type::<PyBytes>().call1((bytes,))?.cast_into::<PyBytes>()?;
    let value = workalike::Value::from_bytes(dtype, &shape, bytes.as_bytes()).map_err(raised)?;
    let shared = SharedVariable::restored(id, name, value, &dynamic_axes).map_err(raised)?;
    PySharedVariable::made(py, with_options(shared, options.0, options.1.as_deref()))
}
