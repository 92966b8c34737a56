//! Functions: compiled, portable, callable here and now.

use super::callback;
use super::calls::{GivenArgs, detached, go_on, results};
use super::device::{PyDevice, target_of};
use super::errors::{exception, raised};
use super::group::{GroupOptions, MemberSeat, PyGroupSimulator};
use super::shared::PySharedVariable;
use super::simulator::PySimulator;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use std::path::PathBuf;
use workalike::function::{Bundle, Function};
use workalike::graph::SharedVariable;

/// A compiled function: portable, for any machine, with no device inside. It is called like a function of
/// Python, saved, pickled, and re-hosted on a device by `optimize`.
#[pyclass(name = "Function", module = "workalike", frozen, weakref)]
pub(crate) struct PyFunction {
    pub(crate) function: Function,
}

/// Name, dtype and extents of an input.
type Input = (Option<String>, &'static str, Vec<Option<usize>>);

#[pymethods]
impl PyFunction {
    /// Calls it with arrays by position or by name. Returns an array, a tuple of several, or None. Arrays are
    /// not copied and must not change during the call, which releases the interpreter's lock.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = GivenArgs::of(&self.function, args, kwargs)?;
        let outputs = detached(py, || self.function.call(given.into_args()))?;
        results(py, self.function.output_names(), outputs)
    }

    /// Calls it op by op: slow, and what every device is compared with.
    #[pyo3(signature = (*args, **kwargs))]
    fn call_reference<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = GivenArgs::of(&self.function, args, kwargs)?;
        let outputs = detached(py, || self.function.call_reference(given.into_args()))?;
        results(py, self.function.output_names(), outputs)
    }

    /// Calls it `n` times. `progress` gets the number of iterations done.
    #[pyo3(name = "_run_n", signature = (progress, n, /, *args, **kwargs))]
    fn run_n<'py>(
        &self,
        py: Python<'py>,
        progress: Option<Py<PyAny>>,
        n: u64,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = GivenArgs::of(&self.function, args, kwargs)?;
        let (work, mut failed) = (&self.function, None);
        let ask = go_on(&progress, &mut failed);
        let (_, outputs) = detached(py, || work.run_n_while(n, given.into_args(), ask))?;
        match failed {
            Some(error) => Err(error),
            None => results(py, self.function.output_names(), outputs),
        }
    }

    /// A Simulator of this function on a device: "auto", "host", "opencl", "opencl:PLATFORM:DEVICE", "cuda",
    /// "cuda:N", a `Device`, or a dict of several by the names of
    /// contexts. `strict` refuses ops that would run on the host.
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
        let simulator = detached(py, || self.function.optimize(device))?;
        Ok(PySimulator::made(simulator))
    }

    /// The same function, computed by the members of a group together: each takes its rows of these inputs,
    /// and gives what one device gives. Outside of a group it is the function as it is.
    fn data_parallel(&self, group: &str, inputs: Vec<String>) -> PyResult<PyFunction> {
        let made = self.function.data_parallel(group, inputs.iter().map(String::as_str));
        Ok(PyFunction { function: made.map_err(raised)? })
    }

    /// The function on several devices of this process, as the members of the group that it calls `group`.
    /// All calls are divided among them if `always_divided`: see `GroupSimulator.divides`.
    /// With `compared_every`, shared variables are compared after so many steps.
    #[pyo3(signature = (group, devices, *, always_divided=false, in_main_memory=false, compared_every=None,
        strict=false, fast_math=false, deterministic=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn optimize_group(
        &self,
        py: Python<'_>,
        group: &str,
        devices: Vec<Bound<'_, PyAny>>,
        always_divided: bool,
        in_main_memory: bool,
        compared_every: Option<u64>,
        strict: bool,
        fast_math: bool,
        deterministic: bool,
    ) -> PyResult<PyGroupSimulator> {
        let options = &GroupOptions { always_divided, in_main_memory, compared_every };
        PyGroupSimulator::of(py, &self.function, group, devices, options, [strict, fast_math, deterministic])
    }

    /// The function as the member `rank` of `size` of the group that it calls `group`, whose other members
    /// are other processes. `all_gather` takes this member's bytes and returns a list of all members', by
    /// rank: mpi4py's `comm.allgather`, or a function over `torch.distributed.all_gather_object`; between
    /// CUDA GPUs NCCL carries the arrays, unless `in_main_memory`. With `own_parts` the member is called with
    /// its own rows of divided inputs, and gives its rows. GPUs wait for other members for `patience`
    /// seconds. With `compared_every`, shared variables are compared after so many steps.
    #[pyo3(signature = (group, rank, size, all_gather, device=None, *, own_parts=false, in_main_memory=false,
        compared_every=None, patience=600.0, strict=false, fast_math=false, deterministic=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn optimize_member(
        &self,
        py: Python<'_>,
        group: &str,
        rank: usize,
        size: usize,
        all_gather: Py<PyAny>,
        device: Option<&Bound<'_, PyAny>>,
        own_parts: bool,
        in_main_memory: bool,
        compared_every: Option<u64>,
        patience: f64,
        strict: bool,
        fast_math: bool,
        deterministic: bool,
    ) -> PyResult<PySimulator> {
        let seat =
            MemberSeat { group, rank, size, all_gather, patience, own_parts, in_main_memory, compared_every };
        seat.optimize(py, &self.function, device, [strict, fast_math, deterministic])
    }

    /// The same function, over the same shared variables, with its calls on a device.
    fn on_device(&self, py: Python<'_>, device: &Bound<'_, PyAny>) -> PyResult<PyFunction> {
        let device = PyDevice::of(py, Some(device))?;
        let function = self.function.on_device(device).map_err(raised)?;
        Ok(PyFunction { function })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.function.name()
    }

    /// The same function under another name.
    fn renamed(&self, name: &str) -> PyFunction {
        PyFunction { function: self.function.renamed(name) }
    }

    /// Name, dtype and extents of each input.
    #[getter]
    fn inputs(&self) -> Vec<Input> {
        let input = |input: &workalike::function::InputSpec| {
            (input.name.clone(), input.ty.dtype.name(), input.ty.shape.clone())
        };
        self.function.inputs().iter().map(input).collect()
    }

    /// The names of the outputs.
    #[getter]
    fn output_names(&self) -> Vec<Option<String>> {
        self.function.output_names().to_vec()
    }

    /// The shared variables that it reads or updates.
    #[getter]
    fn shared_variables(&self, py: Python<'_>) -> PyResult<Vec<Py<PySharedVariable>>> {
        let made = |cell| PySharedVariable::made(py, SharedVariable::of(std::sync::Arc::clone(cell)));
        self.function.cells().iter().map(made).collect()
    }

    /// The shared variable of this name.
    fn shared(&self, py: Python<'_>, name: &str) -> PyResult<Py<PySharedVariable>> {
        PySharedVariable::made(py, self.function.shared(name).map_err(raised)?)
    }

    /// The same function over copies of its shared variables.
    fn fork(&self, py: Python<'_>) -> PyResult<PyFunction> {
        Ok(PyFunction { function: detached(py, || self.function.fork())? })
    }

    /// The same function without its updates.
    fn without_updates(&self) -> PyResult<PyFunction> {
        Ok(PyFunction { function: self.function.without_updates().map_err(raised)? })
    }

    /// Saves it to a file, which Rust and Python load on any machine.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        callback::refuse([&**self.function.graph()])?;
        detached(py, || self.function.save(path))
    }

    /// Loads a function from a file that holds one.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<PyFunction> {
        Ok(PyFunction { function: detached(py, || Function::load(path))? })
    }

    /// The bytes of the file that `save` writes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        callback::refuse([&**self.function.graph()])?;
        Ok(PyBytes::new(py, &detached(py, || self.function.to_bytes())?))
    }

    /// A function from the bytes of a file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<PyFunction> {
        Ok(PyFunction { function: detached(py, || Function::from_bytes(bytes))? })
    }

    fn __repr__(&self) -> String {
        let inputs = self.function.inputs().iter().enumerate().map(|(at, input)| {
            format!("{}: {}", input.name.clone().unwrap_or_else(|| at.to_string()), input.ty)
        });
        format!("Function({}({}))", self.function.name(), inputs.collect::<Vec<_>>().join(", "))
    }

    /// The optimized graph as text.
    fn debugprint(&self) -> String {
        format!("{:?}", self.function)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// The graph, its functions of Python, and the shared variables as objects of their own: functions in one
    /// pickle keep their common
    /// state, and values may travel out of band.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let callbacks = callback::callbacks(self.function.graph());
        let parts = callback::parts_of(py, &callbacks)?;
        let ops = callback::registry(callbacks.into_iter().map(|one| (one.number, one)).collect())?;
        let graph = detached(py, || {
            let bare = self.function.without_values()?;
            Bundle::new().with(bare.name(), &bare).to_bytes_with(&ops)
        })?;
        let shared = PyList::new(py, self.shared_variables(py)?)?;
        let rebuilt = py.import("workalike._workalike")?.getattr("rebuilt_function")?;
        (rebuilt, (PyBytes::new(py, &graph), shared, parts)).into_pyobject(py)
    }
}

/// What a pickle makes a function from.
#[pyfunction]
pub(crate) fn rebuilt_function(
    graph: &[u8],
    shared: Vec<PyRef<'_, PySharedVariable>>,
    callbacks: Vec<callback::Parts>,
) -> PyResult<PyFunction> {
    let ops = callback::registry(callback::of_parts(callbacks)?)?;
    let bundle = Bundle::from_bytes_with(graph, &ops).map_err(raised)?;
    let bare = bundle.iter().next().map(|(_, function)| function);
    let bare = bare.ok_or_else(|| exception("FormatError", "a pickle without a function".into()))?;
    let shared = shared.iter().map(|variable| variable.shared.clone());
    Ok(PyFunction { function: bare.with_shared(shared.collect::<Vec<_>>()).map_err(raised)? })
}
