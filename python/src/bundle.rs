//! Bundles: several functions over common shared variables, as one file holds them.

use super::calls::detached;
use super::device::target_of;
use super::errors::raised;
use super::function::PyFunction;
use super::simulator::PySimulator;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use workalike::function::Bundle;

/// Functions by name, over common shared variables: `Bundle(train=f, test=g)`. It is what a file holds.
#[pyclass(name = "Bundle", module = "workalike", frozen, weakref)]
pub(crate) struct PyBundle {
    bundle: Bundle,
}

impl PyBundle {
    fn refuse_callbacks(&self) -> PyResult<()> {
        super::callback::refuse(self.bundle.iter().map(|(_, function)| &**function.graph()))
    }
}

#[pymethods]
impl PyBundle {
    #[new]
    #[pyo3(signature = (**functions))]
    fn new(functions: Option<&Bound<'_, PyDict>>) -> PyResult<PyBundle> {
        let mut bundle = Bundle::new();
        for (name, function) in functions.into_iter().flat_map(|functions| functions.iter()) {
            let function = function.extract::<PyRef<'_, PyFunction>>()?;
            bundle = bundle.with(&name.extract::<String>()?, &function.function);
        }
        Ok(PyBundle { bundle })
    }

    fn __getitem__(&self, name: &str) -> PyResult<PyFunction> {
        match self.bundle.get(name) {
            Some(function) => Ok(PyFunction { function: function.clone() }),
            None => match self.bundle.function(name) {
                Err(error) => Err(PyKeyError::new_err(error.to_string())),
                Ok(function) => Ok(PyFunction { function: function.clone() }),
            },
        }
    }

    fn __len__(&self) -> usize {
        self.bundle.len()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.bundle.get(name).is_some()
    }

    /// The names, in order.
    fn keys(&self) -> Vec<String> {
        self.bundle.iter().map(|(name, _)| name.to_string()).collect()
    }

    /// Saves it to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.refuse_callbacks()?;
        detached(py, || self.bundle.save(path))
    }

    /// Loads a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<PyBundle> {
        Ok(PyBundle { bundle: detached(py, || Bundle::load(path))? })
    }

    /// The bytes of a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.refuse_callbacks()?;
        Ok(PyBytes::new(py, &detached(py, || self.bundle.to_bytes())?))
    }

    /// From the bytes of a file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<PyBundle> {
        Ok(PyBundle { bundle: Bundle::from_bytes(bytes).map_err(raised)? })
    }

    /// One Simulator with all functions as methods.
    #[pyo3(signature = (device=None, *, strict=false, fast_math=false, deterministic=false))]
    fn optimize(
        &self,
        py: Python<'_>,
        device: Option<&Bound<'_, PyAny>>,
        strict: bool,
        fast_math: bool,
        deterministic: bool,
    ) -> PyResult<PySimulator> {
        let device = target_of(py, device, strict, fast_math, deterministic)?;
        Ok(PySimulator::made(detached(py, || self.bundle.optimize(device))?))
    }

    fn __repr__(&self) -> String {
        format!("Bundle({})", self.keys().join(", "))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        let functions = PyDict::new(py);
        for (name, function) in self.bundle.iter() {
            functions.set_item(name, Py::new(py, PyFunction { function: function.clone() })?)?;
        }
        (py.import("workalike._bundle")?.getattr("rebuilt_bundle")?, (functions,)).into_pyobject(py)
    }
}
