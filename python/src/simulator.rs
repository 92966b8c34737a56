//! Simulators: functions re-hosted on a device, with their shared variables there.

use super::calls::{GivenArgs, detached, results, tuple_of};
use super::device::{PyDeviceArray, options_of};
use super::errors::{exception, raised};
use super::function::PyFunction;
use super::shared::PySharedVariable;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use workalike::function::Function;
use workalike::rehost::{DeviceArray, Keep, MethodHandle, Simulator};

/// A function on a device. Shared variables live there: they are copied when the Simulator is made, and come back
/// by `sync_to_parent`. Several functions over the same shared variables can be methods of one Simulator. One
/// thread uses it at a time; others wait.
#[pyclass(name = "Simulator", module = "workalike", frozen, weakref)]
pub(crate) struct PySimulator {
    /// Not dropped in the child of a fork, where its threads do not exist.
    simulator: ManuallyDrop<Mutex<Simulator>>,
    /// The thread that uses it, by [`this_thread`]; 0: none.
    user: AtomicU64,
    /// The process that made it: a device does not survive a fork.
    process: u32,
}

/// A call's method by name; `None`: the first.
type MethodName = Option<String>;

impl PySimulator {
    pub(crate) fn made(simulator: Simulator) -> PySimulator {
        PySimulator {
            simulator: ManuallyDrop::new(Mutex::new(simulator)),
            user: AtomicU64::new(0),
            process: std::process::id(),
        }
    }

    fn check_process(&self) -> PyResult<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(exception(
                "DeviceError",
                "this Simulator was made before the process was forked, and devices are not usable in the child; \
                 start workers with the start method spawn or forkserver, or make the Simulator there"
                    .into(),
            )),
        }
    }

    /// Works on the Simulator without the interpreter's lock, which another thread that has the Simulator may wait
    /// for.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Simulator) -> workalike::Result<T> + Send,
    ) -> PyResult<T> {
        self.check_process()?;
        if self.user.load(Ordering::Relaxed) == this_thread() {
            let message = "the Simulator is in a loop that calls this function; read results and shared variables \
                           after run_n, or run fewer iterations at a time";
            return Err(exception("StateConflict", message.into()));
        }
        detached(py, || {
            let mut simulator = self.simulator.lock().unwrap_or_else(PoisonError::into_inner);
            self.user.store(this_thread(), Ordering::Relaxed);
            let _used = Used(&self.user);
            work(&mut simulator)
        })
    }

    /// A method's Function.
    fn function(&self, py: Python<'_>, method: &MethodName) -> PyResult<Function> {
        self.with(py, |simulator| {
            let first = simulator.methods().next().unwrap_or_default().to_string();
            simulator.function(method.as_ref().unwrap_or(&first)).cloned()
        })
    }

    /// A call of a method with its arguments.
    fn called<'py, T: Send>(
        &self,
        py: Python<'py>,
        method: &MethodName,
        (args, kwargs): (&Bound<'py, PyTuple>, Option<&Bound<'py, PyDict>>),
        call: impl FnOnce(&mut MethodHandle<'_>, workalike::function::Args) -> workalike::Result<T> + Send,
    ) -> PyResult<(Function, T)> {
        let function = self.function(py, method)?;
        let given = GivenArgs::of(&function, args, kwargs)?;
        let name = method.clone().unwrap_or_else(|| function.name().to_string());
        let done = self.with(py, |simulator| call(&mut simulator.method(&name)?, given.into_args()))?;
        Ok((function, done))
    }
}

impl Drop for PySimulator {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // SAFETY: it is dropped here alone, once, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.simulator) };
        }
    }
}

/// Notes that a Simulator is no longer used when it is dropped.
struct Used<'u>(&'u AtomicU64);

impl Drop for Used<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// A number of this thread, from 1 on.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
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

    /// Runs a method `n` times on the device; arguments that are `each(sequence)` take one slice per iteration.
    /// Ctrl-C ends it between iterations. Returns the results of the last iteration.
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
            method.run_n_while(n, args, |done| {
                let go_on = Python::attach(|py| -> PyResult<()> {
                    py.check_signals()?;
                    progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done,)).map(drop))
                });
                go_on.map_err(|error| failed = Some(error)).is_ok()
            })
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
        self.with(py, |simulator| match keep {
            None => simulator.add_method(name, function),
            Some(keep) => simulator.add_method_keeping(name, function, keep),
        })
    }

    /// The names of the methods; the first is the one that a call of the Simulator calls.
    #[getter]
    fn methods(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |simulator| Ok(simulator.methods().map(String::from).collect()))
    }

    /// Copies the shared variables that the Simulator changed to its functions; returns their names. `keep`
    /// ("simulator" or "parent") settles conflicts.
    #[pyo3(signature = (*, keep=None))]
    fn sync_to_parent(&self, py: Python<'_>, keep: Option<&str>) -> PyResult<Vec<String>> {
        let keep = keeping(keep)?;
        self.with(py, |simulator| match keep {
            None => simulator.sync_to_parent(),
            Some(keep) => simulator.sync_to_parent_keeping(keep),
        })
    }

    /// Copies the shared variables that changed in the functions to the device; returns their names.
    #[pyo3(signature = (*, keep=None))]
    fn sync_from_parent(&self, py: Python<'_>, keep: Option<&str>) -> PyResult<Vec<String>> {
        let keep = keeping(keep)?;
        self.with(py, |simulator| match keep {
            None => simulator.sync_from_parent(),
            Some(keep) => simulator.sync_from_parent_keeping(keep),
        })
    }

    /// Discards what the Simulator changed since the last sync.
    fn reset(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, Simulator::reset)
    }

    /// The value that a shared variable has on the device, by name or as a `SharedVariable`.
    fn get_value<'py>(&self, py: Python<'py>, shared: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let value = match shared.cast::<PySharedVariable>() {
            Ok(shared) => {
                let shared = shared.get().shared.clone();
                self.with(py, |simulator| simulator.get(&shared))?
            }
            Err(_) => {
                let name: String = shared.extract()?;
                self.with(py, |simulator| simulator.get_value(&name))?
            }
        };
        super::arrays::array_of(py, value)
    }

    /// Replaces the value that a shared variable has on the device.
    fn set_value(&self, py: Python<'_>, shared: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let array = value.cast::<PyDeviceArray>().ok().map(|array| array.get().array.clone());
        let target = shared.cast::<PySharedVariable>().ok().map(|shared| shared.get().shared.clone());
        let name: String = if target.is_none() { shared.extract()? } else { String::new() };
        let dtype = match &target {
            Some(target) => Some(target.dtype()),
            None => {
                self.with(py, |simulator| Ok(simulator.bundle().shared(&name).ok().map(|own| own.dtype())))?
            }
        };
        let host = match (&array, dtype) {
            (Some(_), _) => None,
            (None, Some(dtype)) => {
                let value = super::arrays::value_from(value, Some(dtype))?;
                Some(if value.ndim() == 0 { super::arrays::exact(value, dtype)? } else { value })
            }
            (None, None) => Some(super::arrays::value_from(value, None)?),
        };
        self.with(py, |simulator| match (target, array, host) {
            (Some(target), Some(array), _) => simulator.set(&target, array),
            (Some(target), None, Some(value)) => simulator.set(&target, value),
            (None, Some(array), _) => simulator.set_value(&name, array),
            (None, None, Some(value)) => simulator.set_value(&name, value),
            _ => Err(workalike::Error::Internal("a value that is neither here nor there".into())),
        })
    }

    /// The names of the shared variables.
    #[getter]
    fn shared_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |simulator| Ok(simulator.shared_names().map(String::from).collect()))
    }

    /// An independent copy, with copies of the state, on the same device.
    fn fork(&self, py: Python<'_>) -> PyResult<PySimulator> {
        Ok(PySimulator::made(self.with(py, |simulator| simulator.fork())?))
    }

    /// Waits for everything that was enqueued.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |simulator| simulator.synchronize())
    }

    /// What runs where, and why.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |simulator| Ok(simulator.explain()))
    }

    /// Advice.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |simulator| Ok(simulator.warnings()))
    }

    /// The device's short name.
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |simulator| Ok(simulator.device().properties().id.clone()))
    }

    /// Saves the functions and the values on the device.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.with(py, |simulator| simulator.save(path))
    }

    /// Loads a Simulator that was saved; it goes on where it was.
    #[staticmethod]
    #[pyo3(signature = (path, device=None))]
    fn load(py: Python<'_>, path: PathBuf, device: Option<&Bound<'_, PyAny>>) -> PyResult<PySimulator> {
        let device = options_of(py, device, false, false, false)?;
        Ok(PySimulator::made(detached(py, || Simulator::load(path, device))?))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |simulator| {
            let methods: Vec<&str> = simulator.methods().collect();
            let shared: Vec<&str> = simulator.shared_names().collect();
            let id = &simulator.device().properties().id;
            Ok(format!(
                "Simulator({id}; methods {}; shared variables {})",
                methods.join(", "),
                shared.join(", ")
            ))
        })
    }

    /// It loads only where its device is.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (bytes, id) = self
            .with(py, |simulator| Ok((simulator.to_bytes()?, simulator.device().properties().id.clone())))?;
        let rebuilt = py.import("workalike._workalike")?.getattr("rebuilt_simulator")?;
        (rebuilt, (PyBytes::new(py, &bytes), id)).into_pyobject(py)
    }
}

/// What a pickle makes a Simulator from.
#[pyfunction]
pub(crate) fn rebuilt_simulator(py: Python<'_>, bytes: &[u8], device: &str) -> PyResult<PySimulator> {
    let device = workalike::device(device).map_err(raised)?;
    Ok(PySimulator::made(detached(py, || Simulator::from_bytes(bytes, device))?))
}
