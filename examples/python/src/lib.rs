//! A shared library for programs in Python: arrays of NumPy, PyTorch and CuPy go in and come out as DLPack's
//! tensors, and all work is in the order of the other library's stream.
//!
//! `arrays.py` loads it with `ctypes`. Errors are null pointers; `last_error` has the message.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_void};
use std::ptr;
use workalike::custom::{ElementwiseKernel, kernel_args};
use workalike::dlpack::{DlManagedTensor, Tensor};
use workalike::engine::device::Open;
use workalike::prelude::*;
use workalike::{Error, Result};

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// A recurrent layer that keeps its state on the device, `state = tanh(state / 2 + x)`, and a kernel in C.
pub struct Model {
    layer: Simulator,
    /// None on the host device, which interprets C slowly.
    double: Option<ElementwiseKernel>,
}

impl Model {
    fn new(device: &impl Open, extent: usize) -> Result<Model> {
        let device = device.open()?;
        let x = vector::<f32>("x");
        let state = shared("state", vec![0f32; extent]);
        let next = (&state / 2.0 + &x).tanh();
        let layer = function([&x]).output(&next).update(&state, &next).compile()?.optimize(device.clone())?;
        let compiles = !device.properties().every_op;
        let double = compiles.then(|| ElementwiseKernel::new(&device, "twice", "f32 *x", "x[i] = 2 * x[i]"));
        Ok(Model { double: double.transpose()?, layer })
    }

    /// The next state, from the tensor of another library.
    fn step(&mut self, x: Tensor) -> Result<Tensor> {
        // SAFETY: the caller's library uses the memory in the order of the stream that the device was opened
        // with.
        let x = unsafe { DeviceArray::from_dlpack(self.layer.device(), x) }?;
        self.layer.call_device(args![&x])?.remove(0).to_dlpack()
    }

    /// Doubles the elements of a tensor in place.
    fn double(&self, x: Tensor) -> Result<()> {
        let Some(double) = &self.double else {
            return Err(Error::mismatch("double", "a device that compiles C", "the host device"));
        };
        // SAFETY: see `step`.
        let x = unsafe { DeviceArray::from_dlpack(self.layer.device(), x) }?;
        double.call(kernel_args![&x])
    }
}

fn said<T>(result: Result<T>) -> Option<T> {
    result
        .map_err(|error| ERROR.set(CString::new(error.to_string().replace('\0', "")).unwrap_or_default()))
        .ok()
}

/// A model with a state of `extent` zeros: on the CUDA device of a `CUcontext`, on a `CUstream` of it, or on
/// the host if the context is null.
///
/// # Safety
/// Context and stream are valid until the model is closed and its results are released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn model_open(context: *mut c_void, stream: *mut c_void, extent: usize) -> *mut Model {
    let model = match context.is_null() {
        true => Model::new(&Host::auto(), extent),
        // SAFETY: the caller promised that both are valid long enough.
        false => Model::new(&unsafe { Cuda::from_stream(context, stream) }, extent),
    };
    said(model).map_or(ptr::null_mut(), |model| Box::into_raw(Box::new(model)))
}

/// Frees a model.
///
/// # Safety
/// The pointer is one of `model_open`, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn model_close(model: *mut Model) {
    if !model.is_null() {
        // SAFETY: it came from a box, and the caller gives it up.
        drop(unsafe { Box::from_raw(model) });
    }
}

/// The next state as a new tensor; `x` is consumed.
///
/// # Safety
/// The model is open and in use by no other thread; `x` is a tensor that no other code releases.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn model_step(model: *mut Model, x: *mut DlManagedTensor) -> *mut DlManagedTensor {
    // SAFETY: the caller promised both.
    let (model, x) = unsafe { (&mut *model, Tensor::from_raw(x)) };
    said(x.and_then(|x| model.step(x))).map_or(ptr::null_mut(), Tensor::into_raw)
}

/// Doubles the elements of `x`, which is consumed; whether that was done.
///
/// # Safety
/// As for `model_step`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn model_double(model: *const Model, x: *mut DlManagedTensor) -> bool {
    // SAFETY: the caller promised both.
    let (model, x) = unsafe { (&*model, Tensor::from_raw(x)) };
    said(x.and_then(|x| model.double(x))).is_some()
}

/// Why the last call of this thread failed, until the next one fails.
#[unsafe(no_mangle)]
pub extern "C" fn last_error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}
