//! Arrays of NumPy as Values, and Values as arrays, without copies where the memory allows it.

use super::dtypes::{dtype_of, numpy_dtype};
use super::errors::raised;
use numpy::npyffi::{self, NPY_ARRAY_ALIGNED, NPY_ARRAY_WRITEABLE, PY_ARRAY_API};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::c_int;
use std::sync::Arc;
use workalike::value::HostBytes;
use workalike::{DType, Value};

/// The memory of an array of NumPy, which it keeps alive.
struct ArrayMemory {
    _owner: Py<PyUntypedArray>,
    start: *const u8,
    bytes: usize,
}

// SAFETY: the memory is read only. That other threads neither write nor resize the array during the call is
// the caller's obligation, as with NumPy's own functions, which release the lock too; the documentation of
// calls says so.
unsafe impl Send for ArrayMemory {}
// SAFETY: see `Send`.
unsafe impl Sync for ArrayMemory {}

impl HostBytes for ArrayMemory {
    fn bytes(&self) -> &[u8] {
        // SAFETY: `value_of` computed the range from the array's data, shape and strides; the array lives as
        // long as `self`. (NumPy resizes an array with other references only if it is told not to look for
        // them.)
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
}

/// An array as a Value over its memory. It is copied if its elements are not aligned.
pub(crate) fn value_of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Value> {
    let dtype = dtype_of(&array.dtype())?;
    if array.get_type().name().is_ok_and(|name| name == "MaskedArray") {
        return Err(PyTypeError::new_err(
            "expected an array without a mask; give it values first: a.filled(0)",
        ));
    }
    let (shape, size) = (array.shape(), dtype.size() as isize);
    let (strides, flags) = (array.strides(), flags(array));
    let aligned = flags & NPY_ARRAY_ALIGNED != 0 && strides.iter().all(|stride| stride % size == 0);
    if !aligned {
        let copy = array.call_method0("copy")?;
        return value_of(copy.cast::<PyUntypedArray>()?);
    }
    if shape.contains(&0) {
        return Value::zeros(dtype, shape).map_err(raised);
    }
    let reach = |far: fn(isize, isize) -> isize| -> isize {
        shape.iter().zip(strides).map(|(&extent, &stride)| far(0, (extent as isize - 1) * stride)).sum()
    };
    let (lowest, highest) = (reach(isize::min), reach(isize::max));
    // SAFETY: the array is alive; its data pointer may be read.
    let data = unsafe { (*array.as_array_ptr()).fields.data }.cast::<u8>();
    let start = data.wrapping_offset(lowest).cast_const();
    let bytes = (highest - lowest + size) as usize;
    let memory = Arc::new(ArrayMemory { _owner: array.clone().unbind(), start, bytes });
    let elements: Vec<isize> = strides.iter().map(|stride| stride / size).collect();
    let all = Value::from_buffer(dtype, &[bytes / size as usize], memory).map_err(raised)?;
    all.view_as(shape, &elements, (-lowest / size) as usize).map_err(raised)
}

fn flags(array: &Bound<'_, PyUntypedArray>) -> c_int {
    // SAFETY: the array is alive.
    unsafe { (*array.as_array_ptr()).fields.flags }
}

/// A copy of an array, for what outlives a call: constants, defaults, values of shared variables.
pub(crate) fn kept_value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let value = value_from(object, None)?;
    let whole = value.contiguous().map_err(raised)?;
    let bytes = whole.contiguous_bytes().unwrap_or(&[]);
    Value::from_bytes(value.dtype(), value.shape(), bytes).map_err(raised)
}

/// Anything that NumPy takes as an array. Lists and numbers of Python take the dtype that is `wanted`, if it
/// holds what NumPy would make of them.
pub(crate) fn value_from(object: &Bound<'_, PyAny>, wanted: Option<DType>) -> PyResult<Value> {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        return value_of(array);
    }
    let py = object.py();
    let array = py.import("numpy")?.call_method1("asarray", (object,))?;
    let array = array.cast::<PyUntypedArray>()?;
    let listed =
        object.cast::<pyo3::types::PyList>().is_ok() || object.cast::<pyo3::types::PyTuple>().is_ok();
    let value = value_of(array).map_err(|error| match array.dtype().num() {
        number if number == npyffi::NPY_TYPES::NPY_OBJECT as i32 => PyTypeError::new_err(format!(
            "expected an array or numbers, got {}",
            object.get_type().name().map_or("an object".into(), |name| name.to_string())
        )),
        _ => error,
    })?;
    match wanted {
        Some(dtype) if listed => exact(value, dtype),
        _ => Ok(value),
    }
}

/// Numbers in another dtype, which has them: floats are rounded, integers are not changed. What Python and
/// NumPy make of lists and numbers has 64 bits.
pub(crate) fn exact(value: Value, dtype: DType) -> PyResult<Value> {
    let from = value.dtype();
    if from == dtype || value.is_empty() {
        return value.cast(dtype).map_err(raised);
    }
    let cast = value.cast(dtype).map_err(raised)?;
    let fits = match (from.is_float(), dtype.is_float()) {
        (_, true) => true,
        (true, false) => false,
        // Of unsigned integers the way back alone would hide a sign.
        (false, false) => {
            (dtype != DType::Bool || from == DType::Bool)
                && cast.to_f64s() == value.to_f64s()
                && cast.cast(from).is_ok_and(|back| back == value)
        }
    };
    if fits { Ok(cast) } else { Err(no_such_number(dtype, from)) }
}

/// A number of Python or NumPy in a dtype.
pub(crate) fn exact_number(number: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Value> {
    exact(kept_value(number)?, dtype)
}

fn no_such_number(dtype: DType, from: DType) -> PyErr {
    super::errors::exception(
        "ArgumentError",
        format!(
            "expected numbers that {dtype} has, got {from} with others; round or convert them first (astype)"
        ),
    )
}

/// The memory of a Value that an array of NumPy shows.
struct Shown(#[expect(dead_code, reason = "it keeps the memory")] Value);

/// A Value as an array of NumPy that is its own: over the Value's memory if nothing else refers to it, else a
/// copy.
pub(crate) fn array_of(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    let mut value = value.contiguous().map_err(raised)?;
    if value.bytes_mut().is_none() {
        return copied(py, &value);
    }
    let start = value.bytes_mut().map_or(std::ptr::null_mut(), <[u8]>::as_mut_ptr);
    over(py, value, start, NPY_ARRAY_WRITEABLE)
}

/// A Value as an array of NumPy that shows its memory, and cannot be written.
pub(crate) fn lent<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    let value = value.contiguous().map_err(raised)?;
    let start = value.contiguous_bytes().map_or(std::ptr::null(), <[u8]>::as_ptr).cast_mut();
    match value.is_empty() {
        true => copied(py, &value),
        false => over(py, value, start, 0),
    }
}

/// An array over the memory of a contiguous Value, which starts at `start`.
fn over(py: Python<'_>, value: Value, start: *mut u8, flags: c_int) -> PyResult<Bound<'_, PyAny>> {
    let descr = numpy_dtype(py, value.dtype())?;
    let mut dims: Vec<isize> = value.shape().iter().map(|&extent| extent as isize).collect();
    let rank = dims.len() as c_int;
    let owner = PyCapsule::new_with_value(py, Shown(value), c"workalike.memory")?;
    // SAFETY: the memory holds as many elements of the dtype as the extents say, row by row; `owner`, which
    // becomes the array's base, keeps it. It has no other owner, or the array is not writeable. (Of a null
    // pointer NumPy allocates.)
    // `into_dtype_ptr` gives the reference that NumPy takes; so does `into_ptr`.
    unsafe {
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type),
            descr.into_dtype_ptr(),
            rank,
            dims.as_mut_ptr(),
            std::ptr::null_mut(),
            start.cast(),
            flags,
            std::ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), owner.into_ptr()) < 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(array)
    }
}

/// A copy of a contiguous Value in memory of NumPy.
fn copied<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    let bytes = pyo3::types::PyBytes::new(py, value.contiguous_bytes().unwrap_or(&[]));
    let numpy = py.import("numpy")?;
    let flat = numpy.call_method1("frombuffer", (bytes, numpy_dtype(py, value.dtype())?));
    let shape = pyo3::types::PyTuple::new(py, value.shape())?;
    match value.is_empty() {
        true => numpy.call_method1("zeros", (shape, numpy_dtype(py, value.dtype())?)),
        false => flat?.call_method1("reshape", (shape,))?.call_method0("copy"),
    }
}
