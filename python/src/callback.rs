//! Functions of Python as ops of a graph: `pure_callback`.

use super::arrays::{kept_value, lent};
use super::dtypes;
use super::errors::{exception, raised};
use super::operand::variable_of;
use super::place::at_caller;
use super::variable::PyVariable;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use workalike::graph::{FunctionGraph, Node, TensorType, Variable};
use workalike::lower::{Lowered, Lowering, View};
use workalike::ops::{Attr, Attributes, Gradient, Known, Op, Registry};
use workalike::{Error, Value};

const ID: &str = "python.callback";

/// An op that calls a function of Python, on the host. Its inputs are the function's arguments, then an int64
/// for each extent of a result that the types leave open.
#[derive(Clone, Debug)]
pub(crate) struct Callback {
    /// No two have the same, so that equal ops are one.
    pub(crate) number: i64,
    name: String,
    arguments: usize,
    results: Vec<TensorType>,
    function: Arc<Py<PyAny>>,
    /// Makes the gradients of the arguments, as expressions.
    gradient: Option<Arc<Py<PyAny>>>,
}

/// What a pickle has of a callback: its number in the graph, its name, the number of its arguments, dtypes
/// and extents of its results, the function, and that of its gradient.
pub(crate) type Parts = (i64, String, usize, Vec<(String, Vec<Option<usize>>)>, Py<PyAny>, Option<Py<PyAny>>);

impl Callback {
    fn new(
        name: String,
        arguments: usize,
        results: Vec<TensorType>,
        functions: (Py<PyAny>, Option<Py<PyAny>>),
    ) -> Callback {
        static NEXT: AtomicI64 = AtomicI64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (function, gradient) = (Arc::new(functions.0), functions.1.map(Arc::new));
        Callback { number, name, arguments, results, function, gradient }
    }

    /// Calls the function with arrays that are read only, and checks what it returns.
    fn call(&self, py: Python<'_>, inputs: &[Value], shapes: &[Vec<usize>]) -> PyResult<Vec<Value>> {
        let arrays = inputs.iter().take(self.arguments).map(|value| lent(py, value));
        let made = self.function.bind(py).call1(PyTuple::new(py, arrays.collect::<PyResult<Vec<_>>>()?)?)?;
        let made: Vec<Bound<'_, PyAny>> =
            match made.cast::<PyTuple>().is_ok() || made.cast::<PyList>().is_ok() {
                true => made.try_iter()?.collect::<PyResult<_>>()?,
                false => vec![made],
            };
        if made.len() != self.results.len() {
            let message = format!("expected {} results, got {}", self.results.len(), made.len());
            return Err(PyValueError::new_err(message));
        }
        let check = |((one, ty), shape): ((Bound<'_, PyAny>, &TensorType), &Vec<usize>)| {
            let value = kept_value(&one)?;
            let expected = workalike::error::array_text(ty.dtype, shape);
            let got = workalike::error::array_text(value.dtype(), value.shape());
            if expected != got {
                return Err(PyValueError::new_err(format!("expected a result {expected}, got {got}")));
            }
            Ok(value)
        };
        made.into_iter().zip(&self.results).zip(shapes).map(check).collect()
    }

    fn parts(&self, py: Python<'_>) -> Parts {
        let results = self.results.iter().map(|ty| (ty.dtype.name().to_string(), ty.shape.clone()));
        let gradient = self.gradient.as_ref().map(|gradient| gradient.clone_ref(py));
        let function = self.function.clone_ref(py);
        (self.number, self.name.clone(), self.arguments, results.collect(), function, gradient)
    }
}

impl Op for Callback {
    fn id(&self) -> &'static str {
        ID
    }

    fn attributes(&self) -> Attributes {
        vec![("number".into(), Attr::Int(self.number))]
    }

    fn label(&self) -> String {
        format!("pure_callback[{}]", self.name)
    }

    fn types(&self, _: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        Ok(self.results.clone())
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let mut given = inputs.iter().skip(self.arguments).map(|extent| {
            let number = extent.value.and_then(|value| value.item::<i64>().ok()).unwrap_or(-1);
            usize::try_from(number).map_err(|_| format!("the extent of a result is {number}"))
        });
        let mut extent = |known: &Option<usize>| match known {
            Some(known) => Ok(*known),
            None => given.next().unwrap_or_else(|| Err("an extent of a result is missing".into())),
        };
        self.results.iter().map(|ty| ty.shape.iter().map(&mut extent).collect()).collect()
    }

    fn shape_values(&self) -> Vec<usize> {
        let open = self.results.iter().flat_map(|ty| &ty.shape).filter(|extent| extent.is_none()).count();
        (self.arguments..self.arguments + open).collect()
    }

    fn read_inputs(&self, _: usize) -> usize {
        self.arguments
    }

    fn results_are_new(&self) -> bool {
        true
    }

    fn grad(&self, at: &Gradient) -> workalike::Result<Vec<Option<Variable>>> {
        let Some(gradient) = &self.gradient else {
            let message = "it has no gradient; give pure_callback(.., gradient=..), or use consider_constant on its arguments";
            return Err(Error::Compile(format!("{}: {message}", self.label())));
        };
        let made = Python::attach(|py| gradients(gradient.bind(py), at, self.arguments));
        let mut made =
            made.map_err(|error| Error::Compile(format!("the gradient of {}: {error}", self.label())))?;
        made.resize(at.inputs.len(), None);
        Ok(made)
    }

    fn perform(&self, inputs: &[Value]) -> workalike::Result<Vec<Value>> {
        let known: Vec<Known<'_>> = inputs.iter().map(Known::of).collect();
        let what = || Error::mismatch(self.label(), "extents of its results", "others");
        let shapes = self.shapes(&known).map_err(|_| what())?;
        Python::attach(|py| self.call(py, inputs, &shapes).map_err(|error| failed(py, error)))
    }

    fn lower(&self, _: &mut Lowering<'_>, _: &Node, _: &[View]) -> Lowered {
        Err(format!("the function {} of Python runs on the host", self.name))
    }
}

/// What a function of Python raised, as an error of the op.
fn failed(py: Python<'_>, error: PyErr) -> Error {
    let interrupted = error.is_instance_of::<PyKeyboardInterrupt>(py);
    let line = error.traceback(py).and_then(|mut traceback| {
        while let Some(next) = traceback.getattr("tb_next").ok().filter(|next| !next.is_none()) {
            traceback = next.cast_into().ok()?;
        }
        let code = traceback.getattr("tb_frame").ok()?.getattr("f_code").ok()?;
        let line: u32 = traceback.getattr("tb_lineno").ok()?.extract().ok()?;
        Some(format!(" (at {}:{line})", code.getattr("co_filename").ok()?))
    });
    let given = format!("{error}{}", line.unwrap_or_default());
    if interrupted {
        // The main thread raises it again when it is back in Python. Python code that ran here would take it.
        let _ = py.import("_thread").and_then(|module| module.call_method0("interrupt_main"));
    }
    Error::mismatch("a function of Python", "results", given)
}

/// The gradients of the arguments: what the function makes of arguments, results and the results' gradients.
fn gradients(
    function: &Bound<'_, PyAny>,
    at: &Gradient,
    arguments: usize,
) -> PyResult<Vec<Option<Variable>>> {
    let py = function.py();
    let wrap = |list: &[Variable]| -> PyResult<Bound<'_, PyList>> {
        let made = list.iter().map(|variable| PyVariable::made(py, variable.clone()));
        PyList::new(py, made.collect::<PyResult<Vec<_>>>()?)
    };
    let given =
        at.output_grads.iter().map(|grad| grad.clone().map(|grad| PyVariable::made(py, grad)).transpose());
    let given = PyList::new(py, given.collect::<PyResult<Vec<_>>>()?)?;
    let made =
        function.call1((wrap(at.inputs.get(..arguments).unwrap_or_default())?, wrap(at.outputs)?, given))?;
    let one = |item: PyResult<Bound<'_, PyAny>>| -> PyResult<Option<Variable>> {
        let item = item?;
        if item.is_none() { Ok(None) } else { variable_of(&item).map(Some) }
    };
    let made = made.try_iter()?.map(one).collect::<PyResult<Vec<_>>>()?;
    if made.len() != arguments {
        let message =
            format!("expected a list of {arguments} gradients, one of each argument, got {}", made.len());
        return Err(PyValueError::new_err(message));
    }
    for (at, (made, argument)) in made.iter().zip(at.inputs).enumerate() {
        let Some(made) = made else { continue };
        if made.dtype() != argument.dtype() || made.ndim() != argument.ndim() {
            let (expected, got) = (argument.ty(), made.ty());
            let message = format!("the gradient of argument {at} is expected to be {expected}, got {got}");
            return Err(PyValueError::new_err(message));
        }
    }
    Ok(made)
}

/// Applies a function to Variables; see `workalike.pure_callback`. A result is a dtype and extents, None for
/// each that is one of `extents`.
#[pyfunction]
pub(crate) fn callback(
    py: Python<'_>,
    name: String,
    function: Py<PyAny>,
    gradient: Option<Py<PyAny>>,
    results: Vec<(Bound<'_, PyAny>, Vec<Option<usize>>)>,
    arguments: Vec<Bound<'_, PyAny>>,
    extents: Vec<Bound<'_, PyAny>>,
) -> PyResult<Vec<Py<PyVariable>>> {
    let results =
        results.iter().map(|(dtype, shape)| Ok(TensorType::new(dtypes::parse(dtype)?, shape.clone())));
    let results = results.collect::<PyResult<Vec<_>>>()?;
    let op = Callback::new(name, arguments.len(), results, (function, gradient));
    let inputs = arguments.iter().chain(&extents).map(variable_of).collect::<PyResult<Vec<_>>>()?;
    let made = at_caller(py, || Variable::apply(op, &inputs))?.map_err(raised)?;
    made.into_iter().map(|variable| PyVariable::made(py, variable)).collect()
}

/// The callbacks of a graph and of the bodies of its loops.
pub(crate) fn callbacks(graph: &FunctionGraph) -> Vec<Callback> {
    let of_node = |node: &Node| {
        let own = node.op.downcast::<Callback>().cloned();
        own.into_iter()
            .chain(node.op.bodies().into_iter().flat_map(|body| callbacks(body)))
            .collect::<Vec<_>>()
    };
    graph.nodes.iter().flat_map(of_node).collect()
}

/// What a pickle keeps of callbacks.
pub(crate) fn parts_of<'py>(py: Python<'py>, callbacks: &[Callback]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, callbacks.iter().map(|callback| callback.parts(py)).collect::<Vec<_>>())
}

/// The callbacks of a pickle, by the numbers that they have in its graph.
pub(crate) fn of_parts(parts: Vec<Parts>) -> PyResult<Vec<(i64, Callback)>> {
    let ty = |(dtype, shape): (String, Vec<Option<usize>>)| match workalike::DType::parse(&dtype) {
        Some(dtype) => Ok(TensorType::new(dtype, shape)),
        None => Err(exception("FormatError", format!("a pickle of a newer version: dtype {dtype}"))),
    };
    let one = |(number, name, arguments, results, function, gradient): Parts| {
        let results = results.into_iter().map(ty).collect::<PyResult<Vec<_>>>()?;
        Ok((number, Callback::new(name, arguments, results, (function, gradient))))
    };
    parts.into_iter().map(one).collect()
}

/// The library's ops, and these callbacks by their numbers.
pub(crate) fn registry(callbacks: Vec<(i64, Callback)>) -> PyResult<Registry> {
    let decode = move |stored: &workalike::ops::StoredOp<'_>| -> Result<Arc<dyn Op>, String> {
        let number = stored.int("number")?;
        let found = callbacks.iter().find(|(known, _)| *known == number);
        let (_, callback) = found.ok_or("a function of Python that this pickle does not have")?;
        Ok(Arc::new(callback.clone()))
    };
    Registry::default().with(ID, 1, decode).map_err(raised)
}

/// Refuses to write a graph that calls Python to a file.
pub(crate) fn refuse<'g>(graphs: impl IntoIterator<Item = &'g FunctionGraph>) -> PyResult<()> {
    match graphs.into_iter().find_map(|graph| callbacks(graph).into_iter().next()) {
        None => Ok(()),
        Some(callback) => Err(PyValueError::new_err(format!(
            "{} calls Python, and files need no Python: pickle the function instead",
            callback.label()
        ))),
    }
}
