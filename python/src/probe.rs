//! Probes: recordings of values on the device.

use super::arrays::array_of;
use super::simulator::PySimulator;
use super::variable::PyVariable;
use pyo3::prelude::*;
use workalike::engine::{Probe, Probed, Simulator};

/// A recording of a Variable of a Simulator, made by `Simulator.probe`: a sample after every few iterations.
#[pyclass(name = "Probe", module = "workalike", frozen)]
pub(crate) struct PyProbe {
    pub(crate) probe: Probe,
    pub(crate) simulator: Py<PySimulator>,
}

#[pymethods]
impl PyProbe {
    /// The samples since it was made or last taken, along a new first axis. Waits for the device.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let owner = &self.simulator.get().owner;
        array_of(py, owner.with(py, |simulator| simulator.read_probe(self.probe))?)
    }

    /// `read`; it then drops its samples, and goes on.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let owner = &self.simulator.get().owner;
        array_of(py, owner.with(py, |simulator| simulator.take_probe(self.probe))?)
    }

    /// Ends it, and drops its samples.
    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        self.simulator.get().owner.with(py, |simulator| simulator.remove_probe(self.probe))
    }
}

impl Drop for PyProbe {
    fn drop(&mut self) {
        self.simulator.get().owner.drop_probe(self.probe);
    }
}

/// Records a Variable, or one that is named, after every `every` iterations of a method.
#[pyfunction]
pub(crate) fn probe(
    py: Python<'_>,
    simulator: Py<PySimulator>,
    method: Option<String>,
    what: &Bound<'_, PyAny>,
    every: u64,
    capacity: u64,
) -> PyResult<PyProbe> {
    let what = match what.cast::<PyVariable>() {
        Ok(variable) => Probed::Variable(variable.get().variable.clone()),
        Err(_) => Probed::Name(what.extract()?),
    };
    let work = |simulator: &mut Simulator| match &method {
        None => simulator.probe(what, every, capacity),
        Some(name) => simulator.method(name)?.probe(what, every, capacity),
    };
    let probe = simulator.get().owner.with(py, work)?;
    Ok(PyProbe { probe, simulator })
}
