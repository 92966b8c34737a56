//! Arguments and results of calls, of Functions and Simulators alike.

use super::arrays::{array_of, value_from};
use super::device::{PyDeviceArray, check_process};
use super::errors::raised;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::panic::{AssertUnwindSafe, catch_unwind};
use workalike::engine::DeviceArray;
use workalike::function::{Args, EachArg, Function, Outputs, each};
use workalike::{DType, Value};

/// An argument that may cross to where the interpreter's lock is not held.
pub(crate) enum Given {
    Host(Value),
    Device(DeviceArray),
    Each(EachArg),
}

/// The arguments of a call.
#[derive(Default)]
pub(crate) struct GivenArgs {
    positional: Vec<Given>,
    named: Vec<(String, Given)>,
}

impl GivenArgs {
    /// Arrays of NumPy are not copied, and must not change during the call.
    pub(crate) fn of(
        function: &Function,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<GivenArgs> {
        let wanted = |at: usize| function.inputs().get(at).map(|input| input.ty.dtype);
        let mut positional = Vec::with_capacity(args.len());
        for (at, arg) in args.iter().enumerate() {
            positional.push(given(&arg, wanted(at))?);
        }
        let mut named = Vec::new();
        for (name, arg) in kwargs.into_iter().flat_map(|kwargs| kwargs.iter()) {
            let name: String = name.extract()?;
            let at = function.inputs().iter().position(|input| input.name.as_ref() == Some(&name));
            let arg = given(&arg, at.and_then(wanted))?;
            named.push((name, arg));
        }
        Ok(GivenArgs { positional, named })
    }

    /// As the library takes them.
    pub(crate) fn into_args(self) -> Args {
        let args = self.positional.into_iter().fold(Args::new(), |args, given| match given {
            Given::Host(value) => args.with(value),
            Given::Device(array) => args.with(array),
            Given::Each(sequence) => args.with(sequence),
        });
        self.named.into_iter().fold(args, |args, (name, given)| match given {
            Given::Host(value) => args.named(&name, value),
            Given::Device(array) => args.named(&name, array),
            Given::Each(sequence) => args.named(&name, sequence),
        })
    }
}

fn given(arg: &Bound<'_, PyAny>, wanted: Option<DType>) -> PyResult<Given> {
    if let Ok(array) = arg.cast::<PyDeviceArray>() {
        check_process(&array.get().array)?;
        return Ok(Given::Device(array.get().array.clone()));
    }
    if let Ok(sequence) = arg.cast::<Each>() {
        let sequence = sequence.get().sequence.bind(arg.py());
        return Ok(Given::Each(match sequence.cast::<PyDeviceArray>() {
            Ok(array) => each(&array.get().array),
            Err(_) => each(value_from(sequence, wanted)?),
        }));
    }
    value_from(arg, wanted).map(Given::Host)
}

/// A sequence for `run_n`, which takes one slice along the first axis per iteration.
#[pyclass(name = "each", module = "workalike", frozen)]
pub(crate) struct Each {
    sequence: Py<PyAny>,
}

#[pymethods]
impl Each {
    #[new]
    fn new(sequence: Py<PyAny>) -> Each {
        Each { sequence }
    }
}

/// A question for a loop that can be interrupted: it sees to signals, and reports progress. What that raises
/// is kept, and ends the loop.
pub(crate) fn go_on<'f>(
    progress: &'f Option<Py<PyAny>>,
    failed: &'f mut Option<PyErr>,
) -> impl FnMut(u64) -> bool + 'f {
    move |done| {
        let asked = Python::attach(|py| -> PyResult<()> {
            py.check_signals()?;
            progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done,)).map(drop))
        });
        asked.map_err(|error| *failed = Some(error)).is_ok()
    }
}

/// Results: nothing, one array, or a tuple that also has the names of the outputs.
pub(crate) fn results<'py>(
    py: Python<'py>,
    names: &[Option<String>],
    outputs: Outputs,
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = outputs.into_values().into_iter().map(|value| array_of(py, value));
    tuple_of(py, names, arrays.collect::<PyResult<Vec<_>>>()?)
}

/// See [`results`].
pub(crate) fn tuple_of<'py>(
    py: Python<'py>,
    names: &[Option<String>],
    mut arrays: Vec<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    static OUTPUTS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if arrays.is_empty() {
        return Ok(py.None().into_bound(py));
    }
    if names.len() == 1 && arrays.len() == 1 {
        return Ok(arrays.swap_remove(0));
    }
    let tuple = PyTuple::new(py, arrays)?;
    if names.iter().all(Option::is_none) {
        return Ok(tuple.into_any());
    }
    let class = OUTPUTS.get_or_try_init(py, || -> PyResult<Py<PyAny>> {
        Ok(py.import("workalike._outputs")?.getattr("Outputs")?.unbind())
    })?;
    class.bind(py).call1((tuple, names.to_vec()))
}

/// Runs without the interpreter's lock. A panic, which would be an error of the library, is an
/// `InternalError`.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> workalike::Result<T> + Send,
) -> PyResult<T> {
    let caught = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    let panicked =
        |_| Err(workalike::Error::Internal("a panic; its message is on the standard error".into()));
    caught.unwrap_or_else(panicked).map_err(raised)
}
