//! Groups: members that compute a function together: those of one process as one callable, or one of each
//! process.

use super::calls::{GivenArgs, detached, results};
use super::device::options_of;
use super::errors::{exception, raised};
use super::function::PyFunction;
use super::methods::{MethodName, Methods};
use super::simulator::PySimulator;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::mem::ManuallyDrop;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use workalike::engine::device::group::by_gathering;
use workalike::engine::{GroupSimulator, group, member};
use workalike::function::{Args, Function, Outputs};

/// What a member of a group of processes is made of.
pub(crate) struct MemberSeat<'s> {
    pub(crate) group: &'s str,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    /// Gathers bytes of all members.
    pub(crate) all_gather: Py<PyAny>,
    /// Seconds.
    pub(crate) patience: f64,
    pub(crate) own_parts: bool,
    pub(crate) in_main_memory: bool,
    pub(crate) compared_every: Option<u64>,
}

/// How the members of a group of this process work together.
pub(crate) struct GroupOptions {
    pub(crate) always_divided: bool,
    pub(crate) in_main_memory: bool,
    pub(crate) compared_every: Option<u64>,
}

impl MemberSeat<'_> {
    /// Re-hosts a function as a member: waits for the others.
    pub(crate) fn optimize(
        self,
        py: Python<'_>,
        function: &Function,
        device: Option<&Bound<'_, PyAny>>,
        [strict, fast_math, deterministic]: [bool; 3],
    ) -> PyResult<PySimulator> {
        super::callback::refuse([&**function.graph()])?;
        let device = options_of(py, device, strict, fast_math, deterministic)?;
        let patience = Duration::try_from_secs_f64(self.patience)
            .map_err(|error| PyValueError::new_err(format!("patience: {error}")))?;
        let all_gather = self.all_gather;
        let gather = move |own: &[u8]| {
            Python::attach(|py| {
                let all = all_gather.bind(py).call1((PyBytes::new(py, own),))?;
                all.try_iter()?.map(|bytes| bytes?.extract::<Vec<u8>>()).collect::<PyResult<Vec<_>>>()
            })
            .map_err(|error| error.to_string())
        };
        let seat =
            by_gathering(self.rank, self.size, patience, gather).map_err(|error| raised(error.into()))?;
        let mut own = member(self.group, seat, device);
        if self.own_parts {
            own = own.with_own_parts();
        }
        if self.in_main_memory {
            own = own.in_main_memory();
        }
        if let Some(steps) = self.compared_every {
            own = own.compared_every(steps);
        }
        Ok(PySimulator::made(detached(py, || function.optimize(own))?))
    }
}

/// The members of a group, each a function on a device, called like the function: each takes its rows of the
/// inputs that the function divides. Made by `Function.optimize_group`. One thread uses it at a time; others
/// wait.
#[pyclass(name = "GroupSimulator", module = "workalike", frozen, weakref)]
pub(crate) struct PyGroupSimulator {
    /// Not dropped in the child of a fork, where its threads do not exist.
    members: ManuallyDrop<Mutex<GroupSimulator>>,
    methods: Methods,
    size: usize,
    /// The process that made it.
    process: u32,
}

impl PyGroupSimulator {
    /// Re-hosts a function on several devices.
    pub(crate) fn of(
        py: Python<'_>,
        function: &Function,
        name: &str,
        devices: Vec<Bound<'_, PyAny>>,
        options: &GroupOptions,
        [strict, fast_math, deterministic]: [bool; 3],
    ) -> PyResult<PyGroupSimulator> {
        super::callback::refuse([&**function.graph()])?;
        let open = |device: &Bound<'_, PyAny>| options_of(py, Some(device), strict, fast_math, deterministic);
        let devices = devices.iter().map(open).collect::<PyResult<Vec<_>>>()?;
        let mut members = group(name, devices);
        if options.always_divided {
            members = members.always_divided();
        }
        if options.in_main_memory {
            members = members.in_main_memory();
        }
        if let Some(steps) = options.compared_every {
            members = members.compared_every(steps);
        }
        let members = detached(py, || function.optimize(members))?;
        let (size, process) = (members.group_size(), std::process::id());
        let members = ManuallyDrop::new(Mutex::new(members));
        let methods = Methods::of([(function.name(), function)]);
        Ok(PyGroupSimulator { members, methods, size, process })
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut GroupSimulator) -> workalike::Result<T> + Send,
    ) -> PyResult<T> {
        if self.process != std::process::id() {
            let message =
                "this group was made before the process was forked, and devices are not usable in the child";
            return Err(exception("DeviceError", message.into()));
        }
        detached(py, || work(&mut self.members.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn called<'py>(
        &self,
        py: Python<'py>,
        method: &MethodName,
        (args, kwargs): (&Bound<'py, PyTuple>, Option<&Bound<'py, PyDict>>),
        call: impl FnOnce(&mut GroupSimulator, &str, Args) -> workalike::Result<Outputs> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (name, function) = self.methods.find(method)?;
        let given = GivenArgs::of(&function, args, kwargs)?;
        let outputs = self.with(py, |members| call(members, &name, given.into_args()))?;
        results(py, function.output_names(), outputs)
    }
}

impl Drop for PyGroupSimulator {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // SAFETY: it is dropped here alone, once, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.members) };
        }
    }
}

#[pymethods]
impl PyGroupSimulator {
    /// Calls the first method by all members.
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
        self.called(py, &method, (args, kwargs), |members, name, args| members.call_method(name, args))
    }

    /// Calls the first method `n` times; results are those of the last. `each(..)` gives a slice to each
    /// iteration.
    #[pyo3(signature = (n, /, *args, **kwargs))]
    fn run_n<'py>(
        &self,
        py: Python<'py>,
        n: u64,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.run_method_n(py, None, n, args, kwargs)
    }

    /// `run_n` of a method by its name.
    #[pyo3(name = "_run_n", signature = (method, n, /, *args, **kwargs))]
    fn run_method_n<'py>(
        &self,
        py: Python<'py>,
        method: MethodName,
        n: u64,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.called(py, &method, (args, kwargs), |members, name, args| members.run_method_n(name, n, args))
    }

    /// Whether the members divide a call with these arguments: on GPUs of one kind each member computes all
    /// of it, if that takes less time than exchanges would.
    #[pyo3(signature = (*args, **kwargs))]
    fn divides(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<bool> {
        let given = GivenArgs::of(&self.methods.find(&None)?.1, args, kwargs)?;
        self.with(py, |members| members.divides(given.into_args()))
    }

    /// Adds a function over the same shared variables as a method of all members.
    fn add_method(&self, py: Python<'_>, name: &str, function: &PyFunction) -> PyResult<()> {
        let function = &function.function;
        super::callback::refuse([&**function.graph()])?;
        self.with(py, |members| members.add_method(name, function))?;
        self.methods.add(name, function);
        Ok(())
    }

    /// The names of the methods; the first is the one that a call of the group calls.
    #[getter]
    fn methods(&self) -> Vec<String> {
        self.methods.names()
    }

    /// The number of members.
    #[getter]
    fn size(&self) -> usize {
        self.size
    }

    /// The value of a shared variable by name: that of member 0.
    fn get_value<'py>(&self, py: Python<'py>, name: String) -> PyResult<Bound<'py, PyAny>> {
        let value = self.with(py, |members| members.get_value(&name))?;
        super::arrays::array_of(py, value)
    }

    /// Replaces the value of a shared variable, on all members.
    fn set_value(&self, py: Python<'_>, name: String, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let dtype = self.methods.shared(&name).map(|shared| shared.dtype());
        let value = super::arrays::value_from(value, dtype)?;
        self.with(py, |members| members.set_value(&name, value))
    }

    /// Copies member 0's changed shared variables to the function; returns their names.
    fn sync_to_parent(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, GroupSimulator::sync_to_parent)
    }

    /// Copies the shared variables that changed in the function to all members; returns their names.
    fn sync_from_parent(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, GroupSimulator::sync_from_parent)
    }

    fn __repr__(&self) -> String {
        format!("GroupSimulator({} members; methods {})", self.size, self.methods.names().join(", "))
    }
}
