//! Arrays of devices to and from other libraries of Python, by DLPack's capsules.

use super::arrays::kept_value;
use super::calls::detached;
use super::device::{PyDevice, PyDeviceArray};
use super::errors::raised;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::ffi::CStr;
use workalike::dlpack::{DlManagedTensor, Tensor};
use workalike::rehost::DeviceArray;
use workalike::rehost::device::NativeDevice;

/// Names of capsules: before and after a consumer took the tensor.
const FRESH: &CStr = c"dltensor";
const USED: &CStr = c"used_dltensor";

/// Releases the tensor of a capsule that was not consumed.
unsafe extern "C" fn release(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with a capsule of ours that is being destroyed, and with its lock held. A
    // capsule with the fresh name holds a tensor that nobody else releases.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, FRESH.as_ptr()) == 1 {
            let tensor = ffi::PyCapsule_GetPointer(capsule, FRESH.as_ptr()).cast::<DlManagedTensor>();
            drop(Tensor::from_raw(tensor));
        }
    }
}

/// DLPack's kind and number of an array's device.
pub(crate) fn device_of(array: &DeviceArray) -> PyResult<(i32, i32)> {
    let device = array.to_dlpack().map_err(raised)?.described().device;
    Ok((device.kind, device.id))
}

/// A capsule over the array's memory, which lives as long as the consumer needs it. What was enqueued on the
/// device is done before, so that any stream may use it.
pub(crate) fn export<'py>(
    py: Python<'py>,
    array: &DeviceArray,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let tensor = detached(py, || {
        let array = if copy == Some(true) { array.copy()? } else { array.clone() };
        array.device().synchronize()?;
        array.to_dlpack()
    })?;
    let raw = tensor.into_raw();
    // SAFETY: `raw` is a tensor that we own; the capsule owns it from here on, and releases it if nobody
    // takes it.
    unsafe {
        let capsule = ffi::PyCapsule_New(raw.cast(), FRESH.as_ptr(), Some(release));
        if capsule.is_null() {
            drop(Tensor::from_raw(raw));
        }
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// An array of another library on a device: without a copy if its memory is on that device.
pub(crate) fn import(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyDeviceArray> {
    let device = PyDevice::of(py, device)?;
    let Ok(kind) = object.call_method0("__dlpack_device__") else {
        return Err(PyTypeError::new_err(format!(
            "expected an array with __dlpack__, got {}",
            object.get_type().name()?
        )));
    };
    let (kind, _) = kind.extract::<(i32, i32)>()?;
    let options = PyDict::new(py);
    match device.native() {
        // The producer makes its stream's work come before ours.
        Some(NativeDevice::Cuda { stream, .. }) if kind == 2 => {
            options.set_item("stream", stream as usize)?
        }
        // The memory of the host belongs to NumPy, which goes on using it.
        _ if kind == 1 => {
            let value = kept_value(&py.import("numpy")?.call_method1("from_dlpack", (object,))?)?;
            let array = detached(py, || DeviceArray::upload(&device, value))?;
            return Ok(PyDeviceArray { array });
        }
        _ => {}
    }
    let capsule = object.call_method("__dlpack__", (), Some(&options))?;
    let capsule = capsule.cast::<PyCapsule>()?.as_ptr();
    // SAFETY: the capsule is alive. With the fresh name it holds a tensor that we take over: renaming it says
    // so.
    let tensor = unsafe {
        if ffi::PyCapsule_IsValid(capsule, FRESH.as_ptr()) != 1 {
            return Err(PyBufferError::new_err("expected a capsule with an unversioned tensor of DLPack"));
        }
        let raw = ffi::PyCapsule_GetPointer(capsule, FRESH.as_ptr()).cast::<DlManagedTensor>();
        ffi::PyCapsule_SetName(capsule, USED.as_ptr());
        Tensor::from_raw(raw).map_err(raised)?
    };
    // SAFETY: the producer ordered its work before that of our stream, as the protocol asks.
    let array = unsafe { DeviceArray::from_dlpack(&device, tensor) }.map_err(raised)?;
    Ok(PyDeviceArray { array })
}
