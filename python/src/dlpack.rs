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
use workalike::dlpack::{IS_COPIED, READ_ONLY, Tensor, VERSION};
use workalike::engine::DeviceArray;
use workalike::engine::device::NativeDevice;

/// Names of capsules: before and after a consumer took the tensor, in both forms.
const FRESH: &CStr = c"dltensor";
const USED: &CStr = c"used_dltensor";
const FRESH_VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

/// Releases the tensor of a capsule that was not consumed.
unsafe extern "C" fn release(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with a capsule of ours that is being destroyed, and with its lock held. A
    // capsule with a fresh name holds a tensor of that form that no other code releases.
    unsafe { drop(taken(capsule)) }
}

/// The tensor of a capsule that was not consumed, and its flags.
///
/// # Safety
/// The capsule is alive. What it holds, if its name is fresh, is released by the result alone.
unsafe fn taken(capsule: *mut ffi::PyObject) -> Option<workalike::Result<(Tensor, u64)>> {
    // SAFETY: with a fresh name the capsule holds a tensor of that form.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, FRESH.as_ptr()) == 1 {
            let raw = ffi::PyCapsule_GetPointer(capsule, FRESH.as_ptr());
            return Some(Tensor::from_raw(raw.cast()).map(|tensor| (tensor, 0)));
        }
        if ffi::PyCapsule_IsValid(capsule, FRESH_VERSIONED.as_ptr()) == 1 {
            let raw = ffi::PyCapsule_GetPointer(capsule, FRESH_VERSIONED.as_ptr());
            return Some(Tensor::from_versioned(raw.cast()));
        }
        None
    }
}

/// DLPack's kind and number of an array's device.
pub(crate) fn device_of(array: &DeviceArray) -> PyResult<(i32, i32)> {
    let device = array.to_dlpack().map_err(raised)?.described().device;
    Ok((device.kind, device.id))
}

/// A capsule over the array's memory, which lives as long as the consumer needs it. What was enqueued on the
/// device is done before, so that any stream may use it. `versioned`: in the form of DLPack 1.0.
pub(crate) fn export<'py>(
    py: Python<'py>,
    array: &DeviceArray,
    copy: Option<bool>,
    versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let copied = copy == Some(true);
    super::device::check_process(array)?;
    let tensor = detached(py, || {
        let array = if copied { array.copy()? } else { array.clone() };
        array.device().synchronize()?;
        array.to_dlpack()
    })?;
    let (raw, name) = if versioned {
        let read_only = if tensor.is_read_only() && !copied { READ_ONLY } else { 0 };
        let flags = read_only | if copied { IS_COPIED } else { 0 };
        (tensor.into_versioned(flags).cast(), FRESH_VERSIONED)
    } else {
        (tensor.into_raw().cast(), FRESH)
    };
    // SAFETY: `raw` is a tensor of ours, in the form that the name says; the capsule owns it from here on,
    // and releases it unless it is consumed.
    unsafe {
        let capsule = ffi::PyCapsule_New(raw, name.as_ptr(), Some(release));
        if capsule.is_null() {
            drop(if versioned {
                Tensor::from_versioned(raw.cast()).map(|(tensor, _)| tensor)
            } else {
                Tensor::from_raw(raw.cast())
            });
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
        native if kind == 1 => {
            let on_host = matches!(native, None | Some(NativeDevice::Host));
            match py.import("numpy")?.call_method1("from_dlpack", (object,)) {
                Ok(array) => {
                    let value = kept_value(&array)?;
                    let array = detached(py, || DeviceArray::upload(&device, value))?;
                    return Ok(PyDeviceArray { array });
                }
                // NumPy has no bfloat16 of its own; the host device copies it.
                Err(_) if on_host => {}
                Err(error) => return Err(error),
            }
        }
        _ => {}
    }
    let capsule = capsule_of(object, &options)?;
    let capsule = capsule.cast::<PyCapsule>()?.as_ptr();
    // SAFETY: the capsule is alive. Renaming it says that its tensor is taken.
    let taken = unsafe {
        let name = if ffi::PyCapsule_IsValid(capsule, FRESH.as_ptr()) == 1 { USED } else { USED_VERSIONED };
        let taken = taken(capsule);
        if taken.is_some() {
            ffi::PyCapsule_SetName(capsule, name.as_ptr());
        }
        taken
    };
    let Some(taken) = taken else {
        return Err(PyBufferError::new_err("expected a capsule of DLPack that was not consumed"));
    };
    let (tensor, flags) = taken.map_err(raised)?;
    // SAFETY: the producer ordered its work before that of our stream, as the protocol asks.
    let array = unsafe { DeviceArray::from_dlpack(&device, tensor) }.map_err(raised)?;
    // A `DeviceArray` can be written.
    let array = if flags & READ_ONLY == 0 { array } else { detached(py, || array.copy())? };
    Ok(PyDeviceArray { array })
}

/// A producer's capsule, in the form of DLPack 1.0 if it has it.
fn capsule_of<'py>(object: &Bound<'py, PyAny>, options: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let versioned = options.copy()?;
    versioned.set_item("max_version", (VERSION.major, VERSION.minor))?;
    match object.call_method("__dlpack__", (), Some(&versioned)) {
        // Those of before 1.0 do not know the argument.
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => {
            object.call_method("__dlpack__", (), Some(options))
        }
        made => made,
    }
}
