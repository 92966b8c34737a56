//! Simulators: functions re-hosted on a device, with their shared variables there.

use super::calls::{GivenArgs, detached, go_on, results, tuple_of};
use super::device::{PyDevice, PyDeviceArray, options_of};
use super::errors::{exception, spelled};
use super::function::PyFunction;
use super::methods::{MethodName, Methods};
use super::owner::Owner;
use super::shared::PySharedVariable;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::path::PathBuf;
use workalike::engine::{DeviceArray, Keep, MethodHandle, Simulator};
use workalike::function::Function;

/// A function on a device. Shared variables live there: they are copied when the Simulator is made, and come
/// back by `sync_to_parent`. Several functions over the same shared variables can be methods of one
/// Simulator. One thread uses it at a time; others wait.
#[pyclass(name = "Simulator", module = "workalike", frozen, weakref)]
pub(crate) struct PySimulator {
    pub(crate) owner: Owner,
    methods: Methods,
    /// The device's short name.
    device: String,
}

impl PySimulator {
    pub(crate) fn made(simulator: Simulator) -> PySimulator {
        let device = simulator.device().properties().id.clone();
        let methods = Methods::of(simulator.bundle().iter());
        PySimulator { owner: Owner::new(simulator), methods, device }
    }

    /// A call of a method with its arguments.
    fn called<'py, T: Send>(
        &self,
        py: Python<'py>,
        method: &MethodName,
        (args, kwargs): (&Bound<'py, PyTuple>, Option<&Bound<'py, PyDict>>),
        call: impl FnOnce(&mut MethodHandle<'_>, workalike::function::Args) -> workalike::Result<T> + Send,
    ) -> PyResult<(Function, T)> {
        let (name, function) = self.methods.find(method)?;
        let given = GivenArgs::of(&function, args, kwargs)?;
        let done = self.owner.with(py, |simulator| call(&mut simulator.method(&name)?, given.into_args()))?;
        Ok((function, done))
    }
}

/// Whose value wins where both sides changed.
fn keeping(keep: Option<&str>) -> PyResult<Option<Keep>> {
    match keep {
        None => Ok(None),
        Some("simulator") => Ok(Some(Keep::Simulator)),
        Some("parent") => Ok(Some(Keep::Parent)),
        Some(other) => Err(exception("ArgumentError", format!("keep is simulator or parent, not {other}"))),
    }
}

#[pymethods]
impl PySimulator {
    /// Calls the first method; see `Function.__call__`.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.call_method(py, None, args, kwargs)
    }

    /// Calls a method by its name.
    #[pyo3(name = "_call", signature = (method, /, *args, **kwargs))]
    fn call_method<'py>(
        &self,
        py: Python<'py>,
        method: MethodName,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (function, outputs) =
            self.called(py, &method, (args, kwargs), |method, args| method.call(args))?;
        results(py, function.output_names(), outputs)
    }

    /// Calls a method, whose results stay on the device.
    #[pyo3(name = "_call_device", signature = (method, /, *args, **kwargs))]
    fn call_device<'py>(
        &self,
        py: Python<'py>,
        method: MethodName,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (function, arrays) =
            self.called(py, &method, (args, kwargs), |method, args| method.call_device(args))?;
        let wrapped = |array: DeviceArray| Ok(Bound::new(py, PyDeviceArray { array })?.into_any());
        let arrays = arrays.into_iter().map(wrapped).collect::<PyResult<Vec<_>>>()?;
        tuple_of(py, function.output_names(), arrays)
    }

    /// Runs a method `n` times on the device; arguments that are `each(sequence)` take one slice per
    /// iteration. Ctrl-C ends it between iterations. Returns the results of the last iteration.
    #[pyo3(name = "_run_n", signature = (method, progress, n, /, *args, **kwargs))]
    fn run_n<'py>(
        &self,
        py: Python<'py>,
        method: MethodName,
        progress: Option<Py<PyAny>>,
        n: u64,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut failed = None;
        let (function, (_, outputs)) = self.called(py, &method, (args, kwargs), |method, args| {
            method.run_n_while(n, args, go_on(&progress, &mut failed))
        })?;
        match failed {
            Some(error) => Err(error),
            None => results(py, function.output_names(), outputs),
        }
    }

    /// Runs a method `n` times, and returns the results of all iterations, stacked.
    #[pyo3(name = "_run_n_collect", signature = (method, n, /, *args, **kwargs))]
    fn run_n_collect<'py>(
        &self,
        py: Python<'py>,
        method: MethodName,
        n: u64,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (function, outputs) =
            self.called(py, &method, (args, kwargs), |method, args| method.run_n_collect(n, args))?;
        results(py, function.output_names(), outputs)
    }

    /// Runs a method until its output `condition` is false, at most `limit` times. Returns the number of
    /// iterations and the results of the last.
    #[pyo3(name = "_run_while", signature = (method, condition, limit, /, *args, **kwargs))]
    fn run_while<'py>(
        &self,
        py: Python<'py>,
        method: MethodName,
        condition: &str,
        limit: u64,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(u64, Bound<'py, PyAny>)> {
        let (function, (done, outputs)) = self
            .called(py, &method, (args, kwargs), |method, args| method.run_while(condition, limit, args))?;
        Ok((done, results(py, function.output_names(), outputs)?))
    }

    /// Kernels and transfers of a call, as text.
    #[pyo3(name = "_plan", signature = (method, /, *args, **kwargs))]
    fn plan<'py>(
        &self,
        py: Python<'py>,
        method: MethodName,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<String> {
        let (_, plan) = self.called(py, &method, (args, kwargs), |method, args| method.plan(args))?;
        Ok(plan.to_string())
    }

    /// Times of the kernels of `n` calls, as text.
    #[pyo3(name = "_profile", signature = (method, n, /, *args, **kwargs))]
    fn profile<'py>(
        &self,
        py: Python<'py>,
        method: MethodName,
        n: u64,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<String> {
        let (_, profile) =
            self.called(py, &method, (args, kwargs), |method, args| method.profile(n, args))?;
        Ok(profile.to_string())
    }

    /// Adds a function over the same shared variables as a method: `sim.add_method("test", g)`.
    #[pyo3(signature = (name, function, *, keep=None))]
    fn add_method(
        &self,
        py: Python<'_>,
        name: &str,
        function: &PyFunction,
        keep: Option<&str>,
    ) -> PyResult<()> {
        let (keep, function) = (keeping(keep)?, &function.function);
        self.owner.with(py, |simulator| match keep {
            None => simulator.add_method(name, function),
            Some(keep) => simulator.add_method_keeping(name, function, keep),
        })?;
        self.methods.add(name, function);
        Ok(())
    }

    /// The names of the methods; the first is the one that a call of the Simulator calls.
    #[getter]
    fn methods(&self) -> Vec<String> {
        self.methods.names()
    }

    /// Copies the shared variables that the Simulator changed to its functions; returns their names. `keep`
    /// ("simulator" or "parent") settles conflicts.
    #[pyo3(signature = (*, keep=None))]
    fn sync_to_parent(&self, py: Python<'_>, keep: Option<&str>) -> PyResult<Vec<String>> {
        let keep = keeping(keep)?;
        self.owner.with(py, |simulator| match keep {
            None => simulator.sync_to_parent(),
            Some(keep) => simulator.sync_to_parent_keeping(keep),
        })
    }

    /// Copies the shared variables that changed in the functions to the device; returns their names.
    #[pyo3(signature = (*, keep=None))]
    fn sync_from_parent(&self, py: Python<'_>, keep: Option<&str>) -> PyResult<Vec<String>> {
        let keep = keeping(keep)?;
        self.owner.with(py, |simulator| match keep {
            None => simulator.sync_from_parent(),
            Some(keep) => simulator.sync_from_parent_keeping(keep),
        })
    }

    /// Discards what the Simulator changed since the last sync.
    fn reset(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.owner.with(py, Simulator::reset)
    }

    /// The value that a shared variable has on the device, by name or as a `SharedVariable`.
    fn get_value<'py>(&self, py: Python<'py>, shared: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let value = match shared.cast::<PySharedVariable>() {
            Ok(shared) => {
                let shared = shared.get().shared.clone();
                self.owner.with(py, |simulator| simulator.get(&shared))?
            }
            Err(_) => {
                let name: String = shared.extract()?;
                self.owner.with(py, |simulator| simulator.get_value(&name))?
            }
        };
        super::arrays::array_of(py, value)
    }

    /// Replaces the value that a shared variable has on the device.
    fn set_value(&self, py: Python<'_>, shared: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let array = value.cast::<PyDeviceArray>().ok().map(|array| array.get().array.clone());
        let target = shared.cast::<PySharedVariable>().ok().map(|shared| shared.get().shared.clone());
        let name: String = if target.is_none() { shared.extract()? } else { String::new() };
        let dtype = target.clone().or_else(|| self.methods.shared(&name)).map(|own| own.dtype());
        let host = match (&array, dtype) {
            (Some(_), _) => None,
            (None, Some(dtype)) => {
                let value = super::arrays::value_from(value, Some(dtype))?;
                Some(if value.ndim() == 0 { super::arrays::exact(value, dtype)? } else { value })
            }
            (None, None) => Some(super::arrays::value_from(value, None)?),
        };
        self.owner.with(py, |simulator| match (target, array, host) {
            (Some(target), Some(array), _) => simulator.set(&target, array),
            (Some(target), None, Some(value)) => simulator.set(&target, value),
            (None, Some(array), _) => simulator.set_value(&name, array),
            (None, None, Some(value)) => simulator.set_value(&name, value),
            _ => Err(workalike::Error::Internal("a value that is neither here nor there".into())),
        })
    }

    /// The names of the shared variables.
    #[getter]
    fn shared_names(&self) -> Vec<String> {
        self.methods.shared_names()
    }

    /// An independent copy, with copies of the state, on the same device.
    fn fork(&self, py: Python<'_>) -> PyResult<PySimulator> {
        Ok(PySimulator::made(self.owner.with(py, |simulator| simulator.fork())?))
    }

    /// Waits for everything that was enqueued.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        self.owner.with(py, |simulator| simulator.synchronize())
    }

    /// What runs where, and why.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        self.owner.with(py, |simulator| Ok(simulator.explain()))
    }

    /// Advice.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.owner
            .with(py, |simulator| Ok(simulator.warnings().iter().map(|advice| spelled(advice)).collect()))
    }

    /// The context in which a shared variable lives, of a Simulator on several devices.
    fn context_of(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        self.owner.with(py, |simulator| simulator.context_of(name).map(str::to_string))
    }

    /// The device's short name.
    #[getter]
    fn device(&self) -> &str {
        &self.device
    }

    /// Saves the functions and the values on the device.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.methods.refuse_callbacks()?;
        self.owner.with(py, |simulator| simulator.save(path))
    }

    /// Loads a Simulator that was saved; it goes on where it was.
    #[staticmethod]
    #[pyo3(signature = (path, device=None))]
    fn load(py: Python<'_>, path: PathBuf, device: Option<&Bound<'_, PyAny>>) -> PyResult<PySimulator> {
        let device = options_of(py, device, false, false, false)?;
        Ok(PySimulator::made(detached(py, || Simulator::load(path, device))?))
    }

    fn __repr__(&self) -> String {
        let (methods, shared) = (self.methods.names().join(", "), self.shared_names().join(", "));
        format!("Simulator({}; methods {methods}; shared variables {shared})", self.device)
    }

    /// It loads only where its device is.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.methods.refuse_callbacks()?;
        let bytes = self.owner.with(py, |simulator| simulator.to_bytes())?;
        let rebuilt = py.import("workalike._workalike")?.getattr("rebuilt_simulator")?;
        (rebuilt, (PyBytes::new(py, &bytes), self.device.as_str())).into_pyobject(py)
    }
}

/// What a pickle makes a Simulator from.
#[pyfunction]
pub(crate) fn rebuilt_simulator(
    py: Python<'_>,
    bytes: &[u8],
    device: &Bound<'_, PyAny>,
) -> PyResult<PySimulator> {
    let device = PyDevice::of(py, Some(device))?;
    Ok(PySimulator::made(detached(py, || Simulator::from_bytes(bytes, device))?))
}
