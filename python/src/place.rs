//! The line of the user's program that expressions are attributed to.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use workalike::graph::{Place, written_at};

/// The innermost line that is neither of this package nor of a dispatch that it does.
fn caller(py: Python<'_>) -> PyResult<Place> {
    static GET_FRAME: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static OURS: PyOnceLock<String> = PyOnceLock::new();
    let find = || -> PyResult<Py<PyAny>> { Ok(py.import("sys")?.getattr("_getframe")?.unbind()) };
    let ours = OURS.get_or_try_init(py, || -> PyResult<String> {
        let file: String = py.import("workalike")?.getattr("__file__")?.extract()?;
        Ok(file.trim_end_matches("__init__.py").to_string())
    })?;
    let mut frame = GET_FRAME.get_or_try_init(py, find)?.bind(py).call0()?;
    loop {
        let file = frame.getattr("f_code")?.getattr("co_filename")?;
        // A path need not be text.
        let file = file.cast::<PyString>()?.to_string_lossy().into_owned();
        let back = frame.getattr("f_back")?;
        if !(file.starts_with(ours) || file.ends_with("/functools.py")) || back.is_none() {
            let line: Option<u32> = frame.getattr("f_lineno")?.extract()?;
            return Ok(Place::foreign(&file, line.unwrap_or(0)));
        }
        frame = back;
    }
}

/// Builds expressions, which are attributed to the caller's line. A panic, which would be an error of the
/// library, is an `InternalError`.
pub(crate) fn at_caller<T>(py: Python<'_>, build: impl FnOnce() -> T) -> PyResult<T> {
    let place = caller(py)?;
    catch_unwind(AssertUnwindSafe(|| written_at(place, build))).map_err(|_| {
        super::errors::exception("InternalError", "a panic; its message is on the standard error".into())
    })
}
