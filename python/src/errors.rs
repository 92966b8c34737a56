//! The library's errors as exceptions. Each is a `workalike.Error`, and the exception that NumPy would raise.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use workalike::error::DeviceError;

/// The exceptions, made when the module is loaded.
static TYPES: PyOnceLock<Vec<(&'static str, Py<PyType>)>> = PyOnceLock::new();

/// Name, the exception of Python that it is besides a `workalike.Error`, and what it says.
const EXCEPTIONS: [(&str, &str, &str); 12] = [
    ("ExpressionError", "TypeError", "An expression whose types do not fit."),
    ("CompileError", "ValueError", "Something that cannot be compiled."),
    ("ArgumentError", "ValueError", "Arguments that do not fit a call: their number, dtypes or shapes."),
    ("RunError", "ValueError", "An op that failed while a call ran."),
    ("StateConflict", "RuntimeError", "Shared variables of a Function and a Simulator that disagree."),
    ("FormatError", "ValueError", "Bytes that are no file of this library, or a damaged or newer one."),
    ("FileError", "OSError", "A file that cannot be read or written."),
    ("HostNodeError", "RuntimeError", "An op without a form for the device, of a strict Simulator."),
    ("OutOfMemory", "MemoryError", "A device without memory for a call."),
    ("DeviceNotFound", "RuntimeError", "A device that is not on this machine."),
    ("DeviceError", "RuntimeError", "A device that failed."),
    ("GroupError", "RuntimeError", "A process that could not become a member of a group."),
];

/// Makes the exceptions and adds them to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let builtins = py.import("builtins")?;
    let new = |name: &str, bases: Bound<'_, PyTuple>, doc: &str| -> PyResult<Py<PyType>> {
        let namespace = pyo3::types::PyDict::new(py);
        namespace.set_item("__doc__", doc)?;
        namespace.set_item("__module__", "workalike")?;
        let made = builtins.getattr("type")?.call1((name, bases, namespace))?;
        Ok(made.cast_into::<PyType>()?.unbind())
    };
    let base = new("Error", PyTuple::new(py, [py.get_type::<PyException>()])?, "Any error of this library.")?;
    let mut all = vec![("Error", base.clone_ref(py))];
    for (name, also, doc) in EXCEPTIONS {
        let bases = [base.bind(py).clone().into_any(), builtins.getattr(also)?];
        all.push((name, new(name, PyTuple::new(py, bases)?, doc)?));
    }
    let internal = [base.bind(py).clone().into_any(), builtins.getattr("RuntimeError")?];
    let doc = "An invariant of the library that does not hold; please report it.";
    all.push(("InternalError", new("InternalError", PyTuple::new(py, internal)?, doc)?));
    for (name, exception) in &all {
        module.add(*name, exception.bind(py))?;
    }
    let _ = TYPES.set(py, all);
    Ok(())
}

/// The exception of a name.
pub(crate) fn exception(name: &str, message: String) -> PyErr {
    Python::attach(|py| {
        let known = TYPES.get(py).and_then(|all| all.iter().find(|(known, _)| *known == name));
        match known {
            Some((_, exception)) => PyErr::from_type(exception.bind(py).clone(), message),
            None => PyException::new_err(message),
        }
    })
}

/// What messages say to do, as Rust spells it and as Python does.
const SPELLINGS: [(&str, &str); 12] = [
    ("let the call do so: In::new(..).allow_downcast()", "let the call do so: In(x, allow_downcast=True)"),
    ("or say allow_unused_inputs()", "or say on_unused_input=\"ignore\""),
    ("output_named(\"..\", ..)", "Out(y, name=\"..\")"),
    ("Name one with output_named", "Name one with Out(y, name=\"..\")"),
    ("In::new(..).name(\"..\")", "In(x, name=\"..\")"),
    (
        "add_method_keeping(.., Keep::Simulator) or Keep::Parent",
        "add_method(.., keep=\"simulator\") or \"parent\"",
    ),
    (
        "sync_to_parent_keeping(Keep::Simulator) or Keep::Parent",
        "sync_to_parent(keep=\"simulator\") or \"parent\"",
    ),
    (
        "sync_from_parent_keeping(Keep::Simulator) or Keep::Parent",
        "sync_from_parent(keep=\"simulator\") or \"parent\"",
    ),
    ("sync_from_parent_keeping(Keep::Parent)", "sync_from_parent(keep=\"parent\")"),
    (", or Keep::Simulator", ", or keep=\"simulator\""),
    ("Grad::of(&cost).disconnected(Disconnected::Zero)", "grad(.., disconnected_inputs=\"ignore\")"),
    ("use a backend with .dynamic(), which keeps 64, or pad inputs", "pad inputs"),
];

/// A message with Python's spellings.
pub(crate) fn spelled(message: &str) -> String {
    SPELLINGS.iter().fold(message.into(), |message: String, (rust, python)| match message.contains(rust) {
        true => message.replace(rust, python),
        false => message,
    })
}

/// An error of the library as an exception.
pub(crate) fn raised(error: workalike::Error) -> PyErr {
    use workalike::Error as E;
    let name = match &error {
        E::Expression { .. } => "ExpressionError",
        E::Compile(_) => "CompileError",
        E::Call { .. } | E::Mismatch { .. } => "ArgumentError",
        E::Run { .. } => "RunError",
        E::Sync(_) => "StateConflict",
        E::Format { .. } => "FormatError",
        E::File { .. } => "FileError",
        E::Strict(_) => "HostNodeError",
        E::OutOfMemory { .. } | E::Device(DeviceError::OutOfMemory { .. }) => "OutOfMemory",
        E::Device(DeviceError::Missing { .. }) => "DeviceNotFound",
        E::Device(_) => "DeviceError",
        E::Group(_) => "GroupError",
        _ => "InternalError",
    };
    exception(name, spelled(&error.to_string()))
}
