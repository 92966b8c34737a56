//! Dtypes of NumPy and of the library.

use numpy::npyffi::NPY_TYPES;
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use workalike::DType;

/// The library's dtype of a NumPy dtype.
pub(crate) fn dtype_of(descr: &Bound<'_, PyArrayDescr>) -> PyResult<DType> {
    let known = known(descr.num(), descr.itemsize());
    if let Some(dtype) = known.filter(|_| descr.is_native_byteorder().unwrap_or(true)) {
        return Ok(dtype);
    }
    // ml_dtypes registers its types when it is imported, so that they have no number of their own.
    if descr.itemsize() == 2 && descr.typeobj().name().is_ok_and(|name| name == "bfloat16") {
        return Ok(DType::BF16);
    }
    let text = descr.str()?;
    Err(PyTypeError::new_err(format!(
        "expected an array of bool, integers, float16, bfloat16 (ml_dtypes), float32, float64, complex64 or \
         complex128 in this machine's byte order, got one of {text}; convert it with astype"
    )))
}

/// The dtype of a number of NumPy's types; `long` has 4 or 8 bytes.
fn known(number: i32, bytes: usize) -> Option<DType> {
    let is = |kind: NPY_TYPES| number == kind as i32;
    Some(match number {
        _ if is(NPY_TYPES::NPY_FLOAT) => DType::F32,
        _ if is(NPY_TYPES::NPY_DOUBLE) => DType::F64,
        _ if is(NPY_TYPES::NPY_BOOL) => DType::Bool,
        _ if is(NPY_TYPES::NPY_BYTE) => DType::I8,
        _ if is(NPY_TYPES::NPY_UBYTE) => DType::U8,
        _ if is(NPY_TYPES::NPY_SHORT) => DType::I16,
        _ if is(NPY_TYPES::NPY_USHORT) => DType::U16,
        _ if is(NPY_TYPES::NPY_INT) || is(NPY_TYPES::NPY_LONG) && bytes == 4 => DType::I32,
        _ if is(NPY_TYPES::NPY_UINT) || is(NPY_TYPES::NPY_ULONG) && bytes == 4 => DType::U32,
        _ if is(NPY_TYPES::NPY_LONG) || is(NPY_TYPES::NPY_LONGLONG) => DType::I64,
        _ if is(NPY_TYPES::NPY_ULONG) || is(NPY_TYPES::NPY_ULONGLONG) => DType::U64,
        _ if is(NPY_TYPES::NPY_HALF) => DType::F16,
        _ if is(NPY_TYPES::NPY_CFLOAT) => DType::C64,
        _ if is(NPY_TYPES::NPY_CDOUBLE) => DType::C128,
        _ => return None,
    })
}

/// NumPy's dtype of a dtype; of bfloat16 that of ml_dtypes.
///
/// # Errors
/// If NumPy or ml_dtypes cannot be imported.
pub(crate) fn numpy_dtype(py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyArrayDescr>> {
    static KNOWN: [PyOnceLock<Py<PyArrayDescr>>; DType::ALL.len()] =
        [const { PyOnceLock::new() }; DType::ALL.len()];
    let at = DType::ALL.iter().position(|known| *known == dtype).unwrap_or(0);
    let make = || -> PyResult<Py<PyArrayDescr>> {
        let descr = match dtype {
            DType::BF16 => {
                let module = py.import("ml_dtypes").map_err(|_| {
                    PyTypeError::new_err(
                        "bfloat16 arrays are those of ml_dtypes; install it: pip install ml_dtypes",
                    )
                })?;
                PyArrayDescr::new(py, module.getattr("bfloat16")?)?
            }
            _ => PyArrayDescr::new(py, dtype.name())?,
        };
        Ok(descr.unbind())
    };
    Ok(KNOWN[at].get_or_try_init(py, make)?.bind(py).clone())
}

/// A dtype that is given as NumPy gives them: a name, a type or a dtype.
pub(crate) fn parse(given: &Bound<'_, PyAny>) -> PyResult<DType> {
    if let Ok(name) = given.cast::<PyString>()
        && let Some(dtype) = DType::parse(name.to_str()?)
    {
        return Ok(dtype);
    }
    if given.is_none() {
        return Err(PyTypeError::new_err("expected a dtype, such as \"float32\", got None"));
    }
    let descr = PyArrayDescr::new(given.py(), given)?;
    dtype_of(&descr).map_err(|_| {
        let names: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
        PyTypeError::new_err(format!("expected a dtype of {}, got {given}", names.join(", ")))
    })
}
